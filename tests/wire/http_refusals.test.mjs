// SPDX-License-Identifier: Apache-2.0
// Requests that are no requests, too long, to nowhere, or by the wrong method.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { noteCode } from '../lib/codes.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { RawConn, exchange, requestBytes } from '../lib/raw.mjs';

withDaemon('http refusals', {}, (d) => {
    /** The refusal of raw bytes, after which the connection must be closed. */
    async function refusal(bytes) {
        const c = await RawConn.connect(d);
        c.send(bytes);
        try {
            const a = await c.response();
            await c.expectEnd();
            return a;
        } finally {
            c.destroy();
        }
    }

    it('answers 400 to what is no request line', async () => {
        const lines = [
            'GET\r\n\r\n',
            'G\x01T / HTTP/1.1\r\n\r\n',
            'GET / HTTX/1.1\r\n\r\n',
            ' GET / HTTP/1.1\r\n\r\n',
            'GET /\x00 HTTP/1.1\r\n\r\n',
            '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
            '{"json":"rpc"}\r\n\r\n',
            'GET /healthz HTTP/1.1\r\nHost: a b\x00\r\n\r\n',
        ];
        for (const l of lines) {
            const a = await refusal(l).catch((err) => assert.fail(`${JSON.stringify(l)}: ${err.message}`));
            checkProblem(a, 'bad_request', JSON.stringify(l));
            assert.equal(a.headers.connection, 'close');
        }
    });

    it('answers 505 to other versions', async () => {
        for (const l of ['GET /\r\n\r\n', 'GET / HTTP/1.1 extra\r\n\r\n', 'GET / HTTP/11\r\n\r\n'])
            checkProblem(await refusal(l), 'http_version_not_supported', l);
        for (const v of ['HTTP/2.0', 'HTTP/0.9', 'HTTP/3.0']) {
            checkProblem(
                await refusal(requestBytes(d, 'GET /healthz', { version: v })),
                'http_version_not_supported',
                v,
            );
        }
        const preface = await refusal('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n');
        noteCode(JSON.parse(preface.body).code);
        assert.ok([400, 505].includes(preface.status));
    });

    it('needs exactly one Host in HTTP/1.1', async () => {
        checkProblem(await refusal(`GET /v1/info HTTP/1.1\r\nAuthorization: Bearer ${d.token}\r\n\r\n`), 'bad_request');
        checkProblem(
            await refusal(
                `GET /v1/info HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nAuthorization: Bearer ${d.token}\r\n\r\n`,
            ),
            'bad_request',
        );
    });

    it('bounds the request target', async () => {
        const ok = await exchange(d, requestBytes(d, `GET /v1/processes/${'a'.repeat(12000)}`));
        assert.equal(ok.status, 404);
        for (const n of [17 * 1024, 200 * 1024]) {
            checkProblem(await refusal(requestBytes(d, `GET /${'a'.repeat(n)}`)), 'uri_too_long');
        }
    });

    it('bounds the headers, in bytes and in number', async () => {
        const big = { 'X-Big': 'x'.repeat(40 * 1024) };
        checkProblem(await refusal(requestBytes(d, 'GET /healthz', { headers: big })), 'headers_too_large');
        const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`X-${i}`, '1']));
        checkProblem(await refusal(requestBytes(d, 'GET /healthz', { headers: many })), 'headers_too_large');
        const fits = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`X-${i}`, 'y'.repeat(200)]));
        assert.equal((await exchange(d, requestBytes(d, 'GET /healthz', { headers: fits }))).status, 200);
    });

    it('bounds headers that never end', async () => {
        const c = await RawConn.connect(d);
        c.send(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: `);
        for (let i = 0; i < 64 && !c.ended; i++) {
            c.send('z'.repeat(1024));
            await new Promise(setImmediate);
        }
        checkProblem(await c.response(), 'headers_too_large');
        await c.expectEnd();
        c.destroy();
    });

    it('answers 404 to unknown paths, however they are spelled', async () => {
        for (const path of [
            '/v1',
            '/v2/processes',
            '/v1/process',
            '/v1/processes/',
            '//v1/processes',
            '/V1/processes',
            '/v1/processes/x/y/z',
            '/%2e%2e/etc/passwd',
            '/v1%2fprocesses',
            '/openapi.json/x',
        ]) {
            const a = await exchange(d, requestBytes(d, `GET ${path}`));
            assert.ok([400, 404].includes(a.status), `${path}: ${a.status}`);
            noteCode(JSON.parse(a.body).code);
        }
        await d.refused('not_found', 'GET', '/v1/nothing');
        await d.refused('not_found', 'POST', '/nothing', { json: {} });
    });

    it('refuses paths that do not decode', async () => {
        for (const path of ['/v1/processes/%zz', '/v1/processes/%', '/v1/processes/a%00b']) {
            checkProblem(await exchange(d, requestBytes(d, `GET ${path}`)), 'bad_path', path);
        }
    });

    it('refuses queries that do not decode or are not known', async () => {
        for (const q of [
            '?%zz=1',
            '?limit=%',
            '?limit=a%00',
            '?limit=1&limit=2',
            '?nonsense=1',
            '?limit',
            '?limit=',
            '?limit=abc',
            '?limit=-1',
            '?limit=99999999999999999999',
        ]) {
            checkProblem(await exchange(d, requestBytes(d, `GET /v1/processes${q}`)), 'bad_query', q);
        }
    });

    it('knows the absolute form of a target', async () => {
        const a = await exchange(d, requestBytes(d, `GET http://127.0.0.1:${d.port}/healthz`));
        assert.equal(a.status, 200);
    });

    it('refuses CONNECT and unknown methods', async () => {
        for (const line of ['CONNECT example.com:443', 'BREW /v1/info', 'get /v1/info', 'TRACE /v1/info', 'PROPFIND /v1/nothing']) {
            const a = await exchange(d, requestBytes(d, line));
            checkProblem(a, 'not_implemented', line);
        }
        // The first word decides, before there is a line.
        checkProblem(await refusal('SSH-2.0-OpenSSH_9.0\r\n'), 'not_implemented', 'SSH');
    });

    it('names the allowed methods of every path', async () => {
        const api = await d.openapi();
        const byPath = new Map();
        for (const [m, path] of api.operations()) byPath.set(path, [...(byPath.get(path) ?? []), m]);
        for (const [path, methods] of byPath) {
            const real = path.replace(/\{[^}]+\}/g, 'x');
            const other = ['PUT', 'DELETE', 'PATCH', 'POST', 'GET'].find((m) => !methods.includes(m));
            const a = await d.request(other, real, { json: other === 'GET' ? undefined : {} });
            if (path === '/mcp') assert.equal(a.json.error.data.code, 'method_not_allowed');
            else checkProblem(a, 'method_not_allowed', `${other} ${path}`);
            assert.equal(a.status, 405);
            const allow = new Set((a.headers.allow ?? '').split(/,\s*/));
            for (const m of methods) assert.ok(allow.has(m), `${path}: Allow ${[...allow]} lacks ${m}`);
            allow.delete('OPTIONS');
            allow.delete('HEAD');
            assert.deepEqual([...allow].sort(), methods.filter((m) => m !== 'HEAD' && m !== 'OPTIONS').sort(), path);
        }
    });

    it('still serves after all of that', async () => {
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });
});
