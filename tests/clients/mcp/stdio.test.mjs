// SPDX-License-Identifier: Apache-2.0
// `holdfast mcp`, the server on standard input and output, with the official clients that start it as an agent does.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, it } from '../../lib/test.mjs';
import { binary, Daemon, daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { cli, cliEnv, start } from '../../lib/cli.mjs';
import { call, initialize, notification, request } from '../../lib/mcp.mjs';
import { limit } from '../../lib/limits.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const VERSION = '2026-07-28';

/** A client of either package, connected to a relay that it has started; its standard error is in `said`. */
async function withRelay(d, { modern = false, env = {}, options = {} }, body) {
    const parameters = { command: binary(), args: ['mcp'], env: cliEnv(d, env), stderr: 'pipe' };
    const transport = modern ? new ModernTransport(parameters) : new StdioClientTransport(parameters);
    const c = modern
        ? new ModernClient({ name: 'tests', version: '1' }, { versionNegotiation: { mode: { pin: VERSION } }, ...options })
        : new Client({ name: 'tests', version: '1' }, options);
    const said = [];
    transport.stderr.on('data', (b) => said.push(b));
    c.said = () => Buffer.concat(said).toString();
    c.relayPid = () => transport.pid;
    try {
        await within(c.connect(transport), 20000, 'initialize');
        await body(c);
    } catch (err) {
        err.message += `\n--- the relay's standard error ---\n${c.said().slice(0, 5000)}`;
        throw err;
    } finally {
        await c.close();
    }
    assert.doesNotMatch(c.said(), /AddressSanitizer|LeakSanitizer|runtime error/);
}

const relays = new Set();
afterEach(() => {
    for (const child of relays) child.kill('SIGKILL');
});

/** Bare lines to a relay; `next()` is its next message. */
function bare(d, env = {}) {
    return wrap(start(d, ['mcp'], { input: null, stdio: ['pipe', 'pipe', 'pipe'], env }));
}

function wrap(child) {
    const lines = [];
    let rest = '';
    relays.add(child);
    child.once('exit', () => relays.delete(child));
    child.stdout.on('data', (b) => {
        rest += b;
        const all = rest.split('\n');
        rest = all.pop();
        lines.push(...all);
    });
    child.send = (...messages) => child.stdin.write(messages.map((m) => `${typeof m === 'string' ? m : JSON.stringify(m)}\n`).join(''));
    child.next = () => waitUntil(() => (lines.length ? JSON.parse(lines.shift()) : null), 'a message', 20000);
    child.now = async () => (lines.length ? JSON.parse(lines.shift()) : child.next());
    child.reply = async (id) => {
        for (;;) {
            const m = await child.next();
            if (m.id === id && !m.method) return m;
        }
    };
    return child;
}

async function killWorker(d) {
    const old = d.workerPid();
    process.kill(old, 'SIGKILL');
    await d.nextWorker(old);
}

const running = (d, mark) =>
    waitUntil(async () => (await d.list('?status=running')).find((p) => p.command.includes(mark)), `${mark} to run`);

withDaemon('mcp by stdio', {}, (d) => {
    for (const modern of [false, true]) {
        const name = modern ? 'client, without a session' : 'sdk, with a session';
        it(`tools, resources, errors and progress (${name})`, () =>
            withRelay(d, { modern }, async (c) => {
                const run = async (tool, args, options) => (await c.callTool({ name: tool, arguments: args }, ...(modern ? [options] : [undefined, options]))).structuredContent;
                assert.equal(c.getServerVersion().name, 'holdfast');
                assert.equal((await c.listTools()).tools.length, 13);
                const r = await run('run_command', { command: 'echo grüß; exit 3' });
                assert.deepEqual([r.output, r.exit_code], ['grüß\n', 3]);
                const uri = `process://${r.process_id}/output`;
                assert.equal((await c.readResource({ uri })).contents[0].text, 'grüß\n');
                await assert.rejects(c.readResource({ uri: 'process://proc_nothing/output' }));
                await assert.rejects(run('no_such_tool', {}));
                const bad = await c.callTool({ name: 'run_command', arguments: { command: 'x', timout_ms: 1 } });
                assert.match(bad.content[0].text, /^unknown_field: /);
                const told = [];
                const slow = run('run_command', { command: 'echo "step"; read x', pty: true, tag: `slow${modern}` }, { onprogress: (p) => told.push(p), timeout: 30000, resetTimeoutOnProgress: true });
                await waitUntil(() => told.length >= 2, 'two notifications of progress');
                await run('send_input', { process_id: `tag:slow${modern}`, keys: ['Enter'] });
                assert.equal((await slow).exit_code, 0);
            }));

        it(`many calls are under way at once, and a cancelled one ends its command (${name})`, () =>
            withRelay(d, { modern }, async (c) => {
                const many = Array.from({ length: 40 }, (_, i) => c.callTool({ name: 'run_command', arguments: { command: `echo ${i}; exit ${i}` } }));
                (await Promise.all(many)).forEach((r, i) => assert.deepEqual([r.structuredContent.output, r.structuredContent.exit_code], [`${i}\n`, i]));
                const stop = new AbortController();
                const options = { signal: stop.signal };
                const slow = c.callTool({ name: 'run_command', arguments: { command: `sleep 40${Number(modern)}` } }, ...(modern ? [options] : [undefined, options]));
                slow.catch(() => {});
                const p = await running(d, `sleep 40${Number(modern)}`);
                stop.abort('enough');
                await assert.rejects(slow);
                await waitUntil(async () => (await d.get(p.id)).status === 'exited', 'the command to end');
                assert.equal((await c.listTools()).tools.length, 13);
            }));
    }

    it('notifications come: resources that change, and the list of them', () =>
        withRelay(d, {}, async (c) => {
            const changed = [];
            let lists = 0;
            c.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => changed.push(n.params.uri));
            c.setNotificationHandler(ResourceListChangedNotificationSchema, () => lists++);
            await waitUntil(async () => {
                await d.api('POST', '/v1/processes/run', { json: { command: 'true' } });
                return lists > 0;
            }, 'the list to change');
            const { process_id } = await call(c, 'start_process', { command: 'cat' });
            const uri = `process://${process_id}/output`;
            await c.subscribeResource({ uri });
            await call(c, 'send_input', { process_id, text: 'x\n' });
            await waitUntil(() => changed.includes(uri), 'the resource to change');
            await call(c, 'stop', { process_id, grace_ms: 0 });
        }));

    it('large messages pass whole in both directions', () =>
        withRelay(d, {}, async (c) => {
            const max = limit('LIMIT_MCP_OUTPUT_MAX_BYTES');
            const input = '0123456789abcde\n'.repeat(60000);
            const r = await call(c, 'run_command', { command: 'cat', input, max_output_bytes: max });
            assert.equal(r.output + r.output_tail, input);
            // Each byte of these takes six characters twice in the reply, and the client refuses more than 10 MiB.
            const zeros = await call(c, 'run_command', { command: 'head -c 700000 /dev/zero', max_output_bytes: max });
            assert.equal(zeros.output + zeros.output_tail, '\0'.repeat(700000));
        }));

    it('a client that does not read stops the relay and not the daemon, and gets everything when it reads', async () => {
        const c = bare(d);
        c.send(initialize('2025-11-25', 'i'));
        await c.reply('i');
        c.stdout.pause();
        const max = limit('LIMIT_MCP_OUTPUT_MAX_BYTES');
        for (let i = 0; i < 8; i++) c.send(request(i, 'tools/call', { name: 'run_command', arguments: { command: `head -c ${max} /dev/zero | tr '\\0' ${i}`, max_output_bytes: max } }));
        await waitUntil(async () => (await d.list()).filter((p) => p.command.includes('/dev/zero | tr') && p.status === 'exited').length === 8, 'the commands to end');
        c.stdout.resume();
        const seen = new Set();
        while (seen.size < 8) {
            const m = await c.next();
            assert.equal(m.result.structuredContent.output[0], String(m.id));
            seen.add(m.id);
        }
        c.stdin.end();
        assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
    });

    it('bare lines: blank ones, bad ones, batches, lines that are too long, messages before initialize', async () => {
        const c = bare(d);
        c.send('', '  ', '{"jsonrpc":"2.0",');
        let m = await c.next();
        assert.deepEqual([m.id, m.error.code], [null, -32700]);
        c.send(request('early', 'ping'));
        m = await c.reply('early');
        assert.equal(m.error.code, -32000);
        assert.match(m.error.message, /initialize/);
        c.send(initialize('2025-03-26', 'i'), notification('notifications/initialized'));
        m = await c.reply('i');
        assert.equal(m.result.protocolVersion, '2025-03-26');
        c.send([request('a', 'ping'), notification('notifications/cancelled', { requestId: 'none' }), request(2, 'ping')]);
        const pongs = [await c.next(), await c.next()].map((x) => x.id);
        assert.deepEqual(pongs.sort(), [2, 'a']);
        c.send('[]');
        assert.equal((await c.next()).error.code, -32600);
        c.send('5');
        assert.equal((await c.next()).error.code, -32600);
        c.send(request('big', 'ping', { x: 'x'.repeat(limit('LIMIT_JSON_BODY_BYTES')) }));
        m = await c.reply('big');
        assert.equal(m.error.data.code, 'body_too_large', JSON.stringify(m));
        c.send(request('huge', 'ping', { x: 'x'.repeat(limit('LIMIT_CLIENT_MCP_LINE_BYTES')) }), request('after', 'ping'));
        m = await c.next();
        assert.deepEqual([m.id, m.error.data.code], [null, 'body_too_large']);
        assert.deepEqual((await c.reply('after')).result, {});
        c.send(request('odd', 'no/such "method"'));
        assert.equal((await c.reply('odd')).error.code, -32601);
        c.stdin.end(JSON.stringify(request('last', 'ping')));
        assert.deepEqual((await c.reply('last')).result, {}, 'a last line needs no end');
        assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
    });

    it('more calls than it keeps are refused by name', async () => {
        const c = bare(d);
        const most = limit('LIMIT_CLIENT_MCP_CALLS');
        c.send(initialize('2025-11-25', 'i'));
        await c.reply('i');
        const { id } = await d.sh('sleep 300');
        const wait = (n) => request(n, 'tools/call', { name: 'wait_for', arguments: { process_id: id, exit: true, timeout_ms: 60000 } });
        c.send(...Array.from({ length: most + 1 }, (_, i) => wait(i)));
        assert.equal((await c.next()).error.data.code, 'too_many_waits');
        await d.remove(id);
        for (let i = 0; i < most; i++) assert.equal((await c.next()).result.isError, false);
        c.stdin.end();
        assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
    });

    it('the end of the input ends it: replies first, then its session, then 0', async () => {
        const c = bare(d);
        c.send(initialize('2025-11-25', 'i'), request('slow', 'tools/call', { name: 'run_command', arguments: { command: 'read x; echo $x', pty: true, tag: 'slow' } }));
        await c.reply('i');
        c.stdin.end();
        await waitUntil(async () => (await d.list('?tag=slow')).length === 1, 'the command to run');
        await d.api('POST', '/v1/processes/tag:slow/input', { body: 'kept\r', headers: { 'Content-Type': 'application/octet-stream' }, expect: 200 });
        assert.match((await c.reply('slow')).result.structuredContent.output, /kept\r\n$/);
        const end = await within(c.done, 10000, 'the relay to exit');
        assert.deepEqual([end.code, end.stderr], [0, '']);
    });

    it('a client that is gone ends it, and its command keeps running', async () => {
        const c = bare(d);
        c.send(initialize('2025-11-25', 'i'), request('left', 'tools/call', { name: 'run_command', arguments: { command: 'sleep 410' } }));
        const p = await running(d, 'sleep 410');
        c.stdin.destroy();
        c.stdout.destroy();
        assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('a refusal has the daemon\'s reason', async () => {
        const c = bare(d, { HOLDFAST_TOKEN: 'wrong-wrong-wrong-wrong' });
        c.send(initialize('2025-11-25', 'i'));
        const m = await c.reply('i');
        assert.deepEqual([m.error.code, m.error.data.code], [-32000, 'unauthorized']);
        c.stdin.end();
        assert.equal((await c.done).code, 0);
        await withRelay(d, { env: { HOLDFAST_TOKEN: d.tokens.watch } }, async (w) => {
            assert.ok(!(await w.listTools()).tools.some((t) => t.name === 'run_command'));
            await assert.rejects(w.callTool({ name: 'run_command', arguments: { command: 'true' } }), /role/);
        });
    });
});

it('without a daemon the client gets a clear error, and the exit code says so', async () => {
    const env = cliEnv(null, { HOLDFAST_URL: 'http://127.0.0.1:1' });
    const c = new Client({ name: 'tests', version: '1' });
    const transport = new StdioClientTransport({ command: binary(), args: ['mcp'], env, stderr: 'pipe' });
    await assert.rejects(c.connect(transport), /cannot connect to the daemon at http:\/\/127\.0\.0\.1:1.*holdfast serve/);
    await c.close();
    const r = await cli(null, ['mcp'], { env, input: '' });
    assert.equal(r.code, 125);
    assert.match(r.stderr, /^holdfast mcp: cannot connect to the daemon at /);
});

it('something that is no daemon is named', async () => {
    const server = net.createServer((s) => s.on('error', () => {}).on('data', () => s.end('HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n')));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const c = bare(null, { HOLDFAST_URL: `http://127.0.0.1:${server.address().port}` });
    c.send(initialize('2025-11-25', 'i'));
    assert.match((await c.reply('i')).error.message, /returned status 404; is it a holdfast daemon/);
    c.stdin.end();
    assert.equal((await c.done).code, 0);
    server.close();
});

/**
 * A server that refuses and breaks as a test needs it. `handle(message, answer, request)` gets each POST: `answer.json()`, `answer.refuse()`
 * and `answer.cut()` end it. It accepts `initialize` and notifications by itself unless `handle` returns true. `seen` has each method in order.
 */
async function fake(handle, listen = { host: '127.0.0.1', port: 0 }) {
    const f = { seen: [], deleted: [], sessions: 0 };
    const server = http.createServer(async (rq, rs) => {
        const parts = [];
        for await (const b of rq) parts.push(b);
        const message = parts.length ? JSON.parse(Buffer.concat(parts)) : {};
        const answer = {
            json: (body, headers = {}) => rs.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })),
            refuse: (status, code, text) => rs.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: text, data: { code } } })),
            cut: () => rq.socket.destroy(),
            stream: () => rs.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': \n\n'),
            raw: rs,
        };
        f.seen.push(message.method ?? rq.method);
        if (rq.method === 'DELETE') f.deleted.push(rq.headers['mcp-session-id']);
        if (await handle(message, answer, rq)) return;
        if (rq.method !== 'POST') rs.writeHead(rq.method === 'GET' ? 405 : 204).end();
        else if (message.method === 'initialize') answer.json({ result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'fake', version: '1' } } }, { 'Mcp-Session-Id': `session-${++f.sessions}` });
        else if (message.id === undefined) rs.writeHead(202).end();
        else answer.json({ result: {} });
    });
    fakes.add(server);
    await new Promise((done) => server.listen(listen, done));
    f.server = server;
    const { port } = server.address();
    f.deaf = () => waitUntil(() => new Promise((done) => net.connect(port, '127.0.0.1').on('error', () => done(true)).on('connect', () => done(false))), 'the port to be closed');
    f.listen = () => new Promise((done) => server.listen(port, '127.0.0.1', done));
    f.count = (method) => f.seen.filter((m) => m === method).length;
    f.url = listen.path ? `unix:${listen.path}` : `http://127.0.0.1:${server.address().port}`;
    f.relay = (env = {}) => bare(null, { HOLDFAST_URL: f.url, ...env });
    f.opened = async (env) => {
        const c = f.relay(env);
        c.send(initialize('2025-11-25', 'i'));
        assert.ok((await c.reply('i')).result);
        return c;
    };
    return f;
}
const fakes = new Set();
afterEach(() => {
    for (const server of fakes) {
        server.close();
        server.closeAllConnections();
    }
    fakes.clear();
});

const tool = (id, name, args = {}) => request(id, 'tools/call', { name, arguments: args });

it('a session that is not opened again: what waits for it gets the reason, and the daemon is left in peace', async () => {
    let refuses = (answer) => answer.refuse(403, 'forbidden', 'no more sessions');
    const f = await fake((m, answer) => {
        if (m.method === 'tools/list') answer.refuse(404, 'not_found', 'no such session');
        else if (m.method === 'initialize' && f.seen.length > 1) refuses(answer);
        else return false;
        return true;
    });
    const c = await f.opened();
    c.send(notification('notifications/initialized'), request('a', 'tools/list'), request('b', 'tools/list'));
    for (let i = 0; i < 2; i++) {
        const { error } = await c.next();
        assert.deepEqual([error.code, error.message, error.data.code], [-32000, 'no more sessions', 'forbidden']);
    }
    assert.ok(f.count('initialize') <= 4, `${f.count('initialize')} times`);
    refuses = (answer) => answer.json({ error: { code: -32603, message: 'out of order' } });
    c.send(request('c', 'tools/list'));
    assert.equal((await c.reply('c')).error.message, 'out of order');
    assert.ok(f.count('initialize') <= 6, `${f.count('initialize')} times`);
    refuses = (answer) => answer.raw.writeHead(204).end();
    c.send(request('d', 'tools/list'));
    assert.match((await c.reply('d')).error.message, /without a reply/);
});

it('a call that was refused once, and then lost, is not sent a third time', async () => {
    let tries = 0;
    const f = await fake((m, answer) => {
        if (m.method !== 'tools/call') return false;
        if (++tries === 1) answer.json({ result: { isError: true, content: [{ type: 'text', text: 'shutting_down: later' }] } });
        else answer.cut();
        return true;
    });
    const c = await f.opened();
    c.send(tool('t', 'send_input', { process_id: 'p', text: 'x' }));
    const { error } = await c.reply('t');
    assert.equal(error.data.code, 'connection_lost');
    assert.match(error.message, /may have been carried out/);
    assert.equal(tries, 2);
});

it('an initialize that is cancelled or fails blocks nothing', async () => {
    let first = true;
    const f = await fake((m, answer) => {
        if (m.method !== 'initialize' || !first) return false;
        first = false;
        setTimeout(() => answer.raw.writeHead(200).end(), 0);
        return true;
    });
    const c = f.relay();
    c.send(initialize('2025-11-25', 'i'), notification('notifications/cancelled', { requestId: 'i' }), request('after', 'ping'));
    assert.deepEqual((await c.reply('after')).result, {});
    c.send(initialize('2025-11-25', 'j'), request('more', 'ping'));
    assert.deepEqual((await c.reply('more')).result, {});
});

/** Waits until the process has read its standard input as far as it wants to. */
async function stopsReading(pid) {
    const amount = () => Number(/^rchar: (\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/io`, 'utf8'))[1]);
    let before = -1;
    await waitUntil(() => before === (before = amount()) && before > 100000, 'the relay to stop reading', 20000, 500);
}

it('a client that only writes is not read: refusals wait within a bound', async () => {
    const f = await fake(() => false);
    const c = await f.opened();
    const lines = 400000;
    c.stdout.pause();
    c.send('x\n'.repeat(lines - 1) + 'x');
    await stopsReading(c.pid);
    assert.ok(Number(/^VmRSS:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${c.pid}/status`, 'utf8'))[1]) < 64 << 10, 'its memory');
    c.stdout.resume();
    for (let i = 0; i < lines; i++) assert.equal((await c.now()).error.code, -32700);
});

it('notifications without end are sent a few at a time, and batches have a limit', async () => {
    const most = limit('LIMIT_CLIENT_MCP_CALLS');
    const held = [];
    let open = true;
    const f = await fake((m, answer) => m.method === 'notifications/odd' && open && held.push(answer));
    const c = await f.opened();
    const all = Array.from({ length: 3 * most }, () => notification('notifications/odd'));
    c.send(...all);
    await waitUntil(() => held.length === most, 'the first of them');
    c.send(request('after', 'ping'));
    assert.equal(f.count('notifications/odd'), most);
    open = false;
    for (const answer of held) answer.raw.writeHead(202).end();
    assert.deepEqual((await c.reply('after')).result, {});
    await waitUntil(() => f.count('notifications/odd') === 3 * most, 'all of them');
    c.send(Array.from({ length: limit('LIMIT_CLIENT_MCP_BATCH') + 1 }, () => request(1, 'ping')));
    assert.match((await c.next()).error.message, /too many/);
});

it('messages have a limit of bytes together', async () => {
    const held = [];
    const f = await fake((m, answer) => m.method === 'tools/call' && held.push(answer));
    const c = await f.opened();
    const big = 'x'.repeat(4000000);
    const most = Math.floor(limit('LIMIT_CLIENT_MCP_HELD_BYTES') / (big.length + 200));
    for (let i = 0; i <= most; i++) c.send(tool(i, 'send_input', { text: big }));
    const m = await c.next();
    assert.deepEqual([m.id, m.error.data.code], [most, 'too_many_waits']);
    await waitUntil(() => held.length === most, 'the others');
    for (const answer of held) answer.json({ result: {} });
    for (let i = 0; i < most; i++) assert.deepEqual((await c.next()).result, {});
});

it('replies that its client does not read cost no time', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-mcp-'));
    const size = 3 * limit('LIMIT_CLIENT_MCP_OUT_BYTES');
    let answered = 0;
    const f = await fake(
        (m, answer) => {
            if (m.method !== 'tools/call') return false;
            answer.json({ result: { text: 'x'.repeat(size / 8) } }, { Connection: 'close' });
            answered++;
            return true;
        },
        { path: path.join(dir, 's') },
    );
    const c = await f.opened();
    c.stdout.pause();
    for (let i = 0; i < 16; i++) c.send(tool(i, 'read_output'));
    await waitUntil(() => answered === 16, 'the requests');
    await stopsReading(c.pid);
    const ticks = () => {
        const fields = fs.readFileSync(`/proc/${c.pid}/stat`, 'utf8').split(') ')[1].split(' ');
        return Number(fields[11]) + Number(fields[12]);
    };
    const before = ticks();
    await new Promise((done) => setTimeout(done, 1000));
    assert.ok(ticks() - before <= 10, `${ticks() - before} ticks of 10 ms`);
    c.stdout.resume();
    const seen = new Set();
    while (seen.size < 16) seen.add((await c.next()).id);
    fs.rmSync(dir, { recursive: true });
});

it('a cancellation that overtakes its request is sent again until the call has ended', async () => {
    let slow;
    const f = await fake((m, answer) => {
        if (m.method === 'tools/call') slow = answer;
        if (m.method === 'notifications/cancelled' && f.count(m.method) === 3) slow.raw.writeHead(200, { 'Content-Type': 'text/event-stream' }).end();
        return m.method === 'tools/call';
    });
    const c = await f.opened();
    c.send(tool('t', 'run_command', { command: 'x' }));
    await waitUntil(() => slow, 'the call');
    c.send(notification('notifications/cancelled', { requestId: 't' }));
    await waitUntil(() => f.count('notifications/cancelled') === 3, 'three cancellations');
    c.stdin.end(); // and it does not wait for a reply of the cancelled call
    assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
    assert.equal(f.count('notifications/cancelled'), 3);
});

it('a cancelled call is not sent again', async () => {
    const f = await fake((m, answer) => {
        if (m.method !== 'tools/call') return false;
        f.server.close();
        answer.cut();
        return true;
    });
    const c = await f.opened();
    c.send(tool('t', 'run_command', { command: 'x' }));
    await waitUntil(() => f.count('tools/call') === 1, 'the call');
    await waitUntil(() => !f.server.listening, 'the server to close');
    await f.deaf();
    c.send(notification('notifications/cancelled', { requestId: 't' }), 'read');
    assert.equal((await c.next()).error.code, -32700);
    await f.listen();
    c.send(request('p', 'ping'));
    assert.deepEqual((await c.reply('p')).result, {});
    assert.equal(f.count('tools/call'), 1);
});

it('a call waits for a daemon that breaks each connection, as long as for one that is not there', async () => {
    let down = false;
    let cuts = 0;
    const f = await fake((m, answer) => {
        if (down) cuts++;
        if (down) answer.cut();
        return down;
    });
    const c = await f.opened();
    down = true;
    const began = Date.now();
    c.send(request('gone', 'ping'));
    const m = await c.reply('gone');
    assert.ok(Date.now() - began >= 9500, `gave up after ${Date.now() - began} ms`);
    assert.equal(m.error.data.code, 'connection_lost');
    assert.match(m.error.message, /may have been carried out/);
    assert.ok(cuts < 20, `${cuts} tries`);
    c.send(request('back', 'ping'));
    await waitUntil(() => cuts > 9, 'a first try');
    down = false;
    assert.deepEqual((await c.reply('back')).result, {});
});

it('a command in flight whose daemon is gone is not said to be unsent', async () => {
    const f = await fake((m, answer) => {
        if (m.method !== 'tools/call') return false;
        f.server.close();
        answer.cut();
        return true;
    });
    const c = await f.opened();
    c.send(tool('t', 'run_command', { command: 'x' }));
    const { error } = await c.reply('t');
    assert.equal(error.data.code, 'connection_lost');
    assert.match(error.message, /may have been carried out/);
});

it('a long call survives any number of lost connections', async () => {
    const most = 12;
    const f = await fake((m, answer) => {
        if (m.method !== 'tools/call') return false;
        if (f.count('tools/call') > most) answer.json({ result: { done: true } });
        else {
            answer.stream();
            answer.raw.write(': \n\n', () => answer.cut());
        }
        return true;
    });
    const c = await f.opened();
    c.send(tool('t', 'run_command', { command: 'x' }));
    assert.deepEqual((await c.reply('t')).result, { done: true });
    assert.equal(f.count('tools/call'), most + 1);
});

it('a token that was replaced is read again', async () => {
    let valid = 'a'.repeat(32);
    const f = await fake((m, answer, rq) => {
        if (rq.headers.authorization === `Bearer ${valid}`) return false;
        answer.refuse(401, 'unauthorized', 'bad token');
        return true;
    });
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-mcp-'));
    const file = path.join(dir, 'token');
    fs.writeFileSync(file, `own ${valid}\n`);
    const c = start(null, ['mcp', '--token-file', file], { input: null, stdio: ['pipe', 'pipe', 'pipe'], env: { HOLDFAST_URL: f.url } });
    const r = wrap(c);
    r.send(initialize('2025-11-25', 'i'));
    assert.ok((await r.reply('i')).result);
    valid = 'b'.repeat(32);
    r.send(request('old', 'ping'));
    assert.equal((await r.reply('old')).error.data.code, 'unauthorized');
    assert.equal(f.count('ping'), 1, 'it is not repeated with the same token');
    fs.writeFileSync(file, `own ${valid}\n`);
    r.send(tool('t', 'send_input', {}), request('p', 'ping'));
    const seen = [await r.next(), await r.next()].map((m) => [m.id, m.result]);
    assert.deepEqual(seen.sort(), [['p', {}], ['t', {}]]);
    fs.rmSync(dir, { recursive: true });
});

it('each session is ended: by another initialize, by a signal; but not under a call', async () => {
    let held;
    const f = await fake((m, answer) => {
        if (m.method === 'tools/call') held = answer;
        return m.method === 'tools/call';
    });
    for (const signal of ['SIGTERM', 'SIGINT']) {
        f.sessions = 0;
        f.deleted.length = 0;
        const c = await f.opened();
        c.send(initialize('2025-11-25', 'j'));
        assert.ok((await c.reply('j')).result);
        await waitUntil(() => f.deleted.length === 1, 'the first session to end');
        c.kill(signal);
        assert.equal((await within(c.done, 10000, 'the relay to exit')).signal, signal);
        assert.deepEqual(f.deleted, ['session-1', 'session-2']);
    }
    f.deleted.length = 0;
    const c = await f.opened();
    c.send(tool('t', 'run_command', { command: 'x' }));
    await waitUntil(() => held, 'the call');
    c.kill('SIGTERM');
    assert.equal((await within(c.done, 10000, 'the relay to exit')).signal, 'SIGTERM');
    assert.deepEqual(f.deleted, []);
});

it('a killed worker loses no reply: the session is opened again, calls and subscriptions go on', () =>
    daemonFor({}, (d) =>
        withRelay(d, {}, async (c) => {
            const changed = [];
            c.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => changed.push(n.params.uri));
            const marker = path.join(d.dir, 'go');
            const until = `until [ -e ${marker} ]; do sleep 0.05; done`;
            const { process_id } = await call(c, 'start_process', { command: 'cat' });
            const uri = `process://${process_id}/output`;
            await c.subscribeResource({ uri });
            const calls = [
                call(c, 'run_command', { command: `echo first; ${until}; echo last; exit 5` }),
                call(c, 'wait_for', { process_id, text: 'awaited', from: 0, timeout_ms: 60000 }),
                call(c, 'wait_for', { process_id, exit: true, timeout_ms: 60000 }),
            ];
            calls.forEach((p) => p.catch(() => {})); // each is awaited below
            const unsafe = c.callTool({ name: 'run_in_session', arguments: { command: until } });
            unsafe.catch(() => {});
            await waitUntil(async () => (await d.list('?status=running')).filter((p) => p.command.includes(marker)).length >= 1, 'the command to run');
            await waitUntil(async () => (await d.request('GET', '/v1/sessions')).json.sessions.length === 1, 'the session to begin');
            for (let i = 0; i < 3; i++) {
                changed.length = 0;
                await killWorker(d);
                await waitUntil(() => changed.includes(uri), 'the subscription to be renewed');
            }
            await assert.rejects(unsafe, /may have been carried out/);
            assert.equal((await d.list()).filter((p) => p.command.startsWith('echo first')).length, 1, 'it ran once');
            assert.equal((await call(c, 'run_command', { command: 'echo new' })).output, 'new\n');
            changed.length = 0;
            await call(c, 'send_input', { process_id, text: 'awaited\n' });
            assert.equal((await calls[1]).matched, 'text');
            await waitUntil(() => changed.includes(uri), 'the resource to change');
            fs.writeFileSync(marker, '');
            const r = await calls[0];
            assert.deepEqual([r.output, r.exit_code], ['first\nlast\n', 5]);
            await call(c, 'stop', { process_id, grace_ms: 0 });
            assert.equal((await calls[2]).matched, 'exit');
        }),
    ));

it('a worker that is replaced in peace loses no reply either, with and without a session', () =>
    daemonFor({}, (d) =>
        withRelay(d, {}, (c) =>
            withRelay(d, { modern: true }, async (m) => {
                const marker = path.join(d.dir, 'go');
                const command = `until [ -e ${marker} ]; do sleep 0.05; done; echo done`;
                const slow = [call(c, 'run_command', { command }), m.callTool({ name: 'run_command', arguments: { command } })];
                await waitUntil(async () => (await d.list('?status=running')).length === 2, 'both to run');
                const old = d.workerPid();
                process.kill(d.pid, 'SIGHUP');
                await d.nextWorker(old);
                assert.equal((await call(c, 'run_command', { command: 'echo new' })).output, 'new\n');
                fs.writeFileSync(marker, '');
                assert.equal((await slow[0]).output, 'done\n');
                assert.equal((await slow[1]).structuredContent.output, 'done\n');
                assert.equal((await d.list()).length, 3, 'nothing ran twice');
            }),
        ),
    ));

it('a daemon that comes back is found, and one that does not is named', async () => {
    const token = 'r'.repeat(32);
    const begin = async (options) => {
        const d = new Daemon(options).prepare();
        fs.appendFileSync(d.tokenFile, `own ${token}\n`);
        await d.start();
        return d;
    };
    let d = await begin({});
    const c = bare({ url: d.url, token });
    c.send(initialize('2025-11-25', 'i'), notification('notifications/initialized'));
    await c.reply('i');
    const listen = [`127.0.0.1:${d.port}`];
    await d.stop();
    c.send(request('waits', 'ping'));
    d = await begin({ listen });
    assert.deepEqual((await c.reply('waits')).result, {});
    await d.stop();
    c.send(request('alone', 'ping'));
    const m = await c.reply('alone');
    assert.deepEqual([m.error.code, m.error.data.code], [-32000, 'connection_lost']);
    assert.match(m.error.message, /cannot connect to the daemon at/);
    c.stdin.end();
    assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
});

it('a session that has expired is opened again without the client', () =>
    daemonFor({ args: ['--mcp-session-ms', '300'] }, async (d) => {
        const c = bare(d);
        c.send(initialize('2025-06-18', 'i'));
        await c.reply('i');
        const probe = await d.request('POST', '/mcp', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }, body: JSON.stringify(initialize('2025-06-18')) });
        const session = probe.headers['mcp-session-id'];
        await waitUntil(
            async () => {
                const a = await d.request('POST', '/mcp', { headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session }, body: JSON.stringify(request(1, 'ping')) });
                return a.status === 404;
            },
            'a session of the same age to expire',
            20000,
            700,
        );
        c.send(request('p', 'ping'));
        assert.deepEqual((await c.reply('p')).result, {});
        c.stdin.end();
        assert.equal((await within(c.done, 10000, 'the relay to exit')).code, 0);
    }));
