// SPDX-License-Identifier: Apache-2.0
// The worker dies, or is replaced, while sessions are at work: their shells, what these hold, and
// what was run are still there, and a command that ran is told of as it was.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from '../lib/test.mjs';
import { Daemon, binary, daemonFor } from '../lib/daemon.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import { scaled } from '../lib/scale.mjs';
import { sessionCalls } from '../lib/sessions.mjs';
import { randomMoment, waitUntil } from '../lib/wait.mjs';

async function killWorker(d) {
    const old = d.workerPid();
    process.kill(old, 'SIGKILL');
    await d.nextWorker(old);
    d.agent.destroy();
}

const idle = (c, id) => waitUntil(async () => (await c.session(id)).status === 'idle', 'the end of the command', 20000);

test('a session survives with all it holds', () =>
    daemonFor({}, async (d) => {
        const c = sessionCalls(d);
        const s = await c.create({ id: 'kept', cwd: d.dir, env: { A: '1', HOME: null } });
        await c.create({ id: 'second' });
        await c.run(s.id, 'v=here; f() { echo "f $v"; }; cd /; sleep 300 &', { source: 'agent' });
        const before = [await c.session(s.id), await c.transcript(s.id)];
        await killWorker(d);
        assert.deepEqual([await c.session(s.id), await c.transcript(s.id)], before);
        assert.deepEqual(
            (await d.api('GET', '/v1/sessions')).json.sessions.map((x) => x.id),
            ['second', 'kept'],
        );
        const r = await c.run(s.id, 'f; pwd; echo $A ${HOME-none}');
        assert.deepEqual([r.stdout, r.number, r.shell_replaced], ['f here\n/\n1 none\n', 2, false]);
        // What replaces a shell afterwards starts as the first did.
        await c.run(s.id, 'exit 1');
        await killWorker(d);
        const t = await c.run(s.id, 'pwd; echo $A ${v-lost}');
        assert.deepEqual([t.stdout, t.number, t.shell_replaced], [`${d.dir}\n1 lost\n`, 4, false]);
        assert.deepEqual((await c.transcript(s.id)).items.map((i) => i.number), [1, 2, 3, 4]);
    }));

test('a command that runs goes on, and its result is exact', () =>
    daemonFor({}, async (d) => {
        const c = sessionCalls(d);
        const s = await c.create();
        const asked = d.request('POST', `/v1/sessions/${s.id}/run`, {
            json: { command: `echo a; while [ ! -e ${d.dir}/go ]; do sleep 0.02; done; seq 1 5000; (exit 5)` },
            agent: false,
        });
        asked.catch(() => {});
        await waitUntil(async () => (await c.session(s.id)).status === 'running', 'the command');
        await killWorker(d);
        await assert.rejects(asked);
        assert.equal((await c.session(s.id)).running.number, 1);
        const [running] = (await c.transcript(s.id)).items;
        assert.deepEqual([running.status, running.exit, running.exit_code], ['running', null, null]);
        // The next one waits behind it, as before.
        const next = c.run(s.id, 'echo next');
        fs.writeFileSync(`${d.dir}/go`, '');
        assert.equal((await next).stdout, 'next\n');
        const [item] = (await c.transcript(s.id)).items;
        const whole = `a\n${Array.from({ length: 5000 }, (_, i) => `${i + 1}\n`).join('')}`;
        assert.deepEqual([item.exit_code, item.shell_replaced, item.status], [5, false, 'exited']);
        assert.equal(item.output.next - item.output.offset, whole.length);
        assert.ok(whole.startsWith(item.output.head.data) && whole.endsWith(item.output.tail.data));
        const range = `?since=${item.output.offset}&until=${item.output.next}`;
        assert.equal((await d.output(item.process_id, range)).toString(), whole);
    }));

test('a time-out that was set before the crash still counts', () =>
    daemonFor({}, async (d) => {
        const c = sessionCalls(d);
        const s = await c.create();
        d.request('POST', `/v1/sessions/${s.id}/run`, {
            json: { command: 'echo begun; sleep 300', timeout_ms: 1500, grace_ms: 100 },
            agent: false,
        }).catch(() => {});
        await waitUntil(async () => (await c.session(s.id)).status === 'running', 'the command');
        await killWorker(d);
        await idle(c, s.id);
        const [item] = (await c.transcript(s.id)).items;
        assert.equal(item.exit.kind, 'timed_out');
        assert.match(item.output.head.data, /^begun\n/);
    }));

/*
 * At any moment: while a command is queued, sent, run, reported or answered. Each number is run
 * at most once, nothing is told twice, and what is told to have ended has ended as told.
 */
test('killed at random moments', () =>
    daemonFor({}, async (d) => {
        const random = seededRandom(runSeed());
        const c = sessionCalls(d);
        const s = await c.create({ cwd: d.dir });
        const answers = new Map();
        let n = 0;
        for (let round = 0; round < scaled(100, 25); round++) {
            const batch = Array.from({ length: 4 }, () => {
                const i = n++;
                return d
                    .request('POST', `/v1/sessions/${s.id}/run`, {
                        json: { command: `echo ${i} >>log; printf 'out-${i}'; (exit ${i % 200})` },
                        agent: false,
                    })
                    .then((a) => answers.set(i, a.json))
                    .catch(() => {});
            });
            await randomMoment(random, 12);
            await killWorker(d);
            await Promise.all(batch);
            await idle(c, s.id);
        }
        assert.equal((await c.run(s.id, 'echo fine')).stdout, 'fine\n');
        const log = fs.readFileSync(`${d.dir}/log`, 'utf8').trim().split('\n').map(Number);
        assert.equal(new Set(log).size, log.length, 'a command was run twice');
        const { items } = await c.transcript(s.id);
        const told = new Set();
        for (const item of items.slice(0, -1)) {
            const i = Number(item.command.match(/out-(\d+)/)[1]);
            assert.ok(!told.has(i), `command ${i} is there twice`);
            told.add(i);
            if (item.exit.kind === 'lost') {
                assert.ok(!log.includes(i), 'lost means that it was never run');
                continue;
            }
            assert.deepEqual([item.exit_code, item.output.head.data], [i % 200, `out-${i}`]);
            assert.equal(item.output.omitted_bytes, 0);
        }
        for (const i of log) assert.ok(told.has(i) || items[0].number > 1, `command ${i} was run and is not told of`);
        for (const [i, a] of answers) {
            if (a.exit_code === undefined) continue;
            assert.deepEqual([a.stdout, a.exit_code], [`out-${i}`, i % 200]);
        }
        assert.equal((await c.session(s.id)).pid, s.pid, 'it was the same shell all the time');
    }));

test('an upgrade leaves sessions as they are', async () => {
    const d = new Daemon({}).prepare();
    const at = `${d.dir}/holdfast`;
    fs.copyFileSync(binary(), at);
    d.options.bin = at;
    await d.start();
    try {
        const c = sessionCalls(d);
        const s = await c.create({ id: 'up' });
        await c.run(s.id, 'x=1');
        const asked = d.request('POST', `/v1/sessions/${s.id}/run`, {
            json: { command: `while [ ! -e ${d.dir}/go ]; do sleep 0.02; done; echo done` },
            agent: false,
        });
        await waitUntil(async () => (await c.session(s.id)).status === 'running', 'the command');
        const old = d.workerPid();
        process.kill(d.pid, 'SIGHUP');
        const a = await asked;
        assert.deepEqual([a.status, a.json.code], [503, 'shutting_down']);
        assert.match(a.json.detail, /command 2 in the transcript/);
        await d.nextWorker(old);
        d.agent.destroy();
        fs.writeFileSync(`${d.dir}/go`, '');
        assert.equal((await c.run(s.id, 'echo $x')).stdout, '1\n');
        const { items } = await c.transcript(s.id);
        assert.deepEqual(
            items.map((i) => [i.number, i.exit_code, i.output.head.data]),
            [
                [1, 0, ''],
                [2, 0, 'done\n'],
                [3, 0, '1\n'],
            ],
        );
    } finally {
        await d.stop();
    }
});

test('a deletion that the worker did not live to finish is finished', () =>
    daemonFor({}, async (d) => {
        const c = sessionCalls(d);
        const s = await c.create();
        await c.run(s.id, "trap '' TERM; (trap '' TERM; sleep 300) & :");
        d.request('DELETE', `/v1/sessions/${s.id}?grace_ms=1000`, { agent: false }).catch(() => {});
        await waitUntil(
            async () => (await d.request('GET', `/v1/sessions/${s.id}`)).status === 404,
            'the deletion to begin',
        );
        await killWorker(d);
        await d.refused('no_such_session', 'GET', `/v1/sessions/${s.id}`);
        await waitUntil(async () => (await d.list()).length === 0, 'the end of its shell', 15000);
    }));
