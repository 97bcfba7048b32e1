// SPDX-License-Identifier: Apache-2.0
// GET …/output: ranges, tails, streams, JSON, and gaps that are told.

import assert from 'node:assert/strict';
import { before, it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit, expectedBytes } from '../../lib/gen.mjs';

withDaemon('output', {}, (d) => {
    let p;
    const total = 50000;
    before(async () => {
        p = await d.spawn({ command: emit(), args: ['-n', String(total), '-s', '51', '-c', '777'] });
        await d.exitOf(p.id);
    });
    const get = (id, q = '', headers = {}) => d.api('GET', `/v1/processes/${id}/output${q}`, { headers, expect: 200 });
    const head = (a) => [a.headers['holdfast-offset'], a.headers['holdfast-next'], a.headers['holdfast-gap']];

    it('all of it by default, with its offsets', async () => {
        const a = await get(p.id);
        assert.equal(a.type, 'application/octet-stream');
        assert.deepEqual(head(a), ['0', String(total), undefined]);
        assert.equal(a.body.length, total);
        checkBytes(51, 0, a.body);
    });

    it('any range', async () => {
        for (const [q, from, to] of [
            ['?since=0&until=1', 0, 1],
            ['?since=123&until=4567', 123, 4567],
            [`?since=${total - 1}`, total - 1, total],
            [`?since=${total}`, total, total],
            ['?until=10', 0, 10],
            ['?since=10&until=10', 10, 10],
            [`?since=5&until=${total * 10}`, 5, total],
            ['?since=-100', total - 100, total],
            ['?tail_bytes=1000', total - 1000, total],
            ['?tail_bytes=0', total, total],
        ]) {
            const a = await get(p.id, q);
            assert.equal(a.body.length, to - from, q);
            checkBytes(51, from, a.body, q);
            assert.deepEqual(head(a), [String(from), String(to), undefined], q);
        }
    });

    it('HEAD gives the numbers without the bytes', async () => {
        const a = await d.request('HEAD', `/v1/processes/${p.id}/output?since=10`);
        assert.equal(a.status, 200);
        assert.equal(a.headers['holdfast-offset'], '10');
        assert.equal(a.body.length, 0);
    });

    it('lines from the end', async () => {
        const q = await d.sh('for i in 1 2 3 4 5; do echo line $i; done; printf "no newline"');
        await d.exitOf(q.id);
        const tail = async (n) => (await get(q.id, `?tail_lines=${n}`)).body.toString();
        assert.equal(await tail(1), 'no newline');
        assert.equal(await tail(3), 'line 4\nline 5\nno newline');
        assert.equal(await tail(100), 'line 1\nline 2\nline 3\nline 4\nline 5\nno newline');
        assert.equal(await tail(0), '');
        const r = await d.sh('printf "a\\nb\\nc\\n"');
        await d.exitOf(r.id);
        assert.equal((await get(r.id, '?tail_lines=2')).body.toString(), 'b\nc\n');
    });

    it('JSON chunks that tile the range', async () => {
        const q = await d.sh('echo out; echo err >&2; printf "\\377"; sleep 0.1; echo out2');
        await d.exitOf(q.id);
        const j = (await get(q.id, '', { Accept: 'application/json' })).json;
        let at = 0;
        const by = { stdout: [], stderr: [] };
        for (const c of j.chunks) {
            assert.equal(c.offset, at, JSON.stringify(j));
            const bytes = Buffer.from(c.data, c.encoding === 'base64' ? 'base64' : 'utf8');
            by[c.stream].push(bytes);
            at += bytes.length;
            assert.match(c.time, /^\d{4}-.*\.\d{3}Z$/);
        }
        assert.equal(j.next, at);
        assert.equal(j.gap, null);
        assert.deepEqual(Buffer.concat(by.stdout), Buffer.from('out\n\xffout2\n', 'latin1'));
        assert.equal(Buffer.concat(by.stderr).toString(), 'err\n');
    });

    it('one stream alone', async () => {
        const n = 20000;
        const q = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '60', '-e', '-c', '500'] });
        await d.exitOf(q.id);
        const out = (await get(q.id, '?stream=stdout')).body;
        const err = (await get(q.id, '?stream=stderr')).body;
        assert.equal(out.length, n);
        assert.equal(err.length, n);
        checkBytes(60, 0, out);
        checkBytes(61, 0, err);
        assert.equal((await get(q.id)).body.length, 2 * n);
        const j = (await get(q.id, '?stream=stderr', { Accept: 'application/json' })).json;
        assert.ok(j.chunks.every((c) => c.stream === 'stderr'));
    });

    it('a terminal has one stream', async () => {
        const q = await d.sh('echo out; echo err >&2', { pty: true });
        await d.exitOf(q.id);
        assert.equal((await get(q.id)).body.toString(), 'out\r\nerr\r\n');
        const j = (await get(q.id, '', { Accept: 'application/json' })).json;
        assert.ok(j.chunks.length >= 1);
    });

    it('what the ring forgot is named exactly', async () => {
        const ring = 65536;
        const n = 300001;
        const q = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '62'], history_bytes: ring });
        await d.exitOf(q.id);
        const e = await d.get(q.id);
        assert.equal(e.output.bytes_total, n);
        assert.equal(e.output.next, n);
        assert.ok(
            e.output.first > 0 && n - e.output.first <= ring && n - e.output.first >= ring / 2,
            JSON.stringify(e.output),
        );
        const a = await get(q.id, '?since=5');
        assert.deepEqual(head(a), [String(e.output.first), String(n), `5-${e.output.first}`]);
        checkBytes(62, e.output.first, a.body);
        assert.equal(a.body.length, n - e.output.first);
        const j = (await get(q.id, '?since=5', { Accept: 'application/json' })).json;
        assert.deepEqual(j.gap, { from: 5, to: e.output.first });
        assert.equal(j.chunks[0].offset, e.output.first);
        // Wholly gone: nothing to give, and that is an answer of its own.
        const gone = await d.api('GET', `/v1/processes/${q.id}/output?since=0&until=100`);
        if (gone.status === 410) assert.equal(gone.json.code, 'offset_gone');
        else assert.deepEqual([gone.status, gone.headers['holdfast-gap'], gone.body.length], [200, '0-100', 0]);
    });

    it('offsets beyond the output', async () => {
        await d.refused('range_not_satisfiable', 'GET', `/v1/processes/${p.id}/output?since=${total + 1}`);
    });

    it('bad queries', async () => {
        for (const q of [
            '?since=x',
            '?since=1.5',
            '?until=x',
            '?since=10&until=5',
            '?tail_lines=-1',
            '?tail_lines=x',
            '?tail_bytes=x',
            '?stream=stdlog',
            '?follow=maybe',
            '?since=1&tail_lines=1',
            '?tail_lines=1&tail_bytes=1',
            '?nope=1',
            '?since=99999999999999999999999',
            '?since=',
            '?since=1&since=2',
        ]) {
            await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/output${q}`);
        }
        await d.refused('no_such_process', 'GET', '/v1/processes/proc_none/output');
        await d.refused('not_acceptable', 'GET', `/v1/processes/${p.id}/output`, { headers: { Accept: 'image/png' } });
        await d.refused('not_acceptable', 'GET', `/v1/processes/${p.id}/output`, { headers: { Accept: 'text/event-stream;q=0' } });
        const bytes = await d.api('GET', `/v1/processes/${p.id}/output`, { headers: { Accept: 'text/event-stream;q=0, */*' } });
        assert.equal(bytes.headers['content-type'], 'application/octet-stream');
        await d.refused('method_not_allowed', 'POST', `/v1/processes/${p.id}/output`, { json: {} });
    });

    it('JSON comes in pages of at most 1 MiB, and the exit with the last', async () => {
        const n = 3_000_000;
        const q = await d.spawn({
            command: emit(),
            args: ['-n', String(n), '-s', '64', '-c', '65536', '-x', '7'],
            history_bytes: 16 << 20,
        });
        await d.exitOf(q.id, 30000);
        let at = 0;
        let pages = 0;
        for (let exit = null; exit === null; pages++) {
            const j = (await get(q.id, `?since=${at}`, { Accept: 'application/json' })).json;
            for (const c of j.chunks) {
                const bytes = Buffer.from(c.data, c.encoding === 'base64' ? 'base64' : 'utf8');
                assert.equal(c.offset, at);
                checkBytes(64, at, bytes);
                at += bytes.length;
            }
            assert.equal(j.next, at);
            exit = j.exit;
            if (exit) assert.equal(j.exit_code, 7);
            assert.ok(pages < 10, 'no progress');
        }
        assert.equal(at, n);
        assert.ok(pages >= 3);
    });

    it('empty output is empty', async () => {
        const q = await d.sh('exit 0');
        await d.exitOf(q.id);
        const a = await get(q.id);
        assert.deepEqual(head(a), ['0', '0', undefined]);
        assert.equal(a.body.length, 0);
        assert.deepEqual((await get(q.id, '', { Accept: 'application/json' })).json.chunks, []);
    });

    it('a large ring is given whole', async () => {
        const n = 8 << 20;
        const q = await d.spawn({
            command: emit(),
            args: ['-n', String(n), '-s', '63', '-c', '65536'],
            history_bytes: 16 << 20,
        });
        await d.exitOf(q.id, 30000);
        const a = await get(q.id, '?since=0');
        assert.ok(a.body.equals(expectedBytes(63, 0, n)));
    });
});
