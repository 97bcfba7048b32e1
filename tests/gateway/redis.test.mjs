// SPDX-License-Identifier: Apache-2.0
//
// redis.test.mjs - daemons that register in a real Redis, and gateways that find them there

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import WebSocket from 'ws';
import { Daemon } from '../lib/daemon.mjs';
import { Gateway, ask } from '../lib/gateway.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const have = (name) => process.env.PATH.split(':').some((d) => fs.existsSync(path.join(d, name)));
const freePort = () =>
    new Promise((done) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => done(port));
        });
    });

class Redis {
    async start() {
        this.port ??= await freePort();
        this.dir ??= fs.mkdtempSync(path.join(os.tmpdir(), 'hf-redis-'));
        this.child = spawn('redis-server', ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--dir', this.dir, '--requirepass', 'pw'], { stdio: 'ignore' });
        this.exit = new Promise((done) => this.child.once('exit', done));
        await waitUntil(() => this.ask('PING').then((t) => t.includes('PONG')), 'redis');
        return this;
    }

    /** One command in its inline form, the raw reply. */
    ask(command) {
        return new Promise((resolve, reject) => {
            const s = net.connect(this.port, '127.0.0.1');
            let text = '';
            s.on('error', reject);
            s.on('data', (d) => (text += d));
            s.on('close', () => resolve(text));
            s.write(`AUTH pw\r\n${command}\r\nQUIT\r\n`);
        });
    }

    async stop(signal = 'SIGTERM') {
        this.child.kill(signal);
        await this.exit;
    }

    get url() {
        return `redis://:pw@127.0.0.1:${this.port}`;
    }
}

describe('registration in Redis', { skip: !have('redis-server') }, () => {
    const redis = new Redis();
    const daemons = {};
    const gateways = [];
    const TTL = 900;
    const daemon = (id) =>
        new Daemon({ args: ['--register', `${redis.url}?id=${id}&ttl_ms=${TTL}&share_token=1&ports=1`] }).start();
    const status = (g, id) => ask(g.url(id, daemons[id].port, '/v1/info')).then((r) => r.status);

    before(async () => {
        await redis.start();
        for (const id of ['one', 'two', 'three']) daemons[id] = await daemon(id);
        for (let i = 0; i < 2; i++) gateways.push(await new Gateway({ resolver: redis.url }).start());
    });
    after(async () => {
        for (const g of gateways) await g.stop();
        for (const id of ['two', 'three']) if (daemons[id] && !daemons[id].exited) await daemons[id].stop();
        await redis.stop();
        fs.rmSync(redis.dir, { recursive: true, force: true });
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
        process.kill(d.pid, 'SIGKILL');
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
        await redis.stop('SIGKILL');
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

    it('what stands in Redis and is no endpoint is no sandbox', async () => {
        for (const [id, value] of [['bad1', 'xx'], ['bad2', '{"address":"name"}'], ['bad3', '[]']]) {
            await redis.ask(`SET holdfast:sandbox:${id} ${JSON.stringify(value).replace(/^"/, "'").replace(/"$/, "'").replaceAll('\\"', '"')}`);
            /* It may not have found back to Redis yet. */
            await waitUntil(async () => (await ask(gateways[1].url(id, 80))).status === 404, id);
        }
    });
});
