// SPDX-License-Identifier: Apache-2.0
//
// sessions.mjs - the calls of sessions, each held to the document

import assert from 'node:assert/strict';

export const sessionCalls = (d) => ({
    create: async (json = {}) => {
        const a = await d.api('POST', '/v1/sessions', { json, expect: 201 });
        assert.equal(a.headers.location, `/v1/sessions/${a.json.id}`);
        return a.json;
    },
    run: async (id, command, more = {}) =>
        (
            await d.api('POST', `/v1/sessions/${id}/run`, {
                json: { command, ...more },
                expect: 200,
                timeoutMs: 60000,
            })
        ).json,
    transcript: async (id, query = '') =>
        (await d.api('GET', `/v1/sessions/${id}/transcript${query}`, { expect: 200 })).json,
    session: async (id) => (await d.api('GET', `/v1/sessions/${id}`, { expect: 200 })).json,
    remove: async (id, query = '?grace_ms=0') =>
        (await d.api('DELETE', `/v1/sessions/${id}${query}`, { expect: 200, timeoutMs: 30000 })).json,
});
