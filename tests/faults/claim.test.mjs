// SPDX-License-Identifier: Apache-2.0
// A client that drives a process and asks for nothing special misses no byte, whether its line is cut
// again and again or the worker dies under it: it comes back with `since`, and assembles the source.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import WebSocket from 'ws';
import { it } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit, runSeed, seededRandom } from '../lib/gen.mjs';
import { limit } from '../lib/limits.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { randomMoment, waitUntil } from '../lib/wait.mjs';

const TOTAL = scaled(200_000_000, 24_000_000);
const CUTS = scaled(500, 60);
const KILLS = scaled(50, 6);

/** A slow machine may need more than one attempt where two things race. */
async function atLastOf(times, fn) {
    for (let i = 1; ; i++) {
        try {
            return await fn();
        } catch (err) {
            if (i === times) throw err;
        }
    }
}

withDaemon('claims', {}, (d) => {
    let floods = 0;
    /** It waits for its first viewer: what was written before nobody has claimed. */
    async function flood(seed, pty, total = TOTAL, history_bytes = undefined) {
        const fifo = `${d.dir}/go${floods++}`;
        execFileSync('mkfifo', [fifo]);
        const args = ['-n', String(total), '-s', String(seed), '-c', '32768', '-x', '3', '-W', fifo];
        const p = await d.spawn({ command: emit(), args, pty, history_bytes });
        p.go = async () => (await open(fifo, 'w')).close();
        return p;
    }

    const attach = (p, seed, at) =>
        Viewer.attach(d, p.id, {
            query: { since: String(at), terminal: '0' },
            keep: false,
            onBytes: (o, b) => checkBytes(seed, o, b),
        });

    /** Follows to the exit; `ruin` makes each connection but the last one end early. */
    async function assemble(p, seed, ruin) {
        let at = 0;
        let ended = 0;
        for (;;) {
            const v = await attach(p, seed, at);
            assert.equal(v.hello.offset, at);
            if (at === 0 && ended === 0) await p.go();
            await ruin(v, at, ended);
            await v.until(() => v.exit || v.closeCode !== undefined, 60000, 'an end', { evenClosed: true });
            assert.deepEqual(v.gaps, [], 'bytes were missed');
            at = v.at;
            if (v.exit) break;
            ended++;
        }
        assert.equal(at, TOTAL);
        assert.equal((await d.exitOf(p.id)).exit_code, 3);
        await d.remove(p.id);
        return ended;
    }

    for (const pty of [undefined, true]) {
        const what = pty ? 'a terminal' : 'pipes';

        it(`${what}: cut at random moments`, async () => {
            const random = seededRandom(runSeed());
            const began = Date.now();
            let made = 0;
            let rounds = 0;
            // On a busy machine output arrives in large pieces, so a flood may end before its last cut.
            for (; made < CUTS; rounds++) {
                const p = await flood(4001, pty);
                made += await assemble(p, 4001, async (v, at, cuts) => {
                    const left = CUTS - made - cuts;
                    if (left <= 0) return;
                    const take = 1 + Math.floor(random() * ((TOTAL - at) / (left + 1)));
                    await v.until(() => v.at - at >= take || v.exit, 60000, 'bytes');
                    if (!v.exit) v.cut();
                });
            }
            report(`${what}: ${rounds} x ${TOTAL / 1e6} MB, cut ${made} times, ${Date.now() - began} ms`);
        });

        it(`${what}: the worker is killed again and again`, async () => {
            const random = seededRandom(runSeed());
            const p = await flood(4002, pty);
            const began = Date.now();
            const made = await assemble(p, 4002, async (v, at, kills) => {
                if (kills >= KILLS) return;
                const take = 1 + Math.floor(random() * ((TOTAL - at) / (3 * (KILLS - kills + 1))));
                await v.until(() => v.at - at >= take || v.exit, 60000, 'bytes');
                await randomMoment(random, 2);
                const old = d.workerPid();
                process.kill(old, 'SIGKILL');
                await d.nextWorker(old);
            });
            report(`${what}: ${TOTAL / 1e6} MB, ${made} workers killed, ${Date.now() - began} ms`);
            assert.ok(made >= KILLS, `only ${made} kills`);
        });
    }

    /** A connection that only reads, by GET …/output?follow=1: how far it got, and whether that was the end. */
    async function follow(p, seed, at, ruin) {
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=${at}`);
        if (at === 0) await p.go();
        assert.equal(res.headers['holdfast-gap'], undefined, 'bytes were missed');
        let next = at;
        const over = new Promise((done, fail) => {
            res.on('data', (b) => {
                try {
                    checkBytes(seed, next, b, 'follow');
                } catch (err) {
                    fail(err);
                }
                next += b.length;
                ruin?.(next);
            });
            res.on('end', () => done(true));
            res.on('error', () => done(false));
        });
        return { ended: await over, next };
    }

    it('plain HTTP: the worker is killed again and again', async () => {
        const random = seededRandom(runSeed());
        const p = await flood(4003);
        let at = 0;
        let kills = 0;
        for (let ended = false; !ended; ) {
            const stop = kills < KILLS ? at + 1 + Math.floor(random() * ((TOTAL - at) / (3 * (KILLS - kills + 1)))) : Infinity;
            let old = null;
            const r = await follow(p, 4003, at, (next) => {
                if (next < stop || old) return;
                old = d.workerPid();
                process.kill(old, 'SIGKILL');
            });
            at = r.next;
            ended = r.ended;
            if (old) await d.nextWorker(old);
            kills += old ? 1 : 0;
        }
        assert.equal(at, TOTAL);
        assert.ok(kills >= KILLS, `only ${kills} kills`);
        await d.remove(p.id);
    });

    const SMALL = 64 * 1024;
    /** A short flood with a small ring and one viewer, which has got something of it and then stopped reading. */
    async function watched(query, role) {
        const p = await flood(4004, undefined, 32 * SMALL, SMALL);
        const v = await Viewer.attach(d, p.id, { query: { since: '0', ...query }, role, keep: false });
        await p.go();
        await v.until(() => v.bytes > 0, 20000, 'the first bytes');
        return { p, v };
    }
    const isGone = (p) => waitUntil(async () => (await d.get(p.id)).viewers === 0, 'its viewer to be gone');

    it('who is cut and does not come back is waited for, and then no longer', async () => {
        const { p, v } = await watched({});
        v.ws.pause(); // so that the flood cannot be over
        v.cut();
        await isGone(p);
        const { output, status } = await d.get(p.id);
        assert.equal(status, 'running');
        assert.ok(output.next <= v.at + 32 * SMALL);
        assert.equal((await d.exitOf(p.id)).exit_code, 3);
        await d.remove(p.id);
    });

    it('who took its leave or only watches is not waited for', async () => {
        const leave = {
            'a close': [{}, 'own', (v) => v.detach()],
            'the message detach': [{}, 'own', (v) => (v.control({ type: 'detach' }), v.closed)],
            'a cut of one that only reads': [{ mode: 'ro' }, 'own', (v) => v.cut()],
            'a cut of a watcher': [{}, 'watch', (v) => v.cut()],
        };
        for (const [how, [query, role, go]] of Object.entries(leave)) {
            // The other one, cut before it, is still being waited for when this one's process has ended.
            await atLastOf(3, async () => {
                const cut = await watched({});
                cut.v.cut();
                await isGone(cut.p);
                const left = await watched(query, role);
                await go(left.v);
                assert.equal((await d.exitOf(left.p.id)).exit_code, 3);
                const held = (await d.get(cut.p.id)).status;
                await d.remove(cut.p.id);
                await d.remove(left.p.id);
                assert.equal(held, 'running', `${how}: its process ended later than ${limit('LIMIT_CLAIM_MS')} ms`);
            });
        }
    });

    it('several who lose the worker are waited for until each of them is back', async () => {
        const random = seededRandom(runSeed());
        const seed = 4005;
        const p = await flood(seed, undefined, 8 << 20);
        const places = Array.from({ length: 4 }, () => ({ at: 0, exit: null, gaps: [] }));
        const again = async (place) => {
            const v = await attach(p, seed, place.at);
            place.v = v;
        };
        for (const place of places) await again(place);
        await p.go();
        for (let i = 0; i < scaled(20, 4); i++) {
            await places[0].v.until(() => places[0].v.at > places[0].at || places[0].v.exit, 20000, 'bytes');
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            await d.nextWorker(old);
            for (const place of places) {
                if (place.exit) continue;
                await place.v.until(() => place.v.closeCode !== undefined, 20000, 'the end', { evenClosed: true });
                assert.deepEqual(place.v.gaps, []);
                place.at = place.v.at;
                place.exit = place.v.exit;
                await randomMoment(random, 10);
                if (!place.exit) await again(place);
            }
        }
        for (const place of places) {
            if (!place.exit) await place.v.finish(60000);
            assert.deepEqual(place.v.gaps, []);
            assert.equal(place.v.at, 8 << 20);
        }
        await d.remove(p.id);
    });

    it('a client that answers no ping is waited for by what its kernel has, and gets everything', async () => {
        const seed = 4006;
        const total = 4 << 20;
        const p = await flood(seed, undefined, total);
        const url = `ws://${d.host}:${d.port}/v1/processes/${p.id}/connect?since=0&raw=1`;
        const ws = new WebSocket(url, { headers: d.authHeaders('own'), autoPong: false, perMessageDeflate: false });
        let at = 0;
        let pings = 0;
        let wrong = null;
        ws.on('ping', () => pings++);
        ws.on('message', (b) => {
            try {
                checkBytes(seed, at, b);
            } catch (err) {
                wrong ??= err;
            }
            at += b.length;
        });
        await once(ws, 'open');
        await p.go();
        const [code] = await once(ws, 'close');
        assert.ifError(wrong);
        assert.deepEqual([code, at], [1000, total]);
        assert.ok(pings > 0, 'nothing was asked for');
        await d.remove(p.id);
    });
});
