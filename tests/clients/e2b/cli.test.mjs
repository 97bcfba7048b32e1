// SPDX-License-Identifier: Apache-2.0
// The published command line of E2B, unchanged: exec and a terminal.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { root, withDaemon } from '../../lib/daemon.mjs';
import { base } from '../../lib/e2b.mjs';
import { Pty } from '../../lib/pty.mjs';
import { it } from '../../lib/test.mjs';

const cli = path.join(root, 'tests/node_modules/.bin/e2b');

withDaemon('e2b: command line', {}, (d) => {
    const env = () => ({
        PATH: process.env.PATH,
        HOME: d.dir,
        TERM: 'xterm-256color',
        E2B_API_URL: base(d),
        E2B_SANDBOX_URL: base(d),
        E2B_API_KEY: d.token,
    });

    const run = (args, input) =>
        new Promise((done) => {
            const child = spawn(cli, args, { env: env(), stdio: ['pipe', 'pipe', 'pipe'] });
            let out = '';
            let err = '';
            child.stdout.on('data', (b) => (out += b));
            child.stderr.on('data', (b) => (err += b));
            child.on('close', (code) => done({ code, out, err }));
            child.stdin.end(input);
        });

    it('exec gives the exit code, and pipes its input through', async () => {
        const [seven, piped] = await Promise.all([
            run(['sandbox', 'exec', 'holdfast', '--', 'sh', '-c', 'exit 7'], ''),
            run(['sandbox', 'exec', 'holdfast', 'cat'], 'x\n'),
        ]);
        assert.equal(seven.code, 7, seven.err);
        assert.equal(piped.out, 'x\n', piped.err);
        assert.equal(piped.code, 0);
    });

    it('connect is a terminal that works', async () => {
        const t = new Pty(cli, ['sandbox', 'connect', 'holdfast'], { env: env() });
        await t.shows(/[$#] /);
        t.type('echo "from $((40 + 2))"; stty size\r');
        await t.shows('from 42');
        await t.shows('24 80');
        t.type('exit\r');
        await t.exit();
        await t.close();
    });
});
