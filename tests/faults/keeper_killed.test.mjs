// SPDX-License-Identifier: Apache-2.0
// The keeper is killed again and again while twenty processes flood. No process ends, no byte is
// lost or doubled, every exit is exact, and viewers go on.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { daemonFor } from '../lib/daemon.mjs';
import { Exits } from '../lib/exits.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { Flood } from '../lib/flood.mjs';
import { randomMoment, waitUntil } from '../lib/wait.mjs';

/** Kills the keeper; resolves with the milliseconds until the next one's worker answers. */
async function killKeeper(d) {
    const [keeper, worker] = [d.keeperPid(), d.workerPid()];
    const began = performance.now();
    process.kill(keeper, 'SIGKILL');
    await waitUntil(() => d.keeperPid() && d.keeperPid() !== keeper, 'the next keeper', 20000, 1);
    if (worker) await waitUntil(() => d.workerPid() && d.workerPid() !== worker, 'the next worker', 20000, 1);
    d.agent.destroy();
    await waitUntil(async () => (await d.request('GET', '/healthz', { agent: false }).catch(() => null))?.status === 200, 'an answer', 20000, 1);
    return performance.now() - began;
}

test('SIGKILL under twenty floods', () =>
    daemonFor({}, async (d) => {
        const times = scaled(200, 10);
        const random = seededRandom(runSeed());
        const flood = await Flood.start(d, 20);
        const exits = new Exits(d, (request) => flood.retry(request));
        const gaps = [];
        for (let i = 0; i < times; i++) {
            await exits.soon();
            await randomMoment(random, 80);
            flood.mark();
            gaps.push(await killKeeper(d));
            await flood.moved(60000);
        }
        await exits.check();
        gaps.sort((a, b) => a - b);
        report(`${times} keepers killed; served again after ${gaps[gaps.length >> 1].toFixed(0)} ms (median), ${gaps.at(-1).toFixed(0)} ms (worst)`);
        flood.report(`${times} × keeper`);
        await flood.stop();
        assert.equal((d.stderr.match(/vault: keeper \d+ was killed by SIGKILL/g) ?? []).length, times, 'the log tells of each death');
    }));

test('exits that happen while there is no keeper are exact', () =>
    daemonFor({}, async (d) => {
        const ends = [];
        for (let i = 0; i < 12; i++) {
            const how = i % 3 === 2 ? 'kill -SEGV $$' : `exit ${i}`;
            ends.push(await d.sh(`read go; ${how}`, { pty: i % 2 ? true : undefined, stdin: i % 2 ? undefined : 'pipe' }));
        }
        const vault = d.vaultPid();
        const keeper = d.keeperPid();
        process.kill(vault, 'SIGSTOP');
        try {
            process.kill(keeper, 'SIGKILL');
            await waitUntil(() => proc.stat(keeper)?.state === 'Z', 'the death');
            for (const [i, p] of ends.entries()) process.kill(p.pid, i % 2 ? 'SIGTERM' : 'SIGKILL');
            for (const p of ends) await waitUntil(() => !proc.isAlive(p.pid), 'its end');
        } finally {
            process.kill(vault, 'SIGCONT');
        }
        d.agent.destroy();
        await waitUntil(() => d.workerPid(), 'a worker');
        for (const [i, p] of ends.entries()) {
            const e = await d.exitOf(p.id);
            assert.deepEqual([e.exit.kind, e.exit.signal], ['signaled', i % 2 ? 'SIGTERM' : 'SIGKILL'], JSON.stringify(e.exit));
        }
    }));

test('input goes on to the same program, and its end reaches it', () =>
    daemonFor({}, async (d) => {
        const p = await d.api('POST', '/v1/processes', { json: { command: 'cat', stdin: 'pipe' }, expect: 201 });
        const id = p.json.id;
        const input = (text, query = '') => d.api('POST', `/v1/processes/${id}/input${query}`, { body: text, headers: { 'content-type': 'application/octet-stream' } });
        await input('before\n');
        await killKeeper(d);
        await input('after\n');
        await killKeeper(d);
        await input('last\n', '?eof=1');
        assert.equal((await d.exitOf(id)).exit_code, 0);
        assert.equal((await d.output(id)).toString(), 'before\nafter\nlast\n');
    }));

/* Wherever the keeper dies in a start, a child that lives must be listed, and only once. */
test('a start that the keeper did not live to answer', () =>
    daemonFor({}, async (d) => {
        const random = seededRandom(runSeed());
        const seconds = '78787879';
        for (let round = 0; round < scaled(60, 12); round++) {
            const starts = Array.from({ length: 6 }, (_, i) =>
                d.request('POST', '/v1/processes', { agent: false, json: { command: 'sleep', args: [seconds], pty: i % 2 ? true : undefined } }).catch(() => null),
            );
            await randomMoment(random, 12);
            await killKeeper(d);
            await Promise.all(starts);
        }
        const listed = new Set((await d.list('?limit=1000')).map((p) => p.pid));
        const living = () => proc.descendantsOf(d.pid).filter((s) => s.state !== 'Z' && proc.cmdline(s.pid)[1] === seconds).map((s) => s.pid);
        await waitUntil(() => living().every((pid) => listed.has(pid)), 'no process that is not listed');
        for (const pid of listed) assert.ok(proc.isAlive(pid), `${pid} is listed and lives`);
    }));

test('a deletion and a resize go on working on what was inherited', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('trap "exit 3" TERM; while :; do sleep 0.05; done', { pty: true });
        const gone = await d.sh('sleep 300 & sleep 300');
        await killKeeper(d);
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 30, cols: 100 } });
        const orphans = () => proc.descendantsOf(d.pid).filter((s) => s.name === 'sleep' && proc.cmdline(s.pid)[1] === '300');
        assert.equal(orphans().length, 2);
        await d.remove(gone.id);
        await waitUntil(() => orphans().length === 0, 'its whole tree to be gone');
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'TERM' } });
        assert.equal((await d.exitOf(p.id)).exit_code, 3);
        await waitUntil(() => proc.childrenOf(d.vaultPid()).every((s) => s.state !== 'Z'), 'no zombie');
    }));

/** Stops the vault, and starts processes until the keeper does not wait for it any more. */
async function stall(d) {
    process.kill(d.vaultPid(), 'SIGSTOP');
    const run = () => d.request('POST', '/v1/processes/run', { json: { command: 'true' } });
    while (!d.stderr.includes('the vault is not reading')) await Promise.all(Array.from({ length: 20 }, run));
}

test('a process of which the vault has nothing is left out, and the others are served', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const [vault, keeper] = [d.vaultPid(), d.keeperPid()];
        const kept = await d.sh('echo kept; exec sleep 300');
        await d.outputHas(kept.id, 'kept');
        let lost;
        try {
            await stall(d);
            lost = await d.sh('exec sleep 300');
            process.kill(keeper, 'SIGKILL');
        } finally {
            process.kill(vault, 'SIGCONT');
        }
        await waitUntil(() => d.keeperPid() && d.keeperPid() !== keeper && d.workerPid(), 'the next keeper');
        d.agent.destroy();
        assert.equal((await d.output(kept.id)).toString(), 'kept\n');
        assert.equal((await d.request('GET', `/v1/processes/${lost.id}`)).status, 404);
        assert.match(d.stderr, new RegExp(`the record of ${lost.id} cannot be read`));
        assert.ok(proc.isAlive(lost.pid), 'it goes on');
        process.kill(lost.pid, 'SIGKILL');
        await d.remove(kept.id);
    }));

test('a vault that was stopped for a while gets what it has missed', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const vault = d.vaultPid();
        const early = await d.sh('read x; echo got $x; exit 7', { stdin: 'pipe' });
        const inherited = await d.sh('read x; exit 8', { pty: true });
        await killKeeper(d);
        const ended = await d.sh('read x; exit 9', { stdin: 'pipe' });
        const closed = await d.sh('cat; exit 10', { stdin: 'pipe' });
        let late;
        try {
            await stall(d);
            late = await d.sh('echo late; read x; exit 11', { stdin: 'pipe' });
            await d.api('POST', `/v1/processes/${ended.id}/input`, { json: { data: 'x\n' } });
            await d.exitOf(ended.id);
            await d.remove(ended.id);
            await d.api('POST', `/v1/processes/${closed.id}/input?eof=1`, { body: 'last\n', headers: { 'content-type': 'application/octet-stream' } });
            await d.api('POST', `/v1/processes/${inherited.id}/input`, { json: { data: 'x\n' } });
        } finally {
            process.kill(vault, 'SIGCONT');
        }
        await waitUntil(() => d.stderr.includes('the vault is reading again'), 'the keeper to say so');
        for (const [p, code] of [[closed, 10], [inherited, 8]]) assert.equal((await d.exitOf(p.id)).exit_code, code, 'while nobody is killed');
        assert.equal((await d.output(closed.id)).toString(), 'last\n');
        await killKeeper(d);
        assert.equal((await d.output(late.id)).toString(), 'late\n');
        for (const [p, code] of [[late, 11], [early, 7]]) {
            await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x\n' } });
            assert.equal((await d.exitOf(p.id)).exit_code, code);
        }
        await d.removeAll();
        await waitUntil(() => d.fdCounts().vault <= 24, 'the vault to hold nothing of them');
    }));
