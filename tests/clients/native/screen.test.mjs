// SPDX-License-Identifier: Apache-2.0
// GET …/screen: what a person would see, in every format, of everything a program can do to it.

import assert from 'node:assert/strict';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { difference, Reference } from '../../lib/xterm.mjs';

withDaemon('screen', {}, (d) => {
    const screen = async (id, query = '') => (await d.api('GET', `/v1/processes/${id}/screen${query}`, { expect: 200 }));
    const text = async (id, query) => (await screen(id, query)).body.toString();
    /** Shows these bytes, then sleeps. */
    const shows = async (bytes, more = {}) => {
        const p = await d.sh(`stty -opost; printf '%b' "$SHOWN"; printf END; exec sleep 300`, {
            pty: { rows: 5, cols: 20 },
            env: { SHOWN: bytes.replace(/\\/g, '\\\\').replace(/[\x00-\x1f]/g, (c) => `\\0${c.charCodeAt(0).toString(8).padStart(3, '0')}`) },
            ...more,
        });
        await d.outputHas(p.id, 'END');
        return p;
    };

    it('text: lines as they are seen, empty ones at the end left out', async () => {
        const p = await shows('first\r\n  second   \r\n\x1b[1;3HXX\x1b[4;1H漢字 e\u0301 ');
        assert.equal(await text(p.id), 'fiXXt\n  second\n\n漢字 e\u0301 END\n');
        const a = await screen(p.id);
        assert.equal(Number(a.headers['holdfast-offset']), (await d.get(p.id)).output.next);
        assert.match(a.headers['content-type'], /^text\/plain/);
        await d.remove(p.id);
    });

    it('scrollback: as many lines as are asked for and held', async () => {
        const p = await shows(Array.from({ length: 30 }, (_, i) => `line ${i}\r\n`).join(''));
        assert.equal(await text(p.id), 'line 26\nline 27\nline 28\nline 29\nEND\n');
        assert.equal(await text(p.id, '?scrollback=2'), 'line 24\nline 25\nline 26\nline 27\nline 28\nline 29\nEND\n');
        assert.equal((await text(p.id, '?scrollback=1000')).split('\n').length, 32);
        await d.remove(p.id);
    });

    it('json: cells with attributes, cursor, title, size, offset, which screen', async () => {
        const p = await shows('\x1b]2;the "title"\x07\x1b[1;31mred\x1b[0m \x1b[48;5;200;3mx\x1b[38;2;1;2;3;7;4;9my\x1b[0m\r\n漢\x1b[?25l');
        const s = (await screen(p.id, '?format=json')).json;
        assert.deepEqual([s.rows, s.cols, s.title, s.alternate, s.scrollback], [5, 20, 'the "title"', false, 0]);
        assert.deepEqual(s.cursor, { row: 1, col: 5, visible: false });
        assert.equal(s.offset, (await d.get(p.id)).output.next);
        assert.equal(s.lines.length, 5);
        assert.deepEqual(s.lines[0], {
            row: 0,
            wrapped: false,
            text: 'red xy',
            cells: [
                { col: 0, width: 3, text: 'red', fg: 1, bg: null, bold: true },
                { col: 3, width: 1, text: ' ', fg: null, bg: null },
                { col: 4, width: 1, text: 'x', fg: null, bg: 200, italic: true },
                { col: 5, width: 1, text: 'y', fg: '#010203', bg: 200, italic: true, underline: true, inverse: true, strikethrough: true },
            ],
        });
        assert.deepEqual(s.lines[1].cells, [{ col: 0, width: 5, text: '漢END', fg: null, bg: null }]);
        await d.remove(p.id);
    });

    it('ansi: the same text with its colours, for a terminal', async () => {
        const p = await shows('\x1b[32mgreen\x1b[0m plain \x1b[44m  \x1b[0m\r\n');
        const out = await text(p.id, '?format=ansi');
        assert.equal(out.split('\n')[0], '\x1b[0;32mgreen\x1b[0m plain \x1b[0;44m  \x1b[0m');
        assert.equal(out.split('\n').length, 6);
        await d.remove(p.id);
    });

    it('html and svg: whatever is written is text there', async () => {
        const evil = `<script>alert(1)</script>&amp;"'`;
        const p = await shows(`\x1b]2;${evil}\x07${evil}\x1b]8;;javascript:alert(2)\x07link\x1b]8;;\x07\r\n\x1b[1;7;31mred`, { pty: { rows: 4, cols: 60 } });
        for (const format of ['html', 'svg']) {
            const a = await screen(p.id, `?format=${format}`);
            const body = a.body.toString();
            assert.ok(!/<script/i.test(body) && !body.includes('javascript:'), body);
            assert.ok(body.includes('&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;&quot;&#39;'), body);
            assert.match(a.headers['content-type'], format === 'html' ? /^text\/html/ : /^image\/svg\+xml/);
            assert.match(a.headers['content-security-policy'], /default-src 'none'.*sandbox/);
            assert.ok(body.includes('#cc0000'), 'the colour');
            // Every tag that is opened is closed: as XML it is whole.
            if (format === 'svg') wellFormed(body);
        }
        await d.remove(p.id);
    });

    function wellFormed(xml) {
        const open = [];
        for (const m of xml.matchAll(/<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|<|&(?!(amp|lt|gt|quot|#39);)/g)) {
            assert.ok(m[2], `a stray ${m[0]} at ${m.index}: ${xml.slice(m.index, m.index + 80)}`);
            if (m[1]) assert.equal(open.pop(), m[2]);
            else if (!m[4]) open.push(m[2]);
        }
        assert.deepEqual(open, []);
    }

    it('the alternate screen, and the main one again behind it', async () => {
        const p = await d.sh(`printf 'main\\033[?1049h\\033[Halt'; read x; printf '\\033[?1049l'; echo BACK; exec sleep 300`, { pty: true });
        await d.outputHas(p.id, 'alt');
        const s = (await screen(p.id, '?format=json')).json;
        assert.deepEqual([s.alternate, s.lines[0].text], [true, 'alt']);
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\r' } });
        await d.outputHas(p.id, 'BACK');
        assert.match(await text(p.id), /^main/);
        await d.remove(p.id);
    });

    it('a change of size counts where it happened', async () => {
        const p = await d.sh(`printf '%020d' 7; read x; printf '%s' after; exec sleep 300`, { pty: { rows: 4, cols: 10 } });
        await d.outputHas(p.id, '7');
        assert.equal(await text(p.id), '0000000000\n0000000007\n');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 4, cols: 30 } });
        const s = (await screen(p.id, '?format=json')).json;
        assert.deepEqual([s.rows, s.cols], [4, 30]);
        await d.remove(p.id);
    });

    // The second was written over the first, which a screen that had seen that one did not look at again.
    it('every change of size counts, also while the program writes nothing', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['300'], pty: { rows: 24, cols: 80 } });
        for (const [rows, cols] of [[24, 80], [30, 100], [40, 120], [30, 100], [24, 80], [50, 140]]) {
            await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows, cols }, expect: 200 });
            const s = (await screen(p.id, '?format=json')).json;
            assert.deepEqual([s.rows, s.cols], [rows, cols]);
        }
        await d.remove(p.id);
    });

    // 60 bytes on it once cost some 400 MB.
    it('a terminal larger than any screen keeps its size and is shown with fewer lines', async () => {
        const p = await d.sh(`printf '\\033[41m\\033[2J\\033[?47h\\033[2J\\033[1;1Hhere'; stty size; exec sleep 300`, {
            pty: { rows: 4096, cols: 4096 },
        });
        await d.outputHas(p.id, '4096 4096');
        const s = (await screen(p.id, '?format=json')).json;
        assert.deepEqual([s.rows, s.cols], [128, 4096]);
        assert.match(s.lines[0].text, /^here4096 4096/);
        const now = await d.get(p.id);
        assert.deepEqual([now.rows, now.cols], [4096, 4096]);
        await d.remove(p.id);
    });

    it('refusals', async () => {
        const pipes = await d.sh('exec sleep 300');
        await d.refused('not_a_terminal', 'GET', `/v1/processes/${pipes.id}/screen`);
        await d.refused('bad_query', 'GET', `/v1/processes/${pipes.id}/screen?format=png`);
        await d.refused('bad_query', 'GET', `/v1/processes/${pipes.id}/screen?scrollback=-1`);
        await d.refused('bad_query', 'GET', `/v1/processes/${pipes.id}/screen?scrollback=1001`);
        await d.refused('bad_query', 'GET', `/v1/processes/${pipes.id}/screen?what=1`);
        await d.refused('no_such_process', 'GET', '/v1/processes/proc_nothing/screen');
        await d.remove(pipes.id);
    });

    it('an exited process still has its last screen', async () => {
        const p = await d.sh('echo last words', { pty: true });
        await d.exitOf(p.id);
        assert.equal(await text(p.id), 'last words\n');
    });

    it('after a flood through the ring the screen is right', async () => {
        const lines = scaled(20_000_000, 400_000);
        const p = await d.sh(`seq ${lines}; printf '\\033[?1h\\033[2;20r\\033[5;3Hhere'; exec sleep 300`, { pty: { rows: 50, cols: 200 } });
        await d.outputHas(p.id, 'here', scaled(600000, 60000));
        const s = (await screen(p.id, '?format=json')).json;
        const numbers = s.lines.map((l) => l.text).filter((t) => /^\d+$/.test(t)).map(Number);
        assert.ok(numbers.length >= 48, `${numbers.length} lines`);
        assert.equal(numbers.at(-1), lines);
        assert.deepEqual(numbers.filter((n, i) => i > 4 && n !== numbers[i - 1] + 1), []);
        assert.match(s.lines[4].text, /^\d\dhere/);
        await d.remove(p.id);
    });

    it('a top of 200x50 is right after a flood', async () => {
        const bytes = scaled(1_000_000_000, 20_000_000);
        const line = 'x'.repeat(99);
        const p = await d.sh(`yes ${line} | head -c ${bytes}; echo; echo flood""over; exec top -d 1000`, {
            pty: { rows: 50, cols: 200 },
            env: { TERM: 'xterm-256color' },
        });
        const wait = async (until, from) =>
            (await d.api('POST', `/v1/processes/${p.id}/wait`, { json: { until, from, timeout_ms: 200000 }, expect: 200, timeoutMs: 210000 })).json;
        const over = await wait([{ text: 'floodover' }]);
        assert.ok(over.match.to > bytes, 'all of it');
        await wait([{ text: 'COMMAND' }], over.next);
        await wait([{ quiet_ms: 300 }], over.next);
        const seen = (await text(p.id)).trimEnd().split('\n');
        const term = new Reference(50, 200); // top clears the screen, so what came before does not matter
        term.write(await d.output(p.id, `?since=${over.match.to}`));
        const buffer = term.term.buffer.active;
        const want = Array.from({ length: 50 }, (_, y) => buffer.getLine(buffer.baseY + y).translateToString(true).trimEnd());
        assert.match(want.join('\n'), /^top - .*PID USER/s);
        assert.deepEqual(seen.map((l) => l.trimEnd()), want.join('\n').trimEnd().split('\n'));
        term.dispose();
        await d.remove(p.id);
    });

    it('modes set before the ring turned over are known', async () => {
        const p = await d.sh(
            `printf '\\033[?1049h\\033[?1000h\\033[?1006h\\033[?2004h\\033[?1h\\033=\\033[?25l\\033]2;kept\\007'; i=0; while [ $i -lt 3000 ]; do printf '\\033[H%0200d' $i; i=$((i+1)); done; printf END; exec sleep 300`,
            { pty: true, history_bytes: 65536 },
        );
        await d.outputHas(p.id, 'END', 60000);
        assert.ok((await d.get(p.id)).output.first > 200000);
        const v = await Viewer.attach(d, p.id);
        await v.until(() => v.snapshots.length > 0 && v.snapshotLeft === 0, 10000, 'the snapshot');
        const term = new Reference(24, 80);
        term.write(v.snapshot);
        assert.match(term.dump(), /\nalt base/);
        assert.match(term.dump(), /modes 1 1 1 0 0 0 1 0 0 0 0 mouse 2 1/);
        assert.equal(term.title, 'kept');
        v.cut();
        await d.remove(p.id);
    });

    it('a viewer that falls out of the ring gets a gap and a snapshot', async () => {
        const p = await d.sh(`read x; seq 2000000; printf 'the end'; exec sleep 300`, { pty: { rows: 24, cols: 80 }, history_bytes: 65536 });
        const v = await Viewer.attach(d, p.id, { keep: false });
        const quick = await Viewer.attach(d, p.id, { keep: false });
        await v.until(() => v.snapshots.length > 0, 10000, 'the first snapshot');
        const term = new Reference(24, 80);
        v.ws.pause();
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\r' } });
        await d.outputHas(p.id, 'the end', 90000);
        let shown = 0;
        v.onBytes = (at, bytes) => {
            if (shown < v.snapshots.length) term.write(v.snapshot);
            shown = v.snapshots.length;
            term.write(bytes);
        };
        v.ws.resume();
        const end = (await d.get(p.id)).output.next;
        await v.until(() => v.at === end && v.snapshotLeft === 0, 20000, 'the end');
        assert.ok(v.gaps.length > 0 && v.snapshots.length > 1, `${v.gaps.length} gaps, ${v.snapshots.length} snapshots`);
        if (shown < v.snapshots.length) term.write(v.snapshot);
        const lines = (await text(p.id)).trimEnd().split('\n');
        assert.equal(lines.at(-1), 'the end');
        const seen = Array.from({ length: 24 }, (_, y) => term.term.buffer.active.getLine(term.term.buffer.active.baseY + y).translateToString(true));
        assert.deepEqual(seen, lines);
        v.cut();
        quick.cut();
        await d.remove(p.id);
    });

    it('attaching again and again while a program draws shows what it shows to those who stayed', async () => {
        const p = await d.sh('exec vim -u NONE -N -c "set ruler number"', { pty: { rows: 24, cols: 80 } });
        const first = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await d.outputHas(p.id, '0,0-1');
        for (let i = 0; i < scaled(50, 8); i++) {
            await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: `oline ${i} 漢字\x1b` } });
            const v = await Viewer.attach(d, p.id);
            await v.until(() => v.snapshots.length > 0 && v.snapshotLeft === 0, 10000, 'the snapshot');
            await d.api('POST', `/v1/processes/${p.id}/wait`, { json: { until: [{ quiet_ms: 50 }] } });
            const end = (await d.get(p.id)).output.next;
            for (const x of [first, v]) await x.until(() => x.at >= end, 10000, 'the same offset');
            const [a, b] = [new Reference(24, 80), new Reference(24, 80)];
            a.write(first.output.subarray(0, end));
            b.write(v.snapshot);
            b.write(v.output.subarray(0, end - v.snapshots[0].offset));
            assert.equal(difference(a.dump(), b.dump()), null);
            a.dispose();
            b.dispose();
            v.cut();
        }
        first.cut();
        await d.remove(p.id, '?grace_ms=200');
    });
});
