// SPDX-License-Identifier: Apache-2.0
// holdfast open: a complete link for a browser, however the daemon is reached, and the browser itself.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { it, test } from '../lib/test.mjs';
import { Authority } from '../lib/certs.mjs';
import { cli, fails, ok, onPty } from '../lib/cli.mjs';
import { daemonFor, withDaemon } from '../lib/daemon.mjs';
import * as httpc from '../lib/http.mjs';
import { waitUntil } from '../lib/wait.mjs';

const LINK = /^https?:\/\/[^/]+\/\?ticket=[a-z2-7]+$/;
const byUnix = (d) => ({ url: `unix:${d.unixPath}`, token: undefined });

/** The response to a browser that follows the link. */
const follow = (d, link) => d.request('GET', new URL(link).pathname + new URL(link).search, { role: null, agent: false });
const roleOf = async (d, link) => {
    const a = await follow(d, link);
    assert.equal(a.status, 303, a.text);
    const headers = { Cookie: a.headers['set-cookie'][0].split(';')[0] };
    return (await d.request('GET', '/v1/info', { role: null, headers })).json.role;
};

withDaemon('open', {}, (d) => {
    it('prints only the link on stdout, and on stderr how long and how often it works', async () => {
        const r = await cli(d, ['open']);
        assert.equal(r.code, 0, r.stderr);
        const link = r.text.trimEnd();
        assert.equal(r.text, `${link}\n`);
        assert.match(link, LINK);
        assert.equal(new URL(link).origin, d.url);
        assert.match(r.stderr, /^holdfast: the link works once, within (60|5\d) seconds, with the role own\n$/);
        assert.equal(await roleOf(d, link), 'own');
        assert.equal((await follow(d, link)).status, 401, 'a second time');
    });

    it('the role is the one asked for', async () => {
        for (const role of ['own', 'type', 'watch']) {
            const r = await cli(d, ['open', '--role', role]);
            assert.match(r.stderr, new RegExp(`with the role ${role}\n`));
            assert.equal(await roleOf(d, r.text.trim()), role);
        }
        await fails(d, 1, /must be own, type or watch/, ['open', '--role', 'king']);
        await fails(d, 2, /unexpected argument/, ['open', 'word']);
    });

    it('--json and --format have the whole link, and no other words', async () => {
        const r = await cli(d, ['open', '--json', '--role', 'watch']);
        assert.equal(r.stderr, '');
        const t = JSON.parse(r.text);
        assert.deepEqual(Object.keys(t).sort(), ['expires_at', 'role', 'ticket', 'url']);
        assert.equal(t.url, `${d.url}/?ticket=${t.ticket}`);
        assert.match((await ok(d, ['open', '--format', '{role} {url}'])).trim(), /^own http:\S+\?ticket=\w+$/);
    });

    it('an address with trailing slashes, or of every interface, becomes one that a browser can open', async () => {
        const link = await ok(d, ['open', '--url', `${d.url}//`]);
        assert.match(link, new RegExp(`^${d.url}/\\?ticket=`));
        const every = await ok(d, ['open', '--url', d.url.replace('127.0.0.1', '0.0.0.0')]);
        assert.match(every, new RegExp(`^${d.url}/\\?ticket=`));
    });

    it('a client that may only watch gets no link', async () => {
        await fails({ ...d, url: d.url, token: d.tokens.watch }, 1, /forbidden/, ['open']);
        assert.equal((await d.api('GET', '/v1/info', { role: 'watch', expect: 200 })).json.listeners, undefined);
    });

    // --- a browser ---

    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-open-'));
    /** A program instead of a browser: it records its arguments, the token that it sees and its descriptors. */
    const browser = (name, note) => {
        const file = path.join(dir, name);
        const lines = [
            '#!/bin/sh',
            'echo garbage; echo garbage >&2',
            'fds=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)',
            `printf '%s\\n' "$*" "\${HOLDFAST_TOKEN-none}" "$fds" > ${note}.part`,
            `mv ${note}.part ${note}`,
        ];
        fs.writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o755 });
        return file;
    };
    const opened = async (note) => {
        await waitUntil(() => fs.existsSync(note), 'the browser to be started');
        const [args, token, ...fds] = fs.readFileSync(note, 'utf8').trim().split('\n');
        assert.equal(token, 'none', 'the token is not for a browser');
        assert.deepEqual(fds, ['/dev/null', '/dev/null', '/dev/null']);
        return args;
    };
    /** On a terminal: what it shows until it ends with 0. */
    const onTerminal = async (args, env) => {
        const t = onPty(d, args, { env, cols: 200 });
        await t.endsWith('exit 0');
        await t.close();
        return t.text.replaceAll('\r', '');
    };

    it('on a terminal $BROWSER opens it', async () => {
        const note = path.join(dir, 'first');
        const text = await onTerminal(['open'], { BROWSER: browser('a-browser', note) });
        const link = text.split('\n')[0];
        assert.match(link, LINK);
        assert.match(text, /\nholdfast: the link works once, .*\nholdfast: opening it in a browser with \$BROWSER\n$/);
        assert.equal(await opened(note), link);
    });

    it('$BROWSER may be a list, with options and the place of the link', async () => {
        const note = path.join(dir, 'second');
        const file = browser('another', note);
        const text = await onTerminal(['open'], { BROWSER: `/no/such/browser:${file} --new %s --quiet` });
        assert.equal(await opened(note), `--new ${text.split('\n')[0]} --quiet`);
    });

    it('xdg-open opens it where there is a display', async () => {
        for (const display of ['DISPLAY', 'WAYLAND_DISPLAY']) {
            const note = path.join(dir, display);
            browser('xdg-open', note);
            const text = await onTerminal(['open'], { PATH: `${dir}:${process.env.PATH}`, BROWSER: '', [display]: ':7' });
            assert.match(text, /holdfast: opening it in a browser with xdg-open\n$/);
            assert.equal(await opened(note), text.split('\n')[0]);
        }
    });

    it('nothing is opened without a display, without a terminal, with --print, or for a program', async () => {
        const note = path.join(dir, 'never');
        const env = { BROWSER: browser('never-browser', note) };
        browser('xdg-open', note);
        const said = [
            await onTerminal(['open'], { PATH: `${dir}:${process.env.PATH}` }),
            await onTerminal(['open', '--print'], env),
            await onTerminal(['open', '-p'], env),
            await onTerminal(['open', '--json'], env),
            (await cli(d, ['open'], { env })).stderr,
        ];
        for (const text of said) assert.doesNotMatch(text, /browser/);
        assert.ok(!fs.existsSync(note));
    });

    it('a browser that cannot be started is named, and the link is there all the same', async () => {
        const text = await onTerminal(['open'], { BROWSER: '/no/such/browser' });
        assert.match(text.split('\n')[0], LINK);
        assert.match(text, /holdfast: \$BROWSER cannot open it: No such file or directory\n$/);
        assert.match(await onTerminal(['open'], { BROWSER: ' : ' }), /cannot open it/);
    });
});

// --- a daemon that was reached by its socket ---

const loopback = (d) => `127.0.0.1:${d.directPort ?? d.port}`;

test('reached by a unix socket, the link has the address on loopback', () =>
    daemonFor({ listen: ['unix:DIR/s', '127.0.0.1:0'] }, async (d) => {
        const link = (await ok(byUnix(d), ['open'])).trim();
        assert.match(link, LINK);
        assert.equal(new URL(link).host, loopback(d));
        assert.equal(await roleOf(d, link), 'own');
        assert.deepEqual((await d.api('GET', '/v1/info')).json.listeners, [`unix:${d.unixPath}`, `http://${loopback(d)}`]);
        await fails({ ...byUnix(d), token: d.tokens.watch }, 1, /forbidden/, ['open']);
    }));

test('every interface is 127.0.0.1 to a browser', () =>
    daemonFor({ listen: ['unix:DIR/s', '0.0.0.0:0'] }, async (d) =>
        assert.equal(new URL((await ok(byUnix(d), ['open'])).trim()).host, loopback(d)),
    ));

const hasIpv6 = fs.existsSync('/proc/net/if_inet6') && fs.readFileSync('/proc/net/if_inet6', 'utf8').includes(' lo\n');

test('every interface of IPv6 alone is [::1]', { skip: !hasIpv6 && 'no IPv6 here' }, () =>
    daemonFor({ listen: ['unix:DIR/s', '[::]:0'], gateway: false, fdBaseline: false }, async (d) => {
        const link = new URL((await ok(byUnix(d), ['open'])).trim());
        assert.equal(link.host, `[::1]:${d.port}`);
        const a = await httpc.request({ host: '::1', port: d.port }, 'GET', link.pathname + link.search, { agent: false });
        assert.equal(a.status, 303);
    }));

test('with a certificate it is https', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-open-tls-'));
    const c = new Authority(dir, 'ours').issue('d', 'IP:127.0.0.1');
    await daemonFor({ listen: ['unix:DIR/s', '127.0.0.1:0'], args: ['--tls-cert', c.certFile, '--tls-key', c.keyFile], fdBaseline: false }, async (d) => {
        assert.equal(new URL((await ok(byUnix(d), ['open'])).trim()).origin, `https://127.0.0.1:${d.port}`);
    });
    fs.rmSync(dir, { recursive: true });
});

test('a daemon that listens only on a unix socket says so, and makes no ticket', () =>
    daemonFor({ listen: ['unix:DIR/s'], fdBaseline: false }, async (d) => {
        const r = await fails(byUnix(d), 1, /listens only on a unix socket.*--listen 127\.0\.0\.1:7070/, ['open']);
        assert.equal(r.text, '');
    }));

test('no incomplete link is printed if the server is not a daemon or does not report its addresses', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-open-'));
    const answers = { 'POST /v1/tickets': { ticket: 'x', url: '/?ticket=x', role: 'own', expires_at: '2000-01-01T00:00:00Z' }, 'GET /v1/info': {} };
    const server = http.createServer((req, res) => res.setHeader('Content-Type', 'application/json').end(JSON.stringify(answers[`${req.method} ${req.url}`])));
    await new Promise((done) => server.listen(path.join(dir, 's'), done));
    const unix = { url: `unix:${path.join(dir, 's')}`, token: undefined };
    assert.equal((await fails(unix, 1, /does not report its addresses.*--url/, ['open'])).text, '');
    // The daemon's clock differs from ours, so the time is not shown in seconds.
    answers['GET /v1/info'] = { listeners: ['http://192.0.2.1:7', 'http://127.0.0.1:8', 'http://0.0.0.0:9'] };
    const r = await cli(unix, ['open']);
    assert.equal(r.text, 'http://127.0.0.1:8/?ticket=x\n');
    assert.match(r.stderr, /works once, until 2000-01-01T00:00:00Z, with/);
    answers['POST /v1/tickets'] = { hello: 'world' };
    assert.equal((await fails(unix, 1, /returned no ticket/, ['open'])).text, '');
    server.close();
    fs.rmSync(dir, { recursive: true });
});
