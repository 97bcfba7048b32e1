// SPDX-License-Identifier: Apache-2.0
// A unix socket: the peer's uid decides.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { it, test } from '../lib/test.mjs';
import { promisify } from 'node:util';
import { daemonFor, withDaemon } from '../lib/daemon.mjs';
import { waitUntil } from '../lib/wait.mjs';

const run = promisify(execFile);
const root = process.getuid() === 0;

/** The status that a client with another uid gets. It changes its uid itself, because Node.js may be installed where only root can read. */
const ask = `
const [uid, path, token] = process.argv.slice(1);
process.setgroups([]);
process.setgid(Number(uid));
process.setuid(Number(uid));
const headers = token ? { Authorization: 'Bearer ' + token } : {};
require('http').get({ socketPath: path, path: '/v1/info', headers }, (r) => { console.log(r.statusCode); process.exit(0); })
    .on('error', (e) => { console.log(e.code); process.exit(0); });`;
const askAs = async (uid, path, token = '') =>
    (await run(process.execPath, ['-e', ask, String(uid), path, token], { cwd: '/' })).stdout.trim();

withDaemon('unix socket', { listen: ['unix:DIR/hf.sock', '127.0.0.1:0'] }, (d) => {
    const over = (extra = {}) => ({ target: { socketPath: d.unixPath }, agent: false, ...extra });

    it('is announced, private, and needs no token from its owner', async () => {
        assert.equal(d.unixPath, `${d.dir}/hf.sock`);
        assert.equal(fs.statSync(d.unixPath).mode & 0o777, 0o600);
        const a = await d.request('GET', '/v1/info', over({ role: null }));
        assert.equal(a.status, 200);
        const p = await d.request(
            'POST',
            '/v1/processes/run',
            over({ role: null, json: { command: 'echo', args: ['unix'] } }),
        );
        assert.equal(p.json.stdout, 'unix\n');
    });

    it('shows the same processes as the TCP listener', async () => {
        const p = await d.sh('sleep 30');
        const a = await d.request('GET', `/v1/processes/${p.id}`, over({ role: null }));
        assert.equal(a.json.pid, p.pid);
    });

    it('another uid needs a token', { skip: !root && 'needs root' }, async () => {
        assert.match(await askAs(65534, d.unixPath), /EACCES|EPERM/, 'the mode keeps others out');
        fs.chmodSync(d.dir, 0o755);
        fs.chmodSync(d.unixPath, 0o666);
        assert.equal(await askAs(65534, d.unixPath), '401');
        assert.equal(await askAs(65534, d.unixPath, d.token), '200');
        assert.equal(await askAs(0, d.unixPath), '200');
    });

    // Here, unlike by TCP, the answer to its close frame finds it gone at once.
    it('a WebSocket whose peer says goodbye and is gone harms nobody', async () => {
        const p = await d.sh('sleep 30', { pty: true });
        const worker = d.workerPid();
        for (let i = 0; i < 20; i++) {
            const s = net.connect(d.unixPath);
            const key = Buffer.alloc(16, i).toString('base64');
            s.write(
                `GET /v1/processes/${p.id}/connect HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
                    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
            );
            const head = await new Promise((done) => s.once('data', done));
            assert.match(head.toString('latin1'), /^HTTP\/1.1 101 /);
            s.pause();
            s.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])); // close, 1000
            s.destroy();
        }
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'all to have left');
        assert.equal(d.workerPid(), worker);
        await d.remove(p.id);
    });

    it('takes large requests and gives large answers as TCP does', async () => {
        const args = Array.from({ length: 6 }, () => 'x'.repeat(100000));
        const a = await d.request('POST', '/v1/processes/run', over({ role: null, json: { command: 'echo', args } }));
        assert.equal(a.json.stdout, `${args.join(' ')}\n`);
    });
});

test('a stale socket is replaced, a live one is not, and ours is gone at the end', async () => {
    let left;
    await daemonFor({ listen: ['unix:DIR/s.sock'], fdBaseline: false }, async (d) => {
        left = d.unixPath;
        await assert.rejects(
            daemonFor({ listen: [`unix:${d.unixPath}`] }, async () => {}),
            /already running at/,
        );
        assert.equal((await d.request('GET', '/healthz', { agent: false })).status, 200);
    });
    assert.ok(!fs.existsSync(left));
    await daemonFor({ listen: ['unix:DIR/s.sock'], fdBaseline: false }, async (d) => {
        d.crash();
        await waitUntil(() => d.exited, 'the end');
        assert.ok(fs.existsSync(d.unixPath), 'a killed daemon leaves its socket');
        await daemonFor({ listen: [`unix:${d.unixPath}`], fdBaseline: false }, async (e) => {
            assert.equal((await e.request('GET', '/healthz', { agent: false })).status, 200);
        });
        d.child = null; // it was killed on purpose
        d.kill();
    });
});
