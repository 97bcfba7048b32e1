// SPDX-License-Identifier: Apache-2.0
// What the SDK's getMetrics() tells of the sandbox is true of this machine.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { AuthenticationError, Sandbox, SandboxNotFoundError } from 'e2b';
import { withDaemon } from '../../lib/daemon.mjs';
import { create, options, throwsA } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('e2b: metrics', { env: { E2B_SANDBOX_ID: 'box1' } }, (d) => {
    it('CPU, memory and disk are those of the machine at this moment', async () => {
        const s = await create(d);
        await s.getMetrics();
        await s.commands.run('i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done');
        const before = Date.now();
        const [m, ...more] = await s.getMetrics();
        assert.deepEqual(more, [], 'there is no history');
        assert.ok(m.timestamp.getTime() >= before - 1 && m.timestamp.getTime() <= Date.now() + 1);
        assert.ok(m.cpuUsedPct > 0 && m.cpuUsedPct <= 100, `${m.cpuUsedPct}`);
        assert.equal(m.cpuCount, os.availableParallelism());
        assert.equal(m.memTotal, os.totalmem());
        assert.ok(m.memUsed > 0 && m.memUsed < m.memTotal && m.memCache > 0 && m.memCache < m.memTotal);
        const disk = fs.statfsSync('/');
        assert.equal(m.diskTotal, disk.blocks * disk.bsize);
        assert.ok(m.diskUsed > 0 && m.diskUsed <= m.diskTotal);
    });

    it('a period has the present sample, or none', async () => {
        const at = (seconds) => new Date(Date.now() + seconds * 1000);
        const count = async (more) => (await Sandbox.getMetrics('box1', { ...options(d), ...more })).length;
        assert.equal(await count({ start: at(-60), end: at(60) }), 1);
        assert.equal(await count({ end: at(-60) }), 0);
        assert.equal(await count({ start: at(60) }), 0);
        const odd = await d.request('GET', '/dialects/e2b/sandboxes/box1/metrics?start=today');
        assert.deepEqual([odd.status, odd.json.code], [400, 400]);
    });

    it('another sandbox has none, and neither has a wrong key', async () => {
        await throwsA(Sandbox.getMetrics('box2', options(d)), SandboxNotFoundError, /box2/);
        await throwsA(Sandbox.getMetrics('box1', options(d, { apiKey: 'wrong-wrong-wrong-wrong' })), AuthenticationError, /X-API-KEY/);
    });
});
