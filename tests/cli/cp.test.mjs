// SPDX-License-Identifier: Apache-2.0
// holdfast cp: files and directories to the sandbox and from it.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from '../lib/test.mjs';
import { cli, fails, ok, onPty, start } from '../lib/cli.mjs';
import { binary, withDaemon } from '../lib/daemon.mjs';
import { waitUntil } from '../lib/wait.mjs';

const MIB = 1 << 20;
const modeOf = (name) => (fs.statSync(name).mode & 0o7777).toString(8);
const digest = (name) => createHash('sha256').update(fs.readFileSync(name)).digest('hex');

withDaemon('copying', {}, (d) => {
    let top, here, there;
    before(() => {
        top = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-cp-'));
        fs.chmodSync(top, 0o755);
        here = path.join(top, 'here');
        there = path.join(top, 'there');
        fs.mkdirSync(here);
        fs.mkdirSync(there);
    });
    after(() => fs.rmSync(top, { recursive: true, force: true }));

    const H = (name) => path.join(here, name);
    const T = (name) => path.join(there, name);

    /** A directory with what trees have. */
    const tree = (name) => {
        fs.mkdirSync(path.join(name, 'sub/empty'), { recursive: true });
        fs.writeFileSync(path.join(name, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
        fs.writeFileSync(path.join(name, 'sub/secret'), 'x'.repeat(70000), { mode: 0o600 });
        fs.writeFileSync(path.join(name, 'nothing'), '');
        fs.writeFileSync(path.join(name, 'sub', 'é '.repeat(60)), 'long name');
        fs.symlinkSync('sub/secret', path.join(name, 'link'));
        fs.symlinkSync('/nowhere/at/all', path.join(name, 'dangling'));
        fs.chmodSync(name, 0o750);
    };
    const look = (name, at = '') =>
        fs.readdirSync(path.join(name, at)).sort().flatMap((n) => {
            const rel = path.join(at, n);
            const full = path.join(name, rel);
            const st = fs.lstatSync(full);
            if (st.isSymbolicLink()) return [[rel, '->', fs.readlinkSync(full)]];
            if (st.isDirectory()) return [[rel, '/'], ...look(name, rel)];
            return [[rel, (st.mode & 0o7777).toString(8), fs.readFileSync(full, 'utf8')]];
        });

    it('one file both ways, with its permissions, under its own name or another', async () => {
        fs.writeFileSync(H('a'), 'first\n', { mode: 0o640 });
        fs.chmodSync(H('a'), 0o640);
        assert.equal(await ok(d, ['cp', H('a'), `:${there}`]), '');
        assert.deepEqual([fs.readFileSync(T('a'), 'utf8'), modeOf(T('a'))], ['first\n', '640']);
        await ok(d, ['cp', H('a'), `:${T('b')}`]);
        fs.chmodSync(T('b'), 0o4751);
        fs.symlinkSync('b', T('to-b'));
        await ok(d, ['cp', `:${T('to-b')}`, H('c')]);
        assert.deepEqual([fs.readFileSync(H('c'), 'utf8'), modeOf(H('c'))], ['first\n', '751']);
        await ok(d, ['cp', `:${T('b')}`, '.'], { cwd: here });
        await ok(d, ['cp', `:${T('b')}`, 'renamed'], { cwd: here });
        assert.equal(fs.readFileSync(H('b'), 'utf8') + fs.readFileSync(H('renamed'), 'utf8'), 'first\nfirst\n');
        fs.writeFileSync(H('a'), 'second\n');
        await ok(d, ['cp', H('a'), `:${T('to-b')}`]);
        assert.equal(fs.readFileSync(T('b'), 'utf8'), 'second\n', 'through the link');
        assert.ok(fs.lstatSync(T('to-b')).isSymbolicLink());
        fs.writeFileSync(H(':x'), 'colon');
        await ok(d, ['cp', './:x', `:${T('%2F +&?')}`], { cwd: here });
        assert.equal(fs.readFileSync(T('%2F +&?'), 'utf8'), 'colon');
        const up = JSON.parse(await ok(d, ['cp', '--json', H('a'), `:${T('b')}`]));
        assert.deepEqual([up.path, up.size], [T('b'), 7]);
        const down = JSON.parse(await ok(d, ['cp', '--json', `:${T('b')}`, H('b')]));
        assert.deepEqual(down, { path: H('b'), bytes: 7 });
    });

    it('standard input and output; files of /proc', async () => {
        const bytes = randomBytes(3 * MIB + 17);
        await ok(d, ['cp', '-', `:${T('piped')}`], { input: bytes });
        assert.ok(fs.readFileSync(T('piped')).equals(bytes));
        const r = await cli(d, ['cp', `:${T('piped')}`, '-']);
        assert.deepEqual([r.code, r.stderr], [0, '']);
        assert.ok(r.stdout.equals(bytes));
        await ok(d, ['cp', '-', `:${T('empty')}`], { input: '' });
        assert.equal(fs.statSync(T('empty')).size, 0);
        assert.equal(await ok(d, ['cp', `:${T('empty')}`, '-']), '');
        assert.match(await ok(d, ['cp', ':/proc/version', '-']), /Linux/);
        await ok(d, ['cp', ':/proc/version', H('version')]);
        assert.match(fs.readFileSync(H('version'), 'utf8'), /Linux/);
        await fails(d, 2, /is a directory/, ['cp', '-', `:${there}`], { input: 'x' });
    });

    it('trees both ways: links, permissions, empty directories, long names', async () => {
        tree(H('tree'));
        await ok(d, ['cp', H('tree'), `:${T('new')}`]);
        assert.deepEqual(look(T('new')), look(H('tree')));
        assert.equal(modeOf(T('new')), '750');
        await ok(d, ['cp', `${H('tree')}/`, `:${there}/`]);
        assert.deepEqual(look(T('tree')), look(H('tree')), 'below a directory that exists');
        await ok(d, ['cp', `:${T('new')}`, H('back')]);
        assert.deepEqual(look(H('back')), look(H('tree')));
        assert.equal(modeOf(H('back')), '750');
        await ok(d, ['cp', `:${T('new')}/`, here]);
        assert.deepEqual(look(H('new')), look(H('tree')));
        fs.mkdirSync(H('contents'));
        await ok(d, ['cp', `:${T('new')}/.`, H('contents')]);
        assert.deepEqual(look(H('contents')), look(H('tree')), 'the contents alone');
        await ok(d, ['cp', H('tree'), `:${there}`]);
        assert.deepEqual(look(T('tree')), look(H('tree')), 'a second time');
        const r = JSON.parse(await ok(d, ['cp', '--json', `:${T('new')}`, H('again')]));
        assert.deepEqual([r.path, r.skipped], [H('again'), 0]);
    });

    it('special files are left out, which is an error', async () => {
        fs.mkdirSync(T('special'));
        await d.exitOf((await d.sh(`mkfifo ${T('special')}/fifo; echo x > ${T('special')}/file`)).id);
        await fails(d, 1, /1 entries were left out/, ['cp', `:${T('special')}`, H('special')]);
        assert.deepEqual(fs.readdirSync(H('special')), ['file']);
        await fails(d, 1, /1 entries were left out/, ['cp', T('special'), `:${T('special2')}`]);
        assert.deepEqual(fs.readdirSync(T('special2')), ['file']);
        await fails(d, 1, /not_a_file/, ['cp', `:${T('special')}/fifo`, H('fifo')]);
        assert.ok(!fs.existsSync(H('fifo')));
    });

    it('errors change nothing', async () => {
        fs.writeFileSync(H('keep'), 'old');
        await fails(d, 1, /no_such_file/, ['cp', `:${T('missing')}`, H('keep')]);
        assert.equal(fs.readFileSync(H('keep'), 'utf8'), 'old');
        await fails(d, 1, /No such file/, ['cp', H('missing'), `:${T('x')}`]);
        await fails(d, 1, /no_such_file/, ['cp', H('keep'), `:${T('no/dir/x')}`]);
        await fails(d, 1, /no_such_file/, ['cp', H('tree'), `:${T('no/dir')}`]);
        assert.ok(!fs.existsSync(T('no')));
        await fails(d, 1, /No such file/, ['cp', `:${T('b')}`, H('no/dir/x')]);
        await fails(d, 1, /No such file/, ['cp', `:${T('new')}`, H('no/dir')]);
        await fails(d, 1, /[Nn]ot a directory/, ['cp', `:${T('new')}`, H('keep')]);
        await fails(d, 1, /not a directory/, ['cp', H('tree'), `:${T('b')}`]);
        await fails(d, 1, /is_a_directory/, ['cp', `:${T('new')}`, '-']);
        await fails(d, 1, /directory/i, ['cp', `:${T('b')}`, `${H('none')}/`]);
        await fails(d, 1, /directory/i, ['cp', H('keep'), `:${T('none')}/`]);
        await fails(d, 1, /user/, ['cp', '--user', 'nobody-of-this-name', H('keep'), `:${T('x')}`]);
        fs.mkdirSync(T('names/keep'), { recursive: true });
        await fails(d, 1, /is_a_directory/, ['cp', H('keep'), `:${T('names')}`]);
        assert.ok(!fs.existsSync(T('x')));
    });

    it('the rights of another user', async (t) => {
        if (process.getuid() !== 0) return t.skip('needs root');
        fs.writeFileSync(T('private'), 'x', { mode: 0o600 });
        await fails(d, 1, /Permission denied \(file_access_denied\)/, ['cp', '--user', 'nobody', `:${T('private')}`, H('private')]);
        await fails(d, 1, /Permission denied \(file_access_denied\)/, ['cp', '-u', 'nobody', H('keep'), `:${T('by-nobody')}`]);
        fs.mkdirSync(T('open'));
        fs.chmodSync(T('open'), 0o777);
        await ok(d, ['cp', '-u', 'nobody', H('tree'), `:${T('open')}`]);
        assert.notEqual(fs.statSync(T('open/tree/run.sh')).uid, 0);
        assert.notEqual(fs.statSync(T('open/tree')).uid, 0);
    });

    it('100 MiB arrive byte by byte, in flat memory', async () => {
        const one = randomBytes(MIB);
        const fd = fs.openSync(H('big'), 'w');
        for (let i = 0; i < 100; i++) {
            one.writeUInt32LE(i);
            fs.writeSync(fd, one);
        }
        fs.closeSync(fd);
        /* Freed memory that the sanitizer keeps to find errors is not ours. */
        const env = { ASAN_OPTIONS: 'detect_leaks=1:exitcode=99:quarantine_size_mb=1' };
        const up = start(d, ['cp', H('big'), `:${T('big')}`], { env });
        let peak = 0;
        const watch = setInterval(() => {
            try {
                peak = Math.max(peak, Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${up.pid}/status`))?.[1] ?? 0));
            } catch { /* it has ended */ }
        }, 5);
        const r = await up.done;
        clearInterval(watch);
        assert.deepEqual([r.code, r.stderr], [0, '']);
        assert.ok(peak > 0 && peak < 60 * 1024, `${peak} KiB`);
        assert.equal(digest(T('big')), digest(H('big')));
        await ok(d, ['cp', `:${T('big')}`, H('big2')]);
        assert.equal(digest(H('big2')), digest(H('big')));
    });

    it('no room here: nothing is left of the file', async () => {
        const full = (args) =>
            fails(d, 1, /File too large/, ['-c', 'trap "" XFSZ; ulimit -f 16; exec "$@"', 'sh', binary(), 'cp', ...args], { bin: '/bin/sh' });
        fs.writeFileSync(H('was'), 'old');
        await full([`:${T('big')}`, H('was')]);
        assert.equal(fs.readFileSync(H('was'), 'utf8'), 'old');
        fs.mkdirSync(T('large'));
        fs.writeFileSync(T('large/a'), 'fits');
        fs.renameSync(T('big'), T('large/b'));
        await full([`:${T('large')}`, H('large')]);
        assert.deepEqual(fs.readdirSync(H('large')), ['a']);
    });

    it('interrupted: the old file stays, and nothing is left of the new one', async () => {
        fs.mkdirSync(T('cut'));
        fs.writeFileSync(T('cut/file'), 'old');
        const up = start(d, ['cp', '-', `:${T('cut/file')}`], { input: null });
        up.stdin.write(randomBytes(MIB));
        await waitUntil(() => fs.readFileSync(`/proc/${up.pid}/io`, 'utf8').match(/rchar: (\d+)/)[1] > MIB, 'the input');
        up.kill('SIGINT');
        assert.equal((await up.done).signal, 'SIGINT');
        await waitUntil(() => !fs.readdirSync('/proc').some((pid) => {
            try {
                return /file-op/.test(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(T('cut/file'));
            } catch {
                return false;
            }
        }), 'the end of the operation');
        assert.deepEqual([fs.readdirSync(T('cut')), fs.readFileSync(T('cut/file'), 'utf8')], [['file'], 'old']);
    });

    it('a cut response leaves neither a file nor half of one in a directory', async () => {
        const entry = (type) => JSON.stringify({ name: 'x', path: '/x', type, mode: '0644', size: 9 });
        const block = (name, size) => {
            const b = Buffer.alloc(512);
            b.write(name, 0);
            b.write('0000644\0', 100);
            b.write(size.toString(8).padStart(11, '0'), 124);
            b.write('00000000000', 136);
            b.write('        ', 148);
            b.write('0ustar\x0000', 156);
            b.write(`${b.reduce((s, v) => s + v, 0).toString(8).padStart(6, '0')}\0 `, 148);
            return b;
        };
        const server = http.createServer((req, res) => {
            if (req.url.startsWith('/v1/files/stat'))
                return res.setHeader('Content-Type', 'application/json').end(entry(req.url.includes('dir') ? 'directory' : 'file'));
            res.writeHead(200, { 'Content-Type': 'application/octet-stream' });
            res.write(req.url.includes('archive') ? Buffer.concat([block('whole', 512), Buffer.alloc(512, 65), block('half', 5000), Buffer.alloc(1000)]) : 'some bytes');
            setTimeout(() => res.destroy(), 50);
        });
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        const env = { HOLDFAST_URL: `http://127.0.0.1:${server.address().port}` };
        fs.writeFileSync(H('victim'), 'old');
        await fails(null, 125, /not complete/, ['cp', ':/file', H('victim')], { env });
        assert.equal(fs.readFileSync(H('victim'), 'utf8'), 'old');
        await fails(null, 125, /not complete/, ['cp', ':/file', H('fresh')], { env });
        assert.ok(!fs.existsSync(H('fresh')));
        assert.deepEqual(fs.readdirSync(here).filter((n) => n.endsWith('.part')), []);
        await fails(null, 125, /not complete/, ['cp', ':/dir', H('cut')], { env });
        assert.deepEqual(fs.readdirSync(H('cut')), ['whole']);
        server.close();
    });

    it('an archive does not escape from its directory', async () => {
        const block = (name, kind, link = '', size = 0) => {
            const b = Buffer.alloc(512);
            b.write(name, 0);
            b.write('0000644\0', 100);
            b.write(size.toString(8).padStart(11, '0'), 124);
            b.write('00000000000', 136);
            b.write('        ', 148);
            b.write(kind, 156);
            b.write(link, 157);
            b.write('ustar\x0000', 257);
            b.write(`${b.reduce((s, v) => s + v, 0).toString(8).padStart(6, '0')}\0 `, 148);
            return b;
        };
        const end = Buffer.alloc(1024);
        const evil = {
            up: Buffer.concat([block('../escaped', '0'), end]),
            link: Buffer.concat([block('out', '2', here), block('out/escaped\x1b[31m', '0'), end]),
        };
        const server = http.createServer((req, res) => {
            if (req.url.startsWith('/v1/files/stat'))
                return res.setHeader('Content-Type', 'application/json').end('{"type":"directory","mode":"0755"}');
            res.end(evil[req.url.includes('up') ? 'up' : 'link']);
        });
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        const env = { HOLDFAST_URL: `http://127.0.0.1:${server.address().port}` };
        await fails(null, 1, /escaped|outside|\.\./, ['cp', ':/up', H('evil-up')], { env });
        const r = await fails(null, 1, /escaped.*through a link/, ['cp', ':/link', H('evil-link')], { env });
        assert.ok(!r.stderr.includes('\x1b'), 'nor do its names reach the terminal');
        assert.deepEqual(fs.readdirSync(here).filter((n) => n.startsWith('escaped')), []);
        server.close();
    });

    it('a line of progress on a terminal, which stays', async () => {
        await d.exitOf((await d.sh(`mkfifo ${H('slow')}`)).id);
        const pty = onPty(d, ['cp', H('slow'), `:${T('slow')}`]);
        const fd = fs.openSync(H('slow'), 'w');
        const more = setInterval(() => fs.writeSync(fd, 'x'.repeat(2048)), 20);
        await pty.shows('KiB/s');
        clearInterval(more);
        fs.closeSync(fd);
        assert.equal(await pty.exit(), 'exit 0');
        assert.match(fs.readFileSync(T('slow'), 'utf8'), /^x+$/);
        await pty.close();
    });
});
