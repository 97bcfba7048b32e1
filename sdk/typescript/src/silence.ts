// SPDX-License-Identifier: Apache-2.0
//
// silence.ts - notices a line that died without a word: a laptop that slept, a middlebox that forgot it
//
// Ticks without a sign are counted and not time, so that a page whose timers are held back asks before it judges.

/** So often is a silent line asked before it is given up. */
const TICKS = 3;

export interface SilenceHandlers {
    /** Asks for a sign of life. */
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

    /** 0 ms: never. */
    constructor(ms: number, handlers: SilenceHandlers) {
        this.#ms = ms;
        this.#handlers = handlers;
    }

    start(): void {
        this.stop();
        if (this.#ms <= 0) return;
        this.#timer = setInterval(() => this.#tick(), this.#ms / TICKS);
        // What is to go on is the line; the watch alone keeps no program from ending.
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
        else this.#handlers.lost(`nothing was heard for ${this.#ms} ms`);
    }
}
