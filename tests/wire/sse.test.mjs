// SPDX-License-Identifier: Apache-2.0
// text/event-stream as bytes: framing, ids, resuming.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit } from '../lib/gen.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { SseReader } from '../lib/sse.mjs';

const SSE = { Accept: 'text/event-stream' };
const bytesOf = (ev) => {
    const m = JSON.parse(ev.data);
    return Buffer.from(m.data, m.encoding === 'base64' ? 'base64' : 'utf8');
};

withDaemon('server-sent events', {}, (d) => {
    it('the head is right for proxies and browsers', async () => {
        for (const path of ['/v1/events', `/v1/processes/${(await d.sh('sleep 30')).id}/output?follow=1`]) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, `GET ${path}`, { headers: SSE }));
            const head = (await c.readUntil('\r\n\r\n')).toString();
            assert.match(head, /^HTTP\/1\.1 200 /);
            assert.match(head, /\r\nContent-Type: text\/event-stream(; ?charset=utf-8)?\r\n/i);
            assert.match(head, /\r\nCache-Control: no-(cache|store)/i);
            assert.match(head, /\r\nTransfer-Encoding: chunked\r\n/i);
            c.destroy();
        }
    });

    it('output events carry the next offset as id and resume exactly there', async () => {
        const total = 200000;
        const p = await d.spawn({ command: emit(), args: ['-n', String(total), '-s', '21', '-c', '1000'] });
        let at = 0;
        let last;
        let exit = null;
        for (let round = 0; !exit; round++) {
            assert.ok(round < 500, 'no progress');
            const headers = { ...SSE, ...(last ? { 'Last-Event-ID': last } : {}) };
            const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { headers }));
            for (let i = 0; i < 7; i++) {
                const ev = await s.next();
                if (ev === null) break;
                if (ev.event === 'exit') {
                    exit = JSON.parse(ev.data);
                    break;
                }
                if (ev.event !== 'output') continue;
                const bytes = bytesOf(ev);
                checkBytes(21, at, bytes);
                at += bytes.length;
                assert.equal(ev.id, String(at));
                last = ev.id;
            }
            s.close();
        }
        assert.equal(at, total);
        assert.equal(exit.exit_code, 0);
    });

    it('text that looks like framing stays data', async () => {
        const text = 'data: x\n\nevent: exit\r\ndata: {}\r\rid: 7\n: comment\n\n\n';
        const p = await d.spawn({ command: 'printf', args: ['%s', text] });
        const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { headers: SSE }));
        let got = Buffer.alloc(0);
        for (;;) {
            const ev = await s.next();
            if (ev.event === 'exit') break;
            if (ev.event === 'output') got = Buffer.concat([got, bytesOf(ev)]);
        }
        assert.equal(got.toString(), text);
        assert.equal(await s.next(), null, 'the stream ends behind the exit');
    });

    it('bytes that are not UTF-8 arrive whole, characters are not torn', async () => {
        const p = await d.spawn({ command: 'printf', args: ['\\377\\000\\303\\050 \\342\\202\\254'] });
        const s = new SseReader(await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { headers: SSE }));
        let got = Buffer.alloc(0);
        for (let ev; (ev = await s.next()) && ev.event !== 'exit';)
            if (ev.event === 'output') got = Buffer.concat([got, bytesOf(ev)]);
        assert.deepEqual(got, Buffer.from([0xff, 0, 0xc3, 0x28, 0x20, 0xe2, 0x82, 0xac]));
    });

    it('a Last-Event-ID that is none is refused', async () => {
        const p = await d.sh('sleep 30');
        for (const id of ['x', '-1', '1.5', '99999999999999999999999']) {
            for (const path of [`/v1/processes/${p.id}/output?follow=1`, '/v1/events']) {
                const a = await d.request('GET', path, { headers: { ...SSE, 'Last-Event-ID': id } });
                assert.ok(a.status >= 400 && a.status < 500, `${path} with ${id}: ${a.status}`);
            }
        }
    });
});
