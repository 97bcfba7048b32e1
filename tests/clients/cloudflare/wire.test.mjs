// SPDX-License-Identifier: Apache-2.0
// What no well-behaved client sends, and what must hold beneath them all: the worker's end, a listener of its own.

import assert from 'node:assert/strict';
import { SandboxAddon } from 'cf-sandbox/xterm';
import { SandboxAddon as NextAddon } from 'cf-sandbox-next/xterm';
import { clientOf, closeAll, eventsOf, page, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { withWorkspace } from '../../lib/workspace.mjs';

withDaemon('cloudflare: beneath the clients', { ...withWorkspace, listen: ['127.0.0.1:0', 'unix:DIR/socket'], args: ['--dialect', 'cloudflare=127.0.0.1:0'] }, (d) => {
    afterEach(closeAll);

    /* He is waited for for ten seconds, and not by those who come after him. */
    it('a client that stops reading holds neither the end of its command nor the session', async () => {
        const c = await clientOf(d);
        const body = JSON.stringify({ command: 'yes 0123456789012345678901234567890123456789', sessionId: 'stuck', timeoutMs: 1500 });
        const deaf = await RawConn.connect({ socketPath: d.unixPath }); // which holds little
        deaf.socket.pause();
        deaf.send(`POST /dialects/cloudflare/api/execute/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${d.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await waitUntil(async () => (await d.api('GET', '/v1/sessions/stuck')).json?.status === 'running', 'the command');
        assert.equal((await c.commands.execute('echo next', 'stuck')).stdout, 'next\n');
        deaf.destroy();
    });

    const mux = async (role = 'own', path = '/ws') => {
        const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare${path}?access_token=${d.tokens[role]}`);
        await new Promise((done, fail) => ws.on('open', done).on('error', fail));
        ws.closed = new Promise((done) => ws.on('close', done));
        ws.ask = (id, method, url, body, more = {}) => ws.send(JSON.stringify({ type: 'request', id, method, path: url, body, ...more }));
        ws.answer = (id) => waitUntil(() => ws.received.find((m) => m.id === id && m.type !== 'stream'), `an answer to ${id}`, 20000);
        return ws;
    };
    const api = (method, url, options = {}) => d.request(method, `/dialects/cloudflare/api${url}`, options);

    it('messages that are none are told one by one and close nothing', async () => {
        const ws = await mux('own', '/api/ws');
        for (const text of ['{', '[]', '{"type":"request"}', '{"type":"request","id":"","method":"GET","path":"/api/ping"}']) ws.send(text);
        ws.send(JSON.stringify({ type: 'request', id: 'a', path: '/api/ping' }));
        ws.send(JSON.stringify({ type: 'what', id: 'b', method: 'GET', path: '/api/ping' }));
        ws.send(Buffer.from('bytes'));
        ws.send(JSON.stringify({ type: 'cancel', id: 'nobody' }));
        await waitUntil(() => ws.received.length === 7, 'seven errors');
        assert.deepEqual(
            ws.received.map((m) => [m.type, m.code, m.id]),
            [
                ['error', 'PARSE_ERROR', undefined],
                ['error', 'INVALID_REQUEST', undefined],
                ['error', 'INVALID_REQUEST', undefined],
                ['error', 'INVALID_REQUEST', undefined],
                ['error', 'INVALID_REQUEST', 'a'],
                ['error', 'INVALID_REQUEST', 'b'],
                ['error', 'PARSE_ERROR', undefined],
            ],
        );
        ws.ask('ok', 'GET', '/api/ping');
        assert.deepEqual([(await ws.answer('ok')).status, (await ws.answer('ok')).done], [200, true]);
        ws.ask('not', 'GET', '/v1/processes');
        assert.equal((await ws.answer('not')).status, 404);
        ws.ask('dots', 'GET', '/api/../api/ping');
        assert.equal((await ws.answer('dots')).status, 400);
        ws.ask('patch', 'PATCH', '/api/ping');
        assert.equal((await ws.answer('patch')).status, 405);
    });

    it('calls run side by side; an id in use and one too many are refused', async () => {
        const ws = await mux();
        ws.ask('slow', 'POST', '/api/execute', { command: 'while [ ! -e side ]; do sleep 0.02; done; rm side; echo slow', sessionId: 'm1' });
        ws.ask('slow', 'GET', '/api/ping');
        assert.deepEqual([(await ws.answer('slow')).code, (await ws.answer('slow')).status], ['INVALID_REQUEST', 400]);
        ws.received.length = 0;
        ws.ask('quick', 'POST', '/api/execute', { command: 'echo $HOME; touch side' }, { headers: { 'x-session-id': 'm2' } });
        assert.equal((await ws.answer('quick')).body.sessionId, 'm2');
        assert.equal((await ws.answer('slow')).body.stdout, 'slow\n');
        for (let i = 0; i < 70; i++) ws.ask(`w${i}`, 'POST', '/api/execute/stream', { command: 'sleep 100', sessionId: '__DISABLE_SESSION__' });
        await waitUntil(() => ws.received.filter((m) => m.status === 429).length === 6, 'six refusals');
        ws.terminate();
        const c = await clientOf(d);
        await waitUntil(async () => (await c.processes.listProcesses()).processes.filter((p) => p.status === 'running').length >= 64, 'all to run');
        await c.processes.killAllProcesses();
    });

    it('cancelling a stream stops it and nothing else', async () => {
        const ws = await mux();
        ws.ask('s', 'POST', '/api/execute/stream', { command: 'i=0; while [ ! -e stop ]; do echo $i; i=$((i + 1)); sleep 0.01; done; rm stop; echo end > ended', sessionId: 'm3' });
        await waitUntil(() => ws.received.filter((m) => m.type === 'stream').length > 3, 'the stream');
        ws.send(JSON.stringify({ type: 'cancel', id: 's' }));
        ws.ask('after', 'GET', '/api/ping');
        await ws.answer('after');
        const count = ws.received.length;
        ws.ask('touch', 'POST', '/api/execute', { command: 'touch stop', sessionId: 'm4' });
        await ws.answer('touch');
        ws.ask('see', 'POST', '/api/execute', { command: 'cat ended; rm ended', sessionId: 'm3' });
        assert.equal((await ws.answer('see')).body.stdout, 'end\n');
        assert.equal(ws.received.length, count + 2, 'nothing of the stream came after');
    });

    it('the client that cancels a stream says so, and nothing of it comes any more', async () => {
        const c = await clientOf(d, { websocket: true, socket: Socket });
        const stream = await c.commands.executeStream('i=0; while [ ! -e halt ]; do echo $i; i=$((i + 1)); sleep 0.01; done; rm halt; echo end > halted', 'm5');
        const ws = Socket.all.at(-1);
        const reader = stream.getReader();
        await reader.read();
        const { id } = ws.received.find((m) => m.type === 'stream');
        await waitUntil(() => ws.received.filter((m) => m.id === id).length > 3, 'the stream');
        await reader.cancel();
        await waitUntil(() => ws.sent.some((m) => JSON.parse(m).type === 'cancel' && JSON.parse(m).id === id), 'the cancel');
        await c.utils.ping();
        const count = ws.received.filter((m) => m.id === id).length;
        await c.commands.execute('touch halt', 'm6');
        assert.equal((await c.commands.execute('cat halted; rm halted', 'm5')).stdout, 'end\n');
        assert.equal(ws.received.filter((m) => m.id === id).length, count);
    });

    it('a message that is too long ends the multiplex and what it asked for goes on', async () => {
        const ws = await mux();
        ws.ask('begun', 'POST', '/api/execute', { command: 'while [ ! -e long ]; do sleep 0.02; done; rm long; echo over > long-over', sessionId: 'm7' });
        await waitUntil(async () => (await d.api('GET', '/v1/sessions/m7')).json.status === 'running', 'the command');
        ws.ask('long', 'POST', '/api/execute', { command: 'x'.repeat(2 << 20) });
        assert.equal(await ws.closed, 1009);
        const c = await clientOf(d);
        await c.commands.execute('touch long', 'm8');
        assert.equal((await c.commands.execute('cat long-over; rm long-over', 'm7')).stdout, 'over\n');
    });

    it('a reader that stands still gets everything later, and large answers do not break the line', async () => {
        const ws = await mux();
        ws.pause();
        for (let i = 0; i < 4; i++) ws.ask(`big${i}`, 'POST', '/api/execute', { command: 'head -c 3000000 /dev/zero | tr "\\0" x', sessionId: `b${i}` });
        ws.ask('stream', 'POST', '/api/execute/stream', { command: 'seq 1 200000', sessionId: 'b9' });
        const c = await clientOf(d);
        await waitUntil(async () => (await d.api('GET', '/v1/sessions/b3')).json.commands === 1 && (await d.api('GET', '/v1/sessions/b3')).json.status === 'idle', 'the commands', 20000);
        ws.resume();
        for (let i = 0; i < 4; i++) assert.equal((await ws.answer(`big${i}`)).body.stdout.length, 3000000);
        await ws.answer('stream');
        const out = ws.received.filter((m) => m.type === 'stream').map((m) => JSON.parse(m.data || '{}')).filter((e) => e.type === 'stdout').map((e) => e.data).join('');
        assert.equal(out.length, 1288895);
        assert.equal((await c.commands.execute('echo fine', 'b9')).stdout, 'fine\n');
    });

    it('oversized and broken bodies, methods, tokens and roles', async () => {
        const code = async (...args) => {
            const a = await api(...args);
            return [a.status, a.json.code, a.json.httpStatus];
        };
        const json = { 'Content-Type': 'application/json' };
        assert.deepEqual(await code('POST', '/execute', { body: '{', headers: json }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: [1] }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { body: Buffer.alloc(0), headers: json }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 7 } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'a\0b' } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'true', timeoutMs: -5 } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'true', env: ['a'] } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'x'.repeat(200000) } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'x'.repeat(2 << 20) } }), [413, 'VALIDATION_FAILED', 413]);
        assert.deepEqual(await code('POST', '/process/start', { json: { command: 'true', processId: '' } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/session/delete', { json: {} }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/session/create', { json: { id: '../x' } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/port-watch', { json: { port: 0 } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('POST', '/port-watch', { json: { port: 80, path: '/ x' } }), [400, 'VALIDATION_FAILED', 400]);
        assert.deepEqual(await code('DELETE', '/ping'), [405, 'UNKNOWN_ERROR', 405]);
        assert.deepEqual(await code('GET', '/nothing'), [404, 'UNKNOWN_ERROR', 404]);
        assert.deepEqual(await code('GET', '/ping', { role: null }), [401, 'UNAUTHORIZED', 401]);
        assert.deepEqual(await code('POST', '/execute', { json: { command: 'true' }, role: 'watch' }), [403, 'PERMISSION_DENIED', 403]);
        assert.equal((await api('GET', '/process/list', { role: 'watch' })).status, 200);
        assert.deepEqual(await code('POST', '/port-watch', { json: { port: 80, mode: 'http' }, role: 'watch' }), [403, 'PERMISSION_DENIED', 403]);
        const watch = await d.open('POST', '/dialects/cloudflare/api/port-watch', { body: JSON.stringify({ port: d.port, mode: 'tcp' }), headers: json, role: 'watch' });
        assert.equal(watch.statusCode, 200);
        watch.destroy();
        const ws = await mux('watch');
        ws.ask('x', 'POST', '/api/execute', { command: 'true' });
        assert.equal((await ws.answer('x')).status, 403);
    });

    it('the session is the body\'s, the header\'s or the query\'s, and never the token', async () => {
        const where = async (options, query = '') => (await api('POST', `/execute${query}`, options)).json.sessionId;
        const json = { command: 'true' };
        assert.equal(await where({ json: { ...json, sessionId: 'body' }, headers: { 'X-Session-Id': 'head' } }, '?session=q'), 'body');
        assert.equal(await where({ json, headers: { 'X-Session-Id': 'head' } }, '?session=q'), 'head');
        assert.equal(await where({ json }, '?session=q1'), 'q1');
        assert.equal(await where({ json }, '?sessionId=q2'), 'q2');
        assert.equal(await where({ json }), 'default');
        const back = (await api('POST', '/execute', { json: { command: 'sleep 0.01', background: true } })).json;
        assert.equal(back.success, true);
        assert.equal((await d.exitOf(back.processId)).exit_code, 0);
    });

    it('many who want the same new session at once get the same', async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => api('POST', '/execute', { json: { command: `N=$((N + 1)); echo ${i}`, sessionId: 'rush' } })));
        assert.deepEqual(answers.map((a) => a.json.stdout), Array.from({ length: 8 }, (_, i) => `${i}\n`));
        assert.equal((await api('POST', '/execute', { json: { command: 'echo $N', sessionId: 'rush' } })).json.stdout, '8\n');
    });

    it('an own listener serves it at the root, and nothing else', async () => {
        const own = /cloudflare listening on (\S+)/.exec(d.stdout)[1];
        const c = await clientOf(d, { base: own });
        assert.equal((await c.commands.execute('echo hi', 's1')).stdout, 'hi\n');
        assert.match(await (await fetch(own, { headers: d.authHeaders() })).text(), /Cloudflare/);
        assert.equal((await fetch(`${own}/v1/info`, { headers: d.authHeaders() })).status, 404);
    });

    it('a worker that dies takes nothing along: sessions, terminals, cursors and screens go on', async () => {
        const c = await clientOf(d);
        await c.commands.execute('KEPT=yes; cd /usr', 'safe');
        const p = await c.processes.startProcess('echo before; while [ ! -e "$HOME/after" ]; do sleep 0.02; done; echo after', 'safe', { processId: 'survivor' });
        const a = page(SandboxAddon, d, () => '/ws/pty?sessionId=safe&shell=sh');
        a.addon.connect({ sandboxId: 'x', sessionId: 'safe' });
        await a.connected();
        const stable = a.socket();
        a.type("PS1='> '; echo here-$((1))\n");
        await a.shows('here-1\n>');
        const t = (await api('POST', '/terminal/create', { json: { command: ['sh'], env: { PS1: '$ ' } } })).json;
        const b = page(NextAddon, d, (q) => `/ws/terminal?terminalId=${q.terminalId}${q.cursor ? `&cursor=${q.cursor}` : ''}`);
        b.addon.connect({ sandboxId: 'x', terminalId: t.terminalId });
        await b.connected();
        b.type('echo there-$((2))\n');
        await b.shows('there-2\n$');
        const seen = [a.text(), b.text()];
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await Promise.all([a.connected(2), b.connected(2)]);
        await waitUntil(() => a.text() === seen[0] && b.text() === seen[1], 'the same screens').catch(() => assert.deepEqual([a.text(), b.text()], seen));
        assert.notEqual(a.socket(), stable);
        assert.equal((await c.commands.execute('echo $KEPT $PWD', 'safe')).stdout, 'yes /usr\n');
        await c.commands.execute('touch ~/after', 'safe');
        const events = await eventsOf(c.processes.streamProcessLogs(p.processId));
        assert.equal(events.filter((e) => e.type === 'stdout').map((e) => e.data).join(''), 'before\nafter\n');
        assert.equal(events.at(-1).exitCode, 0);
        assert.ok(proc.exists((await d.get(t.terminalId)).pid));
    });
});
