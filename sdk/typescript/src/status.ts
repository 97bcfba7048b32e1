// SPDX-License-Identifier: Apache-2.0
//
// status.ts - what is known of a process, in the words of this package

import type * as api from './api.gen.js';
import { bytesOf, decode } from './bytes.js';
import { type Camel, camelize } from './camel.js';

/** A piece of output. */
export interface OutputChunk {
    /** Of its first byte. */
    offset: number;
    /** As text; bytes that are not UTF-8 become U+FFFD. */
    data: string;
    raw: Uint8Array;
    stream: 'tty' | 'stdout' | 'stderr';
    time: string;
}

/** The daemon's process object in camelCase, and what most programs ask of it. */
export type ProcessStatus = Omit<Camel<api.Process>, 'output'> & {
    /** Which bytes are held, [first, next), and whether more may come. */
    outputRange: Camel<api.Process>['output'];
    running: boolean;
    startedAt: string;
    finishedAt: string | null;
    /** It was ended by `timeoutMs` or `idleTimeoutMs`. */
    timedOut: boolean;
};

/** With `includeOutput`: all that the daemon holds, in pieces and in one. */
export type ProcessStatusWithOutput = ProcessStatus & { output?: OutputChunk[]; text?: string };

export function statusOf(process: api.Process): ProcessStatus {
    const { output, ...rest } = camelize(process);
    return {
        ...rest,
        outputRange: output,
        running: process.status === 'running',
        startedAt: process.created_at,
        finishedAt: process.exited_at,
        timedOut: process.exit?.kind === 'timed_out',
    };
}

export function chunkOf(c: api.OutputChunks['chunks'][number]): OutputChunk {
    const raw = bytesOf(c.data, c.encoding);
    return { offset: c.offset, data: c.encoding === 'base64' ? decode(raw) : c.data, raw, stream: c.stream, time: c.time };
}
