// SPDX-License-Identifier: Apache-2.0
// The command line: help, version, and options that are refused with a reason.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { test } from '../../lib/test.mjs';
import { binary, daemonFor } from '../../lib/daemon.mjs';

const run = (...args) =>
    new Promise((done) => {
        execFile(binary(), args, { timeout: 20000 }, (err, stdout, stderr) =>
            done({ code: err ? err.code : 0, stdout, stderr }),
        );
    });

test('help and version', async () => {
    for (const args of [['help'], ['--help'], ['-h'], ['serve', '--help'], ['upgrade', '--help']]) {
        const r = await run(...args);
        assert.equal(r.code, 0, args.join(' '));
        assert.match(r.stdout, /usage: holdfast/);
    }
    for (const args of [['version'], ['--version']])
        assert.match((await run(...args)).stdout, /^holdfast \d+\.\d+\.\d+/);
});

test('every option of serve is in its help', async () => {
    const { stdout } = await run('serve', '--help');
    for (const o of [
        'listen',
        'token-file',
        'no-auth',
        'no-dialects',
        'max-processes',
        'max-viewers',
        'max-connections',
        'journal-bytes',
        'journal-memory-bytes',
        'retain-ms',
        'retain-count',
        'event-log-bytes',
        'cors-origin',
        'allow-host',
        'compress',
        'tls-cert',
        'tls-key',
        'header-timeout-ms',
        'body-timeout-ms',
        'keepalive-timeout-ms',
        'log-level',
        'pid-file',
    ]) {
        assert.ok(stdout.includes(`--${o}`), o);
    }
});

test('wrong options end with status 2 and a sentence', async () => {
    for (const args of [
        [],
        ['nonsense'],
        ['serve', '--nonsense'],
        ['serve', 'word'],
        ['serve', '--listen'],
        ['serve', '--max-processes', '0'],
        ['serve', '--max-processes', 'x'],
        ['serve', '--journal-bytes', '1'],
        ['serve', '--log-level', 'loud'],
        ['serve', '--compress=yes'],
        ['upgrade', '--nonsense'],
    ]) {
        const r = await run(...args);
        assert.equal(r.code, 2, `${args.join(' ')}: ${JSON.stringify(r)}`);
        assert.ok(r.stderr.length > 10);
        assert.equal(r.stdout, '');
    }
});

test('addresses that cannot be listened on', async () => {
    for (const address of [
        'example.com:80',
        '127.0.0.1',
        '127.0.0.1:99999',
        '256.0.0.1:1',
        'unix:',
        `unix:/${'x'.repeat(200)}`,
        'unix:/no/such/dir/s',
        'fd:99',
        '',
    ]) {
        const r = await run('serve', '--no-auth', '--listen', address);
        assert.ok(r.code === 1 || r.code === 2, `${address}: ${JSON.stringify(r)}`);
        assert.ok(r.stderr.length > 10);
    }
});

test('IPv6 and several listeners at once', (t) =>
    daemonFor({ listen: ['127.0.0.1:0', '[::1]:0', 'localhost:0'], fdBaseline: false }, async (d) => {
        assert.equal(d.urls.length, 3);
        for (const url of d.urls) {
            const u = new URL(url);
            const a = await d.request('GET', '/healthz', {
                target: { host: u.hostname.replace(/[[\]]/g, ''), port: u.port },
                agent: false,
            });
            assert.equal(a.status, 200, url);
        }
    }).catch((err) =>
        /EADDRNOTAVAIL|EAFNOSUPPORT|Cannot assign|not supported/.test(err.message)
            ? t.skip('no IPv6 here')
            : Promise.reject(err),
    ));

test('--pid-file holds the pid while the daemon lives', async () => {
    let file;
    await daemonFor({ args: ['--pid-file', 'pid'], fdBaseline: false }, async (d) => {
        file = `${d.dir}/pid`;
        assert.equal(fs.readFileSync(file, 'utf8').trim(), String(d.pid));
    });
    assert.ok(!fs.existsSync(file));
});

test('--option=value is the same as --option value', () =>
    daemonFor({ args: ['--max-processes=7', '--log-level=debug'] }, async (d) => {
        const info = (await d.api('GET', '/v1/info', { expect: 200 })).json;
        assert.ok(Object.values(info.limits).includes(7), JSON.stringify(info.limits));
    }));

test('upgrade without a daemon or with a wrong token', () =>
    daemonFor({}, async (d) => {
        const bad = `${d.dir}/bad`;
        fs.writeFileSync(bad, 'a-token-that-is-not-the-right-one\n', { mode: 0o600 });
        const wrong = await run('upgrade', '--url', d.url, '--token-file', bad);
        assert.equal(wrong.code, 1);
        assert.match(wrong.stderr, /token/);
        const nobody = await run('upgrade', '--url', 'http://127.0.0.1:1');
        assert.equal(nobody.code, 125);
    }));
