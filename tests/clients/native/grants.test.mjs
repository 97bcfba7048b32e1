// SPDX-License-Identifier: Apache-2.0
// A client id belongs to the token or link that brought it: nobody else can use it, or see it.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { SseReader } from '../../lib/sse.mjs';

const SHOWN = /^c_[0-9a-f]{16}$/;

withDaemon('client ids and grants', {}, (d) => {
    const start = () => d.sh('stty -echo; echo ready; while read a; do echo "got $a"; done', { pty: true });
    const link = async (p, role) =>
        (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role }, expect: 201 })).json.token;
    const attach = (p, client, role = 'own', query = {}) =>
        Viewer.attach(d, p.id, { role, query: { client, since: 'now', ...query } });
    const acked = (v, offset) => v.message('input_ack', 10000, (m) => m.offset === offset);

    it('a link cannot throw the owner out, and is not told its client id', async () => {
        const p = await start();
        const owner = await attach(p, 'the-owner');
        for (const role of ['watch', 'type']) {
            const v = await attach(p, 'the-owner', await link(p, role));
            const seen = v.hello.viewers.map((x) => x.client);
            assert.equal(seen.length, 2);
            assert.match(seen[0], SHOWN, 'the owner');
            assert.equal(seen[1], 'the-owner', 'itself');
            const told = await owner.message('viewers', 5000, (m) => m.count === 2);
            assert.equal(told.list[0].client, 'the-owner');
            assert.match(told.list[1].client, SHOWN, 'the link');
            assert.notEqual(told.list[1].client, seen[0]);
            v.cut();
            await owner.message('viewers', 5000, (m) => m.count === 1);
            owner.messages.splice(0);
        }
        await owner.send('still here\r');
        await owner.outputHas('got still here');
        owner.cut();
        await d.remove(p.id);
    });

    it('the digest stays the same for a client, and differs between processes', async () => {
        const seen = [];
        for (const p of [await start(), await start()]) {
            const owner = await attach(p, 'a');
            const token = await link(p, 'watch');
            const first = await attach(p, 'b', token);
            seen.push(first.hello.viewers[0].client);
            first.cut();
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            await d.nextWorker(old);
            const again = await attach(p, 'a');
            const second = await attach(p, 'b', token);
            assert.equal(second.hello.viewers[0].client, seen.at(-1));
            [owner, again, second].forEach((v) => v.cut());
            await d.remove(p.id);
        }
        assert.notEqual(seen[0], seen[1]);
    });

    it('events show nobody a client id', async () => {
        const p = await start();
        const events = new SseReader(await d.open('GET', '/v1/events?all=1'));
        const v = await attach(p, 'the-owner');
        let e;
        do e = await events.next();
        while (e.event !== 'viewer.joined');
        assert.match(JSON.parse(e.data).detail.client, SHOWN);
        events.res.destroy();
        v.cut();
        await d.remove(p.id);
    });

    it("what a link types does not move the owner's input", async () => {
        const p = await start();
        const token = await link(p, 'type');
        const owner = await attach(p, 'same');
        await owner.send('one\r');
        await acked(owner, 4);
        for (const role of [token, 'type']) {
            const other = await attach(p, 'same', role);
            assert.equal(other.hello.input_offset, 0);
            await other.send('a longer line\r');
            await acked(other, 14);
            other.cut();
        }
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const counts = [];
        for (const role of ['own', 'own', token, 'type']) {
            const v = await attach(p, 'same', role);
            counts.push(v.hello.input_offset);
            v.cut();
        }
        assert.deepEqual(counts, [4, 4, 14, 14], 'each goes on where it was');
        owner.cut();
        await d.remove(p.id);
    });

    it("the ids of one grant do not push out another's", async () => {
        const p = await start();
        const [one, two] = [await link(p, 'type'), await link(p, 'type')];
        const type = async (client, role) => {
            const v = await attach(p, client, role);
            await v.send('x\r');
            await acked(v, 2);
            v.cut();
        };
        await type('owner', 'own');
        await type('guest', one);
        for (let i = 0; i < limit('LIMIT_INPUT_CLIENTS') + limit('LIMIT_INPUT_GUESTS') + 2; i++) await type(`c${i}`, two);
        for (const [client, role, offset] of [
            ['owner', 'own', 2],
            ['guest', one, 2],
            ['c0', two, 0],
            [`c${limit('LIMIT_INPUT_CLIENTS') + limit('LIMIT_INPUT_GUESTS') + 1}`, two, 2],
        ]) {
            const v = await attach(p, client, role);
            assert.equal(v.hello.input_offset, offset, `${client}`);
            v.cut();
        }
        await d.remove(p.id);
    });

    it('long ids that differ at their end are different clients', async () => {
        const p = await start();
        const long = 'x'.repeat(127);
        const a = await attach(p, `${long}a`);
        await a.send('one\r');
        await acked(a, 4);
        const b = await attach(p, `${long}b`);
        assert.equal(b.hello.input_offset, 0);
        assert.equal(b.hello.viewers.length, 2);
        const again = await attach(p, `${long}a`);
        assert.equal(again.hello.input_offset, 4);
        assert.equal(await a.closed, 1008);
        [b, again].forEach((v) => v.cut());
        await d.remove(p.id);
    });

    it('a lease waits for its holder, not for whoever brings the same id', async () => {
        const p = await start();
        const [one, two] = [await link(p, 'type'), await link(p, 'type')];
        const owner = await attach(p, 'owner');
        const holder = await attach(p, 'same', one);
        holder.control({ type: 'lease', action: 'take' });
        const taken = await owner.message('lease');
        assert.match(taken.holder.client, SHOWN);
        holder.cut();
        await owner.message('viewers', 5000, (m) => m.count === 1);
        const thief = await attach(p, 'same', two);
        assert.equal(thief.hello.lease.mine, false);
        const back = await attach(p, 'same', one);
        assert.deepEqual([back.hello.lease.mine, back.hello.lease.client], [true, 'same']);
        [owner, thief, back].forEach((v) => v.cut());
        await d.remove(p.id);
    });
});
