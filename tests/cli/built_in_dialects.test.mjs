// SPDX-License-Identifier: Apache-2.0
// make DIALECTS="e2b docker": a binary with these dialects and the native API alone. scripts/dialects-test runs their clients.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../lib/daemon.mjs';
import { after, before, describe, it } from '../lib/test.mjs';

const BUILD_MS = 10 * 60 * 1000; // hundreds of files on a busy machine; nothing is optimised

describe('a build with two dialects', () => {
    let dir;
    const run = (...args) => spawnSync(path.join(dir, 'holdfast'), args, { encoding: 'utf8' });
    const make = (...args) => spawnSync('make', ['-C', root, '-s', `BUILD=${dir}`, ...args], { encoding: 'utf8' });

    before(() => {
        dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-two-'));
        execFileSync('make', ['-C', root, '-s', '-j2', `BUILD=${dir}`, 'DIALECTS=e2b docker', 'DYNAMIC_CFLAGS=-O0 -fPIE'], { timeout: BUILD_MS });
    }, { timeout: BUILD_MS });
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('serves them and the native API', () => {
        const routes = JSON.parse(run('routes', '--json').stdout);
        assert.deepEqual([...new Set(routes.map((r) => r.dialect))].sort(), ['docker', 'e2b', 'native']);
    });

    it('names them in version and in the help', () => {
        assert.match(run('version').stdout, /^holdfast \S+\ndialects: native, docker, e2b\n$/);
        assert.match(run('serve', '--help').stdout, /^Dialects in this binary: docker, e2b\.$/m);
    });

    it('says that another one is not built in', () => {
        const r = run('serve', '--listen', 'none', '--dialect', 'fly=127.0.0.1:0');
        assert.equal(r.status, 2);
        assert.match(r.stderr, /--dialect fly=127\.0\.0\.1:0: this dialect is not built in; available: docker, e2b/);
        assert.match(run('serve', '--listen', 'none', '--dialect', 'nonsense').stderr, /unknown dialect; available: docker, e2b/);
    });

    it('leaves out the unit tests and fuzz targets of the others', () => {
        const { stdout } = make('-n', 'DIALECTS=e2b docker', 'unit-build', 'fuzz-build');
        assert.match(stdout, /test_e2b/);
        assert.doesNotMatch(stdout, /test_gitpod|fuzz_kubernetes|src\/dialects\/fly\//);
    });

    it('is refused for a dialect that does not exist', () => {
        const r = make('DIALECTS=e2b nonsense');
        assert.equal(r.status, 2);
        assert.match(r.stderr, /DIALECTS: unknown: nonsense; available: cloudflare /);
    });
});
