// SPDX-License-Identifier: Apache-2.0
//
// input.ts - what was typed and is not yet known to have arrived
//
// Input of one client is counted from 0 on both sides. [acked, end) is kept
// here; [acked, sent) is on its way on the present socket. A new socket begins
// where the daemon says it stands, so that every byte is taken once, whatever
// was lost with the old one. No more than WINDOW bytes are on their way, so a
// process that does not read holds the writer and not the memory.

import { Socket } from './socket.js';

const FRAME_BYTES = 64 * 1024;
const WINDOW_BYTES = 256 * 1024;
/** write() waits while more than this is kept. */
export const HIGH_WATER_BYTES = 1024 * 1024;

export class InputQueue {
    #parts: Uint8Array[] = [];
    #acked = 0;
    #sent = 0;
    #end = 0;
    /** Added to our offsets to get the daemon's: it differs only when it has forgotten us. */
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
     * A new socket stands at `taken` by the daemon's count. Returns how many bytes can
     * no longer be sent, because the daemon has forgotten us and may have had them.
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

    /** Sends what the window allows. */
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

    /** Until the daemon has taken everything before `at`. */
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

    /** Nothing more will be taken. */
    fail(err: unknown): void {
        this.#waiters.splice(0).forEach((w) => w.fail(err));
    }
}
