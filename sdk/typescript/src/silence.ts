// SPDX-License-Identifier: Apache-2.0
//
// silence.ts - detects a dead connection: a laptop that slept, a middlebox that dropped it
//
// It counts ticks, not time, so that a page whose timers are throttled still sends a ping before it gives up.

/** A connection is lost after this many ticks without a message; a ping is sent at each tick before. */
const TICKS = 3;

export interface SilenceHandlers {
    /** Sends a ping. */
    ask(): void;
    /** Whether something else explains the silence. */
    excused(): boolean;
    lost(reason: string): void;
}

export class Silence {
    readonly #ms: number;
    readonly #handlers: SilenceHandlers;
    #timer: ReturnType<typeof setInterval> | undefined;
    #heard = false;
    #ticks = 0;

    /** 0 disables the check. */
    constructor(ms: number, handlers: SilenceHandlers) {
        this.#ms = ms;
        this.#handlers = handlers;
    }

    start(): void {
        this.stop();
        if (this.#ms <= 0) return;
        this.#timer = setInterval(() => this.#tick(), this.#ms / TICKS);
        // This timer must not keep a program alive by itself.
        (this.#timer as { unref?(): void }).unref?.();
    }

    stop(): void {
        clearInterval(this.#timer);
        this.#heard = false;
        this.#ticks = 0;
    }

    heard(): void {
        this.#heard = true;
    }

    #tick(): void {
        this.#ticks = this.#heard || this.#handlers.excused() ? 0 : this.#ticks + 1;
        this.#heard = false;
        if (this.#ticks < TICKS) this.#handlers.ask();
        else this.#handlers.lost(`nothing was received for ${this.#ms} ms`);
    }
}
