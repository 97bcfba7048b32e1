// SPDX-License-Identifier: Apache-2.0
// POST …/signal: names, numbers, targets.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('signal', {}, (d) => {
    const signal = (id, json, expect = 200) => d.api('POST', `/v1/processes/${id}/signal`, { json, expect });

    it('by any name or number', async () => {
        for (const [s, name, code] of [
            ['SIGINT', 'SIGINT', 130],
            ['INT', 'SIGINT', 130],
            [2, 'SIGINT', 130],
            ['sigterm', 'SIGTERM', 143],
            ['KILL', 'SIGKILL', 137],
            [9, 'SIGKILL', 137],
            ['SIGUSR1', 'SIGUSR1', 138],
        ]) {
            const p = await d.spawn({ command: 'sleep', args: ['300'] });
            await signal(p.id, { signal: s });
            const e = await d.exitOf(p.id);
            assert.equal(e.exit_code, code);
            assert.equal(e.exit.signal, name);
            assert.equal(
                e.exit.kind,
                'signaled',
                'a plain signal is not "killed": nobody asked for the end of the process',
            );
        }
    });

    it('the group by default', async () => {
        const p = await d.sh('sleep 301 & sleep 302 & echo ready; wait');
        await d.outputHas(p.id, 'ready');
        const jobs = proc.childrenOf(p.pid).map((s) => s.pid);
        assert.equal(jobs.length, 2);
        await signal(p.id, { signal: 'TERM' });
        await d.exitOf(p.id);
        await waitUntil(() => jobs.every((j) => !proc.isAlive(j)), 'the jobs to end');
    });

    it('the leader alone when asked', async () => {
        const p = await d.sh(
            'trap "echo got it" USR1; (trap "echo wrong" USR1; while :; do sleep 0.1; done) & echo ready; while :; do sleep 0.1; done',
        );
        await d.outputHas(p.id, 'ready');
        await signal(p.id, { signal: 'USR1', target: 'leader' });
        const out = await d.outputHas(p.id, 'got it');
        assert.ok(!out.includes('wrong'));
        await d.remove(p.id);
    });

    it('the foreground program of a terminal', async () => {
        const p = await d.spawn({ command: 'bash', args: ['--norc', '-i'], pty: true, env: { PS1: 'PROMPT> ' } });
        await d.outputHas(p.id, 'PROMPT> ');
        await d.api('POST', `/v1/processes/${p.id}/input`, {
            json: { data: 'sleep 333; echo status $?\n' },
            expect: 200,
        });
        await waitUntil(() => proc.childrenOf(p.pid).some((s) => s.name === 'sleep'), 'sleep');
        await waitUntil(async () => (await d.get(p.id)).foreground === 'sleep', 'the foreground');
        await signal(p.id, { signal: 'TERM', target: 'foreground' });
        await d.outputHas(p.id, 'status 143');
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('the whole tree, also those in sessions of their own', async () => {
        const p = await d.sh('setsid sleep 304 & sleep 305 & echo ready; wait');
        await d.outputHas(p.id, 'ready');
        await waitUntil(
            () => proc.descendantsOf(d.pid).filter((s) => /^30[45]$/.test(proc.cmdline(s.pid)[1] ?? '')).length === 2,
            'both',
        );
        const all = proc
            .descendantsOf(d.pid)
            .filter((s) => /^30[45]$/.test(proc.cmdline(s.pid)[1] ?? ''))
            .map((s) => s.pid);
        await signal(p.id, { signal: 'KILL', target: 'tree' });
        await waitUntil(() => all.every((x) => !proc.isAlive(x)), 'all to be gone');
        await d.exitOf(p.id);
    });

    it('a stopped process can be stopped and continued', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['300'] });
        await signal(p.id, { signal: 'STOP' });
        await waitUntil(() => proc.stat(p.pid).state === 'T', 'stopped');
        await signal(p.id, { signal: 'CONT' });
        await waitUntil(() => proc.stat(p.pid).state === 'S', 'going on');
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('unknown signals and targets', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['300'] });
        for (const s of ['SIGNOPE', '', 'SIG', 0, -1, 65, 1000, '999', 'RTMIN+99']) {
            const a = await d.refused('bad_signal', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: s } });
            assert.ok(a.detail.length > 5);
        }
        for (const s of [null, [], {}, 1.5, true])
            await d.refused('bad_type', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: s } });
        await d.refused('bad_value', 'POST', `/v1/processes/${p.id}/signal`, {
            json: { signal: 'INT', target: 'everyone' },
        });
        await d.refused('missing_field', 'POST', `/v1/processes/${p.id}/signal`, { json: {} });
        await d.refused('unknown_field', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'INT', pid: 1 } });
        await d.refused('no_such_process', 'POST', '/v1/processes/proc_none/signal', { json: { signal: 'INT' } });
        assert.ok(proc.isAlive(p.pid));
        await d.remove(p.id);
    });

    it('the dead get no signal', async () => {
        const p = await d.sh('exit 0');
        await d.exitOf(p.id);
        await d.refused('not_running', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'INT' } });
    });

    it('foreground of a process without a terminal', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['300'] });
        await d.refused('not_a_terminal', 'POST', `/v1/processes/${p.id}/signal`, {
            json: { signal: 'INT', target: 'foreground' },
        });
        await d.remove(p.id);
    });
});
