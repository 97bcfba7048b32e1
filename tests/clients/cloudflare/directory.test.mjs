// SPDX-License-Identifier: Apache-2.0
// Where work begins: in the workspace, or where the daemon runs if the machine has none.

import assert from 'node:assert/strict';
import { clientOf, closeAll, eventsOf, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { withoutWorkspace, withWorkspace } from '../../lib/workspace.mjs';

const cases = [
    ['a machine with a workspace', withWorkspace, () => '/workspace'],
    ['a machine without one', withoutWorkspace, (d) => d.dir],
];

for (const [where, options, expected] of cases) {
    withDaemon(`cloudflare: ${where}`, options, (d) => {
        afterEach(closeAll);

        it('a session, a process of no session and a terminal begin there', async () => {
            const c = await clientOf(d);
            assert.equal((await c.commands.execute('pwd', 'one')).stdout, `${expected(d)}\n`);
            const p = await c.processes.startProcess('pwd', '__DISABLE_SESSION__');
            const events = await eventsOf(c.processes.streamProcessLogs(p.processId));
            assert.equal(events.find((e) => e.type === 'stdout').data, `${expected(d)}\n`);
            const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare/ws/pty?access_token=${d.token}&sessionId=two&shell=sh`);
            await waitUntil(() => ws.received.find((m) => m.type === 'ready'), 'the terminal');
            ws.send(Buffer.from('echo "[$PWD]"\n'));
            await waitUntil(() => Buffer.concat(ws.received.filter(Buffer.isBuffer)).includes(`[${expected(d)}]`), 'its directory');
        });
    });
}
