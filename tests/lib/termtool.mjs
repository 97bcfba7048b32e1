// SPDX-License-Identifier: Apache-2.0
//
// termtool.mjs - the daemon's screen model as a program of its own (term.c)
//
// So that snapshots can be taken at any byte of a recorded session, which a running
// daemon gives only of the present.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { compile } from './compile.mjs';
import { root } from './daemon.mjs';

const PARTS = /^(term(?!_query)(_\w+)?|vt|modes|snapshot|snapshot_row)\.c$/;

function build() {
    const folder = path.join(root, 'src/term');
    const parts = fs.readdirSync(folder).filter((f) => PARTS.test(f));
    const sources = [
        path.join(root, 'tests/lib/term.c'),
        ...parts.map((f) => path.join(folder, f)),
        ...['mem', 'buf'].map((f) => path.join(root, `src/base/${f}.c`)),
    ];
    return compile('term', sources, ['-std=gnu11', '-O1', '-D_GNU_SOURCE', `-I${path.join(root, 'src')}`]);
}

/**
 * Feeds a session, [{bytes} | {rows, cols}], and takes a snapshot at each of these offsets (sorted):
 * [{at, offset, rows, cols, bytes, dump}], where the output goes on at `offset` behind it.
 */
export function snapshotsAt(rows, cols, session, points) {
    const commands = [Buffer.from(`N ${rows} ${cols}\n`)];
    const left = [...points];
    const sizes = [];
    let at = 0;
    let size = { rows, cols };
    for (const part of session) {
        if (!part.bytes) {
            size = part;
            commands.push(Buffer.from(`R ${part.rows} ${part.cols}\n`));
            continue;
        }
        let from = 0;
        while (left.length > 0 && left[0] < at + part.bytes.length) {
            const to = left.shift() - at;
            commands.push(Buffer.from(`B ${to - from}\n`), part.bytes.subarray(from, to), Buffer.from('DS\n'));
            sizes.push(size);
            from = to;
        }
        commands.push(Buffer.from(`B ${part.bytes.length - from}\n`), part.bytes.subarray(from));
        at += part.bytes.length;
    }
    const r = spawnSync(build(), { input: Buffer.concat(commands), maxBuffer: 1 << 30 });
    if (r.status !== 0) throw new Error(`term: ${r.status} ${r.signal} ${r.stderr}`);
    return sizes.map((s, i) => ({ at: points[i], ...s, ...takeOne(r) }));
}

function takeOne(r) {
    const end = r.stdout.indexOf('\n\n');
    const head = r.stdout.indexOf('\n', end + 2);
    const [offset, length] = r.stdout.subarray(end + 2, head).toString().split(' ').map(Number);
    const one = {
        dump: r.stdout.subarray(0, end + 1).toString(),
        offset,
        bytes: r.stdout.subarray(head + 1, head + 1 + length),
    };
    r.stdout = r.stdout.subarray(head + 1 + length);
    return one;
}
