// SPDX-License-Identifier: Apache-2.0
// A sandbox of 64 MiB with 20 processes: all floods together with them, and nothing of it ends.

import assert from 'node:assert/strict';
import * as attacks from '../lib/attacks.mjs';
import { MemoryCgroup } from '../lib/cgroup.mjs';
import { NO_PLAIN, Siege } from '../lib/siege.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const cgroup = NO_PLAIN || MemoryCgroup.make(64 << 20);
const skip = typeof cgroup === 'string' ? cgroup : false;

describe('64 MiB for a daemon and 20 processes', { skip }, () => {
    let siege;
    const start = async () => (siege = await Siege.start({ processes: 20, pace: 0.5, historyMiB: 4, daemon: { before: cgroup.command } }));
    before(start);
    after(async () => {
        await siege.stop();
        await waitUntil(() => cgroup.remove() ?? true, 'the cgroup to be empty', 10000, 50);
    });

    for (const protocol of ['http1', 'http2', 'websocket', 'spdy', 'watch'])
        for (const [name, attack] of Object.entries(attacks[protocol]))
            it(`survives ${protocol}: ${name}`, async () => {
                const kills = cgroup.kills();
                try {
                    await siege.survive(name, attack);
                    assert.equal(cgroup.kills(), kills, 'the kernel killed something for want of memory');
                } catch (err) {
                    await siege.stop().catch(() => {});
                    await start(); // the next attack is not to be blamed for what this one has left
                    throw err;
                }
            });
});
