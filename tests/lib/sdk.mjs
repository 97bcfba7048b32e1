// SPDX-License-Identifier: Apache-2.0
//
// sdk.mjs - the built SDK, and a sandbox of it for a daemon under test

import WebSocket from 'ws';
import * as sdk from '../../sdk/typescript/dist/index.js';

export * from '../../sdk/typescript/dist/index.js';
export { HoldfastAddon, SandboxAddon } from '../../sdk/typescript/dist/xterm.js';
export { WebSocket };

/** Sockets that can be cut from outside, as a broken network does. */
export class CuttableWebSocket extends WebSocket {
    static open = new Set();
    constructor(...args) {
        super(...args);
        CuttableWebSocket.open.add(this);
        this.on('close', () => CuttableWebSocket.open.delete(this));
    }
    static cutAll() {
        for (const ws of CuttableWebSocket.open) ws.terminate();
    }
}

/** The client of a user of this role. */
export const sandboxOf = (d, { role = 'own', ...more } = {}) =>
    new sdk.Sandbox({ url: d.url, token: d.tokens[role], WebSocket, ...more });

/** A fetch that gives up when there is no answer for so long: Node's does after 5 minutes, and so do proxies. */
export const impatient = (ms) => async (url, options) => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), ms);
    const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
    try {
        return await fetch(url, { ...options, signal });
    } catch (err) {
        throw stop.signal.aborted ? new TypeError('fetch failed', { cause: new Error('Headers Timeout Error') }) : err;
    } finally {
        clearTimeout(timer);
    }
};

/** Everything up to the exit: bytes, exits, and what else came. */
export async function collect(connection) {
    const parts = [];
    const seen = [];
    for await (const event of connection.events()) {
        seen.push(event);
        if (event.type === 'output') parts.push(event.data);
    }
    return { bytes: Buffer.concat(parts), seen, exits: seen.filter((e) => e.type === 'exit') };
}

/** Reads on until the text has come. */
export async function readUntil(connection, text) {
    let all = '';
    for await (const event of connection.events()) {
        if (event.type === 'output') all += Buffer.from(event.data).toString('utf8');
        if (all.includes(text)) return all;
    }
    throw new Error(`the connection ended before ${JSON.stringify(text)}: ${all}`);
}
