// SPDX-License-Identifier: Apache-2.0
//
// matrix.mjs - strikes a daemon at every system call and allocation, one run for each
//
// Usage: node tests/faults/every_syscall/matrix.mjs [OPTION...]
//   --roles LIST    of worker, keeper and vault (all)
//   --kinds LIST    of kill, fail and alloc (all)
//   --calls REGEXP  only these calls
//   --sample N      so many points, chosen at random; --seed S chooses the same ones again
//   --seconds S     begins no run after so long
//   --point POINT   only this one, with the daemon's log; --times N repeats it
//   --jobs N        runs at a time (2)
//   --double        only points of two blows
//   --list          prints the points
// HF_BUILD is the build whose `make faults` is used (build). The exit status is 1 if a run had a violation.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../lib/gen.mjs';
import { FIRST_BLOWS, nameOf, parsePoint, pointsOf, pointsOfStart } from './points.mjs';
import { Run, prepare } from './scenario.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const RECORDINGS = 3; // runs differ a little: the most calls of a kind count
const ALLOC_ROLES = ['none', 'worker', 'keeper', 'vault', 'launcher'];
const ALLOC_BYTES = 4 * (3 + ALLOC_ROLES.length);
export const ROLES = ['worker', 'keeper', 'vault'];

export class Matrix {
    constructor({ build = process.env.HF_BUILD ?? path.join(root, 'build'), roles = ROLES, kinds = ['kill', 'fail', 'alloc'], recordings = RECORDINGS } = {}) {
        Object.assign(this, { roles, kinds, recordings, runs: 0, files: 0, missed: [], violations: [], restarts: 0 });
        this.tools = prepare(path.resolve(build));
    }

    close() {
        fs.rmSync(this.tools.dir, { recursive: true, force: true });
    }

    #allocFile(name, role, number) {
        const file = path.join(this.tools.dir, name);
        const bytes = Buffer.alloc(ALLOC_BYTES);
        bytes.writeUInt32LE(ALLOC_ROLES.indexOf(role), 0);
        bytes.writeUInt32LE(number, 4);
        fs.writeFileSync(file, bytes);
        return file;
    }

    /** Runs without a blow: how often each call is made, and what is open at the end. */
    async record() {
        this.counts = {};
        this.baseline = { worker: 0, keeper: 0, vault: 0 };
        for (let i = 0; i < this.recordings; i++) {
            const log = path.join(this.tools.dir, `log-${i}`);
            const alloc = this.#allocFile(`alloc-${i}`, 'none', 0);
            const r = await new Run(this.tools, { args: ['-l', log], env: { HF_FAULT_ALLOC: alloc } }).execute(null);
            if (r.problem) throw new Error(`without a blow: ${r.problem}\n${r.log}`);
            for (const role of Object.keys(this.baseline)) this.baseline[role] = Math.max(this.baseline[role], r.settled[role]);
            this.#note(log, fs.readFileSync(alloc));
        }
    }

    /** What follows a first blow, for points with two. */
    async recordStarts() {
        this.starts = [];
        for (const after of this.kinds.includes('kill') && this.roles.includes('worker') ? FIRST_BLOWS : []) {
            const log = path.join(this.tools.dir, 'log-start');
            const r = await new Run(this.tools, { args: ['-p', after, '-l', log] }).execute(null);
            if (r.problem) console.log(`VIOLATION ${after}: ${r.problem}`);
            this.starts.push(...pointsOfStart(after, fs.readFileSync(log, 'latin1').split('\n')));
        }
    }

    #note(log, allocs) {
        const once = {};
        for (const line of fs.readFileSync(log, 'latin1').split('\n')) if (line) once[line] = (once[line] ?? 0) + 1;
        ALLOC_ROLES.forEach((role, i) => (once[`${role} alloc`] = allocs.readUInt32LE(12 + 4 * i)));
        for (const [line, n] of Object.entries(once)) {
            const [role, call] = line.split(' ');
            this.counts[role] ??= {};
            this.counts[role][call] = Math.max(this.counts[role][call] ?? 0, n);
        }
    }

    points() {
        return pointsOf(this.counts, { roles: this.roles, kinds: this.kinds }).concat(this.starts ?? []);
    }

    async strike(point) {
        const strike = { mayLose: point.role === 'vault', args: [], env: {} };
        if (point.call === 'alloc') {
            const file = this.#allocFile(`alloc-run-${this.files++}`, point.role, point.k);
            strike.env.HF_FAULT_ALLOC = file;
            strike.fired = () => fs.readFileSync(file).readUInt32LE(8) !== 0;
        } else {
            strike.args = nameOf(point).split('+').flatMap((p) => ['-p', p]);
            strike.blows = strike.args.length / 2;
            strike.headless = point.role === 'vault' && /^kill/.test(point.action);
            if (strike.headless) strike.args.unshift('-k');
        }
        const r = await new Run(this.tools, strike).execute(this.baseline);
        if (strike.env.HF_FAULT_ALLOC) fs.rmSync(strike.env.HF_FAULT_ALLOC);
        this.runs++;
        if (!r.fired) this.missed.push(nameOf(point));
        if (r.problem) this.violations.push({ point: nameOf(point), ...r });
        this.restarts += r.crashes;
        return r;
    }

    /** Strikes all of them, `jobs` at a time; `until` is a time to stop at. */
    async strikeAll(points, { jobs = 2, until = Infinity, onRun = () => {} } = {}) {
        let next = 0;
        const lane = async () => {
            while (next < points.length && Date.now() < until) {
                const point = points[next++];
                onRun(point, await this.strike(point), next);
            }
        };
        await Promise.all(Array.from({ length: jobs }, lane));
    }
}

/** `count` of them, the same ones for the same seed. */
export function sampleOf(points, count, seed) {
    const random = seededRandom(seed);
    const left = [...points];
    const out = [];
    while (out.length < count && left.length > 0) out.push(...left.splice(Math.floor(random() * left.length), 1));
    return out;
}

function options() {
    const { values } = parseArgs({
        options: {
            roles: { type: 'string', default: ROLES.join(',') },
            kinds: { type: 'string', default: 'kill,fail,alloc' },
            calls: { type: 'string' },
            sample: { type: 'string' },
            seed: { type: 'string' },
            seconds: { type: 'string' },
            point: { type: 'string' },
            times: { type: 'string', default: '1' },
            jobs: { type: 'string', default: '2' },
            list: { type: 'boolean' },
            double: { type: 'boolean' },
        },
    });
    return values;
}

function choose(m, o) {
    if (o.point) return Array(Number(o.times)).fill(parsePoint(o.point));
    let points = m.points();
    if (o.double) points = points.filter((p) => p.after);
    if (o.calls) points = points.filter((p) => new RegExp(o.calls).test(p.call));
    if (!o.sample) return points;
    const seed = o.seed === undefined ? Date.now() & 0x7fffffff : Number(o.seed);
    console.log(`seed ${seed} (--seed ${seed} repeats this sample)`);
    return sampleOf(points, Number(o.sample), seed);
}

async function main() {
    const o = options();
    const m = new Matrix({ roles: o.roles.split(','), kinds: o.kinds.split(','), recordings: o.point ? 1 : RECORDINGS });
    process.on('exit', () => m.close());
    await m.record();
    if (!o.point) await m.recordStarts();
    const points = choose(m, o);
    if (o.list) return points.forEach((p) => console.log(nameOf(p)));
    console.log(`${points.length} points; open at the end of a run without a blow: ${JSON.stringify(m.baseline)}`);
    const began = Date.now();
    await m.strikeAll(points, {
        jobs: Number(o.jobs),
        until: o.seconds ? began + 1000 * Number(o.seconds) : Infinity,
        onRun(point, r, done) {
            if (o.point || r.problem) console.log(r.log);
            if (r.problem) console.log(`VIOLATION ${nameOf(point)}: ${r.problem}`);
            if (o.point) console.log(`${nameOf(point)}: ${r.fired ? 'struck' : 'not met'}, ${r.started ? 'served' : 'did not start'}, ${r.ms} ms`);
            if (done % 500 === 0) console.log(`${done} of ${points.length}, ${Math.round((Date.now() - began) / 1000)} s, ${m.violations.length} violations`);
        },
    });
    const seconds = Math.round((Date.now() - began) / 1000);
    console.log(
        `${m.runs} runs in ${seconds} s: ${m.runs - m.missed.length} points struck, ${m.missed.length} not met by their run, ` +
            `${m.restarts} crashes survived, ${m.violations.length} violations`,
    );
    process.exitCode = m.violations.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
