// SPDX-License-Identifier: Apache-2.0
// An idle daemon with idle terminals makes no system call.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { daemonFor } from '../lib/daemon.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { canStrace, strace } from '../lib/strace.mjs';
import { inParallel, waitUntil } from '../lib/wait.mjs';

test('no system call in ten seconds', { skip: !canStrace() && 'no strace here' }, () =>
    daemonFor({}, async (d) => {
        const count = scaled(100, 40);
        const seconds = scaled(10, 5);
        const ids = [];
        await inParallel(count, 8, async () => ids.push((await d.sh('echo ready; exec cat', { pty: true })).id));
        await inParallel(count, 8, async (i) => d.outputHas(ids[i], 'ready'));
        d.agent.destroy();
        await waitUntil(() => d.fdCounts().worker < d.baseline.worker + count * 8, 'connections to close');
        const file = `${d.dir}/trace`;
        const watched = [d.pid, d.vaultPid(), d.keeperPid(), d.workerPid()];
        // Being attached to interrupts a sleep once; what counts begins when that is over.
        const trace = await strace(watched, file);
        const from = Date.now() / 1000 + 1;
        await waitUntil(() => Date.now() / 1000 > from + seconds, 'the time to pass', (seconds + 5) * 1000, 200);
        const calls = (await trace.lines())
            .filter((l) => {
                const m = /^\d+\s+(\d+\.\d+) /.exec(l);
                return m && Number(m[1]) > from && Number(m[1]) < from + seconds;
            });
        assert.deepEqual(calls, [], `system calls of keeper ${watched[0]} and worker ${watched[1]}`);
        report(`${count} idle terminals, ${seconds} s, no system call`);
    }),
);
