// SPDX-License-Identifier: Apache-2.0
// scripts/test with parts that only wait: what it began ends with it, and what has died it does not wait for.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { afterEach, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const HANGS_MS = 120000; // the lint has the lowest priority, so a busy machine starts it late
const WAITS = '#!/bin/sh\necho $$ > "$(dirname "$0")/../$(basename "$0").pid"\nexec sleep 1000\n';
const LINT_WAITS = WAITS.replace('\n', '\ncase " $* " in *" lint "*) ;; *) exit ;; esac\n');
const WORKS = '#!/bin/sh\necho "1 passed, 0 failed"\n';

describe('scripts/test', () => {
    let dir;
    let child;
    let text;
    const pidOf = (name) => waitUntil(() => Number(fs.readFileSync(path.join(dir, `${name}.pid`), 'utf8')), `${name} to run`);

    /** A tree of its own with the scripts and stand-ins for all that it starts. */
    function start(node) {
        dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-run-tests-'));
        for (const name of ['scripts', 'src', 'tests/unit', 'bin']) fs.mkdirSync(path.join(dir, name), { recursive: true });
        const write = (name, body) => fs.writeFileSync(path.join(dir, name), body, { mode: 0o755 });
        for (const name of ['test', 'run-tests', 'progress', 'tools-path.sh']) write(`scripts/${name}`, fs.readFileSync(path.join(root, 'scripts', name)));
        for (const name of ['setup', 'layers', 'unit', 'fuzz']) write(`scripts/${name}`, WORKS);
        write('bin/make', LINT_WAITS);
        write('bin/node', node);
        child = spawn(path.join(dir, 'scripts/test'), { env: { ...process.env, BUILD: 'build', PATH: `${dir}/bin:${process.env.PATH}` } });
        text = '';
        for (const out of [child.stdout, child.stderr]) out.on('data', (data) => (text += data));
    }

    afterEach(async () => {
        child.kill('SIGTERM');
        const make = await pidOf('make').catch(() => 0);
        if (make && proc.isAlive(make)) process.kill(make);
        fs.rmSync(dir, { recursive: true });
    });

    for (const signal of ['SIGTERM', 'SIGINT']) {
        it(`ended by ${signal} it takes the tests and the lint with it`, async () => {
            start(WAITS);
            const pids = [await pidOf('node'), await pidOf('make')];
            child.kill(signal);
            assert.deepEqual(await within(once(child, 'exit'), HANGS_MS, 'its end'), [1, null]);
            await waitUntil(() => !pids.some(proc.isAlive), 'both to be gone');
        });
    }

    it('counts a lint that was killed as one that has failed', async () => {
        start('#!/bin/sh\necho "# pass 1" > "$3/node.tap"\n');
        process.kill(await pidOf('make'), 'SIGKILL');
        assert.deepEqual(await within(once(child, 'close'), HANGS_MS, 'its end'), [1, null]);
        assert.match(text, /^FAILED: lint$/m);
    });
});
