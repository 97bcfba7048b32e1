// SPDX-License-Identifier: Apache-2.0
// Thousands of short processes, each seen to its end through one of four doors: every byte, every
// exit code, and the exit behind the last byte.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit, runSeed, seededRandom } from '../lib/gen.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { SseReader } from '../lib/sse.mjs';
import { inParallel, waitUntil } from '../lib/wait.mjs';

const COUNT = scaled(10000, 1000);
const WIDTH = 8;
const MAX = 256 * 1024;

withDaemon('many short processes', { args: ['--retain-count', '4000'] }, (d) => {
    /** What process i is and how it ends. */
    function plan(random, i) {
        const size =
            random() < 0.15
                ? 0
                : random() < 0.4
                  ? Math.floor(random() * 300)
                  : Math.floor(random() * (random() < 0.2 ? MAX + 1 : 40000));
        const end = random();
        const p = { i, size, seed: i * 7 + 1, pty: random() < 0.5, chunk: 1 + Math.floor(random() * 20000) };
        if (end < 0.55) Object.assign(p, { args: [], code: 0 });
        else if (end < 0.75) Object.assign(p, { args: ['-x', String(1 + (i % 255))], code: 1 + (i % 255) });
        else if (end < 0.9) Object.assign(p, { args: ['-k', '9'], code: 137, signal: 'SIGKILL' });
        else Object.assign(p, { args: ['-H'], killedByUs: true, code: 143, signal: 'SIGTERM' });
        p.body = {
            command: emit(),
            args: ['-n', String(size), '-s', String(p.seed), '-c', String(p.chunk), ...p.args],
            ...(p.pty ? { pty: true } : {}),
        };
        return p;
    }

    const killWhenWritten = async (p, id) => {
        if (!p.killedByUs) return;
        await waitUntil(
            async () => (await d.request('GET', `/v1/processes/${id}`)).json.output.next >= p.size,
            'its output',
            30000,
        );
        await d.request('POST', `/v1/processes/${id}/signal`, { json: { signal: 'TERM' } });
    };
    const checkExit = (p, x) => {
        assert.equal(x.exit_code, p.code, `exit code of ${JSON.stringify(p.body)}: ${JSON.stringify(x)}`);
        assert.equal(x.exit.signal ?? null, p.signal ?? null);
    };
    const checkOutput = (p, out, how) => {
        assert.equal(out.length, p.size, `${how}: ${out.length} of ${p.size} bytes of ${JSON.stringify(p.body)}`);
        checkBytes(p.seed, 0, out, how);
    };
    const start = async (p) => {
        const a = await d.request('POST', '/v1/processes', { json: p.body });
        assert.equal(a.status, 201, a.text);
        return a.json.id;
    };

    const doors = {
        async websocket(p) {
            const id = await start(p);
            const v = await Viewer.attach(d, id, { query: { since: '0', terminal: '0' } });
            await killWhenWritten(p, id);
            checkExit(p, await v.finish(60000));
            checkOutput(p, v.output, 'websocket');
            return id;
        },
        async follow(p) {
            const id = await start(p);
            const body = d.request('GET', `/v1/processes/${id}/output?follow=1&since=0`, { timeoutMs: 60000 });
            await killWhenWritten(p, id);
            checkOutput(p, (await body).body, 'follow');
            checkExit(p, (await d.request('GET', `/v1/processes/${id}`)).json);
            return id;
        },
        async events(p) {
            const id = await start(p);
            const s = new SseReader(
                await d.open('GET', `/v1/processes/${id}/output?follow=1&since=0`, {
                    headers: { Accept: 'text/event-stream' },
                }),
            );
            await killWhenWritten(p, id);
            const parts = [];
            let exit = null;
            for (let ev; (ev = await s.next(60000));) {
                assert.equal(exit, null, `event ${ev.event} after the exit`);
                const m = JSON.parse(ev.data);
                if (ev.event === 'exit') exit = m;
                else if (ev.event === 'output')
                    parts.push(Buffer.from(m.data, m.encoding === 'base64' ? 'base64' : 'utf8'));
            }
            checkOutput(p, Buffer.concat(parts), 'events');
            checkExit(p, exit);
            return id;
        },
        async run(p) {
            if (p.killedByUs) (Object.assign(p, { killedByUs: false, code: 0, signal: null }), p.body.args.pop());
            const a = await d.request('POST', '/v1/processes/run', {
                json: { ...p.body, output_encoding: 'base64' },
                timeoutMs: 60000,
            });
            assert.equal(a.status, 200, a.text.slice(0, 300));
            const r = a.json;
            assert.equal(r.omitted_bytes, 0);
            checkOutput(p, Buffer.from(p.pty ? r.output : r.stdout, 'base64'), 'run');
            checkExit(p, r);
            return r.process.id;
        },
    };

    it(`${COUNT} of them through WebSocket, follow, events and run`, async () => {
        const random = seededRandom(runSeed());
        const names = Object.keys(doors);
        const plans = Array.from({ length: COUNT }, (_, i) => plan(random, i));
        const seen = Object.fromEntries(names.map((n) => [n, 0]));
        let bytes = 0;
        const started = Date.now();
        await inParallel(COUNT, WIDTH, async (i) => {
            const door = names[i % names.length];
            const id = await doors[door](plans[i]);
            seen[door]++;
            bytes += plans[i].size;
            const gone = await d.request('DELETE', `/v1/processes/${id}?grace_ms=0`);
            assert.equal(gone.status, 200, gone.text);
        });
        report(
            `${COUNT} processes, ${(bytes / 1e6).toFixed(1)} MB, ${JSON.stringify(seen)}, ${((Date.now() - started) / 1000).toFixed(1)} s`,
        );
        assert.deepEqual(await d.list(), []);
    });
});
