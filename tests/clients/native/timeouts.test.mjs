// SPDX-License-Identifier: Apache-2.0
// Time-outs of processes: by the clock, by silence, by nobody watching.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

withDaemon('time-outs', {}, (d) => {
    const running = async (id) => (await d.get(id)).status === 'running';

    it('timeout_ms ends the tree and says so', async () => {
        const start = Date.now();
        const p = await d.sh('echo working; sleep 7676761 & sleep 7676762', { timeout_ms: 400 });
        const e = await d.exitOf(p.id);
        assert.ok(Date.now() - start >= 380, 'too early');
        assert.equal(e.exit.kind, 'timed_out');
        assert.equal(e.exit.by, 'timeout');
        assert.equal(e.exit.signal, 'SIGTERM');
        assert.equal(e.exit_code, 143);
        assert.equal((await d.output(p.id)).toString(), 'working\n');
        await waitUntil(
            () => !proc.pids().some((x) => /^767676/.test(proc.cmdline(x)[1] ?? '')),
            'the tree to be gone',
        );
    });

    it('grace_ms, then SIGKILL', async () => {
        const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 0.05; done`, {
            timeout_ms: 2000, // enough to set the trap, even on a busy machine
            grace_ms: 300,
        });
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.kind, 'timed_out');
        assert.equal(e.exit.signal, 'SIGKILL');
    });

    it('a process that ends in time is not marked', async () => {
        const p = await d.sh('exit 3', { timeout_ms: 60000 });
        assert.deepEqual(await d.exitOf(p.id).then((e) => [e.exit.kind, e.exit_code]), ['exited', 3]);
    });

    it('a process that ends itself on the signal of the time-out keeps its own code', async () => {
        const p = await d.sh('trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done', { timeout_ms: 2000 });
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.kind, 'timed_out');
        assert.equal(e.exit.code, 9);
    });

    it('idle_timeout_ms counts silence, and output or input starts it again', async () => {
        // Each silence is a fifth of the limit, so that a busy machine does not stretch it to the whole.
        const p = await d.sh('for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.4; done; sleep 300', {
            idle_timeout_ms: 2000,
        });
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.kind, 'timed_out');
        assert.equal(e.exit.by, 'idle_timeout');
        assert.ok((await d.output(p.id)).includes('8'), 'it was ended while it spoke');
        const q = await d.sh('cat >/dev/null', { stdin: 'pipe', idle_timeout_ms: 2000 });
        for (let i = 0; i < 8; i++) {
            await holdsFor(400, () => true, '');
            await d.api('POST', `/v1/processes/${q.id}/input`, { json: { data: 'x' }, expect: 200 });
        }
        assert.ok(await running(q.id));
        assert.equal((await d.exitOf(q.id)).exit.by, 'idle_timeout');
    });

    it('on_detach kill: the last viewer takes it along', async () => {
        const p = await d.sh('sleep 300', { on_detach: 'kill' });
        await holdsFor(100, () => running(p.id), 'it waits for its first viewer');
        const a = await Viewer.attach(d, p.id);
        const b = await Viewer.attach(d, p.id);
        a.cut();
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'one viewer');
        assert.ok(await running(p.id));
        b.cut();
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.kind, 'killed');
        assert.equal(e.exit.by, 'detach');
    });

    it('on_detach kill_after_ms: whoever comes back in time saves it', async () => {
        const p = await d.sh('sleep 300', { on_detach: { kill_after_ms: 1500 } });
        for (let i = 0; i < 3; i++) {
            const v = await Viewer.attach(d, p.id);
            v.cut();
            await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'nobody');
            await holdsFor(600, () => running(p.id), 'still in time');
        }
        const v = await Viewer.attach(d, p.id);
        await holdsFor(1800, () => running(p.id), 'watched, it lives');
        v.cut();
        assert.equal((await d.exitOf(p.id)).exit.by, 'detach');
    });

    it('on_detach keep is the default', async () => {
        const p = await d.sh('sleep 300');
        (await Viewer.attach(d, p.id)).cut();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'nobody');
        await holdsFor(300, () => running(p.id), 'it lives');
        await d.remove(p.id);
    });

    it('time-outs outlive the worker', async () => {
        const start = Date.now();
        const p = await d.sh('sleep 300', { timeout_ms: 1500 });
        const q = await d.sh('sleep 300', { timeout_ms: 60000 });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.kind, 'timed_out');
        assert.ok(Date.now() - start >= 1450);
        assert.ok(await running(q.id));
        await d.remove(q.id);
    });
});
