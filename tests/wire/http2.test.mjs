// SPDX-License-Identifier: Apache-2.0
// HTTP/2 with Node's own client: the same routes, bodies, streams, refusals as by HTTP/1.1.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit } from '../lib/gen.mjs';
import { h2ask, h2connect, h2open } from '../lib/http2.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { inParallel, waitUntil, within } from '../lib/wait.mjs';

withDaemon('http/2', { gateway: false }, (d) => {
    /** A session for one test. */
    const withSession = (body, options) => async () => {
        const s = await h2connect(d, options);
        try {
            await body(s);
        } finally {
            s.destroy();
        }
    };

    const collect = (stream, bytes) => {
        stream.held = Buffer.alloc(0);
        stream.on('data', (p) => (stream.held = Buffer.concat([stream.held, p])));
        return () => waitUntil(() => stream.held.length >= bytes, `${bytes} bytes`, 30000);
    };

    it('serves HTTP/2 and HTTP/1.1 on one port', async () => {
        const s = await h2connect(d);
        const a = await h2ask(s, d, 'GET', '/healthz');
        assert.equal(a.status, 200);
        assert.deepEqual(a.json, { status: 'ok' });
        assert.equal(a.headers['content-length'], String(a.body.length));
        assert.equal(a.headers['x-content-type-options'], 'nosniff');
        assert.equal(a.headers['cache-control'], 'no-store');
        assert.ok(Date.parse(a.headers.date) > 0);
        assert.equal(a.headers.connection, undefined);
        assert.equal((await d.request('GET', '/healthz')).status, 200);
        s.close();
    });

    it('takes a preface byte by byte, and a POST that begins like one', async () => {
        const c = await RawConn.connect(d);
        const post = requestBytes(d, 'POST /v1/processes/run', { headers: { 'Content-Length': '18' } });
        for (const b of Buffer.concat([post, Buffer.from('{"command":"true"}')])) c.send(Buffer.from([b]));
        assert.equal((await c.response()).status, 200);
        c.destroy();
        const h = await RawConn.connect(d);
        for (const b of Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')) h.send(Buffer.from([b]));
        const head = await h.read(9);
        assert.equal(head[3], 4, 'the first frame is SETTINGS');
        h.destroy();
    });

    it(
        'runs a command: body in, JSON out',
        withSession(async (s) => {
            const a = await h2ask(s, d, 'POST', '/v1/processes/run', { json: { command: 'echo', args: ['hi'] } });
            assert.equal(a.status, 200, a.text);
            assert.equal(a.json.stdout, 'hi\n');
            const bad = await h2ask(s, d, 'POST', '/v1/processes/run', { body: '{' });
            assert.equal(bad.status, 400);
            assert.equal(bad.headers['content-type'], 'application/problem+json');
        }),
    );

    it(
        'HEAD has a head only, with the length of what GET would bring',
        withSession(async (s) => {
            const get = await h2ask(s, d, 'GET', '/openapi.json');
            const head = await h2ask(s, d, 'HEAD', '/openapi.json');
            assert.equal(head.status, 200);
            assert.equal(head.body.length, 0);
            assert.equal(head.headers['content-length'], String(get.body.length));
        }),
    );

    it(
        'checks token, Host and Origin as for HTTP/1.1',
        withSession(async (s) => {
            const none = await h2ask(s, d, 'GET', '/v1/info', { role: null });
            assert.equal(none.status, 401);
            assert.equal(none.headers['www-authenticate'], 'Bearer');
            assert.equal((await h2ask(s, d, 'GET', '/v1/info', { role: 'wrong-token-0123456789' })).status, 401);
            const role = await h2ask(s, d, 'POST', '/v1/processes/run', { role: 'watch', json: { command: 'true' } });
            assert.equal(role.status, 403);
            const host = await h2ask(s, d, 'GET', '/v1/info', { headers: { ':authority': 'evil.example' } });
            assert.equal(host.json.code, 'host_refused');
            const origin = await h2ask(s, d, 'POST', '/v1/processes/run', {
                headers: { origin: 'https://evil.example' },
                json: { command: 'true' },
            });
            assert.equal(origin.json.code, 'origin_refused');
        }),
    );

    it(
        'answers 404, 405 and 426 in the shape of the API',
        withSession(async (s) => {
            const none = await h2ask(s, d, 'GET', '/v1/nothing');
            assert.equal(none.json.code, 'not_found');
            const method = await h2ask(s, d, 'PUT', '/v1/info', { body: '' });
            assert.equal(method.json.code, 'method_not_allowed');
            assert.match(method.headers.allow, /GET/);
            assert.equal((await h2ask(s, d, 'BREW', '/v1/info', { body: '' })).json.code, 'not_implemented');
            const p = await d.sh('sleep 60');
            const ws = await h2ask(s, d, 'GET', `/v1/processes/${p.id}/connect`);
            assert.equal(ws.json.code, 'upgrade_required');
            assert.equal(ws.headers.upgrade, undefined);
            await d.remove(p.id);
        }),
    );

    it(
        'bodies that are too large are refused, told or not, and the connection goes on',
        withSession(async (s) => {
            const told = await h2ask(s, d, 'POST', '/v1/processes/run', {
                headers: { 'content-length': String(2 << 20) },
                body: Buffer.alloc(2 << 20, 0x20),
            }).catch((err) => err);
            assert.ok(told.status === 413 || /NO_ERROR|closed/.test(String(told)), String(told));
            const stream = h2open(s, d, 'POST', '/v1/processes/run', { endStream: false });
            stream.on('error', () => {});
            stream.write(Buffer.alloc(3 << 20, 0x20));
            assert.equal((await within(stream.head, 20000))[':status'], 413);
            stream.close();
            assert.equal((await h2ask(s, d, 'GET', '/healthz')).status, 200);
        }),
    );

    it(
        'an output of megabytes arrives exactly, whole and followed',
        withSession(async (s) => {
            const n = 3000000;
            const p = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '7', '-c', '65536'], history_bytes: 4 << 20 });
            await d.exitOf(p.id);
            const whole = await h2ask(s, d, 'GET', `/v1/processes/${p.id}/output?since=0`);
            checkBytes(7, 0, whole.body);
            assert.equal(whole.body.length, n);
            const followed = await h2ask(s, d, 'GET', `/v1/processes/${p.id}/output?since=0&follow=1`);
            checkBytes(7, 0, followed.body);
            assert.equal(followed.body.length, n);
        }),
    );

    it(
        'a body is streamed into a program, whose pause stops that stream only',
        withSession(async (s) => {
            const n = 4 << 20;
            const stopped = await d.sh('kill -STOP $$; wc -c', { stdin: 'pipe' });
            const held = h2open(s, d, 'POST', `/v1/processes/${stopped.id}/input?eof=1`, {
                endStream: false,
                headers: { 'content-type': 'application/octet-stream' },
            });
            held.on('error', () => {});
            held.end(Buffer.alloc(n, 0x61));
            assert.equal((await h2ask(s, d, 'GET', '/healthz')).status, 200);
            const other = await d.sh('wc -c', { stdin: 'pipe' });
            const quick = await h2ask(s, d, 'POST', `/v1/processes/${other.id}/input?eof=1`, {
                headers: { 'content-type': 'application/octet-stream' },
                body: Buffer.alloc(n, 0x62),
            });
            assert.ok(quick.status < 300, quick.text);
            assert.equal((await d.exitOf(other.id)).status, 'exited');
            assert.equal((await d.output(other.id)).toString().trim(), String(n));
            await d.api('POST', `/v1/processes/${stopped.id}/signal`, { json: { signal: 'SIGCONT' } });
            assert.ok((await within(held.head, 30000))[':status'] < 300);
            await d.exitOf(stopped.id);
            assert.equal((await d.output(stopped.id)).toString().trim(), String(n));
        }),
    );

    it(
        'many requests at once on one connection are answered, a waiting one among them',
        withSession(async (s) => {
            const p = await d.sh('sleep 60');
            const wait = h2ask(s, d, 'GET', `/v1/processes/${p.id}/wait?timeout_ms=20000`);
            await inParallel(500, 100, async (i) => {
                const a = await h2ask(s, d, 'POST', '/v1/processes/run', { json: { command: 'echo', args: [String(i)] } });
                assert.equal(a.json.stdout, `${i}\n`);
            });
            await d.remove(p.id);
            assert.equal((await wait).json.status, 'exited');
        }),
    );

    it(
        'a reader that pauses delays nobody, and gets all of it later',
        withSession(async (s) => {
            const n = 2000000;
            const p = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '9', '-c', '65536'], history_bytes: 4 << 20 });
            await d.exitOf(p.id);
            const slow = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?since=0&follow=1`);
            await within(slow.head, 10000); // and reads nothing
            const fast = await h2ask(s, d, 'GET', `/v1/processes/${p.id}/output?since=0&follow=1`);
            checkBytes(9, 0, fast.body);
            assert.equal(fast.body.length, n);
            await collect(slow, n)();
            checkBytes(9, 0, slow.held);
            assert.equal(slow.held.length, n);
        }),
    );

    it(
        'cancelling a stream ends it alone: the process and the connection go on',
        withSession(async (s) => {
            const p = await d.sh('while echo x; do sleep 0.05; done');
            const stream = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?follow=1`);
            await collect(stream, 3)();
            stream.close(http2.constants.NGHTTP2_CANCEL);
            await within(new Promise((ok) => stream.once('close', ok)), 10000);
            assert.equal((await h2ask(s, d, 'GET', `/v1/processes/${p.id}`)).json.status, 'running');
            await d.remove(p.id);
        }),
    );

    it(
        'a share link that is revoked ends what came by it, and nothing else on the connection',
        withSession(async (s) => {
            const p = await d.sh('sleep 60');
            const link = (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role: 'watch' }, expect: 201 })).json;
            const path = `/v1/processes/${p.id}/output?follow=1`;
            const byLink = h2open(s, d, 'GET', path, { role: link.token });
            const own = h2open(s, d, 'GET', path);
            byLink.on('error', () => {});
            assert.equal((await within(byLink.head, 10000))[':status'], 200);
            assert.equal((await within(own.head, 10000))[':status'], 200);
            const ended = new Promise((ok) => byLink.once('close', ok));
            await d.api('DELETE', `/v1/processes/${p.id}/links/${link.id}`, { expect: 204 });
            await within(ended, 10000, 'the end of what came by the link');
            assert.equal((await h2ask(s, d, 'GET', `/v1/processes/${p.id}`, { role: link.token })).status, 401);
            assert.equal(own.closed, false);
            own.close();
            await d.remove(p.id);
        }),
    );

    it(
        'events are streamed',
        withSession(async (s) => {
            const stream = h2open(s, d, 'GET', '/v1/events', { headers: { accept: 'text/event-stream' } });
            assert.match((await within(stream.head, 10000))['content-type'], /event-stream/);
            let text = '';
            stream.on('data', (b) => (text += b));
            const p = await d.sh('true');
            await waitUntil(() => text.includes(p.id), 'the event of its start');
            stream.close();
        }),
    );

    it(
        'Expect: 100-continue is answered before the body is asked for',
        withSession(async (s) => {
            const stream = h2open(s, d, 'POST', '/v1/processes/run', {
                endStream: false,
                headers: { expect: '100-continue', 'content-type': 'application/json' },
            });
            const go = new Promise((ok) => stream.once('continue', ok));
            await within(go, 10000, 'a 100');
            stream.end('{"command":"true"}');
            assert.equal((await stream.head)[':status'], 200);
            const no = h2open(s, d, 'POST', '/v1/nothing', { endStream: false, headers: { expect: '100-continue' } });
            assert.equal((await within(no.head, 10000))[':status'], 404);
            no.close();
        }),
    );

    it('many connections may come and go abruptly in the middle of things', async () => {
        const p = await d.sh('while echo x; do sleep 0.02; done');
        await inParallel(40, 10, async () => {
            const s = await h2connect(d);
            const stream = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?since=0&follow=1`);
            const wait = h2open(s, d, 'GET', `/v1/processes/${p.id}/wait?timeout_ms=20000`);
            stream.on('error', () => {});
            wait.on('error', () => {});
            await collect(stream, 1)();
            s.destroy();
        });
        await d.remove(p.id);
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });
});
