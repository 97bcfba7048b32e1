// SPDX-License-Identifier: Apache-2.0
// Gitpod's TerminalService with clients that may not, vanish or do not read; and a worker that dies.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { Frames, TYPE, block, frame, h2connect, h2open } from '../../lib/http2.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil, within } from '../../lib/wait.mjs';
import { OPTIONS, clientsOf, portOf } from './client.mjs';

withDaemon('gitpod: faults', OPTIONS, (d) => {
    const client = clientsOf(d);

    it('no token, a wrong one, too small a role', async () => {
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            const c = client({ role });
            await assert.rejects(c.list(), (e) => e.code === 16);
            await assert.rejects(c.open(), (e) => e.code === 16);
            assert.equal((await c.listen('none').end).code, 16);
        }
        assert.deepEqual(await client({ header: 'x-gitpod-owner-token' }).list(), []);
        const t = await client().open();
        const watch = client({ role: 'watch' });
        const l = watch.listen(t.alias);
        await l.titled('bash');
        await assert.rejects(watch.write(t.alias, 'x'), (e) => e.code === 7);
        await assert.rejects(watch.open(), (e) => e.code === 7);
        await assert.rejects(client({ role: 'type' }).shutdown(t.alias), (e) => e.code === 7);
        assert.equal(await client({ role: 'type' }).write(t.alias, 'true\n'), 5);
        await client().shutdown(t.alias);
    });

    it('the native API sees a terminal, types into it and ends it', async () => {
        const c = client();
        const t = await c.open({ annotations: { who: 'ide' } });
        const l = c.listen(t.alias);
        const p = await d.get(t.alias);
        assert.equal(p.pty, true);
        assert.deepEqual(p.metadata.gitpod.annotations, { who: 'ide' });
        await d.api('POST', `/v1/processes/${t.alias}/input`, { json: { data: 'echo nat"ive"\r' } });
        await l.sees('\rnative\r\n');
        const made = await d.spawn({ command: 'cat', pty: true });
        assert.ok((await c.list()).some((x) => x.alias === made.id));
        await c.write(made.id, 'from gitpod\n');
        await d.outputHas(made.id, 'from gitpod');
        await d.remove(made.id);
        await d.remove(t.alias);
        assert.equal((await l.end).code, 0);
        assert.ok(l.items.at(-1).exit >= 128);
        await assert.rejects(c.get(t.alias), (e) => e.code === 5);
    });

    it('clients that vanish leave the terminal and nothing else', async () => {
        const c = client();
        const t = await c.open();
        await inParallel(20, 5, async () => {
            const s = await h2connect({ port: portOf(d) });
            const call = h2open(s, d, 'POST', '/supervisor.TerminalService/Listen', {
                endStream: false,
                headers: { 'content-type': 'application/grpc', te: 'trailers' },
            });
            call.on('error', () => {});
            const alias = Buffer.from(t.alias);
            call.end(Buffer.concat([Buffer.from([0, 0, 0, 0, alias.length + 2, 0x0a, alias.length]), alias]));
            await within(new Promise((ok) => call.once('data', ok)), 10000);
            s.destroy();
        });
        await waitUntil(async () => (await d.get(t.alias)).viewers === 0, 'the viewers to be gone');
        assert.ok((await c.get(t.alias)).pid > 0);
        await c.shutdown(t.alias);
    });

    it('a worker that dies: the stream breaks, the next listen has all of it, title and token hold', async () => {
        const c = client();
        const t = await c.open({ env: { PS1: '$ ' }, annotations: { k: 'v' } });
        const l = c.listen(t.alias);
        await c.setTitle(t.alias, 'mine');
        await l.titled('mine', 1);
        await c.write(t.alias, 'echo before-$((1 + 1))\n');
        await l.sees('before-2\r\n');
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        assert.notEqual((await within(l.end, 20000)).code, 0);
        await d.nextWorker(worker);
        const again = client();
        const next = await waitUntil(async () => {
            const one = again.listen(t.alias);
            await Promise.race([one.sees('before-2\r\n'), one.end]);
            return one.ended ? null : one;
        }, 'a listener of the new worker');
        await next.titled('mine', 1);
        assert.deepEqual((await again.get(t.alias)).annotations, { k: 'v' });
        await again.setSize(t.alias, [50, 120], { token: t.token });
        await again.write(t.alias, 'stty size; echo after-$((1 + 2))\n');
        await next.sees('50 120\r\nafter-3\r\n');
        await again.shutdown(t.alias);
    });

    it('a worker that is replaced tells its listeners to come again', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias);
        await l.titled('bash');
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        assert.equal((await within(l.end, 20000)).code, 14);
        await d.nextWorker(old);
        const again = client();
        await waitUntil(async () => (await again.get(t.alias)).pid === t.pid, 'the next worker');
        await again.shutdown(t.alias);
    });

    it('broken gRPC frames are refused, and the connection goes on', async () => {
        const f = await Frames.connect({ port: portOf(d) });
        const fields = (method) => [
            [':method', 'POST'],
            [':scheme', 'http'],
            [':path', `/supervisor.TerminalService/${method}`],
            [':authority', `127.0.0.1:${portOf(d)}`],
            ['content-type', 'application/grpc'],
            ['te', 'trailers'],
            ['authorization', `Bearer ${d.token}`],
        ];
        const bodies = [
            Buffer.alloc(0),
            Buffer.from([0, 0, 0]),
            Buffer.from([1, 0, 0, 0, 0]),
            Buffer.from([0, 0, 0, 0, 9, 1]),
            Buffer.from([0, 0, 0, 0, 0, 1]),
        ];
        let id = 1;
        for (const body of bodies) {
            f.send(frame(TYPE.HEADERS, 4, id, block(fields('List'))), frame(TYPE.DATA, 1, id, body));
            const head = await f.until(TYPE.HEADERS, id);
            assert.equal(head.flags & 1, 1, 'the head is all of the answer');
            id += 2;
        }
        f.send(frame(TYPE.HEADERS, 4, id, block(fields('List'))), frame(TYPE.DATA, 1, id, Buffer.alloc(5)));
        await f.until(TYPE.HEADERS, id);
        const data = await f.until(TYPE.DATA, id);
        assert.deepEqual([...data.payload], [0, 0, 0, 0, 0]);
        const trailers = await f.until(TYPE.HEADERS, id);
        assert.equal(trailers.flags & 1, 1);
        f.destroy();
    });
});
