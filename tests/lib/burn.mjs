// SPDX-License-Identifier: Apache-2.0
//
// burn.mjs - a process that uses a known amount, and the bounds of what the daemon must report

import assert from 'node:assert/strict';
import path from 'node:path';
import { compile } from './compile.mjs';
import { root } from './daemon.mjs';

const MIB = 1024 * 1024;
export const burn = { cpuMs: 300, memory: 64 * MIB, write: 8 * MIB };

/** Arguments of a process that uses `burn`; with `hold` it then waits for a line. */
export function burner(d, { hold = false } = {}) {
    const bin = compile('burn', [path.join(root, 'tests/lib/burn.c')], ['-O1']);
    const args = [burn.cpuMs, burn.memory / MIB, burn.write / MIB, path.join(d.dir, `burned-${process.hrtime.bigint()}`)];
    return { command: bin, args: [...args.map(String), ...(hold ? ['hold'] : [])], stdin: hold ? 'pipe' : undefined };
}

/** The usage is that of the program: no less than it read of itself, and not much more. */
export function checkUsage(usage, own, { blocks = true } = {}) {
    assert.equal(usage.scope, 'process');
    const cpu = usage.user_us + usage.system_us;
    assert.ok(own.cpu_us >= burn.cpuMs * 1000 - 10000, 'the program used what it was asked to use');
    assert.ok(cpu >= own.cpu_us - 10000 && cpu < own.cpu_us + 5000000, `CPU ${cpu} of ${own.cpu_us}`);
    assert.ok(usage.max_rss_bytes >= burn.memory && usage.max_rss_bytes >= own.max_rss_bytes, 'its memory');
    assert.ok(usage.max_rss_bytes < 4 * burn.memory, `not much more: ${usage.max_rss_bytes}`);
    if (!blocks) return;
    /* A file system in memory has no blocks; the kernel's own count says which it is. */
    assert.ok(usage.disk_written_bytes >= own.written_bytes && usage.disk_written_bytes <= own.written_bytes + MIB, 'its disk');
    assert.equal(typeof usage.disk_read_bytes, 'number');
}
