// SPDX-License-Identifier: Apache-2.0
// The file of variables that EXECD_ENVS names: it is read for all that starts, as in execd.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, newPty, Pty, texts, withSandbox } from '../../lib/opensandbox.mjs';
import { it } from '../../lib/test.mjs';

withSandbox('opensandbox: EXECD_ENVS', { env: { EXECD_ENVS: '~/envs/$NO_DIR_LIKE_THIS_IS_FINE', NO_DIR_LIKE_THIS_IS_FINE: 'file' } }, (d, sandbox) => {
    const dir = () => path.join(d.dir, 'envs');
    const write = (text) => {
        fs.mkdirSync(dir(), { recursive: true });
        fs.writeFileSync(path.join(dir(), 'file'), text);
    };
    const run = async (...args) => texts((await (await sandbox()).commands.run(...args)).logs.stdout);

    it('a file that does not exist sets nothing; what is written later counts', async () => {
        assert.deepEqual(await run('echo "<$A>"'), ['<>']);
        write("# mine\nA='one\ntwo'\nB=$HOME/x\nC=3\nC=4\n");
        assert.deepEqual(await run('echo "<$A> $B $C"; test -f "$EXECD_ENVS" || echo as-it-was-given'), ['<one', `two> ${d.dir}/x 4`, 'as-it-was-given']);
        assert.deepEqual(await run('echo $C', { envs: { C: 'own' } }), ['own']);
        write('C=5\n');
        assert.deepEqual(await run('echo "<$A> $C"'), ['<> 5']);
    });

    it('terminals and sessions get them as well, from their start', async () => {
        write('C=6\n');
        const p = await Pty.attach(d, await newPty(d, { command: 'echo "c$C"' })).catch((e) => e);
        await p.end();
        assert.match(p.text, /c6/);
        for (const where of ['/terminal', '/command']) {
            const t = new Pty(d, where, { query: { command: 'echo "c$C"' } });
            await t.end();
            assert.match(t.text, /c6/, where);
        }
        const s = await sandbox();
        const session = await s.commands.createSession();
        write('C=7\n');
        assert.deepEqual(texts((await s.commands.runInSession(session, 'echo $C')).logs.stdout), ['6']);
        await s.commands.deleteSession(session);
    });

    it('many at once, each with the file as it is then, and no helper stays', async () => {
        write('C=8\n');
        const s = await sandbox();
        const all = await Promise.all(Array.from({ length: 50 }, (_, i) => s.commands.run(`echo ${i}-$C`)));
        all.forEach((a, i) => assert.deepEqual(texts(a.logs.stdout), [`${i}-8`]));
        assert.deepEqual((await d.list()).filter((p) => p.label === 'file'), []);
    });

    it('a file that is too large is refused, and nothing is started', async () => {
        for (const text of [`A=${'x'.repeat(65536)}`, Array.from({ length: 1001 }, (_, i) => `V${i}=1`).join('\n')]) {
            write(text);
            const a = await call(d, 'POST', '/command', { json: { command: 'echo ran' } });
            assert.equal(a.status, 500);
            assert.equal(a.json.code, 'RUNTIME_ERROR');
            assert.match(a.json.message, /EXECD_ENVS/);
        }
        write(`A=${'x'.repeat(65000)}`);
        assert.deepEqual(await run('echo ${#A}'), ['65000']);
    });
});
