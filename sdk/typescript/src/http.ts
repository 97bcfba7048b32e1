// SPDX-License-Identifier: Apache-2.0
//
// http.ts - HTTP requests to one daemon
//
// An idempotent call is retried when the connection breaks: the daemon's worker may
// be replaced at any time, and the next one is ready within milliseconds. All other
// calls fail with a ConnectionError.

import { type BackoffOptions, backoffDelay, sleep } from './backoff.js';
import { base64Url } from './bytes.js';
import { snakeize } from './camel.js';
import { ConnectionError, errorOfAnswer, HoldfastError, ProtocolError } from './errors.js';
import type { WebSocketClass } from './socket.js';

export interface ClientOptions {
    /** The daemon's URL, such as `http://127.0.0.1:7070`; in a browser, the page's origin by default. */
    url?: string;
    /** The bearer token. A page signed in by a ticket has a cookie instead. */
    token?: string;
    /** Replaces the global `fetch`. */
    fetch?: typeof fetch;
    /** Required where there is no global WebSocket, as on Node 20: `import { WebSocket } from 'ws'`. */
    WebSocket?: WebSocketClass;
    /** Sent with every request. */
    headers?: Record<string, string>;
    /** How idempotent calls are retried; at most 6 times by default. */
    retry?: BackoffOptions;
    /** The longest that one request of wait() waits; 60000 by default. One of waitFor() waits four times as long. Node's fetch and most proxies give up after five minutes. */
    waitSliceMs?: number;
}

type QueryValue = string | number | boolean | null | undefined;

export interface RequestOptions {
    query?: Record<string, QueryValue>;
    /** Sent as JSON, with the names converted to snake_case. */
    json?: unknown;
    /** Sent unchanged. */
    body?: BodyInit;
    headers?: Record<string, string>;
    signal?: AbortSignal;
    redirect?: RequestRedirect;
    /** Whether the call may be retried; true for GET and HEAD by default. */
    repeat?: boolean;
}

const isAbort = (err: unknown, signal?: AbortSignal) => signal?.aborted === true || (err as Error)?.name === 'AbortError';

/** Whether the failure is temporary: the daemon's worker is being replaced, or a gateway reports as much. */
function isPassing(err: unknown): boolean {
    const { code, status } = err as HoldfastError;
    return err instanceof ConnectionError || code === 'shutting_down' || status === 502 || status === 504;
}

export class HttpClient {
    readonly base: string;
    readonly token?: string;
    readonly WebSocket?: WebSocketClass;
    readonly waitSliceMs: number;
    readonly #fetch: typeof fetch;
    readonly #headers: Record<string, string>;
    readonly #retry: BackoffOptions;

    constructor(options: ClientOptions = {}) {
        const here = (globalThis as { location?: { origin?: string } }).location?.origin;
        const url = options.url ?? here;
        if (!url) throw new TypeError('Sandbox requires a url, such as http://127.0.0.1:7070');
        this.base = url.replace(/\/+$/, '');
        this.token = options.token;
        this.WebSocket = options.WebSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
        this.waitSliceMs = options.waitSliceMs ?? 60_000;
        this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
        this.#headers = { ...(options.token ? { Authorization: `Bearer ${options.token}` } : {}), ...options.headers };
        this.#retry = { baseMs: 50, maxMs: 2000, maxAttempts: 6, ...options.retry };
    }

    url(path: string, query: Record<string, QueryValue> = {}): string {
        const q = new URLSearchParams();
        for (const [name, value] of Object.entries(query)) {
            if (value !== undefined && value !== null) q.set(name, String(value));
        }
        const text = q.toString();
        return `${this.base}${path}${text ? `?${text}` : ''}`;
    }

    webSocketUrl(path: string, query: Record<string, QueryValue> = {}): string {
        return this.url(path, query).replace(/^http/, 'ws');
    }

    /** The WebSocket subprotocols. They include the token, because a browser cannot set headers. */
    get protocols(): string[] {
        return ['holdfast.v1', ...(this.token ? [`holdfast.bearer.${base64Url(this.token)}`] : [])];
    }

    /** Those of every request, with the token. */
    get headers(): Record<string, string> {
        return this.#headers;
    }

    /** One request without a retry; a response of any status but an error is returned, also that of an upgrade. */
    fetchOnce(method: string, path: string, options: RequestOptions): Promise<Response> {
        return this.#once(method, path, options);
    }

    /** Returns a successful response; throws otherwise. */
    async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
        const repeat = options.repeat ?? (method === 'GET' || method === 'HEAD');
        const most = repeat ? (this.#retry.maxAttempts ?? 6) : 0;
        for (let attempt = 0; ; attempt++) {
            try {
                return await this.#once(method, path, options);
            } catch (err) {
                if (!isPassing(err) || attempt >= most) throw err;
            }
            await sleep(backoffDelay(attempt, this.#retry), options.signal);
        }
    }

    async #once(method: string, path: string, o: RequestOptions): Promise<Response> {
        const headers: Record<string, string> = { ...this.#headers, ...o.headers };
        if (o.json !== undefined) headers['Content-Type'] = 'application/json';
        const body = o.json === undefined ? o.body : JSON.stringify(snakeize(o.json));
        let answer: Response;
        try {
            // Without `duplex`, Node's fetch refuses a stream as the body.
            const half = body instanceof ReadableStream ? { duplex: 'half' } : {};
            answer = await this.#fetch(this.url(path, o.query), { method, headers, body, signal: o.signal, redirect: o.redirect, ...half } as RequestInit);
            if (answer.ok || answer.status === 101) return answer;
            throw errorOfAnswer(answer.status, await answer.text());
        } catch (err) {
            if (err instanceof HoldfastError || isAbort(err, o.signal)) throw err;
            throw new ConnectionError(`${method} ${path}: no response from ${this.base}`, { code: 'no_answer', cause: err });
        }
    }

    /** Returns the JSON of a successful response. The connection may also break during the body, so a retry covers it. */
    async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
        const most = (options.repeat ?? method === 'GET') ? (this.#retry.maxAttempts ?? 6) : 0;
        for (let attempt = 0; ; attempt++) {
            const answer = await this.request(method, path, options);
            try {
                return JSON.parse(await answer.text()) as T;
            } catch (err) {
                if (isAbort(err, options.signal)) throw err;
                if (err instanceof SyntaxError) {
                    throw new ProtocolError(`${method} ${path}: the response is not JSON`, { code: 'protocol', cause: err });
                }
                if (attempt >= most) throw new ConnectionError(`${method} ${path}: the connection was lost`, { code: 'no_answer', cause: err });
            }
        }
    }
}
