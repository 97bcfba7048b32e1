// SPDX-License-Identifier: Apache-2.0
// A command of a session whose answer is a stream of events: started, finished, error.

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
    const ask = (id, command, more = {}, accept = SSE) =>
        d.open('POST', `/v1/sessions/${id}/run`, {
            body: JSON.stringify({ command, ...more }),
            headers: { Accept: accept, 'Content-Type': 'application/json' },
        });
    const stream = async (...args) => new SseReader(await ask(...args));
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
        for (const [events, said] of [[runs, `command ${number} in the transcript`], [waits, 'was not begun']]) {
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
});
