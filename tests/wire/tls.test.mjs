// SPDX-License-Identifier: Apache-2.0
// TLS on the listener: the same API, the same bytes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, it, test } from '../lib/test.mjs';
import tls from 'node:tls';
import { Viewer } from '../lib/client.mjs';
import { Daemon, releaseBinary, withDaemon } from '../lib/daemon.mjs';
import { checkBytes, emit, expectedBytes } from '../lib/gen.mjs';
import { h2ask, h2connect } from '../lib/http2.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';
import { OP, WsRaw, frame } from '../lib/wsraw.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-tls-'));
const cert = path.join(dir, 'cert.pem');
const key = path.join(dir, 'key.pem');
execFileSync(
    'openssl',
    [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-keyout',
        key,
        '-out',
        cert,
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
    ],
    { stdio: 'ignore' },
);
const tlsArgs = ['--tls-cert', cert, '--tls-key', key];

withDaemon('tls', { args: tlsArgs }, (d) => {
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('announces https and answers', async () => {
        assert.match(d.url, /^https:/);
        assert.equal((await d.request('GET', '/v1/info')).status, 200);
        assert.equal((await d.request('GET', '/v1/info', { role: null })).status, 401);
    });

    it('old versions of the protocol are refused', async () => {
        await assert.rejects(
            new Promise((ok, no) => {
                tls.connect(
                    {
                        host: '127.0.0.1',
                        port: d.port,
                        rejectUnauthorized: false,
                        minVersion: 'TLSv1',
                        maxVersion: 'TLSv1.1',
                    },
                    ok,
                ).on('error', no);
            }),
        );
    });

    it('HTTP/2 is agreed on with who offers it, HTTP/1.1 with the others', async () => {
        const s = await h2connect(d);
        assert.equal(s.alpnProtocol, 'h2');
        const a = await h2ask(s, d, 'POST', '/v1/processes/run', { json: { command: 'echo', args: ['tls'] } });
        assert.equal(a.json.stdout, 'tls\n');
        s.destroy();
        const chosen = await new Promise((ok, no) => {
            const c = tls.connect({ port: d.port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, () => {
                ok(c.alpnProtocol);
                c.destroy();
            }).on('error', no);
        });
        assert.equal(chosen, 'http/1.1');
    });

    it('who has agreed on HTTP/2 is not answered in HTTP/1.1', async () => {
        const c = await RawConn.connect(d, { secure: true, alpn: ['h2'] });
        assert.equal(c.socket.alpnProtocol, 'h2');
        c.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
        const said = await c.rest();
        assert.doesNotMatch(said.toString('latin1'), /HTTP\/1/);
        const goaway = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0]);
        assert.equal(said.readUInt32BE(said.indexOf(goaway) + 13), 1, 'GOAWAY: PROTOCOL_ERROR');
        c.destroy();
    });

    it('TLS 1.2 is taken with forward secrecy and authenticated encryption only', async () => {
        const handshake = (ciphers) =>
            new Promise((ok, no) => {
                const c = tls.connect({ port: d.port, rejectUnauthorized: false, maxVersion: 'TLSv1.2', ciphers }, () => {
                    ok(c.getCipher().name);
                    c.destroy();
                }).on('error', no);
            });
        for (const good of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305'])
            assert.equal(await handshake(good), good);
        for (const bad of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA384', 'DHE-RSA-AES128-GCM-SHA256'])
            await assert.rejects(handshake(bad), /handshake failure|ECONNRESET/, bad);
    });

    it('plain HTTP on the TLS port gets no secrets and no hang', async () => {
        const c = await RawConn.connect({ port: d.port });
        c.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
        await c.rest();
        c.destroy();
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });

    it('large bodies and pipelined requests are exact', async () => {
        const c = await RawConn.connect(d, { secure: true });
        const p = await d.spawn({ command: emit(), args: ['-n', '700000', '-s', '31', '-c', '65536'] });
        await d.exitOf(p.id);
        const one = requestBytes(d, `GET /v1/processes/${p.id}/output?since=0`);
        c.send(Buffer.concat([one, one, one]));
        for (let i = 0; i < 3; i++) checkBytes(31, 0, (await c.response({ ms: 20000 })).body);
        c.destroy();
    });

    it('a WebSocket carries bytes both ways', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        const n = 1 << 20;
        await v.send(expectedBytes(32, 0, n));
        await v.until(() => v.bytes >= n, 20000, 'the echo');
        checkBytes(32, 0, v.output);
        v.control({ type: 'eof' });
        assert.equal((await v.finish()).exit_code, 0);
    });

    it('input that the end of the stream came with is not lost', async () => {
        const n = 220000;
        const slow = 'while x=$(head -c 2048 | wc -c); [ $x -gt 0 ]; do n=$((n + x)); done';
        const p = await d.sh(`sleep 1; n=0; ${slow}; echo $n; sleep 60`, { stdin: 'pipe' });
        const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect`);
        w.conn.send(Buffer.concat([frame(OP.BINARY, Buffer.alloc(n, 0x61)), frame(OP.TEXT, '{"type":"eof"}')]));
        w.conn.half();
        const out = await waitUntil(async () => {
            const a = await d.request('GET', `/v1/processes/${p.id}/output?since=0`);
            return a.body.length > 0 && a.body.toString();
        }, 'what the process has counted', 30000);
        assert.equal(out.trim(), String(n));
        w.destroy();
    });

    it('a stream that follows goes on to the exit', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '100000', '-s', '33', '-d', '100', '-c', '1000'] });
        const a = await d.request('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        assert.equal(a.body.length, 100000);
        checkBytes(33, 0, a.body);
    });

    it('half a handshake and rubbish do no harm', async () => {
        for (const bytes of [
            '\x16\x03\x01\x02\x00',
            '\x16\x03\x01\x00\x05hello',
            '\x80\x2e\x01\x00\x02',
            'rubbish\r\n\r\n'.repeat(100),
        ]) {
            const c = await RawConn.connect({ port: d.port });
            c.send(bytes).half();
            await c.rest().catch(() => {});
            c.destroy();
        }
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    });
});

test('wrong files stop the start', async () => {
    const other = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-tls-'));
    const bad = path.join(other, 'bad.pem');
    fs.writeFileSync(bad, 'not a certificate');
    for (const args of [
        ['--tls-cert', bad, '--tls-key', bad],
        ['--tls-cert', path.join(other, 'none'), '--tls-key', bad],
        ['--tls-cert', bad],
    ]) {
        const d = new Daemon({ args, fdBaseline: false });
        await assert.rejects(d.start(), /daemon ended at its start/);
        assert.notEqual(d.exited.code, 0);
        d.checkReports();
        d.kill();
    }
    fs.rmSync(other, { recursive: true, force: true });
});

test('a build without TLS says so', { skip: !releaseBinary() && 'no release binary' }, async () => {
    const d = new Daemon({ bin: releaseBinary(), args: ['--tls-cert', '/x', '--tls-key', '/y'], fdBaseline: false });
    await assert.rejects(d.start(), /TLS/);
    d.kill();
});
