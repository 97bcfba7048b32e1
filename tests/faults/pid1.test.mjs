// SPDX-License-Identifier: Apache-2.0
// As PID 1 of a PID namespace: orphans are reaped, SIGTERM is the end.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from '../lib/test.mjs';
import { Daemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc'];
const can = () => {
    try {
        execFileSync(UNSHARE[0], [...UNSHARE.slice(1), 'true'], { stdio: 'ignore' });
        return true;
    } catch {
        return false;
    }
};

test('an init that reaps and ends', { skip: !can() && 'no PID namespaces here' }, async () => {
    const d = new Daemon({ before: UNSHARE, fdBaseline: false, env: { ASAN_OPTIONS: 'detect_leaks=0:exitcode=99' } });
    await d.start();
    try {
        const run = async (line) =>
            (await d.api('POST', '/v1/processes/run', { json: { command: line, shell: true }, expect: 200 })).json;
        const init = d.vaultPid(); // all that is left behind becomes a child of PID 1 or of the keeper
        assert.equal((await run('cat /proc/1/comm')).stdout.trim(), 'holdfast-vault');
        assert.equal((await run('readlink /proc/self/ns/pid')).stdout, (await run('readlink /proc/1/ns/pid')).stdout);
        // Orphans of every kind: children of children whose parents are gone.
        await run(
            '(sleep 0.2 &) ; (setsid sh -c "sleep 0.3 & exit 0" &) ; for i in 1 2 3 4 5 6 7 8 9; do ( (sleep 0.1 &) & ); done; exit 0',
        );
        await waitUntil(
            () => proc.descendantsOf(init).filter((s) => s.name === 'sleep').length === 0,
            'the orphans to end',
        );
        await waitUntil(() => proc.childrenOf(init).every((s) => s.state !== 'Z'), 'no zombie', 5000);
        const p = await d.sh('setsid sleep 300 & sleep 300', { pty: true });
        await waitUntil(
            () => proc.descendantsOf(init).filter((s) => s.name === 'sleep').length === 2,
            'the sleepers',
        );
        assert.equal((await d.get(p.id)).status, 'running');
        // A worker's death does not take the namespace with it.
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        assert.equal((await d.get(p.id)).status, 'running');
        const all = proc.descendantsOf(init).map((s) => s.pid);
        process.kill(init, 'SIGTERM');
        const e = await within(d.exit, 10000, 'the end');
        assert.deepEqual(e, { code: 0, signal: null });
        for (const pid of all) assert.ok(!proc.isAlive(pid));
    } finally {
        await d.stop();
    }
});
