// SPDX-License-Identifier: Apache-2.0
// Archives in both directions, those that try to get out of their directory, and disks that are full.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { it } from '../lib/test.mjs';
import { binary, checkProblem, daemonFor, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { report, scaled } from '../lib/scale.mjs';
import { waitUntil } from '../lib/wait.mjs';

const root = process.getuid() === 0;
const MB = 1024 * 1024;
/* The sanitizer keeps what was freed for a while. */
const sanitized = fs.readFileSync(binary()).includes('__asan_init');

/** One entry of a tar; `type` as in the format. */
function entry(name, { type = '0', data = '', link = '', mode = 0o644 } = {}) {
    const head = Buffer.alloc(512);
    const body = Buffer.from(data);
    head.write(name, 0, 100);
    head.write(mode.toString(8).padStart(7, '0'), 100);
    head.write(body.length.toString(8).padStart(11, '0'), 124);
    head.write('00000000000', 136);
    head.write('        ', 148);
    head.write(type, 156);
    head.write(link, 157, 100);
    head.write('ustar\0' + '00', 257);
    head.write(`${head.reduce((a, b) => a + b, 0).toString(8).padStart(6, '0')}\0`, 148);
    return Buffer.concat([head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}
const END = Buffer.alloc(1024);

const archive = (name, more = {}) => `/v1/files/archive?${new URLSearchParams({ path: name, ...more })}`;
const content = (name, more = {}) => `/v1/files/content?${new URLSearchParams({ path: name, ...more })}`;

withDaemon('archives', {}, (d) => {
    const at = (...names) => path.join(d.dir, 'a', ...names);
    const unpack = (name, parts, more = {}, options = {}) => d.api('PUT', archive(name, more), { body: Buffer.concat(parts), ...options });

    it('a tree comes back as it was, packed by us or by tar, plain or compressed', async () => {
        const deep = at('from', 'd'.repeat(120), 'e'.repeat(120));
        fs.mkdirSync(deep, { recursive: true });
        fs.writeFileSync(path.join(deep, 'f'.repeat(120)), 'deep');
        fs.writeFileSync(at('from/run'), crypto.randomBytes(700000), { mode: 0o755 });
        fs.writeFileSync(at('from/empty'), '');
        fs.symlinkSync('run', at('from/link'));
        fs.symlinkSync(`/${'l'.repeat(150)}`, at('from/long-link'));
        execFileSync('mkfifo', [at('from/fifo')]);
        const same = (a, b) => execFileSync('diff', ['-r', '--no-dereference', '--exclude=fifo', at(a), at(b)]);
        for (const [format, type, flag] of [
            ['tar', 'application/x-tar', ''],
            ['tar.gz', 'application/gzip', 'z'],
        ]) {
            const got = await d.api('GET', archive(at('from'), { format }), { expect: 200 });
            assert.equal(got.type, type);
            fs.mkdirSync(at(`tar${flag}`));
            execFileSync('tar', [`x${flag}f`, '-', '-C', at(`tar${flag}`)], { input: got.body });
            same('from', `tar${flag}`);
            const back = (await unpack(at(`us${flag}`), [got.body], { format }, { expect: 200 })).json;
            assert.deepEqual([back.entries, back.skipped], [7, 0]);
            same('from', `us${flag}`);
            assert.equal(fs.statSync(at(`us${flag}/run`)).mode & 0o777, 0o755);
            for (const style of ['gnu', 'pax', 'ustar', 'v7'].filter((s) => !['ustar', 'v7'].includes(s))) {
                const theirs = execFileSync('tar', [`c${flag}f`, '-', `--format=${style}`, '-C', at('from'), '.'], { maxBuffer: 64 * MB });
                assert.equal((await unpack(at(`${style}${flag}`), [theirs], { format }, { expect: 200 })).json.skipped, 1, 'the fifo');
                same('from', `${style}${flag}`);
            }
        }
        const gz = { headers: { 'Content-Encoding': 'gzip' }, expect: 200 };
        await unpack(at('coded'), [zlib.gzipSync(Buffer.concat([entry('f', { data: 'x' }), END]))], {}, gz);
        assert.equal(fs.readFileSync(at('coded/f'), 'utf8'), 'x');
        const one = await d.api('GET', archive(at('from/run')), { expect: 200 });
        assert.equal(execFileSync('tar', ['tf', '-'], { input: one.body }).toString(), 'run\n');
    });

    it('what was left out is counted in a trailer', async () => {
        const res = await d.open('GET', archive(at('from')));
        for await (const part of res) assert.ok(part);
        assert.equal(res.trailers['holdfast-skipped'], '1');
    });

    it('no entry gets outside, by its path or through a link', async () => {
        const outside = at('outside');
        fs.mkdirSync(outside, { recursive: true });
        fs.writeFileSync(path.join(outside, 'file'), 'untouched');
        fs.mkdirSync(at('in'), { recursive: true });
        fs.symlinkSync(outside, at('in/old-link'));
        for (const parts of [
            [entry('../out', { data: 'x' })],
            [entry('a/../../out', { data: 'x' })],
            [entry('link', { type: '2', link: outside }), entry('link/file', { data: 'x' })],
            [entry('up', { type: '2', link: '..' }), entry('up/out', { data: 'x' })],
            [entry('old-link/file', { data: 'x' })],
            [entry('old-link/new/', { type: '5' })],
            [entry('x', { type: '1', link: '../outside/file' })],
            [entry('x', { type: '1', link: 'old-link/file' })],
        ]) {
            const a = await unpack(at('in'), [...parts, END]);
            assert.ok([422, 400].includes(a.status), `${a.status} ${a.text}`);
        }
        checkProblem(await unpack(at('in'), [entry('link', { type: '2', link: outside }), entry('link/file', { data: 'x' }), END]), 'bad_archive');
        assert.deepEqual(fs.readdirSync(outside), ['file']);
        assert.equal(fs.readFileSync(path.join(outside, 'file'), 'utf8'), 'untouched');
        assert.ok(!fs.existsSync(at('out')));
        await unpack(at('in'), [entry('/rooted', { data: 'r' }), END], {}, { expect: 200 });
        assert.equal(fs.readFileSync(at('in/rooted'), 'utf8'), 'r');
        fs.symlinkSync(path.join(outside, 'file'), at('in/replaced'));
        await unpack(at('in'), [entry('replaced', { data: 'new' }), END], {}, { expect: 200 });
        assert.equal(fs.readFileSync(at('in/replaced'), 'utf8'), 'new', 'the link itself is replaced');
        assert.equal(fs.readFileSync(path.join(outside, 'file'), 'utf8'), 'untouched');
    });

    it('links are made, special files are left out, damage and cuts are named', async () => {
        const a = await unpack(at('kinds'), [
            entry('f', { data: 'x' }),
            entry('h', { type: '1', link: 'f' }),
            entry('s', { type: '2', link: 'f' }),
            entry('fifo', { type: '6' }),
            entry('device', { type: '3' }),
            END,
        ], {}, { expect: 200 });
        assert.deepEqual([a.json.entries, a.json.skipped], [3, 2]);
        assert.equal(fs.statSync(at('kinds/h')).ino, fs.statSync(at('kinds/f')).ino);
        assert.deepEqual(fs.readdirSync(at('kinds')), ['f', 'h', 's']);
        for (const body of [Buffer.alloc(0), entry('f', { data: 'x' }), Buffer.alloc(512, 'x'), entry('f', { data: 'x'.repeat(1000) }).subarray(0, 600)])
            checkProblem(await unpack(at('bad'), [body]), 'bad_archive');
        checkProblem(await unpack(at('bad'), [Buffer.from('plain')], { format: 'tar.gz' }), 'bad_archive');
        checkProblem(await d.api('GET', archive(at('kinds'), { format: 'zip' })), 'bad_query');
        checkProblem(await d.api('GET', archive(at('none'))), 'no_such_file');
        checkProblem(await d.api('GET', archive('/dev/null')), 'not_a_file');
    });

    /* The directory is exchanged for a link again and again while the tree below it is removed. */
    it('removing a tree stays inside, whatever is exchanged meanwhile', async () => {
        fs.mkdirSync(at('victim'), { recursive: true });
        for (let i = 0; i < 20; i++) fs.writeFileSync(at('victim', `${i}`), 'x');
        const swap = await d.sh(
            `cd ${at()} && for n in $(seq ${scaled(2000, 300)}); do mkdir -p race/dir; touch race/dir/$n; mv race/dir race/was; ln -s ../victim race/dir; rm -rf race/was race/dir; done`,
        );
        for (;;) {
            await d.api('DELETE', `/v1/files?${new URLSearchParams({ path: at('race'), recursive: '1' })}`);
            if ((await d.get(swap.id)).status !== 'running') break;
        }
        assert.equal(fs.readdirSync(at('victim')).length, 20);
    });

    it('large files go up and down unchanged, with flat memory', async () => {
        const size = scaled(2048, 64) * MB;
        const block = crypto.randomBytes(MB);
        const hash = crypto.createHash('sha256');
        const peak = { worker: 0, helper: 0 };
        const rss = (pid) => parseInt(proc.statusField(pid, 'VmRSS') ?? '0', 10) / 1024;
        const worker = d.workerPid();
        const start = rss(worker);
        const measure = () => {
            peak.worker = Math.max(peak.worker, rss(worker));
            // Its own helpers only: other daemons on the machine have some, too.
            for (const { pid } of proc.childrenNow(d.keeperPid())) if (proc.cmdline(pid)[1] === 'file-op') peak.helper = Math.max(peak.helper, rss(pid));
        };
        const watch = setInterval(measure, 20);
        const began = Date.now();
        const url = `http://${d.host}:${d.port}${content(at('large'))}`;
        const body = new ReadableStream({
            at: 0,
            pull(c) {
                if (this.at >= size) return c.close();
                // In the middle the helper runs, however fast the machine is: no socket holds so much.
                if (this.at === size / 2) measure();
                block.writeUInt32LE(this.at / MB, 0);
                hash.update(block);
                c.enqueue(new Uint8Array(block));
                this.at += MB;
            },
        });
        const up = await fetch(url, { method: 'PUT', body, duplex: 'half', headers: d.authHeaders() });
        assert.equal(up.status, 201, await up.text());
        const between = Date.now();
        const sum = crypto.createHash('sha256');
        const down = await fetch(url, { headers: { ...d.authHeaders(), 'Accept-Encoding': 'identity' } });
        assert.equal(down.headers.get('content-length'), String(size));
        for await (const part of down.body) sum.update(part);
        const ended = Date.now();
        clearInterval(watch);
        assert.equal(sum.digest('hex'), hash.digest('hex'));
        report(
            `${size / MB} MB up in ${between - began} ms, down in ${ended - between} ms; worker ${start.toFixed(0)} -> ${peak.worker.toFixed(0)} MB, helper ${peak.helper.toFixed(0)} MB`,
        );
        assert.ok(peak.worker > 0 && peak.helper > 0, `nothing was measured: worker ${peak.worker}, helper ${peak.helper}`);
        // The address sanitizer keeps 256 MB of freed memory, and what surrounds it.
        assert.ok(peak.worker - start < (sanitized ? 450 : 16) && peak.helper < (sanitized ? 300 : 16), `worker ${start} -> ${peak.worker}, helper ${peak.helper}`);
        fs.rmSync(at('large'));
    });
});

it('a full disk and a read-only one are named, and the old file stays', { skip: root ? false : 'needs root to mount a small file system' }, () =>
    daemonFor({ before: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', 'mkdir -p "$TMPDIR/small" && mount -t tmpfs -o size=512k none "$TMPDIR/small" && mkdir "$TMPDIR/fixed" && mount -t tmpfs -o ro none "$TMPDIR/fixed" && exec "$@"', 'sh'] }, async (d) => {
        const small = path.join(d.dir, 'small');
        const put = (name, bytes) => d.api('PUT', content(path.join(small, name)), { body: Buffer.alloc(bytes, name) });
        assert.equal((await put('a', 200000)).status, 201);
        checkProblem(await put('a', 400000), 'disk_full');
        checkProblem(await put('b', 400000), 'disk_full');
        const a = await d.api('GET', content(path.join(small, 'a')));
        assert.ok(a.body.equals(Buffer.alloc(200000, 'a')));
        const list = await d.api('GET', `/v1/files/list?path=${small}`);
        assert.deepEqual(list.json.entries.map((e) => e.name), ['a']);
        checkProblem(await d.api('PUT', archive(small), { body: Buffer.concat([entry('c', { data: Buffer.alloc(600000) }), END]) }), 'disk_full');
        await waitUntil(() => proc.fileWriters(path.join(small, 'b')).length === 0, 'no writer');
        checkProblem(await d.api('PUT', content(path.join(d.dir, 'fixed/x')), { body: 'x' }), 'read_only_file_system');
    }));

it('more operations than the limit are refused, and the rest go on', () =>
    daemonFor({}, async (d) => {
        const held = [];
        const limit = (await d.api('GET', '/v1/info')).json.limits.transfers;
        execFileSync('truncate', ['-s', '64M', path.join(d.dir, 'big')]);
        try {
            while (held.length < limit) {
                const res = await d.open('GET', content(path.join(d.dir, 'big')));
                assert.equal(res.statusCode, 200);
                held.push(res);
            }
            checkProblem(await d.api('GET', `/v1/files/stat?path=/`), 'too_many_transfers');
        } finally {
            for (const res of held) res.destroy();
        }
        await waitUntil(async () => (await d.request('GET', `/v1/files/stat?path=/`)).status === 200, 'room again');
    }));
