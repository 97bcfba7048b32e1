// SPDX-License-Identifier: Apache-2.0
// The WebSocket of OpenCode's terminals: text frames, and cursors in UTF-16 units that hold for
// any bytes, after the ring has turned over and after a crash.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil } from '../../lib/wait.mjs';

const UNITS = 2097152;

withDaemon('opencode: the WebSocket', {}, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const remove = (p) => oc().v2.pty.remove({ ptyID: p.id });
    const file = (name, content) => {
        const at = path.join(d.dir, name);
        fs.writeFileSync(at, content);
        return at;
    };
    /** A line that makes a terminal raw, and a wait for that: a terminal that is not raw yet would echo what is typed. */
    let rawCount = 0;
    const raw = () => {
        const up = path.join(d.dir, `raw-${rawCount++}`);
        return { line: `stty raw -echo; : > ${up}; `, done: () => waitUntil(() => fs.existsSync(up), 'a raw terminal') };
    };
    /** A PTY without echo that prints what it is told to, as it is. */
    const printer = async (line) => {
        const first = raw();
        const p = await oc().sh(`${first.line}${line}`);
        await first.done();
        return p;
    };
    const settled = async (p, bytes) => {
        const own = (await d.list()).find((x) => x.pid === p.pid);
        await waitUntil(async () => (await d.get(own.id)).output.next >= bytes, `${bytes} bytes`, 30000);
        return own.id;
    };
    const replayOf = async (p, cursor) => {
        const a = oc().attach(p.id, cursor === undefined ? {} : { cursor });
        const text = await a.replay();
        const meta = a.metas[0].cursor;
        await a.drop();
        assert.equal(a.metas.length, 1);
        return [text, meta];
    };

    it('replay as text, then one cursor frame that counts é, € and an emoji as JavaScript does', async () => {
        const text = 'a é € 😀 z';
        const p = await printer(`printf '%s' '${text}'; cat`);
        await settled(p, Buffer.byteLength(text));
        const a = oc().attach(p.id);
        assert.equal(await a.replay(), text);
        assert.deepEqual(a.metas, [{ cursor: text.length, frames: 1 }]);
        a.send('more 😀');
        await a.sees('more 😀');
        assert.equal(a.cursor, text.length + 'more 😀'.length);
        await a.drop();
        await remove(p);
    });

    it('cursors: -1 gives nothing, none, 0 and nonsense give all, one past the end gives nothing', async () => {
        const text = 'héllo wörld 😀😀';
        const p = await printer(`printf '%s' '${text}'; cat`);
        await settled(p, Buffer.byteLength(text));
        const all = [text, text.length];
        for (const cursor of [undefined, '0', 'abc', '-5', '', '1e3', '99999999999999999999']) {
            assert.deepEqual(await replayOf(p, cursor), all, `cursor=${cursor}`);
        }
        for (const cursor of ['-1', '1000', String(text.length)]) {
            assert.deepEqual(await replayOf(p, cursor), ['', text.length], `cursor=${cursor}`);
        }
        for (let n = 1; n < text.length; n++) {
            const inside = text.charCodeAt(n) >= 0xdc00 && text.charCodeAt(n) < 0xe000;
            assert.deepEqual(await replayOf(p, n), [text.slice(inside ? n - 1 : n), text.length], `cursor=${n}`);
        }
        await remove(p);
    });

    it('coming back with the sum of lengths gives what was missed, and nothing twice', async () => {
        const p = await printer('while read -r x; do printf "%s" "é€😀$x"; done');
        let a = oc().attach(p.id);
        await a.replay();
        let whole = '';
        for (let i = 0; i < 8; i++) {
            a.send(`${i}ü\n`);
            await a.sees(`😀${i}ü`);
            whole += a.text;
            const { cursor } = a;
            await a.drop();
            const own = await settled(p, 0);
            const before = (await d.get(own)).output.next;
            await d.request('POST', `/v1/processes/${own}/input`, { json: { data: `m${i}😀\n` } });
            await settled(p, before + Buffer.byteLength(`é€😀m${i}😀`));
            a = oc().attach(p.id, { cursor });
            assert.equal(await a.replay(), `é€😀m${i}😀`);
            assert.equal(a.metas[0].cursor, cursor + `é€😀m${i}😀`.length);
        }
        await a.drop();
        const [text, end] = await replayOf(p);
        assert.equal(end, text.length);
        assert.ok(text.startsWith(whole.slice(0, 6)));
        await remove(p);
    });

    it('two sockets see what either types; one that goes leaves the process alone', async () => {
        const p = await printer('cat');
        const [a, b] = [oc().attach(p.id), oc().attach(p.id)];
        await Promise.all([a.replay(), b.replay()]);
        a.send('from a ');
        await b.sees('from a ');
        b.send(Buffer.from('from b '));
        await a.sees('from a from b ');
        await b.sees('from a from b ');
        await a.drop();
        b.send('alone');
        await b.sees('alone');
        assert.equal((await oc().v2.pty.get({ ptyID: p.id })).data.status, 'running');
        await b.drop();
        await remove(p);
    });

    it('characters that come in pieces wait for their rest; broken ones never break a frame', async () => {
        const p = await printer(
            "printf 'A\\360\\237'; read x; printf '\\230\\200B'; read x; printf '\\342\\202Z\\377\\200'; read x; printf 'end\\303'",
        );
        const a = oc().attach(p.id);
        await a.sees('A');
        await settled(p, 3);
        assert.deepEqual(await replayOf(p), ['A', 1]);
        const late = oc().attach(p.id, { cursor: 1 });
        assert.equal(await late.replay(), '');
        for (const next of ['A😀B', 'A😀B\ufffdZ\ufffd\ufffd']) {
            a.send('\n');
            await a.sees(next);
        }
        await late.sees('😀B\ufffdZ\ufffd\ufffd');
        assert.equal(a.cursor, 8);
        assert.deepEqual(await replayOf(p), ['A😀B\ufffdZ\ufffd\ufffd', 8]);
        a.send('\n');
        assert.equal((await a.end()).code, 1000);
        assert.equal(a.text, 'A😀B\ufffdZ\ufffd\ufffdend\ufffd');
    });

    it('any bytes: what comes is what a browser makes of them, and cursors fit', async () => {
        let x = 12345;
        const bytes = Buffer.from(Array.from({ length: 60000 }, () => {
            x = (Math.imul(x, 1103515245) + 12345) >>> 0;
            const pick = [0x41, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xff, 0x80];
            return x >>> 28 ? pick[(x >>> 16) % pick.length] : (x >>> 8) & 0xff || 1;
        }));
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
        const p = await printer(`cat ${file('any', Buffer.concat([bytes, Buffer.from('.')]))}; cat`);
        await settled(p, bytes.length + 1);
        // Terminals that replay must not be asked anything, so what could be a question is blanked there.
        const plain = new OpenCode(d, { role: 'watch' });
        const of = async (cursor) => {
            const a = plain.attach(p.id, { cursor });
            const got = await a.replay();
            await a.drop();
            return [got, a.metas[0].cursor];
        };
        assert.deepEqual(await of(0), [`${text}.`, text.length + 1]);
        for (const cursor of [1, 777, 12345, text.length - 3]) {
            const n = text.charCodeAt(cursor) >= 0xdc00 && text.charCodeAt(cursor) < 0xe000 ? cursor - 1 : cursor;
            assert.deepEqual(await of(cursor), [`${text.slice(n)}.`, text.length + 1], `cursor=${cursor}`);
        }
        await remove(p);
    });

    // The original cuts its replay every 65536 units, through an emoji if it must.
    it('3 MB of output: the last 2097152 units, cut between characters', async () => {
        const line = `${'x'.repeat(1000)}😀é`;
        const text = line.repeat(3000);
        const p = await printer(`cat ${file('big', text)}; cat`);
        const own = await settled(p, Buffer.byteLength(text));
        const a = oc().attach(p.id);
        const replay = await a.replay();
        assert.equal(replay.length, UNITS);
        assert.equal(replay, text.slice(-UNITS));
        assert.equal(a.metas[0].cursor, text.length);
        assert.ok(a.frames.every((f) => f.length <= 65536), 'frames of at most 65536 units');
        await a.drop();
        assert.deepEqual(await replayOf(p, text.length - 5), [text.slice(-5), text.length]);
        assert.ok((await d.get(own)).output.first === 0);
        await remove(p);
    });

    it('cursors stay exact when the ring has turned over many times, and after a crash', async () => {
        const line = `${'äöü€😀'.repeat(20)}\n`;
        const first = raw();
        const p = (
            await d.spawn({
                command: 'sh',
                args: ['-c', `${first.line}dd bs=1 count=1 of=/dev/null 2>/dev/null; for i in $(seq 40); do cat ${file('part', line.repeat(200))}; done; cat`],
                pty: true,
                history_bytes: 262144,
            })
        );
        const total = 40 * 200;
        assert.deepEqual(await replayOf(p), ['', 0]); // asked about once, it is counted
        await first.done();
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'g' }, expect: 200 });
        await waitUntil(async () => (await d.get(p.id)).output.next === total * Buffer.byteLength(line), 'all', 30000);
        const units = total * line.length;
        const [tail, end] = await replayOf(p);
        assert.equal(end, units);
        assert.ok(tail.length > 80000 && line.repeat(total).endsWith(tail), 'the last of it, whole characters');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        assert.deepEqual(await waitUntil(() => replayOf(p, units - 7), 'the next worker'), [line.slice(-7), units]);
        const a = oc().attach(p.id, { cursor: units });
        await a.replay();
        a.send('é😀');
        await a.sees('é😀');
        assert.equal(a.cursor, units + 3);
        await a.drop();
        await d.remove(p.id);
    });

    it('a socket that a crash cut comes back with its cursor and misses nothing', async () => {
        const p = await printer(`for i in $(seq 600); do echo "é$i😀"; sleep 0.001; done; read x`);
        const want = Array.from({ length: 600 }, (_, i) => `é${i + 1}😀\n`).join('');
        let a = oc().attach(p.id);
        let text = '';
        let cursor = 0;
        for (let kills = 0; kills < 2; kills++) {
            await a.replay();
            await waitUntil(() => a.text.length > 200, 'some of it');
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            await a.end();
            text += a.text;
            cursor = a.cursor;
            assert.equal(cursor, text.length);
            await d.nextWorker(old);
            a = await waitUntil(async () => {
                const again = oc().attach(p.id, { cursor });
                await Promise.race([again.replay(), again.closed]);
                return again.metas.length ? again : null;
            }, 'a new socket');
        }
        await waitUntil(() => (text + a.text).length >= want.length, 'the rest', 60000);
        assert.equal(text + a.text, want);
        await a.drop();
        await remove(p);
    });

    // The original's reader starts late and lost such input once in three tries.
    it('input in the open handler, before any frame came, reaches the program every time', async () => {
        const p = await printer('exec cat');
        await inParallel(100, 10, async (i) => {
            const a = oc().attach(p.id, { cursor: -1 }, { onOpen: (ws) => ws.send(`<${i}>`) });
            await a.sees(`<${i}>`);
            await a.drop();
        });
        await remove(p);
    });

    it('a paste of 300000 bytes in one frame arrives whole; more than is held is refused', async () => {
        const p = await printer(`head -c 300000 > ${path.join(d.dir, 'pasted')}; echo done; cat`);
        const text = 'päste '.repeat(60000).slice(0, 250000);
        const a = oc().attach(p.id);
        await a.replay();
        a.send(text);
        a.send('.'.repeat(300000 - Buffer.byteLength(text)));
        await a.sees('done', 30000);
        const got = fs.readFileSync(path.join(d.dir, 'pasted'), 'utf8');
        assert.equal(got.slice(0, text.length), text);
        a.send('x'.repeat(5 << 20));
        assert.equal((await a.end()).code, 1009);
        await remove(p);
    });

    it('a reader that takes nothing holds nobody up, and is told where it is afterwards', async () => {
        const big = file('big', `x${'é'.repeat(32768)}`);
        const first = raw();
        const line = `${first.line}read x; for i in $(seq 250); do cat ${big}; done; echo END; cat`;
        const p = await d.spawn({ command: 'sh', args: ['-c', line], pty: true, history_bytes: 65536 });
        const [slow, fast] = [oc().attach(p.id), oc().attach(p.id)];
        await Promise.all([slow.replay(), fast.replay()]);
        slow.ws.pause();
        await first.done();
        fast.send('\n');
        const total = 250 * 32769 + 4;
        await waitUntil(() => fast.text.endsWith('END\n'), 'the fast one to have it all', 60000);
        assert.equal(fast.cursor, total);
        assert.equal(fast.metas.length, 1);
        slow.ws.resume();
        await waitUntil(() => slow.text.endsWith('END\n'), 'the slow one to catch up', 60000);
        assert.ok(slow.text.length < total && slow.metas.length > 1, 'it has missed something, and was told');
        assert.ok(!slow.text.includes('\ufffd'), 'and goes on with a whole character');
        assert.equal(slow.cursor, total);
        await slow.drop();
        await fast.drop();
        await d.remove(p.id);
    });
});
