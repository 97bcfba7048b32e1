// SPDX-License-Identifier: Apache-2.0
// HTTP/2 by hand: malformed frames and heads, floods, time-outs, the daemon's end.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { Daemon, withDaemon } from '../lib/daemon.mjs';
import { Frames, PREFACE, TYPE, block, frame, h2ask, h2connect, h2open, requestFields } from '../lib/http2.mjs';
import { limit } from '../lib/limits.mjs';
import * as proc from '../lib/proc.mjs';
import { despiteLimit, inParallel, waitUntil, within } from '../lib/wait.mjs';

const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const u32 = (n) => {
    const b = Buffer.alloc(4);
    b.writeUInt32BE(n);
    return b;
};

withDaemon('http/2 frames', { gateway: false }, (d) => {
    const alive = async () => assert.equal((await d.request('GET', '/healthz')).status, 200);
    const get = (id, path, more) =>
        frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, block(requestFields(d, path, more)));

    /** The whole of a head, as text: our own literals come back as such or by the static table. */
    const statusOf = (f) => {
        const known = { 0x88: 200, 0x89: 204, 0x8d: 404, 0x8c: 400, 0x8e: 500 };
        if (known[f.payload[0]]) return known[f.payload[0]];
        const text = f.payload.subarray(1, 6);
        return text[0] & 0x80 ? 'huffman' : Number(text.subarray(1, 4).toString());
    };

    it('the first frame is SETTINGS, with our limits', async () => {
        const f = await Frames.connect(d);
        const s = await f.next();
        assert.equal(s.type, TYPE.SETTINGS);
        const seen = {};
        for (let i = 0; i < s.payload.length; i += 6) seen[s.payload.readUInt16BE(i)] = s.payload.readUInt32BE(i + 2);
        assert.equal(seen[3], 128);
        assert.equal(seen[4], 256 * 1024);
        assert.equal(seen[6], 32 * 1024);
        f.destroy();
    });

    it('a request by hand is answered; a PING too', async () => {
        const f = await Frames.connect(d);
        f.send(frame(TYPE.PING, 0, 0, Buffer.from('12345678')), get(1));
        const pong = await f.until(TYPE.PING);
        assert.equal(pong.flags, ACK);
        assert.equal(pong.payload.toString(), '12345678');
        const head = await f.until(TYPE.HEADERS, 1);
        assert.equal(statusOf(head), 200);
        const data = await f.until(TYPE.DATA, 1);
        assert.equal(data.payload.toString(), '{"status":"ok"}');
        f.destroy();
    });

    it('frames that break the protocol end the connection with a reason', async () => {
        const hello = [PREFACE, frame(TYPE.SETTINGS, 0, 0)];
        const cases = {
            'DATA on stream 0': [...hello, frame(TYPE.DATA, 0, 0, Buffer.from('x'))],
            'DATA before HEADERS': [...hello, frame(TYPE.DATA, 0, 1, Buffer.from('x'))],
            'an even stream': [...hello, frame(TYPE.HEADERS, 5, 2, block(requestFields(d)))],
            'SETTINGS of a wrong size': [...hello, frame(TYPE.SETTINGS, 0, 0, Buffer.alloc(5))],
            'PING of a wrong size': [...hello, frame(TYPE.PING, 0, 0, Buffer.alloc(7))],
            'a frame that is too large': [...hello, frame(TYPE.DATA, 0, 1, Buffer.alloc(20000))],
            'CONTINUATION without HEADERS': [...hello, frame(TYPE.CONTINUATION, 4, 1, Buffer.alloc(1))],
            'a header block that does not decode': [...hello, frame(TYPE.HEADERS, 5, 1, Buffer.alloc(40, 0xff))],
            'no SETTINGS after the preface': [PREFACE, get(1)],
            'a window that overflows': [...hello, frame(TYPE.WINDOW, 0, 0, u32(0x7fffffff))],
        };
        for (const [name, bytes] of Object.entries(cases)) {
            const f = await Frames.connect(d, { hello: false });
            f.send(...bytes);
            const bye = await f.until(TYPE.GOAWAY).catch((err) => assert.fail(`${name}: ${err.message}`));
            assert.notEqual(bye.payload.readUInt32BE(4), 0, name);
            await f.raw.rest();
            f.destroy();
        }
        await alive();
    });

    it('a preface that goes wrong is refused as HTTP/1.1', async () => {
        const f = await Frames.connect(d, { hello: false });
        f.send('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n');
        const a = await f.raw.response();
        assert.equal(a.status, 505);
        f.destroy();
    });

    it('heads that are wrong end their stream, not the connection', async () => {
        const f = await Frames.connect(d);
        const fields = requestFields(d);
        const send = (id, list) => f.send(frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, block(list)));
        const bad = [
            fields.filter(([n]) => n !== ':method'),
            fields.filter(([n]) => n !== ':path'),
            [...fields, ['connection', 'upgrade']],
            [...fields, ['transfer-encoding', 'chunked']],
            [...fields, [':path', '/again']],
            [...fields, ['te', 'gzip']],
            fields.map(([n, v]) => (n === ':path' ? [n, ''] : [n, v])),
        ];
        let id = 1;
        for (const list of bad) {
            send(id, list);
            const r = await f.until(TYPE.RST, id);
            assert.equal(r.payload.readUInt32BE(0), 1, JSON.stringify(list.at(-1)));
            id += 2;
        }
        send(id, fields);
        assert.equal(statusOf(await f.until(TYPE.HEADERS, id)), 200);
        f.destroy();
    });

    it('heads that are refused get an answer: names, targets, hosts, sizes', async () => {
        const s = await h2connect(d);
        const long = await h2ask(s, d, 'GET', `/${'x'.repeat(17000)}`);
        assert.equal(long.status, 414);
        s.destroy();
        const f = await Frames.connect(d);
        const status = async (id, list) => {
            const b = block(list);
            f.send(frame(TYPE.HEADERS, END_STREAM, id, b.subarray(0, 16000)));
            let at = 16000;
            for (; b.length - at > 16000; at += 16000) f.send(frame(TYPE.CONTINUATION, 0, id, b.subarray(at, at + 16000)));
            f.send(frame(TYPE.CONTINUATION, END_HEADERS, id, b.subarray(at)));
            return statusOf(await f.until(TYPE.HEADERS, id));
        };
        const bare = (more) => requestFields(d, '/healthz', more).filter(([n]) => n !== ':authority');
        f.send(frame(TYPE.HEADERS, END_STREAM | END_HEADERS, 1, block(bare([]))));
        assert.equal((await f.until(TYPE.RST, 1)).payload.readUInt32BE(0), 1, 'neither :authority nor Host');
        f.send(frame(TYPE.HEADERS, END_STREAM | END_HEADERS, 3, block(bare([['host', `127.0.0.1:${d.port}`]]))));
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 3)), 200);
        assert.equal(
            await status(5, requestFields(d, '/healthz', Array.from({ length: 4 }, () => ['x-long', 'y'.repeat(9000)]))).then(
                (n) => n === 'huffman' || n === 431,
            ),
            true,
        );
        f.send(frame(TYPE.HEADERS, 5, 7, block(requestFields(d, '/healthz', [['host', 'other.example']]))));
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 7)), 400);
        f.send(frame(TYPE.HEADERS, 5, 9, block(requestFields(d, '/healthz', [['x y', 'z']]))));
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 9)), 400);
        f.destroy();
        await alive();
    });

    it('a peer that goes on with a stream after its own end is told so, and the connection ends', async () => {
        const healthz = (id) => get(id, '/healthz');
        const open = frame(TYPE.HEADERS, END_HEADERS, 1, block(requestFields(d, '/v1/processes/run', [], 'POST')));
        const data = frame(TYPE.DATA, END_STREAM, 1, Buffer.from('{}'));
        const reset = frame(TYPE.RST, 0, 1, u32(8));
        const answered = async (f) => {
            f.send(healthz(1));
            while (!((await f.until(TYPE.DATA, 1)).flags & END_STREAM));
        };
        const none = async () => {};
        for (const [name, before, ...frames] of [
            ['DATA after an exchange', answered, data],
            ['HEADERS after an exchange', answered, healthz(1)],
            ['DATA after a reset', none, open, reset, data],
            ['HEADERS after a reset', none, open, reset, healthz(1)],
        ]) {
            const f = await Frames.connect(d);
            await before(f);
            f.send(...frames);
            assert.equal((await f.until(TYPE.GOAWAY)).payload.readUInt32BE(4), 5, name); // STREAM_CLOSED
            await f.raw.rest();
            f.destroy();
        }
    });

    it('what is still on its way to a stream that the daemon has ended is ignored', async () => {
        const f = await Frames.connect(d);
        f.send(frame(TYPE.HEADERS, END_HEADERS, 1, block(requestFields(d, '/v1/nothing', [], 'POST'))));
        assert.equal((await f.until(TYPE.RST, 1)).payload.readUInt32BE(0), 0);
        f.send(frame(TYPE.DATA, 0, 1, Buffer.from('x')), frame(TYPE.DATA, END_STREAM, 1, Buffer.from('y')), get(3, '/healthz'));
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 3)), 200);
        f.destroy();
    });

    it('a priority of no stream, or of one on itself, ends the connection; others mean nothing', async () => {
        const priority = (id, on) => frame(TYPE.PRIORITY, 0, id, Buffer.concat([u32(on), Buffer.from([16])]));
        for (const bad of [priority(0, 1), priority(3, 3)]) {
            const f = await Frames.connect(d);
            f.send(priority(5, 3), priority(3, 5), get(1, '/healthz'));
            assert.equal(statusOf(await f.until(TYPE.HEADERS, 1)), 200);
            f.send(bad);
            assert.equal((await f.until(TYPE.GOAWAY)).payload.readUInt32BE(4), 1); // PROTOCOL_ERROR
            await f.raw.rest();
            f.destroy();
        }
    });

    it('a length that the body does not keep is refused', async () => {
        const f = await Frames.connect(d);
        const fields = requestFields(d, '/v1/processes/run', [['content-length', '5']], 'POST');
        f.send(frame(TYPE.HEADERS, END_HEADERS, 1, block(fields)), frame(TYPE.DATA, END_STREAM, 1, Buffer.from('{}')));
        assert.equal((await f.until(TYPE.RST, 1)).payload.readUInt32BE(0), 1);
        f.destroy();
    });

    it('more streams at once than are allowed are refused, the others go on', async () => {
        const f = await Frames.connect(d);
        const p = await d.sh('sleep 60');
        for (let i = 0; i < 130; i++) f.send(get(1 + 2 * i, `/v1/processes/${p.id}/wait?timeout_ms=60000`));
        const refused = new Set();
        while (refused.size < 2) {
            const r = await f.until(TYPE.RST);
            assert.equal(r.payload.readUInt32BE(0), 7, 'REFUSED_STREAM');
            refused.add(r.stream);
        }
        assert.deepEqual([...refused], [257, 259]);
        await d.remove(p.id);
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 1)), 200);
        f.destroy();
    });

    it('a flood of resets of the dearest call that needs no token is ended', async () => {
        const f = await Frames.connect(d);
        const anyone = requestFields(d, '/').filter(([n]) => n !== 'authorization');
        const head = block(anyone);
        // In rounds of one write each: a client that keeps writing after the daemon has closed loses the GOAWAY.
        const round = (from) =>
            Buffer.concat([
                ...Array.from({ length: 50 }, (_, i) => from + 2 * i).flatMap((id) => [
                    frame(TYPE.HEADERS, END_STREAM | END_HEADERS, id, head),
                    frame(TYPE.RST, 0, id, u32(8)),
                ]),
                frame(TYPE.PING, 0, 0, Buffer.alloc(8)),
            ]);
        const start = Date.now();
        let bye;
        let taken = 0;
        for (; !bye; taken += 50) {
            const most = limit('LIMIT_H2_RESETS') + limit('LIMIT_H2_RESETS_PER_S') * (1 + (Date.now() - start) / 1000);
            assert.ok(taken <= most, `${taken} resets are taken`);
            f.send(round(1 + 2 * taken));
            let last;
            do last = await f.next();
            while (last.type !== TYPE.PING && last.type !== TYPE.GOAWAY);
            if (last.type === TYPE.GOAWAY) bye = last;
        }
        assert.notEqual(bye.payload.readUInt32BE(4), 0);
        await f.raw.rest();
        f.destroy();
    });

    it('a request that is taken back in the same breath is never begun', async () => {
        const requests = async () => {
            const { text } = await d.api('GET', '/metrics');
            return Number(/^holdfast_requests_total (\d+)/m.exec(text)[1]);
        };
        const f = await Frames.connect(d);
        const ids = Array.from({ length: 100 }, (_, i) => 1 + 2 * i);
        const pairs = ids.flatMap((id) => [get(id, '/healthz'), frame(TYPE.RST, 0, id, u32(8))]);
        const before = await requests();
        f.send(Buffer.concat([...pairs, get(201, '/healthz')]));
        assert.equal(statusOf(await f.until(TYPE.HEADERS, 201)), 200);
        // The one that stands, the question itself, and perhaps one where a read ended between head and reset.
        assert.ok((await requests()) - before < 10, 'most of them are begun');
        f.destroy();
    });

    it('pages that nobody takes are not copied: memory stays flat', async () => {
        const fields = requestFields(d, '/').filter(([n]) => n !== 'authorization');
        const noWindow = frame(TYPE.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));
        await d.request('GET', '/', { role: null }); // unpacked once
        const before = proc.anonBytes(d.workerPid());
        const all = [];
        await inParallel(12, 12, async () => {
            const f = await Frames.connect(d, { hello: false });
            const gets = Array.from({ length: 128 }, (_, i) => frame(TYPE.HEADERS, END_STREAM | END_HEADERS, 1 + 2 * i, block(fields)));
            f.send(PREFACE, noWindow, ...gets);
            for (let heads = 0; heads < 128; heads++) assert.equal(statusOf(await f.until(TYPE.HEADERS)), 200);
            all.push(f);
        });
        const grown = proc.anonBytes(d.workerPid()) - before;
        assert.ok(grown < 32 << 20, `1536 pages in waiting take ${grown} bytes`);
        for (const f of all) f.destroy();
        await alive();
    });

    it('a flood of pings that nobody takes does not grow', async () => {
        const pings = await Frames.connect(d);
        pings.raw.socket.pause(); // takes nothing
        const ping = Buffer.concat(Array.from({ length: 4000 }, () => frame(TYPE.PING, 0, 0, Buffer.alloc(8))));
        let closed = false;
        pings.raw.socket.on('close', () => (closed = true));
        await waitUntil(
            () => {
                if (!closed && pings.raw.socket.writableLength < 1 << 20) pings.send(ping);
                return closed || pings.raw.error;
            },
            'the end of a peer that pings and takes nothing',
            30000,
            1,
        );
        pings.destroy();
        await alive();
    });

    it('answers that nobody takes end with their streams when these are reset', async () => {
        const s = await h2connect(d);
        const p = await d.spawn({ command: 'yes', history_bytes: 1 << 20 });
        for (let i = 0; i < 20; i++) {
            const stream = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?since=0&follow=1`);
            stream.on('error', () => {});
            await within(stream.head, 10000);
            stream.close(8);
        }
        assert.equal((await h2ask(s, d, 'GET', '/healthz')).status, 200);
        s.destroy();
        await d.remove(p.id);
    });
});

const LIMIT = 300;

/*
 * Each daemon has one short limit, because on a busy machine another one could expire first. Above all, the
 * limit of an idle connection must not end a session of Node's client that has open requests: the client
 * would then write empty DATA frames into its own memory for ever.
 */
const short = (what) => ({ gateway: false, args: [`--${what}-timeout-ms`, String(LIMIT)] });

withDaemon('http/2 with little time for heads', short('header'), (d) => {
    it('a preface or a head that does not go on is ended', async () => {
        const parts = {
            'half a preface': PREFACE.subarray(0, 10),
            'no SETTINGS': PREFACE,
            'half a head': Buffer.concat([
                PREFACE,
                frame(TYPE.SETTINGS, 0, 0),
                frame(TYPE.HEADERS, END_STREAM, 1, block(requestFields(d)).subarray(0, 20)),
            ]),
        };
        for (const [name, bytes] of Object.entries(parts)) {
            const f = await Frames.connect(d, { hello: false });
            f.send(bytes);
            const said = await f.raw.rest().catch((err) => assert.fail(`${name}: ${err.message}`));
            assert.equal(said.length > 0, bytes.length >= PREFACE.length, `${name}: ${said.toString('latin1')}`);
            f.destroy();
        }
    });
});

withDaemon('http/2 with little time for silence', short('keepalive'), (d) => {
    it('a silence that lasts is ended with a farewell', async () => {
        // Repeated if the limit expired before the daemon got the preface.
        const bye = await despiteLimit(LIMIT, async () => {
            const f = await Frames.connect(d);
            try {
                const last = await f.until(TYPE.GOAWAY);
                await f.raw.rest();
                return last;
            } finally {
                f.destroy();
            }
        }, 'a farewell');
        assert.equal(bye.payload.readUInt32BE(4), 0);
    });
});

withDaemon('http/2 with little time for bodies', short('body'), (d) => {
    it('a body that stops is answered 408 while others on the connection go on', async () => {
        const s = await h2connect(d);
        const p = await d.sh('sleep 60', { stdin: 'pipe' });
        const follow = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?follow=1`);
        follow.on('error', () => {});
        const late = h2open(s, d, 'POST', '/v1/processes/run', { endStream: false });
        late.on('error', () => {});
        late.write('{');
        assert.equal((await within(late.head, 10000))[':status'], 408);
        const input = h2open(s, d, 'POST', `/v1/processes/${p.id}/input`, {
            endStream: false,
            headers: { 'content-type': 'application/octet-stream' },
        });
        input.on('error', () => {});
        const closed = new Promise((ok) => input.once('close', ok));
        input.write('x');
        await within(closed, 10000, 'the end of a body that stopped');
        assert.equal((await h2ask(s, d, 'GET', '/healthz')).status, 200);
        assert.equal(follow.closed, false);
        s.destroy();
        await d.remove(p.id);
    });
});

it('a daemon that ends says so: streams may end, then the connection', async () => {
    const d = await new Daemon({ gateway: false, fdBaseline: false }).start();
    const s = await h2connect(d);
    let code;
    s.on('goaway', (c) => (code = c));
    assert.equal((await h2ask(s, d, 'GET', '/healthz')).status, 200);
    const closed = new Promise((ok) => s.once('close', ok));
    await d.stop();
    await within(closed, 10000);
    assert.equal(code, 0);
});
