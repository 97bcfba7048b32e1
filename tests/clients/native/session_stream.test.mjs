// SPDX-License-Identifier: Apache-2.0
// A command of a session whose answer is a stream of events: started, output, finished, error.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { sessionCalls } from '../../lib/sessions.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const SSE = 'text/event-stream';

withDaemon('a command in a session, as events', {}, (d) => {
    const { create, run, session, remove, transcript } = sessionCalls(d);
    const ask = (id, command, more = {}, accept = SSE, query = '') =>
        d.open('POST', `/v1/sessions/${id}/run${query}`, {
            body: JSON.stringify({ command, ...more }),
            headers: { Accept: accept, 'Content-Type': 'application/json' },
        });
    const stream = async (...args) => new SseReader(await ask(...args));
    const streamOutput = async (id, command, more = {}) => new SseReader(await ask(id, command, more, SSE, '?output=1'));
    /** The next event, which must be this one and as the document says. */
    const next = async (events, name, schema) => {
        const e = await events.next();
        assert.equal(e?.event, name, e?.data);
        const data = JSON.parse(e.data);
        (await d.openapi()).checkSchema(schema, data);
        return data;
    };
    const started = (events) => next(events, 'started', 'SseStarted');
    const finished = (events) => next(events, 'finished', 'SessionRunAnswer');
    const error = (events) => next(events, 'error', 'Problem');

    it('begins when its turn has come, and ends with what the plain answer has', async () => {
        const s = await create();
        const go = path.join(d.dir, 'go');
        const events = await stream(s.id, `echo out; echo err >&2; until [ -e ${go} ]; do sleep 0.05; done; (exit 3)`);
        const begun = await started(events);
        assert.deepEqual([begun.session_id, begun.number, begun.process_id, begun.offset], [s.id, 1, s.process_id, 0]);
        const output = `/v1/processes/${begun.process_id}/output?since=${begun.offset}`;
        await waitUntil(async () => (await d.request('GET', output)).text.includes('out\n'), 'its output to be there');
        fs.writeFileSync(go, '');
        const end = await finished(events);
        assert.deepEqual([end.stdout, end.stderr, end.exit_code, end.number, end.offset], ['out\n', 'err\n', 3, 1, 0]);
        assert.equal(await events.next(), null);
        const plain = await run(s.id, 'echo out; echo err >&2; (exit 3)');
        assert.deepEqual(Object.keys(plain).sort(), Object.keys(end).sort());
        await remove(s.id);
    });

    it('one that waits is answered at once and begins behind the others', async () => {
        const s = await create();
        const [first, second] = [await stream(s.id, 'sleep 0.3; echo 1'), await stream(s.id, 'echo 2')];
        assert.equal((await started(first)).number, 1);
        assert.equal((await started(second)).number, 2);
        assert.equal((await finished(first)).stdout, '1\n');
        assert.equal((await finished(second)).stdout, '2\n');
        await remove(s.id);
    });

    it('is there for who names it first, and for nobody else', async () => {
        const s = await create();
        const types = {
            [SSE]: SSE,
            'text/event-stream, */*;q=0.1': SSE,
            'application/json;q=0.5, text/event-stream': SSE,
            'application/json, text/event-stream': 'application/json',
            'application/json': 'application/json',
            'text/event-stream;q=0': 'application/json',
            '*/*': 'application/json',
        };
        for (const [accept, type] of Object.entries(types)) {
            const res = await ask(s.id, ':', {}, accept);
            assert.equal(res.headers['content-type'].split(';')[0], type, accept);
            res.resume();
        }
        await remove(s.id);
    });

    it('what is refused at once has its status', async () => {
        const s = await create();
        const headers = { Accept: SSE };
        await d.refused('bad_value', 'POST', `/v1/sessions/${s.id}/run`, { json: { command: '' }, headers });
        await d.refused('no_such_session', 'POST', '/v1/sessions/none/run', { json: { command: ':' }, headers });
        assert.equal((await session(s.id)).commands, 0);
        await remove(s.id);
    });

    it('its end comes by the session, too', async () => {
        const s = await create();
        const [runs, waits] = [await stream(s.id, 'sleep 1000'), await stream(s.id, 'echo never')];
        await started(runs);
        await remove(s.id);
        const end = await finished(runs);
        assert.deepEqual([end.exit.kind, end.exit.by], ['killed', 'api']);
        assert.equal((await error(waits)).code, 'no_such_session');
        assert.equal(await waits.next(), null);
    });

    it('who goes takes it along, unless it is to be kept', async () => {
        const s = await create();
        const [killed, kept, dropped] = [
            await stream(s.id, 'sleep 1000'),
            await stream(s.id, 'sleep 0.3; echo kept', { on_detach: 'keep' }),
            await stream(s.id, 'echo never'),
        ];
        await started(killed);
        dropped.close();
        killed.close();
        await started(kept);
        kept.close();
        const done = await waitUntil(async () => {
            const { items } = await transcript(s.id);
            return items.length === 2 && items.every((i) => i.status === 'exited') && items;
        }, 'both to end');
        assert.deepEqual(done.map((i) => [i.exit.kind, i.exit.by]), [['killed', 'detach'], ['exited', null]]);
        assert.equal(done[1].output.head.data, 'kept\n');
        await remove(s.id);
    });

    it('a worker that is replaced says where it goes on', async () => {
        const s = await create();
        const go = path.join(d.dir, 'go on');
        const [runs, waits] = [await stream(s.id, `until [ -e '${go}' ]; do sleep 0.05; done; echo done`), await stream(s.id, 'echo never')];
        const { number } = await started(runs);
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        for (const [events, said] of [[runs, `command ${number} in the transcript`], [waits, 'was not started']]) {
            const why = await error(events);
            assert.equal(why.code, 'shutting_down');
            assert.ok(why.detail.includes(said), why.detail);
            assert.equal(await events.next(), null);
        }
        await d.nextWorker(old);
        fs.writeFileSync(go, '');
        const all = await waitUntil(async () => {
            const { items } = await transcript(s.id);
            return items[0].status === 'exited' && items;
        }, 'its end');
        assert.deepEqual([all.length, all[0].number, all[0].output.head.data], [1, number, 'done\n']);
        await remove(s.id);
    });

    /** All output of a command from `at` on, by stream; it must follow on without a gap or a repetition. */
    const takeOutput = async (events, at, enough = () => false) => {
        const told = { stdout: [], stderr: [] };
        const text = (stream) => Buffer.concat(told[stream]);
        while (!enough(text)) {
            const e = await events.next();
            if (e?.event === 'finished') return { text, at, end: JSON.parse(e.data) };
            assert.equal(e?.event, 'output', e?.data);
            const o = JSON.parse(e.data);
            (await d.openapi()).checkSchema('SseOutput', o);
            assert.equal(o.offset, at);
            const bytes = Buffer.from(o.data, o.encoding);
            at += bytes.length;
            assert.equal(e.id, String(at));
            told[o.stream].push(bytes);
        }
        return { text, at };
    };

    it('with output=1 what it writes comes as it is written, whole characters, each byte at its offset', async () => {
        const s = await create();
        await run(s.id, 'echo before');
        const go = path.join(d.dir, 'go out');
        const events = await streamOutput(s.id, `echo one; echo two >&2; until [ -e '${go}' ]; do sleep 0.05; done
            printf 'caf\\303'; sleep 0.2; printf '\\251 \\377'`);
        const { offset } = await started(events);
        assert.equal(offset, 'before\n'.length);
        const early = await takeOutput(events, offset, (text) => text('stdout').length === 4 && text('stderr').length === 4);
        assert.deepEqual([early.text('stdout').toString(), early.text('stderr').toString()], ['one\n', 'two\n']);
        fs.writeFileSync(go, '');
        const late = await takeOutput(events, early.at);
        assert.deepEqual(late.text('stdout'), Buffer.from([...Buffer.from('café '), 0xff]));
        assert.deepEqual([late.end.offset, late.end.next, late.end.stderr], [offset, late.at, 'two\n']);
        assert.equal(await events.next(), null);
        await remove(s.id);
    });

    it('a character that is never completed is told before the end', async () => {
        const s = await create();
        const events = await streamOutput(s.id, `printf 'a\\303'`);
        const { offset } = await started(events);
        assert.deepEqual((await takeOutput(events, offset)).text('stdout'), Buffer.from([0x61, 0xc3]));
        await remove(s.id);
    });

    it('has the output of its own command, not of those behind it', async () => {
        const s = await create();
        const all = await Promise.all([1, 2, 3].map((n) => streamOutput(s.id, `seq ${n}000 ${n}999`)));
        let at = 0;
        for (const [i, events] of all.entries()) {
            assert.equal((await started(events)).offset, at);
            const got = await takeOutput(events, at);
            const numbers = got.text('stdout').toString().split('\n');
            assert.deepEqual([numbers.length, numbers[0], numbers[999]], [1001, `${i + 1}000`, `${i + 1}999`]);
            at = got.at;
        }
        await remove(s.id);
    });

    // The ring has 1 MiB, the connection some: what is not taken has to wait in the command.
    it('a client that pauses holds the command and misses nothing', async () => {
        const s = await create();
        const bytes = 12 * 1024 * 1024;
        const events = await streamOutput(s.id, `yes 0123456789abcde | head -c ${bytes}`, { max_output_bytes: 1000 });
        const { offset } = await started(events);
        const pid = (await session(s.id)).process_id;
        const next = async () => (await d.request('GET', `/v1/processes/${pid}`)).json.output.next;
        events.res.pause();
        let seen = -1;
        await waitUntil(async () => {
            const before = seen;
            seen = await next();
            return seen > 0 && seen === before;
        }, 'the command to be held', 10000, 300);
        assert.ok(seen < offset + bytes, `held at ${seen}`);
        events.res.resume();
        const got = await takeOutput(events, offset);
        assert.equal(got.at, offset + bytes);
        assert.ok(got.text('stdout').equals(Buffer.from('0123456789abcde\n'.repeat(bytes / 16))));
        assert.equal(got.end.omitted_bytes, bytes - 1000);
        await remove(s.id);
    });

    it('who goes in the middle of its output takes it along', async () => {
        const s = await create();
        const events = await streamOutput(s.id, 'yes');
        const { offset } = await started(events);
        await takeOutput(events, offset, (text) => text('stdout').length > 0);
        events.close();
        const [item] = await waitUntil(async () => {
            const { items } = await transcript(s.id);
            return items[0].status === 'exited' && items;
        }, 'its end');
        assert.deepEqual([item.exit.kind, item.exit.by], ['killed', 'detach']);
        await remove(s.id);
    });

    it('output is for who takes events, and yes or no', async () => {
        const s = await create();
        const at = (query) => `/v1/sessions/${s.id}/run?output=${query}`;
        const json = { command: ':' };
        await d.refused('bad_query', 'POST', at('1'), { json });
        await d.refused('bad_query', 'POST', at('some'), { json, headers: { Accept: SSE } });
        assert.equal((await session(s.id)).commands, 0);
        const quiet = new SseReader(await ask(s.id, 'echo hi', {}, SSE, '?output=0'));
        await started(quiet);
        assert.equal((await finished(quiet)).stdout, 'hi\n');
        await remove(s.id);
    });
});
