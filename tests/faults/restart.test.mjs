// SPDX-License-Identifier: Apache-2.0
// The daemon is stopped and started, and its launcher and its vault are killed. Processes live on.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from '../lib/test.mjs';
import { cli, fails, ok } from '../lib/cli.mjs';
import { binary, daemonFor } from '../lib/daemon.mjs';
import { Flood } from '../lib/flood.mjs';
import * as proc from '../lib/proc.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const address = (d) => d.urls[0].replace(/^https?:\/\//, '');
const keep = (d) => ok(null, ['stop', '--keep', '--listen', address(d)]);
const options = { fdBaseline: false, gateway: false };

test('stop --keep and serve under floods: no byte is lost, exits are exact', () =>
    daemonFor({ ...options }, async (d) => {
        const times = scaled(200, 4);
        const flood = await Flood.start(d, scaled(20, 6));
        flood.mayBeRefused = true;
        const vault = d.vaultPid();
        const ends = [];
        const gaps = [];
        let vaultFds;
        for (let i = 0; i < times; i++) {
            const json = { command: `read go; echo done; exit ${i + 1}`, shell: true, pty: i % 2 ? true : undefined, stdin: i % 2 ? undefined : 'pipe' };
            ends.push((await flood.retry(() => d.request('POST', '/v1/processes', { json }))).json.id);
            // One ends while nobody serves.
            const early = (await flood.retry(() => d.request('POST', '/v1/processes', { json: { command: 'sh', args: ['-c', 'while [ ! -e "$0" ]; do sleep 0.02; done; exit 77', `${d.dir}/go${i}`] } }))).json;
            const began = performance.now();
            assert.match(await keep(d), /^stopped; \d+ processes still running; "holdfast serve" picks them up, "holdfast stop" terminates them\n$/);
            assert.deepEqual(await d.left(), { code: 0, signal: null });
            fs.writeFileSync(`${d.dir}/go${i}`, '');
            await waitUntil(() => proc.stat(early.pid)?.state === 'Z', 'the exit of one that nobody looks after');
            flood.mark(); // how long nobody serves is the person's decision
            await d.again();
            gaps.push(performance.now() - began);
            assert.equal(d.vaultPid(), vault, 'the same vault');
            assert.match(d.stderr, /^picked up \d+ processes$/m);
            assert.equal((await d.exitOf(early.id)).exit_code, 77);
            await flood.moved(60000);
            if (i === 1) vaultFds = d.fdCounts().vault;
        }
        for (const [i, id] of ends.entries()) {
            await d.api('POST', `/v1/processes/${id}/input`, { json: { data: 'go\n' }, expect: 200 });
            const p = await d.exitOf(id);
            assert.deepEqual([p.exit_code, p.exit.kind], [i + 1, 'exited']);
            assert.match((await d.output(id)).toString(), /done\r?\n$/);
            await d.remove(id);
        }
        gaps.sort((a, b) => a - b);
        report(`${times} × stop --keep and serve; away for ${gaps[gaps.length >> 1].toFixed(0)} ms (median)`);
        flood.report(`${times} × stop --keep and serve`);
        await flood.stop();
        await d.removeAll();
        await waitUntil(() => d.fdCounts().vault <= vaultFds, 'the vault holds no more than before');
    }));

test('kill -9 of the launcher: the daemon serves on, and the next serve is its launcher', () =>
    daemonFor({ ...options }, async (d) => {
        const p = await d.sh('read x; exit 5', { stdin: 'pipe' });
        const done = await d.sh('echo was here; exit 4');
        await d.exitOf(done.id);
        const [vault, worker] = [d.vaultPid(), d.workerPid()];
        process.kill(d.pid, 'SIGKILL');
        await d.left();
        assert.equal((await d.request('GET', '/v1/info', { agent: false })).status, 200, 'it serves without a launcher');
        assert.equal(d.workerPid() ?? worker, worker);
        await d.again();
        assert.equal(d.vaultPid(), vault);
        assert.match(d.stderr, /^picked up 1 process$/m);
        assert.equal((await d.get(done.id)).exit_code, 4);
        assert.equal((await d.output(done.id)).toString(), 'was here\n');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x\n' }, expect: 200 });
        assert.equal((await d.exitOf(p.id)).exit_code, 5);
    }));

test('a second serve at the same address is refused, and nothing is changed', () =>
    daemonFor({ ...options }, async (d) => {
        const worker = d.workerPid();
        const port = d.port;
        for (const listen of [`127.0.0.1:${port}`, `localhost:${port}`]) {
            const r = await fails(null, 1, new RegExp(`already running at 127\\.0\\.0\\.1:${port} \\(pid ${d.pid}\\); "holdfast restart`), ['serve', '--listen', listen, '--token-file', d.tokenFile]);
            assert.equal(r.text, '');
        }
        assert.equal(d.workerPid(), worker);
    }));

test('serve with other options picks up as well: tokens, addresses and the working directory are the new ones', () =>
    daemonFor({ ...options, listen: ['unix:DIR/sock'] }, async (d) => {
        const p = await d.request('POST', '/v1/processes', { json: { command: 'cat', stdin: 'pipe' } });
        assert.equal(p.status, 201, p.text);
        await keep(d);
        await d.left();
        const token = 'another-token-of-forty-characters-and-more';
        fs.writeFileSync(d.tokenFile, `${token}\n`);
        fs.mkdirSync(`${d.dir}/sub`);
        d.options.args = ['--listen', '127.0.0.1:0', '--event-log-bytes', '16384'];
        await d.again();
        await waitUntil(() => (d.stdout.match(/listening on/g) ?? []).length === 2, 'both addresses');
        const url = d.stdout.match(/listening on (http:\S+)/)[1];
        const ask = (t) => fetch(`${url}/v1/processes`, { headers: { Authorization: `Bearer ${t}` } });
        assert.equal((await ask(d.token)).status, 401, 'the old token');
        const answer = await ask(token);
        assert.equal(answer.status, 200);
        assert.deepEqual((await answer.json()).processes.map((x) => [x.id, x.status]), [[p.json.id, 'running']]);
        d.token = d.tokens.own = token;
    }));

test('a serve that cannot start leaves everything as it was', () =>
    daemonFor({ ...options }, async (d) => {
        await d.sh('sleep 1000');
        const worker = d.workerPid();
        process.kill(d.pid, 'SIGKILL');
        await d.left();
        const args = ['serve', '--listen', address(d), '--token-file', `${d.dir}/none`];
        await fails(null, 1, /keep running/, args);
        assert.equal(d.workerPid(), worker, 'who served goes on serving');
        await keep(d);
        await fails(null, 1, /processes \(1\) keep running/, args);
        await d.again();
        assert.equal((await d.list()).length, 1);
    }));

test('restart puts the binary at the daemon’s path in place, or says that it cannot', async () => {
    const d = await new (await import('../lib/daemon.mjs')).Daemon({ ...options }).prepare();
    const at = `${d.dir}/holdfast`;
    const place = (write) => {
        write(`${at}.new`);
        fs.chmodSync(`${at}.new`, 0o755);
        fs.renameSync(`${at}.new`, at);
        return fs.statSync(at).ino;
    };
    place((to) => fs.copyFileSync(binary(), to));
    d.options.bin = at;
    await d.start();
    try {
        const p = await d.sh('sleep 1000');
        const args = ['restart', '--listen', address(d)];
        const ino = place((to) => fs.copyFileSync(binary(), to));
        // Beside load, a good binary may be given up as one that hangs.
        const late = /keeps running the old binary: the one at its path did not serve in time; try again, or see its log/;
        await waitUntil(async () => {
            const r = await cli(null, args);
            assert.match(r.code === 0 ? r.text : r.stderr, r.code === 0 ? /^restarted; 1 process kept running\n$/ : late);
            return r.code === 0;
        }, 'the restart', 60000);
        assert.equal(fs.statSync(`/proc/${d.keeperPid()}/exe`).ino, ino);
        place((to) => fs.writeFileSync(to, '#!/bin/sh\necho not me >&2\nexit 1\n'));
        await fails(null, 1, /keeps running the old binary: the one at its path cannot take over; see its log/, args);
        assert.match(d.stderr, /cannot take over: not me; nothing has changed/);
        // It passes its trial and ends in the keeper's place.
        place((to) => fs.writeFileSync(to, `#!/bin/sh\n[ "$1" = upgrade-check ] || exit 3\nexec ${binary()} "$@"\n`));
        await fails(null, 1, /keeps running the old binary/, args);
        assert.match(d.stderr, /the new binary did not start; continuing with the old one/);
        assert.equal(fs.statSync(`/proc/${d.keeperPid()}/exe`).ino, ino);
        // And one that hangs there. The next try has the same outcome, and the old binary goes on.
        place((to) => fs.writeFileSync(to, `#!/bin/sh\n[ "$1" = upgrade-check ] || exec sleep 1000\nexec ${binary()} "$@"\n`));
        for (let i = 0; i < 2; i++) await fails(null, 1, late, args);
        assert.match(d.stderr, /does not serve after \d+ ms; try again[^]*continuing with the old one/);
        assert.equal(fs.statSync(`/proc/${d.keeperPid()}/exe`).ino, ino);
        assert.equal((await d.get(p.id)).status, 'running');
        place((to) => fs.copyFileSync(binary(), to));
        await keep(d);
        await fails(null, 1, /is stopped, and its processes keep running; start it with holdfast serve/, args);
        await d.left();
        await d.again();
    } finally {
        await d.stop();
    }
});

test('an order to stop outlives the keeper that was given it', () =>
    daemonFor({ ...options, args: ['--grace-ms', '500'] }, async (d) => {
        await d.sh('trap "" TERM; while :; do sleep 0.05; done');
        const keeper = d.keeperPid();
        process.kill(d.pid, 'SIGTERM');
        await waitUntil(() => /keeper: stopping/.test(d.stderr), 'the order');
        process.kill(keeper, 'SIGKILL');
        assert.deepEqual(await within(d.exit, 20000, 'the end'), { code: 0, signal: null });
    }));

test('kill -9 of the vault: keeper, launcher and processes go on, and the launcher still ends them', () =>
    daemonFor({ ...options }, async (d) => {
        // Of two keepers: the first one's children went to the vault.
        const inherited = await d.sh('trap "exit 0" USR1; echo up; while :; do sleep 0.02; done');
        const early = await d.sh('trap "exit 0" USR1; echo up; while :; do sleep 0.02; done');
        for (const p of [inherited, early]) await d.outputHas(p.id, 'up');
        const first = d.keeperPid();
        process.kill(first, 'SIGKILL');
        await waitUntil(() => d.keeperPid() && d.keeperPid() !== first && d.workerPid(), 'the next keeper');
        d.agent.destroy();
        const own = await waitUntil(() => d.sh('trap "exit 9" USR1; echo up; while :; do sleep 0.02; done'), 'its worker');
        await d.outputHas(own.id, 'up');
        const keeper = d.keeperPid();
        process.kill(d.vaultPid(), 'SIGKILL');
        await waitUntil(() => /the vault has died; the daemon keeps serving/.test(d.stderr), 'the launcher to say so');
        await waitUntil(() => /keeper: the vault is lost/.test(d.stderr), 'the keeper to say so');
        assert.equal((await d.list()).filter((p) => p.status === 'running').length, 3);
        for (const p of [early, own]) process.kill(p.pid, 'SIGUSR1');
        const lost = await d.exitOf(early.id);
        assert.deepEqual([lost.exit.kind, lost.exit_code], ['lost', null]);
        const exact = await d.exitOf(own.id);
        assert.deepEqual([exact.exit.kind, exact.exit_code], ['exited', 9]);
        assert.ok(proc.isAlive(d.pid) && proc.isAlive(keeper));
        const none = await cli(null, ['stop', '--listen', address(d)]);
        assert.equal(none.code, 1);
        assert.match(none.stderr, /no daemon of this user is running at/);
        process.kill(d.pid, 'SIGTERM');
        assert.deepEqual(await within(d.exit, 20000, 'the end'), { code: 0, signal: null });
        assert.ok(!proc.isAlive(inherited.pid));
    }));

const hasNetns = process.getuid() === 0 && spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
test('port 0 does not pick up what another daemon has left', { skip: !hasNetns && 'needs a network of its own' }, () => {
    const script = fileURLToPath(new URL('ports/held_port.mjs', import.meta.url));
    const r = spawnSync('unshare', ['-n', process.execPath, script, binary()], { encoding: 'utf8', timeout: 60000 });
    assert.equal(r.status, 0, r.stderr);
    assert.deepEqual([...new Set(r.stdout.trim().split('\n'))], ['other: another port nothing', 'again: picked up 1 process']);
});
