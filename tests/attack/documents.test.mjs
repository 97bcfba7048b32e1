// SPDX-License-Identifier: Apache-2.0
// What the documents promise is what the program does: the OpenAPI document against the routes, SECURITY.md against limits.h
// and the dialects' headers of limits.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { daemonFor, root } from '../lib/daemon.mjs';
import { limit } from '../lib/limits.mjs';
import { OpenApi } from '../lib/openapi.mjs';
import { calls } from '../lib/routes.mjs';
import { describe, it } from '../lib/test.mjs';

const read = (file) => fs.readFileSync(`${root}/${file}`, 'utf8');

describe('openapi.json', () => {
    const doc = JSON.parse(read('src/dialects/native/openapi.json'));
    const api = new OpenApi(doc);
    const served = calls().filter((c) => ['native', 'mcp'].includes(c.table.dialect) && c.path !== '/mcp/'); // which is /mcp

    /** Every schema of the document with its place. */
    function schemas(node, at, out = []) {
        if (!node || typeof node !== 'object') return out;
        if (!Array.isArray(node) && (node.type !== undefined || node.oneOf || node.$ref)) out.push([at, node]);
        for (const [key, value] of Object.entries(node)) if (key !== 'examples' && key !== 'example') schemas(value, `${at}/${key}`, out);
        return out;
    }

    it('has every call of the program with its role, and no other', () => {
        const documented = api.operations().map(([m, p]) => `${m} ${p} ${doc.paths[p][m.toLowerCase()]['x-role'] ?? 'none'}`);
        assert.deepEqual(documented.sort(), served.map((c) => `${c.name} ${c.role ?? 'none'}`).sort());
    });

    it('asks for a token exactly where the program does', () => {
        for (const c of served) {
            const op = doc.paths[c.path][c.method.toLowerCase()];
            assert.equal((op.security ?? doc.security).length === 0, c.isPublic, c.name);
        }
    });

    it('names its server, and what every array holds', () => {
        assert.deepEqual(doc.servers.map((s) => s.url), ['/']);
        for (const [at, s] of schemas(doc, '')) {
            if ([s.type].flat().includes('array')) assert.ok(s.items, `${at} is an array of anything`);
            if (s.$ref) api.at(s.$ref.slice(1));
        }
    });

    it('bounds every integer of a request from below', () => {
        const requests = Object.entries(doc.components.schemas).filter(([name]) => /Request$/.test(name));
        assert.ok(requests.length >= 9);
        for (const [name, schema] of requests)
            for (const [at, s] of schemas(schema, name)) if ([s.type].flat().includes('integer')) assert.ok('minimum' in s, `${at} has no minimum`);
        for (const [path, item] of Object.entries(doc.paths))
            for (const p of Object.values(item).flatMap((op) => op.parameters ?? []))
                if (p.schema.type === 'integer') assert.ok('minimum' in p.schema, `${p.name} of ${path} has no minimum`);
    });

    /** Bodies and queries at the edge: what the document allows is accepted, and what it forbids is refused. */
    it('allows what the daemon accepts and forbids what it refuses', () =>
        daemonFor({}, async (d) => {
            const p = await d.sh('echo more than twelve bytes; exec sleep 1000');
            await d.outputHas(p.id, 'bytes');
            const create = { command: 'true' };
            const bodies = [
                ['POST', '/v1/processes/run', create, [{}, { metadata: { a: { b: 'c' } } }, { metadata: { 'a\0b': 1 } }, { args: ['a\0b'] }, { env: { 'a\0': 'x' } }, { env: { a: 'x\0' } }, { cwd: '/\0' }, { label: 'a\0' }, { tag: 'x\0' }, { timeout_ms: -1 }, { timeout_ms: 1.5 }, { shell: 'bash' }, { shell: true }]],
                ['POST', `/v1/processes/${p.id}/signal`, {}, [{ signal: 'WINCH' }, { signal: 'sigwinch' }, { signal: 'SIGNONE' }, { signal: '' }, { signal: '28' }, { signal: '65' }, { signal: 28 }, { signal: 0 }, { signal: 'RTMIN+31' }, { signal: 'WINCH\0' }]],
                ['POST', '/v1/sessions', {}, [{ id: 'x' }, { id: '..' }, { id: 'a/b' }, { shell: 'bash' }, { shell: '/bin/sh' }, { shell: 'zsh' }, { shell: '' }, { shell: 'x/bash\0' }]],
                ['POST', '/mcp', { jsonrpc: '2.0' }, [{ id: 1, method: 'ping' }, { id: 1.5, method: 'ping' }, { id: {}, method: 'ping' }, { id: 1, method: 7 }, { jsonrpc: '1.0', id: 1, method: 'ping' }]],
            ];
            for (const [method, url, base, changes] of bodies) {
                const { pointer } = api.operation(method, url);
                const allows = api.validator(`${pointer}/requestBody/content/application~1json/schema`);
                for (const change of changes) {
                    const json = { ...base, ...change };
                    const a = await d.request(method, url, { json, headers: { Accept: 'application/json, text/event-stream' } });
                    const accepted = url === '/mcp' ? !/-32(700|600|602)/.test(a.text) : a.status < 300;
                    assert.equal(allows(json), accepted, `${method} ${url} ${JSON.stringify(json)}: ${a.status} ${a.text.slice(0, 200)}`);
                }
            }
            const queries = [
                [`/v1/processes/${p.id}/output`, 'since', ['0', '12', '-3', 'now', 'screen', 'then', '', '1.5', '0x1', '+1', '--1']],
                [`/v1/processes/${p.id}/recording`, 'since', ['0', '-3', 'x']],
                ['/v1/processes', 'after', [p.id, 'x', '']],
                ['/v1/sessions', 'after', ['a/b']],
            ];
            for (const [url, name, values] of queries) {
                const { op } = api.operation('GET', url);
                const allows = api.ajv.compile(op.parameters.find((q) => q.name === name).schema);
                for (const value of values) {
                    const a = await d.request('GET', `${url}?${name}=${encodeURIComponent(value)}`);
                    assert.equal(allows(value), a.status < 300, `${url} ${name}=${value}: ${a.status} ${a.text.slice(0, 200)}`);
                }
            }
        }));
});

describe('SECURITY.md', () => {
    const rows = [...read('SECURITY.md').matchAll(/^\| (.+?) \| ([\d,]+) (\S+) \| `([A-Z][A-Z0-9_]+)` \| (.+?) \|$/gm)].map((m) => ({ what: m[1], number: Number(m[2].replaceAll(',', '')), unit: m[3], name: m[4], tests: m[5] }));
    const FACTOR = { B: 1, KiB: 1 << 10, MiB: 1 << 20, GiB: 1 << 30, TiB: 2 ** 40, ms: 1, s: 1000, min: 60000, '': 1 };

    it('states bounds that are those of the headers', () => {
        assert.ok(rows.length >= 25, `${rows.length} rows`);
        for (const r of rows) assert.equal(r.number * (FACTOR[r.unit] ?? 1), limit(r.name), `${r.name}: ${r.number} ${r.unit}`);
        assert.equal(new Set(rows.map((r) => r.name)).size, rows.length, 'a bound is there twice');
    });

    it('names a test for each of them, and the test names the bound or what it does', () => {
        for (const r of rows) {
            const files = [...r.tests.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
            assert.ok(files.length > 0, `${r.name} has no test`);
            for (const f of files) assert.ok(fs.existsSync(`${root}/tests/${f}`), `${r.name}: there is no tests/${f}`);
        }
    });

    it('has every bound of the transport', () => {
        const header = read('src/base/limits.h');
        const [, transport] = header.split('/* --- transport --- */')[1].match(/^([^]*?)\/\* --- /);
        const names = [...transport.matchAll(/^#define (\w+)/gm)].map((m) => m[1]);
        const missing = names.filter((n) => !rows.some((r) => r.name === n));
        assert.deepEqual(missing, []);
    });
});
