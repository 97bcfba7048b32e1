// SPDX-License-Identifier: Apache-2.0
// Sessions of OpenCode: /shell and /command run real processes, and what they did is kept.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('opencode: sessions', {}, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const session = async (more = {}) => (await oc().v2.session.create(more)).data;
    const shell = (s, command, more = {}) => oc().v2.session.shell({ sessionID: s.id, agent: 'build', command, ...more });
    const busy = (s) => waitUntil(async () => (await oc().v2.session.status()).data[s.id], 'the session to be busy');
    const remove = (s) => oc().v2.session.delete({ sessionID: s.id });

    it('create, list, get, rename, delete', async () => {
        const { v1, v2 } = oc();
        const a = await session();
        assert.match(a.id, /^ses_[0-9a-zA-Z]{26}$/);
        assert.match(a.title, /^New session - \d{4}-\d\d-\d\dT/);
        assert.equal(a.directory, d.dir);
        assert.equal(a.path, d.dir.slice(1));
        assert.equal(a.projectID, 'global');
        const b = (await v1.session.create({ body: { title: 'second', parentID: a.id } })).data;
        assert.equal(b.title, 'second');
        assert.ok(b.id < a.id, 'newer ones sort first');
        assert.deepEqual((await v2.session.list()).data.map((s) => s.id), [b.id, a.id]);
        assert.deepEqual((await v2.session.list({ limit: 1 })).data.map((s) => s.id), [b.id]);
        assert.deepEqual((await new OpenCode(d, { directory: '/usr' }).v2.session.list()).data, []);
        assert.deepEqual((await v2.session.children({ sessionID: a.id })).data.map((s) => s.id), [b.id]);
        assert.deepEqual((await v1.session.get({ path: { id: b.id } })).data, b);
        assert.equal((await v2.session.update({ sessionID: b.id, title: 'renamed' })).data.title, 'renamed');
        assert.equal((await v2.session.get({ sessionID: b.id })).data.title, 'renamed');
        for (const s of [b, a]) assert.equal((await remove(s)).data, true);
        const gone = (await v2.session.get({ sessionID: a.id })).error;
        assert.deepEqual(gone, { name: 'NotFoundError', data: { message: `Session not found: ${a.id}` } });
        assert.equal((await remove(a)).error.name, 'NotFoundError');
        assert.equal((await shell(a, 'true')).error.name, 'NotFoundError');
    });

    it('a session goes with its children, and its event says all that it was', async () => {
        const events = await oc().listen();
        const top = await session({ title: 'top' });
        const child = await session({ title: 'child', parentID: top.id });
        const grandchild = await session({ parentID: child.id });
        const other = await session();
        await shell(child, 'cd /; true');
        const was = Object.fromEntries(await Promise.all([top, child, grandchild].map(async (s) => [s.id, (await oc().v2.session.get({ sessionID: s.id })).data])));
        assert.equal((await remove(top)).data, true);
        assert.deepEqual((await oc().v2.session.list()).data.map((s) => s.id), [other.id]);
        for (const s of [top, child, grandchild]) {
            const e = await events.until((x) => x.type === 'session.deleted' && x.properties.sessionID === s.id, 'its deletion');
            assert.deepEqual(e.properties.info, was[s.id]);
            assert.equal(e.properties.info.directory, d.dir);
        }
        events.close();
        await remove(other);
    });

    it('one deleted through another protocol is told as fully', async () => {
        const events = await oc().listen();
        const s = await session({ title: 'elsewhere' });
        await d.api('DELETE', `/v1/sessions/${s.id}`);
        const e = await events.until((x) => x.type === 'session.deleted', 'its deletion');
        assert.deepEqual(e.properties.info, s);
        events.close();
    });

    it('lists are filtered by title, roots, start and path; archived ones stay', async () => {
        const top = await session({ title: 'Fix the Parser' });
        const child = await session({ title: 'parser tests', parentID: top.id });
        const list = async (query) => (await oc().v2.session.list(query)).data.map((s) => s.id);
        assert.deepEqual(await list({ search: 'PARSER' }), [child.id, top.id]);
        assert.deepEqual(await list({ search: 'the' }), [top.id]);
        assert.deepEqual(await list({ search: 'nothing of it' }), []);
        assert.deepEqual(await list({ roots: true }), [top.id]);
        assert.deepEqual(await list({ roots: 'false' }), [child.id, top.id]);
        assert.deepEqual(await list({ start: Date.now() + 60000 }), []);
        assert.deepEqual(await list({ start: Date.now() - 60000 }), [child.id, top.id]);
        assert.deepEqual(await list({ path: d.dir.slice(1) }), [child.id, top.id]);
        assert.deepEqual(await list({ path: 'no/such' }), []);
        assert.deepEqual(await list({ scope: 'project' }), [child.id, top.id]);
        assert.match((await oc().v2.session.list({ roots: 'maybe' })).error.data.message, /Expected "true" \| "false", got "maybe"/);
        const archived = (await oc().v2.session.update({ sessionID: child.id, time: { archived: 123 } })).data;
        assert.equal(archived.time.archived, 123);
        assert.equal((await oc().v2.session.update({ sessionID: child.id, title: '' })).data.title, '');
        assert.deepEqual(await list({ archived: true }), [child.id, top.id]);
        assert.equal((await oc().v2.session.get({ sessionID: child.id })).data.time.archived, 123, 'it outlives a new title');
        assert.equal((await session({ title: '' })).title, '', 'an empty title is one');
        for (const s of (await oc().v2.session.list()).data) await remove(s);
    });

    it('shell: both streams in order, the exit code, and the pair of messages', async () => {
        const s = await session();
        const { data } = await shell(s, 'echo out; echo err >&2; echo again; exit 3');
        assert.equal(data.parts.length, 1);
        const part = data.parts[0];
        assert.equal(part.type, 'tool');
        assert.equal(part.tool, 'bash');
        assert.equal(part.state.status, 'completed');
        assert.equal(part.state.output, 'out\nerr\nagain\n');
        assert.deepEqual(part.state.input, { command: 'echo out; echo err >&2; echo again; exit 3' });
        assert.deepEqual(part.state.metadata, { output: 'out\nerr\nagain\n', exit: 3 });
        assert.ok(part.state.time.end >= part.state.time.start);
        assert.equal(data.info.role, 'assistant');
        const list = (await oc().v2.session.messages({ sessionID: s.id })).data;
        assert.deepEqual(list.map((m) => m.info.role), ['user', 'assistant']);
        assert.deepEqual(list[1], data);
        assert.equal(data.info.parentID, list[0].info.id);
        assert.equal(list[0].parts[0].synthetic, true);
        for (const m of list) {
            const one = await oc().v2.session.message({ sessionID: s.id, messageID: m.info.id });
            assert.deepEqual(one.data, m);
        }
        assert.equal((await oc().v1.session.messages({ path: { id: s.id }, query: { limit: 1 } })).data.length, 1);
        await remove(s);
    });

    it('shell: where and how it runs', async () => {
        const s = await session();
        const out = async (line, more) => (await shell(s, line, more)).data.parts[0].state.output;
        assert.equal(await out('pwd; cd /; echo $TERM; [ -t 1 ] || echo no terminal; cat'), `${d.dir}\ndumb\nno terminal\n`);
        assert.equal(await out('pwd'), `${d.dir}\n`, 'each has a shell of its own');
        fs.writeFileSync(path.join(d.dir, '.bashrc'), 'alias hi="echo from the alias"\necho noise\n');
        assert.equal(await out('hi'), 'from the alias\n');
        const model = { providerID: 'p', modelID: 'm' };
        const { data } = await shell(s, 'true', { model, messageID: 'msg_mine', agent: 'plan' });
        assert.equal(data.info.parentID, 'msg_mine');
        assert.deepEqual([data.info.providerID, data.info.modelID, data.info.agent], ['p', 'm', 'plan']);
        assert.equal((await out('printf "\\303("')), '\ufffd(');
        const long = await out('seq 400000');
        assert.match(long.slice(0, 100), /^\n\n\.\.\. \d+ bytes omitted \.\.\.\n\n/);
        assert.ok(long.endsWith('\n399999\n400000\n') && long.length > 1000000);
        const kept = (await oc().v2.session.messages({ sessionID: s.id })).data.at(-1).parts[0].state.output;
        assert.ok(kept.length < 70000 && kept.endsWith('\n399999\n400000\n'), 'less of it in a list');
        const line = `: ${'x'.repeat(100000)}; echo ok`;
        assert.equal(await out(line), 'ok\n', 'a long line');
        await remove(s);
    });

    it('events come in the order of the original, with the output as it grows', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const s = await session();
        const gate = path.join(d.dir, 'gate');
        const run = shell(s, `echo one; while [ ! -e ${gate} ]; do sleep 0.02; done; echo two`);
        const text = (e) => e.properties?.part?.state?.metadata?.output;
        await l.until((e) => text(e) === 'one\n', 'the first line');
        fs.writeFileSync(gate, '');
        await run;
        await l.until((e) => e.type === 'session.idle');
        const mine = l.events.filter((e) => e.properties.sessionID === s.id);
        const grown = mine.filter((e) => e.properties.part?.state?.status === 'running' && text(e));
        const order = mine.filter((e) => !grown.includes(e)).map((e) => e.type);
        assert.deepEqual(order, [
            'session.created',
            'session.status',
            'message.updated',
            'message.part.updated',
            'message.updated',
            'message.part.updated',
            'message.updated',
            'message.part.updated',
            'session.status',
            'session.idle',
        ]);
        const statuses = mine.filter((e) => e.type === 'session.status').map((e) => e.properties.status.type);
        assert.deepEqual(statuses, ['busy', 'idle']);
        const parts = mine.filter((e) => e.type === 'message.part.updated').map((e) => e.properties);
        assert.equal(parts[0].part.type, 'text');
        assert.equal(parts[1].part.state.status, 'running');
        assert.equal(parts.at(-1).part.state.output, 'one\ntwo\n');
        assert.ok(parts.every((p) => p.sessionID === s.id && typeof p.time === 'number'));
        await remove(s);
        await l.until((e) => e.type === 'session.deleted' && e.properties.sessionID === s.id);
        l.close();
    });

    it('one at a time: busy is told and seen, and abort ends the whole tree', async () => {
        const s = await session();
        const pids = path.join(d.dir, 'pids');
        const run = shell(s, `trap "" TERM; echo began; (trap "" TERM; sleep 1000) & echo $! $$ > ${pids}; wait`);
        assert.deepEqual(await busy(s), { type: 'busy' });
        const second = await shell(s, 'true');
        assert.equal(second.response.status, 409);
        assert.deepEqual(second.error, { _tag: 'SessionBusyError', sessionID: s.id, message: `Session is busy: ${s.id}` });
        await waitUntil(() => fs.existsSync(pids) && fs.readFileSync(pids, 'utf8').includes('\n'), 'both');
        assert.equal((await oc().v2.session.abort({ sessionID: s.id })).data, true);
        const { data } = await run;
        assert.equal(data.parts[0].state.status, 'completed');
        assert.equal(data.parts[0].state.output, 'began\n\n\n<metadata>\nUser aborted the command\n</metadata>');
        for (const pid of fs.readFileSync(pids, 'utf8').trim().split(' ')) {
            await waitUntil(() => !proc.isAlive(Number(pid)), `${pid} to be gone`);
        }
        assert.deepEqual((await oc().v2.session.status()).data, {});
        assert.equal((await oc().v2.session.abort({ sessionID: s.id })).data, true);
        await remove(s);
    });

    it('command: a program of that name, in the shape that the original answers', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const s = await session();
        const { data } = await oc().v2.session.command({ sessionID: s.id, command: 'printf', arguments: '"%s-" a "b c"' });
        assert.deepEqual(data.parts.map((p) => p.type), ['step-start', 'text', 'step-finish']);
        assert.equal(data.parts[1].text, 'a-b c-');
        assert.equal(data.parts[1].metadata.exit, 0);
        assert.equal(data.info.finish, 'stop');
        const done = await l.until((e) => e.type === 'command.executed');
        assert.deepEqual(
            { name: done.properties.name, arguments: done.properties.arguments, messageID: done.properties.messageID },
            { name: 'printf', arguments: '"%s-" a "b c"', messageID: data.info.id },
        );
        for (const command of ['no-such-program', '../../bin/ls', 'echo hi;id', '']) {
            const bad = await oc().v2.session.command({ sessionID: s.id, command, arguments: '' });
            assert.equal(bad.response.status, 500);
            assert.match(bad.error.data.message, /^Command not found/);
        }
        await l.until((e) => e.type === 'session.error' && /no-such-program/.test(e.properties.error.data.message));
        l.close();
        await remove(s);
    });

    it('bad requests run nothing', async () => {
        const s = await session();
        const post = (what, json) => d.request('POST', `/dialects/opencode/session/${s.id}/${what}`, { json });
        for (const [what, body] of [
            ['shell', { command: 'true' }],
            ['shell', { agent: 'build' }],
            ['shell', { agent: 'build', command: 5 }],
            ['shell', { agent: 'build', command: 'true', messageID: 'x' }],
            ['shell', { agent: 'build', command: 'true', model: { providerID: 'p' } }],
            ['command', { command: 'ls' }],
            ['command', { arguments: '' }],
        ]) {
            const a = await post(what, body);
            assert.equal(a.status, 400, `${what} ${JSON.stringify(body)}: ${a.text}`);
            assert.equal(a.json.name, 'BadRequest');
            assert.equal(a.json.data.kind, 'Payload');
        }
        const agent = await post('shell', { agent: 'nobody', command: 'true' });
        assert.equal(agent.status, 500);
        assert.match(agent.json.data.message, /^Agent not found/);
        assert.equal((await d.request('GET', `/dialects/opencode/session/${s.id}/message?limit=x`)).status, 400);
        assert.deepEqual((await oc().v2.session.messages({ sessionID: s.id })).data, []);
        await remove(s);
    });

    it('the native API has the same sessions, commands and transcript', async () => {
        const s = await session({ title: 'shared' });
        await shell(s, 'echo ours');
        await d.api('POST', `/v1/sessions/${s.id}/run`, { json: { command: 'echo native' }, expect: 200 });
        const messages = (await oc().v2.session.messages({ sessionID: s.id })).data;
        assert.deepEqual(
            messages.filter((m) => m.info.role === 'assistant').map((m) => m.parts[0].state.output),
            ['ours\n', 'native\n'],
        );
        const transcript = (await d.api('GET', `/v1/sessions/${s.id}/transcript`, { expect: 200 })).json.items;
        assert.deepEqual(transcript.map((i) => i.output.head.data), ['ours\n', 'native\n']);
        assert.equal(transcript[0].source, 'user_shell');
        const native = (await d.api('POST', '/v1/sessions', { json: { cwd: d.dir }, expect: 201 })).json;
        assert.ok((await oc().v2.session.list()).data.some((x) => x.id === native.id));
        assert.equal((await shell({ id: native.id }, 'echo hi')).data.parts[0].state.output, 'hi\n');
        await remove({ id: native.id });
        await remove(s);
        assert.equal((await d.request('GET', `/v1/sessions/${s.id}`)).status, 404);
    });

    it('a crash of the worker loses neither the command, nor its messages, nor the title', async () => {
        const s = await session({ title: 'kept' });
        const first = (await shell(s, 'echo before')).data;
        const gate = path.join(d.dir, 'gate2');
        const cut = shell(s, `echo during; while [ ! -e ${gate} ]; do sleep 0.02; done; echo after; exit 4`).catch((e) => e);
        await busy(s);
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        assert.ok((await cut).data === undefined);
        assert.deepEqual(await busy(s), { type: 'busy' });
        assert.equal((await oc().v2.session.get({ sessionID: s.id })).data.title, 'kept');
        fs.writeFileSync(gate, '');
        await waitUntil(async () => !(await oc().v2.session.status()).data[s.id], 'its end');
        const list = (await oc().v2.session.messages({ sessionID: s.id })).data;
        assert.deepEqual(list[1], first, 'the same ids as before');
        assert.equal(list[3].parts[0].state.output, 'during\nafter\n');
        assert.equal(list[3].parts[0].state.metadata.exit, 4);
        await remove(s);
    });

    it('what a stranger writes into metadata harms nobody', async () => {
        const s = await session();
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        for (const opencode of [5, 'x', [], { name: 'a-name-longer-than-the-text', agent: 7 }, { directory: 1, messageID: 'm'.repeat(500) }]) {
            const p = await d.spawn({ command: 'true', session_id: s.id, metadata: { opencode } });
            await d.exitOf(p.id);
        }
        const list = (await oc().v2.session.messages({ sessionID: s.id })).data;
        assert.equal(list.length, 10);
        await waitUntil(() => l.types().filter((t) => t === 'session.idle').length === 5, 'all of them');
        l.close();
        await remove(s);
    });
});
