// SPDX-License-Identifier: Apache-2.0
// Ports of the sandbox through kubectl port-forward, client-node's PortForward and SPDY by hand.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import * as k8s from '@kubernetes/client-node';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { after, before, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { configOf, Kubectl, POD, PREFIX, sink, Spdy, WIRES } from './client.mjs';

const listening = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));

withDaemon('kubernetes: portforward', {}, (d) => {
    const body = crypto.randomBytes(2000000);
    const sockets = new Set();
    const web = http.createServer((req, res) => res.end(req.url === '/big' ? body : `you asked for ${req.url}`));
    const echo = net.createServer({ allowHalfOpen: true }, (s) => s.pipe(s).on('error', () => {}));
    const mute = net.createServer((s) => s.pause().on('error', () => {}));
    for (const s of [web, echo, mute]) s.on('connection', (c) => sockets.add(c.on('close', () => sockets.delete(c))));
    let webPort, echoPort, mutePort, closedPort;
    before(async () => {
        [webPort, echoPort, mutePort] = await Promise.all([web, echo, mute].map(listening));
        const gone = net.createServer();
        closedPort = await listening(gone);
        await new Promise((done) => gone.close(done));
    });
    after(() => {
        for (const s of [web, echo, mute]) s.close();
        for (const c of sockets) c.destroy();
    });

    const relays = async () => (await d.list()).filter((p) => p.label === 'port');
    const noRelays = () => waitUntil(async () => (await relays()).length === 0, 'the relays to be gone');

    it("client-node's PortForward: bytes both ways, and the relay goes with the client", async () => {
        const out = sink();
        const err = sink();
        const input = new PassThrough();
        const ws = await new k8s.PortForward(configOf(d)).portForward('default', 'sandbox', [echoPort], out, err, input);
        input.write('hello ');
        await waitUntil(() => out.bytes.toString() === 'hello ', 'the echo');
        const bytes = crypto.randomBytes(1000000);
        input.write(bytes);
        await waitUntil(() => out.bytes.length === bytes.length + 6, 'all of it');
        assert.ok(out.bytes.subarray(6).equals(bytes));
        assert.equal(err.bytes.length, 0);
        ws.close();
        await noRelays();
    });

    it("client-node's PortForward: an HTTP request; a port where nobody listens is told on the error channel", async () => {
        const out = sink();
        const input = new PassThrough();
        const ws = await new k8s.PortForward(configOf(d)).portForward('default', 'sandbox', [webPort], out, sink(), input);
        const closed = new Promise((done) => ws.on('close', done));
        input.write('GET /x HTTP/1.0\r\n\r\n');
        await waitUntil(() => out.bytes.includes('you asked for /x'), 'the answer');
        assert.equal(await within(closed, 20000, 'the close'), 1000);
        const err = sink();
        const bad = await new k8s.PortForward(configOf(d)).portForward('default', 'sandbox', [closedPort], sink(), err, new PassThrough());
        await new Promise((done) => bad.on('close', done));
        assert.match(err.bytes.toString(), new RegExp(`cannot connect to port ${closedPort}: Connection refused`));
        await noRelays();
    });

    it('several ports by WebSocket: each has its two channels and begins with its number', async () => {
        const ws = await WsRaw.open(d, `${PREFIX}${POD}/portforward?ports=${echoPort},${webPort}`, { headers: { 'Sec-WebSocket-Protocol': 'v4.channel.k8s.io' } });
        for (const [i, port] of [echoPort, echoPort, webPort, webPort].entries()) {
            const f = await ws.find(OP.BINARY);
            assert.deepEqual([...f.payload], [i, port & 255, port >> 8]);
        }
        ws.send(OP.BINARY, Buffer.from('\x00one')).send(OP.BINARY, Buffer.from('\x02GET /y HTTP/1.0\r\n\r\n'));
        let seen = '';
        await waitUntil(async () => (seen += (await ws.find(OP.BINARY)).payload.toString()).includes('\x00one') && seen.includes('you asked for /y'), 'both');
        ws.destroy();
        await noRelays();
    });

    const open = async () => Spdy.open(d, `${POD}/portforward`, { headers: { 'X-Stream-Protocol-Version': 'portforward.k8s.io' } });
    const pair = async (s, port, requestid) => {
        const h = { port: String(port), requestid: String(requestid) };
        const error = await s.stream({ streamtype: 'error', ...h });
        return { error, data: await s.stream({ streamtype: 'data', ...h }) };
    };

    it('SPDY: a pair of streams for each connection, half-closes passed on, failures told', async () => {
        const s = await open();
        const a = await pair(s, echoPort, 0);
        const b = await pair(s, closedPort, 1);
        s.data(a.data, 'over and ');
        s.data(a.data, 'out', true);
        await s.until(() => [a.error, a.data, b.error, b.data].every((id) => s.streams.get(id).fin), 'both to end');
        assert.deepEqual([s.text(a.data), s.text(a.error)], ['over and out', '']);
        assert.match(s.text(b.error), /Connection refused/);
        s.goaway();
        await s.conn.rest();
        await noRelays();
    });

    it('SPDY: one that does not read does not hold the others', async () => {
        const s = await open();
        const stuck = await pair(s, mutePort, 0);
        s.data(stuck.data, Buffer.alloc(900000));
        const a = await pair(s, echoPort, 1);
        s.data(a.data, 'goes on', true);
        await s.until(() => s.streams.get(a.data).fin, 'the other');
        assert.equal(s.text(a.data), 'goes on');
        s.conn.destroy();
        await noRelays();
    });

    it('SPDY: streams without a port, of another port, or too many, are reset', async () => {
        const s = await open();
        const refused = async (h) => s.streams.get(await s.stream(h)).reset;
        assert.equal(await refused({ streamtype: 'data', requestid: '0' }), 3);
        assert.equal(await refused({ streamtype: 'data', requestid: '0', port: '70000' }), 3);
        assert.equal(await refused({ streamtype: 'other', requestid: '0', port: '80' }), 3);
        assert.equal(await refused({ streamtype: 'error', requestid: 'x'.repeat(100), port: '80' }), 3);
        await s.stream({ streamtype: 'error', requestid: '1', port: '80' });
        assert.equal(await refused({ streamtype: 'data', requestid: '1', port: '81' }), 1);
        assert.equal(await refused({ streamtype: 'error', requestid: '1', port: '80' }), 1);
        for (let i = 1; i < 512; i++) await s.stream({ streamtype: 'error', requestid: `n${i}`, port: '80' });
        assert.equal(await refused({ streamtype: 'error', requestid: 'last', port: '80' }), 3);
        s.goaway();
        await s.conn.rest();
        assert.deepEqual(await relays(), []);
    });

    it('requests that are none', async () => {
        const refused = async (query, role, status) => {
            const { bytes } = WsRaw.handshake(d, `${PREFIX}${POD}/portforward${query}`, { role });
            const c = await RawConn.connect(d);
            c.send(bytes);
            const a = await c.response();
            c.destroy();
            assert.deepEqual([a.status, JSON.parse(a.body).kind], [status, 'Status'], query);
        };
        for (const query of ['', '?ports=', '?ports=0', '?ports=1,x', '?ports=65536', `?ports=${Array(65).fill(1)}`]) await refused(query, 'own', 400);
        await refused('?ports=80', 'type', 403);
        await refused('?ports=80', null, 401);
    });
});

for (const wire of WIRES) {
    withDaemon(`kubernetes: kubectl port-forward by ${wire.name}`, { auth: false, args: ['--no-auth'] }, (d) => {
        it('requests at once, one with a large answer', async () => {
            const body = crypto.randomBytes(2000000);
            const web = http.createServer((req, res) => res.end(req.url === '/big' ? body : 'small'));
            const port = await listening(web);
            const k = new Kubectl(d, { server: d.url + PREFIX, env: wire.env });
            const child = k.start('port-forward', 'pod/sandbox', `:${port}`);
            const local = await waitUntil(() => /127\.0\.0\.1:(\d+) ->/.exec(child.out().toString())?.[1], 'the local port').catch((err) => {
                throw new Error(`${err.message}: ${child.err()}`);
            });
            const get = async (url) => {
                const r = await fetch(`http://127.0.0.1:${local}${url}`, { headers: { Connection: 'close' } });
                return Buffer.from(await r.arrayBuffer());
            };
            const [big, small, again] = await Promise.all([get('/big'), get('/'), get('/')]);
            assert.ok(big.equals(body));
            assert.deepEqual([small.toString(), again.toString()], ['small', 'small']);
            child.kill('SIGINT');
            await child.ended;
            web.close();
            web.closeAllConnections();
            await waitUntil(async () => (await d.list()).length === 0, 'the relays to be gone');
        });
    });
}
