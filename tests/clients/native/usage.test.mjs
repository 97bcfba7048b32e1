// SPDX-License-Identifier: Apache-2.0
// What a process used: measured at its exit, and while it runs on request.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { burn, burner, checkUsage } from '../../lib/burn.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { SseReader } from '../../lib/sse.mjs';

withDaemon('usage', {}, (d) => {
    const own = async (id) => JSON.parse((await d.output(id)).toString());
    const follow = async (url) => new SseReader(await d.open('GET', url, { headers: { accept: 'text/event-stream' } }));
    const live = async (id) => (await d.api('GET', `/v1/processes/${id}?usage=live`, { expect: 200 })).json.usage;

    it('the exit of a process says what it used: CPU, memory, disk', async () => {
        const p = await d.spawn(burner(d));
        assert.equal(p.usage, null, 'nothing yet');
        const ended = await d.exitOf(p.id);
        checkUsage(ended.usage, await own(p.id));
        assert.deepEqual((await d.get(p.id)).usage, ended.usage);
        const waited = (await d.api('POST', `/v1/processes/${p.id}/wait`, { json: { until: [{ exit: true }] }, expect: 200 })).json;
        assert.deepEqual(waited.usage, ended.usage);
        assert.deepEqual((await d.api('DELETE', `/v1/processes/${p.id}`, { expect: 200 })).json.usage, ended.usage);
    });

    it('children that were waited for count', async () => {
        const { command, args } = burner(d);
        const p = (await d.api('POST', '/v1/processes/run', { json: { command: 'sh', args: ['-c', '"$@"; exit 3', 'sh', command, ...args] }, expect: 200 })).json;
        assert.equal(p.exit_code, 3);
        checkUsage(p.process.usage, JSON.parse(p.stdout));
    });

    it('WebSocket, event stream and output stream carry the same figures', async () => {
        const events = await follow('/v1/events');
        const p = await d.spawn(burner(d, { hold: true }));
        const v = new Viewer(d, p.id);
        const out = await follow(`/v1/processes/${p.id}/output?follow=1`);
        await v.outputHas('written_bytes');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        const { usage } = await d.exitOf(p.id);
        checkUsage(usage, await own(p.id));
        assert.deepEqual((await v.finish()).usage, usage);
        const sent = async (s, event) => JSON.parse((await s.find((e) => e.event === event)).data);
        assert.deepEqual((await sent(out, 'exit')).usage, usage);
        assert.deepEqual((await sent(events, 'process.exited')).process.usage, usage);
        events.close();
        out.close();
    });

    it('a running process has its present usage on request, with its children', async () => {
        const { command, args } = burner(d, { hold: true });
        const p = await d.spawn({ command: 'sh', args: ['-c', '"$@"; exit 0', 'sh', command, ...args], stdin: 'pipe' });
        await d.outputHas(p.id, 'written_bytes');
        assert.equal((await d.get(p.id)).usage, null, 'not without a request');
        const u = await live(p.id);
        assert.deepEqual([u.scope, u.processes, u.complete], ['tree', 2, true]);
        assert.ok(u.user_us + u.system_us >= burn.cpuMs * 1000 - 20000 && u.user_us + u.system_us < 30000000, JSON.stringify(u));
        assert.ok(u.rss_bytes >= burn.memory && u.rss_bytes < 4 * burn.memory, JSON.stringify(u));
        assert.equal(u.disk_written_bytes === null, process.getuid() === 0, 'of other users it is not known');
        const listed = (await d.list('?usage=live')).find((l) => l.id === p.id);
        assert.equal(listed.usage.processes, 2);
        assert.equal((await d.list('')).find((l) => l.id === p.id).usage, null);
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        assert.equal((await d.exitOf(p.id)).usage.scope, 'process');
        assert.deepEqual(await live(p.id), (await d.get(p.id)).usage, 'an ended one has what it used');
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}?usage=past`);
    });

    it('the metrics sum up what ended processes used', async () => {
        const read = async () => {
            const text = (await d.api('GET', '/metrics', { expect: 200 })).text;
            return (name) => Number(text.match(new RegExp(`^holdfast_used_${name}_total (\\S+)$`, 'm'))[1]);
        };
        const before = await read();
        const p = await d.spawn(burner(d));
        const { usage } = await d.exitOf(p.id);
        const after = await read();
        const us = (name) => Math.round((after(name) - before(name)) * 1e6);
        assert.ok(us('user_seconds') >= usage.user_us && us('system_seconds') >= usage.system_us);
        assert.ok(after('disk_written_bytes') - before('disk_written_bytes') >= usage.disk_written_bytes);
    });
});
