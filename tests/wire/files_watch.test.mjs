// SPDX-License-Identifier: Apache-2.0
// GET /v1/files/watch: what clients learn from it adds up to the tree that is there.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withDaemon } from '../lib/daemon.mjs';
import { Tree, Watch, realTree, sorted, watchUrl, watchersOf } from '../lib/file_watch.mjs';
import { runSeed, seededRandom } from '../lib/gen.mjs';
import { limit } from '../lib/limits.mjs';
import * as proc from '../lib/proc.mjs';
import { RawConn } from '../lib/raw.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';
import { OP, WsRaw, closePayload } from '../lib/wsraw.mjs';

const isRoot = process.getuid() === 0;
const text = (r) => `${r.type} ${r.from ? `${r.from} -> ` : ''}${r.path}${r.dir ? '/' : ''}`;

withDaemon('files: watch', {}, (d) => {
    let count = 0;
    const fresh = () => {
        const dir = path.join(d.dir, `tree-${count++}`);
        fs.mkdirSync(dir);
        return dir;
    };
    const gone = (dir) => waitUntil(() => watchersOf(dir).length === 0, 'the helper to be gone');
    const watched = (body, query) => async () => {
        const dir = fresh();
        const w = await Watch.open(d, dir, query);
        try {
            await body(dir, w, (...names) => path.join(dir, ...names));
        } finally {
            w.close();
            await gone(dir);
        }
    };

    it('each kind of change has its event, and ids count', watched(async (dir, w, at) => {
        assert.deepEqual(w.ready, { type: 'ready', directories: 1, unwatched: 0 });
        assert.equal(w.res.headers['cache-control'], 'no-store');
        fs.writeFileSync(at('a'), 'x');
        fs.chmodSync(at('a'), 0o600);
        fs.renameSync(at('a'), at('b'));
        fs.rmSync(at('b'));
        fs.symlinkSync('/nowhere', at('link'));
        fs.mkdirSync(at('dir'));
        fs.chmodSync(dir, 0o711);
        assert.deepEqual((await w.settle()).map(text), [
            'create a', 'write a', 'chmod a', 'rename a -> b', 'remove b', 'create link', 'create dir/', 'chmod ./',
        ]);
        assert.equal(w.sse.lastId, '13');
    }));

    it('without recursive only the directory itself counts', watched(async (dir, w, at) => {
        fs.mkdirSync(at('sub'));
        fs.writeFileSync(at('sub', 'x'), 'x');
        assert.deepEqual((await w.settle()).map(text), ['create sub/']);
    }, ''));

    it('equal writes in a row are one', watched(async (dir, w, at) => {
        const fds = [fs.openSync(at('a'), 'w'), fs.openSync(at('b'), 'w')];
        for (let i = 0; i < 1000; i++) fs.writeSync(fds[0], 'x');
        fs.writeSync(fds[1], 'x');
        fds.forEach((fd) => fs.closeSync(fd));
        const all = (await w.settle()).map(text);
        assert.ok(all.length < 500, `${all.length} reports`);
        assert.equal(all.at(-1), 'write b');
    }));

    it('a rename into the tree is a creation with contents, one out of it a removal', watched(async (dir, w, at) => {
        const outside = fresh();
        fs.mkdirSync(path.join(outside, 'in', 'deep'), { recursive: true });
        fs.writeFileSync(path.join(outside, 'in', 'deep', 'f'), '');
        fs.renameSync(path.join(outside, 'in'), at('in'));
        assert.deepEqual((await w.settle()).map(text), ['create in/', 'create in/deep/', 'create in/deep/f']);
        fs.renameSync(at('in'), path.join(outside, 'out'));
        fs.writeFileSync(path.join(outside, 'out', 'deep', 'g'), ''); // no longer ours
        assert.deepEqual((await w.settle()).map(text), ['remove in/']);
    }));

    it('directories that were moved keep their watches under the new path', watched(async (dir, w, at) => {
        fs.mkdirSync(at('a', 'b', 'c'), { recursive: true });
        fs.mkdirSync(at('x'));
        await w.settle();
        fs.renameSync(at('a'), at('x', 'y'));
        fs.writeFileSync(at('x', 'y', 'b', 'c', 'f'), '');
        fs.renameSync(at('x', 'y', 'b'), at('b'));
        fs.mkdirSync(at('b', 'c', 'new'));
        fs.writeFileSync(at('b', 'c', 'new', 'g'), '');
        const all = (await w.settle()).map(text);
        assert.deepEqual(all.filter((t, i) => all.indexOf(t) === i), [
            'rename a -> x/y/', 'create x/y/b/c/f', 'rename x/y/b -> b/', 'create b/c/new/', 'create b/c/new/g',
        ]);
    }));

    it('links are not followed, within the tree; the directory itself may be one', async () => {
        const dir = fresh();
        const other = fresh();
        fs.mkdirSync(path.join(other, 'sub'));
        fs.symlinkSync(other, path.join(dir, 'link'));
        fs.symlinkSync(dir, path.join(other, 'back'));
        const w = await Watch.open(d, dir);
        const by = await Watch.open(d, path.join(other, 'back'));
        assert.equal(w.ready.directories, 1);
        fs.writeFileSync(path.join(other, 'sub', 'f'), '');
        assert.deepEqual(await w.settle(), []);
        assert.equal((await by.next()).path.startsWith('settled-'), true);
        w.close();
        by.close();
        await gone(dir);
    });

    it('names that are not UTF-8 come exactly, too', watched(async (dir, w) => {
        const name = Buffer.from([0x62, 0xff, 0x2f, 0xfe]);
        fs.mkdirSync(Buffer.concat([Buffer.from(`${dir}/`), name.subarray(0, 2)]));
        fs.writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), name]), '');
        const all = await w.settle();
        assert.deepEqual(all.map((r) => [r.path, r.path_base64])[0], ['b\ufffd', Buffer.from(name.subarray(0, 2)).toString('base64')]);
        assert.equal(all.at(-1).path_base64, name.toString('base64'));
    }));

    it('two directories that are exchanged are both reported anew', { skip: !fs.existsSync('/usr/bin/python3') }, watched(async (dir, w, at) => {
        fs.mkdirSync(at('one'));
        fs.writeFileSync(at('one', 'f'), '');
        fs.mkdirSync(at('two'));
        fs.writeFileSync(at('two', 'g'), '');
        const tree = new Tree(dir);
        await w.settle();
        const exchange = `import ctypes; assert ctypes.CDLL(None).renameat2(-100, b'${at('one')}', -100, b'${at('two')}', 2) == 0`;
        const run = spawn('/usr/bin/python3', ['-c', exchange], { stdio: 'inherit' });
        await new Promise((done) => run.on('exit', done));
        for (const r of await w.settle()) tree.apply(r);
        fs.writeFileSync(at('one', 'new'), '');
        fs.writeFileSync(at('two', 'new'), '');
        for (const r of await w.settle()) tree.apply(r);
        assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)));
    }));

    it('what appears in a new directory before it can be watched is reported', watched(async (dir, w, at) => {
        const rounds = 200;
        const tree = new Tree();
        for (let i = 0; i < rounds; i++) {
            fs.mkdirSync(at(`${i}`, 'b', 'c', 'd'), { recursive: true });
            fs.writeFileSync(at(`${i}`, 'b', 'c', 'd', 'file'), 'x');
        }
        for (const r of await w.settle()) tree.apply(r);
        assert.equal(tree.paths.size, rounds * 5);
        assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)));
        for (let i = 0; i < rounds; i++) fs.writeFileSync(at(`${i}`, 'b', 'c', 'd', 'later'), '');
        const later = (await w.settle()).filter((r) => r.type === 'create' && r.path.endsWith('/later'));
        assert.equal(new Set(later.map((r) => r.path)).size, rounds);
    }));

    it('thousands of files, a thousand changes each second: nothing is lost, or an overflow is reported', async () => {
        const dir = fresh();
        const at = (p) => path.join(dir, p);
        const files = scaled(10000, 2000);
        const next = seededRandom(71);
        const rnd = (n) => Math.floor(next() * n);
        const pick = (list) => list[rnd(list.length)];
        const dirs = ['.'];
        for (let i = 0; i < 100; i++) {
            dirs.push(path.join(pick(dirs), `d${i}`));
            fs.mkdirSync(at(dirs.at(-1)));
        }
        for (let i = 0; i < files; i++) fs.writeFileSync(at(path.join(pick(dirs), `f${i}`)), '');
        const w = await Watch.open(d, dir);
        assert.equal(w.ready.directories, 101);
        const tree = new Tree(dir);
        let all = [...realTree(dir).keys()];
        let n = 0;
        const change = () => {
            const what = rnd(10);
            const target = path.join(pick(all.filter((p) => /(^|\/)[dn][^/]*$/.test(p)).concat('.')), `${what === 0 ? 'n' : 'x'}${n++}`);
            try {
                if (what === 0) fs.mkdirSync(at(target));
                else if (what < 4) fs.writeFileSync(at(target), 'x');
                else if (what < 6) fs.renameSync(at(pick(all)), at(target));
                else if (what < 7) fs.rmSync(at(pick(all)), { recursive: true });
                else fs.appendFileSync(at(pick(all)), 'y');
                if (what < 6) all.push(target);
            } catch (err) {
                if (!['ENOENT', 'EINVAL', 'EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(err.code)) throw err;
            }
        };
        const seconds = scaled(20, 3);
        const start = Date.now();
        for (let i = 0; i < seconds * 100; i++) {
            for (let k = 0; k < 10; k++) change();
            if (i % 50 === 49) all = [...realTree(dir).keys()];
            const due = start + (i + 1) * 10;
            await waitUntil(() => Date.now() >= due, 'the next ten changes', 30000, 1);
        }
        for (const r of await w.settle()) tree.apply(r);
        report(`${n} changes in ${Date.now() - start} ms, ${tree.overflows} overflows`);
        if (tree.overflows === 0) assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)));
        w.close();
        await gone(dir);
    });

    // The helper is stopped meanwhile, so that every path that it gets is out of date.
    const whileStopped = (dir, body) => {
        const [pid] = watchersOf(dir);
        process.kill(pid, 'SIGSTOP');
        try {
            body();
        } finally {
            process.kill(pid, 'SIGCONT');
        }
    };

    it('what is made in a new directory is reported, if a directory above it is renamed before that', watched(async (dir, w, at) => {
        fs.mkdirSync(at('a'));
        const tree = new Tree(dir);
        await w.settle();
        whileStopped(dir, () => {
            fs.mkdirSync(at('a', 'b', 'c'), { recursive: true });
            fs.renameSync(at('a'), at('z'));
            fs.writeFileSync(at('z', 'b', 'c', 'f'), '');
        });
        for (const r of await w.settle()) tree.apply(r);
        fs.writeFileSync(at('z', 'b', 'c', 'g'), '');
        for (const r of await w.settle()) tree.apply(r);
        assert.equal(tree.overflows, 0);
        assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)));
    }));

    it('directories renamed, removed and created at random, before any of it is followed', watched(async (dir, w, at) => {
        const next = seededRandom(runSeed());
        const rnd = (n) => Math.floor(next() * n);
        const name = () => 'abcd'[rnd(4)];
        const some = () => at(...Array.from({ length: 1 + rnd(4) }, name));
        let overflows = 0;
        const change = (i) => {
            const what = rnd(10);
            try {
                if (what < 4) fs.mkdirSync(path.join(some(), name(), name()), { recursive: true });
                else if (what < 7) fs.renameSync(some(), some());
                else if (what < 8) fs.rmSync(some(), { recursive: true });
                else fs.writeFileSync(path.join(some(), `f${i % 5}`), 'x');
            } catch (err) {
                if (!['ENOENT', 'EINVAL', 'EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(err.code)) throw err;
            }
        };
        for (let round = 0, tree = new Tree(dir); round < scaled(200, 25); round++) {
            whileStopped(dir, () => {
                for (let i = 0; i < 5 + rnd(100); i++) change(i);
            });
            for (const r of await w.settle()) tree.apply(r);
            if (tree.overflows > 0) {
                overflows += tree.overflows;
                tree = new Tree(dir);
            }
            assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)), `round ${round}`);
            // Each directory is watched, under its own path.
            for (const [p, isDir] of tree.paths) if (isDir) fs.writeFileSync(at(p, `probe-${round}`), '');
            for (const r of await w.settle()) tree.apply(r);
            assert.equal(tree.overflows, 0);
            assert.deepEqual(sorted(tree.paths), sorted(realTree(dir)), `round ${round}, after it`);
        }
        report(`${overflows} overflows`);
    }));

    it('the longest paths are reported, a longer one ends the watch', watched(async (dir, w) => {
        const max = limit('LIMIT_FILE_WATCH_PATH_BYTES');
        const name = '\x01'.repeat(250); // six times as long in JSON
        const levels = Math.floor(max / 251);
        const last = 'x'.repeat(max - levels * 251);
        const before = process.cwd();
        try {
            process.chdir(dir);
            for (let i = 0; i < levels; i++) {
                fs.mkdirSync(name);
                process.chdir(name);
            }
            fs.writeFileSync(last, '');
            for (let r; !(r = await w.next()).path?.endsWith(last); ) assert.notEqual(r.type, 'error', r.detail);
            fs.renameSync(last, last.replace('x', 'y'));
            for (let r; (r = await w.next()).type !== 'rename'; ) assert.notEqual(r.type, 'error', r.detail);
            fs.writeFileSync(`${last}-`, '');
            let end;
            for (let r; (r = await w.next()) !== null; ) end = r;
            assert.deepEqual([end.type, end.code, end.errno], ['error', 'watch_failed', 'ENAMETOOLONG']);
        } finally {
            process.chdir(before);
            execFileSync('rm', ['-rf', dir]);
        }
    }));

    it('a reader that stalls is told of the overflow, and the watches are complete after it', watched(async (dir, w, at) => {
        const files = 100000; // more than the kernel, the pipe, the ring and the sockets hold
        const tail = 'x'.repeat(200);
        fs.mkdirSync(at('before'));
        await w.settle();
        w.res.pause();
        for (let i = 0; i < files; i++) fs.closeSync(fs.openSync(at(`${i}-${tail}`), 'w'));
        fs.mkdirSync(at('during', 'deep'), { recursive: true });
        fs.renameSync(at('before'), at('during', 'deep', 'moved'));
        w.res.resume();
        let seen = 0;
        for (let r; (r = await w.next(120000)).type !== 'overflow'; ) seen += r.type === 'create';
        assert.ok(seen < files, `${seen} of ${files} changes were reported`);
        report(`${seen} of ${files} changes before the overflow`);
        await w.settle();
        fs.writeFileSync(at('during', 'deep', 'moved', 'after'), '');
        assert.deepEqual((await w.settle()).map(text).filter((t) => t.startsWith('create')), ['create during/deep/moved/after']);
    }));

    it('the end of the directory ends the watch', async () => {
        for (const [how, reason] of [['rmSync', 'removed'], ['rmdirSync', 'removed'], ['renameSync', 'moved']]) {
            const dir = fresh();
            const held = fs.openSync(dir); // so that the kernel does not report it about the directory itself
            const w = await Watch.open(d, dir);
            fs[how](dir, how === 'renameSync' ? `${dir}-moved` : { recursive: how === 'rmSync' });
            const last = await w.next();
            assert.deepEqual(last, { type: 'end', reason }, how);
            assert.equal(await w.next(), null);
            assert.equal(w.res.complete, true);
            await gone(dir);
            fs.closeSync(held);
        }
    });

    it('what cannot be watched is refused with its reason', async () => {
        const dir = fresh();
        const file = path.join(dir, 'file');
        fs.writeFileSync(file, '');
        const missing = await d.refused('not_found', 'GET', watchUrl(path.join(dir, 'none')));
        assert.deepEqual([missing.errno, missing.path], ['ENOENT', path.join(dir, 'none')]);
        assert.equal((await d.refused('watch_failed', 'GET', watchUrl(file))).errno, 'ENOTDIR');
        await d.refused('bad_query', 'GET', watchUrl('relative'));
        await d.refused('bad_query', 'GET', '/v1/files/watch');
        await d.refused('bad_query', 'GET', watchUrl(dir, '&recursive=perhaps'));
        await d.refused('bad_query', 'GET', watchUrl(dir, '&other=1'));
        await d.refused('forbidden', 'GET', watchUrl(dir), { role: 'type' });
        await d.refused('not_acceptable', 'GET', watchUrl(dir), { headers: { Accept: 'application/json' } });
        if (isRoot) await d.refused('user_unknown', 'GET', watchUrl(dir, '&user=nobody-of-this-name'));
        assert.equal((await d.request('HEAD', watchUrl(dir))).status, 200);
        await waitUntil(async () => (await d.list()).length === 0, 'no process to be left of it');
    });

    it('a user watches what that user may read', { skip: !isRoot }, async () => {
        const dir = fresh();
        fs.chmodSync(d.dir, 0o711);
        fs.chmodSync(dir, 0o755);
        fs.mkdirSync(path.join(dir, 'secret', 'deep'), { recursive: true });
        fs.chmodSync(path.join(dir, 'secret'), 0o700);
        const closed = fresh();
        fs.chmodSync(closed, 0o700);
        assert.equal((await d.refused('watch_failed', 'GET', watchUrl(closed, '&user=nobody'))).errno, 'EACCES');
        const w = await Watch.open(d, dir, '&recursive=1&user=nobody');
        assert.deepEqual(w.ready, { type: 'ready', directories: 1, unwatched: 1 });
        assert.deepEqual(await w.next(), { type: 'unwatched', path: 'secret', errno: 'EACCES' });
        assert.equal(fs.statSync(`/proc/${watchersOf(dir)[0]}`).uid, 65534);
        fs.writeFileSync(path.join(dir, 'secret', 'unseen'), '');
        assert.deepEqual(await w.settle(), []);
        fs.chmodSync(path.join(dir, 'secret'), 0o755);
        assert.deepEqual((await w.settle()).map(text).sort(), ['chmod secret/', 'create secret/deep/', 'create secret/unseen']);
        fs.writeFileSync(path.join(dir, 'secret', 'deep', 'f'), '');
        assert.deepEqual((await w.settle()).map(text), ['create secret/deep/f']);
        w.close();
        await gone(dir);
    });

    it('an idle watch waits without a time limit', { skip: !isRoot || process.arch !== 'x64' }, watched(async (dir) => {
        const [pid] = watchersOf(dir);
        // poll(fds, 2, -1)
        await waitUntil(() => /^7 0x\w+ 0x2 0xf*f{8} /.test(fs.readFileSync(`/proc/${pid}/syscall`, 'utf8')), 'poll without a time limit');
    }));

    it('by WebSocket: the same reports as text, until either side closes', async () => {
        const dir = fresh();
        const s = await WsRaw.open(d, watchUrl(dir, '&recursive=true'));
        const next = async () => JSON.parse((await s.frame()).payload);
        assert.deepEqual(await next(), { type: 'ready', directories: 1, unwatched: 0 });
        s.send(OP.TEXT, 'ignored').send(OP.BINARY, 'ignored');
        fs.mkdirSync(path.join(dir, 'a'));
        assert.deepEqual(await next(), { type: 'create', path: 'a', dir: true });
        fs.rmSync(dir, { recursive: true });
        assert.equal((await next()).type, 'remove');
        assert.deepEqual(await next(), { type: 'end', reason: 'removed' });
        const close = await s.frame();
        assert.deepEqual([close.opcode, close.payload.readUInt16BE()], [OP.CLOSE, 1000]);
        s.send(OP.CLOSE, closePayload(1000));
        await gone(dir);

        const other = fresh();
        const t = await WsRaw.open(d, watchUrl(other));
        await t.frame();
        assert.equal(watchersOf(other).length, 1);
        t.send(OP.CLOSE, closePayload(1000));
        await gone(other);
        t.conn.destroy();

        const conn = await RawConn.connect(d);
        conn.send(WsRaw.handshake(d, watchUrl('/nowhere-at-all')).bytes);
        assert.equal((await conn.response()).status, 404);
        conn.destroy();
        const old = await RawConn.connect(d);
        old.send(WsRaw.handshake(d, watchUrl(other), { headers: { 'Sec-WebSocket-Version': '12' } }).bytes);
        assert.equal((await old.response()).status, 400);
        old.destroy();
    });

    it('a client that is cut takes its helper along', async () => {
        const dir = fresh();
        for (let i = 0; i < 5; i++) {
            const w = await Watch.open(d, dir);
            assert.equal(watchersOf(dir).length, 1);
            w.close();
            await gone(dir);
        }
        await waitUntil(async () => (await d.list()).length === 0, 'no process to be left of it');
    });

    it('a helper that is killed ends the watch with an error', watched(async (dir, w) => {
        process.kill(watchersOf(dir)[0], 'SIGKILL');
        const last = await w.next();
        assert.deepEqual([last.type, last.code], ['error', 'internal']);
        assert.equal(await w.next(), null);
    }));

    it('a worker that is killed ends all watches, and leaves no helper', async () => {
        const dir = fresh();
        const w = await Watch.open(d, dir);
        const s = await WsRaw.open(d, watchUrl(dir));
        await s.frame();
        assert.equal(watchersOf(dir).length, 2);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        assert.equal(await w.next(), null);
        assert.equal(w.res.complete, false);
        s.conn.destroy();
        await waitUntil(() => d.workerPid() && d.workerPid() !== worker, 'the next worker');
        await gone(dir);
        const again = await waitUntil(() => Watch.open(d, dir), 'a watch by the next worker');
        fs.writeFileSync(path.join(dir, 'f'), '');
        assert.equal((await again.next()).path, 'f');
        again.close();
        await gone(dir);
    });

    it('watches are limited, for one address and for all', async () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-watch-'));
        fs.chmodSync(dir, 0o755);
        const open = [];
        // The kernel limits the watches of each user, so the test has one that nobody else uses.
        const user = process.getuid() === 0 ? `&user=${20000 + process.pid}` : '';
        const fill = async (localAddress) => {
            for (;;) {
                try {
                    open.push(await Watch.open(d, dir, user, { localAddress }));
                } catch (err) {
                    return err.problem;
                }
            }
        };
        const one = await fill('127.0.0.1');
        assert.deepEqual([one.status, one.code, one.limit], [429, 'too_many_watches', 'file_watches']);
        assert.equal(open.length, limit('LIMIT_FILE_WATCHES_CLIENT'));
        const all = await fill('127.0.0.2');
        assert.deepEqual([all.status, all.code, all.limit], [429, 'too_many_watches', 'file_watches']);
        assert.equal(open.length, limit('LIMIT_FILE_WATCHES'));
        open.forEach((w) => w.close());
        await gone(dir);
        (await Watch.open(d, dir)).close();
        await gone(dir);
        fs.rmSync(dir, { recursive: true });
    });

    it('directories of one watch are limited', async () => {
        const dir = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : d.dir, 'hf-watch-')); // in memory
        const max = limit('LIMIT_FILE_WATCH_DIRS');
        const w = await Watch.open(d, dir);
        for (let i = 0; i < max - 1; i++) fs.mkdirSync(path.join(dir, `${i}`));
        fs.mkdirSync(path.join(dir, 'more'));
        let last;
        for (let r; (r = await w.next(120000)) !== null; ) last = r;
        assert.deepEqual([last.type, last.code, last.limit, last.errno], ['error', 'too_many_watches', 'watched_directories', 'ENOSPC']);
        await gone(dir);
        const refused = await d.refused('too_many_watches', 'GET', watchUrl(dir, '&recursive=1'), { timeoutMs: 120000 });
        assert.equal(refused.limit, 'watched_directories');
        await d.api('GET', '/v1/info', { expect: 200 });
        fs.rmSync(dir, { recursive: true });
    });
});
