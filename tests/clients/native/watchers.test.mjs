// SPDX-License-Identifier: Apache-2.0
// Who only watches, or came by a link, never slows, holds, ends or locks up a process.

import assert from 'node:assert/strict';
import { it, test } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const BYTES = 16 << 20;
const FLOOD = `read x; head -c ${BYTES} /dev/zero | tr '\\0' x`;

withDaemon('watchers', {}, (d) => {
    const start = (extra = {}) => d.sh(FLOOD, { stdin: 'pipe', delivery: 'lossless', ...extra });
    const go = (p) => d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
    const link = async (p, role) =>
        (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role }, expect: 201 })).json.token;
    const stopped = async (p, role, query) => {
        const v = await Viewer.attach(d, p.id, { role, query, keep: false });
        v.ws.pause();
        return v;
    };
    const next = async (p) => (await d.get(p.id)).output.next;

    it('one that takes nothing holds nobody, even where all is to be delivered', async () => {
        const p = await start();
        const viewers = [];
        for (const [role, query] of [['watch'], [await link(p, 'watch')], [await link(p, 'type')], ['own', { mode: 'ro' }], ['watch', { ack: '1' }]]) {
            viewers.push(await stopped(p, role, query));
        }
        const streams = [];
        for (const [url, headers] of [
            [`/v1/processes/${p.id}/output?follow=1`],
            [`/v1/processes/${p.id}/output?follow=1`, { Accept: 'text/event-stream' }],
            [`/dialects/kubernetes/api/v1/namespaces/default/pods/sandbox/log?follow=true&container=${p.id.replace('_', '-')}`],
            [`/dialects/sandbox-agent/v1/processes/${p.id}/logs?follow=true`],
            [`/dialects/hyperbrowser/sandbox/processes/${p.id}/stream`],
            [`/dialects/opensandbox/command/${p.id}/resume`],
            [`/dialects/cloudflare/api/process/${p.id}/stream`],
        ]) {
            const res = await d.open('GET', url, { role: 'watch', headers });
            assert.equal(res.statusCode, 200, url);
            res.pause();
            streams.push(res);
        }
        await go(p);
        const e = await d.exitOf(p.id);
        assert.equal(e.exit.code, 0);
        assert.equal(await next(p), BYTES);
        viewers.forEach((v) => v.cut());
        streams.forEach((s) => s.destroy());
        await d.remove(p.id);
    });

    it('whoever may type is waited for, and misses nothing', async () => {
        for (const role of ['own', 'type']) {
            const p = await start();
            const v = await stopped(p, role);
            await go(p);
            await waitUntil(async () => (await next(p)) >= 1 << 20, 'the ring to be full');
            assert.equal((await d.get(p.id)).status, 'running');
            v.ws.resume();
            await v.finish();
            assert.equal(v.bytes, BYTES);
            assert.deepEqual(v.gaps, []);
            await d.remove(p.id);
        }
    });

    it('a slow one is told what it missed, and the others miss nothing', async () => {
        const p = await start({ delivery: 'live' });
        const slow = await stopped(p, 'watch');
        const owner = await Viewer.attach(d, p.id, { keep: false });
        await go(p);
        await owner.finish();
        assert.equal(owner.bytes, BYTES);
        assert.deepEqual(owner.gaps, []);
        slow.ws.resume();
        await slow.finish();
        assert.ok(slow.gaps.length > 0);
        assert.equal(slow.bytes + slow.gaps.reduce((n, [from, to]) => n + to - from, 0), BYTES);
        await d.remove(p.id);
    });

    it('one that takes a little now and then does not set the pace', async () => {
        const p = await start({ delivery: 'live' });
        const v = await stopped(p, 'own', { mode: 'ro' });
        const sip = setInterval(() => {
            v.ws.resume();
            setImmediate(() => v.ws.pause());
        }, 100);
        await go(p);
        await d.exitOf(p.id);
        clearInterval(sip);
        assert.ok(v.bytes < BYTES / 2, `it has ${v.bytes} bytes when the process ends`);
        v.cut();
        await d.remove(p.id);
    });

    it('one that keeps up gets everything', async () => {
        const p = await d.sh('read x; i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); done; read x', { stdin: 'pipe' });
        const v = await Viewer.attach(d, p.id, { role: 'watch' });
        await go(p);
        await v.outputHas('line 299\n');
        assert.deepEqual(v.gaps, []);
        assert.equal(v.output.toString(), Array.from({ length: 300 }, (_, i) => `line ${i}\n`).join(''));
        v.cut();
        await d.remove(p.id);
    });

    it('its leaving does not end a process that ends with its viewers', async () => {
        const p = await d.sh('read x', { stdin: 'pipe', on_detach: 'kill' });
        for (const role of ['watch', await link(p, 'watch'), await link(p, 'type')]) {
            const v = await Viewer.attach(d, p.id, { role });
            v.cut();
            await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be gone');
            assert.equal((await d.get(p.id)).status, 'running');
        }
        const guest = await Viewer.attach(d, p.id, { role: 'watch' });
        const owner = await Viewer.attach(d, p.id);
        owner.cut();
        assert.equal((await d.exitOf(p.id)).exit.by, 'detach', 'nor does its staying keep one');
        guest.cut();
        await d.remove(p.id);
    });

    it("its being there does not give up what is kept for the owner's return", async () => {
        const p = await start({ delivery: 'live', hold_ms: 60000 });
        const guest = await Viewer.attach(d, p.id, { role: 'watch', keep: false });
        const owner = await Viewer.attach(d, p.id, { query: { client: 'a', ack: '1' }, keep: false });
        owner.cut();
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'the owner to be gone');
        await go(p);
        await waitUntil(async () => (await next(p)) > 1 << 19, 'output');
        const again = await Viewer.attach(d, p.id, { query: { client: 'a', since: '0' }, keep: false });
        await again.finish();
        assert.deepEqual([again.bytes, again.gaps], [BYTES, []]);
        guest.cut();
        await d.remove(p.id);
    });
});

test('watchers leave room for the owner', async () => {
    await daemonFor({ args: ['--max-viewers', '8'] }, async (d) => {
        const p = await d.sh('read x', { stdin: 'pipe' });
        const viewers = [];
        for (let i = 0; i < 7; i++) viewers.push(await Viewer.attach(d, p.id, { role: 'watch' }));
        await assert.rejects(Viewer.attach(d, p.id, { role: 'watch' }), (e) => e.status === 429 && JSON.parse(e.body).limit === 'max_viewers');
        viewers.push(await Viewer.attach(d, p.id, {}));
        await assert.rejects(Viewer.attach(d, p.id, {}), (e) => e.status === 429);
        viewers.forEach((v) => v.cut());
        await d.remove(p.id);
    });
});
