// SPDX-License-Identifier: Apache-2.0
// Sandboxes and sessions by @vercel/sandbox 3.5.0: made, found, listed, stopped and gone on with.

import assert from 'node:assert/strict';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { at, refused, Sandbox, skip } from './client.mjs';

withDaemon('vercel: control', { skip }, (d) => {
    const names = async (more = {}) => (await Sandbox.list({ ...at(d), ...more })).sandboxes.map((s) => s.name);

    it('create, get and list; an unknown name is a 404 that says so', async () => {
        const made = await Sandbox.create(at(d));
        assert.match(made.name, /^sandbox-[a-z2-7]{8}$/);
        assert.equal(made.status, 'running');
        assert.equal(made.cwd, d.dir);
        assert.equal(made.timeout, 300000);
        const named = await Sandbox.create({ ...at(d), name: 'my-box.1', runtime: 'node24', timeout: 60000 });
        assert.deepEqual([named.name, named.timeout], ['my-box.1', 60000]);
        const found = await Sandbox.get({ ...at(d), name: 'my-box.1' });
        assert.equal(found.currentSession().sessionId, named.currentSession().sessionId);
        assert.deepEqual((await names()).sort(), ['local', made.name, 'my-box.1'].sort());
        assert.deepEqual(await names({ namePrefix: 'my-' }), ['my-box.1']);
        assert.deepEqual(await names({ tags: { a: 'b' } }), []);
        await refused(Sandbox.get({ ...at(d), name: 'nobody' }), 404, { code: 'not_found', text: 'no sandbox nobody' });
        await made.delete();
        await named.delete();
        assert.deepEqual(await names(), ['local']);
    });

    it('getOrCreate makes it once; a second create of the same name is a conflict', async () => {
        let created = 0;
        const ask = { ...at(d), name: 'once', onCreate: () => created++ };
        const a = await Sandbox.getOrCreate(ask);
        const b = await Sandbox.getOrCreate(ask);
        assert.equal(created, 1);
        assert.equal(a.currentSession().sessionId, b.currentSession().sessionId);
        await refused(Sandbox.create(ask), 409, { code: 'conflict' });
        for (const name of ['', '../x', 'a b', 'sessions', 'x'.repeat(129)]) await refused(Sandbox.create({ ...at(d), name }), 400);
        await a.delete();
    });

    it('what cannot be kept is not promised: sources, drives and closed networks are refused', async () => {
        await refused(Sandbox.create({ ...at(d), source: { type: 'git', url: 'https://example.com/x.git' } }), 400, { text: 'source' });
        await refused(Sandbox.create({ ...at(d), networkPolicy: 'deny-all' }), 400, { text: 'network' });
        await refused(Sandbox.create({ ...at(d), networkPolicy: { allow: ['example.com'] } }), 400, { text: 'network' });
        const sb = await Sandbox.create({ ...at(d), networkPolicy: 'allow-all', ports: [3000], resources: { vcpus: 2 }, tags: { a: 'b' } });
        assert.throws(() => sb.domain(3000), /port/);
        await sb.delete();
        assert.deepEqual(await names(), ['local']);
    });

    it("a sandbox's own variables are in its commands, under the command's", async () => {
        const sb = await Sandbox.create({ ...at(d), env: { A: 'box', B: 'box' } });
        const r = await sb.runCommand({ cmd: 'sh', args: ['-c', 'echo $A $B'], env: { B: 'own' } });
        assert.equal(await r.stdout(), 'box own\n');
        await refused(Sandbox.create({ ...at(d), env: { BIG: 'x'.repeat(9000) } }), 400, { text: 'exceed' });
        await sb.delete();
    });

    it('stop ends what the session has started, and nothing else; what has run stays readable', async () => {
        const sb = await Sandbox.create({ ...at(d), name: 'stopped' });
        const other = await (await Sandbox.get({ ...at(d), name: 'local' })).runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        const done = await sb.runCommand({ cmd: 'echo', args: ['kept'], detached: true });
        await done.wait();
        const c = await sb.runCommand({ cmd: 'sh', args: ['-c', 'echo begun; sleep 60'], detached: true });
        for await (const l of c.logs()) if (l.data) break;
        const last = await sb.stop();
        assert.equal(last.status, 'stopped');
        assert.equal((await d.get(c.cmdId)).status, 'exited');
        assert.equal((await d.get(other.cmdId)).status, 'running');
        assert.equal(await done.stdout(), 'kept\n');
        assert.equal(await c.stdout(), 'begun\n');
        assert.equal((await c.wait()).exitCode, 143);
        assert.equal((await Sandbox.get({ ...at(d), name: 'stopped' })).status, 'stopped');
        await other.kill('SIGKILL');
        await sb.delete();
    });

    it('a session that is over: 410, a look at the sandbox, and once more', async () => {
        const log = [];
        let resumed = 0;
        const sb = await Sandbox.create({ ...at(d, { log }), name: 'again', onResume: () => resumed++ });
        const old = sb.currentSession().sessionId;
        await sb.stop();
        log.length = 0;
        assert.equal(await (await sb.runCommand('echo', ['hi'])).stdout(), 'hi\n');
        const now = sb.currentSession().sessionId;
        assert.notEqual(now, old);
        assert.deepEqual(log, [
            `POST /api/v2/sandboxes/sessions/${old}/cmd`,
            'GET /api/v2/sandboxes/again?resume=true',
            `POST /api/v2/sandboxes/sessions/${now}/cmd`,
        ]);
        assert.equal(resumed, 1);
        assert.equal((await d.list()).filter((p) => p.command === 'echo' && p.session_id === now).length, 1);
        await sb.delete();
    });

    it('the same after a daemon that has begun anew, for the one that is always there', async () => {
        const log = [];
        let sb;
        let where;
        const fetch = (url, init) => {
            const o = at(where, { log });
            return o.fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${o.token}` } });
        };
        await daemonFor({ fdBaseline: false }, async (first) => {
            where = first;
            sb = await Sandbox.get({ ...at(first), name: 'local', fetch });
        });
        const old = sb.currentSession().sessionId;
        where = d;
        log.length = 0;
        assert.equal(await (await sb.runCommand('echo', ['hi'])).stdout(), 'hi\n');
        assert.deepEqual(
            log.map((l) => l.replace(old, 'OLD').replace(sb.currentSession().sessionId, 'NEW').replace('/api/v2/sandboxes', '')),
            ['POST /sessions/OLD/cmd', 'GET /local?resume=true', 'POST /sessions/NEW/cmd'],
        );
        const b = await d.request('POST', '/dialects/vercel/api/v2/sandboxes/sessions/never/cmd', { json: { command: 'true' } });
        assert.deepEqual([b.status, b.json.error.code], [404, 'not_found']);
    });

    it('update: timeout, tags and variables hold, also for the next worker; what cannot be done is refused whole', async () => {
        const sb = await Sandbox.create({ ...at(d), name: 'changing', timeout: 60000, tags: { env: 'test' }, env: { KEPT: 'yes' } });
        assert.deepEqual(sb.tags, { env: 'test' });
        await sb.update({ timeout: 600000, tags: { env: 'live', team: 'a b' }, resources: { vcpus: 4 }, ports: [3000] });
        const again = async () => Sandbox.get({ ...at(d), name: 'changing', resume: false });
        const check = async () => {
            const now = await again();
            assert.deepEqual([now.tags, now.timeout], [{ env: 'live', team: 'a b' }, 600000]);
        };
        await check();
        assert.ok(sb.currentSession().timeout >= 600000, 'the running session, too');
        const list = async (tags) => (await Sandbox.list({ ...at(d), tags })).sandboxes.map((s) => s.name);
        assert.deepEqual(await list({ team: 'a b' }), ['changing']);
        assert.deepEqual(await list({ team: 'a' }), []);
        for (const wish of [{ networkPolicy: 'deny-all' }, { currentSnapshotId: 'snap_1' }, { mounts: { '/x': { drive: 'y' } } }, { tags: { big: 'x'.repeat(5000) } }]) {
            const before = (await again()).updatedAt;
            await assert.rejects(sb.update({ timeout: 1000, ...wish }), (e) => e.response.status === 400);
            assert.deepEqual((await again()).updatedAt, before);
        }
        await sb.update({ networkPolicy: 'allow-all' });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await check();
        assert.equal(await (await sb.runCommand('printenv', ['KEPT'])).stdout(), 'yes\n');
        await sb.update({ tags: {} });
        assert.deepEqual((await again()).tags ?? {}, {});
        await sb.delete();
    });

    it('a stop that another client resumes meanwhile is answered with the session that it stopped', async () => {
        const sb = await Sandbox.create({ ...at(d), name: 'raced' });
        const old = sb.currentSession().sessionId;
        const slow = await sb.runCommand({ cmd: 'sh', args: ['-c', 'trap "" TERM; echo up; while :; do sleep 0.1; done'], detached: true });
        await d.outputHas(slow.cmdId, 'up');
        const stopping = sb.stop();
        await waitUntil(async () => (await Sandbox.get({ ...at(d), name: 'raced', resume: false })).status === 'stopped', 'the stop');
        const other = await Sandbox.get({ ...at(d), name: 'raced', resume: true });
        const now = other.currentSession().sessionId;
        assert.notEqual(now, old);
        await d.api('POST', `/v1/processes/${slow.cmdId}/signal`, { json: { signal: 'KILL' } });
        await stopping;
        assert.equal((await Sandbox.get({ ...at(d), name: 'raced', resume: false })).status, 'running', 'the new session');
        // Once more, by one that still holds the session before.
        const api = `/dialects/vercel/api/v2/sandboxes/sessions/${old}`;
        for (const [method, path] of [['POST', '/stop'], ['GET', '']]) {
            const r = await d.request(method, api + path);
            assert.deepEqual([r.status, r.json.session.id, r.json.session.status], [200, old, 'stopped'], r.text);
        }
        assert.equal((await Sandbox.get({ ...at(d), name: 'raced', resume: false })).currentSession().sessionId, now);
        await other.delete();
    });

    it('extendTimeout moves the end, also of a session that should be over', async () => {
        const sb = await Sandbox.create({ ...at(d), timeout: 1 });
        const before = sb.expiresAt.getTime();
        await sb.extendTimeout(60000);
        const left = sb.expiresAt.getTime() - Date.now();
        assert.ok(sb.expiresAt.getTime() > before && left > 0 && left <= 60000, String(left));
        await refused(sb.extendTimeout(-5), 400);
        await sb.delete();
    });

    it('sessions can be listed and looked at', async () => {
        const sb = await Sandbox.get({ ...at(d), name: 'local' });
        const { sessions } = await sb.listSessions();
        assert.deepEqual(sessions.map((s) => s.id), [sb.currentSession().sessionId]);
    });

    it('there may be many; then one that was stopped makes room', async () => {
        const kept = [];
        for (let i = (await names()).length; i < 64; i++) kept.push(await Sandbox.create({ ...at(d), name: `many-${i}` }));
        await refused(Sandbox.create(at(d)), 400, { text: 'already' });
        await kept[3].stop();
        const one = await Sandbox.create(at(d));
        assert.ok(!(await names()).includes(kept[3].name));
        for (const sb of [one, ...kept.filter((_, i) => i !== 3)]) await sb.delete();
        assert.deepEqual(await names(), ['local']);
        const local = await Sandbox.get({ ...at(d), name: 'local' });
        await local.delete();
        assert.equal((await Sandbox.get({ ...at(d), name: 'local', resume: true })).status, 'running');
    });
});
