// SPDX-License-Identifier: Apache-2.0
// What takes longer than the original allows, or is silent for longer than a client waits.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { FULL } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { machinesOf, spritesOf, watched } from './client.mjs';

withDaemon('fly: patience', {}, (d) => {
    const sprite = spritesOf(d);
    const { exec } = machinesOf(d);

    const longExec = async () => {
        assert.equal((await exec({ command: ['sh', '-c', 'sleep 70; echo done'], timeout: 90 })).stdout, 'done\n');
    };
    const silentSession = async (options) => {
        const w = watched(sprite().spawn('sleep', ['100'], options));
        await waitUntil(() => w.exit !== undefined, 'the end', 120000);
        assert.deepEqual([w.exit, w.errors], [0, []]);
    };
    const keepAlive = async () => {
        const ws = await WsRaw.open(d, '/dialects/fly/v1/sprites/box/exec?cmd=sleep&cmd=30');
        await ws.message('session_info');
        assert.deepEqual(JSON.parse((await ws.find(OP.TEXT, 25000)).payload), { type: 'keepalive' });
        ws.destroy();
    };
    const silentHttp = async () => {
        assert.deepEqual(await sprite().execFileHTTP('sh', ['-c', 'echo a; sleep 50; echo b']), { stdout: 'a\nb\n', stderr: '', exitCode: 0 });
    };

    it('an exec of 70 s; sessions that are silent for 100 s, because a text comes every 20; the same by HTTP', { skip: !FULL && 'takes 100 s: HF_TEST_SCALE=full' }, () =>
        Promise.all([longExec(), silentSession({}), silentSession({ tty: true }), keepAlive(), silentHttp()]));

    it('a deadline beyond the original\'s 60 s is taken', async () => {
        assert.equal((await exec({ command: ['sh', '-c', 'exit 2'], timeout: 14400 })).exit_code, 2);
    });
});
