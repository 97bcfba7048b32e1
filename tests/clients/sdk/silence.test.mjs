// SPDX-License-Identifier: Apache-2.0
// Lines that die without a word: no byte comes and no close, and still the connection comes back.

import assert from 'node:assert/strict';
import net from 'node:net';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { collect, readUntil, sandboxOf } from '../../lib/sdk.mjs';
import { holdsFor, within } from '../../lib/wait.mjs';

const silenceMs = 900;
const reconnect = { baseMs: 5, maxMs: 50 };

/** A way to the daemon whose lines can be made to swallow everything, as a middlebox does that has forgotten them. */
async function swallowing(port, use) {
    const lines = new Set();
    const server = net.createServer((near) => {
        const far = net.connect(port, '127.0.0.1');
        const line = { near, far, dead: false };
        lines.add(line);
        near.on('data', (bytes) => line.dead || far.write(bytes)).on('error', () => undefined);
        far.on('data', (bytes) => line.dead || near.write(bytes)).on('error', () => undefined);
        near.on('close', () => line.dead || far.destroy());
        far.on('close', () => line.dead || near.destroy());
    });
    await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
    try {
        await use(`http://127.0.0.1:${server.address().port}`, () => lines.forEach((line) => (line.dead = true)));
    } finally {
        lines.forEach(({ near, far }) => (near.destroy(), far.destroy()));
        server.close();
    }
}

withDaemon('the SDK on silent lines', {}, (d) => {
    const port = () => Number(new URL(d.url).port);

    it('a line that died without a word is noticed, and the connection goes on at its byte', async () => {
        const p = await sandboxOf(d).processes.start({ command: 'while read line; do echo "$line"; done', shell: true, stdin: 'pipe' });
        await swallowing(port(), async (url, swallow) => {
            const states = [];
            const c = await (await sandboxOf({ url, tokens: d.tokens }).processes.get(p.id)).attach({
                reconnect,
                silenceMs,
                onStateChange: (state, { error }) => states.push([state, error?.message]),
            });
            await c.write('before\n');
            await readUntil(c, 'before\n');
            swallow();
            await p.input('meanwhile\n');
            await c.write('after\n'); // what was typed is no reason to wait for longer
            assert.match(await within(readUntil(c, 'after\n'), 20_000, 'the line to be noticed'), /^meanwhile\nafter\n$/);
            assert.ok(states.some(([state, why]) => state === 'reconnecting' && /nothing was received/.test(why)), JSON.stringify(states));
            await c.eof();
            const { seen } = await collect(c);
            assert.deepEqual(seen.map((e) => e.type).filter((type) => type !== 'viewers'), ['exit']);
        });
    });

    it('a line on which nothing happens is not taken for dead, and its watch is not seen', async () => {
        const t = await sandboxOf(d).terminal.create({ command: 'sleep', args: ['60'] });
        const states = [];
        const c = await t.attach({ silenceMs, onStateChange: (state) => states.push(state) });
        const seen = [];
        const reading = (async () => {
            for await (const e of c.events()) seen.push(e.type);
        })();
        await holdsFor(3000, () => !states.includes('reconnecting'), 'the connection');
        assert.ok(!seen.includes('refused'), String(seen));
        await c.close();
        await reading;
        await t.kill();
    });

    it('a process that does not read is not taken for a dead line', async () => {
        const p = await sandboxOf(d).processes.start({ command: 'sleep', args: ['60'], stdin: 'pipe' });
        const states = [];
        const c = await p.attach({ silenceMs, onStateChange: (state) => states.push(state) });
        await c.write(new Uint8Array(500_000));
        await holdsFor(3000, () => !states.includes('reconnecting'), 'the connection');
        assert.ok(c.pendingInput > 0);
        await c.close({ flushMs: 0 });
        await p.kill();
    });
});
