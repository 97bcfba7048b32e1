// SPDX-License-Identifier: Apache-2.0
//
// backoff.ts - the delay before a retry
//
// The delay doubles from `baseMs` to `maxMs`. Half of each delay is random, so that
// many clients disconnected together do not reconnect together.

export interface BackoffOptions {
    /** The first delay; 100 by default. */
    baseMs?: number;
    /** The longest delay; 10000 by default. */
    maxMs?: number;
    /** The maximum number of consecutive attempts; unlimited by default. */
    maxAttempts?: number;
}

export function backoffDelay(attempt: number, options: BackoffOptions = {}, random = Math.random): number {
    const { baseMs = 100, maxMs = 10_000 } = options;
    const full = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
    return full / 2 + (full / 2) * random();
}

/** Resolves after `ms`, or rejects with the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const stop = () => {
            clearTimeout(timer);
            reject(signal?.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener('abort', stop);
            resolve();
        }, ms);
        signal?.addEventListener('abort', stop, { once: true });
    });
}
