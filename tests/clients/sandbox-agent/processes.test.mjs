// SPDX-License-Identifier: Apache-2.0
// The published sandbox-agent client, unchanged, against the real binary: the
// "works when" list of its process API.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { SandboxAgent, SandboxAgentError } from 'sandbox-agent';
import { local } from 'sandbox-agent/local';
import { binary, withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const text = (entry) => Buffer.from(entry.data, 'base64').toString();
const sh = (line) => ({ command: 'sh', args: ['-c', line] });

withDaemon('sandbox-agent: processes', {}, (d) => {
    const baseUrl = () => `${d.url}/dialects/sandbox-agent`;
    let connected;
    const client = () => (connected ??= SandboxAgent.connect({ baseUrl: baseUrl(), token: d.token }));
    const refused = (promise, status, check = () => {}) =>
        assert.rejects(promise, (err) => {
            assert.ok(err instanceof SandboxAgentError, String(err));
            assert.equal(err.status, status, JSON.stringify(err.problem));
            check(err.problem);
            return true;
        });
    const exited = async (c, id) => {
        await waitUntil(async () => (await c.getProcess(id)).status === 'exited', 'the exit');
        return c.getProcess(id);
    };

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

    it('run: exit code, both streams, time-out with grandchildren, truncation, signals', async () => {
        const c = await client();
        const a = await c.runProcess(sh('echo o; echo e >&2; exit 3'));
        assert.equal(a.exitCode, 3);
        assert.equal(a.stdout, 'o\n');
        assert.equal(a.stderr, 'e\n');
        assert.equal(a.timedOut, false);
        const t = await c.runProcess({ ...sh('echo a; sleep 60 & sleep 60'), timeoutMs: 300 });
        assert.equal(t.timedOut, true);
        assert.equal(t.exitCode, null);
        assert.equal(t.stdout, 'a\n');
        assert.ok(t.durationMs < 20000);
        const cut = await c.runProcess({ ...sh('printf 1234567890'), maxOutputBytes: 5 });
        assert.equal(cut.stdout, '12345');
        assert.equal(cut.stdoutTruncated, true);
        assert.equal(cut.stderrTruncated, false);
        assert.equal((await c.runProcess(sh('kill -9 $$'))).exitCode, null);
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
        const bad = await d.request('POST', '/dialects/sandbox-agent/v1/processes', { body: '{' });
        assert.equal(bad.status, 400);
    });

    it('logs: numbered entries, streams, since and tail', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three'));
        assert.match(p.id, /^proc_/);
        assert.equal(p.tty, false);
        assert.equal(p.owner, 'user');
        await exited(c, p.id);
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

    it('delete takes exited ones only; stop and kill take the whole tree and wait', async () => {
        const c = await client();
        const p = await c.createProcess(sh('trap "" TERM; sleep 100 & echo $!; while :; do sleep 0.1; done'));
        await refused(c.deleteProcess(p.id), 409);
        await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length > 0, 'its child');
        const child = Number(text((await c.getProcessLogs(p.id)).entries[0]));
        assert.equal((await c.stopProcess(p.id, { waitMs: 200 })).status, 'running');
        const dead = await c.killProcess(p.id, { waitMs: 10000 });
        assert.equal(dead.status, 'exited');
        assert.ok(!('exitCode' in dead) && !('pid' in dead));
        await waitUntil(() => !proc.isAlive(child), 'the child to be gone too');
        assert.equal((await c.killProcess(p.id)).status, 'exited');
        assert.equal(await c.deleteProcess(p.id), undefined);
        await refused(c.getProcess(p.id), 404);
        const q = await c.createProcess({ command: 'sleep', args: ['100'] });
        assert.equal((await c.stopProcess(q.id)).status, 'exited');
        await c.deleteProcess(q.id);
    });

    it('follow: the backlog, then live, in order, and it ends with the process', async () => {
        const c = await client();
        const p = await c.createProcess(sh('echo a; read x; for i in 1 2 3 4 5; do echo $i; sleep 0.02; done'));
        await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === 1, 'the first');
        const seen = [];
        const sub = await c.followProcessLogs(p.id, (entry) => seen.push(entry));
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await sub.closed;
        assert.equal(seen.map(text).join(''), 'a\n1\n2\n3\n4\n5\n');
        seen.forEach((e, i) => assert.equal(e.sequence, i + 1));
        await c.deleteProcess(p.id);
    });

    it('follow: a large output arrives whole', async () => {
        const c = await client();
        const p = await c.createProcess(sh('read x; head -c 3000000 /dev/zero'));
        let bytes = 0;
        const sub = await c.followProcessLogs(p.id, (e) => (bytes += Buffer.from(e.data, 'base64').length));
        await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
        await sub.closed;
        assert.equal(bytes, 3000000);
        await c.deleteProcess(p.id);
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
        for (const p of [b, again]) await c.killProcess(p.id);
        for (const p of [a, b, again]) await c.deleteProcess(p.id);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.equal((await c.getProcessConfig()).maxConcurrentProcesses, 2, 'it outlives the worker');
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

    it('start({sandbox: local()}) runs our binary as its server', async () => {
        const bin = path.join(d.dir, 'sandbox-agent');
        fs.copyFileSync(binary(), bin);
        fs.chmodSync(bin, 0o755);
        const s = await SandboxAgent.start({ sandbox: local({ binaryPath: bin, log: 'silent' }) });
        try {
            assert.equal((await s.runProcess(sh('echo here'))).stdout, 'here\n');
            assert.equal((await s.runProcess(sh('env'))).stdout.includes('HOLDFAST_TOKEN'), false);
        } finally {
            await s.destroySandbox();
        }
    });
});
