// SPDX-License-Identifier: Apache-2.0
// The number of connections has a limit. Whoever has shown a token stays, and whoever has not makes room.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { checkProblem, daemonFor } from '../lib/daemon.mjs';
import { limit } from '../lib/limits.mjs';
import { RawConn, exchange, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';

/** A connection on which a request was answered; it stays open. */
async function served(d, line = 'GET /v1/info', role = 'own') {
    const c = await RawConn.connect(d);
    c.send(requestBytes(d, line, { role }));
    assert.equal((await c.response()).status, 200);
    return c;
}

/** Many that say nothing. */
async function silent(d, count) {
    const all = [];
    while (all.length < count) {
        const some = Array.from({ length: Math.min(200, count - all.length) }, () => RawConn.connect(d));
        all.push(...(await Promise.all(some)));
    }
    return all;
}

const metric = async (d, name, options = {}) => {
    const text = (await d.request('GET', '/metrics', { agent: false, ...options })).text;
    return Number(new RegExp(`^holdfast_${name.replace(/[{}"]/g, '\\$&')} (\\d+)$`, 'm').exec(text)[1]);
};

const health = (target, d) => exchange(target, requestBytes(d, 'GET /healthz', { role: null }));

test('one connection too many is answered 429 and closed', () =>
    daemonFor({ gateway: false, args: ['--max-connections', '8'] }, async (d) => {
        const held = [];
        for (let i = 0; i < 8; i++) held.push(await served(d));
        const extra = await RawConn.connect(d);
        extra.send(requestBytes(d, 'GET /v1/info'));
        const p = checkProblem(await extra.response(), 'too_many_connections');
        assert.ok(p.limit, `the limit's name is missing: ${JSON.stringify(p)}`);
        await extra.expectEnd();
        extra.destroy();
        const probe = await RawConn.connect(d);
        probe.send(requestBytes(d, 'GET /healthz', { role: null }));
        assert.equal((await probe.response()).status, 200, 'a probe is answered in any case');
        await probe.expectEnd();
        probe.destroy();
        held.pop().destroy();
        await waitUntil(async () => {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, 'GET /v1/info'));
            const a = await c.response();
            c.destroy();
            return a.status === 200;
        }, 'a free place');
        held.forEach((c) => c.destroy());
    }));

test('weak roles leave places for the owner', () =>
    daemonFor({ gateway: false, args: ['--max-connections', '16'] }, async (d) => {
        const watchers = [];
        for (let i = 0; i < 14; i++) watchers.push(await served(d, 'GET /v1/info', 'watch'));
        const refused = await exchange(d, requestBytes(d, 'GET /v1/info', { role: 'watch' }));
        checkProblem(refused, 'too_many_connections');
        const owners = [await served(d), await served(d)];
        [...watchers, ...owners].forEach((c) => c.destroy());
    }));

test('more silent connections than the limit lock nobody out', () =>
    // Time closes none of them, however slow the machine is.
    daemonFor({ gateway: false, listen: ['127.0.0.1:0', 'unix:DIR/hf.sock'], args: ['--header-timeout-ms', '120000'] }, async (d) => {
        const unix = { socketPath: d.unixPath };
        const known = await served(d, 'GET /v1/info', 'watch');
        const viewer = await d.open('GET', '/v1/events', { role: 'watch' });
        assert.equal(viewer.statusCode, 200);
        let left = false;
        viewer.on('close', () => (left = true)).on('error', () => {});
        const flood = await silent(d, limit('LIMIT_CONNECTIONS') + 64 + 40);
        assert.equal((await health(d, d)).status, 200);
        assert.equal((await health(unix, d)).status, 200);
        assert.equal((await exchange(unix, requestBytes(d, 'GET /v1/info', { role: null }))).status, 200);
        known.send(requestBytes(d, 'GET /v1/info', { role: 'watch' }));
        assert.equal((await known.response()).status, 200, 'a connection that had shown a token was closed');
        assert.ok((await metric(d, 'connections_evicted_total')) >= 104, 'evictions are counted');
        await waitUntil(() => flood.filter((c) => c.ended).length >= 104, 'the oldest to be closed');
        assert.equal(left, false, 'a viewer that had shown a token was closed');
        viewer.destroy();
        [known, ...flood].forEach((c) => c.destroy());
    }));

test('a unix socket has places of its own', () =>
    daemonFor({ gateway: false, listen: ['127.0.0.1:0', 'unix:DIR/hf.sock'], args: ['--max-connections', '8'] }, async (d) => {
        const held = [];
        for (let i = 0; i < 8; i++) held.push(await served(d));
        const local = { ...d, socketPath: d.unixPath, authHeaders: () => ({}) };
        for (let i = 0; i < limit('LIMIT_CONNECTIONS_LOCAL'); i++) held.push(await served(local, 'GET /v1/info', null));
        held.forEach((c) => c.destroy());
    }));

test('few descriptors leave room for connections and for processes', () =>
    daemonFor(
        { gateway: false, listen: ['127.0.0.1:0', 'unix:DIR/hf.sock'], before: ['sh', '-c', 'ulimit -n 256; exec "$0" "$@"'] },
        async (d) => {
            assert.equal(await metric(d, 'limit{name="connections"}'), 128);
            const flood = await silent(d, 400);
            assert.equal((await health(d, d)).status, 200);
            assert.equal((await health({ socketPath: d.unixPath }, d)).status, 200);
            const ran = await d.api('POST', '/v1/processes/run', { json: { command: 'echo', args: ['here'] }, agent: false });
            assert.equal(ran.json.stdout, 'here\n');
            flood.forEach((c) => c.destroy());
        },
    ));
