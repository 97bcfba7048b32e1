// SPDX-License-Identifier: Apache-2.0
// The loop over a connection's events: it may be left and entered again at any event.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { CuttableWebSocket, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const SIZE = 3_000_000; // more than the daemon sends without an acknowledgement
const reconnect = { baseMs: 5, maxMs: 50 };

withDaemon('the loop over events', {}, (d) => {
    /** The next `count` events, or those up to an offset, in a loop of their own that is left with the last. */
    async function take(connection, count, until = Infinity) {
        const events = [];
        for await (const event of connection.events()) {
            events.push(event);
            if (events.length === count || event.offset + event.data?.length === until) break;
        }
        return events;
    }

    const bytesOf = (events) => events.reduce((sum, e) => sum + (e.type === 'output' ? e.data.length : 0), 0);

    it('takes one event per loop to the end', async () => {
        const p = await sandboxOf(d).processes.start({ command: `head -c ${SIZE} /dev/zero`, shell: true, holdMs: 10_000 });
        const c = await p.attach();
        let got = 0;
        for (;;) {
            const [event] = await within(take(c, 1), 10_000, `an event behind ${got} bytes`);
            got += bytesOf([event]);
            if (event.type === 'exit') break;
        }
        assert.equal(got, SIZE);
    });

    it('ends every loop there is when the connection is closed, or the process has ended', async () => {
        const loops = (c) => [0, 1, 2].map(() => take(c, Infinity));
        const p = await sandboxOf(d).processes.start({ command: 'cat', stdin: 'pipe' });
        const closed = await p.attach();
        const waiting = loops(closed);
        await closed.close();
        await within(Promise.all(waiting), 5000, 'all loops to end after close()');
        const ended = await p.attach();
        const reading = loops(ended);
        await ended.write('x');
        await ended.eof();
        const events = (await within(Promise.all(reading), 5000, 'all loops to end with the process')).flat();
        assert.equal(bytesOf(events), 1);
        assert.equal(events.filter((e) => e.type === 'exit').length, 1);
    });

    it('comes back after a cut, however often the loop was left', async () => {
        const command = `head -c ${4 * SIZE} /dev/zero; read line; echo "$line"`;
        const p = await sandboxOf(d, { WebSocket: CuttableWebSocket }).processes.start({ command, shell: true, stdin: 'pipe', holdMs: 10_000 });
        const states = [];
        const c = await p.attach({ reconnect, onStateChange: (state) => states.push(state) });
        for (let got = 0; got < 4 * SIZE; ) got += bytesOf(await within(take(c, 2, 4 * SIZE), 10_000, `events behind ${got} bytes`));
        CuttableWebSocket.cutAll();
        await waitUntil(() => states.includes('reconnecting') && c.state === 'connected', 'the connection to be back');
        await c.write('back\n');
        const rest = await take(c, Infinity);
        assert.equal(bytesOf(rest), 5);
        assert.equal(rest.at(-1).type, 'exit');
    });
});
