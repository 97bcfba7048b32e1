// SPDX-License-Identifier: Apache-2.0
// The published sandbox-agent client, unchanged, against the real binary: the
// "works when" list of its process API.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { SandboxAgent } from 'sandbox-agent';
import { local } from 'sandbox-agent/local';
import { binary, withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, clientOf, exited, killAndDelete, refused, sh, text } from './client.mjs';

withDaemon('sandbox-agent: processes', {}, (d) => {
    const baseUrl = () => d.url + BASE;
    const client = clientOf(d);

    it('connects and lists; a wrong token is told as such', async () => {
        const c = await client();
        assert.ok(Array.isArray((await c.listProcesses()).processes));
        const wrong = await SandboxAgent.connect({
            baseUrl: baseUrl(),
            token: 'wrong-wrong-wrong-wrong',
            waitForHealth: { timeoutMs: 1500 },
        });
        await assert.rejects(wrong.listProcesses(), /Token Invalid/);
    });

    it('run: exit code, both streams, truncation, signals', async () => {
        const c = await client();
        const a = await c.runProcess(sh('echo o; echo e >&2; exit 3'));
        assert.equal(a.exitCode, 3);
        assert.equal(a.stdout, 'o\n');
        assert.equal(a.stderr, 'e\n');
        assert.equal(a.timedOut, false);
        const cut = await c.runProcess({ ...sh('printf 1234567890'), maxOutputBytes: 5 });
        assert.equal(cut.stdout, '12345');
        assert.equal(cut.stdoutTruncated, true);
        assert.equal(cut.stderrTruncated, false);
        assert.equal((await c.runProcess(sh('kill -9 $$'))).exitCode, null);
    });

    /* The original ends the leader only and answers when its grandchildren have closed the pipe. */
    it('run: a time-out is answered within 300 ms, with grandchildren too, and leaves none', async () => {
        const c = await client();
        let best = Infinity; // what else the machine does may hold up one of them, not all
        for (let i = 0; i < 5 && best >= 600; i++) {
            const began = Date.now();
            const t = await c.runProcess({ ...sh('echo a; sleep 60 & echo $!; sleep 60'), timeoutMs: 300 });
            best = Math.min(best, Date.now() - began);
            assert.deepEqual([t.timedOut, t.exitCode], [true, null]);
            const [a, child] = t.stdout.split('\n');
            assert.equal(a, 'a');
            await waitUntil(() => !proc.isAlive(Number(child)), 'the grandchild to be gone');
        }
        assert.ok(best >= 300 && best < 600, `${best} ms`);
    });

    it('what cannot be started or asked is refused', async () => {
        const c = await client();
        await refused(c.runProcess({ command: '/no/such' }), 502, (p) => assert.match(p.type, /stream_error$/));
        await refused(c.createProcess({ command: '/no/such' }), 502);
        await refused(c.createProcess({ command: 'sh', cwd: '/no/such/dir' }), 502);
        await refused(c.runProcess({ command: '' }), 400, (p) => assert.match(p.detail, /must not be empty/));
        await refused(c.runProcess({}), 422);
        await refused(c.createProcess({ command: 'sh', args: 'x' }), 422);
        await refused(c.createProcess({ command: 'sh', env: { A: 1 } }), 422);
        await refused(c.getProcess('proc_nothing'), 404, (p) => assert.equal(p.details.resource, 'process'));
        const a = await d.request('GET', '/dialects/sandbox-agent/v1/nothing');
        assert.equal(a.status, 404);
        assert.match(a.json.type, /invalid_request$/);
        const bad = await d.request('POST', '/dialects/sandbox-agent/v1/processes', { body: '{', headers: { 'Content-Type': 'application/json' } });
        assert.equal(bad.status, 400);
    });

    it('logs: numbered entries, streams, since and tail', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three'));
        assert.match(p.id, /^proc_/);
        assert.deepEqual([p.tty, p.interactive, p.owner, p.status], [false, false, 'user', 'running']);
        assert.ok(proc.cmdline(p.pid).length > 0, 'its pid is one');
        const end = await exited(c, p.id);
        assert.deepEqual([end.exitCode, 'pid' in end], [0, false]);
        assert.ok(end.exitedAtMs >= end.createdAtMs);
        const all = await c.getProcessLogs(p.id);
        assert.equal(all.processId, p.id);
        assert.equal(all.stream, 'combined');
        assert.deepEqual(all.entries.map((e) => e.sequence), [1, 2, 3]);
        assert.deepEqual(all.entries.map((e) => e.stream), ['stdout', 'stderr', 'stdout']);
        assert.deepEqual(all.entries.map(text), ['one\n', 'two\n', 'three\n']);
        const only = async (query) => (await c.getProcessLogs(p.id, query)).entries.map(text);
        assert.deepEqual(await only({ stream: 'stderr' }), ['two\n']);
        assert.deepEqual(await only({ since: 1 }), ['two\n', 'three\n']);
        assert.deepEqual(await only({ tail: 1 }), ['three\n']);
        assert.deepEqual(await only({ tail: 0 }), []);
        assert.deepEqual(await only({ stream: 'stdout', tail: 2 }), ['one\n', 'three\n']);
        assert.deepEqual(await only({ stream: 'pty' }), []);
        await refused(c.getProcessLogs(p.id, { stream: 'other' }), 400);
        await c.deleteProcess(p.id);
    });

    it('an entry that was given never grows', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo one; read x; echo two; read y; echo three'));
        const count = async (n) => waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === n, `${n}`);
        await count(1);
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await count(2);
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await count(3);
        assert.deepEqual((await c.getProcessLogs(p.id, { since: 2 })).entries.map(text), ['three\n']);
        await exited(c, p.id);
        await c.deleteProcess(p.id);
    });

    it('logs are no longer than maxLogBytesPerProcess; the oldest entries are left out', async () => {
        const c = await client();
        const config = await c.getProcessConfig();
        const p = await d.sh('yes 123456789 | head -c 14000000', { history_bytes: 32 << 20 });
        await d.exitOf(p.id);
        const { entries } = await c.getProcessLogs(p.id);
        const bytes = entries.reduce((n, e) => n + Buffer.from(e.data, 'base64').length, 0);
        assert.ok(bytes <= config.maxLogBytesPerProcess && bytes > config.maxLogBytesPerProcess / 2, `${bytes}`);
        assert.ok(entries[0].sequence > 1);
        entries.forEach((e, i) => assert.equal(e.sequence, entries[0].sequence + i));
        await c.deleteProcess(p.id);
    });

    it('input: base64 by default, text on request, bounded, refused after the exit', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat' });
        const b64 = Buffer.from('one\n').toString('base64');
        assert.deepEqual(await c.sendProcessInput(p.id, { data: b64 }), { bytesWritten: 4 });
        assert.deepEqual(await c.sendProcessInput(p.id, { data: 'two\n', encoding: 'utf8' }), { bytesWritten: 4 });
        await c.sendProcessInput(p.id, { data: 'three\n', encoding: 'text' });
        await waitUntil(
            async () => (await c.getProcessLogs(p.id)).entries.map(text).join('') === 'one\ntwo\nthree\n',
            'all three',
        );
        await refused(c.sendProcessInput(p.id, { data: 'x'.repeat(70000), encoding: 'text' }), 413);
        await refused(c.sendProcessInput(p.id, { data: '!', encoding: 'base64' }), 400);
        await refused(c.sendProcessInput(p.id, { data: 'x', encoding: 'rot13' }), 400);
        await c.killProcess(p.id);
        await refused(c.sendProcessInput(p.id, { data: b64 }), 409);
        await c.deleteProcess(p.id);
    });

    it('stop waits for 2 s and leaves what does not listen; kill takes the whole tree', async () => {
        const c = await client();
        const p = await c.createProcess(sh('trap "" TERM; sleep 100 & echo $!; while :; do sleep 0.1; done'));
        await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length > 0, 'its child');
        const child = Number(text((await c.getProcessLogs(p.id)).entries[0]));
        const began = Date.now();
        assert.equal((await c.stopProcess(p.id)).status, 'running');
        assert.ok(Date.now() - began >= 1990, 'it was waited for');
        assert.equal((await c.stopProcess(p.id, { waitMs: 1 })).status, 'running');
        const dead = await c.killProcess(p.id, { waitMs: 10000 });
        assert.equal(dead.status, 'exited');
        assert.ok(!('exitCode' in dead) && !('pid' in dead));
        await waitUntil(() => !proc.isAlive(child), 'the child to be gone too');
        assert.equal((await c.killProcess(p.id)).status, 'exited');
        assert.equal((await c.stopProcess(p.id)).status, 'exited');
        await c.deleteProcess(p.id);
    });

    it('delete takes exited ones only, and then there is none', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'sleep', args: ['100'] });
        await refused(c.deleteProcess(p.id), 409, (x) => assert.match(x.detail, /still running; stop or kill it before delete/));
        assert.equal((await c.stopProcess(p.id, { waitMs: 10000 })).status, 'exited');
        assert.equal(await c.deleteProcess(p.id), undefined);
        await refused(c.getProcess(p.id), 404, (x) => assert.deepEqual(x.details, { id: p.id, resource: 'process' }));
    });

    it('the config is kept and counts', async () => {
        const c = await client();
        const config = await c.getProcessConfig();
        assert.deepEqual(config, {
            maxConcurrentProcesses: 64,
            defaultRunTimeoutMs: 30000,
            maxRunTimeoutMs: 300000,
            maxOutputBytes: 1048576,
            maxLogBytesPerProcess: 10485760,
            maxInputBytesPerRequest: 65536,
        });
        await refused(c.setProcessConfig({ ...config, maxOutputBytes: 0 }), 400);
        await refused(c.setProcessConfig({ maxOutputBytes: 1 }), 422);
        await c.setProcessConfig({ ...config, maxConcurrentProcesses: 2 });
        const a = await c.createProcess({ command: 'sleep', args: ['100'] });
        const b = await c.createProcess({ command: 'sleep', args: ['100'] });
        await refused(c.createProcess({ command: 'sleep', args: ['100'] }), 409);
        assert.equal((await c.runProcess({ command: 'true' })).exitCode, 0);
        await c.killProcess(a.id);
        const again = await c.createProcess({ command: 'sleep', args: ['100'] });
        await killAndDelete(c, a, b, again);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.equal((await c.getProcessConfig()).maxConcurrentProcesses, 2, 'it outlives the worker');
        await c.setProcessConfig(config);
    });

    /* Only those that ran were counted, so all that were asked for at once found room. */
    it('the config counts for those that are asked for at once', async () => {
        const c = await client();
        const config = await c.getProcessConfig();
        await c.setProcessConfig({ ...config, maxConcurrentProcesses: 2 });
        const asked = await Promise.allSettled(Array.from({ length: 8 }, () => c.createProcess({ command: 'sleep', args: ['100'] })));
        const made = asked.filter((a) => a.status === 'fulfilled').map((a) => a.value);
        assert.equal(made.length, 2);
        for (const a of asked) if (a.status === 'rejected') await refused(Promise.reject(a.reason), 409);
        await killAndDelete(c, ...made);
        await c.setProcessConfig(config);
    });

    it('a process of the native API is seen here, and the other way round', async () => {
        const c = await client();
        const native = await d.spawn({ command: 'sleep', args: ['100'], tag: 'ours' });
        assert.ok((await c.listProcesses()).processes.some((p) => p.id === native.id));
        await c.killProcess(native.id);
        assert.equal((await d.get(native.id)).status, 'exited');
        await c.deleteProcess(native.id);
        const theirs = await c.createProcess({ command: 'sleep', args: ['100'] });
        assert.equal((await d.get(theirs.id)).status, 'running');
        await d.remove(theirs.id);
        await refused(c.getProcess(theirs.id), 404);
    });

    /* The original leaves all that it started running as orphans. */
    it('start({sandbox: local()}) runs our binary as its server; its end takes all along', async () => {
        const bin = path.join(d.dir, 'sandbox-agent');
        fs.copyFileSync(binary(), bin);
        fs.chmodSync(bin, 0o755);
        const s = await SandboxAgent.start({ sandbox: local({ binaryPath: bin, log: 'silent' }) });
        let began;
        const left = [];
        try {
            assert.equal((await s.runProcess(sh('echo here'))).stdout, 'here\n');
            assert.equal((await s.runProcess(sh('env'))).stdout.includes('HOLDFAST_TOKEN'), false);
            for (const tty of [false, true]) left.push((await s.createProcess({ ...sh('sleep 100 & wait'), tty })).pid);
            left.push(...left.flatMap((pid) => proc.childrenOf(pid).map((x) => x.pid)));
        } finally {
            began = Date.now();
            await s.destroySandbox();
        }
        assert.ok(Date.now() - began < 5000, 'the client would have killed it after 5 s');
        assert.deepEqual(proc.pids().filter((pid) => proc.exe(pid) === bin), [], 'no keeper, no worker');
        assert.ok(left.length >= 2);
        for (const pid of left) assert.equal(proc.isAlive(pid), false, `${pid}`);
    });
});
