// SPDX-License-Identifier: Apache-2.0
// systemd's part is played: NOTIFY_SOCKET, and the lines of the unit in deploy/ in the order in which systemd runs them.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from '../lib/test.mjs';
import { cliEnv } from '../lib/cli.mjs';
import { compile } from '../lib/compile.mjs';
import { binary, daemonFor, root } from '../lib/daemon.mjs';
import { Exits } from '../lib/exits.mjs';
import { Flood } from '../lib/flood.mjs';
import * as proc from '../lib/proc.mjs';
import { scaled } from '../lib/scale.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const unit = Object.fromEntries(
    [...fs.readFileSync(path.join(root, 'deploy/holdfast.service'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map((m) => [m[1], m[2]]),
);
const source = fileURLToPath(new URL('../lib/notifybox.c', import.meta.url));

/** What systemd would be told, at this name. */
class Manager {
    constructor(name) {
        this.text = '';
        this.child = spawn(compile('notifybox', [source], ['-O1']), [name]);
        this.child.stdout.on('data', (d) => (this.text += d));
    }

    async hears(pattern) {
        await waitUntil(() => pattern.test(this.text), `the manager to hear ${pattern}; it heard ${this.text}`);
        this.text = this.text.replace(pattern, '');
    }

    end() {
        this.child.stdin.end();
    }
}

async function managed(name, options, body) {
    await daemonFor({ fdBaseline: false, gateway: false, ...options }, async (d) => {
        const m = new Manager(name.replace('DIR', d.dir));
        await m.hears(/^bound\n/);
        d.options.env = { NOTIFY_SOCKET: name.replace('DIR', d.dir) };
        try {
            // Only now with a manager: the directory is made by the start.
            spawnSync(binary(), ['stop', '--keep', '--listen', `127.0.0.1:${d.port}`], { env: cliEnv(null) });
            await d.left();
            await d.again();
            await m.hears(/READY=1 STATUS=serving\n/);
            await body(d, m);
        } finally {
            m.end();
        }
    });
}

/** The line as systemd runs it, with a systemctl that knows of these jobs. */
async function execStop(d, { job = 'stop', mainpid = d.pid } = {}) {
    const bin = `${d.dir}/bin`;
    fs.mkdirSync(bin, { recursive: true });
    fs.writeFileSync(`${bin}/systemctl`, `#!/bin/sh\necho "$@" > ${d.dir}/asked\necho "1234 holdfast.service ${job} running"\n`, { mode: 0o755 });
    const [, script] = /^-\/bin\/sh -c '([^']*)' \/usr\/local\/bin\/holdfast %n$/.exec(unit.ExecStop);
    const line = script.replaceAll('$$', '$').replace('127.0.0.1:7070', `127.0.0.1:${d.port}`);
    const env = cliEnv(null, { PATH: `${bin}:${process.env.PATH}`, ...(mainpid ? { MAINPID: String(mainpid) } : {}) });
    const child = spawn('/bin/sh', ['-c', line, binary(), 'holdfast.service'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const s of [child.stdout, child.stderr]) s.on('data', (b) => (said += b));
    const code = await within(new Promise((done) => child.once('close', done)), 30000, 'ExecStop to end');
    return { code, said };
}

test('ready, reloading and stopping are told, at an abstract socket; children do not see it', () =>
    managed(`@hf-notify-${process.pid}`, {}, async (d, m) => {
        const env = (await d.api('POST', '/v1/processes/run', { json: { command: 'env' }, expect: 200 })).json.stdout;
        assert.doesNotMatch(env, /NOTIFY_SOCKET/);
        process.kill(d.pid, 'SIGHUP');
        await m.hears(/RELOADING=1 MONOTONIC_USEC=\d+\n/);
        await m.hears(/READY=1/);
        process.kill(d.pid, 'SIGTERM');
        await m.hears(/STOPPING=1\n/);
        assert.deepEqual(await within(d.exit, 20000, 'the end'), { code: 0, signal: null });
    }));

test('a reload that is refused is over, too', () =>
    managed('DIR/notify', {}, async (d, m) => {
        const at = `${d.dir}/holdfast`;
        fs.copyFileSync(binary(), at);
        fs.chmodSync(at, 0o755);
        spawnSync(binary(), ['stop', '--keep', '--listen', `127.0.0.1:${d.port}`], { env: cliEnv(null) });
        await d.left();
        await m.hears(/STOPPING=1\n/);
        d.options.bin = at;
        await d.again();
        await m.hears(/READY=1/);
        fs.writeFileSync(`${at}.new`, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
        fs.renameSync(`${at}.new`, at);
        process.kill(d.pid, 'SIGHUP');
        await m.hears(/RELOADING=1/);
        await m.hears(/READY=1/);
        assert.match(d.stderr, /cannot take over; nothing has changed/);
    }));

test('systemctl restart keeps everything, systemctl stop ends it', () =>
    managed('DIR/notify', {}, async (d, m) => {
        const times = scaled(200, 3);
        const flood = await Flood.start(d, scaled(20, 6));
        flood.mayBeRefused = true;
        const exits = new Exits(d, (request) => flood.retry(request));
        const pids = (await d.list()).map((p) => p.pid);
        for (let i = 0; i < times; i++) {
            await exits.whenTold();
            flood.mark();
            // systemd sends SIGTERM to a main process that is still there when ExecStop has ended.
            process.kill(d.pid, 'SIGSTOP');
            const r = await execStop(d, { job: 'restart' });
            process.kill(d.pid, 'SIGTERM');
            process.kill(d.pid, 'SIGCONT');
            assert.deepEqual([r.code, /^stopped; \d+ processes still running/.test(r.said)], [0, true], r.said);
            assert.match(fs.readFileSync(`${d.dir}/asked`, 'utf8'), /^list-jobs .*holdfast\.service$/m);
            assert.deepEqual(await d.left(), { code: 0, signal: null });
            await m.hears(/STOPPING=1\n/);
            const ended = exits.tell(); // before somebody serves, or just then
            await d.again(); // ExecStart
            await ended;
            await m.hears(/READY=1/);
            await flood.moved(60000);
        }
        await exits.check();
        assert.deepEqual((await d.list()).map((p) => p.pid), pids);
        flood.report(`${times} × systemctl restart`);
        await flood.stop();
        const p = await d.sh('sleep 1000');
        const r = await execStop(d);
        assert.deepEqual([r.code, r.said], [0, 'stopped; 1 process terminated\n']);
        assert.deepEqual(await within(d.exit, 20000, 'the end'), { code: 0, signal: null });
        assert.ok(!proc.isAlive(p.pid));
    }));

test('a main process that was killed or has left: ExecStop ends nothing, and the next start picks up', () =>
    managed('DIR/notify', {}, async (d, m) => {
        const p = await d.sh('sleep 1000');
        process.kill(d.pid, 'SIGKILL');
        await d.left();
        assert.deepEqual(await execStop(d, { mainpid: null }), { code: 0, said: '' });
        assert.equal((await d.request('GET', '/v1/info', { agent: false })).status, 200, 'it serves on');
        await d.again();
        await m.hears(/READY=1/);
        assert.equal((await d.get(p.id)).status, 'running');
    }));
