// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox by daytona-sdk: one and several, up and down, and what there is of them.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { BASE, clientsOf, refused } from './client.mjs';

withDaemon('daytona: files', {}, (d) => {
    const clients = clientsOf(d);
    const at = (name) => path.join(d.dir, name);
    const text = (name) => fs.readFileSync(at(name), 'utf8');
    let box;
    before(async () => (box = () => clients.sandbox().then((s) => s.fs)));

    it('uploads and downloads bytes of any kind, and creates directories on the way', async () => {
        const f = await box();
        const bytes = crypto.randomBytes(3 << 20);
        await f.uploadFile(bytes, at('a/b/\u{1f600} "name"'));
        assert.ok(fs.readFileSync(at('a/b/\u{1f600} "name"')).equals(bytes));
        await f.uploadFile(bytes, at('big'));
        assert.ok((await f.downloadFile(at('big'))).equals(bytes));
        assert.ok((await buffer(await f.downloadFileStream(at('big')))).equals(bytes));
        await f.uploadFile(Buffer.alloc(0), at('empty'));
        assert.equal((await f.downloadFile(at('empty'))).length, 0);
        await f.downloadFile(at('big'), at('copy-of-big'));
        assert.ok(fs.readFileSync(at('copy-of-big')).equals(bytes));
        const raw = await d.request('GET', `${BASE}/files/download?path=${at('big')}`, { raw: true });
        assert.equal(raw.status, 200);
    });

    it('many at once, in both directions; one that is missing does not hold up the others', async () => {
        const f = await box();
        const sources = Array.from({ length: 40 }, (_, i) => ({ source: Buffer.from(`text ${i}`.repeat(i * 50)), destination: at(`many/${i}`) }));
        await f.uploadFiles(sources);
        for (const s of sources) assert.ok(fs.readFileSync(s.destination).equals(s.source));
        const got = await f.downloadFiles([...sources.map((s) => ({ source: s.destination })), { source: at('none') }, { source: at('many') }]);
        for (const [i, s] of sources.entries()) assert.ok(got[i].result.equals(s.source), String(i));
        assert.deepEqual([got[40].errorDetails.statusCode, got[40].errorDetails.code], [404, 'FILE_NOT_FOUND']);
        assert.equal(got[41].errorDetails.statusCode, 400);
        await refused(f.downloadFile(at('none')), 'DaytonaFileNotFoundError', /none/);
    });

    it('an upload tells what could not be written, and writes the rest', async () => {
        const form = new FormData();
        form.append('files[0].path', at('part/ok'));
        form.append('files[0].file', new Blob(['ok']), 'x');
        form.append('files[1].path', at('many'));
        form.append('files[1].file', new Blob(['x'.repeat(1 << 20)]), 'x');
        form.append('files[2].file', new Blob(['no path']), 'x');
        form.append('files[3].path', at('part/last'));
        form.append('files[3].file', new Blob(['last']), 'x');
        const send = (body, headers = {}) => fetch(`${d.url}${BASE}/files/bulk-upload`, { method: 'POST', headers: { Authorization: `Bearer ${d.token}`, ...headers }, body });
        const a = await send(form);
        const { errors, files } = await a.json();
        assert.equal(a.status, 400);
        assert.deepEqual(files, [{ path: at('part/ok'), bytes: 2 }, { path: at('part/last'), bytes: 4 }]);
        assert.equal(errors.length, 2);
        assert.match(errors[0], /many: .*directory/i);
        assert.match(errors[1], /missing \.path metadata/);
        assert.equal(text('part/last'), 'last');
        for (const [body, type] of [['{}', 'application/json'], ['--B\r\nContent-Disposition: form-data; name="files[0].file"\r\n\r\ncut', 'multipart/form-data; boundary=B']])
            assert.equal((await send(body, { 'Content-Type': type })).status, 400);
    });

    it('has limits on how many, and checks requests', async () => {
        const ask = (json) => d.request('POST', `${BASE}/files/bulk-download`, { json });
        for (const json of [{}, { paths: [] }, { paths: [1] }, { paths: Array(1001).fill(at('empty')) }]) assert.equal((await ask(json)).status, 400, JSON.stringify(json).slice(0, 40));
        const form = new FormData();
        for (let i = 0; i <= 1000; i++) form.append(`files[${i}].path`, at(`limit/${i}`));
        const a = await fetch(`${d.url}${BASE}/files/bulk-upload`, { method: 'POST', headers: { Authorization: `Bearer ${d.token}` }, body: form });
        assert.equal(a.status, 400);
        assert.match((await a.json()).errors[0], /files\[1000\]\.path: .*too many/);
    });

    it('lists and describes what there is, with the members of the model', async () => {
        const f = await box();
        fs.mkdirSync(at('list/sub/deep'), { recursive: true });
        fs.writeFileSync(at('list/one'), '12345', { mode: 0o640 });
        fs.symlinkSync(at('list/one'), at('list/link'));
        fs.symlinkSync('nowhere', at('list/dangling'));
        const all = await f.listFiles(at('list'));
        assert.deepEqual(all.map((e) => [e.name, e.isDir, e.size === 5]), [['link', false, true], ['one', false, true], ['sub', true, false]]);
        const { modTime, modifiedAt, ...rest } = await f.getFileDetails(at('list/one'));
        assert.deepEqual(rest, { name: 'one', path: at('list/one'), size: 5, mode: '-rw-r-----', isDir: false, owner: String(process.getuid()), group: String(process.getgid()), permissions: '0640' });
        const ms = Math.floor(fs.statSync(at('list/one')).mtimeMs);
        assert.equal(Date.parse(modifiedAt), ms);
        assert.equal(modTime, `${new Date(ms).toISOString().replace('T', ' ').replace('Z', '')} +0000 UTC`);
        assert.equal((await f.getFileDetails('/tmp')).mode, 'dtrwxrwxrwx');
        assert.ok((await f.listFiles(at('list'), { depth: 2 })).some((e) => e.path === at('list/sub/deep')));
        await refused(f.getFileDetails(at('list/dangling')), 'DaytonaFileNotFoundError', /dangling/);
        await refused(f.listFiles(at('none')), 'DaytonaFileNotFoundError', /none/);
        assert.ok(Array.isArray(await f.listFiles('.')));
    });

    it('folders, moves, permissions, deletes', async () => {
        const f = await box();
        await f.createFolder(at('made/deep'), '0700');
        assert.equal(fs.statSync(at('made/deep')).mode & 0o777, 0o700);
        await refused(f.createFolder(at('made/bad'), '9'), 'DaytonaValidationError', /invalid mode format/);
        fs.writeFileSync(at('made/x'), 'x');
        await f.moveFiles(at('made/x'), at('made/y'));
        assert.equal(text('made/y'), 'x');
        fs.writeFileSync(at('made/x'), 'other');
        await refused(f.moveFiles(at('made/x'), at('made/y')), 'DaytonaConflictError', /destination already exists/);
        await refused(f.moveFiles(at('made/x'), at('no/parent')), 'DaytonaFileNotFoundError');
        assert.ok(!fs.existsSync(at('no')));
        await f.setFilePermissions(at('made/y'), { mode: '640' });
        assert.equal(fs.statSync(at('made/y')).mode & 0o777, 0o640);
        await refused(f.setFilePermissions(at('made/none'), { mode: '640' }), 'DaytonaFileNotFoundError');
        await refused(f.deleteFile(at('made/deep')), 'DaytonaValidationError', /cannot delete directory without recursive flag/);
        assert.ok(fs.existsSync(at('made/deep')));
        await f.deleteFile(at('made/y'));
        await f.deleteFile(at('made'), true);
        assert.ok(!fs.existsSync(at('made')));
        await refused(f.deleteFile(at('made')), 'DaytonaFileNotFoundError');
    });

    it('finds text in files, and files by name; what it cannot is refused with the reason', async () => {
        const f = await box();
        fs.mkdirSync(at('find/in'), { recursive: true });
        fs.writeFileSync(at('find/in/a.txt'), 'one\ntwo TODO\n');
        fs.writeFileSync(at('find/b.bin'), 'TODO\0');
        assert.deepEqual(await f.findFiles(at('find'), 'TODO'), [{ file: at('find/in/a.txt'), line: 2, content: 'two TODO' }]);
        assert.deepEqual(await f.findFiles(at('find'), 'T.DO'), []);
        fs.mkdirSync(at('find/dir.txt'));
        fs.writeFileSync(at('find/top.txt'), '');
        assert.deepEqual(await f.searchFiles(at('find'), '*.txt'), { files: [at('find/top.txt')] });
        assert.deepEqual(await f.searchFiles(at('find'), '**/*.txt'), { files: [at('find/in/a.txt'), at('find/top.txt')] });
        assert.deepEqual(await f.searchFiles(at('find'), 'none'), { files: [] });
        await refused(f.searchFiles(at('gone'), '*'), 'DaytonaFileNotFoundError');
        for (const pattern of ['in/*.txt', '*.{txt,c}', '**']) await assert.rejects(f.searchFiles(at('find'), pattern), /searches for NAME/);
        await assert.rejects(f.replaceInFiles([at('find/in/a.txt')], 'a', 'b'), /v1\/files\/replace/);
    });

    it('is for the role own alone', async () => {
        for (const [method, p] of [['GET', '/files?path=/'], ['GET', '/files/download?path=/etc/passwd'], ['POST', '/files/folder?path=/tmp/never'], ['DELETE', '/files?path=/tmp/never'], ['POST', '/files/bulk-download'], ['POST', '/files/bulk-upload']])
            assert.equal((await d.request(method, BASE + p, { role: 'type' })).status, 403, p);
    });
});
