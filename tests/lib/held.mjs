// SPDX-License-Identifier: Apache-2.0
//
// held.mjs - calls that wait for the keeper, for as long as a test likes
//
// A stopped keeper starts, signals and ends nothing, so whatever needs it is under way
// exactly as long as `body` runs. Then everything goes on.

import assert from 'node:assert/strict';
import { RawConn, requestBytes } from './raw.mjs';

export async function whileHeld(d, body) {
    process.kill(d.keeperPid(), 'SIGSTOP');
    try {
        return await body();
    } finally {
        process.kill(d.keeperPid(), 'SIGCONT');
    }
}

/** What was sent before has been read when this has been answered. */
export async function settle(d) {
    for (let i = 0; i < 3; i++) assert.equal((await d.request('GET', '/healthz', { agent: false })).status, 200);
}

/** Asks all of it, [line, options] each on a connection of its own, and breaks them before the answers. */
export async function askAndVanish(d, calls) {
    await whileHeld(d, async () => {
        const all = [];
        for (const [line, options] of calls) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, line, options));
            all.push(c);
        }
        await settle(d);
        all.forEach((c, i) => assert.equal(c.held.length, 0, `${calls[i][0]} was answered: ${c.held}`));
        all.forEach((c) => c.reset());
        await settle(d);
    });
    await settle(d);
}
