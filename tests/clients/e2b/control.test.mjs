// SPDX-License-Identifier: Apache-2.0
// The control API of E2B and envd's plain routes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { AuthenticationError, Sandbox, SandboxError, SandboxNotFoundError, TimeoutError } from 'e2b';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { create, direct, options, throwsA } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('e2b: control', { env: { E2B_SANDBOX_ID: 'box1' } }, (d) => {
    const ask = (method, path, more) => d.request(method, `/dialects/e2b${path}`, more);
    const init = (json, more = {}) => ask('POST', '/init', { json, ...more });

    it('metadata and variables of create are the sandbox’s', async () => {
        const s = await create(d, { metadata: { app: 'x', user: 'me' }, envs: { GREETING: 'hallo' }, timeoutMs: 5000 });
        assert.equal(s.sandboxId, 'box1');
        const info = await s.getInfo();
        assert.deepEqual(info.metadata, { app: 'x', user: 'me' });
        assert.equal(info.state, 'running');
        assert.ok(info.endAt > new Date());
        assert.equal((await s.commands.run('echo $GREETING $E2B_SANDBOX $E2B_SANDBOX_ID')).stdout, 'hallo true box1\n');
        assert.equal((await s.commands.run('echo $GREETING', { envs: { GREETING: 'own' } })).stdout, 'own\n');
        await s.setTimeout(1000);
        assert.equal(await s.isRunning(), true);
    });

    it('list: one sandbox, if it fits', async () => {
        const list = async (query) => (await Sandbox.list(options(d, { query })).nextItems()).map((s) => s.sandboxId);
        assert.deepEqual(await list(), ['box1']);
        assert.deepEqual(await list({ metadata: { app: 'x' } }), ['box1']);
        assert.deepEqual(await list({ metadata: { app: 'y' } }), []);
        assert.deepEqual(await list({ state: ['paused'] }), []);
    });

    // Each of these was ignored once, so a query that excludes the sandbox returned it.
    it('list: every filter and page of the API', async () => {
        await create(d, { metadata: { app: 'x' } });
        const { json: detail } = await ask('GET', '/sandboxes/box1');
        const list = async (query) => {
            const a = await ask('GET', `/v2/sandboxes?${query}`);
            return a.status === 200 ? a.json.length : [a.status, a.json.code];
        };
        const cursor = (text) => `nextToken=${Buffer.from(text).toString('base64url')}`;
        const at = (ms) => new Date(Date.parse(detail.startedAt) + ms).toISOString();
        for (const [query, expected] of [
            ['state=running,paused', 1],
            ['state=paused&state=running', 1],
            ['state=paused', 0],
            ['state=done', [400, 400]],
            [`startedAfter=${at(0)}`, 1],
            [`startedAfter=${at(1)}`, 0],
            ['startedAfter=yesterday', [400, 400]],
            [`template=${detail.templateID}`, 1],
            ['template=another', 0],
            ['template=base:v1', [400, 400]],
            ['metadata=app%3Dx', 1],
            ['metadata=app%3Dx%26other%3Dy', 0],
            ['metadata=%25zz', [400, 400]],
            ['limit=1&order=asc', 1],
            ['limit=0', [400, 400]],
            ['limit=101', [400, 400]],
            ['order=up', [400, 400]],
            [cursor(`${at(1)}__a`), 1],
            [cursor(`${at(0)}__a`), 1],
            [cursor(`${at(0)}__box1`), 0],
            [cursor(`${at(-1)}__a`), 0],
            [`order=asc&${cursor(`${at(-1)}__a__asc`)}`, 1],
            [`order=asc&${cursor(`${at(0)}__a__asc`)}`, 0],
            [`order=asc&${cursor(`${at(-1)}__a`)}`, [400, 400]],
            [cursor('garbage'), [400, 400]],
            ['nextToken=!', [400, 400]],
        ])
            assert.deepEqual(await list(query), expected, query);
        assert.equal((await ask('GET', '/v2/sandboxes?template=another')).headers['x-total-running'], '0');
        assert.equal((await ask('GET', '/v2/sandboxes')).headers['x-total-running'], '1');
        assert.equal((await ask('GET', '/v2/sandboxes?state=paused')).headers['x-total-running'], undefined);
        assert.equal((await ask('GET', '/sandboxes?state=paused&metadata=app%3Dx')).json.length, 1, 'the older call has one filter');
        assert.equal((await ask('GET', '/sandboxes?metadata=app%3Dy')).json.length, 0);
    });

    it('the end of the sandbox is the same in each reply', async () => {
        const ends = async () => [(await ask('GET', '/sandboxes/box1')).json.endAt, (await ask('GET', '/v2/sandboxes')).json[0].endAt];
        const first = await ends();
        const { json } = await ask('GET', '/sandboxes/box1');
        assert.deepEqual(await ends(), first);
        assert.equal(first[0], first[1]);
        assert.equal(Date.parse(json.endAt) - Date.parse(json.startedAt), 366 * 24 * 3600 * 1000);
    });

    // 404 here made agents believe that their sandbox was gone, and create another.
    it('what one sandbox cannot do is said, and never by 404', async () => {
        const s = await create(d);
        await throwsA(s.pause(), SandboxError, /^501: pausing is not supported/);
        for (const [method, path, status, message] of [
            ['POST', '/sandboxes/box1/resume', 409, /already running/],
            ['POST', '/sandboxes/box1/refreshes', 204],
            ['POST', '/sandboxes/box1/fork', 501, /forking/],
            ['POST', '/sandboxes/box1/snapshots', 501, /snapshots/],
            ['PUT', '/sandboxes/box1/network', 501, /network/],
            ['GET', '/sandboxes/box1/logs', 501, /no log/],
            ['GET', '/v2/sandboxes/box1/logs', 501, /no log/],
            ['GET', '/templates', 501, /templates/],
            ['POST', '/v3/templates', 501, /templates/],
            ['GET', '/volumes/x', 501, /volumes/],
            ['GET', '/teams', 501, /teams/],
            ['POST', '/sandboxes/other/pause', 404, /"other" not found/],
            ['GET', '/sandboxes/other/logs', 404, /"other" not found/],
        ]) {
            const a = await ask(method, path, { json: method === 'GET' ? undefined : {} });
            assert.equal(a.status, status, path);
            if (status !== 204) {
                assert.equal(a.json.code, status, path);
                assert.match(a.json.message, message, path);
            }
        }
        assert.deepEqual((await ask('GET', '/snapshots')).json, []);
        assert.equal(await s.isRunning(), true);
    });

    it('the template is that of the last create, also for what runs in it', async () => {
        for (const template of ['first', 'second']) {
            const s = await Sandbox.create(template, options(d));
            assert.equal((await s.commands.run('echo $E2B_TEMPLATE_ID')).stdout, `${template}\n`);
        }
    });

    it('a sandbox of another name is not there', async () => {
        await throwsA(Sandbox.connect('other', options(d)), SandboxNotFoundError);
        assert.equal(await Sandbox.kill('other', options(d)), false);
        await throwsA(Sandbox.getInfo('other', options(d)), SandboxNotFoundError);
    });

    it('the older paths of the same calls', async () => {
        const a = await ask('POST', '/sandboxes', { json: { templateID: 'base', secure: true, timeout: 300 } });
        assert.equal(a.status, 201);
        assert.equal(a.json.sandboxID, 'box1');
        const c = await ask('POST', '/sandboxes/box1/connect', { json: { timeout: 300 } });
        assert.equal(c.status, 200);
        assert.equal((await ask('POST', '/sandboxes/box1/timeout', { json: { timeout: 1 } })).status, 204);
    });

    it('the access token is the API key: a role stays what it is', async () => {
        const key = { role: null, headers: { 'X-API-KEY': d.tokens.watch } };
        const c = await ask('POST', '/v2/sandboxes/box1/connect', { ...key, json: {} });
        assert.equal(c.json.envdAccessToken, d.tokens.watch);
        const refused = await ask('POST', '/v2/sandboxes', { ...key, json: { templateID: 'base' } });
        assert.equal(refused.status, 403);
        assert.equal((await ask('DELETE', '/sandboxes/box1', key)).status, 403);
    });

    it('bodies that make no sense are refused, and nothing changes', async () => {
        await create(d, { metadata: { app: 'kept' } });
        for (const bad of ['{', '[]', '{"metadata":{"a":1}}', '{"envVars":[]}', '{"envVars":"x"}', '{"metadata":{"app":"new"},"envVars":{"A":null}}', '{"envVars":{"A=B":"x"}}', '{"envVars":{"":"x"}}']) {
            const a = await ask('POST', '/v2/sandboxes', { body: bad });
            assert.equal(a.status, 400, bad);
            assert.equal(a.json.code, 400);
        }
        const large = await ask('POST', '/v2/sandboxes', { json: { metadata: { app: 'x'.repeat(70000) } } });
        assert.equal(large.status, 400);
        assert.match(large.json.message, /too large/);
        assert.deepEqual((await ask('GET', '/sandboxes/box1')).json.metadata, { app: 'kept' });
        assert.equal((await ask('POST', '/v2/sandboxes', { json: { metadata: { 'a=b': 'fine', '': 'x' } } })).status, 201);
    });

    it('kill ends all that runs in it; another create begins anew', async () => {
        const s = await create(d, { envs: { A: 'old' }, metadata: { m: '1' } });
        const c = await s.commands.run('sleep 100', { background: true });
        const p = await d.spawn({ command: 'sleep', args: ['100'] });
        assert.equal(await s.kill(), true);
        await throwsA(c.wait(), TimeoutError, /killed/);
        assert.equal((await d.get(p.id)).status, 'exited');
        assert.equal(await s.isRunning(), false);
        await throwsA(s.commands.run('true'), SandboxNotFoundError);
        const rpc = (call) => ['POST', call, { json: {} }];
        for (const [method, path, more] of [
            ['GET', '/health'],
            ['GET', '/metrics'],
            ['GET', '/envs'],
            ['POST', '/init', { json: { defaultUser: 'nobody' } }],
            ['GET', `/files?path=${d.dir}/x`],
            ['POST', `/files?path=${d.dir}/x`, { body: 'x', headers: { 'Content-Type': 'application/octet-stream' } }],
            ...['List', 'SendInput', 'Update', 'SendSignal', 'CloseStdin'].map((call) => rpc(`/process.Process/${call}`)),
            ...['Stat', 'ListDir', 'MakeDir', 'Move', 'Remove'].map((call) => rpc(`/filesystem.Filesystem/${call}`)),
        ]) {
            const gone = await ask(method, path, more);
            assert.equal(gone.status, 502, path);
            assert.deepEqual(gone.json, { sandboxId: 'box1', message: 'The sandbox was not found', code: 502 });
        }
        assert.equal(fs.existsSync(`${d.dir}/x`), false);
        await throwsA(Sandbox.connect('box1', options(d)), SandboxNotFoundError);
        const again = await create(d);
        assert.equal(await again.isRunning(), true);
        assert.equal((await again.commands.run('echo "[$A]"')).stdout, '[]\n');
        assert.deepEqual((await again.getInfo()).metadata, {});
    });

    it('init: variables, user, directory; an older one is passed over', async () => {
        const s = await create(d);
        const run = async (line, more) => (await s.commands.run(line, more)).stdout.trim();
        const first = await init({ envVars: { A: '1', B: '2' }, defaultUser: 'nobody', defaultWorkdir: '/usr', timestamp: '2026-01-02T00:00:00Z', lifecycleID: 'x', volumeMounts: [] });
        assert.equal(first.status, 204);
        assert.equal(first.headers['x-envd-version'], '0.6.13');
        assert.equal(first.headers['cache-control'], 'no-store');
        assert.equal(await run('echo $A $B $(id -un) $PWD'), '1 2 nobody /usr');
        assert.equal(await run('id -un', { user: 'root' }), 'root');
        assert.equal((await init({ envVars: { A: 'older' }, timestamp: '2026-01-01T00:00:00Z' })).status, 204);
        assert.equal(await run('echo $A'), '1');
        await init({ envVars: { B: '3' } });
        assert.equal(await run('echo "[$A$B]"'), '[3]');
        const envs = await ask('GET', '/envs');
        assert.deepEqual(envs.json, { B: '3', E2B_SANDBOX: 'true', E2B_SANDBOX_ID: 'box1', E2B_TEMPLATE_ID: 'base' });
        await init({ defaultUser: '', defaultWorkdir: '' });
        assert.equal(await run('echo $PWD'), d.dir);
    });

    // They belong to the machine, as those of a template do; a kill lost them, and the next sandbox ran as root.
    it('user and directory of init are also those of the next sandbox', async () => {
        const s = await create(d);
        await init({ envVars: { A: '1' }, defaultUser: 'nobody', defaultWorkdir: '/usr' });
        await s.kill();
        const next = await create(d);
        assert.equal((await next.commands.run('echo "[$A]" $(id -un) $PWD')).stdout, '[] nobody /usr\n');
        await init({ defaultUser: '', defaultWorkdir: '' });
    });

    it('init wants a token, in a header or in the body', async () => {
        assert.equal((await init({}, { role: null })).status, 401);
        assert.equal((await init({ accessToken: 'wrong-wrong-wrong-wrong' }, { role: null })).status, 401);
        assert.equal((await init({ accessToken: d.tokens.type }, { role: null })).status, 401);
        assert.equal((await init({ accessToken: d.token }, { role: null })).status, 204);
        for (const bad of ['{', '7', '{"envVars":{"A":1}}', '{"envVars":[]}', '{"envVars":{"A=B":"x"}}', '{"envVars":{"":"x"}}', '{"defaultUser":1}']) {
            assert.equal((await ask('POST', '/init', { body: bad })).status, 400, bad);
        }
    });

    it('health needs no token, metrics do', async () => {
        assert.equal((await ask('GET', '/health', { role: null })).status, 204);
        assert.equal((await ask('GET', '/metrics', { role: null })).status, 401);
        const m = (await ask('GET', '/metrics')).json;
        assert.ok(m.cpu_count >= 1 && m.cpu_used_pct >= 0 && m.cpu_used_pct <= 100);
        assert.ok(m.mem_total > m.mem_used && m.mem_used > 0 && m.disk_total >= m.disk_used && m.ts > 1700000000);
        assert.equal(m.mem_total_mib, Math.floor(m.mem_total / 1048576));
        await throwsA(direct(d, 'wrong-wrong-wrong-wrong').commands.list(), AuthenticationError, /X-Access-Token/);
        await throwsA(Sandbox.connect('box1', options(d, { apiKey: 'wrong-wrong-wrong-wrong' })), AuthenticationError, /X-API-KEY/);
        assert.match((await ask('GET', '/files?path=/x', { role: null })).json.message, /token or a signature/);
    });
});

// What create() set must not be gone because the part that faces the network was replaced.
it('the sandbox is the same after its worker was killed', async () => {
    await daemonFor({ fdBaseline: false }, async (d) => {
        const s = await create(d, { envs: { KEPT: 'yes' }, metadata: { app: 'x' } });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const again = await Sandbox.connect(s.sandboxId, options(d));
        assert.equal((await again.commands.run('echo $KEPT')).stdout, 'yes\n');
        assert.deepEqual((await again.getInfo()).metadata, { app: 'x' });
    });
});
