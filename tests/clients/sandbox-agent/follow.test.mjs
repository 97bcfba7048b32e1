// SPDX-License-Identifier: Apache-2.0
// followProcessLogs of the published client: order, silence, slow readers, ends.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, clientOf, refused, sh, text } from './client.mjs';

const FLOOD_BYTES = 24000000; // more than a ring and what a socket holds of it

withDaemon('sandbox-agent: follow', {}, (d) => {
    const client = clientOf(d);
    const bytesOf = (entries) => entries.reduce((n, e) => n + Buffer.from(e.data, 'base64').length, 0);
    const enter = (c, p) => c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });

    /** A client whose event streams pass through here: `wire` has what came, `gate` holds it up. */
    const watched = (state) =>
        clientOf(d, {
            fetch: async (...args) => {
                const r = await fetch(...args);
                if (!r.headers.get('content-type')?.startsWith('text/event-stream')) return r;
                const through = new TransformStream({
                    async transform(piece, out) {
                        state.wire = (state.wire ?? '') + (state.keep ? Buffer.from(piece).toString() : '');
                        await state.gate;
                        out.enqueue(piece);
                    },
                });
                return new Response(r.body.pipeThrough(through), { status: r.status, headers: r.headers });
            },
        })();

    let silent; // begun first and looked at last, so that nobody waits for it alone
    before(async () => {
        silent = { keep: true, seen: [] };
        const c = await watched(silent);
        silent.process = await c.createProcess(sh('echo begun; sleep 16.5; echo over'));
        silent.sub = await c.followProcessLogs(silent.process.id, (e) => silent.seen.push(e));
    });

    it('follow: the backlog, then live, in order, and it ends with the process', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo a; read x; for i in 1 2 3 4 5; do echo $i; sleep 0.02; done'));
        await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === 1, 'the first');
        const seen = [];
        const sub = await c.followProcessLogs(p.id, (entry) => seen.push(entry));
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await sub.closed;
        assert.equal(seen.map(text).join(''), 'a\n1\n2\n3\n4\n5\n');
        seen.forEach((e, i) => assert.equal(e.sequence, i + 1));
        await c.deleteProcess(p.id);
    });

    /* A change of size between two pieces of output makes a run of its own, without bytes. */
    it('the numbers of a terminal have no holes where its size changed, in the log, followed and resumed', async () => {
        const c = await client();
        const p = await c.createProcess({ ...sh('stty -echo; while read x; do echo "$x"; done'), tty: true });
        const seen = [];
        const sub = await c.followProcessLogs(p.id, (e) => seen.push(e));
        for (let i = 1; i <= 4; i++) {
            // Two sizes in a row, of which the first is followed by nothing, and output only later.
            for (const rows of [20 + i, 40 + i]) await c.resizeProcessTerminal(p.id, { rows, cols: 80 });
            await new Promise((done) => setTimeout(done, 300));
            await c.sendProcessInput(p.id, { data: `line ${i}\n`, encoding: 'text' });
            await waitUntil(() => seen.map(text).join('').includes(`line ${i}\r\n`), `line ${i}`);
        }
        const { entries } = await c.getProcessLogs(p.id);
        assert.ok(entries.length >= 4);
        const numbers = entries.map((e) => e.sequence);
        assert.deepEqual(numbers, entries.map((_, i) => i + 1));
        assert.deepEqual(seen.map((e) => e.sequence), seen.map((_, i) => i + 1));
        for (const since of numbers) {
            const after = await c.getProcessLogs(p.id, { since });
            assert.deepEqual(after.entries.map((e) => e.sequence), numbers.slice(since));
        }
        assert.deepEqual((await c.getProcessLogs(p.id, { tail: 2 })).entries.map((e) => e.sequence), numbers.slice(-2));
        await c.killProcess(p.id);
        await sub.closed;
        await c.deleteProcess(p.id);
    });

    it('follow: a large output arrives whole', async () => {
        const c = await client();
        const p = await c.createProcess(sh('read x; head -c 3000000 /dev/zero'));
        let bytes = 0;
        const sub = await c.followProcessLogs(p.id, (e) => (bytes += Buffer.from(e.data, 'base64').length));
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await sub.closed;
        assert.equal(bytes, 3000000);
        await c.deleteProcess(p.id);
    });

    it('follow: since, tail and stream; entries that are still to come', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo 1; read x; echo 2 >&2; read x; echo 3; read x; echo 4'));
        for (let n = 1; n < 4; n++) {
            await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === n, `${n}`);
            await enter(c, p);
        }
        const all = { plain: {}, since: { since: 2 }, tail: { tail: 1 }, errors: { stream: 'stderr' }, far: { since: 1000 } };
        const seen = {};
        for (const [name, query] of Object.entries(all)) {
            seen[name] = [];
            await (await c.followProcessLogs(p.id, (e) => seen[name].push(text(e).trim()), query)).closed;
        }
        assert.deepEqual(seen, { plain: ['1', '2', '3', '4'], since: ['3', '4'], tail: ['4'], errors: ['2'], far: [] });
        await refused(c.followProcessLogs(p.id, () => {}, { stream: 'other' }), 400);
        await c.deleteProcess(p.id);
    });

    it('follow: the stream says exit; Last-Event-ID resumes', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo one; sleep 0.05; echo two >&2; exit 3'));
        const ask = async (headers) => (await d.request('GET', `${BASE}/v1/processes/${p.id}/logs?follow=true`, { headers })).text;
        const all = await ask({});
        assert.match(all, /^event: log\nid: 1\ndata: [^\n]*\n\nevent: log\nid: 2\n[^]*event: exit\ndata: \{"exitCode":3\}\n\n$/);
        assert.match(await ask({ 'Last-Event-ID': '1' }), /^event: log\nid: 2\n/);
        await c.deleteProcess(p.id);
    });

    /* The tail was counted anew, and what came between the last entry and those few was never given. */
    it('follow: who comes back with Last-Event-ID misses nothing for a tail that it once asked for', async () => {
        const c = await client();
        const p = await c.createProcess(sh('for i in 1 2 3 4 5 6; do echo $i; read x; done'));
        for (let n = 1; n <= 6; n++) {
            await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === n, `${n}`);
            await enter(c, p);
        }
        const ids = async (path, last) => {
            const a = await d.request('GET', `${BASE}/v1/processes/${p.id}/logs?tail=2${path}`, { headers: { 'Last-Event-ID': last } });
            return [...a.text.matchAll(/"sequence":(\d+)/g)].map((m) => Number(m[1]));
        };
        for (const path of ['&follow=true', '']) {
            assert.deepEqual(await ids(path, '2'), [3, 4, 5, 6]);
            assert.deepEqual(await ids(path, '6'), []);
            assert.deepEqual(await ids(path, 'nonsense'), [5, 6], 'no place to go on at');
        }
        await c.deleteProcess(p.id);
    });

    it('follow: deleting what runs ends it; who closes leaves the process alone', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat' });
        const gone = await c.followProcessLogs(p.id, () => {});
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'the follower');
        gone.close();
        await gone.closed;
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be noticed');
        assert.equal((await c.getProcess(p.id)).status, 'running');
        const stays = await c.followProcessLogs(p.id, () => {});
        await d.remove(p.id);
        await within(stays.closed, 10000, 'the end');
    });

    it('follow: one that stands still for a while, and is alone, gets everything', async () => {
        const state = {};
        const c = await watched(state);
        const p = await c.createProcess(sh('read x; head -c 12000000 /dev/zero'));
        const seen = [];
        const sub = await c.followProcessLogs(p.id, (e) => seen.push(e));
        let open;
        state.gate = new Promise((done) => (open = done));
        await enter(c, p);
        setTimeout(open, 2000);
        await sub.closed;
        assert.equal(bytesOf(seen), 12000000);
        seen.forEach((e, i) => assert.equal(e.sequence, i + 1));
        await c.deleteProcess(p.id);
    });

    /* The original drops what lags more than 512 entries. */
    it('follow: one that is slower than others holds nobody, and the numbers show what it missed', async () => {
        const state = {};
        const c = await watched(state);
        const p = await c.createProcess(sh(`read x; yes | head -c ${FLOOD_BYTES}`));
        const seen = [];
        const sub = await c.followProcessLogs(p.id, (e) => seen.push(e));
        let open;
        state.gate = new Promise((done) => (open = done));
        const fast = d.request('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { agent: false, timeoutMs: 60000 });
        await waitUntil(async () => (await d.get(p.id)).viewers === 2, 'both');
        await enter(c, p);
        assert.equal((await fast).body.length, FLOOD_BYTES);
        open();
        await sub.closed;
        const steps = seen.slice(1).map((e, i) => e.sequence - seen[i].sequence);
        assert.ok(steps.every((n) => n >= 1));
        assert.equal(steps.some((n) => n > 1), bytesOf(seen) < FLOOD_BYTES, 'no hole without a number');
        assert.ok(bytesOf(seen) < FLOOD_BYTES, 'it was not waited for');
        await c.deleteProcess(p.id);
    });

    it('follow: 15 s of silence are bridged by comments', async () => {
        await within(silent.sub.closed, 30000, 'the end');
        assert.deepEqual(silent.seen.map((e) => [e.sequence, text(e)]), [[1, 'begun\n'], [2, 'over\n']]);
        assert.match(silent.wire, /"sequence":1,[^]*\n:[^]*"sequence":2,/, 'a comment between the two');
        await (await client()).deleteProcess(silent.process.id);
    });
});
