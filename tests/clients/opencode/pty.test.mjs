// SPDX-License-Identifier: Apache-2.0
// PTYs through the published SDK of OpenCode, both its clients: the "works when" list.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('opencode: PTYs', {}, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const elsewhere = () => new OpenCode(d, { directory: '/usr' });
    const raw = (method, url, options) => d.request(method, `/dialects/opencode${url}`, options);

    it('what the terminal application reads at its start is answered, empty', async () => {
        const { v2 } = oc();
        const read = async (call) => {
            const { data, error, response } = await call;
            assert.equal(response.status, 200, JSON.stringify(error));
            return data;
        };
        assert.deepEqual(await read(v2.provider.list()), { all: [], default: {}, connected: [] });
        assert.deepEqual(await read(v2.config.providers()), { providers: [], default: {} });
        assert.deepEqual(await read(v2.experimental.capabilities.get()), { backgroundSubagents: false });
        assert.deepEqual(await read(v2.experimental.console.get()), { consoleManagedProviders: [], switchableOrgCount: 0 });
        assert.deepEqual(await read(v2.vcs.get()), {});
        for (const call of [v2.lsp.status(), v2.formatter.status(), v2.permission.list(), v2.question.list(), v2.experimental.workspace.list()])
            assert.deepEqual(await read(call), []);
        for (const call of [v2.mcp.status(), v2.experimental.resource.list(), v2.provider.auth()]) assert.deepEqual(await read(call), {});
    });

    it('a path may end in a slash, an Origin may be empty, and a PTY is looked for before the upgrade', async () => {
        const ask = (method, url, headers = {}) => d.request(method, `/dialects/opencode${url}`, { headers });
        for (const path of ['/session/', '/pty/', '/global/health/']) assert.equal((await ask('GET', path)).status, 200, path);
        const p = await oc().sh('cat');
        const empty = await ask('POST', `/pty/${p.id}/connect-token?directory=${d.dir}`, { 'x-opencode-ticket': '1', Origin: '' });
        assert.equal(empty.status, 200, empty.text);
        const none = await ask('GET', '/pty/pty_none/connect');
        assert.deepEqual([none.status, none.text], [404, '']);
        const plain = await ask('GET', `/pty/${p.id}/connect?directory=${d.dir}`);
        assert.deepEqual([plain.status, plain.text], [400, '']);
        const titled = (await oc().v2.pty.update({ ptyID: p.id, title: 'kept' })).data;
        assert.equal(titled.title, 'kept');
        assert.equal((await oc().v2.pty.update({ ptyID: p.id, title: '' })).data.title, 'kept', 'an empty title changes nothing');
        await oc().v2.pty.remove({ ptyID: p.id });
    });

    it('a PTY is announced as running, however short it lives', async () => {
        const events = await oc().listen();
        for (let i = 0; i < 5; i++) {
            const p = await oc().sh('exit 3');
            const made = await events.until((e) => e.type === 'pty.created' && e.properties.info.id === p.id);
            assert.deepEqual([made.properties.info.status, 'exitCode' in made.properties.info], ['running', false]);
        }
        events.close();
        for (const p of await d.list()) {
            await d.exitOf(p.id);
            await d.remove(p.id);
        }
    });

    it('health, and the small calls that clients make', async () => {
        const { v1, v2 } = oc();
        assert.deepEqual((await v2.global.health()).data, { healthy: true, version: '1.18.33' });
        assert.deepEqual((await raw('GET', '/api/health')).json, { healthy: true });
        assert.equal((await v2.path.get()).data.directory, d.dir);
        assert.equal((await v2.project.current()).data.worktree, '/');
        assert.deepEqual((await v2.config.get()).data, {});
        assert.ok((await v1.app.agents()).data.some((a) => a.name === 'build' && a.mode === 'primary'));
        assert.deepEqual((await v1.command.list()).data, []);
        const shells = (await v2.pty.shells()).data;
        for (const s of shells) assert.equal(s.acceptable, !['fish', 'nu'].includes(s.name), s.name);
        assert.ok(shells.some((s) => s.path === '/bin/sh' && s.name === 'sh' && s.acceptable === true));
        const nothing = await raw('GET', '/no/such/call');
        assert.equal(nothing.status, 404);
        assert.equal(nothing.json.name, 'NotFoundError');
        assert.equal(nothing.type, 'application/json');
        assert.equal((await raw('PATCH', '/pty')).status, 405);
    });

    it('create({}) of both clients: an id of their form, a shell that runs, -l at the end', async () => {
        const { v1, v2 } = oc();
        for (const p of [(await v1.pty.create({ body: {} })).data, (await v2.pty.create({})).data]) {
            assert.match(p.id, /^pty_[0-9a-zA-Z]{26}$/);
            assert.equal(p.status, 'running');
            assert.ok(proc.isAlive(p.pid));
            assert.equal(p.args.at(-1), '-l');
            assert.equal(p.cwd, d.dir);
            assert.equal(p.title, `Terminal ${p.id.slice(-4)}`);
            assert.ok(!('exitCode' in p));
            assert.equal((await v2.pty.remove({ ptyID: p.id })).data, true);
        }
        const p = (await v2.pty.create({ command: 'bash', args: ['-c', 'cat'], title: 'mine', cwd: '/usr' })).data;
        assert.deepEqual(p.args, ['-c', 'cat', '-l']);
        assert.equal(p.title, 'mine');
        assert.equal(fs.readlinkSync(`/proc/${p.pid}/cwd`), '/usr');
        await v2.pty.remove({ ptyID: p.id });
    });

    it('list, get, update and remove agree; what is gone or no id is told as such', async () => {
        const { v1, v2 } = oc();
        const p = await oc().sh('cat');
        const ids = async (c) => (await c.pty.list()).data.map((x) => x.id);
        assert.deepEqual(await ids(v1), [p.id]);
        assert.deepEqual(await ids(v2), [p.id]);
        assert.deepEqual((await v1.pty.get({ path: { id: p.id } })).data, p);
        const renamed = (await v2.pty.update({ ptyID: p.id, title: 'other' })).data;
        assert.deepEqual(renamed, { ...p, title: 'other' });
        assert.deepEqual((await v1.pty.get({ path: { id: p.id } })).data, renamed);
        assert.equal((await v1.pty.remove({ path: { id: p.id } })).data, true);
        const gone = (await v2.pty.remove({ ptyID: p.id })).error;
        assert.deepEqual(gone, { _tag: 'PtyNotFoundError', ptyID: p.id, message: `PTY session not found: ${p.id}` });
        assert.equal((await v2.pty.get({ ptyID: p.id })).error._tag, 'PtyNotFoundError');
        const bad = (await v2.pty.get({ ptyID: 'xxx' })).error;
        assert.equal(bad.name, 'BadRequest');
        assert.equal(bad.data.kind, 'Params');
        assert.deepEqual(await ids(v1), []);
        assert.equal((await v2.pty.connect({ ptyID: 'pty_x' })).data, undefined);
    });

    it('24 by 80 at first, then what update says', async () => {
        const p = await oc().sh('stty -echo; while read x; do stty size; done');
        const a = oc().attach(p.id);
        await a.replay();
        a.send('\r');
        await a.sees('24 80');
        await oc().v2.pty.update({ ptyID: p.id, size: { rows: 40, cols: 120 } });
        a.send('\r');
        await a.sees('40 120');
        await oc().v1.pty.update({ path: { id: p.id }, body: { size: { rows: 30, cols: 90 } } });
        a.send('\r');
        await a.sees('30 90');
        await oc().v2.pty.remove({ ptyID: p.id });
        assert.equal((await a.end()).code, 1000);
    });

    it('the environment: what was asked for, and whose terminal it is', async () => {
        const p = await oc().sh('echo "<$A|$TERM|$OPENCODE_TERMINAL>"; cat', { env: { A: 'b', TERM: 'vt52' } });
        const a = oc().attach(p.id);
        await a.sees('<b|xterm-256color|1>');
        await oc().v2.pty.remove({ ptyID: p.id });
    });

    it('bad bodies change nothing and say what is wrong', async () => {
        const p = await oc().sh('cat');
        const refused = async (method, url, json, status = 400) => {
            const a = await raw(method, url, { json, headers: { 'x-opencode-directory': encodeURIComponent(d.dir) } });
            assert.equal(a.status, status, a.text);
            return a.json;
        };
        assert.deepEqual((await refused('POST', '/pty', { command: 5 })).data.kind, 'Payload');
        await refused('POST', '/pty', { args: 'x' });
        await refused('POST', '/pty', { args: [1] });
        await refused('POST', '/pty', { env: { A: 1 } });
        await refused('POST', '/pty', { command: 'a\0b' });
        await refused('POST', '/pty', { command: '/no/such/program' });
        await refused('POST', '/pty', { command: 'cat', cwd: '/no/such/directory' });
        await refused('POST', '/pty', { title: 'x'.repeat(5000) });
        await refused('PUT', `/pty/${p.id}`, { size: { rows: 0, cols: 80 } });
        await refused('PUT', `/pty/${p.id}`, { size: { rows: 1.5, cols: 80 } });
        await refused('PUT', `/pty/${p.id}`, { size: { rows: 70000, cols: 80 } });
        await refused('PUT', `/pty/${p.id}`, { title: 7 });
        await refused('PUT', `/pty/${p.id}`, { title: 'x'.repeat(1025), size: { rows: 9, cols: 9 } });
        assert.equal((await d.list())[0].rows, 24, 'half of an update is none');
        assert.equal((await refused('POST', '/api/pty', { command: 5 }))._tag, 'InvalidRequestError');
        assert.equal((await raw('POST', '/pty', { body: '{' })).status, 400);
        assert.equal((await raw('POST', '/pty', { json: [] })).status, 400);
        assert.equal((await raw('POST', '/pty', { json: { command: 'x'.repeat(2 << 20) } })).status, 413);
        assert.deepEqual((await oc().v2.pty.list()).data, [p]);
        await oc().v2.pty.remove({ ptyID: p.id });
    });

    it('after the exit: gone from /pty, kept with its code on /api/pty until it is removed', async () => {
        const { v2 } = oc();
        const p = await oc().sh('read x; exit 7');
        const a = oc().attach(p.id);
        await a.replay();
        a.send('\r');
        assert.deepEqual(await a.end(), { code: 1000, reason: '' });
        assert.equal((await v2.pty.get({ ptyID: p.id })).error._tag, 'PtyNotFoundError');
        assert.deepEqual((await v2.pty.list()).data, []);
        assert.equal(await oc().attach(p.id).status(), 404);
        const kept = (await v2.v2.pty.get({ ptyID: p.id })).data;
        assert.equal(kept.location.directory, d.dir);
        assert.equal(kept.data.status, 'exited');
        assert.equal(kept.data.exitCode, 7);
        assert.deepEqual((await v2.v2.pty.list()).data.data.map((x) => x.id), [p.id]);
        assert.equal((await v2.v2.pty.update({ ptyID: p.id, title: 'was', size: { rows: 9, cols: 9 } })).data.data.title, 'was');
        const late = oc().attach(p.id, {}, { surface: '/api/pty' });
        assert.deepEqual(await late.end(), { code: 4404, reason: 'session exited' });
        assert.equal((await v2.v2.pty.remove({ ptyID: p.id })).response.status, 204);
        assert.equal((await v2.v2.pty.get({ ptyID: p.id })).error._tag, 'PtyNotFoundError');
    });

    // The original hangs up on the leader only; a shell that does not care lives on for ever.
    it('remove ends every process of the terminal, also those that ignore the hang-up', async () => {
        const file = path.join(d.dir, 'pids');
        const p = await oc().sh(`trap "" HUP TERM; (trap "" HUP TERM; setsid sleep 1000) & echo $! $$ > ${file}; while :; do sleep 1; done`);
        const a = oc().attach(p.id);
        await waitUntil(() => fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes('\n'), 'both of them');
        const pids = fs.readFileSync(file, 'utf8').trim().split(' ').map(Number);
        assert.equal((await oc().v2.pty.remove({ ptyID: p.id })).data, true);
        assert.deepEqual(await a.end(), { code: 1000, reason: '' });
        await waitUntil(() => pids.every((x) => !proc.isAlive(x)), 'nobody to be left', 5000);
    });

    it('a PTY of one directory is absent in another', async () => {
        const p = await oc().sh('cat');
        const other = elsewhere();
        assert.deepEqual((await other.v1.pty.list()).data, []);
        assert.deepEqual((await other.v2.v2.pty.list()).data.data, []);
        for (const call of ['get', 'remove', 'connectToken']) {
            assert.equal((await other.v2.pty[call]({ ptyID: p.id })).error._tag, 'PtyNotFoundError', call);
        }
        assert.equal(await other.attach(p.id).status(), 404);
        const slash = new OpenCode(d, { directory: `${d.dir}/` });
        assert.deepEqual((await slash.v2.pty.list()).data, [p]);
        await oc().v2.pty.remove({ ptyID: p.id });
    });

    it('both surfaces and every dialect see the same process', async () => {
        const { v2 } = oc();
        const api = (await v2.v2.pty.create({ command: 'cat' })).data.data;
        assert.deepEqual((await v2.pty.get({ ptyID: api.id })).data, api);
        const all = await d.list('?pty=true');
        assert.equal(all.length, 1);
        assert.equal(all[0].pid, api.pid);
        assert.equal((await v2.pty.get({ ptyID: all[0].id })).data.id, api.id);
        await d.remove(all[0].id);
        assert.equal((await v2.pty.get({ ptyID: api.id })).error._tag, 'PtyNotFoundError');

        const native = await d.spawn({ command: 'cat', pty: { rows: 5, cols: 20 }, tag: 'ours' });
        const theirs = (await v2.pty.list()).data[0];
        assert.equal(theirs.pid, native.pid);
        assert.equal((await elsewhere().v2.pty.list()).data[0].id, theirs.id);
        for (const id of [theirs.id, native.id, 'tag:ours', `pid:${native.pid}`]) {
            assert.equal((await v2.pty.get({ ptyID: id })).data.pid, native.pid, id);
        }
        await v2.pty.update({ ptyID: theirs.id, size: { rows: 6, cols: 66 }, title: 'named' });
        const now = await d.get(native.id);
        assert.deepEqual([now.rows, now.cols, now.label], [6, 66, 'named']);
        const a = oc().attach(native.id);
        await a.replay();
        a.send('typed\r');
        await d.outputHas(native.id, 'typed');
        await v2.pty.remove({ ptyID: theirs.id });
        assert.deepEqual(await a.end(), { code: 1000, reason: '' });
        assert.deepEqual(await d.list(), []);
    });

    it('a process without a terminal can be watched and typed to, but not sized', async () => {
        const p = await d.spawn({ command: 'cat', stdin: 'pipe' });
        const a = oc().attach(p.id);
        await a.replay();
        a.send('héllo\n');
        await a.sees('héllo\n');
        assert.equal(a.cursor, 6);
        const sized = await raw('PUT', `/pty/${p.id}`, { json: { size: { rows: 9, cols: 9 } } });
        assert.equal(sized.status, 409);
        await a.drop();
        await d.remove(p.id);
    });
});
