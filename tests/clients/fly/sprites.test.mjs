// SPDX-License-Identifier: Apache-2.0
// Sprites by @fly/sprites: commands with and without a terminal, sessions that one comes back to.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ExecError } from '@fly/sprites';
import WsClient from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { childrenOf } from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { base, collect, spritesOf, watched } from './client.mjs';

const SPRITE = '/dialects/fly/v1/sprites/box';

withDaemon('fly: sprites', {}, (d) => {
    const sprite = spritesOf(d);
    const running = async () => (await d.list('?status=running')).map((p) => p.id);
    const failed = (promise) => promise.then(() => assert.fail('no error'), (err) => (assert.ok(err instanceof ExecError, String(err)), err.result));

    it('there is one sprite, by any name', async () => {
        const { client } = sprite();
        assert.equal((await client.getSprite('mine')).name, 'mine');
        assert.equal((await client.createSprite('made')).status, 'running');
        assert.deepEqual((await client.listAllSprites()).map((s) => s.name), ['local']);
        assert.deepEqual((await client.listSprites({ prefix: 'x' })).sprites, []);
    });

    it('execFile: both streams and the exit code', async () => {
        assert.deepEqual(await sprite().execFile('sh', ['-c', 'echo out; echo err >&2']), { stdout: 'out\n', stderr: 'err\n', exitCode: 0 });
        assert.deepEqual(await failed(sprite().execFile('sh', ['-c', 'echo last; exit 7'])), { stdout: 'last\n', stderr: '', exitCode: 7 });
        assert.equal((await failed(sprite().execFile('sh', ['-c', 'kill -9 $$']))).exitCode, 137);
        assert.equal((await sprite().exec('echo  a   b')).stdout, 'a b\n');
    });

    it('words, directory and environment are as given', async () => {
        assert.equal((await sprite().execFile('printf', ['%s|', 'a b', '', 'ü&=+%', '#?'])).stdout, 'a b||ü&=+%|#?|');
        assert.equal((await sprite().execFile('pwd', [], { cwd: '/usr' })).stdout, '/usr\n');
        const env = (await sprite().execFile('/usr/bin/env', [], { env: { A: '1', B: 'x=y z' } })).stdout.trim().split('\n');
        assert.deepEqual(env.filter((l) => !/^HOLDFAST_|^PWD=/.test(l)).sort(), ['A=1', 'B=x=y z']); // it stands for all of it
        assert.match((await sprite().execFile('env')).stdout, /^PATH=/m);
    });

    it('no output is lost at the exit, however much it is', async () => {
        const n = 9000000; // under the client's own maxBuffer
        const { stdout } = await sprite().execFile('sh', ['-c', `yes 0123456789abcde | head -c ${n}`]);
        assert.ok(stdout === '0123456789abcde\n'.repeat(n / 16), `${stdout.length} bytes`);
        const all = await Promise.all(Array.from({ length: 20 }, (_, i) => sprite().execFile('sh', ['-c', `seq ${i} ${i + 999}`])));
        all.forEach(({ stdout: s }, i) => assert.equal(s, Array.from({ length: 1000 }, (_, n) => `${i + n}\n`).join('')));
    });

    it('spawn: input as it comes, and its end', async () => {
        const w = watched(sprite().spawn('cat'));
        await new Promise((done) => w.command.once('spawn', done));
        w.command.stdin.write('one ');
        await w.has('one ');
        const big = 'x'.repeat(3000000);
        w.command.stdin.end(big);
        await w.ended();
        assert.deepEqual([w.exit, w.stdout.length, w.stderr, w.errors], [0, 4 + big.length, '', []]);
    });

    it('spawn: signals reach the whole tree', async () => {
        const pids = path.join(d.dir, 'tree');
        const w = watched(sprite().spawn('sh', ['-c', `sleep 1001 & echo $! > ${pids}; echo up; wait`]));
        await w.has('up');
        w.command.kill();
        await w.ended();
        assert.equal(w.exit, 143);
        const child = fs.readFileSync(pids, 'utf8').trim();
        await waitUntil(() => !fs.existsSync(`/proc/${child}`), 'the child to end');
        const t = watched(sprite().spawn('sh', ['-c', 'trap "echo caught; exit 5" INT; echo up; while :; do sleep 0.05; done']));
        await t.has('up');
        t.command.signal('SIGINT');
        await t.ended();
        assert.deepEqual([t.exit, t.stdout], [5, 'up\ncaught\n']);
    });

    it('what is not there is told as a shell tells it', async () => {
        const none = await failed(sprite().execFile('no-such-program-here'));
        assert.equal(none.exitCode, 127);
        assert.match(none.stderr, /no-such-program-here/);
        assert.equal((await failed(sprite().execFile(d.dir))).exitCode, 126);
        assert.match((await failed(sprite().execFile('pwd', [], { cwd: '/no/such' }))).stderr, /\/no\/such/);
        const w = watched(sprite().spawn('no-such-program-here', [], { tty: true }));
        await w.ended();
        assert.match(w.stdout, /no-such-program-here/);
        assert.deepEqual([w.exit, w.messages.at(-1)], [1, { type: 'exit', exit_code: 127 }]);
    });

    it('a terminal: info first, size, echo, resize, exit', async () => {
        const w = watched(sprite().spawn('sh', [], { tty: true, rows: 30, cols: 100, env: { PS1: '$ ', PATH: process.env.PATH } }));
        const info = await w.info();
        assert.equal(w.messages[0], info);
        assert.deepEqual({ ...info, session_id: 0, created: 0 }, { type: 'session_info', session_id: 0, command: 'sh', created: 0, cols: 100, rows: 30, is_owner: true, tty: true });
        assert.ok((await d.get(info.session_id)).pty);
        w.command.stdin.write('stty size; echo $TERM\r');
        await w.has('30 100\r\nxterm-256color\r\n');
        w.command.resize(120, 40);
        await waitUntil(async () => (await d.get(info.session_id)).cols === 120, 'the size');
        w.command.stdin.write('stty size\r');
        await w.has('40 120\r\n');
        w.command.stdin.write('sleep 1000\r');
        await waitUntil(() => childrenOf(childrenOf(d.keeperPid()).find((p) => p.name === 'sh').pid)[0]?.name === 'sleep', 'the sleep');
        w.command.signal('SIGINT');
        w.command.stdin.write('exit\r');
        await w.ended();
        assert.deepEqual(w.messages.at(-1), { type: 'exit', exit_code: 130 });
        assert.deepEqual([w.exit, w.errors], [1, []]); // the client knows success and failure only
        const ok = watched(sprite().spawn('sh', ['-c', 'printf last'], { tty: true }));
        await ok.ended();
        assert.deepEqual([ok.stdout, ok.exit], ['last', 0]);
    });

    it('a session is left, found in the list, and attached to with its history', async () => {
        const w = watched(sprite().createSession('sh', [], { env: { PS1: '$ ', PATH: process.env.PATH } }));
        const { session_id: id } = await w.info();
        w.command.stdin.write('echo one-$((1+1))\r');
        await w.has('one-2\r\n');
        w.leave();
        await w.ended();
        await waitUntil(async () => (await d.get(id)).viewers === 0, 'it to be noticed');
        const [s, ...more] = await sprite().listSessions();
        assert.deepEqual(more, []);
        assert.deepEqual([s.id, s.command, s.workdir, s.isActive, s.tty], [id, 'sh', fs.realpathSync(d.dir), true, true]);
        assert.ok(Math.abs(s.created - Date.now()) < 600000 && s.lastActivity >= s.created && s.bytesPerSecond >= 0);
        const back = watched(sprite().attachSession(id));
        await back.has('one-2\r\n');
        assert.equal(back.messages[0].type, 'session_info');
        await waitUntil(() => back.command.wsCmd.pingInterval, 'the client to be ready');
        back.command.stdin.write('echo two-$((1+2)); exit\r');
        await back.ended();
        assert.ok(back.stdout.indexOf('one-2') < back.stdout.indexOf('two-3'), back.stdout);
        assert.equal(back.exit, 0);
    });

    it('a command without a terminal is attached to as well: all of it, stream by stream, and its input', async () => {
        const w = watched(sprite().spawn('sh', ['-c', 'echo out; echo err >&2; cat; exit 6'], { detachable: true }));
        await w.has('out\n');
        await waitUntil(() => w.stderr === 'err\n', 'the error');
        const [{ id, tty }] = await sprite().listSessions();
        assert.equal(tty, false);
        w.leave();
        await w.ended();
        assert.equal(w.exit, -1); // the client was not told
        const back = watched(sprite().attachSession(id));
        await back.has('out\n');
        await waitUntil(() => back.stderr === 'err\n', 'the error again');
        await waitUntil(() => back.command.wsCmd.pingInterval, 'the client to be ready');
        back.command.stdin.end('typed\n');
        await back.ended();
        assert.deepEqual([back.stdout, back.stderr, back.exit], ['out\ntyped\n', 'err\n', 6]);
        const late = watched(sprite().attachSession(id)); // it has ended, and is remembered
        await late.ended();
        assert.deepEqual([late.stdout, late.stderr, late.exit], ['out\ntyped\n', 'err\n', 6]);
    });

    /* As Go's client asks a sprite that has sent it no version: the id is in the query. */
    it('a session is attached to by ?id= as well, also by one that may only watch', async () => {
        const made = watched(sprite().createSession('sh', [], { env: { PS1: '$ ', PATH: process.env.PATH } }));
        const { session_id: id } = await made.info();
        made.command.stdin.write('echo one-$((1+1))\r');
        await made.has('one-2\r\n');
        const url = (which, more = '') => `${base(d).replace('http', 'ws')}/v1/sprites/box/exec?id=${which}&stdin=true${more}`;
        const open = (role, which, more) => {
            const ws = new WsClient(url(which, more), { headers: { Authorization: `Bearer ${d.tokens[role]}` } });
            const seen = { ws, text: '', messages: [] };
            ws.on('message', (m, binary) => (binary ? (seen.text += m) : seen.messages.push(JSON.parse(m))));
            ws.on('unexpected-response', (_, res) => ((seen.status = res.statusCode), res.resume(), ws.terminate()));
            ws.on('error', () => {});
            return seen;
        };
        const own = open('own', id, '&tty=true&rows=24&cols=80');
        const watch = open('watch', id, '&tty=true');
        for (const seen of [own, watch]) {
            await waitUntil(() => seen.text.includes('one-2\r\n'), 'the history');
            assert.deepEqual([seen.messages[0].type, seen.messages[0].session_id], ['session_info', id]);
        }
        assert.deepEqual([own.messages[0].is_owner, watch.messages[0].is_owner], [true, false]);
        const before = (await d.list()).length;
        own.ws.send(Buffer.from('echo two-$((1+2))\r'));
        await waitUntil(() => watch.text.includes('two-3\r\n'), 'its output');
        assert.equal((await d.list()).length, before, 'no command was started');
        const none = open('own', 'proc_none');
        await waitUntil(() => none.status === 404, 'the refusal');
        for (const seen of [own, watch]) seen.ws.terminate();
        made.command.stdin.write('exit\r');
        await made.ended();
    });

    it('who is alone for too long is ended, and who has company is not', async () => {
        const w = watched(sprite().spawn('sleep', ['1002'], { tty: true, maxRunAfterDisconnect: '1s' }));
        const { session_id: id } = await w.info();
        const other = watched(sprite().attachSession(id));
        await other.info();
        w.leave();
        await w.ended();
        assert.equal((await d.get(id)).status, 'running');
        other.leave();
        assert.equal((await d.exitOf(id)).exit.by, 'detach');
        const plain = watched(sprite().spawn('sh', ['-c', 'echo up; sleep 1003'], { maxRunAfterDisconnect: '500ms' }));
        await plain.has('up');
        const [{ id: other_id }] = await sprite().listSessions();
        plain.leave();
        assert.equal((await d.exitOf(other_id)).exit.by, 'detach');
    });

    it('kill: what happens is told line by line, to the end of the whole tree', async () => {
        const start = async (line) => {
            const w = watched(sprite().createSession('sh', ['-c', line]));
            await w.has('up');
            return [(await w.info()).session_id, w];
        };
        const [id, w] = await start('echo up; sleep 1004 & wait');
        const events = await collect(await sprite().killSession(id));
        assert.deepEqual(events.map((e) => e.type), ['signal', 'exited', 'complete']);
        assert.deepEqual([events[0].signal, events[0].pid, events.at(-1).exitCode], ['SIGTERM', (await d.get(id)).pid, 143]);
        await w.ended();
        const [stubborn] = await start('trap "" TERM HUP; echo up; while :; do sleep 0.05; done');
        const told = await collect(await sprite().killSession(stubborn, 'SIGTERM', '500ms'));
        assert.deepEqual(told.map((e) => e.type), ['signal', 'timeout', 'killed', 'exited', 'complete']);
        assert.deepEqual([told[2].signal, told.at(-1).exitCode], ['SIGKILL', 137]);
        const [polite] = await start('trap "exit 9" HUP; echo up; while :; do sleep 0.05; done');
        assert.equal((await collect(await sprite().killSession(polite, 'HUP'))).at(-1).exitCode, 9);
        const [deaf] = await start('trap "" USR1; echo up; while :; do sleep 0.05; done');
        assert.deepEqual((await collect(await sprite().killSession(deaf, 'SIGUSR1', '300ms'))).map((e) => e.type), ['signal', 'timeout', 'killed', 'exited', 'complete']);
        assert.deepEqual((await collect(await sprite().killSession(id))).map((e) => e.type), ['exited', 'complete']); // once more
        await assert.rejects(sprite().killSession('proc_none'), (err) => err.statusCode === 404 && err.errorCode === 'no_such_process');
        await assert.rejects(sprite().killSession(id, 'SIGNONE'), (err) => err.statusCode === 400);
        await assert.rejects(sprite().killSession(id, 'TERM', 'soon'), (err) => err.statusCode === 400);
        assert.deepEqual(await running(), []);
    });

    it('by HTTP: streams, exit code, input, frames that stay apart', async () => {
        const http = (...args) => sprite().execFileHTTP(...args);
        assert.deepEqual(await http('sh', ['-c', 'echo out; echo err >&2; echo out2']), { stdout: 'out\nout2\n', stderr: 'err\n', exitCode: 0 });
        assert.deepEqual(await failed(http('sh', ['-c', 'for i in 1 2 3; do echo $i; echo e >&2; sleep 0.1; done; exit 3'])), { stdout: '1\n2\n3\n', stderr: 'e\ne\ne\n', exitCode: 3 });
        assert.equal((await http('cat', [], { input: 'in\n' })).stdout, 'in\n');
        assert.equal((await http('wc', ['-c'], { input: Buffer.alloc(1000000) })).stdout.trim(), '1000000');
        assert.equal((await http('cat')).stdout, '');
        assert.equal((await http('sh', ['-c', 'pwd; echo $A'], { cwd: '/usr', env: { A: 'b', PATH: process.env.PATH } })).stdout, '/usr\nb\n');
        assert.equal((await failed(http('no-such-program-here'))).exitCode, 127);
        for (const n of [16379, 16380, 16381, 16382]) { // where the client's memory for unpacking ends
            assert.equal((await http('head', ['-c', String(n), '/dev/zero'])).stdout, '\0'.repeat(n));
        }
        const long = await http('sh', ['-c', 'seq 1 4000; seq 1 3000 >&2']);
        assert.equal(long.stdout, Array.from({ length: 4000 }, (_, i) => `${i + 1}\n`).join(''));
        assert.equal(long.stderr, Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join(''));
        await assert.rejects(sprite('watch').execFileHTTP('true'), (err) => err.statusCode === 403);
    });

    it('by HTTP without gzip: one chunk for each frame', async () => {
        const res = await d.open('POST', `${SPRITE}/exec?cmd=sh&cmd=-c&cmd=${encodeURIComponent('echo out; echo err >&2; exit 4')}`);
        assert.deepEqual([res.statusCode, res.headers['transfer-encoding'], 'content-encoding' in res.headers], [200, 'chunked', false]);
        assert.equal((await d.get(res.headers['fly-request-id'])).command, 'sh');
        assert.equal(Buffer.concat(await res.toArray()).toString(), '\x01out\n\x02err\n\x03\x04');
    });

    it('control mode is not there, and the client does without', async () => {
        const multiplexed = spritesOf(d, { controlMode: true })();
        assert.ok(multiplexed.useControlMode());
        assert.equal((await multiplexed.execFile('echo', ['hi'])).stdout, 'hi\n');
        assert.equal((await fetch(`${base(d)}/v1/sprites/box/control`, { headers: d.authHeaders() })).status, 404);
    });

    it('frames of a command without a terminal, byte by byte', async () => {
        const ws = await WsRaw.open(d, `${SPRITE}/exec?cmd=cat&stdin=true`);
        const info = await ws.message('session_info');
        assert.deepEqual([info.tty, info.command], [false, 'cat']);
        ws.send(OP.BINARY, Buffer.from('\0half', 'latin1'), { fin: false });
        ws.send(OP.CONT, 'and half');
        assert.equal((await ws.find(OP.BINARY)).payload[0], 1);
        ws.send(OP.BINARY, Buffer.from([0])); // nothing
        ws.send(OP.BINARY, Buffer.alloc(0));
        ws.send(OP.BINARY, Buffer.from([4]));
        let rest = Buffer.alloc(0);
        for (let f; (f = await ws.frame()).opcode !== OP.CLOSE; ) rest = Buffer.concat([rest, f.payload]);
        assert.deepEqual(rest.subarray(-2), Buffer.from([3, 0]));
        ws.destroy();
        assert.equal((await d.output(info.session_id)).toString(), 'halfand half');
    });
});
