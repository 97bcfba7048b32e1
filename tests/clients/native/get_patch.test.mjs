// SPDX-License-Identifier: Apache-2.0
// GET and PATCH of one process; the three ways to name it.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

withDaemon('get and patch', {}, (d) => {
    const patch = async (id, json) => (await d.api('PATCH', `/v1/processes/${id}`, { json, expect: 200 })).json;

    it('by id, by tag, by pid', async () => {
        const p = await d.sh('sleep 300', { tag: 'my/tag with spaces' });
        for (const ref of [p.id, `tag:${encodeURIComponent('my/tag with spaces')}`, `pid:${p.pid}`])
            assert.equal((await d.get(ref)).id, p.id);
        await d.remove(p.id);
        for (const ref of [
            p.id,
            'tag:x',
            `pid:${p.pid}`,
            'pid:1',
            'pid:x',
            'pid:-1',
            'pid:99999999999999',
            'tag:',
            'proc_',
            'x',
            'id:1',
            encodeURIComponent('../../etc'),
        ]) {
            await d.refused('no_such_process', 'GET', `/v1/processes/${ref}`);
        }
    });

    it('a tag names the living one, else the latest', async () => {
        const a = await d.sh('exit 1', { tag: 'again' });
        await d.exitOf(a.id);
        assert.equal((await d.get('tag:again')).id, a.id);
        const b = await d.sh('exit 2', { tag: 'again' });
        await d.exitOf(b.id);
        assert.equal((await d.get('tag:again')).id, b.id);
        const c = await d.sh('sleep 300', { tag: 'again' });
        assert.equal((await d.get('tag:again')).id, c.id);
        await d.refused('tag_in_use', 'POST', '/v1/processes', { json: { command: 'true', tag: 'again' } });
        await d.remove(c.id);
    });

    it('times and counts move', async () => {
        const p = await d.sh('cat', { stdin: 'pipe' });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'hello' }, expect: 200 });
        await d.outputHas(p.id, 'hello');
        const now = await d.get(p.id);
        assert.deepEqual(now.output, { first: 0, next: 5, bytes_total: 5, open: true });
        for (const key of ['created_at', 'last_input_at', 'last_output_at'])
            assert.match(now[key], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        await d.remove(p.id);
    });

    it('the exit record says how it ended', async () => {
        const ends = [
            ['exit 0', { kind: 'exited', code: 0, signal: null, core_dumped: false }, 0],
            ['exit 42', { kind: 'exited', code: 42, signal: null, core_dumped: false }, 42],
            ['exit 255', { kind: 'exited', code: 255, signal: null, core_dumped: false }, 255],
            ['kill -TERM $$', { kind: 'signaled', code: null, signal: 'SIGTERM' }, 143],
            ['kill -KILL $$', { kind: 'signaled', code: null, signal: 'SIGKILL' }, 137],
            ['ulimit -c 0; kill -SEGV $$', { kind: 'signaled', code: null, signal: 'SIGSEGV' }, 139],
        ];
        for (const pty of [undefined, true]) {
            for (const [line, want, code] of ends) {
                const p = await d.sh(line, { pty });
                const e = await d.exitOf(p.id);
                assert.equal(e.status, 'exited');
                assert.equal(e.exit_code, code, line);
                for (const [k, v] of Object.entries(want))
                    assert.equal(e.exit[k], v, `${line}: exit.${k} of ${JSON.stringify(e.exit)}`);
                assert.ok(Date.parse(e.exited_at) >= Date.parse(e.created_at));
                assert.equal(e.output.open, false);
                await d.remove(p.id);
            }
        }
    });

    it('include=output adds recent output', async () => {
        const p = await d.sh('echo some words; sleep 300');
        await d.outputHas(p.id, 'some words');
        const g = (await d.api('GET', `/v1/processes/${p.id}?include=output`, { expect: 200 })).json;
        assert.ok(JSON.stringify(g).includes('some words'), JSON.stringify(g));
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}?include=everything`);
        await d.remove(p.id);
    });

    it('PATCH changes what it names and nothing else', async () => {
        const p = await d.sh('sleep 300', { label: 'before', metadata: { a: 1 }, tag: 'patched' });
        let q = await patch(p.id, { label: 'after' });
        assert.equal(q.label, 'after');
        assert.equal(q.tag, 'patched');
        assert.deepEqual(q.metadata, { a: 1 });
        q = await patch(p.id, { tag: 'renamed', title: 'a title', metadata: { b: [2] } });
        assert.equal(q.tag, 'renamed');
        assert.equal(q.title, 'a title');
        assert.deepEqual(q.metadata, { b: [2] });
        assert.equal((await d.get('tag:renamed')).id, p.id);
        await d.refused('no_such_process', 'GET', '/v1/processes/tag:patched');
        q = await patch(p.id, { label: null, tag: null });
        assert.equal(q.label, null);
        assert.equal(q.tag, null);
        assert.deepEqual(await patch(p.id, {}), await d.get(p.id));
        await d.remove(p.id);
    });

    it('PATCH of size_policy is kept to', async () => {
        const p = await d.sh('sleep 300', { pty: { rows: 24, cols: 80 } });
        await patch(p.id, { size_policy: 'fixed' });
        await patch(p.id, { size_policy: 'latest' });
        await d.refused('bad_value', 'PATCH', `/v1/processes/${p.id}`, { json: { size_policy: 'big' } });
        await d.remove(p.id);
    });

    it('PATCH of retain_ms decides when an exited one goes', async () => {
        const p = await d.sh('exit 0');
        await d.exitOf(p.id);
        await holdsFor(
            100,
            async () => (await d.request('GET', `/v1/processes/${p.id}`)).status === 200,
            'the record stays',
        );
        await patch(p.id, { retain_ms: 50 });
        await waitUntil(
            async () => (await d.request('GET', `/v1/processes/${p.id}`)).status === 404,
            'the record to go',
        );
    });

    it('PATCH refuses', async () => {
        const p = await d.sh('sleep 300', { tag: 'p1' });
        const q = await d.sh('sleep 300', { tag: 'p2' });
        const at = `/v1/processes/${p.id}`;
        await d.refused('tag_in_use', 'PATCH', at, { json: { tag: 'p2' } });
        await d.refused('unknown_field', 'PATCH', at, { json: { command: 'x' } });
        await d.refused('unknown_field', 'PATCH', at, { json: { labels: 'x' } });
        await d.refused('bad_type', 'PATCH', at, { json: { label: 5 } });
        await d.refused('bad_type', 'PATCH', at, { json: { metadata: 'x' } });
        await d.refused('bad_value', 'PATCH', at, { json: { retain_ms: -7 } });
        await d.refused('bad_value', 'PATCH', at, { json: { label: 'x'.repeat(5000) } });
        await d.refused('bad_json', 'PATCH', at, { json: '{' });
        await d.refused('no_such_process', 'PATCH', '/v1/processes/proc_none', { json: { label: 'x' } });
        assert.equal((await d.get(p.id)).tag, 'p1');
        assert.equal((await patch(p.id, { tag: 'p1' })).tag, 'p1', 'its own tag is not in use by another');
        await d.remove(p.id);
        await d.remove(q.id);
    });
});
