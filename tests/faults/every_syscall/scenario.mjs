// SPDX-License-Identifier: Apache-2.0
//
// scenario.mjs - one life of a daemon, and the judge of it
//
// A terminal, pipes, a flood, short processes, a session, viewers, input, a resize, a worker that is killed, an upgrade, exits and the
// end. What each program writes follows from what it reads, so the whole output is known beforehand. Clients do what a
// good client does: a request that was cut is asked again (a start with its Idempotency-Key), a viewer returns with
// `since` and `client`. However the daemon is struck, the story must come out the same.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import WebSocket from 'ws';

const PATIENCE_MS = 20000; // for the whole run: what takes longer hangs
const STALL_MS = 8000; // for one request
const RETRY_MS = 2;
const SPARE_TERMINAL_FDS = 2; // both ends of one
const PIPE_LINES = 40;
const FLOOD_LINES = 20000;

export class Violation extends Error {}
const violated = (text) => {
    throw new Violation(text);
};

const turn = (ms) => new Promise((done) => setTimeout(done, ms));
const read = (file) => {
    try {
        return fs.readFileSync(file, 'latin1');
    } catch {
        return '';
    }
};

const numbered = (name, from, count) =>
    Array.from({ length: count }, (_, i) => `${name} ${from + i} of a known text\n`).join('');

const EXPECTED = {
    flood: numbered('flood', 0, FLOOD_LINES),
    out: numbered('out', 0, PIPE_LINES),
    err: numbered('err', 0, PIPE_LINES),
};

/** The first place where two texts differ, for people. */
function difference(got, want) {
    let i = 0;
    while (i < got.length && got[i] === want[i]) i++;
    const near = (s) => JSON.stringify(s.slice(Math.max(0, i - 20), i + 40));
    return `${got.length} bytes instead of ${want.length}, the first wrong one at ${i}: ${near(got)} instead of ${near(want)}`;
}

/** A viewer that is cut and returns, until the exit. */
class Follower {
    constructor(run, id) {
        Object.assign(this, { run, id, at: 0, parts: [], input: Buffer.alloc(0), sent: 0, ended: false, exit: null });
        this.done = this.follow();
        this.done.catch(() => {});
    }

    get text() {
        return Buffer.concat(this.parts).toString('latin1');
    }

    type(text) {
        this.input = Buffer.concat([this.input, Buffer.from(text)]);
        this.push();
    }

    eof() {
        this.ended = true;
        this.push();
    }

    push() {
        if (!this.open) return;
        if (this.sent < this.input.length) this.ws.send(this.input.subarray(this.sent));
        this.sent = this.input.length;
        if (this.ended) this.ws.send('{"type":"eof"}');
    }

    async follow() {
        while (!this.exit) {
            this.run.checkTime(`the exit of ${this.id}`);
            await this.connect();
            if (this.failure) throw this.failure;
            if (!this.exit) await turn(RETRY_MS);
        }
    }

    connect() {
        const url = `ws://127.0.0.1:${this.run.port}/v1/processes/${this.id}/connect?since=${this.at}&client=c-${this.id}`;
        return new Promise((done) => {
            const ws = (this.ws = new WebSocket(url, ['holdfast.v1'], { perMessageDeflate: false, handshakeTimeout: STALL_MS }));
            ws.on('message', (data, binary) => this.checked(() => (binary ? this.onBytes(data) : this.onMessage(JSON.parse(data)))));
            ws.on('unexpected-response', (request, response) => {
                this.run.refusals++;
                if (response.statusCode === 404) this.failure = new Violation(`${this.id} is unknown`);
                request.destroy();
                done();
            });
            ws.on('error', (err) => this.checked(() => this.run.checkError(err)));
            ws.on('close', (code, reason) => {
                this.open = false;
                if (code === 4404) this.failure ??= new Violation(`${this.id} is unknown to a viewer: ${reason}`);
                done();
            });
        });
    }

    checked(fn) {
        try {
            fn();
        } catch (err) {
            this.failure ??= err;
            this.ws.terminate();
        }
    }

    onBytes(data) {
        this.parts.push(data);
        this.at += data.length;
    }

    onMessage(m) {
        if (m.type === 'hello') {
            if (m.offset !== this.at) violated(`viewer of ${this.id} asked for ${this.at} and got ${m.offset}`);
            if (m.input_offset > this.input.length) violated(`${m.input_offset} bytes of input taken of ${this.input.length}`);
            this.sent = m.input_offset;
            this.open = true;
            this.push();
        } else if (m.type === 'error' && m.code === 'no_memory') {
            this.run.refusals++; // what was asked for was not done: once more
            this.push();
        } else if (m.type === 'gap') {
            violated(`gap ${m.from}-${m.to} in ${this.id}`);
        } else if (m.type === 'exit') {
            if (m.offset !== this.at) violated(`exit of ${this.id} at ${m.offset}, bytes up to ${this.at}`);
            this.exit = m;
        }
    }
}

export class Run {
    /** `tools`: {dir, binaries: [first, second], inject, program}; `strike`: {args, env} of this point. */
    constructor(tools, strike = {}) {
        Object.assign(this, { tools, strike, output: '', refusals: 0, retries: 0, followers: [], began: Date.now() });
    }

    // --- time and errors ---

    checkTime(what) {
        if (this.exited && !this.stopping) violated(`the daemon is gone (${this.exited.code}) while waiting for ${what}`);
        if (Date.now() - this.began > PATIENCE_MS) violated(`waited in vain for ${what}`);
    }

    /** A listener is open all the time, whoever dies behind it. */
    checkError(err) {
        if (err.code === 'ECONNREFUSED' && !this.stopping && !this.exited) violated('a connection was refused');
        this.retries++;
    }

    async until(condition, what) {
        for (let wait = 1; ; wait = Math.min(wait + 1, 20)) {
            const value = await condition();
            if (value) return value;
            this.checkTime(what);
            for (const f of this.followers) if (f.failure) throw f.failure;
            await turn(wait);
        }
    }

    // --- requests ---

    request(method, url, json, headers = {}) {
        return new Promise((resolve, reject) => {
            const body = json === undefined ? undefined : JSON.stringify(json);
            const req = http.request(
                { host: '127.0.0.1', port: this.port, method, path: url, agent: false, timeout: STALL_MS, headers: { ...(body ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } : {}), ...headers } },
                (res) => {
                    const parts = [];
                    res.on('data', (d) => parts.push(d));
                    res.on('error', reject);
                    res.on('end', () => {
                        if (!res.complete) return reject(new Error('cut'));
                        const text = Buffer.concat(parts).toString('latin1');
                        const isJson = /json/.test(res.headers['content-type'] ?? '');
                        resolve({ status: res.statusCode, text, json: isJson && text ? JSON.parse(text) : null, headers: res.headers });
                    });
                },
            );
            req.on('timeout', () => req.destroy(new Violation(`${method} ${url} is not answered`)));
            req.on('error', reject);
            req.end(body);
        });
    }

    /** Asks until an answer of one of these states comes. */
    async ask(method, url, json, { ok = [200], headers } = {}) {
        let last = '';
        for (;;) {
            this.checkTime(`${method} ${url}: ${last}`);
            try {
                const a = await this.request(method, url, json, headers);
                if (ok.includes(a.status)) return a;
                last = `${a.status} ${a.text.slice(0, 200)}`;
                this.refusals++;
                if (a.status < 500 && a.status !== 429 && a.status !== 422 && a.status !== 408) violated(`${method} ${url}: ${last}`);
            } catch (err) {
                if (err instanceof Violation) throw err;
                this.checkError(err);
                last = err.message;
            }
            await turn(RETRY_MS);
        }
    }

    async start(name, body) {
        const headers = { 'idempotency-key': `key-${name}` };
        const full = { command: this.tools.program, label: name, ...body };
        const p = (await this.ask('POST', '/v1/processes', full, { ok: [201], headers })).json;
        const f = new Follower(this, p.id);
        this.followers.push(f);
        return f;
    }

    // --- processes of the daemon ---

    children(pid) {
        return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
    }

    comm(pid) {
        return read(`/proc/${pid}/comm`).trim();
    }

    /** The first process of this name among the daemon's. */
    find(name) {
        const queue = this.children(this.child.pid);
        while (queue.length > 0) {
            const pid = queue.shift();
            const comm = this.comm(pid);
            if (comm === name) return pid;
            if (/^holdfast/.test(comm)) queue.push(...this.children(pid));
        }
        return null;
    }

    workerPid() {
        return this.find('holdfast-worker');
    }

    keeperPid() {
        return this.find('holdfast-keeper');
    }

    // --- the story ---

    launch() {
        this.dir = fs.mkdtempSync(path.join(this.tools.dir, 'run-'));
        this.bin = path.join(this.dir, 'holdfast');
        fs.linkSync(this.tools.binaries[0], this.bin);
        this.report = path.join(this.dir, 'report');
        const args = [...(this.strike.args ?? []), this.report, '--', this.bin, 'serve', '--listen', '127.0.0.1:0', '--no-auth', ...(this.tools.serveArgs ?? [])];
        const env = { PATH: process.env.PATH, HOME: this.dir, TMPDIR: this.dir, LANG: 'C.UTF-8', ...this.strike.env };
        this.child = spawn(this.tools.inject, args, { env, cwd: this.dir, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        for (const s of [this.child.stdout, this.child.stderr]) s.on('data', (d) => (this.output += d));
        this.exit = new Promise((done) => this.child.once('close', (code) => done((this.exited = { code }))));
    }

    /** False if it did not start, which is an answer to a blow that came before it listened. */
    async listening() {
        await this.until(() => this.exited || /listening on \S+:\d+\n/.test(this.output), 'the daemon to listen').catch((err) => {
            if (!this.exited) throw err;
        });
        this.port = Number(/listening on \S+:(\d+)/.exec(this.output)?.[1]);
        this.pid = Number(/^pid (\d+)/m.exec(read(this.report))?.[1]);
        return !this.exited;
    }

    async story() {
        const flood = this.start('flood', { args: ['flood', '44', String(FLOOD_LINES)] });
        const short = this.start('short', { args: ['flood', '43', '20'] });
        const killed = this.start('killed', { args: ['flood', '9', '1'], pty: true });
        const terminal = await this.start('terminal', { args: ['terminal', '41'], pty: { rows: 24, cols: 80 } });
        const pipe = await this.start('pipe', { args: ['pipe', '42', String(PIPE_LINES)], stdin: 'pipe' });
        Object.assign(this, { terminal, pipe, flood: await flood, short: await short, killed: await killed });
        this.said = 'ready\n';
        await this.talk('a\n', '0 got a\n', true);
        await this.ask('POST', `/v1/processes/${terminal.id}/resize`, { rows: 30, cols: 90 });
        await this.talk('size\n', '1 size 30x90\n');
        await this.session();
        await this.killWorker();
        pipe.type('hello\n');
        await this.talk('b\n', '2 got b\n');
        await this.command('echo $x', '5\n');
        await this.upgrade();
        await this.talk('c\n', '3 got c\n');
        await this.killKeeper();
        await this.talk('d\n', '4 got d\n');
        pipe.type('world\n');
        pipe.eof();
        terminal.type('quit\n');
        await this.until(() => this.followers.every((f) => f.exit), 'every exit').catch(async (err) => {
            throw new Violation(`${err.message}; ${await this.missing()}`);
        });
        await this.judge();
        await this.forget();
    }

    /** What is known of the processes whose exit no viewer has heard. */
    async missing() {
        const said = [];
        for (const f of this.followers.filter((each) => !each.exit)) {
            const p = await this.request('GET', `/v1/processes/${f.id}`).catch((err) => ({ text: err.message }));
            const holders = p.json?.pid ? this.holdersOfInput(p.json.pid) : '';
            said.push(`a viewer ${f.open ? 'connected' : 'cut'} at ${f.at}, typed ${f.sent} of ${f.input.length}, eof ${f.ended}; its input is open in ${holders}; ${p.text}`);
        }
        return said.join('; ');
    }

    /** Every process that has the same pipe or terminal open as this one's standard input. */
    holdersOfInput(pid) {
        const links = (of) => {
            try {
                return fs.readdirSync(`/proc/${of}/fd`).map((n) => [n, fs.readlinkSync(`/proc/${of}/fd/${n}`)]);
            } catch {
                return [];
            }
        };
        const input = links(pid).find(([n]) => n === '0')?.[1];
        const found = [];
        for (const other of fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
            for (const [n, to] of links(other)) {
                if (to === input) found.push(`${other} (${this.comm(other)}) ${n} ${/flags:\s*(\d+)/.exec(read(`/proc/${other}/fdinfo/${n}`))?.[1]}`);
            }
        }
        return found.join(', ');
    }

    /** Types when the program listens, and waits for what it says to it. */
    async talk(line, answer, first) {
        const t = this.terminal;
        if (first) await this.until(() => t.text === this.said, 'the terminal to be ready');
        t.type(line);
        this.said += answer;
        await this.until(() => t.text.length >= this.said.length, `the answer to ${JSON.stringify(line)}`);
        if (t.text !== this.said) violated(`the terminal's output: ${difference(t.text, this.said)}`);
    }

    async session() {
        this.commands = [];
        await this.ask('POST', '/v1/sessions', { id: 's', shell: 'sh' }, { ok: [201, 409] });
        await this.command('x=5; echo one', 'one\n');
    }

    /** Runs it, or finds out from the transcript what became of it when the answer was cut. */
    async command(text, output) {
        for (let number = 0; ; number++) {
            const command = `: ${this.commands.length}; ${text}`;
            this.commands.push(command);
            this.checkTime(`the command ${command}`);
            let item;
            try {
                const a = await this.request('POST', '/v1/sessions/s/run', { command, on_detach: 'keep' });
                if (a.status === 200) item = { stdout: a.json.stdout, exit: a.json.exit };
                else this.refusals++;
            } catch (err) {
                if (err instanceof Violation) throw err;
                this.checkError(err);
            }
            item ??= await this.outcome(command);
            if (item === null || item.exit.kind === 'lost') continue; // it never reached the shell
            if (item.exit.kind !== 'exited' || item.exit.code !== 0) violated(`command ${command}: ${JSON.stringify(item.exit)}`);
            if (item.stdout !== output) violated(`command ${command} wrote ${JSON.stringify(item.stdout)}`);
            return;
        }
    }

    async outcome(command) {
        let item;
        await this.until(async () => {
            const a = await this.ask('GET', '/v1/sessions/s/transcript');
            const items = a.json.items.filter((i) => i.type === 'command' && i.command === command);
            if (items.length > 1) violated(`command ${command} is in the transcript ${items.length} times`);
            [item] = items;
            return !item || item.exit;
        }, `the end of ${command}`);
        return item ? { stdout: item.output.head.data, exit: item.exit } : null;
    }

    async killWorker() {
        const old = await this.until(() => this.workerPid(), 'a worker');
        try {
            process.kill(old, 'SIGKILL');
        } catch {
            // struck already
        }
        await this.until(() => {
            const now = this.workerPid();
            return now && now !== old;
        }, 'the next worker');
    }

    async killKeeper() {
        const old = await this.until(() => this.keeperPid(), 'a keeper');
        if (this.strike.headless && this.fired()) return; // without a vault nobody would start the next
        this.keeperDown = true;
        try {
            process.kill(old, 'SIGKILL');
        } catch {
            // struck already
        }
        await this.until(() => {
            const now = this.keeperPid();
            return now && now !== old && this.workerPid();
        }, 'the next keeper');
        this.keeperDown = false;
    }

    async upgrade() {
        const ino = fs.statSync(this.tools.binaries[1]).ino;
        fs.linkSync(this.tools.binaries[1], `${this.bin}.new`);
        fs.renameSync(`${this.bin}.new`, this.bin);
        const runs = () => {
            try {
                return fs.statSync(`/proc/${this.keeperPid()}/exe`).ino === ino;
            } catch {
                return false;
            }
        };
        while (!runs()) {
            const before = (this.output.match(/(nothing has changed|continuing with the old (?:binary|one)|upgrade: fork)/g) ?? []).length;
            await this.ask('POST', '/v1/upgrade', undefined, { ok: [202, 409] });
            const asked = Date.now();
            await this.until(
                () => runs() || (this.output.match(/(nothing has changed|continuing with the old (?:binary|one)|upgrade: fork)/g) ?? []).length > before || Date.now() - asked > 1000,
                'the upgrade',
            );
        }
    }

    async judge() {
        const expected = [
            [this.terminal, `${this.said}`, 'exited', 41],
            [this.flood, EXPECTED.flood, 'exited', 44],
            [this.short, numbered('flood', 0, 20), 'exited', 43],
            [this.killed, numbered('flood', 0, 1).replaceAll('\n', '\r\n'), 'signaled', 137],
            [this.pipe, null, 'exited', 42],
        ];
        await Promise.all(expected.map((e) => this.judgeProcess(...e)));
        await this.judgePipe();
        const list = (await this.ask('GET', '/v1/processes?limit=1000')).json.processes;
        const labels = list.map((p) => p.label ?? 'shell').sort().join(' ');
        if (labels !== 'flood killed pipe shell short terminal') violated(`listed are: ${labels}`);
    }

    async judgeProcess(f, text, kind, code) {
        const p = (await this.ask('GET', `/v1/processes/${f.id}`)).json;
        const out = (await this.ask('GET', `/v1/processes/${f.id}/output`)).text;
        this.judgeExit(p, f, kind, code);
        if (text !== null && out !== text) violated(`output of ${p.label}: ${difference(out, text)}`);
        if (f.text !== out) violated(`a viewer of ${p.label}: ${difference(f.text, out)}`);
    }

    judgeExit(p, f, kind, code) {
        if (p.exit?.kind === 'lost' && this.strike.mayLose) return;
        if (p.exit?.kind !== kind || p.exit_code !== code || f.exit.exit_code !== code) {
            violated(`exit of ${p.label}: ${JSON.stringify(p.exit)} ${p.exit_code}, a viewer was told ${JSON.stringify(f.exit)}`);
        }
    }

    async judgePipe() {
        for (const [stream, want] of [['stdout', `${EXPECTED.out}0 hello\n1 world\n`], ['stderr', EXPECTED.err]]) {
            const got = (await this.ask('GET', `/v1/processes/${this.pipe.id}/output?stream=${stream}`)).text;
            if (got !== want) violated(`${stream} of the pipe: ${difference(got, want)}`);
        }
    }

    async forget() {
        await this.ask('DELETE', '/v1/sessions/s?grace_ms=0', undefined, { ok: [200, 404] });
        const remove = (f) => this.ask('DELETE', `/v1/processes/${f.id}?grace_ms=0`, undefined, { ok: [200, 404] });
        await Promise.all(this.followers.map(remove));
        await this.until(async () => (await this.ask('GET', '/v1/processes')).json.processes.length === 0, 'an empty list');
    }

    /** Open descriptors of each role, without what is kept for reuse in a bounded number: cgroups, journals, binaries, one terminal. */
    descriptors() {
        const out = {};
        for (const [role, pid] of [['worker', this.workerPid()], ['keeper', this.keeperPid()], ['vault', this.find('holdfast-vault')]]) {
            let terminals = 0;
            out[role] = 0;
            try {
                for (const n of fs.readdirSync(`/proc/${pid}/fd`)) {
                    const to = fs.readlinkSync(`/proc/${pid}/fd/${n}`);
                    if (/^\/dev\/pt/.test(to)) terminals++;
                    else if (!/cgroup|memfd:holdfast-journal|run-\w+\/holdfast/.test(to)) out[role]++;
                }
            } catch {
                // it was closed meanwhile, or the process is gone: look again
            }
            out[role] += Math.max(0, terminals - SPARE_TERMINAL_FDS);
        }
        return out;
    }

    async judgeDescriptors(baseline) {
        let now;
        const end = Date.now() + 3000;
        await this.until(() => {
            now = this.descriptors();
            return Object.keys(now).every((role) => now[role] <= baseline[role]) || Date.now() > end;
        }, 'descriptors');
        if (!Object.keys(now).every((role) => now[role] <= baseline[role])) {
            violated(`descriptors left open: ${JSON.stringify(now)} instead of ${JSON.stringify(baseline)}`);
        }
    }

    /** The first process, or without a vault the keeper, which goes on alone. */
    askToStop() {
        for (const pid of [this.find('holdfast-vault') && this.pid, this.find('holdfast-keeper')]) {
            try {
                if (pid) return process.kill(pid, 'SIGTERM');
            } catch {
                // gone meanwhile
            }
        }
        return false;
    }

    async stop() {
        this.stopping = true;
        this.firedBefore = this.fired();
        for (let i = 0; !this.exited; i++) {
            this.askToStop();
            await Promise.race([this.exit, turn(4000)]);
            if (i === 3) violated('it does not stop');
        }
        // Where the blow fell into the stop itself, the daemon need not claim to have stopped in order.
        if (this.exited.code !== 0 && this.firedBefore && !this.strike.headless) violated(`exit code ${this.exited.code} at the end`);
    }

    judgeRest() {
        const left = read(this.report).match(/^left .*$/gm) ?? [];
        if (left.length > 0) violated(left.join(', '));
    }

    fired() {
        if (this.strike.fired) return this.strike.fired();
        return (read(this.report).match(/^fired/gm) ?? []).length >= (this.strike.blows ?? 1);
    }

    /** The whole run; {problem, fired, …}. Nothing stays behind, whatever happened. */
    async execute(baseline) {
        let problem = null;
        let settled;
        this.launch();
        try {
            if (await this.listening()) {
                await this.story();
                if (baseline) await this.judgeDescriptors(baseline);
                else settled = await this.settle();
                await this.stop();
            }
            this.judgeRest();
        } catch (err) {
            if (!(err instanceof Violation)) throw err;
            // Keeper and vault were dead at the same time: nobody was left who could go on.
            problem = this.strike.headless && this.keeperDown && this.fired() ? null : `${err.message}${this.ends()}`;
        } finally {
            await this.cleanUp();
        }
        const fired = this.fired();
        const started = this.port > 0;
        if (!problem && !started && !fired) problem = 'it did not start';
        const crashes = (this.output.match(/was killed by SIG(?!KILL)\w+|ended with code [1-9]/g) ?? []).length;
        fs.rmSync(this.dir, { recursive: true, force: true });
        return { problem, fired, started, crashes, settled, log: this.output, ms: Date.now() - this.began, refusals: this.refusals, retries: this.retries };
    }

    /** What viewers have heard of the end of processes: the cause of many a violation. */
    ends() {
        const heard = this.followers.filter((f) => f.exit).map((f) => `; ${f.id} ended: ${JSON.stringify(f.exit)}`);
        return heard.join('') + (this.fired() ? '' : '; nothing was struck yet');
    }

    async settle() {
        let last = '';
        await this.until(async () => {
            const now = JSON.stringify(this.descriptors());
            await turn(50);
            const same = now === last;
            last = now;
            return same;
        }, 'descriptors to settle');
        return JSON.parse(last);
    }

    async cleanUp() {
        this.stopping = true;
        for (const f of this.followers) f.ws?.terminate();
        if (this.exited) return;
        for (const pid of this.everybody()) {
            try {
                process.kill(pid, 'SIGKILL');
            } catch {
                // gone
            }
        }
        await this.exit;
    }

    /** The daemon and what it started: all descendants of the injector, which adopts orphans. */
    everybody() {
        const all = [];
        const queue = this.children(this.child.pid);
        while (queue.length > 0) {
            const pid = queue.shift();
            all.push(pid);
            queue.push(...this.children(pid));
        }
        return all;
    }
}

/** A folder with two binaries that differ in nothing but their inode. */
export function prepare(build) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-matrix-'));
    const binaries = ['first', 'second'].map((name) => path.join(dir, name));
    for (const b of binaries) fs.copyFileSync(path.join(build, 'faults/holdfast'), b);
    fs.chmodSync(dir, 0o755);
    const tool = (name) => path.resolve(build, 'faults', name);
    return { dir, binaries, inject: tool('inject'), program: tool('program') };
}
