// SPDX-License-Identifier: Apache-2.0
// Files by @hyperbrowser/sdk: what its own end-to-end tests demand, and the limits.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { HyperbrowserError } from '@hyperbrowser/sdk';
import { withDaemon } from '../../lib/daemon.mjs';
import { before, it } from '../../lib/test.mjs';
import { clientsOf } from './client.mjs';

const BASE = '/dialects/hyperbrowser/sandbox/files';
const refused = (promise, status, text, code) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof HyperbrowserError, String(err));
        assert.equal(err.statusCode, status, err.message);
        assert.match(err.message, text);
        if (code) assert.equal(err.code, code);
        return true;
    });

withDaemon('hyperbrowser: files', {}, (d) => {
    const make = clientsOf(d);
    const at = (name) => path.join(d.dir, name);
    const text = (name) => fs.readFileSync(at(name), 'utf8');
    let files;
    before(async () => (files = (await make().sandboxes.connect('local')).files));

    it('knows what exists, dangling links too', async () => {
        assert.equal(await files.exists('/etc/passwd'), true);
        assert.equal(await files.exists(at('missing')), false);
        fs.symlinkSync('nowhere', at('dangling'));
        assert.equal(await files.exists(at('dangling')), true);
        assert.equal((await files.getInfo(at('dangling'))).symlinkTarget, at('nowhere'));
        await refused(files.getInfo(at('missing')), 404, /missing/, 'not_found');
    });

    it('makes directories and says whether it did', async () => {
        assert.equal(await files.makeDir(at('dirs/root')), true);
        assert.equal(await files.makeDir(at('dirs/root')), false);
        assert.equal(await files.makeDir(at('dirs/mode'), { mode: '0700' }), true);
        assert.equal(fs.statSync(at('dirs/mode')).mode & 0o777, 0o700);
        await refused(files.makeDir(at('no/parents'), { parents: false }), 404, /no/);
        await refused(files.makeDir(at('dirs/bad'), { mode: '99' }), 400, /octal/);
        assert.ok(!fs.existsSync(at('dirs/bad')));
    });

    it('describes a file', async () => {
        await files.writeText(at('info/hello.txt'), 'hello');
        const info = await files.getInfo(at('info/hello.txt'));
        const { modifiedTime, owner, group, symlinkTarget, ...rest } = info;
        assert.deepEqual(rest, { path: at('info/hello.txt'), name: 'hello.txt', type: 'file', size: 5, mode: 0o644, permissions: '-rw-r--r--' });
        assert.ok(owner && group && symlinkTarget === undefined);
        assert.ok(Math.abs(modifiedTime - Date.now()) < 3600e3);
        assert.deepEqual([(await files.getInfo(at('info'))).type, (await files.getInfo(at('info'))).permissions], ['dir', 'drwxr-xr-x']);
    });

    it('lists by depth, in order, and a link to a directory by the paths that it leads to', async () => {
        for (const name of ['root.txt', 'nested/child.txt', 'nested/inner/grandchild.txt']) await files.writeText(at(`list/${name}`), 'x');
        const names = async (depth) => (await files.list(at('list'), { depth })).map((e) => path.relative(at('list'), e.path));
        assert.deepEqual(await names(1), ['nested', 'root.txt']);
        assert.deepEqual(await names(2), ['nested', 'nested/child.txt', 'nested/inner', 'root.txt']);
        fs.symlinkSync(at('list/nested'), at('list-link'));
        assert.deepEqual((await files.list(at('list-link'))).map((e) => e.path), [at('list/nested/child.txt'), at('list/nested/inner')]);
        fs.symlinkSync('..', at('list/nested/loop'));
        const deep = await files.list(at('list'), { depth: 4 });
        assert.ok(!deep.some((e) => e.path.includes('/loop/')));
        assert.equal(deep.find((e) => e.name === 'loop').symlinkTarget, at('list'));
        await refused(files.list(at('list/root.txt')), 400, /not a directory/i);
        await refused(files.list(at('gone')), 404, /gone/, 'not_found');
        await refused(files.list(at('list'), { depth: 65 }), 400, /depth/);
    });

    it('reads text, bytes, blobs, streams, and parts', async () => {
        const p = at('read.txt');
        await files.writeText(p, 'hello from sdk \u{1f600} files');
        assert.equal(await files.read(p), 'hello from sdk \u{1f600} files');
        assert.equal(await files.read(p, { offset: 6, length: 4 }), 'from');
        assert.equal(await files.read(p, { length: 5 }), 'hello');
        assert.equal(await files.read(p, { offset: 1000 }), '');
        const bytes = crypto.randomBytes(100000);
        await files.writeBytes(p, bytes);
        assert.ok((await files.readBytes(p)).equals(bytes));
        assert.ok(Buffer.from(await (await files.read(p, { format: 'blob' })).arrayBuffer()).equals(bytes));
        const a = await d.request('POST', `${BASE}/read`, { json: { path: p, offset: 10, length: 20, encoding: 'base64' } });
        assert.deepEqual(a.json, { content: bytes.subarray(10, 30).toString('base64'), encoding: 'base64', bytesRead: 20, truncated: true });
        await refused(files.read(at('list')), 400, /directory/i);
        await refused(files.read(at('gone')), 404, /gone/);
    });

    // The system says that they have 0 bytes, so what is left was never 0.
    it('a file of /proc is not truncated', async () => {
        const { json: whole } = await d.request('POST', `${BASE}/read`, { json: { path: '/proc/self/mounts' } });
        assert.match(whole.content, / \/proc /);
        assert.deepEqual([whole.bytesRead, whole.truncated], [Buffer.byteLength(whole.content), false]);
    });

    it('a file that is too large for JSON is refused, and can be read in parts or downloaded', async () => {
        const bytes = Buffer.alloc((16 << 20) + 1, 'x');
        await files.upload(at('large'), bytes);
        await refused(files.read(at('large')), 413, /download the file/);
        assert.equal((await files.readBytes(at('large'), { offset: 1 })).length, 16 << 20);
        assert.ok((await files.download(at('large'))).equals(bytes));
        await refused(files.writeBytes(at('larger'), Buffer.alloc(19 << 20)), 413, /./);
        assert.ok(!fs.existsSync(at('larger')));
    });

    it('writes one file and several, appends, sets modes', async () => {
        assert.deepEqual(await files.write(at('w/one'), 'single'), { path: at('w/one'), name: 'one', type: 'file' });
        const batch = await files.write([
            { path: at('w/a'), data: 'batch-a' },
            { path: at('w/b'), data: Buffer.from([0, 255, 2]), mode: '0600' },
            { path: at('w/a'), data: '+more', append: true },
        ]);
        assert.deepEqual(batch.map((f) => f.name), ['a', 'b', 'a']);
        assert.equal(text('w/a'), 'batch-a+more');
        assert.deepEqual([...fs.readFileSync(at('w/b'))], [0, 255, 2]);
        assert.equal(fs.statSync(at('w/b')).mode & 0o777, 0o600);
        await files.writeText(at('w/nul'), 'a\0b');
        assert.equal(text('w/nul'), 'a\0b');
    });

    it('a batch with anything wrong in it writes nothing', async () => {
        const post = (json) => d.request('POST', `${BASE}/write`, { json });
        const good = { path: at('never'), data: 'x' };
        for (const bad of [{ path: at('q') }, { data: 'x' }, { path: at('q'), data: 1 }, { path: at('q'), data: '*', encoding: 'base64' }, { path: at('q'), data: '', encoding: 'hex' }, { path: at('q'), data: '', mode: '8' }, 5])
            assert.equal((await post({ files: [good, bad] })).status, 400, JSON.stringify(bad));
        assert.equal((await post({ files: [] })).status, 400);
        assert.equal((await post({ files: Array(1001).fill(good) })).status, 400);
        assert.ok(!fs.existsSync(at('never')));
        const thousand = await post({ files: Array.from({ length: 30 }, (_, i) => ({ path: at(`many/${i}`), data: String(i) })) });
        assert.equal(thousand.status, 200);
        assert.equal(fs.readdirSync(at('many')).length, 30);
        await refused(files.write([{ path: at('list'), data: 'x' }]), 400, /directory/i);
    });

    it('uploads and downloads bytes', async () => {
        const bytes = crypto.randomBytes(3 << 20);
        assert.deepEqual(await files.upload(at('t/up'), bytes), { path: at('t/up'), bytesWritten: bytes.length });
        assert.ok((await files.download(at('t/up'))).equals(bytes));
        assert.equal((await files.upload(at('t/empty'), '')).bytesWritten, 0);
        await refused(files.download(at('t/gone')), 404, /gone/);
        await refused(files.upload('', 'x'), 400, /path/);
    });

    it('renames and copies files, links and trees', async () => {
        await files.writeText(at('r/a'), 'me');
        assert.equal((await files.rename(at('r/a'), at('r/b'))).path, at('r/b'));
        assert.ok(!fs.existsSync(at('r/a')));
        fs.symlinkSync(at('r/b'), at('r/link'));
        assert.equal((await files.copy({ source: at('r/link'), destination: at('r/link2') })).symlinkTarget, at('r/b'));
        assert.equal((await files.rename(at('r/link2'), at('r/link3'))).symlinkTarget, at('r/b'));
        await refused(files.copy({ source: at('r'), destination: at('r2') }), 400, /./);
        await files.copy({ source: at('r'), destination: at('r2'), recursive: true });
        assert.equal(text('r2/b'), 'me');
        await files.writeText(at('r/c'), 'new');
        await refused(files.copy({ source: at('r/c'), destination: at('r/b') }), 409, /exist/);
        await refused(files.rename(at('r/c'), at('r/b')), 409, /exist/);
        await files.copy({ source: at('r/c'), destination: at('r/link'), overwrite: true });
        assert.ok(fs.lstatSync(at('r/link')).isFile());
        assert.deepEqual([text('r/link'), text('r/b')], ['new', 'me']);
        await refused(files.rename(at('r/none'), at('r/x')), 404, /none/, 'not_found');
    });

    it('removes; what is missing is no error, a full directory only on request', async () => {
        await files.writeText(at('rm/x'), 'x');
        fs.symlinkSync(at('r2'), at('rm/link'));
        await refused(files.remove(at('rm')), 400, /not empty/i);
        await files.remove(at('rm'), { recursive: true });
        await files.remove(at('rm'));
        assert.ok(!fs.existsSync(at('rm')) && fs.existsSync(at('r2/b')));
    });

    it('chmod and chown; what is not permitted is 400', async () => {
        await files.writeText(at('ch/f'), 'x');
        await files.chmod({ path: at('ch/f'), mode: '0640' });
        assert.equal((await files.getInfo(at('ch/f'))).mode, 0o640);
        await files.chmod({ path: at('ch'), mode: '0750', recursive: true });
        assert.equal(fs.statSync(at('ch/f')).mode & 0o777, 0o750);
        await files.chown({ path: at('ch/f'), uid: process.getuid(), gid: process.getgid() });
        await refused(files.chmod({ path: at('ch/none'), mode: '0640' }), 404, /none/);
        await refused(files.chown({ path: at('ch/f') }), 400, /uid or a gid/);
        if (process.getuid() !== 0) await refused(files.chown({ path: at('ch/f'), uid: 0 }), 400, /permitted/);
    });

    it('what it does not do is refused with the reason', async () => {
        await refused(files.watchDir(at('r'), () => {}), 501, /v1\/files\/watch/);
        await refused(files.uploadUrl(at('x')), 501, /upload/);
        await refused(files.downloadUrl(at('x')), 501, /download/);
    });

    it('is for the role own alone; another user is refused where the daemon allows none', async () => {
        const other = (await make({ apiKey: d.tokens.type }).sandboxes.connect('local')).files;
        await refused(other.read('/etc/passwd'), 403, /./);
        await refused(other.write(at('no'), 'x'), 403, /./);
        await refused(files.withRunAs('no-such-user').exists('/'), 422, /no-such-user/);
    });
});
