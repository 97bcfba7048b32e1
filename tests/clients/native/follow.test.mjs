// SPDX-License-Identifier: Apache-2.0
// GET …/output?follow=1: raw and as events, to the exit and not beyond.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import { collect } from '../../lib/http.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const SSE = { Accept: 'text/event-stream' };

withDaemon('follow', {}, (d) => {
    const input = (id, json) => d.api('POST', `/v1/processes/${id}/input`, { json, expect: 200 });

    it('raw: what is there, then what comes, then the end', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '300000', '-s', '71', '-d', '200', '-c', '3000'] });
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        assert.equal(res.headers['holdfast-offset'], '0');
        assert.equal(res.headers['holdfast-next'], undefined, 'the end is not known yet');
        const a = await collect(res);
        assert.equal(a.body.length, 300000);
        checkBytes(71, 0, a.body);
    });

    it('raw: bytes come as they are written', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        let got = '';
        res.on('data', (b) => (got += b));
        for (const word of ['one', 'two', 'three']) {
            await input(p.id, { data: word });
            await waitUntil(() => got.endsWith(word), word);
        }
        const end = new Promise((done) => res.on('end', done));
        await input(p.id, { eof: true });
        await end;
        assert.ok(res.complete);
        assert.equal(got, 'onetwothree');
    });

    it('from the middle, from now, and one stream alone', async () => {
        const p = await d.sh('echo early; read x; echo late; echo error >&2', { stdin: 'pipe' });
        await d.outputHas(p.id, 'early');
        const middle = d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=2`);
        const now = d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=now`);
        const err = d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0&stream=stderr`);
        const streams = await Promise.all([middle, now, err]);
        await waitUntil(async () => (await d.get(p.id)).viewers >= 0, 'the viewers');
        await input(p.id, { data: '\n' });
        const [m, n, e] = (await Promise.all(streams.map((s) => collect(s)))).map((a) => a.body.toString());
        assert.ok(['rly\nlate\nerror\n', 'rly\nerror\nlate\n'].includes(m), m);
        assert.ok(['late\nerror\n', 'error\nlate\n'].includes(n), n);
        assert.equal(e, 'error\n');
    });

    it('events: output, then exit, then the end of the stream', async () => {
        const p = await d.sh('echo out; echo err >&2; exit 9');
        const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { headers: SSE }));
        const seen = [];
        for (let ev; (ev = await s.next());) seen.push(ev);
        const exit = seen.pop();
        assert.equal(exit.event, 'exit');
        const x = JSON.parse(exit.data);
        assert.equal(x.exit_code, 9);
        assert.equal(x.exit.kind, 'exited');
        const by = { stdout: '', stderr: '' };
        for (const ev of seen.filter((e) => e.event === 'output')) {
            const m = JSON.parse(ev.data);
            by[m.stream] += m.data;
        }
        assert.deepEqual(by, { stdout: 'out\n', stderr: 'err\n' });
    });

    it('events: who comes back goes on where he was, however his URL began', async () => {
        const p = await d.sh('printf "1\\n2\\n3\\n4\\n5\\n"');
        await d.exitOf(p.id);
        for (const begin of ['tail_lines=3', 'tail_bytes=4', 'since=0', 'since=now']) {
            const url = `/v1/processes/${p.id}/output?follow=1&${begin}`;
            const s = new SseReader(await d.open('GET', url, { headers: { ...SSE, 'Last-Event-ID': '8' } }));
            const ev = await s.next();
            assert.deepEqual([ev.event, JSON.parse(ev.data).data], ['output', '5\n'], begin);
            s.close();
        }
    });

    it('events: a gap is an event of its own', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '500000', '-s', '72'], history_bytes: 65536 });
        await d.exitOf(p.id);
        const first = (await d.get(p.id)).output.first;
        const s = new SseReader(
            await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=100`, { headers: SSE }),
        );
        const gap = await s.next();
        assert.equal(gap.event, 'gap');
        const g = JSON.parse(gap.data);
        assert.deepEqual([g.from, g.to], [100, first]);
        assert.equal(gap.id, String(first));
        let at = first;
        for (let ev; (ev = await s.next()) && ev.event === 'output';) {
            const m = JSON.parse(ev.data);
            const bytes = Buffer.from(m.data, m.encoding === 'base64' ? 'base64' : 'utf8');
            checkBytes(72, at, bytes);
            at += bytes.length;
        }
        assert.equal(at, 500000);
    });

    it('an exited process is followed to its end at once', async () => {
        const p = await d.sh('echo done; exit 4');
        await d.exitOf(p.id);
        const a = await d.request('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        assert.equal(a.body.toString(), 'done\n');
        const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=5`, { headers: SSE }));
        const ev = await s.next();
        assert.equal(ev.event, 'exit');
        assert.equal(JSON.parse(ev.data).exit_code, 4);
        assert.equal(await s.next(), null);
    });

    it('a follower that goes away is not counted any more', async () => {
        const p = await d.sh('sleep 300');
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1`);
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'one viewer');
        res.destroy();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'none');
        await d.remove(p.id);
    });

    it('deleting the process ends its followers', async () => {
        const p = await d.sh('echo x; sleep 300');
        const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { headers: SSE }));
        await s.next();
        await d.remove(p.id);
        const exit = await s.find((e) => e.event === 'exit');
        assert.ok(['killed', 'signaled'].includes(JSON.parse(exit.data).exit.kind));
        assert.equal(await s.next(), null);
    });
});
