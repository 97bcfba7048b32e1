// SPDX-License-Identifier: Apache-2.0
// The WebSocket behind openInteractive(), frame by frame: what the command line sends, and what it would never.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import WebSocket from 'ws';
import { Daemon, withDaemon } from '../../lib/daemon.mjs';
import { whileHeld, settle } from '../../lib/held.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { at, Sandbox, skip } from './client.mjs';

withDaemon('vercel: terminals', { skip }, (d) => {
    let sb;
    before(async () => (sb = await Sandbox.get({ ...at(d), name: 'local' })));

    const dial = (url, token) => {
        const ws = new WebSocket(`${url}?token=${encodeURIComponent(token)}`);
        ws.bytes = Buffer.alloc(0);
        ws.texts = [];
        ws.on('message', (m, binary) => (binary ? (ws.bytes = Buffer.concat([ws.bytes, m])) : ws.texts.push(m.toString())));
        ws.opened = new Promise((done, fail) => ws.on('open', done).on('error', fail));
        ws.closed = new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));
        ws.say = (o) => ws.send(JSON.stringify(o));
        ws.type = (text) => ws.send(Buffer.from(text));
        ws.shows = (text) => waitUntil(() => ws.bytes.includes(text), `the terminal to show ${text}; it shows ${ws.bytes}`);
        return ws;
    };
    const open = async () => {
        const { url, token } = await sb.openInteractive();
        const ws = dial(url, token);
        await ws.opened;
        return ws;
    };
    const start = async (line, more = {}) => {
        const ws = await open();
        ws.say({ type: 'start', command: 'sh', args: ['-c', line], env: [], cols: 80, rows: 24, ...more });
        return ws;
    };
    const running = async () => (await d.list('?status=running')).filter((p) => p.pty);

    it('the exit comes behind the last byte, and then the close', async () => {
        const ws = await start('stty -onlcr; printf "%s|" "$A" "$B" "$(pwd)"; yes | head -c 3000000; exit 7', { env: ['A=1=2', 'B=\u0001x\u0002 $PWD'], cwd: '/usr' });
        assert.deepEqual(await within(ws.closed, 60000, 'the close'), [1000, 'exit']);
        const head = '1=2|\u0001x\u0002 $PWD|/usr|';
        assert.equal(ws.bytes.subarray(0, head.length).toString(), head);
        assert.equal(ws.bytes.length, head.length + 3000000);
        assert.deepEqual(ws.texts, ['{"type":"exit","code":7}']);
    });

    it('what is typed at once waits for the program', async () => {
        const ws = await open();
        ws.say({ type: 'start', command: 'cat' });
        ws.type('typed\r');
        ws.type('\x04');
        await ws.closed;
        assert.equal(ws.bytes.toString(), 'typed\r\ntyped\r\n');
        assert.deepEqual(ws.texts, ['{"type":"exit","code":0}']);
    });

    it('sizes: none is 24 by 80, a change is seen, one that comes during the start counts', async () => {
        const ws = await start('stty size; read x; stty size', { cols: undefined, rows: undefined });
        await ws.shows('24 80');
        ws.say({ type: 'resize', cols: 91, rows: 33 });
        await waitUntil(async () => (await running())[0]?.cols === 91, 'the size');
        ws.type('\r');
        await ws.shows('33 91');
        await ws.closed;
        const other = await start('read x; stty size');
        other.say({ type: 'resize', cols: 61, rows: 22 });
        await waitUntil(async () => (await running())[0]?.cols === 61, 'the size');
        other.type('\r');
        await other.shows('22 61');
        await other.closed;
    });

    it('a program that is missing: why, on the terminal, and 127', async () => {
        const ws = await open();
        ws.say({ type: 'start', command: '/no/such/program' });
        assert.equal((await ws.closed)[0], 1000);
        assert.match(ws.bytes.toString(), /No such file.*\r\n$/);
        assert.deepEqual(ws.texts, ['{"type":"exit","code":127}']);
    });

    it('the terminal outlives its socket, is listed, and ends with its session', async () => {
        const ws = await start('echo up; cat');
        await ws.shows('up');
        ws.terminate();
        const [p] = await running();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'the client to be gone');
        assert.equal((await d.get(p.id)).status, 'running');
        const c = await sb.getCommand(p.id);
        for await (const l of c.logs()) if (l.data.includes('up')) break;
        await sb.stop();
        assert.equal((await d.get(p.id)).status, 'exited');
        assert.equal((await c.wait()).exitCode, (await d.get(p.id)).exit_code);
    });

    it('one that is ended through the native API tells its client', async () => {
        const ws = await start('echo up; cat');
        await ws.shows('up');
        await d.remove((await running())[0].id);
        assert.equal((await ws.closed)[0], 1000);
        assert.match(ws.texts[0], /^\{"type":"exit","code":1\d\d\}$/);
    });

    it('tokens are for one session and a minute: others do not open', async () => {
        const { url, token } = await sb.openInteractive();
        const [until, mac] = token.split('.');
        const other = await Sandbox.create(at(d));
        const elsewhere = url.replace(/sbx_\w+/, other.currentSession().sessionId);
        for (const [u, t] of [
            [url, ''],
            [url, 'x'],
            [url, `${until}.${mac.replace(/./, (c) => (c === '0' ? '1' : '0'))}`],
            [url, `${Number(until) + 60000}.${mac}`],
            [url, `1.${mac}`],
            [elsewhere, token],
            [url, d.tokens.watch],
        ]) {
            await assert.rejects(dial(u, t).opened, /401|403/, t);
        }
        const plain = await d.request('GET', `${new URL(url).pathname}?token=${token}`, { role: null });
        assert.ok([401, 426].includes(plain.status));
        const api = await d.request('GET', `/dialects/vercel/api/v2/sandboxes?token=${token}`, { role: null });
        assert.equal(api.status, 401);
        const over = await other.openInteractive();
        await other.stop();
        await assert.rejects(dial(over.url, over.token).opened, /410/);
        await other.delete();
    });

    /* The whole file of tokens was the key once: whoever knew a lesser token that stood alone in it had it. */
    it('a daemon with no token that may do everything signs nothing', async () => {
        const lesser = new Daemon({ fdBaseline: false }).prepare();
        fs.writeFileSync(lesser.tokenFile, `watch ${lesser.tokens.watch}\n`, { mode: 0o600 });
        await lesser.start();
        try {
            const local = (await lesser.request('GET', '/dialects/vercel/api/v2/sandboxes/local', { role: 'watch' })).json;
            const until = Date.now() + 50000;
            const url = `${lesser.url.replace('http', 'ws')}/dialects/vercel/interactive/${local.session.id}`;
            for (const key of [fs.readFileSync(lesser.tokenFile), lesser.tokens.watch, '']) {
                const mac = crypto.createHmac('sha256', key).update(`vercel interactive ${local.session.id} ${until}`).digest('hex');
                await assert.rejects(dial(url, `${until}.${mac}`).opened, /401/);
            }
        } finally {
            await lesser.stop();
        }
    });

    it('frames that are none close the socket with a reason, and start nothing', async () => {
        const before = (await d.list()).length;
        for (const [frame, code] of [
            ['{', 1007],
            ['[]', 1007],
            ['{"type":"other"}', 1007],
            ['{"type":"start"}', 1007],
            ['{"type":"start","command":"sh","args":"x"}', 1007],
            ['{"type":"start","command":"sh","env":{"A":"b"}}', 1007],
            ['{"type":"start","command":"sh","env":["nothing"]}', 1007],
            ['{"type":"start","command":"sh","cols":99999,"rows":1}', 1007],
            ['{"type":"resize","cols":80,"rows":24}', 1008],
            [Buffer.from('typed'), 1008],
            [`{"type":"start","command":"${'x'.repeat(1 << 20)}"}`, 1009],
        ]) {
            const ws = await open();
            ws.send(frame);
            const [got, reason] = await within(ws.closed, 10000, 'the close');
            assert.equal(got, code, String(frame).slice(0, 60));
            assert.ok(reason.length > 5, reason);
        }
        assert.equal((await d.list()).length, before);
        const ws = await start('cat');
        ws.say({ type: 'start', command: 'true' });
        assert.equal((await ws.closed)[0], 1008);
        for (const p of await running()) await d.remove(p.id);
    });

    it('who goes while it is being started leaves nothing behind', async () => {
        const connections = async () => (await d.request('GET', '/v1/activity')).json.connections;
        const others = await connections();
        const ws = await open();
        const before = (await d.list()).length;
        await whileHeld(d, async () => {
            ws.say({ type: 'start', command: 'cat', env: [] });
            ws.terminate();
            await settle(d);
            await waitUntil(async () => (await connections()) <= others, 'the disconnect to be noticed');
        });
        await waitUntil(async () => (await running()).length === 0 && (await d.list()).length <= before + 1, 'it to be gone');
    });

    it('a worker that dies leaves the terminal, and the next one knows its logs', async () => {
        const ws = await start('echo up; read x; echo "got $x"');
        await ws.shows('up');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        assert.equal((await ws.closed)[0], 1006);
        await d.nextWorker(old);
        const [p] = await waitUntil(running, 'the list');
        await d.request('POST', `/v1/processes/${p.id}/input`, { json: { data: 'it\r' } });
        const c = await sb.getCommand(p.id);
        assert.equal((await c.wait()).exitCode, 0);
        assert.match(await c.stdout(), /up\r\n[^]*got it\r\n/);
    });
});
