// SPDX-License-Identifier: Apache-2.0
//
// opensandbox.mjs - the published OpenSandbox SDK on a test's daemon, and a hand-written PTY client
//
// The SDK has no PTY calls, so clients in the field write their own on `ws`; this one keeps
// the position as they do and fails at the first byte that is skipped or comes twice.

import assert from 'node:assert/strict';
import { ConnectionConfig, Sandbox, SandboxApiException } from '@alibaba-group/opensandbox';
import http from 'node:http';
import WebSocket from 'ws';
import { Daemon } from './daemon.mjs';
import { openConnections } from './raw.mjs';
import { after, before, describe } from './test.mjs';
import { within } from './wait.mjs';

export const PREFIX = '/dialects/opensandbox';

/** `host:port/prefix`, as the SDK takes a domain and execd's endpoint. */
export const domainOf = (d) => `${d.host}:${d.port}${PREFIX}`;

/** The SDK, with the daemon as its control plane. */
export const connect = (d, { domain = domainOf(d), sandboxId = 'any', ...rest } = {}) =>
    Sandbox.connect({
        sandboxId,
        connectionConfig: new ConnectionConfig({ domain, apiKey: 'token' in rest ? rest.token : d.token, disableMetrics: true, ...rest.config }),
        readyTimeoutSeconds: 10,
        ...rest,
    });

/** A describe() block with a daemon and the SDK on it, which goes first: it keeps connections open. */
export function withSandbox(title, options, body) {
    const d = new Daemon(options);
    let connected;
    describe(title, () => {
        before(() => d.start());
        after(async () => {
            await (await connected)?.close();
            await d.stop();
        });
        body(d, () => (connected ??= connect(d)));
    });
}

/** A control plane that only knows where execd is. `seen` has the paths that were asked. */
export async function controlPlane(endpoint, token) {
    const seen = [];
    const server = http.createServer((q, r) => {
        seen.push(q.url);
        r.setHeader('content-type', 'application/json');
        r.end(JSON.stringify({ endpoint, headers: { 'X-EXECD-ACCESS-TOKEN': token } }));
    });
    await new Promise((ok) => server.listen(0, '127.0.0.1', ok));
    const close = () => {
        server.closeAllConnections();
        server.close();
    };
    return { domain: `127.0.0.1:${server.address().port}`, seen, close };
}

export const texts = (logs) => logs.map((m) => m.text);

/** The SDK's call must fail with this status and code. */
export const refused = (promise, status, code) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof SandboxApiException, String(err?.stack ?? err));
        assert.equal(err.statusCode, status, err.message);
        assert.equal(err.error?.code, code, err.message);
        return true;
    });

/** A raw call of the dialect. */
export const call = (d, method, path, options = {}) =>
    d.request(method, `${options.prefix ?? PREFIX}${path}`, {
        ...options,
        headers: { 'X-EXECD-ACCESS-TOKEN': options.token ?? d.token, ...options.headers },
    });

/** A call on a connection of its own: {rq, response}, for those that are cut or not read. */
export function bare(d, method, path, body) {
    const headers = { 'X-EXECD-ACCESS-TOKEN': d.token };
    const rq = http.request(`${d.url}${PREFIX}${path}`, { method, headers, agent: false });
    const response = new Promise((done, failed) => rq.on('response', done).on('error', failed));
    response.catch(() => {});
    rq.end(body === undefined ? undefined : JSON.stringify(body));
    return { rq, response };
}

export async function newPty(d, body, options) {
    const a = await call(d, 'POST', '/pty', { json: body, ...options });
    assert.equal(a.status, 201, a.text);
    assert.match(a.json.session_id, /^[0-9a-f-]{36}$/);
    return a.json.session_id;
}

export const ptyStatus = async (d, id) => (await call(d, 'GET', `/pty/${id}`)).json;

export class Pty {
    constructor(d, path, { query = {}, token = d?.token, base, headers, protocols } = {}) {
        const q = new URLSearchParams(query).toString();
        this.plain = !/^\/(pty|ws)\//.test(path); /* binary frames are the bytes */
        this.start = Number(query.since) || 0;
        this.messages = [];
        this.frames = [];
        this.parts = [];
        this.streams = { 1: [], 2: [], 3: [] };
        this.waiters = [];
        this.ws = new WebSocket(`ws://${base ?? domainOf(d)}${path}${q ? `?${q}` : ''}`, protocols, {
            headers: { ...(token ? { 'X-EXECD-ACCESS-TOKEN': token } : {}), ...headers },
            handshakeTimeout: 20000,
        });
        const handle = { destroy: () => this.ws.terminate() };
        openConnections.add(handle);
        this.closed = new Promise((done) =>
            this.ws.on('close', (code, reason) => {
                openConnections.delete(handle);
                this.close = { code, reason: reason.toString() };
                done(this.close);
                this.#wake();
            }),
        );
        this.ws.on('message', (data, binary) => {
            this.#take(data, binary);
            this.#wake();
        });
        this.opened = new Promise((resolve, reject) => {
            this.ws.once('open', () => resolve(this));
            this.ws.once('error', reject);
            this.ws.once('unexpected-response', (req, res) => {
                let body = '';
                res.on('data', (c) => (body += c));
                res.on('end', () => {
                    req.destroy();
                    reject(Object.assign(new Error(`answered ${res.statusCode}: ${body}`), { status: res.statusCode, body }));
                });
            });
        });
        this.opened.catch(() => {});
    }

    static at(d, id, query = {}, options = {}) {
        return new Pty(d, `/pty/${id}/ws`, { query, ...options });
    }

    /** Attached, and told so. */
    static async attach(d, id, query, options) {
        const p = Pty.at(d, id, query, options);
        await p.opened;
        await p.message('connected');
        return p;
    }

    #take(data, binary) {
        if (!binary) {
            assert.ok(data.toString().endsWith('\n'), 'a JSON frame without its line end');
            const m = JSON.parse(data.toString());
            assert.ok(!this.exit, `a message after the exit: ${data}`);
            if (m.type === 'exit') this.exit = m;
            this.messages.push(m);
            return;
        }
        assert.ok(!this.exit, 'bytes after the exit');
        const op = this.plain ? 1 : data[0];
        assert.ok(op >= 1 && op <= 3, `frame ${op}`);
        const bytes = this.plain ? data : data.subarray(op === 3 ? 9 : 1);
        if (op === 3) {
            const at = Number(data.readBigUInt64BE(1));
            this.from ??= at;
            if (this.at !== undefined && this.at !== at) (this.gaps ??= []).push([this.at, at]);
            this.at = at;
        }
        this.at ??= this.start; /* nothing was replayed: it goes on where we were */
        this.from ??= this.at;
        this.at += bytes.length;
        this.frames.push({ op, length: bytes.length, before: this.messages.length });
        this.streams[op].push(bytes);
        this.parts.push(bytes);
    }

    #wake() {
        this.waiters.splice(0).forEach((w) => w());
    }

    get output() {
        return Buffer.concat(this.parts);
    }

    get text() {
        return this.output.toString();
    }

    stream(op) {
        return Buffer.concat(this.streams[op]).toString();
    }

    async until(ready, what, ms = 20000) {
        const end = Date.now() + ms;
        for (;;) {
            const value = ready();
            if (value) return value;
            if (this.close) throw new Error(`closed ${JSON.stringify(this.close)} while waiting for ${what}; ${this.text.slice(-300)}`);
            if (Date.now() > end) throw new Error(`gave up waiting for ${what}; got ${JSON.stringify(this.text.slice(-300))}`);
            await new Promise((done) => {
                const t = setTimeout(done, end - Date.now() + 1);
                this.waiters.push(() => (clearTimeout(t), done()));
            });
        }
    }

    message(type, test = () => true) {
        return this.until(() => this.messages.find((m) => m.type === type && test(m)), type);
    }

    says(text) {
        return this.until(() => this.text.includes(text), JSON.stringify(text));
    }

    type(text) {
        this.ws.send(Buffer.concat([Buffer.alloc(this.plain ? 0 : 1), Buffer.from(text)]));
    }

    send(message) {
        this.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
    }

    end(ms = 20000) {
        return within(this.closed, ms, 'the close');
    }

    async leave() {
        this.ws.close(1000);
        return this.end();
    }
}

/** What a refused handshake was answered: {status, body}. */
export async function refusedPty(d, id, query, options) {
    const p = Pty.at(d, id, query, options);
    try {
        await p.opened;
    } catch (err) {
        if (!err.status) throw err;
        return { status: err.status, json: JSON.parse(err.body) };
    }
    p.ws.terminate();
    throw new Error('the handshake was accepted');
}
