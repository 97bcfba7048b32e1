// SPDX-License-Identifier: Apache-2.0
// The command line, npm `sandbox` 4.5.0: makes, lists, runs, and a shell on a real terminal. It takes
// its time to begin, so each run of it has much to do.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { Pty } from '../../lib/pty.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { command, run, skip } from './client.mjs';

withDaemon('vercel: the command line', { skip }, (d) => {
    const onTerminal = (args, size) => {
        const c = command(d, args);
        return new Pty(c.file, c.args, { ...size, env: { ...c.env, TERM: 'xterm' } });
    };

    it('create, ls and exec', async () => {
        const made = await run(d, 'create', '--name', 'box');
        assert.deepEqual([made.code, made.stdout], [0, 'box'], made.stderr);
        assert.match(made.stderr, /team: team_1/);
        const [list, ran] = await Promise.all([
            run(d, 'ls'),
            run(d, 'exec', '--env', 'V=a b', '--workdir', '/usr', 'box', '--', 'sh', '-c', 'pwd; echo "$V"; echo bad >&2; exit 3'),
        ]);
        assert.equal(list.code, 0, list.stderr);
        assert.match(list.stdout, /^box +running/m);
        assert.deepEqual([ran.code, ran.stdout], [3, '/usr\na b\n'], ran.stderr);
        assert.match(ran.stderr, /^bad$/m);
    });

    it('config: timeout and tags of a sandbox, and what cannot be had', async () => {
        assert.equal((await run(d, 'create', '--name', 'configured')).code, 0);
        for (const args of [['timeout', 'configured', '20m'], ['tags', 'configured', '--tag', 'env=staging']]) {
            const r = await run(d, 'config', ...args);
            assert.equal(r.code, 0, r.stderr);
        }
        const [shown, refused] = await Promise.all([run(d, 'config', 'list', 'configured'), run(d, 'config', 'network-policy', 'configured', '--network-policy', 'deny-all')]);
        assert.match(shown.stdout, /env=staging/, shown.stderr);
        assert.match(shown.stdout, /20/);
        assert.notEqual(refused.code, 0);
        assert.match(refused.stderr, /only the policy allow-all/);
    });

    it('connect: a prompt, the size and its changes, Ctrl-C, and the code of the shell', async () => {
        const t = onTerminal(['connect', 'local'], { rows: 33, cols: 91 });
        await t.shows(`${d.dir}/`);
        const p = await waitUntil(async () => (await d.list('?status=running')).find((x) => x.pty), 'it in the native list');
        assert.deepEqual([p.rows, p.cols, p.session_id.slice(0, 4)], [33, 91, 'sbx_']);
        t.type('stty size; echo $TERM\r');
        await t.shows(/33 91\r+\nxterm-256color\r+\n/);
        t.resize(40, 100);
        await waitUntil(async () => (await d.get(p.id)).cols === 100, 'the new size');
        t.type('stty size\r');
        await t.shows(/40 100\r+\n/);
        t.type("trap 'echo got-$((40 + 2))' INT; echo ready-$((1 + 1)); sleep 60\r");
        await t.shows('ready-2');
        t.type('\x03');
        await t.shows('got-42');
        t.type('exit 7\r');
        assert.equal(await t.exit(), 'exit 7');
        await t.close();
    });

    it('exec -i of what cannot be started says why on the terminal, and ends with 127', async () => {
        const t = onTerminal(['exec', '-i', 'local', '--', 'no-such-program']);
        await t.shows("no 'no-such-program' in PATH");
        assert.equal(await t.exit(), 'exit 127');
        await t.close();
    });
});
