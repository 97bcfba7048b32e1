// SPDX-License-Identifier: Apache-2.0
// The number of connections has a limit, and reaching it is said.

import assert from 'node:assert/strict';
import { test } from '../lib/test.mjs';
import { checkProblem, daemonFor } from '../lib/daemon.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';

test('one connection too many is answered 429 and closed', () =>
    daemonFor({ args: ['--max-connections', '8'] }, async (d) => {
        const held = [];
        for (let i = 0; i < 8; i++) {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, 'GET /healthz'));
            assert.equal((await c.response()).status, 200);
            held.push(c);
        }
        const extra = await RawConn.connect(d);
        extra.send(requestBytes(d, 'GET /healthz'));
        const p = checkProblem(await extra.response(), 'too_many_connections');
        assert.ok(p.limit, `the limit's name is missing: ${JSON.stringify(p)}`);
        await extra.expectEnd();
        extra.destroy();
        held.pop().destroy();
        await waitUntil(async () => {
            const c = await RawConn.connect(d);
            c.send(requestBytes(d, 'GET /healthz'));
            const a = await c.response();
            c.destroy();
            return a.status === 200;
        }, 'a free place');
        held.forEach((c) => c.destroy());
    }));
