// SPDX-License-Identifier: Apache-2.0
//
// routes.mjs - every call of the daemon, from `holdfast routes`, and requests that make it
//
// The list is printed by the binary under test from the rows that its worker mounts, so a
// route that somebody adds is in every sweep by itself.

import crypto from 'node:crypto';
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import { binary } from './daemon.mjs';
import { h2connect } from './http2.mjs';
import { RawConn } from './raw.mjs';
import { within } from './wait.mjs';

/** Tables as printed: [{dialect, prefix, port, credentials, routes: [{methods, path, role, flags, …}]}]. */
export const routeTables = () =>
    JSON.parse(execFileSync(binary(), ['routes', '--json'], { env: { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' }, maxBuffer: 16 << 20 }));

/** One entry for each method of each route: {table, method, path, role, isPublic, isUpgrade, isRaw, …}. */
export function calls(tables = routeTables()) {
    return tables.flatMap((table) =>
        table.routes.flatMap((r) =>
            r.methods.map((method) => ({
                table,
                method,
                path: r.path,
                role: r.role,
                isPublic: r.flags.includes('public'),
                isUpgrade: r.flags.includes('websocket'),
                isRaw: r.flags.includes('raw_upgrade'),
                isPrefix: r.flags.includes('prefix'),
                name: `${method} ${r.path}`,
            })),
        ),
    );
}

export const RANK = { watch: 1, type: 2, own: 3 };

/** The path with something in each {place}, by default the id of a living process. */
export const fill = (call, id) => call.path.replace(/\{[^}]+\}/g, id) + (call.isPrefix ? (call.path.endsWith('/') ? 'x' : '/x') : '');

const UPGRADES = {
    websocket: () => ({
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': crypto.randomBytes(16).toString('base64'),
    }),
    spdy: () => ({ Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' }),
    tcp: () => ({ Connection: 'Upgrade', Upgrade: 'tcp' }),
};

/** Upgrades that a call could be tried with: what its route accepts, and for a POST that streams also docker's. */
export function upgradesOf(call) {
    if (call.isRaw) return call.method === 'GET' ? ['websocket', 'spdy'] : ['spdy'];
    if (call.isUpgrade) return ['websocket'];
    return call.method === 'POST' ? ['tcp'] : ['websocket'];
}
export const upgradeHeaders = (kind) => UPGRADES[kind]();

/**
 * What an answer amounts to: its status, or for gRPC, which answers 200, the status that its code stands for.
 * 7 is "permission denied" and 16 "unauthenticated".
 */
function effectiveStatus(status, headers, trailers = {}) {
    const grpc = headers['grpc-status'] ?? trailers['grpc-status'];
    return status === 200 && grpc !== undefined ? ({ 0: 200, 7: 403, 16: 401 }[grpc] ?? 400) : status;
}

/** Requests of HTTP/1.1 on connections that are used again. */
export class Http1 {
    constructor(target, sockets = 16) {
        this.target = target;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
    }

    ask(method, path, { headers = {}, body, waitMs = 20000 } = {}) {
        const sent = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body), 'Content-Type': 'application/json' };
        const done = new Promise((resolve, reject) => {
            const req = http.request({
                host: '127.0.0.1',
                port: this.target.port,
                agent: headers.Upgrade ? false : this.agent,
                method,
                path,
                headers: { ...sent, ...headers },
            });
            req.on('response', (res) => {
                const parts = [];
                res.on('data', (p) => parts.push(p));
                res.on('end', () => resolve({ status: effectiveStatus(res.statusCode, res.headers, res.trailers), headers: res.headers, text: Buffer.concat(parts).toString() }));
                res.on('error', reject);
            });
            req.on('upgrade', (res, socket) => {
                socket.destroy();
                resolve({ status: 101, headers: res.headers, text: '' });
            });
            req.on('error', (err) => {
                // A kept connection may end just as it is used again: nothing was said by the daemon then.
                if (req.reusedSocket && err.code === 'ECONNRESET') resolve(this.ask(method, path, { headers, body, waitMs }));
                else reject(Object.assign(err, { message: `${method} ${path}: ${err.message}` }));
            });
            req.end(body);
        });
        return within(done, waitMs, `the answer to ${method} ${path}`);
    }

    close() {
        this.agent.destroy();
    }
}

/** The same over one session of HTTP/2, opened anew when the daemon has had enough of it. */
export class Http2 {
    constructor(target) {
        this.target = { port: target.port, tls: false, authHeaders: () => ({}) };
    }

    async #open() {
        this.opening ??= h2connect(this.target);
        const s = await this.opening;
        if (s.closed || s.destroyed) {
            this.opening = null;
            return this.#open();
        }
        return s;
    }

    async ask(method, path, { headers = {}, body } = {}, again = true) {
        const session = await this.#open();
        const lower = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k === 'Host' ? ':authority' : k.toLowerCase(), v]));
        const done = new Promise((resolve, reject) => {
            const stream = session.request(
                { ':method': method, ':path': path, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...lower },
                { endStream: body === undefined },
            );
            let head;
            let trailers;
            const parts = [];
            stream.on('response', (h) => (head = h));
            stream.on('trailers', (t) => (trailers = t));
            stream.on('data', (p) => parts.push(p));
            stream.on('error', () => {});
            stream.on('close', () =>
                head
                    ? resolve({ status: effectiveStatus(head[':status'], head, trailers), headers: head, text: Buffer.concat(parts).toString() })
                    : reject(Object.assign(new Error(`${method} ${path}: reset ${stream.rstCode}`), { lost: true })),
            );
            if (body !== undefined) stream.end(body);
        });
        try {
            return await within(done, 20000, `the answer to ${method} ${path} over HTTP/2`);
        } catch (err) {
            if (!err.lost || !again) throw err;
            return this.ask(method, path, { headers, body }, false); // the session ended under it
        }
    }

    async close() {
        (await this.opening)?.destroy();
    }
}

/**
 * Makes a call and goes away: for calls that are let in, whose answers may wait or stream. What comes within
 * `ms` is returned; silence is an answer as well.
 */
export async function askAndGo(target, method, path, { headers = {}, body = '', ms = 150 } = {}) {
    const c = await RawConn.connect(target);
    const all = { Host: `127.0.0.1:${target.port}`, ...headers };
    if (body.length) Object.assign(all, { 'Content-Length': Buffer.byteLength(body), 'Content-Type': 'application/json' });
    c.send(`${method} ${path} HTTP/1.1\r\n${Object.entries(all).map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body}`);
    await c.until(() => c.held.includes('\r\n\r\n'), ms, 'a head').catch(() => {});
    const m = /^HTTP\/1\.1 (\d{3})/.exec(c.held.toString('latin1'));
    c.destroy();
    return m ? Number(m[1]) : null;
}
