// SPDX-License-Identifier: Apache-2.0
// Commands that say nothing for long, through everything that streams: kept alive, and ended with their own code.
//
// HF_TEST_SCALE=full waits for the ten minutes that are promised, else for one keep-alive.

import assert from 'node:assert/strict';
import { Manifest } from '@openai/agents-core/sandbox';
import { CloudflareSandboxClient } from '@openai/agents-extensions/sandbox/cloudflare';
import { clientOf, closeAll, eventsOf, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { scaled } from '../../lib/scale.mjs';
import { after, before, it } from '../../lib/test.mjs';
import { withWorkspace } from '../../lib/workspace.mjs';

const SILENT_S = scaled(600, 16.5);
const SIGNS = Math.floor(SILENT_S / 15.5); // one in 15 s, and a timer is never early

withDaemon('cloudflare: silence', withWorkspace, (d) => {
    const calls = {};
    let bridge;
    before(async () => {
        const base = `${d.url}/dialects/cloudflare`;
        const line = `sleep ${SILENT_S}; exit 3`;
        const c = await clientOf(d);
        const m = await clientOf(d, { websocket: true, socket: Socket });
        const text = async (answer) => {
            let body = '';
            for await (const piece of await answer) body += piece;
            return body;
        };
        const open = (url, json) => d.open('POST', `/dialects/cloudflare${url}`, { body: JSON.stringify(json), headers: { 'Content-Type': 'application/json' } });
        bridge = await new CloudflareSandboxClient({ workerUrl: base, apiKey: d.token }).create(new Manifest({ root: '/workspace' }));
        const p = await c.processes.startProcess(line, '__DISABLE_SESSION__');
        calls.client = bridge.execCommand({ cmd: line });
        calls.bridge = text(open('/v1/sandbox/silent/exec', { argv: ['sh', '-c', line] }));
        calls.routes = eventsOf(c.commands.executeStream(`(${line})`, 'a'));
        calls.wire = text(open('/api/execute/stream', { command: `(${line})`, sessionId: 'b' }));
        calls.logs = eventsOf(c.processes.streamProcessLogs(p.processId));
        calls.mux = eventsOf(m.commands.executeStream(`(${line})`, 'c'));
        for (const call of Object.values(calls)) call.catch(() => {}); // until it is looked at
    });
    after(closeAll);

    it("the bridge, by OpenAI's client", async () => {
        assert.match(await calls.client, /exited with code 3/);
        await bridge.close();
    });

    it('the bridge: comments, then the exit', async () => {
        const body = await calls.bridge;
        assert.ok(body.match(/^:/gm).length >= SIGNS, body);
        assert.match(body, /event: exit\ndata: \{"exit_code":3\}\n\n$/);
    });

    it('the route API: comments, then what the client takes for the end', async () => {
        assert.ok((await calls.wire).match(/^:/gm).length >= SIGNS);
        assert.deepEqual((await calls.routes).map((e) => [e.type, e.exitCode]), [['start', undefined], ['complete', 3]]);
        assert.deepEqual((await calls.logs).map((e) => [e.type, e.exitCode]), [['process_info', undefined], ['exit', 3]]);
    });

    it('the multiplex: empty pieces, which the client passes over', async () => {
        assert.deepEqual((await calls.mux).map((e) => [e.type, e.exitCode]), [['start', undefined], ['complete', 3]]);
        const seen = Socket.all.flatMap((ws) => ws.received);
        assert.ok(seen.filter((x) => x.type === 'stream' && x.data === '').length >= SIGNS);
    });
});
