// SPDX-License-Identifier: Apache-2.0
//
// run.ts - runs a command to completion and collects its output
//
// The daemon has a single call for this, which replies at the end. But Node's fetch and many proxies give up after five
// minutes without a reply. So we start the command, follow its output (a stream with a message at least every 15 s) and
// collect it here. If the connection is lost, the stream resumes at its offset.

import type * as api from './api.gen.js';
import { backoffDelay, sleep } from './backoff.js';
import { base64, decode, randomName } from './bytes.js';
import { type Camel, camelize } from './camel.js';
import { ConnectionError, HoldfastError, InvalidRequestError, NotFoundError } from './errors.js';
import type { GapEvent, OutputEvent } from './events.js';
import { HeadTail } from './headtail.js';
import type { HttpClient } from './http.js';
import { ListenerFailure, outputEventOf, type OutputListener, tell } from './output_listener.js';
import { serverSentEvents } from './sse.js';
import { type ProcessStatus, statusOf } from './status.js';

export type StartOptions = Camel<api.CreateRequest> & { signal?: AbortSignal };
export type RunOptions = Camel<api.RunRequest> & { signal?: AbortSignal; onOutput?: OutputListener };
export type RunResult = Omit<Camel<api.RunAnswer>, 'process'> & { process: ProcessStatus };

const OUTPUT_BYTES = 1024 * 1024;
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
/** After an outage of this length we give up; the daemon keeps the output and the command for as long. */
const OUTAGE_MS = 30_000;
/** The record must still exist when we fetch the final status. */
const RETAIN_MS = 60_000;
const GRACE_MS = 5000;

const pathOf = (p: api.Process) => `/v1/processes/${encodeURIComponent(p.id)}`;

/** Starts a process. The idempotency key makes it safe to repeat the request when the reply was lost. */
export async function start(http: HttpClient, { signal, ...json }: StartOptions): Promise<api.Process> {
    const headers = { 'Idempotency-Key': randomName('sdk-') };
    return http.json<api.Process>('POST', '/v1/processes', { json, headers, signal, repeat: true });
}

function check(good: boolean, field: string, what: string): void {
    if (good) return;
    const problem = { code: 'bad_value', status: 400, field, detail: what };
    throw new InvalidRequestError(`${what} (bad_value)`, { code: 'bad_value', status: 400, problem });
}

/** Resolves like `promise`, or rejects with the signal's reason on abort; `late` then receives the promise's value. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined, late: (value: T) => void): Promise<T> {
    if (!signal) return promise;
    return new Promise((resolve, reject) => {
        const stop = () => {
            reject(signal.reason);
            promise.then(late, () => undefined);
        };
        signal.addEventListener('abort', stop, { once: true });
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
}

class Gathered {
    readonly #all: HeadTail;
    readonly #out: HeadTail;
    readonly #err: HeadTail;

    constructor(maxBytes: number) {
        [this.#all, this.#out, this.#err] = [new HeadTail(maxBytes), new HeadTail(maxBytes), new HeadTail(maxBytes)];
    }

    add(event: OutputEvent | GapEvent): void {
        if (event.type === 'gap') {
            this.#all.miss(event.to - event.from);
            return;
        }
        this.#all.push(event.data);
        (event.stream === 'stderr' ? this.#err : this.#out).push(event.data);
    }

    result(encoding: 'utf8' | 'base64') {
        const [output, stdout, stderr] = [this.#all.result(), this.#out.result(), this.#err.result()];
        const text = encoding === 'base64' ? base64 : decode;
        return { stdout: text(stdout.bytes), stderr: text(stderr.bytes), output: text(output.bytes), encoding, omittedBytes: output.omitted };
    }
}

/** Follows the output up to the exit. */
async function follow(http: HttpClient, path: string, take: OutputListener, signal?: AbortSignal): Promise<api.SseExit> {
    let at = 0;
    let heard = Date.now();
    for (let attempt = 0; ; attempt++) {
        let failure: unknown;
        let open = false;
        try {
            const query = { since: at };
            const answer = await http.request('GET', `${path}/output`, { query, headers: { Accept: 'text/event-stream' }, signal, repeat: false });
            open = true;
            for await (const e of serverSentEvents(answer.body!)) {
                attempt = 0;
                if (e.event === 'exit') return JSON.parse(e.data) as api.SseExit;
                const event = outputEventOf(e);
                if (event) take(event);
                at = Number(e.id);
            }
        } catch (err) {
            signal?.throwIfAborted();
            if (err instanceof ListenerFailure || (err instanceof HoldfastError && !err.retryable)) throw err;
            failure = err;
        }
        if (open) heard = Date.now();
        else if (Date.now() - heard > OUTAGE_MS) {
            throw failure instanceof HoldfastError ? failure : new ConnectionError('the connection was lost while reading the output', { code: 'no_answer', cause: failure });
        }
        await sleep(backoffDelay(attempt, { baseMs: 50, maxMs: 2000 }), signal);
    }
}

/** Terminates the process tree: SIGTERM, then SIGKILL if it is still running after `graceMs`. */
async function end(http: HttpClient, path: string, graceMs: number): Promise<void> {
    const send = (signal: string) => http.json('POST', `${path}/signal`, { json: { signal, target: 'tree' } });
    await send('TERM');
    const { timed_out: stays } = await http.json<{ timed_out: boolean }>('GET', `${path}/wait`, { query: { timeout_ms: graceMs } });
    if (stays) await send('KILL');
}

/** Returns the final record, and sets its requested retention time. */
async function recordOf(http: HttpClient, started: api.Process, last: api.SseExit, retainMs?: number): Promise<api.Process> {
    const path = pathOf(started);
    try {
        if (retainMs === undefined) return await http.json<api.Process>('GET', path);
        return await http.json<api.Process>('PATCH', path, { json: { retainMs }, repeat: true });
    } catch (err) {
        // Someone has deleted the record in the meantime; the exit status is known from the stream.
        if (err instanceof NotFoundError) return { ...started, status: 'exited', exit: last.exit, exit_code: last.exit_code, usage: last.usage };
        throw err;
    }
}

function checkLimits(maxOutputBytes: number, outputEncoding: string): void {
    const fits = Number.isInteger(maxOutputBytes) && maxOutputBytes >= 0 && maxOutputBytes <= OUTPUT_MAX_BYTES;
    check(fits, 'max_output_bytes', `"max_output_bytes" must be from 0 to ${OUTPUT_MAX_BYTES}`);
    check(outputEncoding === 'utf8' || outputEncoding === 'base64', 'output_encoding', '"output_encoding" must be utf8 or base64');
}

export async function run(http: HttpClient, options: RunOptions): Promise<RunResult> {
    const { signal, maxOutputBytes = OUTPUT_BYTES, outputEncoding = 'utf8', onDetach = 'kill', retainMs, onOutput, ...spec } = options;
    checkLimits(maxOutputBytes, outputEncoding);
    signal?.throwIfAborted();
    const stop = (p: api.Process) => {
        if (onDetach === 'kill') end(http, pathOf(p), spec.graceMs ?? GRACE_MS).catch(() => undefined);
    };
    const short = retainMs !== undefined && retainMs < RETAIN_MS;
    // The signal is not passed to the start: we need the id of a started process to terminate it.
    const starting = start(http, {
        delivery: 'lossless', // the result has all output, or its head and tail, and no gap where we were slow
        holdMs: OUTAGE_MS,
        ...spec,
        onDetach: onDetach === 'kill' ? { killAfterMs: OUTAGE_MS } : onDetach,
        retainMs: short ? RETAIN_MS : retainMs,
    });
    const started = await unlessAborted(starting, signal, stop);
    const gathered = new Gathered(maxOutputBytes);
    let last: api.SseExit;
    try {
        last = await follow(
            http,
            pathOf(started),
            (event) => {
                gathered.add(event);
                tell(onOutput, event);
            },
            signal,
        );
    } catch (err) {
        if (signal?.aborted || err instanceof ListenerFailure) stop(started);
        throw err instanceof ListenerFailure ? err.reason : err;
    }
    return {
        ...gathered.result(outputEncoding),
        process: statusOf(await recordOf(http, started, last, short ? retainMs : undefined)),
        exit: camelize(last.exit),
        exitCode: last.exit_code,
        timedOut: last.exit.kind === 'timed_out',
    };
}
