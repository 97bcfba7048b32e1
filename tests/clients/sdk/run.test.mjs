// SPDX-License-Identifier: Apache-2.0
// run() and exec(): a command from its start to its end, however long it takes and whatever happens to the line.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { ConnectionError, impatient, InvalidRequestError, NotFoundError, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('run and exec', {}, (d) => {
    const named = (tag) => sandboxOf(d).processes.get(`tag:${tag}`);

    it('waits for longer than one request may take', async () => {
        const result = await sandboxOf(d, { fetch: impatient(1000) }).exec('sleep 3; echo finished');
        assert.equal(result.stdout, 'finished\n');
        assert.equal(result.exitCode, 0);
        assert.equal(result.process.status, 'exited');
    });

    it('answers what the daemon\'s own call answers', async () => {
        const line = (command, more = {}) => ({ command, shell: true, ...more });
        const wanted = [
            line('echo out; echo err >&2; exit 7'),
            line('printf "\\357\\273\\277bom \\377 \\303"', {}),
            line('printf "\\377\\000\\001"', { output_encoding: 'base64' }),
            line('i=0; while [ $i -lt 400 ]; do printf "é€😀"; i=$((i+1)); done', { max_output_bytes: 1000 }),
            line('i=0; while [ $i -lt 400 ]; do printf "é€😀"; i=$((i+1)); done', { max_output_bytes: 1001, output_encoding: 'base64' }),
            line('echo much', { max_output_bytes: 0 }),
            line('echo much', { max_output_bytes: 1 }),
            line('head -c 3000000 /dev/zero | tr "\\0" x; echo end'),
            line('echo on a terminal; echo err >&2', { pty: true }),
            line('cat; pwd', { input: 'typed\n', cwd: '/' }),
            line('kill -9 $$'),
            line('sleep 60', { timeout_ms: 50, grace_ms: 0 }),
        ];
        for (const json of wanted) {
            const headers = { Authorization: `Bearer ${d.token}`, 'Content-Type': 'application/json' };
            const answer = await (await fetch(`${d.url}/v1/processes/run`, { method: 'POST', headers, body: JSON.stringify(json) })).json();
            const { output_encoding: outputEncoding, max_output_bytes: maxOutputBytes, timeout_ms: timeoutMs, grace_ms: graceMs, ...rest } = json;
            const { process, ...got } = await sandboxOf(d).processes.run({ ...rest, outputEncoding, maxOutputBytes, timeoutMs, graceMs });
            const { core_dumped: coreDumped, ...exit } = answer.exit;
            assert.deepEqual(
                got,
                {
                    stdout: answer.stdout,
                    stderr: answer.stderr,
                    output: answer.output,
                    encoding: answer.encoding,
                    exit: { ...exit, coreDumped },
                    exitCode: answer.exit_code,
                    timedOut: answer.timed_out,
                    omittedBytes: answer.omitted_bytes,
                },
                json.command,
            );
            assert.equal(process.exitCode, answer.process.exit_code);
            assert.equal(process.retainMs, answer.process.retain_ms);
        }
        await assert.rejects(sandboxOf(d).exec('true', { maxOutputBytes: -1 }), (e) => e instanceof InvalidRequestError && e.problem.field === 'max_output_bytes');
        await assert.rejects(sandboxOf(d).exec('true', { outputEncoding: 'hex' }), (e) => e instanceof InvalidRequestError && e.code === 'bad_value');
    });

    it('ends the command when it is aborted, also one that does not want to, and keeps it if told so', async () => {
        const aborted = async (command, options) => {
            const stop = new AbortController();
            const running = sandboxOf(d).exec(command, { ...options, signal: stop.signal });
            await waitUntil(() => named(options.tag).then((p) => p.current.viewers > 0), 'the command to be followed');
            stop.abort();
            await assert.rejects(running, { name: 'AbortError' });
            return named(options.tag);
        };
        const meek = await aborted('sleep 60', { tag: 'meek' });
        assert.equal((await meek.wait({ timeoutMs: 10_000 })).exit.signal, 'SIGTERM');
        const stubborn = await aborted('trap "" TERM; while :; do sleep 0.1; done', { tag: 'stubborn', graceMs: 200 });
        assert.equal((await stubborn.wait({ timeoutMs: 10_000 })).exit.signal, 'SIGKILL');
        const kept = await aborted('read line; echo "$line"', { tag: 'kept', stdin: 'pipe', onDetach: 'keep' });
        await kept.input('still here\n');
        assert.equal((await kept.wait({ timeoutMs: 10_000, includeOutput: true })).text, 'still here\n');
    });

    it('ends what was started when it is aborted during the start', async () => {
        const stop = new AbortController();
        const running = sandboxOf(d).exec('sleep 60', { tag: 'early', signal: stop.signal });
        stop.abort();
        await assert.rejects(running, { name: 'AbortError' });
        const early = await waitUntil(() => named('early').catch(() => null), 'the start');
        assert.equal((await early.wait({ timeoutMs: 10_000 })).running, false);
    });

    it('goes on over kills of the worker, and has every byte', async () => {
        const running = sandboxOf(d).exec('i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done; sleep 1; echo end', { tag: 'long' });
        await waitUntil(() => named('long').then((p) => p.current.viewers > 0), 'the command to be followed');
        for (let i = 0; i < 2; i++) {
            const pid = d.workerPid();
            process.kill(pid, 'SIGKILL');
            await d.nextWorker(pid);
        }
        d.agent.destroy();
        const { stdout, exitCode, omittedBytes } = await running;
        assert.equal(stdout, `${Array.from({ length: 30_000 }, (_, i) => i).join('\n')}\nend\n`);
        assert.equal(exitCode, 0);
        assert.equal(omittedBytes, 0);
    });

    it('of a command whose record is not kept, everything is told all the same', async () => {
        const result = await sandboxOf(d).exec('echo short', { retainMs: 0 });
        assert.equal(result.stdout, 'short\n');
        assert.equal(result.process.retainMs, 0);
        await waitUntil(() => sandboxOf(d).processes.get(result.process.id).then(() => false, (e) => e.status === 404), 'the record to be dropped');
    });

    it('onOutput has every byte with its stream as it comes, of a command and of one in a session', async () => {
        const session = await sandboxOf(d).sessions.create();
        const ways = {
            exec: (line, options) => sandboxOf(d).exec(line, options),
            session: (line, options) => session.run(line, options),
        };
        for (const [way, call] of Object.entries(ways)) {
            const go = path.join(d.dir, `go ${way}`);
            const told = { stdout: [], stderr: [] };
            const running = call(`printf 'a\\377'; echo err >&2; until [ -e '${go}' ]; do sleep 0.05; done; seq 30000`, {
                maxOutputBytes: 100,
                onOutput: (e) => told[e.stream].push(Buffer.from(e.data)),
            });
            const text = (stream) => Buffer.concat(told[stream]);
            await waitUntil(() => text('stdout').length === 2 && text('stderr').length === 4, `output of ${way} while it runs`);
            fs.writeFileSync(go, '');
            const { omittedBytes, stderr } = await running;
            const all = Buffer.from(`a?${Array.from({ length: 30_000 }, (_, i) => `${i + 1}\n`).join('')}`);
            all[1] = 0xff;
            assert.ok(text('stdout').equals(all), way);
            assert.equal(stderr, 'err\n');
            assert.ok(omittedBytes > all.length - 100);
        }
        await session.remove();
    });

    it('an onOutput that throws ends the command, and the call with what it threw', async () => {
        const session = await sandboxOf(d).sessions.create();
        const onOutput = () => {
            throw new RangeError('no more');
        };
        await assert.rejects(sandboxOf(d).exec('echo one; sleep 1000', { tag: 'thrown', onOutput }), RangeError);
        assert.equal((await (await named('thrown')).wait({ timeoutMs: 10_000 })).exit.signal, 'SIGTERM');
        await assert.rejects(session.run('echo one; sleep 1000', { onOutput }), RangeError);
        await waitUntil(async () => (await sandboxOf(d).sessions.get(session.id)).current.status === 'idle', 'its end');
        await session.remove();
    });

    /* It was one request that was answered at the end. */
    it('a command in a session waits for longer than one request may take', async () => {
        const session = await sandboxOf(d, { fetch: impatient(1000) }).sessions.create();
        const first = session.run('cd /; sleep 3; echo finished; exit 4');
        const second = session.run('pwd; echo err >&2; (exit 5)', { maxOutputBytes: 2 });
        const { stdout, exitCode, exit, shellReplaced, number } = await first;
        assert.deepEqual([stdout, exitCode, exit.kind, shellReplaced, number], ['finished\n', 4, 'exited', true, 1]);
        const result = await second;
        assert.deepEqual([result.exitCode, result.number, result.stderr.length], [5, 2, 2]);
        await session.remove();
    });

    it('a command in a session that is given up is ended, and refusals are errors', async () => {
        const session = await sandboxOf(d).sessions.create();
        const stop = new AbortController();
        const running = session.run('sleep 1000', { signal: stop.signal });
        await waitUntil(async () => (await sandboxOf(d).sessions.get(session.id)).current.status === 'running', 'it to run');
        stop.abort(new Error('enough'));
        await assert.rejects(running, /enough/);
        await waitUntil(async () => (await sandboxOf(d).sessions.get(session.id)).current.status === 'idle', 'its end');
        await assert.rejects(session.run(''), (e) => e instanceof InvalidRequestError && e.code === 'bad_value');
        const [ends, waits] = [session.run('sleep 1000'), session.run('echo never')];
        await waitUntil(async () => (await sandboxOf(d).sessions.get(session.id)).current.queued === 1, 'both to be there');
        const refused = assert.rejects(waits, (e) => e instanceof NotFoundError && e.code === 'no_such_session');
        await session.remove();
        await refused;
        assert.equal((await ends).exit.by, 'api');
    });

    it('a command in a session whose line is cut fails, and is kept if it was to be', async () => {
        const session = await sandboxOf(d).sessions.create();
        const running = session.run('sleep 2; echo kept', { onDetach: 'keep' });
        const failed = assert.rejects(running, (e) => e instanceof ConnectionError && e.code === 'no_answer');
        await waitUntil(async () => (await sandboxOf(d).sessions.get(session.id)).current.status === 'running', 'it to run');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await failed;
        await d.nextWorker(old);
        await waitUntil(async () => (await session.transcript()).includes('kept\n'), 'it to be in the transcript');
        await session.remove();
    });
});
