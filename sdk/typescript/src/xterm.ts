// SPDX-License-Identifier: Apache-2.0
//
// xterm.ts - an xterm.js addon that shows a terminal of a holdfast daemon
//
// It has the options and methods of Cloudflare's SandboxAddon, and is also exported
// under that name. In addition, it resumes at the exact byte after a reconnect, so
// that nothing is drawn twice; it acknowledges output when xterm has parsed it; and
// it suppresses the terminal's replies to queries in replayed output.

import { base64Url, encode } from './bytes.js';
import { Connection, type ConnectionState as CoreState, type Dialer, type StateInfo } from './connection.js';
import { errorOfAnswer } from './errors.js';
import type { ListenerEvent } from './events.js';
import { probePath } from './handshake.js';
import type { WebSocketClass } from './socket.js';
import type { ProcessStatus } from './status.js';

interface Disposable {
    dispose(): void;
}
/** The part of xterm's Terminal that we use; @xterm/headless has it too. */
export interface TerminalLike {
    readonly rows: number;
    readonly cols: number;
    write(data: string | Uint8Array, callback?: () => void): void;
    resize(cols: number, rows: number): void;
    focus?(): void;
    onData(listener: (data: string) => void): Disposable;
    onBinary(listener: (data: string) => void): Disposable;
    onResize(listener: (size: { rows: number; cols: number }) => void): Disposable;
}

export type ConnectionState = 'disconnected' | 'connecting' | 'connected';

export interface ConnectionTarget {
    sandboxId?: string;
    sessionId?: string;
    /** A process: its id, `tag:NAME` or `pid:N`. */
    processId?: string;
}

export interface HoldfastAddonOptions {
    /** Returns the URL for each attempt. A path that ends in `/terminal` starts a shell once; later attempts attach to that shell. */
    getWebSocketUrl?: (params: { sandboxId: string; sessionId?: string; origin: string }) => string;
    /** The daemon's URL, in place of `getWebSocketUrl`; the page's origin by default. */
    url?: string;
    token?: string;
    /** true by default. */
    reconnect?: boolean;
    onStateChange?: (state: ConnectionState, error?: Error, info?: StateInfo) => void;
    /** A connection on which nothing is received for about this long is considered lost. The default is 45000; 0 disables the check. */
    silenceMs?: number;
    /** `ro` is read-only. The default is `rw`. */
    mode?: 'rw' | 'ro';
    /** Where to start; `screen` by default. */
    since?: number | string;
    /** A client id that stays the same across reloads. */
    client?: string;
    /** This viewer's name in the list of viewers; its address by default. */
    name?: string;
    /** How long the size must be unchanged before it is sent; 100 by default. */
    resizeDelayMs?: number;
    /** Resize to the terminal's size when another viewer's window sets it; true by default. */
    followSize?: boolean;
    /** Focus the terminal when connected; true by default. */
    focus?: boolean;
    onExit?: (status: ProcessStatus) => void;
    /** Called for every event of the connection, after the addon has handled it. */
    onEvent?: (event: ListenerEvent) => void;
    WebSocket?: WebSocketClass;
}

// The replies that a terminal sends by itself: device attributes, status and position reports, modes, sizes, colours, version.
const ANSWER = /^(?:\x1b\[(?:[?>=]?[\d;]*\$?[cnRyt]|\?\d+u)|\x1b[P\]][^\x07\x1b]*(?:\x07|\x1b\\))+$/;
/** Aborts an incomplete escape sequence and resets the terminal, in order with the stream. */
const RESET = '\x18\x1bc';
const SPAWN_QUERY = ['command', 'args', 'cwd', 'user', 'tag', 'label', 'session_id', 'on_detach'];

function latin1(text: string): Uint8Array {
    return Uint8Array.from(text, (c) => c.charCodeAt(0) & 0xff);
}

/** The page's origin, as a WebSocket URL. */
function origin(): string {
    const at = (globalThis as { location?: { protocol: string; host: string } }).location;
    return at ? `${at.protocol === 'https:' ? 'wss:' : 'ws:'}//${at.host}` : '';
}

export class HoldfastAddon {
    readonly #options: HoldfastAddonOptions;
    #terminal: TerminalLike | undefined;
    #disposables: Disposable[] = [];
    #connection: Connection | undefined;
    #target: ConnectionTarget = {};
    #state: ConnectionState = 'disconnected';
    #resizeTimer: ReturnType<typeof setTimeout> | undefined;
    /** xterm has not yet parsed all replayed output; its replies to queries are suppressed until then. */
    #replaying = false;
    #epoch = 0;
    #adopting = false;
    /** We have drawn on the screen before. */
    #drew = false;

    constructor(options: HoldfastAddonOptions = {}) {
        this.#options = options;
    }

    get state(): ConnectionState {
        return this.#state;
    }
    get sandboxId(): string | undefined {
        return this.#target.sandboxId;
    }
    get sessionId(): string | undefined {
        return this.#target.sessionId;
    }
    /** Gives access to what the addon does not wrap: signals, viewers, pending input. */
    get connection(): Connection | undefined {
        return this.#connection;
    }

    activate(terminal: TerminalLike): void {
        this.#terminal = terminal;
        this.#disposables.push(
            terminal.onData((text) => this.#type(text)),
            terminal.onBinary((text) => this.#send(latin1(text))),
            terminal.onResize(() => this.#resized()),
        );
    }

    dispose(): void {
        this.disconnect();
        this.#disposables.splice(0).forEach((d) => d.dispose());
        this.#terminal = undefined;
    }

    /** Attaches to a process, or to the URL that `getWebSocketUrl` returns. */
    connect(target: ConnectionTarget | string = {}): void {
        if (!this.#terminal) throw new Error('load the addon into a terminal first: terminal.loadAddon(addon)');
        this.disconnect();
        this.#target = typeof target === 'string' ? { processId: target } : target;
        const epoch = ++this.#epoch;
        const { rows, cols } = this.#terminal;
        this.#connection = new Connection(this.#dialer(), {
            since: this.#options.since ?? 'screen',
            mode: this.#options.mode,
            client: this.#options.client,
            name: this.#options.name,
            reconnect: this.#options.reconnect ?? true,
            silenceMs: this.#options.silenceMs,
            rows,
            cols,
            onStateChange: (state, info) => epoch === this.#epoch && this.#changed(state, info),
            onEvent: (event) => epoch === this.#epoch && this.#onEvent(event),
        });
        this.#connection.ended.catch(() => undefined);
    }

    disconnect(): void {
        clearTimeout(this.#resizeTimer);
        this.#resizeTimer = undefined;
        const connection = this.#connection;
        this.#connection = undefined;
        if (!connection) return;
        this.#epoch++;
        // A connection that is reconnecting would replace its successor, which has the same client id.
        void connection.close(connection.state === 'connected' ? {} : { flushMs: 0 });
        this.#setState('disconnected');
    }

    /** Retries now, without waiting for the rest of the delay. */
    retryNow(): void {
        this.#connection?.retryNow();
    }

    // --- addresses ---

    #dialer(): Dialer {
        const o = this.#options;
        return {
            WebSocket: o.WebSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket,
            protocols: ['holdfast.v1', ...(o.token ? [`holdfast.bearer.${base64Url(o.token)}`] : [])],
            url: (query, id) => this.#url(query, id),
            probe: o.getWebSocketUrl ? undefined : (id, { since }) => this.#probe(id, since),
        };
    }

    #base(): string {
        return (this.#options.url ?? origin()).replace(/\/+$/, '').replace(/^http/, 'ws');
    }

    #url(query: Record<string, string>, id: string | undefined): string {
        const { sandboxId = '', sessionId, processId } = this.#target;
        let url: URL;
        if (this.#options.getWebSocketUrl) {
            url = new URL(this.#options.getWebSocketUrl({ sandboxId, sessionId, origin: origin() }));
        } else if (id ?? processId) {
            url = new URL(`${this.#base()}/v1/processes/${encodeURIComponent(id ?? processId!)}/connect`);
        } else {
            url = new URL(`${this.#base()}/v1/terminal`);
        }
        if (id && /\/terminal$/.test(url.pathname)) {
            url.pathname = url.pathname.replace(/(\/v1)?\/terminal$/, `/v1/processes/${encodeURIComponent(id)}/connect`);
            SPAWN_QUERY.forEach((name) => url.searchParams.delete(name));
        }
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
        return url.href;
    }

    async #probe(id: string | undefined, since: string | undefined): Promise<void> {
        const process = id ?? this.#target.processId;
        const { token } = this.#options;
        const path = process ? probePath(`/v1/processes/${encodeURIComponent(process)}`, since) : '/v1/info';
        const answer = await fetch(this.#base().replace(/^ws/, 'http') + path, {
            headers: token ? { Authorization: `Bearer ${token}` } : {},
        });
        if (!answer.ok) throw errorOfAnswer(answer.status, await answer.text());
    }

    // --- states ---

    #setState(state: ConnectionState, error?: Error, info?: StateInfo): void {
        this.#state = state;
        this.#options.onStateChange?.(state, error, info);
    }

    #changed(state: CoreState, info: StateInfo): void {
        if (state === 'connected') {
            this.#setState('connected', undefined, info);
            if (this.#options.focus ?? true) this.#terminal?.focus?.();
        } else if (state === 'closed' || info.delayMs !== undefined) {
            this.#setState('disconnected', info.error, info);
        } else {
            this.#setState('connecting', info.error, info);
        }
    }

    // --- output ---

    #onEvent(event: ListenerEvent): void {
        const terminal = this.#terminal;
        const connection = this.#connection;
        if (!terminal) return;
        switch (event.type) {
            case 'hello':
                this.#replaying = true;
                // Unless the socket resumes an earlier one, redraw the screen from here.
                if (!event.resumed && this.#drew) terminal.write(RESET);
                this.#drew = true;
                this.#adopt(event.rows, event.cols);
                break;
            case 'output': {
                const end = event.offset + event.data.length;
                terminal.write(event.data, () => connection?.ack(end));
                break;
            }
            case 'snapshot': {
                const before = this.#replaying;
                this.#replaying = true;
                terminal.write(RESET);
                terminal.write(event.data, () => before || this.#live());
                break;
            }
            case 'gap':
                terminal.write(RESET);
                break;
            case 'replay_done':
                terminal.write('', () => this.#live());
                break;
            case 'size':
                this.#adopt(event.rows, event.cols);
                break;
            case 'exit':
                this.#options.onExit?.(event.status);
                break;
            default:
        }
        this.#options.onEvent?.(event);
    }

    #live(): void {
        this.#replaying = false;
    }

    /** Another window sets the size: adopt it, and do not send ours in return. */
    #adopt(rows: number | null, cols: number | null): void {
        const terminal = this.#terminal;
        if (!terminal || !rows || !cols || this.#options.followSize === false) return;
        if (terminal.rows === rows && terminal.cols === cols) return;
        // A pending change of ours is newer than this report.
        if (this.#resizeTimer !== undefined) return;
        this.#adopting = true;
        try {
            terminal.resize(cols, rows);
        } finally {
            this.#adopting = false;
        }
    }

    // --- input ---

    #type(text: string): void {
        if (ANSWER.test(text) && (this.#replaying || !this.#answers())) return;
        this.#send(encode(text));
    }

    /** Of several terminals that receive a query, only the first one that can type replies. */
    #answers(): boolean {
        const first = this.#connection?.viewers?.find((v) => !v.readOnly && v.rows !== null);
        return !first || first.client === this.#connection?.client;
    }

    #send(bytes: Uint8Array): void {
        const c = this.#connection;
        if (!c || c.state === 'closed' || c.readOnly) return;
        c.write(bytes).catch(() => undefined);
    }

    #resized(): void {
        if (this.#adopting) return;
        clearTimeout(this.#resizeTimer);
        this.#resizeTimer = setTimeout(() => {
            this.#resizeTimer = undefined;
            const terminal = this.#terminal;
            if (terminal && !this.#connection?.readOnly) this.#connection?.resize(terminal.rows, terminal.cols).catch(() => undefined);
        }, this.#options.resizeDelayMs ?? 100);
    }
}

export { HoldfastAddon as SandboxAddon };
export type { HoldfastAddonOptions as SandboxAddonOptions };
export type { ListenerEvent } from './events.js';
export type { StateInfo } from './connection.js';
