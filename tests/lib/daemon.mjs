// SPDX-License-Identifier: Apache-2.0
//
// daemon.mjs - one real daemon per test file, watched from its start to its end
//
// A daemon gets its own directory, tokens and port. When the file is done it is
// asked to stop and must leave nothing: exit status 0, no child alive, no
// sanitizer report, and before that no descriptor more than at the start.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { codes, noteCode } from './codes.mjs';
import * as httpc from './http.mjs';
import { OpenApi } from './openapi.mjs';
import * as proc from './proc.mjs';
import { openConnections } from './raw.mjs';
import { after, before, describe } from './test.mjs';
import { waitUntil, within } from './wait.mjs';

export const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SANITIZER = /ERROR: AddressSanitizer|runtime error:|LeakSanitizer|UndefinedBehaviorSanitizer/;

const firstThatExists = (...files) => files.filter(Boolean).find((f) => fs.existsSync(f));

/** The binary under test: the sanitized build where there is one. */
export function binary() {
    const bin =
        process.env.HOLDFAST_BIN ??
        firstThatExists(path.join(root, 'build/asan/holdfast'), path.join(root, 'build/holdfast'));
    if (!bin) throw new Error('no binary: set HOLDFAST_BIN or run make');
    return path.resolve(bin);
}

/** The static release binary, or null. */
export function releaseBinary() {
    const bin = process.env.HOLDFAST_RELEASE ?? firstThatExists(path.join(root, 'build/release/holdfast'));
    return bin && fs.existsSync(bin) ? path.resolve(bin) : null;
}

/**
 * fetch() begins anew: it may not have heard yet that a connection which it holds for later has ended.
 * Where undici 8 is loaded, as by e2b's client from Node.js 22.19 on, Node's own fetch() goes through
 * undici's dispatcher in a wrapper.
 */
const [DISPATCHER, INNER_DISPATCHER] = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`));
function dropIdleFetches() {
    const old = globalThis[DISPATCHER];
    if (!old) return;
    if (old.constructor.name === 'Dispatcher1Wrapper') {
        const inner = new globalThis[INNER_DISPATCHER].constructor();
        globalThis[INNER_DISPATCHER] = inner;
        globalThis[DISPATCHER] = new old.constructor(inner);
    } else {
        globalThis[DISPATCHER] = new old.constructor();
    }
    old.close(); // what is under way is waited for
}

const EXIT_MS = 120000;

/** What a descriptor of the daemon's binary is called. */
const BINARY = /\/holdfast[^/]*$/;

/** Daemons that a failed test left behind do not keep the file from ending, and end with it. */
const running = new Set();
process.on('exit', () => running.forEach((d) => d.kill()));

/** A process may end because of the one that was killed before it. */
function killIfThere(pid) {
    try {
        process.kill(pid, 'SIGKILL');
    } catch (err) {
        if (err.code !== 'ESRCH') throw err;
    }
}

export class Daemon {
    constructor(options = {}) {
        this.options = options;
        this.stderr = '';
        this.stdout = '';
        this.urls = [];
    }

    /** Makes the directory and the token file. Separate so that tests can look before the start. */
    prepare() {
        this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-'));
        this.mark = `HF_TEST_MARK=${crypto.randomBytes(8).toString('hex')}`;
        this.tokens = {};
        for (const role of ['own', 'type', 'watch']) this.tokens[role] = crypto.randomBytes(24).toString('hex');
        this.token = this.tokens.own;
        this.tokenFile = path.join(this.dir, 'tokens');
        fs.writeFileSync(this.tokenFile, `${this.tokens.own}\ntype ${this.tokens.type}\nwatch ${this.tokens.watch}\n`, {
            mode: 0o600,
        });
        return this;
    }

    async start() {
        if (!this.dir) this.prepare();
        const o = this.options;
        const bin = o.bin ?? binary();
        const auth = o.auth === false ? [] : ['--token-file', this.tokenFile];
        const listen = (o.listen ?? ['127.0.0.1:0']).flatMap((l) => ['--listen', l.replace('DIR', this.dir)]);
        const args = [...(o.before ?? []), ...(o.before ? [bin] : []), 'serve', ...listen, ...auth, ...(o.args ?? [])];
        const env = {
            PATH: process.env.PATH,
            HOME: this.dir,
            LANG: 'C.UTF-8',
            TMPDIR: this.dir,
            ASAN_OPTIONS: process.env.HF_ASAN_OPTIONS ?? 'detect_leaks=1:exitcode=99',
            UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1:exitcode=99',
            ...(process.env.HOLDFAST_NO_CGROUP ? { HOLDFAST_NO_CGROUP: '1' } : {}),
            HF_TEST_RUN: process.env.HF_TEST_TMP ?? 'none',
            ...o.env,
        };
        const [name, value] = this.mark.split('=');
        env[name] = value;
        const [command, rest] = o.argsWhole
            ? [bin, o.argsWhole]
            : o.before
              ? [o.before[0], args.slice(1)]
              : [bin, args];
        this.child = spawn(command, rest, {
            env,
            cwd: this.dir,
            stdio: ['ignore', 'pipe', 'pipe', ...(o.extraFds ?? [])],
            detached: true,
        });
        const { child } = this;
        this.pid = this.child.pid;
        running.add(this);
        [this.child, this.child.stdout, this.child.stderr].forEach((h) => h.unref());
        this.#exit = new Promise((done) => this.child.once('close', (code, signal) => done({ code, signal })));
        // Until the launcher alone has ended; the vault may hold its outputs open for long.
        this.leaving = new Promise((done) => child.once('exit', (code, signal) => done({ code, signal })));
        this.#exit.then((e) => {
            if (this.child === child) this.exited = e;
        });
        this.child.stdout.on('data', (d) => (this.stdout += d));
        this.child.stderr.on('data', (d) => {
            this.stderr += d;
            if (process.env.HF_TEST_STDERR) process.stderr.write(d);
        });
        const main = (o.listen ?? ['']).filter((l) => l !== 'none').length;
        const dialects = (o.args ?? []).filter((a) => a === '--dialect').length;
        await this.ready(Math.max(1, main + dialects)); // sockets that are inherited are in neither
        if (o.fdBaseline !== false) await this.takeBaseline();
        if (process.env.HF_TEST_GATEWAY) await this.#putGateway();
        return this;
    }

    #exit;

    /** How the daemon ended. Its handles do not keep Node running, so the wait for it needs a limit that does. */
    get exit() {
        return within(this.#exit, EXIT_MS, 'the daemon to exit');
    }

    /** HF_TEST_GATEWAY=1: the same tests with a gateway in front, which must not be noticed. */
    async #putGateway() {
        if (!this.port || this.tls || this.options.gateway === false) return;
        if (this.gateway) return this.#showGateway(); // started again at the same port
        const { Gateway } = await import('./gateway.mjs');
        this.gateway = await new Gateway({
            sandboxes: { d: { ports: { 1: `127.0.0.1:${this.port}` } } },
            args: ['--default-sandbox', 'd:1', '--preserve-host', '--forward', 'authorization', '--forward', 'cookie', '--drain-ms', '0', '--pool-timeout-ms', '50'],
        }).start();
        this.#showGateway();
    }

    #showGateway() {
        this.directPort = this.port;
        this.port = this.gateway.port;
        this.url = `http://127.0.0.1:${this.port}`;
    }

    /** Until every listener has been announced. */
    async ready(count) {
        const lines = () => [...(this.stdout + this.stderr).matchAll(/listening on (\S+)/g)].map((m) => m[1]);
        await waitUntil(
            () => {
                if (this.exited) {
                    const err = new Error(`daemon ended at its start: ${JSON.stringify(this.exited)}\n${this.stderr}`);
                    throw Object.assign(err, { fatal: true });
                }
                return lines().length >= count;
            },
            'the "listening on" line',
            20000,
            2,
        );
        this.urls = lines();
        const tcp = this.urls.find((u) => /^https?:/.test(u));
        if (tcp) {
            const u = new URL(tcp);
            this.url = u.origin;
            this.host = u.hostname.replace(/^\[|\]$/g, '');
            this.port = Number(u.port);
            this.tls = u.protocol === 'https:';
        }
        const unix = this.urls.find((u) => u.startsWith('unix:'));
        if (unix) this.unixPath = unix.replace(/^unix:(\/\/)?/, '');
        if (!tcp) this.socketPath = this.unixPath;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
        if (this.tls) this.agent = undefined;
    }

    /**
     * Descriptors after one process of each kind has come and gone, so that what is
     * made lazily or ahead (spare pipes, a spare terminal) is there.
     */
    async takeBaseline() {
        if (!this.port || this.tls) return;
        for (const pty of [undefined, true]) {
            const a = await this.request('POST', '/v1/processes/run', { json: { command: 'true', pty }, agent: false });
            assert.equal(a.status, 200, a.text);
            await this.request('DELETE', `/v1/processes/${a.json.process.id}`, { agent: false });
        }
        let last = this.fdCounts();
        await waitUntil(
            () => {
                const now = this.fdCounts();
                const same = now.vault === last.vault && now.keeper === last.keeper && now.worker === last.worker;
                last = now;
                return same;
            },
            'descriptors to settle',
            5000,
            30,
        );
        this.baseline = last;
    }

    /**
     * Open descriptors; what is kept for reuse is left out: a bounded number of idle
     * cgroups (keeper), the binary before the last upgrade (vault), and one record, which is made or left by a process at some time (worker).
     */
    fdCounts() {
        const count = (pid, spare) => {
            if (!pid) return -1;
            const fds = Object.values(proc.fds(pid) ?? {}).filter((to) => !to.includes('/cgroup/') && !BINARY.test(to));
            return fds.length - (spare && fds.some((to) => to.includes('memfd:holdfast-journal')) ? 1 : 0);
        };
        return { vault: count(this.vaultPid(), false), keeper: count(this.keeperPid(), false), worker: count(this.workerPid(), true) };
    }

    /** What holds everything: the launcher's child, or PID 1 of a namespace. */
    vaultPid() {
        const is = (s) => s?.name === 'holdfast-vault' && s.state !== 'Z';
        const below = [proc.stat(this.pid), ...proc.childrenNow(this.pid)].find(is) ?? proc.descendantsOf(this.pid).find(is);
        // A launcher that has picked up what another left is not its parent.
        if (below) this.vault = below.pid;
        return is(proc.stat(this.vault)) ? this.vault : undefined;
    }

    /** Another `holdfast serve` at the same address, once the launcher before has left: it picks up what is held. */
    async again() {
        const before = this.baseline;
        this.agent?.destroy();
        this.options.listen = this.urls.map((u) => u.replace(/^https?:\/\//, ''));
        this.options.fdBaseline = false;
        this.exited = undefined;
        this.log = (this.log ?? '') + this.stderr;
        this.stdout = this.stderr = '';
        await this.start();
        this.baseline = before;
        await waitUntil(() => /^picked up \d+ process/m.test(this.stderr), 'the launcher to say what it picked up');
    }

    /** How the launcher ended, which need not be the end of the daemon. */
    left(ms = 20000) {
        return within(this.leaving, ms, 'the launcher to leave');
    }

    /** A child between clone and exec has the keeper's name, too, but the keeper is its parent. */
    keeperPid() {
        const vault = this.vaultPid();
        return vault && proc.childrenNow(vault).find((s) => s.state !== 'Z' && s.name === 'holdfast-keeper')?.pid;
    }

    /** The machine's end, as far as the daemon can tell: whoever could start the others goes first. */
    crash() {
        for (const pid of [this.vaultPid(), this.keeperPid(), this.workerPid(), this.pid]) if (pid) killIfThere(pid);
    }

    /** By its name: a child between clone and exec runs the same program, but has the keeper's. */
    workerPid() {
        const worker = proc.childrenNow(this.keeperPid()).find((s) => s.state !== 'Z' && s.name === 'holdfast-worker');
        return worker?.pid ?? null;
    }

    async nextWorker(old, ms = 10000) {
        const worker = await waitUntil(
            () => {
                const now = this.workerPid();
                return now === old ? null : now;
            },
            'a new worker',
            ms,
            2,
        );
        // It may be there before Node has heard that the idle connections to the old one ended.
        for (const socket of Object.values(this.agent?.freeSockets ?? {}).flat()) socket.destroy();
        dropIdleFetches();
        return worker;
    }

    // --- requests ---

    authHeaders(role = 'own') {
        if (this.options.auth === false || role === null) return {};
        return { Authorization: `Bearer ${this.tokens[role] ?? role}` };
    }

    /** A request with our token; no checks. */
    request(method, url, options = {}) {
        const headers = { ...this.authHeaders(options.role), ...options.headers };
        return httpc.request(options.target ?? this, method, url, { ...options, headers });
    }

    /** Opens a streaming answer. */
    open(method, url, options = {}) {
        const headers = { ...this.authHeaders(options.role), ...options.headers };
        return httpc.open(options.target ?? this, method, url, { agent: false, ...options, headers });
    }

    async openapi() {
        if (!this.api_) this.api_ = new OpenApi((await this.request('GET', '/openapi.json')).json);
        return this.api_;
    }

    /** A request whose answer must match the document; `expect` is the wanted status. */
    async api(method, url, options = {}) {
        const answer = await this.request(method, url, options);
        const what = `${method} ${url} ${options.json === undefined ? '' : JSON.stringify(options.json).slice(0, 300)}`;
        if (options.expect !== undefined) {
            assert.equal(answer.status, options.expect, `${what}: ${answer.text.slice(0, 600)}`);
        }
        if (answer.type === 'application/problem+json' && method !== 'HEAD') noteCode(answer.json.code);
        if (options.check !== false) {
            const sent =
                options.json !== undefined && typeof options.json === 'object' && !Buffer.isBuffer(options.json)
                    ? options.json
                    : undefined;
            (await this.openapi()).checkAnswer(method, url, answer, sent);
        }
        return answer;
    }

    /** A request that must be refused with this code; returns the problem. */
    async refused(code, method, url, options = {}) {
        const answer = await this.api(method, url, options);
        return checkProblem(answer, code, `${method} ${url}`);
    }

    // --- the calls that every suite needs ---

    async spawn(body, options = {}) {
        const answer = await this.api('POST', '/v1/processes', { json: body, expect: 201, ...options });
        const p = answer.json;
        assert.equal(answer.headers.location, `/v1/processes/${p.id}`);
        return p;
    }

    /** A shell line; pipes unless told otherwise. */
    sh(line, more = {}) {
        return this.spawn({ command: line, shell: true, ...more });
    }

    async get(id) {
        return (await this.api('GET', `/v1/processes/${id}`, { expect: 200 })).json;
    }

    async list(query = '') {
        return (await this.api('GET', `/v1/processes${query}`, { expect: 200 })).json.processes;
    }

    async remove(id, query = '?grace_ms=0') {
        return (await this.api('DELETE', `/v1/processes/${id}${query}`, { expect: 200, timeoutMs: 30000 })).json;
    }

    /** Waits for the exit; the process object afterwards. */
    async exitOf(id, ms = 20000) {
        const w = (
            await this.api('GET', `/v1/processes/${id}/wait?timeout_ms=${ms}`, { expect: 200, timeoutMs: ms + 10000 })
        ).json;
        assert.equal(w.status, 'exited', `process ${id} did not exit in ${ms} ms`);
        return this.get(id);
    }

    async output(id, query = '') {
        return (await this.api('GET', `/v1/processes/${id}/output${query}`, { expect: 200 })).body;
    }

    /** Until the output holds the text; the whole output so far. */
    async outputHas(id, text, ms = 10000) {
        return waitUntil(
            async () => {
                const out = (await this.output(id)).toString('latin1');
                return out.includes(text) ? out : null;
            },
            `output with ${JSON.stringify(text)}`,
            ms,
        );
    }

    /** Ends and forgets every session and process; a daemon that is still closing connections may refuse a request or two. */
    async removeAll() {
        const ask = (method, url) =>
            waitUntil(
                async () => {
                    const a = await this.request(method, url, { timeoutMs: 30000 });
                    return a.status === 429 ? null : a;
                },
                `an answer to ${method} ${url}`,
                10000,
            );
        for (const s of (await ask('GET', '/v1/sessions?limit=1000')).json.sessions) {
            await ask('DELETE', `/v1/sessions/${s.id}?grace_ms=0`);
        }
        for (let round = 0; round < 50; round++) {
            const list = (await ask('GET', '/v1/processes?limit=1000')).json.processes;
            if (list.length === 0) return;
            for (const p of list) await ask('DELETE', `/v1/processes/${p.id}?grace_ms=0`);
        }
    }

    // --- the end ---

    /** Destroys the idle connections that published clients keep in their pools, for seconds or for ever. */
    #destroySockets() {
        const ports = new Set(this.urls?.map((u) => Number(/:(\d+)\/?$/.exec(u)?.[1])));
        for (const handle of process._getActiveHandles()) {
            if (handle instanceof net.Socket && ports.has(handle.remotePort)) handle.destroy();
        }
    }

    /** Nothing more than at the start is open, once processes and connections are gone. */
    async checkDescriptors() {
        if (!this.baseline) return;
        for (const c of openConnections) c.destroy();
        await this.removeAll();
        this.agent?.destroy();
        this.#destroySockets();
        const name = (pid) =>
            Object.entries(proc.fds(pid) ?? {})
                .map(([n, to]) => `${n}=${to}`)
                .join(' ');
        let now;
        await waitUntil(
            () => {
                now = this.fdCounts();
                return ['vault', 'keeper', 'worker'].every((part) => now[part] <= this.baseline[part]);
            },
            'descriptors to return to the baseline',
            10000,
            50,
        ).catch((err) => {
            throw new Error(
                `${err.message}: ${JSON.stringify(this.baseline)} -> ${JSON.stringify(now)}\n` +
                    `vault ${name(this.vaultPid())}\nkeeper ${name(this.keeperPid())}\nworker ${name(this.workerPid())}`,
            );
        });
    }

    checkReports() {
        const m = SANITIZER.exec(this.stderr);
        if (m) assert.fail(`sanitizer report:\n${this.stderr.slice(Math.max(0, m.index - 200), m.index + 6000)}`);
    }

    /** Asks for the end with SIGTERM and checks what is left: nothing. */
    async stop({ signal = 'SIGTERM', ms = 10000, code = 0 } = {}) {
        if (!this.child && !this.gateway) return;
        const problems = [];
        const attempt = async (fn) => {
            try {
                await fn();
            } catch (err) {
                problems.push(err.message);
            }
        };
        if (this.gateway) {
            await attempt(() => this.gateway.stop());
            this.port = this.directPort;
            this.url = `http://127.0.0.1:${this.port}`;
            this.gateway = null;
        }
        if (!this.child) return this.#end(problems);
        if (!this.exited) {
            await attempt(() => this.checkDescriptors());
            if (!this.exited) process.kill(this.keeperPid() ?? this.pid, signal);
        }
        await attempt(async () => {
            const e = await within(this.exit, ms + (this.options.before ? 5000 : 0), 'the daemon to exit');
            assert.deepEqual(e, { code, signal: null }, `exit of the daemon\n${this.stderr.slice(-3000)}`);
        });
        await attempt(() =>
            waitUntil(() => proc.withEnv(this.mark).length === 0, 'every process to be gone', 3000).catch((err) => {
                const left = proc.withEnv(this.mark).map((p) => `${p} ${proc.cmdline(p).join(' ')}`);
                throw new Error(`${err.message}: left over ${left.join('; ')}`);
            }),
        );
        await attempt(() => this.checkReports());
        this.agent?.destroy();
        this.kill();
        this.#end(problems);
    }

    #end(problems) {
        if (problems.length) assert.fail(`at the end of the daemon:\n- ${problems.join('\n- ')}`);
    }

    /** Ends what is left of a daemon that failed its checks: only processes with its own mark. */
    kill() {
        running.delete(this);
        for (const pid of proc.withEnv(this.mark)) {
            try {
                process.kill(pid, 'SIGKILL');
            } catch {
                continue;
            }
        }
        fs.rmSync(this.dir, { recursive: true, force: true });
    }
}

/** Status, type and fields of a problem answer; the problem is the result. */
export function checkProblem(answer, code, what = '') {
    const text = answer.body.toString('utf8');
    const type = (answer.headers['content-type'] ?? '').split(';')[0];
    assert.equal(type, 'application/problem+json', `${what}: ${answer.status} ${text.slice(0, 300)}`);
    const p = JSON.parse(text);
    noteCode(p.code);
    assert.equal(p.code, code, `${what}: ${text}`);
    assert.ok(codes.has(code), `code ${code} is not defined`);
    assert.equal(answer.status, codes.get(code).status, `${what}: ${text}`);
    assert.equal(p.status, answer.status);
    assert.equal(p.type, 'about:blank');
    assert.equal(p.title, codes.get(code).title);
    assert.ok(typeof p.detail === 'string' && p.detail.length > 5, `detail says too little: ${text}`);
    return p;
}

/** A describe() block with its daemon: started before, stopped and checked after. */
export function withDaemon(title, options, body) {
    const d = new Daemon(options);
    describe(title, { skip: options.skip ?? false }, () => {
        before(() => d.start());
        after(() => d.stop());
        body(d);
    });
}

/** A daemon for one test only; stopped and checked even when the test fails. */
export async function daemonFor(options, body) {
    const d = new Daemon(options);
    let failure;
    await d.start().catch((err) => {
        d.kill();
        throw err;
    });
    try {
        return await body(d);
    } catch (err) {
        failure = err;
        err.message += `\n--- daemon's log ---\n${d.stderr.slice(-2500)}`;
        throw err;
    } finally {
        await d.stop(options.stop).catch((err) => {
            if (!failure) throw err;
        });
    }
}
