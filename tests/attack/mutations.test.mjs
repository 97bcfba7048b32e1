// SPDX-License-Identifier: Apache-2.0
// Valid conversations with a few bytes changed, against the sanitized build: no crash, no 5xx, nothing that runs.

import assert from 'node:assert/strict';
import { withDaemon } from '../lib/daemon.mjs';
import { PREFACE, TYPE, block, frame as h2frame, requestFields } from '../lib/http2.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import { RawConn } from '../lib/raw.mjs';
import { calls, fill } from '../lib/routes.mjs';
import { scaled } from '../lib/scale.mjs';
import { it } from '../lib/test.mjs';
import { inParallel } from '../lib/wait.mjs';
import { OP, WsRaw, frame as wsframe } from '../lib/wsraw.mjs';

const ROUNDS = scaled(20000, 1200);

withDaemon('mutated', { args: ['--compress'] }, (d) => {
    const random = seededRandom(runSeed());
    const upTo = (n) => Math.floor(random() * n);

    /** The same bytes with a few flipped, removed, repeated or put elsewhere. */
    function mutate(bytes) {
        let b = Buffer.from(bytes);
        for (let i = 1 + upTo(4); i > 0; i--) {
            const at = upTo(b.length);
            const len = 1 + upTo(Math.min(16, b.length - at));
            const kind = upTo(5);
            if (kind === 0) b[at] ^= 1 << upTo(8);
            else if (kind === 1) b[at] = upTo(256);
            else if (kind === 2) b = Buffer.concat([b.subarray(0, at), b.subarray(at + len)]);
            else if (kind === 3) b = Buffer.concat([b.subarray(0, at), b.subarray(at, at + len), b.subarray(at)]);
            else b = Buffer.concat([b.subarray(0, at), Buffer.from(['\r\n', '\0', ': ', '%2e%2e%2f', '{"a":', '\xff'][upTo(6)], 'latin1'), b.subarray(at)]);
            if (b.length === 0) b = Buffer.from([0]);
        }
        return b;
    }

    /** Sends, reads what comes at once, and goes. A status of 5xx other than 501 and 505 is an error of ours. */
    async function send(bytes) {
        const c = await RawConn.connect(d);
        c.send(bytes).half();
        const text = (await c.rest(2000).catch(() => c.held)).toString('latin1');
        c.destroy();
        answered += text.startsWith('HTTP/1.1 ');
        const status = /^HTTP\/1\.1 (5\d\d) /.exec(text)?.[1];
        assert.ok(!status || ['501', '505'].includes(status), `${text.slice(0, 300)}\nfor ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`);
    }

    const rounds = async (make) => {
        await inParallel(ROUNDS, 16, async () => send(mutate(make())));
        assert.equal((await d.request('GET', '/healthz', { agent: false })).status, 200);
        d.checkReports();
    };
    let target;
    let answered = 0;
    const head = (line, more = '', role = 'watch') => `${line} HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\nAuthorization: Bearer ${d.tokens[role]}\r\n${more}`;

    it('requests to every route', async () => {
        target = await d.spawn({ command: 'sleep', args: ['100000'], pty: true });
        const list = calls().filter((c) => !c.isUpgrade);
        const json = JSON.stringify({ command: 'true', until: [{ regex: '(a|b)*c' }], timeout_ms: 1, input: 'x', metadata: { a: [1, { b: null }] } });
        await rounds(() => {
            const c = list[upTo(list.length)];
            const body = c.method === 'GET' ? '' : json;
            return Buffer.from(head(`${c.method} ${fill(c, target.id)}?since=0&timeout_ms=1`, `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
        });
    });

    it('frames of HTTP/2', () =>
        rounds(() => {
            const fields = requestFields({ port: d.port, authHeaders: () => d.authHeaders('watch') }, `/v1/processes/${target.id}/wait`, [['content-type', 'application/json']], 'POST');
            return Buffer.concat([PREFACE, h2frame(TYPE.SETTINGS, 0, 0), h2frame(TYPE.HEADERS, 4, 1, block(fields)), h2frame(TYPE.DATA, 1, 1, Buffer.from('{"until":[{"exit":true}],"timeout_ms":1}')), h2frame(TYPE.PING, 0, 0, Buffer.alloc(8)), h2frame(TYPE.WINDOW, 0, 0, Buffer.from([0, 0, 1, 0])), h2frame(TYPE.GOAWAY, 0, 0, Buffer.alloc(8))]);
        }));

    it('frames of WebSocket', () =>
        rounds(() => {
            const { bytes } = WsRaw.handshake(d, `/v1/processes/${target.id}/connect`, { role: 'watch', headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' } });
            return Buffer.concat([Buffer.from(bytes), wsframe(OP.TEXT, '{"type":"resize","rows":24,"cols":80}'), wsframe(OP.PING, 'x'), wsframe(OP.TEXT, '{"type":"ack","offset":0}', { fin: false }), wsframe(OP.CONT, 'x'), wsframe(OP.BINARY, 'typed'), wsframe(OP.CLOSE, '')]);
        }));

    it('frames of SPDY', () =>
        rounds(() => {
            const syn = Buffer.from('80030001000000220000000100000000000078bbe3c6a7c26260606080620620160062', 'hex');
            return Buffer.concat([
                Buffer.from(head('POST /dialects/kubernetes/api/v1/namespaces/default/pods/sandbox/attach?stdout=true', 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n')),
                syn,
                Buffer.from('800300060000000400000001', 'hex'),
                Buffer.from('80030007000000080000000000000000', 'hex'),
            ]);
        }));

    it('left everything as it was', async () => {
        const list = await d.list();
        assert.deepEqual(list.map((p) => [p.id, p.status]), [[target.id, 'running']]);
        assert.ok(answered > ROUNDS, `only ${answered} were answered`);
    });
});
