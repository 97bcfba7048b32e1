// SPDX-License-Identifier: Apache-2.0
// Files by the published SandboxClient 0.12: the same calls by HTTP and through the multiplex.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { clientOf, eventsOf, stableSdk } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const API = '/dialects/cloudflare/api';
const READ_MAX = 16 << 20;
const S = 'default';
const refused = (promise, name, code, text = /./) =>
    assert.rejects(promise, (e) => {
        assert.deepEqual([e.name, e.code], [name, code], e.message);
        assert.match(e.message, text);
        return true;
    });

for (const websocket of [false, true]) {
    const way = websocket ? 'through the multiplex' : 'by HTTP';

    withDaemon(`cloudflare: files ${way}`, {}, (d) => {
        const files = async (role) => (await clientOf(d, { websocket, role })).files;
        const at = (name) => path.join(d.dir, name);
        const text = (name) => fs.readFileSync(at(name), 'utf8');
        const helpers = async () => (await d.list('?status=running')).filter((p) => p.command === '/proc/self/exe');

        it('text and bytes come back as they were written', async () => {
            const f = await files();
            const { timestamp, ...wrote } = await f.writeFile(at('w/a.txt'), 'one ü\0\n', S);
            assert.deepEqual(wrote, { success: true, path: at('w/a.txt') });
            assert.match(timestamp, /^\d{4}-.*Z$/);
            assert.equal(text('w/a.txt'), 'one ü\0\n');
            const { timestamp: then, ...read } = await f.readFile(at('w/a.txt'), S);
            assert.deepEqual(read, { success: true, path: at('w/a.txt'), content: 'one ü\0\n', encoding: 'utf-8', isBinary: false, mimeType: 'text/plain', size: 8 });
            const bytes = crypto.randomBytes(500000);
            await f.writeFile(at('w/b.png'), bytes.toString('base64'), S, { encoding: 'base64' });
            assert.ok(fs.readFileSync(at('w/b.png')).equals(bytes));
            const image = await f.readFile(at('w/b.png'), S);
            assert.deepEqual([image.encoding, image.isBinary, image.mimeType, image.size], ['base64', true, 'image/png', bytes.length]);
            assert.ok(Buffer.from(image.content, 'base64').equals(bytes));
            await f.writeFile(at('w/empty'), '', S);
            assert.deepEqual([(await f.readFile(at('w/empty'), S)).content, fs.statSync(at('w/empty')).size], ['', 0]);
        });

        it('encodings: as requested, else by kind, and never text that is not UTF-8', async () => {
            const f = await files();
            fs.writeFileSync(at('latin.txt'), Buffer.from([0x66, 0xfc, 0x72]));
            fs.writeFileSync(at('program'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]));
            fs.writeFileSync(at('script'), '#!/bin/sh\necho\n');
            fs.writeFileSync(at('d.json'), '{}');
            assert.deepEqual([(await f.readFile(at('latin.txt'), S)).encoding, (await f.readFile(at('latin.txt'), S)).content], ['base64', 'Zvxy']);
            assert.equal((await f.readFile(at('latin.txt'), S, { encoding: 'utf-8' })).content, 'f\ufffdr');
            assert.deepEqual([(await f.readFile(at('program'), S)).isBinary, (await f.readFile(at('program'), S)).mimeType], [true, 'application/octet-stream']);
            assert.equal((await f.readFile(at('script'), S)).content, '#!/bin/sh\necho\n');
            assert.equal((await f.readFile(at('d.json'), S)).mimeType, 'application/json');
            assert.equal((await f.readFile(at('d.json'), S, { encoding: 'base64' })).content, 'e30=');
            assert.equal((await f.readFile(at('d.json'), S, { encoding: 'utf8' })).content, '{}');
            // A file that ended within a character lost it, and kept U+FFFD when it was written back.
            fs.writeFileSync(at('cut.txt'), Buffer.from('abc\xc3', 'latin1'));
            fs.copyFileSync(at('cut.txt'), at('cut'));
            for (const name of ['cut.txt', 'cut'])
                assert.deepEqual([(await f.readFile(at(name), S)).encoding, (await f.readFile(at(name), S)).content], ['base64', 'YWJjww==']);
            await refused(f.readFile(at('d.json'), S, { encoding: 'hex' }), 'ValidationFailedError', 'VALIDATION_FAILED', /encoding/);
            for (const bad of ['*', 'YQ==YQ=='])
                await refused(f.writeFile(at('never'), bad, S, { encoding: 'base64' }), 'ValidationFailedError', 'VALIDATION_FAILED', /base64/);
            assert.ok(!fs.existsSync(at('never')));
        });

        it('a stream has the kind first, then all bytes, and then their number', async () => {
            const f = await files();
            const { collectFile } = await stableSdk();
            const long = 'ünïcödé '.repeat(100000);
            fs.writeFileSync(at('long.txt'), long);
            const events = await eventsOf(f.readFileStream(at('long.txt'), S));
            assert.deepEqual([events[0].type, events[0].mimeType, events[0].size, events[0].isBinary, events[0].encoding], ['metadata', 'text/plain', Buffer.byteLength(long), false, 'utf-8']);
            assert.deepEqual([events.at(-1).type, events.at(-1).bytesRead], ['complete', Buffer.byteLength(long)]);
            assert.ok(events.slice(1, -1).every((e) => e.type === 'chunk'));
            assert.ok((await collectFile(await f.readFileStream(at('long.txt'), S))).content === long);
            const bytes = crypto.randomBytes(READ_MAX + 12345);
            fs.writeFileSync(at('big.bin'), bytes);
            const { content, metadata } = await collectFile(await f.readFileStream(at('big.bin'), S));
            assert.deepEqual([metadata.size, metadata.isBinary, metadata.encoding], [bytes.length, true, 'base64']);
            assert.ok(Buffer.from(content).equals(bytes));
            // The original's chunks of base64 can be joined before they are decoded.
            const chunks = (await eventsOf(f.readFileStream(at('big.bin'), S))).filter((e) => e.type === 'chunk').map((e) => e.data);
            assert.ok(chunks.length > 1 && chunks.slice(0, -1).every((c) => c.length % 4 === 0 && !c.endsWith('=')));
            assert.ok(Buffer.from(chunks.join(''), 'base64').equals(bytes));
            fs.writeFileSync(at('none'), '');
            assert.equal((await collectFile(await f.readFileStream(at('none'), S))).content, '');
            await assert.rejects(collectFile(await f.readFileStream(at('gone'), S)), /gone/);
            await assert.rejects(collectFile(await f.readFileStream(d.dir, S)), /directory/i);
        });

        it('a stream has only whole text: a short file is base64 else, and a long one ends with an error', async () => {
            const f = await files();
            const { collectFile } = await stableSdk();
            fs.writeFileSync(at('short.txt'), Buffer.from('abc\xc3', 'latin1'));
            const short = await collectFile(await f.readFileStream(at('short.txt'), S));
            assert.equal(Buffer.from(short.content).toString('latin1'), 'abc\xc3');
            const begin = 'x'.repeat(100000);
            for (const bad of ['\xc3', '\xff and more']) {
                fs.writeFileSync(at('spoilt.txt'), Buffer.from(begin + bad, 'latin1'));
                await assert.rejects(collectFile(await f.readFileStream(at('spoilt.txt'), S)), /is not UTF-8/);
            }
            fs.writeFileSync(at('fine.txt'), `${begin}ä`);
            assert.equal((await collectFile(await f.readFileStream(at('fine.txt'), S))).content, `${begin}ä`);
        });

        it('a file that is too large for one reply is refused, and can be streamed', async () => {
            const f = await files();
            fs.writeFileSync(at('large'), Buffer.alloc(READ_MAX + 1, 'x'));
            await assert.rejects(f.readFile(at('large'), S), (e) => {
                assert.deepEqual([e.name, e.code, e.httpStatus, e.context.actualSize, e.context.maxSize], ['FileTooLargeError', 'FILE_TOO_LARGE', 413, READ_MAX + 1, READ_MAX]);
                return true;
            });
            fs.truncateSync(at('large'), READ_MAX);
            assert.equal((await f.readFile(at('large'), S)).content.length, READ_MAX);
        });

        it('a client that cancels a stream ends the reader', async () => {
            fs.writeFileSync(at('huge'), '');
            fs.truncateSync(at('huge'), 1 << 30);
            await waitUntil(async () => (await helpers()).length === 0, 'the end of the helpers before');
            const reader = (await (await files()).readFileStream(at('huge'), S)).getReader();
            await reader.read();
            assert.equal((await helpers()).length, 1);
            await reader.cancel();
            await waitUntil(async () => (await helpers()).length === 0, 'the end of the reader');
        });

        it('relative paths begin at the directory of the session', async () => {
            const c = await clientOf(d, { websocket });
            await c.utils.createSession({ id: `rel-${websocket}`, cwd: d.dir });
            await c.files.writeFile('rel/a', 'A', `rel-${websocket}`);
            assert.equal(text('rel/a'), 'A');
            await c.commands.execute('cd rel', `rel-${websocket}`);
            assert.equal((await c.files.readFile('a', `rel-${websocket}`)).content, 'A');
            assert.equal((await c.files.readFile('../rel/./a', `rel-${websocket}`)).content, 'A');
            await c.files.moveFile('a', 'b', `rel-${websocket}`);
            assert.equal(text('rel/b'), 'A');
            assert.equal((await c.files.exists('b', `new-${websocket}`)).exists, false, 'a session that did not exist begins elsewhere');
        });

        it('lists with kinds and permissions; hidden ones and what is below on request', async () => {
            const f = await files();
            for (const name of ['l/b.txt', 'l/sub/c', 'l/.hidden', 'l/sub/.h']) await f.writeFile(at(name), name, S);
            fs.chmodSync(at('l/b.txt'), 0o640);
            fs.symlinkSync('b.txt', at('l/link'));
            execFileSync('mkfifo', [at('l/pipe')]);
            const names = async (options) => (await f.listFiles(at('l'), S, options)).files.map((e) => e.relativePath);
            assert.deepEqual(await names(), ['b.txt', 'link', 'pipe', 'sub']);
            assert.deepEqual(await names({ includeHidden: true }), ['.hidden', 'b.txt', 'link', 'pipe', 'sub']);
            assert.deepEqual(await names({ recursive: true }), ['b.txt', 'link', 'pipe', 'sub', 'sub/c']);
            assert.deepEqual(await names({ recursive: true, includeHidden: true }), ['.hidden', 'b.txt', 'link', 'pipe', 'sub', 'sub/.h', 'sub/c']);
            const a = await f.listFiles(`${at('l')}/`, S);
            assert.deepEqual([a.success, a.count, a.path, a.files.map((e) => e.type)], [true, 4, `${at('l')}/`, ['file', 'symlink', 'other', 'directory']]);
            const { modifiedAt, ...rest } = (await f.listFiles(at('l'), S)).files[0];
            assert.deepEqual(rest, { name: 'b.txt', absolutePath: at('l/b.txt'), relativePath: 'b.txt', type: 'file', size: 7, mode: 'rw-r-----', permissions: { readable: true, writable: true, executable: false } });
            assert.ok(Math.abs(Date.parse(modifiedAt) - Date.now()) < 3600e3);
            await refused(f.listFiles(at('gone'), S), 'FileNotFoundError', 'FILE_NOT_FOUND', /Directory not found/);
            await refused(f.listFiles(at('l/b.txt'), S), 'FileSystemError', 'NOT_DIRECTORY');
        });

        it('makes directories, deletes files, knows what exists', async () => {
            const f = await files();
            const made = await f.mkdir(at('m'), S);
            assert.deepEqual([made.success, made.path, made.recursive], [true, at('m'), false]);
            await refused(f.mkdir(at('m'), S), 'FileExistsError', 'FILE_EXISTS');
            await refused(f.mkdir(at('m/x/y'), S), 'FileNotFoundError', 'FILE_NOT_FOUND');
            assert.equal((await f.mkdir(at('m/x/y'), S, { recursive: true })).recursive, true);
            await f.mkdir(at('m/x/y'), S, { recursive: true });
            await f.writeFile(at('m/f'), '', S);
            assert.deepEqual([(await f.exists(at('m/f'), S)).exists, (await f.exists(at('m'), S)).exists, (await f.exists(at('m/f/x'), S)).exists], [true, true, false]);
            assert.equal((await f.deleteFile(at('m/f'), S)).path, at('m/f'));
            assert.equal((await f.exists(at('m/f'), S)).exists, false);
            await refused(f.deleteFile(at('m/f'), S), 'FileNotFoundError', 'FILE_NOT_FOUND', /File not found/);
            await refused(f.deleteFile(at('m'), S), 'FileSystemError', 'IS_DIRECTORY');
            assert.ok(fs.existsSync(at('m')));
        });

        it('renames and moves, over a file, and into a directory', async () => {
            const f = await files();
            await f.writeFile(at('r/a'), 'me', S);
            await f.writeFile(at('r/old'), 'old', S);
            const { timestamp, ...renamed } = await f.renameFile(at('r/a'), at('r/old'), S);
            assert.deepEqual(renamed, { success: true, path: at('r/a'), newPath: at('r/old') });
            assert.equal(text('r/old'), 'me');
            await f.mkdir(at('r/dir'), S);
            await f.moveFile(at('r/old'), at('r/dir'), S);
            assert.equal(text('r/dir/old'), 'me');
            await f.renameFile(at('r/dir'), at('r2'), S);
            assert.equal(text('r2/old'), 'me');
            await refused(f.moveFile(at('gone'), at('x'), S), 'FileNotFoundError', 'FILE_NOT_FOUND', /Source file not found/);
            await refused(f.moveFile(at('r2/old'), at('no/where'), S), 'FileNotFoundError', 'FILE_NOT_FOUND');
        });

        it('errors have the code, the path and the operation', async () => {
            const f = await files();
            await assert.rejects(f.readFile(at('gone'), S), (e) => {
                assert.deepEqual([e.name, e.code, e.httpStatus, e.context.path, e.context.operation], ['FileNotFoundError', 'FILE_NOT_FOUND', 404, at('gone'), 'file.read']);
                return true;
            });
            await refused(f.readFile(d.dir, S), 'FileSystemError', 'IS_DIRECTORY');
            await refused(f.writeFile(d.dir, 'x', S), 'FileSystemError', 'IS_DIRECTORY');
            await refused(f.writeFile('/etc/passwd/x', 'x', S), 'FileSystemError', 'NOT_DIRECTORY');
            await refused(f.readFile('', S), 'ValidationFailedError', 'VALIDATION_FAILED', /path/);
            await refused(f.readFile(`/${'x'.repeat(5000)}`, S), 'FileSystemError', 'NAME_TOO_LONG');
            await refused(f.readFile(`/${'x'.repeat(300)}`, S), 'FileSystemError', 'NAME_TOO_LONG');
            await refused(f.readFile('a\0b', S), 'ValidationFailedError', 'VALIDATION_FAILED');
            await refused(f.readFile('/dev/zero', S), 'FileSystemError', 'FILESYSTEM_ERROR', /not a regular file/);
            execFileSync('mkfifo', [at('fifo')]);
            await refused(f.readFile(at('fifo'), S), 'FileSystemError', 'FILESYSTEM_ERROR', /not a regular file/);
            await refused(f.writeFile(at('fifo'), 'x', S), 'FileSystemError', 'FILESYSTEM_ERROR', /not a regular file/);
            assert.match((await f.readFile('/proc/self/status', S)).content, /^Name:/);
        });

        it('files need the role own', async () => {
            for (const role of ['watch', 'type']) {
                const f = await files(role);
                for (const call of [() => f.readFile('/etc/passwd', S), () => f.listFiles('/', S), () => f.exists('/etc', S), () => f.writeFile(at('w'), '', S), () => f.readFileStream('/etc/passwd', S)])
                    await assert.rejects(call(), /may not|PERMISSION_DENIED|role/i, role);
            }
            assert.ok(!fs.existsSync(at('w')) || fs.statSync(at('w')).isDirectory());
        });

        it('watches a directory: what is created, written, moved, deleted; some of it on request', async () => {
            const c = await clientOf(d, { websocket });
            const { parseSSEStream } = await stableSdk();
            fs.mkdirSync(at('watch/sub/node_modules'), { recursive: true });
            const seen = async (request, changes) => {
                const events = [];
                const stop = new AbortController();
                const stream = await c.watch.watch({ path: at('watch'), ...request });
                const all = (async () => {
                    for await (const e of parseSSEStream(stream, stop.signal)) events.push(e);
                })().catch(() => {});
                changes();
                fs.writeFileSync(at('watch/sub/last.end'), '');
                await waitUntil(() => events.some((e) => e.path === at('watch/sub/last.end')), 'the last change');
                stop.abort();
                await all;
                await waitUntil(async () => (await helpers()).length === 0, 'the end of the watcher');
                fs.rmSync(at('watch/sub/last.end'));
                assert.deepEqual([events[0].type, events[0].path], ['watching', at('watch')]);
                assert.match(events[0].watchId, /./);
                return events.slice(1).filter((e) => !e.path.endsWith('.end')).map((e) => `${e.eventType} ${path.relative(at('watch'), e.path)}${e.isDirectory ? '/' : ''}`);
            };
            const change = () => {
                fs.writeFileSync(at('watch/sub/node_modules/x'), '');
                fs.mkdirSync(at('watch/dir'));
                fs.rmdirSync(at('watch/dir'));
                fs.writeFileSync(at('watch/sub/a.ts'), 'x');
                fs.chmodSync(at('watch/sub/a.ts'), 0o600);
                fs.renameSync(at('watch/sub/a.ts'), at('watch/b.ts'));
                fs.rmSync(at('watch/b.ts'));
            };
            const usual = await seen({}, change);
            for (const e of ['create dir/', 'delete dir/', 'create sub/a.ts', 'modify sub/a.ts', 'move_from sub/a.ts', 'move_to b.ts', 'delete b.ts']) assert.ok(usual.includes(e), `${e} in ${usual}`);
            assert.ok(!usual.some((e) => /node_modules|attrib/.test(e)), String(usual));
            const some = await seen({ include: ['sub/*.ts', '*.end'], events: ['create', 'modify', 'attrib'] }, change);
            assert.ok(some.includes('create sub/a.ts') && some.includes('attrib sub/a.ts') && some.every((e) => e.endsWith(' sub/a.ts')), String(some));
            const rest = await seen({ exclude: ['s?b/**/x', '*.ts'] }, change);
            assert.ok(rest.includes('create dir/') && !rest.some((e) => /\.ts|\/x$/.test(e)), String(rest));
        });

        it('a watch that cannot begin has an error with its code, and one whose directory is removed ends', async () => {
            const c = await clientOf(d, { websocket });
            const { parseSSEStream } = await stableSdk();
            const p = at('w-end');
            fs.mkdirSync(p);
            fs.writeFileSync(at('w-file'), '');
            // Through the multiplex the client has the status and the text alone.
            const failed = (promise, name, code) => (websocket ? assert.rejects(promise, new RegExp(code)) : refused(promise, name, code));
            await failed(c.watch.watch({ path: at('w-gone') }), 'FileNotFoundError', 'FILE_NOT_FOUND');
            await failed(c.watch.watch({ path: at('w-file') }), 'FileSystemError', 'NOT_DIRECTORY');
            for (const bad of [{ include: ['a'], exclude: ['b'] }, { include: ['[a]'] }, { exclude: [5] }, { exclude: [''] }, { include: ['x'.repeat(129)] }, { include: Array(33).fill('x') }, { events: ['boom'] }, { recursive: 'no' }, { path: '' }])
                await failed(c.watch.watch({ path: p, ...bad }), 'ValidationFailedError', 'VALIDATION_FAILED');
            const stream = await c.watch.watch({ path: p, recursive: false });
            fs.rmdirSync(p);
            const types = [];
            for await (const e of parseSSEStream(stream)) types.push(e.type);
            assert.deepEqual([types[0], types.at(-1)], ['watching', 'stopped']);
            await assert.rejects((await clientOf(d, { websocket, role: 'type' })).watch.watch({ path: d.dir }), /may not|PERMISSION_DENIED|role/i);
        });

        it('many at once', async () => {
            const f = await files();
            await Promise.all(Array.from({ length: 40 }, (_, i) => f.writeFile(at(`many/${i}`), String(i), S)));
            const all = await Promise.all(Array.from({ length: 40 }, (_, i) => f.readFile(at(`many/${i}`), S)));
            all.forEach((a, i) => assert.equal(a.content, String(i)));
        });
    });
}

withDaemon('cloudflare: memory of files', {}, (d) => {
    const at = (name) => path.join(d.dir, name);
    const read = (name, more) => d.request('POST', `${API}/read`, { json: { path: at(name), ...more } });
    const metric = async (re) => [...(await d.request('GET', '/metrics')).text.matchAll(re)].reduce((sum, m) => sum + Number(m[1]), 0);
    const held = () => metric(/^holdfast_held_bytes\{role="own"\} (\d+)$/gm);
    let polls = 0;
    const replies = async () => (await metric(/^holdfast_responses_total\{.*\} (\d+)$/gm)) - polls++;

    // Twelve such clients made the daemon hold 1.4 GB.
    it('clients that do not read their files are bounded together; a small file can be read', async () => {
        fs.writeFileSync(at('big.txt'), 'x'.repeat(READ_MAX));
        fs.writeFileSync(at('small.txt'), 'small');
        const slow = await Promise.all(Array.from({ length: 24 }, () => RawConn.connect(d)));
        const before = await replies();
        for (const c of slow) {
            c.socket.pause();
            c.send(requestBytes(d, `POST ${API}/read`, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ path: at('big.txt') }) }));
        }
        await waitUntil(async () => (await replies()) >= before + slow.length, 'all replies');
        const most = limit('LIMIT_HELD_BYTES') + 2 * limit('LIMIT_GATHER_BYTES');
        assert.ok((await held()) < most, `${await held()} bytes`);
        const content = async (name) => d.request('GET', `/dialects/opencode/file/content?${new URLSearchParams({ directory: d.dir, path: name })}`);
        fs.truncateSync(at('big.txt'), READ_MAX / 4);
        if ((await held()) > limit('LIMIT_HELD_BYTES')) assert.equal((await content('big.txt')).status, 503);
        assert.equal((await content('small.txt')).json.content, 'small');
        const statuses = [];
        for (const c of slow) {
            c.socket.resume();
            await c.until(() => c.held.length > 12);
            statuses.push(c.held.subarray(9, 12).toString());
            c.reset();
        }
        assert.deepEqual([...new Set(statuses)].sort(), ['200', '503']);
        await waitUntil(async () => (await held()) < READ_MAX, 'the end of the replies');
        assert.equal((await read('big.txt')).json.content.length, READ_MAX / 4);
    });

    it('text that JSON makes far longer becomes base64, or is refused as text', async () => {
        fs.writeFileSync(at('escaped.txt'), '\x01'.repeat(READ_MAX));
        const r = (await read('escaped.txt')).json;
        assert.deepEqual([r.encoding, r.isBinary, r.content.length], ['base64', true, Math.ceil(READ_MAX / 3) * 4]);
        const text = await read('escaped.txt', { encoding: 'utf-8' });
        assert.deepEqual([text.status, text.json.code], [413, 'FILE_TOO_LARGE']);
        fs.writeFileSync(at('lines.txt'), '\n'.repeat(READ_MAX));
        assert.equal((await read('lines.txt')).json.content.length, READ_MAX);
    });
});

withDaemon('cloudflare: bodies of files', {}, (d) => {
    const post = async (call, json) => (await d.request('POST', `${API}/${call}`, { json })).status;

    it('a body that is none is refused', async () => {
        for (const [call, body] of [
            ['read', {}], ['read', []], ['read', { path: 5 }], ['write', { path: '/tmp/x' }], ['write', { path: '/tmp/x', content: 5 }], ['write', { content: '' }],
            ['rename', { oldPath: '/a' }], ['move', { destinationPath: '/a' }], ['mkdir', { path: '/a', recursive: 'yes' }], ['list-files', { path: '/', options: 5 }], ['exists', { path: null }],
        ])
            assert.equal(await post(call, body), 400, `${call} ${JSON.stringify(body)}`);
        assert.equal((await d.request('POST', `${API}/read`)).status, 400);
        assert.equal((await d.request('GET', `${API}/read?path=/etc/passwd`)).status, 405);
        assert.equal((await d.request('GET', `${API}/write`)).status, 405);
        assert.equal(await post('files', {}), 404);
    });

    it('content of 16 MiB in base64 is written, and more than 24 MiB of body is refused', async () => {
        const bytes = crypto.randomBytes(READ_MAX);
        const p = path.join(d.dir, 'most');
        assert.equal(await post('write', { path: p, content: bytes.toString('base64'), encoding: 'base64' }), 200);
        assert.ok(fs.readFileSync(p).equals(bytes));
        assert.equal(await post('write', { path: `${p}2`, content: 'x'.repeat(24 << 20) }), 413);
        assert.equal(await post('mkdir', { path: p, more: 'x'.repeat(2 << 20) }), 413);
        assert.ok(!fs.existsSync(`${p}2`));
    });
});
