// SPDX-License-Identifier: Apache-2.0
// What getMetricsLatest() tells of the sandbox is true of this machine; a history is refused with the reason.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { clientsOf } from './client.mjs';

withDaemon('daytona: metrics', { gateway: false, listen: ['127.0.0.1:0'], args: ['--dialect', 'daytona=127.0.0.1:0'] }, (d) => {
    const client = clientsOf(d);

    it('CPU, memory and disk are those of the machine at this moment', async () => {
        const box = await client.sandbox();
        await box.getMetricsLatest();
        await box.process.executeCommand('i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done');
        const before = Date.now();
        const m = await box.getMetricsLatest();
        assert.ok(m.timestamp.getTime() >= before - 1 && m.timestamp.getTime() <= Date.now() + 1);
        assert.ok(m.cpuUsedPct > 0 && m.cpuUsedPct <= 100, `${m.cpuUsedPct}`);
        assert.equal(m.cpuCount, os.availableParallelism());
        assert.equal(m.memTotal, os.totalmem());
        assert.ok(m.memUsed > 0 && m.memUsed < m.memTotal && m.memCache > 0 && m.memCache < m.memTotal);
        const disk = fs.statfsSync('/');
        assert.equal(m.diskTotal, disk.blocks * disk.bsize);
        assert.ok(m.diskUsed > 0 && m.diskUsed <= m.diskTotal);
    });

    it('there is no history', async () => {
        const box = await client.sandbox();
        await assert.rejects(box.getMetrics(), /no history.*getMetricsLatest/);
        const { status, json } = await d.request('GET', '/dialects/daytona/api/sandbox/local/telemetry/metrics');
        assert.deepEqual([status, /no history/.test(json.message)], [501, true]);
    });
});
