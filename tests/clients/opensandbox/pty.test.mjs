// SPDX-License-Identifier: Apache-2.0
// PTY sessions, with `ws` as clients in the field use it: life, output, replay.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { call, newPty, Pty, ptyStatus, refusedPty } from '../../lib/opensandbox.mjs';
import * as proc from '../../lib/proc.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil } from '../../lib/wait.mjs';

withDaemon('opensandbox: pty', {}, (d) => {
    const remove = async (id) => assert.equal((await call(d, 'DELETE', `/pty/${id}`)).status, 200);

    it('is made, started by the first attach, sized, and told of', async () => {
        const id = await newPty(d);
        assert.deepEqual(await ptyStatus(d, id), { session_id: id, running: false, output_offset: 0, launch_attempted: false, launch_failed: false });
        const p = await Pty.attach(d, id);
        assert.deepEqual(p.messages[0], { type: 'connected', session_id: id, mode: 'pty', role: 'holder' });
        p.type('stty size\n');
        await p.says('24 80');
        p.send({ type: 'resize', cols: 120, rows: 40 });
        p.send({ type: 'stdin', data: 'stty size; echo "n$((40+2))"\n' });
        await p.says('n42');
        assert.match(p.text, /40 120/);
        p.send({ type: 'ping' });
        await p.message('pong');
        const status = await ptyStatus(d, id);
        assert.equal(status.running, true);
        assert.equal(status.launch_attempted, true);
        const native = (await d.api('GET', '/v1/processes?status=running')).json.processes;
        assert.ok(native.some((x) => x.tag === id && x.pty && x.rows === 40));
        p.type('exit 7\n');
        assert.deepEqual(await p.end(), { code: 1000, reason: 'process exited' });
        assert.equal(p.exit.exit_code, 7);
        assert.equal((await ptyStatus(d, id)).exit_code, 7);
        await remove(id);
        assert.equal((await call(d, 'GET', `/pty/${id}`)).status, 404);
        assert.equal((await call(d, 'GET', `/pty/${id}`)).json.code, 'CONTEXT_NOT_FOUND');
    });

    /* The original closes the terminal right after wait(2): 18 of 30 such runs came back empty. */
    it('no output is lost at the exit', async () => {
        await inParallel(scaled(1000, 60), 4, async () => {
            const id = await newPty(d, { command: 'echo hi' });
            const p = Pty.at(d, id);
            await p.end();
            assert.equal(p.text, 'hi\r\n');
            assert.equal(p.exit.exit_code, 0);
            await remove(id);
        });
        for (const query of [{}, { pty: 0 }]) {
            const id = await newPty(d, { command: 'seq 1 100000' });
            const p = Pty.at(d, id, query);
            await p.end();
            assert.equal(p.text.replaceAll('\r', ''), Array.from({ length: 100000 }, (_, i) => `${i + 1}\n`).join(''));
            await remove(id);
        }
    });

    it('goes on without a client, and gives the rest to the next, to the byte', async () => {
        const go = path.join(d.dir, 'pty-go');
        const id = await newPty(d, { command: `echo begin; until test -e ${go}; do sleep 0.01; done; seq 1 60000; read x; echo got $x` });
        const a = await Pty.attach(d, id);
        await a.says('begin\r\n');
        await a.leave();
        fs.writeFileSync(go, '');
        const end = Buffer.from('begin\r\n' + Array.from({ length: 60000 }, (_, i) => `${i + 1}\r\n`).join(''));
        await waitUntil(async () => (await ptyStatus(d, id)).output_offset === end.length, 'all output', 20000);
        const b = Pty.at(d, id, { since: a.at });
        await b.message('connected');
        assert.equal(b.from, a.at);
        assert.ok(b.frames.every((f) => f.op === 3 && f.before === 0), 'replay comes as 03 frames, before connected');
        assert.deepEqual(b.output, end.subarray(a.at));
        b.type('this\n');
        await b.says('got this');
        assert.ok(b.frames.some((f) => f.op === 1));
        await b.end();
        const total = (await ptyStatus(d, id)).output_offset;
        assert.equal(b.at, total);
        assert.equal(b.gaps, undefined);
        await remove(id);
    });

    it('without since everything is replayed, beyond the end nothing, beyond the ring what is left', async () => {
        const id = await newPty(d, { command: 'head -c 1500000 /dev/zero | tr "\\0" z; echo; read x' });
        const a = await Pty.attach(d, id);
        await a.until(() => a.at >= 1500002, 'all of it');
        await a.leave();
        for (const [query, check] of [
            [{ since: 1499990 }, (p) => assert.equal(p.from, 1499990)],
            [{ since: 99999999 }, (p) => assert.equal(p.output.length, 0)],
            [{ since: 5 }, (p) => assert.ok(p.from > 400000 && p.at === 1500002)],
            [{}, (p) => assert.ok(p.from > 400000 && p.at === 1500002)],
            [{ since: 'abc' }, (p) => assert.equal(p.at, 1500002)],
            [{ since: -4 }, (p) => assert.equal(p.at, 1500002)],
        ]) {
            const p = await Pty.attach(d, id, query);
            check(p);
            await p.leave();
        }
        await remove(id);
    });

    it('after its exit the next attach starts it again, in the same offsets', async () => {
        const id = await newPty(d);
        const a = await Pty.attach(d, id);
        a.type('echo one$((1+1)); exit 3\n');
        await a.end();
        const total = (await ptyStatus(d, id)).output_offset;
        assert.equal(total, a.at);
        const b = await Pty.attach(d, id);
        assert.deepEqual(b.output.subarray(0, total), a.output);
        assert.ok(b.frames[0].op === 3 && b.frames[0].before === 0);
        b.type('echo two$((1+1)); exit 4\n');
        await b.end();
        assert.equal(b.exit.exit_code, 4);
        assert.ok(b.text.includes('one2') && b.text.includes('two2'));
        const c = await Pty.attach(d, id, { since: total - 3 });
        assert.equal(c.from, total - 3);
        assert.deepEqual(c.output.subarray(0, b.at - total + 3), b.output.subarray(total - 3));
        await remove(id);
        assert.deepEqual(await c.end(), { code: 1000, reason: 'process exited' });
        assert.equal(c.exit.exit_code, -1);
        assert.equal((await call(d, 'GET', `/pty/${id}`)).status, 404);
        assert.equal((await d.api('GET', '/v1/processes')).json.processes.filter((x) => x.tag === id).length, 0);
    });

    /* What an earlier life had asked came back as it was, so the client's terminal typed its answers into the next one. */
    it('no query of an earlier life is asked again, and every byte keeps its place', async () => {
        const spaces = 32762; /* a frame ends inside the second query */
        const id = await newPty(d, { command: `printf 'A\\033[c%${spaces}s\\033[6nB\\033]11;?\\007C\\033[?1004hD\\033P$qm\\033\\\\E\\033[31mred\\n' ''` });
        const first = Pty.at(d, id);
        await first.end();
        assert.ok(['\x1b[c', '\x1b[6n', '\x1b]11;?\x07', '\x1b[31mred'].every((q) => first.text.includes(q)), 'the first to see it may answer');
        const next = Pty.at(d, id, { since: 0 });
        await next.end();
        assert.deepEqual([next.from, next.stream(3).length], [0, first.at]);
        const seen = next.stream(3).replaceAll(' ', '').replaceAll('\0', '');
        assert.match(seen, /^A(\x1b\[\x18)?BCD\x1b\\E\x1b\[31mred\r\n$/, 'CAN breaks off what was sent of one');
        await remove(id);
    });

    it('bytes of an earlier life in pipes are what they were', async () => {
        const id = await newPty(d, { command: "printf 'A\\033[cB'" });
        await Pty.at(d, id, { pty: 0 }).end();
        const next = Pty.at(d, id, { pty: 0 });
        await next.end();
        assert.equal(next.stream(3), 'A\x1b[cB');
        await remove(id);
    });

    it('pipe mode keeps the streams apart', async () => {
        const id = await newPty(d, { command: 'echo out; echo err >&2; read x; echo "<$x>"; exit 5' });
        const p = await Pty.attach(d, id, { pty: 0 });
        assert.equal(p.messages[0].mode, 'pipe');
        p.type('abc\n');
        await p.end();
        assert.equal(p.stream(1), 'out\n<abc>\n');
        assert.equal(p.stream(2), 'err\n');
        assert.equal(p.exit.exit_code, 5);
        const again = await Pty.attach(d, id, { pty: 0, since: p.at });
        await remove(id);
        assert.deepEqual(await again.end(), { code: 1000, reason: 'process exited' });
        assert.equal(again.exit.exit_code, -1);
        assert.equal((await call(d, 'GET', `/pty/${id}`)).status, 404);
    });

    it('a directory is made for it; one that cannot be is told', async () => {
        const dir = path.join(d.dir, "pty's/own dir");
        const id = await newPty(d, { cwd: dir, command: 'pwd' });
        assert.ok(fs.statSync(dir).isDirectory());
        const p = Pty.at(d, id);
        await p.end();
        assert.equal(p.text, `${dir}\r\n`);
        const again = Pty.at(d, id, { since: p.at });
        await again.end();
        assert.equal(again.text, `${dir}\r\n`);
        await remove(id);
        const bad = await call(d, 'POST', '/pty', { json: { cwd: '/proc/no/such' } });
        assert.equal(bad.status, 500);
        assert.equal(bad.json.code, 'RUNTIME_ERROR');
        assert.match(bad.json.message, /proc\/no/);
        for (const json of ['{', '[]', { cwd: 1 }, { command: [] }]) assert.equal((await call(d, 'POST', '/pty', { json })).status, 400);
        const gone = await newPty(d, { cwd: dir });
        fs.rmdirSync(dir);
        const f = Pty.at(d, gone);
        assert.equal((await f.message('error')).code, 'START_FAILED');
        assert.equal((await f.end()).code, 1011);
        assert.equal((await ptyStatus(d, gone)).running, false);
        await remove(gone);
    });

    it('signals reach the job in the foreground, and odd frames harm nobody', async () => {
        const id = await newPty(d);
        const p = await Pty.attach(d, id);
        p.type('sleep 61; echo "now $((1+1))"\n');
        await waitUntil(() => proc.descendantsOf(d.pid).some((x) => x.name === 'sleep'), 'the job');
        p.send({ type: 'signal', signal: 'SIGINT' });
        await waitUntil(() => !proc.descendantsOf(d.pid).some((x) => x.name === 'sleep'), 'its end');
        p.ws.send(Buffer.alloc(0));
        p.send({ type: 'resize', cols: 0, rows: 10 });
        for (const bad of ['not json', Buffer.from('plain bytes'), Buffer.from([9]), { type: 'what' }, {}, { type: 'stdin' }, { type: 'signal', signal: 'SIGUSR1' }, { type: 'resize', cols: 70000, rows: 10 }]) {
            const n = p.messages.length;
            if (bad instanceof Buffer) p.ws.send(bad);
            else p.send(bad);
            const m = await p.until(() => p.messages[n], 'an error');
            assert.equal(m.code, 'INVALID_FRAME', JSON.stringify(bad));
        }
        const long = 'x'.repeat(3000);
        p.type(`stty -echo -icanon; echo rea""dy; cat | head -c ${70 * 3000} | md5sum\n`);
        await p.says('ready');
        for (let i = 0; i < 70; i++) (i % 2 ? p.send({ type: 'stdin', data: long }) : p.type(long));
        await p.until(() => /[0-9a-f]{32}  -/.test(p.text), 'all input');
        p.ws.terminate();
        await p.end();
        await remove(id);
    });

    /* The original answers a close frame but leaves the connection open. */
    it('a connection that was closed is closed', async () => {
        const id = await newPty(d);
        const p = await Pty.attach(d, id);
        const socket = p.ws._socket;
        const closed = new Promise((done) => socket.once('close', done));
        p.ws.close(1000);
        await p.end();
        await closed;
        assert.equal((await ptyStatus(d, id)).running, true);
        await remove(id);
    });

    it('unknown ids and wrong tokens are refused before the upgrade; the query has the token for browsers', async () => {
        assert.deepEqual(Object.keys((await refusedPty(d, 'nothing')).json), ['code', 'message']);
        assert.equal((await refusedPty(d, 'nothing')).status, 404);
        const id = await newPty(d);
        assert.equal((await refusedPty(d, id, {}, { token: 'wrong-wrong-wrong-wrong' })).status, 401);
        assert.equal((await call(d, 'GET', `/pty/${id}/ws`)).status, 400);
        assert.equal((await refusedPty(d, id, {}, { token: d.tokens.watch })).status, 409);
        const p = await Pty.attach(d, id, { token: d.token }, { token: '' });
        assert.equal((await call(d, 'GET', `/ping?token=${d.token}`, { token: '', headers: { Authorization: '' } })).status, 401);
        await p.leave();
        await remove(id);
    });
});
