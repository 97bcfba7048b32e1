// SPDX-License-Identifier: Apache-2.0
// What a person means by Ctrl-C, a closed terminal, SIGTERM, stop and restart.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it, describe, before, after, test } from '../lib/test.mjs';
import { cli, cliEnv, fails, ok } from '../lib/cli.mjs';
import { binary, daemonFor } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { Pty } from '../lib/pty.mjs';
import { holdsFor, waitUntil, within } from '../lib/wait.mjs';

const CTRL_C = '\x03';
const TOKEN = 'a-token-of-forty-characters-for-these-tests';

/** A daemon on a terminal, at a unix socket in a directory of its own. */
class OnTerminal {
    constructor() {
        this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-stop-'));
        this.address = `unix:${this.dir}/sock`;
        fs.writeFileSync(`${this.dir}/tokens`, `${TOKEN}\n`, { mode: 0o600 });
        this.d = { url: this.address, token: TOKEN };
        this.pids = [];
    }

    async serve(args = []) {
        this.t = new Pty(binary(), ['serve', '--listen', this.address, '--token-file', `${this.dir}/tokens`, '--grace-ms', '500', ...args], {
            env: cliEnv(null, { HOME: this.dir, TMPDIR: this.dir }),
        });
        await this.t.shows('listening on unix:');
        this.launcher = await this.t.pid();
        return this.t;
    }

    /** One process; its pid. */
    async run(...command) {
        const id = (await ok(this.d, ['run', '-d', ...command])).trim();
        const [p] = (await this.list()).filter((x) => x.id === id);
        this.pids.push(p.pid);
        return p.pid;
    }

    async list() {
        return JSON.parse(await ok(this.d, ['ps', '--json', '--all']));
    }

    stop(...args) {
        return cli(null, ['stop', '--listen', this.address, ...args]);
    }

    isRunning() {
        return this.stop('--keep').then((r) => r.code === 0);
    }

    async end() {
        await this.stop();
        await this.t?.close().catch(() => this.t.destroy());
        for (const pid of this.pids) assert.ok(!proc.isAlive(pid), `${pid} is left`);
        fs.rmSync(this.dir, { recursive: true, force: true });
    }
}

async function onTerminal(body) {
    const o = new OnTerminal();
    try {
        await body(o);
    } finally {
        await o.end();
    }
}

/** Before or behind the addresses, which the worker prints. */
const pickedUp = (t, n) => waitUntil(() => new RegExp(`picked up ${n} process(es)?\r\n`).test(t.text), 'the launcher to say what it picked up');

const HELD = /2 processes still running; "holdfast serve" picks them up, "holdfast stop" terminates them\.\r\nPress Ctrl-C again to terminate them now\./;

test('Ctrl-C without processes ends the daemon', () =>
    onTerminal(async (o) => {
        const t = await o.serve();
        await ok(o.d, ['run', 'true']); // one that has ended is no reason to stay
        t.type(CTRL_C);
        assert.equal(await t.exit(), 'exit 0');
        assert.doesNotMatch(t.text, /still running/);
        assert.equal((await o.stop()).code, 1);
    }));

test('Ctrl-C with processes: they live, and serve picks them up', () =>
    onTerminal(async (o) => {
        let t = await o.serve();
        const pids = [await o.run('sleep', '1000'), await o.run('sleep', '1001')];
        const ids = (await o.list()).map((p) => p.id);
        t.type(CTRL_C);
        await t.shows(HELD);
        assert.equal(await t.exit(), 'exit 0');
        await t.close();
        assert.ok(pids.every(proc.isAlive));
        assert.equal((await cli(o.d, ['ps'])).code, 125, 'nobody serves');
        t = await o.serve();
        await pickedUp(t, 2);
        assert.deepEqual((await o.list()).map((p) => p.id), ids);
        // The greeting is for every person that starts it.
        assert.match(t.text, /To list processes: /);
        const r = await o.stop();
        assert.deepEqual([r.code, r.text], [0, 'stopped; 2 processes terminated\n']);
        assert.equal(await t.exit(), 'exit 0');
    }));

test('a second Ctrl-C ends the processes in order', () =>
    onTerminal(async (o) => {
        const t = await o.serve();
        await o.run('sh', '-c', `trap 'echo bye > ${o.dir}/bye; exit' TERM; while :; do sleep 0.02; done`);
        await o.run('sleep', '1001');
        t.type(CTRL_C);
        await t.shows(HELD);
        t.type(CTRL_C);
        assert.equal(await t.exit(), 'exit 0');
        assert.ok(fs.existsSync(`${o.dir}/bye`), 'it was asked before');
        assert.ok(!o.pids.some(proc.isAlive));
        assert.equal((await o.stop()).code, 1, 'nothing is held');
    }));

test('SIGINT from a program that passes Ctrl-C on is the same Ctrl-C; by itself it ends everything', () =>
    onTerminal(async (o) => {
        let t = await o.serve();
        await o.run('sleep', '1000');
        await o.run('sleep', '1001');
        t.type(CTRL_C);
        await t.shows(HELD);
        t.signal(2);
        assert.equal(await t.exit(), 'exit 0');
        await t.close();
        assert.ok(o.pids.every(proc.isAlive));
        t = await o.serve();
        await pickedUp(t, 2);
        t.signal(2);
        assert.equal(await t.exit(), 'exit 0');
        assert.ok(!o.pids.some(proc.isAlive));
    }));

test('a terminal that hangs up takes the launcher along and nothing else', () =>
    onTerminal(async (o) => {
        let t = await o.serve();
        const pid = await o.run('sleep', '1000');
        t.tell('hangup');
        await waitUntil(() => !proc.isAlive(o.launcher), 'the launcher to leave');
        assert.equal((await o.list()).length, 1, 'the daemon serves on');
        assert.ok(proc.isAlive(pid));
        await t.close();
        t = await o.serve();
        await pickedUp(t, 1);
        assert.equal((await o.list())[0].pid, pid);
    }));

test('SIGTERM ends everything in order, a second one at once', () =>
    onTerminal(async (o) => {
        let t = await o.serve(['--grace-ms', '60000']);
        await o.run('sh', '-c', `trap 'echo bye > ${o.dir}/bye; exit' TERM; while :; do sleep 0.02; done`);
        t.signal(15);
        assert.equal(await t.exit(), 'exit 0');
        assert.ok(fs.existsSync(`${o.dir}/bye`));
        await t.close();
        t = await o.serve(['--grace-ms', '60000']);
        await o.run('sh', '-c', 'trap "" TERM; while :; do sleep 0.02; done');
        t.signal(15);
        await t.shows('worker: stopping');
        await holdsFor(100, () => proc.isAlive(o.launcher), 'the grace lasts');
        t.signal(15);
        assert.equal(await t.exit(), 'exit 0');
    }));

test('another serve takes over while the first one waits for a second Ctrl-C', () =>
    onTerminal(async (o) => {
        const t = await o.serve();
        await o.run('sleep', '1000');
        await o.run('sleep', '1001');
        t.type(CTRL_C);
        await t.shows(HELD);
        const second = await o.serve();
        await pickedUp(second, 2);
        assert.equal(await t.exit(), 'exit 0');
        await t.close();
        assert.equal((await o.list()).length, 2);
    }));

test('stop and its like: sentences and exit codes', () =>
    daemonFor({ fdBaseline: false, gateway: false, listen: ['unix:DIR/sock'] }, async (d) => {
        const at = ['--listen', d.urls[0]];
        await fails(null, 1, /^holdfast stop: no daemon of this user is running at 127\.0\.0\.1:1\n$/, ['stop', '--listen', '127.0.0.1:1']);
        await fails(null, 1, /^holdfast restart: no daemon of this user is running at \[::1\]:1\n$/, ['restart', '--listen', '[::1]:1']);
        await fails(null, 2, /not the address of a daemon: 'nonsense'/, ['stop', '--listen', 'nonsense']);
        await fails(null, 2, /not the address of a daemon: '127.0.0.1:0'/, ['stop', '--listen', '127.0.0.1:0']);
        await fails(null, 2, /unknown option '--now'/, ['stop', '--now']);
        await fails(null, 2, /unknown option '--keep'/, ['restart', '--keep']);
        for (const name of ['stop', 'restart']) assert.match(await ok(null, [name, '--help']), /--listen ADDRESS .*127\.0\.0\.1:7070/);
        assert.equal(await ok(null, ['restart', ...at]), 'restarted; 0 processes kept running\n');
        assert.equal(await ok(null, ['stop', '--keep', ...at]), 'stopped; no process was running\n');
        assert.deepEqual(await d.left(), { code: 0, signal: null });
        assert.equal(await ok(null, ['stop', '--keep', ...at]), 'stopped; no process was running\n');
        assert.equal(await ok(null, ['stop', ...at]), 'stopped; 0 processes terminated\n');
        assert.deepEqual(await within(d.exit, 10000), { code: 0, signal: null });
        await fails(null, 1, /no daemon of this user is running/, ['stop', ...at]);
    }));

test('a process that the daemon runs cannot stop it, nor one that it leaves behind', () =>
    daemonFor({ fdBaseline: false, gateway: false }, async (d) => {
        const stop = `${binary()} stop --listen 127.0.0.1:${d.port}`;
        const { json } = await d.api('POST', '/v1/processes/run', { json: { command: stop, shell: true }, expect: 200 });
        assert.equal(json.process.exit_code, 1);
        assert.match(json.stderr, /processes that it runs are not allowed to control it/);
        const p = await d.sh(`(setsid sh -c 'sleep 0.2; ${stop}; echo rc $?' 2>&1 &)`);
        await d.outputHas(p.id, 'rc 1');
        assert.equal((await d.request('GET', '/v1/info')).status, 200);
    }));

test('a daemon whose processes cannot be ended is waited for, by its grace', () =>
    daemonFor({ fdBaseline: false, gateway: false, args: ['--grace-ms', '300'] }, async (d) => {
        await d.sh('trap "" TERM; echo up; while :; do sleep 0.02; done').then((p) => d.outputHas(p.id, 'up'));
        assert.equal(await ok(null, ['stop', '--listen', `127.0.0.1:${d.port}`]), 'stopped; 1 process terminated\n');
        assert.deepEqual(await within(d.exit, 10000), { code: 0, signal: null });
    }));

/* Without --listen every daemon of the user counts, so these are in a network of their own. */
const NET = ['unshare', process.getuid() === 0 ? '-n' : '-rn'];
const noNet = spawnSync(NET[0], [NET[1], 'true']).status !== 0 && 'no network namespaces here';

describe('without --listen', { skip: noNet }, () => {
    let dir;
    const sh = (script) => {
        const env = cliEnv(null, { HOME: dir, TMPDIR: dir, hf: binary(), HOLDFAST_STATE_DIR: dir });
        const r = spawnSync(NET[0], [NET[1], 'sh', '-ec', script], { env, cwd: dir, timeout: 60000 });
        return { code: r.status, out: r.stdout.toString(), err: r.stderr.toString() };
    };
    const start = (name) => `$hf serve --listen unix:${name} > ${name}.out 2>&1 & until grep -qs listening ${name}.out; do sleep 0.02; done; `;
    before(() => (dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-stop-'))));
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('there is none', () => {
        const r = sh('$hf stop');
        assert.equal(r.code, 1);
        assert.equal(r.err, 'holdfast stop: no daemon of this user is running\n');
    });

    it('the only one is meant', () => {
        const r = sh(`${start('one')} $hf restart; $hf stop --keep; $hf stop; wait`);
        assert.deepEqual([r.code, r.out], [0, 'restarted; 0 processes kept running\nstopped; no process was running\nstopped; 0 processes terminated\n'], r.err);
    });

    it('of several, one must be named', () => {
        const r = sh(`${start('one')} ${start('two')} if $hf stop; then exit 9; fi; $hf stop --listen unix:one; $hf stop; wait`);
        assert.deepEqual([r.code, r.out], [0, 'stopped; 0 processes terminated\n'.repeat(2)], r.err);
        const names = ['one', 'two'].map((n) => `  unix:${fs.realpathSync(dir)}/${n}\n`);
        assert.match(r.err, /^holdfast stop: several daemons are running; choose one with --listen ADDRESS:\n/);
        for (const n of names) assert.ok(r.err.includes(n), r.err);
    });

    it('the usual address comes first', () => {
        const r = sh(`ip link set lo up && $hf serve > main.out 2>&1 & until grep -qs listening main.out; do sleep 0.02; done; ${start('one')} $hf stop; $hf stop; wait`);
        if (/ip: not found/.test(r.err)) return;
        assert.deepEqual([r.code, r.out], [0, 'stopped; 0 processes terminated\n'.repeat(2)], r.err);
    });
});
