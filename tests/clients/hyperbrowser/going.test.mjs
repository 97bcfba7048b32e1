// SPDX-License-Identifier: Apache-2.0
// Calls of Hyperbrowser's client that are under way when the worker is replaced, when another like
// them is, or when there are too many: what is answered is what has happened.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { settle, whileHeld } from '../../lib/held.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { clientsOf, refused } from './client.mjs';

withDaemon('hyperbrowser: going', {}, (d) => {
    const client = clientsOf(d);
    const sandbox = () => client().sandboxes.connect('local');
    const at = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${at(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(at(name), '');

    const replace = async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
    };

    it('input that was taken in part is not answered as taken', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x; ${until('read-it')}; wc -c`);
        const written = refused(p.writeStdin({ data: `up\n${'x'.repeat(600000)}`, eof: true }), 500, {
            code: 'internal',
            text: ' of 600003 bytes of the input were accepted',
        });
        await d.outputHas(p.id, 'up');
        await replace();
        await written;
        allow('read-it');
        const late = await (await sandbox()).getProcess(p.id);
        await late.writeStdin({ data: '', eof: true });
        const n = Number((await late.wait()).stdout.split('\n')[1]);
        assert.ok(n > 0 && n < 600000, `${n} bytes`);
    });

    it('input of which nothing was taken may be sent again', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x; ${until('then')}; wc -c`);
        const first = p.writeStdin(`up\n${'x'.repeat(300000)}`).catch(() => {});
        await d.outputHas(p.id, 'up');
        const second = refused(p.writeStdin({ data: 'y', eof: true }), 503, { code: 'shutting_down', retryable: true });
        await settle(d);
        await replace();
        await Promise.all([first, second]);
        await (await (await sandbox()).getProcess(p.id)).kill();
    });

    /** The only one that ran is known by the answer, and its end and output can be had. */
    const goesOn = async (id, name) => {
        assert.deepEqual((await d.list('?status=running')).map((p) => p.id), [id]);
        allow(name);
        const { stdout, status } = await (await (await sandbox()).getProcess(id)).wait();
        assert.deepEqual([stdout, status], ['begun\nended\n', 'exited']);
        await d.remove(id);
    };
    const command = (name) => `echo begun; ${until(name)}; echo ended`;
    const idIn = (err) => /keeps running as process (proc_\w+)/.exec(err.message)?.[1];

    it('exec: who is told that the daemon goes is told that the command stays, and not to try again', async () => {
        const answer = (await sandbox()).exec(command('a')).catch((err) => err);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await replace();
        const err = await answer;
        assert.deepEqual([err.statusCode, err.retryable, idIn(err)], [500, false, p.id], String(err));
        await goesOn(p.id, 'a');
    });

    it('exec: the same for one whose answer has begun', async () => {
        const res = await d.open('POST', '/dialects/hyperbrowser/sandbox/exec', { body: JSON.stringify({ command: command('b') }) });
        await replace();
        const { result } = JSON.parse(Buffer.concat(await res.toArray()));
        assert.deepEqual([result.status, result.stdout, result.output_truncated, 'exit_code' in result], ['running', '', true, false]);
        await goesOn(result.id, 'b');
    });

    it('exec: the same for one that is about to begin', async () => {
        const old = d.workerPid();
        const answer = await whileHeld(d, async () => {
            const asked = (await sandbox()).exec(command('c')).catch((err) => err);
            await settle(d);
            process.kill(d.keeperPid(), 'SIGHUP');
            return { asked };
        });
        const err = await answer.asked;
        await d.nextWorker(old);
        assert.deepEqual([err.statusCode, err.retryable], [500, false], String(err));
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
        await goesOn(idIn(err), 'c');
    });

    it('a stream that is about to begin with its process names it, and ends with the reason', async () => {
        const old = d.workerPid();
        const c = await RawConn.connect(d);
        await whileHeld(d, async () => {
            c.send(requestBytes(d, 'POST /dialects/hyperbrowser/sandbox/processes', { headers: { Accept: 'text/event-stream' }, body: JSON.stringify({ command: command('s') }) }));
            await settle(d);
            process.kill(d.keeperPid(), 'SIGHUP');
        });
        await d.nextWorker(old);
        await waitUntil(() => /event: started\ndata: .*event: error\ndata: .*"shutting_down"/s.test(String(c.held)), 'the reason');
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
        await goesOn(/proc_\w+/.exec(String(c.held))[0], 's');
        c.destroy();
    });

    it('exec: a worker that dies leaves the command to the next one', async () => {
        const answer = (await sandbox()).exec(command('d')).catch((err) => err);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        assert.ok((await answer) instanceof Error);
        await d.nextWorker(old);
        await goesOn(p.id, 'd');
    });

    it('exec: what is refused because too many wait is not run', async () => {
        const sb = await sandbox();
        const p = await d.spawn({ command: 'sleep', args: ['1000'] });
        const waiting = await Promise.all(Array.from({ length: 1024 }, () => RawConn.connect(d)));
        for (const c of waiting) c.send(requestBytes(d, `POST /dialects/hyperbrowser/sandbox/processes/${p.id}/wait`, { body: '{}' }));
        await waitUntil(async () => (await d.request('POST', `/dialects/hyperbrowser/sandbox/processes/${p.id}/wait`, { json: { timeoutMs: 1 } })).status === 429, 'no room');
        await refused(sb.exec('sleep 1000'), 429, { code: 'too_many_waits', retryable: true });
        assert.deepEqual((await d.list('?status=running')).map((q) => q.id), [p.id]);
        for (const c of waiting) c.reset();
        await d.remove(p.id);
    });

    it('writes at once are taken one after the other, and the end comes behind all', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x >&2; ${until('cat-it')}; cat`);
        const writes = [p.writeStdin(`up\n${'a'.repeat(300000)}`)];
        await d.outputHas(p.id, 'up');
        for (const next of [{ data: 'b'.repeat(1000) }, { data: '', eof: true }]) {
            writes.push(p.writeStdin(next));
            await settle(d);
        }
        allow('cat-it');
        await Promise.all(writes);
        const { stdout } = await p.wait();
        assert.ok(stdout === 'a'.repeat(300000) + 'b'.repeat(1000), `${stdout.length} bytes, in ${stdout.match(/a+|b+/g).length} pieces`);
    });
});
