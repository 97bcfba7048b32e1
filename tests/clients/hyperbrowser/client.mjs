// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published client, and its errors.

import assert from 'node:assert/strict';
import http from 'node:http';
import { Hyperbrowser, HyperbrowserError } from '@hyperbrowser/sdk';
import { afterEach } from '../../lib/test.mjs';

/** Makes clients of a daemon; what they keep open is closed after each test. */
export function clientsOf(d, base = () => `${d.url}/dialects/hyperbrowser`) {
    afterEach(() => http.globalAgent.destroy());
    return (more = {}) => new Hyperbrowser({ apiKey: d.token, baseUrl: base(), ...more });
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
