// SPDX-License-Identifier: Apache-2.0
//
// registration.test.mjs - a sandbox that registers in Redis can speak for itself and for nobody else

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { Daemon, binary } from '../lib/daemon.mjs';
import { Gateway, ask, httpUpstream } from '../lib/gateway.mjs';
import { limit } from '../lib/limits.mjs';
import * as proc from '../lib/proc.mjs';
import { Redis, noRedis } from '../lib/redis.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const run = (args, env = {}) => spawnSync(binary(), args, { encoding: 'utf8', timeout: 20000, env: { PATH: process.env.PATH, ...env } });
const serve = (url, env) => run(['serve', '--listen', '127.0.0.1:0', '--no-auth', '--register', url], env);
const gateway = (...args) => run(['gateway', '--listen', '127.0.0.1:0', '--no-auth', ...args]);

/** Whether the memory that a process has written to has the text. */
function memoryHas(pid, text) {
    const fd = fs.openSync(`/proc/${pid}/mem`);
    const areas = fs.readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^(\w+)-(\w+) rw/gm);
    const found = [...areas].some(([, from, to]) => {
        const size = Number(BigInt(`0x${to}`) - BigInt(`0x${from}`));
        if (size > 64 * 1024 * 1024) return false; // the sanitizer's own
        const bytes = Buffer.alloc(size);
        try {
            fs.readSync(fd, bytes, 0, size, BigInt(`0x${from}`));
        } catch {
            return false;
        }
        return bytes.includes(text);
    });
    fs.closeSync(fd);
    return found;
}

describe('secrets of a registration', () => {
    it('are not taken from a command line that everybody can read', () => {
        for (const url of ['redis://:pw@127.0.0.1:1', 'redis://me:pw@127.0.0.1:1']) {
            for (const r of [serve(`${url}?unsigned=1`), gateway('--unsigned-registrations', '--resolver', url)]) {
                assert.equal(r.status, 1);
                assert.match(r.stderr, /Every user of this machine can read a password in the Redis URL. Append \?password_file=FILE .* or set HOLDFAST_REDIS_PASSWORD/);
                assert.ok(!r.stderr.includes('pw@'), 'nor said again');
            }
        }
        assert.match(serve('redis://me@127.0.0.1:1?unsigned=1').stderr, /A Redis user needs a password/);
        assert.match(serve('redis://127.0.0.1:1?unsigned=1&password_file=/nonexistent').stderr, /Cannot read \/nonexistent/);
    });

    it('are needed, unless somebody says that they are not', () => {
        assert.match(gateway('--resolver', 'redis://127.0.0.1:1').stderr, /must be signed: set --register-key-file FILE/);
        assert.match(serve('redis://127.0.0.1:1').stderr, /set key_file=FILE or HOLDFAST_REGISTER_KEY/);
        assert.match(serve('redis://127.0.0.1:1?unsigned=1&share_token=1').stderr, /share_token needs a key/);
        assert.match(serve('redis://127.0.0.1:1?unsigned=1', { HOLDFAST_REGISTER_KEY: 'a'.repeat(64) }).stderr, /a key or unsigned=1, not both/);
        assert.match(serve('redis://127.0.0.1:1', { HOLDFAST_REGISTER_KEY: 'a'.repeat(63) }).stderr, /the key must have 64 hex digits/);
        assert.match(gateway('--resolver', 'redis://127.0.0.1:1', '--register-key-file', '/dev/null').stderr, /must be signed/);
    });
});

describe('registrations', { skip: noRedis }, () => {
    const redis = new Redis();
    const app = {};
    let gw;
    const status = async (id, port = app.port) => (await ask(gw.url(id, port))).status;
    const here = () => ({ address: `127.0.0.1:${app.port}`, ports: [app.port] });

    before(async () => {
        Object.assign(app, await httpUpstream((req, res) => res.end(JSON.stringify(req.headers))));
        await redis.start();
        gw = await new Gateway({ resolver: redis.url, args: redis.trust }).start();
        await waitUntil(async () => (await status('nobody')) === 404, 'redis');
    });
    after(async () => {
        await gw?.stop();
        await app.close();
        await redis.stop();
    });

    it('are signed with a key that gateway-key prints for one sandbox', async () => {
        const file = redis.trust[1];
        assert.equal(execFileSync(binary(), ['gateway-key', '--key-file', file, '--id', 'alpha']).toString().trim(), redis.key('alpha').toString('hex'));
        assert.equal(run(['gateway-key', '--key-file', file, '--id', '..']).status, 2);
        assert.match(run(['gateway-key', '--key-file', '/dev/null', '--id', 'a']).stderr, /at least 32 bytes/);
        assert.match(run(['gateway-key', '--help']).stdout, /usage: holdfast gateway-key/);
    });

    it('count when the sandbox itself has signed them, and only then', async () => {
        await redis.set('good', redis.entry('good', here()));
        assert.equal(await status('good'), 200);
        const later = (ms) => ({ ...here(), expires_ms: Date.now() + ms });
        const cut = redis.entry('v5', here());
        const bad = {
            v0: JSON.stringify(here()), // nobody's
            v1: redis.entry('v1', here(), redis.key('mallory')), // another sandbox's
            v2: redis.entry('good', here(), redis.key('good')), // its own, of another id
            v3: redis.entry('v3', later(-120000)), // what once was true
            v4: redis.entry('v4', later(7200000)), // and what would be for too long
            v5: cut.replace(`${app.port}]`, `${app.port},22]`), // changed on its way
            v6: redis.entry('v6', { ...here(), expires_ms: undefined }),
        };
        for (const [id, value] of Object.entries(bad)) {
            assert.match(await redis.set(id, value), /OK/);
            assert.equal(await status(id), 404, id);
            assert.match(gw.stderr, new RegExp(`ignoring the Redis entry of sandbox ${id}: `));
        }
    });

    /* One that can write to Redis could send the gateway to its own machine or to a cloud's metadata. */
    it('lead to no address that only the gateway should reach', async () => {
        const g = await new Gateway({ resolver: redis.url, args: redis.trust, networks: [] }).start();
        for (const [i, ip] of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '0.0.0.0', '[fe80::1]'].entries()) {
            await redis.set(`net${i}`, redis.entry(`net${i}`, { address: `${ip}:${app.port}`, ports: [app.port] }));
            const res = await ask(g.url(`net${i}`, app.port));
            assert.deepEqual([res.status, res.json.code], [502, 'upstream_unreachable'], ip);
            assert.match(res.json.detail, /an address that this gateway does not allow/);
        }
        await redis.set('ports', redis.entry('ports', { address: '192.0.2.1:1', ports: { 80: `127.0.0.1:${app.port}` } }));
        assert.match((await ask(g.url('ports', 80))).json.detail, /does not allow/, 'nor by a port’s own address');
        assert.match(g.stderr, /not connecting to sandbox net0 at 127\.0\.0\.1:\d+: the address is not allowed/);
        await g.stop();
    });

    it('of a daemon hold no token, and the gateway has one all the same, for that daemon’s port', async () => {
        const d = await new Daemon({ gateway: false, args: ['--register', redis.register('real', `&share_token=1&ports=${app.port}`)] }).start();
        await waitUntil(async () => (await status('real', d.port)) !== 404, 'the entry');
        assert.equal((await ask(gw.url('real', d.port, '/v1/info'))).status, 200);
        assert.equal(JSON.parse((await ask(gw.url('real', app.port))).text).authorization, undefined, 'an application’s port');
        const value = await redis.ask('GET holdfast:sandbox:real');
        for (const token of [...Object.values(d.tokens), redis.token('real')]) assert.ok(!value.includes(token));
        const other = await fetch(`${d.url}/v1/info`, { headers: { authorization: `Bearer ${redis.token('other')}` } });
        assert.equal(other.status, 401, 'no other sandbox’s token opens it');
        await d.stop();
    });

    it('need no secret in what others can see of the processes', async () => {
        const key = redis.key('env').toString('hex');
        const d = await new Daemon({
            gateway: false,
            args: ['--register', `redis://127.0.0.1:${redis.port}?id=env`],
            env: { HOLDFAST_REDIS_PASSWORD: 'pw', HOLDFAST_REGISTER_KEY: key },
        }).start();
        await waitUntil(async () => (await status('env', d.port)) !== 404, 'the entry');
        const made = (await d.api('POST', '/v1/processes/run', { json: { command: 'env' } })).json;
        assert.ok(!/REDIS_PASSWORD|REGISTER_KEY/.test(made.stdout), 'its processes inherit neither');
        for (const { pid } of [{ pid: d.pid }, ...proc.descendantsOf(d.pid)]) {
            const seen = fs.readFileSync(`/proc/${pid}/environ`, 'latin1') + fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1');
            assert.ok(!seen.includes(key) && !/PASSWORD=pw/.test(seen), `process ${pid}`);
        }
        await d.stop();
        const g = await new Gateway({ resolver: `redis://127.0.0.1:${redis.port}`, args: redis.trust, env: { HOLDFAST_REDIS_PASSWORD: 'pw' }, workers: 2 }).start();
        await waitUntil(async () => (await ask(g.url('good', app.port))).status === 200, 'a gateway that has it by the environment');
        for (const { pid } of [{ pid: g.pid }, ...proc.childrenOf(g.pid)]) assert.ok(!fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes('PASSWORD=pw'));
        await g.stop();
    });

    it('are made by a process that does not have the daemon’s tokens', { skip: process.getuid() !== 0 && 'needs root, to read its memory' }, async () => {
        const d = await new Daemon({ gateway: false, args: ['--register', redis.register('wiped')] }).start();
        await waitUntil(async () => (await status('wiped', d.port)) !== 404, 'the entry');
        const registrar = proc.childrenOf(d.pid).find((c) => c.pid !== d.vaultPid());
        const held = (pid) => Object.values(d.tokens).filter((token) => memoryHas(pid, token));
        assert.equal(held(d.workerPid()).length, 3, 'what is looked for can be found');
        assert.deepEqual(held(registrar.pid), []);
        await d.stop();
    });

    it('without signatures are believed only where that was asked for, loudly', async () => {
        const g = await new Gateway({ resolver: redis.url, args: ['--unsigned-registrations'] }).start();
        assert.match(g.stderr, /anyone who can write to Redis can impersonate any sandbox/);
        const d = await new Daemon({ gateway: false, args: ['--register', `${redis.url}&id=plain&unsigned=1`] }).start();
        assert.match(d.stderr, /anyone who can write to Redis can impersonate this sandbox/);
        await waitUntil(async () => (await ask(g.url('plain', d.port, '/v1/info'))).status === 401, 'the daemon, which guards itself');
        assert.equal(await status('plain', d.port), 404, 'the careful gateway');
        await d.stop();
        await g.stop();
        const both = gateway('--resolver', redis.url, '--unsigned-registrations', ...redis.trust);
        assert.match(both.stderr, /not both/);
    });

    const gets = async () => Number(/cmdstat_get:calls=(\d+)/.exec(await redis.ask('INFO commandstats'))?.[1] ?? 0);

    it('that are not there are asked for once a second, and found as soon as they are', async () => {
        assert.equal(await status('made-up'), 404);
        const was = await gets();
        const began = Date.now();
        for (let i = 0; i < 100; i++) assert.equal(await status('made-up'), 404);
        const asked = (await gets()) - was;
        assert.ok(asked <= 1 + (Date.now() - began) / 1000, `${asked} questions`);
        await redis.set('made-up', redis.entry('made-up', here()));
        await redis.ask('PUBLISH holdfast:sandboxes made-up');
        await waitUntil(async () => (await status('made-up')) === 200, 'the new one');
    });

    it('are not asked for on behalf of somebody who brings nothing', async () => {
        const g = await new Gateway({ resolver: redis.url, args: [...redis.trust, '--token-file', 'DIR/tokens'], files: { tokens: 'a-token-0123456789' }, auth: true }).start();
        const bearer = { headers: { authorization: 'Bearer a-token-0123456789' } };
        await waitUntil(async () => (await ask(g.url('good', app.port), bearer)).status === 200, 'redis');
        const was = await gets();
        for (let i = 0; i < 20; i++) assert.equal((await ask(g.url(`id${i}`, 80))).status, 401);
        assert.equal(await gets(), was);
        await g.stop();
    });

    it('are asked for in a bounded number at once', async () => {
        const lookups = limit('LIMIT_GATEWAY_LOOKUPS');
        const other = await new Redis().start();
        const g = await new Gateway({ resolver: other.url, args: [...other.trust, '--connect-timeout-ms', '60000'] }).start();
        await waitUntil(async () => (await ask(g.url('x', 80))).status === 404, 'redis');
        const total = async () => (await g.metrics()).holdfast_gateway_lookups_total;
        const was = await total();
        other.child.kill('SIGSTOP');
        const asked = Array.from({ length: lookups }, (_, i) => fetch(g.url(`id${i}`, 80)).then((r) => r.status));
        await waitUntil(async () => (await total()) >= was + lookups, 'all of them');
        const res = await ask(g.url('one-more', 80));
        assert.deepEqual([res.status, res.json.code], [503, 'resolver_unavailable']);
        const same = fetch(g.url('id0', 80)).then((r) => r.status); // who asks for the same waits with the others
        other.child.kill('SIGCONT');
        assert.deepEqual([...new Set(await Promise.all([...asked, same]))], [404]);
        await g.stop();
        await other.stop();
    });

    /* The registrar waited for a Redis that had gone, and told it of a daemon that was gone for long. */
    it('end with the daemon, also when Redis goes at the same time', async () => {
        const other = await new Redis().start();
        const d = await new Daemon({ gateway: false, args: ['--register', `redis://127.0.0.1:${other.port}?id=brief&password_file=${redis.dir}/password&key_file=${redis.dir}/brief.key`] });
        redis.register('brief'); // writes the files
        await d.start();
        await waitUntil(async () => (await other.ask('EXISTS holdfast:sandbox:brief')).includes(':1'), 'the entry');
        const children = proc.descendantsOf(d.pid).map((c) => c.pid);
        assert.ok(children.length >= 4, 'vault, keeper, worker and registrar');
        other.child.kill('SIGSTOP'); // it takes the last words and does not answer
        const stopped = d.stop();
        await waitUntil(() => !proc.isAlive(d.pid), 'the end of the daemon', 30000, 1);
        await other.end('SIGKILL');
        await stopped;
        await waitUntil(() => !children.some(proc.isAlive), 'everybody to be gone');
        await other.start();
        await other.stop();
    });
});
