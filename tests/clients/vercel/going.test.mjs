// SPDX-License-Identifier: Apache-2.0
// Calls of @vercel/sandbox that are under way when the worker is replaced: what is answered is what has
// happened, and nothing runs twice.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { at, collect, first, Sandbox, skip, StreamError } from './client.mjs';

withDaemon('vercel: going', { skip }, (d) => {
    const log = [];
    const answers = [];
    let sb;
    before(async () => (sb = await Sandbox.get({ ...at(d, { log, answers }), name: 'local' })));
    const file = (name) => path.join(d.dir, name);
    const script = (name) => ['-c', `echo begun; until [ -e ${file(name)} ]; do sleep 0.02; done; echo ended; exit 5`];
    const replace = async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
    };
    const only = () => waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
    const goesOn = async (id, name, box = sb) => {
        assert.deepEqual((await d.list('?status=running')).map((p) => p.id), [id]);
        fs.writeFileSync(file(name), '');
        const c = await box.getCommand(id);
        assert.equal((await c.wait()).exitCode, 5);
        assert.equal(await c.stdout(), 'begun\nended\n');
        await d.remove(id);
    };

    it('a run is told that the daemon goes, and as what the command goes on', async () => {
        let seen = '';
        const run = sb.runCommand({ cmd: 'sh', args: script('a'), stdout: { write: (t) => (seen += t) } }).catch((err) => err);
        await waitUntil(() => seen === 'begun\n', 'its first line');
        log.length = 0;
        await replace();
        const err = await run;
        assert.ok(err instanceof StreamError, String(err));
        assert.equal(err.code, 'shutting_down');
        assert.deepEqual(log, [], 'nothing was asked again');
        await goesOn(/as (proc_\w+)/.exec(err.message)[1], 'a');
    });

    it('logs are told the same', async () => {
        const c = await sb.runCommand({ cmd: 'sh', args: script('b'), detached: true });
        const logs = collect(c.logs()).catch((err) => err);
        await waitUntil(() => answers.at(-1).includes('/logs'), 'the answer to have begun');
        await replace();
        assert.equal((await logs).code, 'shutting_down');
        await goesOn(c.cmdId, 'b');
    });

    it('a wait goes on at the next worker by itself', async () => {
        const c = await sb.runCommand({ cmd: 'sh', args: script('c'), detached: true });
        const ended = c.wait();
        await waitUntil(() => log.at(-1).includes(c.cmdId), 'it to be asked'); // of this worker or the next
        await replace();
        fs.writeFileSync(file('c'), '');
        assert.equal((await ended).exitCode, 5);
    });

    it('version 1: a run whose stream may have no other line is cut, and not begun again', async () => {
        const old = await first.Sandbox.create(at(d, { answers }));
        const run = old.runCommand('sh', script('d')).catch((err) => err);
        const p = await only();
        await waitUntil(() => answers.at(-1).includes('/cmd'), 'the answer to have begun');
        await replace();
        assert.ok((await run) instanceof Error);
        await goesOn(p.id, 'd', old);
    });
});
