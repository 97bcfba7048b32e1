// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published clients, and what they throw.

import assert from 'node:assert/strict';
import http from 'node:http';
import * as now from 'daytona-sdk';
import { afterEach } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

export const BASE = '/dialects/daytona';

/** The root of the dialect's own listener. */
export const ownListener = (d) => /daytona listening on (\S+)/.exec(d.stdout + d.stderr)[1];

/** Makes clients of a daemon; what they keep open is closed after each test. */
export function clientsOf(d, sdk = now) {
    const made = [];
    afterEach(async () => {
        for (const c of made.splice(0)) await c[Symbol.asyncDispose]();
        await d.removeAll(); // so that one that fails fails alone
        http.globalAgent.destroy();
    });
    const make = ({ url = `${d.url}${BASE}/api`, role = 'own', ...more } = {}) => {
        const c = new sdk.Daytona({ apiKey: d.tokens[role] ?? role, apiUrl: url, target: 'us', useDeprecatedPolling: true, ...more });
        made.push(c);
        return c;
    };
    const sandbox = (options) => make(options).get('local');
    return { make, sandbox, process: async (options) => (await sandbox(options)).process };
}

/** Fails with this class of the client's errors, and says so in words like these. */
export const refused = (promise, kind, text = /./) =>
    assert.rejects(promise, (err) => {
        assert.equal(err.constructor.name, kind, String(err));
        assert.match(err.message, text);
        return true;
    });

/** Both streams of a command, as they come. */
export function follow(process, session, command) {
    const seen = { stdout: '', stderr: '', ended: false };
    seen.end = process
        .getSessionCommandLogs(session, command, (o) => (seen.stdout += o), (e) => (seen.stderr += e))
        .then(() => (seen.ended = true));
    return seen;
}

/** onData that collects, and `sees` to wait for something in it. */
export function screen() {
    const bytes = [];
    const text = () => Buffer.concat(bytes).toString();
    return { onData: (b) => void bytes.push(Buffer.from(b)), text, sees: (part, ms) => waitUntil(() => text().includes(part), `${JSON.stringify(part)} in ${JSON.stringify(text())}`, ms) };
}

export const startAsync = async (process, session, command, more = {}) =>
    (await process.executeSessionCommand(session, { command, runAsync: true, ...more })).cmdId;

/** The code of a command, once it has one. */
export const exitOf = async (process, session, id) =>
    (await waitUntil(async () => {
        const c = await process.getSessionCommand(session, id);
        return c.exitCode === undefined ? null : c;
    }, 'the end of the command')).exitCode;
