// SPDX-License-Identifier: Apache-2.0
// Every call of every dialect, made by somebody who may not make it: it is refused, and nothing has changed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import * as mcp from '../lib/mcp.mjs';
import { it, test } from '../lib/test.mjs';
import { daemonFor, withDaemon } from '../lib/daemon.mjs';
import { Http1, Http2, RANK, askAndGo, calls, fill, routeTables, upgradeHeaders, upgradesOf } from '../lib/routes.mjs';
import { inParallel, waitUntil } from '../lib/wait.mjs';

/** The calls that need no token, and what they give to somebody without one. docs/PROTOCOL.md and SECURITY.md have the same list. */
const PUBLIC = {
    'GET /healthz': 'constant',
    'GET /readyz': 'constant',
    'GET /': 'page',
    'GET /dialects/cloudflare/health': 'constant',
    'GET /dialects/e2b/health': 'constant',
    'GET /dialects/kubernetes/healthz': 'constant',
    'GET /dialects/kubernetes/livez': 'constant',
    'GET /dialects/kubernetes/readyz': 'constant',
    'GET /dialects/vercel/health': 'constant',
    'GET /dialects/e2b/files': 'refused',
    'POST /dialects/e2b/files': 'refused',
    'POST /dialects/e2b/init': 'refused',
    'GET /dialects/daytona/socket.io/': 'socket',
    'GET /dialects/daytona/api/socket.io/': 'socket',
};

const all = calls();
const guarded = all.filter((c) => !c.isPublic);
const WRONG = 'wrong-wrong-wrong-wrong-wrong-wrong';
const BODY = JSON.stringify({ command: 'touch never', cmd: 'touch never', args: ['-c', 'touch never'], signal: 'KILL', accessToken: WRONG });
const WIDTH = 48;

/** Runs one attempt for each of `list`; all that were not as they should be are named together. */
async function sweep(list, attempt) {
    const bad = [];
    await inParallel(list.length, WIDTH, async (i) => {
        const why = await attempt(list[i]).catch((err) => err.message);
        if (why) bad.push(`${list[i].name}: ${why}`);
    });
    assert.equal(bad.length, 0, `${bad.length} of ${list.length}:\n${bad.slice(0, 40).join('\n')}`);
}

const wanted = (status, a) => (a.status === status ? null : `${a.status} instead of ${status}: ${a.text.slice(0, 200)}`);

/** Counts of what the machine and its clients do change without anybody's doing; a stream of events has no end. */
const isSnapshot = (c) => c.method === 'GET' && !c.isUpgrade && !c.isPrefix && !/\{|metrics|activity|\/events$/.test(c.path);

/** What anyone with `own` can see of the daemon's state: every list and setting of every dialect that stands still. */
class State {
    static async take(d) {
        const s = new State();
        s.d = d;
        s.urls = [];
        for (const c of guarded.filter(isSnapshot)) {
            const [a, b] = [await s.#get(c.path), await s.#get(c.path)];
            if (a !== null && a === b) s.urls.push(c.path);
        }
        for (const must of ['/v1/processes', '/v1/sessions', '/dialects/e2b/envs', '/dialects/docker/containers/json'])
            assert.ok(s.urls.includes(must), `${must} is not part of the state that is compared`);
        s.before = await s.#read();
        return s;
    }

    async #get(url) {
        const res = await this.d.open('GET', url, { timeoutMs: 10000 });
        const type = res.headers['content-type'] ?? '';
        if (res.statusCode !== 200 || !type.includes('json') || type.includes('stream')) {
            res.destroy();
            return null;
        }
        let text = '';
        for await (const part of res) text += part;
        // Times go on by themselves, and so do counts of who looks. Some of these calls start a helper, and each is an event, which resourceVersion counts.
        return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(/"resourceVersion":"\d+"/g, '"resourceVersion":"0"').replace(/"(idle_ms|duration|viewers|Status)":("[^"]*"|\d+|\[[^\]]*\])/g, '"$1":0');
    }

    async #read() {
        const out = {};
        for (const url of this.urls) out[url] = await this.#get(url);
        return out;
    }

    async isUnchanged() {
        await waitUntil(
            async () => {
                const now = await this.#read();
                const changed = this.urls.filter((u) => now[u] !== this.before[u]);
                if (changed.length) throw new Error(changed.map((u) => `${u}\n  was ${this.before[u].slice(0, 1500)}\n  is  ${now[u]?.slice(0, 1500)}`).join('\n'));
                return true;
            },
            'the daemon to be as it was',
            5000,
            100,
        );
        assert.ok(!fs.readdirSync(this.d.dir).includes('never'), 'a refused request ran a command');
    }
}

test('the calls that need no token are those that are listed, here and in the documents', () => {
    const open = all.filter((c) => c.isPublic).map((c) => c.name).sort();
    assert.deepEqual(open, Object.keys(PUBLIC).sort());
    for (const file of ['docs/PROTOCOL.md', 'SECURITY.md']) {
        const text = fs.readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
        const table = /\| call \| without a token \|\n(.*?)\n\n/s.exec(`${text}\n\n`);
        assert.ok(table, `${file} has no table of calls without a token`);
        const named = [...table[1].matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`/g)].map((m) => m[1]).sort();
        assert.deepEqual(named, open, file);
    }
});

test('every dialect of the daemon is in the sweep', () => {
    const tables = routeTables();
    assert.ok(tables.length >= 14, String(tables.map((t) => t.dialect)));
    for (const t of tables) assert.ok(t.routes.length > 0, t.dialect);
    assert.ok(all.length > 450, String(all.length));
});

withDaemon('every call', {}, (d) => {
    const state = () => State.take(d);
    let id;
    const both = async (body) => {
        const h1 = new Http1(d);
        const h2 = new Http2(d);
        try {
            await body((c, o, version) => {
                const path = fill(c, id);
                return version === 2 ? h2.ask(c.method, path, o) : h1.ask(c.method, path, o);
            });
        } finally {
            h1.close();
            await h2.close();
        }
    };
    /** Each call over both versions, without a body and with one. */
    const shapes = (list) =>
        list.flatMap((c) => [1, 2].flatMap((version) => [undefined, BODY].map((body) => ({ ...c, version, body, name: `${c.name} (HTTP/${version}${body ? ', body' : ''})` }))));

    it('is there: the daemon names its methods', async () => {
        id = (await d.spawn({ command: 'sleep', args: ['100000'], pty: true, tag: 'target' })).id;
        const h1 = new Http1(d);
        await sweep(guarded, async (c) => {
            const a = await h1.ask('OPTIONS', fill(c, id), { headers: d.authHeaders() });
            const methods = (a.headers.allow ?? '').split(', ');
            return methods.includes(c.method) || a.headers.allow === undefined ? null : `Allow: ${a.headers.allow}`;
        });
        h1.close();
    });

    it('without a token: 401', async () => {
        const s = await state();
        await both((ask) => sweep(shapes(guarded), async (c) => wanted(401, await ask(c, { body: c.body }, c.version))));
        await s.isUnchanged();
    });

    it('with a wrong token, in every way in which its dialect accepts one: 401', async () => {
        const s = await state();
        const ways = (c) => {
            const w = c.table.credentials;
            const list = [{ headers: { Authorization: `Bearer ${WRONG}` } }, { headers: { Authorization: `Bearer ${d.token.slice(0, -1)}` } }];
            for (const h of w.headers) list.push({ headers: { [h]: WRONG } });
            for (const q of [...w.query, ...w.upgrade_query]) list.push({ query: `${q}=${WRONG}` });
            for (const q of w.basic_query) list.push({ query: `${q}=${Buffer.from(`x:${WRONG}`).toString('base64')}` });
            if (w.basic) list.push({ headers: { Authorization: `Basic ${Buffer.from(`x:${WRONG}`).toString('base64')}` } });
            if (w.scheme) list.push({ headers: { Authorization: `${w.scheme} ${WRONG}` } });
            return list;
        };
        const list = guarded.flatMap((c) => ways(c).map((way, i) => ({ ...c, ...way, path: way.query ? `${c.path}?${way.query}` : c.path, version: 1 + (i % 2), name: `${c.name} ${JSON.stringify(way)}` })));
        await both((ask) =>
            sweep(list, async (c) => {
                const a = await ask({ ...c, isPrefix: c.isPrefix && !c.query }, { headers: c.headers, body: BODY }, c.version);
                return wanted(401, a);
            }),
        );
        await s.isUnchanged();
    });

    it('with the token in the URL, where its dialect does not take it from there: 401', async () => {
        const native = guarded.filter((c) => ['native', 'mcp'].includes(c.table.dialect) && !c.isPrefix);
        await both((ask) => sweep(native, async (c) => wanted(401, await ask({ ...c, path: `${c.path}?token=${d.token}&access_token=${d.token}` }, {}, 1))));
    });

    it('with a weaker role: 403', async () => {
        const s = await state();
        const list = guarded.flatMap((c) => ['watch', 'type'].filter((r) => RANK[r] < RANK[c.role]).map((r) => ({ ...c, as: r })));
        assert.ok(list.length > 200, String(list.length));
        await both((ask) =>
            sweep(shapes(list.map((c) => ({ ...c, name: `${c.name} as ${c.as}` }))), async (c) => wanted(403, await ask(c, { headers: d.authHeaders(c.as), body: c.body }, c.version))),
        );
        await s.isUnchanged();
    });

    it('as an upgrade, without a token, with a wrong one, with a weaker role: no 101', async () => {
        const s = await state();
        const list = guarded.flatMap((c) =>
            upgradesOf(c).flatMap((kind) =>
                [null, WRONG, 'watch', 'type']
                    .filter((r) => !(RANK[r] >= RANK[c.role]))
                    .map((r) => ({ ...c, kind, as: r, name: `${c.name} as ${r ?? 'nobody'} (${kind})` })),
            ),
        );
        const h1 = new Http1(d);
        await sweep(list, async (c) => {
            const a = await h1.ask(c.method, fill(c, id), { headers: { ...upgradeHeaders(c.kind), ...d.authHeaders(c.as) } });
            return wanted(RANK[c.as] ? 403 : 401, a);
        });
        h1.close();
        await s.isUnchanged();
    });

    it('for a foreign Host, with the token: 403', async () => {
        const s = await state();
        await both((ask) =>
            sweep(shapes(guarded), async (c) => wanted(403, await ask(c, { headers: { ...d.authHeaders(), Host: 'evil.example' }, body: c.body }, c.version))),
        );
        await s.isUnchanged();
    });

    it('from a foreign Origin, with the token: 403 for all that is not a plain read', async () => {
        const s = await state();
        const list = guarded.filter((c) => c.method !== 'GET');
        const headers = { ...d.authHeaders(), Origin: 'https://evil.example' };
        await both((ask) => sweep(shapes(list), async (c) => wanted(403, await ask(c, { headers, body: c.body }, c.version))));
        const h1 = new Http1(d);
        await sweep(
            guarded.flatMap((c) => upgradesOf(c).map((kind) => ({ ...c, kind, name: `${c.name} (${kind})` }))),
            async (c) => wanted(403, await h1.ask(c.method, fill(c, id), { headers: { ...headers, ...upgradeHeaders(c.kind) } })),
        );
        h1.close();
        await s.isUnchanged();
    });

    it('by a GET from a foreign Origin, with the token: nothing changes', async () => {
        const s = await state();
        const headers = { ...d.authHeaders(), Origin: 'https://evil.example' };
        await sweep(
            guarded.filter((c) => c.method === 'GET'),
            async (c) => {
                await askAndGo(d, 'GET', fill(c, id), { headers });
                return null;
            },
        );
        await s.isUnchanged();
    });

    it('by somebody who may only watch: nothing changes, whatever he is let in to', async () => {
        const s = await state();
        const headers = d.authHeaders('watch');
        await sweep(
            guarded.filter((c) => c.role === 'watch'),
            async (c) => {
                const bodies = c.method === 'GET' ? [''] : ['', BODY];
                for (const body of bodies) await askAndGo(d, c.method, fill(c, id), { headers, body });
                for (const kind of upgradesOf(c)) await askAndGo(d, c.method, `${fill(c, id)}?command=touch&command=never&cmd=touch&stdin=1&tty=1`, { headers: { ...headers, ...upgradeHeaders(kind) } });
                return null;
            },
        );
        await s.isUnchanged();
    });

    it('through MCP: a role is offered its own tools, and the others are refused', async () => {
        const s = await state();
        const offered = async (role) => JSON.parse((await mcp.post(d, mcp.request(1, 'tools/list'), { role, session: await sessionOf(role) })).text).result.tools.map((t) => t.name);
        const sessionOf = async (role) => (await mcp.post(d, mcp.initialize(), { role })).headers['mcp-session-id'];
        const every = await offered('own');
        for (const role of ['watch', 'type']) {
            const session = await sessionOf(role);
            const own = await offered(role);
            const refused = every.filter((t) => !own.includes(t));
            assert.ok(own.length > 0 && refused.length > 1, `${role}: ${own}`);
            for (const name of refused) {
                const call = mcp.request(2, 'tools/call', { name, arguments: { command: 'touch never', process: id, process_id: id, signal: 'KILL', text: 'x', rows: 1, cols: 1 } });
                const a = await mcp.post(d, call, { role, session });
                assert.match(a.text, new RegExp(`the tool ${name} needs the role`), `${role} ${name}: ${a.text.slice(0, 200)}`);
            }
        }
        await s.isUnchanged();
    });

    it('that is public gives a constant, the page, or a refusal', async () => {
        const s = await state();
        const constants = new Map();
        for (const headers of [{}, { Authorization: `Bearer ${WRONG}` }, { Host: 'evil.example' }, { Origin: 'https://evil.example' }])
            await both((ask) =>
                sweep(shapes(all.filter((c) => c.isPublic)), async (c) => {
                    const kind = PUBLIC[`${c.method} ${c.path}`];
                    if (c.body && c.method === 'GET') return null;
                    const a = await ask(c, { headers, body: c.body }, c.version);
                    if (kind === 'refused') return [400, 401, 403].includes(a.status) ? null : `${a.status} ${a.text.slice(0, 100)}`;
                    if (kind === 'socket') return wanted(426, a);
                    if (![200, 204].includes(a.status)) return `${a.status}`;
                    if (kind === 'constant') {
                        constants.set(c.path, constants.get(c.path) ?? a.text);
                        if (constants.get(c.path) !== a.text || a.text.length > 100) return `it tells ${a.text.slice(0, 200)}`;
                    }
                    return Object.values(d.tokens).some((t) => a.text.includes(t)) || a.text.includes(id) ? 'it tells a secret' : null;
                }),
            );
        await s.isUnchanged();
    });
});

/** Some platforms' clients insist on the root of a listener: the same rows, the same refusals. */
test('listeners of the dialects refuse the same', async () => {
    const tables = routeTables().filter((t) => t.port > 0);
    const args = tables.flatMap((t) => ['--dialect', `${t.dialect}=127.0.0.1:0`]);
    await daemonFor({ args, fdBaseline: false }, async (d) => {
        await d.ready(1 + tables.length);
        const p = await d.spawn({ command: 'sleep', args: ['100000'], pty: true });
        const state = await State.take(d);
        const ports = d.urls.slice(1).map((u) => Number(new URL(u).port));
        for (const [i, t] of tables.entries()) {
            const target = { port: ports[i] };
            const h1 = new Http1(target);
            const h2 = new Http2(target);
            const list = calls([t])
                .filter((c) => !c.isPublic)
                .flatMap((c) => [1, 2].map((version) => ({ ...c, version, path: c.path.slice(t.prefix.length), name: `${t.dialect} ${c.name} at the root (HTTP/${version})` })));
            const ask = (c, o) => (c.version === 1 ? h1 : h2).ask(c.method, fill(c, p.id), o);
            await sweep(list, async (c) => wanted(401, await ask(c, { body: BODY })));
            await sweep(list, async (c) => wanted(403, await ask(c, { headers: { ...d.authHeaders(), Host: 'evil.example' } })));
            await sweep(
                list.filter((c) => c.role === 'own'),
                async (c) => wanted(403, await ask(c, { headers: d.authHeaders('type') })),
            );
            h1.close();
            await h2.close();
        }
        await state.isUnchanged();
    });
});
