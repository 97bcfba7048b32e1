// SPDX-License-Identifier: Apache-2.0
//
// suites.test.mjs - the tests of native API, SDK and page with a gateway in front, which nobody may notice
//
// HF_TEST_GATEWAY=1 makes each Daemon of these files stand behind a gateway of its own. At full scale
// these are all files that speak to a daemon by its URL, else a few of each kind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../lib/daemon.mjs';
import { FULL } from '../lib/scale.mjs';
import { describe, it } from '../lib/test.mjs';

const all = (dir) =>
    fs
        .readdirSync(path.join(root, 'tests', dir))
        .filter((f) => f.endsWith('.test.mjs'))
        .map((f) => path.join(dir, f));
const some = ['attach', 'follow', 'input', 'output', 'run'].map((f) => `clients/native/${f}.test.mjs`);
const files = FULL
    ? [...all('clients/native'), ...all('clients/sdk'), ...all('clients/mcp'), ...all('clients/sandbox-agent'), ...all('cli'), ...all('browser')]
    : [...some, 'clients/sdk/drops.test.mjs', 'browser/embed.test.mjs'];
files.push('faults/resume_cuts.test.mjs');

describe('through a gateway', () => {
    for (const file of files) {
        it(file, async () => {
            const env = { ...process.env, HF_TEST_GATEWAY: '1' };
            delete env.NODE_TEST_CONTEXT;
            const child = spawn(process.execPath, ['--test', '--test-reporter=tap', path.join(root, 'tests', file)], {
                env,
                stdio: ['ignore', 'pipe', 'inherit'],
            });
            let out = '';
            child.stdout.on('data', (d) => (out += d));
            const code = await new Promise((done) => child.once('close', done));
            const failed = out.split('\n').filter((l) => /^\s*not ok/.test(l));
            assert.equal(code, 0, failed.join('\n') + out.slice(-3000));
            assert.ok(Number(/^# pass (\d+)$/m.exec(out)?.[1]) > 0);
        });
    }
});
