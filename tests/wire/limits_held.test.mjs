// SPDX-License-Identifier: Apache-2.0
// What peers make the daemon hold is bounded for all of them together, by how much they are trusted.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it, test } from '../lib/test.mjs';
import { checkProblem, daemonFor, withDaemon } from '../lib/daemon.mjs';
import { Frames, TYPE, block, frame, requestFields } from '../lib/http2.mjs';
import { limit } from '../lib/limits.mjs';
import { RawConn, exchange, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';

const MIB = 1024 * 1024;

async function metrics(d) {
    const text = (await d.request('GET', '/metrics', { agent: false })).text;
    const one = (name) => Number(new RegExp(`^holdfast_${name} (\\d+)$`, 'm').exec(text)[1]);
    return {
        none: one('held_bytes\\{role="none"\\}'),
        weak: one('held_bytes\\{role="weak"\\}'),
        own: one('held_bytes\\{role="own"\\}'),
        overloaded: one('overloaded_total'),
    };
}

/** Heads without `authorization`, or with that of a role. */
const fieldsOf = (d, path, role) =>
    requestFields(d, path, [], 'POST')
        .filter(([name]) => name !== 'authorization')
        .concat(role ? [['authorization', `Bearer ${d.tokens[role]}`]] : []);

/** A connection of HTTP/2 with many bodies that lack their last byte. */
async function unfinished(d, path, role, streams, bytes) {
    const f = await Frames.connect(d);
    const piece = Buffer.alloc(16 * 1024, 0x20);
    for (let i = 0; i < streams; i++) {
        f.send(frame(TYPE.HEADERS, 4, 2 * i + 1, block(fieldsOf(d, path, role))));
        for (let sent = 0; sent < bytes; sent += piece.length) f.send(frame(TYPE.DATA, 0, 2 * i + 1, piece));
    }
    return f;
}

withDaemon('bodies', { gateway: false }, (d) => {
    it('without a token a public route takes a small body only', async () => {
        const headers = { 'Content-Length': limit('LIMIT_PUBLIC_BODY_BYTES') + 1 };
        const a = await exchange(d, requestBytes(d, 'POST /dialects/e2b/init', { role: null, headers }));
        assert.equal(a.status, 413);
    });

    it('a token is asked for before the body, and so is its role', async () => {
        const headers = { 'Content-Length': 1000, 'Content-Type': 'application/json' };
        for (const path of ['/v1/processes', '/mcp', '/dialects/e2b/sandboxes', '/dialects/opencode/session']) {
            const a = await exchange(d, requestBytes(d, `POST ${path}`, { role: null, headers }));
            assert.equal(a.status, 401, path);
        }
        const weak = await exchange(d, requestBytes(d, 'POST /v1/processes', { role: 'watch', headers }));
        checkProblem(weak, 'forbidden');
    });

    it('the role watch sends small bodies only', async () => {
        const headers = { 'Content-Length': limit('LIMIT_WATCH_BODY_BYTES') + 1, 'Content-Type': 'application/json' };
        const p = await d.sh('sleep 1000');
        for (const path of [`/v1/processes/${p.id}/wait`, '/mcp']) {
            const a = await exchange(d, requestBytes(d, `POST ${path}`, { role: 'watch', headers }));
            assert.equal(a.status, 413, path);
            assert.match(a.body.toString(), /"body_too_large"/);
        }
    });
});

for (const [role, path, budget] of [
    [null, '/dialects/e2b/init', 'LIMIT_HELD_UNTRUSTED_BYTES'],
    ['watch', '/mcp', 'LIMIT_HELD_WEAK_BYTES'],
]) {
    test(`unfinished bodies of ${role ?? 'nobody'} are bounded for all connections together`, () =>
        daemonFor({ gateway: false }, async (d) => {
            const name = role ? 'weak' : 'none';
            const first = await unfinished(d, path, role, 20, 48 * 1024);
            await waitUntil(async () => (await metrics(d))[name] >= 20 * 48 * 1024, 'the bodies to be counted');
            const floods = [];
            for (let i = 0; i < limit(budget) / (100 * 64 * 1024) + 2; i++)
                floods.push(await unfinished(d, path, role, 100, 48 * 1024));
            await waitUntil(() => floods.some((f) => f.raw.ended), 'a flood to be closed');
            const now = await metrics(d);
            assert.ok(now[name] <= limit(budget), `${now[name]} bytes are held`);
            assert.ok(now.overloaded > 0);
            assert.equal(first.raw.ended, false, 'a small one was closed instead of the largest');
            const a = await d.request('GET', '/healthz', { role: null, agent: false });
            assert.equal(a.status, 200);
            [first, ...floods].forEach((f) => f.destroy());
            await waitUntil(async () => (await metrics(d))[name] === 0, 'all to be given back');
        }));
}

test('messages of input that are never complete are bounded, too', () =>
    daemonFor({ gateway: false }, async (d) => {
        const path = '/dialects/e2b/process.Process/StreamInput';
        const fields = requestFields(d, path, [['content-type', 'application/connect+proto']], 'POST')
            .filter(([name, value]) => name !== 'authorization' && value !== 'application/json')
            .concat([['authorization', `Bearer ${d.tokens.type}`]]);
        const head = Buffer.from([0, 0, 0x40, 0, 0]); // as long as a message may be
        const piece = Buffer.alloc(16 * 1024);
        const flood = async () => {
            const f = await Frames.connect(d);
            for (let n = 0; n < 100; n++) {
                f.send(frame(TYPE.HEADERS, 4, 2 * n + 1, block(fields)), frame(TYPE.DATA, 0, 2 * n + 1, head));
                for (let i = 0; i < 3; i++) f.send(frame(TYPE.DATA, 0, 2 * n + 1, piece));
            }
            return f;
        };
        const floods = [await flood()];
        await waitUntil(async () => (await metrics(d)).weak >= 100 * 3 * piece.length, 'the messages to be counted');
        for (let i = 0; i < limit('LIMIT_HELD_WEAK_BYTES') / (100 * 3 * piece.length); i++) floods.push(await flood());
        await waitUntil(() => floods.some((f) => f.raw.ended), 'a flood to be closed');
        assert.ok((await metrics(d)).weak <= limit('LIMIT_HELD_WEAK_BYTES'));
        floods.forEach((f) => f.destroy());
        await waitUntil(async () => (await metrics(d)).weak === 0, 'all to be given back');
    }));

test('replies that nobody reads are bounded for all weak connections together', () =>
    daemonFor({ gateway: false }, async (d) => {
        const p = await d.sh('head -c 1000000 /dev/zero; sleep 1000');
        await waitUntil(async () => (await d.output(p.id)).length === 1000000, 'the output');
        const noWindow = frame(TYPE.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));
        const fields = requestFields(d, `/v1/processes/${p.id}/output`)
            .filter(([name]) => name !== 'authorization')
            .concat([['authorization', `Bearer ${d.tokens.watch}`]]);
        const readers = [];
        for (let i = 0; i < limit('LIMIT_HELD_WEAK_BYTES') / (100 * limit('LIMIT_H2_OUT_BYTES')) + 1; i++) {
            const f = await Frames.connect(d);
            f.send(noWindow, ...Array.from({ length: 100 }, (_, n) => frame(TYPE.HEADERS, 5, 2 * n + 1, block(fields))));
            readers.push(f);
        }
        await waitUntil(async () => (await metrics(d)).overloaded > 0, 'one of them to be closed');
        const held = (await metrics(d)).weak;
        assert.ok(held <= limit('LIMIT_HELD_WEAK_BYTES'), `${held} bytes are held`);
        await waitUntil(() => readers.some((f) => f.raw.ended), 'its end to arrive');
        readers.forEach((f) => f.destroy());
        await waitUntil(async () => (await metrics(d)).weak === 0, 'all to be given back');
    }));

test('the owner is told when too much is held, and may come again', () =>
    daemonFor({ gateway: false }, async (d) => {
        const size = limit('LIMIT_E2B_MESSAGE_BYTES');
        const path = '/dialects/e2b/process.Process/List';
        const headers = { 'Content-Length': size, 'X-Access-Token': d.tokens.own };
        const open = [];
        for (let i = 0; i < limit('LIMIT_HELD_BYTES') / size; i++) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, `POST ${path}`, { headers }), Buffer.alloc(size - 1, 0x20));
            open.push(c);
        }
        await waitUntil(async () => (await metrics(d)).own > limit('LIMIT_HELD_BYTES') - size, 'the bodies');
        const refusal = () => d.api('POST', '/v1/processes', { json: { command: 'x'.repeat(900000) }, agent: false });
        const late = await RawConn.connect(d);
        late.send(requestBytes(d, `POST ${path}`, { headers }), Buffer.alloc(size - 1, 0x20));
        open.push(late);
        await waitUntil(async () => (await metrics(d)).overloaded > 0 || open.some((c) => c.held.length > 0), 'a refusal');
        checkProblem(await refusal(), 'overloaded');
        assert.equal((await d.request('GET', '/v1/info', { agent: false })).status, 200, 'what has no body is served');
        open.forEach((c) => c.destroy());
        await waitUntil(async () => (await metrics(d)).own < MIB, 'all to be given back');
        const again = await refusal();
        assert.notEqual(again.status, 503);
    }));

test('what HTTP/2 takes for a connection counts until its peer has shown a token', () =>
    daemonFor({ gateway: false, args: ['--header-timeout-ms', '120000'] }, async (d) => {
        const count = limit('LIMIT_HELD_UNTRUSTED_BYTES') / limit('H2_CONNECTION_BYTES') + 20;
        const known = await Frames.connect(d);
        known.send(frame(TYPE.HEADERS, 5, 1, block(requestFields(d, '/v1/info'))));
        await known.until(TYPE.DATA, 1);
        const open = [];
        while (open.length < count)
            open.push(...(await Promise.all(Array.from({ length: Math.min(100, count - open.length) }, () => Frames.connect(d)))));
        await waitUntil(() => open.filter((f) => f.raw.ended).length >= 20, 'some of them to be closed');
        assert.equal(known.raw.ended, false);
        [known, ...open].forEach((f) => f.destroy());
    }));

test('so does what TLS takes', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-held-'));
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(dir, name));
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    await daemonFor({ gateway: false, args: ['--header-timeout-ms', '120000', '--tls-cert', cert, '--tls-key', key] }, async (d) => {
        const count = Math.floor(limit('LIMIT_HELD_UNTRUSTED_BYTES') / limit('TLS_CONNECTION_BYTES')) + 20;
        const known = await RawConn.connect(d, { secure: true });
        known.send(requestBytes(d, 'GET /v1/info'));
        assert.equal((await known.response()).status, 200);
        const open = [];
        // One that is closed in its handshake is one of those that make room.
        const one = () => RawConn.connect(d, { secure: true }).catch(() => ({ ended: true, destroy() {} }));
        while (open.length < count)
            open.push(...(await Promise.all(Array.from({ length: Math.min(50, count - open.length) }, one))));
        await waitUntil(() => open.filter((c) => c.ended).length >= 20, 'some of them to be closed');
        assert.equal(known.ended, false);
        [known, ...open].forEach((c) => c.destroy());
    });
    fs.rmSync(dir, { recursive: true });
});
