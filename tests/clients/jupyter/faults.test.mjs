// SPDX-License-Identifier: Apache-2.0
// Jupyter's terminals with clients that may not, send nonsense, or read nothing; and with a worker that dies.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { after, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, disposeManagers, managerOf, Seen, settingsOf, TerminalAPI } from './client.mjs';

withDaemon('jupyter: faults', { env: { SHELL: '/bin/sh' } }, (d) => {
    after(disposeManagers);
    const api = (token = d.token) => settingsOf(d, { token });
    const call = (method, at, options) => d.request(method, BASE + at, options);
    const refused = (a, status, message) => {
        assert.equal(a.status, status, a.text);
        assert.equal(a.type, 'application/json');
        assert.match(a.json.message, message);
        assert.equal(a.json.reason, null);
    };
    const socket = (name, token = d.token) => new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/terminals/websocket/${name}?token=${token}`);
    const status = (ws) => new Promise((done, fail) => {
        ws.on('unexpected-response', (_, r) => done(r.statusCode));
        ws.on('open', () => fail(new Error('it was accepted')));
    });
    const closed = (ws) => new Promise((done) => ws.on('close', (code) => done(code)));

    it('the token as Jupyter\'s clients send it: in a header and in the query', async () => {
        for (const [headers, query] of [
            [{ authorization: `token ${d.token}` }, ''],
            [{ authorization: `Bearer ${d.token}` }, ''],
            [{}, `?token=${d.token}`],
        ]) assert.deepEqual((await call('GET', `/api/terminals${query}`, { role: null, headers })).json, []);
        for (const [headers, query] of [
            [{}, ''],
            [{ authorization: 'token wrong-wrong-wrong' }, ''],
            [{}, '?token=wrong-wrong-wrong'],
        ]) refused(await call('GET', `/api/terminals${query}`, { role: null, headers }), 401, /token/);
        const p = await d.spawn({ command: 'cat', pty: true });
        assert.equal(await status(socket(p.id, 'wrong-wrong-wrong')), 401);
        await d.remove(p.id);
    });

    it('roles: who watches sees, and neither types nor resizes nor starts', async () => {
        const { name } = await TerminalAPI.startNew(api());
        await assert.rejects(TerminalAPI.startNew(api(d.tokens.watch)), (e) => e.response.status === 403);
        await assert.rejects(TerminalAPI.shutdownTerminal(name, api(d.tokens.type)), (e) => e.response.status === 403);
        const [watch, type] = ['watch', 'type'].map((role) => new Seen(managerOf(d, { token: d.tokens[role] }).connectTo({ model: { name } })));
        await Promise.all([watch.connected(), type.connected()]);
        watch.type('echo no\r');
        watch.size(11, 33);
        type.type('echo y$((1))s\r');
        await watch.sees('y1s');
        assert.ok(!watch.text.includes('no'));
        assert.deepEqual([(await d.get(name)).rows, (await d.get(name)).cols], [24, 80]);
        await TerminalAPI.shutdownTerminal(name, api());
        await within(watch.disposed, 5000, 'the end');
    });

    it('what is no terminal is not found, in the original\'s shape', async () => {
        const pipes = await d.spawn({ command: 'cat' });
        for (const name of ['1', 'proc_nothing', pipes.id, 'pid%3A1', 'a%20b', 'tag%3Ax']) {
            refused(await call('GET', `/api/terminals/${name}`), 404, /^Terminal not found: /);
            refused(await call('DELETE', `/api/terminals/${name}`), 404, /^Terminal not found: /);
            assert.equal(await status(socket(name)), 404);
        }
        refused(await call('GET', '/api/kernels'), 404, /./);
        refused(await call('PUT', '/api/terminals'), 405, /./);
        refused(await call('GET', `/terminals/websocket/${pipes.id}`), 426, /./);
        await d.remove(pipes.id);
    });

    it('bodies that are none start nothing', async () => {
        for (const [body, code, message] of [
            ['{', 400, /line 1/],
            ['[]', 400, /object/],
            ['{"name":7}', 400, /name/],
            ['{"name":"a b"}', 400, /word/],
            ['{"name":"proc_x"}', 400, /process id/],
            ['{"cwd":"/no/such/place"}', 400, /no\/such|directory/],
            [`{"name":"${'x'.repeat(2 << 20)}"}`, 413, /./],
        ]) refused(await call('POST', '/api/terminals', { body, headers: { 'Content-Type': 'application/json' } }), code, message);
        const empty = await call('POST', '/api/terminals');
        assert.equal(empty.status, 200, 'no body is an empty object');
        assert.equal((await d.list('?status=running')).length, 1);
        await TerminalAPI.shutdownTerminal(empty.json.name, api());
    });

    it('frames that are none close the socket with a code, and unknown ones are ignored', async () => {
        const p = await d.spawn({ command: 'cat', pty: true });
        for (const [frame, code] of [
            ['{', 1007],
            ['{}', 1007],
            ['["stdin",7]', 1007],
            [Buffer.from('["stdin","x"]'), 1003],
            [`["stdin","${'x'.repeat(1 << 20)}"]`, 1009],
        ]) {
            const ws = socket(p.id);
            ws.on('open', () => ws.send(frame));
            assert.equal(await within(closed(ws), 10000, 'the close'), code);
        }
        const ws = socket(p.id);
        let text = '';
        ws.on('message', (m) => {
            const [kind, what] = JSON.parse(m);
            if (kind === 'stdout') text += what;
        });
        await new Promise((open) => ws.on('open', open));
        for (const frame of [['setup', {}], ['dance', 1], ['set_size', 99999, 1], ['stdin', 'whole\r']]) ws.send(JSON.stringify(frame));
        await waitUntil(() => text.includes('whole\r\nwhole'), 'the line');
        ws.terminate();
        assert.equal((await d.get(p.id)).cols, 80);
        await d.remove(p.id);
    });

    /* The client takes a close with 1000 or 1001 for the end, and reconnects after all others. */
    it('a worker that dies: the client reconnects by itself, to the same terminal', async () => {
        const manager = managerOf(d);
        const s = new Seen(await manager.startNew());
        await s.connected();
        s.type('kept=yes\r');
        await s.sees('kept=yes');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => s.statuses.filter((x) => x === 'connected').length === 2, 'the second connection');
        s.type('echo "<$kept>"\r');
        await s.sees('<yes>');
        await manager.shutdown(s.t.name);
        await within(s.disposed, 5000, 'the end');
    });

    it('a terminal that ended while nobody was connected: its last output, and the end', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'echo last; exit 3'], pty: true });
        await waitUntil(async () => (await d.get(p.id)).status === 'exited', 'the exit');
        refused(await call('GET', `/api/terminals/${p.id}`), 404, /not found/);
        const ws = socket(p.id);
        const frames = [];
        ws.on('message', (m) => frames.push(JSON.parse(m)));
        assert.equal(await within(closed(ws), 10000, 'the close'), 1000);
        assert.deepEqual(frames, [['setup', {}], ['stdout', 'last\r\n'], ['disconnect', 1]]);
        await d.remove(p.id);
    });
});
