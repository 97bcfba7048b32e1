// SPDX-License-Identifier: Apache-2.0
// Sessions: refusals, limits, the list, events, roles and the transcript.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { sessionCalls } from '../../lib/sessions.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('the calls of sessions', {}, (d) => {
    const { create, run, session, remove, transcript } = sessionCalls(d);

    it('bad input for every field of a creation changes nothing', async () => {
        const bad = [
            ['bad_type', { id: 1 }],
            ['bad_value', { id: '' }],
            ['bad_value', { id: 'a/b' }],
            ['bad_value', { id: 'a b' }],
            ['bad_value', { id: '..' }],
            ['bad_value', { id: 'x'.repeat(129) }],
            ['bad_value', { id: 'a\0' }],
            ['bad_type', { cwd: 1 }],
            ['bad_value', { cwd: '' }],
            ['spawn_failed', { cwd: '/no/such/place' }],
            ['bad_type', { env: [] }],
            ['bad_type', { env: { A: 1 } }],
            ['bad_value', { env: { 'A=B': 'x' } }],
            ['bad_type', { shell: true }],
            ['bad_value', { shell: 'zsh' }],
            ['bad_value', { shell: '/usr/bin/python3' }],
            ['spawn_failed', { shell: '/no/such/bash' }],
            ['unknown_field', { command: 'x' }],
        ];
        for (const [code, json] of bad) await d.refused(code, 'POST', '/v1/sessions', { json });
        await d.refused('bad_json', 'POST', '/v1/sessions', { body: '{' });
        assert.deepEqual((await d.api('GET', '/v1/sessions', { expect: 200 })).json, { sessions: [], next: null });
        assert.deepEqual(await d.list(), []);
    });

    it('bad input for every field of a command runs nothing', async () => {
        const s = await create();
        const big = limit('LIMIT_SESSION_COMMAND_BYTES');
        const bad = [
            ['missing_field', {}],
            ['bad_type', { command: 1 }],
            ['bad_value', { command: '' }],
            ['bad_value', { command: 'a\0b' }],
            ['bad_value', { command: 'x'.repeat(big + 1) }],
            ['bad_type', { command: ':', source: 1 }],
            ['bad_value', { command: ':', source: 'robot' }],
            ['bad_type', { command: ':', timeout_ms: '1' }],
            ['bad_value', { command: ':', timeout_ms: -1 }],
            ['bad_value', { command: ':', grace_ms: -1 }],
            ['bad_value', { command: ':', max_output_bytes: -1 }],
            ['bad_value', { command: ':', max_output_bytes: 1e12 }],
            ['bad_value', { command: ':', output_encoding: 'hex' }],
            ['bad_type', { command: ':', stdin: {} }],
            ['bad_value', { command: ':', stdin: '???', stdin_encoding: 'base64' }],
            ['bad_value', { command: ':', stdin: 'x', stdin_encoding: 'hex' }],
            ['bad_value', { command: ':', stdin: 'x'.repeat(limit('LIMIT_SESSION_INPUT_BYTES') + 1) }],
            ['bad_type', { command: ':', on_detach: {} }],
            ['bad_value', { command: ':', on_detach: 'later' }],
            ['unknown_field', { command: ':', pty: true }],
        ];
        for (const [code, json] of bad) await d.refused(code, 'POST', `/v1/sessions/${s.id}/run`, { json });
        assert.equal((await session(s.id)).commands, 0);
        await d.refused('no_such_session', 'POST', '/v1/sessions/none/run', { json: { command: ':' } });
        for (const [m, path] of [
            ['GET', '/v1/sessions/none'],
            ['DELETE', '/v1/sessions/none'],
            ['GET', '/v1/sessions/none/transcript'],
        ])
            await d.refused('no_such_session', m, path);
        await d.refused('bad_query', 'DELETE', `/v1/sessions/${s.id}?grace_ms=-1`);
        await d.refused('bad_query', 'GET', `/v1/sessions/${s.id}/transcript?limit=0`);
        await d.refused('bad_query', 'GET', `/v1/sessions/${s.id}/transcript?format=pdf`);
        await d.refused('not_acceptable', 'GET', `/v1/sessions/${s.id}/transcript`, { headers: { Accept: 'image/png' } });
        await d.refused('bad_query', 'GET', '/v1/sessions?limit=0');
        await d.refused('bad_query', 'GET', '/v1/sessions?after=none');
        await d.refused('method_not_allowed', 'PUT', `/v1/sessions/${s.id}`);
        await remove(s.id);
    });

    it('an id is taken once', async () => {
        const s = await create({ id: 'mine.1' });
        assert.equal(s.id, 'mine.1');
        const p = await d.refused('session_exists', 'POST', '/v1/sessions', { json: { id: 'mine.1' } });
        assert.equal(p.field, 'id');
        const two = await Promise.all([1, 2].map(() => d.api('POST', '/v1/sessions', { json: { id: 'race' } })));
        assert.deepEqual(two.map((a) => a.status).sort(), [201, 409]);
        await remove('mine.1');
        await remove('race');
    });

    it('lists by pages, newest first', async () => {
        const made = [];
        for (let i = 0; i < 5; i++) made.unshift((await create({ id: `p${i}` })).id);
        const seen = [];
        let next = null;
        do {
            const q = `?limit=2${next ? `&after=${next}` : ''}`;
            const page = (await d.api('GET', `/v1/sessions${q}`, { expect: 200 })).json;
            assert.ok(page.sessions.length <= 2);
            seen.push(...page.sessions.map((s) => s.id));
            next = page.next;
        } while (next);
        assert.deepEqual(seen, made);
        for (const id of made) await remove(id);
    });

    it('limits have names', async () => {
        const n = limit('LIMIT_SESSION_QUEUE');
        const s = await create();
        const held = run(s.id, 'sleep 300', { timeout_ms: 120000, grace_ms: 100 });
        await waitUntil(async () => (await session(s.id)).status === 'running', 'the first');
        const waiting = Array.from({ length: n }, () => d.request('POST', `/v1/sessions/${s.id}/run`, { json: { command: ':' }, agent: false }));
        await waitUntil(async () => (await session(s.id)).queued === n, 'a full queue');
        const p = await d.refused('too_many_commands', 'POST', `/v1/sessions/${s.id}/run`, { json: { command: ':' } });
        assert.equal(p.limit, 'session_queue');
        await remove(s.id);
        assert.equal((await held).exit.kind, 'killed');
        for (const a of await Promise.all(waiting)) assert.equal(a.json.code, 'no_such_session');

        const most = limit('LIMIT_SESSIONS');
        for (let i = 0; i < most; i++) await create({ id: `m${i}`, shell: 'sh' });
        const q = await d.refused('too_many_sessions', 'POST', '/v1/sessions', { json: {} });
        assert.equal(q.limit, 'sessions');
        for (let i = 0; i < most; i++) await remove(`m${i}`);
        const info = (await d.api('GET', '/v1/info', { expect: 200 })).json;
        assert.deepEqual([info.limits.sessions, info.limits.session_queue, info.features.sessions], [most, n, true]);
    });

    it('roles: who may only watch looks, and runs nothing', async () => {
        const s = await create({ id: 'roles' });
        for (const role of ['watch', 'type']) {
            for (const path of ['/v1/sessions', '/v1/sessions/roles', '/v1/sessions/roles/transcript'])
                assert.equal((await d.api('GET', path, { role })).status, 200);
            await d.refused('forbidden', 'POST', '/v1/sessions', { role, json: {} });
            await d.refused('forbidden', 'POST', '/v1/sessions/roles/run', { role, json: { command: ':' } });
            await d.refused('forbidden', 'DELETE', '/v1/sessions/roles', { role });
        }
        await remove(s.id);
    });

    it('events tell of sessions to those who ask for all', async () => {
        const all = new SseReader(await d.open('GET', '/v1/events?all=1'));
        const mine = new SseReader(await d.open('GET', '/v1/events?all=1&session_id=told'));
        const s = await create({ id: 'told' });
        const o = await create({ id: 'other' });
        await run(s.id, 'exit 4', { source: 'agent' });
        await remove(s.id);
        await remove(o.id);
        const api = await d.openapi();
        const gather = async (reader, until) => {
            const out = [];
            while (!out.some(until)) {
                const e = await reader.next();
                const data = JSON.parse(e.data);
                api.checkSchema('Event', data);
                assert.equal(e.event, data.type);
                if (e.event.startsWith('session.')) out.push(data);
            }
            return out;
        };
        const events = await gather(all, (e) => e.type === 'session.deleted' && e.session.id === 'other');
        const ofMine = await gather(mine, (e) => e.type === 'session.deleted');
        const types = ['session.created', 'session.command_started', 'session.command_finished', 'session.deleted'];
        assert.deepEqual(ofMine.map((e) => e.type), types);
        assert.ok(ofMine.every((e) => e.session.id === 'told'));
        assert.deepEqual(events.filter((e) => e.session.id === 'told').map((e) => e.type), types);
        assert.deepEqual(
            [ofMine[1].command.command, ofMine[1].command.source, ofMine[1].command.exit_code, ofMine[2].command.exit_code],
            ['exit 4', 'agent', null, 4],
        );
        all.close();
        mine.close();
    });

    it('the transcript has commands and processes in order, as JSON', async () => {
        const s = await create();
        for (const source of ['agent', 'user', 'user_shell', 'system'])
            await run(s.id, `echo ${source}; echo err >&2`, { source });
        const p = await d.spawn({ command: 'printf', args: ['%s', "it's"], session_id: s.id, source: 'agent' });
        await d.exitOf(p.id);
        await run(s.id, 'printf "\\377"; exit 9');
        await run(s.id, 'sleep 300', { timeout_ms: 50 });
        const t = await transcript(s.id);
        assert.deepEqual([t.session_id, t.dropped], [s.id, 0]);
        assert.deepEqual(t.items.map((i) => i.number), [1, 2, 3, 4, null, 5, 6]);
        assert.deepEqual(t.items.map((i) => i.source).slice(0, 4), ['agent', 'user', 'user_shell', 'system']);
        assert.equal(t.items[0].output.head.data.split('\n').sort().join(), ',agent,err');
        assert.deepEqual(
            [t.items[4].type, t.items[4].process_id, t.items[4].command, t.items[4].output.head.data],
            ['process', p.id, "printf %s 'it'\\''s'", "it's"],
        );
        assert.deepEqual([t.items[5].exit_code, t.items[5].shell_replaced], [9, true]);
        assert.deepEqual(t.items[5].output.head, { data: '/w==', encoding: 'base64' });
        assert.deepEqual([t.items[6].timed_out, t.items[6].exit.kind], [true, 'timed_out']);
        for (const i of t.items) assert.ok(i.started_at <= i.ended_at);
        const two = await transcript(s.id, '?limit=2');
        assert.deepEqual([two.dropped, two.items.map((i) => i.number)], [5, [5, 6]]);
        assert.deepEqual((await d.list(`?session_id=${s.id}`)).filter((x) => x.source !== 'system').map((x) => x.id), [p.id]);
        await remove(s.id);
    });

    it('and as Markdown, where no output gets out of its block', async () => {
        const s = await create();
        await run(s.id, "printf 'a\\033[31mred\\033[0m\\n````\\n# not a heading\\n'", { source: 'agent' });
        await run(s.id, 'head -c 50000 /dev/zero | tr "\\0" y');
        const url = `/v1/sessions/${s.id}/transcript`;
        const a = await d.api('GET', url, { headers: { Accept: 'text/markdown' }, expect: 200 });
        assert.equal(a.headers['content-type'], 'text/markdown; charset=utf-8');
        const text = a.body.toString();
        assert.equal((await d.api('GET', `${url}?format=markdown`, { expect: 200 })).body.toString(), text);
        assert.match(text, new RegExp(`^# Session ${s.id}\n\n## 1\\. agent, `));
        assert.ok(text.includes('\n`````text\nared\n````\n# not a heading\n`````\n'), text.slice(0, 500));
        assert.match(text, /\n## 2\. user, .*\n\n```sh\nhead -c 50000 .*\n```\n\nResult: exit 0, \d+\.\d s\n/);
        assert.match(text, /y\n\[\.\.\. 33616 bytes omitted \.\.\.\]\ny/);
        await remove(s.id);
    });

    it('the oldest commands are dropped, and it is said how many', async () => {
        const s = await create();
        const count = 70; // of 16 KiB each: more than the log has room for
        for (let i = 1; i <= count; i++) await run(s.id, `echo ${i}; head -c 40000 /dev/zero | tr "\\0" x`);
        const t = await transcript(s.id);
        assert.ok(t.dropped > 0 && t.items.length > 40, `${t.dropped} ${t.items.length}`);
        assert.equal(t.dropped + t.items.length, count);
        t.items.forEach((item, i) => {
            assert.equal(item.number, t.dropped + i + 1);
            assert.ok(item.output.head.data.startsWith(`${item.number}\n`));
            assert.equal(
                item.output.omitted_bytes + item.output.head.data.length + item.output.tail.data.length,
                40000 + String(item.number).length + 1,
            );
        });
        assert.match(
            (await d.api('GET', `/v1/sessions/${s.id}/transcript?format=markdown`)).body.toString(),
            new RegExp(`The oldest ${t.dropped} are not shown`),
        );
        await remove(s.id);
    });

    it('a process may name a session that is not there, and is listed by it', async () => {
        const p = await d.sh('exit 0', { session_id: 'free text' });
        assert.deepEqual((await d.list('?session_id=free%20text')).map((x) => x.id), [p.id]);
        await d.refused('no_such_session', 'GET', '/v1/sessions/free%20text');
    });
});
