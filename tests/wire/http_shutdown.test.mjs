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
        const p = await d.sh('sleep 100 & sleep 100');
        const v = await Viewer.attach(d, p.id);
        const events = await d.open('GET', '/v1/events');
        const ended = new Promise((done) => events.on('close', done));
        events.resume();
        process.kill(d.pid, 'SIGTERM');
        const code = await within(v.closed, 10000, 'close');
        // Either the exit was still told, or the viewer is asked to come back later.
        assert.ok(v.exit ? code === 1000 : code === 1001, `close code ${code}`);
        await within(ended, 10000, 'the end of the event stream');
        assert.equal((await within(d.exit, 10000, 'exit')).code, 0);
        assert.ok(!proc.isAlive(p.pid));
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
 * connections are not taken and new processes are refused, but the daemon does not hang.
 */
test('while it ends, new work is refused with shutting_down', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 1; done`, { grace_ms: 3000 });
        await d.outputHas(p.id, 'ready');
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /readyz'));
        assert.equal((await c.response()).status, 200);
        const streaming = await RawConn.connect(d);
        streaming.send(requestBytes(d, `GET /v1/processes/${p.id}/wait?timeout_ms=60000`));
        process.kill(d.pid, 'SIGTERM');
        // Pipelined behind whatever is going on: the answer must be 503, or the connection was idle and is closed.
        let refused = null;
        await waitUntil(
            async () => {
                const k = await RawConn.connect(d).catch(() => null);
                if (!k) return true;
                k.send(requestBytes(d, 'POST /v1/processes', { body: JSON.stringify({ command: 'true' }) }));
                const a = await k.response().catch(() => null);
                k.destroy();
                if (a && a.status === 503) refused = a;
                return refused;
            },
            'a refusal',
            3000,
        );
        if (refused) checkProblem(refused, 'shutting_down');
        const answer = await streaming.response({ ms: 10000 }).catch(() => null);
        if (answer) assert.ok([200, 503].includes(answer.status), `${answer.status}`);
        assert.equal((await within(d.exit, 12000, 'exit')).code, 0);
        assert.ok(!proc.isAlive(p.pid));
        c.destroy();
        streaming.destroy();
    }));

test('a second SIGTERM does not make it worse', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 1; done`, { grace_ms: 1000 });
        await d.outputHas(p.id, 'ready');
        process.kill(d.pid, 'SIGTERM');
        process.kill(d.pid, 'SIGTERM');
        assert.equal((await within(d.exit, 12000, 'exit')).code, 0);
        assert.ok(!proc.isAlive(p.pid));
    }));

test('a second daemon on the same port says why it cannot start', () =>
    daemonFor({}, async (d) => {
        await assert.rejects(
            daemonFor({ listen: [`127.0.0.1:${d.port}`] }, async () => {}),
            /EADDRINUSE|in use/i,
        );
    }));
