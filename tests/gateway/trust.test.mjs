// SPDX-License-Identifier: Apache-2.0
//
// trust.test.mjs - secrets go to the port they belong to and nowhere else

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import WebSocket, { WebSocketServer } from 'ws';
import { binary } from '../lib/daemon.mjs';
import { Gateway, ask, httpUpstream, useGateway } from '../lib/gateway.mjs';
import { after, before, describe, it } from '../lib/test.mjs';

const GLOBAL = 'global-token-0123456789';
const files = { tokens: `${GLOBAL}\n`, key: crypto.createHash('sha256').update('key').digest('hex') };
const daemon = {}; // stands for the daemon's own port
const app = {}; // and this for an application's in the same sandbox

const echo = async (to) => {
    Object.assign(to, await httpUpstream((req, res) => res.end(JSON.stringify({ url: req.url, headers: req.headers }))));
    to.wss = new WebSocketServer({ server: to.server });
    to.wss.on('connection', (ws, req) => ws.send(JSON.stringify(req.headers)));
};

before(() => Promise.all([echo(daemon), echo(app)]));
after(() => Promise.all([daemon.close(), app.close()]));

const seen = async (url, options) => {
    const res = await ask(url, options);
    assert.equal(res.status, 200, res.text);
    return JSON.parse(res.text);
};

describe('the token of an entry', () => {
    const gw = useGateway(() => ({
        sandboxes: {
            box: {
                address: `127.0.0.1:${daemon.port}`,
                ports: { 7070: daemon.port, 3000: app.port, 3001: { to: app.port, token: 'of-the-application', headers: { 'X-App': '1' } } },
                token: 'of-the-daemon',
                headers: { 'X-Daemon': '1' },
            },
            open: { address: `127.0.0.1:${daemon.port}`, token: 'of-the-daemon' },
            single: { ports: { 80: `127.0.0.1:${app.port}` }, token: 'for-the-only-port' },
        },
        args: ['--allow-port', '1-65535'],
    }));

    /* Every port of the sandbox once received it: an application could act as the daemon's owner. */
    it('goes to the daemon’s own port only', async () => {
        const own = (await seen(gw.g.url('box', 7070))).headers;
        assert.deepEqual([own.authorization, own['x-daemon']], ['Bearer of-the-daemon', '1']);
        const other = (await seen(gw.g.url('box', 3000))).headers;
        assert.deepEqual([other.authorization, other['x-daemon']], [undefined, undefined]);
    });

    it('of a port goes to that port only', async () => {
        const h = (await seen(gw.g.url('box', 3001))).headers;
        assert.deepEqual([h.authorization, h['x-app'], h['x-daemon']], ['Bearer of-the-application', '1', undefined]);
    });

    it('is not sent to the ports that the gateway allows for all', async () => {
        assert.equal((await seen(gw.g.url('open', daemon.port))).headers.authorization, 'Bearer of-the-daemon');
        assert.equal((await seen(gw.g.url('open', app.port))).headers.authorization, undefined);
    });

    it('is that of the only port, where just one is listed', async () => {
        assert.equal((await seen(gw.g.url('single', 80))).headers.authorization, 'Bearer for-the-only-port');
    });

    it('is refused where nobody can tell whose it is', () => {
        for (const entry of [
            { address: '127.0.0.1', ports: [80, 81], token: 'whose' },
            { address: '127.0.0.1', headers: { 'X-A': 'b' } },
        ]) {
            gw.g.write({ bad: entry });
            const r = spawnSync(binary(), ['gateway', '--listen', '127.0.0.1:0', '--resolver', `file:${gw.g.file}`, '--no-auth'], { encoding: 'utf8', timeout: 20000 });
            assert.equal(r.status, 1);
            assert.match(r.stderr, /(token|headers): belongs to one port; write the address as IP:PORT/);
        }
    });
});

describe('what opened the gateway', () => {
    const gw = useGateway(() => ({
        sandboxes: { a: { address: '127.0.0.1', ports: { 80: app.port } } },
        files,
        auth: true,
        args: ['--token-file', 'DIR/tokens', '--link-key-file', 'DIR/key', '--forward', 'authorization', '--forward', 'cookie'],
    }));
    const link = () =>
        new URL(
            execFileSync(binary(), ['gateway-link', '--key-file', `${gw.g.dir}/key`, '--url', `http://127.0.0.1:${gw.g.port}`, '--id', 'a', '--port', '80'])
                .toString()
                .trim(),
        );

    it('stays there, also when something else would have opened it', async () => {
        const url = link();
        const res = await seen(`${url}&x=1`, { headers: { authorization: `Bearer ${GLOBAL}`, cookie: `a=1; hf_link=${url.searchParams.get('hf_link')}` } });
        assert.equal(res.headers.authorization, undefined);
        assert.equal(res.headers.cookie, 'a=1');
        assert.equal(res.url, '/?x=1');
        const token = `holdfast.bearer.${Buffer.from(GLOBAL).toString('base64url')}`;
        const ws = new WebSocket(gw.g.ws('a', 80), ['x', token], { headers: { authorization: `Bearer ${GLOBAL}` } });
        const headers = JSON.parse(await new Promise((done, fail) => (ws.once('message', done), ws.once('error', fail))));
        assert.deepEqual([headers['sec-websocket-protocol'], headers.authorization], ['x', undefined]);
        ws.terminate();
    });

    /* A page's requests name the page, and its address is the link. */
    it('does not stand in the address of the page that asks either', async () => {
        const url = link();
        const res = await seen(url.href, { headers: { referer: `${url.href}&x=1` } });
        assert.equal(res.headers.referer, `http://127.0.0.1:${gw.g.port}/v1/sandboxes/a/proxy/80/?x=1`);
        assert.ok(!JSON.stringify(res).includes('hf_link'));
    });
});

describe('the cookie of a link', () => {
    const host = 'gw.test';
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const cookieFor = (g) => {
        const text = execFileSync(binary(), ['gateway-link', '--key-file', `${g.dir}/key`, '--id', 'a', '--port', '80']).toString();
        return /hf_link=(\S+)/.exec(text)[1];
    };
    /** The status of a request with the cookie; WS is a handshake. */
    const status = (g, method, headers, { path = '/', name = 'hf_link', from = `80-a.${host}`, tls } = {}) =>
        new Promise((resolve, reject) => {
            const options = { port: g.port, path, method: method === 'WS' ? 'GET' : method, agent: false, rejectUnauthorized: false };
            options.headers = { host: from, cookie: `${name}=${cookieFor(g)}`, ...(method === 'WS' ? upgrade : {}), ...headers };
            const r = (tls ? https : http).request(options, (m) => (m.resume(), resolve(m.statusCode)));
            r.on('upgrade', (m, socket) => (socket.destroy(), resolve(m.statusCode)));
            r.on('error', reject);
            r.end();
        });
    const args = ['--link-key-file', 'DIR/key', '--domain', host];
    const sandboxes = () => ({ a: { address: '127.0.0.1', ports: { 80: app.port } } });
    const gw = useGateway(() => ({ sandboxes: sandboxes(), files, auth: true, args: [...args, '--cors-origin', 'http://friend.example'] }));
    const own = { origin: `http://80-a.${host}` };
    const neighbour = { origin: `http://80-b.${host}` };
    const site = (s, mode, dest) => ({ 'sec-fetch-site': s, ...(mode && { 'sec-fetch-mode': mode }), ...(dest && { 'sec-fetch-dest': dest }) });

    /* A neighbour's page got 200 on POST and 101 on a WebSocket: a browser sends the cookie along for it. */
    it('counts for pages of the sandbox’s own host, and for no other page', async () => {
        for (const [method, headers, expected] of [
            ['GET', {}, 200],
            ['GET', site('none', 'navigate', 'document'), 200],
            ['GET', site('same-origin', 'cors'), 200],
            ['GET', site('cross-site', 'navigate', 'document'), 200],
            ['GET', site('same-site', 'navigate', 'iframe'), 401],
            ['GET', site('same-site', 'no-cors', 'image'), 401],
            ['GET', neighbour, 401],
            ['POST', own, 200],
            ['POST', { ...own, ...site('same-origin') }, 200],
            ['POST', neighbour, 401],
            ['POST', { ...neighbour, ...site('same-origin') }, 401],
            ['POST', { ...own, ...site('same-site') }, 401],
            ['POST', { origin: 'null' }, 401],
            ['POST', { origin: `https://80-a.${host}` }, 401],
            ['POST', {}, 401],
            ['DELETE', site('cross-site'), 401],
            ['POST', { origin: 'http://friend.example' }, 200],
            ['WS', own, 101],
            ['WS', neighbour, 401],
            ['WS', {}, 401],
        ])
            assert.equal(await status(gw.g, method, headers), expected, `${method} ${JSON.stringify(headers)}`);
    });

    it('reads only in the path form, where every page has the same origin', async () => {
        const at = { path: '/v1/sandboxes/a/proxy/80/', from: 'gw' };
        const same = { origin: 'http://gw', ...site('same-origin') };
        assert.deepEqual([await status(gw.g, 'GET', {}, at), await status(gw.g, 'POST', same, at), await status(gw.g, 'WS', same, at)], [200, 401, 401]);
        const trusting = await new Gateway({ sandboxes: sandboxes(), files, auth: true, args: [...args, '--trust-path-origin'] }).start();
        assert.deepEqual([await status(trusting, 'POST', same, at), await status(trusting, 'WS', same, at)], [200, 101]);
        assert.equal(await status(trusting, 'POST', { origin: 'http://other' }, at), 401);
        await trusting.stop();
    });

    it('belongs to its very host where TLS lets it', async () => {
        const g = new Gateway({ sandboxes: sandboxes(), files, auth: true, args: [...args, '--tls-cert', 'DIR/cert', '--tls-key', 'DIR/tls-key'] });
        execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=x', '-keyout', `${g.dir}/tls-key`, '-out', `${g.dir}/cert`], { stdio: 'ignore' });
        await g.start();
        const set = await new Promise((resolve, reject) => {
            const options = { port: g.port, path: `/?hf_link=${cookieFor(g)}`, headers: { host: `80-a.${host}` }, agent: false, rejectUnauthorized: false };
            https.get(options, (m) => (m.resume(), resolve(m.headers['set-cookie'][0]))).on('error', reject);
        });
        assert.match(set, /^__Host-hf_link=\d+\.[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
        const secure = { origin: `https://80-a.${host}` };
        assert.equal(await status(g, 'POST', secure, { tls: true, name: '__Host-hf_link' }), 200);
        assert.equal(await status(g, 'POST', own, { tls: true, name: '__Host-hf_link' }), 401, 'a page without TLS');
        assert.equal(await status(g, 'POST', secure, { tls: true }), 401, 'a cookie that another host could have set');
        await g.stop();
    });

    it('knows the address that the client used from a proxy that is trusted', async () => {
        const g = await new Gateway({ sandboxes: sandboxes(), files, auth: true, args: [...args, '--trust-forwarded'] }).start();
        const through = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'box.example', origin: 'https://box.example' };
        assert.equal(await status(g, 'POST', through, { name: '__Host-hf_link' }), 200);
        assert.equal(await status(g, 'POST', { ...through, origin: `https://80-a.${host}` }, { name: '__Host-hf_link' }), 401);
        await g.stop();
    });

    it('is of a link that gateway-link makes for a host name', async () => {
        const text = execFileSync(binary(), ['gateway-link', '--key-file', `${gw.g.dir}/key`, '--id', 'A', '--port', '80', '--url', `http://gw:${gw.g.port}`, '--domain', host, '--path', '/x']);
        const url = new URL(text.toString().trim());
        assert.equal(url.origin + url.pathname, `http://80-a.${host}:${gw.g.port}/x`);
        const got = await new Promise((resolve) => http.get({ port: gw.g.port, path: url.pathname + url.search, headers: { host: url.host } }, (m) => (m.resume(), resolve(m.statusCode))));
        assert.equal(got, 200);
    });
});
