// SPDX-License-Identifier: Apache-2.0
// GET /event and /global/event through both clients of the published SDK.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { collect, OpenCode } from '../../lib/opencode.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil, within } from '../../lib/wait.mjs';

withDaemon('opencode: events', {}, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const of = (id) => (e) => (e.properties?.info?.id ?? e.properties?.id) === id;

    const patient = [];

    it('connected is the first that both clients hear', async () => {
        const there = new OpenCode(d, { directory: '/etc' });
        for (const client of [there.v1, there.v2]) {
            const l = await there.listen(client);
            l.began = Date.now();
            await l.until((e) => e.type === 'server.connected');
            assert.equal(l.events[0].type, 'server.connected');
            assert.match(l.events[0].id, /^evt_[0-9a-zA-Z]{26}$/);
            assert.deepEqual(l.events[0].properties, {});
            patient.push(l);
        }
    });

    it('a PTY comes, changes and exits; one that is removed is deleted and has not exited', async () => {
        const listeners = [await oc().listen(oc().v1), await oc().listen(oc().v2)];
        const p = await oc().sh('read x; exit 5');
        await oc().v2.pty.update({ ptyID: p.id, title: 'new' });
        await oc().v2.pty.update({ ptyID: p.id });
        const a = oc().attach(p.id);
        await a.replay();
        a.send('\r');
        const q = await oc().sh('cat');
        await oc().v2.pty.remove({ ptyID: q.id });
        const r = await oc().sh('kill -9 $$');
        for (const l of listeners) {
            await l.until((e) => e.type === 'pty.exited' && e.properties.id === r.id);
            await l.until((e) => e.type === 'pty.exited' && e.properties.id === p.id);
            const mine = (id) => l.events.filter(of(id));
            assert.deepEqual(mine(p.id).map((e) => e.type), ['pty.created', 'pty.updated', 'pty.updated', 'pty.exited']);
            assert.deepEqual(mine(p.id)[0].properties, { info: p });
            assert.equal(mine(p.id)[1].properties.info.title, 'new');
            assert.deepEqual(mine(p.id)[3].properties, { id: p.id, exitCode: 5 });
            assert.deepEqual(mine(q.id).map((e) => e.type), ['pty.created', 'pty.deleted']);
            assert.deepEqual(mine(r.id).at(-1).properties, { id: r.id, exitCode: 137 });
            assert.equal(new Set(l.events.map((e) => e.id)).size, l.events.length);
            l.close();
        }
    });

    /* Each of those who waited for the end said so. */
    it('a PTY that several remove at once is deleted once', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const p = await oc().sh('trap "" HUP TERM; echo up; while :; do sleep 0.05; done');
        await oc().attach(p.id).sees('up');
        const answers = await Promise.all([1, 2, 3].map(() => oc().v2.pty.remove({ ptyID: p.id })));
        assert.deepEqual(answers.map((a) => a.data), [true, true, true]);
        const q = await oc().sh('exit 0'); // behind all that there is to hear
        await l.until((e) => e.type === 'pty.exited' && e.properties.id === q.id);
        assert.deepEqual(l.events.filter(of(p.id)).map((e) => e.type), ['pty.created', 'pty.deleted']);
        l.close();
    });

    it('what others do to terminals is told too', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const p = await d.spawn({ command: 'cat', pty: true });
        const created = await l.until((e) => e.type === 'pty.created');
        assert.equal(created.properties.info.pid, p.pid);
        await d.remove(p.id);
        await l.until((e) => e.type === 'pty.exited' && e.properties.id === created.properties.info.id);
        l.close();
    });

    /* Of many, some are removed in the turn in which they exit. */
    it('each of many that others remove has exited', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        await inParallel(96, 8, async () => d.remove((await d.spawn({ command: 'cat', pty: true })).id));
        const ids = (type) => l.events.filter((e) => e.type === type).map((e) => e.properties.info?.id ?? e.properties.id);
        await waitUntil(() => ids('pty.exited').length >= 96, 'all exits');
        assert.deepEqual(ids('pty.exited').sort(), ids('pty.created').sort());
        l.close();
    });

    it('events of another directory are not heard; /global/event hears all and says whose', async () => {
        const other = new OpenCode(d, { directory: '/usr' });
        const here = [await oc().listen(oc().v1), await oc().listen(oc().v2)];
        const cut = new AbortController();
        const all = collect(await oc().v2.global.event({ signal: cut.signal }), cut);
        const p = await other.sh('cat');
        await all.until((e) => e.payload?.type === 'pty.created' && e.payload.properties.info.id === p.id);
        assert.equal(all.events[0].payload.type, 'server.connected');
        assert.ok(!('directory' in all.events[0]));
        assert.equal(all.events.find((e) => e.payload.type === 'pty.created').directory, '/usr');
        const q = await oc().sh('cat');
        for (const l of here) {
            await l.until(of(q.id));
            assert.equal(l.events.find(of(p.id)), undefined);
            l.close();
        }
        all.close();
        await other.v2.pty.remove({ ptyID: p.id });
        await oc().v2.pty.remove({ ptyID: q.id });
    });

    it('dispose ends the terminals of the directory, says so, and ends the streams', async () => {
        const other = new OpenCode(d, { directory: '/usr' });
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const [p, q] = [await oc().sh('cat'), await other.sh('cat')];
        const native = await d.spawn({ command: 'cat', pty: true });
        const a = oc().attach(p.id);
        await a.replay();
        assert.equal((await oc().v2.instance.dispose()).data, true);
        assert.deepEqual(await a.end(), { code: 1000, reason: '' });
        await waitUntil(() => l.ended, 'the end of the stream');
        assert.deepEqual(l.events.at(-1).properties, { directory: d.dir });
        assert.equal(l.events.at(-1).type, 'server.instance.disposed');
        assert.ok(l.events.some((e) => e.type === 'pty.deleted' && e.properties.id === p.id));
        assert.equal((await other.v2.pty.get({ ptyID: q.id })).data.status, 'running');
        await other.v2.pty.remove({ ptyID: q.id });
        await d.remove(native.id);
    });

    it('a listener that reads nothing is cut off, not held for; others hear everything', async () => {
        const slow = await d.open('GET', `/dialects/opencode/event?directory=${d.dir}`);
        assert.equal(slow.headers['content-type'], 'text/event-stream');
        assert.equal(slow.headers['cache-control'], 'no-cache, no-transform');
        assert.equal(slow.headers['x-accel-buffering'], 'no');
        assert.equal(slow.headers['x-content-type-options'], 'nosniff');
        slow.pause();
        const over = new Promise((done) => slow.on('error', done).on('end', () => done(null)));
        const session = (await oc().v2.session.create({})).data;
        const good = await oc().listen();
        await good.until((e) => e.type === 'server.connected');
        for (let i = 0; i < 100; i++) {
            const out = await oc().v2.session.shell({
                sessionID: session.id,
                agent: 'build',
                command: 'head -c 70000 /dev/zero | tr "\\0" x',
            });
            assert.equal(out.data.parts[0].state.output.length, 70000);
        }
        const idle = () => good.events.filter((e) => e.type === 'session.idle').length === 100;
        await waitUntil(idle, 'all of them');
        slow.resume();
        assert.ok(await within(over, 10000, 'its end'), 'broken off, so that its client begins anew');
        assert.equal(slow.complete, false);
        good.close();
        await oc().v2.session.delete({ sessionID: session.id });
    });

    it('and after ten seconds they hear a heartbeat', async () => {
        for (const l of patient) {
            await l.until((e) => e.type === 'server.heartbeat', 'a heartbeat');
            const after = l.times[l.types().indexOf('server.heartbeat')] - l.began;
            assert.ok(after > 9000 && after < 13000, `after ${after} ms`);
            l.close();
        }
    });
});
