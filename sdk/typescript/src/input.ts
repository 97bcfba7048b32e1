// SPDX-License-Identifier: Apache-2.0
//
// input.ts - the queue of input that the daemon has not yet acknowledged
//
// Both sides count a client's input from 0. [acked, end) is kept here; [acked, sent)
// is in flight on the current socket. A new socket starts at the offset that the
// daemon reports, so every byte is accepted exactly once, whatever was lost with the
// old socket. At most WINDOW_BYTES are in flight, so a process that does not read
// its input blocks the writer and does not use up memory.

import { Socket } from './socket.js';

const FRAME_BYTES = 64 * 1024;
const WINDOW_BYTES = 256 * 1024;
/** write() waits while more than this is queued. */
export const HIGH_WATER_BYTES = 1024 * 1024;

export class InputQueue {
    #parts: Uint8Array[] = [];
    #acked = 0;
    #sent = 0;
    #end = 0;
    /** The daemon's offset minus ours; not 0 only after the daemon has forgotten this client. */
    #shift = 0;
    #waiters: { at: number; done: () => void; fail: (err: unknown) => void }[] = [];

    get pending(): number {
        return this.#end - this.#acked;
    }

    get end(): number {
        return this.#end;
    }

    push(bytes: Uint8Array): void {
        if (bytes.length === 0) return;
        this.#parts.push(bytes.slice());
        this.#end += bytes.length;
    }

    /**
     * Restarts on a new socket, on which the daemon has accepted `taken` bytes by its count. Returns how many bytes
     * cannot be sent again, because the daemon has forgotten this client and may already have accepted them.
     */
    restart(taken: number): number {
        const at = taken - this.#shift;
        let lost = 0;
        if (at < this.#acked || at > this.#end) {
            lost = this.#sent - this.#acked;
            this.#release(this.#sent);
            this.#shift = taken - this.#acked;
        } else {
            this.#release(at);
        }
        this.#sent = this.#acked;
        return lost;
    }

    acknowledge(taken: number): void {
        this.#release(Math.min(taken - this.#shift, this.#end));
        this.#sent = Math.max(this.#sent, this.#acked);
    }

    #release(to: number): void {
        let drop = to - this.#acked;
        if (drop <= 0) return;
        this.#acked = to;
        while (drop > 0) {
            const first = this.#parts[0]!;
            if (first.length > drop) {
                this.#parts[0] = first.subarray(drop);
                break;
            }
            drop -= first.length;
            this.#parts.shift();
        }
        const ready = this.#waiters.filter((w) => w.at <= to);
        this.#waiters = this.#waiters.filter((w) => w.at > to);
        ready.forEach((w) => w.done());
    }

    /** Sends as much as the window allows. */
    pump(socket: Socket): void {
        let skip = this.#sent - this.#acked;
        for (let i = 0; i < this.#parts.length && this.#sent - this.#acked < WINDOW_BYTES; i++) {
            const part = this.#parts[i]!;
            if (skip >= part.length) {
                skip -= part.length;
                continue;
            }
            const room = WINDOW_BYTES - (this.#sent - this.#acked);
            const slice = part.subarray(skip, skip + Math.min(FRAME_BYTES, room));
            socket.send(slice);
            this.#sent += slice.length;
            skip += slice.length;
            if (skip < part.length) i--;
            else skip = 0;
        }
    }

    get allSent(): boolean {
        return this.#sent === this.#end;
    }

    /** Resolves when the daemon has accepted everything before `at`. */
    taken(at: number, signal?: AbortSignal): Promise<void> {
        if (at <= this.#acked) return Promise.resolve();
        return new Promise((resolve, reject) => {
            signal?.throwIfAborted();
            const stop = () => {
                this.#waiters = this.#waiters.filter((w) => w !== waiter);
                reject(signal?.reason);
            };
            const off = () => signal?.removeEventListener('abort', stop);
            const waiter = {
                at,
                done: () => (off(), resolve()),
                fail: (err: unknown) => (off(), reject(err)),
            };
            this.#waiters.push(waiter);
            signal?.addEventListener('abort', stop, { once: true });
        });
    }

    /** Rejects all waiters: no more input will be accepted. */
    fail(err: unknown): void {
        this.#waiters.splice(0).forEach((w) => w.fail(err));
    }
}
