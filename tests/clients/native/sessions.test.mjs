// SPDX-License-Identifier: Apache-2.0
// Sessions: a shell that stays, commands with exact results, and what ends them.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { before, it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { sessionCalls } from '../../lib/sessions.mjs';
import { waitUntil } from '../../lib/wait.mjs';

for (const shell of ['bash', 'sh']) {
    withDaemon(`sessions in ${shell}`, {}, (d) => {
        const { create, run, session, remove } = sessionCalls(d);
        let s;
        const go = (command, more) => run(s.id, command, more);
        before(async () => {
            s = await create({ shell, cwd: d.dir, env: { FROM_ENV: 'kept', HOME: null } });
        });

        it('is an object with a shell that is a process', async () => {
            assert.match(s.id, /^sess_[a-z2-7]{20}$/);
            assert.deepEqual([s.status, s.shell, s.commands, s.queued, s.running], ['idle', shell, 0, 0, null]);
            const p = await d.get(s.process_id);
            assert.deepEqual([p.pid, p.session_id, p.source, p.status], [s.pid, s.id, 'system', 'running']);
        });

        it('keeps directory, variables, functions and aliases over fifty commands', async () => {
            fs.mkdirSync(`${d.dir}/deep/er`, { recursive: true });
            await go('cd deep');
            await go('count=0; greet() { echo "hello $1"; }; export EXPORTED=yes');
            await go("alias say='echo said'");
            await go('cd er');
            for (let i = 1; i <= 50; i++) {
                const r = await go('count=$((count+1)); greet $count; say $count; pwd; sh -c "echo $EXPORTED $FROM_ENV"');
                assert.equal(r.stdout, `hello ${i}\nsaid ${i}\n${d.dir}/deep/er\nyes kept\n`);
                assert.deepEqual([r.exit_code, r.shell_replaced, r.cwd], [0, false, `${d.dir}/deep/er`]);
            }
            const now = await session(s.id);
            assert.deepEqual([now.pid, now.commands, now.cwd], [s.pid, 54, `${d.dir}/deep/er`]);
        });

        it('takes variables from env and removes those that are null', async () => {
            assert.equal((await go('echo "$FROM_ENV ${HOME-none} $HOLDFAST_SESSION_ID"')).stdout, `kept none ${s.id}\n`);
        });

        it('outputs are exact: no newline, nothing at all, both streams, bytes', async () => {
            assert.equal((await go('printf x')).stdout, 'x');
            assert.deepEqual(await go(':').then((r) => [r.stdout, r.stderr, r.output]), ['', '', '']);
            const both = await go('for i in 1 2 3; do echo o$i; echo e$i >&2; done');
            assert.equal(both.stdout, 'o1\no2\no3\n');
            assert.equal(both.stderr, 'e1\ne2\ne3\n');
            assert.equal([...both.output].sort().join(''), [...(both.stdout + both.stderr)].sort().join(''));
            const bytes = await go("printf '\\000\\001\\377\\n\\033[31m\\200'", { output_encoding: 'base64' });
            assert.equal(bytes.encoding, 'base64');
            assert.deepEqual(Buffer.from(bytes.stdout, 'base64'), Buffer.from('\0\x01\xff\n\x1b[31m\x80', 'latin1'));
        });

        it('a command may have any text: lines, quotes, backslashes, comments, here-documents', async () => {
            const text = 'cat <<\'EOF\'\n a\\nb "q" \'s\' $x `t`\n\tπ\\\\\nEOF\n# comment\necho "two\nlines" \\\n  more # end';
            assert.equal((await go(text)).stdout, ' a\\nb "q" \'s\' $x `t`\n\tπ\\\\\ntwo\nlines more\n');
            assert.equal((await go('  echo "  spaces  "  ')).stdout, '  spaces  \n');
            const long = `echo ${'x'.repeat(100000)}\n`;
            assert.equal((await go(long)).stdout.length, 100001);
        });

        it('exit codes are exact, and the next command sees the last', async () => {
            for (const code of [0, 1, 2, 77, 126, 255]) {
                assert.equal((await go(`(exit ${code})`)).exit_code, code);
                assert.equal((await go('echo $?')).stdout, `${code}\n`);
            }
            assert.equal((await go('no-such-program')).exit_code, 127);
            const bad = await go('if then');
            assert.notEqual(bad.exit_code, 0);
            assert.match(bad.stderr, /[Ss]yntax/);
            assert.equal(bad.shell_replaced, false);
            assert.equal((await go("sh -c 'kill -9 $$'")).exit_code, 137);
        });

        it('a thousand lines are whole when the answer comes', async () => {
            for (let i = 0; i < 20; i++) {
                const r = await go('seq 1 20000; printf end');
                assert.equal(r.stdout.length, 108894 + 3);
                assert.ok(r.stdout.endsWith('20000\nend'));
            }
        });

        it('stdin is empty unless it is given', async () => {
            assert.equal((await go('cat; read x; echo "$? $x"')).stdout, '1 \n');
            assert.equal((await go('cat', { stdin: 'a\n\\n$x\0π' })).stdout, 'a\n\\n$x\0π');
            const raw = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
            const r = await go('cat; echo; wc -c </dev/null', {
                stdin: raw.toString('base64'),
                stdin_encoding: 'base64',
                output_encoding: 'base64',
            });
            assert.deepEqual(Buffer.from(r.stdout, 'base64'), Buffer.concat([raw, Buffer.from('\n0\n')]));
            assert.equal((await go('wc -c', { stdin: '' })).stdout.trim(), '0');
            assert.equal((await go('wc -c', { stdin: 'y'.repeat(131072) })).stdout.trim(), '131072');
            assert.deepEqual(
                fs.readdirSync(d.dir).filter((f) => f.startsWith('.holdfast')),
                [],
            );
        });

        it('commands inherit nothing of the machinery, and cannot break it', async () => {
            assert.equal((await go('ls /proc/self/fd | tr "\\n" " "')).stdout, '0 1 2 3 ', 'and 3 is the directory');
            assert.equal((await go('exec >/dev/null 2>&1; echo silent')).output, '');
            assert.equal((await go('echo again; echo err >&2')).stdout, 'again\n');
            assert.equal((await go('exec 0</etc/passwd; exec 1>&- 2>&-')).exit_code, 0);
            assert.equal((await go('cat; echo again')).stdout, 'again\n');
            assert.equal((await go('read() { echo no; }; printf() { echo no; }')).exit_code, 0);
            assert.equal((await go('echo fine; unset -f read printf')).stdout, 'fine\n');
            const traced = await go('set -x; echo t; set +x');
            assert.equal(traced.stdout, 't\n');
            assert.match(traced.stderr, /^\++ echo t\n\++ set \+x\n$/);
            assert.equal((await go('IFS=0123456789; PATH=/nowhere; set -f -u; cd /')).exit_code, 0);
            assert.equal((await go('echo ok; PATH=/usr/bin:/bin; unset IFS; set +f +u')).stdout, 'ok\n');
        });

        it('exit 3 replaces the shell and says so', async () => {
            await go('lost=1; cd /');
            const r = await go('echo bye; exit 3');
            assert.deepEqual([r.stdout, r.exit_code, r.exit.kind, r.shell_replaced], ['bye\n', 3, 'exited', true]);
            const next = await go('echo "${lost-gone}"; pwd');
            assert.deepEqual([next.stdout, next.exit_code, next.shell_replaced], [`gone\n${d.dir}\n`, 0, false]);
            assert.notEqual(next.process_id, r.process_id);
            assert.equal((await d.get(r.process_id)).status, 'exited');
        });

        it('exec false, kill -9 of the shell, set -e: the same', async () => {
            const failed = await go('exec false');
            assert.deepEqual([failed.exit_code, failed.exit.kind, failed.shell_replaced], [1, 'exited', true]);
            const killed = await go('echo a; kill -9 $$');
            assert.deepEqual([killed.stdout, killed.exit_code, killed.shell_replaced], ['a\n', 137, true]);
            assert.deepEqual([killed.exit.kind, killed.exit.signal], ['signaled', 'SIGKILL']);
            const strict = await go('set -e; echo b; false; echo c');
            assert.deepEqual([strict.stdout, strict.exit_code, strict.shell_replaced], ['b\n', 1, true]);
            assert.equal((await go('echo on')).stdout, 'on\n');
        });

        it('a shell that dies between commands: the next answer says so', async () => {
            const { pid } = await session(s.id);
            process.kill(pid, 'SIGKILL');
            await waitUntil(async () => (await session(s.id)).pid === null, 'the end of the shell');
            const r = await go('echo back');
            assert.deepEqual([r.stdout, r.shell_replaced], ['back\n', true]);
            assert.equal((await go('echo back')).shell_replaced, false);
        });

        it('a time-out ends the command and nothing behind it is run', async () => {
            const mark = `${d.dir}/behind`;
            await go('kept=yes; slow() { sleep 300; touch "$1"; }');
            const before = (await session(s.id)).pid;
            for (const command of [
                'echo before; sleep 300; touch M',
                'echo before; slow M; touch M',
                'echo before; while :; do :; done; touch M',
                'echo before; while :; do sleep 300; touch M; done',
                'echo before; sleep 300 | cat; touch M',
                'echo before; x=$(sleep 300); touch M',
                'echo before; (sleep 300; touch M) && touch M || touch M',
                'echo before; sh -c "trap : TERM; sleep 300; sleep 300" ; touch M',
            ]) {
                const r = await go(command.replaceAll('M', mark), { timeout_ms: 150, grace_ms: 300 });
                assert.equal(r.timed_out, true, command);
                assert.deepEqual([r.exit.kind, r.exit.by, r.stdout], ['timed_out', 'timeout', 'before\n'], command);
                assert.equal(r.shell_replaced, shell !== 'bash', command);
                assert.ok(!fs.existsSync(mark), command);
                assert.equal((await go('echo still here')).stdout, 'still here\n', command);
                if (shell !== 'bash') await go('kept=yes; slow() { sleep 300; touch "$1"; }');
            }
            assert.equal((await go('echo $kept')).stdout, 'yes\n');
            if (shell === 'bash') assert.equal((await session(s.id)).pid, before);
        });

        it('a command that cannot be ended is ended with its shell', async () => {
            const r = await go("trap '' 16; while :; do :; done", { timeout_ms: 50, grace_ms: 0 });
            assert.deepEqual([r.exit.kind, r.exit_code, r.shell_replaced], ['timed_out', 137, true]);
            assert.equal((await go('echo on')).stdout, 'on\n');
        });

        it('an endless background child does not delay the answer, and outlives a time-out', async () => {
            const r = await go('sleep 300 & echo $!');
            const pid = Number(r.stdout);
            assert.equal(r.exit_code, 0);
            assert.ok(proc.isAlive(pid));
            const late = await go('sleep 300', { timeout_ms: 100, grace_ms: 1000 });
            assert.equal(late.timed_out, true);
            assert.ok(proc.isAlive(pid), 'it belongs to an earlier command');
            const noisy = await go('(while :; do echo noise; done) & echo $!');
            assert.match(noisy.stdout, /^(noise\n)*\d+\n/m);
            const quiet = Number(noisy.stdout.match(/^\d+$/m)[0]);
            // What it wrote before it died may come with the command that ends it, and not later.
            await go(`kill -9 ${quiet} ${pid}; wait ${quiet} ${pid}`);
            assert.equal((await go('echo clean')).output, 'clean\n');
        });

        it('a hundred megabytes are bounded, and the session goes on', async () => {
            const r = await go('head -c 104857600 /dev/zero | tr "\\0" z; echo; echo last', { max_output_bytes: 2000 });
            assert.equal(r.omitted_bytes, 104857600 + 6 - 2000);
            assert.equal(r.output.length, 2000);
            assert.ok(r.output.startsWith('zzz') && r.output.endsWith('z\nlast\n'));
            assert.equal(r.next - r.offset, 104857606);
            const items = (await d.api('GET', `/v1/sessions/${s.id}/transcript`, { expect: 200 })).json.items;
            const item = items.find((i) => i.number === r.number);
            assert.equal(
                item.output.head.data.length + item.output.tail.data.length + item.output.omitted_bytes,
                104857606,
            );
            assert.ok(item.output.omitted_bytes > 100000000);
            assert.equal((await go('echo small')).output, 'small\n');
        });

        it('commands that come at once are run one after the other', async () => {
            await go('n=0');
            const all = await Promise.all(
                Array.from({ length: 10 }, () => go('m=$n; sleep 0.01; n=$((m+1)); echo $n')),
            );
            // Ten connections: which of them is first is nobody's promise.
            assert.deepEqual(
                all.map((r) => Number(r.stdout)).sort((a, b) => a - b),
                [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            );
        });

        it('a client that goes away ends its command, unless it is to be kept', async () => {
            const leave = async (body) => {
                const c = await RawConn.connect(d);
                c.send(requestBytes(d, `POST /v1/sessions/${s.id}/run`, { body: JSON.stringify(body) }));
                await waitUntil(async () => (await session(s.id)).status === 'running', 'the command');
                const { number } = (await session(s.id)).running;
                c.destroy();
                await waitUntil(async () => (await session(s.id)).status === 'idle', 'its end', 15000);
                const { items } = (await d.api('GET', `/v1/sessions/${s.id}/transcript`, { expect: 200 })).json;
                return items.find((i) => i.number === number);
            };
            const gone = await leave({ command: 'sleep 300' });
            assert.deepEqual([gone.exit.kind, gone.exit.by], ['killed', 'detach']);
            const kept = await leave({ command: 'sleep 0.5; echo done', on_detach: 'keep' });
            assert.deepEqual([kept.exit_code, kept.output.head.data], [0, 'done\n']);
        });

        // A report longer than what was looked at in one go was thrown away, and its command never ended.
        it('a command ends however long $PWD is, and the directory is told in part', async () => {
            const t = await create({ shell });
            for (const length of [4097, 9000, 70000]) {
                const r = await run(t.id, `PWD=/$(printf '%0${length - 1}d' 0); echo ok; (exit 3)`, { timeout_ms: 30000 });
                assert.deepEqual([r.stdout, r.exit_code, r.shell_replaced], ['ok\n', 3, false]);
                assert.equal(r.cwd, `/${'0'.repeat(4095)}`);
            }
            assert.equal((await run(t.id, 'cd /; echo again', { timeout_ms: 30000 })).cwd, '/');
            await remove(t.id);
        });

        // So does one from a shell whose script tells all of it: that of an older daemon.
        it('a report that is longer than any of ours is taken and the rest of it dropped', async () => {
            const t = await create({ shell });
            const out = shell === 'bash' ? 248 : 8;
            await run(t.id, `__hf_report() { command printf '%s %s %s %s\\0' "$__hf_n" "$__hf_rc" "" "$PWD" >&${out}; }`);
            for (const length of [8180, 8192, 9000, 70000, 500000]) {
                const r = await run(t.id, `PWD=/$(printf '%0${length - 1}d' 0); (exit 3)`, { timeout_ms: 30000 });
                assert.deepEqual([r.exit_code, r.shell_replaced, r.cwd], [3, false, `/${'0'.repeat(4095)}`]);
            }
            assert.equal((await run(t.id, 'cd /; echo again', { timeout_ms: 30000 })).stdout, 'again\n');
            await remove(t.id);
        });

        it('its process takes no other input', async () => {
            await d.refused('stdin_closed', 'POST', `/v1/processes/${(await session(s.id)).process_id}/input`, {
                json: { data: '1\nexit\n-\n' },
            });
        });

        it('is deleted with its shell and its processes', async () => {
            const t = await create({ shell });
            const p = await d.sh('sleep 300', { session_id: t.id });
            const [, bg] = (await run(t.id, 'sleep 300 & echo pid $!')).stdout.split(' ');
            const running = run(t.id, 'echo begun; sleep 300');
            await waitUntil(async () => (await session(t.id)).status === 'running', 'the command');
            const waiting = d.refused('no_such_session', 'POST', `/v1/sessions/${t.id}/run`, { json: { command: ':' } });
            await waitUntil(async () => (await session(t.id)).queued === 1, 'the second');
            const gone = await remove(t.id);
            assert.deepEqual(gone, { ended: 2, survivors: [] });
            assert.deepEqual([(await running).exit.kind, (await running).exit.by], ['killed', 'api']);
            await waiting;
            for (const pid of [p.pid, t.pid, Number(bg)]) assert.ok(!proc.isAlive(pid));
            assert.equal((await d.get(p.id)).status, 'exited');
            await d.refused('no_such_process', 'GET', `/v1/processes/${t.process_id}`);
            await d.refused('no_such_session', 'GET', `/v1/sessions/${t.id}`);
            await create({ id: t.id });
            await remove(t.id);
        });
    });
}
