// SPDX-License-Identifier: Apache-2.0
//
// connection.ts - one attachment to a process, over a sequence of WebSockets
//
// The state of the output is the offset of the next byte; the state of the input is
// the input queue. When a socket is lost, the next one requests `since=offset` and
// sends input from the daemon's offset (hello.input_offset), so that no byte is
// missed or duplicated in either direction. Only certain close codes are final.
//
// Output is acknowledged as it is consumed (ack=1), so a slow reader buffers no more
// than the daemon's window.

import type * as api from './api.gen.js';
import type { AttachOptions, ConnectionState, Dialer, StateInfo } from './attach.js';
import { type BackoffOptions, backoffDelay } from './backoff.js';
import { concat, encode, randomName } from './bytes.js';
import { camelize } from './camel.js';
import { AuthError, ConnectionError, errorOfClose, HoldfastError, NotFoundError, ProtocolError } from './errors.js';
import type { ConnectionEvent, ListenerEvent, Role, Stream, Viewer } from './events.js';
import { refusalOf, refusalOfSize } from './handshake.js';
import { HIGH_WATER_BYTES, InputQueue } from './input.js';
import { Silence } from './silence.js';
import { Socket } from './socket.js';
import { type ProcessStatus, statusOf } from './status.js';

export type { AttachOptions, ConnectionState, Dialer, StateInfo } from './attach.js';

type ServerMessage = { type: string } & Record<string, unknown>;
type Hello = Extract<api.WebSocketServerMessage, { type: 'hello' }>;

const ACK_EVERY_BYTES = 64 * 1024;
const FLUSH_MS = 2000;
const SILENCE_MS = 45_000;
/**
 * While a process does not read its input, the daemon does not read the socket and does not reply to pings. With more
 * pending input than a person types, silence does not mean that the connection is dead.
 */
const HELD_INPUT_BYTES = 4096;
/** A browser cannot send or see WebSocket pings. The daemon replies to a message of unknown type with an error, which serves as the pong. */
const PING = JSON.stringify({ type: 'ping' });
/** A new socket can deliver a whole window of output, so we open none while more than this is queued. */
const QUEUE_MAX_BYTES = 4 * 1024 * 1024;

interface Deferred<T> {
    promise: Promise<T>;
    resolve(value: T): void;
    reject(err: unknown): void;
}

function deferred<T>(): Deferred<T> {
    let resolve!: (value: T) => void;
    let reject!: (err: unknown) => void;
    const promise = new Promise<T>((a, b) => ([resolve, reject] = [a, b]));
    promise.catch(() => undefined);
    return { promise, resolve, reject };
}

export class Connection implements AsyncIterable<ConnectionEvent> {
    /** Our client id. */
    readonly client: string;
    readonly #dialer: Dialer;
    readonly #options: AttachOptions;
    readonly #backoff: BackoffOptions | null;
    readonly #input = new InputQueue();
    readonly #silence: Silence;
    readonly #ready = deferred<void>();
    readonly #ended = deferred<ProcessStatus | null>();
    #hello: Deferred<void> | null = null;
    #socket: Socket | null = null;
    #timer: ReturnType<typeof setTimeout> | undefined;
    #state: ConnectionState = 'connecting';
    #attempt = 0;
    #lastError: Error | undefined;
    #failure: Error | null = null;

    #id: string | undefined;
    #process: ProcessStatus | undefined;
    #role: Role | undefined;
    #viewers: Viewer[] | null = null;
    #rows: number | null = null;
    #cols: number | null = null;
    #window: { rows: number; cols: number } | undefined;

    #greeted = false;
    #everGreeted = false;
    #offset = 0;
    #stream: Stream | undefined;
    #snapshot: { offset: number; left: number; parts: Uint8Array[] } | null = null;
    /** The consumer's screen does not match #offset: request the screen, not the rest of the output. */
    #needsScreen: boolean;
    #acked = 0;
    #ackable = 0;
    #eofAt: number | null = null;
    #eofSent = false;
    #deleted = false;

    #queue: ConnectionEvent[] = [];
    #queuedBytes = 0;
    /** Wakes the waiting events() loops; there may be several. */
    #wakers = new Set<() => void>();
    #stopSignal: (() => void) | undefined;

    constructor(dialer: Dialer, options: AttachOptions = {}) {
        this.#dialer = dialer;
        this.#options = options;
        this.client = options.client ?? randomName('sdk-');
        this.#backoff = options.reconnect === false ? null : typeof options.reconnect === 'object' ? options.reconnect : {};
        this.#needsScreen = options.since === 'screen';
        this.#silence = new Silence(options.silenceMs ?? SILENCE_MS, {
            ask: () => this.#greeted && this.#socket?.send(PING),
            excused: () => this.#input.pending > HELD_INPUT_BYTES,
            lost: (reason) => this.#drop(reason),
        });
        if (options.rows && options.cols) this.#window = { rows: options.rows, cols: options.cols };
        if (!dialer.WebSocket) {
            throw new TypeError('this runtime has no WebSocket: pass one, such as that of the package "ws", as in new Sandbox({ url, token, WebSocket })');
        }
        const { signal } = options;
        signal?.throwIfAborted();
        if (signal) {
            const stop = () => this.#finish(signal.reason instanceof Error ? signal.reason : null);
            signal.addEventListener('abort', stop, { once: true });
            this.#stopSignal = () => signal.removeEventListener('abort', stop);
        }
        this.#open();
    }

    // --- state ---

    get state(): ConnectionState {
        return this.#state;
    }
    /** The offset of the next byte of output. */
    get offset(): number {
        return this.#offset;
    }
    get processId(): string | undefined {
        return this.#id;
    }
    /** The status at the last hello, or at the exit. */
    get process(): ProcessStatus | undefined {
        return this.#process;
    }
    get role(): Role | undefined {
        return this.#role;
    }
    get readOnly(): boolean {
        return this.#options.mode === 'ro' || this.#role === 'watch';
    }
    get viewers(): Viewer[] | null {
        return this.#viewers;
    }
    get size(): { rows: number | null; cols: number | null } {
        return { rows: this.#rows, cols: this.#cols };
    }
    /** Bytes of input that the daemon has not accepted yet. */
    get pendingInput(): number {
        return this.#input.pending;
    }
    /** Resolves at the first hello; rejects if the connection is closed before. */
    get ready(): Promise<void> {
        return this.#ready.promise;
    }
    /** Resolves with the status when the process exits, or with null if the connection is closed before. */
    get ended(): Promise<ProcessStatus | null> {
        return this.#ended.promise;
    }

    // --- input ---

    /**
     * Queues input for the process. Resolves when the queue has room; the input arrives exactly once, even if the
     * connection breaks. Use flush() to wait until it has arrived.
     */
    async write(data: string | Uint8Array, options: { signal?: AbortSignal } = {}): Promise<void> {
        this.#mayWrite();
        options.signal?.throwIfAborted();
        this.#input.push(typeof data === 'string' ? encode(data) : data);
        this.#pump();
        const over = this.#input.end - HIGH_WATER_BYTES;
        if (over > 0) await this.#input.taken(over, options.signal);
    }

    /** Resolves when the daemon has accepted everything that was written. */
    flush(options: { signal?: AbortSignal } = {}): Promise<void> {
        if (this.#state === 'closed' && this.#input.pending > 0) {
            return Promise.reject(this.#closed());
        }
        return this.#input.taken(this.#input.end, options.signal);
    }

    /** Closes the input, after everything that was written. */
    async eof(): Promise<void> {
        // On a terminal, end of file is an ordinary character, so it is counted and arrives once.
        if (this.#process?.pty) return this.write('\x04');
        this.#mayWrite();
        this.#eofAt = this.#input.end;
        this.#pump();
    }

    /** Sets the size of this viewer's window. The terminal's size policy decides the terminal's size. */
    async resize(rows: number, cols: number): Promise<void> {
        const wrong = refusalOfSize(rows, cols);
        if (wrong) throw wrong; // every later handshake would repeat it and be refused
        this.#window = { rows, cols };
        this.#control({ type: 'resize', rows, cols });
    }

    /** Sends a signal as soon as the connection is up; rejects if it is closed before. */
    async signal(signal: string | number, target?: 'group' | 'leader' | 'foreground' | 'tree'): Promise<void> {
        while (!this.#greeted) await this.#nextHello();
        this.#control({ type: 'signal', signal, ...(target ? { target } : {}) });
    }

    #nextHello(): Promise<void> {
        if (this.#state === 'closed') return Promise.reject(this.#closed());
        this.#hello ??= deferred<void>();
        return this.#hello.promise;
    }

    #closed(): Error {
        return this.#failure ?? new ConnectionError('the connection is closed', { code: 'closed' });
    }

    #mayWrite(): void {
        if (this.#state === 'closed') throw this.#closed();
        if (this.readOnly) throw new AuthError('this connection is read-only', { code: 'forbidden', status: 403 });
    }

    #control(message: object): void {
        if (this.#greeted) this.#socket?.send(JSON.stringify(message));
    }

    #pump(): void {
        if (!this.#greeted || !this.#socket) return;
        this.#input.pump(this.#socket);
        if (this.#eofAt !== null && !this.#eofSent && this.#input.allSent) {
            this.#eofSent = true;
            this.#control({ type: 'eof' });
        }
    }

    // --- output ---

    /**
     * Yields events in order, the exit last. Leaving the loop keeps the connection open; the next events() continues where
     * it stopped. With several concurrent loops each event goes to one of them; all of them end with the connection.
     */
    async *events(options: { signal?: AbortSignal } = {}): AsyncGenerator<ConnectionEvent, void, void> {
        const { signal } = options;
        const stop = () => this.#wake();
        signal?.addEventListener('abort', stop, { once: true });
        try {
            for (;;) {
                signal?.throwIfAborted();
                const event = this.#queue.shift();
                if (event) {
                    // Before the yield: a loop that breaks at this event does not return here.
                    this.#consumed(event);
                    yield event;
                    if (event.type === 'exit') return;
                } else if (this.#state === 'closed') {
                    if (this.#failure) throw this.#failure;
                    return;
                } else {
                    await new Promise<void>((wake) => this.#wakers.add(wake));
                }
            }
        } finally {
            signal?.removeEventListener('abort', stop);
        }
    }

    #wake(): void {
        const waiting = [...this.#wakers];
        this.#wakers.clear();
        waiting.forEach((wake) => wake());
    }

    [Symbol.asyncIterator](): AsyncGenerator<ConnectionEvent, void, void> {
        return this.events();
    }

    /** For use with `onEvent`: acknowledges that output before this offset has been handled. */
    ack(offset: number): void {
        this.#ackable = Math.max(this.#ackable, offset);
        if (this.#ackable - this.#acked < ACK_EVERY_BYTES && this.#ackable < this.#offset) return;
        if (this.#ackable <= this.#acked || !this.#greeted) return;
        this.#acked = this.#ackable;
        this.#control({ type: 'ack', offset: this.#acked });
    }

    #consumed(event: ConnectionEvent): void {
        if (event.type === 'snapshot') this.#queuedBytes -= event.data.length;
        if (event.type !== 'output') return;
        this.#queuedBytes -= event.data.length;
        this.ack(event.offset + event.data.length);
    }

    #emit(event: ListenerEvent): void {
        if (this.#options.onEvent) {
            this.#options.onEvent(event);
            return;
        }
        if (event.type === 'hello' || event.type === 'replay_done') return;
        if (event.type === 'output' || event.type === 'snapshot') this.#queuedBytes += event.data.length;
        this.#queue.push(event);
        this.#wake();
    }

    // --- sockets ---

    #setState(state: ConnectionState, info: Partial<StateInfo> = {}): void {
        this.#state = state;
        this.#options.onStateChange?.(state, { attempt: this.#attempt, ...info });
    }

    #since(): string {
        if (this.#everGreeted && !this.#needsScreen) return String(this.#offset);
        return this.#needsScreen ? 'screen' : String(this.#options.since ?? 0);
    }

    #open(): void {
        if (this.#queuedBytes > QUEUE_MAX_BYTES) {
            this.#timer = setTimeout(() => this.#open(), 50);
            return;
        }
        this.#setState(this.#everGreeted || this.#attempt > 0 ? 'reconnecting' : 'connecting', { error: this.#lastError });
        const query: Record<string, string> = { since: this.#since(), client: this.client, ack: '1' };
        if (this.#options.mode === 'ro') query.mode = 'ro';
        if (this.#options.name !== undefined) query.name = this.#options.name;
        if (this.#options.verbatim) query.terminal = '0';
        if (this.#window) Object.assign(query, { rows: String(this.#window.rows), cols: String(this.#window.cols) });
        const wrong = refusalOf(query);
        if (wrong) {
            this.#finish(wrong);
            return;
        }
        this.#greeted = false;
        this.#stream = undefined;
        this.#snapshot = null;
        this.#eofSent = false;
        try {
            this.#socket = new Socket(this.#dialer.WebSocket!, this.#dialer.url(query, this.#id), this.#dialer.protocols, {
                onText: (text) => {
                    this.#silence.heard();
                    this.#guard(() => this.#onMessage(JSON.parse(text) as ServerMessage));
                },
                onBytes: (bytes) => {
                    this.#silence.heard();
                    this.#guard(() => this.#onBytes(bytes));
                },
                onClose: (code, reason, opened) => this.#onClose(code, reason, opened, query),
            });
        } catch (err) {
            this.#finish(err as Error);
            return;
        }
        this.#silence.start();
    }

    /** Invalid frames close the connection: to continue could corrupt the output. */
    #guard(step: () => void): void {
        try {
            step();
        } catch (err) {
            this.#finish(err instanceof HoldfastError ? err : new ProtocolError(String((err as Error).message), { code: 'protocol', cause: err }));
        }
    }

    #onClose(code: number, reason: string, opened: boolean, query: Record<string, string> = {}): void {
        this.#socket = null;
        this.#greeted = false;
        this.#silence.stop();
        if (this.#state === 'closed') return;
        const final = this.#deleted
            ? new NotFoundError('the process was deleted', { code: 'no_such_process', status: 404 })
            : code === 1000 && opened
              ? new ConnectionError(`closed by the daemon${reason ? `: ${reason}` : ''}`, { code: 'closed' })
              : errorOfClose(code, reason);
        if (final) {
            this.#finish(final);
            return;
        }
        this.#lastError = new ConnectionError(`the connection was lost (${code}${reason ? ` ${reason}` : ''})`, { code: 'lost' });
        if (opened || !this.#dialer.probe) this.#retry();
        else void this.#findReason(query);
    }

    /** A refused handshake has a reason that only a plain request reports. */
    async #findReason(query: Record<string, string>): Promise<void> {
        try {
            await this.#dialer.probe!(this.#id, query);
        } catch (err) {
            const status = (err as HoldfastError).status;
            if (status !== undefined && [400, 401, 403, 404, 410, 416].includes(status)) {
                this.#finish(err as Error);
                return;
            }
        }
        if (this.#state !== 'closed') this.#retry();
    }

    #retry(): void {
        const most = this.#backoff?.maxAttempts ?? Infinity;
        if (!this.#backoff || this.#attempt >= most) {
            this.#finish(this.#lastError ?? null);
            return;
        }
        const delayMs = backoffDelay(this.#attempt, this.#backoff);
        this.#attempt++;
        this.#setState('reconnecting', { delayMs, error: this.#lastError });
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#open(), delayMs);
    }

    /** Retries now, without waiting for the rest of the delay; for "online" events and buttons. */
    retryNow(): void {
        if (this.#state !== 'reconnecting' || this.#socket) return;
        clearTimeout(this.#timer);
        this.#open();
    }

    /** Drops this socket and continues on a new one, as after a lost connection. */
    reconnect(): void {
        if (this.#state === 'closed' || !this.#socket) return this.retryNow();
        this.#drop('reconnect');
    }

    #drop(reason: string): void {
        this.#socket?.drop();
        this.#onClose(1006, reason, true);
    }

    // --- messages ---

    #onBytes(bytes: Uint8Array): void {
        if (!this.#greeted) throw new ProtocolError('bytes before hello', { code: 'protocol' });
        const snap = this.#snapshot;
        if (snap) {
            snap.parts.push(bytes.subarray(0, snap.left));
            const rest = bytes.subarray(snap.left);
            snap.left -= bytes.length - rest.length;
            if (snap.left > 0) return;
            this.#snapshotDone(snap);
            if (rest.length === 0) return;
            bytes = rest;
        }
        const offset = this.#offset;
        this.#needsScreen = false;
        this.#offset += bytes.length;
        this.#emit({ type: 'output', data: bytes, offset, ...(this.#stream ? { stream: this.#stream } : {}) });
    }

    #snapshotDone(snap: { offset: number; parts: Uint8Array[] }): void {
        this.#snapshot = null;
        this.#needsScreen = false;
        this.#offset = snap.offset;
        this.#emit({ type: 'snapshot', data: concat(snap.parts), offset: snap.offset });
    }

    #onMessage(m: ServerMessage): void {
        if (!this.#greeted && m.type !== 'hello') throw new ProtocolError(`${m.type} before hello`, { code: 'protocol' });
        switch (m.type) {
            case 'hello': return this.#onHello(m as unknown as Hello);
            case 'snapshot': return this.#onSnapshot(m.offset as number, m.bytes as number);
            case 'gap': return this.#onGap(m.from as number, m.to as number);
            case 'stream':
                this.#stream = m.name as Stream;
                return;
            case 'replay_done':
                // No snapshot was sent for the requested screen, so none is needed.
                this.#needsScreen = false;
                return this.#emit({ type: 'replay_done', offset: m.offset as number });
            case 'size':
                this.#rows = m.rows as number | null;
                this.#cols = m.cols as number | null;
                return this.#emit({ type: 'size', rows: this.#rows, cols: this.#cols, by: String(m.by ?? '') });
            case 'viewers':
                this.#viewers = camelize(m.list) as Viewer[] | null;
                return this.#emit({ type: 'viewers', count: m.count as number, list: this.#viewers });
            case 'title': return this.#emit({ type: 'title', title: m.title as string | null });
            case 'input_ack':
                this.#input.acknowledge(m.offset as number);
                return this.#pump();
            case 'notice':
                if (m.code === 'deleted') this.#deleted = true;
                return this.#emit({ ...m, type: 'notice', code: String(m.code) });
            case 'error':
                if (m.field === 'type') return; // the daemon's reply to our ping, which has an unknown type
                return this.#onRefusal(String(m.code), String(m.detail ?? ''));
            case 'exit': return this.#onExit(m);
            default: // A newer daemon may send types that we do not know.
        }
    }

    #onHello(hello: Hello): void {
        const resumed = this.#everGreeted && !this.#needsScreen;
        if (resumed && hello.offset !== this.#offset) {
            throw new ProtocolError(`requested offset ${this.#offset}, received ${hello.offset}`, { code: 'protocol' });
        }
        this.#greeted = true;
        this.#everGreeted = true;
        this.#attempt = 0;
        this.#lastError = undefined;
        this.#id = hello.process.id;
        this.#process = statusOf(hello.process);
        this.#role = hello.role;
        this.#rows = hello.rows;
        this.#cols = hello.cols;
        this.#viewers = camelize(hello.viewers) as Viewer[] | null;
        this.#offset = hello.offset;
        this.#acked = hello.offset;
        const lost = this.#input.restart(hello.input_offset);
        this.#setState('connected');
        this.#emit({
            type: 'hello',
            offset: hello.offset,
            replayUntil: hello.replay_until,
            role: hello.role,
            rows: hello.rows,
            cols: hello.cols,
            viewers: this.#viewers,
            process: this.#process,
            resumed,
        });
        if (lost > 0) {
            this.#emit({ type: 'notice', code: 'input_lost', detail: `${lost} bytes of input may not have arrived`, bytes: lost });
        }
        this.ack(this.#ackable);
        this.#ready.resolve();
        this.#hello?.resolve();
        this.#hello = null;
        this.#pump();
    }

    #onSnapshot(offset: number, bytes: number): void {
        const snap = { offset, left: bytes, parts: [] };
        this.#needsScreen = this.#options.since === 'screen';
        this.#snapshot = snap;
        if (bytes === 0) this.#snapshotDone(snap);
    }

    #onGap(from: number, to: number): void {
        this.#offset = to;
        this.#needsScreen = this.#options.since === 'screen';
        this.#emit({ type: 'gap', from, to });
    }

    #onRefusal(code: string, detail: string): void {
        // The end of file was sent again after a reconnect, and had already arrived.
        if (code === 'stdin_closed' && this.#eofAt !== null) return;
        this.#emit({ type: 'refused', code, detail });
    }

    #onExit(m: ServerMessage): void {
        const exit = m.exit as api.Exit;
        this.#process = {
            ...this.#process!,
            status: 'exited',
            running: false,
            exit: camelize(exit),
            exitCode: m.exit_code as number | null,
            usage: camelize((m.usage ?? null) as api.Process['usage']),
            timedOut: exit.kind === 'timed_out',
        };
        this.#emit({ type: 'exit', status: this.#process, offset: m.offset as number });
        this.#finish(null, this.#process);
    }

    // --- the end ---

    #finish(failure: Error | null, status: ProcessStatus | null = null): void {
        if (this.#state === 'closed') return;
        clearTimeout(this.#timer);
        this.#silence.stop();
        this.#stopSignal?.();
        this.#failure = failure;
        this.#greeted = false;
        this.#socket?.drop();
        this.#socket = null;
        const closed = this.#closed();
        this.#input.fail(closed);
        this.#ready.reject(closed);
        this.#hello?.reject(closed);
        if (failure && !status) this.#ended.reject(failure);
        else this.#ended.resolve(status);
        this.#setState('closed', failure ? { error: failure } : {});
        this.#wake();
    }

    /**
     * Closes the connection; the process keeps running. Pending input is sent first, for at most `flushMs` (2000), even if
     * the connection is currently down.
     */
    async close({ flushMs = FLUSH_MS }: { flushMs?: number } = {}): Promise<void> {
        if (this.#state !== 'closed' && this.#input.pending > 0 && flushMs > 0) {
            const stop = new AbortController();
            const timer = setTimeout(() => stop.abort(), flushMs);
            this.retryNow();
            await this.flush({ signal: stop.signal }).catch(() => undefined);
            clearTimeout(timer);
        }
        this.#finish(null);
    }
}
