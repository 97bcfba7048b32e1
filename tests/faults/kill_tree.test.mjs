// SPDX-License-Identifier: Apache-2.0
// What cannot be ended is named. (What can is the business of clients/native/delete.test.mjs.)

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from '../lib/test.mjs';
import { Daemon, binary } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil } from '../lib/wait.mjs';

const skip = process.getuid() !== 0 && 'needs root';

/* Becomes root for good, so that a daemon of another user may not signal it. */
const SOURCE = `
#define _GNU_SOURCE
#include <unistd.h>
#include <stdio.h>
int main(void) { if (setresuid(0, 0, 0) != 0) return 9; printf("out of reach\\n"); fflush(stdout); for (;;) pause(); }`;

test('a survivor is named with its pid and program', { skip }, async (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-suid-'));
    fs.chmodSync(dir, 0o755);
    const tool = path.join(dir, 'unkillable');
    fs.writeFileSync(`${tool}.c`, SOURCE);
    execFileSync('cc', ['-o', tool, `${tool}.c`]);
    fs.chmodSync(tool, 0o4755);
    // The daemon runs as nobody, from a place that nobody can read.
    const bin = path.join(dir, 'holdfast');
    fs.copyFileSync(binary(), bin);
    fs.chmodSync(bin, 0o755);
    const d = new Daemon({
        bin,
        before: ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'],
        fdBaseline: false,
    }).prepare();
    fs.chownSync(d.dir, 65534, 65534);
    fs.chownSync(d.tokenFile, 65534, 65534);
    await d.start();
    let pid;
    try {
        const p = await d.sh(`${tool} & wait`, { cwd: '/' });
        const told = await d.outputHas(p.id, 'out of reach', 5000).catch(() => null);
        if (!told) {
            t.skip('set-uid programs do not work here');
            return;
        }
        pid = proc.descendantsOf(d.keeperPid()).find((s) => s.name === 'unkillable').pid;
        const r = await d.remove(p.id, '?grace_ms=200');
        assert.deepEqual(r.survivors, [{ pid, command: 'unkillable' }]);
        assert.ok(proc.isAlive(pid));
    } finally {
        if (pid) process.kill(pid, 'SIGKILL');
        await waitUntil(() => !pid || !proc.isAlive(pid), 'the end of the survivor');
        await d.stop();
        fs.rmSync(dir, { recursive: true, force: true });
    }
});
