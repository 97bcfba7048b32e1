// SPDX-License-Identifier: Apache-2.0
// docker cp both ways, dockerode's archives, and what both get when it cannot be done.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import tarStream from 'tar-stream';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { Cli, dockerode, readAll, withClis } from './client.mjs';

const mode = (file) => fs.lstatSync(file).mode & 0o7777;
const tar = (args, input) => {
    const r = spawnSync('tar', args, { input, maxBuffer: 1 << 26 });
    assert.equal(r.status, 0, r.stderr.toString());
    return r.stdout;
};
const BIG = Buffer.alloc(3000000, 'big\n');

/** A directory with a file, a program, a link, and a directory that only its owner may enter. */
function tree(dir) {
    fs.mkdirSync(path.join(dir, 'closed'), { recursive: true });
    fs.writeFileSync(path.join(dir, 'big'), BIG);
    fs.writeFileSync(path.join(dir, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
    fs.writeFileSync(path.join(dir, 'closed', 'secret'), 'in\n', { mode: 0o600 });
    fs.symlinkSync('tool', path.join(dir, 'link'));
    fs.utimesSync(path.join(dir, 'closed'), 1000000000, 1000000000);
    fs.chmodSync(path.join(dir, 'closed'), 0o500);
}

function assertTree(dir) {
    assert.deepEqual(fs.readdirSync(dir).sort(), ['big', 'closed', 'link', 'tool']);
    assert.ok(fs.readFileSync(path.join(dir, 'big')).equals(BIG));
    assert.equal(fs.readFileSync(path.join(dir, 'closed/secret'), 'utf8'), 'in\n');
    assert.deepEqual(['tool', 'closed', 'closed/secret'].map((f) => mode(path.join(dir, f))), [0o755, 0o500, 0o600]);
    assert.equal(fs.readlinkSync(path.join(dir, 'link')), 'tool');
    assert.equal(fs.statSync(path.join(dir, 'closed')).mtimeMs, 1000000000000);
}

withDaemon('docker cp', {}, (d) => {
    withClis((cli) => {
        const docker = () => new Cli(cli, d);
        const fresh = () => fs.mkdtempSync(path.join(d.dir, 'cp-'));

        it('a tree there and back: bytes, modes, times, links', async () => {
            const [from, box, back] = [fresh(), fresh(), fresh()];
            tree(path.join(from, 'tree'));
            await docker().ok('cp', path.join(from, 'tree'), `sandbox:${box}`);
            assertTree(path.join(box, 'tree'));
            await docker().ok('cp', `sandbox:${box}/tree/.`, path.join(back, 'new'));
            assertTree(path.join(back, 'new'));
            await docker().ok('cp', `sandbox:${box}/tree`, back);
            assertTree(path.join(back, 'tree'));
        });

        it('a file takes the name it is given, and replaces one; a link is copied or followed', async () => {
            const [here, box] = [fresh(), fresh()];
            fs.writeFileSync(path.join(here, 'a'), 'new\n');
            fs.writeFileSync(path.join(box, 'b'), 'old\n');
            await docker().ok('cp', path.join(here, 'a'), `sandbox:${box}/b`);
            assert.equal(fs.readFileSync(path.join(box, 'b'), 'utf8'), 'new\n');
            fs.symlinkSync(path.join(box, 'b'), path.join(box, 'way'));
            await docker().ok('cp', `sandbox:${box}/way`, path.join(here, 'link'));
            assert.equal(fs.readlinkSync(path.join(here, 'link')), path.join(box, 'b'));
            await docker().ok('cp', '-L', `sandbox:${box}/way`, path.join(here, 'file'));
            assert.equal(fs.readFileSync(path.join(here, 'file'), 'utf8'), 'new\n');
        });

        it('archives on standard input and output', async () => {
            const box = fresh();
            fs.writeFileSync(path.join(d.dir, 'piped'), 'through\n');
            const r = await docker().run(['cp', '-', `sandbox:${box}`], { input: tar(['-C', d.dir, '-c', 'piped']) });
            assert.equal(r.code, 0, r.stderr);
            const out = await docker().run(['cp', `sandbox:${box}/piped`, '-'], { encoding: null });
            assert.equal(tar(['-xO', 'piped'], out.stdout).toString(), 'through\n');
        });

        it('what is missing, or no directory', async () => {
            const [here, box] = [fresh(), fresh()];
            fs.writeFileSync(path.join(here, 'file'), 'x');
            const no = await docker().run(['cp', `sandbox:${box}/none`, here]);
            assert.equal(no.code, 1);
            assert.match(no.stderr, /Could not find the file \/.*none in container sandbox|No such container:path: sandbox:\/.*none/);
            assert.match((await docker().run(['cp', path.join(here, 'file'), `sandbox:${box}/none/`])).stderr, /no such directory|not find the file/i);
            fs.writeFileSync(path.join(box, 'plain'), 'y');
            assert.notEqual((await docker().run(['cp', path.join(here, 'file'), `sandbox:${box}/plain/x`])).code, 0);
            assert.equal(fs.readFileSync(path.join(box, 'plain'), 'utf8'), 'y');
        });

        it('a container that has ended; -a gives its user what it gets', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
            const [here, box] = [fresh(), fresh()];
            fs.writeFileSync(path.join(here, 'f'), 'x');
            fs.chownSync(path.join(here, 'f'), 1234, 2345);
            await docker().ok('run', '-d', '--name', 'ended', '--user', 'nobody', 'any', 'true');
            await docker().ok('wait', 'ended');
            await docker().ok('cp', path.join(here, 'f'), `ended:${box}/plain`);
            await docker().ok('cp', '-a', path.join(here, 'f'), `ended:${box}/archive`);
            await docker().ok('rm', 'ended');
            const owner = (f) => [fs.statSync(path.join(box, f)).uid, fs.statSync(path.join(box, f)).gid];
            assert.deepEqual(owner('plain'), [1234, 2345]);
            assert.deepEqual(owner('archive'), [65534, 65534]);
        });
    });
});

withDaemon('docker: archives by dockerode', {}, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const box = () => dockerode(d).getContainer('sandbox');
    const fresh = () => fs.mkdtempSync(path.join(d.dir, 'ar-'));

    it('getArchive, putArchive, infoArchive; gzip is found by its first bytes', async () => {
        const dir = fresh();
        fs.writeFileSync(path.join(d.dir, 'one'), 'uno\n', { mode: 0o640 });
        const archive = tar(['-C', d.dir, '-c', 'one']);
        await box().putArchive(archive, { path: dir });
        assert.equal(fs.readFileSync(path.join(dir, 'one'), 'utf8'), 'uno\n');
        fs.rmSync(path.join(dir, 'one'));
        await box().putArchive(gzipSync(archive), { path: dir, noOverwriteDirNonDir: true });
        const bytes = await readAll(await box().getArchive({ path: `${dir}/one` }));
        assert.equal(tar(['-xO', 'one'], bytes).toString(), 'uno\n');
        const info = await box().infoArchive({ path: `${dir}/../${path.basename(dir)}/one` });
        const stat = JSON.parse(Buffer.from(info.headers['x-docker-container-path-stat'], 'base64'));
        assert.deepEqual([stat.name, stat.size, stat.mode, stat.linkTarget], ['one', 4, 0o640, '']);
        assert.equal(Date.parse(stat.mtime), Math.floor(fs.statSync(path.join(dir, 'one')).mtimeMs));
        const of = async (p) => JSON.parse(Buffer.from((await box().infoArchive({ path: p })).headers['x-docker-container-path-stat'], 'base64'));
        assert.equal((await of('/')).mode >>> 0, (0x80000000 | mode('/')) >>> 0);
        fs.symlinkSync(dir, path.join(d.dir, `${path.basename(dir)}-link`));
        const link = await of(`${dir}-link`);
        assert.deepEqual([link.mode, link.linkTarget], [0x8000000 | 0o777, dir]);
        assert.equal((await of(`${dir}-link/`)).mode >>> 31, 1);
    });

    it('what cannot be done says why, and changes nothing', async () => {
        const dir = fresh();
        const archive = tar(['-C', '/etc', '-c', 'hostname']);
        await assert.rejects(box().putArchive(archive, { path: `${dir}/none` }), (e) => e.statusCode === 404 && e.reason !== undefined && /Could not find the file/.test(e.json.message));
        assert.ok(!fs.existsSync(path.join(dir, 'none')));
        fs.writeFileSync(path.join(dir, 'file'), 'x');
        await assert.rejects(box().putArchive(archive, { path: `${dir}/file` }), (e) => e.statusCode === 400 && e.json.message === 'extraction point is not a directory');
        await assert.rejects(box().putArchive(Buffer.from('no archive'.repeat(100)), { path: dir }), { statusCode: 400 });
        fs.mkdirSync(path.join(dir, 'hostname'));
        await assert.rejects(box().putArchive(archive, { path: dir }), { statusCode: 400 });
        // More directories than their permissions are kept for: 4500 paths of 3900 bytes.
        const deep = `${'d'.repeat(194)}/`.repeat(20);
        const pack = tarStream.pack();
        for (let i = 0; i < 4500; i++) pack.entry({ name: `many/${deep}${i}`, type: 'directory' });
        pack.finalize();
        const many = fresh();
        await assert.rejects(box().putArchive(pack, { path: many }), (e) => e.statusCode === 400 && /too many directories/.test(e.json.message));
        await assert.rejects(box().getArchive({ path: '' }), { statusCode: 400 });
        await assert.rejects(dockerode(d).getContainer('nobody').getArchive({ path: '/' }), { statusCode: 404 });
        assert.deepEqual(fs.readdirSync(dir).sort(), ['file', 'hostname']);
        assert.deepEqual(fs.readdirSync(path.join(dir, 'hostname')), []);
    });
});
