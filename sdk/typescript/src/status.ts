// SPDX-License-Identifier: Apache-2.0
//
// status.ts - the status of a process, as this package presents it

import type * as api from './api.gen.js';
import { bytesOf, decode } from './bytes.js';
import { type Camel, camelize } from './camel.js';

/** A chunk of output. */
export interface OutputChunk {
    /** The offset of the first byte. */
    offset: number;
    /** As text; bytes that are not UTF-8 become U+FFFD. */
    data: string;
    raw: Uint8Array;
    stream: 'tty' | 'stdout' | 'stderr';
    time: string;
}

/** The daemon's process object in camelCase, with a few derived fields. */
export type ProcessStatus = Omit<Camel<api.Process>, 'output'> & {
    /** The bytes that the daemon still has, [first, next), and whether more may follow. */
    outputRange: Camel<api.Process>['output'];
    running: boolean;
    startedAt: string;
    finishedAt: string | null;
    /** The process was terminated by `timeoutMs` or `idleTimeoutMs`. */
    timedOut: boolean;
};

/** With `includeOutput`: all output that the daemon still has, in chunks and as one text. */
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
