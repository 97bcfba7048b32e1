// SPDX-License-Identifier: Apache-2.0
// Share links: one process, one role, until they end; then whoever came by them goes.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer, closeCodeOf, refusedHandshake } from '../../lib/client.mjs';
import { checkProblem, withDaemon } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

withDaemon('links', {}, (d) => {
    const make = async (id, body) =>
        (await d.api('POST', `/v1/processes/${id}/links`, { json: body, expect: 201 })).json;
    const list = async (id) => (await d.api('GET', `/v1/processes/${id}/links`, { expect: 200 })).json.links;
    const revoke = (id, lid) => d.api('DELETE', `/v1/processes/${id}/links/${lid}`, { expect: 204 });
    const cookieOf = (a) => (a.headers['set-cookie'] ?? [''])[0].split(';')[0];
    const shell = () => d.sh('while read a; do echo "got $a"; done', { pty: true });

    it('are made, listed without their secret, and revoked', async () => {
        const p = await shell();
        const a = await make(p.id, { role: 'watch', label: 'for you' });
        const b = await make(p.id, { role: 'type', expires_in_ms: 60000, max_uses: 3 });
        assert.equal(a.url, `/?link=${a.token}`);
        assert.ok(a.token.includes(p.id.slice(5)));
        assert.equal(Math.round((Date.parse(a.expires_at) - Date.parse(a.created_at)) / 3600000), 24);
        assert.equal(Date.parse(b.expires_at) - Date.parse(b.created_at), 60000);
        const links = await list(p.id);
        assert.deepEqual(
            links.map((l) => [l.id, l.role, l.label, l.max_uses, l.uses]),
            [
                [a.id, 'watch', 'for you', null, 0],
                [b.id, 'type', null, 3, 0],
            ],
        );
        await revoke(p.id, a.id);
        assert.deepEqual(
            (await list(p.id)).map((l) => l.id),
            [b.id],
        );
        await d.refused('no_such_link', 'DELETE', `/v1/processes/${p.id}/links/${a.id}`);
        await d.refused('no_such_process', 'GET', '/v1/processes/proc_none/links');
        await d.remove(p.id);
    });

    it('refuses what makes no sense', async () => {
        const p = await shell();
        for (const [body, code] of [
            [{}, 'missing_field'],
            [{ role: 'own' }, 'bad_value'],
            [{ role: 'watch', expires_in_ms: 0 }, 'bad_value'],
            [{ role: 'watch', expires_in_ms: 1e12 }, 'bad_value'],
            [{ role: 'watch', max_uses: 0 }, 'bad_value'],
            [{ role: 'watch', max_uses: '1' }, 'bad_type'],
            [{ role: 'watch', label: 'x'.repeat(257) }, 'bad_value'],
            [{ role: 'watch', lable: 'x' }, 'unknown_field'],
        ]) {
            await d.refused(code, 'POST', `/v1/processes/${p.id}/links`, { json: body });
        }
        assert.deepEqual(await list(p.id), []);
        for (const role of ['type', 'watch']) {
            await d.refused('forbidden', 'POST', `/v1/processes/${p.id}/links`, { json: { role: 'watch' }, role });
            await d.refused('forbidden', 'GET', `/v1/processes/${p.id}/links`, { role });
        }
        for (let i = 0; i < 64; i++) await make(p.id, { role: 'watch' });
        const problem = await d.refused('too_many_links', 'POST', `/v1/processes/${p.id}/links`, {
            json: { role: 'watch' },
        });
        assert.equal(problem.limit, 'links');
        await d.remove(p.id);
    });

    it('is good for its process and its role, and for nothing else', async () => {
        const p = await shell();
        const other = await shell();
        const watch = (await make(p.id, { role: 'watch' })).token;
        const type = (await make(p.id, { role: 'type' })).token;
        for (const role of [watch, type]) {
            for (const path of ['', '/output', '/recording', '/wait?timeout_ms=0']) {
                await d.api('GET', `/v1/processes/${p.id}${path}`, { role, expect: 200 });
                await d.refused('forbidden', 'GET', `/v1/processes/${other.id}${path}`, { role });
            }
            await d.api('GET', `/v1/processes/pid:${p.pid}`, { role, expect: 200 });
            await d.refused('forbidden', 'GET', `/v1/processes/pid:${other.pid}`, { role });
            await d.refused('forbidden', 'GET', '/v1/processes/proc_none', { role });
            for (const [m, path] of [
                ['GET', '/v1/processes'],
                ['GET', '/v1/events'],
                ['GET', '/v1/info'],
                ['GET', '/metrics'],
                ['GET', '/openapi.json'],
                ['GET', `/v1/processes/${p.id}/links`],
                ['DELETE', `/v1/processes/${p.id}`],
            ]) {
                checkProblem(await d.request(m, path, { role }), 'forbidden', `${m} ${path}`);
            }
            assert.equal((await refusedHandshake(d, other.id, { role })).problem.code, 'forbidden');
            assert.equal((await refusedHandshake(d, '', { role, path: '/v1/terminal' })).problem.code, 'forbidden');
        }
        const input = (role) => d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x\r' }, role });
        checkProblem(await input(watch), 'forbidden');
        assert.equal((await input(type)).status, 200);
        await d.outputHas(p.id, 'got x');
        await d.refused('forbidden', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'KILL' }, role: type });
        await d.api('POST', `/v1/processes/${p.id}/resize`, { json: { rows: 9, cols: 9 }, role: type, expect: 200 });
        const v = await Viewer.attach(d, p.id, { role: watch });
        assert.equal(v.hello.role, 'watch');
        await v.send('y\r');
        assert.equal((await v.message('error')).code, 'forbidden');
        const w = await Viewer.attach(d, p.id, {
            role: null,
            protocols: ['holdfast.v1', `holdfast.bearer.${Buffer.from(type).toString('base64url')}`],
        });
        assert.equal(w.hello.role, 'type');
        await w.send('z\r');
        await v.outputHas('got z');
        v.cut();
        w.cut();
        await d.remove(p.id);
        await d.remove(other.id);
    });

    it('a wrong secret is nobody', async () => {
        const p = await shell();
        const { token } = await make(p.id, { role: 'type' });
        const last = token.at(-1) === 'a' ? 'b' : 'a';
        for (const role of [`${token.slice(0, -1)}${last}`, token.slice(0, -1), `${token}a`, 'hfl_x', `hfl_${'a'.repeat(60)}`]) {
            await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role });
            assert.equal(await closeCodeOf(d, p.id, { role }), 4410);
        }
        await d.remove(p.id);
        await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: token });
    });

    it('counts its uses, but not those of the cookie', async () => {
        const p = await shell();
        const { id, token, url } = await make(p.id, { role: 'watch', max_uses: 3 });
        const uses = async () => (await list(p.id)).find((l) => l.id === id).uses;
        await d.api('GET', `/v1/processes/${p.id}`, { role: token, expect: 200 });
        checkProblem(await d.request('GET', '/v1/info', { role: token }), 'forbidden');
        await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/output?since=x`, { role: token });
        assert.equal(await uses(), 2, 'what is not admitted is no use');
        await d.request('HEAD', url, { role: null });
        assert.equal(await uses(), 2);
        const a = await d.request('GET', url, { role: null });
        assert.equal(a.status, 303);
        assert.equal(a.headers.location, `/#${p.id}`);
        assert.equal(a.headers['referrer-policy'], 'no-referrer');
        assert.match(a.headers['set-cookie'][0], /HttpOnly; SameSite=Strict/);
        assert.ok(!a.headers['set-cookie'][0].includes(token));
        assert.equal(await uses(), 3);
        checkProblem(await d.request('GET', url, { role: null }), 'unauthorized');
        await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: token });
        const headers = { Cookie: cookieOf(a) };
        for (let i = 0; i < 3; i++) await d.api('GET', `/v1/processes/${p.id}`, { role: null, headers, expect: 200 });
        assert.equal(await uses(), 3);
        await d.remove(p.id);
    });

    it('in a browser: several links side by side, and a token of its own beside them', async () => {
        const [p, q] = [await shell(), await shell()];
        const open = async (id, role) => cookieOf(await d.request('GET', (await make(id, { role })).url, { role: null }));
        const [a, b] = [await open(p.id, 'watch'), await open(q.id, 'type')];
        assert.notEqual(a.split('=')[0], b.split('=')[0]);
        const headers = { Cookie: `x=1; ${a}; ${b}`, Origin: `http://${d.host}:${d.port}` };
        for (const id of [p.id, q.id]) {
            await d.api('GET', `/v1/processes/${id}`, { role: null, headers, expect: 200 });
            const v = await Viewer.attach(d, id, { role: null, headers });
            assert.equal(v.hello.role, id === p.id ? 'watch' : 'type');
            v.cut();
        }
        checkProblem(await d.request('GET', '/v1/processes', { role: null, headers }), 'forbidden');
        const ticket = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json;
        const own = cookieOf(await d.request('GET', ticket.url, { role: null }));
        const both = { Cookie: `${a}; ${own}` };
        await d.api('GET', '/v1/processes', { role: null, headers: both, expect: 200 });
        // Made up, cut or moved to another link, a cookie is worth nothing.
        const [name, value] = a.split('=');
        for (const bad of [`${b.split('=')[0]}=${value}`, `${name}=${value.slice(0, -1)}`, `${name}=f${value}`, `${name}=`, name]) {
            await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: null, headers: { Cookie: bad } });
        }
        // Another site cannot use it either.
        const evil = { Cookie: b, Origin: 'http://evil.example' };
        assert.equal((await refusedHandshake(d, q.id, { role: null, headers: evil })).problem.code, 'origin_refused');
        await d.remove(p.id);
        await d.remove(q.id);
    });

    it('revoked: viewers go with 4410, streams and waits are cut, nobody else notices', async () => {
        const p = await shell();
        const { id, token, url } = await make(p.id, { role: 'type' });
        const stays = await make(p.id, { role: 'watch' });
        const headers = { Cookie: cookieOf(await d.request('GET', url, { role: null })), Origin: `http://${d.host}:${d.port}` };
        const v = await Viewer.attach(d, p.id, { role: token });
        const w = await Viewer.attach(d, p.id, { role: null, headers });
        const other = await Viewer.attach(d, p.id, { role: stays.token });
        const own = await Viewer.attach(d, p.id);
        const streams = [];
        for (const path of ['output?follow=1', 'recording?follow=1']) {
            const res = await d.open('GET', `/v1/processes/${p.id}/${path}`, { role: token });
            streams.push(new Promise((done) => res.on('error', () => done('cut')).on('end', () => done('end'))));
            res.resume();
        }
        const waiting = d.request('GET', `/v1/processes/${p.id}/wait`, { role: token, agent: false }).then(
            (a) => (d.gateway && a.status === 502 ? 'cut' : 'answered'), // a gateway can still say so
            () => 'cut',
        );
        await waitUntil(async () => (await list(p.id))[0].uses === 5, 'the wait to have begun');
        await revoke(p.id, id);
        assert.equal(await within(v.closed, 5000, 'the close'), 4410);
        assert.equal(v.closeReason, 'link_ended');
        assert.equal(await within(w.closed, 5000, 'the close'), 4410);
        assert.deepEqual(await within(Promise.all([...streams, waiting]), 5000, 'the cuts'), ['cut', 'cut', 'cut']);
        await other.message('viewers', 5000, (m) => m.count === 2);
        await own.send('still\r');
        await other.outputHas('got still');
        await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: token });
        await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: null, headers });
        assert.equal(await closeCodeOf(d, p.id, { role: token }), 4410);
        assert.equal(await closeCodeOf(d, p.id, { role: null, headers }), 4410);
        other.cut();
        own.cut();
        await d.remove(p.id);
    });

    it('its time is over: the same', async () => {
        const p = await shell();
        const { token } = await make(p.id, { role: 'watch', expires_in_ms: 700 });
        const v = await Viewer.attach(d, p.id, { role: token });
        assert.equal(await within(v.closed, 10000, 'the end of the link'), 4410);
        assert.deepEqual(await list(p.id), []);
        await d.refused('unauthorized', 'GET', `/v1/processes/${p.id}`, { role: token });
        await d.remove(p.id);
    });

    it('outlives a worker, with its uses and its end', async () => {
        const p = await shell();
        const kept = await make(p.id, { role: 'type', max_uses: 3, label: 'kept' });
        const short = await make(p.id, { role: 'watch', expires_in_ms: 3000 });
        const cookie = cookieOf(await d.request('GET', kept.url, { role: null }));
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then(() => true, () => false), 'the new worker');
        assert.deepEqual(
            (await list(p.id)).map((l) => [l.id, l.label, l.uses, l.max_uses]).slice(0, 1),
            [[kept.id, 'kept', 1, 3]],
        );
        await d.api('GET', `/v1/processes/${p.id}`, { role: kept.token, expect: 200 });
        await d.api('GET', `/v1/processes/${p.id}`, { role: null, headers: { Cookie: cookie }, expect: 200 });
        const v = new Viewer(d, p.id, { role: short.token });
        assert.equal(await within(v.closed, 10000, 'the end of the short link'), 4410);
        assert.deepEqual(
            (await list(p.id)).map((l) => l.id),
            [kept.id],
        );
        await d.remove(p.id);
    });

    it('is used as often as allowed, however many come at once', async () => {
        const p = await shell();
        const { id, token, url } = await make(p.id, { role: 'watch', max_uses: 3 });
        const get = () => d.request('GET', `/v1/processes/${p.id}`, { role: token, agent: false });
        const open = () => d.request('GET', url, { role: null, agent: false });
        const answers = await Promise.all([get(), open(), get(), open(), get(), open(), get(), open()]);
        assert.equal(answers.filter((a) => a.status === 200 || a.status === 303).length, 3);
        assert.equal(answers.filter((a) => a.status === 401).length, 5);
        assert.equal((await list(p.id)).find((l) => l.id === id).uses, 3);
        await d.remove(p.id);
    });

    it('revoked: input that is under way is cut, and nothing of it comes later', async () => {
        const p = await shell();
        const { id, token } = await make(p.id, { role: 'type' });
        const c = await RawConn.connect(d);
        c.send(
            `POST /v1/processes/${p.id}/input HTTP/1.1\r\nHost: ${d.host}\r\nAuthorization: Bearer ${token}\r\n` +
                'Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\r\r\n',
        );
        await d.outputHas(p.id, 'got first');
        const v = await Viewer.attach(d, p.id, { role: token });
        await revoke(p.id, id);
        c.send('7\r\nsecond\r\r\n0\r\n\r\n');
        v.ws.send(Buffer.from('third\r'));
        assert.equal(await within(v.closed, 5000, 'the close'), 4410);
        await waitUntil(() => c.ended, 'the cut');
        c.destroy();
        const own = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await own.send('last\r');
        await own.outputHas('got last');
        assert.ok(!own.output.includes('second') && !own.output.includes('third'));
        own.cut();
        await d.remove(p.id);
    });

    it('of the role to type can do what its process is asked for, and nothing about it', async () => {
        const p = await shell();
        const { token: role } = await make(p.id, { role: 'type' });
        for (const [m, path, json] of [
            ['PATCH', `/v1/processes/${p.id}`, { label: 'x' }],
            ['POST', `/v1/processes/${p.id}/links`, { role: 'type' }],
            ['DELETE', `/v1/processes/${p.id}/links/link_x`],
            ['POST', '/v1/processes', { command: 'true' }],
            ['POST', '/v1/processes/run', { command: 'true' }],
            ['POST', '/v1/sessions', {}],
            ['GET', '/v1/sessions'],
            ['POST', '/v1/tickets', {}],
            ['POST', '/v1/upgrade'],
            ['GET', '/v1/activity'],
        ]) {
            checkProblem(await d.request(m, path, { json, role }), 'forbidden', `${m} ${path}`);
        }
        for (const [m, path, json] of [
            ['POST', '/mcp', {}],
            ['POST', '/dialects/e2b/process.Process/List', {}],
            ['GET', '/dialects/docker/containers/json'],
            ['GET', `/dialects/sandbox-agent/v1/processes/${p.id}/logs`],
            ['GET', '/dialects/gitpod/v1/terminal/list'],
        ]) {
            assert.equal((await d.request(m, path, { json, role })).status, 403, `${m} ${path}`);
        }
        for (const name of ['X-Access-Token', 'X-Gitpod-Owner-Token', 'X-API-Key']) {
            for (const path of ['/dialects/e2b/envs', '/dialects/gitpod/v1/terminal/list']) {
                assert.equal((await d.request('GET', path, { role: null, headers: { [name]: role } })).status, 401, `${name} ${path}`);
            }
        }
        assert.equal((await d.get(p.id)).label, null);
        await d.remove(p.id);
    });
});
