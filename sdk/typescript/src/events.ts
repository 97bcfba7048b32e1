// SPDX-License-Identifier: Apache-2.0
//
// events.ts - the events of a connection

import type * as api from './api.gen.js';
import type { Camel } from './camel.js';
import type { ProcessStatus } from './status.js';

export type Viewer = Camel<api.Viewer>;
export type Role = 'own' | 'type' | 'watch';
export type Stream = 'stdout' | 'stderr';

/** Output of the process; `offset` is the offset of the first byte. */
export interface OutputEvent {
    type: 'output';
    data: Uint8Array;
    offset: number;
    /** Absent for a terminal. */
    stream?: Stream;
}
/** The last event: the process has ended and all its output has been delivered. */
export interface ExitEvent {
    type: 'exit';
    status: ProcessStatus;
    offset: number;
}
/** The bytes [from, to) were lost. */
export interface GapEvent {
    type: 'gap';
    from: number;
    to: number;
}
/** Redraws a terminal as it was at `offset`. These bytes are not output and do not advance the offset. */
export interface SnapshotEvent {
    type: 'snapshot';
    data: Uint8Array;
    offset: number;
}
export interface SizeEvent {
    type: 'size';
    rows: number | null;
    cols: number | null;
    by: string;
}
export interface ViewersEvent {
    type: 'viewers';
    count: number;
    /** Null if there are too many viewers to list. */
    list: Viewer[] | null;
}
export interface TitleEvent {
    type: 'title';
    title: string | null;
}
export interface NoticeEvent {
    type: 'notice';
    code: string;
    detail?: string;
    [key: string]: unknown;
}
/** The daemon rejected and ignored a message of ours; the connection stays open. */
export interface RefusedEvent {
    type: 'refused';
    code: string;
    detail: string;
}

export type ConnectionEvent =
    | OutputEvent
    | ExitEvent
    | GapEvent
    | SnapshotEvent
    | SizeEvent
    | ViewersEvent
    | TitleEvent
    | NoticeEvent
    | RefusedEvent;

/** For `onEvent` only: marks the start of each socket and the end of its replay. */
export interface HelloEvent {
    type: 'hello';
    offset: number;
    replayUntil: number;
    role: Role;
    rows: number | null;
    cols: number | null;
    viewers: Viewer[] | null;
    process: ProcessStatus;
    /** This socket continues where an earlier one was lost. */
    resumed: boolean;
}
export interface ReplayDoneEvent {
    type: 'replay_done';
    offset: number;
}
export type ListenerEvent = ConnectionEvent | HelloEvent | ReplayDoneEvent;
