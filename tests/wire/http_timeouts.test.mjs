// SPDX-License-Identifier: Apache-2.0
// Slow requests: each part has its time, and a slow client cannot hold a place for ever.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';

const LIMIT = 400;
const args = ['--header-timeout-ms', LIMIT, '--body-timeout-ms', LIMIT, '--keepalive-timeout-ms', LIMIT].map(String);

withDaemon('slow requests', { args }, (d) => {
    /** How long the daemon let it go on, and what it said. */
    async function timed(act) {
        const c = await RawConn.connect(d);
        const start = Date.now();
        const timer = act(c);
        try {
            const said = (await c.rest(LIMIT * 20)).toString('latin1');
            const ms = Date.now() - start;
            assert.ok(ms > LIMIT * 0.7, `closed already after ${ms} ms`);
            return said;
        } finally {
            clearInterval(timer);
            c.destroy();
        }
    }
    const problemIn = (said, code) => {
        const [head, body] = said.split('\r\n\r\n');
        const type = /content-type: ([^\r\n]*)/i.exec(head)[1];
        checkProblem(
            { status: Number(head.split(' ')[1]), headers: { 'content-type': type }, body: Buffer.from(body) },
            code,
        );
    };

    it('headers that stop get 408', async () => {
        problemIn(await timed((c) => c.send('GET /healthz HTTP/1.1\r\nHost: loc') && 0), 'request_timeout');
    });

    it('headers that drip get 408 too: the clock does not start again with each byte', async () => {
        const said = await timed((c) => {
            c.send('GET /healthz HTTP/1.1\r\nX: ');
            return setInterval(() => c.send('y'), LIMIT / 10);
        });
        problemIn(said, 'request_timeout');
    });

    it('a body that stops gets 408', async () => {
        const said = await timed(
            (c) =>
                c.send(
                    requestBytes(d, 'POST /v1/processes', {
                        headers: { 'Content-Type': 'application/json', 'Content-Length': 100 },
                    }),
                    '{"comm',
                ) && 0,
        );
        problemIn(said, 'request_timeout');
    });

    it('a body that goes on may take longer', async () => {
        const body = JSON.stringify({ command: 'echo', args: ['slowly'] });
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, 'POST /v1/processes/run', {
                headers: { 'Content-Type': 'application/json', 'Content-Length': body.length },
            }),
        );
        let i = 0;
        const timer = setInterval(() => {
            c.send(body.slice(i, i + 2));
            i += 2;
            if (i >= body.length) clearInterval(timer);
        }, LIMIT / 8);
        const a = await c.response({ ms: 20000 });
        assert.equal(JSON.parse(a.body).stdout, 'slowly\n');
        c.destroy();
    });

    it('an idle connection is closed without a word', async () => {
        assert.equal(await timed(() => 0), '');
    });

    it('a kept connection is closed when it has been idle', async () => {
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, 'GET /healthz'));
        assert.equal((await c.response()).status, 200);
        const start = Date.now();
        await c.expectEnd(LIMIT * 20);
        assert.ok(Date.now() - start > LIMIT * 0.7);
        c.destroy();
    });

    it('a request that waits for its process is not a slow request', async () => {
        const p = await d.sh('sleep 30');
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `GET /v1/processes/${p.id}/wait?timeout_ms=${LIMIT * 4}`));
        const a = await c.response({ ms: 20000 });
        assert.equal(JSON.parse(a.body).timed_out, true);
        c.destroy();
        await d.remove(p.id);
    });
});
