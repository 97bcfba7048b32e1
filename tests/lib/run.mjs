// SPDX-License-Identifier: Apache-2.0
//
// run.mjs - runs the suites, then checks that every error code was met
//
//   node lib/run.mjs [wire|clients/native|cli|faults|FILE ...]
//
// One file at a time: the tests measure time-outs and count descriptors, and
// share two cores with the daemon. The check of the codes comes only after a
// whole run.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as proc from './proc.mjs';
import { scaled } from './scale.mjs';

const tests = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const suites = ['wire', 'clients', 'cli', 'gateway', 'faults', 'browser'];
const asked = process.argv.slice(2);

function filesOf(what) {
    const at = path.join(tests, what);
    if (fs.existsSync(at) && fs.statSync(at).isDirectory()) {
        return fs
            .readdirSync(at)
            .filter((f) => f.endsWith('.test.mjs'))
            .sort()
            .map((f) => path.join(what, f));
    }
    return [path.relative(tests, path.resolve(what))];
}

/** Of a TAP report only what failed: the names and what was said about them. */
function failures(tap) {
    const out = [];
    let inside = null;
    for (const line of tap.split('\n')) {
        const m = /^(\s*)not ok \d+ - (.*)$/.exec(line);
        if (m) {
            inside = m[1];
            out.push(`  ✗ ${m[2]}`);
        } else if (inside !== null && /^\s*(\.\.\.|1\.\.\d+)$/.test(line)) {
            inside = null;
        } else if (
            inside !== null &&
            !/^\s*(---|duration_ms|failureType|type|code|name|operator|location):?/.test(line) &&
            !/node:internal/.test(line)
        ) {
            out.push(`      ${line.slice(inside.length)}`);
        }
    }
    return out.length ? out.join('\n') : tap;
}

/** A file that was cut short leaves daemons of this run behind; they carry its mark. */
function endLeftovers(env) {
    for (const pid of proc.withEnv(`HF_TEST_RUN=${env.HF_TEST_TMP}`)) {
        try {
            process.kill(pid, 'SIGKILL');
        } catch {
            continue;
        }
    }
}

function run(file, env) {
    const started = Date.now();
    const r = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], {
        cwd: tests,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 1 << 28,
        timeout: scaled(3600000, 600000),
        killSignal: 'SIGKILL',
    });
    endLeftovers(env);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const out = r.stdout.toString();
    const notes = out.split('\n').filter((l) => /^# (seed|ci scale|full scale|measured)/.test(l));
    console.log(`${r.status === 0 ? 'ok  ' : 'FAIL'} ${seconds.padStart(6)} s  ${file}`);
    for (const n of notes) console.log(`               ${n.slice(2)}`);
    if (r.status !== 0) console.log(failures(out));
    return r.status === 0;
}

const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-run-'));
const env = { ...process.env, HF_TEST_TMP: tmp, HF_CODES_FILE: path.join(tmp, 'codes') };
const files = (asked.length ? asked : suites).flatMap(filesOf);
const failed = files.filter((f) => !run(f, env));
if (asked.length === 0 && !run('codes.check.mjs', env)) failed.push('codes.check.mjs');
fs.rmSync(tmp, { recursive: true, force: true });
console.log(
    failed.length
        ? `${failed.length} of ${files.length} files failed:\n  ${failed.join('\n  ')}`
        : `all ${files.length} files passed`,
);
process.exit(failed.length ? 1 : 0);
