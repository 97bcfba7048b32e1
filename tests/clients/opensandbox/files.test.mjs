// SPDX-License-Identifier: Apache-2.0
// Files by the published SDK, and what no client sends: forms that are wrong or cut, bad bodies, weak tokens.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { call, PREFIX, refused, withSandbox } from '../../lib/opensandbox.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withSandbox('opensandbox: files', {}, (d, sandbox) => {
    const at = (name) => path.join(d.dir, name);
    const helpers = async () => (await d.list()).filter((p) => p.label === 'file');
    const form = (...parts) => {
        const f = new FormData();
        for (const [name, text] of parts) f.append(name, new Blob([text]), name);
        return f;
    };
    const upload = async (body, headers = {}) => {
        const a = await fetch(`${d.url}${PREFIX}/files/upload`, { method: 'POST', body, headers: { 'X-EXECD-ACCESS-TOKEN': d.token, ...headers } });
        return { status: a.status, code: a.status === 200 ? undefined : (await a.json()).code };
    };
    const meta = (name, more) => ['metadata', JSON.stringify({ path: at(name), ...more })];

    it('the SDK writes, reads, lists, moves and deletes', async () => {
        const { files } = await sandbox();
        await files.createDirectories([{ path: at('a/b'), mode: 755 }]);
        await files.writeFiles([{ path: at('a/b/one'), data: 'eins ü\n', mode: 644 }, { path: at('a/two'), data: new Uint8Array([0, 1, 255]) }]);
        assert.equal(await files.readFile(at('a/b/one')), 'eins ü\n');
        assert.deepEqual([...(await files.readBytes(at('a/two')))], [0, 1, 255]);
        assert.deepEqual([...(await files.readBytes(at('a/two'), { range: 'bytes=1-1' }))], [1]);
        const info = await files.getFileInfo([at('a/two')]);
        assert.equal(info[at('a/two')].size, 3);
        assert.ok(info[at('a/two')].modifiedAt instanceof Date);
        await files.moveFiles([{ src: at('a/two'), dest: at('c/three') }]);
        await files.setPermissions([{ path: at('c/three'), mode: 600 }]);
        assert.equal(fs.statSync(at('c/three')).mode & 0o777, 0o600);
        await files.deleteFiles([at('c/three'), at('none')]);
        await files.deleteDirectories([at('a')]);
        assert.ok(!fs.existsSync(at('a')) && !fs.existsSync(at('c/three')));
        await refused(files.getFileInfo([at('none')]), 404, 'FILE_NOT_FOUND');
        assert.deepEqual(await helpers(), []);
    });

    it('a form is read in any order of its other parts; one that is wrong writes nothing that it does not name', async () => {
        assert.deepEqual(await upload(form(['note', 'x'], meta('f1'), ['note', 'y'], ['file', '1'], meta('f2', { mode: 600 }), ['file', '2'])), { status: 200, code: undefined });
        assert.deepEqual(['f1', 'f2'].map((f) => fs.readFileSync(at(f), 'utf8')), ['1', '2']);
        for (const [parts, code] of [
            [[], 'INVALID_FILE_METADATA'],
            [[['file', 'x']], 'INVALID_FILE_METADATA'],
            [[meta('w')], 'INVALID_FILE'],
            [[meta('w'), meta('v'), ['file', 'x'], ['file', 'y']], 'INVALID_FILE'],
            [[['metadata', '{'], ['file', 'x']], 'INVALID_FILE_METADATA'],
            [[['metadata', '[]'], ['file', 'x']], 'INVALID_FILE_METADATA'],
            [[['metadata', '{}'], ['file', 'x']], 'INVALID_FILE_METADATA'],
            [[meta('w', { mode: 899 }), ['file', 'x']], 'INVALID_FILE_METADATA'],
            [[meta('w', { mode: '644' }), ['file', 'x']], 'INVALID_FILE_METADATA'],
            [[['metadata', `{"path":"${'x'.repeat(70000)}"}`], ['file', 'x']], 'INVALID_FILE_METADATA'],
        ]) {
            assert.deepEqual(await upload(form(...parts)), { status: 400, code }, JSON.stringify(parts).slice(0, 80));
        }
        assert.deepEqual(await upload('x', { 'Content-Type': 'text/plain' }), { status: 400, code: 'INVALID_FILE' });
        const cut = '--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}';
        assert.deepEqual(await upload(cut, { 'Content-Type': 'multipart/form-data; boundary=b' }), { status: 400, code: 'INVALID_FILE' });
        assert.deepEqual(await upload(form(meta('f1/under-a-file'), ['file', 'x'])), { status: 400, code: 'INVALID_REQUEST_BODY' });
        assert.ok(!fs.existsSync(at('w')) && !fs.existsSync(at('v')));
        assert.deepEqual(await helpers(), []);
    });

    it('a file whose upload is cut never appears, and the old one stays', async () => {
        fs.writeFileSync(at('old'), 'old');
        const rq = http.request(`${d.url}${PREFIX}/files/upload`, {
            method: 'POST',
            headers: { 'X-EXECD-ACCESS-TOKEN': d.token, 'Content-Type': 'multipart/form-data; boundary=b' },
            agent: false,
        });
        rq.on('error', () => {});
        rq.write(`--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n${meta('old')[1]}\r\n--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n${'n'.repeat(100000)}`);
        await waitUntil(async () => (await helpers()).length === 1, 'the writer');
        rq.destroy();
        await waitUntil(async () => (await helpers()).length === 0, 'its end');
        assert.equal(fs.readFileSync(at('old'), 'utf8'), 'old');
        assert.deepEqual(fs.readdirSync(d.dir).filter((f) => f.startsWith('.')), []);
    });

    it('the first that fails ends a request, and bad ones are refused with a reason', async () => {
        const post = (where, json) => call(d, 'POST', where, { json });
        const moved = await post('/files/mv', [{ src: at('f1'), dest: at('g1') }, { src: at('none'), dest: at('g2') }, { src: at('f2'), dest: at('g3') }]);
        assert.deepEqual([moved.status, moved.json.code], [404, 'FILE_NOT_FOUND']);
        assert.deepEqual(['g1', 'g3'].map((f) => fs.existsSync(at(f))), [true, false]);
        for (const [where, body] of [
            ['/files/mv', {}],
            ['/files/mv', [{ src: at('g1') }]],
            ['/files/mv', [{ src: 7, dest: 'x' }]],
            ['/files/permissions', []],
            ['/files/permissions', { [at('g1')]: { mode: 888 } }],
            ['/files/permissions', { [at('g1')]: { owner: 5 } }],
            ['/files/permissions', { [at('g1')]: { owner: 'no-such-user-here' } }],
            ['/files/replace', { [at('g1')]: { old: '', new: 'x' } }],
            ['/files/replace', { [at('g1')]: { old: 5 } }],
            ['/directories', { '': {} }],
            ['/directories', { '$NO_SUCH_VAR/x': {} }],
            ['/directories', '{'],
        ]) {
            const a = await post(where, body);
            assert.deepEqual([a.status, a.json.code], [400, 'INVALID_REQUEST_BODY'], `${where} ${JSON.stringify(body)}`);
        }
        const many = await post('/files/mv', Array.from({ length: 1001 }, () => ({ src: at('g1'), dest: at('g1') })));
        assert.equal(many.status, 400);
        assert.match(many.json.message, /1000/);
        for (const where of ['/files/download', '/directories/list']) {
            const a = await call(d, 'GET', where);
            assert.deepEqual([a.status, a.json.code], [400, 'MISSING_QUERY'], where);
        }
        assert.equal((await call(d, 'GET', `/files/download?path=${at('g1')}&offset=1`)).status, 501);
        assert.equal((await call(d, 'GET', `/v1/filesystem/x/1/files/info?path=${at('g1')}`)).status, 400);
        for (const [method, where] of [['GET', `/files/download?path=${at('g1')}`], ['GET', `/files/info?path=${at('g1')}`], ['DELETE', `/files?path=${at('g1')}`]]) {
            assert.equal((await call(d, method, where, { token: d.tokens.type })).status, 403, where);
        }
        const home = await call(d, 'GET', '/files/info?path=~');
        assert.equal(home.json['~'].path, d.dir);
    });

    it('a download says what it is, and a range where it lies', async () => {
        fs.writeFileSync(at('ü"x'), '0123456789');
        const a = await call(d, 'GET', `/files/download?path=${encodeURIComponent(at('ü"x'))}`);
        assert.equal(a.headers['content-type'], 'application/octet-stream');
        assert.equal(a.headers['content-length'], '10');
        assert.match(a.headers['content-disposition'], /filename\*=UTF-8''%C3%BC%22x$/);
        const part = await call(d, 'GET', `/files/download?path=${encodeURIComponent(at('ü"x'))}`, { headers: { Range: 'bytes=3-5' } });
        assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, '345', 'bytes 3-5/10']);
        const beyond = await call(d, 'GET', `/files/download?path=${encodeURIComponent(at('ü"x'))}`, { headers: { Range: 'bytes=10-' } });
        assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, 'bytes */10']);
        const dir = await call(d, 'GET', `/files/download?path=${d.dir}`);
        assert.ok(dir.status >= 400 && dir.json.code, dir.text);
    });
});
