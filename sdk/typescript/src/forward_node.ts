// SPDX-License-Identifier: Apache-2.0
//
// forward_node.ts - the same for the `upgrade` event of Node's http server: two sockets, joined byte by byte
//
// Nothing parses the frames, so back-pressure is that of the sockets: a browser that does not read stops the daemon's viewer.

import { type ForwardOptions, isProxiedSecure, protocolOf, type Refusal, refusalOfError, refusalOfUpgrade, SetupError, targetOf } from './forward.js';
import { ConnectionError, errorOfAnswer } from './errors.js';
import type { HttpClient } from './http.js';

const HANDSHAKE_MS = 10_000;
const REFUSAL_MAX_BYTES = 64 * 1024;

/** The part of `http.IncomingMessage` that is used. */
export interface UpgradeRequest {
    method?: string;
    url?: string;
    headers: Record<string, string | string[] | undefined>;
}
/** The part of `net.Socket` and `stream.Duplex` that is used. */
export interface UpgradeSocket {
    readonly destroyed: boolean;
    /** Of `tls.TLSSocket`. */
    readonly encrypted?: boolean;
    on(event: string, listener: (...args: never[]) => void): unknown;
    write(data: string | Uint8Array): boolean;
    end(data?: string): unknown;
    destroy(): unknown;
    pipe(to: never): unknown;
    setNoDelay?(on: boolean): unknown;
    setTimeout?(ms: number): unknown;
}

interface ClientRequest {
    on(event: 'upgrade', listener: (response: Response, socket: UpgradeSocket, head: Uint8Array) => void): this;
    on(event: 'response', listener: (response: Response) => void): this;
    on(event: 'error' | 'timeout', listener: (err: Error) => void): this;
    setTimeout(ms: number, listener: () => void): this;
    end(): void;
    destroy(err?: Error): void;
}
interface Response {
    statusCode: number;
    headers: Record<string, string | string[] | undefined>;
    on(event: 'data', listener: (bytes: Uint8Array) => void): this;
    on(event: 'end' | 'close', listener: () => void): this;
    destroy(): void;
}
interface NodeHttp {
    request(url: string, options: object): ClientRequest;
    STATUS_CODES: Record<number, string | undefined>;
}

const one = (v: string | string[] | undefined) => (Array.isArray(v) ? v[0] : v) ?? null;

function refuse(socket: UpgradeSocket, { status, message, headers }: Refusal, names: NodeHttp['STATUS_CODES']): false {
    const lines = Object.entries({ 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(message.length + 1), ...headers });
    if (!headers?.Connection) lines.push(['Connection', 'close']);
    socket.end(`HTTP/1.1 ${status} ${names[status] ?? ''}\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n${message}\n`);
    return false;
}

/** The headers of the handshake; the browser's others stay here. */
function headersOf(http: HttpClient, from: UpgradeRequest['headers']): Record<string, string> {
    const out: Record<string, string> = { ...http.headers, Connection: 'Upgrade', Upgrade: 'websocket' };
    for (const name of ['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions']) {
        const value = one(from[name]);
        if (value !== null) out[name] = value;
    }
    const protocol = protocolOf(one(from['sec-websocket-protocol']));
    if (protocol !== undefined) out['sec-websocket-protocol'] = protocol;
    return out;
}

function bodyOf(response: Response): Promise<string> {
    return new Promise((done) => {
        let text = '';
        const decoder = new TextDecoder();
        response.on('data', (bytes) => {
            text += decoder.decode(bytes, { stream: true });
            if (text.length > REFUSAL_MAX_BYTES) response.destroy();
        });
        response.on('close', () => done(text));
    });
}

type Opened = { socket: UpgradeSocket; head: Uint8Array; headers: Response['headers'] };

function dial(node: NodeHttp, url: string, headers: Record<string, string>, client: UpgradeSocket): Promise<Opened> {
    return new Promise((done, fail) => {
        const lost = (cause: unknown) => fail(new ConnectionError('no response from the daemon', { code: 'no_answer', cause }));
        const request = node.request(url, { headers, agent: false });
        request.on('upgrade', (response, socket, head) => done({ socket, head, headers: response.headers }));
        request.on('response', (response) => void bodyOf(response).then((text) => fail(errorOfAnswer(response.statusCode, text))));
        request.on('error', lost);
        request.setTimeout(HANDSHAKE_MS, () => request.destroy(new Error('timeout')));
        client.on('close', () => request.destroy(new Error('the browser is gone')));
        request.end();
    });
}

function joinSockets(a: UpgradeSocket, b: UpgradeSocket): void {
    for (const [from, to] of [[a, b], [b, a]] as const) {
        from.setNoDelay?.(true);
        from.setTimeout?.(0);
        from.on('error', () => to.destroy());
        // An end passes through the pipe, behind the bytes before it; a socket that just closes has no more.
        from.on('close', () => void (to.destroyed || to.end()));
        from.pipe(to as never);
    }
}

/** A bundler for browsers must not see a literal name here: it would look for the module and fail. */
const nodeModule = (name: 'http' | 'https') => import(`node:${name}`) as Promise<NodeHttp>;

/** Resolves with true when the browser is connected, with false when it has been refused. */
export async function forwardUpgrade(
    http: HttpClient,
    req: UpgradeRequest,
    socket: UpgradeSocket,
    head: Uint8Array,
    options: ForwardOptions,
    process: () => Promise<string>,
): Promise<boolean> {
    socket.on('error', () => socket.destroy()); // before anything else: without it the server would end
    const client = http.base.startsWith('https:') ? 'https' : 'http';
    const [node, { STATUS_CODES }] = await Promise.all([nodeModule(client), nodeModule('http')]);
    const h = req.headers;
    const secure = socket.encrypted === true || isProxiedSecure(one(h['x-forwarded-proto']));
    const names = { upgrade: one(h.upgrade), origin: one(h.origin), host: one(h.host), secure };
    const wrong = refusalOfUpgrade(req.method ?? 'GET', names, options.origins);
    if (wrong) return refuse(socket, wrong, STATUS_CODES);
    const target = req.url ?? '/';
    if (!URL.canParse(target, 'http://x')) return refuse(socket, { status: 400, message: 'the target of the request is not valid' }, STATUS_CODES);
    try {
        const { path, query } = await targetOf(http, await process(), new URL(target, 'http://x').searchParams, options);
        const up = await dial({ ...node, STATUS_CODES }, http.url(path, query), headersOf(http, h), socket);
        up.socket.on('error', () => up.socket.destroy());
        if (socket.destroyed) return up.socket.destroy(), false;
        const lines = ['sec-websocket-accept', 'sec-websocket-protocol', 'sec-websocket-extensions'].flatMap((n) => (one(up.headers[n]) === null ? [] : [`${n}: ${one(up.headers[n])}\r\n`]));
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines.join('')}\r\n`);
        if (up.head.length > 0) socket.write(up.head);
        if (head.length > 0) up.socket.write(head);
        joinSockets(socket, up.socket);
        return true;
    } catch (err) {
        if (err instanceof SetupError) {
            refuse(socket, { status: 500, message: 'the server is not set up' }, STATUS_CODES);
            throw err;
        }
        return refuse(socket, refusalOfError(err), STATUS_CODES);
    }
}
