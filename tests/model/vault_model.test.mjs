// SPDX-License-Identifier: Apache-2.0
//
// vault_model.test.mjs - the small part of docs/model: what it claims holds, and it can fail
//
// `make model` explores all of it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const hasSpin = spawnSync('spin', ['-V']).error === undefined;

test('the model of vault, keeper and worker holds, and finds what is wrong on purpose', { skip: !hasSpin && 'spin is not installed' }, () => {
    const dir = fs.mkdtempSync(path.join(process.env.HF_TEST_TMP ?? os.tmpdir(), 'model-'));
    try {
        const run = spawnSync(path.join(root, 'scripts/model'), [dir, 'quick'], { encoding: 'utf8' });
        assert.equal(run.status, 0, run.stdout + run.stderr);
        assert.equal(run.stdout.match(/ holds: /g)?.length, 4);
        assert.equal(run.stdout.match(/ is found: /g)?.length, 4);
    } finally {
        fs.rmSync(dir, { recursive: true, force: true });
    }
});
