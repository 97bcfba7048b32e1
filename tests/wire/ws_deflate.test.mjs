// SPDX-License-Identifier: Apache-2.0
// permessage-deflate: only with --compress, and then exact in both directions.

import assert from 'node:assert/strict';
import { before, it } from '../lib/test.mjs';
import zlib from 'node:zlib';
import WebSocket from 'ws';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, expectedBytes } from '../lib/gen.mjs';
import { OP, WsRaw } from '../lib/wsraw.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const deflated = (data) => {
    const z = zlib.deflateRawSync(data, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
    return z.subarray(0, z.length - 4);
};
const OFFER = { 'Sec-WebSocket-Extensions': 'permessage-deflate' };

withDaemon('websocket compression', { args: ['--compress'] }, (d) => {
    let cat, at;
    before(async () => {
        cat = await d.sh('exec cat', { stdin: 'pipe' });
        at = `/v1/processes/${cat.id}/connect?raw=1&since=now`;
    });

    it('is agreed with the published client, and every byte is right', async () => {
        const ws = new WebSocket(`ws://127.0.0.1:${d.port}${at}`, {
            headers: d.authHeaders(),
            perMessageDeflate: { threshold: 0 },
        });
        const parts = [];
        ws.on('message', (m) => parts.push(m));
        await within(new Promise((ok, no) => ws.on('open', ok).on('error', no)), 10000, 'open');
        assert.match(ws.extensions, /permessage-deflate/);
        const text = Buffer.from('the same words over and over again '.repeat(30000));
        const noise = expectedBytes(8, 0, 300000);
        for (let i = 0; i < text.length; i += 100000) ws.send(text.subarray(i, i + 100000));
        ws.send(noise);
        const want = text.length + noise.length;
        await waitUntil(() => Buffer.concat(parts).length >= want, 'the echo', 20000);
        const all = Buffer.concat(parts);
        assert.ok(all.subarray(0, text.length).equals(text));
        checkBytes(8, 0, all.subarray(text.length));
        ws.terminate();
    });

    it('is not used with a client that does not offer it', async () => {
        const w = await WsRaw.open(d, at);
        assert.equal(w.answer.headers['sec-websocket-extensions'], undefined);
        w.send(OP.BINARY, 'plain');
        const f = await w.find(OP.BINARY);
        assert.equal(f.rsv, 0);
        w.send(OP.BINARY, 'x', { rsv: 4 });
        await w.expectClose(1002);
    });

    it('takes compressed fragments, and plain messages among them', async () => {
        const w = await WsRaw.open(d, at, {
            headers: {
                'Sec-WebSocket-Extensions':
                    'permessage-deflate; client_no_context_takeover; server_no_context_takeover',
            },
        });
        assert.match(w.answer.headers['sec-websocket-extensions'], /permessage-deflate/);
        const z = deflated(Buffer.from('squeezed and cut'));
        w.send(OP.BINARY, z.subarray(0, 5), { rsv: 4, fin: false }).send(OP.PING, 'p').send(OP.CONT, z.subarray(5));
        w.send(OP.BINARY, ' and plain');
        let have = '';
        const inflate = (f) =>
            f.rsv & 4
                ? zlib.inflateRawSync(Buffer.concat([f.payload, Buffer.from([0, 0, 0xff, 0xff])]), {
                      finishFlush: zlib.constants.Z_SYNC_FLUSH,
                  })
                : f.payload;
        while (have.length < 26) have += inflate(await w.find(OP.BINARY));
        assert.equal(have, 'squeezed and cut and plain');
        w.destroy();
    });

    it('refuses what does not inflate', async () => {
        const w = await WsRaw.open(d, at, { headers: OFFER });
        w.send(OP.BINARY, Buffer.from('this is not deflate'), { rsv: 4 });
        const code = (await w.find(OP.CLOSE)).payload.readUInt16BE();
        assert.ok([1002, 1007].includes(code), `${code}`);
        w.destroy();
    });

    it('refuses RSV1 on a continuation or a control frame', async () => {
        let w = await WsRaw.open(d, at, { headers: OFFER });
        const z = deflated(Buffer.from('abc'));
        w.send(OP.BINARY, z.subarray(0, 2), { rsv: 4, fin: false }).send(OP.CONT, z.subarray(2), { rsv: 4 });
        await w.expectClose(1002);
        w = await WsRaw.open(d, at, { headers: OFFER });
        w.send(OP.PING, 'x', { rsv: 4 });
        await w.expectClose(1002);
    });

    it('a small text that inflates to a huge one is refused', async () => {
        const w = await WsRaw.open(d, `/v1/processes/${cat.id}/connect?since=now`, { headers: OFFER });
        w.send(OP.TEXT, deflated(Buffer.alloc(50 << 20, 'a')), { rsv: 4 });
        await w.expectClose(1009, 20000);
    });

    it('refuses offers with parameters it cannot keep, by not agreeing', async () => {
        for (const offer of [
            'permessage-deflate; server_max_window_bits=7',
            'permessage-deflate; nonsense',
            'permessage-deflate; server_max_window_bits=16',
            'x-webkit-deflate-frame',
            'permessage-deflate; server_no_context_takeover=1',
            'permessage-deflate; client_no_context_takeover=""',
            'permessage-deflate; server_no_context_takeover; server_no_context_takeover',
            'permessage-deflate; client_max_window_bits=15; client_max_window_bits=15',
            'permessage-deflate; client_max_window_bits=7',
            'permessage-deflate; client_max_window_bits=16',
            'permessage-deflate; client_max_window_bits=08',
            'permessage-deflate; client_max_window_bits=',
            'permessage-deflate; client_max_window_bits="1',
            'permessage-deflate;',
            'permessage-deflate; client_max_window_bits client_no_context_takeover',
            'permessage-deflate x',
        ]) {
            const w = await WsRaw.open(d, at, { headers: { 'Sec-WebSocket-Extensions': offer } });
            assert.equal(w.answer.headers['sec-websocket-extensions'], undefined, offer);
            w.destroy();
        }
    });

    it('agrees to the first offer that it can keep', async () => {
        for (const offer of [
            'permessage-deflate; client_max_window_bits; server_no_context_takeover; client_no_context_takeover',
            'permessage-deflate;client_max_window_bits=8',
            'permessage-deflate ; client_max_window_bits = "15" ',
            'PerMessage-Deflate; CLIENT_NO_CONTEXT_TAKEOVER',
            'permessage-deflate; server_no_context_takeover=1, permessage-deflate',
            'permessage-deflate; server_max_window_bits=10, permessage-deflate; client_max_window_bits',
        ]) {
            const w = await WsRaw.open(d, at, { headers: { 'Sec-WebSocket-Extensions': offer } });
            assert.equal(
                w.answer.headers['sec-websocket-extensions'],
                'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
                offer,
            );
            w.destroy();
        }
    });
});
