// SPDX-License-Identifier: Apache-2.0
// DELETE while the worker goes: the connection was cut without an answer, and the record stayed for
// as long as one that has exited by itself.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { settle } from '../../lib/held.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('delete under way', {}, (d) => {
    const sleepers = (marker) => proc.pids().filter((pid) => proc.cmdline(pid).join(' ') === `sleep ${marker}`);

    /** Three whose end takes its time: with pipes, with a terminal, and one that has left only a child. */
    const stubborn = async (marker) => {
        const line = `trap '' TERM HUP; sleep ${marker} & echo ready; while :; do sleep 0.05; done`;
        const all = [
            await d.sh(line, { grace_ms: 300 }),
            await d.sh(line, { grace_ms: 300, pty: true }),
            await d.sh(`(trap '' TERM; exec sleep ${marker}) >/dev/null 2>&1 & echo ready`, { grace_ms: 300 }),
        ];
        for (const p of all) await d.outputHas(p.id, 'ready');
        await d.exitOf(all[2].id);
        await waitUntil(() => sleepers(marker).length === 3, 'their children');
        return all;
    };
    const paths = (all) => all.map((p) => `/v1/processes/${p.id}?grace_ms=60000`);
    const areGone = async (all, marker) => {
        for (const p of all) await waitUntil(async () => (await d.request('GET', `/v1/processes/${p.id}`)).status === 404, `${p.id} to be dropped`);
        assert.deepEqual(sleepers(marker), [], 'and not before its children are gone');
    };

    it('replaced: who waits is told, the end goes on, and the records go', async () => {
        const all = await stubborn(7878781);
        const s = (await d.api('POST', '/v1/sessions', { json: {}, expect: 201 })).json;
        const run = d.request('POST', `/v1/sessions/${s.id}/run`, { json: { command: `trap '' TERM; sleep 7878782` }, agent: false });
        await waitUntil(() => sleepers(7878782).length === 1, 'its command');
        const old = d.workerPid();
        const answers = [...paths(all), `/v1/sessions/${s.id}?grace_ms=60000`].map((path) => d.refused('shutting_down', 'DELETE', path, { agent: false }));
        await settle(d);
        process.kill(d.keeperPid(), 'SIGHUP');
        await Promise.all(answers);
        await run;
        await d.nextWorker(old);
        await areGone(all, 7878781);
        await d.refused('no_such_session', 'GET', `/v1/sessions/${s.id}`);
        await waitUntil(async () => (await d.list('?status=running')).length === 0, 'the shell to end');
        assert.deepEqual(sleepers(7878782), []);
    });

    it('killed: the next worker does what was asked for', async () => {
        const all = await stubborn(7878783);
        const old = d.workerPid();
        const answers = paths(all).map((path) => d.request('DELETE', path, { agent: false }));
        const cut = Promise.all(answers.map((a) => assert.rejects(a)));
        await settle(d);
        process.kill(old, 'SIGKILL');
        await cut;
        await d.nextWorker(old);
        await areGone(all, 7878783);
    });
});
