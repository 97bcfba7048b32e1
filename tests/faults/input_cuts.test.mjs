// SPDX-License-Identifier: Apache-2.0
// Input over connections that break: with client= and input_offset every byte arrives once, in order.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, expectedBytes, runSeed, seededRandom } from '../lib/gen.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { randomMoment, waitUntil } from '../lib/wait.mjs';

const TOTAL = scaled(10_000_000, 3_000_000);
const CUTS = scaled(200, 60);

withDaemon('input with cuts', {}, (d) => {
    const sink = async (file, pty) => {
        const p = pty
            ? await d.sh(`stty raw -echo; echo ready; exec head -c ${TOTAL} > ${file}`, { pty: true })
            : await d.sh(`exec cat > ${file}`, { stdin: 'pipe' });
        if (pty) await d.outputHas(p.id, 'ready');
        return p;
    };

    /** Sends [from, …) until the cut; never waits for acknowledgement of one frame before the next. */
    async function sendSome(id, random, bytes, spoil) {
        const v = await Viewer.attach(d, id, { query: { client: 'the-one', since: 'now' } });
        let at = v.hello.input_offset;
        assert.ok(at <= bytes.length);
        const stop = at + Math.floor(random() * 2.2 * (bytes.length / CUTS)) + 1;
        while (at < Math.min(stop, bytes.length) && v.closeCode === undefined) {
            const n = Math.min(1 + Math.floor(random() * 40000), bytes.length - at);
            await v.send(bytes.subarray(at, at + n)).catch(() => {});
            at += n;
        }
        if (at < bytes.length) await spoil(v);
        else await v.message('input_ack', 20000, (m) => m.offset === bytes.length).catch(() => {});
        const acks = v.messages.filter((m) => m.type === 'input_ack').map((m) => m.offset);
        for (let i = 1; i < acks.length; i++) assert.ok(acks[i] > acks[i - 1], 'acknowledgements go back');
        v.cut();
        return acks.at(-1) ?? v.hello.input_offset;
    }

    async function wholeStory(pty, spoil, what) {
        const random = seededRandom(runSeed());
        const file = `${d.dir}/sink-${what}-${pty ? 'pty' : 'pipe'}`;
        const p = await sink(file, pty);
        const bytes = expectedBytes(4001, 0, TOTAL);
        let rounds = 0;
        for (let done = 0; done < TOTAL; rounds++) {
            assert.ok(rounds < CUTS * 20, 'no progress');
            if (rounds % 10 === 0) assert.equal((await d.get(p.id)).status, 'running');
            done = await sendSome(p.id, random, bytes, (v) => spoil(v, random));
        }
        if (!pty) {
            await d.api('POST', `/v1/processes/${p.id}/input`, { json: { eof: true }, expect: 200 });
        }
        assert.equal((await d.exitOf(p.id, 30000)).exit_code, 0);
        const got = fs.readFileSync(file);
        assert.equal(got.length, TOTAL);
        checkBytes(4001, 0, got, 'input');
        report(`${TOTAL / 1e6} MB of input, ${rounds} connections, ${what}`);
        await d.remove(p.id);
    }

    const cut = async (v, random) => {
        if (random() < 0.5) await randomMoment(random, 5);
    };
    it('through pipes, the connection cut', () => wholeStory(undefined, cut, 'cuts'));
    it('through a terminal, the connection cut', () => wholeStory(true, cut, 'cuts'));

    /*
     * The next connection may come while the daemon still holds unread bytes of the
     * last one. If those were taken after hello had told the offset, they would
     * arrive twice.
     */
    it('a new connection of the same client ends the old one', async () => {
        const p = await d.sh('exec sleep 300', { stdin: 'pipe' });
        const a = await Viewer.attach(d, p.id, { query: { client: 'same', since: 'now' } });
        await a.send(Buffer.alloc(2 << 20));
        const b = await Viewer.attach(d, p.id, { query: { client: 'same', since: 'now' } });
        const told = b.hello.input_offset;
        const c = await Viewer.attach(d, p.id, { query: { client: 'same', since: 'now' } });
        assert.equal(c.hello.input_offset, told, 'bytes of the old connection were taken after the new one was told');
        await waitUntil(() => a.closeCode !== undefined, 'the old one to be closed');
        assert.ok([1006, 1008].includes(a.closeCode), `${a.closeCode}`);
        assert.equal(await b.closed, 1008);
        c.cut();
        await d.remove(p.id);
    });

    it('through pipes, the worker killed', () =>
        wholeStory(
            undefined,
            async (v, random) => {
                if (random() < 0.85) return cut(v, random);
                const old = d.workerPid();
                if (!old) return null;
                await randomMoment(random, 10);
                process.kill(old, 'SIGKILL');
                await d.nextWorker(old);
                d.agent.destroy();
                return null;
            },
            'kills',
        ));
});
