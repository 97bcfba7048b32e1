// SPDX-License-Identifier: Apache-2.0
// The daemon goes, or is replaced, while everything is under way: each client is told, and no end is invented.

import assert from 'node:assert/strict';
import { clientOf, closeAll, eventsOf, Socket } from '../../lib/cloudflare.mjs';
import { daemonFor } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const SETTLES_MS = 60000;

afterEach(closeAll);

/** One call of each kind that takes long, and a way to see how they end. */
async function busy(d) {
    const c = await clientOf(d);
    const m = await clientOf(d, { websocket: true });
    const ended = (p) => p.then((v) => ({ v }), (e) => ({ e }));
    const p = await c.processes.startProcess('sleep 100', 'a');
    const bridge = () => fetch(`${d.url}/dialects/cloudflare/v1/sandbox/x/exec`, { method: 'POST', headers: d.authHeaders(), body: JSON.stringify({ argv: ['sh', '-c', 'echo on; sleep 100'] }) });
    const calls = {
        exec: ended(c.commands.execute('sleep 100', 'a')),
        queued: ended(c.commands.execute('echo never', 'a')),
        alone: ended(c.commands.execute('sleep 100', '__DISABLE_SESSION__')),
        stream: ended(eventsOf(c.commands.executeStream('echo on; sleep 100', 'b'))),
        logs: ended(eventsOf(c.processes.streamProcessLogs(p.processId))),
        muxExec: ended(m.commands.execute('sleep 100', 'c')),
        muxStream: ended(eventsOf(m.commands.executeStream('echo on; sleep 100', 'd'))),
        port: ended(eventsOf(c.ports.watchPort({ port: 1, mode: 'tcp', path: '/' }))),
        bridge: ended(bridge().then((r) => r.text())),
    };
    const sockets = ['/ws/pty?sessionId=a', '/ws?', '/v1/sandbox/x/pty?'].map((url) => {
        const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare${url}&access_token=${d.token}`);
        ws.closed = new Promise((done) => ws.on('close', done));
        return ws;
    });
    const ask = async (url) => (await d.request('GET', url, { agent: false })).json;
    await waitUntil(async () => (await ask('/v1/processes?status=running&limit=100')).processes.filter((x) => x.pty).length === 2, 'the terminals');
    for (const s of ['a', 'b', 'c', 'd']) await waitUntil(async () => (await ask(`/v1/sessions/${s}`)).status === 'running', `a command in ${s}`);
    await waitUntil(async () => (await ask('/v1/processes?status=running&limit=100')).processes.length >= 9, 'all to run');
    return {
        sockets,
        async ends() {
            const all = {};
            // The clients' idle sockets do not keep Node running; the time limit does.
            for (const [name, promise] of Object.entries(calls)) all[name] = await within(promise, SETTLES_MS, `the end of ${name}`);
            return all;
        },
    };
}

it('stopped: what is told of an end is true', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const b = await busy(d);
        process.kill(d.pid, 'SIGTERM');
        assert.deepEqual(await d.exit, { code: 0, signal: null });
        const end = await b.ends();
        for (const name of ['exec', 'queued', 'muxExec']) assert.ok(end[name].e, `${name}: ${JSON.stringify(end[name])}`);
        // Stopping ends the processes; who sees it may say so.
        assert.ok(end.alone.e || end.alone.v.exitCode === 143, JSON.stringify(end.alone));
        for (const name of ['stream', 'logs', 'muxStream']) {
            const last = (end[name].v ?? []).at(-1);
            assert.ok(last?.exitCode === undefined || last.exitCode >= 128, `${name}: ${JSON.stringify(last)}`);
        }
        assert.ok(!/"exit_code":0/.test(end.bridge.v ?? ''), JSON.stringify(end.bridge));
        for (const ws of b.sockets) assert.ok([1000, 1001].includes(await ws.closed));
    }));

it('replaced: nobody is told an end, and everything goes on', () =>
    daemonFor({}, async (d) => {
        const b = await busy(d);
        const old = d.workerPid();
        process.kill(d.pid, 'SIGHUP');
        const end = await b.ends();
        await d.nextWorker(old);
        for (const name of ['exec', 'queued', 'alone', 'muxExec']) {
            assert.ok(end[name].e, `${name}: ${JSON.stringify(end[name])}`);
            assert.notEqual(end[name].e.httpStatus, 503, 'the client would run it twice');
        }
        for (const name of ['stream', 'logs', 'muxStream', 'port']) {
            assert.ok(!(end[name].v ?? []).some((e) => e.exitCode !== undefined || e.type === 'ready'), `${name}: ${JSON.stringify(end[name].v)}`);
        }
        assert.ok(!/event: exit/.test(end.bridge.v ?? ''), JSON.stringify(end.bridge));
        for (const ws of b.sockets) assert.equal(await ws.closed, 1001);
        const c = await clientOf(d);
        const list = (await c.processes.listProcesses()).processes.filter((p) => p.status === 'running');
        assert.ok(list.filter((p) => p.command === 'sleep 100').length >= 2, JSON.stringify(list));
        assert.equal((await d.api('GET', '/v1/sessions/b')).json.status, 'running', 'the commands too');
    }));
