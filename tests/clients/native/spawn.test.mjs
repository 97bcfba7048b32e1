// SPDX-License-Identifier: Apache-2.0
// POST /v1/processes: what a child gets, and what it does not.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const isRoot = process.getuid() === 0;

withDaemon('spawn', { env: { FROM_DAEMON: 'yes', REMOVE_ME: 'here' } }, (d) => {
    const run = async (body) => (await d.api('POST', '/v1/processes/run', { json: body, expect: 200 })).json;
    const stdout = async (body) => (await run(body)).stdout;

    it('answers the whole process object', async () => {
        const before = Date.now();
        const p = await d.spawn({
            command: 'sleep',
            args: ['30'],
            label: 'a sleeper',
            metadata: { a: { b: [1, 'x', null] } },
            session_id: 's1',
            source: 'agent',
        });
        assert.match(p.id, /^proc_[a-z2-7]{20}$/);
        assert.equal(p.command, 'sleep');
        assert.deepEqual(p.args, ['30']);
        assert.equal(p.status, 'running');
        assert.equal(p.exit_code, null);
        assert.equal(p.exit, null);
        assert.equal(p.pty, false);
        assert.equal(p.label, 'a sleeper');
        assert.deepEqual(p.metadata, { a: { b: [1, 'x', null] } });
        assert.equal(p.session_id, 's1');
        assert.equal(p.source, 'agent');
        assert.equal(p.tag, null);
        assert.equal(p.viewers, 0);
        assert.deepEqual(p.output, { first: 0, next: 0, bytes_total: 0, open: true });
        assert.ok(Math.abs(Date.parse(p.created_at) - before) < 5000);
        assert.equal(p.exited_at, null);
        assert.equal(p.last_input_at, null);
        assert.equal(p.last_output_at, null);
        assert.equal(p.cwd, d.dir);
        await waitUntil(() => proc.cmdline(p.pid)[0] === 'sleep', 'the program');
        await d.remove(p.id);
    });

    it('ids differ and pids are real', async () => {
        const ps = await Promise.all(Array.from({ length: 20 }, () => d.spawn({ command: 'sleep', args: ['30'] })));
        assert.equal(new Set(ps.map((p) => p.id)).size, 20);
        for (const p of ps) assert.equal(proc.stat(p.pid).ppid, d.keeperPid(), 'the keeper is the parent');
        await Promise.all(ps.map((p) => d.remove(p.id)));
    });

    it('arguments arrive as given, also empty, long and odd ones', async () => {
        const args = [
            '',
            ' ',
            'a b',
            '"quoted"',
            "it's",
            '$HOME',
            '*',
            '\\',
            '\n',
            '\u00e4\u{1f600}',
            'x'.repeat(100000),
        ];
        const out = await stdout({
            command: 'sh',
            args: ['-c', 'for a; do printf "%s\\0" "$a"; done', 'sh', ...args],
            max_output_bytes: 1000000,
        });
        assert.deepEqual(out.split('\0').slice(0, -1), args);
    });

    it('argv[0] is the command and PATH is searched', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['30'] });
        await waitUntil(
            () =>
                proc.exe(p.pid)?.endsWith('/sleep') ||
                proc.exe(p.pid)?.includes('busybox') ||
                proc.exe(p.pid)?.includes('coreutils'),
            'exec',
        );
        assert.equal(proc.cmdline(p.pid)[0], 'sleep');
        await d.remove(p.id);
        fs.mkdirSync(`${d.dir}/bin`);
        fs.writeFileSync(`${d.dir}/bin/my-tool`, '#!/bin/sh\necho mine\n', { mode: 0o755 });
        assert.equal(await stdout({ command: 'my-tool', env: { PATH: `${d.dir}/bin:/usr/bin:/bin` } }), 'mine\n');
        assert.equal(await stdout({ command: './bin/my-tool', cwd: d.dir }), 'mine\n');
    });

    it('a shell line is run by a shell', async () => {
        assert.equal(await stdout({ command: 'echo one && echo two | tr o 0', shell: true }), 'one\ntw0\n');
    });

    it('cwd is where it starts', async () => {
        assert.equal(await stdout({ command: 'pwd', cwd: '/usr' }), '/usr\n');
        const p = await d.spawn({ command: 'sleep', args: ['30'], cwd: '/' });
        assert.equal(p.cwd, '/');
        await d.remove(p.id);
    });

    it("the environment is the daemon's with changes", async () => {
        const vars = async (body) =>
            Object.fromEntries(
                (await stdout({ command: 'env', ...body }))
                    .split('\n')
                    .filter(Boolean)
                    .map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]),
            );
        let e = await vars({ env: { NEW: 'a=b c', REMOVE_ME: null, EMPTY: '' } });
        assert.equal(e.FROM_DAEMON, 'yes');
        assert.equal(e.NEW, 'a=b c');
        assert.equal(e.EMPTY, '');
        assert.ok(!('REMOVE_ME' in e));
        assert.match(e.HOLDFAST_PROCESS_ID, /^proc_/);
        assert.deepEqual(
            Object.keys(e).filter((k) => /^(HOLDFAST_(?!PROCESS_ID)|LISTEN_|NOTIFY_)/.test(k)),
            [],
        );
        e = await vars({ command: '/usr/bin/env', clear_env: true, env: { ONLY: '1' } });
        assert.equal(e.ONLY, '1');
        assert.ok(!('FROM_DAEMON' in e) && !('HOME' in e));
        assert.deepEqual(
            Object.keys(e).filter((k) => !['ONLY', 'HOLDFAST_PROCESS_ID', 'PATH'].includes(k)),
            [],
        );
    });

    it('HOLDFAST_PROCESS_ID is the id', async () => {
        const r = await run({ command: 'printenv', args: ['HOLDFAST_PROCESS_ID'] });
        assert.equal(r.stdout.trim(), r.process.id);
    });

    it('a terminal has its defaults and its size before the program runs', async () => {
        const r = await run({
            command: 'stty size; echo $TERM $COLORTERM $LANG; tty; ps -o stat= -p $$',
            shell: true,
            pty: { rows: 41, cols: 133 },
        });
        const lines = r.output.split('\r\n');
        assert.equal(lines[0], '41 133');
        assert.equal(lines[1], 'xterm-256color truecolor C.UTF-8');
        assert.match(lines[2], /^\/dev\/pts\/\d+$/);
        assert.match(lines[3], /s/, 'a session leader');
        const own = await run({
            command: 'echo $TERM $LANG',
            shell: true,
            pty: true,
            env: { TERM: 'dumb', LANG: 'POSIX' },
        });
        assert.equal(own.output, 'dumb POSIX\r\n');
        const dflt = await run({ command: 'stty', args: ['size'], pty: true });
        assert.equal(dflt.output, '24 80\r\n');
    });

    it('a terminal is the controlling one: Ctrl-C works', async () => {
        const p = await d.sh('trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.05; done', { pty: true });
        assert.equal(p.pty, true);
        await d.outputHas(p.id, 'ready');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\u0003' }, expect: 200 });
        assert.equal((await d.exitOf(p.id)).exit_code, 7);
    });

    it('stdin is null for pipes unless asked otherwise', async () => {
        assert.equal(await stdout({ command: 'readlink', args: ['/proc/self/fd/0'] }), '/dev/null\n');
        assert.equal(await stdout({ command: 'readlink', args: ['/proc/self/fd/0'], stdin: 'null' }), '/dev/null\n');
        const p = await d.sh('cat; echo end', { stdin: 'pipe', input: 'first ' });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'second ', eof: true }, expect: 200 });
        await d.exitOf(p.id);
        assert.equal((await d.output(p.id)).toString(), 'first second end\n');
    });

    it('input alone is given and then ended', async () => {
        assert.equal(await stdout({ command: 'cat', input: 'all there is' }), 'all there is');
        assert.equal((await stdout({ command: 'wc', args: ['-c'], input: 'y'.repeat(900000) })).trim(), '900000');
        assert.equal(
            (await stdout({ command: 'sleep 0.3; wc -c', shell: true, input: 'y'.repeat(900000) })).trim(),
            '900000',
        );
        assert.equal(await stdout({ command: 'cat', input: 'aGk=', input_encoding: 'base64' }), 'hi');
    });

    it('a child inherits nothing: descriptors, signals, masks', async () => {
        const fds = (await stdout({ command: 'ls', args: ['/proc/self/fd'] }))
            .trim()
            .split('\n')
            .map(Number)
            .sort((a, b) => a - b);
        assert.deepEqual(fds.slice(0, 3), [0, 1, 2]);
        assert.ok(fds.length <= 4, `descriptors ${fds}`);
        for (const pty of [false, true]) {
            const s = await run({
                command: 'grep',
                args: ['-E', '^Sig(Blk|Ign)', '/proc/self/status'],
                ...(pty ? { pty: true } : {}),
            });
            assert.deepEqual(s.output.match(/[0-9a-f]{16}/g), ['0000000000000000', '0000000000000000']);
        }
        const ids = (await stdout({ command: 'ps -o pid=,pgid=,sid= -p $$', shell: true })).trim().split(/\s+/);
        assert.equal(new Set(ids).size, 1, `own group and session: ${ids}`);
    });

    it('umask and oom_score_adj are those of the daemon', async () => {
        assert.match(await stdout({ command: 'umask', shell: true }), /^0?0\d\d\n$/);
        assert.equal(
            await stdout({ command: 'cat', args: ['/proc/self/oom_score_adj'] }),
            fs.readFileSync(`/proc/self/oom_score_adj`, 'utf8'),
        );
    });

    it('limits are set in the child', async () => {
        const s = await stdout({
            command: 'ulimit -t; ulimit -n; ulimit -f; ulimit -v; nice; cat /proc/self/oom_score_adj',
            shell: true,
            limits: {
                cpu_s: 77,
                open_files: 99,
                file_bytes: 1048576,
                memory_bytes: 1 << 30,
                processes: 5000,
                nice: 5,
                oom_score_adj: 500,
            },
        });
        const [cpu, files, fsize, mem, nice, oom] = s.trim().split('\n');
        assert.equal(cpu, '77');
        assert.equal(files, '99');
        assert.ok(['2048', '1024'].includes(fsize), `file blocks ${fsize}`);
        assert.ok(mem === String((1 << 30) / 1024) || mem === 'unlimited', `memory ${mem}`);
        assert.equal(nice, '5');
        assert.equal(oom, '500');
    });

    it('a limit ends what breaks it', async () => {
        const r = await run({ command: 'while :; do :; done', shell: true, limits: { cpu_s: 1 }, timeout_ms: 20000 });
        assert.equal(r.exit.kind, 'signaled');
        assert.ok(['SIGXCPU', 'SIGKILL'].includes(r.exit.signal), r.exit.signal);
        const f = await run({
            command: 'head -c 100000 /dev/zero > big; stat -c %s big',
            shell: true,
            cwd: d.dir,
            limits: { file_bytes: 4096 },
        });
        assert.equal(f.stdout.trim(), '4096');
    });

    it('user, by name and by number', { skip: !isRoot && 'needs root' }, async () => {
        const id = async (user) => (await stdout({ command: 'id', args: ['-u'], user, cwd: '/' })).trim();
        assert.equal(await id('nobody'), '65534');
        assert.equal(await id('12345'), '12345');
        assert.equal(
            (await stdout({ command: 'echo $(id -u):$(id -g)', shell: true, user: '1234:4321', cwd: '/' })).trim(),
            '1234:4321',
        );
        const groups = (await stdout({ command: 'id', args: ['-G'], user: 'nobody', cwd: '/' })).trim().split(' ');
        assert.ok(!groups.includes('0'), `groups ${groups}`);
        const home = (await stdout({ command: 'echo $HOME', shell: true, user: 'nobody', cwd: '/' })).trim();
        assert.notEqual(home, d.dir, 'HOME belongs to the user');
    });

    it('a terminal belongs to its user', { skip: !isRoot && 'needs root' }, async () => {
        const r = await run({
            command: 'stat -c %u $(tty); echo hi > $(tty)',
            shell: true,
            user: 'nobody',
            cwd: '/',
            pty: true,
        });
        assert.equal(r.output, '65534\r\nhi\r\n');
        assert.equal(r.exit_code, 0);
    });

    it('foreground names the program that holds the terminal', async () => {
        const p = await d.sh('sleep 30; true', { pty: true });
        await waitUntil(async () => /sleep|sh/.test((await d.get(p.id)).foreground ?? ''), 'foreground');
        await d.remove(p.id);
        const pipes = await d.sh('sleep 30');
        assert.equal((await d.get(pipes.id)).foreground ?? null, null);
        await d.remove(pipes.id);
    });
});
