// SPDX-License-Identifier: Apache-2.0
//
// node-tests.mjs - runs the tests against the real binary by Node's own runner
//
// Usage: node scripts/node-tests.mjs FILES_AT_ONCE OUT [FILE or FOLDER...]
//
// Several files run at a time: they mostly wait, each for a daemon of its own. The check that
// every error code was met comes last and waits until the others have ended. People get the
// `spec` report on standard output. The folder OUT gets node.tap, the same as TAP with its closing
// lines, skipped.txt, a line for each skipped test with the reason, and failed.txt, a block for
// each failed test or hook with the message. Node's counts leave out the hooks of suites.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec as Spec, tap } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const tests = path.join(path.dirname(fileURLToPath(import.meta.url)), '../tests');
const FAILURE_CHARS = 3000; // a sanitizer's report shows its stack within these
const concurrency = Number(process.argv[2]);
const [out, ...asked] = process.argv.slice(3).map((arg) => path.resolve(arg));

function testFilesBelow(dir) {
    return fs.readdirSync(dir, { withFileTypes: true })
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .flatMap((entry) => {
            const at = path.join(dir, entry.name);
            if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFilesBelow(at);
            return entry.name.endsWith('.test.mjs') ? [at] : [];
        });
}

const files = (asked.length > 0 ? asked : [tests]).flatMap((at) => (fs.statSync(at).isDirectory() ? testFilesBelow(at) : [at]));
const lastCheck = path.join(tests, 'codes.check.mjs');
if (asked.length === 0 && fs.existsSync(lastCheck)) files.push(lastCheck);

for (const name of ['HOLDFAST_BIN', 'HOLDFAST_RELEASE', 'HF_BUILD']) {
    if (process.env[name]) process.env[name] = path.resolve(process.env[name]);
}
const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-tests-'));
process.env.HF_TEST_TMP = tmp;
process.env.HF_CODES_FILE = path.join(tmp, 'codes');
process.on('exit', () => fs.rmSync(tmp, { recursive: true, force: true }));
process.chdir(tests);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort());

// Half an hour for one file is long even at full scale: it hangs.
const stream = run({ files, concurrency, timeout: 30 * 60 * 1000, signal: stop.signal });
const failed = [];
stream.on('test:fail', ({ todo, name, file, details }) => {
    if (todo) return;
    process.exitCode = 1;
    const { error } = details;
    if (error.failureType === 'subtestsFailed') return; // these are listed themselves
    const cause = error.cause?.message ?? error.cause ?? error.message;
    const message = String(cause).slice(0, FAILURE_CHARS).replaceAll('\n', '\n    ');
    failed.push(`failed: ${path.relative(tests, file ?? '')}: ${name}: ${error.failureType}\n    ${message}\n`);
});
const skipped = [];
stream.on('test:pass', ({ skip, name }) => {
    if (skip === undefined || skip === false) return;
    skipped.push(`skipped: ${name}: ${skip === true ? 'no reason given' : skip}\n`);
});
fs.mkdirSync(out, { recursive: true });
const report = fs.createWriteStream(path.join(out, 'node.tap'));
stream.compose(tap).pipe(report);
stream.compose(new Spec()).pipe(process.stdout);
await finished(report);
fs.writeFileSync(path.join(out, 'skipped.txt'), skipped.join(''));
fs.writeFileSync(path.join(out, 'failed.txt'), failed.join(''));
