// SPDX-License-Identifier: Apache-2.0
// Calls of Fly's clients that are under way when the worker is replaced, or when there are too many: what is
// answered is what has happened, and nothing that a client would take for "try again" once it runs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { settle, whileHeld } from '../../lib/held.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { collect, machinesOf, MACHINE, spritesOf, watched } from './client.mjs';

withDaemon('fly: going', {}, (d) => {
    const sprite = spritesOf(d);
    const { client, exec, which } = machinesOf(d);
    const at = (name) => path.join(d.dir, name);
    const command = (name) => ['sh', '-c', `echo begun; until [ -e ${at(name)} ]; do sleep 0.02; done; echo ended; exit 5`];

    const replace = async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
    };

    /** The only one that ran can be found, and attached to for all of it. */
    const goesOn = async (id, name) => {
        assert.deepEqual((await d.list('?status=running')).map((p) => p.id), [id]);
        fs.writeFileSync(at(name), '');
        const back = watched(sprite().attachSession(id));
        await back.ended();
        assert.deepEqual([back.stdout, back.exit], ['begun\nended\n', 5]);
        await d.remove(id);
    };

    it('a machine\'s exec: who is told that the daemon goes is told where the command is', async () => {
        const answer = exec({ command: command('a') }).catch((err) => err);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await d.outputHas(p.id, 'begun');
        await replace();
        assert.match((await answer).message, new RegExp(`^500: .*keeps running; see process ${p.id}`));
        await goesOn(p.id, 'a');
    });

    // The order of start and farewell is the keeper's: either the answer has not begun, or it is broken off.
    it('the same for those that are about to begin', async () => {
        const [file, ...args] = command('b');
        for (const start of [
            () => exec({ command: command('b') }).then(() => assert.fail('an answer'), (err) => assert.match(err.message, /^500: /)),
            () => sprite().execFileHTTP(file, args).then(() => assert.fail('an answer'), (err) => assert.ok(err.statusCode === 500 || /terminated|fetch failed|aborted/.test(err.message), String(err))),
            () => sprite().execFile(file, args).then(() => assert.fail('an answer'), (err) => assert.match(err.message, /WebSocket|exit code -1/)),
        ]) {
            const old = d.workerPid();
            const { asked } = await whileHeld(d, async () => {
                const call = start();
                await settle(d);
                process.kill(d.keeperPid(), 'SIGHUP');
                return { asked: call };
            });
            await asked;
            await d.nextWorker(old);
            await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
            await goesOn((await d.list('?status=running'))[0].id, 'b');
            fs.rmSync(at('b'));
        }
    });

    it('by HTTP a sprite\'s answer is broken off: in good order it ends with its exit only', async () => {
        const answer = sprite().execFileHTTP(...[command('c')].map(([file, ...args]) => [file, args]).flat()).catch((err) => err);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await d.outputHas(p.id, 'begun');
        await replace();
        assert.match((await answer).message, /terminated|fetch failed|aborted/);
        await goesOn(p.id, 'c');
    });

    it('a session ends with 1001 and goes on', async () => {
        const [file, ...args] = command('d');
        const w = watched(sprite().spawn(file, args));
        await w.has('begun');
        const [p] = await d.list('?status=running');
        await replace();
        await w.ended();
        assert.equal(w.exit, -1); // not told, and not made up
        await goesOn(p.id, 'd');
    });

    it('a wait and a kill that are under way are told', async () => {
        const waiting = client().Machine.waitMachine({ ...which, state: 'stopped', timeout: '30' }).catch((err) => err);
        const w = watched(sprite().createSession('sh', ['-c', 'trap "" TERM HUP; echo up; while :; do sleep 0.05; done']));
        await w.has('up');
        const { session_id: id } = await w.info();
        const stream = await sprite().killSession(id, 'TERM', '60s');
        assert.equal((await stream.next()).type, 'signal');
        await replace();
        assert.match((await waiting).message, /^503: .*unavailable/);
        assert.equal((await collect(stream)).at(-1).type, 'error');
        assert.equal((await collect(await sprite().killSession(id, 'KILL'))).at(-1).exitCode, 137);
    });

    it('what is refused because too many wait is not run', async () => {
        const wait = (timeout) => requestBytes(d, `GET /dialects/fly/v1/${MACHINE}/wait?state=stopped&timeout=${timeout}`);
        const waiting = await Promise.all(Array.from({ length: 1024 }, () => RawConn.connect(d)));
        for (const c of waiting) c.send(wait(60));
        const last = waiting.at(-1);
        await settle(d);
        assert.equal(last.held.length, 0);
        const full = await waitUntil(() => exec({ cmd: 'true' }).catch((err) => err.message), 'no room');
        assert.match(String(full), /^429: .*resource_exhausted/);
        assert.deepEqual(await d.list('?status=running'), []);
        for (const c of waiting) c.reset();
        await waitUntil(async () => (await exec({ cmd: 'true' }).catch(() => ({}))).exit_code === 0, 'room again');
    });
});
