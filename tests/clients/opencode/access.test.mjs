// SPDX-License-Identifier: Apache-2.0
// Who may come in: Basic, auth_token, and tickets for sockets that can send no header.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { basic, OpenCode } from '../../lib/opencode.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('opencode: access', { args: ['--cors-origin', 'https://app.example'] }, (d) => {
    const ticketHeader = { headers: { 'x-opencode-ticket': '1' } };
    let made, pty;
    const oc = () => (made ??= new OpenCode(d));
    const nobody = () => new OpenCode(d, { role: null });
    const get = (url, headers = {}) => fetch(`${d.url}/dialects/opencode${url}`, { headers });
    const thePty = async () => (pty ??= await oc().sh('stty raw -echo; cat'));
    const ticketOf = async (p, client = oc()) => (await client.v2.pty.connectToken({ ptyID: p.id }, ticketHeader)).data.ticket;
    const opens = async (a) => {
        await a.replay();
        await a.drop();
    };

    it('without credentials: 401 and how to do better; Basic and auth_token open every call', async () => {
        for (const url of ['/global/health', '/pty', '/event', '/api/pty', '/session', '/nothing']) {
            const a = await get(url);
            assert.equal(a.status, 401, url);
            assert.match(a.headers.get('www-authenticate'), /Basic realm="Secure Area"/);
            assert.equal(await a.text(), '');
        }
        assert.equal((await get('/global/health', { Authorization: basic('wrong-wrong-wrong-wrong') })).status, 401);
        assert.equal((await get('/global/health', { Authorization: basic(d.token, 'anybody') })).status, 200);
        const token = encodeURIComponent(Buffer.from(`opencode:${d.token}`).toString('base64'));
        assert.equal((await get(`/pty?auth_token=${token}`)).status, 200);
        assert.equal((await get('/pty?auth_token=nonsense')).status, 401);
        assert.equal((await get(`/pty?auth_token=${d.token}`)).status, 401);
        const p = await thePty();
        const a = nobody().attach(p.id, { auth_token: Buffer.from(`opencode:${d.token}`).toString('base64') });
        await opens(a);
        assert.equal(await nobody().attach(p.id).status(), 401);
    });

    it('a ticket needs its header, opens once, and alone decides', async () => {
        const p = await thePty();
        const without = await oc().v2.pty.connectToken({ ptyID: p.id });
        assert.equal(without.response.status, 403);
        assert.equal(without.error._tag, 'PtyForbiddenError');
        const { data } = await oc().v2.pty.connectToken({ ptyID: p.id }, ticketHeader);
        assert.match(data.ticket, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.equal(data.expires_in, 60);
        const a = nobody().attach(p.id, { ticket: data.ticket });
        await a.replay();
        a.send('typed by ticket');
        await a.sees('typed by ticket');
        await a.drop();
        assert.equal(await nobody().attach(p.id, { ticket: data.ticket }).status(), 403);
        assert.equal(await oc().attach(p.id, { ticket: data.ticket }).status(), 403, 'a bad ticket with a good password');
        assert.equal(await nobody().attach(p.id, { ticket: 'nonsense' }).status(), 403);
    });

    it('in the wrong place a ticket does not open, and is not spent', async () => {
        const p = await thePty();
        const other = await oc().sh('cat');
        const ticket = await ticketOf(p);
        assert.equal(await nobody().attach(other.id, { ticket }).status(), 403);
        assert.equal(await new OpenCode(d, { role: null, directory: '/usr' }).attach(p.id, { ticket }).status(), 404);
        assert.equal(await nobody().attach(p.id, { ticket, workspace: 'other' }).status(), 403);
        assert.equal((await get(`/pty?ticket=${ticket}`)).status, 401, 'only for the socket');
        const foreign = nobody().attach(p.id, { ticket }, { headers: { Origin: 'https://evil.example' } });
        assert.equal(await foreign.status(), 403);
        await opens(nobody().attach(p.id, { ticket }, { headers: { Origin: 'https://app.example' } }));
        await oc().v2.pty.remove({ ptyID: other.id });
        assert.equal(await nobody().attach('pty_gone', { ticket: await ticketOf(p) }).status(), 404);
    });

    it('the newer surface has tickets as well', async () => {
        const p = await thePty();
        const { data } = await oc().v2.v2.pty.connectToken({ ptyID: p.id }, ticketHeader);
        assert.equal(data.data.expires_in, 60);
        await opens(nobody().attach(p.id, { ticket: data.data.ticket }, { surface: '/api/pty' }));
    });

    it('a ticket allows what its maker may do, and no more', async () => {
        const p = await thePty();
        const watcher = new OpenCode(d, { role: 'watch' });
        const ticket = await ticketOf(p, watcher);
        const a = nobody().attach(p.id, { ticket });
        await a.replay();
        a.send('not allowed');
        const b = oc().attach(p.id, { cursor: -1 });
        await b.replay();
        b.send('allowed');
        await a.sees('allowed');
        assert.ok(!a.text.includes('not allowed'));
        assert.equal((await watcher.v2.pty.create({})).response.status, 403);
        assert.equal((await watcher.v2.pty.remove({ ptyID: p.id })).response.status, 403);
        assert.equal((await watcher.v2.pty.update({ ptyID: p.id, title: 'x' })).response.status, 403);
        assert.equal((await watcher.v2.pty.list()).data.length, 1);
        await a.drop();
        await b.drop();
    });

    it('a page of a listed origin may ask for a ticket, another may not', async () => {
        const p = await thePty();
        const ask = (method, origin, more = {}) =>
            fetch(`${d.url}/dialects/opencode/pty/${p.id}/connect-token?directory=${d.dir}`, {
                method,
                headers: { Origin: origin, ...more },
            });
        const preflight = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-opencode-ticket' };
        const ok = await ask('OPTIONS', 'https://app.example', preflight);
        assert.equal(ok.status, 204);
        assert.equal(ok.headers.get('access-control-allow-headers'), 'x-opencode-ticket');
        assert.equal((await ask('OPTIONS', 'https://evil.example', preflight)).status, 403);
        const send = { Authorization: basic(d.token), 'x-opencode-ticket': '1' };
        assert.equal((await ask('POST', 'https://app.example', send)).status, 200);
        assert.equal((await ask('POST', 'https://evil.example', send)).status, 403);
    });

    it('tickets are bounded: the oldest go', async () => {
        const p = await thePty();
        const first = await ticketOf(p);
        for (let i = 0; i < 1024; i++) {
            const a = await d.request('POST', `/dialects/opencode/pty/${p.id}/connect-token?directory=${d.dir}`, {
                headers: { 'x-opencode-ticket': '1' },
            });
            assert.equal(a.status, 200, a.text);
        }
        assert.equal(await nobody().attach(p.id, { ticket: first }).status(), 403);
        await opens(nobody().attach(p.id, { ticket: await ticketOf(p) }));
        await oc().v2.pty.remove({ ptyID: p.id });
    });
});
