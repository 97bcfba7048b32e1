// SPDX-License-Identifier: Apache-2.0
//
// http.test.mjs - HTTP through the gateway: what arrives is what was sent, and nothing else

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import zlib from 'node:zlib';
import { noteCode } from '../lib/codes.mjs';
import { Gateway, ask, httpUpstream, rawUpstream, useGateway } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const up = {};
const handler = (req, res) => {
    const chunks = [];
    const path = req.url.split('?')[0];
    if (path.endsWith('/sse')) {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write('data: one\n\n');
        up.sse = res;
        return;
    }
    if (path === '/early') {
        res.writeHead(413, { connection: 'close' });
        res.end('too much');
        return;
    }
    req.on('data', (c) => chunks.push(c));
    req.on('end', () => {
        const body = Buffer.concat(chunks);
        up.trailers = req.trailers;
        if (path === '/gzip') {
            res.writeHead(200, { 'content-encoding': 'gzip', 'x-a': ['1', '2'], 'set-cookie': ['a=1', 'b=2; Path=/x'] });
            res.end(zlib.gzipSync('squeezed'));
        } else if (path === '/304') {
            res.writeHead(304, { etag: '"x"', 'content-length': '1234' });
            res.end();
        } else if (path === '/redirect') {
            res.writeHead(302, { location: '/login?x=1' });
            res.end();
        } else if (path === '/trailers') {
            res.writeHead(200, { trailer: 'x-sum' });
            res.write('body');
            res.addTrailers({ 'x-sum': 'abc' });
            res.end();
        } else if (path === '/hash') {
            res.end(crypto.createHash('sha256').update(body).digest('hex'));
        } else if (path === '/hints') {
            res.writeEarlyHints({ link: '</a.css>; rel=preload' });
            res.end('done');
        } else {
            res.setHeader('connection-named', 'x');
            res.setHeader('content-type', 'application/json');
            res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body: body.toString() }));
        }
    });
};

before(async () => Object.assign(up, await httpUpstream(handler)));
after(() => up.close());

describe('HTTP through the gateway', () => {
    const gw = useGateway(() => ({
        sandboxes: {
            a: { address: '127.0.0.1', ports: { 80: up.port, 81: 1, 82: '127.0.0.1:1' } },
            pre: { ports: { 80: `127.0.0.1:${up.port}` }, prefix: '/base', token: 'egress-token-000', headers: { 'X-Own': 'yes' } },
        },
        args: ['--domain', 'gw.test'],
    }));

    it('keeps path and query byte for byte, in both path forms', async () => {
        for (const root of ['/v1', '']) {
            const path = `${root}/sandboxes/a/proxy/80/x/..%2Fy//z;p=1?a=1&b=%2F&&c=%zz`;
            const res = await new Promise((resolve, reject) => {
                const r = http.get({ port: gw.g.port, path }, (m) => {
                    let text = '';
                    m.on('data', (d) => (text += d));
                    m.on('end', () => resolve(JSON.parse(text)));
                });
                r.on('error', reject);
            });
            assert.equal(res.url, '/x/..%2Fy//z;p=1?a=1&b=%2F&&c=%zz');
        }
    });

    it('finds the sandbox by host name', async () => {
        const res = await new Promise((resolve) => {
            http.get({ port: gw.g.port, path: '/p?q', headers: { host: `80-A.gw.test:${gw.g.port}` } }, (m) => {
                let text = '';
                m.on('data', (d) => (text += d));
                m.on('end', () => resolve(JSON.parse(text)));
            });
        });
        assert.equal(res.url, '/p?q');
        assert.equal(res.headers['x-forwarded-host'], `80-A.gw.test:${gw.g.port}`);
        assert.equal(res.headers['x-forwarded-prefix'], undefined);
    });

    it('tells the sandbox who asks, and only by its own knowledge', async () => {
        const { json } = await ask(gw.g.url('a', 80, '/h'), {
            headers: {
                'x-forwarded-for': '6.6.6.6',
                'x-forwarded-evil': '1',
                'x-forwarded-sandbox': 'b',
                forwarded: 'for=6.6.6.6',
                'x-real-ip': '6.6.6.6',
                authorization: 'Bearer secret',
                cookie: 'a=b',
                'open-sandbox-api-key': 'k',
                'x-custom': 'stays',
                x_forwarded_for: '6.6.6.6',
            },
        });
        const h = json.headers;
        assert.equal(h['x-forwarded-for'], '127.0.0.1');
        assert.equal(h['x-forwarded-proto'], 'http');
        assert.equal(h['x-forwarded-host'], `127.0.0.1:${gw.g.port}`);
        assert.equal(h['x-forwarded-prefix'], '/v1/sandboxes/a/proxy/80');
        assert.equal(h['x-forwarded-sandbox'], 'a');
        assert.equal(h.forwarded, `for=127.0.0.1;proto=http;host="127.0.0.1:${gw.g.port}"`);
        assert.equal(h.host, `127.0.0.1:${up.port}`);
        assert.equal(h['x-custom'], 'stays');
        assert.match(h['x-request-id'], /^[0-9a-f]{16}$/);
        for (const name of ['authorization', 'cookie', 'open-sandbox-api-key', 'x-real-ip', 'x-forwarded-evil', 'x_forwarded_for']) {
            assert.equal(h[name], undefined, name);
        }
    });

    it('drops what Connection names, and hop-by-hop headers', async () => {
        const c = await RawConn.connect(gw.g);
        c.send(
            'GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\n' +
                'Keep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: x\r\nSec-WebSocket-Key: x\r\nX-Two: 1\r\nX-Two: 2\r\n\r\n',
        );
        const res = JSON.parse((await c.response()).body);
        assert.equal(res.headers['x-hop'], undefined);
        for (const n of ['te', 'proxy-authorization', 'sec-websocket-key', 'keep-alive']) assert.equal(res.headers[n], undefined, n);
        assert.equal(res.headers['x-two'], '1, 2');
        c.destroy();
    });

    it('adds the prefix, headers and token of the sandbox', async () => {
        const { json } = await ask(gw.g.url('pre', 80, '/q?x'), { headers: { 'x-own': 'no', authorization: 'Bearer mine' } });
        assert.equal(json.url, '/base/q?x');
        assert.equal(json.headers['x-own'], 'yes');
        assert.equal(json.headers.authorization, 'Bearer egress-token-000');
    });

    it('leaves bodies and repeated headers alone, and keeps cookies below the prefix', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/gzip HTTP/1.1\r\nHost: x\r\n\r\n');
        const res = await c.response();
        assert.equal(zlib.gunzipSync(res.body).toString(), 'squeezed');
        assert.equal(res.headers['x-a'], '1, 2');
        assert.equal(res.headers['set-cookie'], 'a=1; Path=/sandboxes/a/proxy/80, b=2; Path=/sandboxes/a/proxy/80/x');
        c.destroy();
    });

    it('keeps redirects below the prefix', async () => {
        const res = await ask(gw.g.url('a', 80, '/redirect'));
        assert.equal(res.headers.get('location'), '/v1/sandboxes/a/proxy/80/login?x=1');
    });

    it('passes HEAD, 304, 103 and trailers', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('HEAD /sandboxes/a/proxy/80/hash HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.equal((await c.response({ head: true })).status, 200);
        c.send('GET /sandboxes/a/proxy/80/304 HTTP/1.1\r\nHost: x\r\n\r\n');
        const not = await c.response();
        assert.equal(not.status, 304);
        assert.equal(not.headers.etag, '"x"');
        c.send('GET /sandboxes/a/proxy/80/hints HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.equal((await c.response()).status, 103);
        assert.equal((await c.response()).body.toString(), 'done');
        c.send('POST /sandboxes/a/proxy/80/trailers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX-Up: 1\r\n\r\n');
        assert.match((await c.readUntil('4\r\nbody\r\n')).toString(), /chunked/i);
        await c.expect('0\r\nx-sum: abc\r\n\r\n');
        assert.deepEqual({ ...up.trailers }, { 'x-up': '1' });
        c.destroy();
    });

    it('streams: an event is there before the answer ends, and an end is told upwards', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/sse HTTP/1.1\r\nHost: x\r\n\r\n');
        await c.readUntil('data: one\n\n');
        up.sse.write('data: two\n\n');
        await c.readUntil('data: two\n\n');
        const gone = new Promise((done) => up.sse.on('close', done));
        c.destroy();
        await within(gone, 10000, 'the sandbox to learn that nobody listens');
    });

    it('waits with the body for a 100 of the sandbox', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('POST /sandboxes/a/proxy/80/hash HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n');
        assert.equal((await c.response()).status, 100);
        c.send('abc');
        assert.equal((await c.response()).body.toString(), crypto.createHash('sha256').update('abc').digest('hex'));
        c.send('POST /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: magic\r\n\r\n');
        assert.equal((await c.response()).status, 417);
        c.destroy();
    });

    it('carries 20 MB up by length and by chunks', async () => {
        const body = crypto.randomBytes(20 << 20);
        const want = crypto.createHash('sha256').update(body).digest('hex');
        assert.equal((await ask(gw.g.url('a', 80, '/hash'), { method: 'POST', body })).text, want);
        const stream = new ReadableStream({
            start(s) {
                for (let i = 0; i < body.length; i += 70000) s.enqueue(body.subarray(i, i + 70000));
                s.close();
            },
        });
        assert.equal((await ask(gw.g.url('a', 80, '/hash'), { method: 'POST', body: stream, duplex: 'half' })).text, want);
    });

    it('gives an early answer while the body is still coming', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('POST /sandboxes/a/proxy/80/early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc');
        const res = await c.response();
        assert.equal(res.status, 413);
        assert.equal(res.headers.connection, 'close');
        c.destroy();
    });

    it('serves an HTTP/1.0 client with a body that ends with the connection', async () => {
        const c = await RawConn.connect(gw.g);
        c.send('GET /sandboxes/a/proxy/80/trailers HTTP/1.0\r\n\r\n');
        const res = await c.response();
        assert.equal(res.body.toString(), 'body');
        assert.equal(res.headers['transfer-encoding'], undefined);
        await c.expectEnd();
    });

    it('answers pipelined requests in order on one connection', async () => {
        const c = await RawConn.connect(gw.g);
        c.send([1, 2, 3].map((i) => `GET /sandboxes/a/proxy/80/?n=${i} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
        for (const i of [1, 2, 3]) assert.equal(JSON.parse((await c.response()).body).url, `/?n=${i}`);
        c.destroy();
    });

    it('holds connections to the sandbox for the next request', async () => {
        const was = await gw.g.metrics();
        for (let i = 0; i < 10; i++) await ask(gw.g.url('a', 80, '/'));
        const now = await gw.g.metrics();
        assert.ok(now.holdfast_gateway_upstream_reused_total - was.holdfast_gateway_upstream_reused_total >= 9);
    });

    it('refuses what it does not know: sandbox, port, path', async () => {
        assert.equal((await ask(gw.g.url('nobody', 80))).json.code, 'no_such_sandbox');
        assert.equal((await ask(gw.g.url('a', 83))).json.code, 'port_not_allowed');
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/sandboxes/a/proxy/abc/`)).json.code, 'not_found');
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/sandboxes/a/proxy/080/`)).status, 404);
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/sandboxes/%61/proxy/80/`)).status, 404);
        const dead = await ask(gw.g.url('a', 81));
        assert.deepEqual([dead.status, dead.json.code], [502, 'upstream_unreachable']);
    });

    it('follows changes of the file', async () => {
        gw.g.write({ ...gw.g.sandboxes, fresh: { address: '127.0.0.1', ports: { 80: up.port } } });
        await waitUntil(async () => (await ask(gw.g.url('fresh', 80))).status === 200, 'the new sandbox');
        const { fresh, ...rest } = gw.g.sandboxes;
        gw.g.write(rest);
        await waitUntil(async () => (await ask(gw.g.url('fresh', 80))).status === 404, 'it to be gone');
    });

    it('does not read the file again for what others do beside it', async () => {
        const reads = () => gw.g.stderr.split('\n').filter((l) => l.includes(' sandboxes in ')).length;
        gw.g.write(gw.g.sandboxes);
        await waitUntil(() => reads() > 0, 'a read');
        await waitUntil(
            async () => {
                /* A file that has just changed is read to be sure; once it is older, it is not. */
                const was = reads();
                for (let i = 0; i < 5; i++) {
                    fs.writeFileSync(`${gw.g.dir}/other`, String(i));
                    await ask(gw.g.url('a', 80));
                }
                return reads() === was;
            },
            'others to be left alone',
            15000,
            500,
        );
        gw.g.write({ ...gw.g.sandboxes, late: gw.g.sandboxes.a });
        await waitUntil(async () => (await ask(gw.g.url('late', 80))).status === 200, 'a change after that');
    });

    it('says how it is', async () => {
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/healthz`)).text, 'ok\n');
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/readyz`)).text, 'ready\n');
        assert.equal((await ask(`http://127.0.0.1:${gw.g.port}/metrics`)).status, 404);
        const m = await gw.g.metrics();
        assert.ok(m['holdfast_gateway_request_seconds_count{route="http"}'] > 10);
    });
});

/** A gateway before an upstream whose bytes each test writes itself: via(answer) asks, and answer(socket) says. */
function useRawUpstream(answerMs) {
    const held = {};
    const gw = useGateway(async () => {
        held.raw = await rawUpstream((c) => {
            c.onData = () => held.answer?.(c);
        });
        return {
            sandboxes: { r: { address: '127.0.0.1', ports: { 80: held.raw.port } } },
            args: ['--answer-timeout-ms', String(answerMs)],
        };
    });
    after(() => held.raw.close());

    const via = async (answer, request = 'GET /sandboxes/r/proxy/80/ HTTP/1.1\r\nHost: x\r\n\r\n', version) => {
        held.answer = (c) => {
            if (!c.text.includes('\r\n\r\n')) return;
            c.text = '';
            answer(c.socket);
        };
        const c = await RawConn.connect(gw.g);
        c.send(version ? request.replace('1.1', version) : request);
        return c;
    };
    return { via, held };
}

describe('interim answers', () => {
    const { via } = useRawUpstream(2000);

    it('passes some interim answers to a client that reads late, and gives up on many', async () => {
        const hint = `HTTP/1.1 103 Early Hints\r\nLink: <${'a'.repeat(20000)}>\r\n\r\n`;
        let c = await via((s) => s.write(`${hint.repeat(90)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`));
        c.socket.pause();
        await new Promise((done) => setTimeout(done, 100));
        c.socket.resume();
        for (let i = 0; i < 90; i++) assert.equal((await c.response()).status, 103);
        assert.equal((await c.response()).body.toString(), 'ok');
        c.destroy();
        c = await via((s) => s.write('HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n'.repeat(1000)));
        let res;
        let count = 0;
        do res = await c.response();
        while (res.status === 103 && ++count < 1000);
        assert.deepEqual([count, res.status, JSON.parse(res.body).code], [100, 502, 'upstream_failed']);
        c.destroy();
    });

    /* The time to answer ran from the question on, whatever was said in between. */
    it('give whoever sends them more time', async () => {
        let left = 3;
        const c = await via((s) => {
            const say = () => s.write(left-- > 0 ? 'HTTP/1.1 102 Processing\r\n\r\n' : 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', () => left >= 0 && setTimeout(say, 900));
            say();
        });
        for (const status of [102, 102, 102, 200]) assert.equal((await c.response()).status, status);
        c.destroy();
    });
});

describe('upstreams that misbehave', () => {
    const { via, held } = useRawUpstream(300);

    for (const [name, bytes] of [
        ['no HTTP at all', 'SSH-2.0-x\r\n'],
        ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
        ['length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
        ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
        ['a folded header', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n'],
        ['a 101 nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
        ['a control character', 'HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n'],
        ['an unknown coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
        ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(40000)}\r\n`],
    ]) {
        it(`answers 502 to ${name}`, async () => {
            const c = await via((s) => s.write(Buffer.from(bytes, 'latin1')));
            const res = await c.response();
            assert.deepEqual([res.status, JSON.parse(res.body).code], [502, 'upstream_failed']);
            noteCode('upstream_failed');
            c.destroy();
        });
    }

    it('answers 502 when the sandbox hangs up, 504 when it says nothing', async () => {
        let c = await via((s) => s.destroy());
        assert.equal((await c.response()).status, 502);
        c.destroy();
        c = await via(() => {});
        const res = await c.response();
        assert.deepEqual([res.status, JSON.parse(res.body).code], [504, 'upstream_timeout']);
        noteCode('upstream_timeout');
        c.destroy();
    });

    it('cuts an answer that was cut', async () => {
        let c = await via((s) => s.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'));
        assert.match((await c.rest()).toString(), /abc$/);
        c = await via((s) => s.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'));
        assert.ok(!(await c.rest()).toString().includes('\r\n0\r\n'));
    });

    it('makes chunks of a body that ends with the connection, and of an HTTP/1.0 answer', async () => {
        let c = await via((s) => s.end('HTTP/1.1 200 OK\r\n\r\nabc'));
        let res = await c.response();
        assert.deepEqual([res.headers['transfer-encoding'], res.body.toString()], ['chunked', 'abc']);
        c.destroy();
        c = await via((s) => s.end('HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nabc'));
        res = await c.response();
        assert.equal(res.body.toString(), 'abc');
        c.destroy();
    });

    it('never reuses a connection that said more than it was asked', async () => {
        const c = await via((s) => s.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'));
        assert.equal((await c.response()).body.toString(), 'a');
        const before = held.raw.conns.length;
        c.send('GET /sandboxes/r/proxy/80/ HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.equal((await c.response()).body.toString(), 'a');
        assert.equal(held.raw.conns.length, before + 1);
        c.destroy();
    });

    it('an answer that has begun is in time, whatever still goes up', async () => {
        const post = 'POST /sandboxes/r/proxy/80/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
        let up;
        const c = await via((s) => {
            up = s;
            s.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n');
        }, post);
        await c.readUntil('1\r\na\r\n');
        c.send('3\r\nabc\r\n');
        await new Promise((done) => setTimeout(done, 900)); // the answer time-out is 300
        up.write('1\r\nb\r\n0\r\n\r\n');
        await c.expect('1\r\nb\r\n0\r\n\r\n');
        c.destroy();
    });

    it('asks again when a held connection breaks at that moment', async () => {
        const ok = (s) => s.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        let c = await via(ok);
        await c.response();
        c.destroy();
        let first = true;
        c = await via((s) => {
            if (first) s.destroy();
            else ok(s);
            first = false;
        });
        assert.equal((await c.response()).body.toString(), 'ok');
        c.destroy();
    });
});

describe('an access log that nobody reads', () => {
    const many = async (g) => {
        for (let i = 0; i < 400; i++) assert.equal((await ask(g.url('a', 80, `/${'x'.repeat(1500)}`))).status, 200);
        const dropped = (await g.metrics()).holdfast_gateway_access_log_dropped_total;
        assert.ok(dropped > 0 && dropped < 400, `${dropped} lines dropped`);
    };

    it('stops no request: standard output', async () => {
        const g = await new Gateway({
            sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
            args: ['--access-log', '-'],
        }).start();
        g.child.stdout.pause();
        await many(g);
        g.child.stdout.resume();
        await g.stop();
        const lines = g.stdout.trim().split('\n').filter((l) => l.startsWith('{'));
        assert.ok(lines.length > 10 && lines.every((l) => JSON.parse(l).status === 200), 'whole lines');
    });

    it('stops no request: a fifo, with or without a reader', async () => {
        const g = new Gateway({
            sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
            args: ['--access-log', 'DIR/fifo'],
        });
        execFileSync('mkfifo', [`${g.dir}/fifo`]);
        await g.start();
        await many(g);
        const reader = spawn('cat', [`${g.dir}/fifo`]);
        let text = '';
        reader.stdout.on('data', (d) => (text += d));
        await waitUntil(() => text.split('\n').length > 10, 'the lines that had room');
        assert.equal(JSON.parse(text.split('\n')[0]).status, 200);
        reader.kill();
        await g.stop();
    });
});

describe('a sandbox that cannot be reached', () => {
    it('is a 502 within the time for connecting', async () => {
        const g = await new Gateway({
            sandboxes: { far: { address: '192.0.2.1', ports: [80] } },
            args: ['--connect-timeout-ms', '200'],
        }).start();
        const res = await ask(g.url('far', 80));
        assert.deepEqual([res.status, res.json.code], [502, 'upstream_unreachable']);
        await g.stop();
    });
});
