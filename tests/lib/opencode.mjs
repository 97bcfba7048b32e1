// SPDX-License-Identifier: Apache-2.0
//
// opencode.mjs - the published SDK in both its forms, and a terminal as its users build one
//
// The SDK has no WebSocket of its own: an Attachment does what the web application does, that
// is, it adds up the lengths of the text frames from the last cursor frame on.

import { createOpencodeClient as createV1 } from '@opencode-ai/sdk';
import { createOpencodeClient as createV2 } from '@opencode-ai/sdk/v2';
import WebSocket from 'ws';
import { waitUntil, within } from './wait.mjs';

export const basic = (password, user = 'opencode') =>
    `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** fetch() holds its connections for some seconds, and the daemon's end would wait for them. */
function dropConnectionsAtTheEnd(d) {
    if (d.dropsConnections) return;
    d.dropsConnections = true;
    const stop = d.stop.bind(d);
    d.stop = async (...args) => {
        await globalThis[Symbol.for('undici.globalDispatcher.1')]?.destroy();
        return stop(...args);
    };
}

/** Both clients and attachments for a daemon, in a directory (its own unless told otherwise). */
export class OpenCode {
    constructor(d, { directory = d.dir, role = 'own', base = `${d.url}/dialects/opencode` } = {}) {
        this.d = d;
        dropConnectionsAtTheEnd(d);
        this.base = base;
        this.directory = directory;
        this.headers = role === null ? {} : { Authorization: basic(d.tokens[role]) };
        const options = { baseUrl: base, directory };
        this.v1 = createV1({ ...options, headers: { ...this.headers } });
        this.v2 = createV2({ ...options, headers: { ...this.headers } });
    }

    url(id, query = {}, surface = '/pty') {
        const q = new URLSearchParams({ directory: this.directory, ...query });
        return `${this.base.replace(/^http/, 'ws')}${surface}/${id}/connect?${q}`;
    }

    attach(id, query, options = {}) {
        return new Attachment(this.url(id, query, options.surface), { headers: this.headers, ...options });
    }

    /** A PTY that runs this line in sh, with no prompt and no echo in the way. */
    async sh(line, more = {}) {
        const { data, error } = await this.v2.pty.create({ command: 'env', args: ['sh', '-c', line], ...more });
        if (!data) throw new Error(`not created: ${JSON.stringify(error)}`);
        return data;
    }

    /** The events of a listener as they come; `until` waits for one. */
    async listen(client = this.v2) {
        const cut = new AbortController();
        const options = { signal: cut.signal };
        const sub = await (client === this.v1 ? client.event.subscribe(options) : client.event.subscribe(undefined, options));
        return collect(sub, cut);
    }
}

export function collect(sub, cut) {
    const events = [];
    const times = []; // when each of them came
    const seen = {
        events,
        times,
        ended: false,
        types: () => events.map((e) => e.type),
        until: (fits, what) => waitUntil(() => events.find(fits), what ?? `an event; seen: ${events.map((e) => e.type)}`, 15000),
        close: () => cut.abort(),
    };
    seen.done = (async () => {
        try {
            for await (const e of sub.stream) times.push(Date.now()) && events.push(e);
            seen.ended = true;
        } catch (err) {
            seen.error = err;
        }
    })();
    return seen;
}

export class Attachment {
    constructor(url, { headers = {}, onOpen, ...options } = {}) {
        this.text = '';
        this.frames = [];
        this.metas = [];
        this.cursor = null;
        this.ws = new WebSocket(url, { headers, perMessageDeflate: false, ...options });
        this.ws.on('open', () => onOpen?.(this.ws));
        this.ws.on('message', (data, isBinary) => this.#take(data, isBinary));
        this.ws.on('error', (err) => (this.error = err));
        this.closed = new Promise((done) =>
            this.ws.on('close', (code, reason) => done((this.close = { code, reason: reason.toString() }))),
        );
        this.refused = new Promise((done) =>
            this.ws.on('unexpected-response', (_, answer) => {
                answer.resume();
                this.ws.terminate();
                done(answer);
            }),
        );
    }

    #take(data, isBinary) {
        if (isBinary) {
            if (data[0] !== 0) throw new Error(`a binary frame that is no cursor: ${data.toString('hex')}`);
            this.metas.push({ ...JSON.parse(data.subarray(1).toString()), frames: this.frames.length });
            this.cursor = this.metas.at(-1).cursor;
            return;
        }
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
        this.frames.push(text);
        this.text += text;
        if (this.cursor !== null) this.cursor += text.length;
    }

    send(what) {
        this.ws.send(what);
    }

    /** What was there before, and the cursor frame behind it. */
    async replay() {
        await waitUntil(() => this.metas.length > 0, `the cursor frame (${this.error?.message})`);
        return this.frames.slice(0, this.metas[0].frames).join('');
    }

    sees(what, ms) {
        return waitUntil(
            () => (what instanceof RegExp ? what.exec(this.text) : this.text.includes(what)),
            `${what} in ${JSON.stringify(this.text.slice(-500))}`,
            ms,
        );
    }

    end(ms = 15000) {
        return within(this.closed, ms, 'the close');
    }

    /** The status of an answer that was not 101. */
    async status() {
        const answer = await within(this.refused, 10000, 'a refusal');
        return answer.statusCode;
    }

    drop() {
        this.ws.terminate();
        return this.closed;
    }
}
