// SPDX-License-Identifier: Apache-2.0
//
// redis.test.mjs - daemons that register in a real Redis, and gateways that find them there

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { Daemon } from '../lib/daemon.mjs';
import { Gateway, ask } from '../lib/gateway.mjs';
import { Redis, noRedis } from '../lib/redis.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

describe('registration in Redis', { skip: noRedis }, () => {
    const redis = new Redis();
    const daemons = {};
    const gateways = [];
    const TTL = 900;
    const daemon = (id) =>
        new Daemon({ args: ['--register', redis.register(id, `&ttl_ms=${TTL}&share_token=1&ports=1`)] }).start();
    const status = (g, id) => ask(g.url(id, daemons[id].port, '/v1/info')).then((r) => r.status);

    before(async () => {
        await redis.start();
        for (const id of ['one', 'two', 'three']) daemons[id] = await daemon(id);
        for (let i = 0; i < 2; i++) gateways.push(await new Gateway({ resolver: redis.url, args: redis.trust }).start());
    });
    after(async () => {
        for (const g of gateways) await g.stop();
        for (const id of ['two', 'three']) if (daemons[id] && !daemons[id].exited) await daemons[id].stop();
        await redis.stop();
    });

    it('each gateway reaches each daemon, with the token it shared', async () => {
        for (const g of gateways) {
            for (const id of Object.keys(daemons)) await waitUntil(async () => (await status(g, id)) === 200, `${id}`);
            assert.equal((await ask(g.url('nobody', 80))).status, 404);
            assert.equal((await ask(g.url('one', 2))).json.code, 'port_not_allowed');
            assert.equal((await ask(g.url('one', 1))).status, 502, 'a port that was named beside its own');
        }
    });

    it('a daemon that is killed is gone within its time to live', async () => {
        const d = daemons.one;
        d.crash();
        const began = Date.now();
        for (const g of gateways) await waitUntil(async () => (await status(g, 'one')) === 404, 'it to be gone');
        assert.ok(Date.now() - began < TTL * 4, 'in about its time');
    });

    it('a daemon that is stopped takes its entry away at once', async () => {
        const d = await daemon('brief');
        daemons.brief = d;
        await waitUntil(async () => (await status(gateways[0], 'brief')) === 200, 'brief');
        await d.stop();
        await waitUntil(async () => (await redis.ask('EXISTS holdfast:sandbox:brief')).includes(':0'), 'the entry to go', TTL * 4);
        await waitUntil(async () => (await status(gateways[0], 'brief')) === 404, 'the gateway to know');
    });

    it('without Redis streams go on; when it is back, new ones find their way by themselves', async () => {
        const d = daemons.two;
        const g = gateways[0];
        const made = await ask(g.url('two', d.port, '/v1/processes'), {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ command: 'cat', stdin: 'pipe' }),
        });
        assert.equal(made.status, 201, made.text);
        const ws = new WebSocket(g.ws('two', d.port, `/v1/processes/${made.json.id}/connect`), ['holdfast.v1']);
        let text = '';
        ws.on('message', (data, binary) => binary && (text += data));
        await within(new Promise((done, fail) => (ws.once('open', done), ws.once('error', fail))), 10000, 'the stream');
        await redis.end('SIGKILL');
        ws.send(Buffer.from('without redis\n'));
        await waitUntil(() => text.includes('without redis'), 'the echo');
        await waitUntil(async () => (await ask(g.url('four', 80))).json?.code === 'resolver_unavailable', 'it to be noticed');
        assert.equal((await ask(`http://127.0.0.1:${g.port}/readyz`)).status, 503);
        await redis.start();
        ws.send(Buffer.from('with redis\n'));
        await waitUntil(() => text.includes('with redis'), 'the echo');
        for (const x of gateways) await waitUntil(async () => (await status(x, 'three')) === 200, 'a new look-up', 20000);
        ws.terminate();
    });

    /* It once held a request until TCP gave up on a Redis that had vanished without a word. */
    it('a Redis that takes questions and says nothing is as good as gone', async () => {
        const g = await new Gateway({ resolver: redis.url, args: [...redis.trust, '--connect-timeout-ms', '500'] }).start();
        await waitUntil(async () => (await status(g, 'two')) === 200, 'two');
        redis.child.kill('SIGSTOP');
        const res = await within(ask(g.url('five', 80)), 10000, 'an answer');
        assert.deepEqual([res.status, res.json.code], [503, 'resolver_unavailable']);
        redis.child.kill('SIGCONT');
        await waitUntil(async () => (await ask(g.url('five', 80))).status === 404, 'it to be back');
        await g.stop();
    });

    it('what stands in Redis and is no endpoint is no sandbox', async () => {
        const values = ['xx', '{"address":"127.0.0.1"}', redis.entry('bad2', { address: 'name' }), redis.entry('bad3', { address: '127.0.0.1', token: 'in-the-clear-0123456' })];
        for (const [i, value] of values.entries()) {
            await redis.set(`bad${i}`, value);
            /* It may not have found back to Redis yet. */
            await waitUntil(async () => (await ask(gateways[1].url(`bad${i}`, 80))).status === 404, value);
        }
    });
});
