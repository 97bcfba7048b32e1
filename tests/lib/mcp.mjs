// SPDX-License-Identifier: Apache-2.0
//
// mcp.mjs - the official MCP client against a daemon, and bare messages where it is too polite

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { within } from './wait.mjs';

export const ACCEPT = 'application/json, text/event-stream';

/** A connected client of the official SDK; closed by its own close(). */
export async function connect(d, { role = 'own', client = {}, onTransport } = {}) {
    const c = new Client({ name: 'tests', version: '1' }, client);
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', d.url), {
        requestInit: { headers: { ...d.authHeaders(role), Connection: 'close' } },
    });
    onTransport?.(transport);
    await within(c.connect(transport), 10000, 'initialize');
    c.end = async () => {
        await transport.terminateSession();
        await c.close();
    };
    return c;
}

/** Runs body with a client of its own. */
export async function withClient(d, options, body) {
    const c = await connect(d, options);
    try {
        return await body(c);
    } finally {
        await c.end().catch(() => {});
    }
}

/** The structured result of a tool that must succeed. */
export async function call(c, name, args = {}, options = {}) {
    const r = await c.callTool({ name, arguments: args }, undefined, options);
    assert.equal(r.isError, false, JSON.stringify(r.content));
    assert.equal(r.content[0].type, 'text');
    assert.ok(r.structuredContent, `${name} has no structured result`);
    return r.structuredContent;
}

/** The text of a tool that must fail; it begins with the stable code. */
export async function callFails(c, code, name, args = {}) {
    const r = await c.callTool({ name, arguments: args });
    assert.equal(r.isError, true, JSON.stringify(r));
    const text = r.content[0].text;
    assert.ok(text.startsWith(`${code}: `), `wanted ${code}: ${text}`);
    assert.ok(text.length > code.length + 8, `says too little: ${text}`);
    return text;
}

/** Headers of a message; those of null are left out. */
export function headersOf({ headers = {}, session, version } = {}) {
    const all = {
        'Content-Type': 'application/json',
        Accept: ACCEPT,
        'Mcp-Session-Id': session ?? null,
        'MCP-Protocol-Version': version ?? null,
        ...headers,
    };
    return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== null));
}

const bodyOf = (body) => (typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));

/** One POST of any body, and its whole answer, which must be one that the document knows. */
export async function post(d, body, options = {}) {
    const a = await d.request('POST', '/mcp', {
        role: options.role,
        headers: headersOf(options),
        body: bodyOf(body),
        agent: false,
    });
    (await d.openapi()).checkAnswer('POST', '/mcp', a);
    return a;
}

/** The same, when the answer may be a stream that lasts. */
export const openPost = (d, body, options = {}) =>
    d.open('POST', '/mcp', { role: options.role, headers: headersOf(options), body: bodyOf(body) });

export const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });
export const notification = (method, params) => ({ jsonrpc: '2.0', method, params });
export const initialize = (version = '2025-06-18', id = 0) =>
    request(id, 'initialize', {
        protocolVersion: version,
        capabilities: {},
        clientInfo: { name: 'bare', version: '1' },
    });

/** A session made by bare messages: its id. */
export async function open(d, version = '2025-06-18', role = 'own') {
    const a = await post(d, initialize(version), { role });
    assert.equal(a.status, 200, a.text);
    assert.equal(a.json.result.protocolVersion, version);
    const session = a.headers['mcp-session-id'];
    assert.match(session, /^[\x21-\x7e]{32}$/);
    assert.equal((await post(d, notification('notifications/initialized'), { session, version, role })).status, 202);
    return session;
}

/** A JSON-RPC error with this code. */
export function checkError(answer, status, code, pattern = /./) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers['content-type'].split(';')[0], 'application/json');
    const { jsonrpc, error } = JSON.parse(answer.text);
    assert.equal(jsonrpc, '2.0');
    assert.equal(error.code, code, answer.text);
    assert.match(error.message, pattern);
    return error;
}
