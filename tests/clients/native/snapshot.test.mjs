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

/** The lines of a terminal, scrollback included, without what is empty below the last one. */
function linesOf({ term }) {
    const buffer = term.buffer.active;
    const lines = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y).translateToString(true));
    return lines.join('\n').trimEnd().split('\n');
}

it('a snapshot in a taller terminal: all lines, and the cursor where the next one belongs', () => {
    const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`);
    const cases = {
        'more than a screen': Buffer.from(numbers(1, 24).join('\r\n')),
        'less than a screen': Buffer.from(numbers(1, 4).join('\r\n')),
        'the first line continues one that is gone': Buffer.from(`${'x'.repeat(40 * 1015)}\r\n${numbers(1, 24).join('\r\n')}`),
        'a region and a saved cursor': Buffer.from(`${numbers(1, 24).join('\r\n')}\x1b[2;5r\x1b[10;8H\x1b7`),
    };
    for (const [name, bytes] of Object.entries(cases)) {
        const [shot] = snapshotsAt(10, 40, [{ bytes: Buffer.concat([bytes, Buffer.from(' ')]) }], [bytes.length]);
        const original = new Reference(10, 40);
        original.write(bytes);
        const client = new Reference(10 + 20, 40);
        client.write(shot.bytes);
        for (const t of [original, client]) t.write(Buffer.from(name.includes('region') ? '!' : '\r\nnext\r\nlast'));
        // A taller terminal has room for more lines above its screen's end.
        const lines = linesOf(original);
        assert.deepEqual(linesOf(client).slice(-lines.length), lines, name);
        for (const t of [original, client]) t.dispose();
    }
});

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
