// SPDX-License-Identifier: Apache-2.0
//
// gen.mjs - the bytes that emit.c writes, computable at any offset
//
// Byte i of seed s is byte (i & 3) of mix(s + (i >> 2) * golden). Because every
// byte depends on its absolute offset, a byte lost or doubled anywhere makes
// everything after it wrong, and one comparison finds it.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.mjs';

function mix(x) {
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return (x ^ (x >>> 16)) >>> 0;
}

/** Bytes [from, to) of the stream with this seed. */
export function expectedBytes(seed, from, to) {
    const first = Math.floor(from / 4);
    const words = new Uint32Array(Math.ceil(to / 4) - first);
    for (let k = 0; k < words.length; k++) words[k] = mix((seed + Math.imul(first + k, 0x9e3779b9)) | 0);
    return Buffer.from(words.buffer, from - first * 4, to - from);
}

/** Fails with the first wrong offset and the bytes around it. */
export function checkBytes(seed, from, bytes, what = 'output') {
    const want = expectedBytes(seed, from, from + bytes.length);
    if (want.equals(bytes)) return;
    let i = 0;
    while (want[i] === bytes[i]) i++;
    const near = (b) => b.subarray(Math.max(0, i - 8), i + 24).toString('hex');
    assert.fail(
        `${what}: wrong byte at offset ${from + i} (run [${from},${from + bytes.length}))\n` +
            `  want …${near(want)}\n  got  …${near(bytes)}`,
    );
}

/** A small seeded generator, so that a failing random run can be repeated. */
export function seededRandom(seed) {
    let n = 0;
    return () => mix((seed + Math.imul(++n, 0x9e3779b9)) | 0) / 0x100000000;
}

/** The seed of this run's random choices: HF_TEST_SEED repeats one. */
export function runSeed() {
    const seed = process.env.HF_TEST_SEED ? Number(process.env.HF_TEST_SEED) : Date.now() & 0x7fffffff;
    console.log(`seed ${seed} (HF_TEST_SEED=${seed} repeats this run)`);
    return seed;
}

const source = fileURLToPath(new URL('emit.c', import.meta.url));

/** Path of the built emit helper; compiled on first use. */
export const emit = () => compile('emit', [source], ['-O2', '-static']);
