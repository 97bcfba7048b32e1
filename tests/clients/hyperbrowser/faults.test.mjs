// SPDX-License-Identifier: Apache-2.0
// Hyperbrowser's runtime with clients that are not allowed to, send nonsense, go away or
// do not read; and with a worker that dies.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { clientsOf, collect, refused } from './client.mjs';

const BASE = '/dialects/hyperbrowser/sandbox';
const FLOOD_BYTES = 24000000; // more than a ring and what a socket holds of it

withDaemon('hyperbrowser: faults', {}, (d) => {
    const client = clientsOf(d);
    const sandboxOf = (role) => client({ apiKey: d.tokens[role] }).sandboxes.connect('local');
    const socket = (id, { role = 'own', query = '' } = {}) =>
        new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/pty/${id}/ws${query}`, { headers: d.authHeaders(role) });
    const opened = (ws) => new Promise((done, fail) => ws.on('open', done).on('error', fail));
    const closed = (ws) => new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));

    it('no token and wrong ones: every call is refused in the same shape', async () => {
        const t = await d.spawn({ command: 'cat', pty: true });
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            for (const [method, path] of [
                ['GET', '/processes'],
                ['POST', '/exec'],
                ['POST', `/pty/${t.id}/kill`],
                ['GET', `/pty/${t.id}`],
            ]) {
                const a = await d.request(method, BASE + path, { role, json: method === 'POST' ? {} : undefined });
                assert.equal(a.status, 401, `${method} ${path}`);
                assert.deepEqual(Object.keys(a.json), ['error', 'code']);
                assert.equal(a.json.code, 'unauthorized');
            }
            await assert.rejects(opened(socket(t.id, { role })), /401/);
        }
        assert.equal((await d.request('GET', '/dialects/hyperbrowser/api/sandbox/local', { role: null })).status, 401);
        await d.remove(t.id);
    });

    it('roles hold: who watches does not type, who types does not end', async () => {
        const own = await sandboxOf('own');
        const t = await own.terminal.create({ command: 'cat' });
        const watch = await sandboxOf('watch');
        await refused(watch.exec('true'), 403, { code: 'forbidden' });
        await refused(watch.terminal.create({ command: 'sh' }), 403);
        const seen = await (await watch.terminal.get(t.id)).attach();
        await seen.write('no');
        assert.deepEqual(await within(collect(seen.events()), 10000, 'the end'), []);
        const type = await sandboxOf('type');
        const mine = await type.terminal.get(t.id);
        await refused(mine.kill(), 403);
        await refused(mine.signal('KILL'), 403);
        const c = await mine.attach();
        await c.write('typed\n');
        for await (const e of c.events()) if (e.data.includes('typed')) break;
        await c.close();
        assert.equal((await t.kill()).running, false);
    });

    it('frames that are none close the connection with a reason and leave the terminal', async () => {
        const t = await d.spawn({ command: 'cat', pty: true });
        for (const [frame, code] of [
            ['{', 1007],
            ['[]', 1007],
            ['{"type":"nothing"}', 1007],
            ['{"type":"input","data":7}', 1007],
            ['{"type":"input","data":"!!!","encoding":"base64"}', 1007],
            ['{"type":"input","data":"x","encoding":"rot13"}', 1007],
            ['{"type":"resize","rows":0,"cols":80}', 1007],
            ['{"type":"resize","rows":"24","cols":80}', 1007],
            [Buffer.from('bytes'), 1003],
            [`{"type":"input","data":"${'x'.repeat(1 << 20)}"}`, 1009],
        ]) {
            const ws = socket(t.id);
            await opened(ws);
            ws.send(frame);
            const [got, reason] = await within(closed(ws), 10000, 'the close');
            assert.equal(got, code, String(frame).slice(0, 60));
            assert.ok(reason.length > 5, reason);
        }
        const alive = await d.get(t.id);
        assert.deepEqual([alive.status, alive.output.bytes_total, alive.viewers], ['running', 0, 0]);
        await d.remove(t.id);
    });

    it('calls that are none are refused and change nothing', async () => {
        const t = await d.spawn({ command: 'cat', pty: true });
        for (const [path, body, status, code] of [
            [`/pty/${t.id}/resize`, { rows: 5 }, 400, 'bad_type'],
            [`/pty/${t.id}/resize`, { rows: 5, cols: 5000 }, 400, 'bad_size'],
            [`/pty/${t.id}/kill`, { signal: {} }, 400, 'bad_type'],
            [`/pty/${t.id}/wait`, { timeoutMs: 'x' }, 400, 'bad_type'],
            [`/pty/${t.id}/wait`, { includeOutput: 1 }, 400, 'bad_type'],
            [`/processes/${t.id}/signal`, {}, 400, 'missing_field'],
            [`/processes/${t.id}/stdin`, { data: 1 }, 400, 'bad_type'],
            [`/processes/${t.id}/stdin`, { eof: 'yes' }, 400, 'bad_type'],
            ['/processes', { command: 'x', env: { A: 1 } }, 400, 'bad_type'],
            ['/processes', { command: 'x', args: [1] }, 400, 'bad_type'],
            ['/pty', [], 400, 'bad_type'],
        ]) {
            const a = await d.request('POST', BASE + path, { json: body });
            assert.deepEqual([a.status, a.json.code], [status, code], `${path} ${JSON.stringify(body)}: ${a.text}`);
        }
        assert.equal((await d.request('GET', `${BASE}/processes?limit=x`)).status, 400);
        assert.equal((await d.request('PUT', `${BASE}/exec`)).status, 405);
        assert.deepEqual((await d.list('?status=running')).map((p) => p.id), [t.id]);
        await d.remove(t.id);
    });

    it('who asked for exec and went takes the command along; a terminal stays', async () => {
        const c = await RawConn.connect(d);
        const body = JSON.stringify({ command: 'sleep 100' });
        c.send(`POST ${BASE}/exec HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        c.destroy();
        assert.equal((await d.exitOf(p.id)).exit.by, 'detach');
        const t = await d.spawn({ command: 'cat', pty: true });
        const ws = socket(t.id);
        await opened(ws);
        ws.terminate();
        await waitUntil(async () => (await d.get(t.id)).viewers === 0, 'it to be noticed');
        assert.equal((await d.get(t.id)).status, 'running');
        await d.remove(t.id);
    });

    /** Reads all that a process writes from here on, so that those who do not are not waited for. */
    const fastReader = async (id) => {
        const res = await d.open('GET', `/v1/processes/${id}/output?follow=1&since=0`);
        let bytes = 0;
        return { bytes: new Promise((done) => res.on('data', (b) => (bytes += b.length)).on('end', () => done(bytes))) };
    };

    it('a stream that is not read holds nobody, and says what it has missed', async () => {
        const p = await d.sh(`read x; yes | head -c ${FLOOD_BYTES}`, { stdin: 'pipe' });
        const slow = await d.open('GET', `${BASE}/processes/${p.id}/stream`);
        slow.pause();
        const fast = await fastReader(p.id);
        await d.request('POST', `${BASE}/processes/${p.id}/stdin`, { json: { data: '\n' } });
        assert.equal(await within(fast.bytes, 60000, 'the fast one'), FLOOD_BYTES);
        const events = new SseReader(slow);
        slow.resume();
        const all = [];
        for (let e; (e = await events.next()); ) all.push({ event: e.event, ...JSON.parse(e.data) });
        const note = all.find((e) => e.stream === 'system');
        assert.match(note.data, /is no longer kept/);
        const rest = all.slice(all.indexOf(note), -1).map((e) => e.seq);
        assert.deepEqual(rest, rest.map((_, i) => note.seq + i));
        const done = all.at(-1);
        assert.deepEqual([done.event, done.output_truncated, done.last_seq], ['done', true, rest.at(-1)]);
        await d.remove(p.id);
    });

    /* It once began in the middle as if that were the beginning, and denied that anything was missing. */
    it('a stream that comes when the beginning is gone is told so', async () => {
        const p = await d.sh('yes | head -c 3000000');
        await d.exitOf(p.id);
        const events = new SseReader(await d.open('GET', `${BASE}/processes/${p.id}/stream`));
        const all = [];
        for (let e; (e = await events.next()); ) all.push({ event: e.event, ...JSON.parse(e.data) });
        assert.equal(all[0].stream, 'system');
        assert.match(all[0].data, new RegExp(`up to seq ${all[0].seq} is no longer kept`));
        assert.deepEqual(all.slice(0, -1).map((e) => e.seq), all.slice(0, -1).map((_, i) => all[0].seq + i));
        assert.deepEqual([all.at(-1).event, all.at(-1).output_truncated], ['done', true]);
        const seen = await collect((await (await sandboxOf('own')).getProcess(p.id)).stream());
        assert.deepEqual([seen[0].type, seen.at(-1).type], ['system', 'exit']);
        await d.remove(p.id);
    });

    it('a terminal that is not read holds nobody, and its numbers show the gap', async () => {
        const t = await d.spawn({ command: `stty raw; echo up; read x; yes | head -c ${FLOOD_BYTES}`, shell: true, pty: true });
        const slow = socket(t.id);
        const seen = [];
        slow.on('message', (m) => seen.push(JSON.parse(m)));
        await opened(slow);
        await waitUntil(() => seen.length > 0, 'the first of it');
        slow.send('{"type":"input","data":"\\n"}');
        slow.pause();
        assert.ok((await within((await fastReader(t.id)).bytes, 60000, 'the fast one')) > 0);
        await d.exitOf(t.id);
        slow.resume();
        await closed(slow);
        const seqs = seen.slice(0, -1).map((m) => m.seq);
        assert.ok(seqs.some((n, i) => i > 0 && n > seqs[i - 1] + 1), 'there is a gap');
        assert.ok(seqs.every((n, i) => i === 0 || n > seqs[i - 1]));
        assert.deepEqual([seen.at(-1).type, seen.at(-1).status.exitCode], ['exit', 0]);
        await d.remove(t.id);
    });

    it('a worker that dies loses nothing: numbers and results go on', async () => {
        const sb = await sandboxOf('own');
        const p = await sb.processes.start('for i in 1 2 3; do echo $i; read x; done');
        const t = await sb.terminal.create({ command: 'cat' });
        let c = await t.attach();
        await c.write('before\n');
        let text = '';
        for await (const e of c.events()) if ((text += e.data).endsWith('before\r\nbefore\r\n')) break;
        for await (const e of p.stream()) if (e.seq === 1) break;
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz').then((a) => a.status === 200), 'the next worker');
        await p.writeStdin('\n');
        await p.writeStdin({ data: '\n', eof: true });
        const rest = await collect(p.stream(1));
        assert.deepEqual(rest.map((e) => e.seq).slice(0, -1), rest.slice(0, -1).map((_, i) => i + 2));
        assert.equal(rest.map((e) => e.data ?? '').join(''), '2\n3\n');
        assert.equal((await p.wait()).stdout, '1\n2\n3\n');
        const now = (await sb.terminal.get(t.id, true)).current.output;
        assert.equal(now.map((x) => x.data).join(''), text);
        c = await t.attach(now.at(-1).seq);
        await c.write('after\n');
        text = '';
        for await (const e of c.events()) {
            assert.ok(e.seq > now.at(-1).seq);
            if ((text += e.data).endsWith('after\r\nafter\r\n')) break;
        }
        assert.ok(!text.includes('before'));
        await c.close();
        await t.kill();
    });
});
