// SPDX-License-Identifier: Apache-2.0
// The writer lease: one types, the others are told, and nothing they send arrives late.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('lease', {}, (d) => {
    const shell = () => d.sh('stty -echo; echo ready; while read a; do echo "got $a"; done', { pty: true });
    const start = async () => {
        const p = await shell();
        await d.outputHas(p.id, 'ready');
        return p;
    };
    const attach = (p, client, more = {}) => {
        const { query, ...rest } = more;
        return Viewer.attach(d, p.id, { query: { ...(client ? { client } : {}), ...query }, ...rest });
    };
    const lease = (v, action) => v.control({ type: 'lease', action });
    const told = (v, why, n = 1) =>
        v.until(() => v.messages.filter((m) => m.type === 'lease' && m.why === why)[n - 1], 5000, `lease ${why}`);
    const last = (v, type) => v.messages.filter((m) => m.type === type).at(-1);
    const check = async (v) => {
        const api = await d.openapi();
        for (const m of v.messages) api.checkSchema('WebSocketServerMessage', m);
    };

    it('while one holds it, only its input counts, and all know', async () => {
        const p = await start();
        const a = await attach(p, 'a', { query: { name: 'Ada' } });
        const b = await attach(p, 'b', { role: 'type' });
        assert.equal(a.hello.lease, null);
        await b.send('one\r');
        await a.outputHas('got one');
        lease(a, 'take');
        const [toA, toB] = [await told(a, 'taken'), await told(b, 'taken')];
        assert.deepEqual([toA.holder.mine, toB.holder.mine], [true, false]);
        assert.deepEqual([toB.holder.name, toB.holder.role], ['Ada', 'own']);
        assert.match(toB.holder.client, /^c_[0-9a-f]{16}$/, 'the id is shown to nobody else');
        await b.send('two\r');
        assert.equal((await b.message('notice')).code, 'lease_held');
        assert.equal((await b.until(() => last(b, 'input_ack')?.offset === 8 && last(b, 'input_ack'), 5000, 'the ack')).offset, 8);
        await a.send('three\r');
        await b.outputHas('got three');
        assert.ok(!a.output.includes('got two'));
        const c = await attach(p);
        assert.equal(c.hello.lease.client, 'a');
        lease(a, 'release');
        assert.equal((await told(b, 'released')).holder, null);
        await c.send('four\r');
        await a.outputHas('got four');
        assert.ok(!a.output.includes('got two'));
        for (const v of [a, b, c]) {
            await check(v);
            v.cut();
        }
        await d.remove(p.id);
    });

    it('the other ways in are closed too', async () => {
        const p = await start();
        const a = await attach(p, 'a');
        lease(a, 'take');
        await told(a, 'taken');
        const url = `/v1/processes/${p.id}/input`;
        const problem = await d.refused('lease_held', 'POST', url, { json: { data: 'x\r' } });
        assert.equal(problem.accepted_bytes, 0);
        await d.refused('lease_held', 'POST', url, { json: { eof: true } });
        const b = await attach(p);
        b.control({ type: 'eof' });
        assert.equal((await b.message('notice')).code, 'lease_held');
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 5, cols: 5 }, expect: 200 });
        lease(a, 'release');
        await told(a, 'released');
        await d.api('POST', url, { json: { data: 'x\r' }, expect: 200 });
        await a.outputHas('got x');
        a.cut();
        b.cut();
        await d.remove(p.id);
    });

    it('is taken over by an equal or a higher role, and asked for by a lower one', async () => {
        const p = await start();
        const own = await attach(p, 'own', { query: { name: 'Olga' } });
        const typist = await attach(p, 'typist', { role: 'type', query: { name: 'Tim' } });
        const watcher = await attach(p, null, { role: 'watch' });
        lease(typist, 'request');
        assert.equal((await told(typist, 'taken')).holder.mine, true);
        lease(own, 'take');
        const over = await told(watcher, 'taken_over');
        assert.deepEqual([over.holder.name, over.holder.role], ['Olga', 'own']);
        assert.equal((await told(typist, 'taken_over')).holder.mine, false);
        lease(typist, 'take');
        assert.equal((await typist.message('error')).code, 'lease_held');
        lease(typist, 'request');
        const asked = await own.message('notice');
        assert.deepEqual([asked.code, asked.by], ['lease_requested', 'Tim']);
        lease(typist, 'release');
        await typist.until(() => typist.messages.filter((m) => m.type === 'error').length === 2, 5000, 'a second error');
        assert.equal(last(typist, 'error').code, 'forbidden');
        for (const action of ['take', 'request']) lease(watcher, action);
        await watcher.until(() => watcher.messages.filter((m) => m.type === 'error').length === 2, 5000, 'two errors');
        assert.ok(watcher.messages.filter((m) => m.type === 'error').every((m) => m.code === 'forbidden'));
        lease(watcher, 'dance');
        await watcher.message('error', 5000, (m) => m.code === 'bad_value');
        lease(own, 'take');
        await own.send('mine\r');
        await typist.outputHas('got mine');
        assert.equal(own.messages.filter((m) => m.type === 'lease').length, 2, 'taking what one has changes nothing');
        for (const v of [own, typist, watcher]) {
            await check(v);
            v.cut();
        }
        await d.remove(p.id);
    });

    it('ends with its holder: at once without a client id, after a while with one', async () => {
        const p = await start();
        const b = await attach(p, 'b');
        const a = await attach(p);
        lease(a, 'take');
        await told(b, 'taken');
        a.cut();
        assert.equal((await told(b, 'left')).holder, null);
        const c = await attach(p, 'c');
        lease(c, 'take');
        await told(b, 'taken', 2);
        c.cut();
        await b.until(() => last(b, 'viewers').count === 1, 5000, 'c to be gone');
        await b.send('early\r');
        assert.equal((await b.message('notice')).code, 'lease_held');
        await b.until(() => b.messages.filter((m) => m.why === 'left').length === 2, 15000, 'the end of the grace');
        await b.send('late\r');
        await b.outputHas('got late');
        assert.ok(!b.output.includes('early'));
        b.cut();
        await d.remove(p.id);
    });

    it('stays with a client that comes back, and with no other', async () => {
        const p = await start();
        const b = await attach(p, 'b');
        const a = await attach(p, 'a', { role: 'type' });
        lease(a, 'take');
        await told(b, 'taken');
        a.cut();
        await b.until(() => last(b, 'viewers').count === 1, 5000, 'a to be gone');
        const wrong = await attach(p, 'a', { role: 'watch' });
        assert.equal(wrong.hello.lease.mine, false);
        wrong.cut();
        const again = await attach(p, 'a', { role: 'type' });
        assert.deepEqual([again.hello.lease.mine, again.hello.lease.client], [true, 'a']);
        const newer = await attach(p, 'a', { role: 'type' });
        assert.equal(newer.hello.lease.mine, true, 'a second connection of the same client replaces the first');
        await newer.send('back\r');
        await b.outputHas('got back');
        assert.equal(b.messages.filter((m) => m.type === 'lease').length, 1, 'nobody else noticed');
        newer.cut();
        b.cut();
        await d.remove(p.id);
    });

    it('stays over a restart of the worker', async () => {
        const p = await start();
        const a = await attach(p, 'a');
        lease(a, 'take');
        await told(a, 'taken');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const b = await waitUntil(() => attach(p, 'b').catch(() => null), 'the new worker');
        assert.deepEqual([b.hello.lease.client, b.hello.lease.mine], ['a', false]);
        const again = await attach(p, 'a');
        assert.equal(again.hello.lease.mine, true);
        again.cut();
        b.cut();
        await d.remove(p.id);
    });

    it('viewers have names, roles and a time', async () => {
        const p = await start();
        const s = new Date();
        const a = await attach(p, 'a', { query: { name: 'Zoë at home', rows: '30', cols: '90' } });
        const b = await attach(p, null, { role: 'watch' });
        const m = await a.message('viewers', 5000, (x) => x.count === 2);
        assert.deepEqual(
            m.list.map((v) => [v.client, v.role, v.read_only, v.rows, v.cols]),
            [
                ['a', 'own', false, 30, 90],
                [null, 'watch', true, null, null],
            ],
        );
        assert.equal(m.list[0].name, 'Zoë at home');
        assert.match(m.list[1].name, /^127\.0\.0\.1:/);
        assert.ok(Math.abs(Date.parse(m.list[0].since) - s) < 10000);
        for (const name of ['', 'x'.repeat(129), 'a\nb']) {
            await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/connect?name=${encodeURIComponent(name)}`, {
                headers: {
                    Connection: 'Upgrade',
                    Upgrade: 'websocket',
                    'Sec-WebSocket-Version': '13',
                    'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
                },
                agent: false,
            });
        }
        a.cut();
        b.cut();
        await d.remove(p.id);
    });
});
