// SPDX-License-Identifier: Apache-2.0
//
// flood.mjs - processes that write for ever, each with a viewer that always comes back
//
// Half of them write as fast as they can with the usual ring: there a gap is
// allowed, but every byte must be the one of its offset, so a byte lost or doubled
// anywhere shows in all that follow. The other half write at a pace for which
// their ring is large: there no gap is allowed at all. It holds what they write in the
// minute after which a stream that does not go on has failed anyway.

import assert from 'node:assert/strict';
import os from 'node:os';
import { Viewer } from './client.mjs';
import { checkBytes, emit } from './gen.mjs';
import * as proc from './proc.mjs';
import { FULL } from './scale.mjs';
import { waitUntil } from './wait.mjs';

/** Viewers go on within this time after a fault. A full run measures it, of the release binary. */
const PAUSE_MS = 500;
const REFUSED_MS = 5;
/** What twenty floods and their viewers make by themselves. What else the machine does makes all of it slower. */
const OWN_LOAD = 8;

const turn = (ms) => new Promise((done) => setTimeout(done, ms));

class Stream {
    constructor(d, process, seed, mayGap) {
        Object.assign(this, { d, process, seed, mayGap, at: 0, marked: null, lastAt: 0, silence: 0, refused: 0, reconnects: 0, resumes: [] });
    }

    /** Attaches, and again whenever the connection ends, from where it was. */
    async run() {
        while (!this.over) {
            const v = new Viewer(this.d, this.process.id, {
                query: { since: String(this.at), terminal: '0' },
                keep: false,
                onBytes: (at, bytes) => this.#bytes(v, at, bytes),
                onGap: (g) => this.#gap(g),
            });
            this.viewer = v;
            try {
                await v.opened;
                await v.closed;
            } catch {
                if (v.error?.code === 'ECONNREFUSED') {
                    this.refused++;
                    await turn(REFUSED_MS); // else all streams together leave no CPU for the daemon to start
                }
            }
            if (v.failure) {
                this.failure = v.failure;
                return;
            }
            if (v.exit && !this.over) this.failure = new Error(`process ended: ${JSON.stringify(v.exit)}`);
            if (v.exit || v.closeCode === 4404) return;
            this.reconnects++;
        }
    }

    #bytes(v, at, bytes) {
        if (at < this.at) throw new Error(`bytes came twice: at ${at}, already at ${this.at}`);
        checkBytes(this.seed, at, bytes, `flood ${this.seed}`);
        this.at = at + bytes.length;
        const now = performance.now();
        if (this.marked !== null && v !== this.markedViewer) {
            // What was on its way still comes after the fault, and all goes on while an upgrade is prepared.
            this.resumes.push(now - Math.max(this.marked, this.lastAt));
            this.marked = null;
        }
        this.silence = Math.max(this.silence, now - this.lastAt);
        this.lastAt = now;
    }

    /** For the report of a stream that does not go on. */
    state() {
        const { ws } = this.viewer;
        const socket = ws._socket;
        return (
            `${this.process.id} at ${this.at}, ${this.reconnects} reconnects, ready state ${ws.readyState}, hello ${Boolean(this.viewer.hello)}, ` +
            `port ${socket?.localPort}, paused ${socket?.isPaused()}, read ${socket?.bytesRead}`
        );
    }

    #gap(g) {
        if (!this.mayGap) throw new Error(`gap ${g.from}-${g.to} in a stream that must have none`);
        this.at = g.to;
    }
}

export class Flood {
    static async start(d, count) {
        const f = new Flood();
        f.d = d;
        f.streams = [];
        for (let i = 0; i < count; i++) {
            const mayGap = i % 2 === 0;
            const seed = 9000 + i;
            const args = ['-f', '-s', String(seed), ...(mayGap ? ['-c', '4096'] : ['-c', '1500', '-d', '10000'])];
            const p = await d.spawn({
                command: emit(),
                args,
                pty: i % 4 < 2 ? true : undefined,
                history_bytes: mayGap ? undefined : 16 << 20,
            });
            const s = new Stream(d, p, seed, mayGap);
            s.done = s.run();
            f.streams.push(s);
        }
        await f.moved(60000, 1);
        return f;
    }

    check() {
        for (const s of this.streams) {
            if (s.failure) throw Object.assign(s.failure, { fatal: true });
            // Between two launchers nobody listens.
            if (!this.mayBeRefused) assert.equal(s.refused, 0, 'a connection was refused');
        }
    }

    /** Notes the moment before a fault: what comes on a new connection after it is a resumption. */
    mark() {
        for (const s of this.streams) {
            s.marked = performance.now();
            s.markedViewer = s.viewer;
            s.silence = 0;
        }
    }

    /** Until every stream has gone on by itself since the mark. */
    async moved(ms, least = 0) {
        const from = this.streams.map((s) => s.at);
        await waitUntil(
            () => {
                this.check();
                return this.streams.every((s, i) => (least ? s.at >= least : s.marked === null && s.at > from[i]));
            },
            'all streams to go on',
            ms,
            5,
        ).catch((err) => {
            const idle = this.streams.filter((s, i) => s.marked !== null || s.at === from[i]).map((s) => s.state());
            throw new Error(`${err.message}; not going on:\n${idle.join('\n')}`);
        });
    }

    /** A request that a dying worker may cut: tried again, but never refused. */
    async retry(ask) {
        return waitUntil(
            () =>
                ask().catch((err) => {
                    if (/ECONNREFUSED/.test(err.message)) throw Object.assign(err, { fatal: true });
                    this.d.agent?.destroy();
                    return null;
                }),
            'an answer',
            10000,
            2,
        );
    }

    /** How long nothing came, at most, for a stream that always has something to send, since the mark. */
    silence() {
        return Math.max(...this.streams.filter((s) => !s.mayGap).map((s) => s.silence));
    }

    #pauses(streams) {
        const all = streams.flatMap((s) => s.resumes).sort((a, b) => a - b);
        return (q) => all[Math.min(all.length - 1, Math.floor(q * all.length))] ?? NaN;
    }

    /** A full run fails where the pauses are longer than is promised. */
    report(what) {
        const times = (mayGap) => {
            const at = this.#pauses(this.streams.filter((s) => s.mayGap === mayGap));
            return `p50 ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, max ${at(1).toFixed(0)} ms`;
        };
        const mb = this.streams.reduce((n, s) => n + s.at, 0) / 1e6;
        console.log(
            `measured ${what}: ${mb.toFixed(0)} MB; nothing came for: paced ${times(false)}; floods ${times(true)}; load ${os.loadavg()[0].toFixed(0)}`,
        );
        const bound = PAUSE_MS * Math.max(1, os.loadavg()[0] / OWN_LOAD);
        if (FULL) assert.ok(this.#pauses(this.streams)(0.99) <= bound, `99 of 100 viewers go on within ${bound.toFixed(0)} ms`);
    }

    /** All processes still live; then they are ended and every stream is seen to its exit. */
    async stop() {
        this.check();
        for (const s of this.streams) {
            assert.ok(proc.isAlive(s.process.pid), `process ${s.process.id} died`);
            const p = await this.d.get(s.process.id);
            assert.equal(p.pid, s.process.pid);
            assert.equal(p.status, 'running');
        }
        for (const s of this.streams) {
            s.over = true;
            await this.d.remove(s.process.id);
            if (!s.viewer.exit) s.viewer.cut(); // else the close is on its way
            await s.done;
        }
        this.check();
    }
}
