// SPDX-License-Identifier: Apache-2.0
// Terminals of the published sandbox-agent client over its own WebSocket frames.

import assert from 'node:assert/strict';
import { SandboxAgent } from 'sandbox-agent';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, clientOf, killAndDelete, Session } from './client.mjs';

withDaemon('sandbox-agent: terminals', { args: ['--dialect', 'sandbox-agent=127.0.0.1:0'] }, (d) => {
    const client = clientOf(d);

    const order = async (p) => {
        const ws = raw(p, { query: `?access_token=${d.token}` });
        const seen = [];
        ws.on('message', (m, binary) => seen.push(binary ? 'bytes' : JSON.parse(m).type));
        await new Promise((done) => ws.on('close', done));
        return [...seen, 'close'];
    };

    it('ready first, then exactly the bytes of the program, then its exit and the close', async () => {
        const c = await client();
        const p = await c.createProcess({
            command: 'sh',
            args: ['-c', "stty raw -echo; printf '\\377\\376 any bytes'; exit 7"],
            tty: true,
        });
        const s = new Session(c, p.id);
        await s.closed;
        // The client hands out bytes a tick later than frames; the order on the wire is checked below.
        assert.deepEqual(s.events[0], ['ready', p.id]);
        assert.deepEqual(s.events.slice(1).sort(), [['data'], ['exit', 7]]);
        assert.deepEqual(await order(p), ['ready', 'bytes', 'exit', 'close']);
        assert.deepEqual(s.data, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(' any bytes')]));
        assert.deepEqual(s.errors, []);
        const late = new Session(c, p.id);
        await late.closed;
        assert.equal(late.events[0][0], 'ready');
        assert.ok(late.events.some(([e, code]) => e === 'exit' && code === 7));
        const logs = await c.getProcessLogs(p.id);
        assert.equal(logs.stream, 'pty');
        assert.ok(!Buffer.from(logs.entries[0].data, 'base64').includes('stream error'));
        await c.deleteProcess(p.id);
    });

    it('input as text and as bytes; size by frame and by call', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'sh', tty: true, interactive: true });
        assert.equal(p.interactive, true);
        const s = new Session(c, p.id);
        await s.ready();
        s.t.sendInput('stty size; echo "<$TERM>"\n');
        await s.sees('24 80');
        await s.sees('<xterm-256color>');
        s.t.resize({ cols: 120, rows: 40 });
        s.t.sendInput(Buffer.from('stty size\n'));
        await s.sees('40 120');
        assert.deepEqual(await c.resizeProcessTerminal(p.id, { cols: 90, rows: 30 }), { cols: 90, rows: 30 });
        s.t.sendInput('stty size\n');
        await s.sees('30 90');
        s.t.sendInput('exit 7\n');
        await s.closed;
        assert.deepEqual(s.events.at(-1), ['exit', 7]);
        await c.deleteProcess(p.id);
        const pipe = await c.createProcess({ command: 'sleep', args: ['100'] });
        await assert.rejects(c.resizeProcessTerminal(pipe.id, { cols: 90, rows: 30 }), { status: 409 });
        await killAndDelete(c, pipe);
    });

    it('a child of a terminal has its three descriptors and no more', async () => {
        const c = await client();
        const before = await c.createProcess({ command: 'sleep', args: ['100'], tty: true });
        const p = await c.createProcess({ command: 'ls', args: ['/proc/self/fd'], tty: true });
        const s = new Session(c, p.id);
        await s.closed;
        assert.deepEqual(s.data.toString().trim().split(/\s+/), ['0', '1', '2', '3']); // 3 is the listing itself
        await killAndDelete(c, before, p);
    });

    it('detaching and a dropped connection leave it running; two sessions see each other type', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        const a = new Session(c, p.id);
        const b = new Session(c, p.id);
        await a.ready();
        await b.ready();
        a.t.sendInput('from a\n');
        await b.sees('from a');
        b.t.sendInput('from b\n');
        await a.sees('from b');
        a.t.close();
        await a.closed;
        assert.equal((await c.getProcess(p.id)).status, 'running');
        const again = new Session(c, p.id);
        await again.sees('from b'); // what was there is shown again
        b.socket.terminate();
        again.t.close();
        await Promise.all([b.closed, again.closed]);
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'the drop to be noticed');
        assert.equal((await c.getProcess(p.id)).status, 'running');
        await killAndDelete(c, p);
    });

    const raw = (p, options = {}, base = d.url + BASE) =>
        new WebSocket(`${base.replace('http', 'ws')}/v1/processes/${p.id}/terminal/ws${options.query ?? ''}`, {
            headers: options.headers ?? {},
        });
    const opened = (ws) =>
        new Promise((done, fail) => {
            ws.on('open', () => done(101));
            ws.on('unexpected-response', (rq, rs) => done(rs.statusCode));
            ws.on('error', fail);
        });

    it('the token by query for the WebSocket only, by header for all', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        for (const [options, status] of [
            [{ query: `?access_token=${d.token}` }, 101],
            [{ headers: { Authorization: `Bearer ${d.token}` } }, 101],
            [{}, 401],
            [{ query: '?access_token=wrong' }, 401],
        ]) {
            const ws = raw(p, options);
            assert.equal(await opened(ws), status, JSON.stringify(options));
            ws.terminate();
        }
        const a = await d.request('GET', `${BASE}/v1/processes?access_token=${d.token}`, { role: null });
        assert.equal(a.status, 401);
        const pipe = await c.createProcess({ command: 'cat' });
        const refused = raw(pipe, { query: `?access_token=${d.token}` });
        assert.equal(await opened(refused), 409);
        assert.equal(await opened(raw({ id: 'proc_nothing' }, { query: `?access_token=${d.token}` })), 404);
        await killAndDelete(c, p, pipe);
    });

    it('bad frames are told one by one and close nothing', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        const s = new Session(c, p.id);
        await s.ready();
        const wrong = [
            [Buffer.from('bytes'), /^binary input is not supported; use text JSON frames$/],
            ['{', /^invalid terminal frame: /],
            ['{"type":"dance"}', /^invalid terminal frame: unknown type$/],
            ['[]', /^invalid terminal frame: /],
            [JSON.stringify({ type: 'input', data: 'x'.repeat(65537) }), /^input payload exceeds maxInputBytesPerRequest \(65536\)$/],
            [JSON.stringify({ type: 'input', data: '!', encoding: 'base64' }), /base64/],
            [JSON.stringify({ type: 'input' }), /missing field `data`/],
            [JSON.stringify({ type: 'resize', cols: 'a', rows: 1 }), /cols and rows/],
            [JSON.stringify({ type: 'resize', cols: 70000, rows: 1 }), /cols and rows/],
        ];
        for (const [frame] of wrong) s.socket.send(frame);
        s.t.sendInput('still here\n');
        await s.sees('still here\r\nstill here');
        assert.equal(s.errors.length, wrong.length, s.errors.join('; '));
        wrong.forEach(([, message], i) => assert.match(s.errors[i], message));
        assert.equal(s.socket.readyState, WebSocket.OPEN);
        s.t.close();
        await killAndDelete(c, p);
    });

    /* The original lost most of it, and said nothing. */
    it('30 MB with a reader that stands still for 4 s arrive whole', async () => {
        const c = await client();
        const size = 30 << 20;
        const p = await c.createProcess({ command: 'sh', args: ['-c', `stty raw -echo; echo up; read x; head -c ${size} /dev/zero`], tty: true });
        const s = new Session(c, p.id);
        await s.sees('up\n');
        s.t.sendInput('\n');
        await waitUntil(() => s.bytes > 3, 'the first bytes');
        s.socket.pause();
        setTimeout(() => s.socket.resume(), 4000);
        await s.closed;
        await waitUntil(() => s.bytes === size + 3, 'all of it').catch(() => {});
        assert.deepEqual([s.bytes, s.errors], [size + 3, []]);
        assert.deepEqual(s.events.at(-1), ['exit', 0]);
        await c.deleteProcess(p.id);
    });

    it('one that is slower than another is told what it has missed', async () => {
        const c = await client();
        const size = 30 << 20;
        const p = await c.createProcess({ command: 'sh', args: ['-c', `stty raw -echo; echo up; read x; head -c ${size} /dev/zero`], tty: true });
        const [slow, fast] = [new Session(c, p.id), new Session(c, p.id)];
        await Promise.all([slow.sees('up\n'), fast.sees('up\n')]);
        slow.socket.pause();
        fast.t.sendInput('\n');
        await fast.closed;
        assert.deepEqual([fast.bytes, fast.errors], [size + 3, []]);
        slow.socket.resume();
        await slow.closed;
        const lost = slow.errors.map((e) => Number(/^(\d+) bytes of output were lost/.exec(e)[1])).reduce((a, b) => a + b, 0);
        assert.ok(lost > 0);
        assert.equal(slow.bytes + lost, size + 3);
        await c.deleteProcess(p.id);
    });

    it('its own listener serves it at the root, and nothing else', async () => {
        const own = /sandbox-agent listening on (\S+)/.exec(d.stdout)[1];
        const c = await SandboxAgent.connect({ baseUrl: own, token: d.token });
        assert.equal((await c.runProcess({ command: 'echo', args: ['hi'] })).stdout, 'hi\n');
        const a = await fetch(`${own}/v1/info`, { headers: { Authorization: `Bearer ${d.token}` } });
        assert.equal(a.status, 404);
    });
});
