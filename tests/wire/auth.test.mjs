// SPDX-License-Identifier: Apache-2.0
// No token, no access; a role may do what it says and nothing else.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it, test } from '../lib/test.mjs';
import { Viewer, refusedHandshake } from '../lib/client.mjs';
import { Daemon, checkProblem, daemonFor, withDaemon } from '../lib/daemon.mjs';
import { RawConn, exchange, requestBytes } from '../lib/raw.mjs';

const bearer = (token) => `holdfast.bearer.${Buffer.from(token).toString('base64url')}`;

withDaemon('tokens', {}, (d) => {
    it('without a token nothing but the health probes answers', async () => {
        const api = await d.openapi();
        for (const [method, template] of api.operations()) {
            const url = template.replace(/\{[^}]+\}/g, 'x');
            const open = ['/healthz', '/readyz'].includes(template);
            const a = await d.request(method, url, { role: null, json: method === 'GET' ? undefined : {} });
            if (open) {
                assert.equal(a.status, 200, url);
            } else if (template === '/mcp') {
                assert.equal(a.status, 401, `${method} ${url}`);
                assert.equal(a.json.error.data.code, 'unauthorized');
                assert.match(a.headers['www-authenticate'] ?? '', /^Bearer/);
            } else if (template !== '/') {
                checkProblem(a, 'unauthorized', `${method} ${url}`);
                assert.match(a.headers['www-authenticate'] ?? '', /^Bearer/);
            }
        }
        assert.equal((await d.list()).length, 0);
    });

    it('a wrong token is no token', async () => {
        const t = d.token;
        const headers = [
            'Bearer',
            'Bearer ',
            `Bearer ${t}x`,
            `Bearer ${t.slice(0, -1)}`,
            `Bearer x${t}`,
            `Basic ${Buffer.from(`x:${t}`).toString('base64')}`,
            t,
            `Bearer ${t} ${t}`,
            `Bearer ${'a'.repeat(8000)}`,
            `Bearer ${t.toUpperCase()}`,
            'Bearer \u00ff\u00fe',
        ];
        for (const h of headers) {
            const a = await exchange(d, requestBytes(d, 'GET /v1/info', { role: null, headers: { Authorization: h } }));
            checkProblem(a, 'unauthorized', h.slice(0, 40));
        }
    });

    it('a token in the URL is not looked at', async () => {
        for (const q of [`?token=${d.token}`, `?access_token=${d.token}`, `?authorization=Bearer%20${d.token}`]) {
            const a = await d.request('GET', `/v1/processes${q}`, { role: null });
            assert.equal(a.status, 401);
        }
    });

    it('a WebSocket without a token is refused before the upgrade', async () => {
        const p = await d.sh('sleep 30');
        assert.equal((await refusedHandshake(d, p.id, { role: null })).status, 401);
        assert.equal(
            (
                await refusedHandshake(d, p.id, {
                    role: null,
                    protocols: ['holdfast.v1', bearer('wrong-wrong-wrong-wrong')],
                })
            ).status,
            401,
        );
    });

    it('the subprotocol carries a token and is not chosen as the protocol', async () => {
        const p = await d.sh('sleep 30');
        const v = await Viewer.attach(d, p.id, { role: null, protocols: ['holdfast.v1', bearer(d.token)] });
        assert.equal(v.ws.protocol, 'holdfast.v1');
        assert.equal(v.hello.role, 'own');
        v.cut();
        const w = await Viewer.attach(d, p.id, { role: null, protocols: [bearer(d.tokens.watch), 'holdfast.v1'] });
        assert.equal(w.hello.role, 'watch');
        w.cut();
    });

    /* [method, path, body, least role]; the path's X is a running process of the test. */
    const matrix = [
        ['GET', '/v1/info', null, 'watch'],
        ['GET', '/v1/activity', null, 'watch'],
        ['GET', '/metrics', null, 'watch'],
        ['GET', '/openapi.json', null, 'watch'],
        ['GET', '/v1/processes', null, 'watch'],
        ['GET', '/v1/processes/X', null, 'watch'],
        ['GET', '/v1/processes/X/output', null, 'watch'],
        ['GET', '/v1/processes/X/wait?timeout_ms=0', null, 'watch'],
        ['POST', '/v1/processes/X/wait', { until: [{ exit: true }], timeout_ms: 0 }, 'watch'],
        ['POST', '/v1/processes/X/input', { data: 'x' }, 'type'],
        ['POST', '/v1/processes/X/resize', { rows: 30, cols: 90 }, 'type'],
        ['POST', '/v1/processes/X/signal', { signal: 'WINCH' }, 'type'],
        ['POST', '/v1/processes/X/signal', { signal: 'SIGINT' }, 'type'],
        ['POST', '/v1/processes/X/signal', { signal: 'TSTP' }, 'type'],
        ['POST', '/v1/processes/X/signal', { signal: 'SIGCONT' }, 'own'],
        ['POST', '/v1/processes/X/signal', { signal: 'SIGURG' }, 'own'],
        ['PATCH', '/v1/processes/X', { label: 'x' }, 'own'],
        ['POST', '/v1/processes', { command: 'true' }, 'own'],
        ['POST', '/v1/processes/run', { command: 'true' }, 'own'],
        ['POST', '/v1/tickets', {}, 'own'],
        ['DELETE', '/v1/processes/X?grace_ms=0', null, 'own'],
    ];
    const rank = { watch: 0, type: 1, own: 2 };

    it('each role may do its own and what is below', async () => {
        const p = await d.sh(`trap '' INT TSTP; while :; do sleep 1; done`, { pty: true });
        for (const [method, url, json, least] of matrix) {
            for (const role of ['watch', 'type', 'own']) {
                const at = url.replace('X', p.id);
                const a = await d.api(method, at, { role, json: json ?? undefined });
                if (rank[role] < rank[least]) checkProblem(a, 'forbidden', `${role}: ${method} ${url}`);
                else
                    assert.ok(a.status < 300, `${role}: ${method} ${url} answered ${a.status} ${a.text.slice(0, 200)}`);
            }
        }
    });

    it('upgrade is for the owner', async () => {
        for (const role of ['watch', 'type']) await d.refused('forbidden', 'POST', '/v1/upgrade', { role });
    });

    it('/v1/terminal is for the owner', async () => {
        for (const role of ['watch', 'type']) {
            const r = await refusedHandshake(d, null, { role, path: '/v1/terminal', query: { command: 'true' } });
            assert.equal(r.problem.code, 'forbidden');
        }
    });

    it('a watching WebSocket cannot type, resize or signal', async () => {
        const p = await d.sh('cat', { pty: true });
        const v = await Viewer.attach(d, p.id, { role: 'watch', query: { since: '0' } });
        assert.equal(v.hello.role, 'watch');
        for (const m of [{ type: 'resize', rows: 10, cols: 10 }, { type: 'signal', signal: 'INT' }, { type: 'eof' }]) {
            v.messages.length = 0;
            v.control(m);
            const e = await v.message('error');
            assert.equal(e.code, 'forbidden', m.type);
        }
        v.messages.length = 0;
        await v.send('typed by a watcher\n');
        assert.equal((await v.message('error')).code, 'forbidden');
        v.cut();
        const t = await Viewer.attach(d, p.id, { role: 'type', query: { since: '0' } });
        await t.send('typed by a typist\n');
        await t.outputHas('typed by a typist');
        assert.ok(!t.output.includes('watcher'));
        t.control({ type: 'signal', signal: 'KILL' });
        assert.equal((await t.message('error')).code, 'forbidden');
        t.cut();
        await d.remove(p.id);
    });
});

withDaemon('tickets and cookies', {}, (d) => {
    const cookieOf = (a) => (a.headers['set-cookie'] ?? []).join('; ');

    it('a ticket sets a cookie once', async () => {
        const made = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json;
        assert.match(made.expires_at, /^\d{4}-.*Z$/);
        assert.ok(Date.parse(made.expires_at) > Date.now());
        assert.ok(made.url.endsWith(`/?ticket=${made.ticket}`), made.url);
        const a = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        assert.equal(a.status, 303);
        assert.equal(a.headers.location, '/');
        const cookie = cookieOf(a);
        assert.match(cookie, /^holdfast=[^;]+/);
        assert.match(cookie, /HttpOnly/i);
        assert.match(cookie, /SameSite=Strict/i);
        assert.match(cookie, /Path=\//i);
        const pair = cookie.split(';')[0];
        assert.ok(!pair.includes(d.token) && !pair.includes(made.ticket));
        assert.equal((await d.request('GET', '/v1/processes', { role: null, headers: { Cookie: pair } })).status, 200);
        assert.equal(
            (await d.request('GET', '/v1/processes', { role: null, headers: { Cookie: `a=b; ${pair}; c=d` } })).status,
            200,
        );
        const again = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        assert.equal(again.status, 401);
        assert.equal(cookieOf(again), '');
    });

    it('a cookie that was touched is worth nothing', async () => {
        const made = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json;
        const a = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        const value = cookieOf(a).split(';')[0].slice('holdfast='.length);
        for (const bad of [
            `${value}x`,
            value.slice(1),
            value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
            'x',
            '',
            value.split('.').reverse().join('.'),
        ]) {
            const r = await d.request('GET', '/v1/processes', { role: null, headers: { Cookie: `holdfast=${bad}` } });
            assert.equal(r.status, bad === value ? 200 : 401, bad);
        }
        // Without an Origin a change is not a browser's own, and then a cookie does not count.
        await d.refused('unauthorized', 'POST', '/v1/processes', {
            role: null,
            json: { command: 'true' },
            headers: { Cookie: `holdfast=${value}` },
        });
        // A cookie rides along on cross-site requests of old browsers; the Origin check stops those.
        await d.refused('origin_refused', 'POST', '/v1/processes', {
            role: null,
            json: { command: 'true' },
            headers: { Cookie: `holdfast=${value}`, Origin: 'https://evil.example' },
        });
    });

    it('a cookie opens a WebSocket of the same origin', async () => {
        const p = await d.sh('sleep 30');
        const made = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json;
        const a = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        const v = await Viewer.attach(d, p.id, {
            role: null,
            headers: { Cookie: cookieOf(a).split(';')[0], Origin: `http://127.0.0.1:${d.port}` },
        });
        v.cut();
    });

    it('tickets may be for less, and not for what is no role', async () => {
        const made = (await d.api('POST', '/v1/tickets', { json: { role: 'watch' }, expect: 201 })).json;
        assert.equal(made.role, 'watch');
        const a = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        const headers = { Cookie: cookieOf(a).split(';')[0], Origin: `http://127.0.0.1:${d.port}` };
        assert.equal((await d.request('GET', '/v1/processes', { role: null, headers })).status, 200);
        await d.refused('forbidden', 'POST', '/v1/processes', { role: null, headers, json: { command: 'true' } });
        await d.refused('bad_value', 'POST', '/v1/tickets', { json: { role: 'king' } });
        await d.refused('unknown_field', 'POST', '/v1/tickets', { json: { roles: 'own' } });
    });

    it('a wrong ticket sets nothing', async () => {
        for (const t of ['x', '', 'a'.repeat(200)]) {
            const a = await d.request('GET', `/?ticket=${t}`, { role: null });
            assert.ok([400, 401].includes(a.status), `${a.status}`);
            assert.equal(cookieOf(a), '');
        }
    });

    it('a cookie outlives the worker', async () => {
        const made = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json;
        const a = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        d.agent.destroy();
        assert.equal(
            (await d.request('GET', '/v1/processes', { role: null, headers: { Cookie: cookieOf(a).split(';')[0] } }))
                .status,
            200,
        );
    });
});

test('open tickets have a limit', () =>
    daemonFor({}, async (d) => {
        let last;
        for (let i = 0; i < 100 && (!last || last.status === 201); i++) last = await d.api('POST', '/v1/tickets');
        assert.equal(checkProblem(last, 'too_many_tickets').limit, 'tickets');
    }));

test('HOLDFAST_TOKEN is a token', () =>
    daemonFor(
        { auth: false, fdBaseline: false, env: { HOLDFAST_TOKEN: 'an-environment-token-of-some-length' } },
        async (d) => {
            assert.equal((await d.request('GET', '/v1/info')).status, 401);
            assert.equal(
                (
                    await d.request('GET', '/v1/info', {
                        headers: { Authorization: 'Bearer an-environment-token-of-some-length' },
                    })
                ).status,
                200,
            );
        },
    ));

test('without any token one is made and kept in a private file', async () => {
    const d = new Daemon({ auth: false, fdBaseline: false }).prepare();
    d.options.env = { HOLDFAST_STATE_DIR: `${d.dir}/state/of/holdfast` };
    await d.start();
    try {
        assert.equal((await d.request('GET', '/v1/info')).status, 401);
        const file = `${d.dir}/state/of/holdfast/token`;
        assert.ok(d.stderr.includes(file), `the log does not say where the token is:\n${d.stderr}`);
        assert.equal(fs.statSync(path.dirname(file)).mode & 0o777, 0o700);
        assert.equal(fs.statSync(file).mode & 0o777, 0o600);
        const token = fs.readFileSync(file, 'utf8').trim();
        assert.ok(token.length >= 20);
        assert.ok(!(d.stderr + d.stdout).includes(token), 'the token is in the log');
        assert.equal(
            (await d.request('GET', '/v1/info', { headers: { Authorization: `Bearer ${token}` } })).status,
            200,
        );
    } finally {
        d.agent.destroy();
        await d.stop();
    }
});

test('--no-auth lets everybody in, and says so loudly', () =>
    daemonFor({ auth: false, args: ['--no-auth'] }, async (d) => {
        assert.equal((await d.request('GET', '/v1/info')).status, 200);
        assert.match(d.stderr, /WARN.*auth/i);
        // The Origin check still stands: this is what protects a developer's machine from web pages.
        await d.refused('origin_refused', 'POST', '/v1/processes', {
            json: { command: 'true' },
            headers: { Origin: 'https://evil.example' },
        });
        const c = await RawConn.connect(d);
        c.destroy();
    }));

test('a token file that cannot be used stops the start', async () => {
    for (const text of [
        '',
        '# only a comment\n',
        'short\n',
        'nobody aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n',
        'own a b c\n',
    ]) {
        const d = new Daemon({ fdBaseline: false }).prepare();
        fs.writeFileSync(d.tokenFile, text, { mode: 0o600 });
        await assert.rejects(d.start(), /daemon ended at its start/, JSON.stringify(text));
        assert.notEqual(d.exited.code, 0);
        d.checkReports();
        d.kill();
    }
    const d = new Daemon({ fdBaseline: false }).prepare();
    fs.rmSync(d.tokenFile);
    await assert.rejects(d.start(), /daemon ended at its start/);
    d.kill();
});
