// SPDX-License-Identifier: Apache-2.0
// The opening of a WebSocket: what is needed, what is chosen, how it is refused.

import assert from 'node:assert/strict';
import { before, it } from '../lib/test.mjs';
import { closeCodeOf } from '../lib/client.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { exchange } from '../lib/raw.mjs';
import { WsRaw } from '../lib/wsraw.mjs';

withDaemon('websocket handshake', {}, (d) => {
    let at;
    before(async () => {
        at = `/v1/processes/${(await d.sh('cat', { stdin: 'pipe' })).id}/connect`;
    });
    const answer = (options) => exchange(d, WsRaw.handshake(d, at, options).bytes);

    it('opens, with the accept key of RFC 6455', async () => {
        (await WsRaw.open(d, at)).destroy();
        (await WsRaw.open(d, at, { headers: { Connection: 'keep-alive, Upgrade', Upgrade: 'WebSocket' } })).destroy();
    });

    it('chooses holdfast.v1 if it is offered, and nothing else', async () => {
        const chosen = async (offer) => {
            const w = await WsRaw.open(d, at, { headers: offer === null ? {} : { 'Sec-WebSocket-Protocol': offer } });
            w.destroy();
            return w.answer.headers['sec-websocket-protocol'];
        };
        assert.equal(await chosen('holdfast.v1'), 'holdfast.v1');
        assert.equal(await chosen('chat, holdfast.v1'), 'holdfast.v1');
        assert.equal(await chosen(null), undefined);
        assert.equal(await chosen('chat'), undefined);
    });

    it('agrees to no extension unless asked on the command line', async () => {
        const w = await WsRaw.open(d, at, {
            headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' },
        });
        assert.equal(w.answer.headers['sec-websocket-extensions'], undefined);
        w.destroy();
    });

    it('without an upgrade it is 426', async () => {
        for (const headers of [{ Upgrade: null, Connection: null }, { Upgrade: 'h2c' }, { Upgrade: null }]) {
            const a = await answer({ headers });
            checkProblem(a, 'upgrade_required', JSON.stringify(headers));
            assert.match(a.headers.upgrade ?? '', /websocket/i);
        }
    });

    it('another version is told which one', async () => {
        for (const v of ['8', '0', '14', 'x']) {
            const a = await answer({ headers: { 'Sec-WebSocket-Version': v } });
            checkProblem(a, 'upgrade_required', v);
            assert.equal(a.headers['sec-websocket-version'], '13');
        }
    });

    it('a missing or wrong key is refused', async () => {
        for (const key of [
            null,
            '',
            'short',
            'x'.repeat(24),
            Buffer.alloc(15).toString('base64'),
            Buffer.alloc(17).toString('base64'),
        ]) {
            checkProblem(await answer({ headers: { 'Sec-WebSocket-Key': key } }), 'bad_request', String(key));
        }
    });

    it('only GET of HTTP/1.1 upgrades', async () => {
        checkProblem(await answer({ method: 'POST' }), 'method_not_allowed');
        const old = await answer({ version: 'HTTP/1.0' });
        assert.ok([400, 426].includes(old.status), `${old.status}`);
    });

    it('an unknown process is told by close code 4404', async () => {
        assert.equal(await closeCodeOf(d, 'proc_none'), 4404);
        assert.equal(await closeCodeOf(d, 'tag:none'), 4404);
        assert.equal(await closeCodeOf(d, 'pid:1'), 4404);
    });

    it('bad queries are refused before the upgrade', async () => {
        for (const q of [
            'since=x',
            'since=-',
            'since=-0x1',
            'mode=x',
            'rows=0&cols=80',
            'rows=5000&cols=80',
            'rows=24',
            'ack=2',
            'raw=x',
            'unknown=1',
            'since=1&since=2',
        ]) {
            const a = await exchange(d, WsRaw.handshake(d, `${at}?${q}`).bytes);
            assert.equal(a.status, 400, `${q}: ${a.status}`);
            const code = JSON.parse(a.body).code;
            checkProblem(a, /^rows/.test(q) && code === 'bad_size' ? 'bad_size' : 'bad_query', q);
        }
    });

    it('an upgrade elsewhere is an ordinary request', async () => {
        const a = await exchange(d, WsRaw.handshake(d, '/v1/info').bytes);
        assert.equal(a.status, 200);
    });

    it('frames that came with the handshake are not lost', async () => {
        const { bytes } = WsRaw.handshake(d, `${at}?raw=1&since=now`);
        const { RawConn } = await import('../lib/raw.mjs');
        const { frame, OP } = await import('../lib/wsraw.mjs');
        const c = await RawConn.connect(d);
        c.send(Buffer.concat([Buffer.from(bytes), frame(OP.BINARY, 'early')]));
        const w = new WsRaw(c, await c.response());
        assert.equal((await w.binary(5)).toString(), 'early');
        c.destroy();
    });
});
