// SPDX-License-Identifier: Apache-2.0
// sandbox-agent's clients while the daemon is replaced.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { clientOf, sh, text } from './client.mjs';

withDaemon('sandbox-agent: going', {}, (d) => {
    const client = clientOf(d);

    /* It ended as it does with the process, so clients took for over what ran on. */
    it('follow: a daemon that is replaced breaks it off, and it can be taken up again', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo 1; read x; echo 2; exit 3'));
        const first = await c.followProcessLogs(p.id, () => {});
        const closed = first.closed.then(() => 'the end', (err) => err);
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'the follower');
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        assert.ok((await within(closed, 10000, 'the break')) instanceof Error);
        await d.nextWorker(old);
        assert.equal((await c.getProcess(p.id)).status, 'running');
        const seen = [];
        const again = await c.followProcessLogs(p.id, (e) => seen.push(text(e)), { since: 1 });
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await again.closed;
        assert.deepEqual(seen, ['2\n']);
        await c.deleteProcess(p.id);
    });
});
