// SPDX-License-Identifier: Apache-2.0
//
// wait.mjs - "until X, at most N ms"; the only way a test may let time pass
//
// Nothing here sleeps as synchronisation: every wait has a condition and a
// deadline, and the message of a missed deadline says what was waited for.

const turn = (ms) => new Promise((done) => setTimeout(done, ms));

const HANGS_MS = 30000; // a busy machine must not come near it

/** Polls `condition` until it returns something truthy, which is the result. */
export async function waitUntil(condition, what = 'a condition', ms = HANGS_MS, everyMs = 10) {
    const end = Date.now() + ms;
    let last;
    for (;;) {
        try {
            const value = await condition();
            if (value) return value;
            last = value;
        } catch (err) {
            if (err && err.fatal) throw err;
            last = err;
        }
        if (Date.now() >= end) {
            const why = last instanceof Error ? last.message : JSON.stringify(last);
            throw new Error(`gave up after ${ms} ms waiting for ${what} (last: ${why})`);
        }
        await turn(everyMs);
    }
}

/** The promise, or an error that says what did not happen in time. */
export function within(promise, ms, what = 'an answer') {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`gave up after ${ms} ms waiting for ${what}`)), ms);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Lets a span of time pass in which something must NOT happen. */
export async function holdsFor(ms, condition, what, everyMs = 20) {
    const end = Date.now() + ms;
    do {
        if (!(await condition())) throw new Error(`did not hold for ${ms} ms: ${what}`);
        await turn(everyMs);
    } while (Date.now() < end);
}

/** A random moment for faults to strike; the moment is the input of the test, not its order. */
export const randomMoment = (random, maxMs) => turn(Math.floor(random() * maxMs));

/** Runs `task(i)` for i in 0..count-1, `width` of them at a time. */
export async function inParallel(count, width, task) {
    let next = 0;
    const lane = async () => {
        while (next < count) await task(next++);
    };
    await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}
