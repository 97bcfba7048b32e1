// SPDX-License-Identifier: Apache-2.0
// The completion scripts, loaded by the real shells.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from '../lib/test.mjs';
import { cliEnv, ok } from '../lib/cli.mjs';
import { binary, withDaemon } from '../lib/daemon.mjs';

const has = (shell) => spawnSync('sh', ['-c', `command -v ${shell}`]).status === 0;

withDaemon('completion', {}, (d) => {
    /** A directory with the binary under its name, and the script. */
    const prepare = async (shell) => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-comp-'));
        fs.symlinkSync(binary(), path.join(dir, 'holdfast'));
        fs.writeFileSync(path.join(dir, 'script'), await ok(d, ['completion', shell]));
        return { dir, env: cliEnv(d, { PATH: `${dir}:${process.env.PATH}`, ASAN_OPTIONS: 'detect_leaks=0', HOME: dir }) };
    };

    it('bash', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['1000'], tag: 'tagged' });
        const { dir, env } = await prepare('bash');
        const complete = (...words) => {
            const line = words.map((w) => `'${w}'`).join(' ');
            const script =
                `set -eu; source ${dir}/script; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); ` +
                '_holdfast; if ((${#COMPREPLY[@]})); then printf "%s\\n" "${COMPREPLY[@]}"; fi';
            return execFileSync('bash', ['--norc', '-c', script], { env }).toString().trim().split('\n').filter(Boolean);
        };
        assert.deepEqual(complete('holdfast', 'at'), ['attach']);
        assert.ok(complete('holdfast', '').length >= 22);
        assert.deepEqual(complete('holdfast', 'run', '--inter'), ['--interactive']);
        assert.deepEqual(complete('holdfast', 'run', '--source', 'a'), ['agent']);
        assert.deepEqual(complete('holdfast', 'attach', 'tag'), ['tagged']);
        assert.deepEqual(complete('holdfast', 'attach', p.id.slice(0, 20)), [p.id]);
        assert.deepEqual(complete('holdfast', 'signal', 'x', 'WIN'), ['WINCH']);
        assert.deepEqual(complete('holdfast', 'completion', 'z'), ['zsh']);
        assert.deepEqual(complete('holdfast', 'token', 'r'), ['rotate']);
        assert.deepEqual(complete('holdfast', 'token', 'rotate', '--role', 'w'), ['watch']);
        assert.deepEqual(complete('holdfast', 'serve', '--lis'), ['--listen']);
        assert.deepEqual(complete('holdfast', 'ps', '--token-file', `${dir}/scr`), [`${dir}/script`]);
        assert.deepEqual(complete('holdfast', 'cp', `${dir}/scr`), [`${dir}/script`]);
        assert.ok(complete('holdfast', 'run', 'ba').includes('bash'));
        execFileSync('bash', ['-n', path.join(dir, 'script')]);
        fs.rmSync(dir, { recursive: true });
        await d.remove(p.id);
    });

    it('zsh', async (t) => {
        if (!has('zsh')) return t.skip('no zsh here');
        const { dir, env } = await prepare('zsh');
        execFileSync('zsh', ['-n', path.join(dir, 'script')], { env });
        const out = execFileSync('zsh', ['-f', '-c', `autoload -U compinit; compinit -u -D; source ${dir}/script; print $_comps[holdfast]`], { env });
        assert.equal(out.toString().trim(), '_holdfast');
        fs.rmSync(dir, { recursive: true });
    });

    it('fish', async (t) => {
        if (!has('fish')) return t.skip('no fish here');
        const { dir, env } = await prepare('fish');
        const complete = (line) =>
            execFileSync('fish', ['--no-config', '-c', `source ${dir}/script; complete -C "${line}"`], { env }).toString();
        assert.match(complete('holdfast at'), /^attach\t/);
        assert.match(complete('holdfast run --inter'), /^--interactive\t/);
        assert.match(complete('holdfast run --source a'), /^agent/);
        fs.rmSync(dir, { recursive: true });
    });
});
