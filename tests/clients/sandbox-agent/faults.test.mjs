// SPDX-License-Identifier: Apache-2.0
// sandbox-agent's API with clients that are not allowed to, name what is not there, send too much or
// go away; and with a worker that dies.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { settle } from '../../lib/held.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, clientOf, killAndDelete, refused, Session, sh, text } from './client.mjs';

withDaemon('sandbox-agent: faults', {}, (d) => {
    const client = clientOf(d);
    const ask = (method, path, options = {}) => d.request(method, BASE + path, options);
    const problem = (a, status, code) => {
        assert.equal(a.status, status, a.text);
        assert.equal(a.type, 'application/problem+json');
        assert.equal(a.json.type, `urn:sandbox-agent:error:${code}`);
        assert.equal(a.json.status, status);
    };

    it('no token and wrong ones: every call is refused in the same shape', async () => {
        const p = await d.spawn({ command: 'cat', pty: true });
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            for (const [method, path] of [
                ['GET', '/v1/health'],
                ['GET', '/v1/processes'],
                ['POST', '/v1/processes'],
                ['POST', '/v1/processes/run'],
                ['GET', '/v1/processes/config'],
                ['POST', `/v1/processes/${p.id}/kill`],
                ['POST', `/v1/processes/${p.id}/input`],
                ['GET', `/v1/processes/${p.id}/logs?follow=true`],
                ['DELETE', `/v1/processes/${p.id}`],
            ]) {
                const a = await ask(method, path, { role, json: method === 'POST' ? {} : undefined });
                problem(a, 401, 'token_invalid');
                assert.deepEqual([a.json.title, a.json.details.message], ['Token Invalid', 'missing or invalid bearer token']);
            }
        }
        await d.remove(p.id);
    });

    it('roles hold: who watches does not type, who types does not end', async () => {
        const own = await client();
        const p = await own.createProcess({ command: 'cat', tty: true });
        const watch = await clientOf(d, { token: d.tokens.watch })();
        assert.equal((await watch.getProcess(p.id)).status, 'running');
        await refused(watch.createProcess({ command: 'true' }), 403);
        await refused(watch.sendProcessInput(p.id, { data: '' }), 403);
        const seen = new Session(watch, p.id);
        await seen.ready();
        seen.t.sendInput('no\n');
        seen.t.resize({ cols: 33, rows: 11 });
        await waitUntil(() => seen.errors.length === 2, 'two refusals');
        const type = await clientOf(d, { token: d.tokens.type })();
        await refused(type.killProcess(p.id), 403);
        await type.sendProcessInput(p.id, { data: 'yes\n', encoding: 'text' });
        await seen.sees('yes\r\nyes');
        assert.ok(!seen.data.includes('no'));
        assert.equal((await d.get(p.id)).cols, 80);
        seen.t.close();
        await killAndDelete(own, p);
    });

    it('what is not there: every call says so', async () => {
        const c = await client();
        const id = 'proc_nothing';
        for (const call of [
            () => c.getProcess(id),
            () => c.deleteProcess(id),
            () => c.stopProcess(id),
            () => c.killProcess(id),
            () => c.getProcessLogs(id),
            () => c.followProcessLogs(id, () => {}),
            () => c.sendProcessInput(id, { data: '' }),
            () => c.resizeProcessTerminal(id, { cols: 80, rows: 24 }),
        ]) {
            await refused(call(), 404, (x) => {
                assert.match(x.type, /:not_found$/);
                assert.deepEqual(x.details, { id, resource: 'process' });
            });
        }
        problem(await ask('GET', '/v1/nothing'), 404, 'invalid_request');
        problem(await ask('PUT', '/v1/processes'), 405, 'invalid_request');
    });

    /* The original has four shapes of errors, and none in some. */
    it('calls that are none are refused in one shape and change nothing', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        for (const [path, body, status] of [
            ['/v1/processes', '{', 400],
            ['/v1/processes', '[]', 422],
            ['/v1/processes', '{"command":7}', 422],
            ['/v1/processes', '{"command":"x","env":{"A=B":"x"}}', 400],
            ['/v1/processes', '{"command":"x","tty":"yes"}', 422],
            ['/v1/processes', `{"command":"${'x'.repeat(2 << 20)}"}`, 413],
            ['/v1/processes', '{"command":"true","args":null}', 422],
            ['/v1/processes', '{"command":"true","env":null}', 422],
            ['/v1/processes', '{"command":"true","env":{"A":null}}', 422],
            ['/v1/processes', '{"command":"true","tty":null}', 422],
            ['/v1/processes', '{"command":"true","interactive":null}', 422],
            ['/v1/processes/run', '{"command":"x","timeoutMs":-1}', 422],
            ['/v1/processes/run', '{"command":"x","maxOutputBytes":-1}', 422],
            ['/v1/processes/run', '{"command":"x","timeoutMs":"1"}', 422],
            ['/v1/processes/config', '{"maxOutputBytes":1}', 422],
            [`/v1/processes/${p.id}/input`, '{}', 422],
            [`/v1/processes/${p.id}/input`, '{"data":7}', 422],
            [`/v1/processes/${p.id}/terminal/resize`, '{"cols":80}', 422],
            [`/v1/processes/${p.id}/terminal/resize`, '{"cols":70000,"rows":1}', 422],
            [`/v1/processes/${p.id}/stop?waitMs=x`, '', 400],
        ]) {
            problem(await ask('POST', path, { body, headers: { 'Content-Type': 'application/json' } }), status, 'invalid_request');
        }
        for (const query of ['since=x', 'tail=-1', 'stream=both', 'follow=perhaps', 'follow=']) problem(await ask('GET', `/v1/processes/${p.id}/logs?${query}`), 400, 'invalid_request');
        problem(await ask('GET', '/v1/processes?owner=me'), 400, 'invalid_request');
        for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
            problem(await ask('POST', '/v1/processes', { body: '{"command":"true"}', headers: { 'Content-Type': type } }), 415, 'invalid_request');
        for (const command of ['', ' ', ' \t\n'])
            for (const call of [() => c.createProcess({ command }), () => c.runProcess({ command })])
                await refused(call(), 400, (x) => assert.equal(x.detail, 'invalid request: command must not be empty'));
        for (const request of [{ command: '/none/at/all' }, { command: 'true', cwd: '' }, { command: 'true', cwd: '/none' }])
            for (const call of [() => c.createProcess(request), () => c.runProcess(request)])
                await refused(call(), 502, (x) => {
                    assert.match(x.details.message, /^failed to spawn process: .*No such file or directory/);
                    assert.equal(x.detail, `stream error: ${x.details.message}`);
                });
        const run = await c.runProcess({ command: 'true', cwd: null, timeoutMs: null, maxOutputBytes: null });
        assert.equal(run.exitCode, 0);
        assert.deepEqual((await d.list('?status=running')).map((x) => [x.id, x.cols, x.output.bytes_total]), [[p.id, 80, 0]]);
        await killAndDelete(c, p);
    });

    /* Those over 1 MiB closed the connection with 1009, and no error frame said why. */
    it('a frame that is too long for any input is told as such, and the terminal goes on', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'cat', tty: true });
        const s = new Session(c, p.id);
        await s.ready();
        const sizes = [70000, 900000, 1100000, 48 << 20];
        const peak = () => 1024 * parseInt(proc.statusField(d.workerPid(), 'VmHWM'), 10);
        const before = peak();
        for (const n of sizes) s.socket.send(JSON.stringify({ type: 'input', data: 'x'.repeat(n) }));
        s.t.sendInput('still here\n');
        await s.sees('still here\r\nstill here');
        assert.deepEqual(s.errors, sizes.map((n) => (n < 1 << 20 ? 'input payload exceeds maxInputBytesPerRequest (65536)' : 'terminal frame exceeds 1048576 bytes')));
        assert.ok(peak() - before < 24 << 20, 'it was not held');
        s.t.close();
        await killAndDelete(c, p);
    });

    it('text input may hold any character', async () => {
        const c = await client();
        const p = await c.createProcess(sh('head -c 6 | od -An -c'));
        assert.deepEqual(await c.sendProcessInput(p.id, { data: 'a\0€\n', encoding: 'utf8' }), { bytesWritten: 6 });
        await waitUntil(async () => /a +\\0 +342/.test((await c.getProcessLogs(p.id)).entries.map(text).join('')), 'them');
        await killAndDelete(c, p);
    });

    it('who asked for a run and went takes it along', async () => {
        const conn = await RawConn.connect(d);
        const body = JSON.stringify({ command: 'sleep', args: ['100'] });
        conn.send(`POST ${BASE}/v1/processes/run HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        conn.destroy();
        assert.equal((await d.exitOf(p.id)).exit.by, 'detach');
        await d.remove(p.id);
    });

    it('who asked for stop and went is not waited for; the process gets its signal', async () => {
        const p = await d.sh('trap "echo got it" TERM; echo up; while :; do sleep 0.02; done');
        await d.outputHas(p.id, 'up');
        const conn = await RawConn.connect(d);
        conn.send(`POST ${BASE}/v1/processes/${p.id}/stop?waitMs=600000 HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Length: 0\r\n\r\n`);
        await d.outputHas(p.id, 'got it');
        conn.destroy();
        await d.remove(p.id);
    });

    it('input that was taken in part when the worker is replaced is not answered as taken', async () => {
        const c = await client();
        const p = await c.createProcess({ command: 'sleep', args: ['100'] });
        const data = 'x'.repeat(60000);
        for (let i = 0; i < 2; i++) await c.sendProcessInput(p.id, { data, encoding: 'text' });
        const third = refused(c.sendProcessInput(p.id, { data, encoding: 'text' }), 500, (problem) =>
            assert.match(problem.detail, / of 60000 bytes of the input were accepted/),
        );
        await settle(d);
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await Promise.all([third, d.nextWorker(old)]);
        await waitUntil(() => d.request('GET', '/healthz').then((a) => a.status === 200), 'the next worker');
        await killAndDelete(c, p);
    });

    it('a worker that dies loses nothing: entries keep their numbers, terminals go on', async () => {
        const c = await client();
        const p = await c.createProcess(sh('for i in 1 2 3; do echo $i; read x; done'));
        const t = await c.createProcess({ command: 'cat', tty: true, interactive: true });
        const first = new Session(c, t.id);
        await first.ready();
        first.t.sendInput('before\n');
        await first.sees('before\r\nbefore');
        await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === 1, 'the first');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await first.closed;
        await waitUntil(() => d.request('GET', '/healthz').then((a) => a.status === 200), 'the next worker');
        for (let n = 2; n <= 3; n++) {
            await c.sendProcessInput(p.id, { data: '\n', encoding: 'text' });
            await waitUntil(async () => (await c.getProcessLogs(p.id)).entries.length === n, `${n}`);
        }
        assert.deepEqual((await c.getProcessLogs(p.id, { since: 1 })).entries.map((e) => [e.sequence, text(e)]), [[2, '2\n'], [3, '3\n']]);
        assert.equal((await c.getProcess(t.id)).interactive, true);
        const again = new Session(c, t.id);
        await again.sees('before\r\nbefore');
        again.t.sendInput('after\n');
        await again.sees('after\r\nafter');
        again.t.close();
        await killAndDelete(c, p, t);
    });
});
