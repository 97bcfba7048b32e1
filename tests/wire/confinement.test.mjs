// SPDX-License-Identifier: Apache-2.0
// What faces the network has dropped what it does not need, and the kernel refuses the rest.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { compile } from '../lib/compile.mjs';
import { binary, releaseBinary, root, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { describe, it } from '../lib/test.mjs';

const src = (name) => path.join(root, 'src', name);
const isRoot = process.getuid() === 0;

/** The filter of the sources, in a program that then tries what it refuses. */
function insideFilter(role) {
    const sources = fs.readdirSync(src('cli')).filter((f) => /^confine.*\.c$/.test(f)).map((f) => src(`cli/${f}`));
    const bin = compile(
        'inside_filter',
        [path.join(root, 'tests/lib/inside_filter.c'), ...sources, ...['log', 'clock', 'io', 'buf', 'mem'].map((f) => src(`base/${f}.c`))],
        ['-D_GNU_SOURCE', `-I${path.join(root, 'src')}`],
    );
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-in-'));
    fs.chmodSync(dir, 0o777);
    const ran = spawnSync(bin, [role, dir], { encoding: 'utf8' });
    fs.rmSync(dir, { recursive: true });
    const lines = ran.stdout.trim().split('\n').map((l) => l.split(' '));
    return { ran, confined: lines[0].join(' '), tried: Object.fromEntries(lines.slice(1)) };
}

const otherKernel = () => compile('other_kernel', [path.join(root, 'tests/lib/other_kernel.c')], []);
const hasLandlock = () => /landlock=1/.test(insideFilter('worker').confined);

/* Every other call that the program tries is refused. */
const ALLOWED = {
    worker: { clone3: 'ENOSYS', 'tgkill-self': 'ok', getsockname: 'ok', mmap: 'ok', memfd_create: 'ok', 'open-etc': 'ok', 'write-dir': 'ok' },
    registrar: { clone3: 'ENOSYS', 'tgkill-self': 'ok', getsockname: 'ok', mmap: 'ok', 'socket-inet': 'ok', connect: 'ENOENT', 'write-dir': 'ok' },
    gateway: {
        clone3: 'ENOSYS', 'tgkill-self': 'ok', getsockname: 'ok', mmap: 'ok', 'socket-inet': 'ok', 'socket-unix': 'ok', connect: 'ENOENT', 'write-dir': 'ok',
    },
};
const BY_LANDLOCK = ['open-etc', 'open-bin', 'open-root', 'write-proc', 'write-dev-null'];

describe('from inside the filter', () => {
    for (const [role, allowed] of Object.entries(ALLOWED)) {
        it(`${role}: each call outside its list is refused`, () => {
            const { ran, confined, tried } = insideFilter(role);
            assert.match(confined, /^confined seccomp=1 /, ran.stderr);
            assert.ok(Object.keys(tried).length > 80, `${Object.keys(tried).length} calls tried`);
            for (const [name, result] of Object.entries(tried)) {
                if (name === 'int80') continue;
                if (BY_LANDLOCK.includes(name) && !/landlock=1/.test(confined)) continue;
                const want = allowed[name] ?? (BY_LANDLOCK.includes(name) ? 'EACCES' : 'EPERM');
                assert.equal(result, want, name);
            }
            /* Calls of another architecture end the process. */
            if (process.arch === 'x64') assert.equal(ran.signal, 'SIGSYS');
        });
    }
});

for (const [name, bin] of Object.entries({ 'the binary under test': binary(), 'the release': releaseBinary() })) {
    if (!bin) it(`confinement: ${name}`, { skip: 'no release binary' }, () => {});
    else
        withDaemon(`confinement: ${name}`, { bin }, (d) => {
            it('the worker is not root and cannot become it again', { skip: !isRoot && 'needs root' }, () => {
                const worker = d.workerPid();
                const uids = proc.statusField(worker, 'Uid').split(/\s+/);
                assert.ok(uids.every((u) => u !== '0'), `uids ${uids}`);
                const gids = [...proc.statusField(worker, 'Gid').split(/\s+/), ...proc.statusField(worker, 'Groups').split(/\s+/).filter(Boolean)];
                assert.ok(gids.every((g) => g !== '0'), `groups ${gids}`);
                assert.match(proc.statusField(worker, 'CapEff'), /^0+$/);
                assert.match(proc.statusField(worker, 'CapPrm'), /^0+$/);
            });

            it('the default user is outside the range of DynamicUser=', { skip: !isRoot && 'needs root' }, () => {
                const uid = Number(proc.statusField(d.workerPid(), 'Uid').split(/\s+/)[0]);
                assert.ok(uid < 61184 || uid > 65519, `uid ${uid}`);
            });

            it('no new privileges, and a filter of system calls', () => {
                const worker = d.workerPid();
                assert.equal(proc.statusField(worker, 'NoNewPrivs'), '1');
                assert.equal(proc.statusField(worker, 'Seccomp'), '2');
            });

            it('/v1/info says what was given up', async () => {
                const info = await d.request('GET', '/v1/info');
                assert.deepEqual(info.json.confinement, { seccomp: true, landlock: hasLandlock(), user: true });
            });

            it('children have neither: sudo and ping must work', async () => {
                const p = await d.sh('sleep 300');
                assert.equal(proc.statusField(p.pid, 'NoNewPrivs'), '0');
                assert.equal(proc.statusField(p.pid, 'Seccomp'), '0');
                await d.remove(p.id);
            });

            it('a new worker is confined too', async () => {
                const old = d.workerPid();
                process.kill(old, 'SIGKILL');
                const now = await d.nextWorker(old);
                d.agent.destroy();
                await d.request('GET', '/healthz');
                assert.equal(proc.statusField(now, 'Seccomp'), '2');
            });
        });
}

describe('a kernel that cannot, and one that will not', { skip: !isRoot && 'needs root' }, () => {
    const serve = (kind, ...args) =>
        spawnSync(otherKernel(), [kind, binary(), 'serve', '--listen', '127.0.0.1:0', '--no-auth', ...args], { encoding: 'utf8', timeout: 20000 });

    it('where the filter is refused, nothing starts', () => {
        const ran = serve('no-filters');
        assert.equal(ran.status, 1, ran.stderr);
        assert.match(ran.stderr, /cannot be confined: system calls: .*--confine=off/);
        assert.doesNotMatch(ran.stdout, /listening/);
    });

    it('the gateway does not start either', () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-in-'));
        fs.writeFileSync(path.join(dir, 's.json'), '{"sandboxes":{}}');
        const ran = spawnSync(
            otherKernel(),
            ['no-filters', binary(), 'gateway', '--listen', '127.0.0.1:0', '--no-auth', '--resolver', `file:${dir}/s.json`],
            { encoding: 'utf8', timeout: 20000 },
        );
        fs.rmSync(dir, { recursive: true });
        assert.equal(ran.status, 1, ran.stderr);
        assert.match(ran.stderr, /gateway's worker cannot be confined/);
    });

    it('--confine is on or off', () => {
        assert.equal(spawnSync(binary(), ['serve', '--confine=maybe'], { encoding: 'utf8' }).status, 2);
    });
});

if (isRoot) {
    const former = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-former-'));
    fs.chmodSync(former, 0o700);
    fs.chownSync(former, 61777, 61777);
    process.on('exit', () => fs.rmSync(former, { recursive: true }));
    withDaemon('confinement: a directory of the former worker user', { args: ['--history-dir', former] }, (d) => {
        it('is given to the new one', () => {
            const uid = Number(proc.statusField(d.workerPid(), 'Uid').split(/\s+/)[0]);
            assert.equal(fs.statSync(former).uid, uid);
        });
    });
    withDaemon('confinement: --confine=off', { before: [otherKernel(), 'no-filters'], args: ['--confine=off'] }, (d) => {
        it('starts where the kernel refuses, and says so loudly', async () => {
            assert.equal((await d.request('GET', '/v1/info')).json.confinement.seccomp, false);
            assert.match(d.stderr, /warn worker: --confine=off/);
        });
    });
    withDaemon('confinement: a kernel without filters', { before: [otherKernel(), 'no-seccomp'] }, (d) => {
        it('is named in the log and in /v1/info', async () => {
            assert.equal((await d.request('GET', '/v1/info')).json.confinement.seccomp, false);
            assert.match(d.stderr, /this kernel cannot filter/);
        });
    });
    withDaemon('confinement: a kernel without Landlock', { before: [otherKernel(), 'no-landlock'] }, (d) => {
        it('is named in the log and in /v1/info', async () => {
            const { confinement } = (await d.request('GET', '/v1/info')).json;
            assert.deepEqual(confinement, { seccomp: true, landlock: false, user: true });
            assert.match(d.stderr, /this kernel has no Landlock/);
        });
    });
}
