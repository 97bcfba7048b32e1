// SPDX-License-Identifier: Apache-2.0
// Revision 2026-07-28: no sessions, every request stands alone. The official client of that
// revision, and bare requests for what it never gets wrong.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { call, checkError, openPost, post } from '../../lib/mcp.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const meta = (more = {}) => ({
    [`${META}protocolVersion`]: VERSION,
    [`${META}clientInfo`]: { name: 'bare', version: '1' },
    [`${META}clientCapabilities`]: {},
    ...more,
});
const bare = (id, method, params = {}) => ({ jsonrpc: '2.0', id, method, params: { _meta: meta(), ...params } });
const headers = (method, name, version = VERSION) => ({
    headers: { 'MCP-Protocol-Version': version, 'Mcp-Method': method, ...(name === undefined ? {} : { 'Mcp-Name': name }) },
});
const send = (d, method, params, name) => post(d, bare(1, method, params), headers(method, name));

async function withModern(d, mode, body) {
    const c = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', d.url), {
        requestInit: { headers: { ...d.authHeaders(), Connection: 'close' } },
    });
    await c.connect(transport);
    try {
        return await body(c, transport);
    } finally {
        await c.close();
    }
}

withDaemon('mcp without sessions', {}, (d) => {
    for (const mode of ['auto', { pin: VERSION }]) {
        it(`the official client discovers, lists and calls (${JSON.stringify(mode)})`, () =>
            withModern(d, mode, async (c, transport) => {
                assert.equal(transport.sessionId, undefined);
                assert.equal((await c.listTools()).tools.length, 13);
                const run = (name, args) => c.callTool({ name, arguments: args });
                const r = await run('run_command', { command: 'echo alone; exit 2' });
                assert.equal(r.structuredContent.output, 'alone\n');
                assert.equal(r.structuredContent.exit_code, 2);
                const { process_id } = r.structuredContent;
                const { contents } = await c.readResource({ uri: `process://${process_id}/output` });
                assert.equal(contents[0].text, 'alone\n');
                assert.ok((await c.listResources()).resources.length > 0);
                assert.equal((await c.listResourceTemplates()).resourceTemplates.length, 3);
                const bad = await run('run_command', { command: 'x', timout_ms: 1 });
                assert.equal(bad.isError, true);
                await assert.rejects(run('no_such_tool', {}));
                await assert.rejects(c.readResource({ uri: 'process://proc_nothing/output' }));
            }));
    }

    it('the same client falls back to a session when it wants one', () =>
        withModern(d, 'legacy', async (c, transport) => {
            assert.match(transport.sessionId, /^[a-z2-7]{32}$/);
            assert.equal((await call(c, 'run_command', { command: 'echo held' })).output, 'held\n');
            await transport.terminateSession();
        }));

    it('the official client cancels by leaving', () =>
        withModern(d, 'auto', async (c) => {
            const stop = new AbortController();
            const slow = c.callTool({ name: 'run_command', arguments: { command: 'sleep 311' } }, { signal: stop.signal });
            slow.catch(() => {});
            const find = async () => (await d.list('?status=running')).find((p) => p.command.includes('sleep 311'));
            const p = await waitUntil(find, 'the command to run');
            stop.abort();
            await assert.rejects(slow);
            await waitUntil(async () => (await d.get(p.id)).status === 'exited', 'it to end');
            assert.equal((await d.get(p.id)).exit.kind, 'killed');
        }));

    it('the official client gets progress', () =>
        withModern(d, 'auto', async (c) => {
            const told = [];
            const slow = c.callTool(
                { name: 'run_command', arguments: { command: 'read x', pty: true, tag: 'slow' } },
                { onprogress: (p) => told.push(p) },
            );
            await waitUntil(() => told.length > 0, 'progress');
            await c.callTool({ name: 'send_input', arguments: { process_id: 'tag:slow', keys: ['Enter'] } });
            assert.equal((await slow).structuredContent.exit_code, 0);
        }));

    it('results carry what the revision wants', async () => {
        const a = await send(d, 'server/discover');
        const { result } = a.json;
        assert.equal(result.resultType, 'complete');
        assert.deepEqual(result.supportedVersions, [VERSION]);
        assert.equal(result._meta[`${META}serverInfo`].name, 'holdfast');
        assert.equal(result.cacheScope, 'private');
        assert.equal(a.headers['mcp-session-id'], undefined);
        assert.equal((await send(d, 'resources/list')).json.result.ttlMs, 0);
    });

    it('refuses revisions it does not know and names those it does', async () => {
        for (const version of ['1900-01-01', '2025-06-18']) {
            const body = bare(1, 'tools/list', { _meta: meta({ [`${META}protocolVersion`]: version }) });
            const e = checkError(await post(d, body, headers('tools/list', undefined, version)), 400, -32022);
            assert.deepEqual(e.data, { supported: [VERSION], requested: version });
        }
    });

    it('refuses headers that do not say what the body says', async () => {
        const list = bare(1, 'tools/list');
        const run = bare(1, 'tools/call', { name: 'list_processes', arguments: {} });
        const cases = [
            [list, {}],
            [list, headers('tools/list', undefined, '2025-11-25')],
            [list, { headers: { 'MCP-Protocol-Version': VERSION } }],
            [list, headers('tools/call')],
            [list, headers('Tools/List')],
            [run, headers('tools/call')],
            [run, headers('tools/call', 'stop')],
            [run, headers('tools/call', '=?base64?!!?=')],
        ];
        for (const [body, options] of cases) checkError(await post(d, body, options), 400, -32020, /Header mismatch/);
        const encoded = `=?base64?${Buffer.from('list_processes').toString('base64')}?=`;
        assert.equal((await post(d, run, headers('tools/call', encoded))).status, 200);
    });

    it('refuses requests without what they must carry', async () => {
        const without = meta();
        delete without[`${META}clientCapabilities`];
        const a = await post(d, bare(1, 'tools/list', { _meta: without }), headers('tools/list'));
        checkError(a, 400, -32602, /clientCapabilities/);
        const none = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
        checkError(await post(d, none, headers('tools/list')), 400, -32602, /protocolVersion/);
        checkError(await post(d, [bare(1, 'tools/list')], headers('tools/list')), 400, -32600, /batch/);
    });

    it('has no methods of sessions', async () => {
        for (const m of ['ping', 'initialize', 'resources/subscribe', 'logging/setLevel', 'nothing']) {
            checkError(await send(d, m), 404, -32601, /no method/);
        }
        const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: meta(), requestId: 1 } };
        assert.equal((await post(d, note, headers('notifications/cancelled'))).status, 202);
    });

    it('listens for changes of what it named', async () => {
        const p = await d.spawn({ command: 'cat', stdin: 'pipe' });
        const uri = `process://${p.id}/output`;
        const wish = { resourcesListChanged: true, toolsListChanged: true, resourceSubscriptions: [uri, 'process://no/output'] };
        const body = { ...bare('sub', 'subscriptions/listen', { notifications: wish }) };
        const sse = new SseReader(await openPost(d, body, headers('subscriptions/listen')));
        const next = async () => JSON.parse((await sse.next()).data);
        const ack = await next();
        assert.equal(ack.method, 'notifications/subscriptions/acknowledged');
        assert.equal(ack.params._meta[`${META}subscriptionId`], 'sub');
        assert.deepEqual(ack.params.notifications, { resourcesListChanged: true, resourceSubscriptions: [uri] });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x' } });
        const updated = await next();
        assert.equal(updated.method, 'notifications/resources/updated');
        assert.equal(updated.params.uri, uri);
        assert.equal(updated.params._meta[`${META}subscriptionId`], 'sub');
        await d.sh('true');
        assert.equal((await next()).method, 'notifications/resources/list_changed');
        sse.close();
        checkError(await send(d, 'subscriptions/listen', {}), 400, -32602, /notifications/);
    });
});
