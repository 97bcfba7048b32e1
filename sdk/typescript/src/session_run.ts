// SPDX-License-Identifier: Apache-2.0
//
// session_run.ts - runs a command in a session's shell to completion
//
// The reply is an event stream: Node's fetch and many proxies would give up on a plain reply after five minutes of
// silence.

import type * as api from './api.gen.js';
import type { Camel } from './camel.js';
import { ConnectionError, errorOfAnswer, HoldfastError } from './errors.js';
import type { HttpClient } from './http.js';
import { ListenerFailure, outputEventOf, type OutputListener, tell } from './output_listener.js';
import { serverSentEvents } from './sse.js';

export type SessionRunOptions = Omit<Camel<api.SessionRunRequest>, 'command'> & { signal?: AbortSignal; onOutput?: OutputListener };

/** Reads the result from the stream; undefined if the stream ended early. */
async function readEnd(body: ReadableStream<Uint8Array>, onOutput?: OutputListener): Promise<api.SessionRunAnswer | undefined> {
    for await (const e of serverSentEvents(body)) {
        if (e.event === 'finished') return JSON.parse(e.data) as api.SessionRunAnswer;
        if (e.event === 'error') throw errorOfAnswer((JSON.parse(e.data) as api.Problem).status, e.data);
        const event = outputEventOf(e);
        if (event) tell(onOutput, event);
    }
    return undefined;
}

export async function runInSession(http: HttpClient, path: string, command: string, options: SessionRunOptions): Promise<api.SessionRunAnswer> {
    const { signal, onOutput, ...rest } = options;
    const headers = { Accept: 'text/event-stream' };
    const query = onOutput ? { output: 1 } : {};
    const answer = await http.request('POST', `${path}/run`, { query, json: { command, ...rest }, headers, signal });
    let cause: unknown;
    try {
        const end = await readEnd(answer.body!, onOutput);
        if (end) return end;
    } catch (err) {
        signal?.throwIfAborted();
        if (err instanceof ListenerFailure) throw err.reason;
        if (err instanceof HoldfastError) throw err;
        cause = err;
    }
    throw new ConnectionError(`POST ${path}/run: the connection was lost before the command ended`, { code: 'no_answer', cause });
}
