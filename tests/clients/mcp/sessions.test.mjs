// SPDX-License-Identifier: Apache-2.0
// Sessions of the official client: side by side, cancelled, with progress, ended, expired, lost.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it, test } from '../../lib/test.mjs';
import { Daemon, daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { call, checkError, connect, initialize, notification, open, openPost, post, request, withClient } from '../../lib/mcp.mjs';
import { limit } from '../../lib/limits.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

/** The process that runs this marker, once it does. */
const running = (d, mark) =>
    waitUntil(async () => (await d.list('?status=running')).find((p) => p.command.includes(mark)), `${mark} to run`);
/** A stream of a self-contained request that listens for changes of the list of processes. */
const listen = (d, id) => {
    const meta = (name, value) => [`io.modelcontextprotocol/${name}`, value];
    const _meta = Object.fromEntries([meta('protocolVersion', '2026-07-28'), meta('clientCapabilities', {})]);
    return openPost(d, request(id, 'subscriptions/listen', { notifications: { resourcesListChanged: true }, _meta }), {
        version: '2026-07-28',
        headers: { 'Mcp-Method': 'subscriptions/listen' },
    });
};
const gone = (d, id) => waitUntil(async () => (await d.get(id)).status === 'exited', `${id} to end`);

withDaemon('mcp sessions', {}, (d) => {
    it('two clients side by side do not see each other', async () => {
        const [a, b] = await Promise.all([connect(d), connect(d)]);
        assert.notEqual(a.transport.sessionId, b.transport.sessionId);
        const slow = call(a, 'run_command', { command: 'read x; echo $x', pty: true, tag: 'a' });
        await waitUntil(async () => (await d.list('?tag=a')).length === 1, 'a to run');
        for (let i = 0; i < 10; i++) {
            const r = await call(b, 'run_command', { command: `echo ${i}` });
            assert.equal(r.output, `${i}\n`);
        }
        await call(b, 'send_input', { process_id: 'tag:a', text: 'from b', keys: ['Enter'] });
        assert.match((await slow).output, /from b\r\n$/);
        await b.end();
        await a.ping();
        await a.end();
    });

    it('one client has many calls under way', async () => {
        await withClient(d, {}, async (c) => {
            const all = Array.from({ length: 20 }, (_, i) => call(c, 'run_command', { command: `echo ${i}; exit ${i}` }));
            (await Promise.all(all)).forEach((r, i) => {
                assert.equal(r.output, `${i}\n`);
                assert.equal(r.exit_code, i);
            });
        });
    });

    it('cancelling run_command ends the command', async () => {
        await withClient(d, {}, async (c) => {
            const stop = new AbortController();
            const slow = call(c, 'run_command', { command: 'sleep 301' }, { signal: stop.signal });
            const p = await running(d, 'sleep 301');
            stop.abort('enough');
            await assert.rejects(slow);
            await gone(d, p.id);
            assert.equal((await d.get(p.id)).exit.kind, 'killed');
            await c.ping();
        });
    });

    it('cancelling wait_for ends the waiting and not the process', async () => {
        await withClient(d, {}, async (c) => {
            const { process_id } = await call(c, 'start_process', { command: 'sleep 302' });
            const stop = new AbortController();
            const slow = call(c, 'wait_for', { process_id, exit: true }, { signal: stop.signal });
            stop.abort();
            await assert.rejects(slow);
            assert.equal((await call(c, 'read_output', { process_id })).status, 'running');
            await call(c, 'stop', { process_id, grace_ms: 0 });
        });
    });

    it('a cancelled call has no answer: its stream ends empty', async () => {
        const session = await open(d);
        const slow = post(d, request('x1', 'tools/call', { name: 'run_command', arguments: { command: 'sleep 303' } }), {
            session,
        });
        const p = await running(d, 'sleep 303');
        const other = await open(d);
        const cancel = notification('notifications/cancelled', { requestId: 'x1' });
        assert.equal((await post(d, cancel, { session: other })).status, 202);
        assert.equal((await d.get(p.id)).status, 'running', 'the id of another session means nothing');
        assert.equal((await post(d, cancel, { session })).status, 202);
        const a = await within(slow, 10000);
        assert.equal(a.status, 200);
        assert.equal(a.type, 'text/event-stream');
        assert.equal(a.text, '');
        await gone(d, p.id);
        for (const params of [undefined, {}, { requestId: 'x1' }, { requestId: null }, { requestId: [] }]) {
            assert.equal((await post(d, notification('notifications/cancelled', params), { session })).status, 202);
        }
    });

    it('a client that leaves a call behind leaves its command running', async () => {
        const session = await open(d);
        const body = request(1, 'tools/call', {
            name: 'run_command',
            arguments: { command: 'read x # left behind', pty: true },
            _meta: { progressToken: 't' },
        });
        const res = await openPost(d, body, { session });
        const p = await running(d, 'left behind');
        res.destroy();
        const pong = await post(d, request(2, 'ping'), { session });
        assert.deepEqual(pong.json.result, {});
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('long runs tell their progress, and clients may wait as long as it comes', async () => {
        await withClient(d, {}, async (c) => {
            const told = [];
            const slow = call(
                c,
                'run_command',
                { command: 'echo "step one"; read x; echo $x', pty: true, tag: 'long' },
                { onprogress: (p) => told.push(p), timeout: 30000, resetTimeoutOnProgress: true },
            );
            await waitUntil(() => told.length >= 2, 'two notifications of progress');
            await call(c, 'send_input', { process_id: 'tag:long', keys: ['Enter'] });
            assert.equal((await slow).exit_code, 0);
            told.reduce((last, p) => (assert.ok(p.progress > last), p.progress), 0);
            assert.match(told[0].message, /running for \d+ s, 10 bytes of output: step one$/);
        });
    });

    it('progress comes on the stream of its call, and the answer last', async () => {
        const session = await open(d);
        const body = request(7, 'tools/call', {
            name: 'run_command',
            arguments: { command: 'read x', pty: true, tag: 'stream' },
            _meta: { progressToken: 'mine' },
        });
        const sse = new SseReader(await openPost(d, body, { session }));
        const first = JSON.parse((await sse.next()).data);
        assert.equal(first.method, 'notifications/progress');
        assert.equal(first.params.progressToken, 'mine');
        await d.api('POST', '/v1/processes/tag:stream/input', { json: { keys: ['Enter'] } });
        const last = JSON.parse((await sse.find((e) => e.data.includes('result'))).data);
        assert.equal(last.id, 7);
        assert.equal(last.result.isError, false);
        assert.equal(await sse.next(), null);
    });

    it('a large answer comes whole on a stream', async () => {
        const session = await open(d);
        const max = limit('LIMIT_MCP_OUTPUT_MAX_BYTES');
        const body = request(8, 'tools/call', {
            name: 'run_command',
            arguments: {
                command: `read x; head -c ${max} /dev/zero | tr '\\0' x`,
                pty: true,
                tag: 'large',
                max_output_bytes: max,
            },
            _meta: { progressToken: 1 },
        });
        const sse = new SseReader(await openPost(d, body, { session }));
        assert.ok(await sse.next());
        await d.api('POST', '/v1/processes/tag:large/input', { json: { keys: ['Enter'] } });
        const { result } = JSON.parse((await sse.find((e) => e.data.includes('result'))).data);
        const { output, output_tail, omitted_bytes, next } = result.structuredContent;
        assert.equal(output.length + output_tail.length + omitted_bytes, next);
        assert.equal(output.length + output_tail.length, max);
    });

    it('an ended session is gone with its calls, and another goes on', async () => {
        const session = await open(d);
        const slow = post(d, request(1, 'tools/call', { name: 'run_command', arguments: { command: 'sleep 304' } }), {
            session,
        });
        const p = await running(d, 'sleep 304');
        const a = await d.request('DELETE', '/mcp', { headers: { 'Mcp-Session-Id': session }, agent: false });
        assert.equal(a.status, 204);
        assert.equal((await slow).text, '');
        await gone(d, p.id);
        checkError(await post(d, request(2, 'ping'), { session }), 404, -32000, /initialize/);
        const again = await d.request('DELETE', '/mcp', { headers: { 'Mcp-Session-Id': session }, agent: false });
        assert.equal(again.status, 404);
    });

    it('the session idle for longest goes when there are too many', async () => {
        const first = await open(d);
        const busy = await open(d);
        const slow = post(d, request(1, 'tools/call', { name: 'run_command', arguments: { command: 'sleep 305' } }), {
            session: busy,
        });
        const p = await running(d, 'sleep 305');
        for (let i = 0; i < limit('LIMIT_MCP_SESSIONS'); i++) await open(d);
        assert.equal((await post(d, request(2, 'ping'), { session: first })).status, 404);
        assert.equal((await post(d, request(2, 'ping'), { session: busy })).status, 200);
        await d.remove(p.id);
        assert.equal((await slow).json.result.structuredContent.exit.kind, 'killed');
    });
});

test("one grant's sessions push out its own, and those of weaker ones, but no others", async () => {
    const extra = ['a', 'b', 'c'].map((x) => x.repeat(32));
    const d = new Daemon({}).prepare();
    fs.appendFileSync(d.tokenFile, extra.map((t) => `watch ${t}\n`).join(''));
    await d.start();
    const ping = async (session, role) => (await post(d, request(2, 'ping'), { session, role })).status;
    const owners = await open(d);
    const typists = await open(d, undefined, 'type');
    const first = await open(d, undefined, 'watch');
    for (let i = 0; i < limit('LIMIT_MCP_GRANT_SESSIONS'); i++) await open(d, undefined, 'watch');
    assert.equal(await ping(first, 'watch'), 404, 'its own oldest went');
    assert.deepEqual([await ping(owners), await ping(typists, 'type')], [200, 200]);
    assert.equal(await ping(owners, 'watch'), 404, 'nobody else may use it');
    const firsts = [];
    for (const token of extra.slice(0, 2)) {
        firsts.push(await open(d, undefined, token));
        for (let i = 1; i < limit('LIMIT_MCP_GRANT_SESSIONS'); i++) {
            const a = await post(d, initialize(), { role: token });
            if (a.status === 429) break; // the typist has one of the places
        }
    }
    checkError(await post(d, initialize(), { role: extra[2] }), 429, -32000, /too many sessions/);
    assert.equal(await ping(firsts[0], extra[0]), 200);
    assert.equal(await ping(await open(d, undefined, 'type'), 'type'), 200, 'a stronger one gets a place');
    for (let i = 0; i < limit('LIMIT_MCP_SESSIONS'); i++) await open(d);
    assert.deepEqual([await ping(owners), await ping(typists, 'type')], [404, 200], 'the owner has places of its own');
    await d.stop();
});

withDaemon('mcp sessions that expire', { args: ['--mcp-session-ms', '1500'] }, (d) => {
    const ping = async (session) => (await post(d, request(1, 'ping'), { session })).status;

    // Asking makes it used again, so the pauses between two questions are longer than it may be idle.
    const forgotten = (session) => waitUntil(async () => (await ping(session)) === 404, 'it to be forgotten', 30000, 2000);

    it('an idle session is forgotten and the client begins anew', async () => {
        const session = await open(d);
        await forgotten(session);
        checkError(await post(d, request(1, 'ping'), { session }), 404, -32000, /initialize/);
        assert.equal(await ping(await open(d)), 200);
    });

    it('a session with a call is not idle', async () => {
        const session = await open(d);
        const slow = post(d, request(1, 'tools/call', { name: 'run_command', arguments: { command: 'sleep 308' } }), {
            session,
        });
        const p = await running(d, 'sleep 308');
        await forgotten(await open(d));
        assert.equal(await ping(session), 200);
        await d.remove(p.id);
        assert.equal((await slow).status, 200);
    });

    it('a session with a stream is not idle', async () => {
        const session = await open(d);
        const res = await d.open('GET', '/mcp', {
            headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': session },
        });
        assert.equal(res.statusCode, 200);
        await forgotten(await open(d));
        assert.equal(await ping(session), 200);
        res.destroy();
        await forgotten(session);
    });
});

it('after a worker was killed the session is unknown and the processes are there', () =>
    daemonFor({}, async (d) => {
        const c = await connect(d);
        const { process_id } = await call(c, 'start_process', { command: 'echo before; sleep 306' });
        await call(c, 'wait_for', { process_id, text: 'before' });
        const session = c.transport.sessionId;
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await c.close();
        checkError(await post(d, request(1, 'ping'), { session }), 404, -32000);
        await withClient(d, {}, async (again) => {
            assert.equal((await call(again, 'read_output', { process_id })).output, 'before\n');
            await call(again, 'stop', { process_id, grace_ms: 0, forget: true });
        });
    }));

it('a daemon that stops answers what waits', () =>
    daemonFor({}, async (d) => {
        const session = await open(d);
        const slow = post(d, request(1, 'tools/call', { name: 'run_command', arguments: { command: 'sleep 307' } }), {
            session,
        });
        await running(d, 'sleep 307');
        await d.openapi();
        process.kill(d.pid, 'SIGTERM');
        const a = await slow;
        assert.equal(a.json.result.structuredContent.exit.by, 'shutdown');
        assert.equal((await within(d.exit, 10000, 'exit')).code, 0);
    }));

it('a worker that is replaced answers every call, and ends every stream', () =>
    daemonFor({}, async (d) => {
        const session = await open(d, '2025-03-26');
        const deaf = await d.sh('trap "" TERM; echo deaf; while :; do sleep 0.1; done');
        const tool = (id, name, args) => request(id, 'tools/call', { name, arguments: args });
        const batch = post(
            d,
            [
                tool('run', 'run_command', { command: 'sleep 308' }),
                tool('wait', 'wait_for', { process_id: deaf.id, exit: true }),
                tool('stop', 'stop', { process_id: deaf.id, grace_ms: 60000 }),
                request('quick', 'ping'),
            ],
            { session },
        );
        const alone = post(d, tool('alone', 'run_command', { command: 'sleep 309' }), { session });
        const feed = new SseReader(await d.open('GET', '/mcp', { headers: { Accept: 'text/event-stream', 'Mcp-Session-Id': session } }));
        const listening = new SseReader(await listen(d, 'sub'));
        assert.match((await listening.next()).data, /acknowledged/);
        const [run] = await Promise.all([running(d, 'sleep 308'), running(d, 'sleep 309')]);
        process.kill(d.pid, 'SIGHUP');
        const replies = new Map((await batch).json.map((m) => [m.id, m]));
        assert.deepEqual([...replies.keys()].sort(), ['quick', 'run', 'stop', 'wait']);
        assert.deepEqual(replies.get('quick').result, {});
        for (const id of ['run', 'wait', 'stop']) assert.equal(replies.get(id).error.data.code, 'shutting_down', id);
        assert.equal((await alone).json.error.data.code, 'shutting_down');
        const last = JSON.parse((await listening.find((e) => e.data.includes('"result"'))).data);
        assert.equal(last.id, 'sub');
        assert.equal(last.result.resultType, 'complete');
        assert.equal(await listening.next(), null);
        while ((await feed.next()) !== null);
        await waitUntil(async () => (await d.get(run.id)).status === 'running', 'the command under the next worker');
        await d.remove(run.id);
        await d.remove(deaf.id);
    }));
