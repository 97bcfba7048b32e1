// SPDX-License-Identifier: Apache-2.0
// `holdfast run -it` and `attach` on a real terminal.

import assert from 'node:assert/strict';
import { it, test } from '../lib/test.mjs';
import { cli, cliEnv, ok, onPty } from '../lib/cli.mjs';
import { binary, daemonFor, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { COOKED, Pty } from '../lib/pty.mjs';
import { waitUntil } from '../lib/wait.mjs';

const shell = ['run', '-it', '-e', 'PS1=ready> ', 'bash', '--norc', '--noprofile'];

withDaemon('the terminal', {}, (d) => {
    const newest = async () => (await d.list())[0];

    it('a shell session: raw mode, echo once, exit code, modes as they were', async () => {
        const t = onPty(d, shell);
        await t.shows('ready> ');
        assert.match(await t.modes(), /icanon=0 echo=0 isig=0/);
        t.type('echo a$((40+2))b\r');
        await t.shows('a42b');
        assert.equal(t.text.match(/echo a\$/g).length, 1);
        t.type('exit 7\r');
        await t.endsWith('exit 7');
        await t.close();
    });

    it('the size at the start and after a change of the window', async () => {
        const t = onPty(d, shell, { rows: 31, cols: 97 });
        await t.shows('ready> ');
        t.type('stty size\r');
        await t.shows('31 97');
        t.resize(40, 120);
        await waitUntil(async () => (await newest()).cols === 120, 'the new size');
        t.type('stty size\r');
        await t.shows('40 120');
        t.type('exit\r');
        await t.endsWith('exit 0');
        await t.close();
    });

    it('ctrl-c goes to the program, not to us', async () => {
        const t = onPty(d, shell);
        await t.shows('ready> ');
        t.type('sleep 1000\r');
        await waitUntil(async () => (await newest()).foreground === 'sleep', 'sleep in the foreground');
        t.type('\x03');
        await t.shows('ready> ');
        t.type('echo code $?\r');
        await t.shows('code 130');
        t.type('\x04');
        await t.exit();
        await t.close();
    });

    it('TERM is that of our terminal', async () => {
        const t = onPty(d, ['run', '-it', 'sh', '-c', 'echo "<$TERM>"'], { env: { TERM: 'vt220' } });
        await t.shows('<vt220>');
        await t.endsWith('exit 0');
        await t.close();
    });

    it('ctrl-p ctrl-q leaves it running, and attach goes back with the same screen', async () => {
        const t = onPty(d, ['run', '-it', '--tag', 'there', ...shell.slice(2)]);
        await t.shows('ready> ');
        t.type('echo before-leaving; x=77\r');
        await t.shows('before-leaving\r\n');
        await t.shows('ready> ');
        t.type('\x10\x11');
        await t.endsWith('exit 0');
        await t.shows('holdfast attach');
        await t.close();
        const u = onPty(d, ['attach', 'there']);
        await u.shows('before-leaving\r\n');
        u.type('echo still $x\r');
        await u.shows('still 77');
        u.type('exit 5\r');
        await u.endsWith('exit 5');
        await u.close();
    });

    it('a ctrl-p that is not followed by ctrl-q is typed, and other keys can be chosen', async () => {
        const t = onPty(d, ['run', '-it', '--detach-keys', 'ctrl-a,d', 'sh', '-c', 'stty raw -echo; echo up; od -An -tx1 -N4']);
        await t.shows('up');
        t.type('\x10\x11\x01x');
        await t.shows('10 11 01 78');
        await t.endsWith('exit 0');
        await t.close();
        const u = onPty(d, ['run', '-it', '--detach-keys', 'ctrl-a,d', 'sleep', '1000']);
        await u.raw();
        u.type('\x01d');
        await u.endsWith('exit 0');
        await u.close();
        await d.removeAll();
    });

    it('leaving a full-screen program leaves no trace of it', async () => {
        const draw = 'printf "\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25l\\033[31mfull screen"; exec sleep 1000';
        const t = onPty(d, ['run', '-it', 'sh', '-c', draw]);
        await t.shows('full screen');
        t.type('\x10\x11');
        await t.endsWith('exit 0');
        const end = t.text.slice(t.text.indexOf('full screen'));
        for (const reset of ['\x1b[?1049l', '\x1b[?1000l', '\x1b[?2004l', '\x1b[?25h', '\x1b[0m'])
            assert.ok(end.includes(reset), JSON.stringify([reset, end]));
        await t.close();
        await d.removeAll();
    });

    it('q leaves watch also where there is no terminal to look at', async () => {
        const p = await d.sh('echo one; echo two; exec sleep 1000');
        for (const key of ['q', '\x03', '\x10\x11']) {
            const t = onPty(d, ['watch', p.id]);
            await t.shows('one\r\ntwo\r\n'); // lines begin at the left
            t.type(key);
            await t.exit();
            assert.equal((await d.get(p.id)).status, 'running');
            await t.close();
        }
        await d.remove(p.id);
    });

    it('what is replayed asks our terminal nothing', async () => {
        const ask = 'printf "\\033[c\\033[6n\\033]11;?\\007shown"; stty raw -echo; exec cat';
        const p = await d.sh(ask, { pty: true });
        await d.outputHas(p.id, 'shown');
        const t = onPty(d, ['attach', p.id]);
        await t.shows('shown');
        assert.ok(!t.text.includes('\x1b[c') && !t.text.includes('[6n') && !t.text.includes(']11;?'), JSON.stringify(t.text));
        t.type('\x1b[6n');
        await t.shows('\x1b[6n'); // live it passes
        t.type('\x10\x11');
        await t.endsWith('exit 0');
        await t.close();
        await d.remove(p.id);
    });

    it('signals from outside put the terminal back and leave the process alone', async () => {
        for (const [name, n] of [['SIGTERM', 15], ['SIGHUP', 1], ['SIGINT', 2], ['SIGQUIT', 3]]) {
            const t = onPty(d, ['run', '-it', 'sleep', '1000']);
            await t.raw();
            await waitUntil(async () => (await newest())?.viewers === 1, 'the viewer');
            const p = await newest();
            t.signal(n);
            assert.equal(await t.exit(), `signal ${n}`, name);
            assert.equal(await t.modes(), COOKED, name);
            assert.ok(proc.isAlive(p.pid));
            await t.close();
            await d.removeAll();
        }
    });

    it('a crash puts the terminal back, too', async () => {
        const t = onPty(d, ['run', '-it', 'sleep', '1000'], { env: { ASAN_OPTIONS: 'handle_abort=0:detect_leaks=0' } });
        await t.raw();
        t.signal(6);
        await t.endsWith('signal 6');
        await t.close();
        await d.removeAll();
    });

    it('stopped and continued, as a shell does it', async () => {
        const t = new Pty('bash', ['--norc', '--noprofile', '-i'], { env: cliEnv(d, { PS1: 'outer> ', HF: binary() }) });
        await t.shows('outer> ');
        t.type('$HF run -it --tag stopme sh -c "echo up; exec cat"\r');
        await t.shows('up\r\n');
        await t.raw();
        const client = (await waitUntil(() => proc.descendantsOf(t.child.pid).find((s) => s.name === 'holdfast'), 'the client')).pid;
        process.kill(client, 'SIGTSTP');
        await t.shows('outer> ');
        t.type('stty -a | grep -c " icanon"\r');
        await t.shows('\r1\r\n');
        t.type('fg\r');
        await t.raw();
        t.type('typed after fg\r');
        await t.shows('typed after fg\r\ntyped after fg\r\n');
        t.type('\x04');
        await t.shows('outer> ');
        t.type('exit\r');
        await t.exit();
        await t.close();
    });

    it('the terminal is gone: we go, the process stays', async () => {
        const t = onPty(d, ['run', '-it', 'sleep', '1000']);
        await t.raw();
        await waitUntil(async () => (await newest())?.viewers === 1, 'the viewer');
        const p = await newest();
        t.tell('hangup');
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'the viewer to go');
        assert.ok(proc.isAlive(p.pid));
        t.destroy();
        await d.removeAll();
    });

    it('-t without -i shows a terminal and takes nothing', async () => {
        const t = onPty(d, ['run', '-t', 'sh', '-c', 'stty size; exit 3'], { rows: 30, cols: 90 });
        await t.shows('30 90');
        await t.endsWith('exit 3');
        await t.close();
    });

    it('-it without a terminal is refused with a reason', async () => {
        const r = await cli(d, ['run', '-it', 'true'], { input: '' });
        assert.equal(r.code, 2);
        assert.match(r.stderr, /leave out -t/);
    });

    it('watch shows and types nothing; q leaves', async () => {
        const p = await d.sh('echo look at me; exec cat', { pty: true });
        await d.outputHas(p.id, 'look at me');
        const t = onPty(d, ['watch', p.id], { rows: 50, cols: 150 });
        await t.shows('look at me');
        t.type('abc');
        t.type('q');
        await t.endsWith('exit 0');
        await t.close();
        assert.ok(!(await d.output(p.id)).includes('abc'));
        assert.equal((await d.get(p.id)).cols, 80);
        await d.remove(p.id);
    });

    it('ps fits the terminal, with colours there and only there', async () => {
        const p = await d.sh(`: ${'long '.repeat(60)}; exec sleep 1000`);
        const t = onPty(d, ['ps'], { cols: 100 });
        await t.endsWith('exit 0');
        assert.match(t.text, /\x1b\[32m/);
        for (const line of t.text.replace(/\x1b\[[0-9;]*m/g, '').split('\r\n'))
            assert.ok([...Buffer.from(line, 'latin1').toString()].length <= 100, line);
        await t.close();
        const u = onPty(d, ['ps'], { env: { NO_COLOR: '1' } });
        await u.endsWith('exit 0');
        assert.ok(!u.text.includes('\x1b'));
        await u.close();
        assert.ok(!(await ok(d, ['ps'])).includes('\x1b'));
        await d.remove(p.id);
    });

    it('a killed worker: one line, the same screen, what was typed meanwhile arrives once', async () => {
        const t = onPty(d, ['run', '-it', 'sh', '-c', 'stty -echo; echo up; while read -r x; do echo "got $x"; done']);
        await t.shows('up');
        await t.raw();
        for (let i = 0; i < 5; i++) {
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            t.type(`line ${i}\r`);
            await t.shows(`got line ${i}`);
            await d.nextWorker(old);
        }
        t.type('\x04');
        await t.endsWith('exit 0');
        for (let i = 0; i < 5; i++) assert.equal(t.text.split(`got line ${i}`).length, 2, t.text);
        assert.match(t.text, /holdfast: reconnected after [\d.]+ s; nothing was lost\r\n/);
        await t.close();
    });

    it('--quiet says nothing of it', async () => {
        const t = onPty(d, ['run', '-itq', 'cat']);
        await t.raw();
        await waitUntil(async () => (await newest())?.viewers === 1, 'the viewer');
        process.kill(d.workerPid(), 'SIGKILL');
        t.type('after\r');
        await t.shows('after\r\nafter');
        assert.ok(!t.text.includes('holdfast'));
        t.type('\x04');
        await t.endsWith('exit 0');
        await t.close();
    });
});

test('kill -9 of the whole daemon: the terminal is put back and the reason is said', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const draw = 'printf "\\033[?1049h\\033[?25lup"; exec cat';
        const t = onPty(d, ['run', '-it', '--retry', '1500ms', 'sh', '-c', draw]);
        await t.shows('up');
        await t.raw();
        d.crash();
        await t.endsWith('exit 125');
        assert.match(t.text, /cannot reconnect/);
        assert.ok(t.text.includes('\x1b[?1049l') && t.text.includes('\x1b[?25h'));
        await t.close();
        await d.exit;
        d.kill();
        d.child = null;
    }));

test('a daemon that was started anew does not know the process: said, and the terminal is put back', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const t = onPty(d, ['run', '-it', 'sh', '-c', 'echo up; exec cat']);
        await t.shows('up');
        await t.raw();
        d.crash();
        await d.exit;
        d.exited = undefined;
        d.stdout = d.stderr = '';
        d.options.listen = [`127.0.0.1:${d.directPort ?? d.port}`];
        await d.start();
        await t.endsWith('exit 125');
        assert.match(t.text, /process no longer exists/);
        await t.close();
    }));
