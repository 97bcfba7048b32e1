// SPDX-License-Identifier: Apache-2.0
// Every tool, listed and called by the official client, which checks results against their schemas.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { ACCEPT, call, callFails, open, post, request, withClient } from '../../lib/mcp.mjs';

const TOOLS = [
    'run_command',
    'start_process',
    'list_processes',
    'read_output',
    'send_input',
    'wait_for',
    'read_screen',
    'resize',
    'signal',
    'stop',
    'run_in_session',
    'list_sessions',
    'end_session',
];
const READING = ['list_processes', 'read_output', 'wait_for', 'read_screen', 'list_sessions'];

withDaemon('mcp tools', { args: ['--journal-bytes', '65536'] }, (d) => {
    const using = (body, options) => () => withClient(d, options ?? {}, body);

    it(
        'says who it is and what it can do',
        using(async (c) => {
            assert.equal(c.getServerVersion().name, 'holdfast');
            assert.deepEqual(c.getServerCapabilities(), {
                tools: {},
                resources: { subscribe: true, listChanged: true },
            });
            assert.match(c.getInstructions(), /run_command/);
            await c.ping();
        }),
    );

    it('an Idempotency-Key finds the process that the first request started', async () => {
        const session = await open(d);
        const send = async (key, args, tool = 'run_command') => {
            const body = request(1, 'tools/call', { name: tool, arguments: args });
            return (await post(d, body, { session, headers: { 'Content-Type': 'application/json', Accept: ACCEPT, 'Mcp-Session-Id': session, 'Idempotency-Key': key } })).json.result;
        };
        const first = await send('k1', { command: 'echo $$; exit 4' });
        assert.deepEqual(await send('k1', { command: 'echo $$; exit 4' }), first);
        assert.match((await send('k1', { command: 'true' })).content[0].text, /^idempotency_conflict: /);
        assert.match((await send('bad key', { command: 'true' })).content[0].text, /^bad_value: /);
        const started = await send('k2', { command: 'cat' }, 'start_process');
        const again = await send('k2', { command: 'cat' }, 'start_process');
        assert.equal(again.structuredContent.process_id, started.structuredContent.process_id);
        const many = await Promise.all(Array.from({ length: 8 }, () => send('k3', { command: 'echo once' })));
        for (const r of many) assert.deepEqual(r, many[0]);
        assert.equal(many[0].structuredContent.output, 'once\n');
        const bad = await Promise.all([1, 2].map(() => send('k4', { command: 'x', args: [] })));
        assert.deepEqual(bad.map((r) => r.isError), [true, true]);
        assert.deepEqual(bad[1], bad[0]);
        // A repeated call reads what is held: not the beginning of a long output.
        const long = { command: 'seq 1 1000000', max_output_bytes: 1000 };
        const whole = (await send('k5', long)).structuredContent;
        const rest = (await send('k5', long)).structuredContent;
        assert.ok(whole.output.startsWith('1\n2\n'));
        assert.equal(rest.output, '');
        assert.ok(rest.output_tail.endsWith('\n999999\n1000000\n'));
        assert.equal(rest.output_tail.length + rest.omitted_bytes, rest.next);
        assert.deepEqual([rest.next, rest.exit_code], [whole.next, 0]);
        await d.remove(started.structuredContent.process_id);
    });

    it(
        'lists every tool with schemas and hints',
        using(async (c) => {
            const { tools } = await c.listTools();
            assert.deepEqual(
                tools.map((t) => t.name),
                TOOLS,
            );
            for (const t of tools) {
                assert.ok(t.description.length > 20 && t.title, t.name);
                assert.equal(t.inputSchema.type, 'object', t.name);
                assert.equal(t.inputSchema.additionalProperties, false, t.name);
                assert.equal(t.outputSchema.type, 'object', t.name);
                assert.equal(t.annotations.readOnlyHint, READING.includes(t.name), t.name);
            }
        }),
    );

    it(
        'run_command returns output and exit code, of a shell line and of a program',
        using(async (c) => {
            let r = await call(c, 'run_command', { command: 'echo out; echo err >&2; exit 3' });
            assert.equal(r.status, 'exited');
            assert.equal(r.exit_code, 3);
            assert.deepEqual(r.output.split('\n').sort(), ['', 'err', 'out']);
            assert.equal(r.omitted_bytes, 0);
            assert.equal(r.next, 8);
            r = await call(c, 'run_command', { command: 'printf', args: ['%s|', 'a b', '$HOME'] });
            assert.equal(r.output, 'a b|$HOME|');
            r = await call(c, 'run_command', {
                command: 'cat; echo $X; pwd',
                input: 'typed\n',
                env: { X: 'y' },
                cwd: '/tmp',
            });
            assert.equal(r.output, 'typed\ny\n/tmp\n');
            const p = (await call(c, 'list_processes')).processes[0];
            assert.equal(p.source, 'agent');
        }),
    );

    it(
        'run_command tells in words what it returns',
        using(async (c) => {
            const r = await c.callTool({ name: 'run_command', arguments: { command: 'echo hello; kill -9 $$' } });
            assert.match(r.content[0].text, /^hello\n\[signaled by SIGKILL, exit code 137\]$/);
        }),
    );

    it(
        'run_command keeps head and tail of a long output, and read_output has the rest',
        using(async (c) => {
            const r = await call(c, 'run_command', { command: 'seq 1 10000', max_output_bytes: 1000 });
            const all = Array.from({ length: 10000 }, (_, i) => `${i + 1}\n`).join('');
            assert.equal(r.output, all.slice(0, 500));
            assert.equal(r.output_tail, all.slice(-500));
            assert.equal(r.omitted_bytes, all.length - 1000);
            const rest = await call(c, 'read_output', {
                process_id: r.process_id,
                since: r.output.length,
                until: all.length - r.output_tail.length,
            });
            assert.equal(r.output + rest.output + rest.output_tail + r.output_tail, all);
            assert.equal(rest.omitted, null);
        }),
    );

    it(
        'run_command ends what takes too long and says so',
        using(async (c) => {
            const r = await call(c, 'run_command', { command: 'echo begun; sleep 300', timeout_ms: 200 });
            assert.equal(r.timed_out, true);
            assert.equal(r.exit.kind, 'timed_out');
            assert.equal(r.output, 'begun\n');
        }),
    );

    it(
        'run_in_session keeps the shell: directory, variables, input, time-outs',
        using(async (c) => {
            const first = await call(c, 'run_in_session', { command: 'X=kept; pwd; echo err >&2; cd /usr; (exit 3)', cwd: '/tmp' });
            assert.deepEqual([first.output, first.exit_code, first.cwd, first.shell_replaced], ['/tmp\nerr\n', 3, '/usr', false]);
            const { session_id } = first;
            const second = await call(c, 'run_in_session', { session_id, command: 'echo $X; cat', input: 'typed\n' });
            assert.deepEqual([second.output, second.exit_code, second.number], ['kept\ntyped\n', 0, 2]);
            const late = await call(c, 'run_in_session', { session_id, command: 'echo begun; sleep 300', timeout_ms: 300 });
            assert.deepEqual([late.timed_out, late.shell_replaced], [true, false]);
            assert.match(late.output, /^begun\n/);
            const still = await call(c, 'run_in_session', { session_id, command: 'echo $X; seq 10000', max_output_bytes: 1000 });
            assert.ok(still.output.startsWith('kept\n1\n') && still.output_tail.endsWith('10000\n') && still.omitted_bytes > 0);
            const whole = await call(c, 'read_output', { process_id: still.process_id, since: still.from, until: still.next, max_bytes: 1048576 });
            assert.equal(whole.output, `kept\n${Array.from({ length: 10000 }, (_, i) => `${i + 1}\n`).join('')}`);
            const { sessions } = await call(c, 'list_sessions', {});
            assert.deepEqual(sessions.filter((s) => s.id === session_id).map((s) => [s.status, s.cwd]), [['idle', '/usr']]);
            const transcript = (await d.api('GET', `/v1/sessions/${session_id}/transcript`)).json;
            assert.deepEqual([...new Set(transcript.items.map((x) => x.source))], ['agent']);
            assert.equal((await call(c, 'end_session', { session_id })).survivors, 0);
            await callFails(c, 'no_such_session', 'end_session', { session_id });
            assert.deepEqual((await d.list()).filter((p) => p.session_id === session_id && p.status === 'running'), []);
            await callFails(c, 'missing_field', 'run_in_session', {});
        }),
    );

    it(
        'run_in_session: two commands of a session run one after the other; the new one by its name',
        using(async (c) => {
            const session_id = 'by-name';
            const run = (command) => call(c, 'run_in_session', { session_id, command });
            await run('true');
            const both = await Promise.all([run('sleep 0.3; echo a; Y=set'), run('echo b$Y')]);
            assert.deepEqual(both.map((r) => r.output), ['a\n', 'bset\n']);
            await call(c, 'end_session', { session_id });
        }),
    );

    it(
        'wait_for waits for the prompt of a shell that marks it',
        using(async (c) => {
            const { process_id } = await call(c, 'start_process', { command: 'bash', args: ['--norc'], pty: true, shell_integration: true });
            assert.equal((await call(c, 'wait_for', { process_id, prompt: true })).matched, 'prompt');
            const { from } = await call(c, 'send_input', { process_id, text: 'sleep 0.3; echo done-$((1+1))', keys: ['Enter'] });
            const w = await call(c, 'wait_for', { process_id, prompt: true, from });
            assert.equal(w.matched, 'prompt');
            assert.match(w.output, /done-2/);
            await call(c, 'stop', { process_id, forget: true });
        }),
    );

    it(
        'every argument and every result is described',
        using(async (c) => {
            const check = (schema, where) => {
                for (const [name, s] of Object.entries(schema?.properties ?? {})) {
                    assert.ok(s.description?.length > 3, `${where}.${name} has no description`);
                    check(s, `${where}.${name}`);
                }
            };
            for (const t of (await c.listTools()).tools) {
                assert.ok(t.description.length > 20 && t.title.length > 3, t.name);
                check(t.inputSchema, `${t.name} in`);
                check(t.outputSchema, `${t.name} out`);
            }
        }),
    );

    it(
        'run_command yields a command that goes on',
        using(async (c) => {
            const r = await call(c, 'run_command', { command: 'echo begun; read x; echo $x', pty: true, yield_ms: 50 });
            assert.equal(r.status, 'running');
            assert.equal(r.exit_code, null);
            await call(c, 'send_input', { process_id: r.process_id, text: 'on', keys: ['Enter'] });
            const w = await call(c, 'wait_for', { process_id: r.process_id, exit: true });
            assert.equal(w.matched, 'exit');
            assert.match(w.output, /begun\r\n(.|\r\n)*on\r\n$/);
        }),
    );

    it(
        'a command that cannot be run is an error that names it',
        using(async (c) => {
            const text = await callFails(c, 'spawn_failed', 'run_command', { command: '/no/such', args: [] });
            assert.match(text, /\/no\/such/);
        }),
    );

    it(
        'start, talk, wait, resize, signal, stop: a terminal without a race',
        using(async (c) => {
            const { process_id, process } = await call(c, 'start_process', {
                command: 'bash',
                args: ['--norc', '--noprofile'],
                env: { PS1: '$ ' },
                pty: { rows: 30, cols: 100 },
                tag: 'shell',
            });
            assert.equal(process.id, process_id);
            assert.equal(process.rows, 30);
            const id = 'tag:shell';
            const prompt = await call(c, 'wait_for', { process_id: id, regex: '\\$ $' });
            assert.equal(prompt.matched, 'regex');
            const { from, accepted_bytes } = await call(c, 'send_input', {
                process_id: id,
                text: 'stty size; echo done$((40+2))',
                keys: ['Enter'],
            });
            assert.equal(accepted_bytes, 30);
            const w = await call(c, 'wait_for', { process_id: id, text: 'done42', from });
            assert.equal(w.matched, 'text');
            assert.equal(w.timed_out, false);
            assert.equal(w.from, from);
            assert.equal(w.match.to - w.match.from, 6);
            assert.match(w.output, /30 100/);
            assert.deepEqual(await call(c, 'resize', { process_id: id, rows: 10, cols: 40 }), {
                process_id,
                rows: 10,
                cols: 40,
            });
            const line = `bash -c "trap 'echo caught; exit' INT; stty size; read x"\n`;
            const again = await call(c, 'send_input', { process_id: id, text: line });
            const size = await call(c, 'wait_for', { process_id: id, text: '10 40', from: again.from });
            assert.equal(size.matched, 'text');
            const sent = await call(c, 'signal', { process_id: id, signal: 'INT', target: 'foreground' });
            assert.deepEqual(sent, { process_id, signal: 'SIGINT', target: 'foreground' });
            const caught = await call(c, 'wait_for', { process_id: id, regex: '^caught$', from: size.next });
            assert.equal(caught.matched, 'regex');
            const s = await call(c, 'stop', { process_id: id, grace_ms: 100 });
            assert.equal(s.exit.kind, 'killed');
            assert.deepEqual(s.survivors, []);
            assert.equal((await call(c, 'read_output', { process_id, tail_lines: 3 })).status, 'exited');
            await call(c, 'stop', { process_id, forget: true });
            await callFails(c, 'no_such_process', 'read_output', { process_id });
        }),
    );

    it(
        'a process without a terminal takes input and its end',
        using(async (c) => {
            const { process_id } = await call(c, 'start_process', { command: 'sort' });
            await call(c, 'send_input', { process_id, text: 'b\na\n' });
            await call(c, 'send_input', { process_id, eof: true });
            const w = await call(c, 'wait_for', { process_id, exit: true, max_bytes: 100 });
            assert.equal(w.output, 'a\nb\n');
            assert.equal(w.exit_code, 0);
            await callFails(c, 'not_running', 'send_input', { process_id, text: 'x' });
        }),
    );

    it(
        'wait_for: silence, time-out, nothing any more',
        using(async (c) => {
            const { process_id } = await call(c, 'start_process', { command: 'echo one; read x; exit 4' });
            const quiet = await call(c, 'wait_for', { process_id, quiet_ms: 50 });
            assert.equal(quiet.matched, 'quiet_ms');
            const late = await call(c, 'wait_for', { process_id, text: 'never', timeout_ms: 20 });
            assert.equal(late.matched, null);
            assert.equal(late.timed_out, true);
            assert.equal(late.output, 'one\n');
            await call(c, 'send_input', { process_id, eof: true });
            const none = await call(c, 'wait_for', { process_id, text: 'never' });
            assert.equal(none.matched, null);
            assert.equal(none.timed_out, false);
            assert.equal(none.exit_code, 4);
        }),
    );

    it(
        'wait_for: what a terminal does and what listens',
        using(async (c) => {
            const asks = await call(c, 'start_process', {
                command: 'stty -echo; printf "password: "; read p; stty echo; printf "name: "; read n; echo "$p $n"',
                pty: true,
            });
            const { process_id } = asks;
            const hidden = await call(c, 'wait_for', { process_id, echo_off: true });
            assert.equal(hidden.matched, 'echo_off');
            await call(c, 'send_input', { process_id, text: 'secret\n' });
            await call(c, 'wait_for', { process_id, text: 'name: ' });
            const blocked = await call(c, 'wait_for', { process_id, blocked_on_tty: true, prompt: false });
            assert.equal(blocked.matched, 'blocked_on_tty');
            await call(c, 'send_input', { process_id, text: 'Ada\n' });
            assert.match((await call(c, 'wait_for', { process_id, exit: true })).output, /secret Ada/);
            const server = await call(c, 'start_process', {
                command: process.execPath,
                args: ['-e', 'const s = require("net").createServer().listen(0, "127.0.0.1", () => console.log(s.address().port))'],
            });
            const port = Number((await call(c, 'wait_for', { process_id: server.process_id, regex: '\\d+\\n' })).output);
            const listens = await call(c, 'wait_for', { process_id: server.process_id, port });
            assert.equal(listens.matched, 'port');
            await callFails(c, 'not_a_terminal', 'wait_for', { process_id: server.process_id, blocked_on_tty: true });
            await callFails(c, 'bad_value', 'wait_for', { process_id: server.process_id, port: 0 });
            await call(c, 'stop', { process_id: server.process_id });
        }),
    );

    it(
        'read_output: ranges, tails, streams, gaps',
        using(async (c) => {
            const { process_id } = await call(c, 'run_command', {
                command: 'seq 1 5; (exit 0); echo e1 >&2; sleep 0; seq 6 7',
            });
            const lines = await call(c, 'read_output', { process_id, tail_lines: 2 });
            assert.equal(lines.output, '6\n7\n');
            assert.equal((await call(c, 'read_output', { process_id, tail_bytes: 2 })).output, '7\n');
            assert.equal((await call(c, 'read_output', { process_id, stream: 'stderr' })).output, 'e1\n');
            assert.equal((await call(c, 'read_output', { process_id, since: 2, until: 6 })).output, '2\n3\n');
            const cut = await call(c, 'read_output', { process_id, max_bytes: 4 });
            assert.equal(cut.output + cut.output_tail, '1\n7\n');
            assert.deepEqual(cut.omitted, { from: 2, to: cut.next - 2 });
            assert.equal(cut.omitted_bytes, cut.next - 4);
            const flood = await call(c, 'run_command', { command: 'seq 1 100000', max_output_bytes: 0 });
            assert.equal(flood.omitted_bytes, flood.next);
            const gap = await call(c, 'read_output', { process_id: flood.process_id, since: 0 });
            assert.deepEqual(gap.gap, { from: 0, to: gap.from });
            assert.ok(gap.from > 0);
            await callFails(c, 'range_not_satisfiable', 'read_output', { process_id, since: 1000 });
            await callFails(c, 'offset_gone', 'wait_for', { process_id: flood.process_id, exit: true, from: 0 });
        }),
    );

    it(
        'list_processes: filters and pages',
        using(async (c) => {
            for (let i = 0; i < 3; i++) await call(c, 'run_command', { command: 'true', session_id: 'pages' });
            const first = await call(c, 'list_processes', { session_id: 'pages', limit: 2 });
            assert.equal(first.processes.length, 2);
            const rest = await call(c, 'list_processes', { session_id: 'pages', limit: 2, after: first.next });
            assert.equal(rest.processes.length, 1);
            assert.equal(rest.next, null);
            const none = await call(c, 'list_processes', { session_id: 'pages', status: 'running' });
            assert.deepEqual(none.processes, []);
        }),
    );

    it(
        'read_screen says why there is none',
        using(async (c) => {
            const { process_id } = await call(c, 'run_command', { command: 'true' });
            await callFails(c, 'not_a_terminal', 'read_screen', { process_id });
        }),
    );

    it(
        'read_screen shows what a person would see',
        using(async (c) => {
            const command = `printf 'gone\\rseen \\033[1mbold\\033[m\\n\\033]2;a title\\007'; exec sleep 300`;
            const { process_id } = await call(c, 'start_process', { command, pty: true });
            await call(c, 'wait_for', { process_id, text: 'a title' });
            const s = await call(c, 'read_screen', { process_id });
            assert.equal(s.text, 'seen bold\n');
            assert.equal(s.title, 'a title');
            assert.deepEqual([s.cursor_row, s.cursor_col, s.alternate], [1, 0, false]);
            await call(c, 'stop', { process_id });
        }),
    );

    it(
        'bad arguments are errors of the tool, in clear words',
        using(async (c) => {
            const { process_id } = await call(c, 'run_command', { command: 'true' });
            await callFails(c, 'missing_field', 'run_command', {});
            await callFails(c, 'bad_value', 'run_command', { command: '' });
            await callFails(c, 'bad_type', 'run_command', { command: 7 });
            assert.match(await callFails(c, 'unknown_field', 'run_command', { command: 'x', timout_ms: 1 }), /timout_ms/);
            await callFails(c, 'bad_value', 'run_command', { command: 'x', max_output_bytes: 2 ** 30 });
            await callFails(c, 'bad_type', 'run_command', { command: 'x', yield_ms: 'soon' });
            await callFails(c, 'bad_value', 'run_command', { command: 'x', yield_ms: -1 });
            await callFails(c, 'no_such_process', 'read_output', { process_id: 'proc_nothing' });
            await callFails(c, 'missing_field', 'read_output', {});
            await callFails(c, 'bad_value', 'read_output', { process_id, tail_lines: 1, since: 0 });
            await callFails(c, 'bad_value', 'read_output', { process_id, stream: 'stdin' });
            await callFails(c, 'missing_field', 'wait_for', { process_id });
            await callFails(c, 'bad_regex', 'wait_for', { process_id, regex: '(' });
            await callFails(c, 'bad_value', 'wait_for', { process_id, text: '' });
            await callFails(c, 'missing_field', 'send_input', { process_id });
            await callFails(c, 'missing_field', 'send_input', { text: 'x' });
            await callFails(c, 'bad_value', 'send_input', { process_id, keys: ['NoSuchKey'] });
            await callFails(c, 'bad_size', 'resize', { process_id, rows: 0, cols: 1 });
            await callFails(c, 'not_a_terminal', 'resize', { process_id, rows: 1, cols: 1 });
            await callFails(c, 'bad_signal', 'signal', { process_id, signal: 'NOPE' });
            await callFails(c, 'not_running', 'signal', { process_id, signal: 'TERM' });
            await callFails(c, 'bad_value', 'list_processes', { status: 'dead' });
            await assert.rejects(c.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });
        }),
    );

    it('a watch token gets the tools that read, and no other', async () => {
        const { process_id } = await withClient(d, {}, (c) => call(c, 'run_command', { command: 'echo seen' }));
        await withClient(d, { role: 'watch' }, async (c) => {
            const { tools } = await c.listTools();
            assert.deepEqual(
                tools.map((t) => t.name),
                READING,
            );
            assert.equal((await call(c, 'read_output', { process_id })).output, 'seen\n');
            for (const name of TOOLS.filter((t) => !READING.includes(t))) {
                await assert.rejects(c.callTool({ name, arguments: {} }), /needs the role/, name);
            }
        });
        await withClient(d, { role: 'type' }, async (c) => {
            const { tools } = await c.listTools();
            assert.ok(tools.some((t) => t.name === 'signal'));
            await callFails(c, 'forbidden', 'signal', { process_id, signal: 'KILL' });
        });
    });
});
