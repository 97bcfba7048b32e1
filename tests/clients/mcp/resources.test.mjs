// SPDX-License-Identifier: Apache-2.0
// Outputs as resources: listed, read, watched.

import assert from 'node:assert/strict';
import {
    ResourceListChangedNotificationSchema,
    ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { call, withClient } from '../../lib/mcp.mjs';
import { limit } from '../../lib/limits.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('mcp resources', {}, (d) => {
    it('are listed, page by page', () =>
        withClient(d, {}, async (c) => {
            for (let i = 0; i < 105; i++) await d.api('POST', '/v1/processes/run', { json: { command: 'true' } });
            const first = await c.listResources();
            assert.equal(first.resources.length, 100);
            const rest = await c.listResources({ cursor: first.nextCursor });
            assert.ok(rest.resources.length >= 5);
            assert.equal(rest.nextCursor, undefined);
            const uris = [...first.resources, ...rest.resources].map((r) => r.uri);
            assert.equal(new Set(uris).size, uris.length);
            assert.match(uris[0], /^process:\/\/proc_[a-z2-7]+\/output$/);
            await assert.rejects(c.listResources({ cursor: 'proc_nothing' }), { code: -32602 });
            const { resourceTemplates } = await c.listResourceTemplates();
            assert.deepEqual(
                resourceTemplates.map((t) => t.uriTemplate),
                ['process://{id}/output', 'process://{id}/screen', 'session://{id}/transcript'],
            );
        }));

    it('a session has its transcript: listed, read, and as the native API tells it', () =>
        withClient(d, {}, async (c) => {
            const { structuredContent: run } = await c.callTool({ name: 'run_in_session', arguments: { command: 'echo `one`; echo two >&2; false' } });
            const uri = `session://${run.session_id}/transcript`;
            const listed = (await c.listResources()).resources.find((r) => r.uri === uri);
            assert.deepEqual([listed.mimeType, listed.title], ['text/markdown', run.session_id]);
            const { contents } = await c.readResource({ uri });
            assert.deepEqual(contents.map((x) => [x.uri, x.mimeType]), [[uri, 'text/markdown']]);
            const native = await d.request('GET', `/v1/sessions/${run.session_id}/transcript?format=markdown`);
            assert.equal(contents[0].text, native.text);
            assert.match(contents[0].text, /two/);
            await assert.rejects(c.subscribeResource({ uri }), { code: -32602 });
            await c.callTool({ name: 'end_session', arguments: { session_id: run.session_id } });
            await assert.rejects(c.readResource({ uri }), (e) => [-32002, -32602].includes(e.code));
            for (const bad of ['session:///transcript', 'session://x/other', 'session://x']) await assert.rejects(c.readResource({ uri: bad }), { code: -32602 });
        }));

    it('are read: text, and bytes that are none', () =>
        withClient(d, {}, async (c) => {
            const { process_id } = await call(c, 'run_command', { command: 'echo grüß', tag: 'hi there/x' });
            const uri = `process://${process_id}/output`;
            assert.deepEqual(await c.readResource({ uri }), {
                contents: [{ uri, mimeType: 'text/plain', text: 'grüß\n' }],
            });
            const byTag = `process://tag:${encodeURIComponent('hi there/x')}/output`;
            assert.equal((await c.readResource({ uri: byTag })).contents[0].text, 'grüß\n');
            const raw = await call(c, 'run_command', { command: "printf '\\377\\000'" });
            const { contents } = await c.readResource({ uri: `process://${raw.process_id}/output` });
            assert.equal(contents[0].mimeType, 'application/octet-stream');
            assert.deepEqual([...Buffer.from(contents[0].blob, 'base64')], [255, 0]);
        }));

    it('that are not there have errors of their own', () =>
        withClient(d, {}, async (c) => {
            await assert.rejects(c.readResource({ uri: 'process://proc_nothing/output' }), { code: -32002 });
            for (const uri of ['', 'process://', 'process:///output', 'file:///etc/passwd', 'process://x/y', 'process://%zz/output']) {
                await assert.rejects(c.readResource({ uri }), { code: -32602 }, uri);
            }
            await assert.rejects(c.request({ method: 'resources/read', params: { uri: 7 } }, undefined));
            const { process_id } = await call(c, 'run_command', { command: 'true' });
            await assert.rejects(c.readResource({ uri: `process://${process_id}/screen` }), { code: -32602 });
        }));

    it('tell of changes on the stream of the session', () =>
        withClient(d, {}, async (c) => {
            const updated = [];
            let lists = 0;
            c.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => updated.push(n.params.uri));
            c.setNotificationHandler(ResourceListChangedNotificationSchema, () => lists++);
            const { process_id } = await call(c, 'start_process', { command: 'while read x; do echo $x; done' });
            await waitUntil(() => lists >= 1, 'the list to change');
            const uri = `process://${process_id}/output`;
            await c.subscribeResource({ uri });
            await c.subscribeResource({ uri });
            await call(c, 'send_input', { process_id, text: 'one\n' });
            await waitUntil(() => updated.length >= 1, 'an update');
            await call(c, 'send_input', { process_id, text: 'two\n' });
            await waitUntil(() => updated.length >= 2, 'another');
            await call(c, 'send_input', { process_id, eof: true });
            await waitUntil(() => updated.length >= 3, 'the exit');
            assert.deepEqual([...new Set(updated)], [uri]);
            await c.unsubscribeResource({ uri });
            await assert.rejects(c.subscribeResource({ uri: 'process://proc_nothing/output' }), { code: -32002 });
        }));

    it('are watched in a bounded number', () =>
        withClient(d, {}, async (c) => {
            const max = limit('LIMIT_MCP_SUBSCRIPTIONS');
            const { resources } = await c.listResources();
            for (const { uri } of resources.slice(0, max)) await c.subscribeResource({ uri });
            await assert.rejects(c.subscribeResource({ uri: resources[max].uri }), /at most/);
            await c.unsubscribeResource({ uri: resources[0].uri });
            await c.subscribeResource({ uri: resources[max].uri });
        }));
});
