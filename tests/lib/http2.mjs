// SPDX-License-Identifier: Apache-2.0
//
// http2.mjs - HTTP/2 to a daemon: Node's own client, and frames made by hand
//
// What no client would send goes through Frames, byte by byte.

import http2 from 'node:http2';
import { RawConn, openConnections } from './raw.mjs';
import { within } from './wait.mjs';

/** A session with a daemon; closed with it if the test does not. */
export async function h2connect(d, options = {}) {
    const url = d.tls ? `https://127.0.0.1:${d.port}` : `http://127.0.0.1:${d.port}`;
    const session = http2.connect(url, { rejectUnauthorized: false, ...options });
    openConnections.add(session);
    session.on('close', () => openConnections.delete(session));
    session.on('error', () => {});
    await within(new Promise((ok, no) => session.once('connect', ok).once('error', no)), 10000, 'an HTTP/2 connection');
    return session;
}

/** Opens a stream; its head as `head`, the reset as an error of whoever reads it. */
export function h2open(session, d, method, path, { headers = {}, role, endStream } = {}) {
    const auth = Object.fromEntries(Object.entries(d.authHeaders(role)).map(([k, v]) => [k.toLowerCase(), v]));
    const stream = session.request(
        { ':method': method, ':path': path, ...auth, ...headers },
        { endStream: endStream ?? (method === 'GET' || method === 'HEAD') },
    );
    stream.head = new Promise((ok, no) => {
        stream.once('response', ok);
        stream.once('error', no);
        stream.once('close', () => no(new Error(`closed without an answer: ${stream.rstCode}`)));
    });
    stream.head.catch(() => {});
    stream.on('trailers', (t) => (stream.trailersSeen = t));
    return stream;
}

/** One whole exchange. */
export async function h2ask(session, d, method, path, { json, body, ...options } = {}) {
    const headers = { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
    const sent = json === undefined ? body : JSON.stringify(json);
    const stream = h2open(session, d, method, path, { ...options, headers, endStream: sent === undefined });
    if (sent !== undefined) stream.end(sent);
    const head = await within(stream.head, 30000, `the answer to ${method} ${path}`);
    const parts = [];
    stream.on('data', (p) => parts.push(p));
    await within(new Promise((ok, no) => stream.once('close', ok).once('error', no)), 30000, 'the end of the answer');
    const all = Buffer.concat(parts);
    return {
        status: head[':status'],
        headers: head,
        trailers: stream.trailersSeen,
        body: all,
        text: all.toString(),
        get json() {
            return JSON.parse(all);
        },
    };
}

// --- frames by hand ---

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const TYPE = { DATA: 0, HEADERS: 1, PRIORITY: 2, RST: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW: 8, CONTINUATION: 9 };

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
}

/** A header block of literals, never indexed, without Huffman codes. */
export function block(fields) {
    const text = (s) => {
        const b = Buffer.from(s, 'latin1');
        if (b.length < 127) return Buffer.concat([Buffer.from([b.length]), b]);
        const n = [127];
        let rest = b.length - 127;
        for (; rest >= 128; rest >>= 7) n.push((rest & 127) | 128);
        n.push(rest);
        return Buffer.concat([Buffer.from(n), b]);
    };
    return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0x10]), text(name), text(value)]));
}

export const requestFields = (d, path = '/healthz', more = [], method = 'GET') => [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', `127.0.0.1:${d.port}`],
    ...Object.entries(d.authHeaders()).map(([k, v]) => [k.toLowerCase(), v]),
    ...more,
];

/** A connection that has said hello, and reads frames. */
export class Frames {
    static async connect(d, { hello = true } = {}) {
        const f = new Frames();
        f.raw = await RawConn.connect(d);
        if (hello) f.raw.send(PREFACE, frame(TYPE.SETTINGS, 0, 0));
        return f;
    }

    send(...parts) {
        this.raw.send(...parts);
        return this;
    }

    async next() {
        const head = await this.raw.read(9);
        const payload = await this.raw.read(head.readUIntBE(0, 3));
        return { type: head[3], flags: head[4], stream: head.readUInt32BE(5), payload };
    }

    /** The next frame of this type; others are passed over. */
    async until(type, stream) {
        for (;;) {
            const f = await this.next();
            if (f.type === type && (stream === undefined || f.stream === stream)) return f;
        }
    }

    destroy() {
        this.raw.destroy();
    }
}
