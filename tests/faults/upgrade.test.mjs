// SPDX-License-Identifier: Apache-2.0
// Another binary is put in place while processes run: they and their streams go on.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { test } from '../lib/test.mjs';
import { promisify } from 'node:util';
import { Authority } from '../lib/certs.mjs';
import { Viewer } from '../lib/client.mjs';
import { Daemon, binary } from '../lib/daemon.mjs';
import { Exits } from '../lib/exits.mjs';
import { Flood } from '../lib/flood.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import * as proc from '../lib/proc.mjs';
import { scaled } from '../lib/scale.mjs';
import { holdsFor, randomMoment, waitUntil } from '../lib/wait.mjs';

const run = promisify(execFile);

const VERSION = execFileSync(binary(), ['version']).toString().split(/\s+/)[1];
const versionOf = (n) => String(n).padStart(VERSION.length, '9').slice(-VERSION.length);

/** Another build: the same length, another version, which the daemon then tells of itself. */
function otherBuild(to, n) {
    const bytes = fs.readFileSync(binary());
    const [from, into] = [VERSION, versionOf(n)].map((v) => Buffer.from(v));
    let count = 0;
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1), count++) into.copy(bytes, at);
    assert.ok(count > 0, `${binary()} does not name its version`);
    fs.writeFileSync(to, bytes);
}

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
    d.placeOther = (n) => d.place((to) => otherBuild(to, n));
    /** A script that is asked and executed in the binary's place, with the real one as $real. */
    d.placeScript = (text) =>
        d.place((to) => {
            fs.writeFileSync(to, `#!/bin/sh\nreal=${binary()}\n${text.replaceAll('DIR', d.dir)}\n`);
        });
    d.runs = (ino) => fs.statSync(`/proc/${d.keeperPid()}/exe`).ino === ino;
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

/** A new binary gets a multiple of its trial's time to serve: a trial that takes this long makes that enough beside any load. */
const SLOW_TRIAL = 'sleep 0.5; exec "$real" "$@"';
const LATE = /the new binary does not serve after \d+ ms/;

/** Asks for the binary at the daemon's path until it runs: beside load, a good one may be given up as one that hangs. */
async function takesOver(d, ino, ask = () => process.kill(d.pid, 'SIGHUP')) {
    for (;;) {
        const before = d.stderr.length;
        await ask();
        const late = () => LATE.test(d.stderr.slice(before));
        await waitUntil(() => late() || (d.keeperPid() && d.runs(ino) && /new binary serves/.test(d.stderr.slice(before))), 'the new binary', 20000, 2);
        if (!late()) return;
        await waitUntil(() => d.keeperPid() && d.workerPid(), 'the old binary', 20000);
        d.agent?.destroy();
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
            await takesOver(d, d.placeOther(1), () => ask(d));
            await d.nextWorker(worker);
            d.agent.destroy();
            assert.ok(proc.exists(d.pid), 'same pid');
            assert.equal((await d.request('GET', '/v1/info')).json.version, versionOf(1), 'and it is another build');
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
            assert.ok(!(proc.environ(d.keeperPid()) ?? []).join('\n').includes(d.token));
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
        await takesOver(d, d.placeOther(1));
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
            await takesOver(d, ino);
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
        const old = fs.statSync(`/proc/${d.keeperPid()}/exe`).ino;
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
            await waitUntil(() => /(WARN|ERROR).*upgrade.*nothing has changed/i.test(d.stderr.slice(before)), `a word about it (${name})`);
            assert.ok(d.runs(old), name);
            assert.equal((await d.get(p.id)).status, 'running');
        }
        fs.rmSync(d.options.bin);
        process.kill(d.pid, 'SIGHUP');
        await holdsFor(300, () => d.runs(old) && proc.isAlive(p.pid), 'the old one goes on');
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    }));

/** SIGHUP, until the old one has said what it thinks of it. */
async function refused(d, pattern) {
    const before = d.stderr.length;
    const said = () => d.stderr.slice(before);
    process.kill(d.pid, 'SIGHUP');
    await waitUntil(() => /error keeper: upgrade:.*nothing has changed/i.test(said()), 'a word about it', 30000);
    assert.match(said(), pattern);
}

/** SIGHUP, until a worker of whatever was executed serves. */
async function upgraded(d, pattern) {
    const worker = d.workerPid();
    const before = d.stderr.length;
    process.kill(d.pid, 'SIGHUP');
    await d.nextWorker(worker, 20000);
    if (pattern) await waitUntil(() => pattern.test(d.stderr.slice(before)), `${pattern} in the log`);
}

const alive = async (d, p) => {
    assert.ok(proc.isAlive(p.pid), 'the process lives');
    assert.equal((await d.request('GET', `/v1/processes/${p.id}`, { agent: false })).json.status, 'running');
};

/*
 * After exec the new image read options, looked for the worker's user, made the history
 * directory and read the certificate, and any of them could end it, and with it every process.
 * So it does all of that before, beside the old one.
 */
test('a candidate that could not start in the daemon’s place is refused, with its reason', () =>
    fromCopy(
        async (d) => {
            const p = await d.sh('exec sleep 300');
            const old = fs.statSync(`/proc/${d.keeperPid()}/exe`).ino;
            const worker = d.workerPid();
            const trial = (args) => `[ "$1" = upgrade-check ] || exit 70\nexec "$real" ${args}`;
            const bad = {
                'another state': [trial('upgrade-check 99 "$@"'), /version 99/],
                'an option that it does not know': [trial('"$@" --from-the-future'), /--from-the-future/],
                'a value that it does not take': [trial('"$@" --max-viewers none'), /--max-viewers/],
                'an origin that is none': [trial('"$@" --cors-origin nowhere'), /--cors-origin/],
                'a history directory that cannot be made': [trial('"$@" --history-dir DIR/not/there'), /history-dir/],
                'a certificate that cannot be used': [trial('"$@" --tls-cert DIR/tokens --tls-key DIR/tokens'), /certificate/],
                'a crash': ['kill -SEGV $$', /was killed by SIGSEGV/],
                'an exit without a word': ['exit 0', /cannot take over/],
                'records of another layout': [`exec 7</dev/null\nHOLDFAST_RESUME_FD=7 exec "$real" "$@"`, /cannot read the state/],
            };
            if (process.getuid() === 0) bad['a user that is not known'] = [trial('"$@" --worker-user nobody-knows'), /nobody-knows/];
            for (const [name, [script, reason]] of Object.entries(bad)) {
                d.placeScript(script);
                await refused(d, reason).catch((err) => assert.fail(`${name}: ${err.message}`));
                assert.ok(d.runs(old), name);
                assert.equal(d.workerPid(), worker, `${name}: the worker was not even asked to leave`);
                await alive(d, p);
            }
        },
        { fdBaseline: false },
    ));

test('a candidate that hangs in its trial is given up, and another may follow', () =>
    fromCopy(async (d) => {
        const p = await d.sh('exec sleep 300');
        const worker = d.workerPid();
        d.placeScript('exec sleep 1000');
        await refused(d, /did not finish its trial in time/);
        assert.equal(d.workerPid(), worker);
        await alive(d, p);
        const ino = d.placeOther(7);
        // The one that was given up is dead at once, but it must be found dead before.
        await waitUntil(() => {
            process.kill(d.pid, 'SIGHUP');
            return d.keeperPid() && d.runs(ino);
        }, 'the next one', 20000, 200);
        await waitUntil(async () => (await d.request('GET', '/v1/info', { agent: false }).catch(() => null))?.json?.version === versionOf(7), 'its version');
        await alive(d, p);
    }));

/*
 * The trial passes, and then, between it and the exec, the world changes. There is no old binary
 * any more, so nothing may end the new one.
 */
const later = (change, args = '"$@"') =>
    `if [ "$1" = upgrade-check ]; then ${SLOW_TRIAL}; fi\n${change}\nexec "$real" ${args}`;
/** The last byte of the state is the last of the carried bytes: they are no JSON any more. */
const breakCarry = [
    'state=/proc/self/fd/$HOLDFAST_RESUME_FD',
    'printf x | dd of=$state bs=1 seek=$(($(stat -Lc %s $state) - 1)) conv=notrunc 2>/dev/null',
].join('\n');
const stages = {
    'an unknown option': [later(':', '"$@" --from-the-future=1 --and-another one --compress'), /--from-the-future.*--and-another/s],
    'a value out of range': [later(':', '"$@" --max-viewers none'), /--max-viewers/],
    'a log level': [later(':', '"$@" --log-level loud'), /--log-level/],
    'an origin': [later(':', '"$@" --cors-origin nowhere'), /--cors-origin/],
    'half of TLS': [later(':', '"$@" --tls-cert /nowhere'), /--tls-cert/],
    'the history directory': [later('rm -r DIR/history; ln -s /nowhere/at/all DIR/history'), /history-dir/],
    'the token file': [later('rm DIR/tokens'), /token file/],
    'what was carried': [later(breakCarry), /state of the previous binary is invalid/],
};
if (process.getuid() === 0) stages['the worker’s user'] = [later(':', '"$@" --worker-user nobody-knows'), /nobody-knows/];
for (const [name, [script, reason]] of Object.entries(stages)) {
    test(`what fails after the exec ends nothing: ${name}`, () =>
        fromCopy(
            async (d) => {
                const p = await d.sh('exec sleep 300');
                d.placeScript(script);
                await upgraded(d, reason);
                await alive(d, p);
                const q = await d.sh('exit 3', {}, { agent: false });
                assert.equal((await d.exitOf(q.id)).exit_code, 3);
                assert.equal((await d.request('GET', '/v1/info', { role: null, agent: false })).status, 401);
                if (process.getuid() === 0) assert.doesNotMatch(proc.statusField(d.workerPid(), 'Uid'), /^0\b/);
            },
            { args: ['--history-dir', 'history'], fdBaseline: false },
        ));
}

/** Tokens, sockets and their dialects are all that a binary before credentials were kept hands over. */
const asOlderBinary = `${process.execPath} -e '
    const fs = require("fs"), at = "/proc/self/fd/" + process.env.HOLDFAST_RESUME_FD;
    const text = fs.readFileSync(at, "latin1");
    const known = ["retired", "tls_cert", "tls_key", "token_file", "link_key", "token_error", "tls_error", "tls",
        "worker_uid", "worker_gid", "history_dir"];
    const other = text.replace(new RegExp("\\"(" + known.join("|") + ")\\":", "g"), (key) => key.toUpperCase());
    fs.writeSync(fs.openSync(at, "r+"), other, 0, "latin1");'`;

test('what an older binary hands over is enough', () =>
    withCertificate(async (d) => {
        const p = await d.sh('exec sleep 300');
        d.placeScript(later(asOlderBinary));
        await upgraded(d);
        await alive(d, p);
        assert.equal(await subject(d), 'first');
        const told = (await byUnix(d, 'GET', '/v1/token')).json;
        assert.deepEqual([told.source, told.file, told.tls, told.tls_error], ['file', d.tokenFile, true, null]);
        assert.equal((await d.request('GET', '/v1/info', { role: 'watch', agent: false })).status, 200);
    }));

/** With TLS, a unix socket beside it, and a certificate that can be taken away. */
async function withCertificate(body) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-cert-'));
    const authority = new Authority(dir, 'test');
    const [first, second] = ['first', 'second'].map((n) => authority.issue(n, 'IP:127.0.0.1'));
    const files = { cert: path.join(dir, 'cert.pem'), key: path.join(dir, 'key.pem') };
    const put = (c) => {
        fs.writeFileSync(files.cert, c.cert);
        fs.writeFileSync(files.key, c.key);
    };
    const remove = () => Object.values(files).forEach((f) => fs.rmSync(f));
    put(first);
    try {
        await fromCopy((d) => body(d, { put, remove, second, files }), {
            args: ['--tls-cert', files.cert, '--tls-key', files.key],
            listen: ['127.0.0.1:0', 'unix:DIR/socket'],
            fdBaseline: false,
        });
    } finally {
        fs.rmSync(dir, { recursive: true, force: true });
    }
}

/** Whose certificate a new connection is shown; null: nobody answers. */
const subject = (d) =>
    new Promise((done) => {
        const c = tls.connect({ host: '127.0.0.1', port: d.port, rejectUnauthorized: false }, () => {
            done(c.getPeerCertificate().subject.CN);
            c.destroy();
        });
        c.on('error', () => done(null));
        c.setTimeout(500, () => {
            done(null);
            c.destroy();
        });
    });
const byUnix = (d, method, url, options = {}) =>
    d.request(method, url, { ...options, target: { socketPath: d.unixPath }, agent: false });

/*
 * A renewal takes the old certificate away before the new one is there. Whoever needed a new
 * worker just then had none: it ended at its start, again and again, and the unix socket was as
 * silent as the rest. And an upgrade in that moment ended the daemon and all its processes.
 */
test('a certificate that is away for a while is served from memory, over workers and upgrades', () =>
    withCertificate(async (d, { put, remove, second }) => {
        const p = await d.sh('exec sleep 300');
        assert.equal(await subject(d), 'first');
        remove();
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.equal(await subject(d), 'first');
        assert.equal((await byUnix(d, 'GET', '/healthz')).status, 200);
        const told = (await byUnix(d, 'POST', '/v1/reload')).json;
        assert.match(told.tls_error, /certificate/);
        assert.equal(await subject(d), 'first');

        const flood = await Flood.start(d, scaled(20, 4));
        const exits = new Exits(d, (request) => flood.retry(request));
        for (let i = 0; i < scaled(50, 1); i++) {
            await exits.soon();
            flood.mark();
            const ino = d.placeOther(3 + i);
            const before = d.stderr.length;
            await takesOver(d, ino);
            await waitUntil(() => /keeping the previous certificate/.test(d.stderr.slice(before)), 'a word about the certificate');
            assert.ok(d.runs(ino));
            await flood.moved(60000);
        }
        d.agent?.destroy();
        assert.equal(await subject(d), 'first');
        await exits.check();
        flood.report('upgrades without the certificate');
        await flood.stop();
        await alive(d, p);

        put(second);
        assert.equal((await byUnix(d, 'POST', '/v1/reload')).json.tls_error, null);
        assert.equal(await subject(d), 'second');
        await alive(d, p);
    }));

/*
 * The keeper holds the credentials for workers to come. A worker that was taken over must not be able to change
 * them for the next one, and a process must not get them at all.
 */
test('kept credentials are sealed, and no process inherits them', { skip: process.getuid() !== 0 && 'needs root' }, () =>
    withCertificate(async (d) => {
        const kept = () => Object.entries(proc.fds(d.keeperPid())).filter(([, to]) => to.includes('memfd:holdfast-credentials'));
        for (const step of ['start', 'upgrade', 'reload']) {
            if (step === 'upgrade') await upgraded(d);
            if (step === 'reload') await byUnix(d, 'POST', '/v1/reload');
            await waitUntil(() => kept().length === 1, `one file after the ${step}`);
            const path = `/proc/${d.keeperPid()}/fd/${kept()[0][0]}`;
            assert.throws(() => fs.writeSync(fs.openSync(path, 'r+'), '{}', 0), /EPERM/, step);
            assert.throws(() => fs.truncateSync(path, 1), /EPERM/, step);
            const { json } = await byUnix(d, 'POST', '/v1/processes/run', { json: { command: 'ls', args: ['-l', '/proc/self/fd'] } });
            assert.match(json.stdout, /pipe/);
            assert.doesNotMatch(json.stdout, /holdfast/, step);
        }
    }));

test('SIGHUP takes a renewed certificate, and connections that are open stay with theirs', () =>
    withCertificate(async (d, { put, second, files }) => {
        put(second);
        d.place((to) => fs.writeFileSync(to, 'no program')); // no upgrade: the worker stays
        const open = tls.connect({ host: '127.0.0.1', port: d.port, rejectUnauthorized: false });
        await new Promise((done) => open.once('secureConnect', done));
        process.kill(d.pid, 'SIGHUP');
        await waitUntil(async () => (await subject(d)) === 'second', 'the new certificate');
        open.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        const answer = await new Promise((done) => open.once('data', done));
        assert.match(answer.toString(), /^HTTP\/1.1 200/);
        assert.equal(open.getPeerCertificate().subject.CN, 'first');
        open.destroy();
        // A key that does not belong to it: both stay as they were.
        fs.writeFileSync(files.key, fs.readFileSync(d.tokenFile));
        assert.match((await byUnix(d, 'POST', '/v1/reload')).json.tls_error, /private key/);
        assert.equal(await subject(d), 'second');
    }));

test('without any certificate the unix socket is served, and TCP is not in the clear', () =>
    withCertificate(async (d, { put, second, files }) => {
        const p = await d.sh('exec sleep 300');
        d.placeScript(later(`${breakCarry}\nrm ${files.cert} ${files.key}`));
        await upgraded(d, /TCP sockets are not served/);
        assert.equal((await byUnix(d, 'GET', `/v1/processes/${p.id}`)).json.status, 'running');
        assert.equal(await subject(d), null);
        const plain = net.connect(d.port, '127.0.0.1');
        plain.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
        let got = '';
        plain.on('data', (b) => (got += b));
        plain.on('error', () => {});
        put(second);
        assert.equal((await byUnix(d, 'POST', '/v1/reload')).json.tls_error, null);
        await waitUntil(async () => (await subject(d)) === 'second', 'TCP to be served again');
        plain.destroy();
        assert.ok(!got.includes('200'), got);
        await alive(d, p);
    }));

/*
 * A binary that passes its trial and fails behind the exec took every process with it. Now the vault
 * starts the old one again.
 */
const failing = {
    'exits at once': { after: 'exit 3', said: /did not start; continuing with the old one/, times: scaled(50, 1) },
    'is killed at once': { after: 'kill -9 $$', said: /did not start; continuing with the old one/, times: scaled(50, 1) },
    hangs: { after: 'exec sleep 1000', said: /does not serve after \d+ ms[^]*continuing with the old one/, times: scaled(50, 2) },
    'crashes after a second': { trial: SLOW_TRIAL, after: '(sleep 1; kill -KILL $$) & exec "$real" "$@"', said: /keeps failing; reverting to the previous one/, times: scaled(10, 1) },
};

/** One upgrade that fails: until the binary before serves again. */
async function fails(d, said, exits) {
    const old = fs.statSync(`/proc/${d.keeperPid()}/exe`).ino;
    const before = d.stderr.length;
    await exits.soon();
    await exits.whenTold();
    process.kill(d.pid, 'SIGHUP');
    await waitUntil(() => /upgrade: executing/.test(d.stderr.slice(before)), 'the upgrade', 40000, 1);
    await exits.tell();
    await waitUntil(() => said.test(d.stderr.slice(before)), 'the vault to say so', 40000);
    await waitUntil(() => d.keeperPid() && d.workerPid() && fs.statSync(`/proc/${d.keeperPid()}/exe`).ino === old, 'the old binary', 20000);
    d.agent.destroy();
    await waitUntil(async () => (await d.request('GET', '/healthz', { agent: false }).catch(() => null))?.status === 200, 'an answer', 20000);
}

for (const [what, { trial = 'exec "$real" "$@"', after, said, times }] of Object.entries(failing))
    test(`a binary that ${what} is replaced by the one before`, () =>
        fromCopy(async (d) => {
            const flood = await Flood.start(d, scaled(20, 6));
            const exits = new Exits(d, (request) => flood.retry(request));
            const silences = [];
            const p = await d.sh('trap "exit 44" USR1; while :; do sleep 0.02; done', { pty: true });
            const pipe = await d.sh('read x; exit 45', { stdin: 'pipe' });
            d.placeScript(`if [ "$1" = upgrade-check ]; then ${trial}; fi\n${after}`);
            for (let i = 0; i < times; i++) {
                flood.mark();
                await fails(d, said, exits);
                await flood.moved(60000);
                silences.push(flood.silence());
            }
            await alive(d, p);
            await alive(d, pipe);
            await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'USR1' }, expect: 200 });
            assert.equal((await d.exitOf(p.id)).exit_code, 44);
            await d.api('POST', `/v1/processes/${pipe.id}/input`, { json: { data: 'go\n' } });
            assert.equal((await d.exitOf(pipe.id)).exit_code, 45);
            await exits.check();
            flood.report(`${times} × a binary that ${what} (longest silence ${Math.max(...silences).toFixed(0)} ms)`);
            // And the next upgrade works.
            await takesOver(d, d.placeOther(2));
            await waitUntil(() => d.workerPid(), 'a worker');
            await flood.stop();
        }));

/* What is executed in the keeper's place is the parent of its processes: it can take their exits from us. */
test('an exit that a failing binary has reaped is lost, and not forgotten', () =>
    fromCopy(async (d) => {
        const living = await d.sh('read x; exit 45', { stdin: 'pipe' });
        const dead = await d.sh('while [ ! -e "$HOME/go" ]; do sleep 0.02; done; exit 46', { env: { HOME: d.dir } });
        d.placeScript('[ "$1" = upgrade-check ] && sleep 1 && exec "$real" "$@"\ntouch DIR/go\nwhile kill -0 $(cat DIR/pid); do sleep 0.1; done\nexit 3');
        fs.writeFileSync(`${d.dir}/pid`, String(dead.pid));
        process.kill(d.pid, 'SIGHUP');
        await waitUntil(() => /continuing with the old one/.test(d.stderr), 'the vault to say so', 40000);
        d.agent.destroy();
        await waitUntil(async () => (await d.request('GET', `/v1/processes/${dead.id}`, { agent: false }).catch(() => null))?.json?.exit?.kind === 'lost', 'the loss');
        assert.match(d.stderr, /a new binary reaped it and then failed/);
        await d.api('POST', `/v1/processes/${living.id}/input`, { json: { data: 'go\n' } });
        assert.equal((await d.exitOf(living.id)).exit_code, 45);
    }));
