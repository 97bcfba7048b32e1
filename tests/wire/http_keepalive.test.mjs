// SPDX-License-Identifier: Apache-2.0
// Connections: kept, pipelined, half-closed, split into single bytes, HTTP/1.0.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit } from '../lib/gen.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';

withDaemon('http connections', {}, (d) => {
    it('serves request after request on one connection', async () => {
        const c = await RawConn.connect(d);
        for (let i = 0; i < 5; i++) {
            c.send(requestBytes(d, 'GET /v1/info'));
            const a = await c.response();
            assert.equal(a.status, 200);
            assert.equal(a.version, 'HTTP/1.1');
            assert.notEqual(a.headers.connection, 'close');
        }
        c.destroy();
    });

    it('answers 200 pipelined requests in their order', async () => {
        const c = await RawConn.connect(d);
        const n = 200;
        const all = [];
        for (let i = 0; i < n; i++) all.push(requestBytes(d, i % 2 ? `GET /v1/processes/proc_${i}` : 'GET /v1/info'));
        c.send(Buffer.concat(all));
        for (let i = 0; i < n; i++) {
            const a = await c.response();
            assert.equal(a.status, i % 2 ? 404 : 200, `answer ${i}`);
            if (i % 2) assert.match(checkProblem(a, 'no_such_process').detail, new RegExp(`proc_${i}\\b`));
        }
        c.destroy();
    });

    it('keeps a pipelined request waiting behind a slow one', async () => {
        const p = await d.sh('sleep 30');
        const c = await RawConn.connect(d);
        c.send(
            Buffer.concat([
                requestBytes(d, `GET /v1/processes/${p.id}/wait?timeout_ms=200`),
                requestBytes(d, 'GET /healthz'),
            ]),
        );
        const first = await c.response();
        assert.equal(JSON.parse(first.body).timed_out, true);
        assert.equal((await c.response()).status, 200);
        c.destroy();
        await d.remove(p.id);
    });

    it('runs pipelined changes one after the other', async () => {
        const c = await RawConn.connect(d);
        const body = JSON.stringify({ command: 'true', tag: 'pipelined' });
        c.send(
            Buffer.concat([
                requestBytes(d, 'POST /v1/processes', { body }),
                requestBytes(d, 'GET /v1/processes/tag:pipelined'),
                requestBytes(d, 'DELETE /v1/processes/tag:pipelined'),
                requestBytes(d, 'GET /v1/processes/tag:pipelined'),
            ]),
        );
        const statuses = [];
        for (let i = 0; i < 4; i++) statuses.push((await c.response()).status);
        assert.deepEqual(statuses, [201, 200, 200, 404]);
        c.destroy();
    });

    it('takes a request that comes byte by byte', async () => {
        const c = await RawConn.connect(d);
        const body = JSON.stringify({ command: 'echo', args: ['bytewise'] });
        for (const b of requestBytes(d, 'POST /v1/processes/run', { body })) {
            c.send(Buffer.from([b]));
            await new Promise(setImmediate);
        }
        assert.equal(JSON.parse((await c.response()).body).stdout, 'bytewise\n');
        c.destroy();
    });

    it('closes when asked to', async () => {
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /healthz', { headers: { Connection: 'close' } }));
        const a = await c.response();
        assert.equal(a.status, 200);
        assert.equal(a.headers.connection, 'close');
        await c.expectEnd();
        c.destroy();
    });

    it('answers a client that has closed its sending side', async () => {
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /v1/info')).half();
        assert.equal((await c.response()).status, 200);
        await c.expectEnd();
        c.destroy();
    });

    it('does not mind a client that goes away in the middle of anything', async () => {
        const whole = requestBytes(d, 'POST /v1/processes/run', { body: JSON.stringify({ command: 'true' }) });
        for (let n = 1; n < whole.length; n += 7) {
            const c = await RawConn.connect(d);
            c.send(whole.subarray(0, n));
            if (n % 2) c.reset();
            else c.destroy();
        }
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });

    it('speaks HTTP/1.0: closes by default, keeps when asked', async () => {
        let c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /healthz', { version: 'HTTP/1.0', headers: { Host: null } }));
        assert.equal((await c.response()).status, 200);
        await c.expectEnd();
        c.destroy();
        c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /healthz', { version: 'HTTP/1.0', headers: { Connection: 'keep-alive' } }));
        const a = await c.response();
        assert.match(a.headers.connection ?? '', /keep-alive/i);
        c.send(requestBytes(d, 'GET /healthz', { version: 'HTTP/1.0' }));
        assert.equal((await c.response()).status, 200);
        await c.expectEnd();
        c.destroy();
    });

    it('streams to HTTP/1.0 without chunks, until the close', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '70000', '-s', '5'] });
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `GET /v1/processes/${p.id}/output?follow=1&since=0`, { version: 'HTTP/1.0' }));
        const a = await c.response();
        assert.equal(a.headers['transfer-encoding'], undefined);
        assert.equal(a.body.length, 70000);
        checkBytes(5, 0, a.body);
        c.destroy();
    });

    it('HEAD is GET without the body', async () => {
        const c = await RawConn.connect(d);
        for (const path of ['/v1/info', '/openapi.json', '/v1/processes', '/v1/processes/proc_none']) {
            c.send(requestBytes(d, `GET ${path}`));
            const get = await c.response();
            c.send(requestBytes(d, `HEAD ${path}`));
            const head = await c.response({ head: true });
            assert.equal(head.status, get.status);
            assert.equal(head.headers['content-type'], get.headers['content-type']);
            assert.equal(head.headers['content-length'], get.headers['content-length']);
        }
        c.send(requestBytes(d, 'GET /healthz'));
        assert.equal((await c.response()).status, 200);
        c.destroy();
    });

    it('gives a slow reader the whole of a large answer', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '900000', '-s', '9', '-c', '65536'] });
        await d.exitOf(p.id);
        const c = await RawConn.connect(d);
        c.socket.pause();
        c.send(requestBytes(d, `GET /v1/processes/${p.id}/output?since=0`));
        c.send(requestBytes(d, 'GET /healthz'));
        const step = setInterval(() => {
            c.socket.resume();
            setImmediate(() => c.socket.pause());
        }, 2);
        const a = await c.response({ ms: 30000 });
        clearInterval(step);
        c.socket.resume();
        assert.equal(a.body.length, 900000);
        checkBytes(9, 0, a.body);
        assert.equal((await c.response()).status, 200);
        c.destroy();
    });
});
