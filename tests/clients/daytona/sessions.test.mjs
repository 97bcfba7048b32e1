// SPDX-License-Identifier: Apache-2.0
// Daytona's sessions: a long-lived shell, commands one after the other, input while they run.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, clientsOf, exitOf, follow, refused, startAsync } from './client.mjs';

withDaemon('daytona: sessions', {}, (d) => {
    const client = clientsOf(d);
    const at = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${at(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(at(name), '');

    it('made once, listed, told, deleted; unknown ones are not found', async () => {
        const p = await client.process();
        await p.createSession('one');
        await refused(p.createSession('one'), 'DaytonaConflictError', /one/);
        await p.executeSessionCommand('one', { command: 'true' });
        const [{ sessionId, commands }] = await p.listSessions();
        assert.deepEqual([sessionId, commands.map((c) => [c.command, c.exitCode])], ['one', [['true', 0]]]);
        assert.deepEqual(await p.getSession('one'), { sessionId, commands });
        await p.deleteSession('one');
        assert.deepEqual(await p.listSessions(), []);
        for (const call of [
            () => p.getSession('one'),
            () => p.deleteSession('one'),
            () => p.executeSessionCommand('one', { command: 'true' }),
            () => p.getSessionCommand('one', 'x'),
            () => p.getSessionCommandLogs('one', 'x'),
            () => p.sendSessionCommandInput('one', 'x', 'y'),
        ])
            await refused(call(), 'DaytonaProcessNotFoundError', /one/);
        await refused(p.createSession('entrypoint'), 'DaytonaValidationError', /entrypoint/);
        await refused(p.createSession('not/a name'), 'DaytonaValidationError');
        await refused(p.getEntrypointSession(), 'DaytonaProcessNotFoundError');
        await p.createSession('one');
        await refused(p.getSessionCommand('one', 'nope'), 'DaytonaProcessNotFoundError', /nope/);
        await p.deleteSession('one');
    });

    it('directory, variables and functions stay; the streams come apart with the code', async () => {
        const p = await client.process();
        await p.createSession('s');
        const first = await p.executeSessionCommand('s', { command: 'cd /tmp; export Q=7; f() { echo "f $1"; }' });
        assert.deepEqual([first.exitCode, first.stdout, first.stderr], [0, '', '']);
        const got = await p.executeSessionCommand('s', { command: 'pwd; f $Q; echo bad >&2; (exit 9)' });
        assert.deepEqual([got.exitCode, got.stdout, got.stderr], [9, '/tmp\nf 7\n', 'bad\n']);
        assert.deepEqual(await p.getSessionCommandLogs('s', got.cmdId), { output: got.output, stdout: got.stdout, stderr: got.stderr });
        assert.match(got.output, /\x01\x01\x01\/tmp\nf 7\n/);
        assert.match(got.output, /\x02\x02\x02bad\n/);
        assert.equal((await p.getSessionCommand('s', got.cmdId)).exitCode, 9);
        await p.deleteSession('s');
    });

    it('what reads gets the end at once; here-documents and quotes are as they are', async () => {
        const p = await client.process();
        await p.createSession('s');
        const run = async (command) => (await within(p.executeSessionCommand('s', { command }), 20000, command)).stdout;
        assert.equal(await run('cat; echo over'), 'over\n');
        assert.equal(await run('cat <<\'E\'\n$x `y` "z"\nE\necho after'), '$x `y` "z"\nafter\n');
        assert.equal(await run("echo 'it''s' \\\\ \"a\tb\""), 'its \\ a\tb\n');
        await refused(run(' \n'), 'DaytonaValidationError', /command/);
        await p.deleteSession('s');
    });

    it('runAsync answers at once, and there is no code before the end', async () => {
        const p = await client.process();
        await p.createSession('s');
        const answer = await p.executeSessionCommand('s', { command: `${until('go')}; cd /; exit_later() { return 6; }; exit_later`, runAsync: true });
        assert.deepEqual([answer.stdout, answer.stderr, answer.exitCode ?? null], ['', '', null]);
        assert.equal('exitCode' in (await p.getSessionCommand('s', answer.cmdId)), false);
        // Behind it another waits, with an id already; input for it is too early.
        const second = await startAsync(p, 's', 'echo in $PWD; read x; echo "<$x>"');
        assert.deepEqual((await p.getSession('s')).commands.map((c) => [c.id, c.exitCode]), [[answer.cmdId, undefined], [second, undefined]]);
        assert.equal('exitCode' in (await p.getSessionCommand('s', second)), false);
        assert.deepEqual(await p.getSessionCommandLogs('s', second), { output: '', stdout: '', stderr: '' });
        await refused(p.sendSessionCommandInput('s', second, 'early'), 'DaytonaConflictError', /not started/);
        const seen = follow(p, 's', second);
        allow('go');
        assert.equal(await exitOf(p, 's', answer.cmdId), 6);
        await waitUntil(() => seen.stdout === 'in /\n', 'the second one to begin');
        await p.sendSessionCommandInput('s', second, 'in time');
        await within(seen.end, 10000, 'its end');
        assert.equal(seen.stdout, 'in /\nin time\n<in time>\n');
        await p.deleteSession('s');
    });

    for (const shell of ['bash', 'sh']) {
        it(`input reaches the command that runs, and no other (${shell})`, async () => {
            const p = await client.process();
            // One that another dialect has made, with its shell, is a session here too.
            const made = await d.api('POST', '/v1/sessions', { json: { id: 'typed', shell }, expect: 201 });
            assert.equal(made.json.id, 'typed');
            await p.executeSessionCommand('typed', { command: 'sleep 500 & kept=$!' });
            let id = await startAsync(p, 'typed', `read -r a; read -r b; printf '%s\\n' "$a|$b"; [ "$!" = "$kept" ] && echo same; kill $!`, { suppressInputEcho: true });
            const seen = follow(p, 'typed', id);
            await p.sendSessionCommandInput('typed', id, 'one');
            await p.sendSessionCommandInput('typed', id, 'two \\n $(x) \u00e9\n12\n34\nnever read\n');
            await within(seen.end, 10000, 'the end');
            assert.deepEqual([seen.stdout, seen.stderr], ['one|two \\n $(x) \u00e9\nsame\n', '']);
            assert.equal(await exitOf(p, 'typed', id), 0);
            await refused(p.sendSessionCommandInput('typed', id, 'x'), 'DaytonaCommandAlreadyCompletedError');
            assert.equal((await p.executeSessionCommand('typed', { command: 'echo next; cat' })).stdout, 'next\n');
            // Bytes of every kind, and more than the queue holds.
            const text = 'a\u0000\u0001\t"\'\\0123 \u00e9\n'.repeat(15000);
            id = await startAsync(p, 'typed', `head -c ${Buffer.byteLength(text)} | cksum; echo done`, { suppressInputEcho: true });
            const all = follow(p, 'typed', id);
            await p.sendSessionCommandInput('typed', id, text);
            await within(all.end, 60000, 'the end');
            fs.writeFileSync(at('text'), text);
            const want = await p.executeSessionCommand('typed', { command: `cksum <${at('text')}; echo done` });
            assert.equal(all.stdout, want.stdout);
            await p.deleteSession('typed');
        });
    }

    it('input is told in the log unless it is to be hidden', async () => {
        const p = await client.process();
        await p.createSession('s');
        const id = await startAsync(p, 's', 'read -r x; echo "got $x"');
        const seen = follow(p, 's', id);
        await p.sendSessionCommandInput('s', id, 'abc');
        await within(seen.end, 10000, 'the end');
        assert.equal(seen.stdout, 'abc\ngot abc\n');
        await p.deleteSession('s');
    });

    it('exit ends the shell, with its code, and the session says so', async () => {
        const p = await client.process();
        await p.createSession('s');
        assert.equal((await p.executeSessionCommand('s', { command: 'echo bye; exit 3' })).exitCode, 3);
        await refused(p.executeSessionCommand('s', { command: 'true' }), 'DaytonaSessionEndedError', /ended/);
        assert.equal((await p.getSession('s')).commands[0].exitCode, 3);
        assert.equal((await p.getSessionCommandLogs('s', (await p.getSession('s')).commands[0].id)).stdout, 'bye\n');
        await p.deleteSession('s');
        await p.createSession('s');
        const id = await startAsync(p, 's', 'read x; exit 4');
        await p.sendSessionCommandInput('s', id, '');
        assert.equal(await exitOf(p, 's', id), 4);
        await p.deleteSession('s');
        const left = () => proc.withEnv(d.mark).filter((pid) => ['bash', 'sh'].includes(proc.cmdline(pid)[0]));
        await waitUntil(() => left().length === 0, 'nobody to be left');
    });

    it('delete ends all that runs in it, and those who follow', async () => {
        const p = await client.process();
        await p.createSession('s');
        const id = await startAsync(p, 's', 'echo up; setsid nohup sleep 1001 & sleep 1000');
        const waiting = await startAsync(p, 's', 'echo never');
        const seen = [follow(p, 's', id), follow(p, 's', waiting)];
        await waitUntil(() => seen[0].stdout.includes('up\n'), 'it to run');
        const sync = refused(p.executeSessionCommand('s', { command: 'echo no' }), 'DaytonaSessionEndedError', /deleted/);
        await waitUntil(async () => (await p.getSession('s')).commands.length === 3, 'all three');
        await within(p.deleteSession('s'), 12000, 'the delete');
        await within(Promise.all([...seen.map((s) => s.end), sync]), 10000, 'those who wait');
        assert.deepEqual([seen[1].stdout, await p.listSessions()], ['', []]);
        assert.ok(!proc.withEnv(d.mark).some((pid) => proc.cmdline(pid).includes('sleep')), 'none is left');
    });

    it('older clients get logs as they read them', async () => {
        const p = await client.process();
        await p.createSession('s');
        const { cmdId } = await p.executeSessionCommand('s', { command: 'echo out; sleep 0.1; echo err >&2' });
        const logs = async (headers) => {
            const a = await d.request('GET', `${BASE}/process/session/s/command/${cmdId}/logs`, { headers });
            return [a.type, a.text];
        };
        assert.deepEqual(await logs({}), ['text/plain', 'out\nerr\n']);
        assert.deepEqual(await logs({ 'X-Daytona-SDK-Version': '0.26.0' }), ['text/plain', 'out\nerr\n']);
        const marked = '\x01\x01\x01out\n\x02\x02\x02err\n';
        assert.deepEqual(await logs({ 'X-Daytona-Split-Output': 'true' }), ['text/plain', marked]);
        assert.deepEqual(await logs({ 'X-Daytona-SDK-Version': '0.100.0' }), ['text/plain', marked]);
        assert.equal((await logs({ 'X-Daytona-SDK-Version': '0.167.0' }))[0], 'application/json');
        const old = await d.request('POST', `${BASE}/process/session/s/exec`, { json: { command: 'echo hi', async: false } });
        assert.deepEqual([old.status, old.json.output, Object.keys(old.json)], [200, 'hi\n', ['cmdId', 'output', 'exitCode']]);
        await p.deleteSession('s');
    });

    it('commands of other dialects in the same shell are seen, and theirs sees ours', async () => {
        const p = await client.process();
        await p.createSession('both');
        await p.executeSessionCommand('both', { command: 'v=ours' });
        const theirs = await d.request('POST', '/v1/sessions/both/run', { json: { command: 'echo $v' } });
        assert.equal(theirs.json.stdout, 'ours\n');
        const commands = (await p.getSession('both')).commands;
        assert.deepEqual(commands.map((c) => c.command), ['v=ours', 'echo $v']);
        assert.equal((await p.getSessionCommandLogs('both', commands[1].id)).stdout, 'ours\n');
        await p.deleteSession('both');
    });
});
