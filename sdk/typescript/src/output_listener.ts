// SPDX-License-Identifier: Apache-2.0
//
// output_listener.ts - delivers the output of a command while it runs

import type * as api from './api.gen.js';
import { bytesOf } from './bytes.js';
import type { GapEvent, OutputEvent } from './events.js';
import type { ServerSentEvent } from './sse.js';

/** Receives all output as it arrives. If it throws, the command is terminated and the call rejects with that error. */
export type OutputListener = (event: OutputEvent | GapEvent) => void;

/** Returns undefined for events of other types. */
export function outputEventOf(e: ServerSentEvent): OutputEvent | GapEvent | undefined {
    if (e.event === 'gap') return { type: 'gap', ...(JSON.parse(e.data) as api.Gap) };
    if (e.event !== 'output') return undefined;
    const { offset, stream, data, encoding } = JSON.parse(e.data) as api.SseOutput;
    return { type: 'output', data: bytesOf(data, encoding), offset, ...(stream === 'tty' ? {} : { stream }) };
}

/** Wraps an error thrown by a listener, to tell it apart from a connection error. */
export class ListenerFailure extends Error {
    constructor(readonly reason: unknown) {
        super('the output listener threw an error');
    }
}

export function tell(listener: OutputListener | undefined, event: OutputEvent | GapEvent): void {
    try {
        listener?.(event);
    } catch (err) {
        throw new ListenerFailure(err);
    }
}
