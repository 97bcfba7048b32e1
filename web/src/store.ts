// SPDX-License-Identifier: Apache-2.0
//
// store.ts - the daemon's processes, kept up to date by its event stream

import { AuthError, type Process, type ProcessStatus, Sandbox, Terminal } from '@holdfast/sdk';
import { base } from './base.js';

export type Role = 'own' | 'type' | 'watch';

/** No event has this number, so the daemon replies at once with a reset that has the current position. */
const NO_SUCH_EVENT = Number.MAX_SAFE_INTEGER;
const RETRY_MS = { first: 500, most: 30_000 };

/** A list and an event may report a process out of order. An ended process never runs again, so that state wins. */
const later = (known: ProcessStatus | undefined, reported: ProcessStatus) => (known && !known.running && reported.running ? known : reported);

export class Store {
    readonly sandbox = new Sandbox({ url: base });
    readonly processes = new Map<string, ProcessStatus>();
    features: Record<string, boolean> = {};
    role: Role = 'watch';
    version = '';
    /** Signed in by a link for one process, which does not grant access to the list. */
    guest = false;
    /** Why the list may be out of date; empty while it is current. */
    trouble = '';
    /** Called when the daemon no longer accepts our credentials. */
    onDenied: ((reason: string) => void) | undefined;
    #listeners = new Set<() => void>();

    onChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    #changed(): void {
        this.#listeners.forEach((l) => l());
    }

    get canOwn(): boolean {
        return this.role === 'own' && !this.guest;
    }

    /** Throws an AuthError if the browser is not signed in. */
    async start(guestOf: string | undefined): Promise<void> {
        try {
            const info = await this.sandbox.info();
            this.features = info.features as Record<string, boolean>;
            this.role = info.role as Role;
            this.version = info.version as string;
        } catch (err) {
            if (!(err instanceof AuthError) || !guestOf) throw err;
            const t = await this.sandbox.terminal.get(guestOf);
            this.processes.set(t.id, t.current);
            this.guest = true;
            this.features = { screen: true, recording: true };
            return;
        }
        void this.#follow(await this.#begin());
    }

    /** Loads the list. Returns the event id from before the request, so that the stream reports every later change. */
    async #begin(): Promise<number> {
        let place = 0;
        for await (const e of this.sandbox.events({ since: NO_SUCH_EVENT })) {
            if (e.type !== 'reset') continue;
            place = Math.max(0, e.next - 1);
            break;
        }
        await this.reload();
        return place;
    }

    async reload(): Promise<void> {
        const list = await this.sandbox.processes.list({ limit: 1000 });
        const known = new Map(this.processes);
        this.processes.clear();
        for (const p of list) this.processes.set(p.id, later(known.get(p.id), p.current));
        this.#changed();
    }

    async #listen(place: number): Promise<never> {
        let next = place + 1;
        for await (const e of this.sandbox.events({ all: true, since: place })) {
            if (e.type === 'reset') {
                await this.reload();
                ({ next } = e);
            } else if (e.id >= next) {
                if (e.type === 'process.deleted') this.processes.delete(e.process.id);
                else if ('process' in e) this.#set(e.process);
                this.#changed();
            }
        }
        throw new Error('the event stream ended');
    }

    /** Runs for the lifetime of the page. When the stream fails, the reason is shown and the list is reloaded. */
    async #follow(place: number): Promise<void> {
        for (let ms = RETRY_MS.first; ; ms = Math.min(2 * ms, RETRY_MS.most)) {
            const began = performance.now();
            try {
                if (this.trouble) place = await this.#begin();
                this.#troubled('');
                await this.#listen(place);
            } catch (err) {
                if (err instanceof AuthError) return this.onDenied?.(err.message);
                this.#troubled((err as Error).message);
            }
            if (performance.now() - began > RETRY_MS.most) ms = RETRY_MS.first;
            await new Promise((done) => setTimeout(done, ms / 2 + (ms / 2) * Math.random()));
        }
    }

    #troubled(why: string): void {
        if (why === this.trouble) return;
        this.trouble = why;
        this.#changed();
    }

    #set(status: ProcessStatus): void {
        this.processes.set(status.id, later(this.processes.get(status.id), status));
    }

    /** Applies a status that arrived by another way than the event stream. */
    learn(status: ProcessStatus): void {
        this.#set(status);
        this.#changed();
    }

    async handle(id: string): Promise<Process> {
        return this.sandbox.processes.get(id);
    }

    /** Starts the given command, or a shell. Rows and cols are the size of the pane that will show it. */
    async create(options: { command?: string; args?: string[]; cwd?: string; label?: string; rows: number; cols: number }): Promise<Terminal> {
        const rest = { ...options, ...(options.cwd ? { cwd: options.cwd } : { cwd: undefined }), label: options.label || undefined };
        if (options.command) return this.sandbox.terminal.create({ ...rest, shell: !options.args });
        try {
            return await this.sandbox.terminal.create({ ...rest, command: 'bash', args: ['-l'], source: 'user_shell' });
        } catch (err) {
            if ((err as { code?: string }).code !== 'spawn_failed' || options.cwd) throw err;
            return this.sandbox.terminal.create({ ...rest, command: 'sh', source: 'user_shell' });
        }
    }
}

/** The display name of a process. */
export function nameOf(p: ProcessStatus | undefined): string {
    if (!p) return 'terminal';
    return p.label || p.tag || p.title || [p.command.split('/').at(-1), ...p.args].join(' ').slice(0, 60);
}

export function exitText(p: ProcessStatus): string {
    const e = p.exit;
    if (!e) return 'running';
    if (e.kind === 'exited') return e.code === 0 ? 'done' : `exit ${e.code}`;
    if (e.kind === 'timed_out') return 'timed out';
    if (e.kind === 'out_of_memory') return 'out of memory';
    if (e.kind === 'lost') return 'lost';
    return (e.signal ?? 'killed').replace(/^SIG/, '');
}

/** What an ended process used: "1.2 s CPU, 64 MB"; null if it is not known. */
export function usageText(p: ProcessStatus): string | null {
    const u = p.usage;
    if (!u?.maxRssBytes) return null;
    const seconds = (u.userUs + u.systemUs) / 1e6;
    const mb = u.maxRssBytes / 1048576;
    return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s CPU, ${mb.toFixed(mb < 10 ? 1 : 0)} MB`;
}

export function age(since: string, now = Date.now()): string {
    const s = Math.max(0, (now - Date.parse(since)) / 1000);
    if (s < 60) return `${Math.floor(s)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
}
