// SPDX-License-Identifier: Apache-2.0
// Many processes that are ended at once: the cost of one does not grow with the number of the others.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { daemonFor } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { canStrace, strace } from '../lib/strace.mjs';
import { inParallel, waitUntil } from '../lib/wait.mjs';

const COUNT = scaled(1000, 200);

async function startAll(d) {
    const ids = [];
    await inParallel(COUNT, 8, async () => ids.push((await d.spawn({ command: 'sleep', args: ['1000'] })).id));
    return ids;
}
const sleepers = (d) => proc.descendantsOf(d.keeperPid()).filter((p) => p.name === 'sleep').length;

test('all deleted at once: fewer than two looks at the process table for each', { skip: !canStrace() && 'no strace here' }, () =>
    daemonFor({ args: ['--max-processes', '2000'] }, async (d) => {
        const ids = await startAll(d);
        assert.equal(sleepers(d), COUNT);
        const trace = await strace([d.keeperPid()], `${d.dir}/trace`, ['-e', 'trace=openat']);
        const gone = [];
        await inParallel(COUNT, 64, async (i) => gone.push(await d.remove(ids[i], '')));
        const looks = (await trace.lines()).filter((l) => l.includes('"/proc", ')).length;
        assert.ok(gone.every((r) => (r.survivors ?? []).length === 0));
        assert.equal(sleepers(d), 0);
        assert.ok(looks > 0 && looks < 2 * COUNT, `${looks} readings of /proc for ${COUNT} processes`);
        report(`${COUNT} processes deleted, /proc read ${looks} times`);
    }),
);

test('a stop with many processes is the worker\'s work, not the keeper\'s last resort', () =>
    daemonFor({ args: ['--max-processes', '2000'] }, async (d) => {
        await startAll(d);
        process.kill(d.keeperPid(), 'SIGTERM');
        await waitUntil(() => d.exited, 'the end of the daemon', 30000);
        assert.deepEqual(d.exited, { code: 0, signal: null });
        assert.doesNotMatch(d.stderr, /terminating all processes|was killed by/);
    }),
);
