// SPDX-License-Identifier: Apache-2.0
// Floods without a token and with the role watch: health probes answer, memory is bounded, no process ends, no byte is lost.

import * as attacks from '../lib/attacks.mjs';
import { NO_PLAIN, Siege } from '../lib/siege.mjs';
import { after, before, describe, it } from '../lib/test.mjs';

const WHO = {
    http1: 'without a token',
    http2: 'without a token',
    websocket: 'with the role watch',
    spdy: 'with the role watch',
    watch: 'with the role watch',
};

for (const [protocol, who] of Object.entries(WHO))
    describe(`${protocol}, ${who}`, { skip: NO_PLAIN }, () => {
        let siege;
        before(async () => (siege = await Siege.start()));
        after(() => siege.stop());
        for (const [name, attack] of Object.entries(attacks[protocol]))
            it(name, async () => {
                try {
                    await siege.under(name, attack);
                } catch (err) {
                    // The next attack is not to be blamed for what this one has left.
                    await siege.stop().catch(() => {});
                    siege = await Siege.start();
                    throw err;
                }
            });
    });
