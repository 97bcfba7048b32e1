// SPDX-License-Identifier: Apache-2.0
// hold_ms and output=0: what a client needs that must not miss a byte.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

const TOTAL = 6 << 20;
const RING = 1 << 20;

withDaemon('hold_ms', {}, (d) => {
    const flood = (seed, more = {}) =>
        d.spawn({
            command: emit(),
            args: ['-n', String(TOTAL), '-s', String(seed), '-c', '65536'],
            delivery: 'lossless',
            hold_ms: 60000,
            ...more,
        });
    const isHeld = async (p) => {
        await waitUntil(async () => (await d.get(p.id)).output.next >= RING / 2, 'the ring to fill');
        await waitUntil(async () => {
            const a = (await d.get(p.id)).output.next;
            await holdsFor(100, () => true, 'a while');
            return (await d.get(p.id)).output.next === a;
        }, 'the process to be held');
        assert.equal((await d.get(p.id)).status, 'running');
    };
    /** Acknowledges what it gets, like a client that has written it down. */
    const follow = (p, seed, since) => {
        const v = new Viewer(d, p.id, {
            query: { since: String(since), ack: '1' },
            keep: false,
            onBytes: (at, b) => {
                checkBytes(seed, at, b);
                v.have = at + b.length;
                if (v.have - (v.told ?? 0) > 100000 && v.have < (v.stopAt ?? Infinity)) {
                    v.told = v.have;
                    v.control({ type: 'ack', offset: v.have });
                }
            },
        });
        return v;
    };

    it('what is written before the first viewer comes is not lost', async () => {
        const p = await flood(31);
        await isHeld(p);
        const v = follow(p, 31, 0);
        assert.equal((await v.finish(60000)).exit_code, 0);
        assert.equal(v.at, TOTAL);
        assert.deepEqual(v.gaps, []);
    });

    it('a viewer that was cut goes on where its acknowledgements end', async () => {
        const p = await flood(32);
        const a = follow(p, 32, 0);
        a.stopAt = 2 << 20;
        await a.until(() => a.have > (2 << 20) + 100000, 20000, 'some output');
        a.cut();
        const b = follow(p, 32, a.told);
        assert.equal((await b.finish(60000)).exit_code, 0);
        assert.equal(b.at, TOTAL);
        assert.deepEqual(b.gaps, []);
    });

    it('a worker that is killed does not lose what was on its way', async () => {
        const p = await flood(33);
        let at = 0;
        for (let i = 0; i < 4; i++) {
            const v = follow(p, 33, at);
            v.stopAt = at + (1 << 20);
            await v.until(() => v.have > at + (1 << 20), 20000, 'some output');
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            await v.closed;
            at = v.told;
            await d.nextWorker(old);
        }
        const v = follow(p, 33, at);
        assert.equal((await v.finish(60000)).exit_code, 0);
        assert.equal(v.at, TOTAL);
        assert.deepEqual(v.gaps, []);
    });

    it('who leaves in order holds nothing', async () => {
        const p = await flood(34);
        const v = await Viewer.attach(d, p.id, { query: { since: '0', ack: '1' }, keep: false });
        await v.until(() => v.at > 0, 20000, 'output');
        v.control({ type: 'detach' });
        assert.equal(await v.closed, 1000);
        assert.equal((await d.exitOf(p.id)).exit_code, 0);
    });

    it('nobody comes: after hold_ms it goes on at full speed', async () => {
        const p = await flood(35, { hold_ms: 1 });
        assert.equal((await d.exitOf(p.id)).exit_code, 0);
        assert.equal((await d.get(p.id)).output.next, TOTAL);
    });

    it('hold_ms is checked, and is not for run', async () => {
        await d.refused('bad_value', 'POST', '/v1/processes', { json: { command: 'true', hold_ms: -1 } });
        await d.refused('bad_type', 'POST', '/v1/processes', { json: { command: 'true', hold_ms: 'long' } });
        await d.refused('unknown_field', 'POST', '/v1/processes/run', { json: { command: 'true', hold_ms: 1 } });
    });

    it('output=0 is a way in that is no viewer, and its input is counted', async () => {
        const p = await d.sh('cat', { stdin: 'pipe' });
        const v = await Viewer.attach(d, p.id, { query: { output: '0', client: 'in' } });
        assert.equal((await d.get(p.id)).viewers, 0);
        await v.send('hello\n');
        await v.message('input_ack', 5000, (m) => m.offset === 6);
        await d.outputHas(p.id, 'hello\n');
        v.cut();
        const w = await Viewer.attach(d, p.id, { query: { output: '0', client: 'in' } });
        assert.equal(w.hello.input_offset, 6);
        w.control({ type: 'eof' });
        await w.message('exit');
        assert.equal(w.bytes, 0);
    });
});
