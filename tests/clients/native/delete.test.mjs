// SPDX-License-Identifier: Apache-2.0
// DELETE: the end of a process and of everything it started.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { waitUntil } from '../../lib/wait.mjs';

/* Trees are found by their cgroup where we may make one, and by other means elsewhere. */
for (const [how, env] of [
    ['with cgroups', {}],
    ['without cgroups', { HOLDFAST_NO_CGROUP: '1' }],
])
    withDaemon(`delete ${how}`, { env }, (d) => {
        it('ends a process, tells how, and forgets it', async () => {
            const p = await d.sh('sleep 300');
            const r = await d.remove(p.id, '');
            assert.equal(r.exit.kind, 'killed');
            assert.equal(r.exit.signal, 'SIGTERM');
            assert.equal(r.exit.by, 'api');
            assert.deepEqual(r.survivors, []);
            assert.ok(!proc.isAlive(p.pid));
            await d.refused('no_such_process', 'GET', `/v1/processes/${p.id}`);
            await d.refused('no_such_process', 'DELETE', `/v1/processes/${p.id}`);
        });

        it('an exited one is only forgotten, with its exit', async () => {
            const p = await d.sh('exit 12');
            await d.exitOf(p.id);
            const r = await d.remove(p.id);
            assert.deepEqual([r.exit.kind, r.exit.code], ['exited', 12]);
            await d.refused('no_such_process', 'GET', `/v1/processes/${p.id}`);
        });

        it('SIGTERM first: a process may clean up', async () => {
            const p = await d.sh('trap "echo cleaning; exit 5" TERM; echo ready; while :; do sleep 0.05; done');
            await d.outputHas(p.id, 'ready');
            const r = await d.remove(p.id, '');
            assert.equal(r.exit.code, 5);
        });

        it('SIGKILL after grace_ms', async () => {
            const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 0.05; done`);
            await d.outputHas(p.id, 'ready');
            const start = Date.now();
            const r = await d.remove(p.id, '?grace_ms=300');
            assert.equal(r.exit.signal, 'SIGKILL');
            const ms = Date.now() - start;
            assert.ok(ms >= 250 && ms < 5000, `${ms} ms`);
        });

        it('a bad grace_ms ends nothing', async () => {
            const p = await d.sh('sleep 300');
            for (const q of ['?grace_ms=-1', '?grace_ms=x', '?grace_ms=1.5', '?force=1'])
                await d.refused('bad_query', 'DELETE', `/v1/processes/${p.id}${q}`);
            assert.ok(proc.isAlive(p.pid));
            await d.remove(p.id);
        });

        it('a stopped process is ended too', async () => {
            const p = await d.sh('echo $$; kill -STOP $$; sleep 300');
            await waitUntil(() => proc.stat(p.pid)?.state === 'T', 'stopped');
            const r = await d.remove(p.id, '?grace_ms=500');
            assert.ok(['SIGTERM', 'SIGKILL'].includes(r.exit.signal));
            assert.ok(!proc.isAlive(p.pid));
        });

        it('two deletes at once are both answered', async () => {
            const p = await d.sh(`trap '' TERM; echo ready; while :; do sleep 0.05; done`);
            await d.outputHas(p.id, 'ready');
            const [a, b] = await Promise.all([
                d.api('DELETE', `/v1/processes/${p.id}?grace_ms=200`),
                d.api('DELETE', `/v1/processes/${p.id}?grace_ms=200`),
            ]);
            assert.deepEqual(
                [a.status, b.status].filter((s) => s !== 404),
                [a.status, b.status].filter((s) => s === 200),
            );
            assert.ok(a.status === 200 || b.status === 200);
        });

        const line = (marker) => `
        sleep ${marker}1 &
        nohup sleep ${marker}2 >/dev/null 2>&1 &
        setsid sleep ${marker}3 &
        ( setsid sh -c '( sleep ${marker}4 & ) ; sleep ${marker}5 & ' & )
        ( ( sleep ${marker}6 & ) & )
        setsid setsid sh -c 'trap "" TERM HUP INT; sleep ${marker}7; true' &
        env -i sleep ${marker}8 &
        echo ready; wait; sleep ${marker}9`;
        const sleepers = (marker) =>
            proc
                .pids()
                .filter(
                    (p) =>
                        proc.isAlive(p) &&
                        proc.cmdline(p)[0] === 'sleep' &&
                        (proc.cmdline(p)[1] ?? '').startsWith(String(marker)),
                );

        for (const [pty, marker] of [
            [true, 70707],
            [undefined, 71717],
        ]) {
            it(`nothing is left of a shell with jobs, sessions and double forks (${pty ? 'terminal' : 'pipes'})`, async () => {
                const p = await d.spawn({ command: 'bash', args: ['-c', line(marker)], pty });
                await waitUntil(() => sleepers(marker).length >= 8, 'all of them');
                const all = sleepers(marker);
                const r = await d.remove(p.id, '?grace_ms=500');
                assert.deepEqual(r.survivors, []);
                assert.deepEqual(sleepers(marker), []);
                for (const pid of all) assert.ok(!proc.isAlive(pid));
            });
        }

        it('an interactive shell with job control leaves nothing either', async () => {
            const marker = 72727;
            const p = await d.spawn({ command: 'bash', args: ['--norc', '-i'], pty: true, env: { PS1: 'P> ' } });
            await d.outputHas(p.id, 'P> ');
            const type = (data) => d.api('POST', `/v1/processes/${p.id}/input`, { json: { data }, expect: 200 });
            await type(
                `sleep ${marker}1 & sleep ${marker}2 & setsid sleep ${marker}3 & disown -a; nohup sleep ${marker}4 &\n`,
            );
            await waitUntil(() => sleepers(marker).length === 4, 'the jobs');
            const r = await d.remove(p.id, '?grace_ms=300');
            assert.deepEqual(r.survivors, []);
            assert.deepEqual(sleepers(marker), []);
        });

        it('children of a process that has exited already go with its record', async () => {
            const marker = 73737;
            const p = await d.sh(`setsid sleep ${marker}1 >/dev/null 2>&1 & sleep ${marker}2 >/dev/null 2>&1 & exit 0`);
            await d.exitOf(p.id);
            await waitUntil(() => sleepers(marker).length === 2, 'both to be what they are called');
            await d.remove(p.id, '?grace_ms=300');
            assert.deepEqual(sleepers(marker), []);
        });

        it('one tree alone: its neighbours live', async () => {
            const a = await d.sh('sleep 7474741 & sleep 7474742');
            const b = await d.sh('sleep 7474743 & sleep 7474744');
            await waitUntil(() => sleepers(747474).length === 4, 'four');
            await d.remove(a.id);
            assert.equal(sleepers(747474).length, 2);
            assert.equal((await d.get(b.id)).status, 'running');
            await d.remove(b.id);
            assert.equal(sleepers(747474).length, 0);
        });

        it('a fork bomb of sleepers is ended', async () => {
            const p = await d.sh(
                'i=0; while [ $i -lt 200 ]; do (setsid sleep 757575 &) ; i=$((i+1)); done; echo all; sleep 757575',
            );
            await d.outputHas(p.id, 'all', 30000);
            await waitUntil(() => sleepers(757575).length >= 200, '200');
            const r = await d.remove(p.id, '?grace_ms=200');
            assert.deepEqual(r.survivors, []);
            assert.deepEqual(sleepers(757575), []);
        });
    });
