// SPDX-License-Identifier: Apache-2.0
// createOpencode() of the published SDK starts our binary, which is called `opencode` then.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createOpencode as createV1 } from '@opencode-ai/sdk';
import { createOpencode as createV2, createOpencodeClient } from '@opencode-ai/sdk/v2';
import { binary, withDaemon } from '../../lib/daemon.mjs';
import { Attachment, basic, OpenCode } from '../../lib/opencode.mjs';
import * as proc from '../../lib/proc.mjs';
import { after, before, describe, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const PASSWORD = 'a-password-of-some-length';

describe('opencode: in its place', () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-oc-'));
    const saved = { ...process.env };
    before(() => {
        fs.copyFileSync(binary(), path.join(dir, 'opencode'));
        fs.chmodSync(path.join(dir, 'opencode'), 0o755);
        process.env.PATH = `${dir}:${process.env.PATH}`;
        process.env.HOLDFAST_STATE_DIR = dir;
    });
    after(() => {
        process.env.PATH = saved.PATH;
        delete process.env.HOLDFAST_STATE_DIR;
        fs.rmSync(dir, { recursive: true, force: true });
    });

    /** As a user starts it; `line` is the address it tells. */
    const start = async (args, env = {}) => {
        const child = spawn(path.join(dir, 'opencode'), ['serve', ...args], { env: { ...process.env, ...env }, cwd: dir });
        const it = { child, out: '', err: '' };
        child.stdout.on('data', (b) => (it.out += b));
        child.stderr.on('data', (b) => (it.err += b));
        it.exit = new Promise((done) => child.once('close', (code, signal) => done({ code, signal })));
        it.stop = async () => {
            child.kill('SIGTERM');
            return within(it.exit, 15000, 'its exit');
        };
        return it;
    };
    const listening = async (s) => {
        const m = await waitUntil(() => /^opencode server listening on (\S+)$/m.exec(s.out), 'the line that the SDK waits for');
        return m[1];
    };

    for (const [name, create] of [['v1', createV1], ['v2', createV2]]) {
        it(`createOpencode() of ${name} resolves, and its client works`, async () => {
            const { client, server } = await create({ port: 0, timeout: 20000, config: { logLevel: 'WARN' } });
            try {
                /* The first client has no such call, so there it is asked by hand. */
                const health = client.global.health ? (await client.global.health()).data : await (await fetch(`${server.url}/global/health`)).json();
                assert.equal(health.healthy, true);
                const p = (await client.pty.create({ body: {} })).data;
                assert.equal(p.status, 'running');
                assert.ok(!(proc.environ(p.pid) ?? []).some((e) => e.startsWith('OPENCODE_CONFIG_CONTENT')));
            } finally {
                server.close();
            }
            await waitUntil(() => fetch(server.url).then(() => false, () => true), 'the server to be gone', 15000);
        });
    }

    // In the original every terminal has the server's password in its environment.
    it('a password is asked for, and no terminal inherits it', async () => {
        const s = await start(['--hostname', '127.0.0.1', '--port', '0'], { OPENCODE_SERVER_PASSWORD: PASSWORD });
        const url = await listening(s);
        try {
            assert.equal((await fetch(`${url}/global/health`)).status, 401);
            const headers = { Authorization: basic(PASSWORD) };
            const c = createOpencodeClient({ baseUrl: url, directory: dir, headers });
            assert.equal((await c.global.health()).data.healthy, true);
            const p = (await c.pty.create({ command: 'env', args: ['sh', '-c', 'echo "<$OPENCODE_SERVER_PASSWORD>"; cat'] })).data;
            const a = new Attachment(`${url.replace('http', 'ws')}/pty/${p.id}/connect?directory=${dir}`, { headers });
            await a.sees('<>');
            await a.drop();
            for (const pid of [s.child.pid, p.pid, ...proc.descendantsOf(s.child.pid).map((x) => x.pid)]) {
                assert.ok(!(proc.environ(pid) ?? []).join('\n').includes(PASSWORD), `environment of ${pid}`);
            }
        } finally {
            assert.deepEqual(await s.stop(), { code: 0, signal: null });
        }
    });

    it('a newer binary takes over with the same password and the same terminals', async () => {
        const s = await start(['--port=0'], { OPENCODE_SERVER_PASSWORD: PASSWORD });
        const url = await listening(s);
        const headers = { Authorization: basic(PASSWORD) };
        const c = createOpencodeClient({ baseUrl: url, directory: dir, headers });
        try {
            const p = (await c.pty.create({ command: 'cat' })).data;
            const worker = () => proc.descendantsOf(s.child.pid).find((x) => x.name === 'holdfast-worker' && x.state !== 'Z')?.pid;
            const old = worker();
            s.child.kill('SIGHUP');
            await waitUntil(() => worker() && worker() !== old, 'a new worker', 15000);
            await waitUntil(async () => (await c.pty.get({ ptyID: p.id })).data?.pid === p.pid, 'the same terminal');
            assert.equal((await fetch(`${url}/global/health`)).status, 401);
        } finally {
            assert.deepEqual(await s.stop(), { code: 0, signal: null });
        }
    });

    it('what cannot be done is said', async () => {
        for (const bad of ['short', 'with spaces but long enough', 'x'.repeat(600)]) {
            const weak = await start(['--port=0'], { OPENCODE_SERVER_PASSWORD: bad });
            assert.deepEqual(await weak.exit, { code: 2, signal: null });
            assert.match(weak.err, /OPENCODE_SERVER_PASSWORD must have at least 16 printable characters/);
            assert.ok(!weak.err.includes(bad));
        }
        const other = spawn(path.join(dir, 'opencode'), ['run', 'x']);
        const code = await new Promise((done) => other.once('close', done));
        assert.equal(code, 2);
    });
});

withDaemon('opencode: a listener of its own', { args: ['--dialect', 'opencode=127.0.0.1:0'] }, (d) => {
    it('serves the dialect at its root, and nothing else', async () => {
        const [, base] = await waitUntil(() => /opencode server listening on (\S+)/.exec(d.stdout), 'its line');
        const oc = new OpenCode(d, { base });
        assert.equal((await oc.v2.global.health()).data.healthy, true);
        const p = await oc.sh('cat');
        const a = oc.attach(p.id);
        await a.replay();
        a.send('hi\r');
        await a.sees('hi');
        const api = await oc.v2.v2.pty.get({ ptyID: p.id });
        assert.equal(api.data.data.id, p.id);
        assert.equal((await fetch(`${base}/v1/info`, { headers: oc.headers })).status, 404);
        await oc.v2.pty.remove({ ptyID: p.id });
        assert.equal((await a.end()).code, 1000);
    });
});
