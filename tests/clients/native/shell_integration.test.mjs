// SPDX-License-Identifier: Apache-2.0
// shell_integration: real shells mark their prompts, and the user's own files are read as ever.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after } from 'node:test';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';

const LONG = 20000;
const has = (name) => (process.env.PATH ?? '').split(':').some((dir) => fs.existsSync(`${dir}/${name}`));

withDaemon('shell integration', {}, (d) => {
    const prompt = async (id, from) =>
        (
            await d.api('POST', `/v1/processes/${id}/wait`, {
                json: { until: [{ prompt: true }], from, timeout_ms: LONG },
                expect: 200,
            })
        ).json;
    const home = (name, files) => {
        const dir = `${d.dir}/${name}`;
        fs.mkdirSync(dir);
        for (const [file, text] of Object.entries(files)) {
            fs.mkdirSync(`${dir}/${file}`.replace(/\/[^/]*$/, ''), { recursive: true });
            fs.writeFileSync(`${dir}/${file}`, text);
        }
        return dir;
    };
    /** Starts a shell and returns a function that runs a line and gives its output and exit code. */
    const start = async (command, args, HOME, env = {}) => {
        const p = await d.spawn({
            command,
            args,
            pty: { rows: 24, cols: 200 },
            shell_integration: true,
            cwd: HOME,
            env: { HOME, ...env },
        });
        assert.deepEqual(p.args, args, 'as asked for');
        let w = await prompt(p.id, 0);
        assert.equal(w.matched, 'prompt', JSON.stringify(w));
        const first = w.output.data;
        const run = async (line) => {
            await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: line, keys: ['Enter'] }, expect: 200 });
            w = await prompt(p.id, w.next);
            assert.equal(w.matched, 'prompt', `${line}: ${JSON.stringify(w)}`);
            const m = /\x1b\]133;C\x07(.*)\x1b\]133;D;\d+\x07/s.exec(w.output.data);
            // zsh marks an output without a line end, and wipes the mark again.
            const text = m?.[1].replace(/\x1b\[1m\x1b\[7m[%#].*$/s, '').replaceAll('\r', '');
            return { code: w.prompt.exit_code, text, all: w.output.data };
        };
        return { id: p.id, run, first };
    };

    /** What every shell must do, whatever the user's files say. */
    const lines = async (sh, HOME) => {
        assert.deepEqual((({ code, text }) => [code, text])(await sh.run('echo hello')), [0, 'hello\n']);
        assert.equal((await sh.run('false')).code, 1);
        assert.equal((await sh.run('')).code, null, 'no command, no code');
        assert.equal((await sh.run('(exit 42)')).code, 42);
        assert.equal((await sh.run('echo $?')).text, '42\n', 'and $? is not ours');
        assert.equal((await sh.run('seq 1 3 && sleep 0.05 && printf end')).text, '1\n2\n3\nend');
        await sh.run('mkdir -p "a b/ü%41"; cd "a b/ü%41"');
        assert.equal((await d.get(sh.id)).cwd, `${HOME}/a b/ü%41`);
        assert.equal((await sh.run('for i in 1 2; do\necho $i\ndone')).code, 0);
    };

    it('bash: marks, exit codes and directory, with a user who has no files', async () => {
        const HOME = home('bare', {});
        const sh = await start('bash', [], HOME);
        await lines(sh, HOME);
        await d.remove(sh.id);
    });

    it('bash: the user’s ~/.bashrc is honoured: prompt, commands before it, aliases, functions', async () => {
        const HOME = home('bashrc', {
            '.bashrc': `PS1='mine[$?]> '\nPROMPT_COMMAND='LAST=$?; BEFORE=$((BEFORE + 1))'\nPS0='(now)'\nalias hi='echo from the alias'\nf() { echo from the function; }\nexport FROM_RC=1\n`,
        });
        const sh = await start('bash', [], HOME);
        assert.match(sh.first, /mine\[0\]> /);
        assert.equal((await sh.run('hi; f')).text, '(now)from the alias\nfrom the function\n');
        assert.match((await sh.run('(exit 3)')).all, /mine\[3\]> /);
        assert.match((await sh.run('echo $BEFORE $LAST $FROM_RC')).text, /\(now\)3 3 1\n/);
        assert.match((await sh.run('PS1="changed> "')).all, /changed> \x1b\]133;B/);
        assert.equal((await sh.run('env | grep -vE "^(HF_TEST|PATH=)" | grep -c holdfast')).text, '(now)0\n', 'nothing is left in the environment');
        assert.equal(fs.readdirSync(HOME).filter((f) => f !== '.bashrc' && f !== '.bash_history').length, 0);
        await d.remove(sh.id);
    });

    it('bash: an array of prompt commands, --norc, and a login shell', async () => {
        const HOME = home('login', {
            '.bashrc': 'PROMPT_COMMAND=("A=1" "B=2")\n',
            '.bash_profile': 'FROM_PROFILE=1\n',
        });
        let sh = await start('bash', ['-i'], HOME);
        assert.equal((await sh.run('echo $A $B $FROM_PROFILE')).text, '1 2\n');
        await d.remove(sh.id);
        sh = await start('bash', ['--norc'], HOME);
        assert.equal((await sh.run('echo "[$A$FROM_PROFILE]"')).text, '[]\n');
        await d.remove(sh.id);
        sh = await start('bash', ['-l'], HOME);
        assert.equal((await sh.run('echo "[$A$FROM_PROFILE]"')).text, '[1]\n');
        await d.remove(sh.id);
        sh = await start('bash', ['--login', '--noprofile'], HOME);
        assert.equal((await sh.run('echo "[$A$FROM_PROFILE]"')).text, '[]\n');
        await d.remove(sh.id);
    });

    it('zsh: marks, exit codes and directory', { skip: !has('zsh') && 'no zsh here' }, async () => {
        const HOME = home('zbare', { '.zshrc': '' });
        const sh = await start('zsh', [], HOME);
        await lines(sh, HOME);
        await d.remove(sh.id);
    });

    it('zsh: the user’s files are honoured, in their order', { skip: !has('zsh') && 'no zsh here' }, async () => {
        const HOME = home('zrc', {
            '.zshenv': 'SEEN=env:${ZDOTDIR-none}\n',
            '.zprofile': 'SEEN+=,profile:${ZDOTDIR-none}\n',
            '.zshrc': `SEEN+=,rc:\${ZDOTDIR-none}\ntypeset -A map; map[a]=b\ntheme() { PS1="themed[$?]> " }\nprecmd_functions+=(theme)\nalias hi='echo from the alias'\nalias -g printf='echo aliased'\n`,
            '.zlogin': 'SEEN+=,login:${ZDOTDIR-none}\n',
        });
        let sh = await start('zsh', [], HOME);
        assert.match(sh.first, /themed\[0\]> /);
        assert.equal((await sh.run('hi; echo $map[a] $SEEN')).text, 'from the alias\nb env:none,rc:none\n');
        assert.match((await sh.run('(exit 3)')).all, /themed\[3\]> \x1b\]133;B/);
        assert.equal((await sh.run('env | grep -c -e ZDOTDIR -e HOLDFAST_Z')).text, '0\n');
        assert.equal((await sh.run('echo $+__holdfast_dir $+ZDOTDIR')).text, '0 0\n');
        await d.remove(sh.id);
        sh = await start('zsh', ['-l'], HOME);
        assert.equal((await sh.run('echo $SEEN')).text, 'env:none,profile:none,rc:none,login:none\n');
        await d.remove(sh.id);
    });

    it('zsh: a ZDOTDIR of the user’s, given or set by .zshenv', { skip: !has('zsh') && 'no zsh here' }, async () => {
        const HOME = home('zdot', {
            '.zshenv': 'ZDOTDIR=$HOME/set\n',
            'set/.zshrc': 'WHERE=set\n',
            'given/.zshrc': 'WHERE=given\n',
        });
        let sh = await start('zsh', [], HOME, { ZDOTDIR: `${HOME}/given` });
        assert.equal((await sh.run('echo $WHERE $ZDOTDIR')).text, `given ${HOME}/given\n`);
        assert.equal((await sh.run('env | grep -c ^ZDOTDIR=')).text, '1\n');
        await d.remove(sh.id);
        sh = await start('zsh', [], HOME);
        assert.equal((await sh.run('echo $WHERE $ZDOTDIR')).text, `set ${HOME}/set\n`);
        await d.remove(sh.id);
    });

    it('refusals', async () => {
        const no = (body) =>
            d.refused('bad_value', 'POST', '/v1/processes', { json: { shell_integration: true, pty: true, ...body } });
        await no({ command: 'bash', pty: false });
        await no({ command: 'sh' });
        await no({ command: 'bash', shell: true });
        await no({ command: 'bash', args: ['-c', 'true'] });
        await no({ command: '/bin/bash', args: ['script'] });
        await no({ command: 'zsh', args: ['--norc'] });
        await d.refused('bad_type', 'POST', '/v1/processes', {
            json: { command: 'bash', pty: true, shell_integration: 1 },
        });
    });
});

// A daemon of root, whose shells may be anybody's.
const place = process.getuid() === 0 ? fs.mkdtempSync('/tmp/hf-shell-') : undefined;
if (place) fs.chmodSync(place, 0o755);
after(() => place && fs.rmSync(place, { recursive: true }));

withDaemon('files of the shell integration', { skip: !place, env: { TMPDIR: place } }, (d) => {
    const dir = () => `${place}/${fs.readdirSync(place).find((f) => f.startsWith('holdfast-shell-'))}`;
    const workerUid = () => fs.statSync(`/proc/${d.workerPid()}`).uid;
    const body = { command: 'bash', args: [], pty: true, shell_integration: true };
    const startsMarked = async () => {
        const p = await d.spawn(body);
        await d.outputHas(p.id, '\x1b]133;A');
        await d.remove(p.id);
    };

    it("belong to the daemon's user, and the worker cannot write them", async () => {
        await startsMarked();
        assert.notEqual(workerUid(), 0);
        const files = fs.readdirSync(dir(), { recursive: true });
        assert.equal(files.length, 8);
        for (const file of ['', ...files]) {
            const st = fs.statSync(`${dir()}/${file}`);
            assert.deepEqual([st.uid, st.mode & 0o22], [0, 0], file);
        }
    });

    it('are not used if somebody else could have written them, and are made anew', async () => {
        const file = `${dir()}/rc.bash`;
        fs.chownSync(file, workerUid(), workerUid());
        await d.refused('spawn_failed', 'POST', '/v1/processes', { json: body });
        fs.unlinkSync(file);
        await d.refused('spawn_failed', 'POST', '/v1/processes', { json: body });
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await startsMarked();
        assert.equal(fs.statSync(file).uid, 0);
    });
});
