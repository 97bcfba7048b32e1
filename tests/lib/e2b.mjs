// SPDX-License-Identifier: Apache-2.0
//
// e2b.mjs - the published E2B clients pointed at a daemon, and Connect's envelopes by hand

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2';
import { file_google_protobuf_timestamp } from '@bufbuild/protobuf/wkt';
import { Sandbox } from 'e2b';
import * as httpc from './http.mjs';

const resolve = createRequire(import.meta.url).resolve;

export const base = (d) => `${d.url}/dialects/e2b`;
export const options = (d, more = {}) => ({ apiUrl: base(d), sandboxUrl: base(d), apiKey: d.token, ...more });
export const create = (d, more) => Sandbox.create(options(d, more));
/** Without the control API, as the SDK allows at run time. */
export const direct = (d, token = d.token, more = {}) =>
    new Sandbox({ sandboxId: 'x', envdVersion: '0.6.13', envdAccessToken: token, sandboxUrl: base(d), apiKey: 'x', ...more });

/** Rejects with an error of exactly this class of the SDK's whose message fits. */
export const throwsA = (promise, kind, message = /./) =>
    assert.rejects(promise, (err) => {
        assert.equal(err.constructor.name, kind.name, String(err.stack));
        assert.match(err.message, message);
        return true;
    });

/** A service as the npm package itself describes it. */
function service(file, needs) {
    const bundle = fs.readFileSync(resolve('e2b'), 'utf8');
    const found = [...bundle.matchAll(/fileDesc\)?\(\s*["']([A-Za-z0-9+/=]+)["']/g)].map((m) => m[1]);
    const text = found.find((t) => Buffer.from(t, 'base64').includes(file));
    return serviceDesc(fileDesc(text, needs), 0);
}

export const processService = () => service('process/process.proto', []);
export const filesystemService = () => service('filesystem/filesystem.proto', [file_google_protobuf_timestamp]);

// --- by hand ---

export const envelope = (payload, flags = 0) => {
    const body = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
    const head = Buffer.alloc(5);
    head[0] = flags;
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
};

/** [{flags, body}] of a whole stream. */
export function envelopes(bytes) {
    const out = [];
    for (let at = 0; at < bytes.length; ) {
        const len = bytes.readUInt32BE(at + 1);
        assert.ok(at + 5 + len <= bytes.length, 'an envelope is cut short');
        out.push({ flags: bytes[at], body: bytes.subarray(at + 5, at + 5 + len) });
        at += 5 + len;
    }
    return out;
}

/** A unary call; the answer as it is. */
export const unary = (d, method, body, more = {}) =>
    d.request('POST', `/dialects/e2b/process.Process/${method}`, {
        ...more,
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', ...more.headers },
    });

/** A stream to its end: {events, end}. */
export async function stream(d, method, message, more = {}) {
    const answer = await d.request('POST', `/dialects/e2b/process.Process/${method}`, {
        ...more,
        body: more.body ?? envelope(message),
        headers: { 'Content-Type': 'application/connect+json', ...more.headers },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.type, more.headers?.['Content-Type'] ?? 'application/connect+json');
    const all = envelopes(answer.body);
    const last = all.pop();
    assert.equal(last.flags, 2, 'the last envelope ends the stream');
    return { raw: all, events: more.headers?.['Content-Type'] ? null : all.map((e) => JSON.parse(e.body).event), end: JSON.parse(last.body) };
}

/** An open stream: events as they come. */
export class OpenStream {
    static async open(d, method, message, { headers = {}, role } = {}) {
        const s = new OpenStream();
        s.res = await httpc.open(d, 'POST', `/dialects/e2b/process.Process/${method}`, {
            agent: false,
            body: envelope(message),
            headers: { ...d.authHeaders(role), 'Content-Type': 'application/connect+json', ...headers },
        });
        s.held = Buffer.alloc(0);
        s.events = [];
        s.text = '';
        s.ended = new Promise((done) => s.res.on('close', done));
        s.res.on('error', () => {});
        s.res.on('data', (b) => s.#take(b));
        return s;
    }

    #take(b) {
        this.held = Buffer.concat([this.held, b]);
        while (this.held.length >= 5 && this.held.length >= 5 + this.held.readUInt32BE(1)) {
            const [{ flags, body }] = envelopes(this.held.subarray(0, 5 + this.held.readUInt32BE(1)));
            this.held = this.held.subarray(5 + body.length);
            const m = JSON.parse(body);
            if (flags === 2) this.end = m;
            else this.events.push(m.event);
            const data = m.event?.data;
            if (data) this.text += Buffer.from(data.stdout ?? data.stderr ?? data.pty, 'base64').toString('latin1');
        }
    }

    close() {
        this.res.destroy();
    }
}
