// SPDX-License-Identifier: Apache-2.0
// Pages of other sites must not reach the daemon, by another name or from another origin.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { Viewer, refusedHandshake } from '../lib/client.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { exchange, requestBytes } from '../lib/raw.mjs';

withDaemon('Host and Origin', { args: ['--allow-host', 'box.example'] }, (d) => {
    const withHost = (line, host, more = {}) =>
        exchange(d, requestBytes(d, line, { ...more, headers: { Host: host, ...more.headers } }));
    const body = JSON.stringify({ command: 'true' });

    it('a foreign Host is refused, whatever is asked', async () => {
        for (const host of [
            'evil.example',
            'evil.example:80',
            'localhost.evil.example',
            '127.0.0.1.evil.example',
            'box.example.evil',
            'notlocalhost',
            `evil.example:${d.port}`,
        ]) {
            checkProblem(
                await withHost('POST /v1/processes', host, { body }),
                'host_refused',
                `POST with Host ${host}`,
            );
            checkProblem(await withHost('GET /v1/processes', host), 'host_refused', `GET with Host ${host}`);
        }
        for (const host of ['[::1', 'a@localhost', '', 'localhost:x', 'localhost:99999999']) {
            const a = await withHost('POST /v1/processes', host, { body });
            checkProblem(a, a.status === 403 ? 'host_refused' : 'bad_request', `POST with Host ${host}`);
        }
        assert.equal((await d.list()).length, 0);
    });

    it('our own names are fine', async () => {
        for (const host of [
            'localhost',
            `localhost:${d.port}`,
            '127.0.0.1',
            '[::1]:80',
            'LOCALHOST',
            'x.localhost',
            'box.example',
            'BOX.example:443',
            '10.1.2.3:7070',
        ]) {
            assert.equal((await withHost('GET /v1/processes', host)).status, 200, host);
        }
    });

    it('a health probe may use any name', async () => {
        assert.equal((await withHost('GET /healthz', 'probe.internal', { role: null })).status, 200);
    });

    it('a foreign Origin is refused for everything that is not a plain read', async () => {
        for (const origin of [
            'https://evil.example',
            'null',
            'http://localhost:1',
            'file://',
            `https://127.0.0.1:${d.port}`,
            'garbage',
        ]) {
            checkProblem(
                await withHost('POST /v1/processes', `127.0.0.1:${d.port}`, { body, headers: { Origin: origin } }),
                'origin_refused',
                origin,
            );
        }
        assert.equal((await d.list()).length, 0);
    });

    it('the same origin is fine', async () => {
        const a = await withHost('POST /v1/processes/run', `127.0.0.1:${d.port}`, {
            body,
            headers: { Origin: `http://127.0.0.1:${d.port}` },
        });
        assert.equal(a.status, 200);
    });

    it('a cross-origin WebSocket is refused even with a good token', async () => {
        const p = await d.sh('sleep 30');
        for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
            const r = await refusedHandshake(d, p.id, { headers: { Origin: origin } });
            assert.equal(r.status, 403);
            assert.equal(r.problem.code, 'origin_refused');
        }
        const v = await Viewer.attach(d, p.id, { headers: { Origin: `http://127.0.0.1:${d.port}` } });
        v.cut();
    });

    it('a WebSocket under a foreign Host is refused', async () => {
        const p = await d.sh('sleep 30');
        const r = await refusedHandshake(d, p.id, { headers: { Host: 'evil.example' } });
        assert.equal(r.problem.code, 'host_refused');
    });
});

withDaemon('A GET that changes something', { auth: false, args: ['--no-auth'] }, (d) => {
    const own = () => `http://127.0.0.1:${d.port}`;
    const shutdown = (p, headers, method = 'GET') => d.request(method, `/dialects/gitpod/v1/terminal/shutdown/${p.id}`, { headers });
    const start = () => d.sh('sleep 300', { pty: true });

    it('is not sent by a page of another site, whatever way it has', async () => {
        const p = await start();
        for (const headers of [
            { Origin: 'https://evil.example' },
            { Origin: 'null' },
            { Origin: `http://127.0.0.1:${d.port + 1}` },
            { 'Sec-Fetch-Site': 'cross-site' },
            { 'Sec-Fetch-Site': 'same-site' },
            { 'Sec-Fetch-Site': 'cross-site', Referer: `${own()}/` },
            { Referer: 'https://evil.example/page' },
            { Referer: `https://${'x'.repeat(400)}/` },
            { Referer: 'nonsense' },
        ]) {
            for (const method of ['GET', 'HEAD']) {
                assert.equal((await shutdown(p, headers, method)).status, 403, `${method} ${JSON.stringify(headers)}`);
            }
        }
        assert.equal((await d.get(p.id)).status, 'running');
        assert.equal((await d.request('GET', '/dialects/gitpod/v1/terminal/list', { headers: { Origin: 'https://evil.example' } })).status, 200);
        await d.remove(p.id);
    });

    it('is sent by our own pages, and by what is no browser', async () => {
        for (const headers of [{}, { Origin: own() }, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }, { Referer: `${own()}/?x` }]) {
            const p = await start();
            assert.equal((await shutdown(p, headers)).status, 200, JSON.stringify(headers));
            await d.exitOf(p.id);
            await d.remove(p.id);
        }
    });
});

withDaemon('Cookies and a GET that changes something', {}, (d) => {
    it('count only for pages of our own', async () => {
        const t = (await d.api('POST', '/v1/tickets', { expect: 201 })).json;
        const a = await d.request('GET', t.url, { role: null });
        const Cookie = a.headers['set-cookie'][0].split(';')[0];
        const p = await d.sh('sleep 300', { pty: true });
        const shutdown = (headers) => d.request('GET', `/dialects/gitpod/v1/terminal/shutdown/${p.id}`, { role: null, headers: { Cookie, ...headers } });
        assert.equal((await d.request('GET', '/dialects/gitpod/v1/terminal/list', { role: null, headers: { Cookie } })).status, 200);
        assert.equal((await shutdown({})).status, 401);
        assert.equal((await shutdown({ 'Sec-Fetch-Site': 'same-site' })).status, 403);
        assert.equal((await shutdown({ 'Sec-Fetch-Site': 'same-origin' })).status, 200);
        await d.exitOf(p.id);
        await d.remove(p.id);
    });
});
