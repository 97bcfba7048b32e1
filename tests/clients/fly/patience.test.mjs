// SPDX-License-Identifier: Apache-2.0
// What takes longer than the original allows, or is silent for longer than a client waits.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { machinesOf, spritesOf, watched } from './client.mjs';

const LONG_S = scaled(70, 30); // the original gives up after 60
const SILENT_S = scaled(100, 45); // two keep-alives at least

withDaemon('fly: patience', {}, (d) => {
    const sprite = spritesOf(d);
    const { exec } = machinesOf(d);

    const longExec = async () => {
        assert.equal((await exec({ command: ['sh', '-c', `sleep ${LONG_S}; echo done`], timeout: LONG_S + 20 })).stdout, 'done\n');
    };
    const silentSession = async (options) => {
        const w = watched(sprite().spawn('sleep', [String(SILENT_S)], options));
        await waitUntil(() => w.exit !== undefined, 'the end', 2 * SILENT_S * 1000);
        assert.deepEqual([w.exit, w.errors], [0, []]);
    };
    const keepAlive = async () => {
        const ws = await WsRaw.open(d, '/dialects/fly/v1/sprites/box/exec?cmd=sleep&cmd=100');
        await ws.message('session_info');
        assert.deepEqual(JSON.parse((await ws.find(OP.TEXT, 60000)).payload), { type: 'keepalive' });
        ws.destroy();
    };
    const silentHttp = async () => {
        assert.deepEqual(await sprite().execFileHTTP('sh', ['-c', `echo a; sleep ${SILENT_S}; echo b`]), { stdout: 'a\nb\n', stderr: '', exitCode: 0 });
    };

    it(`an exec of ${LONG_S} s; sessions that are silent for ${SILENT_S} s, because a text comes every 20; the same by HTTP`, () =>
        Promise.all([longExec(), silentSession({}), silentSession({ tty: true }), keepAlive(), silentHttp()]));

    it('a deadline beyond the original\'s 60 s is taken', async () => {
        assert.equal((await exec({ command: ['sh', '-c', 'exit 2'], timeout: 14400 })).exit_code, 2);
    });
});
