// SPDX-License-Identifier: Apache-2.0
// What E2B's envd has beyond reading and writing whole files: gzip both ways, metadata, parts of a
// file, and files made of several.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { withDaemon } from '../../lib/daemon.mjs';
import { create } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('e2b: gzip, metadata, parts', {}, (d) => {
    let made;
    const sandbox = () => (made ??= create(d));
    const at = (name) => path.join(d.dir, name);
    const raw = { 'Content-Type': 'application/octet-stream' };
    const get = (name, headers = {}) => d.request('GET', `/dialects/e2b/files?path=${at(name)}`, { headers });
    const post = (name, body, headers = {}) => d.request('POST', `/dialects/e2b/files?path=${at(name)}`, { body, headers: { ...raw, ...headers } });
    const text = 'compress me '.repeat(50_000);

    it('gzip: an upload is unpacked, a download is packed on request', async () => {
        const { files } = await sandbox();
        await files.write(at('packed'), text, { gzip: true });
        assert.equal(fs.readFileSync(at('packed'), 'utf8'), text);
        assert.equal(await files.read(at('packed'), { gzip: true }), text);
        assert.equal((await post('by-hand', zlib.gzipSync(text), { 'Content-Encoding': 'GZIP' })).status, 200);
        assert.equal(fs.readFileSync(at('by-hand'), 'utf8'), text);
        const gz = await get('packed', { 'Accept-Encoding': 'gzip' });
        assert.deepEqual([gz.status, gz.headers['content-encoding'], gz.headers.vary], [200, 'gzip', 'Accept-Encoding']);
        assert.ok(gz.body.length < text.length / 10);
        assert.equal(zlib.gunzipSync(gz.body).toString(), text);
        for (const refused of [{}, { 'Accept-Encoding': 'gzip;q=0' }, { 'Accept-Encoding': 'identity' }]) {
            const a = await get('packed', refused);
            assert.equal(a.headers['content-encoding'], undefined);
            assert.equal(a.body.toString(), text);
        }
    });

    it('a body that is not what it says leaves the old file as it is', async () => {
        fs.writeFileSync(at('kept'), 'old');
        const cut = zlib.gzipSync(crypto.randomBytes(100_000)).subarray(0, 50_000);
        for (const [body, headers, status] of [
            ['not gzip', { 'Content-Encoding': 'gzip' }, 400],
            [cut, { 'Content-Encoding': 'gzip' }, 400],
            ['x', { 'Content-Encoding': 'br' }, 400],
            ['x', { 'Content-Encoding': 'gzip', 'Content-Type': 'multipart/form-data; boundary=x' }, 415],
        ]) {
            const a = await post('kept', body, headers);
            assert.equal(a.status, status, a.text);
            assert.ok(a.json.message.length > 10);
        }
        assert.equal(fs.readFileSync(at('kept'), 'utf8'), 'old');
    });

    it('metadata is stored with the file, replaced with it, and moves with it', async () => {
        const { files } = await sandbox();
        const metadata = { author: 'me', 'content-hash': 'a=b c' };
        const info = await files.write(at('m/one'), 'x', { metadata });
        assert.deepEqual(info.metadata, metadata);
        assert.deepEqual((await files.getInfo(at('m/one'))).metadata, metadata);
        assert.deepEqual((await files.list(at('m')))[0].metadata, metadata);
        const moved = await files.rename(at('m/one'), at('m/two'));
        assert.deepEqual(moved.metadata, metadata);
        assert.match(execFileSync('python3', ['-c', `import os; print({k: os.getxattr(${JSON.stringify(at('m/two'))}, k) for k in os.listxattr(${JSON.stringify(at('m/two'))})})`]).toString(), /'user.e2b.author': b'me'/);
        await files.write(at('m/two'), 'y', { metadata: { author: 'you' } });
        assert.deepEqual((await files.getInfo(at('m/two'))).metadata, { author: 'you' });
        await files.write(at('m/two'), 'z');
        assert.equal((await files.getInfo(at('m/two'))).metadata, undefined);
        const several = await files.write([{ path: at('m/3'), data: 'a' }, { path: at('m/4'), data: 'b' }], { metadata });
        assert.deepEqual(several.map((f) => f.metadata), [metadata, metadata]);
    });

    it('metadata that cannot be stored is refused, and so is the file', async () => {
        for (const [headers, why] of [
            [{ [`X-Metadata-${'k'.repeat(247)}`]: 'x' }, /246 bytes/],
            [{ 'X-Metadata-a': 'h\u00e4h' }, /printable ASCII/],
            [{ 'X-Metadata-a': 'x'.repeat(4088) }, /4096 bytes/],
        ]) {
            const a = await post('refused', 'x', headers);
            assert.equal(a.status, 400, a.text);
            assert.match(a.json.message, why);
        }
        assert.equal(fs.existsSync(at('refused')), false);
        const most = await post('most', 'x', { 'X-Metadata-A': 'x'.repeat(3000), 'X-Metadata-': 'no key' });
        assert.deepEqual(Object.keys(most.json[0].metadata), ['a']);
    });

    it('parts of a file, and what a client has already', async () => {
        fs.writeFileSync(at('ten'), '0123456789');
        for (const [range, status, body, content] of [
            ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
            ['bytes=7-', 206, '789', 'bytes 7-9/10'],
            ['bytes=-3', 206, '789', 'bytes 7-9/10'],
            ['bytes=5-100', 206, '56789', 'bytes 5-9/10'],
            ['lines=1-2', 200, '0123456789', undefined],
        ]) {
            const a = await get('ten', { Range: range, 'Accept-Encoding': 'gzip', ...(status === 200 && { 'Accept-Encoding': 'identity' }) });
            assert.deepEqual([a.status, a.body.toString(), a.headers['content-range']], [status, body, content], range);
        }
        const beyond = await get('ten', { Range: 'bytes=10-' });
        assert.deepEqual([beyond.status, beyond.headers['content-range'], beyond.json.code], [416, 'bytes */10', 416]);
        const whole = await get('ten');
        assert.match(whole.headers['content-disposition'], /^inline; filename\*=utf-8''ten$/);
        assert.equal((await get('ten', { 'If-None-Match': whole.headers.etag })).status, 304);
    });

    it('compose makes one file of several, which are gone afterwards', async () => {
        const compose = (json, more = {}) => d.request('POST', '/dialects/e2b/files/compose', { json, ...more });
        const parts = ['p1', 'p2', 'p3'].map(at);
        parts.forEach((p, i) => fs.writeFileSync(p, String(i).repeat(100_000)));
        for (const [json, status] of [
            [{}, 400],
            [{ source_paths: [], destination: at('all') }, 400],
            [{ source_paths: parts }, 400],
            [{ source_paths: [7], destination: at('all') }, 400],
            [{ source_paths: [parts[0], parts[0] + '\0'], destination: at('all') }, 400],
            [{ source_paths: [...parts, at('missing')], destination: at('all') }, 404],
            [{ source_paths: [...parts, d.dir], destination: at('all') }, 400],
            [{ source_paths: parts, destination: parts[1] }, 400],
            [{ source_paths: Array(1001).fill(parts[0]), destination: at('all') }, 400],
            [{ source_paths: parts, destination: at('all'), username: 'nobody-at-all' }, 401],
        ]) {
            const a = await compose(json);
            assert.equal(a.status, status, a.text);
            assert.equal(a.json.code, status);
        }
        assert.equal((await compose({ source_paths: parts, destination: at('all') }, { role: 'type' })).status, 403);
        assert.equal(fs.existsSync(at('all')), false);
        const a = await compose({ source_paths: parts, destination: at('deep/all') });
        assert.deepEqual([a.status, a.json], [200, { path: at('deep/all'), name: 'all', type: 'file' }]);
        assert.equal(fs.readFileSync(at('deep/all'), 'utf8'), ['0', '1', '2'].map((c) => c.repeat(100_000)).join(''));
        assert.deepEqual(parts.map((p) => fs.existsSync(p)), [false, false, false]);
    });
});
