// SPDX-License-Identifier: Apache-2.0
// Files through the published E2B SDK: what is read and written is read and written as the user.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { AuthenticationError, FileNotFoundError, InvalidArgumentError, SandboxError } from 'e2b';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { create, direct, throwsA } from '../../lib/e2b.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn, exchange, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('e2b: files', { args: ['--dialect', 'e2b=127.0.0.1:0'] }, (d) => {
    let made;
    const sandbox = () => (made ??= create(d));
    const at = (name) => path.join(d.dir, name);
    const idle = () => waitUntil(async () => (await d.list()).length === 0, 'no process to be left of it');

    it('write and read: text, bytes, directories on the way, and over what was there', async () => {
        const { files } = await sandbox();
        const info = await files.write(at('a/b/text.txt'), 'häh\n');
        assert.deepEqual([info.name, info.path, info.type], ['text.txt', at('a/b/text.txt'), 'file']);
        assert.equal(await files.read(at('a/b/text.txt')), 'häh\n');
        await files.write(at('a/b/text.txt'), 'x');
        assert.equal(fs.readFileSync(at('a/b/text.txt'), 'utf8'), 'x');
        const bytes = crypto.randomBytes(3000000);
        await files.write(at('bytes'), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
        assert.ok(bytes.equals(fs.readFileSync(at('bytes'))));
        assert.ok(bytes.equals(Buffer.from(await files.read(at('bytes'), { format: 'bytes' }))));
        await files.write(at('raw'), new Blob([bytes]), { useOctetStream: true });
        assert.ok(bytes.equals(fs.readFileSync(at('raw'))));
        await files.write(at('empty'), '');
        assert.equal(await files.read(at('empty')), '');
        await files.write(at('empty'), '', { useOctetStream: true });
        assert.equal(fs.statSync(at('empty')).size, 0);
        await idle();
    });

    it('what looks like a boundary is none', async () => {
        const { files } = await sandbox();
        const tricky = '\r\n--\r\n------formdata-\r\n\r\r\n-\r\n--x--\r\n';
        await files.write(at('tricky'), tricky);
        assert.equal(fs.readFileSync(at('tricky'), 'latin1'), tricky);
    });

    it('several at once, under names with slashes; relative ones are under the home', async () => {
        const { files } = await sandbox();
        const list = await files.write([
            { path: at('many/1'), data: 'one' },
            { path: 'many/2', data: 'two' },
            { path: '~/many/3 "x"', data: 'three' },
        ]);
        assert.deepEqual(list.map((f) => f.path), [at('many/1'), at('many/2'), at('many/3 "x"')]);
        assert.equal(fs.readFileSync(at('many/3 "x"'), 'utf8'), 'three');
    });

    it('exists, getInfo, list, makeDir, rename, remove', async () => {
        const { files } = await sandbox();
        assert.equal(await files.exists(at('dir')), false);
        assert.equal(await files.makeDir(at('dir/sub/deep')), true);
        assert.equal(await files.makeDir(at('dir/sub')), false);
        await files.write(at('dir/f'), '12345');
        fs.chmodSync(at('dir/f'), 0o640);
        fs.symlinkSync(at('dir/f'), at('dir/link'));
        fs.symlinkSync('/no/where', at('dir/lost'));
        const info = await files.getInfo(at('dir/f'));
        assert.deepEqual(
            [info.name, info.type, info.path, info.size, info.mode, info.permissions, info.owner, info.group],
            ['f', 'file', at('dir/f'), 5, 0o640, '-rw-r-----', 'root', 'root'],
        );
        assert.equal(info.modifiedTime.getTime(), Math.floor(fs.statSync(at('dir/f')).mtimeMs));
        const names = (list) => list.map((e) => `${e.name}:${e.type}`);
        assert.deepEqual(names(await files.list(at('dir'))), ['f:file', 'link:file', 'lost:symlink', 'sub:dir']);
        assert.equal((await files.list(at('dir')))[1].symlinkTarget, at('dir/f'));
        assert.deepEqual(names(await files.list(at('dir'), { depth: 2 })), ['f:file', 'link:file', 'lost:symlink', 'sub:dir', 'deep:dir']);
        const moved = await files.rename(at('dir/f'), at('other/g'));
        assert.equal(moved.path, at('other/g'));
        assert.equal(await files.exists(at('dir/f')), false);
        await files.remove(at('dir'));
        assert.equal(fs.existsSync(at('dir')), false);
        await files.remove(at('dir'));
        await idle();
    });

    it('a list that is too long says so', async () => {
        const { files } = await sandbox();
        const deep = at(Array.from({ length: 4 }, () => 'd'.repeat(240)).join('/'));
        fs.mkdirSync(deep, { recursive: true });
        for (let i = 0; i < 9000; i++) fs.writeFileSync(`${deep}/${i}`, '');
        await throwsA(files.list(deep), SandboxError, /too long for one reply/);
        for (let i = 9000; i < 10001; i++) fs.writeFileSync(`${deep}/${i}`, '');
        await throwsA(files.list(deep), InvalidArgumentError);
        fs.rmSync(at('d'.repeat(240)), { recursive: true });
        await idle();
    });

    it('what is not there or is something else is told as such', async () => {
        const { files } = await sandbox();
        await throwsA(files.read(at('none')), FileNotFoundError);
        await throwsA(files.list(at('none')), FileNotFoundError);
        await throwsA(files.rename(at('none'), at('x')), FileNotFoundError);
        await throwsA(files.read(d.dir), InvalidArgumentError, /[Dd]irectory/);
        await files.write(at('plain'), '');
        await throwsA(files.list(at('plain')), InvalidArgumentError, /[Dd]irectory/);
        await throwsA(files.makeDir(at('plain')), InvalidArgumentError);
        await throwsA(files.write(at('plain/below'), 'x'), InvalidArgumentError, /[Dd]irectory/);
        await throwsA(files.read('a\0b'), InvalidArgumentError);
        await idle();
    });

    it('paths are answered as they are, however they were written', async () => {
        const { files } = await sandbox();
        assert.equal(await files.makeDir(`${at('clean')}/sub/`), true);
        assert.equal(await files.makeDir(`${at('clean')}//./sub/`), false);
        const info = await files.write(`${at('clean')}/sub/../file`, 'x');
        assert.deepEqual([info.name, info.path], ['file', at('clean/file')]);
        assert.equal(fs.readFileSync(at('clean/file'), 'utf8'), 'x');
        assert.deepEqual((await files.list(`${at('clean')}/`)).map((e) => e.path), [at('clean/file'), at('clean/sub')]);
        const dir = await files.getInfo(`${at('clean')}/sub/`);
        assert.deepEqual([dir.name, dir.path], ['sub', at('clean/sub')]);
        const moved = await files.rename(`${at('clean')}/sub/`, `${at('clean')}/other/.`);
        assert.deepEqual([moved.name, moved.path], ['other', at('clean/other')]);
        assert.equal((await (await sandbox()).commands.run('pwd', { cwd: `${at('clean')}/other/../` })).stdout, `${at('clean')}\n`);
        await d.removeAll();
    });

    it('a file belongs to the user who was named, and that user has to exist', async () => {
        const { files } = await sandbox();
        await files.write(at('theirs'), 'x', { user: 'nobody' });
        assert.equal((await files.getInfo(at('theirs'))).owner, 'nobody');
        await throwsA(files.read(at('theirs'), { user: 'no-such-user' }), AuthenticationError);
        await throwsA(files.write(at('none'), 'x', { user: 'no-such-user' }), AuthenticationError);
        assert.equal(fs.existsSync(at('none')), false);
    });

    it('links that were signed: for one file, one direction and a time', async () => {
        // The SDK leaves out what stands before /files, so links need a listener of their own.
        const own = { sandboxUrl: await waitUntil(() => /e2b listening on (\S+)/.exec(d.stdout)?.[1], 'its address') };
        const s = direct(d, d.token, own);
        await s.files.write(at('linked'), 'by link');
        const get = async (url) => {
            const a = await fetch(url);
            return [a.status, await a.text()];
        };
        const url = await s.downloadUrl(at('linked'), { useSignatureExpiration: 60000 });
        assert.deepEqual(await get(url), [200, 'by link']);
        assert.deepEqual(await get(await s.downloadUrl(at('linked'))), [200, 'by link']);
        assert.equal((await get(url.replace('linked', 'other')))[0], 401);
        assert.equal((await get(url.replace(/expiration=\d+/, 'expiration=1')))[0], 401);
        const up = await s.uploadUrl(at('uploaded'));
        assert.equal((await get(up))[0], 401, 'a link to write does not read');
        const form = new FormData();
        form.append('other', 'not a file');
        form.append('file', new Blob(['through a form']), 'ignored');
        const a = await fetch(up, { method: 'POST', body: form });
        assert.equal(a.status, 200);
        assert.deepEqual(await a.json(), [{ path: at('uploaded'), name: 'uploaded', type: 'file' }]);
        assert.equal(fs.readFileSync(at('uploaded'), 'utf8'), 'through a form');
        assert.equal((await get(`${own.sandboxUrl}/files?path=${at('linked')}`))[0], 401);
        const watch = direct(d, d.tokens.watch, own);
        await throwsA(watch.files.read(at('linked')), AuthenticationError);
        assert.equal((await get(await watch.downloadUrl(at('linked'))))[0], 401, 'who may only watch may not sign');
    });

    it('bodies that make no sense are refused', async () => {
        const post = async (type, body, query = '?path=/tmp/hf-none') => {
            const a = await d.request('POST', `/dialects/e2b/files${query}`, { body, headers: { 'Content-Type': type } });
            return a.status;
        };
        assert.equal(await post('text/plain', 'x'), 400);
        assert.equal(await post('multipart/form-data', 'x'), 400);
        assert.equal(await post('multipart/form-data; boundary=b', 'no boundary at all'), 400);
        assert.equal(await post('multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\ncut'), 400);
        assert.equal(await post('multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--'), 400);
        assert.equal(await post('multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\ny\r\n--b--', ''), 400);
        assert.equal(await post(`multipart/form-data; boundary=b`, `--b\r\nX: ${'x'.repeat(9000)}\r\n\r\n`), 400);
        assert.equal(await post('application/octet-stream', 'x', ''), 400);
        assert.equal(fs.existsSync('/tmp/hf-none') && fs.statSync('/tmp/hf-none').size > 3, false);
        fs.rmSync('/tmp/hf-none', { force: true });
    });

    it('a form in pieces of one byte', async () => {
        const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nslow\r\n--\r\n--b--\r\n';
        const c = await RawConn.connect(d);
        for (const byte of requestBytes(d, `POST /dialects/e2b/files?path=${at('slow')}`, { headers: { 'Content-Type': 'multipart/form-data; boundary=b' }, body })) {
            c.send(Buffer.from([byte]));
        }
        assert.equal((await c.response()).status, 200);
        c.destroy();
        assert.equal(fs.readFileSync(at('slow'), 'utf8'), 'slow\r\n--');
    });

    it('who goes away in the middle leaves no process behind', async () => {
        const up = await RawConn.connect(d);
        up.send(requestBytes(d, `POST /dialects/e2b/files?path=${at('half')}`, { headers: { 'Content-Type': 'application/octet-stream', 'Content-Length': 1000 } }), 'half');
        await waitUntil(() => proc.fileWriters(at('half')).length === 1, 'the writer');
        up.reset();
        fs.writeFileSync(at('large'), Buffer.alloc(20000000));
        const down = await RawConn.connect(d);
        down.send(requestBytes(d, `GET /dialects/e2b/files?path=${at('large')}`));
        await down.readUntil('\r\n\r\n');
        down.reset();
        await waitUntil(async () => (await d.list()).length === 0, 'both to be gone');
        assert.ok(!fs.existsSync(at('half')), 'half a file never appears');
        const whole = await exchange(d, requestBytes(d, `GET /dialects/e2b/files?path=${at('large')}`));
        assert.equal(whole.body.length, 20000000);
    });
});

it('where no process may start, every file operation is refused, and nothing else happens', () =>
    daemonFor({ args: ['--max-processes', '1'] }, async (d) => {
        const { files } = direct(d);
        const p = await d.sh('sleep 300');
        const at = path.join(d.dir, 'none');
        const calls = [
            () => files.getInfo('/usr'),
            () => files.list('/usr'),
            () => files.makeDir(at),
            () => files.rename('/usr', at),
            () => files.remove(at),
            () => files.read('/etc/passwd'),
            () => files.write(at, 'x'),
        ];
        for (const call of calls) await assert.rejects(call, /limit of --max-processes/);
        assert.equal(fs.existsSync(at), false);
        await d.remove(p.id);
        assert.equal((await files.list('/usr')).some((e) => e.name === 'bin'), true);
    }));
