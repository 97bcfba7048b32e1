// SPDX-License-Identifier: Apache-2.0
// Listen, with Gitpod's own client: every byte, many listeners, slow ones, the exit behind the last byte.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { holdsFor, waitUntil, within } from '../../lib/wait.mjs';
import { OPTIONS, clientsOf } from './client.mjs';

const RING = 1024 * 1024; // what a process's output is held in, unless told otherwise

withDaemon('gitpod: listen', OPTIONS, (d) => {
    const client = clientsOf(d);
    const sh = (c, line) => c.open({ shell: '/bin/sh', args: ['-c', line] });
    /** A program whose every byte is known, on a terminal that changes none. */
    const known = (c, n, seed) => sh(c, `stty raw -echo; printf R; read go; exec ${emit()} -n ${n} -s ${seed} -c 65536`);

    it('a title and the prompt; a second listener gets the same bytes from the start', async () => {
        const c = client();
        const t = await c.open({ env: { PS1: 'prompt> ' } });
        const a = c.listen(t.alias);
        await a.sees('prompt> ');
        await a.titled('bash');
        await c.write(t.alias, 'echo one; echo two\n');
        await a.sees('two\r\n\x1b[?2004hprompt> ');
        const b = client().listen(t.alias);
        await b.sees('two\r\n\x1b[?2004hprompt> ');
        assert.deepEqual(b.bytes, a.bytes);
        await c.shutdown(t.alias);
    });

    it('exit 3 is the last message behind the last byte, with status 0', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias);
        await c.write(t.alias, 'seq 1 20000; exit 3\n');
        assert.equal((await within(l.end, 20000)).code, 0);
        assert.deepEqual(l.items.at(-1), { exit: 3 });
        assert.ok(l.text.endsWith('\r\n20000\r\nexit\r\n') || l.text.endsWith('\r\n20000\r\n'), l.text.slice(-60));
    });

    it('exit 0 is a message too; a death by signal is 128 and the number', async () => {
        const c = client();
        const zero = c.listen((await sh(c, 'exit 0')).alias);
        assert.equal((await zero.end).code, 0);
        assert.deepEqual(zero.items.at(-1), { exit: 0 });
        const killed = c.listen((await sh(c, 'kill -KILL $$')).alias);
        assert.equal((await killed.end).code, 0);
        assert.deepEqual(killed.items.at(-1), { exit: 137 });
    });

    it('what ended before anybody listened is still there', async () => {
        const c = client();
        const t = await sh(c, 'echo quick; exit 5');
        await waitUntil(async () => (await c.list()).every((x) => x.alias !== t.alias), 'its end');
        const l = c.listen(t.alias);
        assert.equal((await l.end).code, 0);
        assert.equal(l.text, 'quick\r\n');
        assert.deepEqual(l.items.at(-1), { exit: 5 });
        assert.equal((await c.get(t.alias)).alias, t.alias);
        await assert.rejects(c.write(t.alias, 'x'), (e) => e.code === 5);
    });

    it('cancel ends that listener alone', async () => {
        const c = client();
        const t = await c.open();
        const a = c.listen(t.alias);
        const b = c.listen(t.alias);
        await a.titled('bash');
        a.call.cancel();
        assert.equal((await a.end).code, 1);
        await c.write(t.alias, 'echo still-$((40 + 2))\n');
        await b.sees('still-42\r\n');
        await c.shutdown(t.alias);
    });

    it('two megabytes arrive whole; who comes late gets all that is held', async () => {
        const n = 2000000;
        const c = client();
        const t = await known(c, n, 3);
        const watch = client({ role: 'watch' }); // has the bytes as they are: no terminal that answers queries in them
        const l = watch.listen(t.alias);
        const own = c.listen(t.alias);
        await l.sees('R');
        await c.write(t.alias, '\n');
        assert.equal((await within(own.end, 60000)).code, 0);
        assert.equal(own.length, n + 1);
        // Who only watches is not waited for: what came is exact, and it is all, or the stream says that it is not.
        const e = await within(l.end, 60000);
        checkBytes(3, 0, l.bytes.subarray(1));
        if (e.code === 0) assert.equal(l.length, n + 1);
        else assert.match(`${e.code} ${e.details}`, /^13 read timeout/);
        const late = watch.listen(t.alias);
        assert.equal((await late.end).code, 0);
        assert.equal(late.length, RING);
        checkBytes(3, n - RING, late.bytes);
    });

    it('a listener that is paused delays no other, nor the program', async () => {
        const n = 4000000;
        const c = client();
        const t = await known(c, n, 4);
        const slow = client({ role: 'watch' }).listen(t.alias, { paused: true });
        const paused = client().listen(t.alias, { paused: true });
        const fast = c.listen(t.alias);
        await fast.sees('R');
        await c.write(t.alias, '\n');
        assert.equal((await within(fast.end, 60000)).code, 0);
        assert.equal(fast.length, n + 1);
        await holdsFor(scaled(10000, 500), () => paused.ended === undefined, 'nobody drops who only pauses');
        // They have missed what the ring does not hold any more, and are told so; what came is exact.
        for (const l of [paused, slow]) {
            l.read();
            const e = await within(l.end, 30000);
            if (e.code === 0) assert.equal(l.length, n + 1);
            else assert.match(`${e.code} ${e.details}`, /^13 read timeout/);
        }
        checkBytes(4, 0, slow.bytes.subarray(1));
    });
});
