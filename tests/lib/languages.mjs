// SPDX-License-Identifier: Apache-2.0
//
// languages.mjs - published clients in other languages, each in a program of its own
//
// scripts/setup installs them below .tools/: the Python clients of tests/python/requirements.txt in
// a virtual environment, and a Go toolchain where the machine has none that is new enough. A
// program of a client is a suite in its own language; its runner's closing line says
// how many tests it ran, so a program that ran none does not pass.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from './daemon.mjs';

const run = promisify(execFile);
const HANGS_MS = 240000;

async function output(program, args, options) {
    try {
        const { stdout, stderr } = await run(program, args, { timeout: HANGS_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 24, ...options });
        return stdout + stderr;
    } catch (err) {
        assert.fail(`${path.basename(program)} ${args.at(-1)}: ${err.signal ?? err.code}: ${err.message}\n${err.stdout ?? ''}${err.stderr ?? ''}`);
    }
}

/**
 * Runs the tests of a module and leaves with their verdict. It does not shut the interpreter down: clients have
 * extension modules and threads that can fail then, after all tests have passed.
 */
const UNITTEST = `
import os, sys, unittest
done = unittest.main(module=sys.argv.pop(1), verbosity=2, exit=False)
sys.stdout.flush()
sys.stderr.flush()
os._exit(0 if done.result.wasSuccessful() else 1)
`;

/**
 * Runs a unittest file with the pinned Python clients; `env` tells it where the daemon is. `venv` is the virtual
 * environment in .tools: clients that cannot share one have others.
 */
export async function pythonTests(file, env, venv = 'clients') {
    const python = path.join(root, '.tools', venv, 'bin/python');
    assert.ok(fs.existsSync(python), `${python} is missing: run scripts/setup test`);
    const text = await output(python, ['-c', UNITTEST, path.basename(file, '.py')], {
        cwd: path.dirname(file),
        env: { PATH: process.env.PATH, HOME: env.HOME, LANG: 'C.UTF-8', PYTHONDONTWRITEBYTECODE: '1', ...env },
    });
    assert.match(text, /^Ran [1-9]\d* tests? in /m, text);
    assert.match(text, /^OK$/m, text); // "OK (skipped=1)" is not what we want
}

/** Runs the tests of one folder of tests/go, which `make go-tests` has compiled. */
export async function goTests(folder, env) {
    const program = path.join(process.env.HF_BUILD ?? path.join(root, 'build'), 'go', `${folder}.test`);
    assert.ok(fs.existsSync(program), `${program} is missing: run make go-tests`);
    const text = await output(program, ['-test.v'], { env: { PATH: process.env.PATH, ...env } });
    assert.match(text, /^--- PASS: Test/m, text);
    assert.doesNotMatch(text, /^--- SKIP/m, text);
}

/** Where the files of a Go module are, which tests/go/go.mod pins and `make go-tests` has fetched. */
export async function goModule(name) {
    const cache = path.join(root, '.tools/go-cache');
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly -modcacherw', GOPROXY: 'off', GOPATH: path.join(cache, 'path'), GOCACHE: path.join(cache, 'build') };
    const dir = (await output('go', ['list', '-m', '-f', '{{.Dir}}', name], { cwd: path.join(root, 'tests/go'), env })).trim();
    assert.ok(dir, `${name} is not in Go's cache: run make go-tests`);
    return dir;
}
