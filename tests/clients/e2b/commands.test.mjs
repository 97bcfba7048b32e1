// SPDX-License-Identifier: Apache-2.0
// The published E2B SDK, unchanged, against the real binary: commands, as its "works when" list
// has them.

import assert from 'node:assert/strict';
import { AuthenticationError, CommandExitError, InvalidArgumentError, NotFoundError, Sandbox, SandboxError, TimeoutError } from 'e2b';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { base, create, direct, options, throwsA } from '../../lib/e2b.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('e2b: commands', { args: ['--dialect', 'e2b=127.0.0.1:0'] }, (d) => {
    let made;
    const sandbox = () => (made ??= create(d));
    const pids = async (s) => (await s.commands.list()).map((p) => p.pid);

    it('create, connect and a sandbox made by hand give a usable object; a wrong token does not', async () => {
        const s = await sandbox();
        assert.equal(await s.isRunning(), true);
        const again = await Sandbox.connect(s.sandboxId, options(d));
        assert.equal((await again.commands.run('echo $E2B_SANDBOX_ID')).stdout, `${s.sandboxId}\n`);
        assert.equal((await direct(d).commands.run('echo direct')).stdout, 'direct\n');
        await throwsA(direct(d, 'wrong-wrong-wrong-wrong').commands.list(), AuthenticationError);
        await throwsA(direct(d, 'wrong-wrong-wrong-wrong').commands.run('true'), AuthenticationError);
        await throwsA(Sandbox.create(options(d, { apiKey: 'wrong-wrong-wrong-wrong' })), AuthenticationError);
    });

    it('a listener of its own serves it at the root', async () => {
        const u = await waitUntil(() => /e2b listening on (\S+)/.exec(d.stdout)?.[1], 'its address');
        const s = await Sandbox.create({ apiUrl: u, sandboxUrl: u, apiKey: d.token });
        assert.equal((await s.commands.run('echo root')).stdout, 'root\n');
    });

    it('run: both streams, exit codes, programs that are not there', async () => {
        const s = await sandbox();
        const r = await s.commands.run('echo hi; echo er >&2');
        assert.equal(r.exitCode, 0);
        assert.equal(r.stdout, 'hi\n');
        assert.equal(r.stderr, 'er\n');
        assert.equal(r.error, undefined);
        await assert.rejects(s.commands.run('echo out; exit 3'), (err) => {
            assert.ok(err instanceof CommandExitError);
            assert.equal(err.exitCode, 3);
            assert.equal(err.error, 'exit status 3');
            assert.equal(err.stdout, 'out\n');
            return true;
        });
        await assert.rejects(s.commands.run('no-such-program-here'), (err) => err.exitCode === 127);
    });

    it('a time-out is one, and the process is gone with all its children', async () => {
        const s = await sandbox();
        let seen = '';
        await throwsA(
            s.commands.run('sleep 100 & echo $!; exec sleep 100', { timeoutMs: 700, onStdout: (t) => (seen += t) }),
            TimeoutError,
        );
        await waitUntil(async () => (await pids(s)).length === 0, 'an empty list');
        await waitUntil(() => !proc.isAlive(Number(seen)), 'the child to be gone');
    });

    it('users, directories and variables', async () => {
        const s = await sandbox();
        assert.equal((await s.commands.run('id -un', { user: 'nobody' })).stdout, 'nobody\n');
        await throwsA(s.commands.run('id', { user: 'no-such-user' }), AuthenticationError, /invalid username: 'no-such-user'/);
        await throwsA(s.commands.run('pwd', { cwd: '/no/such/dir' }), InvalidArgumentError, /cwd '\/no\/such\/dir' does not exist/);
        assert.equal((await s.commands.run('pwd', { cwd: '~' })).stdout, `${d.dir}\n`);
        assert.equal((await s.commands.run('pwd')).stdout, `${d.dir}\n`);
        assert.equal((await s.commands.run('pwd', { cwd: '/usr' })).stdout, '/usr\n');
        assert.equal((await s.commands.run('echo $A-$B', { envs: { A: 'a b', B: 'ü' } })).stdout, 'a b-ü\n');
        assert.equal((await s.commands.run('echo $HOME $USER', { user: 'root' })).stdout, '/root root\n');
    });

    it('stdin: text and any bytes come back, its end is an end; without it there is none', async () => {
        const s = await sandbox();
        const bytes = new Uint8Array([0, 255, 10, 128, 0]);
        const c = await s.commands.run("od -An -tx1 -v | tr -d ' \\n'", { background: true, stdin: true });
        await s.commands.sendStdin(c.pid, 'häh\n');
        await c.sendStdin(bytes);
        await c.closeStdin();
        assert.equal((await c.wait()).stdout, Buffer.concat([Buffer.from('häh\n'), bytes]).toString('hex'));
        assert.equal((await s.commands.run('cat')).exitCode, 0);
        const none = await s.commands.run('sleep 100', { background: true });
        await throwsA(none.sendStdin('x'), SandboxError, /stdin not enabled or closed; start with stdin: true/);
        await none.closeStdin();
        await none.kill();
    });

    it('list shows command, arguments, variables and directory, of commands and terminals alike', async () => {
        const s = await sandbox();
        const c = await s.commands.run('sleep 100', { background: true, envs: { A: '1' }, cwd: '/usr' });
        const t = await s.pty.create({ cols: 80, rows: 24, onData: () => {} });
        const list = await s.commands.list();
        const { tag: _, ...one } = list.find((p) => p.pid === c.pid);
        assert.deepEqual(one, { pid: c.pid, cmd: '/bin/bash', args: ['-l', '-c', 'sleep 100'], envs: { A: '1' }, cwd: '/usr' });
        const term = list.find((p) => p.pid === t.pid);
        assert.deepEqual([term.cmd, term.args], ['/bin/bash', ['-i', '-l']]);
        assert.equal(term.envs.TERM, 'xterm-256color');
        await c.kill();
        await t.kill();
        assert.deepEqual(await s.commands.list(), []);
    });

    it('variables may be secrets: only those who could have set them see them', async () => {
        const s = await sandbox();
        const c = await s.commands.run('sleep 100', { background: true, envs: { KEY: 'secret-value' } });
        assert.deepEqual((await direct(d, d.tokens.watch).commands.list())[0].envs, {});
        assert.equal(JSON.stringify(await d.list()).includes('secret-value'), false);
        await c.kill();
    });

    it('all handles see the same output and the same end; one that leaves takes nobody along', async () => {
        const s = await sandbox();
        const c = await s.commands.run('while read x; do echo "got $x"; done; exit 4', { background: true, stdin: true });
        const [a, b] = await Promise.all([s.commands.connect(c.pid), s.commands.connect(c.pid)]);
        await c.sendStdin('one\n');
        for (const h of [a, b, c]) await waitUntil(() => h.stdout === 'got one\n', 'one');
        await b.disconnect();
        await c.sendStdin('two\n');
        await s.commands.closeStdin(c.pid);
        for (const h of [a, c]) {
            await assert.rejects(h.wait(), (err) => err.exitCode === 4 && err.stdout === 'got one\ngot two\n');
        }
        assert.equal(b.stdout, 'got one\n');
    });

    it('pids that are not there are told as such', async () => {
        const s = await sandbox();
        await throwsA(s.commands.connect(999999), NotFoundError, /process with pid 999999 not found/);
        assert.equal(await s.commands.kill(999999), false);
        assert.equal(await s.pty.kill(999999), false);
        await throwsA(s.commands.sendStdin(999999, 'x'), NotFoundError);
        await throwsA(s.pty.resize(999999, { cols: 1, rows: 1 }), NotFoundError);
        await throwsA(s.commands.closeStdin(999999), NotFoundError);
    });

    it('kill: the process is reaped when the answer comes, its children with it', async () => {
        const s = await sandbox();
        const c = await s.commands.run('sleep 100 & echo $!; wait', { background: true });
        const child = Number(await waitUntil(() => c.stdout, 'its child'));
        assert.equal(await c.kill(), true);
        await assert.rejects(s.commands.run(`kill -0 ${c.pid}`), CommandExitError);
        await assert.rejects(c.wait(), (err) => err.exitCode === -1 && err.error === 'signal: killed');
        await waitUntil(() => !proc.isAlive(child), 'the child to be gone');
        assert.equal(await c.kill(), false);
    });

    it('the exit is still known afterwards', async () => {
        const s = await sandbox();
        const c = await s.commands.run('exit 5', { background: true });
        await assert.rejects(c.wait(), (err) => err.exitCode === 5);
        const late = await s.commands.connect(c.pid);
        await assert.rejects(late.wait(), (err) => err.exitCode === 5 && err.stdout === '');
    });

    it('roles: who may only watch sees all and changes nothing', async () => {
        const s = await sandbox();
        const c = await s.commands.run('cat', { background: true, stdin: true });
        const watch = direct(d, d.tokens.watch);
        const type = direct(d, d.tokens.type);
        const seen = await watch.commands.connect(c.pid);
        await throwsA(watch.commands.sendStdin(c.pid, 'no\n'), SandboxError, /permission_denied/);
        await throwsA(watch.commands.run('true'), SandboxError, /permission_denied/);
        await throwsA(type.commands.kill(c.pid), SandboxError, /permission_denied/);
        await type.commands.sendStdin(c.pid, 'yes\n');
        await waitUntil(() => seen.stdout === 'yes\n', 'what was typed');
        await c.kill();
    });

    it('a process of another protocol is seen, watched, fed and ended here', async () => {
        const s = await sandbox();
        const p = await d.spawn({ command: 'cat', stdin: 'pipe', tag: 'ours' });
        assert.equal((await s.commands.list())[0].tag, 'ours');
        const c = await s.commands.connect(p.pid);
        await c.sendStdin('across\n');
        await waitUntil(() => c.stdout === 'across\n', 'its echo');
        await d.outputHas(p.id, 'across\n');
        await c.kill();
        assert.equal((await d.exitOf(p.id)).exit.signal, 'SIGKILL');
    });
});

it('debug mode: no control API, no token', async () => {
    await daemonFor({ auth: false, fdBaseline: false, args: ['--no-auth'] }, async (d) => {
        const s = await Sandbox.create({ debug: true, sandboxUrl: base(d) });
        assert.equal(s.sandboxId, 'debug_sandbox_id');
        assert.equal((await s.commands.run('echo debug')).stdout, 'debug\n');
        assert.equal(await s.kill(), true);
    });
});
