// SPDX-License-Identifier: Apache-2.0
//
// sse.mjs - a strict reader of text/event-stream
//
// A browser forgives what this does not: field names we do not know, a field
// without its space, bytes that are not UTF-8.

import assert from 'node:assert/strict';

const FIELDS = new Set(['event', 'id', 'data', 'retry']);

export class SseReader {
    /** `res` is an IncomingMessage whose head has been read. */
    constructor(res) {
        assert.equal(res.statusCode, 200);
        assert.match(res.headers['content-type'], /^text\/event-stream(;|$)/);
        this.res = res;
        this.rest = '';
        this.queue = [];
        this.comments = 0;
        this.lastId = undefined;
        this.done = false;
        this.wake = () => {};
        const decoder = new TextDecoder('utf-8', { fatal: true });
        res.on('data', (d) => this.#feed(decoder.decode(d, { stream: true })));
        res.on('end', () => this.#finish());
        res.on('close', () => this.#finish());
        res.on('error', () => this.#finish());
    }

    #finish() {
        this.done = true;
        this.wake();
    }

    #feed(text) {
        this.rest += text;
        let end;
        while ((end = this.rest.indexOf('\n\n')) >= 0) {
            const block = this.rest.slice(0, end);
            this.rest = this.rest.slice(end + 2);
            this.#block(block);
        }
        this.wake();
    }

    #block(block) {
        const ev = { event: 'message', data: [], id: undefined };
        for (const line of block.split('\n')) {
            if (line.startsWith(':')) {
                this.comments++;
                continue;
            }
            const m = /^([a-z]+): ?(.*)$/s.exec(line);
            assert.ok(m && FIELDS.has(m[1]), `bad event-stream line ${JSON.stringify(line)}`);
            if (m[1] === 'data') ev.data.push(m[2]);
            else ev[m[1]] = m[2];
        }
        if (ev.id !== undefined) this.lastId = ev.id;
        if (ev.data.length === 0 && ev.event === 'message') return;
        ev.data = ev.data.join('\n');
        this.queue.push(ev);
    }

    /** The next event; null when the stream has ended. */
    async next(ms = 10000) {
        const end = Date.now() + ms;
        while (this.queue.length === 0) {
            if (this.done) return null;
            const left = end - Date.now();
            if (left <= 0) throw new Error(`no event in ${ms} ms`);
            await new Promise((resolve) => {
                const t = setTimeout(resolve, left);
                this.wake = () => {
                    clearTimeout(t);
                    resolve();
                };
            });
        }
        return this.queue.shift();
    }

    /** The next event that satisfies the predicate; the others are passed over. */
    async find(predicate, ms = 10000) {
        const end = Date.now() + ms;
        for (;;) {
            const ev = await this.next(Math.max(1, end - Date.now()));
            assert.ok(ev, 'the stream ended before the event came');
            if (predicate(ev)) return ev;
        }
    }

    close() {
        this.res.destroy();
    }
}
