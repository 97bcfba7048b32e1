// SPDX-License-Identifier: Apache-2.0
//
// client.mjs - a viewer over the published `ws` client that believes nothing
//
// It keeps the offset of the next byte itself and fails at the first frame out of
// order: hello first, gaps that begin where we are, exit at the last byte, nothing
// after it, close 1000.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { noteCode } from './codes.mjs';
import { limit } from './limits.mjs';
import { openConnections } from './raw.mjs';
import { within } from './wait.mjs';

const FRAME_MAX = limit('VIEWER_SLICE_BYTES');

export class Viewer {
    constructor(
        d,
        id,
        { query = {}, keep = true, onBytes, onGap, role = 'own', protocols = ['holdfast.v1'], path, headers } = {},
    ) {
        const q = new URLSearchParams(query).toString();
        const url = `${d.tls ? 'wss' : 'ws'}://${d.host}:${d.port}${path ?? `/v1/processes/${id}/connect`}${q ? `?${q}` : ''}`;
        this.keep = keep;
        this.onBytes = onBytes;
        this.onGap = onGap;
        this.messages = [];
        this.parts = [];
        this.bytes = 0;
        this.gaps = [];
        this.snapshots = [];
        this.snapshotLeft = 0;
        this.streams = { stdout: [], stderr: [] };
        this.stream = null;
        this.hello = null;
        this.exit = null;
        this.failure = null;
        this.waiters = [];
        this.ws = new WebSocket(url, protocols, {
            headers: { ...d.authHeaders(role), ...headers },
            perMessageDeflate: false,
            rejectUnauthorized: false,
            handshakeTimeout: 20000,
        });
        const handle = { destroy: () => this.ws.terminate() };
        openConnections.add(handle);
        this.closed = new Promise((done) => {
            this.ws.on('close', (code, reason) => {
                openConnections.delete(handle);
                this.closeCode = code;
                this.closeReason = reason.toString();
                this.#checked(() => this.#onClose(code));
                done(code);
                this.#wake();
            });
        });
        this.ws.on('error', (err) => (this.error = err));
        this.ws.on('message', (data, isBinary) =>
            this.#checked(() => (isBinary ? this.#onBinary(data) : this.#onText(data))),
        );
        this.opened = new Promise((resolve, reject) => {
            this.ws.once('open', resolve);
            this.ws.once('unexpected-response', (req, res) => {
                let body = '';
                res.on('data', (c) => (body += c));
                res.on('end', () => {
                    req.destroy();
                    reject(
                        Object.assign(new Error(`handshake answered ${res.statusCode}: ${body}`), {
                            status: res.statusCode,
                            body,
                            headers: res.headers,
                        }),
                    );
                });
            });
            this.ws.once('error', reject);
        });
        this.opened.catch(() => {});
    }

    /** Opens and waits for hello. */
    static async attach(d, id, options) {
        const v = new Viewer(d, id, options);
        await v.opened;
        await v.message('hello');
        return v;
    }

    #checked(fn) {
        if (this.failure) return;
        try {
            fn();
        } catch (err) {
            this.failure = err;
            this.ws.terminate();
        }
        this.#wake();
    }

    #wake() {
        this.waiters.splice(0).forEach((w) => w());
    }

    #onText(data) {
        const m = JSON.parse(data.toString());
        assert.equal(typeof m.type, 'string', `message without type: ${data}`);
        assert.ok(!this.exit || m.type === 'error', `message after exit: ${data}`);
        if (!this.hello) assert.equal(m.type, 'hello', `first message is not hello: ${data}`);
        else assert.notEqual(m.type, 'hello', 'second hello');
        this.messages.push(m);
        if (m.type === 'hello') this.#onHello(m);
        else if (m.type === 'gap') this.#onGapMessage(m);
        else if (m.type === 'snapshot') this.#onSnapshot(m);
        else if (m.type === 'stream') this.stream = m.name;
        else if (m.type === 'replay_done') assert.equal(m.offset, this.at, 'replay_done is not where the bytes are');
        else if (m.type === 'exit') this.#onExit(m);
        else if (m.type === 'error') noteCode(m.code);
    }

    #onHello(m) {
        this.hello = m;
        this.at = m.offset;
        this.from = m.offset;
    }

    #onGapMessage(m) {
        assert.equal(m.from, this.at, 'gap does not begin at the next byte');
        assert.ok(m.to > m.from, `empty gap ${JSON.stringify(m)}`);
        this.gaps.push([m.from, m.to]);
        this.at = m.to;
        this.onGap?.(m);
    }

    /** What follows, `bytes` long, redraws the screen; the output goes on at `offset`. */
    #onSnapshot(m) {
        assert.equal(this.snapshotLeft, 0, 'a snapshot inside a snapshot');
        assert.ok(m.bytes > 0 && m.offset >= 0, `empty snapshot ${JSON.stringify(m)}`);
        this.snapshots.push({ offset: m.offset, parts: [] });
        this.snapshotLeft = m.bytes;
        this.at = m.offset;
    }

    #onBinary(data) {
        assert.ok(this.hello, 'bytes before hello');
        assert.ok(!this.exit, 'bytes after exit');
        assert.ok(data.length > 0, 'empty binary frame');
        assert.ok(data.length <= FRAME_MAX, `frame of ${data.length} bytes`);
        if (this.snapshotLeft > 0) {
            assert.ok(data.length <= this.snapshotLeft, 'a frame of more than the snapshot');
            this.snapshots.at(-1).parts.push(data);
            this.snapshotLeft -= data.length;
            return;
        }
        if (this.keep) {
            this.parts.push(data);
            if (this.stream) this.streams[this.stream].push(data);
        }
        this.onBytes?.(this.at, data, this.stream);
        this.at += data.length;
        this.bytes += data.length;
    }

    #onExit(m) {
        this.exit = m;
        assert.equal(m.offset, this.at, 'exit is not at the last byte');
    }

    #onClose(code) {
        if (this.exit) assert.equal(code, 1000, 'close code after exit');
    }

    /** Everything received, in one piece. */
    get output() {
        return Buffer.concat(this.parts);
    }

    /** The last snapshot, or nothing. */
    get snapshot() {
        return Buffer.concat(this.snapshots.at(-1)?.parts ?? []);
    }

    bytesOf(stream) {
        return Buffer.concat(this.streams[stream]);
    }

    /** Waits until `ready()` returns something truthy; fails early when the connection has ended. */
    async until(ready, ms = 20000, what = 'the viewer', { evenClosed = false } = {}) {
        const end = Date.now() + ms;
        for (;;) {
            if (this.failure) throw this.failure;
            const value = ready();
            if (value) return value;
            if (this.closeCode !== undefined && !evenClosed) {
                throw new Error(`closed with ${this.closeCode} "${this.closeReason}" while waiting for ${what}`);
            }
            const left = end - Date.now();
            if (left <= 0)
                throw new Error(
                    `gave up after ${ms} ms waiting for ${what}; at ${this.at}, last ${JSON.stringify(this.messages.slice(-3))}`,
                );
            await new Promise((done) => {
                const t = setTimeout(done, left);
                this.waiters.push(() => {
                    clearTimeout(t);
                    done();
                });
            });
        }
    }

    /** The first message of this type, past or to come. */
    message(type, ms, predicate = () => true) {
        return this.until(() => this.messages.find((m) => m.type === type && predicate(m)), ms, `message ${type}`);
    }

    outputHas(text, ms) {
        const there = () => this.output.includes(text) || this.snapshot.includes(text);
        return this.until(there, ms, `output ${JSON.stringify(text)}`);
    }

    /** To the exit and the close behind it. */
    async finish(ms = 30000) {
        await this.until(() => this.exit, ms, 'exit');
        await within(this.closed, ms, 'close after exit');
        if (this.failure) throw this.failure;
        return this.exit;
    }

    send(data) {
        return new Promise((resolve, reject) => {
            this.ws.send(typeof data === 'string' ? Buffer.from(data) : data, { binary: true }, (err) =>
                err ? reject(err) : resolve(),
            );
        });
    }

    control(message) {
        this.ws.send(JSON.stringify(message));
    }

    /** Goes away without a word, as a broken network does. */
    cut() {
        this.ws.terminate();
    }

    async detach() {
        this.ws.close(1000);
        return within(this.closed, 10000, 'close');
    }
}

/** The handshake is refused: {status, problem, headers}. */
export async function refusedHandshake(d, id, options = {}) {
    const v = new Viewer(d, id, options);
    try {
        await v.opened;
    } catch (err) {
        if (!err.status) throw err;
        const problem = JSON.parse(err.body);
        noteCode(problem.code);
        return { status: err.status, problem, headers: err.headers };
    }
    v.cut();
    throw new Error('the handshake was accepted');
}

/** Attaches and returns the close code without any hello: how a refusal after the upgrade looks. */
export async function closeCodeOf(d, id, options = {}) {
    const v = new Viewer(d, id, options);
    await v.opened;
    return within(v.closed, 10000, 'a close');
}
