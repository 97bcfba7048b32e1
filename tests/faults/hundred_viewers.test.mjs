// SPDX-License-Identifier: Apache-2.0
// 100 viewers, of whom 10 never read and 10 read a byte a second: the others do not notice, the
// process does not notice, and the worker's memory grows by a constant for each.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { binary, withDaemon } from '../lib/daemon.mjs';
import { emit, expectedBytes } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { WsRaw } from '../lib/wsraw.mjs';
import { waitUntil } from '../lib/wait.mjs';

const sanitized = () => fs.readFileSync(binary()).includes('__asan_init');
const TOTAL = scaled(48 << 20, 28 << 20);
const ALONE = 6 << 20; // less than the ring
const GRANT = 1 << 20;
const SEED = 5001;

withDaemon('a hundred viewers', {}, (d) => {
    const go = (id) => d.api('POST', `/v1/processes/${id}/input`, { json: { data: '\n' }, expect: 200 });

    it('80 get everything at full speed beside 20 that do not read', async () => {
        const want = expectedBytes(SEED, 0, TOTAL);
        const p = await d.spawn({
            command: emit(),
            args: ['-n', String(TOTAL), '-s', String(SEED), '-c', '16384', '-g', String(GRANT)],
            stdin: 'pipe',
            history_bytes: 8 << 20,
        });
        const warm = await Viewer.attach(d, p.id, { query: { since: '0', terminal: '0' } });
        warm.cut();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'a quiet start');
        const before = proc.anonBytes(d.workerPid());
        const same = (at, bytes) =>
            assert.ok(want.compare(bytes, 0, bytes.length, at, at + bytes.length) === 0, `wrong bytes at ${at}`);
        const fast = [];
        for (let i = 0; i < 80; i++)
            fast.push(await Viewer.attach(d, p.id, { query: { since: '0', terminal: '0' }, keep: false, onBytes: same }));
        // The process writes on only when all readers have what it wrote before, so a slow machine loses nothing.
        let granted = 0;
        const upTo = async (end) => {
            const began = Date.now();
            for (; granted < end; granted += GRANT) {
                await waitUntil(() => fast.every((v) => v.bytes >= granted - GRANT), 'those who read', 60000, 1);
                await go(p.id);
            }
            await waitUntil(() => fast.every((v) => v.bytes >= end), 'those who read', 60000, 1);
            return Date.now() - began;
        };
        const aloneMs = (await upTo(ALONE)) * ((TOTAL - ALONE) / ALONE);
        const stuck = [];
        for (let i = 0; i < 10; i++) {
            const v = await Viewer.attach(d, p.id, { query: { since: '0', terminal: '0' }, keep: false, onBytes: same });
            v.ws.pause();
            stuck.push(v);
        }
        const drip = [];
        for (let i = 0; i < 10; i++) {
            const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect?since=0&raw=1&terminal=0`);
            w.conn.socket.removeAllListeners('data');
            w.conn.socket.pause();
            drip.push(w);
        }
        const timer = setInterval(() => drip.forEach((w) => w.conn.socket.read(1)), 1000).unref();
        await waitUntil(async () => (await d.get(p.id)).viewers === 100, 'a hundred');

        let peak = 0;
        const watch = setInterval(() => (peak = Math.max(peak, proc.anonBytes(d.workerPid()))), 200).unref();
        const ms = await upTo(TOTAL);
        await Promise.all(fast.map((v) => v.finish(60000)));
        clearInterval(timer);
        clearInterval(watch);
        for (const v of fast) {
            assert.equal(v.bytes, TOTAL);
            assert.deepEqual(v.gaps, []);
        }
        const each = (peak - before) / 100;
        report(
            `measured ${(TOTAL - ALONE) >> 20} MiB to 80 viewers in ${ms} ms (alone ${aloneMs} ms), ${(each / 1024).toFixed(1)} KiB of worker memory for each viewer`,
        );
        assert.ok(ms < aloneMs * 2 + 5000, `the process was held: ${ms} ms against ${aloneMs} ms with nobody else`);
        assert.ok(each < (sanitized() ? 256 : 16) * 1024, `${each} bytes for each viewer`);

        // Those that stood still are told what they missed and get the rest, and the exit.
        stuck.forEach((v) => v.ws.resume());
        await Promise.all(stuck.map((v) => v.finish(60000)));
        for (const v of stuck) {
            assert.equal(v.at, TOTAL);
            assert.ok(v.gaps.length >= 1);
            assert.equal(v.bytes + v.gaps.reduce((n, [a, b]) => n + b - a, 0), TOTAL);
        }
        drip.forEach((w) => w.destroy());
        await d.remove(p.id);
    });

    it('one viewer that alone stands still holds the process only for a while', async () => {
        const p = await d.spawn({
            command: emit(),
            args: ['-n', String(32 << 20), '-s', '6', '-c', '65536', '-w'],
            stdin: 'pipe',
        });
        const v = await Viewer.attach(d, p.id, { query: { since: '0', terminal: '0' } });
        v.ws.pause();
        await go(p.id);
        await d.exitOf(p.id, 60000);
        v.cut();
    });
});
