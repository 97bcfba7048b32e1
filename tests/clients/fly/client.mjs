// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the two published clients, and what they run on.
//
// @fly/sprites asks for Node 24, whose own WebSocket can send headers. That WebSocket is undici's, so older
// versions of Node get the same one from the package; the client itself is used as it is.

import { createRequire } from 'node:module';
import http from 'node:http';
import { SpritesClient } from '@fly/sprites';
import { Agent, setGlobalDispatcher, WebSocket } from 'undici6';
import { afterEach } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

export const FlyClient = createRequire(import.meta.url)('fly-admin/dist/client.js').default;

if (Number(process.versions.node.split('.')[0]) < 24) globalThis.WebSocket = WebSocket;
// Connections that fetch() keeps would count as left behind when a file is done.
setGlobalDispatcher(new Agent({ keepAliveTimeout: 1, keepAliveMaxTimeout: 1 }));

export const MACHINE = 'apps/box/machines/local';
export const base = (d) => `${d.url}/dialects/fly`;

/** fly-admin on a daemon, and its exec, for which it has types but no method. */
export function machinesOf(d) {
    afterEach(() => http.globalAgent.destroy());
    const client = (role = 'own') => new FlyClient(d.tokens[role] ?? role, { apiUrl: base(d) });
    const exec = (body, role) => client(role).restOrThrow(`${MACHINE}/exec`, 'POST', body);
    return { client, exec, which: { app_name: 'box', machine_id: 'local' } };
}

export const spritesOf = (d, options = {}) => (role = 'own') => new SpritesClient(d.tokens[role] ?? role, { baseURL: base(d), ...options }).sprite('box');

/** A command of @fly/sprites with what it says, gathered. */
export function watched(command) {
    const seen = { stdout: '', stderr: '', messages: [], errors: [], exit: undefined, command };
    command.stdout.setEncoding('utf8').on('data', (s) => (seen.stdout += s));
    command.stderr.setEncoding('utf8').on('data', (s) => (seen.stderr += s));
    command.on('message', (m) => seen.messages.push(m));
    command.on('error', (e) => seen.errors.push(e));
    command.on('exit', (code) => (seen.exit = code));
    seen.has = (text, ms) => waitUntil(() => seen.stdout.includes(text), `output with ${JSON.stringify(text)}`, ms);
    seen.info = () => waitUntil(() => seen.messages.find((m) => m.type === 'session_info'), 'session_info');
    seen.ended = () => waitUntil(() => seen.exit !== undefined, 'the exit', 20000);
    /** Hangs up, as a page that is closed does. */
    seen.leave = () => command.wsCmd.close();
    return seen;
}

export async function collect(events) {
    const all = [];
    for await (const e of events) all.push(e);
    return all;
}
