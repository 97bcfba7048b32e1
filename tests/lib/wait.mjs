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

/**
 * Repeats an attempt that a short limit of the daemon may cut off when a busy machine delays the test. Only an error
 * marked `lost` (RawConn marks that of a closed connection) is repeated, and only once the limit can have passed. Any
 * other error is fatal.
 */
export const despiteLimit = (limitMs, attempt, what) =>
    waitUntil(async () => {
        const start = Date.now(); // the daemon's clock cannot start earlier
        try {
            return await attempt();
        } catch (err) {
            if (!err.lost || Date.now() - start < limitMs * 0.7) err.fatal = true;
            throw err;
        }
    }, what);

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
