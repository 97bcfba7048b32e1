// SPDX-License-Identifier: Apache-2.0
// Streams of E2B over time: keep-alives, deadlines, slow readers, cuts. What users of the original
// complain about must not happen here.

import assert from 'node:assert/strict';
import { NotFoundError } from 'e2b';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenStream, create, direct, stream, throwsA } from '../../lib/e2b.mjs';
import * as proc from '../../lib/proc.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil } from '../../lib/wait.mjs';

const sh = (line, more = {}) => ({ process: { cmd: '/bin/sh', args: ['-c', line] }, ...more });

withDaemon('e2b: streams', {}, (d) => {
    let made;
    const sandbox = () => (made ??= create(d));
    const start = (line, headers = {}, more = {}) => OpenStream.open(d, 'Start', sh(line, more), { headers });

    it('start comes first, the end once, then the last envelope', async () => {
        const { events, end } = await stream(d, 'Start', sh('printf a; printf b >&2; exit 1'));
        assert.ok(events[0].start.pid > 1);
        assert.deepEqual(events.at(-1), { end: { exitCode: 1, exited: true, status: 'exit status 1', error: 'exit status 1' } });
        assert.equal(events.slice(1, -1).every((e) => e.data), true);
        assert.deepEqual(end, {});
    });

    // Some clients take an absent exit code for an unknown one.
    it('an exit code of 0 is written down', async () => {
        const { events } = await stream(d, 'Start', sh('true'));
        assert.deepEqual(events.at(-1).end, { exitCode: 0, exited: true, status: 'exit status 0' });
    });

    // A client cuts a body that is silent for five minutes.
    it('a silent stream has keep-alives, at the pace that was asked for', async () => {
        const s = await start('read x', { 'Keepalive-Ping-Interval': '1' });
        await waitUntil(() => s.events.filter((e) => e.keepalive).length >= 2, 'two keep-alives');
        assert.ok(s.events[0].start);
        s.close();
        for (const odd of ['0', '-5', 'x', '99999999999']) {
            const o = await stream(d, 'Start', sh('true'), { headers: { 'Keepalive-Ping-Interval': odd } }).catch((e) => e);
            assert.equal(o.events?.at(-1).end.exitCode, 0, `interval ${odd}`);
        }
    });

    // The SDK asks for one every 50 s. At full scale the silence is longer than its patience.
    it('a silent command of the SDK returns', async () => {
        const s = await sandbox();
        const r = await s.commands.run(`sleep ${scaled(400, 2)}; echo done`, { timeoutMs: 0 });
        assert.deepEqual([r.exitCode, r.stdout], [0, 'done\n']);
    });

    it('a deadline ends the process and says so; others are told why it ended', async () => {
        const s = await start('sleep 100 & echo $!; sleep 100', { 'Connect-Timeout-Ms': '600' });
        await waitUntil(() => s.text, 'its child');
        const other = await OpenStream.open(d, 'Connect', { process: { pid: s.events[0].start.pid } });
        await Promise.all([s.ended, other.ended]);
        assert.deepEqual(s.end, { error: { code: 'deadline_exceeded', message: 'context deadline exceeded' } });
        const { end } = other.events.at(-1);
        assert.equal(end.exitCode, -1);
        assert.match(end.error, /^signal: (killed|terminated) \(deadline exceeded\)$/);
        await waitUntil(() => !proc.isAlive(Number(s.text)), 'the child to be gone');
    });

    it('the deadline of Connect, or of a Start that asks for it, ends the stream only', async () => {
        const s = await start('echo up; read x; echo $x', { 'Connect-Timeout-Ms': '400', 'Holdfast-Deadline': 'stream' }, { stdin: true });
        const { pid } = (await waitUntil(() => s.events[0], 'the start')).start;
        const c = await OpenStream.open(d, 'Connect', { process: { pid } }, { headers: { 'Connect-Timeout-Ms': '300' } });
        await Promise.all([s.ended, c.ended]);
        assert.equal(s.end.error.code, 'deadline_exceeded');
        assert.equal(c.end.error.code, 'deadline_exceeded');
        const h = await direct(d).commands.connect(pid);
        await h.sendStdin('still here\n');
        assert.equal((await h.wait()).stdout, 'still here\n');
    });

    it('headers that make no sense are refused', async () => {
        for (const headers of [{ 'Connect-Timeout-Ms': '12345678901' }, { 'Connect-Timeout-Ms': 'x' }, { 'Connect-Timeout-Ms': '-1' }, { 'Holdfast-Deadline': 'x' }]) {
            const { end, events } = await stream(d, 'Start', sh('true'), { headers });
            assert.equal(end.error.code, 'invalid_argument', JSON.stringify(headers));
            assert.equal(events.length, 0);
        }
        assert.equal((await stream(d, 'Start', sh('true'), { headers: { 'Connect-Timeout-Ms': '0' } })).end.error.code, 'deadline_exceeded');
        assert.equal((await stream(d, 'Start', sh('true'), { headers: { 'Connect-Content-Encoding': 'gzip' } })).end.error.code, 'unimplemented');
    });

    it('Connect replays nothing, unless it is asked to', async () => {
        const s = await start('echo one; read x; echo two');
        await waitUntil(() => s.text === 'one\n', 'the first line');
        const { pid } = s.events[0].start;
        const [now, all, part] = await Promise.all([
            OpenStream.open(d, 'Connect', { process: { pid } }),
            OpenStream.open(d, 'Connect', { process: { pid } }, { headers: { 'Holdfast-Since': '0' } }),
            OpenStream.open(d, 'Connect', { process: { pid } }, { headers: { 'Holdfast-Since': '2' } }),
        ]);
        await waitUntil(() => now.events.length && all.events.length && part.events.length, 'three starts');
        await direct(d).commands.sendStdin(pid, '\n');
        await Promise.all([now.ended, all.ended, part.ended]);
        assert.deepEqual([now.text, all.text, part.text], ['two\n', 'one\ntwo\n', 'e\ntwo\n']);
        const after = await stream(d, 'Connect', { process: { pid } }, { headers: { 'Holdfast-Since': '0' } });
        assert.equal(Buffer.from(after.events[1].data.stdout, 'base64').toString(), 'one\ntwo\n');
        assert.equal((await stream(d, 'Connect', { process: { pid } }, { headers: { 'Holdfast-Since': '99999' } })).end.error.code, 'invalid_argument');
        assert.equal((await stream(d, 'Connect', { process: { pid } }, { headers: { 'Holdfast-Since': 'x' } })).end.error.code, 'invalid_argument');
    });

    // The original sends events to all readers in step: one that is stuck stalls them all.
    it('a reader that takes nothing delays nobody, and is told what it missed', async () => {
        const s = await sandbox();
        const c = await s.commands.run('read x; head -c 16000000 /dev/zero; echo; echo end', { background: true, stdin: true, timeoutMs: 0 });
        const stuck = await OpenStream.open(d, 'Connect', { process: { pid: c.pid } });
        await waitUntil(() => stuck.events.length, 'its start');
        stuck.res.pause();
        await c.sendStdin('\n');
        assert.equal((await c.wait()).stdout.length, 16000005);
        stuck.res.resume();
        await stuck.ended;
        assert.equal(stuck.end.error?.code, 'data_loss', JSON.stringify(stuck.end));
        assert.match(stuck.end.error.message, /Holdfast-Since: \d+/);
    });

    it('100 MB arrive to the byte', async () => {
        const s = await sandbox();
        let bytes = 0;
        const c = await s.commands.run('head -c 100000000 /dev/zero | tr "\\0" x', { timeoutMs: 0, background: true, onStdout: (t) => (bytes += t.length) });
        await c.wait();
        assert.equal(bytes, 100000000);
    });

    it('fifty at once', async () => {
        const s = await sandbox();
        await inParallel(50, 50, async (i) => {
            const r = await s.commands.run(`echo ${i}; head -c ${i * 1000} /dev/zero | tr '\\0' y >&2`);
            assert.equal(r.stdout, `${i}\n`);
            assert.equal(r.stderr.length, i * 1000);
        });
    });

    it('a client that vanishes leaves its process running', async () => {
        const s = await start('echo up; read x; echo $x', {}, { stdin: true });
        await waitUntil(() => s.text === 'up\n', 'its output');
        const { pid } = s.events[0].start;
        s.close();
        const h = await direct(d).commands.connect(pid);
        await h.sendStdin('on\n');
        assert.equal((await h.wait()).stdout, 'on\n');
    });

    // The worker is what faces the network; processes are not its own.
    it('a killed worker costs a reconnect, not a byte', async () => {
        const s = await sandbox();
        const c = await s.commands.run('echo before; read x; echo "after $x"; exit 9', { background: true, stdin: true, timeoutMs: 0 });
        await waitUntil(() => c.stdout === 'before\n', 'its output');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await assert.rejects(c.wait());
        await d.nextWorker(old);
        const again = await waitUntil(() => OpenStream.open(d, 'Connect', { process: { pid: c.pid } }, { headers: { 'Holdfast-Since': '0' } }), 'the next worker');
        await waitUntil(() => again.text === 'before\n', 'what was said before');
        await direct(d).commands.sendStdin(c.pid, 'it\n');
        await again.ended;
        assert.equal(again.text, 'before\nafter it\n');
        assert.equal(again.events.at(-1).end.exitCode, 9);
        await throwsA(direct(d).commands.sendStdin(c.pid, 'x'), NotFoundError);
    });
});
