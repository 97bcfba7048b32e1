// SPDX-License-Identifier: Apache-2.0
//
// trust.test.mjs - secrets go to the port they belong to and nowhere else

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import WebSocket, { WebSocketServer } from 'ws';
import { binary } from '../lib/daemon.mjs';
import { ask, httpUpstream, useGateway } from '../lib/gateway.mjs';
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
