// SPDX-License-Identifier: Apache-2.0
// The client inside tmux, as people use it: what the screen shows in the end is what counts.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { it } from '../lib/test.mjs';
import { cliEnv } from '../lib/cli.mjs';
import { binary, withDaemon } from '../lib/daemon.mjs';
import { waitUntil } from '../lib/wait.mjs';

const there = spawnSync('sh', ['-c', 'command -v tmux']).status === 0;

withDaemon('tmux', {}, (d) => {
    it('run, a full-screen program, resize, leave, attach, exit', async (t) => {
        if (!there) return t.skip('no tmux here');
        const env = cliEnv(d, { HF: binary(), PS1: 'outer> ', SHELL: '/bin/sh', HOME: d.dir });
        delete env.TERM;
        const tmux = (...args) =>
            execFileSync('tmux', ['-S', path.join(d.dir, 'tmux'), '-f', '/dev/null', ...args], { env }).toString();
        const screen = () => tmux('capture-pane', '-p');
        const shows = (text, ms) =>
            waitUntil(() => (text instanceof RegExp ? text.test(screen()) : screen().includes(text)), `tmux to show ${text}`, ms ?? 20000, 50).catch(
                (err) => Promise.reject(new Error(`${err.message}:\n${screen()}`)),
            );
        const type = (...keys) => tmux('send-keys', ...keys);
        tmux('new-session', '-d', '-x', '80', '-y', '24', 'env PS1="outer> " bash --norc --noprofile');
        try {
            await shows(/^outer>/m);
            type('$HF run -it --tag inner -e PS1="inner> " bash --norc --noprofile', 'Enter');
            await shows(/^inner>/m);
            type('echo $((6*7)) ${TERM%%-*}', 'Enter');
            await shows(/^42 (tmux|screen)$/m);
            tmux('resize-window', '-x', '100', '-y', '30');
            await waitUntil(async () => (await d.list())[0].cols === 100, 'the size');
            type('stty size', 'Enter');
            await shows('30 100');
            type('seq 1 200 | less', 'Enter');
            await shows(/^29$/m);
            type('C-p', 'C-q');
            await shows('holdfast attach');
            await shows(/outer>\s*$/m);
            assert.ok(screen().includes('42'), `the screen before less is back:\n${screen()}`);
            type('clear; $HF attach inner', 'Enter');
            type('q');
            await shows(/^inner>/m);
            type('exit 4', 'Enter');
            await shows(/outer>\s*$/m);
            type('echo "code $?"', 'Enter');
            await shows(/^code 4$/m);
            type('stty -a | grep -o " [-]*icanon"', 'Enter');
            await shows(/^ icanon$/m);
        } finally {
            tmux('kill-server');
        }
    });
});
