// SPDX-License-Identifier: Apache-2.0
// The same calls at the root of a listener of its own, behind a gateway, without a token.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { it } from '../../lib/test.mjs';
import { at, ownListener, refused, Sandbox, skip } from './client.mjs';

/** One of each: a run, a detached one, files, a terminal, errors. */
async function everything(sb) {
    assert.equal(await (await sb.runCommand('echo', ['hi'])).stdout(), 'hi\n');
    const c = await sb.runCommand({ cmd: 'sh', args: ['-c', 'echo x; exit 2'], detached: true });
    assert.equal((await c.wait()).exitCode, 2);
    assert.equal(await c.output(), 'x\n');
    await sb.writeFiles([{ path: 'f', content: Buffer.from('bytes') }]);
    assert.equal((await sb.readFileToBuffer({ path: 'f' })).toString(), 'bytes');
    const { url, token } = await sb.openInteractive();
    const ws = new WebSocket(`${url}?token=${encodeURIComponent(token)}`);
    let exit;
    ws.on('open', () => ws.send('{"type":"start","command":"sh","args":["-c","exit 4"],"env":[]}'));
    ws.on('message', (m, binary) => binary || (exit = JSON.parse(m)));
    await new Promise((done, fail) => ws.on('close', done).on('error', fail));
    assert.deepEqual(exit, { type: 'exit', code: 4 });
    await refused(sb.getCommand('proc_missing'), 404);
    return url;
}

withDaemon('vercel: places', { skip, listen: ['127.0.0.1:0'], args: ['--dialect', 'vercel=127.0.0.1:0'] }, (d) => {
    const local = (base, more) => Sandbox.get({ ...at(d, { base, ...more }), name: 'local' });

    it('a listener of its own', async () => {
        assert.notEqual(ownListener(d), d.url);
        const url = await everything(await local(ownListener(d)));
        assert.ok(url.startsWith(`${ownListener(d).replace('http', 'ws')}/interactive/`), url);
    });

    it('behind a gateway, which is what the address of a terminal then names', async () => {
        const g = await new Gateway({ sandboxes: { s: { ports: { 1: new URL(d.url).host } } }, args: ['--forward', 'authorization'] }).start();
        try {
            const base = `http://127.0.0.1:${g.port}/v1/sandboxes/s/proxy/1/dialects/vercel`;
            const url = await everything(await local(base));
            assert.ok(url.startsWith(`${base.replace('http', 'ws')}/interactive/`), url);
        } finally {
            await g.stop();
        }
    });

    it('without a token where none is asked for', () =>
        daemonFor({ auth: false, args: ['--no-auth'], fdBaseline: false }, async (open) => {
            await everything(await Sandbox.create(at(open, { role: 'any' })));
        }));
});
