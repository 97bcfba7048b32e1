// SPDX-License-Identifier: Apache-2.0
// `holdfast sh`: a caller cannot tell it from the real shell, and every command is a process of the daemon.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { it, test } from '../lib/test.mjs';
import { cli, cliEnv, fails, ok, onPty, start } from '../lib/cli.mjs';
import { binary, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const NOWHERE = { HOLDFAST_URL: 'http://127.0.0.1:1' };
const REAL = '/bin/bash';

withDaemon('sh', { listen: ['127.0.0.1:0', 'unix:DIR/s.sock'] }, (d) => {
    const sh = (args, options) => cli(d, ['sh', ...args], options);
    const labelled = async (label) => (await d.list()).find((p) => p.label === label);
    const link = (name) => {
        const dir = fs.mkdtempSync(path.join(d.dir, 'link-'));
        fs.symlinkSync(path.resolve(binary()), path.join(dir, name));
        return path.join(dir, name);
    };

    it('streams and exit codes are the command\'s own', async () => {
        const r = await sh(['-c', 'echo to out; echo to err >&2; exit 42']);
        assert.deepEqual([r.code, r.text, r.stderr], [42, 'to out\n', 'to err\n']);
        for (const [line, code] of [['exit 0', 0], ['exit 255', 255], ['kill -TERM $$', 143], ['kill -KILL $$', 137], ['nosuchprogram', 127]])
            assert.equal((await sh(['-c', line])).code, code, line);
        assert.equal((await sh(['-c', '/etc/passwd'])).code, 126);
        assert.equal((await sh(['-e', '-c', 'false; echo no'])).text, '');
    });

    it('arguments are the shell\'s: options after -c, names, scripts, commands on standard input', async () => {
        assert.equal((await sh(['-c', '-l', 'shopt -q login_shell && echo "$0" "$@"', 'name', 'a  b', '-c'])).text, 'name a  b -c\n');
        assert.equal((await sh(['-h', '-c', 'echo $-'])).text.includes('h'), true);
        const script = path.join(d.dir, 'script');
        fs.writeFileSync(script, 'echo "$1"; exit 3');
        const r = await sh([script, 'argument']);
        assert.deepEqual([r.code, r.text], [3, 'argument\n']);
        assert.equal((await sh([], { input: 'echo piped\nread line\nthe line\necho "$line"\n' })).text, 'piped\nthe line\n');
        assert.equal((await sh(['-s', 'x'], { input: 'echo "$1"' })).text, 'x\n');
    });

    it('each command is a process of the daemon, with a label, and its output stays', async () => {
        await sh(['-c', 'echo   kept;\n  echo "for later"']);
        const p = await labelled('echo kept; echo "for later"');
        assert.equal(p.source, 'agent');
        assert.equal(await ok(d, ['logs', p.id]), 'kept\nfor later\n');
        await sh(['-c', `: ${'é'.repeat(100)}`]);
        assert.ok((await labelled(`: ${'é'.repeat(39)}`)), 'a long label is cut between characters');
    });

    it('environment, directory and umask arrive, also with bytes that are no UTF-8', async () => {
        const odd = path.join(d.dir, 'odd.sh');
        fs.writeFileSync(
            odd,
            [
                `cd "${d.dir}" && mkdir -p $'odd-\\xff\\xfe %41\\n' && cd odd-*`,
                `f() { echo of f; }; export -f f; export EMPTY= PLAIN='a b' ODD=$'x\\xff%41\\ny'; umask 027`,
                `"$@" -c 'f; env -0 | grep -zav -e ^_= -e ^SHLVL= -e ^HOLDFAST_PROCESS_ID= | sort -z; pwd; pwd -P; umask; printf %s "$1"' sh $'arg\\xfe%42'`,
            ].join('\n'),
        );
        const run = (...shell) => spawnSync(REAL, [odd, ...shell], { env: cliEnv(d) });
        const expected = run(REAL);
        const got = run(path.resolve(binary()), 'sh');
        assert.equal(expected.status, 0, expected.stderr.toString());
        assert.deepEqual([got.status, got.stderr.toString()], [0, '']);
        for (const bytes of ['odd-\xff\xfe %41\n', 'ODD=x\xff%41\ny\0', 'of f\n', '\n0027\narg\xfe%42'])
            assert.ok(expected.stdout.includes(Buffer.from(bytes, 'latin1')), bytes);
        assert.equal(got.stdout.toString('latin1'), expected.stdout.toString('latin1'));
        const plain = await sh(['-c', 'pwd; echo "$FOO"'], { cwd: '/tmp', env: { FOO: 'bar' } });
        assert.equal(plain.text, '/tmp\nbar\n');
    });

    it('20 MB through both pipes, byte for byte, and standard error apart', async () => {
        const bytes = crypto.randomBytes(20e6);
        const r = await sh(['-c', 'echo begin >&2; cat; echo end >&2'], { input: bytes });
        assert.ok(r.stdout.equals(bytes));
        assert.equal(r.stderr, 'begin\nend\n');
    });

    it('a reader that leaves ends the command, and a command that leaves ends its writer', async () => {
        const bash = (line) =>
            within(promisify(execFile)(REAL, ['-c', line], { env: cliEnv(d, { HF: path.resolve(binary()) }) }), 60000, line);
        assert.equal((await bash('seq 10 | "$HF" sh -c cat | head -1')).stdout, '1\n');
        assert.equal((await bash('"$HF" sh -c yes | head -1; echo "${PIPESTATUS[0]}"')).stdout, 'y\n141\n');
        assert.equal((await bash('yes | "$HF" sh -c "head -1"')).stdout, 'y\n');
        assert.equal((await bash('"$HF" sh -c "cat; echo read" <&-')).stdout, 'read\n');
        assert.equal((await bash('x=$("$HF" sh -c "echo unseen; exit 4" >&-); echo $?')).stdout, '4\n');
    });

    it('a command that ignores SIGPIPE ends as well when its reader has left', async () => {
        const line = 'trap "" PIPE HUP; echo $$; while :; do sleep 0.05; echo more; done';
        const p = start(d, ['sh', '-c', line]);
        await waitUntil(() => p.printed().includes('more'), 'output');
        const pid = parseInt(p.printed());
        p.stdout.destroy();
        assert.equal((await within(p.done, 30000, 'its end')).signal, 'SIGPIPE');
        await waitUntil(() => !proc.isAlive(pid), 'the end of the command', 30000);
        assert.equal((await labelled(line)).status, 'exited', 'its record stays');
    });

    it('SIGINT, SIGTERM and SIGHUP are forwarded', async () => {
        for (const name of ['INT', 'TERM', 'HUP']) {
            const p = start(d, ['sh', '-c', `trap 'echo got ${name}; exit 7' ${name}; echo ready; while :; do sleep 0.05; done`]);
            await waitUntil(() => p.printed().includes('ready'), 'the command');
            p.kill(`SIG${name}`);
            const r = await within(p.done, 30000, name);
            assert.deepEqual([r.code, r.text], [7, `ready\ngot ${name}\n`]);
        }
    });

    it('kill -9 of the caller ends the whole tree', async () => {
        const p = start(d, ['sh', '-c', 'trap "" HUP TERM; (setsid sleep 1000 & echo $!; sleep 1001 & echo $!; wait) & echo $!; wait'], { input: null });
        const pids = () => p.printed().trim().split('\n').map(Number);
        await waitUntil(() => pids().length === 3, 'the tree');
        p.kill('SIGKILL');
        await p.done;
        await waitUntil(() => pids().every((pid) => !proc.isAlive(pid)), 'the end of the tree', 30000);
    });

    it('50 at once', async () => {
        const all = await Promise.all(
            Array.from({ length: 50 }, (_, i) => sh(['-c', `cat; echo ${i}; exit ${i}`], { input: `in ${i}\n` })),
        );
        all.forEach((r, i) => assert.deepEqual([r.code, r.text, r.stderr], [i, `in ${i}\n${i}\n`, '']));
    });

    it('on a terminal it has one: keys, ^C and its size', async () => {
        const p = onPty(d, ['sh', '-c', 'trap "echo interrupted" INT; stty size; cat; echo over; exit 5'], { rows: 31, cols: 97 });
        await p.shows('31 97');
        p.type('typed\r');
        await p.shows('typed\r\ntyped');
        p.type('\x10\x11\x03'); // the keys that detach elsewhere are the program's
        await p.shows('interrupted');
        await p.shows('over');
        await p.endsWith('exit 5');
        await p.close();
    });

    it('on a terminal the shell ends with its caller, too', async () => {
        const p = onPty(d, ['sh', '-c', 'trap "" HUP TERM; echo "pid $$"; while :; do sleep 1000; done']);
        const pid = Number((await p.shows(/pid (\d+)/))[1]);
        assert.ok(proc.isAlive(pid));
        p.signal(15);
        await p.endsWith('signal 15');
        await waitUntil(() => !proc.isAlive(pid), 'the end of the shell', 30000);
        await p.close();
    });

    it('called by the name of a shell it is one', async () => {
        for (const name of ['holdfast-sh', 'holdfast-bash', 'bash']) {
            const r = await cli(d, ['-c', 'echo "$BASH"; exit 6'], { bin: link(name) });
            assert.deepEqual([r.code, r.text.endsWith('/bash\n')], [6, true], name);
        }
        assert.match((await cli(d, ['--version'], { bin: link('holdfast-sh') })).text, /GNU bash/);
        const first = link('bash');
        const r = await cli(d, ['sh', '-c', 'echo ran'], { env: { PATH: `${path.dirname(first)}:${process.env.PATH}`, HOLDFAST_SHELL: first } });
        assert.equal(r.text, 'ran\n', 'it never takes itself for the real shell');
        assert.equal((await sh(['-c', 'echo "$0 ${BASH:-none}"'], { env: { HOLDFAST_SHELL: '/bin/sh' } })).code, 0);
        await fails(d, 127, /nosuchshell/, ['sh', '-c', ':'], { env: { HOLDFAST_SHELL: '/nosuchshell' } });
    });

    it('a daemon that refuses is not bypassed', async () => {
        await fails(d, 125, /token/, ['sh', '-c', 'echo ran'], { env: { HOLDFAST_TOKEN: 'a-wrong-token-of-some-length' } });
        await fails(d, 2, /--json/, ['sh', '--json', '-c', 'echo ran']);
        await fails(d, 2, /sh-exec/, ['sh-exec', '18', '/', '1', '/bin/sh']);
        await fails(d, 2, /sh-exec/, ['sh-exec', '18', '/%zz', '0', '/bin/sh']);
        await fails(d, 126, /nowhere/, ['sh-exec', '18', '/nowhere', '0', '/bin/sh']);
    });

    it('what no request can carry runs directly, with a warning', async () => {
        const big = `: ${'x'.repeat(120000)}`;
        const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`BIG_${i}`, 'y'.repeat(100000)]));
        const r = await sh(['-c', `${big}\necho ran`], { env: many });
        assert.equal(r.text, 'ran\n');
        assert.match(r.stderr, /^holdfast sh: [^\n]*1 MiB[^\n]*\n$/);
        await fails(d, 69, /1 MiB/, ['sh', '-c', 'echo ran'], { env: { ...many, HOLDFAST_SH_STRICT: '1' } });
    });
});

test('without a daemon the real shell runs, after one line; strictly it does not', async () => {
    const r = await cli(null, ['sh', '-c', 'cat; echo "$0"; kill -PIPE $$', 'name'], { env: NOWHERE, input: 'in\n' });
    assert.deepEqual([r.signal, r.text], ['SIGPIPE', 'in\nname\n']);
    assert.match(r.stderr, /^holdfast sh: cannot connect[^\n]*without the daemon\n$/);
    const strict = await fails(null, 69, /cannot connect/, ['sh', '-c', 'echo ran'], { env: { ...NOWHERE, HOLDFAST_SH_STRICT: '1' } });
    assert.equal(strict.text, '');
});
