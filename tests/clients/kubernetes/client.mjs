// SPDX-License-Identifier: Apache-2.0
//
// client.mjs - Kubernetes' own clients (npm @kubernetes/client-node, kubectl), and SPDY by hand

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import zlib from 'node:zlib';
import * as k8s from '@kubernetes/client-node';
import { RawConn } from '../../lib/raw.mjs';
import { within } from '../../lib/wait.mjs';

export const PREFIX = '/dialects/kubernetes';
export const POD = '/api/v1/namespaces/default/pods/sandbox';
/** The name of a process's container. */
export const containerOf = (p) => p.id.replace('_', '-');

// --- @kubernetes/client-node ---

export function configOf(d, { token = d.token, server = d.url + PREFIX } = {}) {
    const kc = new k8s.KubeConfig();
    // It refuses plain http unless told that nobody's certificate is to be looked at.
    kc.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u', token });
    return kc;
}

/** A stream that keeps what was written to it. */
export function sink(size) {
    const s = new PassThrough();
    s.bytes = Buffer.alloc(0);
    s.on('data', (b) => (s.bytes = Buffer.concat([s.bytes, b])));
    if (size) [s.rows, s.columns] = size;
    return s;
}

const closeOf = (ws) => new Promise((done) => ws.on('close', (code) => done(code)));
export const exitCode = (status) => Number(status.details?.causes?.find((c) => c.reason === 'ExitCode')?.message ?? 0);

/** Exec by the published client; `input` is sent whole and ended. */
export async function exec(kc, command, { input, tty = false, stderr = !tty, size, container = 'main', pod = 'sandbox' } = {}) {
    const out = sink(size);
    const err = stderr ? sink() : null;
    const stdin = input === undefined ? null : input instanceof PassThrough ? input : new PassThrough();
    let tell;
    const status = new Promise((done) => (tell = done));
    const ws = await new k8s.Exec(kc).exec('default', pod, container, command, out, err, stdin, tty, tell);
    const closed = closeOf(ws);
    if (stdin && stdin !== input) stdin.end(input);
    return { out, err, stdin, ws, status, closed, done: () => within(Promise.all([status, closed]), 60000, 'the end of exec') };
}

/** The same to its end: [exit code, stdout, stderr]. */
export async function run(kc, command, options) {
    const e = await exec(kc, command, options);
    const [status] = await e.done();
    return [exitCode(status), e.out.bytes.toString('latin1'), e.err?.bytes.toString('latin1')];
}

export async function attach(kc, container, { tty = true, size, stderr = !tty } = {}) {
    const out = sink(size);
    const stdin = new PassThrough();
    const ws = await new k8s.Attach(kc).attach('default', 'sandbox', container, out, stderr ? sink() : null, stdin, tty);
    return { out, stdin, ws, closed: closeOf(ws) };
}

// --- kubectl ---

const version = () => {
    const r = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
    return r.status === 0 ? Number(JSON.parse(r.stdout).clientVersion.minor.replace(/\D/g, '')) : null;
};
/** The minor version of the kubectl that is on PATH; null: there is none. */
export const KUBECTL = version();

/** How that kubectl can be told to speak: since 1.30 by WebSocket, and by SPDY if asked to. */
export const WIRES =
    KUBECTL === null
        ? []
        : KUBECTL < 30
          ? [{ name: 'SPDY', env: {} }]
          : [
                { name: 'WebSocket', env: {} },
                { name: 'SPDY', env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' } },
            ];

export class Kubectl {
    constructor(d, { server, env = {}, args = [] } = {}) {
        this.home = fs.mkdtempSync(path.join(d.dir, 'kubectl-'));
        this.env = { PATH: process.env.PATH, HOME: this.home, ...env };
        this.args = ['--server', server, ...args];
    }

    start(...args) {
        const child = spawn('kubectl', [...this.args, ...args], { env: this.env, cwd: this.home });
        child.text = { stdout: [], stderr: [] };
        for (const name of ['stdout', 'stderr']) child[name].on('data', (b) => child.text[name].push(b));
        child.stdin.on('error', () => {});
        child.out = () => Buffer.concat(child.text.stdout);
        child.err = () => Buffer.concat(child.text.stderr).toString();
        child.ended = new Promise((done) => child.on('close', (code, signal) => done({ code, signal, out: child.out(), err: child.err() })));
        return child;
    }

    /** To its end, with all of its input: {code, out, err}. */
    async run(args, input = '') {
        const child = this.start(...args);
        child.stdin.end(input);
        return within(child.ended, 60000, `kubectl ${args.join(' ')}`);
    }

    /** The same, as [code, stdout, stderr]: kubectl's own words on where it goes are left out. */
    async says(args, input) {
        const { code, out, err } = await this.run(args, input);
        const own = /^(Defaulted container|Defaulting container|Use 'kubectl describe).*\n/gm;
        return [code, out.toString('latin1'), err.replace(own, '')];
    }
}

// --- SPDY/3.1 by hand ---

const word = (n) => {
    const b = Buffer.alloc(4);
    b.writeUInt32BE(n >>> 0);
    return b;
};
const text = (s) => Buffer.concat([word(Buffer.byteLength(s)), Buffer.from(s)]);

export class Spdy {
    constructor(conn, answer) {
        this.conn = conn;
        this.answer = answer;
        this.next = 1;
        this.streams = new Map(); // id: {bytes, fin, replied, reset}
        this.pings = [];
        // Our side of the headers: one stream for the whole connection. No dictionary: that is the client's choice.
        this.deflate = zlib.createDeflate();
        this.packed = [];
        this.deflate.on('data', (b) => this.packed.push(b));
    }

    static request(d, target, { headers = {}, role = 'own', method = 'POST' } = {}) {
        const all = {
            Host: `${d.host}:${d.port}`,
            Connection: 'Upgrade',
            Upgrade: 'SPDY/3.1',
            'X-Stream-Protocol-Version': 'v4.channel.k8s.io',
            'Content-Length': '0',
            ...d.authHeaders(role),
            ...headers,
        };
        const lines = Object.entries(all).filter(([, v]) => v !== null).map(([k, v]) => `${k}: ${v}\r\n`);
        return `${method} ${PREFIX}${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
    }

    /** Whatever is answered, with the connection open if it is 101. */
    static async ask(d, target, options) {
        const conn = await RawConn.connect(d);
        conn.send(Spdy.request(d, target, options));
        const answer = await conn.response();
        if (answer.status !== 101) conn.destroy();
        return [conn, answer];
    }

    static async open(d, target, options) {
        const [conn, answer] = await Spdy.ask(d, target, options);
        assert.equal(answer.status, 101, String(answer.body));
        return new Spdy(conn, answer);
    }

    control(type, ...parts) {
        const body = Buffer.concat(parts);
        this.conn.send(Buffer.concat([word(0x80030000 | type), word(body.length), body]));
    }

    /** A new stream, answered. */
    async stream(headers) {
        const id = this.next;
        this.next += 2;
        const entries = Object.entries(headers);
        const block = Buffer.concat([word(entries.length), ...entries.flatMap(([k, v]) => [text(k), text(v)])]);
        this.deflate.write(block);
        await new Promise((done) => this.deflate.flush(zlib.constants.Z_SYNC_FLUSH, done));
        this.streams.set(id, { bytes: Buffer.alloc(0), fin: false, replied: false, reset: null });
        this.control(1, word(id), word(0), Buffer.alloc(2), ...this.packed.splice(0));
        await this.until(() => this.streams.get(id).replied || this.streams.get(id).reset !== null, 'the answer to a stream');
        return id;
    }

    data(id, bytes, fin = false) {
        const b = Buffer.from(bytes);
        this.conn.send(Buffer.concat([word(id), word((fin ? 0x1000000 : 0) | b.length), b]));
    }

    ping(id) {
        this.control(6, word(id));
    }

    goaway() {
        this.control(7, word(0), word(0));
    }

    async frame(ms) {
        const head = await this.conn.read(8, ms);
        const first = head.readUInt32BE(0);
        const length = head.readUInt32BE(4) & 0xffffff;
        const fin = (head[4] & 1) === 1;
        const body = Buffer.from(await this.conn.read(length, ms));
        if (first < 0x80000000) {
            const s = this.streams.get(first);
            s.bytes = Buffer.concat([s.bytes, body]);
            s.fin ||= fin;
        } else if (first === 0x80030002) {
            this.streams.get(body.readUInt32BE(0)).replied = true;
        } else if (first === 0x80030003) {
            this.streams.get(body.readUInt32BE(0)).reset = body.readUInt32BE(4);
        } else if (first === 0x80030006) {
            this.pings.push(body.readUInt32BE(0));
        } else {
            assert.fail(`unexpected frame ${first.toString(16)}`);
        }
    }

    async until(ready, what, ms = 20000) {
        while (!ready()) {
            await this.frame(ms).catch((err) => {
                throw new Error(`${err.message}, waiting for ${what}`);
            });
        }
    }

    text(id) {
        return this.streams.get(id).bytes.toString('latin1');
    }
}
