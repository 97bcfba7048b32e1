// SPDX-License-Identifier: Apache-2.0
// What users get: the packed package in an empty project, the README's example, and types that hold.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from '../../lib/test.mjs';
import { root, withDaemon } from '../../lib/daemon.mjs';

const sdk = path.join(root, 'sdk/typescript');
const tests = path.join(root, 'tests');

/** What a command printed; all of it is in the error if it fails. */
function spawned(command, args, options) {
    const { status, stdout, stderr } = spawnSync(command, args, options);
    if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}:\n${stdout}${stderr}`);
    return stdout;
}

/** Code blocks of the README, by the words of their fence. */
function blocks(fence) {
    const text = fs.readFileSync(path.join(sdk, 'README.md'), 'utf8');
    return [...text.matchAll(new RegExp('```' + fence + '\\n([\\s\\S]*?)```', 'g'))].map((m) => m[1]);
}

withDaemon('the package', {}, (d) => {
    let dir;
    const run = (command, args, options = {}) =>
        spawned(command, args, { cwd: dir, encoding: 'utf8', timeout: 120_000, ...options });

    before(() => {
        dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-pack-'));
        const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], { cwd: sdk }));
        fs.writeFileSync(path.join(dir, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
        run('npm', ['install', '--no-audit', '--no-fund', '--offline', `./${filename}`]);
        // On Node 20 a WebSocket is passed in; the project has the package `ws` for that.
        fs.symlinkSync(path.join(tests, 'node_modules/ws'), path.join(dir, 'node_modules/ws'));
    });
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('installs into an empty project without a dependency, and the example of the README works', () => {
        assert.deepEqual(fs.readdirSync(path.join(dir, 'node_modules')).filter((n) => !n.startsWith('.')).sort(), ['@holdfast', 'ws']);
        const [example] = blocks('js example');
        fs.writeFileSync(path.join(dir, 'example.js'), example);
        const out = run('node', ['example.js'], { env: { ...process.env, HOLDFAST_URL: d.url, HOLDFAST_TOKEN: d.token } });
        assert.match(out, /hello from the sandbox/);
        assert.match(out, /exit code 3/);
    });

    it('its types are complete: the examples compile, and a field that the daemon does not have does not', () => {
        const tsc = path.join(sdk, 'node_modules/typescript/bin/tsc');
        const check = (name, text) => {
            fs.writeFileSync(path.join(dir, name), text);
            const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom,dom.asynciterable'];
            return run('node', [tsc, ...flags, name]);
        };
        check(
            'good.ts',
            `import { Sandbox, type api } from '@holdfast/sdk';
             import { HoldfastAddon, SandboxAddon } from '@holdfast/sdk/xterm';
             const s = new Sandbox({ url: 'http://127.0.0.1:1' });
             const t = await s.terminal.create({ command: 'bash', rows: 24, cols: 80, timeoutMs: 1000, sizePolicy: 'smallest' });
             const code: number | null = t.current.exitCode;
             for await (const e of (await t.attach()).events()) {
                 if (e.type === 'output') { const b: Uint8Array = e.data; void b; }
                 else if (e.type === 'exit') { const r: boolean = e.status.running; void r; }
             }
             await t.attach({ name: 'me', verbatim: true, silenceMs: 0 });
             await t.waitFor([{ echoOff: true }, { port: 80, any: true }, { quietMs: 5 }]);
             const screen: string = await t.screen({ format: 'text', scrollback: 100 });
             const { token }: { token: string } = await t.links.create({ role: 'watch', maxUses: 1, expiresInMs: 1000 });
             const session = await s.sessions.create({ cwd: '/' });
             const shell: string = session.current.processId;
             const ran = await session.run('cat', { stdin: 'x', maxOutputBytes: 5, onDetach: 'keep' });
             const replaced: boolean = ran.shellReplaced;
             void [screen, token, shell, replaced];
             const p: api.Process | undefined = undefined;
             const a: SandboxAddon = new HoldfastAddon({ getWebSocketUrl: ({ sandboxId, sessionId, origin }) => origin + sandboxId + sessionId });
             a.connect({ sandboxId: 'x', sessionId: 'y' });
             void [code, p];`,
        );
        const bad = (call) => () => check('bad.ts', `import { Sandbox } from '@holdfast/sdk'; const s = new Sandbox(); ${call};`);
        assert.throws(bad('await s.terminal.create({ timoutMs: 5 })'), /timoutMs/);
        assert.throws(bad(`await (await s.terminal.get('x')).links.create({ role: 'own' })`), /own/);
    });

    it('the generated types are those of the daemon\'s own document', async () => {
        const { generate } = await import(path.join(sdk, 'scripts/generate.mjs'));
        const served = (await d.request('GET', '/openapi.json')).json;
        const made = generate(served);
        assert.equal(fs.readFileSync(path.join(sdk, 'src/api.gen.ts'), 'utf8'), made);
        for (const name of Object.keys(served.components.schemas)) assert.match(made, new RegExp(`export type ${name} =`));
    });
});
