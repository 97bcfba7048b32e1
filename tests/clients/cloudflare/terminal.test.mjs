// SPDX-License-Identifier: Apache-2.0
// The published SandboxAddon of the next generation on /ws/terminal: cursors, gaps, the end.

import assert from 'node:assert/strict';
import { SandboxAddon } from 'cf-sandbox-next/xterm';
import { closeAll, page, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';
import { withWorkspace } from '../../lib/workspace.mjs';

withDaemon('cloudflare: terminals of the next generation', withWorkspace, (d) => {
    afterEach(closeAll);
    const create = async (body) => (await d.request('POST', '/dialects/cloudflare/api/terminal/create', { json: body })).json;
    const open = (id) => {
        const p = page(SandboxAddon, d, (q) => `/ws/terminal?terminalId=${q.terminalId}${q.cursor ? `&cursor=${q.cursor}` : ''}`);
        p.addon.connect({ sandboxId: 'sb', terminalId: id });
        return p;
    };
    const raw = (query, role = 'own') => {
        const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare/ws/terminal?access_token=${d.tokens[role]}${query}`);
        ws.closed = new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));
        ws.says = (type) => waitUntil(() => ws.received.find((m) => m.type === type), `${type} in ${JSON.stringify(ws.received)}`);
        ws.bytes = () => Buffer.concat(ws.received.filter(Buffer.isBuffer)).toString();
        ws.sees = (text) => waitUntil(() => ws.bytes().includes(text), `${text} in ${JSON.stringify(ws.bytes())}`);
        return ws;
    };
    /** Every chunk says what follows, and cursors are byte offsets. */
    const checkChunks = (received, from = 0) => {
        let at = from;
        received.forEach((m, i) => {
            if (!Buffer.isBuffer(m)) return;
            assert.equal(received[i - 1].type, 'chunk');
            assert.equal(received[i - 1].byteLength, m.length);
            at += m.length;
            assert.equal(received[i - 1].cursor, String(at));
        });
        return at;
    };

    it('ready comes first; after a drop it asks with its cursor and gets only what is missing', async () => {
        const t = await create({ command: ['sh'], env: { PS1: '> ' }, cols: 70, rows: 20 });
        assert.equal(t.success, true);
        const a = open(t.terminalId);
        await a.connected();
        a.type('echo one-$((1))\n');
        await a.shows('one-1\n>');
        const first = a.socket();
        assert.deepEqual(first.received[0], { type: 'ready' });
        const at = checkChunks(first.received);
        first.terminate();
        await waitUntil(() => a.states.at(-1) === 'disconnected', 'the cut');
        await d.request('POST', `/v1/processes/${t.terminalId}/input`, { json: { data: 'echo two-$((2))\n' } });
        await d.outputHas(t.terminalId, 'two-2');
        await a.connected(2);
        await a.shows('two-2\n>');
        const second = a.socket();
        assert.match(second.url, new RegExp(`cursor=${at}$|cursor=${at}&`));
        assert.deepEqual(second.received[0], { type: 'ready', cursor: String(at) });
        checkChunks(second.received, at);
        assert.equal(a.text().match(/one-1/g).length, 1, a.text());
        assert.equal(a.text(), '> echo one-$((1))\none-1\n> echo two-$((2))\ntwo-2\n>');
    });

    it('a cursor that is no longer held: truncated, and the screen as it is now', async () => {
        const t = await create({ command: ['sh', '-c', 'stty -echo; echo first; read x; seq 1 100000; echo last; cat'], bufferSize: 65536 });
        const a = open(t.terminalId);
        await a.shows('first');
        const old = a.socket();
        old.close(4000); // in order, so that nothing is claimed for it
        await waitUntil(() => a.states.at(-1) === 'disconnected', 'the cut');
        await d.request('POST', `/v1/processes/${t.terminalId}/input`, { json: { data: '\n' } });
        await d.outputHas(t.terminalId, 'last');
        await a.connected(2);
        await a.shows('100000\nlast');
        const types = a.socket().received.map((m) => (Buffer.isBuffer(m) ? 'bytes' : m.type));
        assert.deepEqual(types.slice(0, 4), ['ready', 'truncated', 'chunk', 'bytes']);
        assert.ok(!a.text().includes('first'), 'nothing of before is left');
        const want = (await d.request('GET', `/v1/processes/${t.terminalId}/screen?format=text`)).text.trimEnd();
        assert.ok(a.text().endsWith(want), `${a.text().slice(-300)}\n---\n${want}`);
        // Without a cursor nothing was asked for, so nothing is missing.
        const fresh = raw(`&terminalId=${t.terminalId}`);
        await fresh.sees('last');
        assert.ok(!fresh.received.some((m) => m.type === 'truncated'));
    });

    it('a reader that stands still holds nobody; its chunks are right, and what is gone is told', async () => {
        const t = await create({ command: ['sh', '-c', 'stty -echo; echo up; read x; seq 1 600000; echo last; cat'] });
        const [own, slow] = [raw(`&terminalId=${t.terminalId}`), raw(`&terminalId=${t.terminalId}`)];
        await Promise.all([own.sees('up'), slow.sees('up')]);
        slow.pause();
        own.send(Buffer.from('\n'));
        await waitUntil(() => own.bytes().includes('last'), 'the end of the flood', 60000);
        checkChunks(own.received);
        slow.resume();
        await waitUntil(() => slow.bytes().includes('last'), 'the slow one', 60000);
        const told = slow.received.findLastIndex((m) => m.type === 'truncated');
        if (told < 0) checkChunks(slow.received); // the system held all of it
        else assert.ok(Buffer.concat(slow.received.slice(told).filter(Buffer.isBuffer)).includes('600000'));
        const end = slow.received.findLast((m) => m.type === 'chunk').cursor;
        assert.equal(end, own.received.findLast((m) => m.type === 'chunk').cursor, 'both are at the same place');
    });

    it('after the exit it is disconnected with the exit, and stays so', async () => {
        const t = await create({ command: ['sh', '-c', 'echo bye; exit 5'] });
        const a = open(t.terminalId);
        await waitUntil(() => a.errors.some((e) => e.includes('exited with code 5')), 'the exit');
        await a.shows('bye');
        assert.equal(a.addon.state, 'disconnected');
        const dials = Socket.all.length;
        await holdsFor(1300, () => Socket.all.length === dials, 'no reconnect');
        const ws = raw(`&terminalId=${t.terminalId}`);
        assert.deepEqual(await ws.closed, [1000, 'Terminal exited']);
        assert.deepEqual(ws.received.at(-1), { type: 'exit', cursor: '5', exit: { code: 5, timedOut: false } });
    });

    it('interrupt, terminate, resize, and what is none of them', async () => {
        const t = await create({ id: 'by-name', command: ['sh', '-c', 'trap "echo got-int" INT; while :; do sleep 0.02; done'] });
        assert.equal(t.terminalId, 'by-name');
        const ws = raw('&terminalId=by-name');
        await ws.says('ready');
        ws.send('{"type":"interrupt"}');
        await ws.sees('got-int');
        ws.send('{"type":"resize","cols":61,"rows":17}');
        await waitUntil(async () => (await d.get('tag:by-name')).cols === 61, 'the size');
        ws.send('{"type":"resize","cols":0,"rows":17}');
        ws.send('{"type":"dance"}');
        ws.send('[');
        await waitUntil(() => ws.received.filter((m) => m.type === 'error').length === 3, 'three errors');
        assert.equal(ws.received.filter((m) => m.message === 'Invalid control message').length, 2);
        ws.send('{"type":"terminate"}');
        assert.equal((await ws.closed)[0], 1000);
        const { exit } = ws.received.at(-1);
        assert.ok([15, 9, 1].includes(exit.signal), JSON.stringify(exit));
    });

    it('unknown terminals and cursors are refused with their codes', async () => {
        const t = await create({ command: ['cat'] });
        for (const [query, code, message] of [
            ['&terminalId=nope', 1008, 'Terminal not found'],
            [`&terminalId=${t.terminalId}&cursor=djEuYWJj`, 1011, 'not a cursor of this terminal'],
            [`&terminalId=${t.terminalId}&cursor=-1`, 1011, 'not a cursor of this terminal'],
            [`&terminalId=${t.terminalId}&cursor=999999`, 1011, undefined],
        ]) {
            const ws = raw(query);
            const [got, reason] = await ws.closed;
            assert.equal(got, code, query);
            assert.equal(ws.received[0].type, 'error');
            if (message) assert.equal(ws.received[0].message, message);
            assert.ok(reason.length > 0);
        }
        const none = await d.request('GET', '/dialects/cloudflare/ws/terminal', {
            headers: { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' },
            agent: false,
        });
        assert.equal(none.status, 400);
        assert.equal(none.text, 'terminalId query parameter required');
    });

    it('a watcher cannot end it, type or interrupt', async () => {
        const t = await create({ command: ['cat'] });
        const ws = raw(`&terminalId=${t.terminalId}`, 'watch');
        await ws.says('ready');
        ws.send('{"type":"terminate"}');
        ws.send('{"type":"interrupt"}');
        ws.send(Buffer.from('never\n'));
        await waitUntil(() => ws.received.filter((m) => m.type === 'error').length === 3, 'three refusals');
        assert.equal((await d.get(t.terminalId)).status, 'running');
    });

    it('what cannot be started is told', async () => {
        for (const body of [{ command: [] }, { command: [1] }, { command: ['sh'], cols: 0 }, { command: ['sh'], bufferSize: 1 }, { command: ['sh'], env: 7 }]) {
            const a = await d.request('POST', '/dialects/cloudflare/api/terminal/create', { json: body });
            assert.equal(a.status, 400, JSON.stringify(body));
            assert.equal(a.json.code, 'VALIDATION_FAILED');
        }
        const a = await d.request('POST', '/dialects/cloudflare/api/terminal/create', { json: { command: ['no-such-program'] } });
        assert.equal(a.status, 500);
        assert.equal(a.json.code, 'PROCESS_ERROR');
    });
});
