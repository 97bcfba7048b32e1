// SPDX-License-Identifier: Apache-2.0
//
// attach.ts - the options and states of a connection

import type { BackoffOptions } from './backoff.js';
import type { ListenerEvent } from './events.js';
import type { WebSocketClass } from './socket.js';

export type ConnectionState = 'connecting' | 'connected' | 'reconnecting' | 'closed';

export interface StateInfo {
    /** Consecutive failed attempts. */
    attempt: number;
    /** In state `reconnecting`: the delay before the next attempt. */
    delayMs?: number;
    /** Why the last socket, or the connection, was closed. */
    error?: Error;
}

export interface AttachOptions {
    /**
     * Where to start: an offset, `-N` for the last N bytes, `now`, or `screen`. The default is 0: all output that the
     * daemon still has. If a terminal's first bytes were discarded, the rest cannot be drawn and a snapshot is sent instead.
     */
    since?: number | string;
    /** For clients that are not terminals: the bytes as they were written, including queries, and never a snapshot. */
    verbatim?: boolean;
    /** `ro` is read-only. The default is `rw`. */
    mode?: 'rw' | 'ro';
    /** A client id that stays the same across reconnects; random by default. */
    client?: string;
    /** This viewer's name in the list of viewers; its address by default. */
    name?: string;
    /** The size of this viewer's window. */
    rows?: number;
    cols?: number;
    /** false: do not reconnect. */
    reconnect?: boolean | BackoffOptions;
    onStateChange?: (state: ConnectionState, info: StateInfo) => void;
    /** A connection on which nothing, not even a reply to a ping, is received for about this long is considered lost. The default is 45000; 0 disables the check. */
    silenceMs?: number;
    /** Closes the connection when aborted; the process keeps running. */
    signal?: AbortSignal;
    /** Receives every event immediately, in place of events(). Acknowledge output with ack(). */
    onEvent?: (event: ListenerEvent) => void;
}

/** Opens sockets. It is the only part that knows the daemon's address. */
export interface Dialer {
    WebSocket: WebSocketClass | undefined;
    protocols: string[];
    /** `id` is undefined before the first hello. */
    url(query: Record<string, string>, id: string | undefined): string;
    /** Finds out why a handshake with this query was refused, which a WebSocket does not report, and throws the reason. */
    probe?(id: string | undefined, query: Record<string, string>): Promise<void>;
}
