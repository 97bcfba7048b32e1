// SPDX-License-Identifier: Apache-2.0
//
// output_listener.ts - who wants the output of a command while it runs

import type * as api from './api.gen.js';
import { bytesOf } from './bytes.js';
import type { GapEvent, OutputEvent } from './events.js';
import type { ServerSentEvent } from './sse.js';

/** Is told all output as it comes. What it throws ends the command, and the call is rejected with it. */
export type OutputListener = (event: OutputEvent | GapEvent) => void;

/** Undefined: the event is about something else. */
export function outputEventOf(e: ServerSentEvent): OutputEvent | GapEvent | undefined {
    if (e.event === 'gap') return { type: 'gap', ...(JSON.parse(e.data) as api.Gap) };
    if (e.event !== 'output') return undefined;
    const { offset, stream, data, encoding } = JSON.parse(e.data) as api.SseOutput;
    return { type: 'output', data: bytesOf(data, encoding), offset, ...(stream === 'tty' ? {} : { stream }) };
}

/** What a listener threw must not be taken for a fault of the line. */
export class ListenerFailure extends Error {
    constructor(readonly reason: unknown) {
        super('the listener of the output failed');
    }
}

export function tell(listener: OutputListener | undefined, event: OutputEvent | GapEvent): void {
    try {
        listener?.(event);
    } catch (err) {
        throw new ListenerFailure(err);
    }
}
