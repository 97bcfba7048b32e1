// SPDX-License-Identifier: Apache-2.0
//
// access.test.mjs - who may pass, how often, and what the sandbox learns of it

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import WebSocket, { WebSocketServer } from 'ws';
import { binary } from '../lib/daemon.mjs';
import { Gateway, ask, httpUpstream, useGateway } from '../lib/gateway.mjs';
import { RawConn } from '../lib/raw.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const GLOBAL = 'global-token-0123456789';
const OWN = 'sandbox-token-0123456789';
const sha = (t) => `sha256:${crypto.createHash('sha256').update(t).digest('hex')}`;
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
const up = {};
const files = { tokens: `# ours\n${GLOBAL}\n`, key: crypto.createHash('sha256').update('key').digest('hex') };

before(async () => {
    Object.assign(
        up,
        await httpUpstream((req, res) => {
            res.setHeader('access-control-allow-origin', 'http://upstream');
            res.end(JSON.stringify({ url: req.url, headers: req.headers }));
        }),
    );
    up.wss = new WebSocketServer({ server: up.server });
    up.wss.on('connection', (ws, req) => ws.send(JSON.stringify(req.headers)));
});
after(() => up.close());

const sandboxes = () => ({
    a: { address: '127.0.0.1', ports: { 80: up.port }, tokens: [sha(OWN)] },
    b: { address: '127.0.0.1', ports: { 80: up.port }, tokens: ['another-token-0123456789'] },
    open: { address: '127.0.0.1' },
});

describe('tokens', () => {
    const gw = useGateway(() => ({ sandboxes: sandboxes(), files, auth: true, args: ['--token-file', 'DIR/tokens', '--forward', 'authorization'] }));
    it('nobody passes without one, whether the sandbox exists or not', async () => {
        for (const id of ['a', 'nobody']) {
            for (const options of [{}, bearer('wrong-token-0123456789'), bearer('x'), { headers: { authorization: 'Basic eA==' } }]) {
                const res = await ask(gw.g.url(id, 80), options);
                assert.deepEqual([res.status, res.json.code], [401, 'unauthorized'], id);
                assert.equal(res.headers.get('www-authenticate'), 'Bearer');
            }
        }
    });

    it('a sandbox opens to its own token, and no other sandbox does', async () => {
        const res = await ask(gw.g.url('a', 80), bearer(OWN));
        assert.equal(res.status, 200);
        assert.equal(JSON.parse(res.text).headers.authorization, undefined, 'what opened the gateway stays there');
        assert.equal((await ask(gw.g.url('b', 80), bearer(OWN))).status, 401);
    });

    it('the gateway’s own token opens all, and who has it learns what exists', async () => {
        assert.equal((await ask(gw.g.url('b', 80), bearer(GLOBAL))).status, 200);
        assert.equal((await ask(gw.g.url('nobody', 80), bearer(GLOBAL))).json.code, 'no_such_sandbox');
        assert.equal((await ask(gw.g.url('open', 80), bearer(GLOBAL))).json.code, 'port_not_allowed');
    });

    it('a page may bring its token as a sub-protocol, which goes no further', async () => {
        const token = `holdfast.bearer.${Buffer.from(OWN).toString('base64url')}`;
        const ws = new WebSocket(gw.g.ws('a', 80), ['x', token]);
        const headers = JSON.parse(await new Promise((done, fail) => (ws.once('message', done), ws.once('error', fail))));
        assert.equal(headers['sec-websocket-protocol'], 'x');
        ws.terminate();
    });
});

describe('signed links', () => {
    const gw = useGateway(() => ({ sandboxes: sandboxes(), files, auth: true, args: ['--link-key-file', 'DIR/key', '--forward', 'cookie'] }));
    const link = (...args) =>
        execFileSync(binary(), ['gateway-link', '--key-file', `${gw.g.dir}/key`, '--url', `http://127.0.0.1:${gw.g.port}`, ...args])
            .toString()
            .trim();

    it('open one port of one sandbox, and the sandbox sees nothing of them', async () => {
        const url = link('--id', 'a', '--port', '80', '--path', '/p?x=1&y');
        const res = await ask(url);
        assert.equal(res.status, 200);
        assert.equal(JSON.parse(res.text).url, '/p?x=1&y');
        const cookie = res.headers.get('set-cookie');
        assert.match(cookie, /^hf_link=\d+\.[\w-]{43}; Max-Age=\d+; Path=\/v1\/sandboxes\/a\/proxy\/80; HttpOnly; SameSite=Lax$/);
        const next = await ask(gw.g.url('a', 80, '/more'), { headers: { cookie: `z=1; ${cookie.split(';')[0]}; y=2` } });
        assert.equal(next.status, 200);
        assert.equal(JSON.parse(next.text).headers.cookie, 'z=1; y=2');
        assert.equal((await ask(url.replace('/a/', '/b/'))).status, 401);
        assert.equal((await ask(url.replace(/hf_link=(\d)/, 'hf_link=9$1'))).status, 401);
        assert.equal((await ask(url.slice(0, -1) + (url.endsWith('A') ? 'B' : 'A'))).status, 401);
    });

    it('end', async () => {
        const url = link('--id', 'a', '--port', '80', '--seconds', '1');
        await waitUntil(async () => (await ask(url)).status === 401, 'the link to expire');
    });
});

describe('the auth hook', () => {
    const hook = { asked: [] };
    const gw = useGateway(async () => {
        hook.server = await httpUpstream((req, res) => {
            hook.asked.push(req.headers);
            const who = req.headers.authorization;
            if (who === 'Bearer slow') return res.writeHead(200, { 'content-length': 9 }).write('half');
            res.statusCode = who === 'Bearer good' ? 204 : who === 'Bearer odd' ? 500 : who ? 403 : 401;
            res.end();
        });
        return { sandboxes: sandboxes(), auth: true, args: ['--auth-hook', `http://127.0.0.1:${hook.server.port}/check`, '--answer-timeout-ms', '500'] };
    });
    after(() => hook.server.close());

    it('decides, is told what it needs, and is asked once', async () => {
        assert.equal((await ask(gw.g.url('a', 80, '/x'), bearer('good'))).status, 200);
        assert.equal((await ask(gw.g.url('a', 80, '/x'), bearer('good'))).status, 200);
        assert.equal(hook.asked.length, 1);
        assert.equal(hook.asked[0]['x-sandbox-id'], 'a');
        assert.equal(hook.asked[0]['x-sandbox-port'], '80');
        assert.equal(hook.asked[0]['x-original-method'], 'GET');
        assert.equal(hook.asked[0]['x-original-uri'], '/v1/sandboxes/a/proxy/80/x');
        assert.equal((await ask(gw.g.url('a', 80), bearer('bad'))).json.code, 'forbidden');
        assert.equal((await ask(gw.g.url('a', 80))).json.code, 'unauthorized');
        assert.equal((await ask(gw.g.url('a', 80), bearer('odd'))).json.code, 'auth_unavailable');
        assert.equal((await ask(gw.g.url('nobody', 80), bearer('good'))).status, 404);
    });

    it('that stands still in the middle of its answer lets nobody in', async () => {
        assert.equal((await ask(gw.g.url('a', 80), bearer('slow'))).json.code, 'auth_unavailable');
    });

    it('that does not answer lets nobody in', async () => {
        await hook.server.close();
        assert.equal((await ask(gw.g.url('a', 80, '/other'), bearer('good'))).json.code, 'auth_unavailable');
    });
});

describe('pages of other origins', () => {
    const gw = useGateway(() => ({ sandboxes: sandboxes(), args: ['--cors-origin', 'https://page.example', '--domain', 'gw.test'] }));

    it('are let in when they are listed: preflight and answer', async () => {
        const pre = await ask(gw.g.url('a', 80), {
            method: 'OPTIONS',
            headers: { origin: 'https://page.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-a' },
        });
        assert.equal(pre.status, 204);
        assert.equal(pre.headers.get('access-control-allow-origin'), 'https://page.example');
        assert.equal(pre.headers.get('access-control-allow-headers'), 'x-a');
        const res = await ask(gw.g.url('a', 80), { headers: { origin: 'https://page.example' } });
        assert.equal(res.headers.get('access-control-allow-origin'), 'https://page.example');
    });

    it('are the sandbox’s business otherwise; a page of the sandbox’s host is one of the sandbox', async () => {
        const other = await ask(gw.g.url('a', 80), { headers: { origin: 'https://other.example' } });
        assert.equal(other.headers.get('access-control-allow-origin'), 'http://upstream');
        assert.equal(JSON.parse(other.text).headers.origin, 'https://other.example');
        const c = await RawConn.connect(gw.g);
        c.send(`GET / HTTP/1.1\r\nHost: 80-a.gw.test:80\r\nOrigin: http://80-a.gw.test\r\nSec-Fetch-Site: same-origin\r\n\r\n`);
        const own = JSON.parse((await c.response()).body).headers;
        assert.deepEqual([own.origin, own['sec-fetch-site']], [`http://127.0.0.1:${up.port}`, 'same-origin']);
        c.destroy();
    });
});

describe('pages in the path form', () => {
    const asked = async (g) => {
        const c = await RawConn.connect(g);
        c.send(`GET /sandboxes/a/proxy/80/ HTTP/1.1\r\nHost: gw:80\r\nOrigin: http://gw\r\nSec-Fetch-Site: same-origin\r\n\r\n`);
        const { origin, 'sec-fetch-site': site } = JSON.parse((await c.response()).body).headers;
        c.destroy();
        return [origin, site];
    };

    /* Their origin is the gateway’s, and was rewritten to the sandbox’s own: a neighbour’s page passed as that. */
    it('do not pass as the sandbox’s own, unless the operator trusts all of them', async () => {
        const g = await new Gateway({ sandboxes: sandboxes() }).start();
        assert.deepEqual(await asked(g), ['http://gw', 'same-site']);
        await g.stop();
        const trusting = await new Gateway({ sandboxes: sandboxes(), args: ['--trust-path-origin'] }).start();
        assert.deepEqual(await asked(trusting), [`http://127.0.0.1:${up.port}`, 'same-origin']);
        await trusting.stop();
    });
});

describe('limits', () => {
    const one = { a: { address: '127.0.0.1' }, b: { address: '127.0.0.1' } };
    const withPorts = () => Object.fromEntries(Object.entries(one).map(([k, v]) => [k, { ...v, ports: { 80: up.port } }]));

    it('hold over all workers, for a sandbox and for a peer', async () => {
        const g = await new Gateway({ sandboxes: withPorts(), workers: 2, args: ['--sandbox-connections', '3', '--peer-connections', '5'] }).start();
        const open = (id) =>
            new Promise((resolve) => {
                const ws = new WebSocket(g.ws(id, 80));
                ws.on('open', () => resolve(ws));
                ws.on('error', () => resolve(null));
            });
        const a = [];
        for (let i = 0; i < 3; i++) a.push(await open('a'));
        assert.ok(a.every(Boolean));
        const res = await ask(g.url('a', 80));
        assert.deepEqual([res.status, res.json.code, res.headers.get('retry-after')], [429, 'too_many_requests', '1']);
        const b = [await open('b'), await open('b')];
        assert.ok(b.every(Boolean));
        assert.equal((await ask(g.url('b', 80))).status, 429);
        a[0].terminate();
        await waitUntil(async () => (await ask(g.url('a', 80))).status === 200, 'room again');
        [...a, ...b].forEach((ws) => ws.terminate());
        await g.stop();
    });

    it('of requests a second refill by themselves', async () => {
        const g = await new Gateway({ sandboxes: withPorts(), args: ['--sandbox-rate', '5'] }).start();
        const all = await Promise.all(Array.from({ length: 20 }, () => ask(g.url('a', 80))));
        const ok = all.filter((r) => r.status === 200).length;
        assert.ok(ok >= 5 && ok < 20, `${ok}`);
        await waitUntil(async () => (await ask(g.url('a', 80))).status === 200, 'room again');
        await g.stop();
    });
});

describe('ports and TLS', () => {
    it('only allowed ports are reached', async () => {
        const g = await new Gateway({ sandboxes: sandboxes(), args: ['--allow-port', `${up.port}`, '--allow-port', '1-2'] }).start();
        assert.equal((await ask(g.url('open', up.port))).status, 200);
        assert.equal((await ask(g.url('open', 2))).status, 502);
        assert.equal((await ask(g.url('open', 3))).status, 403);
        assert.equal((await ask(g.url('a', up.port))).status, 403, 'one that lists its ports has only those');
        await g.stop();
    });

    it('serves TLS, tunnels through it, and takes a new certificate on SIGHUP', async () => {
        const g = new Gateway({ sandboxes: sandboxes(), args: ['--tls-cert', 'DIR/cert', '--tls-key', 'DIR/tls-key'] });
        const certificate = (name) =>
            execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${g.dir}/tls-key`, '-out', `${g.dir}/cert`], { stdio: 'ignore' });
        certificate('first');
        await g.start();
        const get = (options) =>
            new Promise((resolve, reject) => {
                const r = https.get({ port: g.port, path: '/sandboxes/a/proxy/80/x', rejectUnauthorized: false, agent: false, ...options }, (m) => {
                    const name = m.socket.getPeerCertificate().subject.CN;
                    let text = '';
                    m.on('data', (d) => (text += d));
                    m.on('end', () => resolve({ name, json: JSON.parse(text) }));
                });
                r.on('error', reject);
            });
        const res = await get();
        assert.equal(res.name, 'first');
        assert.equal(res.json.headers['x-forwarded-proto'], 'https');
        await assert.rejects(get({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA:AES128-GCM-SHA256' }), 'a suite without authenticated encryption or forward secrecy');
        assert.equal((await get({ maxVersion: 'TLSv1.2' })).name, 'first');
        const ws = new WebSocket(`wss://127.0.0.1:${g.port}/sandboxes/a/proxy/80/`, { rejectUnauthorized: false });
        await new Promise((done, fail) => (ws.once('message', done), ws.once('error', fail)));
        certificate('second');
        g.child.kill('SIGHUP');
        await waitUntil(async () => (await get()).name === 'second', 'the new certificate');
        ws.terminate();
        await g.stop();
    });
});

describe('the command', () => {
    it('says what is wrong and starts nothing', async () => {
        const run = (...args) => {
            try {
                execFileSync(binary(), ['gateway', ...args], { stdio: 'pipe' });
            } catch (err) {
                return [err.status, err.stderr.toString()];
            }
            return [0, ''];
        };
        assert.match(run()[1], /--resolver/);
        assert.equal(run()[0], 2);
        assert.match(run('--resolver', 'smtp:x')[1], /is not a resolver/);
        assert.match(run('--resolver', 'file:/nonexistent')[1], /Cannot read/);
        assert.match(run('--resolver', 'file:/dev/null', '--allow-port', '5-2')[1], /not a port/);
        assert.match(run('--resolver', 'file:/dev/null', '--auth-hook', 'http://name/')[1], /not a usable URL/);
        assert.match(execFileSync(binary(), ['gateway', '--help']).toString(), /usage: holdfast gateway/);
    });
});
