// SPDX-License-Identifier: Apache-2.0
// Files by @vercel/sandbox 3.5.0: written as a gzipped tar, read as bytes; and archives that its client would not make.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { at, refused, Sandbox, skip } from './client.mjs';

withDaemon('vercel: files', { skip, args: ['--no-dialects', '--dialect', 'vercel=127.0.0.1:0'] }, (d) => {
    let sb;
    let S;
    before(async () => {
        sb = await Sandbox.get({ ...at(d), name: 'local' });
        S = `/dialects/vercel/api/v2/sandboxes/sessions/${sb.currentSession().sessionId}`;
    });
    const local = (name) => path.join(d.dir, name);
    const text = (name) => fs.readFileSync(local(name), 'utf8');

    it('what is written is there, with its mode, also under long and foreign names', async () => {
        const long = `deep/${'n'.repeat(120)}/${'m'.repeat(200)}.txt`;
        const bytes = crypto.randomBytes(3 << 20);
        await sb.writeFiles([
            { path: 'a/b/c.txt', content: Buffer.from('text') },
            { path: local('absolute'), content: Buffer.from('#!/bin/sh\necho ran\n'), mode: 0o755 },
            { path: long, content: Buffer.from('long') },
            { path: 'n\u00e4me \u{1f600}', content: Buffer.from('u') },
            { path: 'empty', content: Buffer.alloc(0) },
            { path: 'big', content: bytes },
        ]);
        assert.equal(text('a/b/c.txt'), 'text');
        assert.equal(await (await sb.runCommand(local('absolute'))).stdout(), 'ran\n');
        assert.equal(text(long), 'long');
        assert.equal(text('n\u00e4me \u{1f600}'), 'u');
        assert.equal(text('empty'), '');
        assert.ok(fs.readFileSync(local('big')).equals(bytes));
        assert.ok((await sb.readFileToBuffer({ path: 'big' })).equals(bytes));
        assert.equal((await sb.readFileToBuffer({ path: 'empty' })).length, 0);
        assert.equal(fs.statSync(local('a/b/c.txt')).mode & 0o777, 0o644);
        await sb.writeFiles([{ path: 'a/b/c.txt', content: Buffer.from('new') }]);
        assert.equal(text('a/b/c.txt'), 'new');
    });

    it('what is not there reads as null; directories and the forbidden are errors', async () => {
        assert.equal(await sb.readFile({ path: 'none' }), null);
        assert.equal((await sb.readFileToBuffer({ path: 'c.txt', cwd: local('a/b') })).toString(), 'new');
        await assert.rejects(sb.readFile({ path: 'a' }), /status 400/);
        await sb.mkDir('made');
        assert.ok(fs.statSync(local('made')).isDirectory());
        await refused(sb.mkDir('made'), 409, { text: 'made' });
        await refused(sb.mkDir('empty/x'), 400);
        await refused(sb.writeFiles([{ path: 'empty/x', content: Buffer.from('x') }]), 400);
        await refused(sb.mkDir('x'.repeat(5000)), 400, { text: 'path' });
    });

    it('the file system of the client: writeFile, appendFile, readdir, stat, rm', async () => {
        await sb.fs.writeFile('notes.txt', 'one\n');
        await sb.fs.appendFile('notes.txt', 'two\n');
        assert.equal(await sb.fs.readFile('notes.txt', 'utf8'), 'one\ntwo\n');
        await sb.fs.mkdir('tree/of/it', { recursive: true });
        assert.deepEqual(await sb.fs.readdir('tree'), ['of']);
        assert.equal((await sb.fs.stat('notes.txt')).size, 8);
        await sb.fs.rm('tree', { recursive: true });
        await assert.rejects(sb.fs.stat('tree'), { code: 'ENOENT' });
        await assert.rejects(sb.fs.readFile('tree'), { code: 'ENOENT' });
    });

    it('nothing of it is left in the list, whatever happened', async () => {
        const list = await d.list();
        assert.deepEqual(list.filter((p) => p.command === '/proc/self/exe'), []);
    });

    // --- archives by hand ---

    const entry = (name, { type = '0', data = '', size = Buffer.byteLength(data), prefix = '' } = {}) => {
        const b = Buffer.alloc(512);
        b.write(name);
        b.write('0000644\0', 100);
        b.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
        b.write(type, 156);
        b.write('ustar\x0000', 257, 'latin1');
        b.write(prefix, 345);
        b.fill(' ', 148, 156);
        b.write(`${b.reduce((n, x) => n + x, 0).toString(8).padStart(6, '0')}\0`, 148);
        return Buffer.concat([b, Buffer.from(data), Buffer.alloc((512 - (Buffer.byteLength(data) % 512)) % 512)]);
    };
    const END = Buffer.alloc(1024);
    const write = (body, headers = {}) =>
        d.request('POST', `${S}/fs/write?teamId=t`, { body, headers: { 'Content-Type': 'application/gzip', 'x-cwd': local('in'), ...headers } });
    const pack = (...parts) => zlib.gzipSync(Buffer.concat(parts));

    it('archives that lead out, hold links, or are damaged are refused, and say why', async () => {
        fs.mkdirSync(local('in'));
        for (const [body, text] of [
            [pack(entry('../out', { data: 'x' }), END), 'leads out'],
            [pack(entry('a/../../out', { data: 'x' }), END), 'leads out'],
            [pack(entry('out', { data: 'x', prefix: '..' }), END), 'leads out'],
            [pack(entry('x', { type: 'x', data: '15 path=../out\n' }), entry('f'), END), 'leads out'],
            [pack(entry('link', { type: '2' }), END), 'neither a file nor a directory'],
            [pack(entry('hard', { type: '1' }), END), 'neither a file nor a directory'],
            [pack(entry('f', { data: 'x' })), 'cut short'],
            [pack(entry('f', { data: 'x', size: 100000 })), 'cut short'],
            [pack(Buffer.from('nonsense'.repeat(64))), 'damaged'],
            [Buffer.from('nonsense'), 'not gzip'],
            [pack(entry('f', { data: 'x' }), END).subarray(0, 40), 'cut short'],
            [Buffer.alloc(0), 'cut short'],
        ]) {
            const a = await write(body);
            assert.equal(a.status, 400, a.text);
            assert.ok(a.json.error.message.includes(text), `${a.json.error.message}: not ${text}`);
        }
        assert.equal(fs.existsSync(local('out')), false);
        assert.equal((await write(pack(entry('/rooted', { data: 'r' }), END))).status, 200);
        assert.equal(text('in/rooted'), 'r');
        assert.equal((await write(pack(END), { 'x-cwd': 'relative' })).status, 400);
        assert.equal((await write(pack(END), { 'x-cwd': '' })).status, 200);
    });

    it('a bomb costs the worker nothing', async () => {
        const before = d.workerPid();
        const many = [];
        for (let i = 0; i < 40; i++) many.push(entry(`bomb/${i}`, { data: '\0'.repeat(1 << 20) }));
        const a = await write(pack(...many, END));
        assert.equal(a.status, 200, a.text);
        assert.equal(fs.statSync(local('in/bomb/39')).size, 1 << 20);
        assert.equal(d.workerPid(), before);
    });

    const helpers = async () => (await d.list('?status=running')).filter((p) => p.command === '/proc/self/exe');
    /** Begins to write, and never sends the rest. */
    const half = async () => {
        const c = new AbortController();
        let sent = 0;
        const body = new ReadableStream({
            async pull(to) {
                if (sent++ === 0) to.enqueue(pack(entry('half', { data: 'x' })));
                else await new Promise(() => {});
            },
        });
        const call = fetch(`${d.url}${S}/fs/write`, { method: 'POST', body, duplex: 'half', signal: c.signal, headers: { ...d.authHeaders(), 'x-cwd': local('in') } });
        call.catch(() => {});
        await waitUntil(async () => (await helpers()).length === 1, 'the helper');
        return c;
    };

    it('who goes while writing leaves no process', async () => {
        (await half()).abort();
        await waitUntil(async () => (await helpers()).length === 0, 'the helper to be gone');
    });

    it('neither does a worker that dies meanwhile, though no other dialect looks after it', async () => {
        await half();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(async () => (await helpers()).length === 0, 'the helper to be gone');
    });
});
