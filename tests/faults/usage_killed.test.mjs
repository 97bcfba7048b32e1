// SPDX-License-Identifier: Apache-2.0
// What a process used is known however many workers and keepers died before, during and after it.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { burner, checkUsage } from '../lib/burn.mjs';
import { daemonFor } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil } from '../lib/wait.mjs';

const own = async (d, id) => JSON.parse((await d.output(id)).toString());
const go = (d, p) => d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
const metric = async (d) => Number((await d.api('GET', '/metrics')).text.match(/^holdfast_used_user_seconds_total (\S+)$/m)[1]);

/** One process that has ended and one that waits. */
async function two(d) {
    const [ended, waiting] = [await d.spawn(burner(d)), await d.spawn(burner(d, { hold: true }))];
    const { usage } = await d.exitOf(ended.id);
    checkUsage(usage, await own(d, ended.id));
    await d.outputHas(waiting.id, 'written_bytes');
    return { ended, usage, waiting };
}

async function check(d, { ended, usage, waiting }) {
    assert.deepEqual((await d.get(ended.id)).usage, usage, 'nothing of it is lost');
    await go(d, waiting);
    const late = await d.exitOf(waiting.id);
    checkUsage(late.usage, await own(d, waiting.id));
    return late;
}

async function ready(d, worker) {
    await d.nextWorker(worker, 20000);
    d.agent.destroy();
    await waitUntil(async () => (await d.request('GET', '/healthz', { agent: false }).catch(() => null))?.status === 200, 'an answer', 20000, 5);
}

test('workers that die', () =>
    daemonFor({}, async (d) => {
        const both = await two(d);
        const seconds = await metric(d);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await ready(d, worker);
        assert.equal(await metric(d), seconds, 'the sums outlive the worker');
        await check(d, both);
    }));

test('an exit that no worker was there to hear', () =>
    daemonFor({}, async (d) => {
        const p = await d.spawn(burner(d, { hold: true }));
        await d.outputHas(p.id, 'written_bytes');
        const worker = d.workerPid();
        process.kill(worker, 'SIGSTOP');
        process.kill(p.pid, 'SIGTERM');
        await waitUntil(() => !proc.isAlive(p.pid), 'its end');
        process.kill(worker, 'SIGKILL');
        await ready(d, worker);
        const { exit, usage } = await d.exitOf(p.id);
        assert.equal(exit.signal, 'SIGTERM');
        checkUsage(usage, await own(d, p.id));
    }));

test('a keeper that dies: the vault reaps what it left', () =>
    daemonFor({}, async (d) => {
        const both = await two(d);
        const [keeper, worker] = [d.keeperPid(), d.workerPid()];
        process.kill(keeper, 'SIGKILL');
        await waitUntil(() => d.keeperPid() && d.keeperPid() !== keeper, 'the next keeper', 20000, 5);
        await ready(d, worker);
        const late = await check(d, both);
        const [next, old] = [d.keeperPid(), d.workerPid()];
        process.kill(next, 'SIGKILL');
        await waitUntil(() => d.keeperPid() && d.keeperPid() !== next, 'the next keeper', 20000, 5);
        await ready(d, old);
        assert.deepEqual((await d.get(late.id)).usage, late.usage, 'the ledger has it');
    }));

test('an upgrade', () =>
    daemonFor({}, async (d) => {
        const both = await two(d);
        const worker = d.workerPid();
        process.kill(d.pid, 'SIGHUP');
        await ready(d, worker);
        await check(d, both);
    }));
