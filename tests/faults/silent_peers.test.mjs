// SPDX-License-Identifier: Apache-2.0
// Peers that say nothing any more: pinged, and given up when they do not answer.

import assert from 'node:assert/strict';
import { withDaemon } from '../lib/daemon.mjs';
import { SseReader } from '../lib/sse.mjs';
import { it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';
import { OP, WsRaw } from '../lib/wsraw.mjs';

withDaemon('silent peers', {}, (d) => {
    it('a viewer that answers no ping is ended, one that does is not; events have comments', async () => {
        const p = await d.sh('sleep 300');
        const silent = await WsRaw.open(d, `/v1/processes/${p.id}/connect`);
        const lively = await WsRaw.open(d, `/v1/processes/${p.id}/connect`);
        const events = new SseReader(await d.open('GET', '/v1/events'));
        const started = Date.now();
        let pings = 0;
        const answering = (async () => {
            for (;;) {
                const f = await lively.frame(120000);
                if (f.opcode !== OP.PING) continue;
                pings++;
                lively.send(OP.PONG, f.payload);
            }
        })().catch(() => {});
        await silent.conn.rest(120000);
        const ms = Date.now() - started;
        assert.ok(ms > 35000, `${ms} ms: one missed ping is not enough`);
        assert.ok(pings >= 2);
        assert.equal((await d.get(p.id)).viewers, 1);
        await waitUntil(() => events.comments >= 2, 'comments');
        lively.destroy();
        events.close();
        await answering;
    });
});
