// SPDX-License-Identifier: Apache-2.0
//
// events.ts - what a connection tells

import type * as api from './api.gen.js';
import type { Camel } from './camel.js';
import type { ProcessStatus } from './status.js';

export type Viewer = Camel<api.Viewer>;
export type Role = 'own' | 'type' | 'watch';
export type Stream = 'stdout' | 'stderr';

/** Bytes of the process; `offset` is that of the first. */
export interface OutputEvent {
    type: 'output';
    data: Uint8Array;
    offset: number;
    /** Absent for a terminal. */
    stream?: Stream;
}
/** The last event: the process has ended, and all its output came before. */
export interface ExitEvent {
    type: 'exit';
    status: ProcessStatus;
    offset: number;
}
/** The bytes [from, to) are gone. */
export interface GapEvent {
    type: 'gap';
    from: number;
    to: number;
}
/** Redraws a terminal as it was at `offset`; these bytes are not output and do not count. */
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
    /** Null when there are too many to name. */
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
/** What was sent was wrong and was ignored; the connection goes on. */
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

/** For listeners only: where one connection begins, and where it is live. */
export interface HelloEvent {
    type: 'hello';
    offset: number;
    replayUntil: number;
    role: Role;
    rows: number | null;
    cols: number | null;
    viewers: Viewer[] | null;
    process: ProcessStatus;
    /** It goes on where an earlier connection was cut. */
    resumed: boolean;
}
export interface ReplayDoneEvent {
    type: 'replay_done';
    offset: number;
}
export type ListenerEvent = ConnectionEvent | HelloEvent | ReplayDoneEvent;
