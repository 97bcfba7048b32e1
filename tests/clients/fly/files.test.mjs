// SPDX-License-Identifier: Apache-2.0
// Files of a sprite by @fly/sprites, and what one machine and one sprite cannot do.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { FilesystemError } from '@fly/sprites';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { machinesOf, spritesOf, watched } from './client.mjs';

const FS = '/dialects/fly/v1/sprites/box/fs';
const PATHS = 16;
const refused = (promise, code, text = /./) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof FilesystemError, String(err));
        assert.equal(err.code, code, err.message);
        assert.match(err.message, text);
        return true;
    });

withDaemon('fly: files', {}, (d) => {
    const sprite = spritesOf(d);
    const files = (dir = d.dir, role) => sprite(role).filesystem(dir);
    const at = (name) => path.join(d.dir, name);
    const text = (name) => fs.readFileSync(at(name), 'utf8');
    const helpers = async () => (await d.list('?status=running')).filter((p) => p.command === '/proc/self/exe');
    const mode = (name) => fs.statSync(at(name)).mode & 0o7777;

    it('text and bytes come back as they were written, below the working directory and by absolute paths', async () => {
        await files().writeFile('w/a.txt', 'one ü\n');
        assert.equal(text('w/a.txt'), 'one ü\n');
        assert.equal(await files().readFile('w/a.txt', 'utf8'), 'one ü\n');
        assert.equal(await files('/').readFile(at('w/a.txt'), 'utf8'), 'one ü\n');
        assert.equal(await files(`${d.dir}/w/`).readFile('a.txt', 'utf8'), 'one ü\n');
        const bytes = crypto.randomBytes(5 << 20);
        await files().writeFile('w/big', bytes, { mode: 0o640 });
        assert.equal(mode('w/big'), 0o640);
        assert.ok((await files().readFile('w/big')).equals(bytes));
        await files().writeFile('w/empty', '');
        assert.equal((await files().readFile('w/empty')).length, 0);
        await files().appendFile('w/a.txt', 'two');
        await files().writeJSON('w/j.json', { a: [1] }, { spaces: 2 });
        assert.equal(text('w/a.txt'), 'one ü\ntwo');
        assert.deepEqual(await files().readJSON('w/j.json'), { a: [1] });
        for (const name of ['ü b.txt', 'a?b#c&d=%41', "it's", 'new\nline']) {
            await files().writeFile(`names/${name}`, name);
            assert.equal(await files().readFile(`names/${name}`, 'utf8'), name);
        }
        assert.deepEqual((await files().readdir('names')).sort(), fs.readdirSync(at('names')).sort());
    });

    it('lists a directory in order, with types; recursively by relative paths, and by a pattern', async () => {
        for (const name of ['l/b.txt', 'l/a.md', 'l/sub/c.txt', 'l/sub/deep/d.txt']) await files().writeFile(name, name);
        fs.symlinkSync('b.txt', at('l/link'));
        assert.deepEqual(await files().readdir('l'), ['a.md', 'b.txt', 'link', 'sub']);
        const kinds = (await files().readdir('l', { withFileTypes: true })).map((e) => [e.name, e.isFile(), e.isDirectory(), e.isSymbolicLink()]);
        assert.deepEqual(kinds, [['a.md', true, false, false], ['b.txt', true, false, false], ['link', false, false, true], ['sub', false, true, false]]);
        assert.deepEqual(await files().readdir('l', { recursive: true }), ['a.md', 'b.txt', 'link', 'sub', 'sub/c.txt', 'sub/deep', 'sub/deep/d.txt']);
        assert.deepEqual(await files().readdir('l/', { recursive: true, pattern: '*.txt' }), ['b.txt', 'sub/c.txt', 'sub/deep/d.txt']);
        assert.deepEqual(await files().readdir('l', { pattern: '*.txt' }), ['b.txt']);
        fs.mkdirSync(at('l/none'));
        assert.deepEqual(await files().readdir('l/none'), []);
        const { json } = await d.request('GET', `${FS}/list?path=${at('l')}&workingDir=/`);
        assert.equal(json.count, 5);
        assert.equal(json.path, at('l'));
        assert.deepEqual({ ...json.entries[1], modTime: '' }, { name: 'b.txt', path: at('l/b.txt'), type: 'file', size: 7, mode: '0644', modTime: '', isDir: false });
    });

    // Beyond 1000 matches it was 413, although the same list without a pattern worked.
    it('lists as many entries by a pattern as without one', async () => {
        for (let i = 0; i <= 1000; i++) fs.mkdirSync(at(`matches/${i}.d/x`), { recursive: true });
        assert.equal((await files().readdir('matches', { pattern: '*.d' })).length, 1001);
        for (let i = 1001; i <= 10000; i++) fs.mkdirSync(at(`matches/${i}.d`));
        const a = await d.request('GET', `${FS}/list?path=${at('matches')}&pattern=*.d`);
        assert.deepEqual([a.status, a.json], [413, { error: 'more than 10000 entries match', code: 'EFBIG' }]);
        fs.rmSync(at('matches'), { recursive: true });
    });

    it('describes a file, and what a link leads to; exists', async () => {
        await files().writeFile('s/file', '12345', { mode: 0o754 });
        fs.symlinkSync('file', at('s/link'));
        fs.symlinkSync('nowhere', at('s/dangling'));
        for (const name of ['s/file', 's/link']) {
            const st = await files().stat(name);
            assert.deepEqual([st.size, st.mode, st.isFile(), st.isDirectory()], [5, 0o754, true, false]);
            assert.ok(Math.abs(st.mtime - fs.statSync(at('s/file')).mtime) < 1000);
        }
        assert.equal(await files().exists('s/file'), true);
        assert.equal(await files().exists('s/dangling'), false);
    });

    it('makes directories: one, and with parents', async () => {
        await files().mkdir('m');
        assert.deepEqual(fs.readdirSync(at('m')), []);
        await refused(files().mkdir('m/no/parents'), 'ENOENT');
        assert.ok(!fs.existsSync(at('m/no')));
        await files().mkdir('m/a/b/c', { recursive: true });
        assert.deepEqual(fs.readdirSync(at('m/a/b/c')), []);
        await refused(files().mkdir('/etc/passwd/x'), 'ENOTDIR');
    });

    it('removes files, empty directories, and trees only recursively', async () => {
        await files().writeFile('r/d/f', '');
        await refused(files().rm('r/d'), 'ENOTEMPTY');
        await files().rm('r/d/f');
        await files().rm('r/d');
        await files().writeFile('r/d/e/f', '');
        fs.symlinkSync(d.dir, at('r/d/up'));
        await files().rm('r', { recursive: true });
        assert.ok(!fs.existsSync(at('r')) && fs.existsSync(d.dir));
        await refused(files().rm('r'), 'ENOENT', /r/);
        await files().rm('r', { force: true });
        await refused(files().rm('/', { recursive: true }), 'UNKNOWN');
        fs.writeFileSync(at('body'), '');
        const a = await d.request('DELETE', `${FS}/delete`, { json: { path: 'body', workingDir: d.dir } });
        assert.deepEqual(a.json, { deleted: [at('body')], count: 1 });
    });

    it('renames, over an old file too, and copies files and trees', async () => {
        await files().writeFile('c/a', 'new');
        await files().writeFile('c/b', 'old');
        await files().rename('c/a', 'c/b');
        assert.equal(text('c/b'), 'new');
        await refused(files().rename('c/a', 'c/z'), 'ENOENT');
        await refused(files().rename('c/b', 'gone/z'), 'ENOENT');
        await files().copyFile('c/b', 'c/copy');
        assert.equal(text('c/copy'), 'new');
        await refused(files().copyFile('c', 'c2'), 'EISDIR');
        await files().copyFile('c', 'c2', { recursive: true });
        assert.equal(text('c2/copy'), 'new');
        await files().copyFile('c', 'c/inside', { recursive: true });
        assert.deepEqual(fs.readdirSync(at('c/inside')).sort(), ['b', 'copy']);
        await refused(files().copyFile('c/b', 'c/b'), 'EINVAL');
    });

    it('changes permissions and owners', async () => {
        await files().writeFile('p/x/f', '');
        await files().chmod('p/x/f', 0o100600); // as stat of Node has it
        assert.equal(mode('p/x/f'), 0o600);
        await files().chmod('p', 0o750, { recursive: true });
        assert.deepEqual(['p', 'p/x', 'p/x/f'].map(mode), [0o750, 0o750, 0o750]);
        const { uid, gid } = fs.statSync(at('p'));
        await files().chown('p/x/f', { uid, gid });
        await files().chown('p', { uid: String(uid), gid: String(gid), recursive: true });
        await refused(files().chown('p', { uid: 'nobody-of-this-name' }), 'EINVAL', /no such user/);
        await refused(files().chmod('gone', 0o600), 'ENOENT');
        if (process.getuid() === 0) {
            await files().chown('p', { uid: 65534, gid: 65534, recursive: true });
            assert.equal(fs.statSync(at('p/x/f')).uid, 65534);
        } else {
            await refused(files().chown('p', { uid: 0 }), 'EPERM');
        }
    });

    it('errors have the code of the system, its sentence and the path', async () => {
        await files().writeFile('e/f', '');
        await refused(files().readFile('e/gone'), 'ENOENT', /gone/);
        await refused(files().readFile('e'), 'EISDIR');
        await refused(files().readFile('e/f/x'), 'ENOTDIR');
        await refused(files().readdir('e/gone'), 'ENOENT');
        await refused(files().writeFile('e', 'x'), 'EISDIR');
        await refused(files().readFile(''), 'EINVAL', /path is required/);
        await refused(files('relative').readFile('x'), 'EINVAL', /absolute/);
        await refused(files().readFile('x'.repeat(4200)), 'EINVAL', /longer/);
        const raw = await d.request('GET', `${FS}/read?path=/gone/x`);
        assert.equal(raw.status, 404);
        assert.deepEqual(Object.keys(raw.json).sort(), ['code', 'error']);
    });

    // All of these were EINVAL.
    it('errors that are not the system’s have its code, too', async () => {
        const code = async (...call) => (({ status, json }) => [status, json.code])(await d.request(...call));
        assert.deepEqual(await code('GET', `${FS}/unknown`), [404, 'ENOENT']);
        assert.deepEqual(await code('POST', `${FS}/read`), [405, 'EINVAL']);
        assert.deepEqual(await code('POST', `${FS}/rename`, { body: Buffer.alloc(8 << 20) }), [413, 'EFBIG']);
        assert.deepEqual(await code('GET', `${FS}/read?path=/`, { role: 'wrong-wrong-wrong-wrong' }), [401, 'EACCES']);
    });

    it('special files are refused at once, and change nothing', async () => {
        execFileSync('mkfifo', [at('fifo')]);
        await refused(files().readFile('fifo'), 'UNKNOWN', /not a regular file/);
        await refused(files().writeFile('fifo', 'x'), 'UNKNOWN', /not a regular file/);
        await refused(files('/').readFile('/dev/zero'), 'UNKNOWN', /not a regular file/);
        assert.match(await files('/').readFile('/proc/self/status', 'utf8'), /^Name:/);
        assert.ok(fs.statSync(at('fifo')).isFIFO());
    });

    it('malformed requests are refused', async () => {
        const post = async (call, json) => (await d.request('POST', `${FS}/${call}`, { json })).status;
        for (const [call, body] of [
            ['rename', {}], ['rename', { source: '/a' }], ['rename', { source: 1, dest: '/b' }], ['copy', []], ['copy', { source: '/a', dest: '/b', recursive: 'yes' }],
            ['chmod', { path: '/tmp' }], ['chmod', { path: '/tmp', mode: '9' }], ['chmod', { path: '/tmp', mode: 420 }], ['chmod', { path: '/tmp', mode: '777777777777' }],
            ['chown', { path: '/tmp' }], ['chown', { path: '/tmp', uid: -1 }], ['chown', { path: '/tmp', uid: 4294967295 }], ['chown', { path: '/tmp', uid: {} }], ['chown', { path: '/tmp', gid: 'x'.repeat(64) }],
        ])
            assert.equal(await post(call, body), 400, `${call} ${JSON.stringify(body)}`);
        assert.equal((await d.request('PUT', `${FS}/write?path=/tmp/x&mode=rw`, { body: 'x' })).status, 400);
        assert.equal((await d.request('GET', `${FS}/list?path=a%00b`)).status, 400);
        assert.equal((await d.request('DELETE', `${FS}/delete`)).status, 400);
    });

    it('files need the role own', async () => {
        for (const role of ['watch', 'type']) {
            await refused(files('/', role).readFile('/etc/passwd'), 'EACCES');
            await refused(files('/', role).readdir('/'), 'EACCES');
            await assert.rejects(files('/', role).watch('/tmp'));
        }
        await refused(files('/', 'nonsense').readFile('/etc/passwd'), 'EACCES');
    });

    it('a client that disconnects in the middle of an upload leaves nothing', async () => {
        const abort = new AbortController();
        let sent = 0;
        const body = new ReadableStream({
            async pull(to) {
                if (sent++ < 4) to.enqueue(new Uint8Array(65536));
                else await new Promise(() => {}); // never the rest
            },
        });
        const put = fetch(`${d.url}${FS}/write?path=${at('half/f')}&mkdirParents=true`, { method: 'PUT', headers: d.authHeaders(), body, duplex: 'half', signal: abort.signal });
        put.catch(() => {});
        await waitUntil(async () => (await helpers()).length === 1, 'the writer');
        abort.abort();
        await waitUntil(async () => (await helpers()).length === 0, 'the end of the writer');
        assert.ok(!fs.existsSync(at('half/f')));
    });

    it('watches directories: what is created, written, renamed, removed', async () => {
        fs.mkdirSync(at('watch/sub'), { recursive: true });
        fs.mkdirSync(at('other'));
        const w = await files().watch(['watch', at('other')], { recursive: true });
        afterEach(() => w.close());
        const seen = [];
        w.on('event', (e) => seen.push(e));
        const said = (event, name) => waitUntil(() => seen.find((e) => e.event === event && e.path === at(name)), `${event} ${name} in ${JSON.stringify(seen)}`);
        await waitUntil(() => seen.length > 0, 'subscribed');
        assert.deepEqual([seen[0].type, seen[0].paths], ['subscribed', [at('watch'), at('other')]]);
        fs.writeFileSync(at('watch/sub/f'), 'abc');
        const written = await said('write', 'watch/sub/f');
        assert.deepEqual([written.type, written.isDir, written.size], ['event', false, 3]);
        assert.ok(Math.abs(Date.parse(written.timestamp) - Date.now()) < 3600e3);
        fs.renameSync(at('watch/sub/f'), at('watch/g'));
        await said('rename', 'watch/sub/f');
        await said('create', 'watch/g');
        fs.chmodSync(at('watch/g'), 0o600);
        await said('chmod', 'watch/g');
        fs.rmSync(at('watch/g'));
        await said('remove', 'watch/g');
        fs.mkdirSync(at('other/dir'));
        assert.equal((await said('create', 'other/dir')).isDir, true);
        fs.rmSync(at('watch'), { recursive: true });
        fs.rmSync(at('other'), { recursive: true });
        await waitUntil(() => w.isClosed(), 'the end of the watch');
    });

    it('a watch that cannot begin says why, and ends', async () => {
        for (const [paths, why] of [[[at('gone')], /gone/], [[], /1 to 16/], [Array(PATHS + 1).fill(d.dir), /1 to 16/], [[5], /string/]]) {
            const w = await files().watch(paths);
            const first = await w.next();
            assert.equal(first.type, 'error');
            assert.match(first.message, why);
            assert.equal(await w.next(), null);
        }
        await waitUntil(async () => (await helpers()).length === 0, 'the end of all watches');
    });

    it('deleteSprite terminates what was started through it, and nothing else', async () => {
        const mine = watched(sprite().createSession('sleep', ['1000']));
        const { json: other } = await d.request('POST', '/v1/processes', { json: { command: 'sleep', args: ['1000'] } });
        await mine.info();
        await sprite().client.deleteSprite('box');
        await mine.ended();
        assert.deepEqual((await d.list('?status=running')).map((p) => p.id), [other.id]);
        assert.equal((await sprite().client.getSprite('box')).status, 'running');
        await d.request('DELETE', `/v1/processes/${other.id}`);
    });

    it('what one machine and one sprite cannot do is refused with the reason, and not as missing', async () => {
        const said = (promise, why) => assert.rejects(promise, (err) => (assert.match(`${err.message} ${err.response?.status} ${JSON.stringify(err.response?.data ?? '')}`, why), true));
        const { client, which } = machinesOf(d);
        const { Machine } = client();
        await said(Machine.stopMachine(which), /501.*keeps running/);
        await said(Machine.restartMachine(which), /501.*cannot restart/);
        await said(Machine.deleteMachine(which), /501.*destroy/);
        await said(Machine.createMachine({ app_name: 'box', config: {} }), /501.*create/);
        assert.equal((await Machine.startMachine(which)).previous_state, 'started');
        await said(client().App.deleteApp('box'), /501.*destroy apps/);
        await said(client().Volume.listVolumes('box'), /501.*volumes/);
        await said(sprite().listCheckpoints(), /501|cannot save/);
        await said(sprite().listServices(), /501|no services/);
        await said(sprite().getNetworkPolicy(), /501|does not control/);
        for (const [method, call, why] of [['PUT', '', /settings/], ['POST', '/upgrade', /holdfast upgrade/], ['GET', '/services/stop', /no services/], ['GET', '/checkpoints/v1', /cannot save/]]) {
            const a = await d.request(method, `/dialects/fly/v1/sprites/box${call}`, method === 'PUT' ? { json: {} } : {});
            assert.equal(a.status, 501, call);
            assert.match(a.json.message, why);
        }
        assert.equal((await d.request('POST', '/dialects/fly/v1/apps/box/machines/other/stop')).status, 404);
        assert.equal((await d.request('GET', '/dialects/fly/v1/sprites/box/control')).status, 404);
    });
});

// A list accepted asRoot, and was made as the daemon's own user.
withDaemon('fly: files of a daemon that may not run processes as root', { args: process.getuid() === 0 ? ['--spawn-user', 'nobody'] : [] }, (d) => {
    for (const call of ['read?path=/etc/passwd', 'list?path=/', 'list?path=/&pattern=*'])
        it(`${call}: asRoot is refused`, async () => {
            const a = await d.request('GET', `${FS}/${call}&asRoot=true`);
            assert.deepEqual([a.status, a.json.code], [422, 'EPERM'], a.text);
        });
});
