// SPDX-License-Identifier: Apache-2.0
// What is there: ps, top, inspect, version, info; and where: tokens, paths in DOCKER_HOST, sockets, a gateway.

import assert from 'node:assert/strict';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, Cli, withClis } from './client.mjs';

withDaemon('docker: what is there', { listen: ['127.0.0.1:0', 'unix:DIR/hf.sock'], args: ['--dialect', 'docker=unix:dk.sock'] }, (d) => {
    withClis((cli) => {
        const docker = () => new Cli(cli, d);

        it('ps: ids, names, filters; what others have started is there', async () => {
            const p = await d.spawn({ command: 'sleep', args: ['983'], tag: 'native-one' });
            const exited = await d.sh('exit 3', { tag: 'done-one' });
            await d.exitOf(exited.id);
            const all = await docker().ok('ps', '--no-trunc', '--format', '{{.ID}} {{.Names}} {{.Command}}');
            const ids = (await docker().ok('ps', '-q', '--no-trunc')).trim().split('\n');
            assert.match(all, /^[0-9a-f]{64} native-one "sleep 983"$/m);
            assert.match(all, /^[0-9a-f]{64} sandbox "holdfast"$/m);
            assert.deepEqual(ids, all.trim().split('\n').map((l) => l.split(' ')[0]));
            const named = (...filters) => docker().ok('ps', '--format', '{{.Names}}', ...filters.flatMap((f) => ['--filter', f]));
            assert.equal(await named('name=sand'), 'sandbox\n');
            assert.equal(await named('name=^/native'), 'native-one\n');
            assert.equal(await named('name=one'), 'native-one\n');
            assert.equal(await named('status=exited', 'name=one'), 'done-one\n');
            assert.equal(await named('exited=3', 'name=done'), 'done-one\n');
            assert.equal(await named(`id=${ids[0].slice(0, 8)}`), 'native-one\n');
            assert.match((await docker().run(['ps', '--filter', 'nosuch=1'])).stderr, /invalid filter 'nosuch'/);
            assert.equal(await docker().ok('ps', '-a', '-n', '1', '--format', '{{.Names}}'), 'done-one\n');
            assert.equal(await docker().ok('inspect', '-f', '{{.State.Status}} {{.State.ExitCode}}', 'done-one'), 'exited 3\n');
            assert.equal(await docker().ok('inspect', '-f', '{{.Name}} {{.State.Pid}} {{.Config.Tty}}', ids[0].slice(0, 12)), `/native-one ${p.pid} false\n`);
            assert.equal(await docker().ok('inspect', '-f', '{{.State.Status}}', 'sandbox'), 'running\n');
            assert.match((await docker().run(['inspect', 'nosuch'])).stderr, /No such object: nosuch/);
            await docker().ok('rm', '-f', 'native-one', 'done-one');
            assert.ok(!(await d.list()).some((x) => x.id === p.id || x.id === exited.id));
        });

        it('top: the tree of a process, with columns of one\'s choice', async () => {
            await docker().ok('run', '-d', '--name', 'tree', 'x', 'sh', '-c', 'sleep 982 & sleep 981');
            const rows = await waitUntil(async () => {
                const text = await docker().ok('top', 'tree');
                // The shell's own arguments name both programs, and so does a child of it before its exec.
                const programs = ['sleep 981', 'sleep 982'].filter((c) => new RegExp(`:\\d\\d +${c} *$`, 'm').test(text));
                return programs.length === 2 ? text.trim().split('\n') : null;
            }, 'the tree');
            assert.match(rows[0], /^UID +PID +PPID +C +STIME +TTY +TIME +CMD *$/);
            assert.equal(rows.length, 4);
            const some = await docker().ok('top', 'tree', '-o', 'pid,comm,args');
            assert.match(some, /^PID +COMMAND +COMMAND *\n/);
            assert.match(some, /\d+ +sleep +sleep 981/);
            assert.match(await docker().ok('top', 'tree', 'aux'), /^USER +PID +%CPU/);
            assert.match((await docker().run(['top', 'tree', '-o', 'comm'])).stderr, /PID/);
            assert.match((await docker().run(['top', 'tree', '-o', 'pid,nonsense'])).stderr, /unknown column/);
            assert.match(await docker().ok('top', 'sandbox'), /sleep 981/);
            await docker().ok('rm', '-f', 'tree');
        });

        it('version and info', async () => {
            assert.equal(await docker().ok('version', '-f', '{{.Server.APIVersion}} {{.Server.Os}}'), '1.51 linux\n');
            const info = JSON.parse(await docker().ok('info', '-f', '{{json .}}'));
            assert.equal(info.OSType, 'linux');
            assert.ok(info.NCPU > 0 && info.MemTotal > 0 && info.ContainersRunning >= 1, JSON.stringify(info));
        });

        it('without a token, or with a wrong one: a message and no warnings', async () => {
            for (const token of [null, 'wrong-wrong-wrong-wrong']) {
                for (const args of [['ps'], ['exec', 'sandbox', 'true'], ['version']]) {
                    const r = await new Cli(cli, d, { token }).run(args);
                    assert.equal(r.code, 1, r.stderr);
                    assert.match(r.stderr, /Send the token/);
                    assert.doesNotMatch(r.stderr, /Unsolicited|panic/);
                }
            }
        });

        it('a unix socket asks for no token', async () => {
            const c = new Cli(cli, d, { token: null, host: `unix://${d.dir}/dk.sock` });
            assert.equal((await c.run(['exec', '-i', 'sandbox', 'cat'], { input: 'by unix' })).stdout, 'by unix');
            assert.equal((await c.run(['run', '-i', '--rm', 'x', 'cat'], { input: 'by unix' })).stdout, 'by unix');
        });

        it('behind a gateway, by a path in DOCKER_HOST', async () => {
            const g = await new Gateway({ sandboxes: { s: { ports: { 1: new URL(d.url).host } } }, args: ['--forward', 'authorization'] }).start();
            try {
                const c = new Cli(cli, d, { host: `tcp://127.0.0.1:${g.port}/v1/sandboxes/s/proxy/1${BASE}` });
                assert.equal((await c.run(['exec', 'sandbox', 'sh', '-c', 'echo hi; exit 5'])).code, 5);
                assert.equal((await c.run(['run', '-i', '--rm', 'x', 'cat'], { input: 'through' })).stdout, 'through');
                const t = c.pty(['exec', '-it', '-e', 'PS1=here> ', 'sandbox', 'bash', '--norc'], { rows: 33, cols: 99 });
                await t.shows('here> ');
                await waitUntil(async () => {
                    t.type('stty size\r');
                    return /33 99/.test(t.text);
                }, 'the size', 20000, 300);
                t.type('exit 3\r');
                await t.endsWith('exit 3');
                await t.close();
            } finally {
                await g.stop();
            }
        });

        it('where no token is asked for', () =>
            daemonFor({ auth: false, args: ['--no-auth'], fdBaseline: false }, async (open) => {
                assert.equal(await new Cli(cli, open, { token: null }).ok('exec', 'sandbox', 'echo', 'free'), 'free\n');
            }));
    });
});
