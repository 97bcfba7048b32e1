// SPDX-License-Identifier: Apache-2.0
// The calls beside the terminal: processes, events, errors, and AbortSignals that end what is long.

import assert from 'node:assert/strict';
import http from 'node:http';
import { it } from '../../lib/test.mjs';
import { burn, burner } from '../../lib/burn.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as sdk from '../../lib/sdk.mjs';
import { collect, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('the SDK', {}, (d) => {
    const sandbox = () => sandboxOf(d);

    it('runs a command to its end', async () => {
        const result = await sandbox().processes.run({ command: 'sh', args: ['-c', 'echo out; echo err >&2; exit 7'] });
        assert.equal(result.stdout, 'out\n');
        assert.equal(result.stderr, 'err\n');
        assert.equal(result.exitCode, 7);
        assert.equal(result.process.running, false);
        assert.equal((await sandbox().exec('echo "a  b"')).stdout, 'a  b\n');
        const limited = await sandbox().exec('sleep 60', { timeoutMs: 50, graceMs: 0 });
        assert.equal(limited.timedOut, true);
    });

    it('separates the streams of a process with pipes, takes input and its end', async () => {
        const p = await sandbox().processes.start({ command: 'sh', args: ['-c', 'cat; echo gone >&2'], stdin: 'pipe' });
        const connection = await p.attach();
        await connection.write(new Uint8Array([0, 255, 10]));
        await connection.flush();
        await connection.eof();
        const { seen, exits } = await collect(connection);
        const of = (stream) => Buffer.concat(seen.filter((e) => e.stream === stream).map((e) => e.data));
        assert.deepEqual([...of('stdout')], [0, 255, 10]);
        assert.equal(of('stderr').toString(), 'gone\n');
        assert.equal(exits.length, 1);
        assert.equal((await connection.ended).exitCode, 0);
    });

    it('reports what a process used: at its exit, and while it runs on request', async () => {
        const p = await sandbox().processes.start({ ...burner(d, { hold: true }) });
        const connection = await p.attach();
        await d.outputHas(p.id, 'written_bytes');
        assert.equal((await p.refresh()).usage, null);
        const { usage: live } = await p.refresh(false, { usage: 'live' });
        assert.deepEqual([live.scope, live.processes], ['tree', 1]);
        assert.ok(live.rssBytes >= burn.memory, JSON.stringify(live));
        assert.equal((await sandbox().processes.list({ usage: 'live' })).find((o) => o.id === p.id).current.usage.scope, 'tree');
        await connection.write('\n');
        const { usage } = await connection.ended;
        assert.deepEqual(usage, (await p.refresh()).usage);
        assert.equal(usage.scope, 'process');
        assert.ok(usage.maxRssBytes >= burn.memory && usage.userUs + usage.systemUs >= burn.cpuMs * 900, JSON.stringify(usage));
    });

    it('types keys, changes and finds a process, and keeps what is the user\'s as it is', async () => {
        const metadata = { snake_case: { camelCase: 1 } };
        const t = await sandbox().terminal.create({ command: 'cat', tag: 'typed', env: { some_name: 'x' }, metadata });
        assert.deepEqual(t.current.metadata, metadata);
        await t.input('hello', { keys: ['Enter'] });
        const found = await t.waitFor([{ text: 'hello\r\nhello' }, { exit: true }], { timeoutMs: 10_000 });
        assert.equal(found.matched, 'text');
        assert.equal(found.timedOut, false);
        assert.equal((await t.update({ label: 'new name' })).label, 'new name');
        assert.equal((await sandbox().terminal.get('tag:typed')).id, t.id);
        assert.equal((await sandbox().processes.list({ label: 'new name' })).length, 1);
        assert.equal(Buffer.from(await t.output({ tailLines: 1 })).toString(), 'hello\r\n');
        const removed = await t.remove({ graceMs: 0 });
        assert.equal(removed.exit.by, 'api');
    });

    it('types bytes that are no text with keys behind them', async () => {
        const t = await sandbox().terminal.create({ command: 'sh', args: ['-c', 'stty raw -echo; echo ready; head -c 3 | od -An -tx1'] });
        await t.waitFor({ text: 'ready' });
        assert.equal((await t.input(new Uint8Array([0xff, 0xfe]), { keys: ['Enter'] })).acceptedBytes, 3);
        assert.match((await t.wait({ includeOutput: true })).text, /ff fe 0d/);
    });

    it('waits for a silence that is longer than a request may take', async () => {
        const s = sandboxOf(d, { fetch: sdk.impatient(1000), waitSliceMs: 200 });
        const p = await s.processes.start('for i in 1 2 3; do sleep 0.3; echo $i; done; exec sleep 60');
        const began = Date.now();
        const until = [{ text: 'never' }, { quietMs: 9000 }, { quietMs: 1500 }];
        const met = await p.waitFor(until, { timeoutMs: 20_000 });
        assert.deepEqual([met.matched, met.index, met.output.data], ['quiet_ms', 2, '1\n2\n3\n']);
        assert.ok(Date.now() - began >= 2400, 'counted from the last byte');
        const late = await p.waitFor({ quietMs: 5000 }, { timeoutMs: 700 });
        assert.deepEqual([late.matched, late.timedOut], [null, true]);
        await p.kill();
    });

    it('tells of processes as they come and go', async () => {
        const stop = new AbortController();
        const seen = [];
        const listening = (async () => {
            for await (const e of sandbox().events({ since: 0, signal: stop.signal })) seen.push(e);
        })();
        const p = await sandbox().processes.start('exit 9');
        await p.wait();
        const of = (type) => seen.find((e) => e.type === type && e.process.id === p.id);
        await waitUntil(() => of('process.created') && of('process.exited'), 'both events');
        assert.equal(of('process.exited').process.exitCode, 9);
        stop.abort();
        await assert.rejects(listening, { name: 'AbortError' });
    });

    it('throws errors of a class, with the daemon\'s code', async () => {
        const s = sandbox();
        await assert.rejects(s.terminal.create({ command: '/no/such' }), (e) => e instanceof sdk.SpawnError && e.code === 'spawn_failed' && e.problem.errno === 'ENOENT');
        await assert.rejects(s.terminal.create({ command: 'true', rows: 0 }), (e) => e instanceof sdk.InvalidRequestError && e.code === 'bad_size');
        await assert.rejects(s.terminal.get('proc_missing'), (e) => e instanceof sdk.NotFoundError && e.status === 404);
        await assert.rejects(sandboxOf(d, { role: 'watch' }).terminal.create(), (e) => e instanceof sdk.AuthError && e.code === 'forbidden');
        const wrong = new sdk.Sandbox({ url: d.url, token: 'wrong', WebSocket: sdk.WebSocket });
        await assert.rejects(wrong.terminal.list(), (e) => e instanceof sdk.AuthError && e.code === 'unauthorized');
        const p = await s.processes.start('sleep 60');
        await assert.rejects(p.input('x'), (e) => e instanceof sdk.ConflictError && e.code === 'stdin_closed');
        const nobody = new sdk.Sandbox({ url: 'http://127.0.0.1:9', retry: { maxAttempts: 1, baseMs: 1 } });
        await assert.rejects(nobody.info(), (e) => e instanceof sdk.ConnectionError && e.retryable);
        await assert.rejects(nobody.events().next(), (e) => e instanceof sdk.ConnectionError);
        // The handshake's refusal is not shown by a WebSocket; the reason is asked for.
        const denied = wrong.terminal.get.call(wrong.terminal, p.id).catch((e) => e);
        assert.equal((await denied).code, 'unauthorized');
        await p.remove({ graceMs: 0 });
        await assert.rejects(p.attach(), (e) => e instanceof sdk.NotFoundError && e.code === 'no_such_process');
    });

    it('an attachment that is refused for what it asks rejects with the reason', async () => {
        const p = await sandbox().processes.start('sleep 60');
        const wrong = [
            [{ since: 99_999 }, 'range_not_satisfiable', 416],
            [{ since: 'foo' }, 'bad_query', 400],
            [{ client: 'with space' }, 'bad_query', 400],
            [{ rows: 9999, cols: 80 }, 'bad_size', 400],
            [{ name: 'two\nlines' }, 'bad_query', 400],
            [{ since: 'screen', verbatim: true }, 'bad_query', 400],
        ];
        for (const [options, code, status] of wrong) {
            const attaching = p.attach({ ...options, reconnect: { baseMs: 5, maxMs: 5 }, signal: AbortSignal.timeout(10_000) });
            await assert.rejects(attaching, (e) => e instanceof sdk.InvalidRequestError && e.code === code && e.status === status, code);
        }
        const c = await p.attach({ since: 'now', rows: 24, cols: 80, name: 'the one who looks' });
        assert.equal(c.viewers[0].name, 'the one who looks');
        await assert.rejects(c.resize(0, 80), (e) => e instanceof sdk.InvalidRequestError && e.code === 'bad_size');
        await c.close();
        await p.kill();
    });

    it('of a terminal whose first bytes are gone, gives a snapshot, or all that is held to who asks for the bytes', async () => {
        const t = await sandbox().terminal.create({ command: 'seq', args: ['100000'], historyBytes: 64 * 1024 });
        const { first, next } = (await t.wait()).outputRange;
        assert.ok(first > 0);
        const drawn = await collect(await t.attach());
        assert.ok(drawn.seen.some((e) => e.type === 'snapshot'));
        const { bytes, seen } = await collect(await t.attach({ verbatim: true }));
        assert.deepEqual(seen.find((e) => e.type === 'gap'), { type: 'gap', from: 0, to: first });
        assert.ok(!seen.some((e) => e.type === 'snapshot'));
        assert.equal(bytes.length, next - first);
        assert.equal(Buffer.compare(bytes, await t.output()), 0);
    });

    it('shows what has scrolled away, as far as it is asked for', async () => {
        const t = await sandbox().terminal.create({ command: 'seq', args: ['100'], rows: 10, cols: 20 });
        await t.wait();
        assert.equal((await t.screen()).split('\n')[0], '92');
        assert.equal((await t.screen({ scrollback: 50 })).split('\n')[0], '42');
        const { lines } = await t.screenState({ scrollback: 5 });
        assert.equal(lines[0].text, '87');
    });

    it('what a gateway says while the worker is replaced is asked again, and only what may be', async () => {
        const answers = [502, 504, 200];
        const asked = [];
        const door = http.createServer((q, r) => {
            asked.push(q.method);
            r.statusCode = q.method === 'GET' ? answers.shift() : 502;
            r.end(JSON.stringify({ version: 'of the door' }));
        });
        await new Promise((ok) => door.listen(0, '127.0.0.1', ok));
        try {
            const s = new sdk.Sandbox({ url: `http://127.0.0.1:${door.address().port}`, token: d.token, retry: { baseMs: 1 } });
            assert.equal((await s.info()).version, 'of the door');
            await assert.rejects(s.sessions.create(), (e) => e.status === 502 && e.retryable);
            assert.deepEqual(asked, ['GET', 'GET', 'GET', 'POST']);
        } finally {
            door.closeAllConnections();
            door.close();
        }
    });

    it('a viewer with the role to watch may not type', async () => {
        const t = await sandbox().terminal.create({ command: 'cat' });
        const connection = await (await sandboxOf(d, { role: 'watch' }).terminal.get(t.id)).attach();
        assert.equal(connection.readOnly, true);
        await assert.rejects(connection.write('x'), (e) => e.code === 'forbidden');
        await connection.close();
        const ro = await t.attach({ mode: 'ro' });
        await assert.rejects(ro.write('x'), (e) => e instanceof sdk.AuthError);
        await ro.close();
        await t.kill();
    });

    it('an AbortSignal ends every long call', async () => {
        const t = await sandbox().terminal.create({ command: 'sleep', args: ['60'] });
        const aborted = (call) => {
            const stop = new AbortController();
            const done = assert.rejects(call(stop.signal), { name: 'AbortError' });
            setImmediate(() => stop.abort());
            return done;
        };
        await aborted((signal) => t.wait({ signal }));
        await aborted((signal) => t.waitFor({ text: 'never' }, { signal }));
        await aborted((signal) => sandbox().exec('sleep 60', { signal }));
        await aborted(async (signal) => {
            const c = await t.attach();
            try {
                for await (const _ of c.events({ signal })) void _;
            } finally {
                await c.close();
            }
        });
        await aborted(async (signal) => {
            const c = await t.attach({ signal });
            await c.ended;
        });
        const pipe = await sandbox().processes.start({ command: 'sleep', args: ['60'], stdin: 'pipe' });
        const c = await pipe.attach();
        await aborted((signal) => c.write(new Uint8Array(8 << 20), { signal }));
        await c.close();
        await pipe.kill();
        await t.kill();
    });

    it('a deleted process ends its connections with an error', async () => {
        const t = await sandbox().terminal.create({ command: 'sleep', args: ['60'] });
        const c = await t.attach();
        const ending = collect(c).then(({ exits }) => exits.length, (err) => err.code);
        await t.remove({ graceMs: 0 });
        assert.ok([1, 'no_such_process'].includes(await ending), 'an exit or an error, and no silence');
        assert.equal(c.state, 'closed');
    });

    /* Only the first page was. */
    it('sessions are listed, whatever the page has room for', async () => {
        const small = (url, o) => fetch(o.method === 'GET' ? `${url}${url.includes('?') ? '&' : '?'}limit=2` : url, o);
        const s = sandboxOf(d, { fetch: small });
        const made = [];
        for (let i = 0; i < 5; i++) made.unshift((await s.sessions.create()).id);
        assert.deepEqual((await s.sessions.list()).map((x) => x.id), made);
        for (const x of await s.sessions.list()) await x.remove();
        assert.deepEqual(await s.sessions.list(), []);
    });
});
