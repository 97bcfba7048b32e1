// SPDX-License-Identifier: Apache-2.0
// @vercel/sandbox 1.10.2, which knows the paths of version 1 only: its run stream has two lines and
// nothing between them, and the output comes from the logs.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { at, collect, first, refused, skip, textOf } from './client.mjs';

withDaemon('vercel: version 1', { skip }, (d) => {
    let sb;
    before(async () => (sb = await first.Sandbox.create(at(d))));

    it('create, get, list', async () => {
        assert.match(sb.sandboxId, /^sbx_/);
        assert.equal(sb.status, 'running');
        assert.equal((await first.Sandbox.get({ ...at(d), sandboxId: sb.sandboxId })).sandboxId, sb.sandboxId);
        const { json } = await first.Sandbox.list(at(d));
        assert.ok(json.sandboxes.some((s) => s.id === sb.sandboxId));
        await refused(first.Sandbox.get({ ...at(d), sandboxId: 'nobody' }), 404);
    });

    it('run, its code and its output', async () => {
        const r = await sb.runCommand('sh', ['-c', 'echo out; echo err >&2; exit 3']);
        assert.deepEqual([r.exitCode, await r.stdout(), await r.stderr()], [3, 'out\n', 'err\n']);
        const m = await sb.runCommand('no-such-program');
        assert.equal(m.exitCode, 127);
        assert.match(await m.stderr(), /no-such-program/);
        let seen = '';
        await sb.runCommand({ cmd: 'echo', args: ['piped'], stdout: new Writable({ write: (b, _, done) => done(null, (seen += b)) }) });
        assert.equal(seen, 'piped\n');
        const big = await sb.runCommand('sh', ['-c', 'yes | head -c 5000000']);
        assert.equal((await big.stdout()).length, 5000000);
    });

    it('detached, logs, wait, kill', async () => {
        const c = await sb.runCommand({ cmd: 'sh', args: ['-c', 'echo up; sleep 60'], detached: true });
        assert.equal(c.exitCode, null);
        for await (const l of c.logs()) if (l.data === 'up\n') break;
        await c.kill();
        const w = await c.wait();
        assert.equal(w.exitCode, 143);
        assert.equal(textOf(await collect((await sb.getCommand(c.cmdId)).logs()), 'stdout'), 'up\n');
        const k = await sb.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        await k.kill('SIGKILL');
        assert.equal((await k.wait()).exitCode, 137);
    });

    it('files, a longer time, the end', async () => {
        await sb.mkDir('made');
        await sb.writeFiles([{ path: 'made/f', content: Buffer.from('text') }]);
        assert.equal((await sb.readFileToBuffer({ path: 'made/f' })).toString(), 'text');
        const before = sb.timeout;
        await sb.extendTimeout(60000);
        assert.equal(sb.timeout, before + 60000);
        const c = await sb.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        await sb.stop();
        assert.equal((await d.get(c.cmdId)).status, 'exited');
        await refused(sb.runCommand('true'), 410, { code: 'sandbox_stopped' });
    });
});
