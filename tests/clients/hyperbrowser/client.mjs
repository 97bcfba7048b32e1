// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published client, and its errors.

import assert from 'node:assert/strict';
import http from 'node:http';
import { Hyperbrowser, HyperbrowserError } from '@hyperbrowser/sdk';
import { after, afterEach, before } from '../../lib/test.mjs';

/** The root of the dialect's own listener. */
export const ownListener = (d) => /hyperbrowser listening on (\S+)/.exec(d.stdout + d.stderr)[1];

/**
 * A control plane that says what the daemon's says, but for where the runtime is, as one in front of
 * many sandboxes does.
 */
export async function startControl(d, runtime) {
    const server = http.createServer(async (rq, rs) => {
        const body = [];
        for await (const piece of rq) body.push(piece);
        const a = await fetch(ownListener(d) + rq.url, {
            method: rq.method,
            headers: { 'x-api-key': rq.headers['x-api-key'] ?? '', 'content-type': 'application/json', connection: 'close' },
            body: body.length ? Buffer.concat(body) : undefined,
        });
        const answer = await a.json();
        for (const box of answer.sandboxes ?? [answer]) if (box.runtime) box.runtime.baseUrl = runtime;
        rs.writeHead(a.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return {
        url: `http://127.0.0.1:${server.address().port}`,
        stop() {
            server.closeAllConnections();
            server.close();
        },
    };
}

/** Where a runtime can be: its address, and what the client must be told besides. */
export const PLACES = {
    'where it is mounted': null,
    'below /sandbox/ID': (own) => ({ runtime: `${own}/sandbox/local` }),
    'through runtimeProxyOverride': (own) => ({ runtime: 'http://localhost/sandbox/local', override: own }),
};

/** Makes clients of a daemon; what they keep open is closed after each test. */
export function clientsOf(d, place = null) {
    let control;
    let at;
    before(async () => {
        at = place?.(ownListener(d)) ?? { runtime: `${d.url}/dialects/hyperbrowser` };
        if (place) control = await startControl(d, at.runtime);
    });
    after(() => control?.stop());
    afterEach(() => http.globalAgent.destroy());
    const make = (more = {}) =>
        new Hyperbrowser({ apiKey: d.token, baseUrl: control?.url ?? at.runtime, ...(at.override ? { runtimeProxyOverride: at.override } : {}), ...more });
    make.runtime = () => at.runtime;
    return make;
}

/** An error of the client with these fields; `text` is part of the message. */
export const refused = (promise, statusCode, { code, text, service = 'runtime', retryable = false } = {}) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof HyperbrowserError, String(err));
        assert.equal(err.statusCode, statusCode, err.message);
        assert.equal(err.service, service);
        assert.equal(err.retryable, retryable);
        if (code) assert.equal(err.code, code);
        if (text) assert.ok(err.message.includes(text), err.message);
        return true;
    });

export const collect = async (events) => {
    const all = [];
    for await (const e of events) all.push(e);
    return all;
};

export const bash = (line) => ({ command: 'bash', args: ['-lc', line] });
