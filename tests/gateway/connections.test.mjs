// SPDX-License-Identifier: Apache-2.0
//
// connections.test.mjs - silent and idle connections make room, what is under way is left alone

import assert from 'node:assert/strict';
import { rawUpstream, useGateway } from '../lib/gateway.mjs';
import { limit } from '../lib/limits.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const up = {};
/** Says "ok" at once, at /slow only when it is told to, and echoes after an upgrade. */
before(async () => {
    Object.assign(
        up,
        await rawUpstream((c) => {
            c.onData = (d) => {
                if (c.tunnel) c.socket.write(d);
                else if (c.text.endsWith('\r\n\r\n')) {
                    c.tunnel = /upgrade: bytes/i.test(c.text);
                    const slow = c.text.startsWith('GET /slow');
                    c.text = '';
                    const answer = () => c.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
                    if (c.tunnel) c.socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n');
                    else if (slow) up.release = answer;
                    else answer();
                }
            };
        }),
    );
});
after(() => up.close());

const ask = (path, more = '') => `GET /sandboxes/a/proxy/80${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const options = (...args) => ({ sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } }, args });

async function served(g) {
    const c = await RawConn.connect(g);
    c.send(ask('/'));
    assert.equal((await c.response()).status, 200);
    return c;
}

describe('more connections than the limit', () => {
    const gw = useGateway(() => options('--max-connections', '16'));

    it('close silent and idle ones, and no request or tunnel', async () => {
        const tunnel = await RawConn.connect(gw.g);
        tunnel.send(ask('/', 'Connection: upgrade\r\nUpgrade: bytes\r\n'));
        await tunnel.readUntil('\r\n\r\n');
        const slow = await RawConn.connect(gw.g);
        slow.send(ask('/slow'));
        await waitUntil(() => up.release, 'the request to arrive');
        const idle = await served(gw.g);
        const silent = await Promise.all(Array.from({ length: 40 }, () => RawConn.connect(gw.g)));
        const late = await served(gw.g);
        await waitUntil(() => idle.ended && silent.filter((c) => c.ended).length >= 26, 'the oldest to be closed');
        tunnel.send('ping');
        await tunnel.expect('ping');
        up.release();
        assert.equal((await slow.response()).status, 200);
        [tunnel, slow, late, ...silent].forEach((c) => c.destroy());
    });
});

describe('little time for heads', () => {
    const gw = useGateway(() => options('--header-timeout-ms', '300'));

    it('a connection that says nothing is closed', async () => {
        const c = await RawConn.connect(gw.g);
        await c.expectEnd(30000);
        c.destroy();
    });
});

describe('heads that do not end', () => {
    const gw = useGateway(() => options('--header-timeout-ms', '120000'));

    it('are bounded for all connections together', async () => {
        const head = `GET / HTTP/1.1\r\nX: ${'a'.repeat(30000)}`;
        const held = [];
        while (held.length < limit('LIMIT_GATEWAY_HELD_BYTES') / 32768 + 100) {
            const some = await Promise.all(Array.from({ length: 100 }, () => RawConn.connect(gw.g)));
            some.forEach((c) => c.send(head));
            held.push(...some);
        }
        await waitUntil(() => held.some((c) => c.ended), 'one of them to be closed');
        (await served(gw.g)).destroy();
        held.forEach((c) => c.destroy());
    });
});
