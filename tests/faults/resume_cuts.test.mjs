// SPDX-License-Identifier: Apache-2.0
// A client that is cut again and again, and resumes by offset, assembles exactly the source; when
// the ring has forgotten something, the gap is exact.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { it } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit, runSeed, seededRandom } from '../lib/gen.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { waitUntil } from '../lib/wait.mjs';

/** Behind a gateway twice as many sockets hold output, so these cannot count on where it stops. */
const moreBuffers = { skip: Boolean(process.env.HF_TEST_GATEWAY) };

const CUTS = scaled(500, 120);
const TOTAL = scaled(200_000_000, 48_000_000);

withDaemon('cuts', {}, (d) => {
    /** One attachment by WebSocket from `at`, cut after `take` bytes; where it got to, and the exit. */
    async function byWebSocket(id, seed, at, take) {
        const v = await Viewer.attach(d, id, {
            query: { since: String(at), terminal: '0' },
            keep: false,
            onBytes: (o, b) => checkBytes(seed, o, b, 'websocket'),
        });
        assert.equal(v.hello.offset, at);
        await v.until(() => v.at - at >= take || v.exit, 60000, 'bytes');
        const next = v.at;
        const { exit } = v;
        v.cut();
        assert.deepEqual(v.gaps, []);
        return { next, exit };
    }

    /** The same by ?follow=1. */
    async function byFollow(id, seed, at, take) {
        const res = await d.open('GET', `/v1/processes/${id}/output?follow=1&since=${at}`);
        assert.equal(res.headers['holdfast-offset'], String(at));
        assert.equal(res.headers['holdfast-gap'], undefined);
        let next = at;
        await new Promise((done, fail) => {
            res.on('data', (b) => {
                try {
                    checkBytes(seed, next, b, 'follow');
                } catch (err) {
                    fail(err);
                }
                next += b.length;
                if (next - at >= take) done();
            });
            res.on('end', done);
            res.on('error', fail);
        });
        res.destroy();
        return { next, exit: null };
    }

    for (const pty of [undefined, true]) {
        it(`a stream through ${pty ? 'a terminal' : 'pipes'}, cut at random moments`, async () => {
            const total = pty ? Math.floor(TOTAL / 4) : TOTAL;
            const cuts = pty ? Math.floor(CUTS / 4) : CUTS;
            const random = seededRandom(runSeed());
            const seed = 1001;
            const p = await d.spawn({
                command: emit(),
                args: ['-n', String(total), '-s', String(seed), '-c', '32768', '-x', '3'],
                pty,
                history_bytes: 256 << 20,
            });
            let at = 0;
            let made = 0;
            let exit = null;
            while (!exit) {
                // Frames in flight add to what was wished, so that the wish is a little less than its share.
                const take = made < cuts ? 1 + Math.floor(random() * ((total - at) / (cuts - made + 1))) : Infinity;
                const how = random() < 0.8 || at >= total ? byWebSocket : byFollow;
                const r = await how(p.id, seed, at, take);
                at = r.next;
                exit = r.exit;
                made++;
            }
            assert.equal(at, total);
            assert.equal(exit.exit_code, 3);
            report(`${total / 1e6} MB, cut ${made - 1} times`);
            assert.ok(made - 1 >= cuts, `only ${made - 1} cuts`);
            await d.remove(p.id);
        });
    }

    it('a ring smaller than what was missed: the gap is exact', async () => {
        const random = seededRandom(runSeed());
        const ring = 64 * 1024;
        for (let round = 0; round < scaled(60, 15); round++) {
            const total = 200_000 + Math.floor(random() * 800_000);
            const seed = 2000 + round;
            const pty = round % 2 ? true : undefined;
            const fifo = `${d.dir}/go${round}`;
            execFileSync('mkfifo', [fifo]);
            const p = await d.spawn({
                command: emit(),
                args: ['-n', String(total), '-s', String(seed), '-c', '5000', '-W', fifo, '-H'],
                pty,
                history_bytes: ring,
            });
            const early = await Viewer.attach(d, p.id, {
                query: { since: '0', terminal: '0' },
                onBytes: (o, b) => checkBytes(seed, o, b),
            });
            await (await open(fifo, 'w')).close();
            const stopAt = Math.floor(random() * 60000);
            await early.until(() => early.at > stopAt, 20000, 'the first bytes');
            const at = early.at;
            await early.detach(); // one that is cut would be waited for
            await waitUntil(async () => (await d.get(p.id)).output.next === total, 'all of the output', 20000);
            const { first } = (await d.get(p.id)).output;
            assert.ok(total - first <= ring, 'the ring holds more than it is');
            const late = await Viewer.attach(d, p.id, {
                query: { since: String(at), terminal: '0' },
                onBytes: (o, b) => checkBytes(seed, o, b),
            });
            await late.message('replay_done');
            assert.equal(late.at, total);
            assert.deepEqual(late.gaps, at < first ? [[at, first]] : []);
            assert.equal(late.bytes, total - Math.max(at, first));
            late.cut();
            await d.remove(p.id);
        }
    });

    it('a viewer that falls out of the ring while attached is told, and what follows is right', moreBuffers, async () => {
        const seed = 3000;
        const total = scaled(64, 24) << 20;
        const p = await d.spawn({
            command: emit(),
            args: ['-n', String(total), '-s', String(seed), '-c', '65536', '-w'],
            stdin: 'pipe',
            history_bytes: 256 * 1024,
        });
        const fast = await Viewer.attach(d, p.id, {
            query: { since: '0', terminal: '0' },
            keep: false,
            onBytes: (o, b) => checkBytes(seed, o, b),
        });
        const slow = await Viewer.attach(d, p.id, {
            query: { since: '0', terminal: '0' },
            keep: false,
            onBytes: (o, b) => checkBytes(seed, o, b),
        });
        slow.ws.pause();
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        await fast.until(() => fast.at > total / 2, 60000, 'half of it');
        slow.ws.resume();
        await fast.finish(60000);
        await slow.finish(60000);
        assert.deepEqual(fast.gaps, [], 'the process goes at the pace of its fastest viewer');
        assert.ok(slow.gaps.length >= 1, 'the slow one missed nothing?');
        assert.equal(slow.at, total);
        assert.equal(slow.bytes + slow.gaps.reduce((n, [a, b]) => n + b - a, 0), total);
    });
});
