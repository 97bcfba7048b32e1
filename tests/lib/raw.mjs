// SPDX-License-Identifier: Apache-2.0
//
// raw.mjs - conversations in bytes: send this, expect exactly that
//
// What no well-behaved client would send goes through here. A mismatch prints
// both sides.

import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';

const bytes = (b) => (Buffer.isBuffer(b) ? b : Buffer.from(b, 'latin1'));
const show = (b) => JSON.stringify(b.toString('latin1').slice(0, 600));

/** Connections that a failed test did not close; the daemon's end does. */
export const openConnections = new Set();

export class RawConn {
    constructor(socket) {
        openConnections.add(socket);
        socket.on('close', () => openConnections.delete(socket));
        this.socket = socket;
        this.held = Buffer.alloc(0);
        this.ended = false;
        this.error = null;
        this.waiters = [];
        const wake = () => this.waiters.splice(0).forEach((w) => w());
        socket.on('data', (d) => {
            this.held = this.held.length ? Buffer.concat([this.held, d]) : d;
            wake();
        });
        socket.on('end', () => {
            this.ended = true;
            wake();
        });
        socket.on('error', (err) => {
            this.error = err;
            this.ended = true;
            wake();
        });
        socket.on('close', () => {
            this.ended = true;
            this.closed = true;
            wake();
        });
    }

    /** To a daemon (its first listener), or to {port} / {path}; halfOpen so that FINs are seen apart. */
    static connect(target, { secure = false, alpn } = {}) {
        const where = target.socketPath
            ? { path: target.socketPath }
            : { host: target.host ?? '127.0.0.1', port: target.port };
        return new Promise((resolve, reject) => {
            const options = { ...where, allowHalfOpen: true, rejectUnauthorized: false, ALPNProtocols: alpn };
            const socket = secure ? tls.connect(options) : net.connect(options);
            socket.setNoDelay(true);
            socket.once('error', reject);
            socket.once(secure ? 'secureConnect' : 'connect', () => {
                socket.off('error', reject);
                resolve(new RawConn(socket));
            });
        });
    }

    send(...parts) {
        for (const p of parts) if (!this.socket.destroyed) this.socket.write(bytes(p));
        return this;
    }

    /** Sends our FIN; the other direction stays open. */
    half() {
        this.socket.end();
        return this;
    }

    destroy() {
        this.socket.destroy();
    }

    reset() {
        if (this.socket.resetAndDestroy) this.socket.resetAndDestroy();
        else this.socket.destroy();
    }

    /** Waits until `ready()` is true, the peer has ended, or time is up (an error). */
    async until(ready, ms = 10000, what = 'bytes') {
        const end = Date.now() + ms;
        while (!ready()) {
            if (this.ended) {
                const err = new Error(`peer closed while waiting for ${what}; held ${show(this.held)}`);
                throw Object.assign(err, { lost: true });
            }
            const left = end - Date.now();
            if (left <= 0) throw new Error(`gave up after ${ms} ms waiting for ${what}; held ${show(this.held)}`);
            await new Promise((done) => {
                const t = setTimeout(done, left);
                this.waiters.push(() => {
                    clearTimeout(t);
                    done();
                });
            });
        }
    }

    async read(n, ms) {
        await this.until(() => this.held.length >= n, ms, `${n} bytes`);
        const out = this.held.subarray(0, n);
        this.held = this.held.subarray(n);
        return out;
    }

    async readUntil(marker, ms) {
        const m = bytes(marker);
        let at = -1;
        await this.until(() => (at = this.held.indexOf(m)) >= 0, ms, show(m));
        return this.read(at + m.length, ms);
    }

    /** The next bytes are exactly these. */
    async expect(want, ms) {
        const w = bytes(want);
        const got = await this.read(w.length, ms);
        assert.equal(show(got), show(w));
    }

    /** The peer closes now, with nothing more to say. */
    async expectEnd(ms = 10000) {
        const rest = await this.rest(ms);
        assert.equal(show(rest), show(Buffer.alloc(0)), 'bytes after the expected end');
    }

    /** Everything until the peer closes. */
    async rest(ms = 10000) {
        const end = Date.now() + ms;
        while (!this.ended) {
            const seen = this.held.length;
            const left = end - Date.now();
            if (left <= 0) throw new Error(`peer did not close in ${ms} ms; held ${show(this.held)}`);
            await this.until(() => this.ended || this.held.length > seen, left, 'the end').catch((err) => {
                if (!this.ended) throw err;
            });
        }
        const out = this.held;
        this.held = Buffer.alloc(0);
        return out;
    }

    /** One HTTP response, framing checked: {version, status, reason, headers, body}. */
    async response({ head = false, ms = 10000 } = {}) {
        const top = (await this.readUntil('\r\n\r\n', ms)).toString('latin1');
        const [line, ...fields] = top.slice(0, -4).split('\r\n');
        const m = /^(HTTP\/1\.[01]) (\d{3}) ([^\r\n]*)$/.exec(line);
        assert.ok(m, `bad status line ${JSON.stringify(line)}`);
        const headers = {};
        for (const f of fields) {
            const h = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(f);
            assert.ok(h, `bad header line ${JSON.stringify(f)}`);
            const key = h[1].toLowerCase();
            headers[key] = key in headers ? `${headers[key]}, ${h[2]}` : h[2];
        }
        const out = { version: m[1], status: Number(m[2]), reason: m[3], headers, head: top };
        out.body = await this.#body(out, head, ms);
        return out;
    }

    async #body({ status, headers }, head, ms) {
        if (head || status < 200 || status === 204 || status === 304) return Buffer.alloc(0);
        if (headers['transfer-encoding'] === 'chunked') {
            assert.ok(!('content-length' in headers), 'both Content-Length and Transfer-Encoding');
            return this.chunks(ms);
        }
        if ('content-length' in headers) {
            assert.match(headers['content-length'], /^\d+$/);
            return Buffer.from(await this.read(Number(headers['content-length']), ms));
        }
        return this.rest(ms);
    }

    async chunks(ms) {
        const parts = [];
        for (;;) {
            const part = await this.chunk(ms);
            if (!part) return Buffer.concat(parts);
            parts.push(part);
        }
    }

    /** One chunk of a chunked body; null for the last. */
    async chunk(ms) {
        const line = (await this.readUntil('\r\n', ms)).toString('latin1');
        assert.match(line, /^[0-9a-fA-F]+\r\n$/, 'chunk size line');
        const n = parseInt(line, 16);
        const data = Buffer.from(await this.read(n, ms));
        await this.expect('\r\n', ms);
        return n === 0 ? null : data;
    }
}

/** One connection, one request, the answer, and the connection closed again. */
export async function exchange(target, requestBytes, options = {}) {
    const c = await RawConn.connect(target, options);
    try {
        c.send(requestBytes);
        return await c.response(options);
    } finally {
        c.destroy();
    }
}

/** The bytes of a request with our Host and token; headers set to null are left out. */
export function requestBytes(d, line, { headers = {}, body = '', role = 'own', version = 'HTTP/1.1' } = {}) {
    const all = { Host: d.port ? `127.0.0.1:${d.port}` : 'localhost', ...d.authHeaders(role) };
    if (body.length && !Object.keys(headers).some((h) => /^(content-length|transfer-encoding)$/i.test(h))) {
        all['Content-Length'] = Buffer.byteLength(body);
        if (!headers['Content-Type']) all['Content-Type'] = 'application/json';
    }
    const lines = Object.entries({ ...all, ...headers })
        .filter(([, v]) => v !== null)
        .map(([k, v]) => `${k}: ${v}\r\n`);
    return Buffer.concat([Buffer.from(`${line} ${version}\r\n${lines.join('')}\r\n`, 'latin1'), Buffer.from(body)]);
}
