// SPDX-License-Identifier: Apache-2.0
// `holdfast run` without a terminal: three pipes, byte for byte.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { it } from '../lib/test.mjs';
import { cli, cliEnv, fails, ok, start } from '../lib/cli.mjs';
import { binary, releaseBinary, withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit, expectedBytes } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { scaled } from '../lib/scale.mjs';
import { holdsFor, waitUntil, within } from '../lib/wait.mjs';

const BIG = scaled(100, 20) * 1000 * 1000;
const sha = (b) => crypto.createHash('sha256').update(b).digest('hex');

withDaemon('pipes', {}, (d) => {
    /** A shell line with $HF as the client. */
    const bash = (line, ms = 120000) =>
        within(
            promisify(execFile)('bash', ['-c', line], {
                env: cliEnv(d, { HF: releaseBinary() ?? binary(), EMIT: emit(), DIR: d.dir }),
                encoding: 'buffer',
                maxBuffer: 1 << 28,
            }).then(
                (r) => ({ ...r, code: 0 }),
                (err) => ({ stdout: err.stdout, stderr: err.stderr, code: err.code, signal: err.signal }),
            ),
            ms,
            line,
        );

    it('standard output, error and exit code each go their way', async () => {
        const r = await cli(d, ['run', 'sh', '-c', 'echo to out; echo to err >&2; exit 42']);
        assert.deepEqual([r.code, r.text, r.stderr], [42, 'to out\n', 'to err\n']);
    });

    it('without -i standard input is empty, with it it is passed on and ended', async () => {
        assert.equal(await ok(d, ['run', 'cat'], { input: 'not for it' }), '');
        assert.equal(await ok(d, ['run', '-i', 'cat'], { input: 'for it\n' }), 'for it\n');
        assert.equal(await ok(d, ['run', '-i', 'sh', '-c', 'cat; echo end'], { input: '' }), 'end\n');
    });

    it('half-close: output goes on after the end of the input', async () => {
        const r = await ok(d, ['run', '-i', 'sh', '-c', 'sort; echo sorted'], { input: 'b\na\n' });
        assert.equal(r, 'a\nb\nsorted\n');
    });

    it('exit codes: signals, not found, not executable, refused, not reachable', async () => {
        assert.equal((await cli(d, ['run', 'sh', '-c', 'kill -TERM $$'])).code, 143);
        assert.equal((await cli(d, ['run', 'sh', '-c', 'exit 255'])).code, 255);
        await fails(d, 127, /nosuchprogram/, ['run', 'nosuchprogram']);
        await fails(d, 126, /Permission denied/, ['run', '/etc/passwd']);
        for (const how of [[], ['--json'], ['-d']]) {
            await fails(d, 126, /./, ['run', ...how, '-w', '/etc/passwd', 'true']);
            await fails(d, 126, /directory \/no\/such/, ['run', ...how, '-w', '/no/such', 'true']);
        }
        await fails(d, 127, /nosuchprogram/, ['run', '-w', '/', 'nosuchprogram']);
        await fails(d, 125, /--history-dir/, ['run', '--history-bytes', '1000000000', 'true']); // for the daemon to say
        await fails(d, 125, /user/, ['run', '-u', 'no-such-user', 'true']);
        await fails(d, 125, /token/, ['run', 'true'], { env: { HOLDFAST_TOKEN: 'a-wrong-token-of-some-length' } });
        await fails(d, 125, /cannot connect to the daemon.*holdfast serve/, ['run', 'true'], { env: { HOLDFAST_URL: 'http://127.0.0.1:1' } });
    });

    it('binary in, binary out, also in small pieces', async () => {
        const bytes = crypto.randomBytes(300001);
        const r = await cli(d, ['run', '-i', 'cat'], { input: bytes });
        assert.ok(r.stdout.equals(bytes));
    });

    it(`${BIG / 1e6} MB through both pipes, byte for byte`, async () => {
        const r = await bash(`"$EMIT" -n ${BIG} -s 5 -c 65536 | "$HF" run -i cat`);
        assert.equal(r.code, 0, r.stderr.toString());
        assert.equal(r.stdout.length, BIG);
        checkBytes(5, 0, r.stdout);
    });

    it(`${BIG / 1e6} MB into a file, and out of one into the other stream`, async () => {
        const file = path.join(d.dir, 'big');
        assert.equal((await bash(`"$HF" run "$EMIT" -n ${BIG} -s 6 -c 100000 > "$DIR/big"`)).code, 0);
        const got = fs.readFileSync(file);
        assert.equal(got.length, BIG);
        checkBytes(6, 0, got);
        const r = await bash(`"$HF" run cat "$DIR/big" 2>"$DIR/err" | sha256sum; cat "$DIR/err" >&2`);
        assert.equal(r.stdout.toString().slice(0, 64), sha(got));
        assert.equal(r.stderr.length, 0);
        fs.rmSync(file);
    });

    it('both streams at once, each exact', async () => {
        const n = BIG / 10;
        const r = await bash(`"$HF" run "$EMIT" -n ${n} -s 7 -e -c 30000 2>"$DIR/e"`);
        checkBytes(7, 0, r.stdout);
        const e = fs.readFileSync(path.join(d.dir, 'e'));
        checkBytes(8, 0, e);
        assert.deepEqual([r.stdout.length, e.length], [n, n]);
    });

    it('tar through it', async () => {
        const r = await bash(
            `mkdir -p "$DIR/from/sub" "$DIR/to" && head -c 300000 /dev/urandom > "$DIR/from/sub/f" && ` +
                `tar c -C "$DIR/from" . | "$HF" run -i -w "$DIR/to" tar x && diff -r "$DIR/from" "$DIR/to" && echo same`,
        );
        assert.equal(r.stdout.toString(), 'same\n', r.stderr.toString());
    });

    /*
     * Input and acknowledgements on one connection: the process does not read, the daemon
     * reads no more from us, our acknowledgements wait behind the input, and the process is held for want of them.
     */
    it('a program that writes much before it reads does not stand still', async () => {
        const n = 4 << 20;
        const r = await cli(d, ['run', '-i', 'sh', '-c', `${emit()} -n ${n} -s 9; wc -c`], { input: expectedBytes(10, 0, n) });
        assert.equal(r.code, 0, r.stderr);
        checkBytes(9, 0, r.stdout.subarray(0, n));
        assert.equal(Number(r.stdout.subarray(n).toString()), n);
    });

    it('a reader that stands still holds the program and loses nothing', async () => {
        const n = 5 << 20;
        const c = start(d, ['run', emit(), '-n', String(n), '-s', '11', '-c', '65536'], { stdio: ['ignore', 'pipe', 'pipe'] });
        c.stdout.pause();
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the process');
        await waitUntil(async () => (await d.get(p.id)).output.next >= 1 << 20, 'the ring to fill');
        await holdsFor(300, async () => (await d.get(p.id)).status === 'running', 'it is held');
        c.stdout.resume();
        const r = await c.done;
        assert.equal(r.code, 0);
        assert.equal(r.stdout.length, n);
        checkBytes(11, 0, r.stdout);
    });

    it('yes | head: ends at once, as a command of this machine does', async () => {
        const r = await bash('"$HF" run yes | head -n 3; echo "${PIPESTATUS[*]}"', 20000);
        assert.equal(r.stdout.toString(), 'y\ny\ny\n141 0\n');
        assert.equal(r.stderr.toString(), '');
        const p = (await d.list())[0];
        assert.deepEqual([p.command, p.exit_code], ['yes', 141]);
    });

    it('a program that ignores SIGPIPE is ended all the same', async () => {
        const r = await bash(`"$HF" run sh -c 'trap "" PIPE; exec yes deaf' | head -n 1; echo "\${PIPESTATUS[0]}"`, 30000);
        assert.equal(r.stdout.toString(), 'deaf\n141\n');
        await waitUntil(async () => (await d.list('?status=running')).length === 0, 'it to be ended');
    });

    it('other commands die of a broken pipe as well', async () => {
        const p = await d.sh('exec yes');
        const r = await bash(`"$HF" logs -f ${p.id} | head -n 1; echo "\${PIPESTATUS[0]}"`, 20000);
        assert.equal(r.stdout.toString(), 'y\n141\n');
        await d.remove(p.id);
    });

    it('a program that does not read its input to the end', async () => {
        const r = await bash('yes | "$HF" run -i head -n 2; echo "${PIPESTATUS[*]}"', 20000);
        assert.match(r.stdout.toString(), /^y\ny\n141 0\n$/);
    });

    /* Only the writes in the middle were looked at: a short output into a full disk ended with 0. */
    it('output that cannot be written is a failure, also at the very end', async () => {
        const p = await d.sh('echo out; echo err >&2');
        await d.exitOf(p.id);
        const t = await d.sh('printf shown', { pty: true });
        await d.exitOf(t.id);
        for (const line of ['run echo hi', `logs ${p.id}`, `attach --no-stdin ${p.id}`, 'ps -aq', 'ps -a', 'ps --json', `wait ${p.id}`, 'info', 'help',
            'version', 'run --help', 'run -d true', `screen ${t.id}`, `record ${p.id}`, 'events --since 0 -n 1', 'session ls']) {
            const r = await bash(`"$HF" ${line} > /dev/full`);
            assert.equal(r.code, 1, line);
            assert.match(r.stderr.toString(), /cannot write.*No space left/, line);
        }
        assert.equal((await bash(`"$HF" record -o /dev/full ${p.id}`)).code, 1);
        assert.equal((await bash(`"$HF" logs --stderr ${p.id} 2> /dev/full`)).code, 1);
        await d.removeAll();
    });

    it('signals are passed on to it', async () => {
        for (const [name, code] of [['SIGTERM', 10], ['SIGINT', 11], ['SIGHUP', 12], ['SIGUSR1', 13]]) {
            const c = start(d, ['run', 'sh', '-c', 'for s in TERM:10 INT:11 HUP:12 USR1:13; do trap "exit ${s#*:}" ${s%:*}; done; echo up; while :; do sleep 0.05; done']);
            await waitUntil(() => c.printed().includes('up'), 'the trap');
            c.kill(name);
            assert.equal((await c.done).code, code, name);
        }
    });

    it('three interrupts are enough even for a deaf program', async () => {
        const c = start(d, ['run', 'sh', '-c', 'trap "" INT; echo up; while :; do sleep 1; done']);
        await waitUntil(() => c.printed().includes('up'), 'it to be up');
        const timer = setInterval(() => c.kill('SIGINT'), 50);
        const r = await c.done.finally(() => clearInterval(timer));
        assert.equal(r.signal, 'SIGINT');
        await d.removeAll();
    });

    it('the worker is killed again and again: no byte lost or doubled, in or out', async () => {
        const n = scaled(40, 6) << 20;
        const c = start(d, ['run', '-i', 'cat'], { input: expectedBytes(12, 0, n), bin: releaseBinary() ?? undefined });
        let kills = 0;
        const ended = c.done.then(() => true);
        for (;;) {
            const old = d.workerPid();
            if (old) {
                try {
                    process.kill(old, 'SIGKILL');
                    kills++;
                } catch {
                    // it was replaced this very moment
                }
            }
            if (await Promise.race([ended, new Promise((done) => setTimeout(() => done(false), 25))])) break;
            assert.ok(kills < 2000, `no end after ${kills} kills`);
        }
        const r = await c.done;
        assert.equal(r.code, 0, r.stderr.slice(-2000));
        checkBytes(12, 0, r.stdout);
        assert.equal(r.stdout.length, n);
        assert.ok(kills >= 2, `only ${kills} kills`);
        assert.match(r.stderr, /reconnected after/);
        await d.nextWorker(0);
    });

    /** In front of the daemon, and cuts the first connections with `what` in them before they are answered. */
    const cutting = async (times, body, what = '/connect?') => {
        let cuts = 0;
        const cut = []; // what they asked
        const server = net.createServer((from) => {
            const to = net.connect(d.port, d.host);
            from.on('error', () => to.destroy()).on('close', () => to.destroy());
            to.on('error', () => from.destroy()).pipe(from);
            from.on('data', (bytes) => {
                if (bytes.includes(what) && cuts < times) {
                    cuts++;
                    cut.push(bytes.toString());
                    from.resetAndDestroy();
                } else {
                    to.write(bytes);
                }
            });
        });
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        await Promise.resolve(body({ url: `http://127.0.0.1:${server.address().port}`, token: d.token }, cut)).finally(() => server.close());
        assert.equal(cuts, times);
    };

    it('a worker that dies over the first connection to a process that runs already is no failure', () =>
        cutting(3, async (door) => {
            const r = await cli(door, ['run', '-i', 'sh', '-c', 'cat; exit 5'], { input: 'all of it' });
            assert.deepEqual([r.code, r.text], [5, 'all of it']);
        }));

    it('and neither is it to those who attach', () =>
        cutting(2, async (door) => {
            const p = await d.sh('echo here; exit 6');
            await d.exitOf(p.id);
            const r = await cli(door, ['attach', p.id]);
            assert.deepEqual([r.code, r.text], [6, 'here\n']);
        }));

    /* Each ended with 125 because of one worker's death, while the next one was already there to answer. */
    it('one question that is cut is asked again', async () => {
        const p = await d.sh('printf shown; exit 6', { pty: true, tag: 'asked' });
        await d.exitOf(p.id);
        for (const [line, code] of [['ps -a', 0], ['ps --tag asked -aq', 0], [`logs ${p.id}`, 0], ['logs -n 1 asked', 0], ['wait -e asked', 6],
            ['wait --text shown asked', 0], ['events --since 0 -n 1', 0], ['screen asked', 0], ['record asked', 0], ['info', 0],
            ['attach --no-stdin asked', 6], ['watch asked', 0], ['share --list asked', 0], ['session ls', 0]])
            await cutting(2, async (door) => assert.equal((await cli(door, line.split(' '))).code, code, line), 'HTTP/1.1');
    });

    it('what changes something is not asked again', () =>
        cutting(1, (door) => fails(door, 125, /did not respond/, ['session', 'create', 'cut']), 'HTTP/1.1'));

    it('wait goes on over the death of a worker', async () => {
        const connections = async () => (await d.api('GET', '/v1/activity')).json.connections;
        const p = await d.sh('read x; echo READY; read x; exit 7', { stdin: 'pipe' });
        const before = await connections();
        const waits = [['wait', '-e', p.id], ['wait', '-t', '5m', p.id], ['wait', '--text', 'READY', p.id]].map((args) => start(d, args));
        await waitUntil(async () => (await connections()) >= before + 3, 'the waits');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await ok(d, ['send', p.id, '--enter']);
        assert.deepEqual([(await waits[2].done).code, waits[2].printed()], [0, 'text\n']);
        await ok(d, ['send', p.id, '--enter']);
        assert.equal((await waits[0].done).code, 7);
        assert.deepEqual([(await waits[1].done).code, waits[1].printed()], [0, '7\n']);
    });

    it('and then waits for what is left of its time', async () => {
        const p = await d.sh('exit 0');
        for (const more of [[], ['--text', 'x']])
            await cutting(3, async (door, cut) => {
                await cli(door, ['wait', '-t', '60s', ...more, p.id]);
                const times = cut.map((ask) => Number(/timeout_ms"?[=:](\d+)/.exec(ask)[1]));
                assert.ok(times[0] <= 60000 && times[1] <= times[0] - 100 && times[2] <= times[1] - 100, String(times));
            }, '/wait');
    });

    /* The end of our input threw away what was not yet sent: of a file often all, of a large one most. */
    it('input from a pipe reaches a terminal to the last byte', async () => {
        const file = path.join(d.dir, 'typed');
        for (const n of [6, 300000]) {
            const p = await d.sh(`stty raw -echo; echo up; head -c ${n} > ${file}; exit 3`, { pty: true });
            await d.outputHas(p.id, 'up');
            const input = expectedBytes(13, 0, n);
            const r = await cli(d, ['attach', p.id], { input });
            assert.equal(r.code, 3, r.stderr);
            assert.ok(fs.readFileSync(file).equals(input));
        }
    });

    it('an upgrade in the middle of it is no more than a line', async () => {
        const fifo = path.join(d.dir, 'fifo');
        await promisify(execFile)('mkfifo', [fifo]);
        const r = start(d, ['run', 'sh', '-c', `echo one; read x < ${fifo}; echo two`]);
        await waitUntil(() => r.printed() === 'one\n', 'the first line');
        const old = d.workerPid();
        await ok(d, ['upgrade']);
        await d.nextWorker(old, 20000);
        fs.writeFileSync(fifo, 'go\n');
        const e = await r.done;
        assert.deepEqual([e.code, e.text], [0, 'one\ntwo\n']);
    });

    it('--rm forgets it, --json answers when it has ended', async () => {
        const before = (await d.list()).length;
        assert.equal((await cli(d, ['run', '--rm', 'sh', '-c', 'exit 9'])).code, 9);
        assert.equal((await d.list()).length, before);
        const r = await cli(d, ['run', '--json', 'sh', '-c', 'echo a; echo b >&2; exit 3']);
        assert.equal(r.code, 3);
        const j = JSON.parse(r.text);
        assert.deepEqual([j.stdout, j.stderr, j.exit_code], ['a\n', 'b\n', 3]);
    });

    it('memory stays small whatever goes through', async () => {
        const n = scaled(200, 40) << 20;
        const bin = releaseBinary();
        if (!bin) return;
        const c = spawn(bin, ['run', emit(), '-n', String(n), '-s', '3', '-c', '65536'], { env: cliEnv(d), stdio: ['ignore', 'pipe', 'inherit'] });
        let most = 0;
        let bytes = 0;
        c.stdout.on('data', (b) => {
            bytes += b.length;
            most = Math.max(most, proc.anonBytes(c.pid));
        });
        await new Promise((done) => c.once('close', done));
        assert.equal(bytes, n);
        assert.ok(most < 8 << 20, `${most} bytes`);
    });
});
