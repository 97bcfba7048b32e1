// SPDX-License-Identifier: Apache-2.0
//
// headtail.ts - keeps the beginning and the end of the output, as the daemon does for `run`

import { concat } from './bytes.js';

/** The number of bytes at the end that form an incomplete UTF-8 character. */
function openTail(bytes: Uint8Array): number {
    for (let n = 1; n <= 3 && n <= bytes.length; n++) {
        const b = bytes[bytes.length - n]!;
        if ((b & 0xc0) === 0x80) continue;
        const length = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1;
        return length > n ? n : 0;
    }
    return 0;
}

/** The number of bytes at the start that may be the rest of a split UTF-8 character. */
function strayFront(bytes: Uint8Array): number {
    let n = 0;
    while (n < 3 && n < bytes.length && (bytes[n]! & 0xc0) === 0x80) n++;
    return n;
}

export class HeadTail {
    readonly #headMax: number;
    readonly #tailMax: number;
    #head: Uint8Array[] = [];
    #headLength = 0;
    #tail: Uint8Array[] = [];
    #tailLength = 0;
    #total = 0;

    constructor(maxBytes: number) {
        this.#tailMax = Math.floor(maxBytes / 2);
        this.#headMax = maxBytes - this.#tailMax;
    }

    push(bytes: Uint8Array): void {
        this.#total += bytes.length;
        const front = bytes.subarray(0, this.#headMax - this.#headLength);
        if (front.length > 0) this.#head.push(front);
        this.#headLength += front.length;
        const rest = bytes.subarray(front.length);
        if (rest.length === 0) return;
        this.#tail.push(rest);
        this.#tailLength += rest.length;
        while (this.#tail.length > 0 && this.#tailLength - this.#tail[0]!.length >= this.#tailMax) this.#tailLength -= this.#tail.shift()!.length;
    }

    /** Counts bytes that were lost. */
    miss(count: number): void {
        this.#total += count;
    }

    /** Where bytes are omitted, no character is split. */
    result(): { bytes: Uint8Array; omitted: number } {
        let head = concat(this.#head);
        let tail = concat(this.#tail);
        tail = tail.subarray(Math.max(0, tail.length - this.#tailMax));
        if (this.#total > head.length + tail.length) {
            head = head.subarray(0, head.length - openTail(head));
            tail = tail.subarray(strayFront(tail));
        }
        return { bytes: concat([head, tail]), omitted: this.#total - head.length - tail.length };
    }
}
