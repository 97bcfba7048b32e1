// SPDX-License-Identifier: Apache-2.0
// Cookies, tickets, signatures and links that somebody made up, changed, used elsewhere or used again.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../lib/daemon.mjs';
import { Http1, calls, fill, upgradeHeaders } from '../lib/routes.mjs';
import { it } from '../lib/test.mjs';

const flip = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);

withDaemon('forged', {}, (d) => {
    const status = async (method, url, headers = {}) => (await d.request(method, url, { role: null, headers })).status;

    it('cookies', async () => {
        const { ticket, url } = (await d.api('POST', '/v1/tickets', { json: { role: 'watch' }, expect: 201 })).json;
        const opened = await d.request('GET', url, { role: null });
        const cookie = opened.headers['set-cookie'][0].split(';')[0];
        const [name, value] = cookie.split(/=(.*)/s);
        assert.equal(await status('GET', '/v1/info', { Cookie: cookie }), 200);
        const [role, end, mac] = value.split('.');
        const forged = [
            ['own', end, mac],
            ['type', end, mac],
            [role, String(Number(end) + 1000000), mac],
            [role, end, flip(mac, 0)],
            [role, end, flip(mac, mac.length - 2)],
            [role, end, mac.slice(0, -1)],
            [role, end, ''],
            [role, end, mac.toUpperCase() === mac ? mac.toLowerCase() : mac.toUpperCase()],
            [role, '', mac],
            ['', end, mac],
            [role, `0${end}`, mac],
            [role, end, crypto.createHmac('sha256', '').update(`${role}.${end}`).digest('hex')],
        ];
        for (const parts of forged) assert.equal(await status('GET', '/v1/info', { Cookie: `${name}=${parts.join('.')}` }), 401, parts.join('.'));
        for (const v of ['', '.', '..', 'own', value + value, `${value}.x`, ticket]) assert.equal(await status('GET', '/v1/info', { Cookie: `${name}=${v}` }), 401, v);
        assert.equal(await status('GET', url), 401, 'a ticket is good once');
        assert.equal(await status('POST', '/v1/processes', { Cookie: cookie, Origin: d.url }), 403, 'the role is the ticket’s');
        assert.equal(await status('POST', '/v1/processes', { Cookie: cookie, Origin: 'https://evil.example' }), 403);
    });

    // Whoever holds a token can make the key of its cookies, so such a cookie is worth what the token is.
    it('cookies that the holder of a weaker token signs', async () => {
        const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
        const seed = Buffer.alloc(32);
        seed.write('one token');
        const end = (Date.now() + 3600000).toString(16);
        const ranks = { watch: 1, type: 2, own: 3 };
        for (const [holder, most] of Object.entries(ranks)) {
            const digest = crypto.createHash('sha256').update(d.tokens[holder]).digest();
            const material = Buffer.concat([digest, Buffer.from('holdfast cookie\0')]);
            for (const [role, rank] of Object.entries(ranks)) {
                const text = `${rank}.${end}.`;
                const cookie = (key) => ({ Cookie: `holdfast=${text}${hmac(key, text).toString('hex')}` });
                assert.equal(await status('GET', '/v1/info', cookie(hmac(seed, material))), rank <= most ? 200 : 401, `${role} by ${holder}`);
                if (holder !== 'own') assert.equal(await status('GET', '/v1/info', cookie(hmac(Buffer.alloc(32), material))), 401, `${role} by ${holder}, the shared key`);
            }
        }
    });

    it('tickets', async () => {
        for (const t of ['', 'x', 'A'.repeat(32), '../', crypto.randomBytes(24).toString('base64url')]) assert.equal(await status('GET', `/?ticket=${encodeURIComponent(t)}`), 401, t);
    });

    it('links: of another process, changed, revoked', async () => {
        const [a, b] = [await d.sh('sleep 1000'), await d.sh('sleep 1000')];
        const link = (await d.api('POST', `/v1/processes/${a.id}/links`, { json: { role: 'watch' }, expect: 201 })).json;
        const as = (token) => ({ Authorization: `Bearer ${token}` });
        assert.equal(await status('GET', `/v1/processes/${a.id}`, as(link.token)), 200);
        assert.equal(await status('GET', `/v1/processes/${b.id}`, as(link.token)), 403);
        assert.equal(await status('GET', '/v1/processes', as(link.token)), 403);
        for (const at of [0, 5, link.token.length >> 1, link.token.length - 2]) assert.equal(await status('GET', `/v1/processes/${a.id}`, as(flip(link.token, at))), 401);
        assert.equal(await status('GET', `/v1/processes/${a.id}`, as(link.id)), 401);
        // Whatever the link is shown to, it opens its own process's reading calls and nothing else.
        const h1 = new Http1(d);
        for (const c of calls().filter((r) => !r.isPublic)) {
            const path = fill(c, b.id);
            const answer = await h1.ask(c.method, path, { headers: as(link.token) });
            assert.ok([401, 403].includes(answer.status), `${c.name}: ${answer.status}`);
        }
        h1.close();
        await d.api('DELETE', `/v1/processes/${a.id}/links/${link.id}`);
        assert.equal(await status('GET', `/v1/processes/${a.id}`, as(link.token)), 401);
        assert.deepEqual((await d.list()).map((p) => p.status), ['running', 'running']);
    });

    it('signatures of files', async () => {
        const file = path.join(d.dir, 'secret');
        fs.writeFileSync(file, 'inside');
        const sign = (parts, token = d.token) => `v1_${crypto.createHash('sha256').update([...parts.slice(0, 3), token, ...parts.slice(3)].join(':')).digest('base64').replace(/=$/, '')}`;
        const url = (signature, { at = file, user = 'root', expires } = {}) =>
            `/dialects/e2b/files?${new URLSearchParams({ path: at, username: user, signature, ...(expires ? { signature_expiration: expires } : {}) })}`;
        const good = sign([file, 'read', 'root']);
        assert.equal(await status('GET', url(good)), 200);
        const soon = String(Math.floor(Date.now() / 1000) + 60);
        const past = String(Math.floor(Date.now() / 1000) - 60);
        const forged = [
            url(''),
            url('v1_'),
            url(good.slice(0, -1)),
            url(flip(good, 10)),
            url(good.replace('v1_', 'v2_')),
            url(good, { at: `${file}2` }),
            url(good, { at: '/etc/passwd' }),
            url(good, { user: 'nobody' }),
            url(good, { expires: soon }),
            url(sign([file, 'write', 'root'])),
            url(sign([file, 'read', 'root', past]), { expires: past }),
            url(sign([file, 'read', 'root', soon]), { expires: String(Number(soon) + 1) }),
            url(sign([file, 'read', 'root', 'x']), { expires: 'x' }),
            url(sign([file, 'read', 'root'], 'guessed')),
            url(sign([file, 'read', 'root'], d.tokens.watch)),
            url(sign([file, 'read', 'root'], '')),
        ];
        for (const u of forged) assert.ok([400, 401, 403].includes(await status('GET', u)), u);
        assert.ok([400, 401, 403].includes(await status('POST', url(good))), 'a signature for reading writes');
        assert.equal(fs.readFileSync(file, 'utf8'), 'inside');
    });

    it('tickets of dialects for their WebSockets', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['1000'], pty: true });
        const h1 = new Http1(d);
        const guesses = ['', 'x', 'A'.repeat(43), crypto.randomBytes(32).toString('base64url'), d.token.slice(0, -1)];
        const names = ['ticket', 'token', 'access_token', 'auth_token', 'DAYTONA_SANDBOX_AUTH_KEY', 'signature'];
        for (const c of calls().filter((r) => !r.isPublic && r.isUpgrade))
            for (const guess of guesses) {
                const query = names.map((n) => `${n}=${encodeURIComponent(guess)}`).join('&');
                const headers = { ...upgradeHeaders('websocket'), 'Sec-WebSocket-Protocol': `base64url.bearer.authorization.k8s.io.${Buffer.from(guess).toString('base64url')}, holdfast.bearer.${Buffer.from(guess).toString('base64url')}, v5.channel.k8s.io` };
                const a = await h1.ask(c.method, `${fill(c, p.id)}?${query}`, { headers });
                assert.ok([401, 403].includes(a.status), `${c.name} with ${guess}: ${a.status}`);
            }
        h1.close();
    });
});
