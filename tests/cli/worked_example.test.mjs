// SPDX-License-Identifier: Apache-2.0
// The dialect that docs/ADDING-A-DIALECT.md explains line by line: it is taken from there, built, and talked to.
//
// It is built in a copy of this checkout's folders (links) and objects, so that one new file and the table of
// dialects are compiled, and a program is linked. The copy is needed because make finds dialects by their folders.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import WebSocket from 'ws';
import { daemonFor, root } from '../lib/daemon.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const BUILD_MS = 10 * 60 * 1000; // only if the objects at hand were made with other flags
const built = path.resolve(process.env.HF_BUILD ?? path.join(root, 'build'));

/** The C blocks of the document, in order: those that are marked with the example's name. */
function example() {
    const text = fs.readFileSync(path.join(root, 'docs/ADDING-A-DIALECT.md'), 'utf8');
    return [...text.matchAll(/^```c tiny\n(.*?)^```$/gms)].map(([, code]) => code).join('\n');
}

const linkAll = (from, to, except = []) => {
    fs.mkdirSync(to, { recursive: true });
    for (const name of fs.readdirSync(from)) if (!except.includes(name)) fs.symlinkSync(path.join(from, name), path.join(to, name));
};

/** A tree with the example as a dialect, and copies of the sanitized objects where there are any. */
function makeTree(dir, build) {
    linkAll(root, dir, ['src', 'build', build, '.git']);
    linkAll(path.join(root, 'src'), path.join(dir, 'src'), ['dialects']);
    linkAll(path.join(root, 'src/dialects'), path.join(dir, 'src/dialects'));
    fs.mkdirSync(path.join(dir, 'src/dialects/tiny'));
    fs.writeFileSync(path.join(dir, 'src/dialects/tiny/tiny.c'), example());
    const objects = path.join(built, 'asan/obj');
    if (fs.existsSync(objects)) execFileSync('cp', ['-a', objects, path.join(dir, build, 'asan')]);
}

/** The compiler of these objects, or they would all be made again. */
function compiler(dir, build) {
    const flags = path.join(dir, build, 'asan/obj/flags');
    return fs.existsSync(flags) ? [`CC=${fs.readFileSync(flags, 'utf8').split(' -')[0]}`] : [];
}

describe('the worked example of docs/ADDING-A-DIALECT.md', () => {
    const inside = path.relative(root, built);
    const build = inside.startsWith('..') ? 'build' : inside;
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-tiny-'));
    const bin = path.join(dir, build, 'asan/holdfast');

    before(() => {
        fs.mkdirSync(path.join(dir, build, 'asan'), { recursive: true });
        makeTree(dir, build);
        execFileSync('make', ['-C', dir, '-s', '-j2', `BUILD=${build}`, ...compiler(dir, build), 'DIALECTS=tiny', 'asan'], { timeout: BUILD_MS });
    }, { timeout: BUILD_MS });
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('starts a job, follows its output to the end, and knows its exit', () =>
        daemonFor({ bin }, async (d) => {
            const call = (method, at, json) => d.request(method, `/dialects/tiny/jobs${at}`, { json });
            const made = (await call('POST', '', { argv: ['sh', '-c', 'pwd; echo two >&2; exit 3'], dir: '/' })).json;
            assert.deepEqual([made.running, made.code], [true, null]);
            assert.equal((await call('GET', `/${made.job}/output`)).text, '/\ntwo\n');
            assert.deepEqual((await call('GET', `/${made.job}`)).json, { job: made.job, running: false, code: 3 });
            assert.equal((await d.get(made.job)).exit.code, 3, 'and so does the native API');
        }));

    it('attaches to a terminal, and kills it', () =>
        daemonFor({ bin }, async (d) => {
            const at = '/dialects/tiny/jobs';
            const { job } = (await d.request('POST', at, { json: { argv: ['cat'], terminal: true } })).json;
            const ws = new WebSocket(`${d.url.replace('http', 'ws')}${at}/${job}/attach`, { headers: { authorization: `Bearer ${d.token}` } });
            let seen = '';
            ws.on('message', (m) => (seen += m));
            await new Promise((open) => ws.on('open', open));
            ws.send('typed\r');
            await waitUntil(() => seen.includes('typed\r\ntyped'), 'the echo and the line');
            const closed = new Promise((done) => ws.on('close', done));
            assert.deepEqual((await d.request('DELETE', `${at}/${job}`)).json, { job, running: false, code: null });
            assert.equal(await closed, 1000);
        }));

    it('writes each error in its own shape', () =>
        daemonFor({ bin }, async (d) => {
            const refused = async (status, method, at, options) => {
                const a = await d.request(method, `/dialects/tiny${at}`, options);
                assert.equal(a.status, status, a.text);
                assert.deepEqual([Object.keys(a.json), typeof a.json.error], [['error'], 'string']);
            };
            await refused(401, 'GET', '/jobs/x', { role: 'wrong-wrong-wrong' });
            await refused(403, 'POST', '/jobs', { role: 'watch', json: { argv: ['true'] } });
            await refused(404, 'GET', '/jobs/x');
            await refused(404, 'GET', '/nothing');
            await refused(405, 'PUT', '/jobs');
            await refused(400, 'POST', '/jobs', { json: {} });
            await refused(400, 'POST', '/jobs', { json: { argv: 'sh' } });
            await refused(422, 'POST', '/jobs', { json: { argv: ['/no/such'] } });
        }));
});
