// SPDX-License-Identifier: Apache-2.0
// Bash sessions of the published OpenSandbox SDK, on the engine's sessions.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { bare, call, refused, texts, withSandbox } from '../../lib/opensandbox.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withSandbox('opensandbox: sessions', {}, (d, sandbox) => {
    const open = async (options) => {
        const s = await sandbox();
        const id = await s.commands.createSession(options);
        const run = async (command, o) => {
            const a = await s.commands.runInSession(id, command, o);
            return Object.assign(a, { out: texts(a.logs.stdout) });
        };
        return { s, id, run, close: () => s.commands.deleteSession(id) };
    };

    it('directory and exports stay, functions too; streams come in order, as stdout', async () => {
        const x = await open();
        const a = await x.run('cd /usr; export A=1; f() { echo "f $1"; }');
        assert.equal(a.exitCode, 0);
        assert.equal(a.id, x.id);
        assert.deepEqual((await x.run('pwd; echo $A; f 2')).out, ['/usr', '1', 'f 2']);
        const b = await x.run('for i in 1 2 3; do echo o$i; echo e$i >&2; done');
        assert.deepEqual(b.out, ['o1', 'e1', 'o2', 'e2', 'o3', 'e3']);
        assert.deepEqual(b.logs.stderr, []);
        assert.deepEqual((await x.run("echo 'it'\\''s'; echo \"a\\\\b\"")).out, ["it's", 'a\\b']);
        assert.equal((await x.run('false')).exitCode, 1);
        await x.close();
        await refused(x.close(), 404, 'CONTEXT_NOT_FOUND');
        await refused(x.run('echo x'), 500, 'RUNTIME_ERROR');
    });

    it('exit reports its status, and the session lives on with its state', async () => {
        const x = await open();
        await x.run('cd /usr/lib; export KEPT="a b"; export QUOTE="it\'s"');
        const a = await x.run('echo before; exit 4; echo never');
        assert.equal(a.exitCode, 4);
        assert.deepEqual(a.out, ['before']);
        assert.deepEqual((await x.run('pwd; echo "$KEPT $QUOTE"')).out, ['/usr/lib', "a b it's"]);
        assert.equal((await x.run('set -e; false; echo never')).exitCode, 1);
        assert.deepEqual((await x.run('pwd; echo "$KEPT"; true')).out, ['/usr/lib', 'a b']);
        await x.close();
        assert.deepEqual(fs.readdirSync(d.dir).filter((f) => f.startsWith('.sess')), [], 'files left behind');
    });

    it('a directory for the session is made, one for a command must be there and sticks', async () => {
        const deep = path.join(d.dir, "it's/deep dir");
        const x = await open({ workingDirectory: deep });
        assert.deepEqual((await x.run('pwd')).out, [deep]);
        assert.deepEqual((await x.run('pwd', { workingDirectory: '/usr' })).out, ['/usr']);
        assert.deepEqual((await x.run('pwd')).out, ['/usr']);
        await refused(x.run('pwd', { workingDirectory: '/no/such' }), 400, 'INVALID_REQUEST_BODY');
        assert.deepEqual((await x.run('pwd')).out, ['/usr']);
        await refused(open({ workingDirectory: '/proc/no/such' }), 500, 'RUNTIME_ERROR');
        await x.close();
    });

    /* The directory was entered in one turn and the command queued in another: runs at once printed each other's. */
    it('commands that are asked for at once run each in its own directory', async () => {
        const x = await open();
        const dirs = ['/tmp', '/usr', '/etc', '/var', '/'];
        for (let i = 0; i < 5; i++) {
            const all = await Promise.all(dirs.map((workingDirectory) => x.run('pwd', { workingDirectory })));
            assert.deepEqual(all.map((a) => a.out[0]), dirs);
        }
        await x.close();
    });

    /** Holds the session until it is let go. */
    const holdBack = async (x, name) => {
        const go = path.join(d.dir, name);
        const held = x.run(`until test -e ${go}; do sleep 0.01; done`);
        await waitUntil(async () => (await d.api('GET', `/v1/sessions/${x.id}`)).json.status === 'running', 'the command in front');
        return () => (fs.writeFileSync(go, ''), held);
    };

    /* The head came when the queue had been worked off; the SDK gives up after 30 s without one. */
    it('who waits behind another command is answered at once, and a directory that is not there then is the result', async () => {
        const x = await open();
        const soon = path.join(d.dir, 'made-meanwhile');
        const letGo = await holdBack(x, 'queue-go');
        const [made, missing] = [soon, '/no/such'].map((cwd) => bare(d, 'POST', `/session/${x.id}/run`, { command: 'pwd; echo ran', cwd }));
        const heads = await Promise.all([made.response, missing.response]);
        assert.deepEqual(heads.map((r) => r.statusCode), [200, 200]);
        fs.mkdirSync(soon);
        await letGo();
        const [a, b] = await Promise.all(
            heads.map(async (r) => {
                let text = '';
                for await (const part of r) text += part;
                return text.trim().split('\n\n').map((l) => JSON.parse(l)).filter((e) => e.type !== 'ping');
            }),
        );
        assert.deepEqual(a.map((e) => e.text ?? e.type), [x.id, soon, 'ran', 'execution_complete']);
        assert.deepEqual(b.map((e) => e.type), ['init', 'stdout', 'error']);
        assert.match(b[1].text, /\/no\/such/);
        assert.deepEqual([b[2].error.evalue, b[2].error.traceback], ['1', ['exit status 1']]);
        assert.deepEqual((await x.run('pwd')).out, [soon], 'the session is where it was');
        await x.close();
    });

    it('who goes while it waits is passed over, its directory too', async () => {
        const x = await open({ workingDirectory: d.dir });
        const letGo = await holdBack(x, 'gone-go');
        const gone = bare(d, 'POST', `/session/${x.id}/run`, { command: 'echo never >never', cwd: '/usr' });
        await gone.response;
        gone.rq.destroy();
        await waitUntil(async () => (await d.api('GET', `/v1/sessions/${x.id}`)).json.queued === 0, 'it to be dropped');
        await letGo();
        assert.deepEqual((await x.run('pwd; ls never 2>/dev/null')).out, [d.dir]);
        await x.close();
    });

    /* The next shell was told of the last one's state behind all that waited already. */
    it('what waits behind an exit has the state of the shell before, whoever asked for the exit', async () => {
        const x = await open();
        const left = x.run('cd /usr/lib; export KEPT=1; exit 3');
        const next = x.run('pwd; echo "$KEPT"');
        assert.equal((await left).exitCode, 3);
        assert.deepEqual((await next).out, ['/usr/lib', '1']);
        const native = d.api('POST', `/v1/sessions/${x.id}/run`, { json: { command: 'cd /usr; sleep 0.2; exit 4' }, expect: 200 });
        await waitUntil(async () => (await d.api('GET', `/v1/sessions/${x.id}`)).json.status === 'running', 'the exit');
        const [a, b] = await Promise.all([x.run('pwd; echo "$KEPT"'), x.run('pwd; echo "$KEPT"', { workingDirectory: 'lib' })]);
        assert.equal((await native).json.exit_code, 4);
        assert.deepEqual([a.out, b.out], [['/usr', '1'], ['/usr/lib', '1']]);
        await x.close();
    });

    it('a time-out is a time-out: the command goes, the session stays', async () => {
        const x = await open();
        await x.run('export A=1');
        const a = await x.run('echo a; sleep 1000; echo never', { timeoutSeconds: 2 });
        assert.equal(a.exitCode, -1);
        assert.deepEqual(a.out.filter((l) => l !== 'Terminated'), ['a']); /* which bash says of the sleep */
        assert.deepEqual((await x.run('echo $A')).out, ['1']);
        await waitUntil(() => !proc.descendantsOf(d.pid).some((p) => p.name === 'sleep' && p.state !== 'Z'), 'no survivor');
        await x.close();
    });

    it('output comes as it is written, markers of other protocols too', async () => {
        const x = await open();
        const go = path.join(d.dir, 'session-go');
        const seen = [];
        for await (const ev of x.s.commands.runInSessionStream(x.id, `echo first; until test -e ${go}; do sleep 0.01; done; echo __EXIT_CODE__:7; echo __PWD__:/x; echo; echo last`)) {
            seen.push(ev.type === 'stdout' ? ev.text : ev.type);
            if (ev.text === 'first') fs.writeFileSync(go, '');
        }
        assert.deepEqual(seen.filter((t) => t !== 'ping'), ['init', 'first', '__EXIT_CODE__:7', '__PWD__:/x', '\n', 'last', 'execution_complete']);
        const many = await x.run('seq 1 50000');
        assert.equal(many.out.length, 50000);
        assert.equal(many.out.at(-1), '50000');
        await x.close();
    });

    it('a client that goes ends its command; deleting ends all', async () => {
        const x = await open();
        const cut = bare(d, 'POST', `/session/${x.id}/run`, { command: 'sleep 63' });
        await waitUntil(() => proc.descendantsOf(d.pid).some((p) => p.name === 'sleep'), 'the command');
        cut.rq.destroy();
        await waitUntil(() => !proc.descendantsOf(d.pid).some((p) => p.name === 'sleep'), 'the end of the command');
        assert.deepEqual((await x.run('echo alive')).out, ['alive']);
        const left = x.run('sleep 64');
        await waitUntil(() => proc.descendantsOf(d.pid).some((p) => p.name === 'sleep'), 'the next one');
        await x.close();
        assert.equal((await left).exitCode, -1);
        await waitUntil(() => !proc.descendantsOf(d.pid).some((p) => p.name === 'sleep'), 'the end of all');
    });

    it('is the same session as the native one, and the other way round', async () => {
        const x = await open();
        await x.run('export A=shared');
        const native = await d.api('POST', `/v1/sessions/${x.id}/run`, { json: { command: 'echo $A' }, expect: 200 });
        assert.equal(native.json.stdout, 'shared\n');
        await x.close();
        const made = (await d.api('POST', '/v1/sessions', { json: { id: 'mine' }, expect: 201 })).json;
        const s = await sandbox();
        assert.deepEqual(texts((await s.commands.runInSession(made.id, 'echo here; exit 3')).logs.stdout), ['here']);
        await s.commands.interrupt(made.id);
        assert.equal((await d.request('GET', `/v1/sessions/${made.id}`)).status, 404);
    });

    it('bad bodies are refused', async () => {
        const x = await open();
        for (const json of [{}, { command: '' }, { command: 'x', timeout: -1 }, { command: 5 }, '{', '[]']) {
            const a = await call(d, 'POST', `/session/${x.id}/run`, { json });
            assert.equal(a.status, 400, JSON.stringify(json));
            assert.equal(a.json.code, 'INVALID_REQUEST_BODY');
        }
        assert.equal((await call(d, 'POST', '/session', { json: { cwd: 5 } })).status, 400);
        assert.equal((await call(d, 'DELETE', '/session/nothing')).status, 404);
        await x.close();
    });
});
