// SPDX-License-Identifier: Apache-2.0
// What the release binary holds when nobody has asked anything of it yet.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { Daemon, releaseBinary } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { report } from '../lib/scale.mjs';
import { waitUntil } from '../lib/wait.mjs';

const IDLE_BYTES = 2_000_000;
const bin = releaseBinary();

test('keeper and worker together, idle', { skip: !bin && 'no release binary' }, async () => {
    const d = new Daemon({ bin, fdBaseline: false });
    await d.start();
    try {
        let bytes = 0;
        const fits = () => {
            bytes = [d.pid, d.vaultPid(), d.keeperPid(), d.workerPid()].reduce((sum, pid) => sum + proc.pssBytes(pid), 0);
            return bytes > 0 && bytes <= IDLE_BYTES;
        };
        // It says that it listens just before it gives back what its start needed.
        await waitUntil(fits, 'the start to be over', 2000).catch(() => assert.fail(`${bytes} bytes of PSS`));
        report(`idle: ${bytes} bytes of PSS`);
    } finally {
        await d.stop();
    }
});
