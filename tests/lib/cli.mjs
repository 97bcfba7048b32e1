// SPDX-License-Identifier: Apache-2.0
//
// cli.mjs - the client commands of the binary under test, against a test's daemon
//
// Nothing of the machine's own settings reaches them: no HOLDFAST_ variables, a
// state directory of their own. A sanitizer report fails the test.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { binary } from './daemon.mjs';
import { Pty } from './pty.mjs';
import { within } from './wait.mjs';

const SANITIZER = /ERROR: AddressSanitizer|runtime error:|LeakSanitizer/;

export function cliEnv(d, more = {}) {
    const env = {
        PATH: process.env.PATH,
        HOME: '/nonexistent',
        LANG: 'C.UTF-8',
        TERM: 'xterm-256color',
        HOLDFAST_STATE_DIR: '/nonexistent',
        ASAN_OPTIONS: 'detect_leaks=1:exitcode=99',
        UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1:exitcode=99',
        ...(d ? { HOLDFAST_URL: d.url ?? d.urls[0], HOLDFAST_TOKEN: d.token } : {}),
        ...more,
    };
    for (const k of Object.keys(env)) if (env[k] === undefined) delete env[k];
    return env;
}

/** Starts it; `done` is {code, signal, stdout, stderr} with bytes in stdout. */
export function start(d, args, { input, env, bin, stdio, cwd } = {}) {
    const child = spawn(bin ?? binary(), args, {
        env: cliEnv(d, env),
        cwd,
        stdio: stdio ?? [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const out = [];
    const err = [];
    child.stdout?.on('data', (b) => out.push(b));
    child.stderr?.on('data', (b) => err.push(b));
    child.stdin?.on('error', () => {});
    if (input !== undefined && input !== null) child.stdin.end(input);
    child.done = new Promise((done) =>
        child.once('close', (code, signal) => {
            const stderr = Buffer.concat(err).toString();
            assert.ok(!SANITIZER.test(stderr), stderr);
            done({ code, signal, stdout: Buffer.concat(out), stderr, text: Buffer.concat(out).toString() });
        }),
    );
    child.said = () => Buffer.concat(err).toString();
    child.printed = () => Buffer.concat(out).toString();
    return child;
}

/** Runs it to its end. */
export function cli(d, args, options = {}) {
    return within(start(d, args, options).done, options.ms ?? 60000, `holdfast ${args.join(' ')}`);
}

/** Runs it; it must succeed. The text it printed. */
export async function ok(d, args, options) {
    const r = await cli(d, args, options);
    assert.equal(r.code, 0, `holdfast ${args.join(' ')}: ${JSON.stringify({ ...r, stdout: r.text })}`);
    return r.text;
}

/** Runs it; it must fail with this code and a sentence that matches. */
export async function fails(d, code, match, args, options) {
    const r = await cli(d, args, options);
    assert.equal(r.code, code, `holdfast ${args.join(' ')}: ${JSON.stringify({ ...r, stdout: r.text })}`);
    assert.match(r.stderr, match);
    assert.match(r.stderr, /^holdfast /);
    return r;
}

export const onPty = (d, args, { env, ...options } = {}) =>
    new Pty(binary(), args, { env: cliEnv(d, env), ...options });
