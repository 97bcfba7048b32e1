// SPDX-License-Identifier: Apache-2.0
// The file system of sandbox-agent by its own client: its answers have the members of its types, and no others.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import tar from 'tar-stream';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, clientOf, refused } from './client.mjs';

/** What the types of the client name; `modified` is a time. */
const members = {
    entry: { name: 'string', path: 'string', entryType: 'string', size: 'number', modified: 'string' },
    stat: { path: 'string', entryType: 'string', size: 'number', modified: 'string' },
};
function is(kind, v) {
    assert.deepEqual(Object.fromEntries(Object.entries(v).map(([k, x]) => [k, typeof x])), members[kind]);
    assert.match(v.entryType, /^(file|directory)$/);
    assert.ok(Number.isSafeInteger(v.size) && v.size >= 0);
    assert.ok(Math.abs(Date.parse(v.modified) - Date.now()) < 3600e3, v.modified);
    return v;
}

async function archive(files) {
    const pack = tar.pack();
    for (const [name, content, more] of files) pack.entry({ name, ...more }, content);
    pack.finalize();
    return buffer(pack);
}

const home = fs.mkdtempSync('/tmp/agent-home-');
process.once('exit', () => fs.rmSync(home, { recursive: true, force: true }));

withDaemon('sandbox-agent: files', { env: { HOME: home } }, (d) => {
    const client = clientOf(d);
    const local = (name) => path.join(d.dir, name);
    const detail = (re) => (problem) => assert.match(problem.detail, re);
    let c;
    before(async () => (c = await client()));

    it('writes and reads bytes, creates parents, and reports both', async () => {
        const bytes = crypto.randomBytes(3 << 20);
        const p = local('a/b/\u{1f600} name');
        assert.deepEqual(await c.writeFsFile({ path: p }, bytes), { path: p, bytesWritten: bytes.length });
        assert.ok(Buffer.from(await c.readFsFile({ path: p })).equals(bytes));
        assert.deepEqual(await c.writeFsFile({ path: p }, ''), { path: p, bytesWritten: 0 });
        assert.equal((await c.readFsFile({ path: p })).length, 0);
        fs.symlinkSync(p, local('link'));
        assert.equal((await c.writeFsFile({ path: local('link') }, 'by a link')).bytesWritten, 9);
        assert.equal(fs.readFileSync(p, 'utf8'), 'by a link');
    });

    it('a relative path is below the home directory, and never above it', async () => {
        assert.deepEqual(await c.writeFsFile({ path: './notes/x.txt' }, 'hi'), { path: `${home}/notes/x.txt`, bytesWritten: 2 });
        assert.equal(Buffer.from(await c.readFsFile({ path: 'notes/x.txt' })).toString(), 'hi');
        assert.deepEqual((await c.listFsEntries()).map((e) => e.path), [`${home}/notes`]);
        for (const bad of ['../x', 'a/../../x', '..'])
            await refused(c.readFsFile({ path: bad }), 400, detail(/^invalid request: invalid relative path: /));
    });

    it('lists a directory: links are files, as in the original', async () => {
        fs.mkdirSync(local('list/sub'), { recursive: true });
        fs.writeFileSync(local('list/one'), '12345');
        fs.symlinkSync(local('list/sub'), local('list/to'));
        const all = (await c.listFsEntries({ path: local('list') })).map((e) => is('entry', e));
        assert.deepEqual(
            all.map((e) => [e.name, e.path, e.entryType]),
            [['one', 'file'], ['sub', 'directory'], ['to', 'file']].map(([n, t]) => [n, local(`list/${n}`), t]),
        );
        assert.equal(all[0].size, 5);
        fs.mkdirSync(local('none'));
        assert.deepEqual(await c.listFsEntries({ path: local('none') }), []);
        await refused(c.listFsEntries({ path: local('list/one') }), 400, detail(/path is not a directory: \S*list\/one$/));
        await refused(c.listFsEntries({ path: local('list/gone') }), 400, detail(/path not found: \S*list\/gone$/));
    });

    it('stat follows links; one that leads nowhere is not found', async () => {
        const s = is('stat', await c.statFs({ path: local('list/one') }));
        assert.deepEqual([s.path, s.entryType, s.size], [local('list/one'), 'file', 5]);
        assert.equal((await c.statFs({ path: local('list/to') })).entryType, 'directory');
        fs.symlinkSync(local('list/one'), local('to-file'));
        assert.equal((await c.statFs({ path: local('to-file') })).size, 5);
        fs.symlinkSync('nowhere', local('dangling'));
        await refused(c.statFs({ path: local('dangling') }), 400, detail(/path not found: /));
        await refused(c.statFs({}), 400, detail(/missing field `path`$/));
    });

    it('makes directories, again as well, but not through a file', async () => {
        for (let i = 0; i < 2; i++) assert.deepEqual(await c.mkdirFs({ path: local('made/deep') }), { path: local('made/deep') });
        assert.ok(fs.statSync(local('made/deep')).isDirectory());
        await refused(c.mkdirFs({ path: local('list/one/x') }), 502, detail(/^stream error: .*[Nn]ot a directory/));
    });

    it('moves; what is there is replaced only on request, whatever it is', async () => {
        const [from, to] = [local('mv/from'), local('mv/deep/to')];
        await c.writeFsFile({ path: from }, 'one');
        assert.deepEqual(await c.moveFs({ from, to, overwrite: null }), { from, to });
        await c.writeFsFile({ path: from }, 'two');
        await refused(c.moveFs({ from, to }), 400, detail(/destination already exists: \S*mv\/deep\/to$/));
        assert.equal(fs.readFileSync(to, 'utf8'), 'one');
        await c.moveFs({ from, to, overwrite: true });
        assert.equal(fs.readFileSync(to, 'utf8'), 'two');
        fs.mkdirSync(local('mv/full/inner'), { recursive: true });
        await c.moveFs({ from: to, to: local('mv/full'), overwrite: true });
        assert.equal(fs.readFileSync(local('mv/full'), 'utf8'), 'two');
        assert.ok(!fs.existsSync(to));
        fs.mkdirSync(local('mv/tree/inner'), { recursive: true });
        await c.moveFs({ from: local('mv/tree'), to: local('mv/full'), overwrite: true });
        assert.ok(fs.existsSync(local('mv/full/inner')));
        assert.ok(!fs.existsSync(local('mv/tree')));
        await refused(c.moveFs({ from: local('gone'), to: local('x') }), 400, detail(/path not found: \S*gone$/));
        await refused(c.moveFs({ from }), 422);
        await refused(c.moveFs({ from: '../x', to }), 400);
    });

    it('deletes; a directory with something in it only on request', async () => {
        await c.writeFsFile({ path: local('rm/in/x') }, 'x');
        await refused(c.deleteFsEntry({ path: local('rm') }), 502, detail(/^stream error: .*not empty/));
        assert.deepEqual(await c.deleteFsEntry({ path: local('rm/in/x') }), { path: local('rm/in/x') });
        assert.deepEqual(await c.deleteFsEntry({ path: local('rm'), recursive: true }), { path: local('rm') });
        assert.ok(!fs.existsSync(local('rm')));
        await refused(c.deleteFsEntry({ path: local('rm') }), 400, detail(/path not found/));
    });

    it('what is not a file is not read', async () => {
        await refused(c.readFsFile({ path: local('list') }), 400, detail(/path is not a file: \S*list$/));
        await refused(c.readFsFile({ path: '/dev/null' }), 400, detail(/path is not a file: \/dev\/null$/));
        await refused(c.readFsFile({ path: local('gone') }), 400, detail(/path not found/));
    });

    it('unpacks an archive and names the first 1024 entries', async () => {
        const base = local('batch');
        const two = await c.uploadFsBatch(await archive([['d', '', { type: 'directory' }], ['d/x', 'hello', { mode: 0o755 }]]), { path: base });
        assert.deepEqual(two, { paths: [`${base}/d`, `${base}/d/x`], truncated: false });
        assert.equal(fs.readFileSync(`${base}/d/x`, 'utf8'), 'hello');
        assert.equal(fs.statSync(`${base}/d/x`).mode & 0o777, 0o755);
        const many = await c.uploadFsBatch(await archive(Array.from({ length: 1025 }, (_, i) => [`f${i}`, String(i)])), { path: base });
        assert.deepEqual([many.paths.length, many.paths[1023], many.truncated], [1024, `${base}/f1023`, true]);
        assert.equal(fs.readFileSync(`${base}/f1024`, 'utf8'), '1024');
        const exact = await c.uploadFsBatch(await archive(Array.from({ length: 1024 }, (_, i) => [`f${i}`, ''])), { path: base });
        assert.equal(exact.truncated, false);
    });

    it('refuses archives that lead outside, are damaged, or are none', async () => {
        const out = local('out');
        await refused(c.uploadFsBatch(await archive([['../escaped', 'x']]), { path: out }), 502, detail(/^stream error: /));
        assert.ok(!fs.existsSync(local('escaped')));
        await refused(c.uploadFsBatch((await archive([['whole', 'x'.repeat(5000)]])).subarray(0, 2000), { path: out }), 502);
        const a = await d.request('POST', `${BASE}/v1/fs/upload-batch?path=${out}`, { headers: { 'Content-Type': 'application/json' }, body: '{}' });
        assert.equal(a.status, 400, a.text);
        assert.match(a.json.detail, /content-type must be application\/x-tar$/);
    });

    it('is for the role own alone', async () => {
        const watch = await clientOf(d, { token: d.tokens.type })();
        for (const call of [watch.readFsFile({ path: '/etc/passwd' }), watch.statFs({ path: '/' }), watch.listFsEntries(), watch.mkdirFs({ path: local('no') }), watch.writeFsFile({ path: local('no') }, 'x')])
            await refused(call, 403);
        assert.ok(!fs.existsSync(local('no')));
    });

    it('an upload that stops leaves no file, and the one before', async () => {
        await c.writeFsFile({ path: local('kept') }, 'old');
        const before = fs.readdirSync(d.dir).sort();
        for (const name of ['kept', 'new']) {
            const up = await RawConn.connect(d);
            const head = requestBytes(d, `PUT ${BASE}/v1/fs/file?path=${local(name)}`, { headers: { 'Content-Length': 1000000 } });
            up.send(head, 'n'.repeat(300000));
            await waitUntil(() => proc.fileWriters(local(name)).length === 1, 'the writer');
            up.reset();
            await waitUntil(() => proc.fileWriters(local(name)).length === 0, 'its end');
        }
        assert.deepEqual(fs.readdirSync(d.dir).sort(), before);
        assert.equal(fs.readFileSync(local('kept'), 'utf8'), 'old');
    });
});
