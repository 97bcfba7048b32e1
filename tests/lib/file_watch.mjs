// SPDX-License-Identifier: Apache-2.0
//
// file_watch.mjs - a watch of a directory, and the tree that its reports add up to

import fs from 'node:fs';
import path from 'node:path';
import * as proc from './proc.mjs';
import { SseReader } from './sse.mjs';

export const watchUrl = (dir, query = '') => `/v1/files/watch?path=${encodeURIComponent(dir)}${query}`;

/** The processes that watch this directory for a daemon. */
export const watchersOf = (dir) => proc.pids().filter((pid) => proc.isAlive(pid) && proc.cmdline(pid).slice(1, 4).join(' ') === `file-op watch ${dir}`);

/** What a client knows: Map(path -> is it a directory). */
export class Tree {
    constructor(dir) {
        this.paths = dir ? realTree(dir) : new Map();
        this.overflows = 0;
    }

    #below(top) {
        return [...this.paths.keys()].filter((p) => p === top || p.startsWith(`${top}/`));
    }

    apply(r) {
        switch (r.type) {
            case 'create':
                this.paths.set(r.path, r.dir);
                break;
            case 'remove':
                for (const p of this.#below(r.path)) this.paths.delete(p);
                break;
            case 'rename': {
                const moved = this.#below(r.from).map((p) => [r.path + p.slice(r.from.length), this.paths.get(p)]);
                for (const p of [...this.#below(r.from), ...this.#below(r.path)]) this.paths.delete(p);
                for (const [p, dir] of moved) this.paths.set(p, dir);
                if (!moved.length) this.paths.set(r.path, r.dir);
                break;
            }
            case 'overflow':
                this.overflows++;
                break;
            default:
        }
    }
}

export function realTree(dir) {
    const out = new Map();
    for (const e of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
        out.set(path.relative(dir, path.join(e.parentPath ?? e.path, e.name)), e.isDirectory());
    }
    return out;
}

export const sorted = (map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([p, dir]) => (dir ? `${p}/` : p));

export class Watch {
    /** Resolves when the watch is ready. */
    static async open(d, dir, query = '&recursive=1', options = {}) {
        const w = new Watch();
        w.dir = dir;
        w.res = await d.open('GET', watchUrl(dir, query), { headers: { Accept: 'text/event-stream' }, ...options });
        if (w.res.statusCode !== 200) {
            const chunks = [];
            for await (const c of w.res) chunks.push(c);
            throw Object.assign(new Error(`status ${w.res.statusCode}`), { problem: JSON.parse(Buffer.concat(chunks)) });
        }
        w.sse = new SseReader(w.res);
        w.ready = await w.next();
        return w;
    }

    /** The next report; null at the end. */
    async next(ms = 30000) {
        const ev = await this.sse.next(ms);
        if (ev === null) return null;
        const report = JSON.parse(ev.data);
        if (report.type !== ev.event) throw new Error(`event ${ev.event} has ${ev.data}`);
        return report;
    }

    /** Reports of all that has happened: what a batch of events left open is reported at its end, so before the next. */
    async settle(ms = 60000) {
        return [...(await this.#reach(ms)), ...(await this.#reach(ms))];
    }

    /** Reports up to the creation of a file that this makes, without it. */
    async #reach(ms) {
        const name = `settled-${(Watch.settled = (Watch.settled ?? 0) + 1)}`;
        fs.writeFileSync(path.join(this.dir, name), '');
        const out = [];
        for (;;) {
            const r = await this.next(ms);
            if (r === null) throw new Error('the watch has ended');
            if (r.path === name && r.type === 'create') break;
            out.push(r);
        }
        fs.rmSync(path.join(this.dir, name));
        for (let r; !((r = await this.next(ms)).type === 'remove' && r.path === name); ) out.push(r);
        return out;
    }

    close() {
        this.sse.close();
    }
}
