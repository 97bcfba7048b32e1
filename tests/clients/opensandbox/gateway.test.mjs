// SPDX-License-Identifier: Apache-2.0
// The SDK and terminals through `holdfast gateway`, which is their control plane's proxy.

import assert from 'node:assert/strict';
import { ConnectionConfig, Sandbox } from '@alibaba-group/opensandbox';
import { Daemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { connect, Pty, texts } from '../../lib/opensandbox.mjs';
import { after, before, describe, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const dialect = (d) => {
    const all = [...(d.stdout + d.stderr).matchAll(/listening on http:\/\/[^:]+:(\d+)/g)].map((m) => Number(m[1]));
    return all.find((p) => p !== (d.directPort ?? d.port));
};

describe('opensandbox: behind a gateway', () => {
    const sandboxes = ['alpha', 'beta'].map((name) => ({
        name,
        d: new Daemon({ args: ['--dialect', 'opensandbox=127.0.0.1:0'], fdBaseline: false, gateway: false, env: { NAME: name } }),
    }));
    let g;
    before(async () => {
        for (const { d } of sandboxes) {
            await d.start();
            await waitUntil(() => dialect(d), 'its listener');
        }
        const entry = ({ d }) => ({ ports: { 44772: `127.0.0.1:${dialect(d)}` }, headers: { 'X-EXECD-ACCESS-TOKEN': d.token } });
        g = await new Gateway({
            sandboxes: Object.fromEntries(sandboxes.map((s) => [s.name, entry(s)])),
            args: ['--default-sandbox', 'alpha:44772', '--websocket-close-codes'],
        }).start();
    });
    after(async () => {
        await g?.stop();
        for (const { d } of sandboxes) await d.stop();
    });
    const config = { useServerProxy: true };
    const open = (sandboxId) => connect({ token: 'of-the-control-plane' }, { domain: `127.0.0.1:${g.port}`, sandboxId, config });

    it('one gateway leads the SDK to each sandbox, and gives no token away', async () => {
        for (const { name, d } of sandboxes) {
            const s = await open(name);
            const at = await s.getEndpoint(44772);
            assert.equal(at.endpoint, `127.0.0.1:${g.port}/sandboxes/${name}/proxy/44772`);
            assert.ok(!JSON.stringify(at).includes(d.token));
            const a = await s.commands.run('echo $NAME; echo err >&2; exit 3');
            assert.deepEqual([texts(a.logs.stdout), texts(a.logs.stderr), a.exitCode], [[name], ['err'], 3]);
            const id = await s.commands.createSession();
            await s.commands.runInSession(id, 'cd /usr');
            assert.deepEqual(texts((await s.commands.runInSession(id, 'pwd')).logs.stdout), ['/usr']);
            await s.commands.deleteSession(id);
            await s.close();
        }
    });

    /* The daemon named itself after its host, under which the gateway does not know it. */
    it('create: the sandbox has the id by which the gateway knows it', async () => {
        const connectionConfig = new ConnectionConfig({ domain: `127.0.0.1:${g.port}`, apiKey: 'of-the-control-plane', useServerProxy: true });
        const s = await Sandbox.create({ image: 'any', env: { MADE: 'yes' }, connectionConfig, readyTimeoutSeconds: 10 });
        assert.equal(s.id, 'alpha');
        assert.deepEqual(texts((await s.commands.run('echo $NAME $MADE')).logs.stdout), ['alpha yes']);
        await s.close();
    });

    it('terminals: replay, takeover and close codes pass through', async () => {
        const base = `127.0.0.1:${g.port}/sandboxes/beta/proxy/44772`;
        const made = await fetch(`http://${base}/pty`, { method: 'POST' });
        assert.equal(made.status, 201);
        const id = (await made.json()).session_id;
        const at = (query) => Pty.attach(null, id, query, { base, token: '' });
        const a = await at({});
        a.type('echo $NAME$((1+1))\n');
        await a.says('beta2');
        const b = await at({ takeover: 1, since: a.at });
        assert.deepEqual(await a.end(), { code: 4001, reason: 'TAKEN_OVER' });
        b.type('exit 5\n');
        assert.deepEqual(await b.end(), { code: 1000, reason: 'process exited' });
        assert.equal(b.exit.exit_code, 5);
        const nobody = Pty.at(null, id, {}, { base: base.replace('beta', 'gamma'), token: '' });
        assert.deepEqual(await nobody.end(), { code: 1008, reason: 'no_such_sandbox' });
        const gone = Pty.at(null, 'no-such-terminal', {}, { base, token: '' });
        assert.deepEqual(await gone.end(), { code: 1008, reason: '' });
    });
});
