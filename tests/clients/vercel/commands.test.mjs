// SPDX-License-Identifier: Apache-2.0
// Commands by @vercel/sandbox 3.5.0: run, detached, logs, wait, kill.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Writable } from 'node:stream';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { at, collect, refused, Sandbox, skip, textOf } from './client.mjs';

const BIG = 20 << 20;

withDaemon('vercel: commands', { skip }, (d) => {
    const log = [];
    let sb;
    before(async () => (sb = await Sandbox.get({ name: 'local', ...at(d, { log }) })));
    const sh = (line, more = {}) => sb.runCommand({ cmd: 'sh', args: ['-c', line], ...more });
    const file = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${file(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(file(name), '');
    const sleepers = (seconds) => proc.withEnv(d.mark).filter((pid) => seconds.includes(proc.cmdline(pid)[1]));
    const asked = async (fn) => {
        log.length = 0;
        await fn();
        return log.map((l) => l.replace(/sbx_\w+/, 'S').replace(/proc_\w+/, 'C').replace('/api/v2/sandboxes/sessions/', ''));
    };

    it('run: the exit code, and each stream by itself', async () => {
        const r = await sh('echo out; echo err >&2; exit 3');
        assert.equal(r.exitCode, 3);
        assert.equal(await r.stdout(), 'out\n');
        assert.equal(await r.stderr(), 'err\n');
        assert.ok(r.durationMs >= 0 && Math.abs(Date.now() - r.startedAt) < 60000);
        assert.equal((await d.get(r.cmdId)).session_id, sb.currentSession().sessionId);
    });

    it('run: output is handed on while the command runs', async () => {
        let seen = '';
        const sink = () => new Writable({ write: (b, _, done) => done(null, (seen += b)) });
        const answer = sh(`echo early; echo bad >&2; ${until('seen')}; echo late`, { stdout: sink(), stderr: sink() });
        await waitUntil(() => seen.includes('early\n') && seen.includes('bad\n'), 'the early lines');
        allow('seen');
        const r = await answer;
        assert.match(seen, /late\n$/);
        assert.equal(await r.stdout(), 'early\nlate\n');
    });

    it('arguments, directory and variables arrive as they are: there is no shell', async () => {
        const args = ['a b', '"', "'", '$HOME', '*', '', 'h\u00e9', 'line\nline', '\\'];
        const r = await sb.runCommand('printf', ['[%s]', ...args]);
        assert.equal(await r.stdout(), args.map((a) => `[${a}]`).join(''));
        const e = await sb.runCommand({ cmd: 'sh', args: ['-c', 'printf "%s|%s" "$(pwd)" "$V"'], cwd: '/usr', env: { V: 'x "y" $z' } });
        assert.equal(await e.stdout(), '/usr|x "y" $z');
        assert.equal(await (await sb.runCommand('pwd')).stdout(), `${sb.cwd}\n`);
        assert.equal(await (await sh('cat; echo no input')).stdout(), 'no input\n');
    });

    it('what cannot be started is a command that says so: 127 or 126, asked for once', async () => {
        fs.writeFileSync(file('plain'), 'no program');
        for (const [params, code, text] of [
            [{ cmd: 'no-such-program', args: ['a', 'b c'] }, 127, "no 'no-such-program' in PATH"],
            [{ cmd: file('none') }, 127, 'No such file'],
            [{ cmd: file('plain') }, 126, 'Permission denied'],
            [{ cmd: 'pwd', cwd: '/no/such/directory' }, 127, '/no/such/directory'],
        ]) {
            const lines = await asked(async () => {
                const r = await sb.runCommand(params);
                assert.equal(r.exitCode, code);
                assert.equal(await r.stdout(), '');
                assert.ok((await r.stderr()).includes(text), await r.stderr());
                const { name, args, cwd } = r.cmd;
                assert.deepEqual({ name, args, cwd }, { name: params.cmd, args: params.args ?? [], cwd: params.cwd ?? sb.cwd });
            });
            assert.deepEqual(lines, ['POST S/cmd']);
        }
        const c = await sb.runCommand({ cmd: 'no-such-program', detached: true });
        assert.equal((await c.wait()).exitCode, 127);
        assert.match(await c.stderr(), /no-such-program/);
    });

    it('a time-out ends it with 137, and all that it started', async () => {
        const begun = Date.now();
        const r = await sh('sleep 61.7 & sleep 61.8', { timeoutMs: 1000 });
        assert.equal(r.exitCode, 137);
        assert.ok(Date.now() - begun < 20000, `${Date.now() - begun} ms`); // and not the minute
        await waitUntil(() => sleepers(['61.7', '61.8']).length === 0, 'the children to be gone');
        assert.equal((await d.get(r.cmdId)).exit.by, 'timeout');
        assert.equal((await sb.runCommand('true', [], { timeoutMs: 60000 })).exitCode, 0);
    });

    it('detached: answered while it runs; logs are live, end with it, and can be had again', async () => {
        const c = await sh(`echo one; ${until('two')}; echo two >&2; exit 4`, { detached: true });
        assert.equal(c.exitCode, null);
        const seen = [];
        for await (const l of c.logs()) {
            seen.push(l);
            if (l.data === 'one\n') allow('two');
        }
        assert.deepEqual(seen, [{ stream: 'stdout', data: 'one\n' }, { stream: 'stderr', data: 'two\n' }]);
        assert.equal((await c.wait()).exitCode, 4);
        assert.deepEqual(await collect(c.logs()), seen);
        const again = await sb.getCommand(c.cmdId);
        assert.deepEqual([again.exitCode, await again.stdout(), await again.output()], [4, 'one\n', 'one\ntwo\n']);
    });

    it('kill: TERM 143, KILL 137, other signals by number; a finished one needs none', async () => {
        for (const [signal, code] of [[undefined, 143], ['SIGTERM', 143], ['SIGKILL', 137], ['SIGINT', 130], [10, 138]]) {
            const c = await sb.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
            await c.kill(signal);
            assert.equal((await c.wait()).exitCode, code, String(signal));
            await c.kill(signal);
            await c.kill('SIGKILL');
        }
    });

    it('kill reaches what the command has started', async () => {
        for (const signal of ['SIGTERM', 'SIGKILL']) {
            const c = await sh('sleep 62.4 & sleep 62.5 & echo up; wait', { detached: true });
            for await (const l of c.logs()) if (l.data.includes('up')) break;
            await waitUntil(() => sleepers(['62.4', '62.5']).length === 2, 'both children');
            await c.kill(signal);
            await c.wait();
            await waitUntil(() => sleepers(['62.4', '62.5']).length === 0, 'the children to be gone');
        }
    });

    it('wait is one request; who is waited for may have ended long ago', async () => {
        const c = await sh(`${until('go')}; exit 9`, { detached: true });
        const lines = await asked(async () => {
            const ended = c.wait();
            allow('go');
            assert.equal((await ended).exitCode, 9);
        });
        assert.deepEqual(lines, ['GET S/cmd/C']);
        assert.equal((await (await sb.getCommand(c.cmdId)).wait()).exitCode, 9);
    });

    it('characters survive every border, and what is none is U+FFFD', async () => {
        const text = '\u{1f600}\u00e9\u4e2d'.repeat(60000); // odd sizes: every border cuts some
        fs.writeFileSync(file('text'), text);
        const r = await sb.runCommand('cat', [file('text')]);
        assert.equal(await r.stdout(), text);
        const c = await sb.runCommand({ cmd: 'cat', args: [file('text')], detached: true });
        assert.equal(await c.stdout(), text);
        const cut = await sh("printf 'a\\360\\237'; sleep 0.05; echo x >&2; printf '\\230\\200b\\377\\360\\237'");
        assert.equal(await cut.stdout(), 'a\u{1f600}b\ufffd\ufffd\ufffd');
        assert.equal(await cut.stderr(), 'x\n');
    });

    it('20 MiB arrive whole, in the run and from the logs, for two readers', async () => {
        const args = ['-c', `head -c ${BIG} /dev/zero | tr '\\0' x`];
        const r = await sb.runCommand('sh', args);
        const out = await r.stdout();
        assert.equal(out.length, BIG);
        assert.equal(/[^x]/.test(out), false);
        const c = await sb.runCommand({ cmd: 'sh', args, detached: true });
        const other = await sb.getCommand(c.cmdId);
        for (const seen of await Promise.all([c.stdout(), other.stdout()])) assert.equal(seen.length, BIG);
        assert.equal((await (await sb.getCommand(c.cmdId)).stdout()).length, BIG);
    });

    it('two that read the logs both get everything', async () => {
        const c = await sh(`for i in 1 2 3; do echo $i; echo e$i >&2; done; ${until('both')}; echo end`, { detached: true });
        const early = [collect(c.logs()), collect((await sb.getCommand(c.cmdId)).logs())];
        allow('both');
        for (const lines of await Promise.all(early)) {
            assert.equal(textOf(lines, 'stdout'), '1\n2\n3\nend\n');
            assert.equal(textOf(lines, 'stderr'), 'e1\ne2\ne3\n');
        }
    });

    it('unknown commands: 404, told once; a malformed one: 400', async () => {
        const lines = await asked(() => refused(sb.getCommand('proc_nosuchcommand'), 404, { code: 'not_found', text: 'no command' }));
        assert.equal(lines.length, 1);
        const bad = await asked(() => refused(sb.runCommand({ cmd: '' }), 400));
        assert.deepEqual(bad, ['POST S/cmd']);
        await refused(sb.runCommand({ cmd: 'true', env: { 'A=B': 'x' } }), 400, { text: 'variable' });
        await refused(sb.runCommand({ cmd: 'true', timeoutMs: -1 }), 400);
    });

    it('sudo runs as root, where the daemon may', async () => {
        const r = sb.runCommand({ cmd: 'id', args: ['-u'], sudo: true });
        if (process.getuid() === 0) assert.equal(await (await r).stdout(), '0\n');
        else await refused(r, 403, { text: 'root' });
    });

    it('a process of the daemon that others have started is a command like any other', async () => {
        const p = await d.sh('echo native; cat', { stdin: 'pipe' });
        const c = await sb.getCommand(p.id);
        for await (const l of c.logs()) if (l.data === 'native\n') break;
        await c.kill();
        assert.equal((await c.wait()).exitCode, 143);
    });
});
