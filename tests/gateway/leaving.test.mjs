// SPDX-License-Identifier: Apache-2.0
//
// leaving.test.mjs - a gateway that must go: streams may end by themselves, what is left is told 1001
//
// The word is said between two frames, whatever flows: a message is whole or is not there, never broken.

import assert from 'node:assert/strict';
import WebSocket, { WebSocketServer } from 'ws';
import { Gateway, httpUpstream } from '../lib/gateway.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const up = {};
before(async () => {
    Object.assign(
        up,
        await httpUpstream((req, res) => {
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            res.write('data: begun\n\n');
            up.answer = res;
        }),
    );
    const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    up.server.on('upgrade', (req, socket, head) => {
        if (req.url === '/bytes') {
            socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n');
            socket.on('error', () => {});
            return;
        }
        wss.handleUpgrade(req, socket, head, (ws) => {
            up.last = { ws, socket, closed: new Promise((done) => ws.once('close', done)) };
            ws.on('error', () => {});
            ws.on('message', (data, binary) => ws.send(data, { binary }));
        });
    });
});
after(() => up.close());

const gateway = (...args) =>
    new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } }, args }).start();
const ended = async (g) => assert.deepEqual(await within(g.exit, 20000, 'the end'), { code: 0, signal: null }, g.stderr);

const doorClosed = (g) => waitUntil(() => RawConn.connect(g).then((c) => (c.destroy(), false), () => true), 'the door to close');

/** A client that keeps what it got; `closed` is the code. */
async function connect(g, rest = '/') {
    const ws = new WebSocket(g.ws('a', 80, rest), { perMessageDeflate: false, maxPayload: 1 << 28 });
    ws.messages = [];
    ws.on('message', (data) => ws.messages.push(data));
    ws.on('error', (err) => (ws.failure = err));
    ws.closed = new Promise((done) => ws.once('close', (code) => done(code)));
    await within(new Promise((done, fail) => (ws.once('open', done), ws.once('error', fail))), 10000, 'the handshake');
    return ws;
}

describe('a gateway that must go', () => {
    it('waits for a stream that ends in time, and says nothing then', async () => {
        const g = await gateway('--drain-ms', '20000');
        const res = await fetch(g.url('a', 80));
        const ws = await connect(g);
        g.child.kill('SIGTERM');
        await doorClosed(g);
        up.answer.end('data: whole\n\n');
        assert.equal(await res.text(), 'data: begun\n\ndata: whole\n\n');
        ws.send('x');
        await waitUntil(() => ws.messages.length === 1, 'an echo');
        ws.close(4005);
        assert.equal(await within(up.last.closed, 10000, 'the close'), 4005);
        await ended(g);
    });

    it('tells an idle WebSocket 1001 when the time is over, and the sandbox learns it from the answer', async () => {
        const g = await gateway('--drain-ms', '50');
        const all = await Promise.all(Array.from({ length: 20 }, () => connect(g)));
        g.child.kill('SIGTERM');
        for (const ws of all) assert.equal(await within(ws.closed, 10000, 'the close'), 1001);
        assert.equal(await within(up.last.closed, 10000, 'the close at the sandbox'), 1001);
        await ended(g);
    });

    it('a second SIGTERM says it at once', async () => {
        const g = await gateway('--drain-ms', '600000');
        const ws = await connect(g);
        g.child.kill('SIGTERM');
        await doorClosed(g);
        g.child.kill('SIGTERM');
        assert.equal(await within(ws.closed, 10000, 'the close'), 1001);
        await ended(g);
    });

    it('SIGHUP tells those of the old workers, while new ones are served', async () => {
        const g = await gateway('--drain-ms', '100');
        const old = await connect(g);
        g.child.kill('SIGHUP');
        assert.equal(await within(old.closed, 10000, 'the close'), 1001);
        const fresh = await connect(g);
        fresh.send('x');
        await waitUntil(() => fresh.messages.length === 1, 'an echo');
        fresh.terminate();
        await g.stop();
    });

    it('lets a frame that has begun come to its end first, and nothing follows', async () => {
        const g = await gateway('--drain-ms', '0');
        const ws = await connect(g);
        const frame = Buffer.concat([Buffer.from([0x82, 126, 3, 232]), Buffer.alloc(1000, 'f')]);
        up.last.socket.write(Buffer.concat([Buffer.from([0x82, 1, 120]), frame.subarray(0, 3)]));
        await waitUntil(() => ws.messages.length === 1, 'the message before');
        g.child.kill('SIGTERM');
        await doorClosed(g);
        assert.equal(ws.readyState, WebSocket.OPEN);
        up.last.socket.write(Buffer.concat([frame.subarray(3), Buffer.from([0x82, 1, 121])]));
        assert.equal(await within(ws.closed, 10000, 'the close'), 1001);
        assert.deepEqual(ws.messages.map(String), ['x', 'f'.repeat(1000)]);
        await ended(g);
    });

    it('cuts what does not come to an end, and what has no word for it', async () => {
        const g = await gateway('--drain-ms', '0');
        const ws = await connect(g);
        const stream = await fetch(g.url('a', 80));
        const raw = await RawConn.connect(g);
        raw.send('GET /sandboxes/a/proxy/80/bytes HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n');
        await raw.readUntil('\r\n\r\n');
        up.last.socket.write(Buffer.from([0x82, 5, 120]));
        await waitUntil(async () => (await g.metrics()).holdfast_gateway_tunnels === 2, 'both tunnels');
        g.child.kill('SIGTERM');
        await assert.rejects(stream.text());
        await raw.expectEnd();
        assert.equal(await within(ws.closed, 10000, 'the cut'), 1006);
        await ended(g);
    });

    for (const [what, sizes] of [
        ['small frames', [0, 1, 125, 126, 1000]],
        ['large frames, which are spliced', [16384, 65536, 300000, 1 << 20]],
        ['frames of all sizes', [0, 5, 126, 20000, 65535, 65536, 70000, 1 << 20]],
    ]) {
        it(`in a flood of ${what} each message is whole, then comes 1001`, async () => {
            const random = seededRandom(runSeed());
            const g = await gateway('--drain-ms', '0');
            for (let round = 0; round < 3; round++) {
                const ws = await connect(g);
                const { ws: source, socket } = up.last;
                let got = 0;
                let sent = 0;
                ws.removeAllListeners('message');
                ws.on('message', (m) => {
                    if (m.readUInt32LE() !== got || !m.subarray(4).equals(Buffer.alloc(m.length - 4, got & 0xff))) ws.broken ??= got;
                    got++;
                });
                const pour = () => {
                    for (let bytes = 0; bytes < 1 << 20 && socket.writableLength < 1 << 20 && source.readyState === WebSocket.OPEN; ) {
                        const size = sizes[Math.floor(random() * sizes.length)];
                        const m = Buffer.alloc(4 + size, sent & 0xff);
                        m.writeUInt32LE(sent++);
                        source.send(m);
                        bytes += 1000 + size;
                    }
                    if (source.readyState === WebSocket.OPEN) setImmediate(pour);
                };
                pour();
                await waitUntil(() => got > 100, 'the flood');
                g.child.kill('SIGHUP');
                assert.equal(await within(ws.closed, 20000, 'the close'), 1001, ws.failure?.message);
                assert.equal(ws.broken, undefined, 'the first broken message');
                assert.ok(got > 100 && got <= sent);
                socket.destroy();
            }
            await g.stop();
        });
    }
});
