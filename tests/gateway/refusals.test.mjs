// SPDX-License-Identifier: Apache-2.0
//
// refusals.test.mjs - each way in which a WebSocket can fail, as the published `ws` client sees it
//
// Without --websocket-close-codes a refusal is a status, with it the WebSocket is accepted and closed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import WebSocket from 'ws';
import { noteCode } from '../lib/codes.mjs';
import { rawUpstream, useGateway } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const up = {};
/** Answers by the path: /STATUS refuses with it, /hang says nothing, /cut hangs up, /junk is no HTTP. */
before(async () => {
    Object.assign(
        up,
        await rawUpstream((c) => {
            c.onData = () => {
                const path = /^GET \/(\w*)/.exec(c.text)?.[1];
                if (!c.text.endsWith('\r\n\r\n') || path === 'hang') return;
                c.text = '';
                if (path === 'cut') c.socket.destroy();
                else if (path === 'junk') c.socket.write('SSH-2.0-x\r\n');
                else c.socket.write(`HTTP/1.1 ${path} Why\r\nContent-Length: 5\r\nX-Why: taken\r\n\r\ntaken`);
            };
        }),
    );
});
after(() => up.close());

const options = (...args) => ({
    sandboxes: {
        a: { address: '127.0.0.1', ports: { 80: up.port, 81: 1 } },
        far: { address: '192.0.2.1', ports: [80] },
    },
    args: ['--connect-timeout-ms', '300', '--answer-timeout-ms', '300', ...args],
});

/** [what, where, status, code of ours or none] */
const failures = (g) => [
    ['an unknown sandbox', g.ws('nobody', 80), 404, 'no_such_sandbox'],
    ['a forbidden port', g.ws('a', 99), 403, 'port_not_allowed'],
    ['a dead sandbox', g.ws('a', 81), 502, 'upstream_unreachable'],
    ['one that cannot be reached', g.ws('far', 80), 502, 'upstream_unreachable'],
    ['one that hangs up', g.ws('a', 80, '/cut'), 502, 'upstream_failed'],
    ['one that speaks no HTTP', g.ws('a', 80, '/junk'), 502, 'upstream_failed'],
    ['one that is too slow', g.ws('a', 80, '/hang'), 504, 'upstream_timeout'],
    ...[200, 302, 401, 404, 409, 426, 500, 503].map((s) => [`one that refuses with ${s}`, g.ws('a', 80, `/${s}`), s]),
];

/** How it ends: the close as code and reason, or a status with its body. */
const outcome = (url, protocols = []) =>
    within(
        new Promise((resolve) => {
            const ws = new WebSocket(url, protocols);
            ws.once('open', () => (ws.wasOpen = true));
            ws.once('error', (err) => resolve({ error: err.message }));
            ws.once('unexpected-response', (req, res) => {
                let text = '';
                res.on('data', (d) => (text += d));
                res.on('end', () => resolve({ status: res.statusCode, text, headers: res.headers }));
            });
            ws.once('close', (code, reason) => resolve({ open: ws.wasOpen, protocol: ws.protocol, code, reason: reason.toString() }));
        }),
        20000,
        'the end',
    );

describe('a refused WebSocket', () => {
    const gw = useGateway(() => options());
    it('is a status: of the gateway, or the sandbox’s own with all that came with it', async () => {
        for (const [what, url, status, code] of failures(gw.g)) {
            const got = await outcome(url);
            assert.equal(got.status, status, what);
            if (code) {
                assert.equal(JSON.parse(got.text).code, code, what);
                noteCode(code);
            } else {
                assert.deepEqual([got.text, got.headers['x-why']], ['taken', 'taken'], what);
            }
        }
    });
});

describe('a refused WebSocket with --websocket-close-codes', () => {
    const gw = useGateway(() => options('--websocket-close-codes', '--access-log', 'DIR/log'));
    it('is accepted and closed: 1008 for the request’s fault and for a sandbox’s own refusal, 1011 else', async () => {
        for (const [what, url, status, code] of failures(gw.g)) {
            const want = { open: true, protocol: '', code: code && status >= 500 ? 1011 : 1008, reason: code ?? '' };
            assert.deepEqual(await outcome(url), want, what);
        }
        const refused = await waitUntil(
            () =>
                fs
                    .readFileSync(`${gw.g.dir}/log`, 'utf8')
                    .trim()
                    .split('\n')
                    .map((l) => JSON.parse(l))
                    .find((l) => l.path.endsWith('/409')),
            'the line',
        );
        assert.equal(refused.status, 409, 'the log has what it was');
    });

    it('answers with a protocol that was offered, as clients want one, but never with a token', async () => {
        const token = `holdfast.bearer.${Buffer.from('any-token-0123456789').toString('base64url')}`;
        const url = gw.g.ws('nobody', 80);
        assert.deepEqual(await outcome(url, [token, 'x.y', 'z']), { open: true, protocol: 'x.y', code: 1008, reason: 'no_such_sandbox' });
        assert.equal((await outcome(gw.g.ws('a', 80, '/409'), ['p'])).code, 1008);
        assert.equal((await outcome(url, [token])).error, 'Server sent no subprotocol');
    });

    it('tells it also to a client that has begun to speak, and drops what that says', async () => {
        const c = await RawConn.connect(gw.g);
        const head = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
        c.send(`GET /sandboxes/a/proxy/80/409 HTTP/1.1\r\n${head}`);
        c.send(Buffer.concat([Buffer.from([0x82, 0xfe, 0xff, 0xff, 0, 0, 0, 0]), Buffer.alloc(65535)]));
        assert.match((await c.readUntil('\r\n\r\n')).toString(), /^HTTP\/1.1 101 [^]*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
        await c.expect(Buffer.from([0x88, 2, 1008 >> 8, 1008 & 0xff]));
        await c.expectEnd();
    });

    it('a request that is none is a status: nobody knows what it wanted', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n');
        assert.equal((await c.response()).status, 400);
        await c.rest();
    });

    it('other upgrades and plain requests see the answer itself', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/409 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n');
        assert.equal((await c.response()).status, 409);
        c.send('GET /sandboxes/a/proxy/80/404 HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.equal((await c.response()).body.toString(), 'taken');
        c.destroy();
    });
});
