// SPDX-License-Identifier: Apache-2.0
// The published SandboxClient 0.12 on the route API: the same calls by HTTP and through the multiplex.

import assert from 'node:assert/strict';
import { clientOf, eventsOf } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { withWorkspace } from '../../lib/workspace.mjs';

const types = (events) => events.map((e) => e.type);
const text = (events, type) => events.filter((e) => e.type === type).map((e) => e.data).join('');

for (const websocket of [false, true]) {
    const way = websocket ? 'through the multiplex' : 'by HTTP';

    withDaemon(`cloudflare: routes ${way}`, withWorkspace, (d) => {
        const client = () => clientOf(d, { websocket });
        const alive = (mark) => proc.pids().filter((p) => proc.cmdline(p).join(' ') === mark).length;

        it('a session keeps its directory, variables and functions', async () => {
            const c = await client();
            const made = await c.utils.createSession({ id: 's1', env: { GIVEN: 'a b' }, cwd: '/usr' });
            assert.equal(made.success, true);
            const r = await c.commands.execute('pwd; echo "$GIVEN"; echo oops >&2; exit_with() { return "$1"; }; cd /', 's1');
            assert.deepEqual([r.success, r.exitCode, r.stdout, r.stderr, r.sessionId], [true, 0, '/usr\na b\n', 'oops\n', 's1']);
            assert.equal((await c.commands.execute('pwd', 's1')).stdout, '/\n');
            const failed = await c.commands.execute('exit_with 7', 's1');
            assert.deepEqual([failed.success, failed.exitCode], [false, 7]);
            assert.match(r.timestamp, /^\d{4}-.*Z$/);
            assert.equal((await d.api('GET', '/v1/sessions/s1')).json.commands, 3, 'it is the daemon\'s session');
        });

        it('a second session of the same name is refused, and a deleted one is gone', async () => {
            const c = await client();
            await c.utils.createSession({ id: 'twice' });
            await assert.rejects(c.utils.createSession({ id: 'twice' }), (e) => e.name === 'SessionAlreadyExistsError' && e.code === 'SESSION_ALREADY_EXISTS' && e.httpStatus === 409);
            assert.ok((await d.request('GET', '/dialects/cloudflare/api/session/list')).json.data.includes('twice'));
            assert.equal((await c.utils.deleteSession('twice')).sessionId, 'twice');
            await assert.rejects(c.utils.deleteSession('twice'), (e) => e.code === 'INTERNAL_ERROR' && e.httpStatus === 500);
            await c.utils.createSession({ id: 'twice' });
        });

        it('directory and variables for one command stay with it', async () => {
            const c = await client();
            await c.commands.execute('export A=was; unset B; cd /usr', 'once');
            const r = await c.commands.execute('echo "$A|$B|$PWD"; KEPT=yes; false', 'once', { env: { A: "it's", B: 'two' }, cwd: '/tmp' });
            assert.deepEqual([r.stdout, r.exitCode, r.command], ["it's|two|/tmp\n", 1, 'echo "$A|$B|$PWD"; KEPT=yes; false']);
            assert.equal((await c.commands.execute('echo "$A|${B-unset}|$PWD|$KEPT"', 'once')).stdout, 'was|unset|/usr|yes\n');
            const none = await c.commands.execute('echo not run', 'once', { cwd: '/no/such/place' });
            assert.deepEqual([none.exitCode, none.stdout], [1, '']);
            await assert.rejects(c.commands.execute('true', 'once', { env: { 'A B': 'x' } }), { code: 'VALIDATION_FAILED' });
        });

        it('null takes a variable away, for one command or one process', async () => {
            const c = await client();
            await c.commands.execute('export A=kept n=also', 'nulls');
            const r = await c.commands.execute('echo "${A-none} $n"', 'nulls', { env: { A: null } });
            assert.equal(r.stdout, 'none also\n');
            assert.equal((await c.commands.execute('echo "$A"', 'nulls')).stdout, 'kept\n');
            const p = await c.processes.startProcess('echo "${A-none} $n"', 'nulls', { env: { A: null } });
            const events = await eventsOf(c.processes.streamProcessLogs(p.processId));
            assert.equal(text(events, 'stdout'), 'none also\n');
        });

        it('many commands at once wait for each other', async () => {
            const c = await client();
            const all = await Promise.all(Array.from({ length: 40 }, (_, i) => c.commands.execute(`echo ${i}`, 'queue')));
            assert.deepEqual(all.map((r) => r.stdout), all.map((_, i) => `${i}\n`));
        });

        it('a stream: start, output in order, the true exit code, the end', async () => {
            const c = await client();
            const events = await eventsOf(c.commands.executeStream('echo one; sleep 0.05; echo two >&2; sleep 0.05; printf three; exit_code() { return 9; }; exit_code', 's1'));
            assert.equal(events[0].type, 'start');
            assert.deepEqual(types(events).slice(1), ['stdout', 'stderr', 'stdout', 'complete']);
            assert.deepEqual(events.slice(1, 4).map((e) => e.data), ['one\n', 'two\n', 'three']);
            assert.equal(events.at(-1).exitCode, 9);
        });

        it('characters are never cut in two, and a large output is whole', async () => {
            const c = await client();
            const events = await eventsOf(
                c.commands.executeStream(`printf '\\303'; sleep 0.05; printf '\\244\\360\\237'; sleep 0.05; printf '\\230\\200'; i=0; while [ $i -lt 20000 ]; do echo "zeile $i ä€😀"; i=$((i + 1)); done`, 'utf8'),
            );
            const out = text(events, 'stdout');
            assert.ok(out.startsWith('ä😀zeile 0 ä€😀\n'), out.slice(0, 40));
            assert.ok(!out.includes('\ufffd'));
            assert.equal(out.split('\n').length, 20001);
            assert.equal(events.at(-1).exitCode, 0);
        });

        it('without a session each command has a fresh shell', async () => {
            const c = await client();
            const off = '__DISABLE_SESSION__';
            await c.commands.execute('X=1; cd /', off);
            const r = await c.commands.execute('echo "<$X>"; echo e >&2; exit 4', off);
            assert.deepEqual([r.stdout, r.stderr, r.exitCode], ['<>\n', 'e\n', 4]);
            const late = await c.commands.execute('echo begun; sleep 30', off, { timeoutMs: 200 });
            assert.equal(late.exitCode, 124);
            assert.equal(late.stdout, 'begun\n');
            assert.match(late.stderr, /^Command timed out after 200ms$/m);
            const events = await eventsOf(c.commands.executeStream('echo here; exit 3', off));
            assert.deepEqual(types(events), ['start', 'stdout', 'complete']);
            assert.equal(events.at(-1).exitCode, 3);
            assert.equal((await d.list()).filter((p) => p.args.includes('echo here; exit 3')).length, 0, 'nothing is left of it');
        });

        /* On the platform the command runs on, and the session with it is blocked. */
        it('a time-out ends the command and spares the session', async () => {
            const c = await client();
            await c.commands.execute('KEPT=1', 'slow');
            await assert.rejects(c.commands.execute('sleep 77.25', 'slow', { timeoutMs: 200 }), (e) => e.code === 'COMMAND_EXECUTION_ERROR' && e.message.includes('Command timeout after 200ms'));
            assert.equal((await c.commands.execute('echo $KEPT', 'slow')).stdout, '1\n');
            await waitUntil(() => alive('sleep 77.25') === 0, 'the command to be gone');
            const events = await eventsOf(c.commands.executeStream('echo a; sleep 30', 'slow', { timeoutMs: 200 }));
            assert.deepEqual([types(events)[0], types(events).at(-1), text(events, 'stdout')], ['start', 'error', 'a\n'], 'and not ignored for a stream');
            await c.utils.createSession({ id: 'limited', commandTimeoutMs: 200 });
            await assert.rejects(c.commands.execute('sleep 30', 'limited'), (e) => e.code === 'COMMAND_EXECUTION_ERROR' && e.message.includes('Command timeout after 200ms'));
        });

        it('exit ends the shell once; the next command has a new one, and so has a new session', async () => {
            const c = await client();
            await c.commands.execute('X=1', 'ends');
            await assert.rejects(c.commands.execute('exit 3', 'ends'), (e) => e.name === 'SessionTerminatedError' && e.code === 'SESSION_TERMINATED');
            assert.equal((await c.commands.execute('echo "<$X>"', 'ends')).stdout, '<>\n');
            await assert.rejects(c.commands.execute('exit 3', 'ends'), { code: 'SESSION_TERMINATED' });
            await c.utils.createSession({ id: 'ends', env: { X: 'new' } });
            assert.equal((await c.commands.execute('echo "<$X>"', 'ends')).stdout, '<new>\n');
        });

        it('a process: started, its earlier output replayed, exit, completed', async () => {
            const c = await client();
            const p = await c.processes.startProcess('echo early; while [ ! -e go ]; do sleep 0.02; done; rm go; echo late; echo err >&2', 's1', { processId: `job-${websocket}` });
            assert.equal(p.processId, `job-${websocket}`);
            assert.ok(p.pid > 0);
            await waitUntil(async () => (await c.processes.getProcessLogs(p.processId)).stdout === 'early\n', 'the first line');
            assert.equal((await c.processes.getProcess(p.processId)).process.status, 'running');
            const stream = eventsOf(c.processes.streamProcessLogs(p.processId));
            await c.processes.startProcess('touch go', 's1');
            const events = await stream;
            assert.equal(events[0].type, 'process_info');
            assert.equal(text(events, 'stdout'), 'early\nlate\n');
            assert.equal(text(events, 'stderr'), 'err\n');
            assert.deepEqual([events.at(-1).type, events.at(-1).exitCode, events.at(-1).processId], ['exit', 0, p.processId]);
            assert.match(events.at(-1).data, /Process completed with exit code 0/);
            const { process } = await c.processes.getProcess(p.processId);
            assert.deepEqual([process.status, process.exitCode], ['completed', 0]);
            assert.match(process.command, /^echo early; while/);
            const listed = (await c.processes.listProcesses()).processes.find((x) => x.id === p.processId);
            assert.equal(listed.status, 'completed');
            await assert.rejects(c.processes.killProcess(p.processId), (e) => e.code === 'COMMAND_NOT_FOUND');
        });

        it('a process has what was exported in its session, and what it was given', async () => {
            const c = await client();
            await c.commands.execute('export EXPORTED="x y"; export BOTH=session; cd /usr', 'envs');
            const p = await c.processes.startProcess('echo "$EXPORTED|$BOTH|$OWN|$PWD"', 'envs', { env: { BOTH: 'call', OWN: "o'wn" } });
            await d.exitOf(p.processId);
            assert.equal((await c.processes.getProcessLogs(p.processId)).stdout, "x y|call|o'wn|/usr\n");
            const q = await c.processes.startProcess('pwd; exit 5', 'envs', { cwd: 'bin' });
            await d.exitOf(q.processId);
            assert.equal((await c.processes.getProcessLogs(q.processId)).stdout, '/usr/bin\n');
            assert.equal((await c.processes.getProcess(q.processId)).process.status, 'failed');
            assert.equal((await c.processes.getProcess(q.processId)).process.command, 'pwd; exit 5');
        });

        /* killProcess() once said success while children went on. */
        it('a kill takes the children too', async () => {
            const c = await client();
            const mark = `sleep 31${websocket ? 1 : 2}.5`;
            const p = await c.processes.startProcess(`${mark} & ${mark} & wait`, 's1');
            await waitUntil(() => alive(mark) >= 2, 'the children');
            assert.equal((await c.processes.killProcess(p.processId)).success, true);
            assert.equal(alive(mark), 0);
            assert.equal((await c.processes.getProcess(p.processId)).process.status, 'killed');
            const more = [await c.processes.startProcess('sleep 300', 's1'), await c.processes.startProcess('sleep 300', 's1', { timeoutMs: 100 })];
            await d.exitOf(more[1].processId);
            assert.equal((await c.processes.getProcess(more[1].processId)).process.status, 'killed', 'time-outs are kept');
            const shell = await d.spawn({ command: 'cat', pty: true });
            assert.equal((await c.processes.killAllProcesses()).cleanedCount, 1);
            assert.equal((await d.get(shell.id)).status, 'running', 'a terminal is not such a process');
            assert.equal((await c.commands.execute('echo still', 's1')).stdout, 'still\n');
            await d.remove(shell.id);
        });

        it('processes of others are seen, watched and killed; terminals too', async () => {
            const c = await client();
            const p = await d.sh('echo from elsewhere; sleep 300');
            await waitUntil(async () => (await c.processes.getProcessLogs(p.id)).stdout === 'from elsewhere\n', 'the output');
            assert.ok((await c.processes.listProcesses()).processes.some((x) => x.id === p.id && x.status === 'running'));
            assert.equal((await c.processes.getProcess(`pid:${p.pid}`)).process.pid, p.pid);
            await c.processes.killProcess(p.id);
            assert.equal((await d.get(p.id)).exit.by, 'api');
        });

        /* Commands that read their input hung once, and what could not start was listed as running. */
        it('a command has no input to wait for; what cannot start is not there', async () => {
            const c = await client();
            assert.deepEqual([(await c.commands.execute('cat; echo end', 's1')).stdout, (await c.commands.execute('cat; echo end', '__DISABLE_SESSION__')).stdout], ['end\n', 'end\n']);
            await assert.rejects(c.processes.startProcess('true', 's1', { cwd: '/no/such/dir', processId: 'never' }), { code: 'PROCESS_ERROR' });
            assert.ok(!(await c.processes.listProcesses()).processes.some((p) => p.id === 'never'));
        });

        it('a log is no longer than one answer may be, and says what it leaves out', async () => {
            const c = await client();
            const p = await d.sh('yes 123456789 | head -c 20000000; echo end >&2', { history_bytes: 32 << 20 });
            await d.exitOf(p.id);
            const a = (await d.request('GET', `/dialects/cloudflare/api/process/${p.id}/logs`)).json;
            assert.deepEqual([a.stdout.length + a.stderr.length, a.stderr, a.omittedBytes], [16 << 20, 'end\n', 20000004 - (16 << 20)]);
            assert.equal((await c.processes.getProcessLogs(p.id)).stdout, a.stdout);
            await d.remove(p.id);
        });

        it('what is not there: ProcessNotFoundError, UNKNOWN_ERROR', async () => {
            const c = await client();
            for (const call of [() => c.processes.getProcess('nope'), () => c.processes.killProcess('nope'), () => c.processes.getProcessLogs('nope')]) {
                await assert.rejects(call(), (e) => e.name === 'ProcessNotFoundError' && e.code === 'PROCESS_NOT_FOUND');
            }
            await assert.rejects(c.processes.streamProcessLogs('nope'), /PROCESS_NOT_FOUND|ot found/);
            await assert.rejects(c.utils.getCommands(), (e) => e.name === 'SandboxError' && e.code === 'UNKNOWN_ERROR' && /endpoint was not found/.test(e.message));
            await assert.rejects(c.commands.execute('', 's1'), { code: 'VALIDATION_FAILED' });
            await assert.rejects(c.commands.execute('true', 'no such name'), { code: 'VALIDATION_FAILED' });
            assert.equal(await c.utils.ping(), 'pong');
            assert.match(await c.utils.getVersion(), /^\d+\.\d+/);
        });

        it('a stream that is left leaves the command alone', async () => {
            const c = await client();
            const stream = await c.commands.executeStream('echo begun; while [ ! -e on ]; do sleep 0.02; done; rm on; echo over > over', 'left');
            const reader = stream.getReader();
            await reader.read();
            await reader.cancel();
            await c.processes.startProcess('touch on', 'other-left');
            await waitUntil(async () => (await c.commands.execute('cat over', 'left')).stdout === 'over\n', 'the command to go on');
            await c.commands.execute('rm over', 'left');
        });

        it('a port that is listened at, with an answer as wished; a process that ends first', async () => {
            const c = await client();
            const script = `import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n  n=0\n  def do_GET(s):\n    H.n+=1; s.send_response(503 if H.n<2 else 204); s.end_headers()\n  def log_message(*a): pass\ns=h.HTTPServer(("127.0.0.1",0),H); print(s.server_port,flush=True); s.serve_forever()`;
            const p = await c.processes.startProcess(`exec python3 -c '${script}'`, 's1');
            const port = Number(await waitUntil(async () => (await c.processes.getProcessLogs(p.processId)).stdout.trim(), 'the port'));
            const ask = { port, path: '/health', statusMin: 200, statusMax: 299, processId: p.processId, interval: 100 };
            assert.deepEqual(
                (await eventsOf(c.ports.watchPort({ ...ask, mode: 'http' }))).map((e) => [e.type, e.port, e.statusCode]),
                [['watching', port, undefined], ['ready', port, 204]],
            );
            assert.deepEqual(types(await eventsOf(c.ports.watchPort({ ...ask, mode: 'tcp' }))), ['watching', 'ready']);
            const ends = await c.processes.startProcess('sleep 0.2; exit 6', 's1');
            const events = await eventsOf(c.ports.watchPort({ ...ask, port: 1, mode: 'tcp', processId: ends.processId }));
            assert.deepEqual([events.at(-1).type, events.at(-1).exitCode], ['process_exited', 6]);
            await c.processes.killProcess(p.processId);
        });
    });
}
