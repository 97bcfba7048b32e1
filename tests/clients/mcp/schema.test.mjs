// SPDX-License-Identifier: Apache-2.0
// Every result is what the models of the protocol's schema in PyPI mcp-types say it is, strictly, and what a tool returns matches its output schema.

import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';
import { withDaemon } from '../../lib/daemon.mjs';
import { headersOf, initialize, notification, post, request } from '../../lib/mcp.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';

const VERSION = '2025-11-25';
const a = (name) => ({ python: `mcp_types._v2025_11_25:${name}` });

/** The one message of a reply, which may be a stream. */
const messageOf = (answer) => (answer.type === 'text/event-stream' ? JSON.parse(answer.text.split('\n').filter((l) => l.startsWith('data: {')).at(-1).slice(6)) : answer.json);

withDaemon('mcp: schemas', {}, (d) => {
    it('the server, tools, resources, and errors', async () => {
        const r = new Replies(d, '/mcp');
        const hello = await post(d, initialize(VERSION));
        r.note('initialize', a('InitializeResult'), messageOf(hello).result);
        const session = hello.headers['mcp-session-id'];
        const options = { session, version: VERSION };
        assert.equal((await post(d, notification('notifications/initialized'), options)).status, 202);
        let id = 0;
        const ask = async (method, params) => {
            const answer = await d.request('POST', '/mcp', { headers: headersOf(options), body: JSON.stringify(request(++id, method, params)), agent: false });
            const message = messageOf(answer);
            assert.deepEqual(Object.keys(message).sort(), [message.error ? 'error' : 'id', message.error ? 'id' : 'jsonrpc', message.error ? 'jsonrpc' : 'result']);
            assert.deepEqual([message.jsonrpc, message.id], ['2.0', id]);
            return message;
        };
        const result = async (method, params, is, plain = (json) => json) => {
            const message = await ask(method, params);
            assert.ok(message.result, JSON.stringify(message));
            r.note(`${method} ${JSON.stringify(params)}`, a(is), plain(message.result));
            return message.result;
        };
        /** The schemas in a tool are JSON Schema, of which the model has only these keys. */
        const outline = (schema) => schema && Object.fromEntries(['$schema', 'type', 'properties', 'required'].filter((k) => k in schema).map((k) => [k, schema[k]]));
        const outlines = (list) => ({ ...list, tools: list.tools.map((t) => ({ ...t, inputSchema: outline(t.inputSchema), ...(t.outputSchema ? { outputSchema: outline(t.outputSchema) } : {}) })) });
        await result('ping', {}, 'EmptyResult');
        const { tools } = await result('tools/list', {}, 'ListToolsResult', outlines);
        const ajv = new Ajv2020.default({ strict: false, validateFormats: false });
        const called = new Set();
        const tool = async (name, args) => {
            called.add(name);
            const { structuredContent, isError } = await result('tools/call', { name, arguments: args }, 'CallToolResult');
            assert.equal(Boolean(isError), false, name);
            const schema = tools.find((t) => t.name === name).outputSchema;
            const validate = schema && ajv.compile(schema);
            assert.ok(validate, `${name} has no output schema`);
            assert.ok(validate(structuredContent), `${name}: ${JSON.stringify(validate.errors)} ${JSON.stringify(structuredContent)}`);
            return structuredContent;
        };
        for (const t of tools) assert.ok(ajv.validateSchema(t.inputSchema), t.name);
        await tool('run_command', { command: 'echo out; exit 3' });
        await tool('run_command', { command: 'seq 100000', max_output_bytes: 1000 });
        await tool('run_command', { command: 'sleep 1000', yield_ms: 1 });
        const { process_id } = await tool('start_process', { command: 'stty -echo; echo up; cat', pty: true });
        await tool('wait_for', { process_id, text: 'up', timeout_ms: 30000 });
        await tool('wait_for', { process_id, text: 'never', timeout_ms: 1 });
        await tool('send_input', { process_id, text: 'hello\n' });
        await tool('resize', { process_id, rows: 30, cols: 100 });
        await tool('read_screen', { process_id });
        await tool('read_output', { process_id });
        await tool('list_processes', {});
        await tool('signal', { process_id, signal: 'SIGCONT' });
        const { session_id } = await tool('run_in_session', { command: 'cd /; pwd' });
        await tool('list_sessions', {});
        const resources = await result('resources/list', {}, 'ListResourcesResult');
        for (const uri of [`process://${process_id}/output`, `process://${process_id}/screen`, `session://${session_id}/transcript`]) await result('resources/read', { uri }, 'ReadResourceResult');
        await tool('end_session', { session_id });
        await tool('stop', { process_id, grace_ms: 0 });
        assert.deepEqual(tools.map((t) => t.name).filter((name) => !called.has(name)), [], 'tools that were not called');
        const failed = await result('tools/call', { name: 'read_screen', arguments: { process_id: 'proc_none' } }, 'CallToolResult');
        assert.equal(failed.isError, true);
        await result('resources/templates/list', {}, 'ListResourceTemplatesResult');
        assert.ok(Array.isArray(resources.resources));
        r.note('an error', a('JSONRPCErrorResponse'), await ask('no/such/method', {}));
        await r.checkPython();
    });
});
