// SPDX-License-Identifier: Apache-2.0
//
// http.mjs - well-formed requests over TCP, TLS or a unix socket
//
// Malformed ones are raw.mjs's business. Every call has a deadline.

import http from 'node:http';
import https from 'node:https';
import { openConnections } from './raw.mjs';

/** A finished answer. `json` is parsed only when the type says so. */
export class Answer {
    constructor(res, body) {
        this.status = res.statusCode;
        this.reason = res.statusMessage;
        this.headers = res.headers;
        this.rawHeaders = res.rawHeaders;
        this.body = body;
    }

    get type() {
        return (this.headers['content-type'] ?? '').split(';')[0].trim();
    }

    get text() {
        return this.body.toString('utf8');
    }

    get json() {
        if (!/^application\/([a-z.]+\+)?json$/.test(this.type)) {
            throw new Error(`not JSON but ${this.type || 'no type'}: ${this.text.slice(0, 200)}`);
        }
        return JSON.parse(this.text);
    }
}

/** Opens a request; resolves with the IncomingMessage when its head has come. */
export function open(target, method, path, { headers = {}, body, timeoutMs = 30000, agent, localAddress } = {}) {
    const secure = Boolean(target.tls);
    const options = {
        method,
        localAddress,
        path,
        headers,
        agent: agent ?? target.agent,
        rejectUnauthorized: false,
        ...(target.socketPath ? { socketPath: target.socketPath } : { host: target.host, port: target.port }),
    };
    return new Promise((resolve, reject) => {
        const req = (secure ? https : http).request(options);
        const late = setTimeout(
            () => req.destroy(new Error(`no answer to ${method} ${path} in ${timeoutMs} ms`)),
            timeoutMs,
        );
        req.on('response', (res) => {
            clearTimeout(late);
            if (!options.agent) {
                openConnections.add(req);
                res.on('close', () => openConnections.delete(req));
            }
            resolve(res);
        });
        req.on('upgrade', (res, socket) => {
            clearTimeout(late);
            socket.destroy();
            reject(new Error(`unexpected upgrade of ${method} ${path}`));
        });
        req.on('error', (err) => {
            clearTimeout(late);
            err.message = `${method} ${path}: ${err.message}`;
            reject(err);
        });
        if (body && typeof body.pipe === 'function') body.pipe(req);
        else req.end(body);
    });
}

/** Reads an opened answer to its end. */
export function collect(res, timeoutMs = 30000) {
    return new Promise((resolve, reject) => {
        const parts = [];
        const late = setTimeout(() => res.destroy(new Error(`answer did not end in ${timeoutMs} ms`)), timeoutMs);
        res.on('data', (d) => parts.push(d));
        res.on('end', () => {
            clearTimeout(late);
            if (!res.complete) reject(new Error('answer was cut short'));
            else resolve(new Answer(res, Buffer.concat(parts)));
        });
        res.on('error', (err) => {
            clearTimeout(late);
            reject(err);
        });
    });
}

/** One whole request and answer. `json` sets the body and its type. */
export async function request(target, method, path, options = {}) {
    const { json, timeoutMs = 30000, ...rest } = options;
    const headers = { ...rest.headers };
    if (json !== undefined) {
        rest.body = typeof json === 'string' || Buffer.isBuffer(json) ? json : JSON.stringify(json);
        headers['Content-Type'] ??= 'application/json';
    }
    if (rest.body !== undefined && typeof rest.body.pipe !== 'function') {
        headers['Content-Length'] ??= Buffer.byteLength(rest.body);
    }
    const res = await open(target, method, path, { ...rest, headers, timeoutMs });
    return collect(res, timeoutMs);
}
