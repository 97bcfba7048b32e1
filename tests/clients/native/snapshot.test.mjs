// SPDX-License-Identifier: Apache-2.0
//
// A snapshot and what follows it give the same terminal as all bytes from the
// first one on: every cell with its attributes, scrollback, wrapped lines, cursor,
// pen and modes, in xterm.js. Real programs are recorded live and then looked at from
// everywhere, also from inside a sequence, with the window's size changing twice.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { runSeed, seededRandom } from '../../lib/gen.mjs';
import { FULL, report, scaled } from '../../lib/scale.mjs';
import { PROGRAMS, record } from '../../lib/programs.mjs';
import { snapshotsAt } from '../../lib/termtool.mjs';
import { it } from '../../lib/test.mjs';
import { difference, Reference } from '../../lib/xterm.mjs';

const POINTS = scaled(50, 6);

/** Feeds the session from an offset on; returns the terminal's dump at its end. */
function finish(term, session, from) {
    let at = 0;
    for (const part of session) {
        if (part.bytes) {
            if (at + part.bytes.length > from) term.write(part.bytes.subarray(Math.max(0, from - at)));
            at += part.bytes.length;
        } else if (at >= from) {
            term.resize(part.rows, part.cols);
        }
    }
    return term.dump();
}

/** The dump of a terminal that has seen everything up to each of these offsets, sorted. */
function dumpsAt({ rows, cols, session }, offsets) {
    const term = new Reference(rows, cols);
    const dumps = [];
    let at = 0;
    for (const part of session) {
        if (!part.bytes) {
            term.resize(part.rows, part.cols);
            continue;
        }
        let from = 0;
        while (dumps.length < offsets.length && offsets[dumps.length] < at + part.bytes.length) {
            const to = offsets[dumps.length] - at;
            term.write(part.bytes.subarray(from, to));
            dumps.push({ rows: term.term.rows, cols: term.term.cols, dump: term.dump() });
            from = to;
        }
        term.write(part.bytes.subarray(from));
        at += part.bytes.length;
    }
    const end = term.dump();
    term.dispose();
    return { dumps, end };
}

withDaemon('snapshots', {}, (d) => {
    const seed = runSeed();

    assert.ok(!FULL || PROGRAMS.length >= 8, 'eight programs are installed');
    for (const [i, program] of PROGRAMS.entries()) {
        it(`${program.name}: from any point the same screen`, async () => {
            const rec = await record(d, program);
            const total = rec.bytes.length;
            assert.ok(total > 200, `${program.name} wrote ${total} bytes: ${rec.bytes}`);
            assert.ok(Buffer.concat(rec.session.map((s) => s.bytes ?? Buffer.alloc(0))).equals(rec.bytes), 'the recording is the output');
            assert.equal(rec.session.filter((s) => s.rows).length >= 2, true, 'two resizes');
            const rnd = seededRandom(seed + i);
            const points = [...new Set(Array.from({ length: POINTS }, () => Math.floor(rnd() * total)))].sort((a, b) => a - b);
            const taken = snapshotsAt(rec.rows, rec.cols, rec.session, points);
            const { dumps, end } = dumpsAt(rec, taken.map((t) => t.offset));
            let cells = 0;
            for (const [k, t] of taken.entries()) {
                const where = `${program.name} at ${t.at} of ${total} (seed ${seed})`;
                const client = new Reference(t.rows, t.cols);
                client.write(t.bytes);
                // A sequence that is open across a change of size began before it.
                if (dumps[k].rows === t.rows && dumps[k].cols === t.cols)
                    assert.equal(difference(dumps[k].dump, client.dump()), null, `${where}: the snapshot`);
                assert.equal(client.answers, '', `${where}: the snapshot asks`);
                assert.equal(difference(end, finish(client, rec.session, t.offset)), null, `${where}: at the end`);
                cells += t.rows * t.cols;
                client.dispose();
            }
            report(`${program.name}: ${total} bytes, ${taken.length} points, ${cells} cells on screens, no difference`);
        });
    }
});
