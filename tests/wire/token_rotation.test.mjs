// SPDX-License-Identifier: Apache-2.0
// Tokens are replaced while everything goes on: who stays, who goes, and what survives.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it, test } from '../lib/test.mjs';
import { cli, start } from '../lib/cli.mjs';
import { Viewer } from '../lib/client.mjs';
import { Daemon, daemonFor, withDaemon } from '../lib/daemon.mjs';
import { h2ask, h2connect, h2open } from '../lib/http2.mjs';
import * as proc from '../lib/proc.mjs';
import { holdsFor, waitUntil, within } from '../lib/wait.mjs';

const BOTH = ['127.0.0.1:0', 'unix:DIR/socket'];
const fileTokens = (d) =>
    Object.fromEntries(
        fs
            .readFileSync(d.tokenFile, 'utf8')
            .trim()
            .split('\n')
            .map((l) => l.split(' '))
            .map((w) => (w.length === 1 ? ['own', w[0]] : w))
            .reverse(), // the first of a role counts
    );
const writeTokens = (d, tokens) =>
    fs.writeFileSync(d.tokenFile, `${tokens.own}\ntype ${tokens.type}\nwatch ${tokens.watch}\n`, { mode: 0o600 });

/** `holdfast token rotate`; the old tokens. */
async function rotate(d, args = [], env = {}) {
    const old = d.tokens;
    const a = await cli(d, ['token', 'rotate', '--token-file', d.tokenFile, ...args], { env });
    assert.deepEqual([a.code, a.stderr], [0, ''], a.stderr);
    assert.equal(a.text, `${fs.realpathSync(d.tokenFile)}\n`);
    d.tokens = fileTokens(d);
    d.token = d.tokens.own;
    return old;
}

const statusOf = async (d, role, url = '/v1/info') => (await d.request('GET', url, { role, agent: false })).status;
const cookieOf = (a) => (a.headers['set-cookie'] ?? []).join('; ').split(';')[0];
async function signIn(d, role) {
    const made = (await d.api('POST', '/v1/tickets', { json: {}, role, expect: 201 })).json;
    return cookieOf(await d.request('GET', `/?ticket=${made.ticket}`, { role: null }));
}
const withCookie = async (d, Cookie) =>
    (await d.request('GET', '/v1/info', { role: null, headers: { Cookie }, agent: false })).status;

test('a rotation replaces one token, ends its connections and nothing else', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('echo ready; exec cat', { stdin: 'pipe' });
        await d.outputHas(p.id, 'ready');
        const [own, watch] = [await Viewer.attach(d, p.id), await Viewer.attach(d, p.id, { role: 'watch' })];
        const follow = async (role) => {
            const s = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`, { role });
            s.on('error', () => {});
            return Object.assign(s, { ended: new Promise((done) => s.on('close', () => done('ended'))) }).resume();
        };
        const streams = { own: await follow('own'), watch: await follow('watch') };
        const attached = start(d, ['attach', '--no-stdin', p.id]);
        await waitUntil(() => attached.printed().includes('ready'), 'the command to be attached');
        const worker = d.workerPid();
        const old = await rotate(d);

        const said = await within(attached.done, 10000, 'the end of holdfast attach');
        assert.deepEqual([said.code, /token was replaced/.test(said.stderr)], [125, true], said.stderr);
        assert.equal(await within(own.closed, 10000, 'the close'), 4401);
        assert.equal(own.closeReason, 'token_ended');
        assert.equal(await within(streams.own.ended, 10000, 'the end of the stream'), 'ended');
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, 'own')], [401, 200]);
        assert.deepEqual([d.tokens.type, d.tokens.watch], [old.type, old.watch]);
        // The others: the same connections, the same worker, the same process.
        await d.api('POST', `/v1/processes/${p.id}/input`, { body: 'still here\n', expect: 200 });
        await watch.outputHas('still here');
        assert.equal(d.workerPid(), worker);
        assert.equal((await d.get(p.id)).pid, p.pid);
        assert.equal(await Promise.race([streams.watch.ended, holdsFor(50, () => true, '')]), undefined);
        watch.cut();
        streams.watch.destroy();
        await assert.rejects(Viewer.attach(d, p.id, { role: old.own }), (e) => e.status === 401);
    }));

test('the file is replaced whole, and stays its owner’s', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        fs.chmodSync(d.tokenFile, 0o644);
        const before = fs.statSync(d.tokenFile);
        const reader = fs.openSync(d.tokenFile);
        const was = fs.readFileSync(d.tokenFile, 'utf8');
        const old = await rotate(d, ['--role', 'watch']);
        const now = fs.statSync(d.tokenFile);
        assert.equal(now.mode & 0o777, 0o600);
        assert.equal(now.uid, before.uid);
        assert.notEqual(now.ino, before.ino);
        assert.equal(fs.readFileSync(reader, 'utf8'), was, 'whoever has it open reads the old one');
        fs.closeSync(reader);
        assert.deepEqual([d.tokens.own, d.tokens.type], [old.own, old.type]);
        assert.notEqual(d.tokens.watch, old.watch);
        assert.equal(fs.readFileSync(d.tokenFile, 'utf8'), was.replace(old.watch, d.tokens.watch));
        assert.deepEqual([await statusOf(d, old.watch), await statusOf(d, 'watch'), await statusOf(d, 'own')], [401, 200, 200]);
        assert.deepEqual(fs.readdirSync(d.dir).filter((n) => n.startsWith('tokens.')), []);
    }));

test('with a grace both tokens are good until it is over', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('exec sleep 300');
        const v = await Viewer.attach(d, p.id);
        const old = await rotate(d, ['--grace', '1h']);
        const listed = () => d.api('GET', '/v1/token', { expect: 200 }).then((a) => a.json.tokens);
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, 'own')], [200, 200]);
        const retired = (await listed()).find((t) => t.expires_at !== null);
        assert.equal(retired.name, 'own-1');
        assert.ok(Date.parse(retired.expires_at) > Date.now() + 50 * 60000);
        // It outlives the worker, and a SIGHUP by somebody who has nothing to do with it.
        let worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, 'own')], [200, 200]);
        await d.api('POST', '/v1/reload', { expect: 200 });
        assert.equal(await statusOf(d, old.own), 200);
        v.cut();
        const w = await Viewer.attach(d, p.id, { role: old.own });
        // Whoever rotates without a grace means all that there was.
        const middle = await rotate(d);
        assert.equal(await within(w.closed, 10000, 'the close'), 4401);
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, middle.own), await statusOf(d, 'own')], [401, 401, 200]);
        assert.equal((await listed()).filter((t) => t.expires_at !== null).length, 0);
    }));

test('the end of a grace closes what the old token let in', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('exec sleep 300');
        const v = await Viewer.attach(d, p.id);
        const old = await rotate(d, ['--grace', '1s']);
        assert.equal(await within(v.closed, 20000, 'the close'), 4401);
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, 'own')], [401, 200]);
    }));

test('pages die with their token, and share links do not', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('exec sleep 300');
        const page = await signIn(d, 'own');
        const link = (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role: 'watch' }, expect: 201 })).json;
        const opened = cookieOf(await d.request('GET', link.url.replace(/^https?:\/\/[^/]+/, ''), { role: null }));
        const secret = /hfl_[a-z0-9_]+/.exec(link.url)[0];
        const viaLink = () => d.request('GET', `/v1/processes/${p.id}`, { role: null, headers: { Cookie: opened }, agent: false });
        const ticket = (await d.api('POST', '/v1/tickets', { json: {}, expect: 201 })).json.ticket;
        const v = await Viewer.attach(d, p.id, { role: secret });
        assert.deepEqual([await withCookie(d, page), (await viaLink()).status], [200, 200]);

        await rotate(d);
        assert.equal(await withCookie(d, page), 401);
        assert.equal((await d.request('GET', `/?ticket=${ticket}`, { role: null })).status, 401);
        assert.equal((await viaLink()).status, 200);
        assert.equal(await statusOf(d, secret, `/v1/processes/${p.id}`), 200);
        await holdsFor(100, () => v.closeCode === undefined, 'the viewer that came by the link stays');
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.equal((await viaLink()).status, 200, 'also under the next worker');
        await d.api('DELETE', `/v1/processes/${p.id}/links/${link.id}`, { expect: 204 });
        assert.equal((await viaLink()).status, 401);
    }));

test('a page of another token stays signed in', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const second = 'second-owner-0123456789';
        fs.appendFileSync(d.tokenFile, `own ${second}\n`);
        await d.api('POST', '/v1/reload', { expect: 200 });
        const [first, other] = [await signIn(d, 'own'), await signIn(d, second)];
        await rotate(d, ['--role', 'watch']);
        assert.deepEqual([await withCookie(d, first), await withCookie(d, other)], [200, 200]);
        const was = d.tokens.own;
        writeTokens(d, { ...fileTokens(d), own: 'third-owner-0123456789' });
        fs.appendFileSync(d.tokenFile, `own ${second}\n`);
        await d.api('POST', '/v1/reload', { role: second, expect: 200 });
        d.token = d.tokens.own = 'third-owner-0123456789';
        assert.deepEqual([await withCookie(d, first), await withCookie(d, other)], [401, 200]);
        assert.deepEqual([await statusOf(d, was), await statusOf(d, second)], [401, 200]);
    }));

test('SIGHUP reads all tokens again, and the new binary knows them', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('exec sleep 300');
        const old = { ...d.tokens };
        const worker = d.workerPid();
        d.tokens = { own: 'o'.repeat(32), type: 't'.repeat(32), watch: 'w'.repeat(32) };
        d.token = d.tokens.own;
        writeTokens(d, d.tokens);
        process.kill(d.pid, 'SIGHUP');
        await d.nextWorker(worker);
        await waitUntil(async () => (await statusOf(d, 'own').catch(() => 0)) === 200, 'the new token');
        for (const role of ['own', 'type', 'watch']) {
            assert.equal(await statusOf(d, old[role]), 401, role);
            assert.equal(await statusOf(d, role), 200, role);
        }
        assert.equal((await d.get(p.id)).status, 'running');
        assert.ok(proc.isAlive(p.pid));
    }));

test('a rotation just before an upgrade is not lost, and HTTP/2 is cut like the rest', () =>
    daemonFor({ fdBaseline: false }, async (d) => {
        const p = await d.sh('exec sleep 300');
        const s = await h2connect(d);
        const stream = h2open(s, d, 'GET', `/v1/processes/${p.id}/output?follow=1`, { endStream: true });
        await within(new Promise((done) => stream.once('response', done)), 10000, 'the head');
        const cut = new Promise((done) => stream.once('close', done));
        stream.on('error', () => {});
        stream.resume();
        // By the same connection: its own answer comes, though the token has ended by then.
        const old = d.tokens;
        d.tokens = { ...old, own: 'next-owner-0123456789' };
        writeTokens(d, d.tokens);
        const a = await h2ask(s, d, 'POST', '/v1/reload', { role: old.own, json: {} });
        assert.deepEqual([a.status, a.json.changed], [200, true]);
        await within(cut, 10000, 'the end of the stream');
        assert.equal(stream.rstCode === 0, false);
        s.destroy();
        d.token = d.tokens.own;
        const worker = d.workerPid();
        process.kill(d.pid, 'SIGHUP');
        await d.nextWorker(worker);
        await waitUntil(async () => (await statusOf(d, 'own').catch(() => 0)) === 200, 'the new token');
        assert.equal(await statusOf(d, old.own), 401);
    }));

test('a file that cannot be used changes nothing, and the reason is told', () =>
    daemonFor({ fdBaseline: false, listen: BOTH }, async (d) => {
        const good = fs.readFileSync(d.tokenFile, 'utf8');
        const bad = {
            'only comments': () => fs.writeFileSync(d.tokenFile, '# nobody\n'),
            'too short': () => fs.writeFileSync(d.tokenFile, 'short\n'),
            'not there': () => fs.rmSync(d.tokenFile),
            'a directory': () => fs.mkdirSync(d.tokenFile),
        };
        for (const [name, spoil] of Object.entries(bad)) {
            spoil();
            const a = (await d.api('POST', '/v1/reload', { expect: 200 })).json;
            assert.deepEqual([a.changed, a.source, a.file], [false, 'file', d.tokenFile], name);
            assert.ok(a.error?.length > 10, `${name}: ${a.error}`);
            assert.deepEqual(a.tokens.map((t) => t.name), ['own-1', 'type-1', 'watch-1']);
            assert.equal(await statusOf(d, 'watch'), 200, name);
        }
        fs.rmdirSync(d.tokenFile);
        fs.writeFileSync(d.tokenFile, good, { mode: 0o600 });
        assert.equal((await d.api('POST', '/v1/reload', { expect: 200 })).json.error, null);
        await d.refused('bad_value', 'POST', '/v1/reload', { json: { grace_ms: -1 } });
        await d.refused('bad_value', 'POST', '/v1/reload', { json: { grace_ms: 366 * 24 * 3600 * 1000 + 1 } });
        await d.refused('forbidden', 'POST', '/v1/reload', { role: 'type', json: {} });
        await d.refused('forbidden', 'GET', '/v1/token', { role: 'watch' });
        assert.ok(!(await d.request('GET', '/v1/token')).text.includes(d.token), 'no token is told');
    }));

withDaemon('the command', { listen: BOTH, fdBaseline: false }, (d) => {
    it('tells where the tokens are', async () => {
        const a = await cli(d, ['token', '--token-file', d.tokenFile]);
        assert.equal(a.code, 0, a.stderr);
        assert.match(a.text, new RegExp(`^${d.tokenFile}\n`));
        assert.match(a.text, /own-1/);
        for (const t of Object.values(d.tokens)) assert.ok(!a.text.includes(t));
        const json = await cli(d, ['token', '--json', '--token-file', d.tokenFile]);
        assert.equal(JSON.parse(json.text).source, 'file');
    });

    it('works over the unix socket without a token, and by HOLDFAST_URL', async () => {
        const old = await rotate(d, ['--url', `unix:${d.unixPath}`], { HOLDFAST_TOKEN: undefined });
        assert.deepEqual([await statusOf(d, old.own), await statusOf(d, 'own')], [401, 200]);
    });

    it('does not write a file because a daemon names it', async () => {
        const before = fs.readFileSync(d.tokenFile, 'utf8');
        const other = `${d.dir}/other`;
        fs.writeFileSync(other, `${d.token}\n`, { mode: 0o600 });
        for (const args of [[], ['--token-file', other]]) {
            const a = await cli(d, ['token', 'rotate', ...args]);
            assert.equal(a.code, 1);
            assert.match(a.stderr, /--token-file/);
        }
        assert.equal(fs.readFileSync(d.tokenFile, 'utf8'), before);
        assert.equal(fs.readFileSync(other, 'utf8'), `${d.token}\n`);
    });

    it('complains about what it does not know', async () => {
        for (const args of [['renew'], ['rotate', '--role', 'king'], ['rotate', 'more']]) {
            assert.equal((await cli(d, ['token', ...args, '--token-file', d.tokenFile])).code, 2, args.join(' '));
        }
        const none = `${d.dir}/none`;
        assert.equal((await cli(d, ['token', 'rotate', '--token-file', none])).code, 2);
    });
});

test('a token from the environment cannot be rotated, and the command says so', async () => {
    const d = new Daemon({ auth: false, fdBaseline: false, env: { HOLDFAST_TOKEN: 'from-the-environment-01' } });
    await d.start();
    try {
        const env = { HOLDFAST_TOKEN: 'from-the-environment-01' };
        const told = await cli(d, ['token', '--json'], { env });
        assert.deepEqual([JSON.parse(told.text).source, JSON.parse(told.text).file], ['environment', null]);
        const a = await cli(d, ['token', 'rotate'], { env });
        assert.deepEqual([a.code, /environment/.test(a.stderr)], [1, true]);
        // After an upgrade it is still known, though it is in no environment any more.
        const worker = d.workerPid();
        process.kill(d.pid, 'SIGHUP');
        await d.nextWorker(worker);
        assert.equal((await cli(d, ['token'], { env })).code, 0);
    } finally {
        await d.stop();
    }
});
