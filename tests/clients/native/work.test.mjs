// SPDX-License-Identifier: Apache-2.0
// Heavy work of one client takes its turns: others are answered meanwhile, and no process waits for it.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { call, withClient } from '../../lib/mcp.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const MB = 1 << 20;
const COSTLY = '.{0,450}x'; // some 4000 states, and on a line without an x all of them are alive
const CEILING_MS = 200; // of /healthz, in the median

withDaemon('heavy work', {}, (d) => {
    const wait = (id, json, more = {}) => d.api('POST', `/v1/processes/${id}/wait`, { json, expect: 200, timeoutMs: 60000, ...more });
    const type = (id) => d.api('POST', `/v1/processes/${id}/input`, { json: { data: '\n' }, expect: 200 });
    const probe = () => d.api('GET', '/healthz', { expect: 200 });

    /** A process that has written this and sleeps. */
    const written = async (line, bytes, more = {}) => {
        const p = await d.sh(`${line}; sleep 300`, { history_bytes: Math.max(bytes, 65536), ...more });
        await waitUntil(async () => (await d.get(p.id)).output.next >= bytes, `${bytes} bytes`, 60000);
        return p;
    };

    /** 8 MiB of lines, and when they have been read, one of stderr: two pipes have no order of their own. */
    const twoStreams = async () => {
        const p = await written(`yes | head -c ${8 * MB}; read a; echo z >&2`, 8 * MB, { stdin: 'pipe' });
        await type(p.id);
        await waitUntil(async () => (await d.get(p.id)).output.next === 8 * MB + 2, 'the line of stderr');
        return p;
    };

    /** How many probes are answered one after the other before `work` ends. */
    const probesDuring = async (work) => {
        let over = false;
        let count = 0;
        const result = work.finally(() => (over = true));
        while (!over) {
            await probe();
            count += !over;
        }
        return [count, await result];
    };

    it('probes are answered while the last lines of one stream are searched', async () => {
        const p = await twoStreams();
        const tail = (method, query) =>
            d.api(method, `/v1/processes/${p.id}/output?${query}`, { expect: 200, timeoutMs: 60000 });
        for (const stream of ['', '&stream=stdout']) {
            const [count, a] = await probesDuring(tail('HEAD', `tail_lines=${4 * MB - 9}${stream}`));
            assert.equal(a.headers['holdfast-offset'], stream ? '18' : '20');
            assert.ok(count >= 1, `${count} probes`);
        }
        assert.equal((await tail('GET', 'tail_lines=2')).body.toString(), 'y\nz\n');
        assert.equal((await tail('GET', 'tail_lines=1&stream=stderr')).body.toString(), 'z\n');
        assert.equal((await tail('HEAD', 'stream=stderr')).headers['holdfast-next'], String(8 * MB + 2));
        await d.remove(p.id);
    });

    it('the same by MCP, and a screen of much output', () =>
        withClient(d, {}, async (c) => {
            const p = await twoStreams();
            const [count, a] = await probesDuring(
                call(c, 'read_output', { process_id: p.id, tail_lines: 4 * MB - 9, max_bytes: 8 }),
            );
            assert.deepEqual([a.from, a.next, a.output, a.output_tail], [20, 8 * MB + 2, 'y\ny\n', 'y\nz\n']);
            assert.ok(count >= 1, `${count} probes`);
            const err = await call(c, 'read_output', { process_id: p.id, stream: 'stderr' });
            assert.equal(err.output, 'z\n');
            await d.remove(p.id);
            const t = await written(`yes | head -c ${MB}; printf done`, MB + MB / 2 + 4, { pty: true });
            const [during, screen] = await probesDuring(call(c, 'read_screen', { process_id: t.id }));
            assert.match(screen.text, /y\ndone\n$/);
            assert.ok(during >= 1, `${during} probes`);
            await d.remove(t.id);
        }));

    it('probes are answered while a recording is written', async () => {
        const p = await written(`yes | head -c ${4 * MB}`, 4 * MB);
        const [count, a] = await probesDuring(d.api('GET', `/v1/processes/${p.id}/recording`, { expect: 200, timeoutMs: 60000 }));
        assert.ok(count >= 3, `${count} probes`);
        const data = a.body.toString().trimEnd().split('\n').slice(1).map((l) => JSON.parse(l)).filter((e) => e[1] === 'o').map((e) => e[2]).join('');
        assert.equal(data.replaceAll('\r', '').length, 4 * MB);
        await d.remove(p.id);
    });

    it('probes are answered soon while two hundred waits search', async () => {
        const p = await written(`head -c ${MB} /dev/zero | tr "\\0" a`, MB);
        const body = JSON.stringify({ until: [{ regex: COSTLY }] });
        const conns = await Promise.all(Array.from({ length: 200 }, () => RawConn.connect(d)));
        for (const c of conns) c.send(requestBytes(d, `POST /v1/processes/${p.id}/wait`, { body, role: 'watch' }));
        const times = [];
        for (let i = 0; i < 21; i++) {
            const start = performance.now();
            await probe();
            times.push(performance.now() - start);
        }
        const median = times.sort((a, b) => a - b)[10];
        assert.ok(median < CEILING_MS, `a probe takes ${Math.round(median)} ms`);
        assert.ok(conns.every((c) => c.held.length === 0), 'all of them search on');
        for (const c of conns) c.socket.destroy();
        await d.remove(p.id);
    });

    it('a wait stops when its time is up, and says how far it came', async () => {
        const p = await written(`head -c ${MB} /dev/zero | tr "\\0" a`, MB);
        const w = (await wait(p.id, { until: [{ regex: COSTLY }], from: 0, timeout_ms: 0 })).json;
        assert.equal(w.timed_out, true);
        assert.ok(w.next < MB, `it searched ${w.next} bytes`);
        const text = (await wait(p.id, { until: [{ text: 'b' }], from: 0, timeout_ms: 0 })).json;
        assert.deepEqual([text.timed_out, text.next, text.missed_bytes], [true, MB, 0]);
        await d.remove(p.id);
    });

    const flood = (n) => `read a; head -c ${n} /dev/zero | tr "\\0" a; printf "\\nthe end\\n"; read a`;

    for (const who of ['watch', 'a link'])
        it(`a wait of ${who} does not hold the process, and tells what it missed`, async () => {
            const n = 4 * MB;
            const p = await d.sh(flood(n), { stdin: 'pipe', history_bytes: 65536 });
            const link = (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role: 'watch' }, expect: 201 })).json;
            const as = { role: who === 'watch' ? 'watch' : link.token };
            const waiting = wait(p.id, { until: [{ regex: '.{0,60}x' }, { text: 'the end' }], from: 0 }, as);
            await type(p.id);
            await waitUntil(async () => (await d.get(p.id)).output.next === n + 9, 'all of its output', 60000);
            const w = (await waiting).json;
            assert.deepEqual([w.matched, w.match.to], ['text', n + 8]);
            assert.ok(w.missed_bytes > 0, 'the process was faster');
            await type(p.id);
            await d.exitOf(p.id);
            await d.remove(p.id);
        });

    it('a wait of the owner misses nothing', async () => {
        const n = 512 * 1024;
        const p = await d.sh(flood(n), { stdin: 'pipe', history_bytes: 65536 });
        const waiting = wait(p.id, { until: [{ regex: 'x.{0,20}y' }, { text: 'the end' }], from: 0 });
        await type(p.id);
        const w = (await waiting).json;
        assert.deepEqual([w.matched, w.match.to, w.missed_bytes], ['text', n + 8, 0]);
        await d.remove(p.id);
    });

    it('work whose client is gone ends with it', async () => {
        const worker = d.workerPid();
        const p = await written(`yes | head -c ${8 * MB}`, 8 * MB, {});
        const requests = [
            [`GET /v1/processes/${p.id}/recording`],
            [`GET /v1/processes/${p.id}/recording?follow=1`],
            [`GET /v1/processes/${p.id}/output?stream=stdout`],
            [`GET /v1/processes/${p.id}/output?stream=stderr&tail_lines=99999999`],
            [`POST /v1/processes/${p.id}/wait`, JSON.stringify({ until: [{ regex: COSTLY }] })],
        ];
        for (const [line, body] of requests) {
            const conns = await Promise.all(Array.from({ length: 8 }, () => RawConn.connect(d)));
            for (const c of conns) c.send(requestBytes(d, line, { body }));
            await probe();
            for (const c of conns) c.socket.destroy();
            await probe();
        }
        await d.remove(p.id);
        await probe();
        assert.equal(d.workerPid(), worker);
    });

    it('a process that is deleted takes its work with it', async () => {
        const worker = d.workerPid();
        const p = await written(`yes | head -c ${8 * MB}`, 8 * MB);
        const all = [
            d.api('GET', `/v1/processes/${p.id}/output?stream=stderr&tail_lines=99999999`, { timeoutMs: 60000 }),
            d.api('GET', `/v1/processes/${p.id}/recording`, { timeoutMs: 60000 }),
            wait(p.id, { until: [{ regex: COSTLY }], timeout_ms: 100 }),
        ].map((r) => r.catch((err) => err));
        await probe();
        await d.remove(p.id);
        await Promise.all(all);
        assert.equal(d.workerPid(), worker);
    });

    it('a worker that is killed in the middle of it is followed by one that goes on', async () => {
        const p = await written(`yes | head -c ${8 * MB}`, 8 * MB);
        const cut = d.api('GET', `/v1/processes/${p.id}/recording`, { timeoutMs: 60000 }).catch((err) => err);
        await probe();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await cut;
        const a = await waitUntil(() => d.api('GET', `/v1/processes/${p.id}/output?tail_lines=1`).catch(() => null), 'the new worker');
        assert.equal(a.body.toString(), 'y\n');
        await d.remove(p.id);
    });
});
