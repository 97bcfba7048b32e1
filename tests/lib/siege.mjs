// SPDX-License-Identifier: Apache-2.0
//
// siege.mjs - a daemon under attack: what it promises while it lasts, and what must be true afterwards
//
// During an attack /healthz answers within CEILING_MS (beyond what an idle daemon beside it takes and what the
// worker waits for a processor) and the worker holds at most CEILING_BYTES more than when idle. After it the worker and all processes are
// the same as before, and a viewer with the role own has received every byte that a process wrote meanwhile.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Viewer } from './client.mjs';
import { Daemon, releaseBinary, root } from './daemon.mjs';
import { checkBytes, emit } from './gen.mjs';
import * as proc from './proc.mjs';
import { waitUntil, within } from './wait.mjs';

export const CEILING_MS = 200;
export const CEILING_BYTES = 64 << 20;
const ATTEMPTS = 4;

/** A binary whose speed and memory mean something: without sanitizers. */
export function plainBinary() {
    const quick = path.join(root, 'build/holdfast');
    return releaseBinary() ?? (fs.existsSync(quick) ? quick : null);
}
export const NO_PLAIN = plainBinary() ? false : 'no binary without sanitizers: make release, or make';

class Probe {
    static start() {
        const p = new Probe();
        p.child = fork(fileURLToPath(new URL('probe.mjs', import.meta.url)), { stdio: 'ignore', execArgv: [] });
        p.child.unref();
        p.child.channel.unref();
        return p;
    }

    async #say(message, key) {
        this.child.channel.ref();
        const answer = new Promise((done) => this.child.once('message', done));
        this.child.send(message);
        const m = await within(answer, 20000, 'the probe');
        this.child.channel.unref();
        return m[key];
    }

    begin = (start) => this.#say({ start }, 'started');
    end = () => this.#say({ stop: true }, 'report');
    stop = () => this.child.connected && this.child.disconnect();
}

/** A process that writes at a pace, and a viewer that checks every byte of it. */
class Witness {
    static async start(d, seed = 4711) {
        const w = new Witness();
        w.d = d;
        w.process = await d.spawn({ command: emit(), args: ['-f', '-s', String(seed), '-c', '600', '-d', '10000'], history_bytes: 8 << 20, tag: `witness-${seed}` });
        w.at = 0;
        w.viewer = new Viewer(d, w.process.id, {
            query: { since: '0', terminal: '0' },
            keep: false,
            onBytes: (at, bytes) => {
                assert.equal(at, w.at, 'bytes lost or doubled');
                checkBytes(seed, at, bytes, 'witness');
                w.at = at + bytes.length;
            },
            onGap: (g) => assert.fail(`gap ${g.from}-${g.to}`),
        });
        await w.viewer.opened;
        await waitUntil(() => w.at > 0, 'the first bytes of the witness');
        return w;
    }

    /** All that was written until now has arrived, on the one connection that there ever was. */
    async isComplete() {
        const { next } = (await this.d.get(this.process.id)).output;
        await waitUntil(
            () => {
                if (this.viewer.failure) throw Object.assign(this.viewer.failure, { fatal: true });
                assert.equal(this.viewer.closeCode, undefined, 'the owner was disconnected');
                return this.at >= next;
            },
            `byte ${next} to reach the owner`,
            20000,
        );
    }
}

export class Siege {
    /** `processes` more that sleep; `daemon` are further options; `pace` and `historyMiB` make attacks longer and larger. */
    static async start({ processes = 3, daemon = {}, pace = 1, historyMiB = 64 } = {}) {
        const s = Object.assign(new Siege(), { pace, historyMiB });
        try {
            await s.#begin(processes, daemon);
        } catch (err) {
            await s.stop().catch(() => {});
            throw err;
        }
        return s;
    }

    async #begin(processes, daemon) {
        const plain = { bin: plainBinary(), fdBaseline: false, gateway: false };
        this.control = await new Daemon({ ...plain, args: ['--no-dialects'] }).start();
        this.d = await new Daemon({ ...plain, listen: ['127.0.0.1:0', 'unix:DIR/root.sock'], args: ['--compress'], ...daemon }).start();
        this.probe = Probe.start();
        this.sleepers = [];
        for (let i = 0; i < processes; i++) this.sleepers.push(await this.d.spawn({ command: 'sleep', args: ['100000'], pty: i % 2 === 0 }));
        this.witness = await Witness.start(this.d);
        this.worker = this.d.workerPid();
        this.idle = proc.anonBytes(this.worker);
    }

    async #measured(attack) {
        await this.probe.begin({ port: this.d.port, control: this.control.port, pid: this.worker });
        try {
            await attack(this.d, this);
        } finally {
            this.report = await this.probe.end();
        }
        return this.report;
    }

    /** Why it was not as promised; nothing if it was. */
    #complaints(r) {
        const more = r.peak - this.idle;
        const out = [];
        if (r.failures.length) out.push(`/healthz failed ${r.failures.length} of ${r.samples} times: ${r.failures[0]}`);
        if (r.excess > CEILING_MS) out.push(`/healthz took ${r.max.toFixed(0)} ms, ${r.excess.toFixed(0)} ms of it the daemon’s own doing`);
        if (more > CEILING_BYTES) out.push(`the worker held ${(more / 1048576).toFixed(1)} MiB more than idle`);
        return out;
    }

    /** Runs the attack within its ceilings. A machine that hiccups may spoil one attempt, not all. */
    async under(name, attack) {
        let r = await this.#measured(attack);
        for (let attempt = 1; attempt < ATTEMPTS && this.#complaints(r).length && this.d.workerPid() === this.worker; attempt++) {
            await this.settle();
            r = await this.#measured(attack);
        }
        const line = `${name}: /healthz p50 ${r.p50.toFixed(1)} max ${r.max.toFixed(0)} ms (${r.excess.toFixed(0)} ms its own; an idle daemon ${r.controlMax.toFixed(0)} ms), worker +${((r.peak - this.idle) / 1048576).toFixed(1)} MiB`;
        console.log(`measured ${line}`);
        assert.equal(this.d.workerPid(), this.worker, `the worker has ended\n${this.d.stderr.slice(-1500)}`);
        assert.deepEqual(this.#complaints(r), [], line);
        await this.isWhole();
    }

    /** Runs the attack without ceilings; the daemon only has to survive it. */
    async survive(name, attack) {
        await attack(this.d, this).catch((err) => console.log(`${name}: ${err.message.split('\n')[0]}`));
        assert.equal(this.d.workerPid(), this.worker, `the worker has ended\n${this.d.stderr.slice(-1500)}`);
        await this.isWhole();
    }

    /** The daemon has let go of what the attack made it hold. */
    async settle() {
        await waitUntil(() => proc.anonBytes(this.worker) - this.idle < CEILING_BYTES / 4, 'the worker to let go of memory', 3000, 50).catch(() => {});
    }

    /** No process has ended, and no byte was lost. */
    async isWhole() {
        for (const p of this.sleepers) assert.ok(proc.isAlive(p.pid), `process ${p.id} has ended`);
        const list = await this.d.list('?limit=1000');
        for (const p of [...this.sleepers, this.witness.process]) {
            const now = list.find((l) => l.id === p.id);
            assert.equal(now?.status, 'running', `process ${p.id}`);
            assert.equal(now.pid, p.pid);
        }
        await this.witness.isComplete();
    }

    async stop() {
        this.probe?.stop();
        for (const d of [this.control, this.d]) {
            await d?.stop().catch((err) => {
                d.kill();
                throw err;
            });
        }
    }
}
