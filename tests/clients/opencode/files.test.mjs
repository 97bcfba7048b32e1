// SPDX-License-Identifier: Apache-2.0
// Files and searches by both clients of the SDK: what they reply has the members of its types.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import * as proc from '../../lib/proc.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const data = async (call) => {
    const { data, error, response } = await call;
    assert.equal(response.status, 200, JSON.stringify(error));
    return data;
};
const refused = async (call, status, message, kind = 'Query') => {
    const { data, error, response } = await call;
    assert.equal(data, undefined);
    assert.equal(response.status, status, JSON.stringify(error));
    assert.match(error.data?.message ?? error.message, message);
    assert.equal(error.data?.kind ?? error.kind, kind);
};

withDaemon('opencode: files', { args: ['--dialect', 'opencode=127.0.0.1:0'] }, (d) => {
    let oc, root;
    const local = (name) => path.join(root, name);
    const write = (name, content = '') => {
        fs.mkdirSync(path.dirname(local(name)), { recursive: true });
        fs.writeFileSync(local(name), content);
    };
    before(() => {
        root = path.join(d.dir, 'project');
        fs.mkdirSync(path.join(root, '.git'), { recursive: true });
        write('.gitignore', 'build/\n*.log\n!keep.log\n');
        write('src/main.c', '\n  int main(void)\n{\n    return 42;\n}\n\n');
        write('src/.hidden/main.c', 'int hidden = 42;\n');
        write('src/domain/x.txt', 'ä 42 and 421\n');
        write('src/.gitignore', '/generated.c\n');
        write('src/generated.c', 'return 42;\n');
        write('build/main.c', 'return 42;\n');
        write('a.log', '42');
        write('keep.log', 'no newline 42');
        write('image.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff]));
        fs.symlinkSync('src', local('link'));
        fs.symlinkSync('/etc', local('out'));
        fs.symlinkSync('nowhere', local('dangling'));
        write('../outside.txt', 'secret');
        oc = new OpenCode(d, { directory: root });
    });
    const both = [
        ['v1', (n, query) => call(oc.v1, n)({ query })],
        ['v2', (n, query) => call(oc.v2, n)(query)],
    ];
    const call = (client, name) => {
        const [group, method] = name.split('.');
        return (o) => client[group][method](o);
    };

    for (const [name, ask] of both) {
        it(`${name}: lists directories before files, and says what is ignored`, async () => {
            const node = (n, type, ignored = false) => ({
                name: path.basename(n), path: type === 'directory' ? `${n}/` : n, absolute: local(n), type, ignored,
            });
            assert.deepEqual(await data(ask('file.list', { path: '.' })), [
                node('.git', 'directory'), node('build', 'directory', true), node('src', 'directory'),
                node('.gitignore', 'file'), node('a.log', 'file', true), node('image.png', 'file'), node('keep.log', 'file'),
            ]);
            assert.deepEqual(await data(ask('file.list', { path: 'src' })), [
                node('src/.hidden', 'directory'), node('src/domain', 'directory'),
                node('src/.gitignore', 'file'), node('src/generated.c', 'file', true), node('src/main.c', 'file'),
            ]);
            assert.deepEqual((await data(ask('file.list', { path: 'build' }))).map((e) => e.ignored), [true]);
            assert.deepEqual((await data(ask('file.list', { path: local('link') }))).map((e) => e.path).at(-1), 'link/main.c');
            await refused(ask('file.list', { path: 'src/main.c' }), 400, /^Path is not a directory$/);
            await refused(ask('file.list', { path: 'none' }), 400, /none: No such file or directory$/);
        });

        it(`${name}: reads text without the spaces around it, and bytes as base64`, async () => {
            assert.deepEqual(await data(ask('file.read', { path: 'src/main.c' })), { type: 'text', content: 'int main(void)\n{\n    return 42;\n}' });
            assert.deepEqual(await data(ask('file.read', { path: './src/../image.png' })), {
                type: 'binary', content: fs.readFileSync(local('image.png'), 'base64'), encoding: 'base64', mimeType: 'image/png',
            });
            for (const text of ['\ufeff\u00a0 x\u3000y \u2028\n', '\n \t', '', 'ä', '\u2003'])
                await (write('t', text), data(ask('file.read', { path: 't' })).then((r) => assert.deepEqual(r, { type: 'text', content: text.trim() })));
            for (const none of ['none', 'dangling', 'src/main.c/x'])
                assert.deepEqual(await data(ask('file.read', { path: none })), { type: 'text', content: '' });
            await refused(ask('file.read', { path: 'src' }), 400, /^Path is not a file$/);
            fs.rmSync(local('t'));
        });

        it(`${name}: no path leads out of the directory`, async () => {
            for (const bad of ['../outside.txt', '/etc/passwd', 'src/../../outside.txt', `${root}x`, 'out/passwd'])
                await refused(ask('file.read', { path: bad }), 400, /^Path escapes the location$/);
            for (const bad of ['..', '/', 'out', '../project2'])
                await refused(ask('file.list', { path: bad }), 400, /^Path escapes the location$/);
            assert.equal((await data(ask('file.read', { path: `${root}/keep.log` }))).content, 'no newline 42');
            await refused(ask('file.read', { path: 'x'.repeat(5000) }), 400, /too long/);
        });

        it(`${name}: finds lines as ripgrep does`, async () => {
            const found = await data(ask('find.text', { pattern: '\\b4\\d\\b' }));
            assert.deepEqual(found, [
                ['keep.log', 'no newline 42', 1, 0, 11], ['src/.hidden/main.c', 'int hidden = 42;\n', 1, 0, 13],
                ['src/domain/x.txt', 'ä 42 and 421\n', 1, 0, 3], ['src/main.c', '    return 42;\n', 4, 20, 11],
            ].map(([p, text, line_number, absolute_offset, start]) => ({
                path: { text: p }, lines: { text }, line_number, absolute_offset, submatches: [{ match: { text: '42' }, start, end: start + 2 }],
            })));
            write('many.txt', 'x y x\n'.repeat(30) + 'z'.repeat(5000));
            const many = await data(ask('find.text', { pattern: 'x' }));
            assert.equal(many.length, 10);
            assert.deepEqual(many[2].submatches.map((m) => [m.start, m.end]), [[0, 1], [4, 5]]);
            assert.equal(many[2].absolute_offset, 12);
            const [long] = await data(ask('find.text', { pattern: '(?i)^Z+$' }));
            assert.equal(long.lines.text, `${'z'.repeat(2000)}...`);
            assert.deepEqual(long.submatches, [{ match: { text: 'z'.repeat(5000) }, start: 0, end: 5000 }]);
            write('.a.txt', 'x\u00e9y\ncaf\u00e9\u20ac\nxy\n');
            for (const [pattern, ...spans] of [
                ['x\u00e9?y', [1, 'x\u00e9y', 0], [3, 'xy', 0]], ['x.y', [1, 'x\u00e9y', 0]], ['^caf..$', [2, 'caf\u00e9\u20ac', 0]],
                ['[^a-z]', [1, '\u00e9', 1], [2, '\u00e9', 3], [2, '\u20ac', 5]], ['(?:q*\\B)f', [2, 'f', 2]],
                ['^x|q*$', [1, 'x', 0], [1, '', 4], [2, '', 8], [3, 'x', 0], [3, '', 2]],
            ])
                assert.deepEqual(
                    (await data(ask('find.text', { pattern }))).filter((m) => m.path.text === '.a.txt')
                        .flatMap((m) => m.submatches.map((s) => [m.line_number, s.match.text, s.start])),
                    spans, pattern);
            assert.deepEqual((await data(ask('find.text', { pattern: 'q*' }))).find((m) => m.line_number === 2 && m.path.text === '.a.txt')
                .submatches.map((s) => s.start), [0, 1, 2, 3, 5, 8]);
            fs.rmSync(local('.a.txt'));
            assert.deepEqual(await data(ask('find.text', { pattern: 'not there' })), []);
            await refused(ask('find.text', { pattern: '(?=x)' }), 400, /which this server does not support$/);
            await refused(ask('find.text', { pattern: 'a(' }), 400, /Unmatched|parenthes/i);
            fs.rmSync(local('many.txt'));
        });

        it(`${name}: finds paths, the best first`, async () => {
            assert.deepEqual(await data(ask('find.files', { query: 'main' })), ['src/main.c', 'src/domain/', 'src/domain/x.txt']);
            assert.deepEqual(await data(ask('find.files', { query: 'main', dirs: 'false' })), ['src/main.c', 'src/domain/x.txt']);
            assert.deepEqual(await data(ask('find.files', { query: 'keep' })), ['keep.log']);
            assert.deepEqual(await data(ask('find.files', { query: 'smc' })), ['src/main.c']);
            assert.deepEqual(await data(ask('find.files', { query: 'nothing' })), []);
            for (let i = 0; i < 15; i++) write(`many/${i}.md`);
            assert.equal((await data(ask('find.files', { query: 'md' }))).length, 10);
            fs.rmSync(local('many'), { recursive: true });
            await refused(ask('find.files', { query: 'x', dirs: 'maybe' }), 400, /at \["dirs"\]$/);
        });

        it(`${name}: there is no language server, and no state of files`, async () => {
            assert.deepEqual(await data(ask('find.symbols', { query: 'main' })), []);
            assert.deepEqual(await data(ask('file.status', {})), []);
        });
    }

    it('v2: type and limit of find.files', async () => {
        assert.deepEqual(await data(oc.v2.find.files({ query: 'main', type: 'directory' })), ['src/domain/']);
        assert.equal((await data(oc.v2.find.files({ query: '', limit: 2 }))).length, 2);
        for (const limit of [0, 201, 1.5, 'x']) await refused(oc.v2.find.files({ query: 'x', limit }), 400, /at \["limit"\]$/);
        await refused(oc.v2.find.files({ query: 'x', type: 'link' }), 400, /at \["type"\]$/);
        await refused(oc.v2.find.files({ query: 'x'.repeat(5000) }), 400, /too long/);
    });

    it('the newer surface lists, finds and reads, and names its location', async () => {
        const location = { directory: root, project: { id: 'global', directory: '/' } };
        const list = await data(oc.v2.v2.fs.list({ path: 'src' }));
        assert.deepEqual(list, { location, data: [
            { path: 'src/.hidden/', type: 'directory' }, { path: 'src/domain/', type: 'directory' },
            { path: 'src/.gitignore', type: 'file' }, { path: 'src/generated.c', type: 'file' }, { path: 'src/main.c', type: 'file' },
        ] });
        assert.equal((await data(oc.v2.v2.fs.list({}))).data.length, 7);
        assert.deepEqual(await data(oc.v2.v2.fs.find({ query: 'main', limit: '1' })), { location, data: [{ path: 'src/main.c', type: 'file' }] });
        assert.deepEqual((await data(oc.v2.v2.fs.find({ query: 'main', limit: '99999', type: 'directory' }))).data, [{ path: 'src/domain/', type: 'directory' }]);
        await refused(oc.v2.v2.fs.find({ query: 'x', limit: '0' }), 400, /at \["limit"\]$/);
        await refused(oc.v2.v2.fs.list({ path: '..' }), 400, /^Path escapes the location$/);
        // The SDK has no parameter for the path, so it reads a file of this name.
        write('*', 'a star');
        assert.equal(await (await data(oc.v2.v2.fs.read({}, { parseAs: 'blob' }))).text(), 'a star');
        fs.rmSync(local('*'));
        const get = (p) => fetch(`${oc.base}/api/fs/read/${p}?${new URLSearchParams({ 'location[directory]': root })}`, { headers: oc.headers });
        const image = await get('image.png');
        assert.equal(image.headers.get('content-type'), 'image/png');
        assert.ok(Buffer.from(await image.arrayBuffer()).equals(fs.readFileSync(local('image.png'))));
        write('ä %/b', 'named');
        assert.equal(await (await get(`${encodeURIComponent('ä %')}/b`)).text(), 'named');
        fs.rmSync(local('ä %'), { recursive: true });
        for (const [p, message] of [['src', 'Path is not a file'], ['out/passwd', 'Path escapes the location']]) {
            const r = await get(p);
            assert.equal(r.status, 400);
            assert.deepEqual(await r.json(), { _tag: 'InvalidRequestError', kind: 'Query', message });
        }
    });

    // A browser shows the file as a page of the daemon's origin, and sends its credentials: a script in it could start a terminal.
    it('no file that is read as a page runs a script', async () => {
        for (const [name, type] of [['evil.html', 'text/html'], ['evil.svg', 'image/svg+xml'], ['evil.xml', 'text/xml'], ['evil', 'application/octet-stream']]) {
            write(name, '<script xmlns="http://www.w3.org/1999/xhtml">fetch("/pty", { method: "POST" })</script>');
            const { headers } = await fetch(`${oc.base}/api/fs/read/${name}?directory=${root}`, { headers: oc.headers });
            assert.equal(headers.get('content-type'), type);
            assert.equal(headers.get('x-content-type-options'), 'nosniff');
            assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none';.* sandbox$/);
            fs.rmSync(local(name));
        }
    });

    it('what is missing in the query is named', async () => {
        const get = async (p) => (await fetch(`${oc.base}${p}`, { headers: oc.headers })).json();
        for (const [p, name] of [['/file', 'path'], ['/file/content', 'path'], ['/find', 'pattern'], ['/find/file', 'query'], ['/find/symbol', 'query']])
            assert.deepEqual(await get(p), { name: 'BadRequest', data: { message: `Missing key\n  at ["${name}"]`, kind: 'Query' } });
    });

    it('a file that is too large for JSON is refused there, and read as bytes', async () => {
        fs.writeFileSync(local('large'), '');
        fs.truncateSync(local('large'), (8 << 20) + 1);
        const { error, response } = await oc.v2.file.read({ path: 'large' });
        assert.equal(response.status, 413);
        assert.match(error.data.message, /more than 8388608 bytes; \/api\/fs\/read/);
        // Such a file was read to its end before it was refused: 20 GiB took two minutes.
        fs.truncateSync(local('large'), 2 ** 39);
        assert.equal((await oc.v2.file.read({ path: 'large' })).response.status, 413);
        fs.truncateSync(local('large'), (8 << 20) + 1);
        const r = await fetch(`${oc.base}/api/fs/read/large?directory=${root}`, { headers: oc.headers });
        assert.equal((await r.arrayBuffer()).byteLength, (8 << 20) + 1);
        fs.truncateSync(local('large'), 8 << 20);
        assert.equal(Buffer.from((await data(oc.v2.file.read({ path: 'large' }))).content, 'base64').length, 8 << 20);
        fs.rmSync(local('large'));
    });

    it('a token that may only watch reads no file', async () => {
        const watcher = new OpenCode(d, { directory: root, role: 'watch' });
        for (const ask of [watcher.v2.file.list({ path: '.' }), watcher.v2.file.read({ path: 'a.log' }), watcher.v2.find.text({ pattern: 'x' }), watcher.v2.find.files({ query: 'x' })])
            assert.equal((await ask).response.status, 403);
        assert.equal((await new OpenCode(d, { role: null }).v2.file.list({ path: '.' })).response.status, 401);
    });

    // Each of 9000 files is compared with 10000 rules: a search here is still in progress whenever a test needs that.
    const slowTree = () => {
        const slow = path.join(d.dir, 'slow');
        if (!fs.existsSync(slow)) {
            fs.mkdirSync(path.join(slow, '.git'), { recursive: true });
            fs.writeFileSync(path.join(slow, '.gitignore'), '*a*b\n'.repeat(10000));
            for (let i = 0; i < 9000; i++) fs.writeFileSync(path.join(slow, `${'a'.repeat(240)}${i}`), '');
        }
        return new OpenCode(d, { directory: slow });
    };
    const helpers = () => proc.descendantsOf(d.pid).filter((p) => proc.cmdline(p.pid)?.includes('file-op'));

    // The helper runs as a user who may write to its output; one line without a path ended the worker.
    it('a line that is not the helper\'s does no harm', async () => {
        const search = slowTree().v2.find.text({ pattern: 'x' });
        const [helper] = await waitUntil(() => helpers().length > 0 && helpers(), 'the search');
        const lines = [{ kind: 'file' }, { kind: 'directory', spans: [{}, 5] }, { path: '/', spans: [{}, 5] }, 5];
        fs.writeFileSync(`/proc/${helper.pid}/fd/1`, lines.map((l) => `${JSON.stringify(l)}\n`).join(''));
        process.kill(helper.pid, 'SIGKILL');
        assert.equal((await search).response.status, 500);
    });

    it('a client that disconnects ends its search', async () => {
        const cut = new AbortController();
        const search = slowTree().v2.find.text({ pattern: 'x' }, { signal: cut.signal }).catch(() => {});
        await waitUntil(() => helpers().length > 0, 'the search');
        cut.abort();
        await search;
        await waitUntil(() => helpers().length === 0, 'its end', 15000); // by itself it takes twice as long
    });
});
