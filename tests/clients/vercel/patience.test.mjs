// SPDX-License-Identifier: Apache-2.0
// Long, silent commands: streams stay open, and a wait is one request. Only HF_TEST_SCALE=full
// goes beyond the client's own limit of five minutes.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { scaled } from '../../lib/scale.mjs';
import { before, it } from '../../lib/test.mjs';
import { at, first, Sandbox, skip } from './client.mjs';

const WAIT_S = scaled(330, 45);
const RUN_S = scaled(120, 40);
const FIRST_S = scaled(40, 25);

withDaemon('vercel: patience', { skip }, (d) => {
    const log = [];
    const calls = {};
    let sb;
    before(async () => {
        sb = await Sandbox.get({ ...at(d, { log }), name: 'local' });
        const old = await first.Sandbox.create(at(d));
        const c = await sb.runCommand({ cmd: 'sh', args: ['-c', `sleep ${WAIT_S}; exit 3`], detached: true });
        calls.wait = c.wait();
        calls.logs = c.output();
        calls.run = sb.runCommand('sh', ['-c', `sleep ${RUN_S}; echo done; exit 4`]);
        calls.first = old.runCommand('sh', ['-c', `sleep ${FIRST_S}; exit 5`]);
        for (const call of Object.values(calls)) call.catch(() => {}); // until it is looked at
    });

    it(`a run of ${RUN_S} s of silence keeps its stream, and so does one of version 1`, async () => {
        assert.equal((await calls.first).exitCode, 5);
        const r = await calls.run;
        assert.deepEqual([r.exitCode, await r.stdout()], [4, 'done\n']);
    });

    it(`a wait of ${WAIT_S} s is one request, and logs end with the command`, async () => {
        assert.equal((await calls.wait).exitCode, 3);
        assert.equal(await calls.logs, '');
        assert.equal(log.filter((l) => /\/cmd\/proc_\w+$/.test(l)).length, 1);
    });
});
