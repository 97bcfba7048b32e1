// SPDX-License-Identifier: Apache-2.0
// One session, several clients: holders, takeovers, viewers, clients that stall, and processes of others.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { call, newPty, Pty, ptyStatus, refusedPty } from '../../lib/opensandbox.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('opensandbox: sharing', {}, (d) => {
    const remove = async (id) => assert.equal((await call(d, 'DELETE', `/pty/${id}`)).status, 200);

    it('a second client is refused, unless it takes the session over', async () => {
        const id = await newPty(d);
        const a = await Pty.attach(d, id);
        const second = await refusedPty(d, id);
        assert.equal(second.status, 409);
        assert.equal(second.json.code, 'ALREADY_CONNECTED');
        a.type('export WHO=same\n');
        const plain = await call(d, 'GET', `/pty/${id}/ws?takeover=1`);
        assert.equal(plain.status, 409);
        a.type('echo still$((1+1))\n');
        await a.says('still2');
        const b = await Pty.attach(d, id, { takeover: 1, since: a.at });
        assert.deepEqual(await a.end(), { code: 4001, reason: 'TAKEN_OVER' });
        b.type('echo "<$WHO>"\n');
        await b.says('<same>');
        await b.leave();
        const c = await Pty.attach(d, id, { takeover: 1 });
        await c.leave();
        await remove(id);
    });

    it('many takeovers at once leave exactly one holder', async () => {
        const id = await newPty(d);
        const first = await Pty.attach(d, id);
        const all = [first, ...Array.from({ length: 8 }, () => Pty.at(d, id, { takeover: 1 }))];
        await Promise.all(all.map((p) => p.opened));
        await waitUntil(() => all.filter((p) => p.close).length === 8, 'all but one to go');
        const left = all.filter((p) => !p.close);
        assert.ok(all.every((p) => !p.close || p.close.code === 4001));
        left[0].type('echo only$((1+1))\n');
        await left[0].says('only2');
        await remove(id);
        await left[0].end();
    });

    it('two first attaches at once start one shell', async () => {
        const id = await newPty(d);
        const both = [Pty.at(d, id), Pty.at(d, id)];
        const results = await Promise.allSettled(both.map((p) => p.opened));
        assert.deepEqual(results.map((r) => r.status).sort(), ['fulfilled', 'rejected']);
        assert.equal(results.find((r) => r.status === 'rejected').reason.status, 409);
        const running = (await d.api('GET', `/v1/processes?status=running&tag=${id}`)).json.processes;
        assert.equal(running.length, 1);
        await remove(id);
        await Promise.all(both.filter((p, i) => results[i].status === 'fulfilled').map((p) => p.end()));
    });

    it('viewers see all with its offsets, may not type, and survive a takeover', async () => {
        const id = await newPty(d);
        const early = await refusedPty(d, id, { mode: 'viewer' });
        assert.equal(early.status, 409);
        assert.equal(early.json.code, 'VIEWER_REQUIRES_RUNNING_SESSION');
        const a = await Pty.attach(d, id);
        a.type('echo first$((1+1))\n');
        await a.says('first2');
        const v = await Pty.attach(d, id, { mode: 'viewer' });
        assert.equal(v.messages[0].role, 'viewer');
        const w = await Pty.attach(d, id, { mode: 'viewer', since: 3 }, { token: d.tokens.watch });
        const b = await Pty.attach(d, id, { takeover: 1, since: a.at });
        await a.end();
        b.type('echo second$((1+1))\n');
        await Promise.all([v.says('first2'), v.says('second2'), w.says('second2'), b.says('second2')]);
        assert.ok(v.frames.every((f) => f.op === 3));
        assert.equal(v.gaps, undefined);
        assert.equal(w.from, 3);
        v.type('echo never\n');
        assert.equal((await v.message('error')).code, 'READ_ONLY');
        v.send({ type: 'ping' });
        await v.message('pong');
        for (const m of [{ type: 'stdin', data: 'x' }, { type: 'resize', cols: 9, rows: 9 }, { type: 'signal', signal: 'SIGKILL' }, { type: 'stdin', data: 'x' }]) v.send(m);
        assert.equal((await v.end()).code, 1008);
        assert.equal(v.messages.filter((m) => m.code === 'READ_ONLY').length, 5);
        b.type('exit 6\n');
        await Promise.all([b.end(), w.end()]);
        assert.equal(w.exit.exit_code, 6);
        assert.deepEqual(w.close, { code: 1000, reason: 'process exited' });
        assert.ok(!b.text.includes('never'));
        assert.deepEqual(w.output.toString(), Buffer.concat([a.output.subarray(0, b.start), b.output]).subarray(3).toString());
        await remove(id);
    });

    /* A holder that stops reading froze the original's process for 60 s, and nobody could attach. */
    it('a holder that stops reading blocks neither a takeover nor, for long, the process', async () => {
        const done = path.join(d.dir, 'flood-done');
        const id = await newPty(d, { command: `head -c 20000000 /dev/zero | tr "\\0" q; touch ${done}; read x` });
        const a = Pty.at(d, id);
        await a.opened;
        a.ws._socket.pause();
        const viewer = await waitUntil(() => Pty.attach(d, id, { mode: 'viewer' }), 'a viewer');
        await waitUntil(() => fs.existsSync(done), 'the process to go on', 20000, 20);
        await viewer.until(() => viewer.at >= 20000000, 'what there is');
        assert.equal(viewer.gaps, undefined, 'who reads misses nothing');
        const b = await Pty.attach(d, id, { takeover: 1, since: 19999990 });
        assert.equal(b.from, 19999990);
        a.ws._socket.resume();
        assert.equal((await a.end()).code, 4001);
        b.type('\n');
        await b.end();
        await viewer.end();
        await remove(id);
    });

    it('processes of others are attached to by id, tag and pid, and never started again', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'echo native; read x; echo "got $x"; exit 9'], pty: true, tag: 'theirs' });
        const v = await Pty.attach(d, 'theirs', { mode: 'viewer' });
        const h = await Pty.attach(d, String(p.pid));
        assert.equal((await refusedPty(d, p.id)).status, 409);
        assert.equal((await ptyStatus(d, p.id)).running, true);
        h.send({ type: 'resize', cols: 77, rows: 22 });
        await waitUntil(async () => (await d.get(p.id)).cols === 77, 'the size');
        h.type('it\n');
        await Promise.all([h.end(), v.end()]);
        assert.equal(h.exit.exit_code, 9);
        assert.match(v.text, /native[^]*got it/);
        const late = Pty.at(d, p.id, { since: 3 });
        await late.end();
        assert.equal(late.exit.exit_code, 9);
        assert.deepEqual(late.output, v.output.subarray(3));
        assert.equal((await ptyStatus(d, p.id)).exit_code, 9);
        await remove(p.id);
    });

    it('a session outlives the worker: its plan, its output, its offsets', async () => {
        const planned = await newPty(d, { command: 'echo planned', cwd: d.dir });
        const id = await newPty(d);
        const a = await Pty.attach(d, id);
        a.type('echo before$((1+1))\n');
        await a.says('before2');
        process.kill(d.workerPid(), 'SIGKILL');
        await a.end();
        const b = await waitUntil(() => Pty.attach(d, id, { since: a.at }), 'the new worker');
        b.type('echo after$((1+1)); exit 2\n');
        await b.end();
        assert.ok(b.text.includes('after2'));
        const c = Pty.at(d, id, { since: 0 });
        await c.message('connected');
        assert.deepEqual(c.output.subarray(0, b.at).toString(), Buffer.concat([a.output, b.output]).toString());
        await c.leave();
        const p = Pty.at(d, planned);
        await p.end();
        assert.equal(p.text, 'planned\r\n');
        await remove(planned);
        await remove(id);
    });
});
