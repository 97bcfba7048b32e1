// SPDX-License-Identifier: Apache-2.0
//
// bulk.test.mjs - large bodies of known length, which go through the gateway without being looked at

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { Gateway, httpUpstream, rawUpstream } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const body = crypto.randomBytes(9_000_001);
const hash = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const want = hash(body);

describe('large bodies', () => {
    const up = { held: [] };
    let gw;
    let raw;
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

    before(async () => {
        Object.assign(
            up,
            await httpUpstream((req, res) => {
                res.setHeader('content-length', body.length);
                if (req.method === 'HEAD') return res.end();
                if (req.url.endsWith('/cut')) return res.write(body.subarray(0, 3_000_000), () => res.destroy());
                if (req.url.endsWith('/hold')) return up.held.push(res);
                if (req.url.endsWith('/small')) {
                    res.setHeader('content-length', 5);
                    return res.end('small');
                }
                return res.end(body);
            }),
        );
        raw = await rawUpstream((c) => {
            c.onData = () => {
                if (!c.text.endsWith('\r\n\r\n')) return;
                c.text = '';
                c.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
                c.socket.write(Buffer.concat([body, Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')]));
            };
        });
        gw = await new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port, 81: raw.port } } } }).start();
    });
    after(async () => {
        agent.destroy();
        await gw.stop();
        await raw.close();
        await up.close();
    });
    const open = (rest, port = 80, options = {}) =>
        new Promise((done, fail) => {
            http.get(gw.url('a', port, rest), { agent, ...options }, done).on('error', fail);
        });
    const read = async (res) => {
        const parts = [];
        for await (const d of res) parts.push(d);
        return Buffer.concat(parts);
    };
    const worker = () => Number(fs.readFileSync(`/proc/${gw.pid}/task/${gw.pid}/children`, 'utf8'));
    const fds = () => fs.readdirSync(`/proc/${worker()}/fd`).length;

    it('arrive whole, one after the other on one connection', async () => {
        const ports = new Set();
        for (const rest of ['/', '/small', '/', '/', '/small']) {
            const res = await open(rest);
            ports.add(res.socket.localPort);
            const bytes = await read(res);
            assert.equal(hash(bytes), rest === '/' ? want : hash('small'));
        }
        assert.equal(ports.size, 1);
        const head = await open('/', 80, { method: 'HEAD' });
        assert.equal(head.headers['content-length'], String(body.length));
        assert.equal((await read(head)).length, 0);
    });

    it('wait for a client that is slow, and nothing is held meanwhile', async () => {
        const res = await open('/');
        res.pause();
        await waitUntil(() => res.readableLength > 0, 'a beginning');
        const rss = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${worker()}/status`))[1]);
        const parts = [];
        for await (const d of res) {
            parts.push(d);
            if (parts.length % 16 === 0) await new Promise(setImmediate);
        }
        assert.equal(hash(Buffer.concat(parts)), want);
        assert.ok(rss < 400000, `${rss} kB`);
    });

    it('are asked for behind each other without waiting, and come in order', async () => {
        const c = await RawConn.connect(gw);
        c.send('GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\n\r\nGET /sandboxes/a/proxy/80/small HTTP/1.1\r\nHost: x\r\n\r\n');
        await c.readUntil('\r\n\r\n');
        assert.equal(hash(await c.read(body.length)), want);
        assert.match((await c.readUntil('\r\n\r\n')).toString(), /^HTTP\/1.1 200 /);
        await c.expect('small');
        c.destroy();
    });

    it('that are cut are cut', async () => {
        const res = await open('/cut');
        await assert.rejects(read(res));
    });

    it('do not hide what a sandbox says behind them', async () => {
        for (let i = 0; i < 3; i++) assert.equal(hash(await read(await open('/', 81))), want);
        assert.equal(raw.conns.length, 3, 'each had a connection of its own');
    });

    it('leave nothing behind when the client goes', async () => {
        await read(await open('/small'));
        const was = fds();
        for (let i = 0; i < 10; i++) {
            const res = await open('/', 80, { agent: false });
            await waitUntil(() => res.readableLength > 0, 'a beginning');
            res.destroy();
        }
        await waitUntil(() => fds() <= was + 6, 'descriptors to be closed'); /* pipes and connections that are kept */
    });

    it('arrive as well when there are no descriptors left for a pipe', async () => {
        const g = await new Gateway({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } }, args: ['--worker-user', 'root'] /* prlimit(1) is for processes of the same user */ }).start();
        const pid = Number(fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8'));
        const answer = new Promise((done, fail) => http.get(g.url('a', 80, '/hold'), { agent: false }, done).on('error', fail));
        await waitUntil(() => up.held.length === 1, 'the request');
        let free = 0; /* the lowest number that a new one could have */
        while (fs.existsSync(`/proc/${pid}/fd/${free}`)) free++;
        assert.equal(spawnSync('prlimit', ['--pid', String(pid), `--nofile=${free}:`]).status, 0);
        up.held[0].end(body);
        assert.equal(hash(await read(await answer)), want);
        assert.equal(spawnSync('prlimit', ['--pid', String(pid), '--nofile=1024:']).status, 0);
        await g.stop();
    });
});
