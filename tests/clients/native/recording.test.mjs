// SPDX-License-Identifier: Apache-2.0
// GET …/recording: asciicast v2 that asciinema and asciinema-player take, live or afterwards.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { Viewer } from '../../lib/client.mjs';
import { emit } from '../../lib/gen.mjs';
import { playToEnd } from '../../lib/player.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const hasAsciinema = spawnSync('asciinema', ['--version']).status === 0;

function parse(text) {
    assert.ok(text.endsWith('\n'), 'the last line is whole');
    const [head, ...events] = text
        .slice(0, -1)
        .split('\n')
        .map((line) => JSON.parse(line));
    assert.equal(head.version, 2);
    let last = 0;
    for (const e of events) {
        assert.equal(e.length, 3);
        assert.ok(e[0] >= last, `time goes back: ${JSON.stringify(e)} after ${last}`);
        last = e[0];
    }
    return { head, events, text: events.map((e) => (e[1] === 'o' ? e[2] : '')).join('') };
}

withDaemon('recording', {}, (d) => {
    const get = (id, q = '', more = {}) =>
        d.api('GET', `/v1/processes/${id}/recording${q}`, { expect: 200, ...more });
    const cast = async (id, q) => parse((await get(id, q)).text);

    it('has what was written, when, and a header that says how large the terminal was', async () => {
        const p = await d.sh('printf "one\\n"; sleep 0.3; printf "\\033[1mtw\\303\\266\\n"', {
            pty: { rows: 30, cols: 100 },
            label: 'a "label"',
        });
        const end = await d.exitOf(p.id);
        const a = await get(p.id);
        assert.equal(a.type, 'application/x-asciicast');
        assert.match(a.headers['content-disposition'], new RegExp(`filename="${p.id}.cast"`));
        assert.equal(a.headers['holdfast-next'], String(end.output.next));
        const c = parse(a.text);
        assert.equal(c.head.width, 100);
        assert.equal(c.head.height, 30);
        assert.equal(c.head.timestamp, Math.floor(Date.parse(p.created_at) / 1000));
        assert.equal(c.head.title, 'a "label"');
        assert.equal(c.text, 'one\r\n\x1b[1mtwö\r\n');
        const [first, last] = [c.events[0][0], c.events.at(-1)[0]];
        const span = Date.parse(end.exited_at) - Date.parse(p.created_at);
        assert.ok(last - first >= 0.25, `${last - first} s between the two lines`);
        assert.ok(last * 1000 <= span + 20, `${last} s is after the exit at ${span} ms`);
    });

    it('tells sizes in order with the bytes', async () => {
        const p = await d.sh('echo ready; read a; echo "a $a"; read b; echo "b $b"', { pty: { rows: 24, cols: 80 } });
        await d.outputHas(p.id, 'ready');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 40, cols: 120 }, expect: 200 });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '1\r' }, expect: 200 });
        await d.outputHas(p.id, 'a 1');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 10, cols: 20 }, expect: 200 });
        const kinds = (c) => c.events.filter((e) => e[1] === 'r').map((e) => e[2]);
        assert.deepEqual(kinds(await cast(p.id)), ['120x40', '20x10'], 'a size at the very end counts');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '2\r' }, expect: 200 });
        await d.exitOf(p.id);
        const c = await cast(p.id);
        assert.deepEqual(kinds(c), ['120x40', '20x10']);
        const at = (t) => c.events.findIndex((e) => e[2].includes(t));
        assert.ok(at('ready') < at('120x40') && at('120x40') < at('a 1'));
        assert.ok(at('a 1') < at('20x10') && at('20x10') < at('b 2'));
        const later = await cast(p.id, `?since=${(await d.output(p.id)).indexOf('a 1')}`);
        assert.deepEqual([later.head.width, later.head.height], [120, 40], 'a later range begins with its own size');
        assert.deepEqual(kinds(later), ['20x10']);
    });

    it('any range, as the output has it', async () => {
        const p = await d.sh('printf "0123456789"', { pty: true });
        await d.exitOf(p.id);
        assert.equal((await cast(p.id, '?since=3&until=7')).text, '3456');
        assert.equal((await cast(p.id, '?since=-4')).text, '6789');
        assert.equal((await cast(p.id, '?since=10')).text, '');
        assert.equal((await cast(p.id, '?since=now')).text, '');
        assert.equal((await cast(p.id, '?since=screen')).text, '0123456789');
        await d.refused('range_not_satisfiable', 'GET', `/v1/processes/${p.id}/recording?since=11`);
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/recording?since=5&until=4`);
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/recording?until=4&follow=1`);
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/recording?format=v3`);
        await d.refused('not_acceptable', 'GET', `/v1/processes/${p.id}/recording`, { headers: { Accept: 'text/html' } });
        await d.refused('no_such_process', 'GET', '/v1/processes/proc_none/recording');
        const h = await d.request('HEAD', `/v1/processes/${p.id}/recording?since=4`);
        assert.equal(h.headers['holdfast-offset'], '4');
        assert.equal(h.body.length, 0);
    });

    it('a process without output has a header and nothing else', async () => {
        const p = await d.sh('sleep 300', { pty: { rows: 7, cols: 9 } });
        const c = await cast(p.id);
        assert.deepEqual([c.head.width, c.head.height, c.events], [9, 7, []]);
        await d.remove(p.id);
    });

    it('characters that were written byte by byte come whole, and what is none as U+FFFD', async () => {
        const slow = '\\342 \\202 \\254 \\360 \\237 \\230 \\200'.split(' ');
        const line = `for b in ${slow.map((b) => `'${b}'`).join(' ')}; do printf "$b"; sleep 0.03; done; printf 'x\\377y\\342\\202'`;
        const p = await d.sh(line, { pty: true });
        await d.exitOf(p.id);
        assert.equal((await cast(p.id)).text, '€😀x\ufffdy\ufffd');
    });

    it('pipes: both streams, with the carriage returns of a terminal', async () => {
        const p = await d.sh('echo out; sleep 0.05; echo err >&2; sleep 0.05; printf "a\\r\\nb"');
        await d.exitOf(p.id);
        const c = await cast(p.id);
        assert.equal(c.text, 'out\r\nerr\r\na\r\nb');
        assert.deepEqual([c.head.width, c.head.height], [80, 24]);
    });

    it('follow=1 goes on to the exit, with the sizes as they come', async () => {
        const p = await d.sh('echo ready; read a; printf "end\\342\\202\\254"', { pty: true });
        await d.outputHas(p.id, 'ready');
        const res = await d.open('GET', `/v1/processes/${p.id}/recording?follow=1`);
        let text = '';
        res.on('data', (b) => (text += b));
        const ended = new Promise((done) => res.on('end', done));
        await waitUntil(() => text.includes('ready'), 'the past');
        assert.equal((await d.get(p.id)).viewers, 1);
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 11, cols: 22 }, expect: 200 });
        await waitUntil(() => text.includes('"22x11"'), 'the size at once');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 12, cols: 33 }, expect: 200 });
        await waitUntil(() => text.includes('"33x12"'), 'another, though nothing was written in between');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\r' }, expect: 200 });
        await ended;
        assert.equal(res.complete, true);
        const live = parse(text);
        assert.equal(live.text.replaceAll('\r\n', ''), 'readyend€');
        const later = await cast(p.id);
        assert.equal(later.text, live.text);
        assert.deepEqual(
            later.events.filter((e) => e[1] === 'r').map((e) => e[2]),
            live.events.filter((e) => e[1] === 'r').map((e) => e[2]),
        );
    });

    it('what is gone is told, and large ranges come whole', async () => {
        const n = 700000;
        const p = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '5'], history_bytes: 65536 });
        await d.exitOf(p.id);
        const a = await get(p.id);
        const first = (await d.get(p.id)).output.first;
        assert.equal(a.headers['holdfast-gap'], `0-${first}`);
        assert.deepEqual(parse(a.text).events[0].slice(1), ['m', `gap: output from 0 to ${first} was lost`]);
        const q = await d.sh('i=0; while [ $i -lt 20000 ]; do echo "line $i \u001b[3${i}m"; i=$((i+1)); done', { pty: true });
        await d.exitOf(q.id);
        assert.equal((await cast(q.id)).text, (await d.output(q.id)).toString());
    });

    it('survives the worker', async () => {
        const p = await d.sh('echo before; read a; echo after', { pty: true });
        await d.outputHas(p.id, 'before');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 33, cols: 44 }, expect: 200 });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const v = await Viewer.attach(d, p.id);
        await v.send('\r');
        await v.finish();
        const c = await cast(p.id);
        assert.equal(c.text.replaceAll('\r\n', ' ').trim().split(/\s+/).join(' '), 'before after');
        assert.deepEqual(
            c.events.filter((e) => e[1] === 'r').map((e) => e[2]),
            ['44x33'],
        );
    });

    const sample = async () => {
        const p = await d.sh('printf "caf\\303\\251 \\033[31mred\\033[0m\\n"; sleep 0.05; printf "second\\377\\n"', {
            pty: { rows: 20, cols: 60 },
        });
        await d.exitOf(p.id);
        const text = (await get(p.id)).text;
        return { text, want: parse(text).text };
    };

    it('asciinema cat and asciinema play take it', { skip: !hasAsciinema && 'no asciinema' }, async () => {
        const { text, want } = await sample();
        const file = path.join(d.dir, 'a.cast');
        fs.writeFileSync(file, text);
        /* It wants a terminal of its own, so it runs in one of ours. */
        const shown = async (command) => {
            const p = await d.sh(`${command} ${file}`, { pty: true, env: { LC_ALL: 'C.UTF-8' } });
            assert.equal((await d.exitOf(p.id)).exit_code, 0);
            return (await d.output(p.id)).toString().replace(/\r+\n/g, '\r\n');
        };
        assert.equal(await shown('asciinema cat'), want);
        assert.ok((await shown('asciinema play -s 100')).includes(want));
    });

    it("asciinema-player's core takes it", async () => {
        const { text, want } = await sample();
        const events = await playToEnd(text);
        assert.deepEqual(events.filter(([name]) => name === 'error'), []);
        assert.equal(
            events.flatMap(([name, e]) => (name === 'output' ? e : [])).join(''),
            want,
        );
    });
});
