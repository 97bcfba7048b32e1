// SPDX-License-Identifier: Apache-2.0
//
// run.ts - a command from its start to its end, with its output
//
// The daemon has one call for this, which answers at the end; but fetch on Node gives up after five minutes without an
// answer, and so do many proxies. So the command is started, its output followed (a stream that says something
// every 15 s) and gathered here. A cut is survived like everywhere: the stream goes on at its offset.

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
/** A line that is down for longer is given up; the daemon holds the output and the command for as long. */
const OUTAGE_MS = 30_000;
/** The record must be there when we ask how it ended. */
const RETAIN_MS = 60_000;
const GRACE_MS = 5000;

const pathOf = (p: api.Process) => `/v1/processes/${encodeURIComponent(p.id)}`;

/** A start may be asked for again when the answer was lost: the key makes it one start. */
export async function start(http: HttpClient, { signal, ...json }: StartOptions): Promise<api.Process> {
    const headers = { 'Idempotency-Key': randomName('sdk-') };
    return http.json<api.Process>('POST', '/v1/processes', { json, headers, signal, repeat: true });
}

function check(good: boolean, field: string, what: string): void {
    if (good) return;
    const problem = { code: 'bad_value', status: 400, field, detail: what };
    throw new InvalidRequestError(`${what} (bad_value)`, { code: 'bad_value', status: 400, problem });
}

/** The outcome, or the signal's reason as soon as it is there; what comes later is left to `late`. */
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

/** Everything that is written, up to the exit. */
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
            throw failure instanceof HoldfastError ? failure : new ConnectionError('the output was cut', { code: 'no_answer', cause: failure });
        }
        await sleep(backoffDelay(attempt, { baseMs: 50, maxMs: 2000 }), signal);
    }
}

/** Ends what was started: asked for at once, and again with force if it does not go. */
async function end(http: HttpClient, path: string, graceMs: number): Promise<void> {
    const send = (signal: string) => http.json('POST', `${path}/signal`, { json: { signal, target: 'tree' } });
    await send('TERM');
    const { timed_out: stays } = await http.json<{ timed_out: boolean }>('GET', `${path}/wait`, { query: { timeout_ms: graceMs } });
    if (stays) await send('KILL');
}

/** The record at the end; kept for as long as was asked for from here on. */
async function recordOf(http: HttpClient, started: api.Process, last: api.SseExit, retainMs?: number): Promise<api.Process> {
    const path = pathOf(started);
    try {
        if (retainMs === undefined) return await http.json<api.Process>('GET', path);
        return await http.json<api.Process>('PATCH', path, { json: { retainMs }, repeat: true });
    } catch (err) {
        // Somebody has dropped it meanwhile; how it ended is known all the same.
        if (err instanceof NotFoundError) return { ...started, status: 'exited', exit: last.exit, exit_code: last.exit_code };
        throw err;
    }
}

function checkLimits(maxOutputBytes: number, outputEncoding: string): void {
    const fits = Number.isInteger(maxOutputBytes) && maxOutputBytes >= 0 && maxOutputBytes <= OUTPUT_MAX_BYTES;
    check(fits, 'max_output_bytes', `"max_output_bytes" is 0 to ${OUTPUT_MAX_BYTES}`);
    check(outputEncoding === 'utf8' || outputEncoding === 'base64', 'output_encoding', '"output_encoding" is utf8 or base64');
}

export async function run(http: HttpClient, options: RunOptions): Promise<RunResult> {
    const { signal, maxOutputBytes = OUTPUT_BYTES, outputEncoding = 'utf8', onDetach = 'kill', retainMs, onOutput, ...spec } = options;
    checkLimits(maxOutputBytes, outputEncoding);
    signal?.throwIfAborted();
    const stop = (p: api.Process) => {
        if (onDetach === 'kill') end(http, pathOf(p), spec.graceMs ?? GRACE_MS).catch(() => undefined);
    };
    const short = retainMs !== undefined && retainMs < RETAIN_MS;
    // The start is not given the signal: what was started has to be known to be ended.
    const starting = start(http, {
        delivery: 'lossless', // the answer has all of it, or the head and the tail: never a hole where we were slow
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
