// SPDX-License-Identifier: Apache-2.0
//
// exits.mjs - processes whose exits must be exact, whatever happens to the daemon meanwhile

import assert from 'node:assert/strict';
import fs from 'node:fs';
import * as proc from './proc.mjs';
import { waitUntil } from './wait.mjs';

const CODES = 199; // above, shells have meanings of their own; each code but 0

export class Exits {
    /** `ask` makes a request, and repeats one that a fault has cut. */
    constructor(d, ask = (f) => f()) {
        Object.assign(this, { d, ask, all: [], waiting: [] });
    }

    async #start(script, args) {
        const code = 1 + (this.all.length % CODES);
        const json = { command: 'sh', args: ['-c', `${script}; echo done; exit ${code}`, ...args], pty: this.all.length % 2 ? true : undefined };
        const { id, pid } = (await this.ask(() => this.d.request('POST', '/v1/processes', { json }))).json;
        this.all.push({ code, id, pid });
        return pid;
    }

    /** Exits by itself, within a tenth of a second. */
    soon() {
        return this.#start(`sleep 0.0${this.all.length % 10}`, []);
    }

    /** Exits on request. */
    async whenTold() {
        this.file ??= 0;
        const file = `${this.d.dir}/exit-${this.file++}`;
        this.waiting.push({ file, pid: await this.#start('while [ ! -e "$0" ]; do sleep 0.02; done', [file]) });
    }

    /** They exit now. Resolves when each is dead, though perhaps not yet reaped. */
    async tell() {
        for (const w of this.waiting) fs.writeFileSync(w.file, '');
        for (const w of this.waiting.splice(0)) await waitUntil(() => !proc.isAlive(w.pid), `the exit of ${w.pid}`);
    }

    async check() {
        for (const e of this.all) {
            const p = await this.d.exitOf(e.id);
            assert.deepEqual([p.exit.kind, p.exit_code], ['exited', e.code], e.id);
            assert.match((await this.d.output(e.id)).toString(), /^done\r?\n$/);
            await this.d.remove(e.id);
        }
    }
}
