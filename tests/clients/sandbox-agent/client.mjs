// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published client, its errors and its terminals.

import assert from 'node:assert/strict';
import { SandboxAgent, SandboxAgentError } from 'sandbox-agent';
import WebSocket from 'ws';
import { waitUntil } from '../../lib/wait.mjs';

export const BASE = '/dialects/sandbox-agent';
export const text = (entry) => Buffer.from(entry.data, 'base64').toString();
export const sh = (line) => ({ command: 'sh', args: ['-c', line] });

/** The client of a daemon, made when it is first wanted. */
export function clientOf(d, more = {}) {
    let connected;
    return () => (connected ??= SandboxAgent.connect({ baseUrl: d.url + BASE, token: d.token, ...more }));
}

/** An error of the client with this status; `check` looks at its problem. */
export const refused = (promise, status, check = () => {}) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof SandboxAgentError, String(err));
        assert.equal(err.status, status, JSON.stringify(err.problem));
        assert.match(err.problem.type, /^urn:sandbox-agent:error:/);
        check(err.problem);
        return true;
    });

export async function exited(c, id) {
    await waitUntil(async () => (await c.getProcess(id)).status === 'exited', 'the exit');
    return c.getProcess(id);
}

export async function killAndDelete(c, ...all) {
    for (const p of all) {
        await c.killProcess(p.id, { waitMs: 10000 });
        await c.deleteProcess(p.id);
    }
}

/** A terminal of the client; `socket` is the one that it opened, for what it would never do with it. */
export class Session {
    constructor(c, id) {
        const self = this;
        class Line extends WebSocket {
            constructor(...args) {
                super(...args);
                self.socket = this;
            }
        }
        this.pieces = [];
        this.bytes = 0;
        this.events = [];
        this.errors = [];
        this.t = c.connectProcessTerminal(id, { WebSocket: Line });
        this.t.onReady((f) => this.events.push(['ready', f.processId]));
        this.t.onData((b) => {
            if (!this.bytes) this.events.push(['data']);
            this.pieces.push(Buffer.from(b));
            this.bytes += b.length;
        });
        this.t.onExit((f) => this.events.push(['exit', f.exitCode]));
        this.t.onError((e) => this.errors.push(e.message));
        this.closed = new Promise((done) => this.t.onClose(done));
    }
    get data() {
        return Buffer.concat(this.pieces);
    }
    ready() {
        return waitUntil(() => this.events.some(([e]) => e === 'ready'), 'ready');
    }
    sees(what) {
        return waitUntil(() => this.data.includes(what), `${JSON.stringify(what)} in ${JSON.stringify(this.data.toString())}`);
    }
}
