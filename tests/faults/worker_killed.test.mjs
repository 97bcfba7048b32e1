// SPDX-License-Identifier: Apache-2.0
// The worker is killed again and again while twenty processes flood. No process dies, no byte is
// lost or doubled, exits that happened meanwhile are told, nobody is refused.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { daemonFor } from '../lib/daemon.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { scaled } from '../lib/scale.mjs';
import { Flood } from '../lib/flood.mjs';
import { SseReader } from '../lib/sse.mjs';
import { inParallel, randomMoment, waitUntil } from '../lib/wait.mjs';

async function killingWorkers(d, signal, times) {
    const random = seededRandom(runSeed());
    const flood = await Flood.start(d, 20);
    const exits = [];
    for (let i = 0; i < times; i++) {
        // Short ones whose end falls into the time without a worker, as often as not.
        const code = 1 + (i % 200);
        exits.push({
            code,
            id: (
                await flood.retry(() =>
                    d.request('POST', '/v1/processes', {
                        json: {
                            command: `sleep 0.0${i % 10}; echo done; exit ${code}`,
                            shell: true,
                            pty: i % 2 ? true : undefined,
                        },
                    }),
                )
            ).json.id,
        });
        const old = d.workerPid();
        await randomMoment(random, 80);
        flood.mark();
        process.kill(old, signal);
        await d.nextWorker(old);
        d.agent.destroy();
        await flood.moved(60000);
    }
    for (const e of exits) {
        const p = await d.exitOf(e.id);
        assert.equal(p.exit_code, e.code);
        assert.equal(p.exit.kind, 'exited');
        assert.match((await d.output(e.id)).toString(), /^done\r?\n$/);
    }
    flood.report(`${times} × ${signal}`);
    await flood.stop();
    assert.equal(
        (d.stderr.match(/worker.*(died|killed|ended|signal)/gi) ?? []).length >= times,
        true,
        'the log tells of each death',
    );
}

test('SIGKILL', () => daemonFor({}, (d) => killingWorkers(d, 'SIGKILL', scaled(200, 10))));

// The sanitizer must not catch the signal: this is about a worker that really dies of it.
test('SIGSEGV', () =>
    daemonFor({ env: { ASAN_OPTIONS: 'handle_segv=0:detect_leaks=1:exitcode=99' } }, (d) =>
        killingWorkers(d, 'SIGSEGV', scaled(50, 8)),
    ));

test('a request that comes while there is no worker is answered by the next', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('sleep 300');
        for (let i = 0; i < 10; i++) {
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            d.agent.destroy();
            // Connections that the dead worker had accepted are reset; a fresh one must be taken.
            const a = await waitUntil(
                () =>
                    d.request('GET', `/v1/processes/${p.id}`, { agent: false }).catch((err) => {
                        if (/ECONNREFUSED/.test(err.message)) throw Object.assign(err, { fatal: true });
                        return null;
                    }),
                'an answer',
                10000,
                1,
            );
            assert.equal(a.json.pid, p.pid);
            await d.nextWorker(old);
        }
        assert.ok(proc.isAlive(p.pid));
    }));

/*
 * A start is under way in three places: worker, keeper, child. Wherever the worker
 * dies in between, a child that lives must be listed, and only once.
 */
test('a start that the worker did not live to answer', () =>
    daemonFor({ args: ['--event-log-bytes', String(4 << 20)] }, async (d) => {
        const random = seededRandom(runSeed());
        const seconds = '78787878';
        let asked = 0;
        for (let round = 0; round < scaled(60, 15); round++) {
            const old = await waitUntil(() => d.workerPid(), 'a worker');
            const starts = Array.from({ length: 6 }, (_, i) =>
                d
                    .request('POST', '/v1/processes', {
                        agent: false,
                        json: {
                            command: 'sleep',
                            args: [seconds],
                            label: `n${asked++}`,
                            pty: i % 2 ? true : undefined,
                        },
                    })
                    .catch(() => null),
            );
            await randomMoment(random, 8);
            process.kill(old, 'SIGKILL');
            await Promise.all(starts);
            await d.nextWorker(old);
            d.agent.destroy();
        }
        const alive = () =>
            proc
                .descendantsOf(d.pid)
                .filter((s) => proc.cmdline(s.pid)[1] === seconds && s.state !== 'Z')
                .map((s) => s.pid)
                .sort();
        const listed = async () => (await d.request('GET', '/v1/processes?limit=1000&status=running')).json.processes;
        await waitUntil(
            async () => JSON.stringify((await listed()).map((p) => p.pid).sort()) === JSON.stringify(alive()),
            'the list to agree with /proc',
            5000,
        );
        const labels = (await listed()).map((p) => p.label);
        assert.equal(new Set(labels).size, labels.length, 'one request started two processes');
        assert.ok(labels.length > 0 && labels.length <= asked);
        // The log of events tells the same story: each was created once and none has ended.
        const s = new SseReader(await d.open('GET', '/v1/events?since=0'));
        const created = [];
        while (created.length < labels.length) {
            const ev = await s.next();
            const about = JSON.parse(ev.data).process;
            if (about.command !== 'sleep') continue;
            assert.notEqual(ev.event, 'process.exited');
            if (ev.event === 'process.created') created.push(about.id);
        }
        assert.deepEqual(created.sort(), (await listed()).map((p) => p.id).sort());
        s.close();
    }));

test('a worker that is killed at its start again and again: back off, say so, recover', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('echo alive; sleep 300');
        // Only a death soon after the start counts, and on a busy machine this loop may come too late for one. So it goes
        // on until enough of them came in a row. A wait begins after the kill that caused it, and ends before the next.
        const waits = () => [...d.stderr.matchAll(/warn keeper: worker died (\d+) times in a row, waiting (\d+) ms/gi)];
        const kills = [];
        let last = 0;
        await waitUntil(
            () => {
                const w = d.workerPid();
                if (w && w !== last) {
                    kills.push(performance.now());
                    process.kill(w, 'SIGKILL');
                    last = w;
                }
                return waits().length > scaled(20, 10);
            },
            'the keeper to wait before it starts workers',
            120000,
            0,
        );
        const waited = waits().slice(0, -1).reduce((sum, m) => sum + Number(m[2]), 0);
        assert.ok(Number(waits()[0][1]) <= 10, `the first wait: ${waits()[0][0]}`);
        assert.ok(kills.at(-1) - kills[0] >= waited, `${kills.length} workers in ${kills.at(-1) - kills[0]} ms, although the keeper announced waits of ${waited} ms`);
        d.agent.destroy();
        await waitUntil(
            () => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200),
            'recovery',
            30000,
            50,
        );
        assert.equal((await d.get(p.id)).status, 'running');
        assert.equal((await d.output(p.id)).toString(), 'alive\n');
    }));

test('a worker that stops answering is not the end of the processes', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('i=0; while :; do echo $i; i=$((i+1)); sleep 0.01; done');
        const w = d.workerPid();
        process.kill(w, 'SIGSTOP');
        await inParallel(3, 1, async () => assert.ok(proc.isAlive(p.pid)));
        process.kill(w, 'SIGKILL');
        await d.nextWorker(w);
        d.agent.destroy();
        await waitUntil(async () => (await d.get(p.id)).output.next > 0, 'output');
        const lines = (await d.output(p.id)).toString().split('\n').slice(0, -1);
        lines.forEach((l, i) => assert.equal(l, String(i)));
    }));

test('everything of a process survives: tag, label, metadata, times, session, size, exit', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('echo x; sleep 300', {
            pty: { rows: 33, cols: 99 },
            tag: 'kept',
            label: 'a label',
            metadata: { a: [1] },
            session_id: 's',
            source: 'agent',
            size_policy: 'fixed',
        });
        const q = await d.sh('exit 9', { label: 'dead' });
        await d.exitOf(q.id);
        await d.outputHas(p.id, 'x');
        // Each worker learns anew, and in the background, whether a terminal's program waits for input.
        const both = async () => {
            const terminal = await waitUntil(async () => {
                const now = await d.get(p.id);
                return now.waiting_for_input !== null && now;
            }, 'a look at the terminal');
            return [terminal, await d.get(q.id)];
        };
        const before = await both();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        assert.deepEqual(await both(), before);
        assert.equal((await d.get('tag:kept')).id, p.id);
        await d.refused('tag_in_use', 'POST', '/v1/processes', { json: { command: 'true', tag: 'kept' } });
        assert.equal((await d.output(p.id)).toString(), 'x\r\n');
    }));
