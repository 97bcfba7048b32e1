// SPDX-License-Identifier: Apache-2.0
// Daytona's toolbox with clients that are not allowed to, send nonsense, go away or do not read; and
// with a worker that dies or is replaced.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, clientsOf, exitOf, follow, refused, screen, startAsync } from './client.mjs';

withDaemon('daytona: faults', {}, (d) => {
    const client = clientsOf(d);
    const at = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${at(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(at(name), '');
    const socket = (where, { role = 'own', protocols = [] } = {}) =>
        new WebSocket(`${d.url.replace('http', 'ws')}${BASE}${where}`, protocols, { headers: d.authHeaders(role) });
    const opened = (ws) => new Promise((done, fail) => ws.on('open', done).on('error', fail));
    const closed = (ws) => new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));
    const healthy = () => waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');

    const kill = async () => {
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await healthy();
    };
    const replace = async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await healthy();
    };

    const ENVELOPE = ['statusCode', 'message', 'source', 'code', 'timestamp', 'path', 'method'];

    it('no token and wrong ones, unknown places, wrong methods, bodies that are too large: one shape', async () => {
        const calls = [
            ['GET', '/process/session'],
            ['POST', '/process/execute'],
            ['GET', '/process/pty'],
            ['GET', '/toolbox/local/process/pty/x'],
            ['GET', '/api/sandbox/local'],
            ['DELETE', '/process/session/x'],
        ];
        for (const role of [null, 'wrong-wrong-wrong-wrong'])
            for (const [method, where] of calls) {
                const a = await d.request(method, BASE + where, { role, json: method === 'POST' ? {} : undefined });
                assert.deepEqual([a.status, a.json.code, Object.keys(a.json)], [401, 'UNAUTHORIZED', ENVELOPE], where);
            }
        await assert.rejects(opened(socket('/process/pty/create-connect?id=x', { role: null })), /401/);
        for (const [method, where, status, code, json] of [
            ['GET', '/git/status', 404, 'NOT_FOUND'],
            ['POST', '/process/interpreter/context', 404, 'NOT_FOUND', {}],
            ['PUT', '/process/execute', 405, undefined, {}],
            ['POST', '/process/execute', 413, undefined, { command: 'x'.repeat(1 << 20) }],
            ['GET', '/process/pty/create-connect?id=x', 426, undefined],
        ]) {
            const a = await d.request(method, BASE + where, { json });
            assert.deepEqual([a.status, a.json.code, a.json.path, Object.keys(a.json)], [status, code, (BASE + where).split('?')[0], ENVELOPE.filter((key) => key !== 'code' || code)], where);
        }
        const { make } = client;
        await refused(make({ role: 'wrong-wrong-wrong-wrong' }).get('local'), 'DaytonaAuthenticationError');
    });

    it('bodies that are none are refused and change nothing', async () => {
        const p = await client.process();
        await p.createSession('s');
        for (const [where, body] of [
            ['/process/execute', '{'],
            ['/process/execute', '[]'],
            ['/process/code-run', '{"code":"x"}'],
            ['/process/session', '{}'],
            ['/process/session', '{"sessionId":7}'],
            ['/process/session/s/exec', '{"command":""}'],
            ['/process/session/s/exec', '{"command":"x","runAsync":1}'],
            ['/process/pty', '{"cols":80}'],
            ['/process/pty', '{"id":""}'],
            ['/process/pty', `{"id":"${'x'.repeat(200)}"}`],
            ['/process/pty', '{"id":"p","cols":1001}'],
            ['/process/pty', '{"id":"p","envs":{"=":"x"}}'],
            ['/process/pty/p/resize', '{"cols":"80","rows":24}'],
            ['/api/sandbox', '{"labels":[1]}'],
            ['/env', '{"set":7}'],
        ]) {
            const a = await d.request('POST', BASE + where, { body, headers: { 'content-type': 'application/json' } });
            assert.deepEqual([a.status, Object.keys(a.json)], [400, ENVELOPE], `${where} ${body}: ${a.text}`);
        }
        assert.equal((await p.getSession('s')).commands.length, 0);
        assert.deepEqual(await p.listPtySessions(), []);
        const bad = `X-Daytona-Pty-Envs~${Buffer.from('[1').toString('base64url')}`;
        const ws = socket('/process/pty/create-connect?id=x', { protocols: [bad, 'X-Daytona-Pty-Exit-Control'] });
        const said = new Promise((done) => ws.on('message', (m) => done(JSON.parse(m))));
        assert.deepEqual([(await said).status, (await closed(ws))[0]], ['error', 1011]);
        assert.deepEqual(await p.listPtySessions(), []);
    });

    it('roles hold: who watches does not type, who types does not start', async () => {
        const own = await client.process();
        await own.createPty({ id: 'r', onData() {} });
        await own.createSession('r');
        const id = await startAsync(own, 'r', 'read x; echo "<$x>"');
        const [watch, type] = [await client.process({ role: 'watch' }), await client.process({ role: 'type' })];
        for (const p of [watch, type])
            for (const call of [
                () => p.executeCommand('true'),
                () => p.createSession('x'),
                () => p.executeSessionCommand('r', { command: 'true' }),
                () => p.deleteSession('r'),
                () => p.killPtySession('r'),
            ])
                await refused(call(), 'DaytonaAuthorizationError', /role/);
        await refused(watch.sendSessionCommandInput('r', id, 'no'), 'DaytonaAuthorizationError');
        await refused(watch.resizePtySession('r', 90, 30), 'DaytonaAuthorizationError');
        const ws = socket('/process/pty/r/connect', { role: 'watch' });
        await opened(ws);
        ws.send(Buffer.from('exit\n'));
        assert.equal((await within(closed(ws), 10000, 'the close'))[0], 1008);
        await type.sendSessionCommandInput('r', id, 'yes');
        assert.equal(await exitOf(watch, 'r', id), 0);
        assert.equal((await watch.getSessionCommandLogs('r', id)).stdout, 'yes\n<yes>\n');
        assert.equal((await watch.listPtySessions())[0].cols, 80);
    });

    it('clients that go abruptly leave what runs: a follower, a terminal, one who waits', async () => {
        const p = await client.process();
        await p.createSession('s');
        const id = await startAsync(p, 's', `echo up; ${until('go-on')}; echo over`);
        const ws = socket(`/process/session/s/command/${id}/logs?follow=true`);
        await opened(ws);
        ws.terminate();
        const gone = new AbortController();
        const asked = fetch(`${d.url}${BASE}/process/session/s/exec`, {
            method: 'POST',
            signal: gone.signal,
            headers: { ...d.authHeaders(), 'content-type': 'application/json' },
            body: JSON.stringify({ command: 'echo behind' }),
        }).catch(() => {});
        const behind = await waitUntil(async () => (await p.getSession('s')).commands[1], 'the second one');
        gone.abort();
        await asked;
        const t = await p.createPty({ id: 't', onData() {} });
        const raw = socket('/process/pty/t/connect');
        await opened(raw);
        raw.terminate();
        allow('go-on');
        assert.equal(await exitOf(p, 's', id), 0);
        assert.equal(await exitOf(p, 's', behind.id), 0);
        assert.equal((await p.getSessionCommandLogs('s', behind.id)).stdout, 'behind\n');
        await t.sendInput('exit 2\n');
        assert.equal((await within(t.wait(), 10000, 'the end')).exitCode, 2);
    });

    it('too many commands that wait are refused, and the others run', async () => {
        const p = await client.process();
        await p.createSession('s');
        const first = await startAsync(p, 's', until('all'));
        const ids = [];
        for (let i = 0; i < 64; i++) ids.push(await startAsync(p, 's', `echo ${i}`));
        await refused(startAsync(p, 's', 'echo no'), 'DaytonaRateLimitError', /64/);
        allow('all');
        assert.equal(await exitOf(p, 's', ids.at(-1)), 0);
        assert.equal((await p.getSessionCommandLogs('s', ids[63])).stdout, '63\n');
        assert.equal((await p.getSession('s')).commands.length, 65);
        assert.equal((await p.getSessionCommand('s', first)).exitCode, 0);
    });

    for (const [how, strike] of Object.entries({ dies: kill, 'is replaced': replace })) {
        it(`a worker that ${how}: what runs goes on, what was promised is done, nothing is lost`, async () => {
            const p = await client.process();
            await p.createSession('s');
            await p.executeSessionCommand('s', { command: 'cd /tmp; v=kept' });
            const id = await startAsync(p, 's', `echo early; read x; echo "<$x>"; ${until(`late ${how}`.replaceAll(' ', '-'))}; echo late`);
            const queued = await startAsync(p, 's', 'echo "$v in $PWD"; read y; echo "<$y>"');
            const seen = follow(p, 's', id);
            const s = screen();
            await p.createPty({ id: 't', onData: s.onData });
            await waitUntil(() => seen.stdout === 'early\n', 'it to run');
            await strike();
            await within(seen.end, 10000, 'the follower to be let go');
            // The same commands, with the same ids; the waiting one still waits and takes its turn.
            assert.deepEqual((await p.getSession('s')).commands.map((c) => [c.id, c.exitCode]).slice(1), [[id, undefined], [queued, undefined]]);
            await p.sendSessionCommandInput('s', id, 'typed');
            const [again, next] = [follow(p, 's', id), follow(p, 's', queued)];
            allow(`late ${how}`.replaceAll(' ', '-'));
            await within(again.end, 10000, 'the end');
            assert.equal(again.stdout, 'early\ntyped\n<typed>\nlate\n');
            await waitUntil(() => next.stdout === 'kept in /tmp\n', 'the next one');
            await p.sendSessionCommandInput('s', queued, 'too');
            await within(next.end, 10000, 'its end');
            assert.equal(next.stdout, 'kept in /tmp\ntoo\n<too>\n');
            assert.equal(await exitOf(p, 's', queued), 0);
            assert.equal((await p.getSession('s')).commands.length, 3);
            // The terminal has not noticed.
            const t2 = screen();
            const t = await p.connectPty('t', { onData: t2.onData });
            await t.sendInput('exit 6\n');
            assert.equal((await within(t.wait(), 10000, 'the end')).exitCode, 6);
        });
    }

    it('calls that wait when the worker is replaced are told what has become of them', async () => {
        const p = await client.process();
        await p.createSession('s');
        const running = refused(p.executeSessionCommand('s', { command: `echo ran; ${until('then')}` }), 'DaytonaServiceUnavailableError', /keeps running/);
        await waitUntil(async () => (await p.getSession('s')).commands.length === 1, 'it to run');
        const waiting = refused(p.executeSessionCommand('s', { command: 'echo never' }), 'DaytonaServiceUnavailableError', /not started/);
        const once = refused(p.executeCommand(`${until('then')}; touch ${at('was-done')}`), 'DaytonaServiceUnavailableError', /keeps running/);
        await waitUntil(async () => (await p.getSession('s')).commands.length === 2 && (await d.list('?status=running')).length === 2, 'all of them');
        await replace();
        await within(Promise.all([running, waiting, once]), 20000, 'their answers');
        allow('then');
        const commands = (await p.getSession('s')).commands;
        assert.equal(commands.length, 1);
        assert.equal(await exitOf(p, 's', commands[0].id), 0);
        assert.equal((await p.getSessionCommandLogs('s', commands[0].id)).stdout, 'ran\n');
        await waitUntil(() => fs.existsSync(at('was-done')), 'the other one');
    });

    it('native sees it all: the list, the events, and an end from there', async () => {
        const p = await client.process();
        const res = await d.open('GET', '/v1/events?all=1');
        const events = new SseReader(res);
        await p.createSession('seen');
        const id = await startAsync(p, 'seen', 'sleep 1000');
        const seen = follow(p, 'seen', id);
        let told;
        do told = await within(events.next(), 10000, 'an event');
        while (told.event !== 'session.command_started');
        assert.equal(JSON.parse(told.data).command.command, 'sleep 1000');
        const shell = (await d.list('?status=running')).find((x) => x.session_id === 'seen');
        await d.request('POST', `/v1/processes/${shell.id}/signal`, { json: { signal: 'KILL', target: 'tree' } });
        await within(seen.end, 10000, 'the end');
        assert.equal(await exitOf(p, 'seen', id), 137);
        await refused(p.executeSessionCommand('seen', { command: 'true' }), 'DaytonaSessionEndedError');
        res.destroy();
        await d.request('DELETE', '/v1/sessions/seen');
        await refused(p.getSession('seen'), 'DaytonaProcessNotFoundError');
    });
});
