// SPDX-License-Identifier: Apache-2.0
// Slow requests: each part has its time, and a slow client cannot hold a place for ever.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import { Frames, TYPE, block, frame, requestFields } from '../lib/http2.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { despiteLimit } from '../lib/wait.mjs';

const LIMIT = 400;

/*
 * Each daemon has one short limit, because on a busy machine another one could expire first. A request that
 * must be quicker than the limit is repeated when the limit cut it off, and only then.
 */
const short = (what) => ({ args: [`--${what}-timeout-ms`, String(LIMIT)] });

/** What the daemon says at the end of its patience. */
async function timed(d, act) {
    const start = Date.now(); // the daemon's clock cannot start before
    const c = await RawConn.connect(d);
    const timer = act(c);
    try {
        const said = (await c.rest(30000)).toString('latin1');
        const ms = Date.now() - start;
        assert.ok(ms > LIMIT * 0.7, `closed already after ${ms} ms`);
        return said;
    } finally {
        clearInterval(timer);
        c.destroy();
    }
}

function problemIn(said, code) {
    const [head, body] = said.split('\r\n\r\n');
    const type = /content-type: ([^\r\n]*)/i.exec(head)[1];
    checkProblem(
        { status: Number(head.split(' ')[1]), headers: { 'content-type': type }, body: Buffer.from(body) },
        code,
    );
}

/** Runs a command that lasts longer than the limit; `send` gives the request to the connection. */
const runs = (d, command, send) =>
    despiteLimit(LIMIT, async () => {
        const body = JSON.stringify(command);
        const c = await RawConn.connect(d);
        try {
            const start = Date.now();
            const timer = send(c, requestBytes(d, 'POST /v1/processes/run', { body }), body.length);
            const a = await c.response({ ms: 20000 }).finally(() => clearInterval(timer));
            if (a.status === 408) throw Object.assign(new Error('408: the limit expired'), { lost: true });
            assert.equal(a.status, 200, a.body.toString());
            assert.ok(Date.now() - start > LIMIT, 'was done within the limit');
            return JSON.parse(a.body);
        } finally {
            c.destroy();
        }
    }, `a request that lasts longer than ${LIMIT} ms`);

const waits = async (d) => {
    const command = { command: 'sleep', args: [String((LIMIT * 4) / 1000)] };
    assert.equal((await runs(d, command, (c, bytes) => c.send(bytes) && 0)).exit_code, 0);
};

withDaemon('little time for headers', short('header'), (d) => {
    it('a connection that says nothing is closed without a word', async () => {
        assert.equal(await timed(d, () => 0), '');
    });

    it('one that says hello in HTTP/2 may ask later: clients connect ahead', async () => {
        const early = await Frames.connect(d);
        await early.until(TYPE.SETTINGS);
        await (await RawConn.connect(d)).expectEnd(30000); // the limit has passed since
        early.send(frame(TYPE.HEADERS, 5, 1, block(requestFields(d))));
        assert.equal((await early.until(TYPE.DATA, 1)).payload.toString(), '{"status":"ok"}');
        early.destroy();
    });

    it('the time of the first request runs from the accept: silence before it counts', async () => {
        const start = Date.now();
        const said = await timed(d, (c) => {
            const half = setTimeout(() => c.send('GET /healthz HTTP/1.1\r\nX: '), LIMIT / 2);
            return half;
        });
        problemIn(said, 'request_timeout');
        assert.ok(Date.now() - start < LIMIT * 50, 'far too late');
    });

    it('headers that stop get 408', async () => {
        problemIn(await timed(d, (c) => c.send('GET /healthz HTTP/1.1\r\nHost: loc') && 0), 'request_timeout');
    });

    it('headers that drip get 408 too: the clock does not start again with each byte', async () => {
        const said = await timed(d, (c) => {
            c.send('GET /healthz HTTP/1.1\r\nX: ');
            return setInterval(() => c.send('y'), LIMIT / 10);
        });
        problemIn(said, 'request_timeout');
    });

    it('a request that waits for its process is not slow', () => waits(d));
});

withDaemon('little time for bodies', short('body'), (d) => {
    it('a body that stops gets 408', async () => {
        const headers = { 'Content-Type': 'application/json', 'Content-Length': 100 };
        const bytes = Buffer.concat([requestBytes(d, 'POST /v1/processes', { headers }), Buffer.from('{"comm')]);
        problemIn(await timed(d, (c) => c.send(bytes) && 0), 'request_timeout');
    });

    it('a body that goes on may take longer', async () => {
        const answer = await runs(d, { command: 'echo', args: ['slowly'] }, (c, bytes, length) => {
            let at = bytes.length - length;
            c.send(bytes.subarray(0, at));
            const timer = setInterval(() => {
                c.send(bytes.subarray(at, at + 2));
                at += 2;
                if (at >= bytes.length) clearInterval(timer);
            }, LIMIT / 8);
            return timer;
        });
        assert.equal(answer.stdout, 'slowly\n');
    });

    it('a request that waits for its process is not slow', () => waits(d));
});

withDaemon('little time for silence', short('keepalive'), (d) => {
    it('a kept connection is closed when it has been idle', async () => {
        // Repeated if the limit expired before the daemon got the request.
        const ms = await despiteLimit(LIMIT, async () => {
            const c = await RawConn.connect(d);
            try {
                const start = Date.now(); // the daemon's clock starts again with the answer
                c.send(requestBytes(d, 'GET /healthz'));
                assert.equal((await c.response()).status, 200);
                await c.expectEnd(30000);
                return Date.now() - start;
            } finally {
                c.destroy();
            }
        }, 'the end of a kept connection');
        assert.ok(ms > LIMIT * 0.7, `closed already after ${ms} ms`);
    });

    it('a request that waits for its process is not slow', () => waits(d));
});
