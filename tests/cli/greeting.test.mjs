// SPDX-License-Identifier: Apache-2.0
// What serve tells the person who started it: the token, the commands, and a link as the last line; it is printed once.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from '../lib/test.mjs';
import { cliEnv } from '../lib/cli.mjs';
import { Daemon, binary, daemonFor } from '../lib/daemon.mjs';
import { Pty } from '../lib/pty.mjs';
import { waitUntil } from '../lib/wait.mjs';

const options = (more = {}) => ({ gateway: false, ...more, args: ['--print-link', ...(more.args ?? [])] });
/** All lines after the "listening on" lines, once the last one is there. */
const greeting = async (d) => {
    const lines = () => d.stdout.split('\n').filter((l) => l && !/listening on/.test(l));
    await waitUntil(() => d.stdout.endsWith('\n') && /^(open |This binary|The daemon )/.test(lines().at(-1) ?? ''), 'the greeting');
    return lines();
};
/** A binary that was built without npm says so, and has no link. */
const hasPage = async (d) => !!(await d.request('GET', '/', { role: null, agent: false })).headers.vary;
const last = async (d, expected) => (await hasPage(d)) ? expected : /^This binary was built without the page/;
const run = (d, line) => execFileSync('sh', ['-c', line], { cwd: d.dir, env: cliEnv(null), stdio: ['ignore', 'pipe', 'ignore'] }).toString();

test('the token, the commands, a fresh link, and a link at the end', () =>
    daemonFor(options(), async (d) => {
        const lines = await greeting(d);
        assert.equal(lines[0], `The tokens are in ${d.tokenFile} (--token-file).`);
        const ps = /^To list processes: (.* ps --url http:\/\/127\.0\.0\.1:\d+ --token-file \S+)$/.exec(lines[1])?.[1];
        assert.equal(ps, `${binary()} ps --url ${d.url} --token-file ${d.tokenFile}`);
        assert.match(run(d, ps), /^ID /, 'the command works as it is printed');
        assert.match(lines.at(-1), await last(d, new RegExp(`^open ${d.url}/\\?ticket=[a-z2-7]{39}$`)));
        if (!(await hasPage(d))) return;
        const open = /^For a fresh link at any time: (.*)$/.exec(lines[2])[1];
        assert.match(run(d, open), new RegExp(`^${d.url}/\\?ticket=\\S+\n$`));
        assert.equal(lines[3], 'The link below signs one browser in. It expires in 10 minutes.');
        assert.equal(lines.length, 5);
        const url = new URL(lines[4].slice('open '.length));
        const follow = () => d.request('GET', url.pathname + url.search, { role: null, agent: false });
        const a = await follow();
        assert.equal(a.status, 303);
        const headers = { Cookie: a.headers['set-cookie'][0].split(';')[0] };
        assert.equal((await d.request('GET', '/v1/info', { role: null, headers })).json.role, 'own');
        assert.equal((await follow()).status, 401, 'a second time');
    }));

test('the token that was made', () =>
    daemonFor(options({ auth: false, fdBaseline: false, env: { HOLDFAST_STATE_DIR: '/proc/self/cwd/state dir' } }), async (d) => {
        const lines = await greeting(d);
        const file = '/proc/self/cwd/state dir/token';
        assert.equal(lines[0], `The token is kept in ${file}.`);
        assert.ok(lines[1].endsWith(` ps --url ${d.url} --token-file '${file}'`), lines[1]);
        assert.match(run(d, lines[1].slice('To list processes: '.length)), /^ID /);
        assert.match(lines.at(-1), await last(d, /^open \S+\?ticket=\w+$/));
    }));

test('the token of the environment is not shown, only where it came from', () => {
    const HOLDFAST_TOKEN = 'an-environment-token-of-some-length';
    return daemonFor(options({ auth: false, fdBaseline: false, env: { HOLDFAST_TOKEN } }), async (d) => {
        const lines = await greeting(d);
        assert.match(lines[0], /^The token came from HOLDFAST_TOKEN\./);
        assert.ok(lines[1].endsWith(` ps --url ${d.url}`), lines[1]);
        assert.ok(!d.stdout.includes(HOLDFAST_TOKEN));
    });
});

test('without tokens the link needs no ticket', () =>
    daemonFor(options({ auth: false, args: ['--no-auth'] }), async (d) => {
        const lines = await greeting(d);
        assert.equal(lines[0], 'No token is needed, because of --no-auth.');
        assert.ok(lines[1].endsWith(` ps --url ${d.url}`), lines[1]);
        assert.match(lines.at(-1), await last(d, new RegExp(`^open ${d.url}/$`)));
    }));

test('a daemon with unix sockets alone has no link', () =>
    daemonFor(options({ listen: ['unix:DIR/s'], fdBaseline: false }), async (d) => {
        const lines = await greeting(d);
        assert.equal(lines[1], `To list processes: ${binary()} ps --url unix:${d.unixPath}`);
        assert.match(run(d, lines[1].slice('To list processes: '.length)), /^ID /);
        assert.match(lines.at(-1), await last(d, /^The daemon listens only on a unix socket.*--listen 127\.0\.0\.1:7070\.$/));
        assert.ok(!d.stdout.includes('ticket'));
    }));

test('a daemon with dialects alone has no page', () =>
    daemonFor(options({ listen: ['none'], fdBaseline: false, args: ['--dialect', 'e2b=127.0.0.1:0'] }), async (d) => {
        assert.equal((await greeting(d)).at(-1), 'The daemon serves only dialects, so there is no page and no link.');
        assert.ok(!d.stdout.includes('ticket'));
    }));

test('every interface is loopback to a browser; an address that it can open comes before a socket', () =>
    daemonFor(options({ listen: ['unix:DIR/s', '0.0.0.0:0'] }), async (d) => {
        const lines = await greeting(d);
        assert.ok(lines[1].includes(` ps --url http://127.0.0.1:${d.port} `), lines[1]);
        assert.match(lines.at(-1), await last(d, new RegExp(`^open http://127\\.0\\.0\\.1:${d.port}/\\?ticket=`)));
    }));

test('every interface of IPv6 alone is [::1]', async (t) => {
    const d = new Daemon(options({ listen: ['[::]:0'], fdBaseline: false }));
    await d.start().catch((err) => (/ IPv6|not supported|Cannot assign/.test(err.message) ? t.skip('no IPv6 here') : Promise.reject(err)));
    if (!d.port) return d.kill();
    try {
        const lines = await greeting(d);
        assert.ok(lines[1].includes(` ps --url 'http://[::1]:${d.port}' `), 'quoted, because brackets are special to some shells');
        assert.match(lines.at(-1), await last(d, new RegExp(`^open http://\\[::1\\]:${d.port}/\\?ticket=`)));
    } finally {
        await d.stop();
    }
});

/** How the first command begins, for a copy of the binary at this place below the daemon's directory. */
async function calledAs(at, env = {}) {
    const d = new Daemon(options({ fdBaseline: false })).prepare();
    const bin = path.join(d.dir, at);
    fs.mkdirSync(path.dirname(bin), { recursive: true });
    fs.copyFileSync(binary(), bin);
    Object.assign(d.options, { bin, env: typeof env === 'function' ? env(d.dir) : env });
    await d.start();
    try {
        return /^To list processes: (.*) ps /.exec((await greeting(d))[1])[1];
    } finally {
        await d.stop();
    }
}

test('the program is spelled as one types it where the daemon was started', async () => {
    assert.equal(await calledAs('build/holdfast'), 'build/holdfast');
    assert.equal(await calledAs('holdfast'), './holdfast');
    assert.equal(await calledAs('a b/it'), "'a b/it'");
    assert.equal(await calledAs('build/holdfast', (dir) => ({ PATH: `/no/such:${dir}/build:${process.env.PATH}` })), 'holdfast');
    for (const PATH of [`:${process.env.PATH}`, `/no/such::${process.env.PATH}`, '/no/such:', ''])
        assert.equal(await calledAs('holdfast', { PATH }), 'holdfast', `an empty element of '${PATH}' is the working directory`);
    assert.equal(await calledAs('build/holdfast', { PATH: ':/no/such' }), 'build/holdfast');
    const other = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-other-'));
    fs.writeFileSync(path.join(other, 'holdfast'), '#!/bin/sh\n', { mode: 0o755 });
    const behind = (dir) => ({ PATH: `${other}:${dir}/build:${process.env.PATH}` });
    assert.equal(await calledAs('build/holdfast', behind), 'build/holdfast', 'another of that name comes first');
    fs.rmSync(other, { recursive: true });
});

test('a log has no ticket without --print-link', () =>
    daemonFor({ gateway: false }, async (d) => {
        await d.api('GET', '/v1/info', { expect: 200 });
        assert.equal(d.stdout, `listening on ${d.url}\n`);
    }));

test('a new worker and a new binary do not greet again', async () => {
    const d = new Daemon(options()).prepare();
    const at = path.join(d.dir, 'holdfast');
    fs.copyFileSync(binary(), at);
    d.options.bin = at;
    await d.start();
    try {
        await greeting(d);
        const before = d.stdout;
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        assert.equal((await d.request('GET', '/v1/info')).status, 200);
        fs.copyFileSync(binary(), `${at}.new`);
        fs.renameSync(`${at}.new`, at);
        const ino = fs.statSync(at).ino;
        process.kill(d.pid, 'SIGHUP');
        await waitUntil(() => fs.statSync(`/proc/${d.keeperPid()}/exe`).ino === ino, 'the new binary');
        await waitUntil(async () => (await d.request('GET', '/v1/info', { agent: false }).catch(() => null))?.status === 200, 'its worker');
        assert.equal(d.stdout, before);
    } finally {
        await d.stop();
    }
});

/** serve on a terminal, by this name: what it shows until `text`. */
async function onTerminal(name, args, text) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-greet-'));
    fs.symlinkSync(binary(), path.join(dir, name));
    const t = new Pty(path.join(dir, name), args, { cols: 200, env: cliEnv(null, { HOLDFAST_TOKEN: 'a-token-for-a-terminal' }) });
    await t.shows(text);
    t.signal(15);
    await t.endsWith('exit 0');
    await t.close();
    fs.rmSync(dir, { recursive: true });
    return t.text.replaceAll('\r', '');
}

test('on a terminal it greets without being asked to, but not when it stands in for another program', async () => {
    const shown = await onTerminal('holdfast', ['serve', '--listen', '127.0.0.1:0'], /\n(open http:\S+\?ticket=\w+|This binary was built[^\n]+)\r?\n/);
    assert.match(shown, /The token came from HOLDFAST_TOKEN/);
    const posed = await onTerminal('opencode', ['serve', '--port', '0'], /listening on http:\S+/);
    assert.doesNotMatch(posed, /token|ticket|page/i);
});
