// SPDX-License-Identifier: Apache-2.0
// GET /v1/events: what happened, in order, from where the client was.

import assert from 'node:assert/strict';
import { it, test } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { SseReader } from '../../lib/sse.mjs';

const follow = async (d, query = '', headers = {}) =>
    new SseReader(await d.open('GET', `/v1/events${query}`, { headers }));
const body = (ev) => JSON.parse(ev.data);

withDaemon('events', {}, (d) => {
    it('created, updated, exited, deleted, with rising ids', async () => {
        const s = await follow(d);
        const p = await d.sh('read x; exit 3', { stdin: 'pipe', tag: 'watched' });
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { label: 'new' }, expect: 200 });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        await d.exitOf(p.id);
        await d.remove(p.id);
        const seen = [];
        let last = -1;
        while (seen.at(-1)?.event !== 'process.deleted') {
            const ev = await s.next();
            assert.ok(Number(ev.id) > last, `id ${ev.id} after ${last}`);
            last = Number(ev.id);
            const b = body(ev);
            assert.equal(b.type, ev.event);
            assert.equal(b.process.id, p.id);
            assert.match(b.time, /^\d{4}-.*\.\d{3}Z$/);
            seen.push(ev);
        }
        assert.deepEqual(
            [...new Set(seen.map((e) => e.event))],
            ['process.created', 'process.updated', 'process.exited', 'process.deleted'],
        );
        assert.equal(body(seen[0]).process.status, 'running');
        assert.equal(body(seen[0]).process.tag, 'watched');
        assert.equal(body(seen.find((e) => e.event === 'process.updated')).process.label, 'new');
        assert.equal(body(seen.find((e) => e.event === 'process.exited')).process.exit_code, 3);
        s.close();
    });

    it('objects in events are process objects', async () => {
        const api = await d.openapi();
        const s = await follow(d);
        await d.exitOf((await d.sh('exit 0')).id);
        const ev = await s.find((e) => e.event === 'process.exited');
        if (api.hasSchema('Process')) api.checkSchema('Process', body(ev).process);
        s.close();
    });

    it('a client that was away gets what it missed, once', async () => {
        const s = await follow(d);
        await d.exitOf((await d.sh('exit 0', { label: 'a' })).id);
        const first = await s.find((e) => e.event === 'process.exited');
        s.close();
        for (let i = 0; i < 5; i++) await d.exitOf((await d.sh('exit 0', { label: `missed ${i}` })).id);
        for (const [q, h] of [
            ['', { 'Last-Event-ID': first.id }],
            [`?since=${first.id}`, {}],
        ]) {
            const t = await follow(d, q, h);
            let at = Number(first.id);
            let exits = 0;
            while (exits < 5) {
                const ev = await t.next();
                assert.notEqual(ev.event, 'reset');
                assert.ok(Number(ev.id) > at);
                at = Number(ev.id);
                if (ev.event === 'process.exited') assert.equal(body(ev).process.label, `missed ${exits++}`);
            }
            t.close();
        }
    });

    it('since=0 is everything held', async () => {
        const s = await follow(d, '?since=0');
        const ev = await s.next();
        assert.ok(ev.event === 'process.created' || ev.event === 'reset');
        s.close();
    });

    it('filters as in the list', async () => {
        const s = await follow(d, '?tag=mine');
        const t = await follow(d, '?session_id=s9&pty=false');
        await d.exitOf((await d.sh('exit 0', { tag: 'other', session_id: 's9', pty: true })).id);
        await d.exitOf((await d.sh('exit 0', { tag: 'mine' })).id);
        await d.exitOf((await d.sh('exit 0', { session_id: 's9' })).id);
        const a = await s.next();
        assert.equal(body(a).process.tag, 'mine');
        const b = await t.next();
        assert.equal(body(b).process.session_id, 's9');
        assert.equal(body(b).process.pty, false);
        s.close();
        t.close();
    });

    it('viewers only with all=1', async () => {
        const p = await d.sh('sleep 300', { tag: 'looked-at' });
        const s = await follow(d, '?all=1&tag=looked-at');
        const plain = await follow(d, '?tag=looked-at');
        const v = await Viewer.attach(d, p.id);
        const joined = await s.next();
        assert.equal(joined.event, 'viewer.joined');
        (await d.openapi()).checkSchema('Event', body(joined));
        (await d.openapi()).checkSchema('Viewer', body(joined).detail);
        assert.equal(body(joined).detail.role, 'own');
        v.cut();
        assert.equal((await s.find((e) => e.event === 'viewer.left')).event, 'viewer.left');
        await d.remove(p.id);
        assert.match((await plain.next()).event, /^process\./);
        s.close();
        plain.close();
    });

    it('bad queries', async () => {
        for (const q of ['?since=x', '?since=-1', '?all=2x', '?foo=1', '?status=dead'])
            await d.refused('bad_query', 'GET', `/v1/events${q}`);
        await d.refused('bad_request', 'GET', '/v1/events', { headers: { 'Last-Event-ID': 'x' } });
        await d.refused('not_acceptable', 'GET', '/v1/events', { headers: { Accept: 'application/json' } });
    });

    it('a process that is too long for the log is told abridged, and nothing of it is left out', async () => {
        const api = await d.openapi();
        const s = await follow(d);
        const long = 'ä'.repeat(60000);
        const p = await d.spawn({ command: `true ${long}`, args: [long], shell: true, metadata: { some: 'thing' } });
        await d.exitOf(p.id);
        for (const type of ['process.created', 'process.exited']) {
            const ev = await s.find((e) => e.event === type);
            const told = body(ev).process;
            api.checkSchema('Process', told);
            assert.deepEqual([told.id, told.abridged, told.args, told.metadata], [p.id, true, [], {}]);
            assert.match(told.command, /^true ä+$/);
        }
        assert.equal((await d.get(p.id)).abridged, undefined);
        s.close();
        await d.remove(p.id);
    });

    it('the log outlives the worker', async () => {
        const s = await follow(d);
        await d.exitOf((await d.sh('exit 0', { label: 'before the fall' })).id);
        const ev = await s.find((e) => e.event === 'process.created');
        s.close();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        const t = await follow(d, '', { 'Last-Event-ID': ev.id });
        const next = await t.next();
        assert.equal(next.event, 'process.exited');
        assert.equal(body(next).process.label, 'before the fall');
        assert.ok(Number(next.id) > Number(ev.id));
        t.close();
    });
});

test('what is no longer held is a reset, and then goes on', () =>
    daemonFor({ args: ['--event-log-bytes', '16384'] }, async (d) => {
        for (let i = 0; i < 60; i++)
            await d.exitOf((await d.sh('exit 0', { label: `event filler number ${i}`.padEnd(200, '.') })).id);
        const s = await follow(d, '', { 'Last-Event-ID': '1' });
        const ev = await s.next();
        assert.equal(ev.event, 'reset');
        const next = await s.next();
        assert.match(next.event, /^process\./);
        assert.ok(Number(next.id) > 2);
        s.close();
    }));
