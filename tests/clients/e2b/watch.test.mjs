// SPDX-License-Identifier: Apache-2.0
// Watching directories through the published E2B SDK of JavaScript: watchDir, and Connect by hand.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { FileNotFoundError, InvalidArgumentError, SandboxError } from 'e2b';
import { withDaemon } from '../../lib/daemon.mjs';
import { base, create, envelope, envelopes, filesystemService, throwsA } from '../../lib/e2b.mjs';
import { realTree, sorted, watchersOf } from '../../lib/file_watch.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const text = (e) => `${e.type} ${e.name}`;

withDaemon('e2b: watching', {}, (d) => {
    let made;
    let count = 0;
    const sandbox = () => (made ??= create(d));
    const fresh = () => {
        const dir = path.join(d.dir, `watched-${count++}`);
        fs.mkdirSync(dir);
        return dir;
    };
    const gone = (dir) => waitUntil(() => watchersOf(dir).length === 0, 'the helper to be gone');
    /** Events, until the one that is named has come. */
    const collect = () => {
        const seen = [];
        return { seen, on: (e) => void seen.push(e), until: (last) => waitUntil(() => seen.some((e) => text(e) === last), last) };
    };
    const call = (method, message, type = 'application/json') =>
        d.request('POST', `/dialects/e2b/filesystem.Filesystem/${method}`, {
            body: type === 'application/json' ? JSON.stringify(message) : message,
            headers: { 'Content-Type': type },
        });

    it('watchDir reports each kind of change, a rename by both names', async () => {
        const dir = fresh();
        const { files } = await sandbox();
        const c = collect();
        const handle = await files.watchDir(dir, c.on);
        await files.write(`${dir}/a`, 'text');
        await files.write(`${dir}/a`, 'another');
        fs.chmodSync(`${dir}/a`, 0o600);
        await files.rename(`${dir}/a`, `${dir}/b`);
        await files.remove(`${dir}/b`);
        fs.mkdirSync(`${dir}/sub`);
        fs.writeFileSync(`${dir}/sub/not-recursive`, '');
        fs.writeFileSync(`${dir}/last`, '');
        await c.until('create last');
        assert.deepEqual(c.seen.map(text), [
            'create a', 'write a', 'create a', 'write a', 'chmod a', 'rename a', 'create b', 'remove b', 'create sub', 'create last',
        ]);
        assert.ok(c.seen.every((e) => e.entry === undefined));
        await handle.stop();
        await gone(dir);
    });

    it('recursive: what is in new directories, however fast', async () => {
        const dir = fresh();
        const { files } = await sandbox();
        const c = collect();
        const handle = await files.watchDir(dir, c.on, { recursive: true });
        for (let i = 0; i < 50; i++) {
            fs.mkdirSync(`${dir}/${i}/b/c`, { recursive: true });
            fs.writeFileSync(`${dir}/${i}/b/c/file`, 'x');
        }
        fs.writeFileSync(`${dir}/last`, '');
        await c.until('create last');
        const created = new Map(c.seen.filter((e) => e.type === 'create').map((e) => [e.name, !/file|last/.test(e.name)]));
        assert.deepEqual(sorted(created), sorted(realTree(dir)));
        await handle.stop();
        await gone(dir);
    });

    it('includeEntry describes what still exists', async () => {
        const dir = fresh();
        fs.writeFileSync(`${dir}/old`, '');
        const { files } = await sandbox();
        const c = collect();
        const handle = await files.watchDir(dir, c.on, { includeEntry: true, allowNetworkMounts: true });
        fs.appendFileSync(`${dir}/old`, 'x');
        await c.until('write old');
        const { entry } = c.seen[0];
        assert.deepEqual([entry.name, entry.path, entry.type, entry.size, entry.owner], ['old', `${dir}/old`, 'file', 1, (await files.getInfo(`${dir}/old`)).owner]);
        fs.rmSync(`${dir}/old`);
        await c.until('remove old');
        assert.equal(c.seen.at(-1).entry, undefined);
        await handle.stop();
        await gone(dir);
    });

    it('what cannot be watched has the error of the original', async () => {
        const dir = fresh();
        fs.writeFileSync(`${dir}/file`, '');
        const { files } = await sandbox();
        await throwsA(files.watchDir(`${dir}/none`, () => {}), FileNotFoundError, /not found/);
        await throwsA(files.watchDir(`${dir}/file`, () => {}), InvalidArgumentError, /not a directory/);
        for (const method of ['GetWatcherEvents', 'RemoveWatcher']) {
            const answer = await call(method, { watcherId: 'w-none' });
            assert.deepEqual([answer.status, answer.json], [404, { code: 'not_found', message: 'watcher with id w-none not found' }]);
        }
        const missing = await call('CreateWatcher', { path: `${dir}/none` });
        assert.deepEqual([missing.status, missing.json.code], [404, 'not_found']);
        assert.equal((await call('CreateWatcher', { path: '' })).status, 400);
        const weak = await d.request('POST', '/dialects/e2b/filesystem.Filesystem/WatchDir', {
            role: 'type', body: envelope({ path: dir }), headers: { 'Content-Type': 'application/connect+json' },
        });
        assert.equal(JSON.parse(envelopes(weak.body)[0].body).error.code, 'permission_denied');
    });

    it('stop, the time limit and the end of the directory end it', async () => {
        const dir = fresh();
        const { files } = await sandbox();
        const ends = [];
        const onExit = (err) => void ends.push(err ?? 'regular');
        await (await files.watchDir(dir, () => {}, { onExit })).stop();
        await waitUntil(() => ends.length === 1, 'onExit');
        await gone(dir);
        await files.watchDir(dir, () => {}, { onExit, timeoutMs: 500 });
        await waitUntil(() => ends.length === 2, 'onExit at the time limit');
        assert.ok(ends[1] instanceof SandboxError, String(ends[1]));
        await gone(dir);
        const c = collect();
        await files.watchDir(dir, c.on, { onExit });
        fs.rmdirSync(dir);
        await waitUntil(() => ends.length === 3, 'onExit at the removal');
        assert.deepEqual([c.seen.map(text), ends[2]], [['remove .'], 'regular']);
        await gone(dir);
    });

    it('a silent watch sends keep-alives', async () => {
        const dir = fresh();
        const res = await d.open('POST', '/dialects/e2b/filesystem.Filesystem/WatchDir', {
            body: envelope({ path: dir }),
            headers: { 'Content-Type': 'application/connect+json', 'Keepalive-Ping-Interval': '1' },
        });
        let bytes = Buffer.alloc(0);
        res.on('data', (b) => (bytes = Buffer.concat([bytes, b])));
        res.on('error', () => {}); // when it is cut
        const want = ['{"start":{}}', '{"keepalive":{}}', '{"keepalive":{}}'];
        const size = envelope(want[0]).length + 2 * envelope(want[1]).length;
        await waitUntil(() => bytes.length >= size, 'two keep-alives');
        assert.deepEqual(envelopes(bytes.subarray(0, size)).map((e) => e.body.toString()), want);
        res.destroy();
        await gone(dir);
    });

    const transports = {
        'Connect with protobuf': [createConnectTransport, { httpVersion: '1.1', useBinaryFormat: true }],
        'gRPC with protobuf': [createGrpcTransport, { httpVersion: '2', useBinaryFormat: true }],
        'gRPC with JSON': [createGrpcTransport, { httpVersion: '2', useBinaryFormat: false }],
    };
    for (const [name, [make, options]] of Object.entries(transports))
        it(`${name}: the same messages`, async () => {
            const dir = fresh();
            const setToken = (next) => (req) => (req.header.set('X-Access-Token', d.token), next(req));
            const client = createClient(filesystemService(), make({ baseUrl: base(d), interceptors: [setToken], ...options }));
            const seen = [];
            const stop = new AbortController(); // leaving the loop does not cancel the call
            for await (const m of client.watchDir({ path: dir, recursive: true, includeEntry: true }, { signal: stop.signal })) {
                if (m.event.case === 'start') fs.writeFileSync(`${dir}/f`, 'x');
                else seen.push(m.event.value);
                if (seen.length === 2) break;
            }
            stop.abort();
            assert.deepEqual(seen.map((e) => [e.name, e.type, e.entry.path]), [['f', 1, `${dir}/f`], ['f', 2, `${dir}/f`]]);
            await gone(dir);
            const { watcherId } = await client.createWatcher({ path: dir });
            fs.rmSync(`${dir}/f`);
            const got = [];
            await waitUntil(async () => got.push(...(await client.getWatcherEvents({ watcherId })).events) > 0, 'the event');
            assert.deepEqual(got.map((e) => [e.name, e.type, e.entry]), [['f', 3, undefined]]);
            await client.removeWatcher({ watcherId });
            await gone(dir);
            await assert.rejects(async () => {
                for await (const m of client.watchDir({ path: `${dir}/none` })) assert.fail(m);
            }, { code: 5 });
            await assert.rejects(client.removeWatcher({ watcherId }), { code: 5 });
        });

    it('a watcher keeps what its client does not fetch, up to a limit, and reports what is lost after it', async () => {
        const dir = fresh();
        const { watcherId } = (await call('CreateWatcher', { path: dir })).json;
        const files = 40000; // more than the queue, the ring, the pipe and the kernel hold
        for (let i = 0; i < files; i++) fs.closeSync(fs.openSync(`${dir}/${i}-${'x'.repeat(100)}`, 'w'));
        let events = 0;
        let lost = 0;
        await waitUntil(async () => {
            const answer = await call('GetWatcherEvents', { watcherId });
            if (answer.status === 200) {
                assert.ok(answer.body.length < 2 * 1024 * 1024, 'the queue is bounded');
                for (const e of answer.json.events) if (e.name === 'after') return true;
                events += answer.json.events.length;
            } else {
                assert.deepEqual([answer.status, answer.json.code], [500, 'data_loss']);
                lost++;
                fs.writeFileSync(`${dir}/after`, '');
            }
            return false;
        }, 'the loss and what follows it', 120000);
        assert.ok(lost >= 1 && events < files, `${events} events, ${lost} losses`);
        assert.equal((await call('RemoveWatcher', { watcherId })).text, '{}');
        assert.equal((await call('GetWatcherEvents', { watcherId })).status, 404);
        await gone(dir);
    });

    it('a worker that is killed ends watches and watchers, and clients are told', async () => {
        const dir = fresh();
        const { files } = await sandbox();
        const ends = [];
        await files.watchDir(dir, () => {}, { onExit: (err) => void ends.push(err) });
        const { watcherId } = (await call('CreateWatcher', { path: dir })).json;
        assert.equal(watchersOf(dir).length, 2);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await waitUntil(() => ends.length === 1, 'onExit');
        assert.ok(ends[0] instanceof Error);
        await waitUntil(() => d.workerPid() && d.workerPid() !== worker, 'the next worker');
        await waitUntil(async () => (await call('GetWatcherEvents', { watcherId })).status === 404, 'the watcher to be unknown');
        await gone(dir);
    });

    it('the client of Python: watch_dir, polled and as a stream', () =>
        pythonTests(path.join(import.meta.dirname, 'watch_test.py'), {
            HOME: d.dir,
            E2B_API_URL: base(d),
            E2B_SANDBOX_URL: base(d),
            E2B_API_KEY: d.token,
        }));
});
