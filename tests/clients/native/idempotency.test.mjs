// SPDX-License-Identifier: Apache-2.0
// Idempotency-Key: a retry gets the first answer and starts nothing.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';

withDaemon('idempotency', {}, (d) => {
    const create = (key, json) => d.api('POST', '/v1/processes', { json, headers: { 'Idempotency-Key': key } });

    it('the same key and body give the same process', async () => {
        const body = { command: 'sleep', args: ['300'] };
        const first = await create('k1', body);
        assert.equal(first.status, 201);
        for (let i = 0; i < 3; i++) {
            const again = await create('k1', body);
            assert.ok([200, 201].includes(again.status));
            assert.equal(again.json.id, first.json.id);
            assert.equal(again.headers.location, first.headers.location);
            assert.equal(again.headers['idempotent-replay'], 'true');
        }
        assert.equal((await d.list()).length, 1);
        await d.remove(first.json.id);
    });

    it('retries that race start one process', async () => {
        const before = (await d.list()).length;
        const all = await Promise.all(
            Array.from({ length: 20 }, () => create('race', { command: 'sleep', args: ['301'] })),
        );
        assert.equal(new Set(all.map((a) => a.json.id)).size, 1);
        assert.equal((await d.list()).length, before + 1);
        await d.remove(all[0].json.id);
    });

    it('another body is a conflict', async () => {
        const a = await create('k2', { command: 'sleep', args: ['300'] });
        await d.refused('idempotency_conflict', 'POST', '/v1/processes', {
            json: { command: 'sleep', args: ['299'] },
            headers: { 'Idempotency-Key': 'k2' },
        });
        await d.remove(a.json.id);
    });

    it('an answer for a process that has exited since', async () => {
        const a = await create('k3', { command: 'true' });
        await d.exitOf(a.json.id);
        const b = await create('k3', { command: 'true' });
        assert.equal(b.json.id, a.json.id);
        assert.equal(b.json.status, 'exited');
    });

    it('a failed start is not remembered', async () => {
        const a = await create('k4', { command: '/no/such/thing' });
        assert.equal(a.status, 422);
        const b = await create('k4', { command: 'true' });
        assert.equal(b.status, 201);
    });

    it('keys outlive the worker', async () => {
        const a = await create('k5', { command: 'sleep', args: ['300'] });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        const b = await create('k5', { command: 'sleep', args: ['300'] });
        assert.equal(b.json.id, a.json.id);
        await d.remove(a.json.id);
    });
});
