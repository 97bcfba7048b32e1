// SPDX-License-Identifier: Apache-2.0
// --history-dir: a long history in a file reads like memory, survives the worker, and leaves nothing.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import * as proc from '../../lib/proc.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const MB = 1 << 20;
const dir = path.join(os.tmpdir(), `hf-history-${process.pid}`);
const args = ['--history-dir', dir, '--history-disk-bytes', String(64 * MB), '--journal-memory-bytes', String(4 * MB)];
after(() => fs.rmSync(dir, { recursive: true, force: true }));

/** Files of the directory that the daemon holds open. */
const held = (d) => Object.values(proc.fds(d.keeperPid()) ?? {}).filter((to) => to.startsWith(dir)).length;

withDaemon('history in a file', { args }, (d) => {
    const n = 20 * MB;
    const big = (more = {}) =>
        d.spawn({ command: emit(), args: ['-n', String(n), '-s', '91'], history_bytes: 32 * MB, ...more });

    it('far more than memory may hold is there to the first byte', async () => {
        const p = await big();
        const e = await d.exitOf(p.id, 60000);
        assert.deepEqual([e.output.first, e.output.next], [0, n]);
        assert.equal(held(d), 1);
        assert.deepEqual(fs.readdirSync(dir), [], 'the file has no name');
        const all = await d.output(p.id);
        assert.equal(all.length, n);
        checkBytes(91, 0, all);
        checkBytes(91, 12345678, await d.output(p.id, '?since=12345678&until=12400000'));
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await v.finish(60000);
        assert.equal(v.gaps.length, 0);
        checkBytes(91, 0, v.output);
        const cast = await d.api('GET', `/v1/processes/${p.id}/recording?since=100&until=2000000`, { expect: 200 });
        assert.equal(cast.headers['holdfast-gap'], undefined);
        await d.remove(p.id);
        await waitUntil(() => held(d) === 0, 'the file to be gone');
    });

    it('survives the worker', async () => {
        const p = await d.sh('head -c 3000000 /dev/zero | tr "\\0" x; read a; echo end', { stdin: 'pipe', history_bytes: 8 * MB });
        await waitUntil(async () => (await d.get(p.id)).output.next === 3000000, 'the output');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const a = await waitUntil(() => d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' } }).catch(() => null), 'the new worker');
        assert.equal(a.status, 200);
        const e = await d.exitOf(p.id);
        assert.deepEqual([e.output.first, e.output.next], [0, 3000004]);
        const all = await d.output(p.id);
        assert.ok(all.subarray(0, 3000000).every((b) => b === 120));
        assert.equal(all.subarray(3000000).toString(), 'end\n');
        await d.remove(p.id);
        await waitUntil(() => held(d) === 0, 'the file to be gone');
    });

    it('is bounded: for one, and for all, and the exited make room', async () => {
        const info = (await d.api('GET', '/v1/info', { expect: 200 })).json.limits;
        assert.equal(info.history_disk_bytes, 64 * MB);
        assert.equal(info.history_max_bytes, 16 * 1024 * MB);
        const p = await d.sh('head -c 200000 /dev/zero', { history_bytes: 2 * MB });
        await d.exitOf(p.id);
        const small = await d.sh('sleep 300');
        assert.equal(held(d), 1, 'what fits into memory stays there');
        const a = await d.sh('sleep 300', { history_bytes: 40 * MB });
        const full = await d.refused('history_full', 'POST', '/v1/processes', {
            json: { command: 'true', history_bytes: 30 * MB },
        });
        assert.equal(full.limit, 'history_disk_bytes');
        await d.refused('no_such_process', 'GET', `/v1/processes/${p.id}`); // it had to go for that
        const b = await d.sh('sleep 300', { history_bytes: 24 * MB });
        for (const x of [a, b, small]) await d.remove(x.id);
        await d.refused('bad_value', 'POST', '/v1/processes', { json: { command: 'true', history_bytes: 17 * 1024 * MB } });
    });

    it('a directory that is gone is said', async () => {
        fs.rmdirSync(dir);
        const problem = await d.refused('history_unavailable', 'POST', '/v1/processes', {
            json: { command: 'true', history_bytes: 2 * MB },
        });
        assert.deepEqual([problem.errno, problem.path], ['ENOENT', dir]);
        await d.exitOf((await d.sh('true')).id);
    });
});

it('without the option, memory is all there is', () =>
    daemonFor({}, async (d) => {
        const problem = await d.refused('bad_value', 'POST', '/v1/processes', {
            json: { command: 'true', history_bytes: 257 * MB },
        });
        assert.equal(problem.field, 'history_bytes');
        assert.match(problem.detail, /--history-dir/);
    }));
