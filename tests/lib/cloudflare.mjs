// SPDX-License-Identifier: Apache-2.0
//
// cloudflare.mjs - the published Cloudflare packages outside of a Worker
//
// The SDK is written for Workers: it imports `cloudflare:workers`, and a package of its own without
// file extensions. A loader hook gives it an empty stand-in and the extensions; nothing of it is changed.
// The addons need a few globals of a page.

import { register } from 'node:module';
import xterm from '@xterm/headless';
import WebSocket from 'ws';
import { waitUntil } from './wait.mjs';

const HOOKS = `
const WORKERS = 'data:text/javascript,' + encodeURIComponent(
    'export class RpcTarget {} export class DurableObject {} export class WorkerEntrypoint {} export const env = {}; export const tracing = {};');
export async function resolve(specifier, context, next) {
    if (specifier === 'cloudflare:workers') return { url: WORKERS, shortCircuit: true };
    try {
        return await next(specifier, context);
    } catch (err) {
        if (specifier.startsWith('.') && !specifier.endsWith('.js')) return next(specifier + '.js', context);
        throw err;
    }
}`;

let sdk;
/** The SDK of the stable generation. */
export function stableSdk() {
    if (!sdk) {
        register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
        sdk = import('cf-sandbox');
    }
    return sdk;
}

/** Its client of the routes, by HTTP or through the multiplex. */
export async function clientOf(d, { websocket = false, base = `${d.url}/dialects/cloudflare`, role = 'own', socket = WebSocket } = {}) {
    const { SandboxClient } = await stableSdk();
    globalThis.WebSocket = socket;
    return new SandboxClient({
        baseUrl: base,
        defaultHeaders: { Authorization: `Bearer ${d.tokens[role]}` },
        ...(websocket ? { transportMode: 'websocket', wsUrl: `${base.replace('http', 'ws')}/ws?access_token=${d.tokens[role]}` } : {}),
    });
}

/** All events of a stream. */
export async function eventsOf(stream) {
    const { parseSSEStream } = await stableSdk();
    const events = [];
    for await (const e of parseSSEStream(await stream)) events.push(e);
    return events;
}

/** Sockets of the addons, so that they can be cut as a broken network does, and what came through them. */
export class Socket extends WebSocket {
    static all = [];
    constructor(...args) {
        super(...args);
        this.received = [];
        this.sent = [];
        Socket.all.push(this);
        this.on('message', (m, binary) => this.received.push(binary ? Buffer.from(m) : JSON.parse(m)));
    }
    send(data, ...more) {
        this.sent.push(data);
        super.send(data, ...more);
    }
}

const open = new Set();
/** After a test: no addon comes back by itself, and no socket is left. */
export function closeAll() {
    for (const addon of open) addon.dispose();
    open.clear();
    for (const ws of Socket.all.splice(0)) ws.terminate();
}

/** A terminal with an addon in it, connected where `url(params)` says. */
export function page(Addon, d, url, { cols = 80, rows = 24 } = {}) {
    globalThis.WebSocket = Socket;
    globalThis.location = { protocol: 'http:', host: `${d.host}:${d.port}` };
    const term = new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 1000 });
    term.focus = () => {}; // headless has none, and the addon calls it
    const states = [];
    const errors = [];
    const addon = new Addon({
        getWebSocketUrl: (p) => `${p.origin}/dialects/cloudflare${url(p)}&access_token=${d.token}`,
        onStateChange: (state, error) => (error ? errors.push(error.message) : states.push(state)),
    });
    term.loadAddon(addon);
    open.add(addon);
    const self = {
        term,
        addon,
        states,
        errors,
        text: () => Array.from({ length: term.buffer.active.length }, (_, y) => term.buffer.active.getLine(y).translateToString(true)).join('\n').trimEnd(),
        shows: (what) =>
            waitUntil(() => self.text().includes(what), `${JSON.stringify(what)} on the screen`).catch((err) => {
                throw new Error(`${err.message}; it shows:\n${self.text()}\n${states.join()} ${errors.join()}`);
            }),
        connected: (times = 1) => waitUntil(() => states.filter((s) => s === 'connected').length >= times, 'connected'),
        type: (text) => term.input(text),
        /** The latest; with several pages, of the one that dialled last. */
        socket: () => Socket.all.at(-1),
    };
    return self;
}
