// SPDX-License-Identifier: Apache-2.0
// Exited records: kept for a time and up to a number, then gone with all they held.

import assert from 'node:assert/strict';
import { test } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { daemonFor } from '../../lib/daemon.mjs';
import { waitUntil } from '../../lib/wait.mjs';

test('by number: the oldest go first, the living never', () =>
    daemonFor({ args: ['--retain-count', '5'] }, async (d) => {
        const alive = await d.sh('sleep 300', { tag: 'alive' });
        const done = [];
        for (let i = 0; i < 12; i++) {
            const p = await d.sh('exit 0');
            await d.exitOf(p.id);
            done.push(p.id);
        }
        await waitUntil(async () => (await d.list('?status=exited')).length === 5, 'five records');
        assert.deepEqual(
            (await d.list('?status=exited')).map((p) => p.id),
            done.slice(-5).reverse(),
        );
        assert.equal((await d.get(alive.id)).status, 'running');
    }));

test('by age', () =>
    daemonFor({ args: ['--retain-ms', '2000'] }, async (d) => {
        const p = await d.sh('exit 0');
        const kept = await d.sh('exit 0', { retain_ms: 60000 });
        await d.exitOf(p.id);
        await d.exitOf(kept.id);
        await waitUntil(
            async () => (await d.request('GET', `/v1/processes/${p.id}`)).status === 404,
            'the record to go',
        );
        assert.equal((await d.get(kept.id)).status, 'exited', 'its own retain_ms is longer');
    }));

test('retain_ms 0 goes at once, but not before the viewers and waiters have been told', () =>
    daemonFor({}, async (d) => {
        const p = await d.sh('read x; echo last words; exit 7', { stdin: 'pipe', retain_ms: 0 });
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        const w = d.api('GET', `/v1/processes/${p.id}/wait`, { expect: 200 });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        assert.equal((await v.finish()).exit_code, 7);
        assert.ok(v.output.includes('last words'));
        assert.equal((await w).json.exit_code, 7);
        await waitUntil(
            async () => (await d.request('GET', `/v1/processes/${p.id}`)).status === 404,
            'the record to go',
        );
    }));

test('many short ones leave no memory or descriptors behind', () =>
    daemonFor({ args: ['--retain-count', '3'] }, async (d) => {
        for (let i = 0; i < 60; i++) await d.exitOf((await d.sh('echo x')).id);
        assert.ok((await d.list()).length <= 3);
    }));
