// SPDX-License-Identifier: Apache-2.0
// RFC 6455 frame by frame: the cases of the Autobahn suite that apply to a server, by hand.

import assert from 'node:assert/strict';
import { before, it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, expectedBytes } from '../lib/gen.mjs';
import { limit } from '../lib/limits.mjs';
import { OP, WsRaw, closePayload, frame } from '../lib/wsraw.mjs';

withDaemon('websocket codec', {}, (d) => {
    let cat, tty;
    before(async () => {
        cat = await d.sh('exec cat', { stdin: 'pipe', tag: 'echo' });
        tty = await d.sh('stty raw -echo; echo ready; exec cat', { pty: { rows: 24, cols: 80 }, tag: 'tty' });
        await d.outputHas(tty.id, 'ready');
    });
    const echo = () => WsRaw.open(d, `/v1/processes/${cat.id}/connect?raw=1&since=now`);
    const talk = () => WsRaw.open(d, `/v1/processes/${tty.id}/connect?since=now`);

    it('echoes binary messages of every length form', async () => {
        const w = await echo();
        for (const n of [1, 2, 124, 125, 126, 127, 128, 65534, 65535, 65536, 65537, 1 << 20]) {
            w.send(OP.BINARY, expectedBytes(n, 0, n));
            const got = await w.binary(n);
            assert.equal(got.length, n);
            checkBytes(n, 0, got, `message of ${n}`);
        }
        w.destroy();
    });

    it('takes a message of 16 MiB and gives it back in frames of a bounded size', async () => {
        const w = await echo();
        const n = 16 << 20;
        w.send(OP.BINARY, expectedBytes(3, 0, n));
        let at = 0;
        while (at < n) {
            const f = await w.frame(30000);
            if (f.opcode !== OP.BINARY) continue;
            assert.ok(
                f.payload.length > 0 && f.payload.length <= limit('VIEWER_SLICE_BYTES'),
                `frame of ${f.payload.length}`,
            );
            checkBytes(3, at, f.payload);
            at += f.payload.length;
        }
        w.destroy();
    });

    it('masks by every position of the key, across reads', async () => {
        const w = await echo();
        const data = expectedBytes(4, 0, 1000);
        const f = frame(OP.BINARY, data);
        for (let i = 0; i < f.length; i += 3) {
            w.conn.send(f.subarray(i, i + 3));
            await new Promise(setImmediate);
        }
        checkBytes(4, 0, await w.binary(1000));
        w.destroy();
    });

    it('empty messages, binary or text, change nothing', async () => {
        const w = await echo();
        w.send(OP.BINARY, '').send(OP.BINARY, '', { fin: false }).send(OP.CONT, '').send(OP.BINARY, 'x');
        assert.equal((await w.binary(1)).toString(), 'x');
        w.destroy();
    });

    it('fragments, with control frames between', async () => {
        const w = await echo();
        w.send(OP.BINARY, 'one ', { fin: false })
            .send(OP.PING, 'between')
            .send(OP.CONT, 'two ', { fin: false })
            .send(OP.PONG, 'unasked')
            .send(OP.CONT, 'three');
        const parts = [];
        let pong = null;
        while (Buffer.concat(parts).length < 13 || !pong) {
            const f = await w.frame();
            if (f.opcode === OP.PONG) pong = f;
            if (f.opcode === OP.BINARY) parts.push(f.payload);
        }
        assert.equal(Buffer.concat(parts).toString(), 'one two three');
        assert.equal(pong.payload.toString(), 'between');
        w.destroy();
    });

    it('a text message in single-byte fragments, cut inside a character', async () => {
        const w = await talk();
        await w.message('hello');
        const text = Buffer.from(
            JSON.stringify({ type: 'resize', rows: 31, cols: 101 }).replace('{', '{ "κόσμε": "\u{1f600}", '),
        );
        for (let i = 0; i < text.length; i++) {
            w.send(i === 0 ? OP.TEXT : OP.CONT, text.subarray(i, i + 1), { fin: i === text.length - 1 });
        }
        assert.equal((await w.message('error')).code, 'unknown_field', 'the message must have been read whole');
        const good = Buffer.from(JSON.stringify({ type: 'resize', rows: 31, cols: 101 }));
        for (let i = 0; i < good.length; i++)
            w.send(i === 0 ? OP.TEXT : OP.CONT, good.subarray(i, i + 1), { fin: i === good.length - 1 });
        const s = await w.message('size');
        assert.deepEqual([s.rows, s.cols], [31, 101]);
        w.destroy();
    });

    it('answers pings of 0 to 125 bytes with the same bytes', async () => {
        const w = await echo();
        for (const n of [0, 1, 60, 125]) {
            const data = expectedBytes(n, 0, n);
            w.send(OP.PING, data);
            assert.deepEqual((await w.find(OP.PONG)).payload, data);
        }
        for (let i = 0; i < 10; i++) w.send(OP.PING, `p${i}`);
        let last;
        do last = (await w.find(OP.PONG)).payload.toString();
        while (last !== 'p9');
        w.destroy();
    });

    it('ignores pongs that nobody asked for', async () => {
        const w = await echo();
        w.send(OP.PONG, 'x').send(OP.PONG, '').send(OP.BINARY, 'y');
        assert.equal((await w.binary(1)).toString(), 'y');
        w.destroy();
    });

    const breaches = {
        'a ping of 126 bytes': [frame(OP.PING, Buffer.alloc(126))],
        'a fragmented ping': [frame(OP.PING, 'x', { fin: false })],
        'a fragmented close': [frame(OP.CLOSE, closePayload(1000), { fin: false })],
        'a close of 126 bytes': [frame(OP.CLOSE, closePayload(1000, 'x'.repeat(124)))],
        'a close of one byte': [frame(OP.CLOSE, Buffer.from([3]))],
        'reserved bit 1': [frame(OP.BINARY, 'x', { rsv: 4 })],
        'reserved bit 2': [frame(OP.TEXT, 'x', { rsv: 2 })],
        'reserved bit 3': [frame(OP.PING, 'x', { rsv: 1 })],
        'an unmasked frame': [frame(OP.BINARY, 'x', { mask: false })],
        'an unmasked ping': [frame(OP.PING, '', { mask: false })],
        'a continuation of nothing': [frame(OP.CONT, 'x')],
        'a continuation after the end': [
            frame(OP.BINARY, 'x', { fin: false }),
            frame(OP.CONT, 'y'),
            frame(OP.CONT, 'z'),
        ],
        'a new message inside another': [frame(OP.BINARY, 'x', { fin: false }), frame(OP.BINARY, 'y')],
        'text inside binary': [frame(OP.BINARY, 'x', { fin: false }), frame(OP.TEXT, 'y')],
        'a reserved opcode inside a message': [frame(OP.BINARY, 'x', { fin: false }), frame(5, 'y'), frame(OP.CONT, 'z')],
        'a reserved control opcode inside a message': [frame(OP.BINARY, 'x', { fin: false }), frame(13, ''), frame(OP.CONT, 'z')],
        'a reserved bit on a continuation': [frame(OP.BINARY, 'x', { fin: false }), frame(OP.CONT, 'y', { rsv: 4 })],
        'all reserved bits of a close': [frame(OP.CLOSE, closePayload(1000), { rsv: 7 })],
        'a fragmented pong inside a message': [frame(OP.TEXT, 'x', { fin: false }), frame(OP.PONG, 'p', { fin: false })],
        'a ping of 126 bytes inside a message': [frame(OP.BINARY, 'x', { fin: false }), frame(OP.PING, Buffer.alloc(126))],
        'a continuation after a ping alone': [frame(OP.PING, 'p'), frame(OP.CONT, 'x')],
        'an unmasked continuation': [frame(OP.BINARY, 'x', { fin: false }), frame(OP.CONT, 'y', { mask: false })],
        'a length with its top bit set': [Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])],
    };
    for (const op of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) breaches[`opcode ${op}`] = [frame(op, 'x')];
    for (const code of [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535]) {
        breaches[`close code ${code}`] = [frame(OP.CLOSE, closePayload(code))];
    }
    it('a breach of the protocol is close 1002', async () => {
        for (const [name, frames] of Object.entries(breaches)) {
            const w = await echo();
            w.conn.send(...frames);
            await w.expectClose(1002).catch((err) => assert.fail(`${name}: ${err.message}`));
        }
    });

    const badUtf8 = {
        'a lone continuation': [0x80],
        'overlong slash': [0xc0, 0xaf],
        'overlong three': [0xe0, 0x80, 0xaf],
        'a surrogate': [0xed, 0xa0, 0x80],
        'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
        'five bytes': [0xf8, 0x88, 0x80, 0x80, 0x80],
        'cut short': [0xe2, 0x82],
        ff: [0xff],
        'good, then bad': [0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d],
    };
    it('text that is not UTF-8 is close 1007', async () => {
        for (const [name, bytes] of Object.entries(badUtf8)) {
            const w = await talk();
            w.send(OP.TEXT, Buffer.from(bytes));
            await w.expectClose(1007).catch((err) => assert.fail(`${name}: ${err.message}`));
            const r = await talk();
            r.send(OP.CLOSE, closePayload(1000, Buffer.from(bytes)));
            await r.expectClose(1007).catch((err) => assert.fail(`reason with ${name}: ${err.message}`));
        }
        const w = await talk();
        w.send(OP.TEXT, Buffer.from([0xe2]), { fin: false }).send(OP.CONT, Buffer.from([0x28, 0xa1]));
        await w.expectClose(1007);
    });

    it('text that went wrong is close 1007 at once, wherever fragments and control frames cut it', async () => {
        const smile = Buffer.from('\u{1f600}');
        const bad = Buffer.concat([smile, Buffer.from([0xf4, 0x90]), smile]); // beyond U+10FFFF from the sixth byte on
        for (let cut = 1; cut < bad.length; cut++) {
            const w = await talk();
            w.send(OP.TEXT, bad.subarray(0, cut), { fin: false }).send(OP.PING, 'p');
            if (cut < 6) w.send(OP.CONT, bad.subarray(cut), { fin: false }); // the message has no end yet
            await w.expectClose(1007).catch((err) => assert.fail(`cut at ${cut}: ${err.message}`));
        }
        const open = await talk();
        open.send(OP.TEXT, smile.subarray(0, 3), { fin: false }).send(OP.CONT, ''); // a character without its end
        await open.expectClose(1007);
    });

    it('a character may be cut by empty fragments and by control frames', async () => {
        const w = await talk();
        await w.message('hello');
        const text = Buffer.from(JSON.stringify({ type: 'κόσμε\u{1f600}' }));
        w.send(OP.TEXT, '', { fin: false });
        for (let i = 0; i < text.length; i++) {
            w.send(OP.PING, String(i)).send(OP.CONT, text.subarray(i, i + 1), { fin: false }).send(OP.CONT, '', { fin: false });
        }
        w.send(OP.PONG, 'unasked').send(OP.CONT, '');
        assert.match((await w.message('error')).detail, /κόσμε|type/);
        w.send(OP.PING, 'end');
        assert.ok(await w.find(OP.PONG));
        w.destroy();
    });

    it('a close inside a message is answered, and the message never ends', async () => {
        const w = await echo();
        w.conn.send(frame(OP.BINARY, 'torn', { fin: false }), frame(OP.CLOSE, closePayload(1001)), frame(OP.CONT, 'end'));
        const f = await w.find(OP.CLOSE);
        assert.equal(f.payload.readUInt16BE(), 1001);
        await w.conn.rest();
        w.destroy();
    });

    it('a text message over 64 KiB is close 1009, whole or in fragments', async () => {
        let w = await talk();
        w.send(OP.TEXT, 'a'.repeat(70000));
        await w.expectClose(1009);
        w = await talk();
        w.send(OP.TEXT, 'a'.repeat(40000), { fin: false }).send(OP.CONT, 'a'.repeat(40000));
        await w.expectClose(1009);
    });

    it('a binary frame over 64 MiB is close 1009 at its header', async () => {
        const w = await echo();
        w.conn.send(frame(OP.BINARY, 'x', { length: (64 << 20) + 1 }));
        await w.expectClose(1009);
    });

    it('answers a close with the same code and closes the connection', async () => {
        for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]) {
            const w = await echo();
            w.send(OP.CLOSE, closePayload(code, 'bye \u00fc'));
            await w.expectClose(code, 10000, { answer: false });
        }
        const w = await echo();
        w.send(OP.CLOSE, '');
        const f = await w.frame();
        assert.equal(f.opcode, OP.CLOSE);
        assert.ok(f.payload.length === 0 || f.payload.readUInt16BE() === 1000);
        await w.conn.expectEnd();
        w.destroy();
    });

    it('does nothing with what comes after a close', async () => {
        const w = await echo();
        w.conn.send(frame(OP.CLOSE, closePayload(1000)), frame(OP.BINARY, 'too late'), frame(OP.PING, 'x'));
        await w.conn.rest(); // a reset is a fair answer to a client that goes on after its close
        w.destroy();
        const out = await d.output(cat.id, '?tail_bytes=100');
        assert.ok(!out.includes('too late'));
    });

    it('gives up a peer that does not answer a close', async () => {
        const p = await d.sh('exec sleep 0.05');
        const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect`);
        assert.equal((await w.find(OP.CLOSE)).payload.readUInt16BE(), 1000);
        await w.conn.rest(15000); // we say nothing, and the daemon must end the connection by itself
        w.destroy();
    });

    it('?raw=1 sends no text frame at all', async () => {
        const p = await d.sh('echo out; echo err >&2; exit 3', {});
        const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect?raw=1&since=0`);
        const seen = [];
        for (;;) {
            const f = await w.frame();
            if (f.opcode === OP.CLOSE) {
                assert.equal(f.payload.readUInt16BE(), 1000);
                break;
            }
            assert.equal(f.opcode, OP.BINARY);
            seen.push(f.payload);
        }
        const text = Buffer.concat(seen).toString();
        assert.ok(text.includes('out\n') && text.includes('err\n'));
        w.destroy();
    });

    it('a client that vanishes in the middle of a frame leaves nothing behind', async () => {
        for (let i = 0; i < 10; i++) {
            const w = await echo();
            w.conn.send(frame(OP.BINARY, Buffer.alloc(100000)).subarray(0, 5000 * (i + 1)));
            if (i % 2) w.conn.reset();
            else w.destroy();
        }
        const w = await WsRaw.open(d, `/v1/processes/${cat.id}/connect?since=now`);
        await w.message('hello');
        w.destroy();
    });
});
