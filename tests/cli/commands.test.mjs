// SPDX-License-Identifier: Apache-2.0
// Every command of the client: what it does, what it prints, what it says when it cannot.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { it, test } from '../lib/test.mjs';
import { burn, burner } from '../lib/burn.mjs';
import { cli, cliEnv, fails, ok, onPty } from '../lib/cli.mjs';
import { binary, daemonFor, releaseBinary, withDaemon } from '../lib/daemon.mjs';

const COMMANDS = [
    'run', 'sh', 'attach', 'ps', 'logs', 'send', 'signal', 'kill', 'rm', 'wait', 'resize',
    'screen', 'watch', 'events', 'record', 'share', 'open', 'cp', 'session', 'mcp', 'info', 'token', 'upgrade', 'completion',
];

test('help names every command, and every command has its own', async () => {
    const help = await ok(null, ['help']);
    for (const c of [...COMMANDS, 'serve', 'routes', 'version']) assert.match(help, new RegExp(`^  ${c} `, 'm'));
    for (const c of COMMANDS) {
        const text = await ok(null, [c, '--help']);
        assert.ok(text.startsWith(`usage: holdfast ${c} [OPTION...]`), text);
        for (const o of ['--url', '--token-file', '--json', '--format']) assert.ok(text.includes(o), `${c} ${o}`);
        for (const line of text.split('\n')) assert.ok(line.length <= 140, line);
        assert.equal(await ok(null, [c, '-h']), text);
        assert.equal(await ok(null, ['help', c]), text);
    }
});

test('the man page has every command and every option', async () => {
    const page = fs.readFileSync(new URL('../../docs/man/holdfast.1', import.meta.url), 'utf8');
    for (const c of COMMANDS) {
        assert.ok(page.includes(`.Ss holdfast ${c}`) || page.includes(`.Cm ${c}`), c);
        const help = await ok(null, [c, '--help']);
        for (const [, o] of help.matchAll(/(--[a-z-]+)/g))
            if (o !== '--help') assert.ok(page.includes(`Fl ${o.slice(1)}`) || page.includes(`\\-${o.slice(1)}`), `${c} ${o}`);
    }
});

test('routes lists every call with its role, and with --public those without one', async () => {
    const table = await ok(null, ['routes']);
    assert.match(table, /^watch +GET +\/v1\/info *$/m);
    assert.match(table, /^own +POST +\/v1\/processes *$/m);
    assert.match(table, /^watch +GET +\/v1\/processes\/\{id\}\/connect +websocket *$/m);
    assert.match(table, /^no token +GET +\/healthz *$/m);
    const open = (await ok(null, ['routes', '--public'])).trim().split('\n').slice(1);
    assert.ok(open.length > 5 && open.every((line) => line.startsWith('no token ')), open.join('\n'));
    assert.equal(table.split('\n').filter((line) => line.startsWith('no token ')).length, open.length);
    const all = JSON.parse(await ok(null, ['routes', '--json']));
    assert.equal(all[0].dialect, 'native');
    assert.ok(all.some((t) => t.dialect === 'mcp'));
    assert.equal(all.flatMap((t) => t.routes).length, table.trim().split('\n').length - 1);
    assert.match(await ok(null, ['routes', '--help']), /^usage: holdfast routes \[OPTION\.\.\.\]/);
    await fails(null, 2, /--nonsense/, ['routes', '--nonsense']);
});

test('mistakes on the command line end with 2 and a sentence', async () => {
    for (const args of [
        ['ps', '--nonsense'], ['ps', '-Z'], ['ps', 'word'], ['ps', '--last'], ['ps', '-n', '0'], ['ps', '--all=1'],
        ['run'], ['run', '-e'], ['run', '--timeout', 'soon', 'true'], ['run', '-d', '--rm', 'true'], ['run', '-dt', '--rm', 'true'], ['run', '-it', '--json', 'true'],
        ['attach'], ['attach', 'a', 'b'], ['signal', 'x'], ['kill'], ['rm'], ['rm', '--exited', 'x'], ['rm', '--grace', 'x', 'y'],
        ['wait'], ['wait', '-t', 'x', 'y'], ['wait', '--quiet', '0', 'x'], ['resize', 'x', '120'], ['resize', 'x', '12x3x4'], ['resize', 'x', '4294967376x24'], ['resize', 'x', '80x'], ['resize', 'x', 'x24'], ['resize', 'x', '-1x24'], ['resize', 'x'],
        ['cp'], ['cp', 'a'], ['cp', 'a', 'b'], ['cp', ':a', ':b'], ['cp', '', ':b'], ['cp', ':a', ''], ['cp', '-', '-'],
        ['session'], ['session', 'nonsense'], ['session', 'run', 'x'], ['session', 'rm'],
        ['completion'], ['completion', 'tcsh'], ['ps', '--format', '{id'], ['ps', '--format', 'id}'], ['ps', '--format', '{}'],
        ['ps', '--url', 'ftp://x'], ['ps', '--url', 'http://'], ['ps', '--url', 'http://u:p@h:1'], ['ps', '--url', 'http://h:99999'],
        ['ps', '--url', 'http://h:1/?q=1'], ['ps', '--url', 'unix:'], ['ps', '--token-file', '/no/such/file'], ['ps', '--token-file', '/dev/null'],
    ])
        await fails(null, 2, /./, args, { env: { HOLDFAST_URL: 'http://127.0.0.1:1' } });
});

test('a daemon that is not there: 125, and what to do', async () => {
    for (const args of [['ps'], ['attach', 'x'], ['logs', 'x'], ['send', 'x', 'y'], ['signal', 'x', 'INT'], ['kill', 'x'], ['rm', 'x'],
        ['wait', 'x'], ['resize', 'x', '80x24'], ['screen', 'x'], ['watch', 'x'], ['events'], ['record', 'x'], ['share', 'x'], ['open'],
        ['cp', ':/x', '-'], ['cp', '/etc/passwd', ':/x'], ['session', 'ls'], ['info'], ['token'], ['token', 'rotate'], ['upgrade'], ['run', 'true']])
        await fails(null, 125, /cannot connect to the daemon at .*holdfast serve.*--url/, args, { env: { HOLDFAST_URL: 'http://127.0.0.1:1' } });
    await fails(null, 125, /cannot connect to the daemon/, ['ps', '--url', 'unix:/no/such/socket']);
    await fails(null, 125, /at most \d+ bytes/, ['ps', '--url', `unix:/${'x'.repeat(200)}`]);
    await fails(null, 125, /host|look|address/, ['ps', '--url', 'http://no-such-host.invalid:1']);
});

test('something else that answers', async () => {
    const server = http.createServer((req, res) => (req.url.endsWith('wait') ? res.destroy() : res.end('hello')));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const env = { HOLDFAST_URL: `http://127.0.0.1:${server.address().port}` };
    await fails(null, 125, /did not accept|returned status/, ['logs', 'proc_aaaaaaaaaaaaaaaaaaaa'], { env });
    await fails(null, 125, /did not respond/, ['wait', 'proc_aaaaaaaaaaaaaaaaaaaa'], { env });
    server.close();
});

/* An exit that nobody knows was taken for 0: a build whose end was lost looked like one that went well. */
test('an exit that nobody knows is no success', async () => {
    const exit = { kind: 'lost', code: null, signal: null, by: null, core_dumped: false };
    const answer = { id: 'proc_aaaaaaaaaaaaaaaaaaaa', status: 'exited', process: {}, stdout: '', stderr: '', output: '', exit, exit_code: null, timed_out: false, omitted_bytes: 0 };
    const server = http.createServer((req, res) => res.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer)));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const env = { HOLDFAST_URL: `http://127.0.0.1:${server.address().port}` };
    for (const args of [['wait', '-e', answer.id], ['run', '--json', 'true'], ['session', 'run', 'x', 'true'], ['session', 'run', '--json', 'x', 'true']])
        await fails(null, 125, /exit status is unknown/, args, { env });
    server.close();
});

withDaemon('commands', { listen: ['127.0.0.1:0', 'unix:DIR/s.sock'] }, (d) => {
    const json = async ([command, ...rest]) => JSON.parse(await ok(d, [command, '--json', ...rest]));
    const check = async (schema, value) => (await d.openapi()).checkSchema(schema, value);

    it('run -d prints the id; ps, --json, --format, -q and filters', async () => {
        const id = (await ok(d, ['run', '-d', '--tag', 'one', '-l', 'a label', '-e', 'A=b', 'sleep', '1000'])).trim();
        assert.match(id, /^proc_[a-z2-7]{20}$/);
        const other = JSON.parse(await ok(d, ['run', '-d', '--json', 'true']));
        await check('Process', other);
        await d.exitOf(other.id);
        const table = await ok(d, ['ps']);
        assert.match(table, /^ID +TAG +TTY +STATUS +VIEWERS +COMMAND\n/);
        assert.match(table, new RegExp(`${id} +one +- +running \\d+s +0 +sleep 1000\n`));
        assert.ok(!table.includes(other.id));
        assert.match(await ok(d, ['ps', '-a']), /exited \(0\) \d+s ago/);
        const list = await json(['ps', '-a']);
        for (const p of list) await check('Process', p);
        assert.ok(list.length >= 2);
        assert.equal(await ok(d, ['ps', '-q']), `${id}\n`);
        assert.equal(await ok(d, ['ps', '--format', '{tag}\\t{output.next} {{x}} {exit} {pty}']), 'one\t0 {x}  false\n');
        assert.equal(await ok(d, ['ps', '-q', '--label', 'a label']), `${id}\n`);
        assert.equal(await ok(d, ['ps', '-q', '--tag', 'none']), '');
        assert.equal(await ok(d, ['ps', '-aq', '-n', '1']), `${other.id}\n`);
        assert.equal(await ok(d, ['ps', '-q', '--status', 'exited', '-n1']), `${other.id}\n`);
        await fails(d, 1, /status/, ['ps', '--status', 'odd']);
        await fails(d, 125, /tag.*in use|tag_in_use/, ['run', '-d', '--tag', 'one', 'true']);
        assert.equal(await ok(d, ['rm', '-f', '--grace', '0', 'one']), 'one\n');
    });

    it('ps --usage: what a process uses, and what one that has ended used', async () => {
        const { command, args } = burner(d, { hold: true });
        const p = await d.spawn({ command, args, stdin: 'pipe' });
        await d.outputHas(p.id, 'written_bytes');
        const table = async () => {
            const [titles, ...rows] = (await ok(d, ['ps', '-au', '--no-trunc'])).split('\n');
            assert.match(titles, /^ID +TAG +TTY +STATUS +VIEWERS +CPU +MEMORY +READ +WRITTEN +COMMAND$/);
            const [, cpu, memory] = rows.find((r) => r.startsWith(p.id)).match(/ (\d+\.\d\d)s +(\d+\.\d)M +(?:\S+) +(?:\S+) +\S*burn/);
            assert.ok(cpu >= burn.cpuMs / 1100 && memory >= 64 && memory < 256, `${cpu} ${memory}`);
        };
        await table();
        await ok(d, ['send', '--enter', p.id]);
        await d.exitOf(p.id);
        await table();
        const [listed] = (await json(['ps', '-a', '-u'])).filter((l) => l.id === p.id);
        assert.equal(listed.usage.scope, 'process');
        assert.match(await ok(d, ['ps', '-a', '--format', '{usage.max_rss_bytes}', '-n1']), /^\d+\n$/);
    });

    it('names: an id, its beginning, a tag, tag:, pid:; others are refused', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['1000'], tag: 'named' });
        for (const name of [p.id, p.id.slice(0, 24), p.id.slice(5, 24), 'named', 'tag:named', `pid:${p.pid}`])
            assert.equal(await ok(d, ['attach', name, '--format', '{id}']), `${p.id}\n`);
        for (const name of ['nobody', 'tag:nobody', 'pid:1', 'proc_aaaaaaaaaaaaaaaaaaaa', 'a b/c?d#e%f'])
            await fails(d, 1, /holdfast ps -a/, ['wait', name]);
        await fails(d, 1, /several|ps -a/, ['wait', 'p']);
        await d.remove(p.id);
    });

    it('run: environment, directory, shell, time-out, session, source', async () => {
        assert.equal(await ok(d, ['run', '-e', 'A=1', '-e', 'A=2', '-e', 'HOME', 'sh', '-c', 'echo $A $HOME'], { env: { HOME: '/h' } }), '2 /h\n');
        assert.equal(await ok(d, ['run', '-w', '/', 'pwd']), '/\n');
        assert.equal(await ok(d, ['run', '--shell', 'echo $((1+1)) | tr 2 3']), '3\n');
        assert.equal(await ok(d, ['run', '--clear-env', '/usr/bin/env']).then((t) => /PATH/.test(t)), false);
        assert.equal((await cli(d, ['run', '--timeout', '200ms', '--grace', '1s', 'sleep', '1000'])).code, 143);
        const p = await json(['run', '-d', '--session', 's1', '--source', 'agent', 'true']);
        assert.deepEqual([p.session_id, p.source], ['s1', 'agent']);
        await fails(d, 125, /source/, ['run', '--source', 'odd', 'true']);
        assert.equal(await ok(d, ['run', 'echo', '-d', '--help']), '-d --help\n');
    });

    it('send: text, keys, standard input, end of file; and a process that takes none', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        await ok(d, ['send', p.id, 'two', 'words', '--enter']);
        await ok(d, ['send', p.id], { input: 'from stdin\n' });
        assert.equal((await json(['send', p.id, 'x'])).accepted_bytes, 1);
        await ok(d, ['send', p.id, '-k', 'Enter', '-k', 'Tab', '--eof']);
        await d.exitOf(p.id);
        assert.equal((await d.output(p.id)).toString(), 'two words\nfrom stdin\nx\r\t');
        await fails(d, 1, /not_running/, ['send', p.id, 'x']);
        const q = await d.sh('exec sleep 1000');
        await fails(d, 1, /stdin_closed.*run -i/, ['send', q.id, 'x']);
        await fails(d, 1, /key/i, ['send', q.id, '-k', 'Nonsense']);
        await d.remove(q.id);
        const big = await d.sh('wc -c', { stdin: 'pipe' });
        await ok(d, ['send', '--eof', big.id], { input: Buffer.alloc(3000000, 65) });
        await d.exitOf(big.id);
        assert.equal(Number((await d.output(big.id)).toString()), 3000000);
    });

    it('send: an input that cannot be read is a failure', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const fd = fs.openSync('/', 'r');
        await fails(d, 1, /cannot read standard input/, ['send', '--eof', p.id], { stdio: [fd, 'pipe', 'pipe'] });
        fs.closeSync(fd);
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('run -d -i: a process that is given input by send', async () => {
        const id = (await ok(d, ['run', '-d', '-i', 'sh', '-c', 'cat; exit 4'])).trim();
        await ok(d, ['send', '--eof', id, 'given later']);
        assert.equal((await cli(d, ['wait', '-e', id])).code, 4);
        assert.equal(await ok(d, ['logs', id]), 'given later');
    });

    it('run --json: -i passes standard input on, --rm forgets it', async () => {
        const bytes = Buffer.from([0, 255, 10, 65]);
        const all = async (args, input) => JSON.parse(await ok(d, ['run', '--json', '--rm', ...args], { input }));
        assert.equal((await all(['-i', 'od', '-An', '-tx1'], bytes)).stdout, ' 00 ff 0a 41\n');
        assert.equal((await all(['-i', 'cat'], '')).stdout, '');
        assert.equal((await all(['-i', 'wc', '-c'], Buffer.alloc(700000, 'x'))).stdout, '700000\n');
        await fails(d, 2, /1 MiB/, ['run', '-i', '--json', 'cat'], { input: Buffer.alloc(1 << 20, 'x') });
        const before = (await d.list()).length;
        await d.get((await all(['true'])).process.id).then(() => assert.fail('it is still there'), () => {});
        assert.equal((await d.list()).length, before);
    });

    /* They arrived as U+FFFD, and nobody was told. */
    it('arguments that are not UTF-8: sent as they are, or refused', async () => {
        const bash = (line) => execFileSync('bash', ['-c', `${line}; echo " $?"`], { env: cliEnv(d, { HF: binary() }), encoding: 'utf8' });
        const p = await d.sh('od -An -tx1', { stdin: 'pipe' });
        assert.equal(bash(`"$HF" send --eof ${p.id} $'\\xff\\xfe' '\u00e9'`), ' 0\n');
        await d.exitOf(p.id);
        assert.equal(await ok(d, ['logs', p.id]), ' ff fe 20 c3 a9\n');
        for (const line of [`run echo $'\\xff'`, `run -e A=$'\\xff' true`, `run -w /$'\\xff' true`, `session run x $'\\xff'`, `wait --text $'\\xff' x`])
            assert.match(bash(`"$HF" ${line} 2>&1`), /is not UTF-8.* 2\n$/s, line);
        assert.match(bash(`A=$'\\xff' "$HF" run -e A true 2>&1`), /the value of A is not UTF-8.* 2\n$/s);
    });

    it('signal and kill', async () => {
        const p = await d.sh('trap "exit 3" USR1; echo up; while :; do sleep 0.02; done');
        await d.outputHas(p.id, 'up');
        assert.deepEqual(await json(['signal', p.id, 'usr1']), { signal: 'SIGUSR1', target: 'group' });
        assert.equal((await d.exitOf(p.id)).exit_code, 3);
        await fails(d, 1, /not_running/, ['signal', p.id, 'INT']);
        const [a, b] = [await d.sh('sleep 1000; :'), await d.sh('sleep 1000; :')];
        await fails(d, 1, /bad_signal/, ['signal', a.id, 'NONSENSE']);
        await fails(d, 1, /target/, ['signal', '-t', 'odd', a.id, 'INT']);
        await ok(d, ['kill', a.id, b.id]);
        assert.equal((await d.exitOf(a.id)).exit_code, 137);
        assert.equal((await d.exitOf(b.id)).exit_code, 137);
        await fails(d, 1, /not_running/, ['kill', '-s', 'TERM', a.id]);
    });

    it('rm: refuses what runs, unless forced; --exited', async () => {
        const p = await d.sh('exec sleep 1000');
        await fails(d, 1, /running.*rm -f/, ['rm', p.id]);
        const j = await json(['rm', '-f', p.id]);
        assert.deepEqual([j.exit_code, j.survivors], [143, []]);
        await fails(d, 1, /no_such_process.*ps -a/, ['rm', p.id]);
        await d.exitOf((await d.sh('true')).id);
        await ok(d, ['rm', '--exited']);
        assert.deepEqual(await d.list('?status=exited'), []);
    });

    it('resize, and a process without a terminal', async () => {
        const p = await d.sh('exec sleep 1000', { pty: true });
        await ok(d, ['resize', p.id, '123x45']);
        const q = await d.get(p.id);
        assert.deepEqual([q.cols, q.rows], [123, 45]);
        await fails(d, 1, /bad_size/, ['resize', p.id, '0x10']);
        const t = onPty(d, ['resize', p.id], { rows: 33, cols: 99 });
        await t.endsWith('exit 0');
        await t.close();
        assert.equal((await d.get(p.id)).cols, 99);
        await d.remove(p.id);
        const r = await d.sh('exec sleep 1000');
        await fails(d, 1, /not_a_terminal/, ['resize', r.id, '80x24']);
        await d.remove(r.id);
    });

    it('info, by people and by programs', async () => {
        const text = await ok(d, ['info']);
        assert.match(text, /version +\d+\.\d+\.\d+\n/);
        assert.match(text, /your role +own\n/);
        await check('Info', await json(['info'])).catch(async () => assert.equal((await json(['info'])).name, 'holdfast'));
        assert.equal(await ok(d, ['info', '--format', '{limits.processes}']), '1024\n');
        assert.match(await ok(d, ['info'], { env: { HOLDFAST_TOKEN: d.tokens.watch } }), /your role +watch/);
        await fails(d, 1, /forbidden.*role/, ['upgrade'], { env: { HOLDFAST_TOKEN: d.tokens.watch } });
    });

    it('screen, record and share of a terminal', async () => {
        const p = await d.sh('printf "shown \\033[31mred\\033[0m"; exec sleep 1000', { pty: true });
        await d.outputHas(p.id, 'red');
        assert.equal(await ok(d, ['screen', p.id]), 'shown red\n');
        assert.match(await ok(d, ['screen', '-o', 'html', p.id]), /^<!doctype html>[^]*shown[^]*red/);
        const cast = (await ok(d, ['record', p.id])).trim().split('\n').map((l) => JSON.parse(l));
        assert.equal(cast[0].version, 2);
        assert.equal(cast.slice(1).map((e) => e[2]).join(''), 'shown \x1b[31mred\x1b[0m');
        assert.match((await ok(d, ['share', p.id])).trim(), /^http.*\?link=hfl_/);
        assert.match((await ok(d, ['share', '--url', `${d.url}//`, p.id])).trim(), /^http:\/\/[^/]+\/\?link=hfl_/);
        const link = /(link_\w+) +watch +0 /.exec(await ok(d, ['share', '--list', p.id]))[1];
        await ok(d, ['share', '--revoke', link, p.id]);
        assert.ok(!(await ok(d, ['share', '--list', p.id])).includes(link));
        await fails(d, 1, /no process has the tag or id/, ['screen', 'proc_missing']);
        await d.remove(p.id);
    });

    it('sessions: made, used, listed, told and removed', async () => {
        await ok(d, ['session', 'create', 'cli']);
        assert.equal(await ok(d, ['session', 'run', 'cli', 'cd /; X=kept; echo one']), 'one\n');
        assert.equal(await ok(d, ['session', 'run', 'cli', 'pwd; echo $X']), '/\nkept\n');
        assert.equal((await cli(d, ['session', 'run', 'cli', 'false'])).code, 1);
        assert.match(await ok(d, ['session', 'ls']), /cli +idle/);
        assert.match(await ok(d, ['session', 'transcript', 'cli']), /pwd; echo \$X[^]*exit 0[^]*kept/);
        await ok(d, ['session', 'rm', 'cli']);
        assert.ok(!(await ok(d, ['session', 'ls'])).includes('cli'));
        await fails(d, 1, /no_such_session/, ['session', 'show', 'cli']);
    });

    it('session run: options of the command are its own, and its output comes to the byte', async () => {
        await ok(d, ['session', 'create', 'opts']);
        assert.equal(await ok(d, ['session', 'run', 'opts', 'printf', '%s,', '-t', '-w', '--json', '-e', '--']), '-t,-w,--json,-e,--,');
        assert.equal((await cli(d, ['session', 'run', '-t', '100ms', 'opts', 'sleep', '1000'])).code, 124);
        assert.equal((await cli(d, ['session', 'run', '--json', '-t', '100ms', 'opts', 'sleep', '1000'])).code, 124);
        assert.equal((await json(['session', 'run', 'opts', 'printf a'])).stdout, 'a');
        const b = await cli(d, ['session', 'run', 'opts', 'printf "\\377\\376\\0x"; printf "\\377" >&2']);
        assert.deepEqual([...b.stdout], [255, 254, 0, 120]);
        // Each stream has room for it, though not both together: nothing is missing.
        const two = await cli(d, ['session', 'run', 'opts', 'head -c 700000 /dev/zero; head -c 700000 /dev/zero >&2']);
        assert.deepEqual([two.stdout.length, two.stderr.length], [700000, 700000]);
        const long = await cli(d, ['session', 'run', 'opts', 'head -c 3000000 /dev/zero']);
        const missing = Number(/ (\d+) bytes in the middle of the output were omitted/.exec(long.stderr)[1]);
        assert.equal(long.stdout.length + missing, 3000000);
        await ok(d, ['session', 'rm', 'opts']);
    });

    it('where the daemon is: --url, HOLDFAST_URL, a socket without a token, token files', async () => {
        const bare = { HOLDFAST_URL: undefined, HOLDFAST_TOKEN: undefined };
        const socket = `unix:${d.unixPath}`;
        assert.match(await ok(d, ['info', '--url', socket], { env: bare }), /your role +own/);
        assert.match(await ok(d, ['info'], { env: { ...bare, HOLDFAST_URL: `unix://${d.unixPath}` } }), /own/);
        assert.match(await ok(d, ['info', '--url', d.url, '--token-file', d.tokenFile], { env: bare }), /own/);
        assert.match(await ok(d, ['info', '--url', `${d.url}/`], {}), /own/);
        await fails(d, 1, /unauthorized.*--token-file/, ['info', '--url', d.url], { env: bare });
        const state = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-state-'));
        fs.writeFileSync(path.join(state, 'token'), `${d.token}\n`, { mode: 0o600 });
        assert.match(await ok(d, ['info', '--url', d.url], { env: { ...bare, HOLDFAST_STATE_DIR: state } }), /own/);
        for (const text of [`${d.token} \t\r\n`, `# mine\nwatch ${d.tokens.watch}\n\n  own\t ${d.token}  \n`]) {
            fs.writeFileSync(path.join(state, 'blanks'), text, { mode: 0o600 });
            assert.match(await ok(d, ['info', '--url', d.url, '--token-file', path.join(state, 'blanks')], { env: bare }), /your role +own/);
        }
        const run = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-run-'));
        fs.symlinkSync(d.unixPath, path.join(run, 'holdfast.sock'));
        assert.match(await ok(d, ['info'], { env: { ...bare, XDG_RUNTIME_DIR: run } }), /holdfast\.sock/);
        for (const dir of [state, run]) fs.rmSync(dir, { recursive: true });
        // A pipe over the socket, too: it is not only for short answers.
        assert.equal(await ok(d, ['run', '-i', '--url', socket, 'cat'], { env: bare, input: 'over the socket' }), 'over the socket');
    });

    it('a token of this machine is not sent to another', async () => {
        const state = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-state-'));
        fs.writeFileSync(path.join(state, 'token'), `${d.token}\n`, { mode: 0o600 });
        const seen = [];
        const server = http.createServer((req, res) => {
            seen.push(req.headers.authorization);
            res.end('{}');
        });
        await new Promise((done) => server.listen(0, '0.0.0.0', done));
        const address = Object.values(os.networkInterfaces()).flat().find((a) => a.family === 'IPv4' && !a.internal)?.address;
        const env = { HOLDFAST_URL: undefined, HOLDFAST_TOKEN: undefined, HOLDFAST_STATE_DIR: state };
        await cli(d, ['info', '--url', `http://127.0.0.1:${server.address().port}`], { env });
        if (address) await cli(d, ['info', '--url', `http://${address}:${server.address().port}`], { env });
        server.close();
        fs.rmSync(state, { recursive: true });
        assert.equal(seen[0], `Bearer ${d.token}`);
        for (const s of seen.slice(2)) assert.equal(s, undefined);
    });
});

/* Only the first was tried, and a daemon that listens at ::1 was not found by its name. */
test('every address of a name is tried', async () => {
    await daemonFor({ listen: ['[::1]:0'], fdBaseline: false }, async (d) => {
        assert.match(await ok(d, ['info', '--url', `http://localhost:${d.port}`]), /your role +own/);
    });
});

test('https: the certificate must be right', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-tls-'));
    const [cert, key] = [path.join(dir, 'cert'), path.join(dir, 'key')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
        '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    await daemonFor({ args: ['--tls-cert', cert, '--tls-key', key], fdBaseline: false }, async (d) => {
        assert.match(await ok(d, ['info', '--ca-file', cert]), /own/);
        assert.match(await ok(d, ['info'], { env: { HOLDFAST_CA_FILE: cert } }), /own/);
        const bytes = Buffer.alloc(700000, 'tls');
        const r = await cli(d, ['run', '-i', '--ca-file', cert, 'cat'], { input: bytes });
        assert.ok(r.stdout.equals(bytes), r.stderr);
        await fails(d, 125, /certificate.*--ca-file/, ['info']);
        await fails(d, 125, /mismatch|not match/i, ['info', '--ca-file', cert, '--url', `https://localhost:${d.port}`]);
        await fails(d, 125, /cannot use/, ['info', '--ca-file', '/no/such']);
        await fails(d, 125, /./, ['info', '--url', `http://127.0.0.1:${d.port}`]);
        if (releaseBinary()) await fails(d, 125, /without TLS/, ['info'], { bin: releaseBinary() });
    });
    fs.rmSync(dir, { recursive: true });
});
