// SPDX-License-Identifier: Apache-2.0
// The control API of E2B and envd's plain routes.

import assert from 'node:assert/strict';
import { AuthenticationError, Sandbox, SandboxNotFoundError, TimeoutError } from 'e2b';
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
        await throwsA(direct(d, 'wrong-wrong-wrong-wrong').commands.list(), AuthenticationError);
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
