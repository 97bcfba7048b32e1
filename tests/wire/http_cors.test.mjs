// SPDX-License-Identifier: Apache-2.0
// CORS: nothing by default; with an allow-list exactly what is on it.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { Viewer, refusedHandshake } from '../lib/client.mjs';

const LISTED = 'https://app.example';
const preflight = (origin, method = 'POST') => ({
    role: null,
    headers: {
        Origin: origin,
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': 'authorization, content-type, idempotency-key',
    },
});
const corsHeaders = (a) => Object.keys(a.headers).filter((h) => h.startsWith('access-control-'));

withDaemon('without --cors-origin', {}, (d) => {
    it('no answer carries a CORS header', async () => {
        for (const [m, path, o] of [
            ['GET', '/v1/info', { headers: { Origin: LISTED } }],
            ['OPTIONS', '/v1/processes', preflight(LISTED)],
        ]) {
            const a = await d.request(m, path, o);
            assert.deepEqual(corsHeaders(a), [], `${m} ${path}`);
        }
    });

    it('OPTIONS names the methods', async () => {
        const a = await d.request('OPTIONS', '/v1/processes');
        assert.ok([200, 204].includes(a.status), `${a.status}`);
        const allow = a.headers.allow.split(/,\s*/);
        assert.ok(allow.includes('GET') && allow.includes('POST'));
        assert.ok(!allow.includes('DELETE'));
    });
});

withDaemon('with --cors-origin', { args: ['--cors-origin', LISTED, '--cors-origin', 'http://localhost:5173'] }, (d) => {
    it('a preflight from a listed origin needs no token and is allowed', async () => {
        for (const origin of [LISTED, 'http://localhost:5173']) {
            const a = await d.request('OPTIONS', '/v1/processes', preflight(origin));
            assert.equal(a.status, 204);
            assert.equal(a.headers['access-control-allow-origin'], origin);
            assert.match(a.headers['access-control-allow-methods'], /\bPOST\b/);
            for (const h of ['authorization', 'content-type', 'idempotency-key']) {
                assert.match(a.headers['access-control-allow-headers'].toLowerCase(), new RegExp(h));
            }
            assert.match(a.headers.vary ?? '', /origin/i);
        }
    });

    it('answers to a listed origin can be read, with our headers', async () => {
        const p = await d.spawn({ command: 'echo', args: ['x'] });
        await d.exitOf(p.id);
        const a = await d.request('GET', `/v1/processes/${p.id}/output`, { headers: { Origin: LISTED } });
        assert.equal(a.headers['access-control-allow-origin'], LISTED);
        assert.match(a.headers['access-control-expose-headers'] ?? '', /\*|Holdfast-Next/i);
        assert.match(a.headers.vary ?? '', /origin/i);
        const refused = await d.request('POST', '/v1/processes', {
            json: { nonsense: 1 },
            headers: { Origin: LISTED },
        });
        assert.equal(refused.status, 400);
        assert.equal(refused.headers['access-control-allow-origin'], LISTED, 'errors must be readable too');
    });

    it('others get nothing', async () => {
        for (const origin of [
            'https://evil.example',
            'https://app.example.evil.example',
            'http://app.example',
            'https://app.example:444',
            'null',
        ]) {
            const a = await d.request('OPTIONS', '/v1/processes', preflight(origin));
            assert.equal(a.headers['access-control-allow-origin'], undefined, origin);
            await d.refused('origin_refused', 'POST', '/v1/processes', {
                json: { command: 'true' },
                headers: { Origin: origin },
            });
        }
    });

    it('a WebSocket from a listed origin is accepted, from another refused', async () => {
        const p = await d.sh('sleep 30');
        const v = await Viewer.attach(d, p.id, { headers: { Origin: LISTED } });
        v.cut();
        const r = await refusedHandshake(d, p.id, { headers: { Origin: 'https://evil.example' } });
        assert.equal(r.problem.code, 'origin_refused');
    });
});
