// SPDX-License-Identifier: Apache-2.0
// What takes longer than the 30 s that the client gives an answer to begin.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { clientsOf } from './client.mjs';

withDaemon('hyperbrowser: patience', {}, (d) => {
    const client = clientsOf(d);

    it('40 s of exec, of wait and of a terminal, with the client\'s own time-out', async () => {
        const sb = await client().sandboxes.connect('local');
        const p = await sb.processes.start('sleep 40; echo waited');
        const t = await sb.terminal.create({ command: 'sleep 40; echo shown', useShell: true });
        const [a, b, c] = await Promise.all([sb.exec('sleep 40; echo hi'), p.wait(), t.wait({ includeOutput: true })]);
        assert.deepEqual([a.stdout, a.exitCode], ['hi\n', 0]);
        assert.deepEqual([b.stdout, b.exitCode], ['waited\n', 0]);
        assert.deepEqual([Buffer.concat(c.output.map((x) => x.raw)).toString(), c.exitCode], ['shown\r\n', 0]);
    });
});
