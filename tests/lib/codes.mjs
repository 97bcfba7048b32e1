// SPDX-License-Identifier: Apache-2.0
//
// codes.mjs - which error codes exist, and which the tests have met
//
// The list is read from src/base/error.h, the one place that defines codes. Each
// test run appends what it saw to the file named by HF_CODES_FILE; codes.check.mjs
// compares at the end.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Map code -> {status, title} from HF_CODES. */
export function definedCodes() {
    const source = fs.readFileSync(path.join(root, 'src/base/error.h'), 'utf8');
    const out = new Map();
    for (const m of source.matchAll(/X\(([a-z_]+), (\d{3}), [A-Z0-9]+,\s+"([^"]*)"\)/g)) {
        out.set(m[1], { status: Number(m[2]), title: m[3] });
    }
    return out;
}

/** Codes that need a broken machine: the C tests of tests/unit and tests/faults inject those. */
export const NEEDS_FAULT = new Set(['internal', 'no_memory', 'quota_exceeded']);

export const codes = definedCodes();
const noted = new Set();

export function noteCode(code) {
    if (noted.has(code)) return;
    noted.add(code);
    if (process.env.HF_CODES_FILE) fs.appendFileSync(process.env.HF_CODES_FILE, `${code}\n`);
}

export function notedCodes(file) {
    return new Set(fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);
}
