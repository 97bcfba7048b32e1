// SPDX-License-Identifier: Apache-2.0
// Daytona's executeCommand and codeRun: to the end, then the output.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, clientsOf, refused } from './client.mjs';

withDaemon('daytona: execute', {}, (d) => {
    const client = clientsOf(d);

    it('the exit code, and both streams in the order in which they were written', async () => {
        const p = await client.process();
        const line = 'for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 3';
        const got = await p.executeCommand(line);
        assert.equal(got.exitCode, 3);
        assert.equal(got.result, 'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n');
        assert.deepEqual(got.artifacts, { stdout: got.result });
        assert.equal((await p.executeCommand('[[ a == a ]] && echo "${BASH_VERSION:+bash}"')).result, 'bash\n');
        assert.match((await p.executeCommand('if')).result, /syntax error/);
        assert.equal((await p.executeCommand('printf "h\\303\\251 \\377|"')).result, 'hé \ufffd|');
        assert.deepEqual(await d.list(), []);
    });

    it('directory and variables; what reads gets the end at once', async () => {
        const p = await client.process();
        assert.equal((await p.executeCommand('pwd; echo "$A|$B"; cat', '/tmp', { A: "it's", B: 'two words' })).result, "/tmp\nit's|two words\n");
        const nowhere = await p.executeCommand('pwd', '/nowhere');
        assert.equal(nowhere.exitCode, -1);
        assert.match(nowhere.result, /nowhere/);
    });

    it('a time-out ends the whole tree and is told as one', async () => {
        const p = await client.process();
        const began = Date.now();
        await refused(p.executeCommand('sleep 99 & trap "" TERM; sleep 98; sleep 97', undefined, undefined, 1), 'DaytonaProcessExecutionTimeoutError', /1 s/);
        assert.ok(Date.now() - began < 9000, 'not after the command has ended');
        await waitUntil(() => !proc.withEnv(d.mark).some((pid) => proc.cmdline(pid)[0] === 'sleep'), 'the tree to be gone');
        assert.equal((await p.executeCommand('echo fine', undefined, undefined, 60)).result, 'fine\n');
        assert.equal((await p.executeCommand('echo fine', undefined, undefined, 0)).result, 'fine\n');
        await refused(p.executeCommand('true', undefined, undefined, -1), 'DaytonaValidationError', /timeout/);
    });

    it('texts of any length, and output of megabytes', async () => {
        const p = await client.process();
        const long = `echo begin\n${`# ${'x'.repeat(998)}\n`.repeat(400)}echo end`;
        assert.equal((await p.executeCommand(long)).result, 'begin\nend\n');
        assert.equal((await p.executeCommand('head -c 3000000 /dev/zero | tr "\\0" x')).result.length, 3000000);
        assert.equal((await p.executeCommand('cat <<E\nhere\nE')).result, 'here\n');
    });

    it('what is no command is refused', async () => {
        const p = await client.process();
        await refused(p.executeCommand('  \n'), 'DaytonaValidationError', /command/);
        await refused(p.executeCommand('true', undefined, { '1A': 'x' }), 'DaytonaValidationError', /1A/);
        const a = await d.request('POST', `${BASE}/process/execute`, { json: { command: 7 } });
        assert.deepEqual([a.status, a.json.code, a.json.source], [400, 'INVALID_REQUEST_BODY', 'DAYTONA_DAEMON']);
        assert.deepEqual([a.json.path, a.json.method, a.json.statusCode], [`${BASE}/process/execute`, 'POST', 400]);
        assert.match(a.json.timestamp, /^\d{4}-\d\d-\d\dT/);
    });

    it('codeRun: output, code, arguments and variables, in Python', async () => {
        const box = await client.make().create({ language: 'python' });
        const code = 'import os, sys\nprint(sys.argv[1:], os.environ["Z"])\nprint("bad", file=sys.stderr)\nsys.exit(4)';
        const got = await box.process.codeRun(code, { argv: ['a', 'b c', "'$(x)"], env: { Z: 'z' } });
        assert.deepEqual([got.exitCode, got.result], [4, `['a', 'b c', "'$(x)"] z\nbad\n`]);
        const failed = await box.process.codeRun('1 / 0');
        assert.equal(failed.exitCode, 1);
        assert.match(failed.result, /ZeroDivisionError/);
        await refused(box.process.codeRun('import time; time.sleep(99)', undefined, 1), 'DaytonaProcessExecutionTimeoutError');
    });

    it('codeRun: charts are taken out of the output', async () => {
        const box = await client.make().create({ language: 'python' });
        const chart = { type: 'chart', value: { type: 'line', title: 'T', elements: [] } };
        const got = await box.process.codeRun(`print("a")\nprint('dtn_artifact_k39fd2:${JSON.stringify(chart)}')\nprint("b")`);
        assert.equal(got.result, 'a\nb\n');
        assert.deepEqual(got.artifacts.charts.map((c) => c.title), ['T']);
    });

    it('codeRun: JavaScript, and TypeScript by npx', async () => {
        const js = await client.make().create({ language: 'javascript' });
        const got = await js.process.codeRun('console.log(process.argv.slice(1), process.env.Z); process.exit(5)', { argv: ['a', 'b c'], env: { Z: 'z' } });
        assert.deepEqual([got.exitCode, got.result], [5, "[ 'a', 'b c' ] z\n"]);
        // A stand-in for npx shows what ts-node would be given.
        const bin = path.join(d.dir, 'bin');
        fs.mkdirSync(bin);
        fs.writeFileSync(path.join(bin, 'npx'), '#!/bin/sh\necho "$1 $2 ${3##*/} $4"; cat "$3"; exit 6\n', { mode: 0o755 });
        const ts = await client.make().create({ language: 'typescript' });
        const ran = await ts.process.codeRun('const x: number = 1', { argv: ['arg'], env: { PATH: `${bin}:${process.env.PATH}` } });
        assert.deepEqual([ran.exitCode, ran.result], [6, 'ts-node -T main.ts arg\nconst x: number = 1']);
        assert.deepEqual(fs.readdirSync(d.dir).filter((f) => f.startsWith('tmp')), []);
        const a = await d.request('POST', `${BASE}/process/code-run`, { json: { code: '1', language: 'cobol' } });
        assert.equal(a.status, 400);
    });

    it('who asked and went takes the command along', async () => {
        const gone = new AbortController();
        const asked = fetch(`${d.url}${BASE}/process/execute`, {
            method: 'POST',
            signal: gone.signal,
            headers: { ...d.authHeaders(), 'content-type': 'application/json' },
            body: JSON.stringify({ command: 'sleep 1000' }),
        }).catch(() => {});
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        gone.abort();
        await asked;
        assert.equal((await d.exitOf(p.id)).exit.by, 'detach');
        await d.remove(p.id);
    });
});
