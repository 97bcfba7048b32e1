// SPDX-License-Identifier: Apache-2.0
// Records that are dropped while something still goes on: the end of a tree, a viewer, a hold.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('dropped', {}, (d) => {
    const gone = (id) => waitUntil(async () => (await d.request('GET', `/v1/processes/${id}`)).status === 404, 'the record to go');

    it('retention that comes in the middle of an end waits for it', async () => {
        const worker = d.workerPid();
        const file = path.join(d.dir, 'asked');
        const p = await d.sh(`(trap ": > ${file}" TERM; : > ${file}.up; while :; do sleep 0.02; done) & while [ ! -e ${file}.up ]; do sleep 0.01; done`);
        await d.exitOf(p.id);
        const ended = d.request('DELETE', `/v1/processes/${p.id}?grace_ms=1000`, { agent: false });
        await waitUntil(() => fs.existsSync(file), 'the end to have begun');
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { retain_ms: 0 }, expect: 200 });
        assert.equal((await ended).status, 200);
        await gone(p.id);
        assert.equal(d.workerPid(), worker);
    });

    it('nobody of a tree is forgotten with its record: SIGKILL comes all the same', async () => {
        const file = path.join(d.dir, 'stubborn');
        const p = await d.sh(`(trap "" TERM; exec sleep 300 >/dev/null 2>&1) & echo $! > ${file}; exec sleep 200`, {
            timeout_ms: 300,
            grace_ms: 300,
            retain_ms: 0,
        });
        await gone(p.id);
        const child = Number(fs.readFileSync(file, 'utf8'));
        await waitUntil(() => !proc.isAlive(child), 'the stubborn child to be killed');
    });

    it('retention by number does not stumble over one that is being ended', async () => {
        const p = await d.sh('trap "" TERM; sleep 300 & exit 0'); // an ignored signal stays ignored
        await d.exitOf(p.id);
        const ended = d.request('DELETE', `/v1/processes/${p.id}?grace_ms=700`, { agent: false });
        for (let i = 0; i < 300; i++) await d.request('POST', '/v1/processes/run', { json: { command: 'true' } });
        assert.equal((await ended).status, 200);
        await gone(p.id);
        await d.removeAll();
    });

    it('who still watches a record that was dropped may ask for a signal, and is told', async () => {
        const worker = d.workerPid();
        const p = await d.sh('head -c 900000 /dev/zero');
        const v = await Viewer.attach(d, p.id, { query: { since: '0', ack: '1' }, keep: false });
        await d.exitOf(p.id);
        await d.remove(p.id);
        v.control({ type: 'signal', signal: 'SIGTERM', target: 'tree' });
        await waitUntil(() => v.messages.find((m) => m.type === 'error' && m.code === 'not_running'), 'the answer');
        assert.equal(d.workerPid(), worker);
        v.ws.terminate();
    });

    it('a child that floods does not keep the exit of its parent from a slow viewer', async () => {
        const p = await d.sh('yes & exit 3', { hold_ms: 5000 });
        const v = await Viewer.attach(d, p.id, { query: { since: '0', ack: '1' }, keep: false });
        let acked = 0;
        const timer = setInterval(() => {
            if (v.at > acked) v.control({ type: 'ack', offset: (acked = Math.min(v.at, acked + 65536)) });
        }, 10);
        const end = await d.exitOf(p.id);
        assert.equal(end.exit_code, 3);
        await waitUntil(() => v.exit, 'the viewer to be told', 60000).finally(() => clearInterval(timer));
        await d.api('DELETE', `/v1/processes/${p.id}?grace_ms=0`, { expect: 200 });
    });

    it('nor from one that reads over HTTP', async () => {
        const p = await d.sh('yes & exit 4');
        await d.exitOf(p.id);
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        const bytes = await new Promise((done, fail) => {
            let n = 0;
            res.on('data', (b) => {
                n += b.length;
                res.pause();
                setTimeout(() => res.resume(), 5); // slower than the child
            });
            res.on('end', () => done(n)).on('error', fail);
        });
        assert.ok(bytes > 0);
        await d.api('DELETE', `/v1/processes/${p.id}?grace_ms=0`, { expect: 200 });
    });

    it('an acknowledging viewer whose window is larger than the ring is given up after its time', async () => {
        const p = await d.spawn({ command: 'yes', hold_ms: 2000, history_bytes: 65536 });
        const v = await Viewer.attach(d, p.id, { query: { since: '0', ack: '1' }, keep: false });
        await waitUntil(async () => (await d.get(p.id)).output.next > 65536, 'the process to go on', 30000);
        v.ws.terminate();
        await d.api('DELETE', `/v1/processes/${p.id}?grace_ms=0`, { expect: 200 });
    });
});
