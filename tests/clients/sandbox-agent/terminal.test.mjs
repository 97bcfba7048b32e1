// SPDX-License-Identifier: Apache-2.0
// Terminals of the published sandbox-agent client over its own WebSocket frames.

import assert from 'node:assert/strict';
import { SandboxAgent } from 'sandbox-agent';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('sandbox-agent: terminals', { args: ['--dialect', 'sandbox-agent=127.0.0.1:0'] }, (d) => {
    let connected;
    const client = () =>
        (connected ??= SandboxAgent.connect({ baseUrl: `${d.url}/dialects/sandbox-agent`, token: d.token }));

    class Session {
        constructor(c, id) {
            this.data = Buffer.alloc(0);
            this.events = [];
            this.errors = [];
            this.t = c.connectProcessTerminal(id, { WebSocket });
            this.t.onReady((f) => this.events.push(['ready', f.processId]));
            this.t.onData((b) => {
                if (!this.data.length) this.events.push(['data']);
                this.data = Buffer.concat([this.data, Buffer.from(b)]);
            });
            this.t.onExit((f) => this.events.push(['exit', f.exitCode]));
            this.t.onError((e) => this.errors.push(e));
            this.closed = new Promise((done) => this.t.onClose(done));
        }
        ready() {
            return waitUntil(() => this.events.some(([e]) => e === 'ready'), 'ready');
        }
        sees(what) {
            return waitUntil(() => this.data.includes(what), `${JSON.stringify(what)} in ${JSON.stringify(this.data.toString())}`);
        }
    }

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
        s.t.sendInput('stty size\n');
        await s.sees('24 80');
        s.t.resize({ cols: 120, rows: 40 });
        s.t.sendInput(Buffer.from('stty size\n'));
        await s.sees('40 120');
        assert.deepEqual(await c.resizeProcessTerminal(p.id, { cols: 90, rows: 30 }), { cols: 90, rows: 30 });
        s.t.sendInput('stty size\n');
        await s.sees('30 90');
        s.t.sendInput('ls -l /proc/self/fd | wc -l; exit 7\n');
        await s.closed;
        assert.deepEqual(s.events.at(-1), ['exit', 7]);
        await c.deleteProcess(p.id);
        const pipe = await c.createProcess({ command: 'sleep', args: ['100'] });
        await assert.rejects(c.resizeProcessTerminal(pipe.id, { cols: 90, rows: 30 }), { status: 409 });
        await c.killProcess(pipe.id);
        await c.deleteProcess(pipe.id);
    });

    it('a child of a terminal has its three descriptors and no more', async () => {
        const c = await client();
        const before = await c.createProcess({ command: 'sleep', args: ['100'], tty: true });
        const p = await c.createProcess({ command: 'ls', args: ['/proc/self/fd'], tty: true });
        const s = new Session(c, p.id);
        await s.closed;
        assert.deepEqual(s.data.toString().trim().split(/\s+/), ['0', '1', '2', '3']); // 3 is the listing itself
        await c.killProcess(before.id);
        for (const q of [before, p]) await c.deleteProcess(q.id);
    });

    it('detaching leaves it running; two sessions see each other type', async () => {
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
        b.t.close();
        again.t.close();
        await Promise.all([b.closed, again.closed]);
        await c.killProcess(p.id);
        await c.deleteProcess(p.id);
    });

    const raw = (p, options = {}, base = d.url + '/dialects/sandbox-agent') =>
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
        const a = await d.request('GET', `/dialects/sandbox-agent/v1/processes?access_token=${d.token}`, { role: null });
        assert.equal(a.status, 401);
        const pipe = await c.createProcess({ command: 'cat' });
        const refused = raw(pipe, { query: `?access_token=${d.token}` });
        assert.equal(await opened(refused), 409);
        for (const q of [p, pipe]) {
            await c.killProcess(q.id);
            await c.deleteProcess(q.id);
        }
    });

    it('bad frames are told one by one and close nothing', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        const ws = raw(p, { query: `?access_token=${d.token}` });
        const frames = [];
        ws.on('message', (m, binary) => !binary && frames.push(JSON.parse(m)));
        await opened(ws);
        ws.send(Buffer.from('bytes'));
        ws.send('{');
        ws.send('{"type":"dance"}');
        ws.send(JSON.stringify({ type: 'input', data: 'x'.repeat(65537) }));
        ws.send(JSON.stringify({ type: 'input', data: '!', encoding: 'base64' }));
        ws.send(JSON.stringify({ type: 'resize', cols: 'a', rows: 1 }));
        await waitUntil(() => frames.filter((f) => f.type === 'error').length === 6, 'six errors');
        assert.match(frames.filter((f) => f.type === 'error')[0].message, /binary input is not supported/);
        assert.equal(ws.readyState, WebSocket.OPEN);
        ws.terminate();
        await c.killProcess(p.id);
        await c.deleteProcess(p.id);
    });

    it('a burst with a reader that stands still for a while arrives whole, or the hole is told', async () => {
        const c = await client();
        const size = 8 << 20;
        const p = await c.createProcess({
            command: 'sh',
            args: ['-c', `stty raw; read x; head -c ${size} /dev/zero`],
            tty: true,
        });
        const ws = raw(p, { query: `?access_token=${d.token}` });
        let bytes = 0;
        let lost = 0;
        let exit;
        ws.on('message', (m, binary) => {
            if (binary) bytes += m.length;
            else {
                const f = JSON.parse(m);
                if (f.type === 'error') lost += Number(/^(\d+) bytes/.exec(f.message)[1]);
                if (f.type === 'exit') exit = f;
            }
        });
        await opened(ws);
        ws.send(JSON.stringify({ type: 'input', data: '\n' }));
        await waitUntil(() => bytes > 0, 'the first bytes');
        ws.pause();
        setTimeout(() => ws.resume(), 500);
        await waitUntil(() => exit !== undefined, 'the exit', 60000);
        assert.ok(bytes + lost >= size && bytes + lost < size + 16, `${bytes} + ${lost}`);
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
