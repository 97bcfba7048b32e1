// SPDX-License-Identifier: Apache-2.0
//
// websocket.test.mjs - upgraded connections through the gateway, with the published `ws` client

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import WebSocket, { WebSocketServer } from 'ws';
import { Gateway, httpUpstream, rawUpstream, useGateway } from '../lib/gateway.mjs';
import * as proc from '../lib/proc.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const up = {};

before(async () => {
    const u = await httpUpstream((req, res) => res.end('plain'));
    const wss = new WebSocketServer({
        noServer: true,
        maxPayload: 64 << 20,
        handleProtocols: (offered) => (offered.has('b') ? 'b' : false),
    });
    u.server.on('upgrade', (req, socket, head) => {
        if (req.url.startsWith('/raw')) {
            socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n');
            up.raw = socket;
            socket.on('end', () => {
                up.rawEnded = true;
            });
            socket.allowHalfOpen = true;
            return;
        }
        wss.handleUpgrade(req, socket, head, (ws) => {
            up.last = { ws, req };
            ws.on('error', () => {});
            ws.on('message', (data, binary) => {
                const text = binary ? '' : data.toString();
                if (text.startsWith('close ')) ws.close(Number(text.slice(6)), 'because');
                else ws.send(data, { binary });
            });
        });
    });
    Object.assign(up, u);
});
after(() => up.close());

const open = (url, protocols, options) =>
    new Promise((resolve, reject) => {
        const ws = new WebSocket(url, protocols, { maxPayload: 64 << 20, perMessageDeflate: false, ...options });
        ws.once('open', () => resolve(ws));
        ws.once('error', reject);
    });
const message = (ws) => within(new Promise((done) => ws.once('message', (data, binary) => done({ data, binary }))), 20000, 'a message');
const closed = (ws) => within(new Promise((done) => ws.once('close', (code, reason) => done([code, reason.toString()]))), 20000, 'a close');

describe('WebSocket through the gateway', () => {
    const gw = useGateway(() => ({
        sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
        args: ['--access-log', 'DIR/log'],
    }));

    it('relays query, sub-protocol and handshake', async () => {
        const ws = await open(gw.g.ws('a', 80, '/pty?pty=1&since=%2F5'), ['a', 'b']);
        assert.equal(ws.protocol, 'b');
        assert.equal(up.last.req.url, '/pty?pty=1&since=%2F5');
        assert.equal(up.last.req.headers['sec-websocket-protocol'], 'a,b');
        ws.terminate();
    });

    it('carries frames of 0 to 16 MiB, text as text and binary as binary', async () => {
        const ws = await open(gw.g.ws('a', 80));
        for (const size of [0, 1, 125, 126, 65535, 65536, 1 << 20, 16 << 20]) {
            const bytes = crypto.randomBytes(size);
            ws.send(bytes);
            const m = await message(ws);
            assert.ok(m.binary && m.data.equals(bytes), `${size}`);
        }
        ws.send('grüße');
        const m = await message(ws);
        assert.deepEqual([m.binary, m.data.toString()], [false, 'grüße']);
        ws.terminate();
    });

    it('carries fragments, pings and pongs', async () => {
        const ws = await open(gw.g.ws('a', 80));
        const got = message(ws);
        ws.send('one,', { fin: false });
        ws.send('two,', { fin: false });
        ws.send('three', { fin: true });
        assert.equal((await got).data.toString(), 'one,two,three');
        const pong = new Promise((done) => ws.once('pong', (d) => done(d.toString())));
        ws.ping('hello');
        assert.equal(await within(pong, 10000, 'a pong'), 'hello');
        const ping = new Promise((done) => ws.once('ping', (d) => done(d.toString())));
        up.last.ws.ping('down');
        assert.equal(await within(ping, 10000, 'a ping'), 'down');
        ws.terminate();
    });

    for (const code of [1000, 1001, 1008, 1011, 4000, 4001, 4999]) {
        it(`relays close code ${code} both ways`, async () => {
            const a = await open(gw.g.ws('a', 80));
            a.send(`close ${code}`);
            assert.deepEqual(await closed(a), [code, 'because']);
            const b = await open(gw.g.ws('a', 80));
            const there = closed(up.last.ws);
            b.close(code, 'mine');
            assert.deepEqual(await there, [code, 'mine']);
        });
    }

    it('passes bytes that come with the handshake in their order', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/raw HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\nearly');
        assert.match((await c.readUntil('\r\n\r\n')).toString(), /^HTTP\/1.1 101 [^]*Upgrade: bytes/);
        let seen = '';
        up.raw.on('data', (d) => (seen += d));
        c.send(' late');
        await waitUntil(() => seen === 'early late', 'the bytes in order');
        c.destroy();
        up.raw.destroy();
    });

    it('keeps a half-close: one direction ends, the other goes on', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/raw HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n');
        await c.readUntil('\r\n\r\n');
        up.rawEnded = false;
        up.raw.resume();
        c.half();
        await waitUntil(() => up.rawEnded, 'the end to arrive');
        up.raw.write('still here');
        await c.expect('still here');
        up.raw.end('bye');
        await c.expect('bye');
        await c.expectEnd();
    });

    it('holds a fast sender back until the receiver takes', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/raw HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n');
        await c.readUntil('\r\n\r\n');
        c.socket.pause();
        const piece = Buffer.alloc(1 << 20, 'x');
        let written = 0;
        while (up.raw.write(piece) && written < 200) written++;
        await waitUntil(() => up.raw.writableLength > 0, 'the sender to be held back');
        const total = 64;
        for (let i = written + 1; i < total; i++) up.raw.write(piece);
        const rss = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${gw.g.pid}/status`))[1]);
        assert.ok(rss < 400000, `${rss} kB`);
        let got = 0;
        c.socket.removeAllListeners('data');
        c.socket.on('data', (d) => (got += d.length));
        c.socket.resume();
        await waitUntil(() => got >= total << 20, 'everything to arrive', 30000);
        c.destroy();
        up.raw.destroy();
    });

    it('a client that is held back is missed when it is gone', async () => {
        const deaf = await rawUpstream((c) => {
            c.onData = () => {
                c.onData = null;
                c.socket.write('HTTP/1.1 101 S\r\nUpgrade: bytes\r\nConnection: Upgrade\r\n\r\n');
                c.socket.pause();
            };
        });
        const g = new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: deaf.port } } } });
        await g.start();
        const c = await RawConn.connect(g);
        c.send('GET /v1/sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nUpgrade: bytes\r\nConnection: Upgrade\r\n\r\n');
        await c.readUntil('\r\n\r\n');
        c.send(Buffer.alloc(30e6));
        let before = -1;
        await waitUntil(() => {
            const stuck = before === c.socket.bytesWritten - c.socket.writableLength;
            before = c.socket.bytesWritten - c.socket.writableLength;
            return stuck && before > 0;
        }, 'nobody to read any more');
        assert.equal((await g.metrics()).holdfast_gateway_tunnels, 1);
        await new Promise((done) => setTimeout(done, 500));
        c.reset();
        await waitUntil(async () => (await g.metrics()).holdfast_gateway_tunnels === 0, 'the end of the tunnel');
        await g.stop();
        await deaf.close();
    });

    it('the last words of a sandbox that is flooded arrive', async () => {
        const closing = Buffer.from([0x88, 5, 3, 0xf1, 0x62, 0x69, 0x67]);
        const deaf = await rawUpstream((c) => {
            c.onData = () => {
                c.onData = null;
                c.socket.write('HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
                c.socket.pause();
            };
        });
        const g = new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: deaf.port } } } });
        await g.start();
        const worker = Number(fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8').trim().split(' ')[0]);
        const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 1, 0xc9, 0xc3, 0x80, 0, 0, 0, 0]);
        /* What is stuck is in a buffer or in a pipe, as it happens: several times it is both. */
        for (let i = 0; i < 6; i++) {
            const c = await RawConn.connect(g);
            c.send('GET /v1/sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
            await c.readUntil('\r\n\r\n');
            c.send(head, Buffer.alloc(30e6));
            await new Promise((done) => setTimeout(done, 400 + 100 * i)); // until nothing moves any more
            process.kill(worker, 'SIGSTOP'); // the words and the reset are there at once
            const s = deaf.conns[i].socket;
            await new Promise((done) => s.once('close', done) && s.write(closing, () => s.resetAndDestroy()));
            process.kill(worker, 'SIGCONT');
            await c.expect(closing);
            c.destroy();
        }
        await g.stop();
        await deaf.close();
    });

    it('ends both sides when one is gone, and leaves no descriptor behind', async () => {
        const workers = () => fs.readFileSync(`/proc/${gw.g.pid}/task/${gw.g.pid}/children`, 'utf8').trim().split(' ');
        const fds = () => workers().reduce((n, pid) => n + fs.readdirSync(`/proc/${pid}/fd`).length, 0);
        await waitUntil(async () => (await gw.g.metrics()).holdfast_gateway_tunnels === 0, 'no tunnel');
        const was = fds();
        const all = await Promise.all(Array.from({ length: 50 }, () => open(gw.g.ws('a', 80))));
        assert.equal((await gw.g.metrics()).holdfast_gateway_tunnels, 50);
        all.forEach((ws) => ws.terminate());
        await waitUntil(async () => (await gw.g.metrics()).holdfast_gateway_tunnels === 0, 'no tunnel');
        await waitUntil(() => fds() <= was + 1, 'descriptors to be closed');
    });

    it('logs what was asked, and no secret', async () => {
        const ws = await open(gw.g.ws('a', 80, '/x?token=very-secret'), undefined, { headers: { authorization: 'Bearer very-secret' } });
        ws.terminate();
        const log = await waitUntil(() => {
            const text = fs.readFileSync(`${gw.g.dir}/log`, 'utf8');
            return text.includes('proxy/80/x') && text;
        }, 'the line');
        assert.ok(!log.includes('very-secret'));
        const line = JSON.parse(log.split('\n').find((l) => l.includes('proxy/80/x')));
        assert.deepEqual([line.sandbox, line.port, line.status, line.upgrade, line.method], ['a', 80, 101, true, 'GET']);
    });
});

describe('idle time and the end of a worker', () => {
    it('ends a tunnel through which nothing goes', async () => {
        const g = await new Gateway({
            sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
            args: ['--idle-timeout-ms', '100'],
        }).start();
        const ws = await open(g.ws('a', 80));
        assert.equal((await closed(ws))[0], 1006);
        await g.stop();
    });

    it('SIGHUP puts new workers beside the old ones; streams go on, new ones meet the new', async () => {
        const g = await new Gateway({
            sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
            workers: 2,
            args: ['--drain-ms', '20000'],
        }).start();
        const workers = () => fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8').trim().split(' ').sort();
        const old = workers();
        const ws = await open(g.ws('a', 80));
        const doors = (pid) => proc.listening(pid, g.port).length;
        const both = doors(old[0]); // its own, and its neighbour's, which it does not look at
        g.child.kill('SIGHUP');
        await waitUntil(() => workers().filter((p) => !old.includes(p)).length === 2, 'new workers');
        await waitUntil(() => old.every((p) => doors(p) < both), 'the old ones to close their doors');
        const fresh = await open(g.ws('a', 80));
        ws.send('still');
        assert.equal((await message(ws)).data.toString(), 'still');
        ws.terminate();
        await waitUntil(() => workers().every((p) => !old.includes(p)), 'the old workers to leave');
        fresh.terminate();
        await g.stop();
    });

    it('who came before SIGHUP and asks after it is answered, once', async () => {
        const g = await new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } } }).start();
        const workers = () => fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8').trim().split(' ');
        const [old] = workers();
        const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
        const silent = await RawConn.connect(g);
        const used = await RawConn.connect(g);
        used.send(request);
        assert.match((await used.readUntil('\r\n\r\n')).toString(), /^HTTP\/1.1 200 /);
        g.child.kill('SIGHUP');
        await used.rest(); // it was between two requests: closed
        silent.send(request);
        assert.match((await silent.rest()).toString(), /^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/);
        await waitUntil(() => !workers().includes(old), 'the old worker to leave');
        // And one that never asks holds nobody up for long.
        const mute = await RawConn.connect(g);
        g.child.kill('SIGTERM');
        assert.deepEqual(await within(g.exit, 10000, 'the end'), { code: 0, signal: null });
        await mute.expectEnd();
    });

    it('SIGTERM lets a stream end by itself', async () => {
        const g = await new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } } }).start();
        const ws = await open(g.ws('a', 80));
        g.child.kill('SIGTERM');
        await waitUntil(() => RawConn.connect(g).then((c) => (c.destroy(), false), () => true), 'the door to close');
        ws.send('last');
        assert.equal((await message(ws)).data.toString(), 'last');
        ws.close(1000);
        assert.deepEqual(await within(g.exit, 10000, 'the end'), { code: 0, signal: null });
    });

    it('a worker that is killed is replaced', async () => {
        const g = await new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } } }).start();
        const worker = Number(fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8'));
        process.kill(worker, 'SIGKILL');
        await waitUntil(async () => (await fetch(g.url('a', 80))).status === 200, 'a new worker');
        await g.stop();
    });
});
