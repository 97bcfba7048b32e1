// SPDX-License-Identifier: Apache-2.0
//
// codes.check.mjs - the last step of the tests: every documented error code was met
//
// Run by scripts/node-tests.mjs behind all suites, with HF_CODES_FILE set. Also holds the
// documentation to the same list.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NEEDS_FAULT, codes, notedCodes } from './lib/codes.mjs';
import * as proc from './lib/proc.mjs';
import { waitUntil } from './lib/wait.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

// The runner begins the last file when one of its lanes is free; what still runs beside it is not done noting.
before(() =>
    waitUntil(
        () => !proc.childrenOf(process.ppid).some((s) => proc.cmdline(s.pid).some((word) => word.endsWith('.test.mjs'))),
        'the other suites to end',
        600000,
    ),
);

test('every error code was produced by some test', () => {
    assert.ok(process.env.HF_CODES_FILE, 'HF_CODES_FILE must name the file the suites wrote');
    const seen = notedCodes(process.env.HF_CODES_FILE);
    const missing = [...codes.keys()].filter((c) => !seen.has(c) && !NEEDS_FAULT.has(c));
    assert.deepEqual(missing, [], 'codes that no test produced');
});

test('no answer carried a code that is not defined', () => {
    const seen = notedCodes(process.env.HF_CODES_FILE);
    assert.deepEqual(
        [...seen].filter((c) => !codes.has(c)),
        [],
    );
});

test('docs/PROTOCOL.md names every code', () => {
    const doc = fs.readFileSync(path.join(root, 'docs/PROTOCOL.md'), 'utf8');
    assert.deepEqual(
        [...codes.keys()].filter((c) => !doc.includes(`\`${c}\``)),
        [],
    );
});
