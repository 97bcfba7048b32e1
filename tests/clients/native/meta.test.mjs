// SPDX-License-Identifier: Apache-2.0
// What the daemon says about itself, and what is not there yet.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { checkProblem, withDaemon } from '../../lib/daemon.mjs';
import { codes } from '../../lib/codes.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('meta', {}, (d) => {
    it('healthz and readyz', async () => {
        for (const path of ['/healthz', '/readyz']) {
            assert.equal((await d.api('GET', path, { role: null, expect: 200 })).status, 200);
            assert.equal((await d.request('HEAD', path, { role: null })).status, 200);
        }
    });

    it('info: version, limits, dialects, features', async () => {
        const i = (await d.api('GET', '/v1/info', { expect: 200 })).json;
        assert.match(i.version, /^\d+\.\d+/);
        assert.ok(i.dialects.includes('native'));
        assert.equal(typeof i.limits, 'object');
        for (const v of Object.values(i.limits)) assert.ok(Number.isSafeInteger(v) && v >= 0, JSON.stringify(i.limits));
        assert.ok(i.features);
        assert.equal(i.name, 'holdfast');
        assert.equal(i.role, 'own');
        const named = [
            'processes',
            'viewers',
            'connections',
            'waits',
            'history_bytes',
            'journal_memory_bytes',
            'retained',
            'retain_ms',
            'event_log_bytes',
            'json_body_bytes',
            'header_bytes',
            'header_count',
            'uri_bytes',
            'ws_text_bytes',
            'ws_frame_bytes',
            'input_queue_bytes',
            'input_clients',
            'args',
            'env',
            'tag_bytes',
            'label_bytes',
            'metadata_bytes',
            'run_output_bytes',
            'run_output_max_bytes',
            'regex_bytes',
            'regex_states',
            'text_bytes',
            'duration_ms',
            'terminal_size',
        ];
        for (const n of named) assert.ok(n in i.limits, `limit ${n} is not told`);
    });

    it('metrics are Prometheus text', async () => {
        await d.exitOf((await d.sh('echo 12345')).id);
        const a = await d.api('GET', '/metrics', { expect: 200 });
        assert.match(a.headers['content-type'], /^text\/plain; ?version=0\.0\.4/);
        const names = new Set();
        for (const line of a.text.split('\n').filter(Boolean)) {
            if (line.startsWith('#')) {
                assert.match(line, /^# (HELP|TYPE) [a-zA-Z_:][a-zA-Z0-9_:]* /);
                continue;
            }
            const m = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (-?[0-9.e+]+)$/.exec(line);
            assert.ok(m, line);
            names.add(m[1]);
        }
        assert.ok(
            [...names].every((n) => /^(holdfast|process)_/.test(n)),
            [...names].join(),
        );
        assert.ok(names.size >= 5);
        assert.match(a.text, /\n$/);
    });

    it('activity moves with what happens', async () => {
        const a = (await d.api('GET', '/v1/activity', { expect: 200 })).json;
        const p = await d.sh('sleep 300');
        const b = await waitUntil(async () => {
            const x = (await d.api('GET', '/v1/activity', { expect: 200 })).json;
            return JSON.stringify(x) !== JSON.stringify(a) ? x : null;
        }, 'the activity to change');
        assert.ok(b);
        await d.remove(p.id);
    });

    it('openapi.json is whole: every route, every reference, every code', async () => {
        const a = await d.request('GET', '/openapi.json');
        assert.equal(a.type, 'application/json');
        const api = await d.openapi();
        assert.match(api.doc.openapi, /^3\.[01]\./);
        const table = [
            'POST /v1/processes',
            'POST /v1/processes/run',
            'GET /v1/processes',
            'GET /v1/processes/{id}',
            'PATCH /v1/processes/{id}',
            'DELETE /v1/processes/{id}',
            'POST /v1/processes/{id}/signal',
            'POST /v1/processes/{id}/resize',
            'POST /v1/processes/{id}/input',
            'GET /v1/processes/{id}/output',
            'GET /v1/processes/{id}/wait',
            'POST /v1/processes/{id}/wait',
            'GET /v1/processes/{id}/connect',
            'GET /v1/terminal',
            'GET /v1/events',
            'GET /healthz',
            'GET /readyz',
            'GET /metrics',
            'GET /v1/info',
            'GET /v1/activity',
            'GET /openapi.json',
            'POST /v1/upgrade',
            'POST /v1/tickets',
        ];
        const have = api.operations().map((o) => o.join(' '));
        for (const t of table) assert.ok(have.includes(t), `${t} is not in the document`);
        for (const [m, path] of api.operations()) {
            const { op, pointer } = api.operation(m, path.replace(/\{[^}]+\}/g, 'x')) ?? {};
            assert.ok(op, `${m} ${path}`);
            for (const key of Object.keys(op.responses)) {
                const [r, at] = api.resolve(op.responses[key], `${pointer}/responses/${key}`);
                for (const [type, media] of Object.entries(r.content ?? {})) {
                    if (media.schema) api.validator(`${at}/content/${type.replaceAll('/', '~1')}/schema`);
                }
            }
        }
        const text = a.text;
        const missing = [...codes.keys()].filter((c) => !text.includes(`"${c}"`));
        assert.deepEqual(missing, [], 'codes that the document does not name');
    });

    it('what later versions bring says not_implemented, not not_found', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const v = await Viewer.attach(d, p.id);
        v.control({ type: 'role' });
        assert.equal((await v.message('error')).code, 'not_implemented');
        v.cut();
        await d.remove(p.id);
    });

    it('every answer forbids caching and sniffing', async () => {
        for (const path of ['/v1/info', '/v1/processes', '/v1/nothing']) {
            const a = await d.request('GET', path);
            assert.match(a.headers['cache-control'] ?? '', /no-store|no-cache/, path);
            assert.equal(a.headers['x-content-type-options'], 'nosniff', path);
        }
    });
});
