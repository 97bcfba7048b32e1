// SPDX-License-Identifier: Apache-2.0
//
// gateway.mjs - one real gateway, and upstreams that do as a test says
//
// A gateway gets its own directory, port and file of sandboxes. When a test file is done it is asked
// to stop and must leave nothing: exit status 0, no sanitizer report.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { noteCode } from './codes.mjs';
import { binary } from './daemon.mjs';
import { openConnections } from './raw.mjs';
import { after, before } from './test.mjs';
import { waitUntil, within } from './wait.mjs';

const SANITIZER = /ERROR: AddressSanitizer|runtime error:|LeakSanitizer|UndefinedBehaviorSanitizer/;
const running = new Set();
const made = new Set(); // directories: some gateways end by themselves, and stop() is not called
process.on('exit', () => {
    running.forEach((g) => g.kill());
    made.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true }));
});

export class Gateway {
    constructor({ sandboxes = {}, args = [], resolver, networks = ['127.0.0.0/8'], auth = false, bin, workers = 1, listen, files = {}, env = {}, via = [] } = {}) {
        Object.assign(this, { sandboxes, args, resolver, networks, auth, bin, workers, listen, env, via });
        this.stdout = '';
        this.stderr = '';
        this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-gw-'));
        made.add(this.dir);
        this.file = path.join(this.dir, 'sandboxes.json');
        this.write(sandboxes);
        for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(this.dir, name), text);
    }

    /** Replaces the file of sandboxes at once, as a careful writer does. */
    write(sandboxes) {
        this.sandboxes = sandboxes;
        fs.writeFileSync(`${this.file}.new`, JSON.stringify({ sandboxes }));
        fs.renameSync(`${this.file}.new`, this.file);
    }

    async start() {
        const args = [
            ...this.via, // what it is started by, say unshare
            this.bin ?? binary(),
            'gateway',
            '--listen',
            this.listen ?? '127.0.0.1:0',
            '--admin',
            '127.0.0.1:0',
            '--workers',
            String(this.workers),
            '--resolver',
            this.resolver ?? `file:${this.file}`,
            ...(this.auth ? [] : ['--no-auth']),
            ...(this.resolver ? this.networks.flatMap((n) => ['--allow-address', n]) : []), // all of these tests' sandboxes are on loopback
            ...this.args.map((a) => a.replace('DIR', this.dir)),
        ];
        this.child = spawn(args[0], args.slice(1), {
            cwd: this.dir,
            env: {
                PATH: process.env.PATH,
                ASAN_OPTIONS: 'detect_leaks=1:exitcode=99',
                UBSAN_OPTIONS: 'halt_on_error=1',
                HF_TEST_RUN: process.env.HF_TEST_TMP ?? 'none',
                ...this.env,
            },
            stdio: ['ignore', 'pipe', 'pipe'],
        });
        /* One that a failed test left behind does not keep the file from ending. */
        [this.child, this.child.stdout, this.child.stderr].forEach((h) => h.unref());
        running.add(this);
        this.exit = new Promise((done) => this.child.once('close', (code, signal) => done({ code, signal })));
        this.exit.then((e) => (this.exited = e));
        this.child.stdout.on('data', (d) => (this.stdout += d));
        this.child.stderr.on('data', (d) => {
            this.stderr += d;
            if (process.env.HF_TEST_STDERR) process.stderr.write(d);
        });
        await waitUntil(() => {
            if (this.exited) throw Object.assign(new Error(`gateway ended: ${this.stderr}`), { fatal: true });
            return /admin on/.test(this.stdout);
        }, 'the gateway');
        this.port = Number(/listening on https?:\/\/[^\n]*:(\d+)/.exec(this.stdout)?.[1]);
        this.adminPort = Number(/admin on http:\/\/[^\n]*:(\d+)/.exec(this.stdout)[1]);
        this.pid = this.child.pid;
        return this;
    }

    host = '127.0.0.1';

    url(id, port, rest = '/') {
        return `http://127.0.0.1:${this.port}/v1/sandboxes/${id}/proxy/${port}${rest}`;
    }

    ws(id, port, rest = '/') {
        return this.url(id, port, rest).replace('http', 'ws');
    }

    async metrics() {
        const res = await fetch(`http://127.0.0.1:${this.adminPort}/metrics`);
        const out = {};
        for (const line of (await res.text()).split('\n')) {
            const m = /^(\S+) (\S+)$/.exec(line);
            if (m && !line.startsWith('#')) out[m[1]] = Number(m[2]);
        }
        return out;
    }

    kill() {
        if (!this.exited) this.child.kill('SIGKILL');
    }

    async stop() {
        running.delete(this);
        openConnections.forEach((c) => c.destroy());
        if (!this.exited) {
            this.child.kill('SIGTERM');
            this.child.kill('SIGTERM');
        }
        const e = await within(this.exit, 40000, 'the gateway to end');
        assert.ok(!SANITIZER.test(this.stderr), this.stderr);
        assert.deepEqual(e, { code: 0, signal: null }, this.stderr);
    }
}

/** A gateway for the tests of one describe(). */
export function useGateway(make) {
    const held = {};
    before(async () => {
        held.g = new Gateway(typeof make === 'function' ? await make() : make);
        await held.g.start();
    });
    after(() => held.g?.stop());
    return held;
}

/** Like fetch(), with the code of a refusal noted. */
export async function ask(url, options = {}) {
    const res = await fetch(url, { redirect: 'manual', ...options });
    const body = Buffer.from(await res.arrayBuffer());
    const type = res.headers.get('content-type') ?? '';
    const out = { status: res.status, headers: res.headers, body, text: body.toString() };
    if (type.includes('json')) {
        out.json = JSON.parse(out.text);
        if (type.includes('problem')) noteCode(out.json.code);
    }
    return out;
}

/** An HTTP upstream on a port of its own that a test can read the requests of. */
export async function httpUpstream(handler) {
    const server = http.createServer(handler);
    const sockets = new Set();
    server.on('connection', (s) => {
        sockets.add(s);
        s.on('close', () => sockets.delete(s));
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return {
        server,
        sockets,
        port: server.address().port,
        close: () =>
            new Promise((done) => {
                sockets.forEach((s) => s.destroy());
                server.close(done);
            }),
    };
}

/** A TCP upstream: `onSocket(socket, number)`; what came in is kept as one text per connection. */
export async function rawUpstream(onSocket) {
    const conns = [];
    const sockets = new Set();
    const server = net.createServer({ allowHalfOpen: true }, (s) => {
        const c = { socket: s, text: '', ended: false };
        conns.push(c);
        sockets.add(s);
        s.on('data', (d) => {
            c.text += d.toString('latin1');
            c.onData?.(d);
        });
        s.on('end', () => (c.ended = true));
        s.on('error', () => {});
        s.on('close', () => sockets.delete(s));
        onSocket?.(c, conns.length - 1);
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return {
        server,
        conns,
        port: server.address().port,
        close: () =>
            new Promise((done) => {
                sockets.forEach((s) => s.destroy());
                server.close(done);
            }),
    };
}
