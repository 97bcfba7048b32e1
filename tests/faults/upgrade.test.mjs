// SPDX-License-Identifier: Apache-2.0
// Another binary is put in place while processes run: they and their streams go on.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { test } from '../lib/test.mjs';
import { promisify } from 'node:util';
import { Viewer } from '../lib/client.mjs';
import { Daemon, binary } from '../lib/daemon.mjs';
import { Flood } from '../lib/flood.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { scaled } from '../lib/scale.mjs';
import { holdsFor, randomMoment, waitUntil } from '../lib/wait.mjs';

const run = promisify(execFile);

/** A daemon started from a copy, so that the copy can be replaced. */
async function fromCopy(body, options = {}) {
    const d = new Daemon(options).prepare();
    const at = `${d.dir}/holdfast`;
    fs.copyFileSync(binary(), at);
    d.options.bin = at;
    d.place = (write) => {
        write(`${at}.new`);
        fs.chmodSync(`${at}.new`, 0o755);
        fs.renameSync(`${at}.new`, at);
        return fs.statSync(at).ino;
    };
    // Bytes behind the end of an ELF file change nothing but the file.
    d.placeOther = (n) =>
        d.place((to) => {
            fs.copyFileSync(binary(), to);
            fs.appendFileSync(to, `another build ${n}`);
        });
    d.runs = (ino) => fs.statSync(`/proc/${d.pid}/exe`).ino === ino;
    await d.start();
    let failure;
    try {
        await body(d);
    } catch (err) {
        failure = err;
        err.message += `\n--- daemon's log ---\n${d.stderr.slice(-2500)}`;
        throw err;
    } finally {
        await d.stop().catch((err) => {
            if (!failure) throw err;
        });
    }
}

const ways = {
    SIGHUP: async (d) => process.kill(d.pid, 'SIGHUP'),
    'POST /v1/upgrade': async (d) =>
        assert.equal((await d.request('POST', '/v1/upgrade', { agent: false })).status, 202),
    'holdfast upgrade': async (d) => {
        const own = `${d.dir}/own`;
        fs.writeFileSync(own, `${d.token}\n`, { mode: 0o600 });
        await run(binary(), ['upgrade', '--url', d.url, '--token-file', own]);
    },
};

for (const [name, ask] of Object.entries(ways)) {
    test(`${name} puts the new binary in place`, () =>
        fromCopy(async (d) => {
            const p = await d.sh('trap "exit 33" USR1; echo started; while :; do sleep 0.02; done', {
                tag: 'through',
                pty: true,
            });
            const done = await d.sh('echo was here; exit 4');
            await d.exitOf(done.id);
            await d.outputHas(p.id, 'started');
            // Whether it waits for input is found out a little later, and is no matter of the upgrade.
            await waitUntil(async () => (await d.get(p.id)).echo_off !== null, 'the first look at the terminal');
            const before = await d.get(p.id);
            const worker = d.workerPid();
            const ino = d.placeOther(1);
            await ask(d);
            d.agent.destroy();
            await waitUntil(() => d.runs(ino), 'the keeper to run the new binary');
            await d.nextWorker(worker);
            d.agent.destroy();
            assert.ok(proc.exists(d.pid), 'same pid');
            assert.deepEqual(await d.get(p.id), before);
            assert.equal((await d.get(done.id)).exit_code, 4);
            assert.equal((await d.output(done.id)).toString(), 'was here\n');
            await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'USR1' }, expect: 200 });
            assert.equal((await d.exitOf(p.id)).exit_code, 33);
            assert.equal(
                (await d.api('POST', '/v1/processes/run', { json: { command: 'echo', args: ['new'] }, expect: 200 }))
                    .json.stdout,
                'new\n',
            );
            // The token is still the token, and still nowhere to be seen.
            assert.equal((await d.request('GET', '/v1/info', { role: null })).status, 401);
            assert.ok(!(proc.environ(d.pid) ?? []).join('\n').includes(d.token));
        }));
}

/*
 * The kernel kills at birth whoever is put into a cgroup that was killed once. The
 * keeper knew that of its cgroups, and forgot it when it executed another binary.
 */
test('whoever is born after an upgrade does not die of what was killed before it', () =>
    fromCopy(async (d) => {
        const alive = async () => {
            const { json } = await d.api('POST', '/v1/processes/run', { json: { command: 'echo', args: ['alive'] } });
            assert.deepEqual([json.exit.kind, json.stdout], ['exited', 'alive\n']);
        };
        const p = await d.sh('sleep 300 >/dev/null 2>&1 & echo $!');
        await d.exitOf(p.id);
        const left = Number(await d.output(p.id));
        await alive(); // behind it the keeper has seen that somebody is left
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'KILL', target: 'tree' }, expect: 200 });
        await waitUntil(() => !proc.exists(left), 'the end of what was left');
        const worker = d.workerPid();
        const ino = d.placeOther(1);
        process.kill(d.pid, 'SIGHUP');
        await waitUntil(() => d.runs(ino), 'the new binary');
        await d.nextWorker(worker);
        d.agent.destroy();
        await d.api('DELETE', `/v1/processes/${p.id}`, { expect: 200 });
        for (let i = 0; i < 3; i++) await alive();
    }));

test('twenty floods go on over upgrades', () =>
    fromCopy(async (d) => {
        const random = seededRandom(runSeed());
        const flood = await Flood.start(d, 20);
        const times = scaled(50, 6);
        const exits = [];
        for (let i = 0; i < times; i++) {
            exits.push({ code: i + 1, id: (await d.sh(`sleep 0.0${i % 10}; exit ${i + 1}`)).id });
            const worker = d.workerPid();
            const ino = d.placeOther(i);
            await randomMoment(random, 50);
            flood.mark();
            process.kill(d.pid, 'SIGHUP');
            await waitUntil(() => d.runs(ino), 'the new binary', 10000, 2);
            await d.nextWorker(worker);
            d.agent.destroy();
            await flood.moved(60000);
        }
        for (const e of exits) assert.equal((await d.exitOf(e.id)).exit_code, e.code);
        flood.report(`${times} upgrades`);
        await flood.stop();
    }));

test('who is cut off by an upgrade has not left: on_detach waits for the return', () =>
    fromCopy(async (d) => {
        const kinds = ['kill', { kill_after_ms: 1 }];
        const all = [];
        for (const on_detach of kinds) {
            const p = await d.sh('echo on; exec sleep 300', { pty: true, on_detach });
            const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
            await v.outputHas('on');
            all.push({ p, v });
        }
        const worker = d.workerPid();
        d.placeOther(1);
        process.kill(d.pid, 'SIGHUP');
        await d.nextWorker(worker);
        d.agent.destroy();
        for (const { p, v } of all) {
            await v.closed;
            const back = await Viewer.attach(d, p.id, { query: { since: '0' } });
            assert.equal((await d.get(p.id)).status, 'running');
            assert.equal((await d.get(p.id)).pid, p.pid);
            back.cut();
            assert.equal((await d.exitOf(p.id)).exit.by, 'detach', 'and now nobody is there');
        }
    }));

test('a binary that cannot take over is refused, and the old one goes on', () =>
    fromCopy(async (d) => {
        const p = await d.sh('sleep 300');
        const old = fs.statSync(`/proc/${d.pid}/exe`).ino;
        const bad = {
            'no program': (to) => fs.writeFileSync(to, 'not a program\n'),
            'a script': (to) => fs.writeFileSync(to, '#!/bin/sh\nexit 1\n'),
            'another program': (to) => fs.copyFileSync('/bin/cat', to),
            'a program that says no': (to) => fs.copyFileSync('/bin/false', to),
            'a program that says yes to everything': (to) => fs.copyFileSync('/bin/true', to),
        };
        for (const [name, write] of Object.entries(bad)) {
            d.place(write);
            const before = d.stderr.length;
            process.kill(d.pid, 'SIGHUP');
            await waitUntil(() => /(WARN|ERROR).*upgrade/i.test(d.stderr.slice(before)), `a word about it (${name})`);
            assert.ok(d.runs(old), name);
            assert.equal((await d.get(p.id)).status, 'running');
        }
        fs.rmSync(d.options.bin);
        process.kill(d.pid, 'SIGHUP');
        await holdsFor(300, () => d.runs(old) && proc.isAlive(p.pid), 'the old one goes on');
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    }));
