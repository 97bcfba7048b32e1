// SPDX-License-Identifier: Apache-2.0
//
// soak.test.mjs - many connections come and go, and long streams stay: nothing is left behind

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { releaseBinary } from '../lib/daemon.mjs';
import { Gateway, rawUpstream } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { scaled } from '../lib/scale.mjs';
import { describe, it } from '../lib/test.mjs';
import { inParallel, waitUntil } from '../lib/wait.mjs';

const CONNECTIONS = scaled(100000, 3000);
const STREAMS = scaled(1000, 100);

describe('soak', () => {
    it(`${CONNECTIONS} connections and ${STREAMS} streams end with the descriptors and the memory they began with`, async () => {
        const up = await rawUpstream((c) => {
            c.onData = (d) => {
                if (c.tunnel) c.socket.write(d);
                else if (c.text.endsWith('\r\n\r\n')) {
                    c.tunnel = /upgrade: bytes/i.test(c.text);
                    c.text = '';
                    c.socket.write(
                        c.tunnel
                            ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n'
                            : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
                    );
                } else return;
                c.text = '';
            };
            c.socket.on('end', () => c.socket.end());
        });
        const g = await new Gateway({
            bin: releaseBinary() ?? undefined,
            sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
            args: ['--pool-timeout-ms', '100'],
        }).start();
        const worker = fs.readFileSync(`/proc/${g.pid}/task/${g.pid}/children`, 'utf8').trim();
        const fds = () => fs.readdirSync(`/proc/${worker}/fd`).length;
        const rss = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${worker}/status`))[1]);
        const once = () =>
            new Promise((done, fail) => {
                const s = net.connect(g.port, '127.0.0.1');
                let text = '';
                s.on('data', (d) => {
                    text += d;
                    if (text.endsWith('ok')) s.destroy();
                });
                s.on('error', fail);
                s.on('close', () => (text.endsWith('ok') ? done() : fail(new Error(text))));
                s.write('GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\n\r\n');
            });
        const stream = async () => {
            const c = await RawConn.connect(g);
            c.send('GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n');
            await c.readUntil('\r\n\r\n');
            return c;
        };
        const echo = (c) => (c.send('ping'), c.expect('ping'));

        await inParallel(300, 20, once); /* what is made once is made */
        await waitUntil(async () => (await g.metrics()).holdfast_gateway_upstream_idle === 0, 'held connections to go');
        const was = { fds: fds(), rss: rss() };
        const streams = [];
        await inParallel(STREAMS, 20, async () => streams.push(await stream()));
        await inParallel(CONNECTIONS, 20, once);
        await inParallel(STREAMS, 20, (i) => echo(streams[i]));
        streams.forEach((c) => c.destroy());
        await waitUntil(async () => (await g.metrics()).holdfast_gateway_tunnels === 0, 'streams to end');
        await waitUntil(() => fds() <= was.fds, 'descriptors to be closed');
        assert.ok(rss() < was.rss + 1500, `${was.rss} kB before, ${rss()} kB after`);
        await g.stop();
        await up.close();
    });
});
