// SPDX-License-Identifier: Apache-2.0
// Terminals of the published Hyperbrowser client: its own frames, cursors and exits.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { clientsOf, PLACES, refused } from './client.mjs';

/** Reads a connection as it goes: text, numbers and the exit. */
class Seen {
    constructor(connection) {
        this.connection = connection;
        this.raw = Buffer.alloc(0);
        this.pieces = [];
        this.exit = null;
        this.closed = (async () => {
            for await (const e of connection.events()) {
                if (e.type === 'exit') {
                    this.exit = e.status;
                    continue;
                }
                this.pieces.push(e);
                this.raw = Buffer.concat([this.raw, e.raw]);
            }
        })();
    }
    get text() {
        return this.raw.toString();
    }
    get seqs() {
        return this.pieces.map((e) => e.seq);
    }
    sees(what) {
        return waitUntil(() => this.text.includes(what), `${JSON.stringify(what)} in ${JSON.stringify(this.text)}`);
    }
}
const text = (status) => Buffer.concat((status.output ?? []).map((c) => c.raw)).toString();
const dense = (seqs, first = 1) => assert.deepEqual(seqs, seqs.map((_, i) => i + first));
const sh = (line, more) => ({ command: 'sh', args: ['-c', line], ...more });

for (const [where, place] of Object.entries(PLACES)) {
    withDaemon(`hyperbrowser: terminals ${where}`, { args: ['--dialect', 'hyperbrowser=127.0.0.1:0'] }, (d) => {
        const client = clientsOf(d, place);
        let made;
        const sandbox = () => (made ??= client().sandboxes.connect('local'));
        const attach = async (t, cursor) => new Seen(await t.attach(cursor));

        it('the documented session: create, attach, type, exit; and again from the record', async () => {
            const sb = await sandbox();
            assert.equal(sb.pty, sb.terminal);
            const t = await sb.terminal.create({ command: 'bash', args: ['-l'], rows: 24, cols: 80 });
            assert.deepEqual([t.current.running, t.current.rows, t.current.cols], [true, 24, 80]);
            const s = await attach(t);
            await s.connection.write('stty size; echo $TERM\n');
            await s.sees('24 80');
            await s.sees('xterm-256color');
            await s.connection.write(Buffer.from('exit 3\n'));
            await s.closed;
            assert.deepEqual([s.exit.exitCode, s.exit.running, s.exit.timedOut], [3, false, false]);
            assert.ok(s.exit.finishedAt >= s.exit.startedAt && s.exit.startedAt > 1e12);
            const again = await attach(t);
            await again.closed;
            assert.equal(again.text, s.text);
            assert.deepEqual(again.seqs, s.seqs);
            assert.equal(again.exit.exitCode, 3);
            const w = await t.wait({ timeoutMs: 2000, includeOutput: true });
            assert.equal(text(w), s.text);
        });

        it('the first bytes arrive every time: 100 attaches', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh("printf 'the prompt> '; read x"));
            await d.outputHas(t.id, 'prompt> ');
            for (let i = 0; i < 100; i++) {
                const s = await attach(t);
                await s.sees('the prompt> ');
                assert.equal(s.seqs[0], 1);
                await s.connection.close();
            }
            assert.equal((await t.kill()).running, false);
        });

        // A client that is not listening yet would lose output, even if a busy machine delays it for long.
        it('the first bytes wait for a client that is late: for its pong, or for what it says', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh("printf 'the prompt> '; read x"));
            await d.outputHas(t.id, 'prompt> ');
            for (const say of [(ws, ping) => ws.send(OP.PONG, ping.payload), (ws) => ws.sendJson({ type: 'resize', rows: 30, cols: 100 })]) {
                const ws = await WsRaw.open(d, `/dialects/hyperbrowser/sandbox/pty/${t.id}/ws`);
                const ping = await ws.frame();
                assert.equal(ping.opcode, OP.PING);
                await holdsFor(600, () => ws.conn.held.length === 0, 'nothing is sent');
                say(ws, ping);
                assert.equal(Buffer.from(JSON.parse((await ws.frame()).payload).data, 'base64').toString(), 'the prompt> ');
                ws.destroy();
            }
            await t.kill();
        });

        it('resize by frame and by call is there for all who look', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create({ command: 'sh' });
            const s = await attach(t);
            await s.connection.resize(32, 110);
            // The frame and the call come by two connections, so either may be read first.
            await waitUntil(async () => {
                const c = (await t.refresh()).current;
                return c.rows === 32 && c.cols === 110;
            }, 'the new size');
            await s.connection.write('stty size\n');
            await s.sees('32 110');
            const r = await t.resize(30, 100);
            assert.deepEqual([r.rows, r.cols], [30, 100]);
            await s.connection.write('stty size\n');
            await s.sees('30 100');
            dense(s.seqs);
            await s.connection.close();
            await t.kill();
            await refused(t.resize(0, 10), 400, { code: 'bad_size' });
            const pipe = await sb.processes.start('sleep 100');
            const p = await sb.terminal.get(pipe.id);
            await refused(p.resize(30, 100), 409, { code: 'not_a_terminal' });
            await pipe.kill();
        });

        it('sizes that come before any output cost no number', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create({ command: 'cat' });
            const s = await attach(t);
            await t.resize(32, 110);
            await t.resize(30, 100);
            await s.connection.write('typed\n');
            await s.sees('typed');
            dense(s.seqs);
            await s.connection.close();
            await t.kill();
        });

        it('output only where it is asked for, and then all of it', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh("printf 'one '; read x; printf '\\377two'; read x"));
            await d.outputHas(t.id, 'one ');
            assert.equal((await sb.terminal.get(t.id)).current.output, undefined);
            assert.equal(text((await sb.terminal.get(t.id, true)).current), 'one ');
            const s = await attach(t);
            await s.connection.write('\n');
            await waitUntil(() => s.raw.includes(Buffer.from('\xfftwo', 'latin1')), 'the second part');
            const now = (await t.refresh(true)).current;
            assert.deepEqual(Buffer.concat(now.output.map((c) => c.raw)), s.raw);
            assert.deepEqual(now.output.map((c) => c.seq), s.seqs);
            dense(s.seqs);
            await s.connection.close();
            await t.kill();
        });

        it('a cursor gives only what is newer, once', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh('stty -echo; for i in 1 2 3 4; do echo line$i; read x; done'));
            const first = await attach(t);
            await first.sees('line1');
            await first.connection.write('\n');
            await first.sees('line2');
            await first.connection.close();
            const last = first.pieces.at(-1).seq;
            const next = await attach(t, last);
            await next.connection.write('\n');
            await next.sees('line3');
            assert.ok(!next.text.includes('line2'));
            dense(next.seqs, last + 1);
            await next.connection.write('\n');
            await next.connection.write('\n');
            await next.closed;
            assert.equal(next.exit.exitCode, 0);
            const end = await attach(t, next.pieces.at(-1).seq);
            await end.closed;
            assert.deepEqual([end.text, end.exit.exitCode], ['', 0]);
            await refused(t.attach(999), 416);
            await refused(t.attach('x'), 400);
        });

        it('an old cursor is told that its place is gone', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh('stty raw; head -c 3000000 /dev/zero'));
            await t.wait();
            await refused(t.attach(1), 410, { code: 'replay_window_expired' });
            const s = await attach(t);
            await s.closed;
            dense(s.seqs, s.seqs[0]);
            assert.ok(s.raw.length >= 1 << 20 && s.exit.exitCode === 0);
        });

        it('a large output arrives whole, in order, in whole characters', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create(sh("stty raw -echo; echo up; read x; yes 'あ€😀' | head -n 150000"));
            const s = await attach(t);
            await s.sees('up\n'); // before that, what is typed would be echoed
            await s.connection.write('\n');
            await s.closed;
            assert.equal(s.raw.length, 3 + 150000 * 11);
            assert.ok(s.pieces.map((e) => e.data).join('') === `up\n${'あ€😀\n'.repeat(150000)}`);
            dense(s.seqs);
        });

        it('kill ends an interactive shell, a signal is just that one', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create({ command: 'bash', args: ['-l'] });
            const s = await attach(t);
            const dead = await t.kill();
            assert.equal(dead.running, false);
            await s.closed;
            assert.equal(s.exit.running, false);
            const u = await sb.terminal.create(sh('trap "echo caught" INT; echo up; while :; do sleep 0.1; done'));
            const { pid } = await d.get(u.id);
            const w = await attach(u);
            await w.sees('up');
            assert.equal((await u.signal('INT')).running, true);
            await w.sees('caught');
            await refused(u.wait({ timeoutMs: 100 }), 408, { text: 'timed out' });
            assert.equal((await u.kill('KILL')).running, false);
            await waitUntil(() => proc.sessionIsGone(pid), 'its child to be gone too');
            await refused(u.signal('TERM'), 409);
            const out = await sb.terminal.create({ command: 'sleep', args: ['100'], timeoutMs: 200 });
            const late = await out.wait();
            assert.deepEqual([late.running, late.timedOut], [false, true]);
        });

        it('a shell line as command, where that is asked for', async () => {
            const sb = await sandbox();
            const t = await sb.terminal.create({ command: 'echo $((40+2)); exit 5', useShell: true, env: { A: 'b' }, cwd: '/' });
            const w = await t.wait({ includeOutput: true });
            assert.deepEqual([text(w), w.exitCode, w.cwd], ['42\r\n', 5, '/']);
            const q = await sb.terminal.create({ command: 'printf', args: ['%s|', "it's", 'a b'], useShell: true });
            assert.equal(text(await q.wait({ includeOutput: true })), "it's|a b|");
            await refused(sb.terminal.create({ command: '/no/such' }), 422, { code: 'spawn_failed' });
            await refused(sb.terminal.create({ command: 'sh', rows: 0, cols: 80 }), 400);
        });

        it('a size of which only one side is given', async () => {
            const sb = await sandbox();
            for (const [given, rows, cols] of [[{ rows: 10 }, 10, 80], [{ cols: 100 }, 24, 100], [{}, 24, 80]]) {
                const t = await sb.terminal.create({ command: 'stty', args: ['size'], ...given });
                assert.deepEqual([t.current.rows, t.current.cols], [rows, cols]);
                assert.equal(text(await t.wait({ includeOutput: true })), `${rows} ${cols}\r\n`);
            }
            await refused(sb.terminal.create({ command: 'sh', rows: 10, cols: 0 }), 400);
        });

        it('terminals that are not there: get and attach say so', async () => {
            const sb = await sandbox();
            await refused(sb.terminal.get('pty_missing'), 404, { text: 'not found', code: 'not_found' });
            const t = await sb.terminal.create({ command: 'true' });
            await t.wait();
            await d.remove(t.id);
            await refused(t.attach(), 404, { text: 'not found', code: 'not_found' });
            await refused(t.wait(), 404);
        });

        it('a token that has ended is renewed without the caller', async () => {
            const sb = await client().sandboxes.connect('local');
            sb.applyRuntimeSession({ ...sb.runtimeSession, token: 'ended-ended-ended-ended' });
            assert.equal((await sb.exec('echo healed')).stdout, 'healed\n');
        });

        it('a terminal of the native API is watched, typed into, resized and ended here', async () => {
            const sb = await sandbox();
            const native = await d.spawn({ command: 'cat', pty: { rows: 10, cols: 20 } });
            const t = await sb.terminal.get(native.id);
            assert.deepEqual([t.current.rows, t.current.cols], [10, 20]);
            const s = await attach(t);
            await s.connection.write('both\n');
            await s.sees('both\r\nboth');
            await s.connection.resize(40, 90);
            await waitUntil(async () => (await d.get(native.id)).rows === 40, 'the size');
            await t.kill();
            await s.closed;
            assert.equal((await d.get(native.id)).status, 'exited');
        });
    });
}
