// SPDX-License-Identifier: Apache-2.0
//
// forward.ts - passes a browser's WebSocket upgrade on to a terminal, so that the token stays on the server
//
// The browser speaks the daemon's protocol (attach(), HoldfastAddon) to the app's own URL. What it sends besides the
// parameters of a viewer, its cookies and credentials above all, does not reach the daemon, and the app's checks come before.

import { backoffDelay, sleep } from './backoff.js';
import { AuthError, ConnectionError, HoldfastError, ConflictError, NotFoundError } from './errors.js';
import type { HttpClient } from './http.js';
import type { WebSocketLike } from './socket.js';

/** What a viewer may choose; the rest of the browser's query is the app's own. */
const VIEWER_PARAMETERS = ['since', 'ack', 'client', 'name', 'mode', 'rows', 'cols', 'terminal', 'raw', 'output'];
const PAUSE_BYTES = 1024 * 1024;
/** A socket that cannot be paused is closed when so much is unsent; its viewer reconnects at its offset. */
const UNSENT_MAX_BYTES = 16 * 1024 * 1024;
const POLL_MS = 20;
const OPEN_MS = 10_000;
const PROTOCOL = 'holdfast.v1';
/** How often a terminal with the tag that another request starts is looked for again; a few seconds in all. */
const START_TRIES = 8;
const CLIENT_BYTES = 8;

export interface ForwardOptions {
    /** The process to attach to: an id, `tag:NAME` or `pid:N`. */
    process?: string;
    /** `ro`: the browser may only watch. */
    mode?: 'rw' | 'ro';
    /** The name of this viewer in the list of viewers. Browsers of different names are never the same client. */
    name?: string;
    /** The key for the ids of clients; random for each Sandbox by default. With one, browsers are the same clients after a restart of the server. */
    secret?: string;
    /** Pages that may connect, such as `https://app.example`; by default those of the request's own host, by https alone if the request came by it. `*` permits all. */
    origins?: string[] | '*';
    /**
     * Upgrades the request where the runtime has no way that we know: not needed on Workers and Deno. The response must name
     * `options.protocol` as the subprotocol; it is absent if the browser offers none of ours.
     */
    upgrade?: (request: Request, options: { protocol?: string }) => { socket: WebSocketLike; response: Response };
}

/** The app's own mistake, which its server reports; whatever a request can cause is a refusal. */
export class SetupError extends TypeError {}

/** The subprotocol for the browser: a browser fails if it gets none, or one that it did not offer. */
export const protocolOf = (offered: string | null) => (offered?.split(',').some((p) => p.trim() === PROTOCOL) ? PROTOCOL : undefined);

/** Why an upgrade is refused, as an HTTP response. */
export interface Refusal {
    status: number;
    message: string;
    headers?: Record<string, string>;
}

export interface UpgradeHeaders {
    upgrade: string | null;
    origin: string | null;
    host: string | null;
    /** The browser's connection is encrypted. Otherwise it may be, before a proxy that does not say so. */
    secure: boolean;
}

/** A page of http on the same host is not the same origin: anybody on the network can be its author. */
function isSameOrigin({ origin, host, secure }: UpgradeHeaders): boolean {
    const schemes = secure ? ['https'] : ['https', 'http'];
    return schemes.some((scheme) => URL.canParse(`${scheme}://${host}`) && new URL(`${scheme}://${host}`).origin === origin);
}

/** What a proxy before the server says of the browser's connection. It makes the check only stricter, so it need not be trusted. */
export const isProxiedSecure = (proto: string | null) => proto?.split(',')[0]!.trim().toLowerCase() === 'https';

export function refusalOfUpgrade(method: string, h: UpgradeHeaders, origins?: string[] | '*'): Refusal | null {
    if (method !== 'GET' || h.upgrade?.toLowerCase() !== 'websocket') {
        return { status: 426, message: 'this is a WebSocket: send an upgrade', headers: { Upgrade: 'websocket', Connection: 'Upgrade' } };
    }
    if (h.origin === null || origins === '*') return null;
    if (origins ? origins.includes(h.origin) : isSameOrigin(h)) return null;
    return { status: 403, message: 'this page may not connect; add its origin to `origins`' };
}

/** The daemon's problem is the app's, so 401 and 403 (the server's token) become 502; no detail is passed on but "not found". */
export function refusalOfError(err: unknown): Refusal {
    const { status } = err as HoldfastError;
    if (err instanceof NotFoundError) return { status: 404, message: 'no such terminal' };
    if (err instanceof AuthError || err instanceof ConnectionError || !(err instanceof HoldfastError)) {
        return { status: 502, message: 'the sandbox cannot be reached' };
    }
    return { status: status && status >= 400 ? status : 502, message: `the sandbox refused the connection (${err.code})` };
}

const keys = new WeakMap<HttpClient, Uint8Array<ArrayBuffer>>();

function keyOf(http: HttpClient, secret?: string): Uint8Array<ArrayBuffer> {
    if (secret === '') throw new SetupError('`secret` must not be empty');
    if (secret !== undefined) return new TextEncoder().encode(secret) as Uint8Array<ArrayBuffer>;
    const key = keys.get(http) ?? crypto.getRandomValues(new Uint8Array(32));
    keys.set(http, key);
    return key;
}

/**
 * The id of a browser's client at the daemon. The daemon shows ids to all browsers, because all are of one grant, and whoever
 * connects with an id replaces its owner's connection. So what a browser sends is hashed: no id that is shown has a known source.
 */
async function clientOf(http: HttpClient, client: string, { name, secret }: ForwardOptions): Promise<string> {
    const key = await crypto.subtle.importKey('raw', keyOf(http, secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(JSON.stringify([name ?? null, client])));
    return `c_${Array.from(new Uint8Array(mac, 0, CLIENT_BYTES), (b) => b.toString(16).padStart(2, '0')).join('')}`;
}

/** The path and query of the daemon's WebSocket for a browser's request. */
export async function targetOf(http: HttpClient, process: string, query: URLSearchParams, options: ForwardOptions): Promise<{ path: string; query: Record<string, string> }> {
    const out: Record<string, string> = {};
    for (const name of VIEWER_PARAMETERS) {
        const value = query.get(name);
        if (value !== null) out[name] = value;
    }
    if (options.mode === 'ro') out.mode = 'ro';
    if (options.name !== undefined) out.name = options.name;
    if (out.client !== undefined) out.client = await clientOf(http, out.client, options);
    return { path: `/v1/processes/${encodeURIComponent(process)}/connect`, query: out };
}

/** The process to attach to; one with the tag is started unless it runs. */
export async function processOf(http: HttpClient, options: ForwardOptions & { tag?: string }, create: () => Promise<{ id: string }>): Promise<string> {
    const { process, tag } = options;
    if (process !== undefined) return process;
    if (tag === undefined) throw new SetupError('terminal() requires `process`, or the `tag` of a terminal to find or to start');
    for (let attempt = 0; ; attempt++) {
        const id = await runningWith(http, tag);
        if (id !== null) return id;
        try {
            return (await create()).id;
        } catch (err) {
            // Another request was faster, and its terminal may still be starting.
            if (!(err instanceof ConflictError) || attempt === START_TRIES) throw err;
        }
        await sleep(backoffDelay(attempt, { baseMs: POLL_MS }));
    }
}

/** `tag:NAME` is also the latest that has exited. */
async function runningWith(http: HttpClient, tag: string): Promise<string | null> {
    try {
        const { id, status } = await http.json<{ id: string; status: string }>('GET', `/v1/processes/${encodeURIComponent(`tag:${tag}`)}`);
        return status === 'running' ? id : null;
    } catch (err) {
        if (err instanceof NotFoundError) return null;
        throw err;
    }
}

// --- two WebSockets, joined ---

interface Pausable extends WebSocketLike {
    readonly bufferedAmount?: number;
    pause?(): void;
    resume?(): void;
}
type Data = string | ArrayBuffer;

/** Codes that close() does not accept say that no close frame came, or only what the runtime saw. */
function closeAs(socket: WebSocketLike, code: number, reason: string): void {
    const text = new TextEncoder().encode(reason).length <= 123 ? reason : '';
    for (const as of [code, 1011, undefined]) {
        try {
            if (as === undefined) socket.close();
            else (socket as { close(code: number, reason: string): void }).close(as, text);
            return;
        } catch {
            // not one that this runtime accepts
        }
    }
}

/** Moves messages from one socket to the other, from now on, and its end. */
class Direction {
    readonly #from: Pausable;
    #to: Pausable | null = null;
    #held: Data[] = [];
    #heldBytes = 0;
    #closed: [number, string] | null = null;
    #paused = false;

    constructor(from: Pausable) {
        this.#from = from;
        from.binaryType = 'arraybuffer';
        from.addEventListener('message', (e: { data: Data }) => this.#push(e.data));
        from.addEventListener('close', (e: { code?: number; reason?: string }) => this.#end(e.code ?? 1006, e.reason ?? ''));
        from.addEventListener('error', () => setTimeout(() => this.#end(1006, ''), 0));
    }

    join(to: Pausable): void {
        this.#to = to;
        if (to.readyState === 0) to.addEventListener('open', () => this.#flush());
        else this.#flush();
    }

    #push(data: Data): void {
        this.#held.push(data);
        this.#heldBytes += typeof data === 'string' ? data.length : data.byteLength;
        this.#flush();
        const unsent = this.#heldBytes + (this.#to?.bufferedAmount ?? 0);
        if (unsent > PAUSE_BYTES) this.#pause();
        if (unsent > UNSENT_MAX_BYTES) {
            this.#held = [];
            for (const socket of [this.#from, this.#to]) if (socket) closeAs(socket, 1013, 'too slow');
        }
    }

    #flush(): void {
        if (!this.#to || this.#to.readyState !== 1) {
            if (this.#to && this.#closed) closeAs(this.#to, ...this.#closed);
            return;
        }
        for (const data of this.#held.splice(0)) this.#to.send(data);
        this.#heldBytes = 0;
        if (this.#closed) closeAs(this.#to, ...this.#closed);
    }

    #pause(): void {
        if (this.#paused || !this.#from.pause) return;
        this.#paused = true;
        this.#from.pause();
        const timer = setInterval(() => {
            if (this.#heldBytes + (this.#to?.bufferedAmount ?? 0) > PAUSE_BYTES / 2 && this.#to?.readyState === 1) return;
            clearInterval(timer);
            this.#paused = false;
            this.#from.resume?.();
        }, POLL_MS);
    }

    #end(code: number, reason: string): void {
        if (this.#closed) return;
        this.#closed = [code, reason];
        this.#flush();
    }
}

function opened(socket: WebSocketLike): Promise<boolean> {
    return new Promise((done) => {
        const timer = setTimeout(() => done(false), OPEN_MS);
        const end = (ok: boolean) => () => (clearTimeout(timer), done(ok));
        socket.addEventListener('open', end(true));
        socket.addEventListener('close', end(false));
        socket.addEventListener('error', end(false));
    });
}

const respond = ({ status, message, headers }: Refusal) =>
    new Response(`${message}\n`, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } });

type Upgrade = NonNullable<ForwardOptions['upgrade']>;
interface Runtime {
    Deno?: { upgradeWebSocket?: Upgrade };
    WebSocketPair?: unknown;
}

async function join(http: HttpClient, request: Request, url: string, protocols: string[], upgrade: Upgrade): Promise<Response> {
    if (!http.WebSocket) throw new SetupError('this runtime has no WebSocket: pass one, as in new Sandbox({ url, token, WebSocket })');
    const upstream = new http.WebSocket(url, protocols) as Pausable;
    const down = new Direction(upstream);
    if (!(await opened(upstream))) {
        closeAs(upstream, 1000, '');
        return respond({ status: 502, message: 'the sandbox cannot be reached' });
    }
    const protocol = protocolOf(request.headers.get('Sec-WebSocket-Protocol'));
    const { socket, response } = upgrade(request, protocol === undefined ? {} : { protocol });
    new Direction(socket).join(upstream);
    down.join(socket);
    return response;
}

/** For servers that turn a Request into a Response. */
export async function forwardRequest(http: HttpClient, request: Request, options: ForwardOptions, process: () => Promise<string>): Promise<Response> {
    const h = request.headers;
    const here = new URL(request.url);
    const secure = here.protocol === 'https:' || isProxiedSecure(h.get('X-Forwarded-Proto'));
    const names = { upgrade: h.get('Upgrade'), origin: h.get('Origin'), host: h.get('Host') ?? here.host, secure };
    const wrong = refusalOfUpgrade(request.method, names, options.origins);
    if (wrong) return respond(wrong);
    const runtime = globalThis as Runtime;
    const upgrade = options.upgrade ?? runtime.Deno?.upgradeWebSocket;
    if (!upgrade && !runtime.WebSocketPair) {
        throw new SetupError('this runtime cannot upgrade a Request: pass `upgrade`, or use terminal.upgrade(req, socket, head) on Node and Bun');
    }
    try {
        const id = await process();
        const { path, query } = await targetOf(http, id, here.searchParams, options);
        if (upgrade) return await join(http, request, http.webSocketUrl(path, query), http.protocols, upgrade);
        // On Workers, the response of an upgraded fetch is the upgraded response.
        const protocol = protocolOf(h.get('Sec-WebSocket-Protocol'));
        const headers = { Upgrade: 'websocket', ...(protocol === undefined ? {} : { 'Sec-WebSocket-Protocol': protocol }) };
        const response = await http.fetchOnce('GET', path, { query, headers, redirect: 'manual' });
        if (response.status === 101) return response;
        await response.body?.cancel();
        return respond({ status: 502, message: 'the sandbox did not accept the WebSocket' });
    } catch (err) {
        if (err instanceof SetupError) throw err;
        return respond(refusalOfError(err));
    }
}
