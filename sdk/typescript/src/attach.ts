// SPDX-License-Identifier: Apache-2.0
//
// attach.ts - what a connection is asked for, and what it tells of itself

import type { BackoffOptions } from './backoff.js';
import type { ListenerEvent } from './events.js';
import type { WebSocketClass } from './socket.js';

export type ConnectionState = 'connecting' | 'connected' | 'reconnecting' | 'closed';

export interface StateInfo {
    /** Attempts in a row that have failed. */
    attempt: number;
    /** `reconnecting`: until the next attempt. */
    delayMs?: number;
    /** What ended the last socket, or the connection. */
    error?: Error;
}

export interface AttachOptions {
    /**
     * Where to begin: an offset, `-N` for the last N bytes, `now`, or `screen`. 0 by default: all that is held, except
     * of a terminal whose first bytes are gone: the rest could not be drawn, and a snapshot comes instead.
     */
    since?: number | string;
    /** Whoever reads is no terminal: the bytes as they were written, queries included, and never a snapshot. */
    verbatim?: boolean;
    /** `ro` only watches. */
    mode?: 'rw' | 'ro';
    /** A name that stays the same over reconnects; random by default. */
    client?: string;
    /** What this viewer is called in the list of viewers; its address by default. */
    name?: string;
    /** The window of this viewer. */
    rows?: number;
    cols?: number;
    /** false: the first cut is the end. */
    reconnect?: boolean | BackoffOptions;
    onStateChange?: (state: ConnectionState, info: StateInfo) => void;
    /** A line on which nothing was heard for about so long, not even an answer, is lost; 45000, 0: never. */
    silenceMs?: number;
    /** Closes the connection; the process goes on. */
    signal?: AbortSignal;
    /** Gets every event at once instead of events(); acknowledge with ack(). */
    onEvent?: (event: ListenerEvent) => void;
}

/** How sockets are made; apart from it a connection knows nothing of where the daemon is. */
export interface Dialer {
    WebSocket: WebSocketClass | undefined;
    protocols: string[];
    /** `id` is known after the first hello. */
    url(query: Record<string, string>, id: string | undefined): string;
    /** Asks why a handshake with this query was refused, which a WebSocket does not tell; throws the reason. */
    probe?(id: string | undefined, query: Record<string, string>): Promise<void>;
}
