// SPDX-License-Identifier: Apache-2.0
// Fly's exec with clients that are not allowed to, send nonsense, go away or do not read; and with a
// worker that dies.

import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { askAndVanish } from '../../lib/held.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { collect, machinesOf, MACHINE, spritesOf, watched } from './client.mjs';

const V1 = '/dialects/fly/v1';
const SPRITE = `${V1}/sprites/box`;
const FLOOD_BYTES = 24000000; // more than a ring and what a socket holds of it

withDaemon('fly: faults', {}, (d) => {
    const sprite = spritesOf(d);
    const { client, exec, which } = machinesOf(d);
    const running = async () => (await d.list('?status=running')).map((p) => p.id);
    const socket = (path, role = 'own') => new WebSocket(`${d.url.replace('http', 'ws')}${SPRITE}${path}`, { headers: d.authHeaders(role) });
    const opened = (ws) => new Promise((done, fail) => ws.on('open', done).on('error', fail));
    const closed = (ws) => new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));

    it('no token, wrong ones and roles: each in the shape of its API, and nothing is started', async () => {
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            const m = await d.request('POST', `${V1}/${MACHINE}/exec`, { role, json: { cmd: 'true' } });
            assert.deepEqual([m.status, Object.keys(m.json)], [401, ['error']]);
            const s = await d.request('POST', `${SPRITE}/exec?cmd=true`, { role });
            assert.deepEqual([s.status, s.json.error, typeof s.json.message], [401, 'unauthorized', 'string']);
            await assert.rejects(opened(socket('/exec?cmd=true', role)), /401/);
        }
        for (const role of ['watch', 'type']) {
            await assert.rejects(exec({ cmd: 'true' }, role), /^Error: 403: .*permission_denied/);
            await assert.rejects(opened(socket('/exec?cmd=true', role)), /403/);
            await assert.rejects(sprite(role).execFileHTTP('true'), (err) => err.statusCode === 403 && err.errorCode === 'forbidden');
            assert.deepEqual(await sprite(role).listSessions(), []);
        }
        await assert.rejects(client('watch').Machine.signalMachine({ ...which, signal: 'SIGTERM' }), /^Error: 403/);
        await assert.rejects(client('type').Machine.signalMachine({ ...which, signal: 'SIGTERM' }), /^Error: 403/);
        assert.deepEqual(await d.list(), []);
    });

    it('who watches does not type, resize, signal, end the input or kill', async () => {
        const p = await d.spawn({ command: 'cat', stdin: 'pipe' });
        const ws = await WsRaw.open(d, `${SPRITE}/exec/${p.id}`, { role: 'watch' });
        assert.equal((await ws.message('session_info')).is_owner, false);
        for (const [op, frame] of [
            [OP.BINARY, Buffer.from('\0no')],
            [OP.BINARY, Buffer.from([4])],
            [OP.TEXT, '{"type":"resize","rows":5,"cols":5}'],
            [OP.TEXT, '{"type":"signal","signal":"INT"}'],
        ]) {
            ws.send(op, frame);
            assert.match((await ws.message('error')).message, /may only watch/);
        }
        ws.destroy();
        await assert.rejects(sprite('watch').killSession(p.id), (err) => err.statusCode === 403);
        await assert.rejects(sprite('type').killSession(p.id), (err) => err.statusCode === 403);
        const now = await d.get(p.id);
        assert.deepEqual([now.status, now.output.bytes_total], ['running', 0]);
        await d.remove(p.id);
    });

    it('paths, methods, bodies and queries that are none', async () => {
        for (const [method, path, status, options] of [
            ['GET', '/nothing', 404],
            ['GET', `/${MACHINE}/nothing`, 404],
            ['DELETE', `/${MACHINE}/exec`, 405],
            ['POST', `/${MACHINE}/exec`, 400, { json: '{' }],
            ['POST', `/${MACHINE}/exec`, 400, { body: '' }],
            ['POST', `/${MACHINE}/exec`, 400, { json: { command: 'ls' } }],
            ['POST', `/${MACHINE}/exec`, 400, { json: { command: ['\0'] } }],
            ['POST', `/${MACHINE}/exec`, 400, { json: { command: [''] } }],
            ['POST', `/${MACHINE}/exec`, 413, { json: { cmd: 'cat', stdin: 'x'.repeat(1 << 20) } }],
            ['POST', `/${MACHINE}/signal`, 400, { json: {} }],
            ['GET', '/sprites/box/control', 404],
            ['GET', '/sprites/box/fs/nothing', 404],
            ['GET', '/sprites/box/fs/read', 400],
            ['PATCH', '/sprites/box', 405],
            ['POST', '/sprites', 400, { json: {} }],
            ['POST', '/sprites/box/exec', 400],
            ['POST', '/sprites/box/exec?cmd=true&env=x', 400],
            ['POST', '/sprites/box/exec?cmd=true&max_run_after_disconnect=x', 400],
            ['POST', `/sprites/box/exec?${'cmd=x&'.repeat(300)}`, 400],
            ['POST', '/sprites/box/exec?cmd=true&stdin=true', 413, { body: Buffer.alloc((1 << 20) + 1) }],
            ['GET', '/sprites/box/exec/proc_none', 426],
            ['POST', '/sprites/box/exec/proc_none/kill', 404],
        ]) {
            const a = await d.request(method, V1 + path, options);
            assert.equal(a.status, status, `${method} ${path.slice(0, 80)}: ${a.text}`);
            assert.deepEqual(Object.keys(a.json), path.includes('/fs/') ? ['error', 'code'] : path.startsWith('/sprites') ? ['error', 'message'] : ['error'], a.text);
        }
        await assert.rejects(opened(socket('/exec/proc_none')), /404/);
        await assert.rejects(opened(socket('/exec')), /400/);
        await assert.rejects(opened(socket('/exec?cmd=true&tty=true&rows=0')), /400/);
        for (const headers of [{ 'Sec-WebSocket-Version': '12' }, { 'Sec-WebSocket-Key': 'short' }]) {
            await assert.rejects(WsRaw.open(d, `${SPRITE}/exec?cmd=true`, { headers }), /answered 4/);
        }
        assert.deepEqual(await d.list(), []);
    });

    it('frames that are none are told, and the command goes on', async () => {
        const ws = await WsRaw.open(d, `${SPRITE}/exec?cmd=cat&stdin=true`);
        await ws.message('session_info');
        for (const [op, frame, said] of [
            [OP.TEXT, '{', /expected/],
            [OP.TEXT, '[]', /type/],
            [OP.TEXT, '{"type":"nothing"}', /type/],
            [OP.TEXT, '{"type":"resize","rows":"1","cols":1}', /numbers/],
            [OP.TEXT, '{"type":"resize","rows":9,"cols":9}', /pty/],
            [OP.TEXT, '{"type":"signal","signal":"NONE"}', /signal/],
            [OP.BINARY, Buffer.from('\x07x'), /stream 7/],
            [OP.BINARY, Buffer.from('\x01x'), /stream 1/],
        ]) {
            ws.send(op, frame);
            assert.match((await ws.message('error')).message, said, String(frame));
        }
        ws.send(OP.BINARY, Buffer.from('\0fine'));
        assert.equal((await ws.find(OP.BINARY)).payload.toString(), '\x01fine');
        ws.send(OP.TEXT, 'x'.repeat(70000));
        await ws.expectClose(1009);
        await d.removeAll();
    });

    it('input after the end of input is refused in words, and the end may be said twice', async () => {
        const ws = await WsRaw.open(d, `${SPRITE}/exec?cmd=sh&cmd=-c&cmd=${encodeURIComponent('cat; echo over; sleep 1000')}&stdin=true`);
        ws.send(OP.BINARY, Buffer.from([4]));
        assert.equal((await ws.find(OP.BINARY)).payload.toString(), '\x01over\n');
        ws.send(OP.BINARY, Buffer.from([4]));
        ws.send(OP.BINARY, Buffer.from('\0late'));
        assert.match((await ws.message('error')).message, /input/);
        ws.destroy();
        await d.removeAll();
    });

    it('who vanishes while it starts leaves nothing that nobody could know of, and what may stay', async () => {
        const upgrade = { headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' } };
        await askAndVanish(d, [
            [`GET ${SPRITE}/exec?cmd=sleep&cmd=1001`, upgrade],
            [`POST ${SPRITE}/exec?cmd=sleep&cmd=1002`, {}],
            [`GET ${SPRITE}/exec?cmd=sleep&cmd=1003&tty=true`, upgrade],
            [`POST ${V1}/${MACHINE}/exec`, { body: JSON.stringify({ cmd: 'sleep 1004' }) }],
        ]);
        const left = async () => (await d.list('?status=running')).map((p) => p.args[0]).sort().join();
        await waitUntil(async () => (await left()) === '1003,1004', 'the others to end');
        await d.removeAll();
    });

    it('connections that break leave terminals, and end nothing that others use', async () => {
        const t = socket('/exec?cmd=cat&tty=true');
        await opened(t);
        const [p] = await waitUntil(async () => ((await running()).length ? d.list('?status=running') : null), 'it');
        t.terminate();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be noticed');
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `POST ${SPRITE}/exec?cmd=sh&cmd=-c&cmd=${encodeURIComponent('echo up; sleep 1000')}&max_run_after_disconnect=300ms`));
        const q = await waitUntil(async () => (await d.list('?status=running')).find((x) => x.id !== p.id), 'the other');
        await d.outputHas(q.id, 'up');
        c.reset();
        assert.equal((await d.exitOf(q.id)).exit.by, 'detach');
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    /** Reads all that a process writes from here on, so that those who do not are not waited for. */
    const fastReader = async (id) => {
        const res = await d.open('GET', `/v1/processes/${id}/output?follow=1&since=0`);
        let bytes = 0;
        return { bytes: new Promise((done) => res.on('data', (b) => (bytes += b.length)).on('end', () => done(bytes))) };
    };

    it('a session that is not read holds nobody, and is told what it has missed', async () => {
        for (const tty of [false, true]) {
            const line = `${tty ? 'stty raw -echo; ' : ''}echo up; read x; yes | head -c ${FLOOD_BYTES}`;
            const slow = socket(`/exec?cmd=sh&cmd=-c&cmd=${encodeURIComponent(line)}&stdin=true${tty ? '&tty=true' : ''}&detachable=true`);
            const seen = [];
            slow.on('message', (m, binary) => seen.push(binary ? m : JSON.parse(m)));
            await opened(slow);
            await waitUntil(() => seen.some((m) => Buffer.isBuffer(m) && m.includes('up')), 'the first of it');
            const id = seen[0].session_id;
            slow.pause();
            const fast = await fastReader(id);
            slow.send(Buffer.from(tty ? '\n' : '\0\n'));
            assert.equal(await within(fast.bytes, 60000, 'the fast one'), FLOOD_BYTES + 3);
            slow.resume();
            const [code] = await within(closed(slow), 60000, 'the end');
            assert.equal(code, 1000);
            const told = seen.filter((m) => (Buffer.isBuffer(m) ? !tty && m[0] === 2 : m.type === 'error'));
            assert.match(String(told[0]?.message ?? told[0]), /\d+ bytes of output were lost/);
            if (tty) assert.deepEqual(seen.at(-1), { type: 'exit', exit_code: 0 });
            else assert.deepEqual(seen.at(-1), Buffer.from([3, 0]));
            await d.remove(id);
        }
    });

    it('an answer by HTTP that is not read delays nobody', async () => {
        const res = await d.open('POST', `${SPRITE}/exec?cmd=yes`);
        res.pause();
        const id = res.headers['fly-request-id'];
        await waitUntil(async () => (await d.get(id)).output.bytes_total > 1000000, 'more than is taken');
        assert.deepEqual(await exec({ cmd: 'echo hi' }), { exit_code: 0, exit_signal: 0, stdout: 'hi\n', stderr: '' });
        assert.equal((await sprite().execFile('echo', ['ho'])).stdout, 'ho\n');
        res.destroy();
        await d.remove(id);
    });

    it('the native API sees what came by Fly, types into it and ends it', async () => {
        const res = await d.open('GET', '/v1/events');
        const events = new SseReader(res);
        const w = watched(sprite().createSession('cat'));
        const { session_id: id } = await w.info();
        const p = (await d.list()).find((x) => x.id === id);
        assert.deepEqual([p.pty, p.command, p.metadata.via, p.viewers], [true, 'cat', 'fly', 1]);
        await d.api('POST', `/v1/processes/${id}/input`, { body: 'from native\n', headers: { 'Content-Type': 'application/octet-stream' }, expect: 200 });
        await w.has('from native\r\nfrom native\r\n');
        await d.remove(id);
        await w.ended();
        assert.equal(w.messages.at(-1).type, 'exit');
        assert.deepEqual([w.exit, w.errors], [1, []]);
        const told = [];
        while (told.at(-1) !== 'process.deleted') {
            const e = await events.next();
            if (JSON.parse(e.data).process?.id === id) told.push(e.event);
        }
        assert.equal(told[0], 'process.created');
        assert.ok(told.includes('process.exited'), told.join());
        res.destroy();
        const answer = exec({ command: ['sleep', '1000'] });
        const q = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await d.api('POST', `/v1/processes/${q.id}/signal`, { json: { signal: 'KILL', target: 'tree' } });
        assert.deepEqual(await answer, { exit_code: 137, exit_signal: 9, stdout: '', stderr: '' });
    });

    it('a worker that dies loses no session: its history, its input and its end are there', async () => {
        const t = watched(sprite().createSession('sh', ['-c', 'echo begun; read x; echo got $x; exit 3']));
        const { session_id: id } = await t.info();
        await t.has('begun');
        const created = (await client().Machine.getMachine(which)).created_at;
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await t.ended();
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
        assert.equal((await client().Machine.getMachine(which)).created_at, created);
        assert.deepEqual((await sprite().listSessions()).map((s) => s.id), [id]);
        const back = watched(sprite().attachSession(id));
        await back.has('begun');
        await waitUntil(() => back.command.wsCmd.pingInterval, 'the client to be ready');
        back.command.stdin.write('it\r');
        await back.ended();
        assert.match(back.stdout, /got it\r\n$/);
        assert.deepEqual(back.messages.at(-1), { type: 'exit', exit_code: 3 });
    });

    it('a worker that dies leaves an exec to the next one, with its deadline', async () => {
        const answer = exec({ command: ['sh', '-c', 'echo up; sleep 1000'], timeout: 2 }).catch((err) => err);
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await d.outputHas(p.id, 'up');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        assert.ok((await answer) instanceof Error);
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
        const end = await d.exitOf(p.id);
        assert.deepEqual([end.exit.by, (await d.output(p.id)).toString()], ['timeout', 'up\n']);
        assert.deepEqual((await collect(await sprite().killSession(p.id))).map((e) => e.type), ['exited', 'complete']);
    });
});
