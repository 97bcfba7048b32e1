// SPDX-License-Identifier: Apache-2.0
//
// suites.test.mjs - the tests of the native API with a gateway in front, which nobody may notice
//
// HF_TEST_GATEWAY=1 makes each Daemon of these files stand behind a gateway of its own.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { root } from '../lib/daemon.mjs';
import { describe, it } from '../lib/test.mjs';

const files = [
    'clients/native/attach',
    'clients/native/events',
    'clients/native/exit_order',
    'clients/native/follow',
    'clients/native/idempotency',
    'clients/native/input',
    'clients/native/output',
    'clients/native/resize',
    'clients/native/run',
    'clients/native/signal',
    'clients/native/spawn',
    'clients/native/wait',
    'faults/resume_cuts',
];

describe('through a gateway', () => {
    for (const file of files) {
        it(file, async () => {
            const env = { ...process.env, HF_TEST_GATEWAY: '1' };
            delete env.NODE_TEST_CONTEXT;
            const child = spawn(process.execPath, ['--test', '--test-reporter=tap', path.join(root, 'tests', `${file}.test.mjs`)], {
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
