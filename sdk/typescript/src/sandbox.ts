// SPDX-License-Identifier: Apache-2.0
//
// sandbox.ts - the client for one daemon: terminals, processes, sessions and events

import type * as api from './api.gen.js';
import { backoffDelay, sleep } from './backoff.js';
import { type Camel, camelize } from './camel.js';
import { ConnectionError, HoldfastError } from './errors.js';
import { Files } from './files.js';
import { type ForwardOptions, forwardRequest, processOf } from './forward.js';
import { forwardUpgrade, type UpgradeRequest, type UpgradeSocket } from './forward_node.js';
import { type ClientOptions, HttpClient } from './http.js';
import { type CallOptions, Process, Terminal } from './process.js';
import { run, type RunOptions, type RunResult, start, type StartOptions } from './run.js';
import { runInSession, type SessionRunOptions } from './session_run.js';
import { serverSentEvents } from './sse.js';
import { type ProcessStatus, type ProcessStatusWithOutput, statusOf } from './status.js';

export type TerminalOptions = Omit<StartOptions, 'command' | 'pty' | 'stdin'> & {
    /** `/bin/sh` by default. */
    command?: string;
    /** 24 × 80 by default. */
    rows?: number;
    cols?: number;
};
export interface ListOptions extends CallOptions {
    status?: 'running' | 'exited';
    pty?: boolean;
    tag?: string;
    sessionId?: string;
    source?: string;
    label?: string;
    limit?: number;
    /** `live`: what running processes use now. */
    usage?: 'live';
}
export interface EventsOptions extends Omit<ListOptions, 'limit' | 'usage'> {
    /** The id of the last event seen; 0 for all events that the daemon still has. */
    since?: number;
    /** Also report events of viewers and sessions. */
    all?: boolean;
}
export type SandboxEvent =
    | { type: Exclude<api.Event['type'], `session.${string}`>; id: number; time: string; process: ProcessStatus }
    | {
          type: Extract<api.Event['type'], `session.${string}`>;
          id: number;
          time: string;
          session: api.Session;
          command?: api.SessionCommand;
      }
    /** Events were missed; fetch the list again. */
    | { type: 'reset'; id: number; first: number; next: number };

/** Lists processes page by page, as one sequence. */
async function* pages(http: HttpClient, { signal, sessionId, ...filters }: ListOptions): AsyncGenerator<api.Process> {
    const { limit = Infinity, ...rest } = filters;
    let left = limit;
    let after: string | undefined;
    do {
        const query = { ...rest, session_id: sessionId, after, limit: Math.min(left, 1000) };
        const page = await http.json<api.ProcessList>('GET', '/v1/processes', { query, signal });
        yield* page.processes;
        left -= page.processes.length;
        after = page.next ?? undefined;
    } while (after && left > 0);
}

/** What terminal(request) needs: a process, or the tag of a terminal that is started unless it runs. */
export type TerminalRequestOptions = ForwardOptions & TerminalOptions;

/** An object that can be called: the constructor returns a function, and what a subclass adds is added to it. */
class Callable {
    constructor(call: (...args: never[]) => unknown) {
        return Object.setPrototypeOf(call, new.target.prototype) as Callable;
    }
}

export interface Terminals {
    /**
     * Passes a browser's WebSocket upgrade on to a terminal; the token stays here. For servers that turn a Request into a
     * Response: Workers and Deno, others with `upgrade`. Check who is asking before you call it.
     */
    (request: Request, options: TerminalRequestOptions): Promise<Response>;
}

export class Terminals extends Callable {
    readonly #http: HttpClient;

    constructor(http: HttpClient) {
        super((request: Request, options: TerminalRequestOptions) => forwardRequest(http, request, options, () => this.#find(options)));
        this.#http = http;
    }

    /**
     * The same for the `upgrade` event of a server of Node's `http` module. Resolves with true when the browser is
     * connected, and with false when it was refused or has left; the response has been sent then.
     */
    upgrade(req: UpgradeRequest, socket: UpgradeSocket, head: Uint8Array, options: TerminalRequestOptions): Promise<boolean> {
        return forwardUpgrade(this.#http, req, socket, head, options, () => this.#find(options));
    }

    #find({ process, mode, name, secret, origins, upgrade, ...create }: TerminalRequestOptions): Promise<string> {
        return processOf(this.#http, { process, tag: create.tag }, () => this.create(create));
    }

    /** Starts a program in a new terminal. */
    async create(options: TerminalOptions = {}): Promise<Terminal> {
        const { command = '/bin/sh', rows = 24, cols = 80, ...rest } = options;
        return new Terminal(this.#http, statusOf(await start(this.#http, { ...rest, command, pty: { rows, cols } })));
    }

    /** By id, `tag:NAME` or `pid:N`. */
    async get(id: string, includeOutput = false, options: CallOptions = {}): Promise<Terminal> {
        const p = await this.#http.json<api.Process>('GET', `/v1/processes/${encodeURIComponent(id)}`, options);
        const terminal = new Terminal(this.#http, statusOf(p));
        if (includeOutput) await terminal.refresh(true, options);
        return terminal;
    }

    /** All terminals, newest first. */
    async list(options: ListOptions = {}): Promise<Terminal[]> {
        const out: Terminal[] = [];
        for await (const p of pages(this.#http, { ...options, pty: true })) out.push(new Terminal(this.#http, statusOf(p)));
        return out;
    }
}

export class Processes {
    readonly #http: HttpClient;

    constructor(http: HttpClient) {
        this.#http = http;
    }

    /** Starts a program with pipes, or with a terminal if `pty` is set. */
    async start(options: StartOptions | string): Promise<Process> {
        const o = typeof options === 'string' ? { command: options, shell: true } : options;
        return this.#wrap(await start(this.#http, o));
    }

    /**
     * Runs a command to completion, however long it takes, and returns its output and exit status. A string is a shell
     * command. A nonzero exit code is not an error. If the signal is aborted, or the caller is disconnected for 30 seconds,
     * the command is terminated, unless `onDetach` is `keep`.
     */
    async run(options: RunOptions | string, more: Omit<RunOptions, 'command'> = {}): Promise<RunResult> {
        return run(this.#http, typeof options === 'string' ? { shell: true, ...more, command: options } : options);
    }

    async get(id: string, includeOutput = false, options: CallOptions = {}): Promise<Process> {
        const p = this.#wrap(await this.#http.json<api.Process>('GET', `/v1/processes/${encodeURIComponent(id)}`, options));
        if (includeOutput) await p.refresh(true, options);
        return p;
    }

    async list(options: ListOptions = {}): Promise<Process[]> {
        const out: Process[] = [];
        for await (const p of pages(this.#http, options)) out.push(this.#wrap(p));
        return out;
    }

    #wrap(p: api.Process): Process {
        return p.pty ? new Terminal(this.#http, statusOf(p)) : new Process(this.#http, statusOf(p));
    }
}

export type SessionOptions = Camel<api.SessionCreateRequest> & CallOptions;
export type SessionStatus = Camel<api.Session>;
export type SessionRunResult = Camel<api.SessionRunAnswer>;

/** A group of processes with a persistent shell: directory, variables and functions are kept between commands. */
export class Session {
    readonly id: string;
    readonly current: SessionStatus;
    readonly #http: HttpClient;

    constructor(http: HttpClient, status: SessionStatus) {
        this.#http = http;
        this.id = status.id;
        this.current = status;
    }

    get #path(): string {
        return `/v1/sessions/${encodeURIComponent(this.id)}`;
    }

    /**
     * Runs a command in the shell to completion, however long it takes. A nonzero exit code is not an error. If the signal
     * is aborted or the connection is lost, the command is terminated. With `onDetach: 'keep'` it keeps running, and its
     * result is in the transcript.
     */
    async run(command: string, options: SessionRunOptions = {}): Promise<SessionRunResult> {
        return camelize(await runInSession(this.#http, this.#path, command, options));
    }

    /** Returns every command with its output and exit code, as Markdown for people and models. */
    async transcript(options: CallOptions = {}): Promise<string> {
        const headers = { Accept: 'text/markdown' };
        return (await this.#http.request('GET', `${this.#path}/transcript`, { headers, ...options })).text();
    }

    async remove(options: CallOptions = {}): Promise<void> {
        await this.#http.request('DELETE', this.#path, options);
    }
}

export class Sessions {
    readonly #http: HttpClient;

    constructor(http: HttpClient) {
        this.#http = http;
    }

    async create({ signal, ...json }: SessionOptions = {}): Promise<Session> {
        return new Session(this.#http, camelize(await this.#http.json<api.Session>('POST', '/v1/sessions', { json, signal })));
    }

    async get(id: string, options: CallOptions = {}): Promise<Session> {
        const s = await this.#http.json<api.Session>('GET', `/v1/sessions/${encodeURIComponent(id)}`, options);
        return new Session(this.#http, camelize(s));
    }

    /** All sessions, newest first. */
    async list({ signal }: CallOptions = {}): Promise<Session[]> {
        const out: Session[] = [];
        let after: string | undefined;
        do {
            const page = await this.#http.json<api.SessionList>('GET', '/v1/sessions', { query: { after }, signal });
            out.push(...page.sessions.map((s) => new Session(this.#http, camelize(s))));
            after = page.next ?? undefined;
        } while (after);
        return out;
    }
}

export class Sandbox {
    readonly terminal: Terminals;
    /** The same as `terminal`. */
    readonly pty: Terminals;
    readonly processes: Processes;
    readonly sessions: Sessions;
    readonly files: Files;
    readonly #http: HttpClient;

    constructor(options: ClientOptions = {}) {
        this.#http = new HttpClient(options);
        this.terminal = new Terminals(this.#http);
        this.pty = this.terminal;
        this.processes = new Processes(this.#http);
        this.sessions = new Sessions(this.#http);
        this.files = new Files(this.#http);
    }

    get url(): string {
        return this.#http.base;
    }

    /** Runs a shell command to completion. */
    exec(command: string, options: Omit<RunOptions, 'command'> = {}): Promise<RunResult> {
        return this.processes.run(command, options);
    }

    async info(options: CallOptions = {}): Promise<Camel<api.Info>> {
        const info = await this.#http.json<api.Info>('GET', '/v1/info', options);
        // The names of features and limits are data, not fields, so they are not converted.
        return { ...camelize(info), features: info.features, limits: info.limits } as Camel<api.Info>;
    }

    async activity(options: CallOptions = {}): Promise<Camel<api.Activity>> {
        return camelize(await this.#http.json<api.Activity>('GET', '/v1/activity', options));
    }

    /** Creates a sign-in link for a browser. It works once, within one minute. */
    async ticket(options: CallOptions & { role?: 'own' | 'type' | 'watch' } = {}): Promise<Camel<api.Ticket>> {
        const { signal, ...json } = options;
        const t = await this.#http.json<api.Ticket>('POST', '/v1/tickets', { json, signal });
        return { ...camelize(t), url: this.#http.base + t.url } as Camel<api.Ticket>;
    }

    /**
     * Reports changes of processes for as long as you iterate. Reconnects without missing an event. Throws if the first
     * connection fails.
     */
    async *events(options: EventsOptions = {}): AsyncGenerator<SandboxEvent, void, void> {
        const { signal, sessionId, all, ...filters } = options;
        let since = options.since;
        let listened = false;
        for (let attempt = 0; ; attempt++) {
            try {
                const query = { ...filters, session_id: sessionId, all: all ? 1 : undefined, since };
                const headers = { Accept: 'text/event-stream' };
                // If the daemon has never replied, it may not exist; report that like the failure of any other call.
                const answer = await this.#http.request('GET', '/v1/events', { query, headers, signal, repeat: !listened });
                listened = true;
                for await (const e of serverSentEvents(answer.body!)) {
                    attempt = 0;
                    since = e.id === undefined ? since : Number(e.id);
                    yield eventOf(e.event, e.data, since ?? 0);
                }
            } catch (err) {
                signal?.throwIfAborted();
                const cut = !(err instanceof HoldfastError) || err instanceof ConnectionError || err.retryable;
                if (!cut || !listened) throw err;
            }
            // Without an event id to resume from, events until the reconnect are lost; report that.
            if (since === undefined) yield { type: 'reset', id: 0, first: 0, next: 0 };
            await sleep(backoffDelay(attempt), signal);
        }
    }
}

function eventOf(name: string, data: string, id: number): SandboxEvent {
    const value = JSON.parse(data) as api.Event & api.SseReset;
    if (name === 'reset') return { type: 'reset', id, first: value.first, next: value.next };
    const { type, time, process, session, command } = value;
    if (session !== undefined) return { type, id, time, session, command } as SandboxEvent;
    return { type, id, time, process: statusOf(process as api.Process) } as SandboxEvent;
}

export type { ProcessStatus, ProcessStatusWithOutput, RunOptions, RunResult, SessionRunOptions, StartOptions };
