// SPDX-License-Identifier: Apache-2.0
//
// process.ts - a process in a sandbox, with or without a terminal

import type * as api from './api.gen.js';
import { base64, concat, decode, encode } from './bytes.js';
import { type Camel, camelize } from './camel.js';
import { type AttachOptions, Connection, type Dialer } from './connection.js';
import { ConnectionError, WaitTimeoutError } from './errors.js';
import { probePath } from './handshake.js';
import type { HttpClient } from './http.js';
import { chunkOf, type OutputChunk, type ProcessStatus, type ProcessStatusWithOutput, statusOf } from './status.js';

export interface CallOptions {
    signal?: AbortSignal;
}
export interface RefreshOptions extends CallOptions {
    /** `live`: what a running process uses now. */
    usage?: 'live';
}
export interface WaitOptions extends CallOptions {
    /** How long to wait; without limit by default. */
    timeoutMs?: number;
    includeOutput?: boolean;
}
export type WaitCondition = Camel<api.WaitCondition>;
export interface WaitForOptions extends CallOptions {
    /** The offset where the search starts; by default the oldest byte that the daemon still has. */
    from?: number;
    timeoutMs?: number;
}
export type WaitForResult = Camel<api.WaitAnswer>;
export interface InputOptions extends CallOptions {
    /** Typed after the text: `Enter`, `Ctrl-C`, `Up` … */
    keys?: string[];
    /** Closes the input afterwards. */
    eof?: boolean;
}
export interface OutputOptions extends CallOptions {
    since?: number | string;
    until?: number;
    tailLines?: number;
    tailBytes?: number;
    stream?: 'stdout' | 'stderr';
}
export interface ScreenOptions extends CallOptions {
    /** `text` by default. */
    format?: 'text' | 'ansi' | 'html' | 'svg';
    /** The number of scrollback lines to include before the screen. */
    scrollback?: number;
}
export type UpdateOptions = Camel<api.PatchRequest>;
export type LinkOptions = Camel<api.LinkRequest> & CallOptions;
export type Link = Camel<api.Link>;
/** `token` and `url` are returned only here, when the link is created. */
export type NewLink = Camel<api.NewLink>;

/** waitFor() uses longer requests, because each request starts the search again. */
const WAIT_FOR_SLICES = 4;
/** How long kill() waits for the process to exit. */
const KILL_WAIT_MS = 5000;

export class Process {
    readonly id: string;
    protected readonly http: HttpClient;
    #current: ProcessStatusWithOutput;

    constructor(http: HttpClient, status: ProcessStatusWithOutput) {
        this.http = http;
        this.id = status.id;
        this.#current = status;
    }

    /** The last known status; refresh() fetches it again. */
    get current(): ProcessStatusWithOutput {
        return this.#current;
    }

    protected get path(): string {
        return `/v1/processes/${encodeURIComponent(this.id)}`;
    }

    async #update(process: api.Process, includeOutput: boolean, signal?: AbortSignal): Promise<ProcessStatusWithOutput> {
        const status: ProcessStatusWithOutput = statusOf(process);
        if (includeOutput) {
            status.output = await this.chunks({ signal });
            status.text = decode(concat(status.output.map((c) => c.raw)));
        }
        this.#current = status;
        return status;
    }

    async refresh(includeOutput = false, { usage, signal }: RefreshOptions = {}): Promise<ProcessStatusWithOutput> {
        return this.#update(await this.http.json<api.Process>('GET', this.path, { query: { usage }, signal }), includeOutput, signal);
    }

    /** Waits until the process exits; throws a WaitTimeoutError after `timeoutMs`. */
    async wait(options: WaitOptions = {}): Promise<ProcessStatusWithOutput> {
        const { timeoutMs, includeOutput = false, signal } = options;
        const end = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
        for (;;) {
            const slice = Math.max(0, Math.min(this.http.waitSliceMs, end - Date.now()));
            const p = await this.http.json<api.WaitedProcess>('GET', `${this.path}/wait`, { query: { timeout_ms: Math.ceil(slice) }, signal });
            const { timed_out: timedOut, ...process } = p as api.Process & { timed_out: boolean };
            if (!timedOut) return this.#update(process, includeOutput, signal);
            if (Date.now() >= end) {
                await this.#update(process, includeOutput, signal);
                throw new WaitTimeoutError(`timed out: ${this.id} is still running after ${timeoutMs} ms`, { code: 'timed_out', status: 408 });
            }
        }
    }

    /** Waits until one of these conditions is met: a text or regular expression in the output, silence, a prompt, an open port, or the exit. */
    async waitFor(until: WaitCondition | WaitCondition[], options: WaitForOptions = {}): Promise<WaitForResult> {
        const { from, timeoutMs, signal } = options;
        const end = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
        const sliceMs = this.http.waitSliceMs;
        const conditions = [until].flat();
        // The shortest silence is met first. One that is too long for a single request is measured by several, each
        // continuing where the last one ended.
        const quietMs = Math.min(...conditions.map((c) => ('quietMs' in c ? c.quietMs : Infinity)));
        let quiet = 0;
        let next: number | undefined;
        for (;;) {
            const slice = Math.max(0, Math.min(WAIT_FOR_SLICES * sliceMs, end - Date.now()));
            const part = Math.min(quietMs - quiet, sliceMs);
            const asked = conditions.map((c) => ('quietMs' in c ? { quietMs: part } : c));
            const json = { until: asked, from, timeoutMs: Math.ceil(slice) };
            const answer = await this.http.json<api.WaitAnswer>('POST', `${this.path}/wait`, { json, signal, repeat: true });
            if (answer.matched === 'quiet_ms') {
                quiet = (answer.next === next ? quiet : 0) + part;
                next = answer.next;
                if (quiet < quietMs) continue;
                answer.index = conditions.findIndex((c) => 'quietMs' in c && c.quietMs === quietMs);
            } else {
                quiet = 0;
            }
            if (!answer.timed_out || Date.now() >= end) return camelize(answer) as WaitForResult;
        }
    }

    /** Attaches to the process; resolves when the daemon has sent its hello. */
    async attach(options: AttachOptions | number = {}): Promise<Connection> {
        const o = typeof options === 'number' ? { since: options } : options;
        const connection = new Connection(this.#dialer(), o);
        try {
            await connection.ready;
        } catch (err) {
            await connection.close();
            throw err;
        }
        return connection;
    }

    /** Like attach(), but returns at once; use `onStateChange` to follow the connection's state. */
    connect(options: AttachOptions = {}): Connection {
        return new Connection(this.#dialer(), options);
    }

    #dialer(): Dialer {
        const { http, path } = this;
        return {
            WebSocket: http.WebSocket,
            protocols: http.protocols,
            url: (query) => http.webSocketUrl(`${path}/connect`, query),
            probe: async (_, { since }) => {
                await http.request('GET', probePath(path, since), { repeat: false });
            },
        };
    }

    /** Sends a signal to the process group, or to another target. */
    async signal(
        signal: string | number,
        options: CallOptions & { target?: 'group' | 'leader' | 'foreground' | 'tree' } = {},
    ): Promise<ProcessStatus> {
        const json = { signal, ...(options.target ? { target: options.target } : {}) };
        await this.http.json('POST', `${this.path}/signal`, { json, signal: options.signal });
        return this.refresh(false, options);
    }

    /** Kills the whole process tree and waits for the exit; the record and its output are kept. */
    async kill(signal: string | number = 'KILL', options: CallOptions = {}): Promise<ProcessStatusWithOutput> {
        try {
            await this.http.json('POST', `${this.path}/signal`, { json: { signal, target: 'tree' }, signal: options.signal });
        } catch (err) {
            if ((err as { code?: string }).code !== 'not_running') throw err;
        }
        return this.wait({ timeoutMs: KILL_WAIT_MS, ...options });
    }

    /** Terminates the whole process tree (TERM, then KILL after `graceMs`) and deletes the record. */
    async remove(options: CallOptions & { graceMs?: number } = {}): Promise<Camel<api.DeleteAnswer>> {
        const query = { grace_ms: options.graceMs };
        return camelize(await this.http.json<api.DeleteAnswer>('DELETE', this.path, { query, signal: options.signal }));
    }

    /** Sends input in one request. For frequent input, use a connection's write(). */
    async input(data: string | Uint8Array, options: InputOptions = {}): Promise<{ acceptedBytes: number }> {
        const { keys, eof, signal } = options;
        const answer = keys
            ? await this.http.json<api.InputAnswer>('POST', `${this.path}/input`, {
                  json: { ...(typeof data === 'string' ? { data } : { data: base64(data), encoding: 'base64' }), keys, ...(eof ? { eof } : {}) },
                  signal,
              })
            : await this.http.json<api.InputAnswer>('POST', `${this.path}/input`, {
                  body: (typeof data === 'string' ? encode(data) : data) as BodyInit,
                  headers: { 'Content-Type': 'application/octet-stream' },
                  query: eof ? { eof: 1 } : {},
                  signal,
              });
        return { acceptedBytes: answer.accepted_bytes };
    }

    /** Returns output that the daemon still has, as bytes. */
    async output(options: OutputOptions = {}): Promise<Uint8Array> {
        const { signal, tailLines, tailBytes, ...range } = options;
        const query = { ...range, tail_lines: tailLines, tail_bytes: tailBytes };
        try {
            return new Uint8Array(await (await this.http.request('GET', `${this.path}/output`, { query, signal })).arrayBuffer());
        } catch (err) {
            if (!(err instanceof TypeError)) throw err;
            throw new ConnectionError('the connection was lost while reading the output', { code: 'no_answer', cause: err });
        }
    }

    /** Like output(), but in chunks with offset, stream and time. */
    async chunks(options: CallOptions & { since?: number } = {}): Promise<OutputChunk[]> {
        const all: OutputChunk[] = [];
        for (let since = options.since ?? 0; ; ) {
            const page = await this.http.json<api.OutputChunks>('GET', `${this.path}/output`, {
                query: { since },
                headers: { Accept: 'application/json' },
                signal: options.signal,
            });
            all.push(...page.chunks.map(chunkOf));
            // A page that is not full is the last one; otherwise a process that keeps writing would keep us here.
            if (page.next <= since || page.next - page.offset < 1_000_000) return all;
            since = page.next;
        }
    }

    /** Changes label, tag, title, metadata, retainMs or sizePolicy. */
    async update(changes: UpdateOptions, options: CallOptions = {}): Promise<ProcessStatus> {
        return this.#update(await this.http.json<api.Process>('PATCH', this.path, { json: changes, repeat: true, ...options }), false);
    }

    /** Returns the screen's content, as a person would see it. */
    async screen(options: ScreenOptions = {}): Promise<string> {
        const { format = 'text', scrollback, signal } = options;
        return (await this.http.request('GET', `${this.path}/screen`, { query: { format, scrollback }, signal })).text();
    }

    /** Like screen(), but with cursor, title, size and offset. */
    async screenState(options: CallOptions & { scrollback?: number } = {}): Promise<Camel<api.Screen>> {
        const { scrollback, signal } = options;
        return camelize(await this.http.json<api.Screen>('GET', `${this.path}/screen`, { query: { format: 'json', scrollback }, signal }));
    }

    /** Returns an asciicast of the output that the daemon still has. */
    async recording(options: CallOptions = {}): Promise<string> {
        return (await this.http.request('GET', `${this.path}/recording`, options)).text();
    }

    /** Share links, which give others access to this process. */
    readonly links = {
        create: async ({ signal, ...json }: LinkOptions): Promise<NewLink> =>
            camelize(await this.http.json<api.NewLink>('POST', `${this.path}/links`, { json, signal })),
        list: async (options: CallOptions = {}): Promise<Link[]> =>
            camelize(await this.http.json<api.LinkList>('GET', `${this.path}/links`, options)).links,
        revoke: async (id: string, options: CallOptions = {}): Promise<void> => {
            await this.http.request('DELETE', `${this.path}/links/${encodeURIComponent(id)}`, options);
        },
    };
}

/** A process with a terminal. */
export class Terminal extends Process {
    /** Sets the terminal's size, regardless of its viewers' windows. */
    async resize(rows: number, cols: number, options: CallOptions = {}): Promise<ProcessStatus> {
        await this.http.json('POST', `${this.path}/resize`, { json: { rows, cols }, repeat: true, ...options });
        return this.refresh(false, options);
    }
}
