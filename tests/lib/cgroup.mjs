// SPDX-License-Identifier: Apache-2.0
//
// cgroup.mjs - a limit on memory for a daemon under test, by whichever version of cgroups there is

import fs from 'node:fs';
import path from 'node:path';

const ROOT = '/sys/fs/cgroup';
const text = (file) => {
    try {
        return fs.readFileSync(file, 'utf8');
    } catch {
        return '';
    }
};

const VERSIONS = [
    { parent: `${ROOT}/memory`, isThere: () => fs.existsSync(`${ROOT}/memory/memory.limit_in_bytes`), limit: 'memory.limit_in_bytes', kills: 'memory.oom_control', peak: 'memory.max_usage_in_bytes' },
    { parent: ROOT, isThere: () => text(`${ROOT}/cgroup.controllers`).split(/\s+/).includes('memory'), limit: 'memory.max', kills: 'memory.events', peak: 'memory.peak', prepare: () => fs.writeFileSync(`${ROOT}/cgroup.subtree_control`, '+memory') },
];

export class MemoryCgroup {
    /** One of this size, or the reason why there is none. */
    static make(bytes) {
        const version = VERSIONS.find((v) => v.isThere());
        if (!version) return 'no memory controller of cgroups here';
        const dir = path.join(version.parent, `holdfast-attack-${process.pid}`);
        try {
            version.prepare?.();
            fs.mkdirSync(dir);
            fs.writeFileSync(path.join(dir, version.limit), String(bytes));
        } catch (err) {
            fs.rmSync(dir, { recursive: true, force: true });
            return `no right to make a cgroup: ${err.code}`;
        }
        return Object.assign(new MemoryCgroup(), { version, dir });
    }

    /** In front of a command that is to run in it. */
    get command() {
        return ['sh', '-c', `echo $$ > ${this.dir}/cgroup.procs && exec "$@"`, 'sh'];
    }

    kills() {
        return Number(/oom_kill (\d+)/.exec(text(path.join(this.dir, this.version.kills)))?.[1] ?? 0);
    }

    peakBytes() {
        return Number(text(path.join(this.dir, this.version.peak)));
    }

    remove() {
        // Below it the daemon makes one for each process; they are empty when it has ended.
        const dirs = (dir) => fs.readdirSync(dir, { withFileTypes: true }).filter((e) => e.isDirectory()).flatMap((e) => [...dirs(path.join(dir, e.name)), path.join(dir, e.name)]);
        for (const dir of [...dirs(this.dir), this.dir]) fs.rmdirSync(dir);
    }
}
