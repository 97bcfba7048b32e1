// SPDX-License-Identifier: Apache-2.0
// A random sample of the matrix of tests/faults/every_syscall: killed at a system call, made to fail there, refused an
// allocation. The whole matrix: see docs/TESTING.md.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../lib/daemon.mjs';
import { runSeed } from '../lib/gen.mjs';
import { test } from '../lib/test.mjs';
import { Matrix, sampleOf } from './every_syscall/matrix.mjs';
import { nameOf, parsePoint } from './every_syscall/points.mjs';

const SECONDS = 12; // no run begins later; a run takes a third of one

/** Points that once had a violation, and where it is worth looking again. */
const ONCE = [
    // The first worker died before it had said where the daemon listens, and nobody said it.
    'worker/close:3:kill-before',
    // Bytes on their way when a worker died were lost or typed twice if the next one died before it could count them.
    'worker/read.pipe:5:kill-after+worker/close:3:kill-before',
    'worker/read.pipe:3:kill-after+worker/mmap.shared:1:kill-before',
    'worker/write.tty:2:kill-after+worker/close:3:kill-before',
    // A worker without memory to map a record forgot its process.
    'worker/mmap.shared:47:fail=ENOMEM',
    'worker/mmap.shared:50:fail=ENOMEM',
    // A resize that the kernel refused was answered as done.
    'worker/ioctl.tty:7:fail=EINTR',
    // A packet to the keeper was dropped when there was no memory for it: descriptors stayed open.
    'worker/sendmsg.packet:34:fail=ENOMEM',
    'worker/sendmsg.packet:36:fail=ENOMEM',
    // A keeper without memory for an entry or its cgroup forgot the process: behind an upgrade, and started by the vault.
    'keeper/alloc:255:refuse',
    'keeper/alloc:260:refuse',
    'keeper/alloc:440:refuse',
    'keeper/alloc:447:refuse',
    // A keeper that could not read the index of the vault's descriptors left them open.
    'keeper/mmap.shared:14:fail=ENOMEM',
    // A keeper that could not ask about a listening socket gave it up.
    'keeper/getsockname:1:fail=ENOMEM',
    'keeper/getsockopt:1:fail=ENOMEM',
    // A look at the dead that was interrupted was not repeated.
    'keeper/waitid:7:fail=EINTR',
    'keeper/waitid:13:fail=EINTR',
];
const build = process.env.HF_BUILD ?? path.join(root, 'build');

function missing() {
    if (process.arch !== 'x64') return 'the injector knows the registers of x86-64 only';
    if (process.getuid() !== 0) return 'tracing the daemon needs root';
    if (!fs.existsSync(path.join(build, 'faults/inject'))) return 'run make faults';
    return false;
}

test('a sample of all system calls and allocations is survived', { skip: missing() }, async () => {
    const m = new Matrix({ build, recordings: 1 });
    try {
        await m.record();
        const all = m.points();
        const points = [...ONCE.map(parsePoint), ...sampleOf(all, 1000, runSeed())];
        await m.strikeAll(points, { until: Date.now() + 1000 * SECONDS });
        console.log(`${m.runs} of ${all.length} points, ${m.missed.length} of them not met`);
        const told = m.violations.map((v) => `${v.point}: ${v.problem}\n${v.log}`).join('\n');
        const again = m.violations.map((v) => `node tests/faults/every_syscall/matrix.mjs --point ${v.point}`).join('\n');
        assert.equal(m.violations.length, 0, `${told}\n${again}`);
        assert.ok(m.runs > 0 && m.missed.length < m.runs, `nothing was struck: ${points.slice(0, 5).map(nameOf)}`);
    } finally {
        m.close();
    }
});
