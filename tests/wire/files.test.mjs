// SPDX-License-Identifier: Apache-2.0
// Files by HTTP: content, ranges, conditions, trees, permissions, and every way in which they fail.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { it } from '../lib/test.mjs';
import { checkProblem, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { noteCode } from '../lib/codes.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';
import { waitUntil } from '../lib/wait.mjs';

const root = process.getuid() === 0;

withDaemon('files', {}, (d) => {
    const at = (...names) => path.join(d.dir, 'f', ...names);
    const query = (name, more = {}) => new URLSearchParams({ path: name, ...more });
    const content = (name, more) => `/v1/files/content?${query(name, more)}`;
    const put = (name, body, more = {}, options = {}) => d.api('PUT', content(name, more), { body, ...options });
    const get = (name, headers = {}) => d.api('GET', content(name), { headers });
    const call = (name, json, options = {}) => d.api('POST', `/v1/files/${name}`, { json, ...options });
    const stat = (name) => d.api('GET', `/v1/files/stat?${query(name)}`);

    it('what is written is read again, whatever the bytes and the name', async () => {
        const bytes = crypto.randomBytes(300000);
        for (const name of ['plain', 'with space', 'ä/ö/ü', '-x', 'new\nline', "quote'\"`$(x)", 'a=b', '%41']) {
            const a = await put(at(name), bytes, {}, { expect: 201 });
            assert.equal(a.json.path, at(name));
            assert.equal(a.json.size, bytes.length);
            assert.equal(a.json.mode, '0644');
            const b = await get(at(name));
            assert.equal(b.status, 200);
            assert.equal(b.headers['content-length'], String(bytes.length));
            assert.ok(b.body.equals(bytes), name);
        }
        await put(at('empty'), Buffer.alloc(0), {}, { expect: 201 });
        const none = await get(at('empty'));
        assert.equal(none.headers['content-length'], '0');
        assert.equal(none.body.length, 0);
    });

    it('a relative path is relative to the home directory of the user', async () => {
        const home = execFileSync('sh', ['-c', 'getent passwd $(id -u) | cut -d: -f6']).toString().trim();
        assert.equal((await stat('.')).json.path, `${home === '/' ? '' : home}/.`);
    });

    it('a name that is not UTF-8 is served as it is', async () => {
        const name = Buffer.concat([Buffer.from(at('bytes-')), Buffer.from([0xff, 0xfe])]);
        const url = `/v1/files/content?path=${[...name].map((b) => `%${b.toString(16).padStart(2, '0')}`).join('')}`;
        const a = await d.api('PUT', url, { body: 'x', expect: 201 });
        assert.ok(Buffer.from(a.json.path_base64, 'base64').equals(name));
        assert.equal((await d.api('GET', url)).text, 'x');
        assert.ok(fs.readdirSync(at(), { encoding: 'buffer' }).some((n) => n.equals(Buffer.from(path.basename(name.toString('latin1')), 'latin1'))));
        await d.api('DELETE', url.replace('/content', ''), { expect: 204 });
    });

    it('ranges of bytes', async () => {
        const name = at('range');
        await put(name, '0123456789');
        for (const [range, status, body, header] of [
            ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
            ['bytes=3-5', 206, '345', 'bytes 3-5/10'],
            ['bytes=8-', 206, '89', 'bytes 8-9/10'],
            ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
            ['bytes=-3', 206, '789', 'bytes 7-9/10'],
            ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
            ['bytes=5-3', 200, '0123456789'],
            ['bytes=0-1,3-4', 200, '0123456789'],
            ['lines=1-2', 200, '0123456789'],
            ['bytes=', 200, '0123456789'],
            ['bytes=a-b', 200, '0123456789'],
            ['bytes=99999999999999999999-', 200, '0123456789'],
        ]) {
            const a = await get(name, { Range: range, 'Accept-Encoding': 'gzip;q=0' });
            assert.equal(a.status, status, range);
            assert.equal(a.text, body, range);
            assert.equal(a.headers['content-range'], header, range);
        }
        for (const range of ['bytes=10-', 'bytes=-0']) {
            const a = await get(name, { Range: range });
            checkProblem(a, 'range_not_satisfiable');
            assert.equal(a.headers['content-range'], 'bytes */10');
        }
        const tag = (await get(name)).headers.etag;
        assert.equal((await get(name, { Range: 'bytes=1-2', 'If-Range': tag })).status, 206);
        assert.equal((await get(name, { Range: 'bytes=1-2', 'If-Range': '"other"' })).status, 200);
        assert.equal((await get(name, { Range: 'bytes=1-2', 'If-Range': 'Tue, 01 Jan 2030 00:00:00 GMT' })).status, 200);
    });

    it('a client that has the version gets none, and replaces only the version it knows', async () => {
        const name = at('version');
        const first = (await put(name, 'one')).headers.etag;
        const a = await get(name);
        assert.equal(a.headers.etag, first);
        for (const headers of [{ 'If-None-Match': first }, { 'If-None-Match': `"x", W/${first}` }, { 'If-None-Match': '*' }, { 'If-Modified-Since': a.headers['last-modified'] }]) {
            const b = await get(name, headers);
            assert.equal(b.status, 304, JSON.stringify(headers));
            assert.equal(b.body.length, 0);
        }
        assert.equal((await get(name, { 'If-None-Match': '"x"' })).status, 200);
        checkProblem(await get(name, { 'If-Match': '"x"' }), 'precondition_failed');
        assert.equal((await get(name, { 'If-Match': first })).status, 200);
        const second = await put(name, 'two', {}, { headers: { 'If-Match': first }, expect: 200 });
        assert.notEqual(second.headers.etag, first);
        checkProblem(await put(name, 'three', {}, { headers: { 'If-Match': first } }), 'precondition_failed');
        checkProblem(await put(at('nothing'), 'x', {}, { headers: { 'If-Match': '*' } }), 'precondition_failed');
        checkProblem(await put(name, 'three', {}, { headers: { 'If-None-Match': '*' } }), 'file_exists');
        checkProblem(await put(name, 'three', { exclusive: '1' }), 'file_exists');
        checkProblem(await put(name, 'three', {}, { headers: { 'If-Match': '"a", "b"' } }), 'bad_value');
        checkProblem(await put(name, 'three', {}, { headers: { 'If-None-Match': '"a"' } }), 'bad_value');
        assert.equal(fs.readFileSync(name, 'utf8'), 'two');
    });

    it('gzip in both directions', async () => {
        const bytes = Buffer.from('compressible '.repeat(20000));
        const name = at('packed');
        await put(name, zlib.gzipSync(bytes), {}, { headers: { 'Content-Encoding': 'gzip' }, expect: 201 });
        assert.ok(fs.readFileSync(name).equals(bytes));
        const a = await get(name, { 'Accept-Encoding': 'gzip' });
        assert.equal(a.headers['content-encoding'], 'gzip');
        assert.equal(a.headers['content-length'], undefined);
        assert.ok(a.body.length < bytes.length / 10 && zlib.gunzipSync(a.body).equals(bytes));
        assert.equal((await get(name, { 'Accept-Encoding': 'gzip', 'If-None-Match': a.headers.etag })).status, 304);
        const part = await get(name, { 'Accept-Encoding': 'gzip', Range: 'bytes=0-3' });
        assert.equal(part.text, 'comp');
        assert.equal(part.headers['content-encoding'], undefined);
        const gzip = { headers: { 'Content-Encoding': 'gzip' } };
        for (const body of ['plain', zlib.gzipSync(bytes).subarray(0, 100), Buffer.alloc(0)]) checkProblem(await put(name, body, {}, gzip), 'bad_archive');
        checkProblem(await put(name, 'x', {}, { headers: { 'Content-Encoding': 'br' } }), 'unsupported_media_type');
        assert.ok(fs.readFileSync(name).equals(bytes), 'what failed has changed nothing');
    });

    it('HEAD gets the headers and leaves no reader behind', async () => {
        await put(at('head'), 'x'.repeat(100000));
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `HEAD ${content(at('head'))}`));
        const a = await c.response({ head: true });
        assert.equal(a.status, 200);
        assert.equal(a.headers['content-length'], '100000');
        c.send(requestBytes(d, 'GET /healthz'));
        assert.equal((await c.response()).status, 200);
        c.destroy();
        await waitUntil(() => proc.pids().every((p) => !proc.cmdline(p).includes(at('head'))), 'its reader to end');
    });

    it('special files are refused without being touched, and files of /proc are read to their end', async () => {
        fs.mkdirSync(at(), { recursive: true });
        execFileSync('mkfifo', [at('fifo')]);
        for (const name of [at('fifo'), '/dev/zero', '/dev/null', '/dev/tty']) {
            checkProblem(await get(name), 'not_a_file');
            checkProblem(await put(name, 'x'), 'not_a_file');
        }
        const status = await get('/proc/self/status');
        assert.equal(status.headers['content-length'], undefined);
        assert.match(status.text, /^Name:.*nonvoluntary_ctxt_switches:\t\d+\n$/s);
        assert.equal((await stat(at('fifo'))).json.type, 'fifo');
        assert.equal((await stat('/dev/null')).json.type, 'character_device');
    });

    it('every refusal names its reason', async () => {
        await put(at('file'), 'x');
        fs.mkdirSync(at('dir/in'), { recursive: true });
        fs.symlinkSync('loop', at('loop'));
        checkProblem(await get(at('none')), 'no_such_file');
        checkProblem(await get(at('file/below')), 'not_a_directory');
        checkProblem(await get(at('dir')), 'is_a_directory');
        checkProblem(await get(at('loop')), 'bad_path');
        checkProblem(await put(at('dir'), 'x'), 'is_a_directory');
        checkProblem(await put(at('file/below'), 'x'), 'not_a_directory');
        checkProblem(await put(at('p/q'), 'x', { parents: '0' }), 'no_such_file');
        checkProblem(await put(at('n'.repeat(300)), 'x'), 'bad_path');
        checkProblem(await d.api('GET', '/v1/files/content'), 'missing_field');
        checkProblem(await d.api('GET', '/v1/files/content?path='), 'bad_path');
        checkProblem(await d.api('GET', `/v1/files/content?path=${'x'.repeat(4096)}`), 'bad_path');
        checkProblem(await d.api('GET', `/v1/files/content?path=a&mode=1`), 'bad_query');
        checkProblem(await put(at('x'), 'x', { mode: '9' }), 'bad_value');
        checkProblem(await d.api('GET', `/v1/files/stat?${query(at('file'), { user: 'nobody-at-all' })}`), 'user_unknown');
        checkProblem(await d.api('GET', `/v1/files/list?${query(at('file'))}`), 'not_a_directory');
        checkProblem(await d.api('GET', `/v1/files/list?${query(at(), { depth: '0' })}`), 'bad_query');
        checkProblem(await d.api('DELETE', `/v1/files?${query(at('dir'))}`), 'directory_not_empty');
        checkProblem(await d.api('DELETE', `/v1/files?${query('/', { recursive: '1' })}`), 'file_busy');
        checkProblem(await d.api('DELETE', `/v1/files?${query(at('none'))}`), 'no_such_file');
        assert.equal((await put('/proc/self/comm', 'x')).status, 200, 'a directory without new files');
        for (const role of ['watch', 'type']) checkProblem(await d.api('GET', content(at('file')), { role }), 'forbidden');
    });

    it('mode, append, and the owner and mode of an old file', async () => {
        const name = at('mode');
        assert.equal((await put(name, 'a', { mode: '0600' }, { expect: 201 })).json.mode, '0600');
        assert.equal((await put(name, 'b', {}, { expect: 200 })).json.mode, '0600');
        assert.equal((await put(name, 'c', { append: '1' }, { expect: 200 })).json.size, 2);
        assert.equal(fs.readFileSync(name, 'utf8'), 'bc');
        assert.equal((await put(at('new-log'), 'first', { append: '1' }, { expect: 201 })).json.size, 5);
        if (!root) return;
        fs.chownSync(name, 12345, 23456);
        const kept = (await put(name, 'd', { mode: '4755' })).json;
        assert.deepEqual([kept.uid, kept.gid, kept.mode], [12345, 23456, '4755']);
    });

    it('a link is written through, and a dangling one creates what it names', async () => {
        await put(at('real'), 'old');
        fs.symlinkSync('real', at('to-real'));
        fs.symlinkSync('made', at('to-made'));
        await put(at('to-real'), 'new');
        await put(at('to-made'), 'made');
        assert.equal(fs.readFileSync(at('real'), 'utf8'), 'new');
        assert.equal(fs.readFileSync(at('made'), 'utf8'), 'made');
        assert.ok(fs.lstatSync(at('to-real')).isSymbolicLink());
        const link = (await stat(at('to-real'))).json;
        assert.deepEqual([link.type, link.target, link.target_type], ['symlink', at('real'), 'file']);
        checkProblem(await put(at('to-real'), 'x', { exclusive: '1' }), 'file_exists');
    });

    it('readers see the old file or the new one, never a part', async () => {
        const name = at('atomic');
        const old = 'o'.repeat(50000);
        await put(name, old);
        const up = await RawConn.connect(d);
        up.send(requestBytes(d, `PUT ${content(name)}`, { headers: { 'Content-Length': 100000 } }), 'n'.repeat(50000));
        await waitUntil(() => proc.fileWriters(name).length === 1, 'the writer');
        assert.equal((await get(name)).text, old);
        up.send('n'.repeat(50000));
        assert.equal((await up.response()).status, 200);
        assert.equal((await get(name)).text, 'n'.repeat(100000));
        up.destroy();
    });

    it('a client that is cut in the middle of an upload leaves nothing, and the old file', async () => {
        const name = at('cut');
        await put(name, 'old');
        const before = fs.readdirSync(at()).sort();
        for (const target of [name, at('cut-new')]) {
            const up = await RawConn.connect(d);
            up.send(requestBytes(d, `PUT ${content(target)}`, { headers: { 'Content-Length': 1000000 } }), 'n'.repeat(300000));
            await waitUntil(() => proc.fileWriters(target).length === 1, 'the writer');
            up.reset();
            await waitUntil(() => proc.fileWriters(target).length === 0, 'its end');
        }
        assert.deepEqual(fs.readdirSync(at()).sort(), before);
        assert.equal(fs.readFileSync(name, 'utf8'), 'old');
    });

    it('a worker that is killed in the middle of transfers leaves nothing of them', async () => {
        const name = at('killed');
        const up = await RawConn.connect(d);
        up.send(requestBytes(d, `PUT ${content(name)}`, { headers: { 'Content-Length': 1000000 } }), 'n'.repeat(300000));
        await waitUntil(() => proc.fileWriters(name).length === 1, 'the writer');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => proc.fileWriters(name).length === 0, 'its end');
        up.destroy();
        assert.ok(!fs.readdirSync(at()).some((f) => f.startsWith('killed') || f.endsWith('.part')));
    });

    it('a helper that is killed is an error, and leaves nothing', async () => {
        const name = at('helper');
        const up = await RawConn.connect(d);
        up.send(requestBytes(d, `PUT ${content(name)}`, { headers: { 'Content-Length': 1000000 } }), 'n'.repeat(300000));
        await waitUntil(() => proc.fileWriters(name).length === 1, 'the writer');
        process.kill(proc.fileWriters(name)[0], 'SIGKILL');
        const a = await up.response();
        assert.equal(a.status, 500);
        noteCode(JSON.parse(a.body).code);
        assert.equal(JSON.parse(a.body).code, 'file_failed');
        up.destroy();
        assert.ok(!fs.readdirSync(at()).some((f) => f.startsWith('helper') || f.endsWith('.part')));
    });

    it('a list that is too long for one reply says so', async () => {
        const deep = at(...Array.from({ length: 4 }, () => 'd'.repeat(240)));
        fs.mkdirSync(deep, { recursive: true });
        for (let i = 0; i < 7500; i++) fs.writeFileSync(path.join(deep, `${i}`), '');
        checkProblem(await d.api('GET', `/v1/files/list?${query(deep, { limit: '10000' })}`), 'too_many_files');
        fs.rmSync(at('d'.repeat(240)), { recursive: true });
    });

    it('a copy has no set-ID bits, and takes the place of a link instead of writing through it', async () => {
        await put(at('c/from/file'), 'new');
        fs.chmodSync(at('c/from/file'), 0o6755);
        await put(at('c/outside'), 'precious');
        fs.mkdirSync(at('c/to'));
        fs.symlinkSync('../outside', at('c/to/file'));
        await call('copy', { from: at('c/from/file'), to: at('c/single') }, { expect: 200 });
        assert.equal(fs.statSync(at('c/single')).mode & 0o7777, 0o755);
        checkProblem(await call('copy', { from: at('c/from'), to: at('c/to'), recursive: true, overwrite: false }), 'file_exists');
        await call('copy', { from: at('c/from'), to: at('c/to'), recursive: true }, { expect: 200 });
        assert.equal(fs.readFileSync(at('c/outside'), 'utf8'), 'precious');
        assert.ok(fs.lstatSync(at('c/to/file')).isFile());
        assert.equal(fs.statSync(at('c/to/file')).mode & 0o7777, 0o755);
        assert.equal(fs.readFileSync(at('c/to/file'), 'utf8'), 'new');
        assert.deepEqual(fs.readdirSync(at('c/to')), ['file']);
    });

    it('a move to another file system keeps owner, mode and times', async () => {
        const away = fs.mkdtempSync('/dev/shm/files-');
        try {
            assert.notEqual(fs.statSync(away).dev, fs.statSync(d.dir).dev);
            await put(at('m/sub/file'), 'moved');
            if (root) for (const name of ['m/sub', 'm/sub/file', 'm']) fs.chownSync(at(name), 1234, 1235);
            fs.chmodSync(at('m/sub/file'), 0o4751);
            fs.utimesSync(at('m/sub/file'), 1000000, 1000000);
            fs.utimesSync(at('m/sub'), 1000000, 1000000);
            const keys = ['mode', 'uid', 'gid', 'mtimeMs'];
            const facts = (dir) => ['sub', 'sub/file'].map((name) => keys.map((k) => fs.statSync(path.join(dir, name))[k]));
            const before = facts(at('m'));
            await call('move', { from: at('m'), to: path.join(away, 'm') }, { expect: 200 });
            assert.deepEqual(facts(path.join(away, 'm')), before);
            assert.ok(!fs.existsSync(at('m')));
        } finally {
            fs.rmSync(away, { recursive: true });
        }
    });

    it('directories: mkdir, list, move, copy, permissions, delete', async () => {
        assert.equal((await call('mkdir', { path: at('t/a/b'), mode: '0700' })).status, 201);
        assert.equal((await call('mkdir', { path: at('t/a/b') })).status, 200);
        checkProblem(await call('mkdir', { path: at('t/a/b'), exclusive: true }), 'file_exists');
        checkProblem(await call('mkdir', { path: at('t/x/y'), parents: false }), 'no_such_file');
        await put(at('t/a/b/file'), 'text', { mode: '640' });
        fs.symlinkSync('b/file', at('t/a/link'));
        execFileSync('mkfifo', [at('t/a/fifo')]);
        const list = async (name, more) => (await d.api('GET', `/v1/files/list?${query(name, more)}`, { expect: 200 })).json;
        const all = await list(at('t'), { depth: '9' });
        assert.deepEqual(all.entries.map((e) => [path.relative(at('t'), e.path), e.type]), [
            ['a', 'directory'],
            ['a/b', 'directory'],
            ['a/b/file', 'file'],
            ['a/fifo', 'fifo'],
            ['a/link', 'symlink'],
        ]);
        assert.equal(all.truncated, false);
        assert.deepEqual((await list(at('t'))).entries.map((e) => e.name), ['a']);
        const cut = await list(at('t'), { depth: '9', limit: '2' });
        assert.deepEqual([cut.entries.length, cut.truncated], [2, true]);
        assert.equal((await list(at('t'), { depth: '9', limit: '5' })).truncated, false);
        checkProblem(await call('copy', { from: at('t'), to: at('u') }), 'is_a_directory');
        const copy = (await call('copy', { from: at('t'), to: at('u'), recursive: true })).json;
        assert.equal(copy.skipped, 1);
        assert.equal(fs.readFileSync(at('u/a/link'), 'utf8'), 'text');
        assert.equal(fs.readlinkSync(at('u/a/link')), 'b/file');
        assert.equal(fs.statSync(at('u/a/b')).mode & 0o777, 0o700);
        assert.equal(fs.statSync(at('u/a/b/file')).mode & 0o777, 0o640);
        checkProblem(await call('copy', { from: at('t'), to: at('u'), recursive: true, overwrite: false }), 'file_exists');
        await call('copy', { from: at('t'), to: at('t/inside'), recursive: true }, { expect: 200 });
        assert.deepEqual(fs.readdirSync(at('t/inside')), ['a']);
        checkProblem(await call('move', { from: at('u'), to: at('t'), overwrite: false }), 'file_exists');
        assert.equal((await call('move', { from: at('u/a/b/file'), to: at('v/w/moved') })).json.path, at('v/w/moved'));
        checkProblem(await call('move', { from: at('u/none'), to: at('x') }), 'no_such_file');
        // The detail named the file that was to be moved: "u/a/b: Is a directory".
        for (const [from, to] of [['v/w/moved', 'u'], ['u', 'v/w/moved'], ['v', 'u'], ['v', 'v/w/moved/x']])
            assert.ok((await call('move', { from: at(from), to: at(to) })).json.detail.startsWith(`${at(to)}: `), `${from} to ${to}`);
        checkProblem(await call('move', { from: at('u'), to: at('u/a/u') }), 'bad_value');
        checkProblem(await call('permissions', { path: at('v') }), 'missing_field');
        checkProblem(await call('permissions', { path: at('v'), owner: 'nobody-at-all' }), 'bad_value');
        assert.equal((await call('permissions', { path: at('v'), mode: '0750', recursive: true })).json.mode, '0750');
        assert.equal(fs.statSync(at('v/w/moved')).mode & 0o777, 0o750);
        await d.api('DELETE', `/v1/files?${query(at('v'), { recursive: '1' })}`, { expect: 204 });
        await d.api('DELETE', `/v1/files?${query(at('t/a/link'))}`, { expect: 204 });
        assert.ok(!fs.existsSync(at('v')) && fs.existsSync(at('t/a/b/file')));
    });

    it('search by name, by text and by expression', async () => {
        await put(at('s/a.txt'), 'one\ntwo needle\nthree');
        await put(at('s/b/c.md'), 'NEEDLE at the start\nneedle\n');
        await put(at('s/b/long'), `${'x'.repeat(600000)}needle`);
        await put(at('s/binary'), Buffer.from('needle\0needle\n'));
        const search = async (more) => (await d.api('GET', `/v1/files/search?${query(at('s'), more)}`, { expect: 200 })).json;
        const found = (a) => a.results.map((r) => [path.relative(at('s'), r.path), r.line, r.text?.slice(0, 20)]);
        assert.deepEqual(found(await search({ name: '*.[tm]*' })), [
            ['a.txt', undefined, undefined],
            ['b/c.md', undefined, undefined],
        ]);
        const all = await search({ text: 'needle' });
        assert.deepEqual(found(all), [
            ['a.txt', 2, 'two needle'],
            ['b/c.md', 2, 'needle'],
            ['b/long', 1, 'x'.repeat(20)],
        ]);
        assert.ok(all.results.every((r) => Buffer.byteLength(r.text) <= 400));
        assert.equal((await search({ text: 'needle', case: '0', name: '*.md' })).results.length, 2);
        assert.deepEqual(found(await search({ regex: '^(one|three)$' })).map((r) => r[1]), [1, 3]);
        const cut = await search({ text: 'needle', limit: '1' });
        assert.deepEqual([cut.results.length, cut.truncated], [1, true]);
        assert.equal((await search({ name: 'c.md', depth: '1' })).results.length, 0);
        checkProblem(await d.api('GET', `/v1/files/search?${query(at('s'), { regex: '(' })}`), 'bad_regex');
        for (const regex of ['((((x{1,200}){1,200}){1,200}){1,200})', `${'('.repeat(40)}x${'+)'.repeat(40)}`, 'x{9000}', '('.repeat(200)])
            checkProblem(await d.api('GET', `/v1/files/search?${query(at('s'), { regex })}`), 'bad_regex');
        for (const regex of ['^[[:alpha:])(]{3}$', '^(t|[])((+]|\\+)(w{0,100}){1,50}o', `${'x?'.repeat(500)}^one`, '^o(n)+e$'])
            assert.equal(found(await search({ regex })).length > 0, true, regex);
        checkProblem(await d.api('GET', `/v1/files/search?${query(at('s'), { regex: 'a', text: 'b' })}`), 'bad_query');
        checkProblem(await d.api('GET', `/v1/files/search?${query(at('s'))}`), 'missing_field');
        checkProblem(await d.api('GET', `/v1/files/search?${query(at('none'), { name: '*' })}`), 'no_such_file');
    });

    it('replacing text changes the whole file, or nothing', async () => {
        await put(at('r'), 'aXbXXc', { mode: '0600' });
        const a = (await call('replace', { path: at('r'), from: 'X', to: '<>' })).json;
        assert.deepEqual([a.replaced, a.mode, fs.readFileSync(at('r'), 'utf8')], [3, '0600', 'a<>b<><>c']);
        const inode = fs.statSync(at('r')).ino;
        assert.equal((await call('replace', { path: at('r'), from: 'none', to: 'x' })).json.replaced, 0);
        assert.equal(fs.statSync(at('r')).ino, inode);
        assert.equal((await call('replace', { path: at('r'), from: 'a<>b<><>c', to: '' })).json.size, 0);
        checkProblem(await call('replace', { path: at('r'), from: '', to: 'x' }), 'bad_value');
        checkProblem(await call('replace', { path: at(), from: 'a', to: 'x' }), 'is_a_directory');
        fs.truncateSync(at('r'), 64 * 1024 * 1024 + 1);
        checkProblem(await call('replace', { path: at('r'), from: 'a', to: 'x' }), 'file_too_large');
    });

    it('removing a tree follows no link', async () => {
        fs.mkdirSync(at('keep'), { recursive: true });
        fs.writeFileSync(at('keep/it'), 'x');
        fs.mkdirSync(at('gone/deep'), { recursive: true });
        fs.symlinkSync(at('keep'), at('gone/deep/link'));
        await d.api('DELETE', `/v1/files?${query(at('gone'), { recursive: '1' })}`, { expect: 204 });
        assert.ok(!fs.existsSync(at('gone')) && fs.existsSync(at('keep/it')));
    });

    it('the rights are those of the user', { skip: root ? false : 'needs root to act as another user' }, async () => {
        fs.writeFileSync(at('secret'), 'x', { mode: 0o600 });
        fs.chmodSync(d.dir, 0o755);
        fs.mkdirSync(at('theirs'));
        fs.chownSync(at('theirs'), 65534, 65534);
        const as = { user: '65534:65534' };
        checkProblem(await d.api('GET', content(at('secret'), as)), 'file_access_denied');
        checkProblem(await put(at('not-theirs'), 'x', as), 'file_access_denied');
        checkProblem(await d.api('DELETE', `/v1/files?${query(at('secret'), as)}`), 'file_access_denied');
        const made = (await put(at('theirs/in/it'), 'x', as, { expect: 201 })).json;
        assert.deepEqual([made.uid, made.gid], [65534, 65534]);
        assert.equal(fs.statSync(at('theirs/in')).uid, 65534);
        fs.writeFileSync(at('theirs/read-only'), 'x', { mode: 0o444 });
        fs.chownSync(at('theirs/read-only'), 65534, 65534);
        checkProblem(await put(at('theirs/read-only'), 'y', as), 'file_access_denied');
        fs.writeFileSync(at('writable'), 'old', { mode: 0o666 });
        fs.chmodSync(at('writable'), 0o666);
        assert.equal((await put(at('writable'), 'in place', as, { expect: 200 })).json.uid, 0);
        assert.equal(fs.readFileSync(at('writable'), 'utf8'), 'in place');
    });
});
