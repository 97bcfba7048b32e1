// SPDX-License-Identifier: Apache-2.0
//
// compile.mjs - the tests' own C programs, built on first use

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

let own;

/** Of all files of a run; of a file run alone, its own. */
function folder() {
    if (process.env.HF_TEST_TMP) return process.env.HF_TEST_TMP;
    if (!own) {
        own = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-tests-'));
        process.on('exit', () => fs.rmSync(own, { recursive: true, force: true }));
    }
    return own;
}

/** Path of the program; files that run side by side share it, and each sees it whole or not at all. */
export function compile(name, sources, flags) {
    const out = path.join(folder(), name);
    if (fs.existsSync(out)) return out;
    const work = fs.mkdtempSync(path.join(folder(), 'cc-'));
    const [cc, ...wrapped] = (process.env.CC ?? 'cc').split(' '); // "ccache gcc"
    execFileSync(cc, [...wrapped, '-Wall', '-Wextra', '-o', path.join(work, name), ...sources, ...flags]);
    fs.renameSync(path.join(work, name), out);
    return out;
}
