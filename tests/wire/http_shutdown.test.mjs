// SPDX-License-Identifier: Apache-2.0
// The end of the daemon: everybody is told, everything is ended, exit status 0.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { checkProblem, daemonFor } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

test('SIGTERM ends processes and tells viewers', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('sleep 100 & echo $!; sleep 100');
        const left = Number(await d.outputHas(p.id, '\n'));
        const v = await Viewer.attach(d, p.id);
        const events = await d.open('GET', '/v1/events');
        let told = '';
        const ended = new Promise((done) => events.on('close', done));
        events.on('data', (b) => (told += b));
        process.kill(d.pid, 'SIGTERM');
        assert.equal(await within(v.closed, 10000, 'close'), 1000);
        assert.equal(v.exit.exit.by, 'shutdown');
        await within(ended, 10000, 'the end of the event stream');
        assert.match(told, /event: process\.exited\n/);
        assert.match(told, new RegExp(p.id));
        assert.equal((await within(d.exit, 10000, 'exit')).code, 0);
        for (const pid of [p.pid, left]) assert.ok(!proc.isAlive(pid), `${pid}`);
    }));

test('SIGINT does the same', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('sleep 100');
        process.kill(d.pid, 'SIGINT');
        assert.equal((await within(d.exit, 10000, 'exit')).code, 0);
        assert.ok(!proc.isAlive(p.pid));
    }));

/*
 * A process that ignores SIGTERM keeps the daemon for its grace time. Meanwhile new
 * processes are refused, and what waits for the exits to come goes on. The test ends the process
 * itself when it has seen that.
 */
test('while it ends, new work is refused with shutting_down', () =>
    daemonFor({ fdBaseline: false, args: ['--grace-ms', '60000'] }, async (d) => {
        const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 0.1; done`);
        await d.outputHas(p.id, 'ready');
        const idle = await RawConn.connect(d);
        idle.send(requestBytes(d, 'GET /readyz'));
        assert.equal((await idle.response()).status, 200);
        const waiting = await RawConn.connect(d);
        waiting.send(requestBytes(d, `GET /v1/processes/${p.id}/wait?timeout_ms=60000`));
        process.kill(d.pid, 'SIGTERM');
        await waitUntil(() => d.stderr.includes('worker: stopping'), 'the worker to hear of it');

        // On a connection that there was, and on a new one.
        idle.send(requestBytes(d, 'GET /readyz'));
        checkProblem(await idle.response(), 'shutting_down');
        const body = JSON.stringify({ command: 'true' });
        const fresh = await RawConn.connect(d);
        fresh.send(requestBytes(d, 'POST /v1/processes', { body }));
        checkProblem(await fresh.response(), 'shutting_down');
        fresh.send(requestBytes(d, 'POST /v1/processes/run', { body }));
        checkProblem(await fresh.response(), 'shutting_down');
        fresh.send(requestBytes(d, `GET /v1/processes/${p.id}`));
        assert.equal(JSON.parse((await fresh.response()).body).status, 'running');
        assert.ok(proc.isAlive(p.pid), 'it has its grace time');

        process.kill(p.pid, 'SIGKILL');
        const answer = await waiting.response({ ms: 10000 });
        assert.equal(answer.status, 200);
        assert.deepEqual([JSON.parse(answer.body).status, JSON.parse(answer.body).exit.signal], ['exited', 'SIGKILL']);
        assert.equal((await within(d.exit, 12000, 'exit')).code, 0);
        assert.ok(!proc.isAlive(p.pid));
        for (const c of [idle, waiting, fresh]) c.destroy();
        await assert.rejects(RawConn.connect(d), /ECONNREFUSED/);
    }));

test('a second SIGTERM ends everything at once', () =>
    daemonFor({ fdBaseline: false, args: ['--grace-ms', '60000'] }, async (d) => {
        const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 0.1; done`);
        await d.outputHas(p.id, 'ready');
        process.kill(d.pid, 'SIGTERM');
        await waitUntil(() => d.stderr.includes('worker: stopping'), 'the first to be heard');
        process.kill(d.pid, 'SIGTERM');
        assert.equal((await within(d.exit, 12000, 'exit')).code, 0);
        assert.match(d.stderr, /keeper: stopping immediately/);
        assert.ok(!proc.isAlive(p.pid));
    }));

test('a second daemon on the same port says why it cannot start', () =>
    daemonFor({}, async (d) => {
        await assert.rejects(
            daemonFor({ listen: [`127.0.0.1:${d.port}`] }, async () => {}),
            /already running at/,
        );
    }));
