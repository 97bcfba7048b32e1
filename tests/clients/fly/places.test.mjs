// SPDX-License-Identifier: Apache-2.0
// The same calls at the root of a listener of its own, which is where flyctl looks, behind a gateway, and
// without a token.

import assert from 'node:assert/strict';
import http from 'node:http';
import { SpritesClient } from '@fly/sprites';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { collect, FlyClient, MACHINE, watched } from './client.mjs';

const ownListener = (d) => /fly listening on (\S+)/.exec(d.stdout + d.stderr)[1];

/** One of each: a plain call, an exec, a session with and without a terminal, by HTTP, a kill. */
async function everything(token, url) {
    const fly = new FlyClient(token, { apiUrl: url });
    assert.equal((await fly.Machine.getMachine({ app_name: 'box', machine_id: 'local' })).state, 'started');
    assert.deepEqual(await fly.restOrThrow(`${MACHINE}/exec`, 'POST', { cmd: 'echo hi' }), { exit_code: 0, exit_signal: 0, stdout: 'hi\n', stderr: '' });
    const sprite = new SpritesClient(token, { baseURL: url }).sprite('box');
    assert.equal((await sprite.execFile('echo', ['ho'])).stdout, 'ho\n');
    assert.deepEqual(await sprite.execFileHTTP('sh', ['-c', 'echo a; echo b >&2']), { stdout: 'a\n', stderr: 'b\n', exitCode: 0 });
    const w = watched(sprite.createSession('cat'));
    const { session_id: id } = await w.info();
    w.command.stdin.write('typed\r');
    await w.has('typed\r\ntyped');
    assert.deepEqual((await sprite.listSessions()).map((s) => s.id), [id]);
    assert.equal((await collect(await sprite.killSession(id, 'KILL'))).at(-1).type, 'complete');
    await w.ended();
    await assert.rejects(fly.restOrThrow('apps/box/machines/m9'), /^Error: 404: .*machine not found/);
}

withDaemon('fly: places', { listen: ['127.0.0.1:0'], args: ['--dialect', 'fly=127.0.0.1:0'] }, (d) => {
    afterEach(() => http.globalAgent.destroy());

    it('a listener of its own', async () => {
        assert.notEqual(ownListener(d), d.url);
        await everything(d.token, ownListener(d));
    });

    it('behind a gateway', async () => {
        const g = await new Gateway({ sandboxes: { s: { ports: { 1: new URL(d.url).host } } }, args: ['--forward', 'authorization'] }).start();
        try {
            await everything(d.token, `http://127.0.0.1:${g.port}/v1/sandboxes/s/proxy/1/dialects/fly`);
        } finally {
            http.globalAgent.destroy();
            await g.stop();
        }
    });

    it('without a token where none is asked for', () =>
        daemonFor({ auth: false, args: ['--no-auth'], fdBaseline: false }, async (open) => {
            await everything('any', `${open.url}/dialects/fly`);
            http.globalAgent.destroy();
        }));
});
