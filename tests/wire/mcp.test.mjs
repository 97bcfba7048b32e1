// SPDX-License-Identifier: Apache-2.0
// /mcp on the wire: what is refused, with which status and in which words.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { limit } from '../lib/limits.mjs';
import { ACCEPT, checkError, initialize, notification, open, openPost, post, request } from '../lib/mcp.mjs';
import { exchange, requestBytes } from '../lib/raw.mjs';
import { SseReader } from '../lib/sse.mjs';

const SSE = 'text/event-stream';

withDaemon('mcp on the wire', {}, (d) => {
    const get = (headers, options = {}) => d.request('GET', '/mcp', { headers, agent: false, ...options });

    it('refuses what is no JSON', async () => {
        const bad = ['', '{', 'null x', '{"a":1,"a":2}', '{"jsonrpc":"2.0",}', '\xff', '[1,', "{'a':1}", '1e999'];
        for (const body of bad) checkError(await post(d, body), 400, -32700);
        assert.equal(JSON.parse((await post(d, '{')).text).id, null);
    });

    it('refuses what is nested too deep, and what is too long', async () => {
        for (const deep of [65, 1000, 100000]) {
            checkError(await post(d, '['.repeat(deep) + ']'.repeat(deep)), 400, -32700);
            checkError(await post(d, '{"a":'.repeat(deep) + '1' + '}'.repeat(deep)), 400, -32700);
        }
        const max = limit('LIMIT_JSON_BODY_BYTES');
        const e = checkError(await post(d, `{"x":"${'a'.repeat(max)}"}`), 413, -32000);
        assert.equal(e.data.code, 'body_too_large');
        const body = JSON.stringify(initialize());
        assert.equal((await post(d, body + ' '.repeat(max - body.length))).status, 200);
    });

    it('refuses what is JSON and no message', async () => {
        const session = await open(d);
        const bad = [
            'null',
            '1',
            '"x"',
            'true',
            '{}',
            { jsonrpc: '2.0' },
            { id: 1, method: 'ping' },
            { jsonrpc: '1.0', id: 1, method: 'ping' },
            { jsonrpc: 2.0, id: 1, method: 'ping' },
            { jsonrpc: '2.0', id: null, method: 'ping' },
            { jsonrpc: '2.0', id: 1.5, method: 'ping' },
            { jsonrpc: '2.0', id: {}, method: 'ping' },
            { jsonrpc: '2.0', id: 1, method: 7 },
            { jsonrpc: '2.0', id: 1, method: '' },
            { jsonrpc: '2.0', id: 1, method: 'pi\0ng' },
            { jsonrpc: '2.0', id: 1, result: {}, error: {} },
            { jsonrpc: '2.0', result: {} },
        ];
        for (const body of bad) checkError(await post(d, body, { session }), 400, -32600);
        checkError(await post(d, { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, { session }), 400, -32602);
        const e = await post(d, { jsonrpc: '1.0', id: 'mine', method: 'ping' }, { session });
        assert.equal(JSON.parse(e.text).id, 'mine');
    });

    it('answers each id as it came', async () => {
        const session = await open(d);
        for (const id of [0, -1, 2 ** 53 - 1, '', 'x', '\u0000"\\', 'ü'.repeat(1000)]) {
            const a = await post(d, request(id, 'ping'), { session });
            assert.deepEqual(a.json, { jsonrpc: '2.0', id, result: {} });
        }
        checkError(await post(d, request(1, 'no/such'), { session }), 200, -32601, /no\/such/);
        checkError(await post(d, request(1, 'initialize', {}), { session }), 400, -32600, /already/);
        for (const params of [undefined, {}, { name: 7 }, { name: 'stop', arguments: [] }, { name: 'no' }]) {
            checkError(await post(d, request(1, 'tools/call', params), { session }), 200, -32602);
        }
        checkError(await post(d, request(1, 'tools/list', { cursor: 'x' }), { session }), 200, -32602);
    });

    it('takes notifications and responses without a word', async () => {
        const session = await open(d);
        for (const body of [
            notification('notifications/initialized'),
            notification('notifications/unknown', { x: 1 }),
            { jsonrpc: '2.0', id: 1, result: {} },
            { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
        ]) {
            const a = await post(d, body, { session });
            assert.equal(a.status, 202);
            assert.equal(a.body.length, 0);
        }
    });

    it('negotiates the revision', async () => {
        for (const v of ['2025-03-26', '2025-06-18', '2025-11-25']) {
            assert.equal((await post(d, initialize(v))).json.result.protocolVersion, v);
        }
        for (const v of ['2024-11-05', '2026-07-28', '2099-01-01', '']) {
            assert.equal((await post(d, initialize(v))).json.result.protocolVersion, '2025-11-25');
        }
        checkError(await post(d, request(1, 'initialize', {})), 400, -32602, /protocolVersion/);
    });

    it('wants to know the session', async () => {
        const none = checkError(await post(d, request(1, 'ping')), 400, -32000, /Mcp-Session-Id/);
        assert.equal(none.data.code, 'bad_request');
        for (const session of ['x', 'a'.repeat(32), 'a'.repeat(5000)]) {
            const e = checkError(await post(d, request(1, 'ping'), { session }), 404, -32000, /initialize/);
            assert.equal(e.data.code, 'not_found');
        }
        const session = await open(d);
        assert.equal((await post(d, request(1, 'ping'), { session, role: 'watch' })).status, 404, 'of another role');
    });

    it('checks the revision in the header', async () => {
        const session = await open(d);
        for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
            assert.equal((await post(d, request(1, 'ping'), { session, version })).status, 200);
        }
        for (const version of ['2024-11-05', '1900-01-01', 'x', '']) {
            const e = checkError(await post(d, request(1, 'ping'), { session, headers: { 'MCP-Protocol-Version': version } }), 400, -32022);
            assert.deepEqual(e.data.supported, ['2025-11-25', '2025-06-18', '2025-03-26']);
        }
    });

    it('wants both types accepted, and JSON sent', async () => {
        for (const Accept of ['application/json', SSE, 'text/html', 'application/json;q=0, text/event-stream']) {
            checkError(await post(d, initialize(), { headers: { Accept } }), 406, -32000, /Accept/);
        }
        for (const Accept of [ACCEPT, '*/*', `${SSE};q=0.1, application/*`, null]) {
            assert.equal((await post(d, initialize(), { headers: { Accept } })).status, 200, Accept);
        }
        for (const type of ['text/plain', 'application/jsonx', null]) {
            checkError(await post(d, initialize(), { headers: { 'Content-Type': type } }), 415, -32000);
        }
        const type = 'Application/JSON; charset=utf-8';
        assert.equal((await post(d, initialize(), { headers: { 'Content-Type': type } })).status, 200);
    });

    it('wants a token, a Host and an Origin like the rest', async () => {
        const none = checkError(await post(d, initialize(), { role: null }), 401, -32000);
        assert.equal(none.data.code, 'unauthorized');
        checkError(await post(d, initialize(), { role: 'x'.repeat(40) }), 401, -32000);
        const evil = { Origin: 'https://evil.example' };
        checkError(await post(d, initialize(), { headers: evil }), 403, -32000);
        checkError(await post(d, initialize(), { headers: { Host: 'evil.example' } }), 403, -32000);
        const session = await open(d);
        const a = await get({ Accept: SSE, 'Mcp-Session-Id': session, ...evil });
        checkError(a, 403, -32000);
        assert.equal((await post(d, initialize(), { headers: { Origin: d.url } })).status, 200);
    });

    it('GET wants a session and an event stream', async () => {
        const session = await open(d);
        checkError(await get({ Accept: SSE }), 400, -32000);
        checkError(await get({ Accept: SSE, 'Mcp-Session-Id': 'x' }), 404, -32000);
        checkError(await get({ Accept: 'application/json', 'Mcp-Session-Id': session }), 406, -32000);
        checkError(await get({ Accept: SSE, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': 'x' }), 400, -32022);
        const head = await d.request('HEAD', '/mcp', { headers: { Accept: SSE, 'Mcp-Session-Id': session }, agent: false });
        assert.equal(head.status, 200);
    });

    it('a second GET stream takes the place of the first', async () => {
        const session = await open(d);
        const headers = { Accept: SSE, 'Mcp-Session-Id': session };
        const first = new SseReader(await d.open('GET', '/mcp', { headers }));
        const second = new SseReader(await d.open('GET', '/mcp', { headers }));
        assert.equal(await first.next(), null);
        await d.sh('true');
        assert.equal(JSON.parse((await second.next()).data).method, 'notifications/resources/list_changed');
        second.close();
    });

    it('other methods and paths are refused', async () => {
        for (const m of ['PUT', 'PATCH']) {
            const a = await d.request(m, '/mcp', { agent: false });
            checkError(a, 405, -32000);
            assert.equal(a.headers.allow, 'GET, HEAD, POST, DELETE, OPTIONS');
        }
        checkError(await d.request('GET', '/mcp/x', { agent: false }), 404, -32000);
        checkError(await d.request('GET', '/mcp?x=1', { agent: false }), 400, -32000);
        assert.equal((await d.request('GET', '/mcpx', { agent: false })).type, 'application/problem+json');
        assert.equal((await d.request('POST', '/mcp/', {
            headers: { Accept: ACCEPT },
            json: initialize(),
            agent: false,
        })).status, 200);
    });

    it('batches: an array in 2025-03-26, refused in later revisions', async () => {
        for (const v of ['2025-06-18', '2025-11-25']) {
            checkError(await post(d, [request(1, 'ping')], { session: await open(d, v) }), 400, -32600, /batch/);
        }
        const session = await open(d, '2025-03-26');
        const a = await post(
            d,
            [
                request('a', 'ping'),
                notification('notifications/cancelled', { requestId: 'zz' }),
                { nonsense: true },
                request('b', 'tools/call', { name: 'run_command', arguments: { command: 'echo b' } }),
                request('c', 'no/such'),
                { jsonrpc: '2.0', id: 9, result: {} },
            ],
            { session },
        );
        assert.equal(a.status, 200);
        const by = new Map(a.json.map((m) => [m.id, m]));
        assert.equal(a.json.length, 4);
        assert.deepEqual(by.get('a').result, {});
        assert.equal(by.get(null).error.code, -32600);
        assert.equal(by.get('b').result.structuredContent.output, 'b\n');
        assert.equal(by.get('c').error.code, -32601);
        assert.equal((await post(d, [notification('x'), notification('y')], { session })).status, 202);
        const slow = request('slow', 'tools/call', { name: 'run_command', arguments: { command: 'sleep 322' } });
        const none = await post(d, [slow, notification('notifications/cancelled', { requestId: 'slow' })], { session });
        assert.equal(none.type, SSE, 'a request was cancelled, so there is a reply, which is empty');
        assert.equal(none.text, '');
        checkError(await post(d, [], { session }), 400, -32600);
        checkError(await post(d, Array(limit('LIMIT_MCP_BATCH') + 1).fill(request(1, 'ping')), { session }), 400, -32600);
        const many = await post(d, Array.from({ length: limit('LIMIT_MCP_BATCH') }, (_, i) => request(i, 'ping')), { session });
        assert.equal(many.json.length, limit('LIMIT_MCP_BATCH'));
        checkError(await post(d, [initialize('2025-03-26')]), 400, -32000);
    });

    it('a batch with progress becomes a stream of its answers', async () => {
        const session = await open(d, '2025-03-26');
        const run = (id, args, _meta) => request(id, 'tools/call', { name: 'run_command', arguments: args, _meta });
        const body = [
            request('quick', 'ping'),
            run('slow', { command: 'read x', pty: true, tag: 'batch' }, { progressToken: 1 }),
            run('gone', { command: 'sleep 321' }),
        ];
        const sse = new SseReader(await openPost(d, body, { session }));
        const next = async () => JSON.parse((await sse.next()).data);
        assert.equal((await next()).id, 'quick');
        assert.equal((await next()).params.progressToken, 1);
        await post(d, notification('notifications/cancelled', { requestId: 'gone' }), { session });
        await d.api('POST', '/v1/processes/tag:batch/input', { json: { keys: ['Enter'] } });
        const last = JSON.parse((await sse.find((e) => e.data.includes('"slow"'))).data);
        assert.equal(last.result.structuredContent.exit_code, 0);
        assert.equal(await sse.next(), null);
    });

    it('takes a body in pieces, and the next request on the same connection', async () => {
        const text = JSON.stringify(initialize());
        const chunks = [...text].map((c) => `1\r\n${c}\r\n`).join('') + '0\r\n\r\n';
        const headers = { 'Content-Type': 'application/json', Accept: ACCEPT, 'Transfer-Encoding': 'chunked' };
        const a = await exchange(d, Buffer.concat([requestBytes(d, 'POST /mcp', { headers }), Buffer.from(chunks)]));
        assert.equal(a.status, 200);
        assert.equal(JSON.parse(a.body).id, 0);
    });

    it('text that is no Unicode does not break the answer', async () => {
        const session = await open(d);
        const command = "printf 'a\\377\\342\\202b\\033[31m\\001\\n'";
        const a = await post(d, request(1, 'tools/call', { name: 'run_command', arguments: { command } }), { session });
        assert.equal(a.json.result.structuredContent.output, 'a\ufffd\ufffd\ufffdb\u001b[31m\u0001\n');
    });
});
