// SPDX-License-Identifier: Apache-2.0
// The pod's API with clients that are not allowed to, send nonsense, go away or do not read; and
// with a worker that dies.

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import * as k8s from '@kubernetes/client-node';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';
import { attach, configOf, containerOf, exec, exitCode, POD, PREFIX, run } from './client.mjs';

const FLOOD_BYTES = 24000000; // more than a ring and what sockets hold of it

withDaemon('kubernetes: faults', {}, (d) => {
    const kc = (role = 'own') => configOf(d, { token: d.tokens[role] ?? role });
    const path = (call, query = '') => `${PREFIX}${POD}/${call}${query}`;
    const socket = (call, query, protocol = 'v5.channel.k8s.io', role = 'own') =>
        WsRaw.open(d, path(call, query), { role, headers: { 'Sec-WebSocket-Protocol': protocol } });
    /** A failed upgrade: the client tells its status, and no more. */
    const refuses = (call, status) => assert.rejects(call, (err) => err.message === `Unexpected server response: ${status}`);
    const running = async () => (await d.list('?status=running'))[0];

    it('every error is a Status: no token, wrong ones, unknown paths, methods, bodies', async () => {
        const refused = async (method, url, options, status, reason) => {
            const a = await d.request(method, PREFIX + url, options);
            assert.equal(a.status, status, `${method} ${url}: ${a.text}`);
            assert.equal(a.headers['content-type'].split(';')[0], 'application/json');
            const { kind, apiVersion, metadata, status: told, code } = a.json;
            assert.deepEqual([kind, apiVersion, metadata, told, a.json.reason, code], ['Status', 'v1', {}, 'Failure', reason, status]);
            assert.ok(a.json.message.length > 5);
        };
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            for (const url of ['/api', '/apis', '/api/v1', '/version', '/api/v1/namespaces/default/pods', POD, `${POD}/log`]) {
                await refused('GET', url, { role }, 401, 'Unauthorized');
            }
            await refuses(exec(kc(role ?? ''), ['true']), 401);
        }
        await refused('GET', '/api/v1/services', {}, 404, 'NotFound');
        await refused('GET', '/api/v1/namespaces/default/pods/x', {}, 404, 'NotFound');
        await refused('DELETE', POD, {}, 405, 'MethodNotAllowed');
        await refused('GET', '/api/v1/pods?watch=true&resourceVersion=x', {}, 400, 'BadRequest');
        await refused('GET', '/api/v1/pods?watch=true&timeoutSeconds=-1', {}, 400, 'BadRequest');
        await refused('POST', `${POD}/exec`, { body: 'x', headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1' } }, 400, 'BadRequest');
        await refused('GET', `${POD}/exec?command=true&stdout=true`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?%zz`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?${'a&'.repeat(300)}`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?tailLines=x`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?sinceTime=yesterday`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?limitBytes=-1`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?previous=true`, {}, 400, 'BadRequest');
        await refused('GET', `${POD}/log?container=%ff`, {}, 400, 'BadRequest');
        assert.equal((await d.request('GET', `${PREFIX}/healthz`, { role: null })).text, 'ok');
    });

    it('roles hold: who watches attaches without input, and starts nothing', async () => {
        const p = await d.spawn({ command: 'cat', pty: true });
        await refuses(exec(kc('watch'), ['true']), 403);
        await refuses(exec(kc('type'), ['true']), 403);
        await refuses(attach(kc('watch'), containerOf(p)), 403);
        const watch = await socket('attach', `?container=${containerOf(p)}&stdout=true&tty=true`, 'v5.channel.k8s.io', 'watch');
        watch.send(OP.BINARY, Buffer.from('\x00no\n')).send(OP.BINARY, Buffer.from('\x04{"Width":50,"Height":20}'));
        const type = await attach(kc('type'), containerOf(p));
        type.stdin.write('yes\n');
        await waitUntil(() => type.out.bytes.includes('yes\r\nyes'), 'who may type');
        const now = await d.get(p.id);
        assert.deepEqual([now.rows, now.cols], [24, 80]);
        assert.ok(!(await d.output(p.id)).includes('no'));
        watch.destroy();
        type.ws.terminate();
        await d.remove(p.id);
    });

    it('messages that are none close the connection with a reason, or are passed over', async () => {
        const q = '?command=cat&stdin=true&stdout=true';
        for (const [protocol, op, bytes, code] of [
            ['base64.channel.k8s.io', OP.BINARY, Buffer.from([0, 65]), 1003],
            ['base64.channel.k8s.io', OP.TEXT, '0!!!', 1007],
            ['base64.channel.k8s.io', OP.TEXT, 'xQQ==', 1007],
            ['base64.channel.k8s.io', OP.TEXT, `0${'QUFB'.repeat(300000)}`, 1009],
        ]) {
            const ws = await socket('exec', q, protocol);
            ws.send(op, bytes);
            assert.ok((await ws.expectClose(code)).length > 5);
        }
        await waitUntil(async () => (await d.list('?status=running')).length === 0, 'each to see the end of its input');
        const ws = await socket('exec', q);
        for (const b of [[], [1, 65], [2], [3, 65], [9, 65], [255], [255, 1], [255, 0, 0], [4, ...Array(5000).fill(32)], [4, 123], [0]]) ws.send(OP.BINARY, Buffer.from(b));
        ws.send(OP.BINARY, Buffer.from('\x00fine\n'));
        await ws.find(OP.BINARY); // ready
        assert.equal((await ws.find(OP.BINARY)).payload.toString(), '\x01fine\n');
        ws.send(OP.BINARY, Buffer.from([255, 0]));
        await ws.expectClose(1000);
    });

    it('text frames are bytes, as some clients send them', async () => {
        const ws = await socket('exec', '?command=cat&stdin=true&stdout=true');
        ws.send(OP.TEXT, '').send(OP.TEXT, '\x00gr').send(OP.BINARY, Buffer.from('\x00ü\n')).send(OP.TEXT, '\x00ß\n');
        await ws.find(OP.BINARY); // ready
        let got = '';
        while (!got.endsWith('ß\n')) got += (await ws.find(OP.BINARY)).payload.subarray(1).toString();
        assert.equal(got, 'grü\nß\n');
        ws.send(OP.BINARY, Buffer.from([255, 0]));
        await ws.expectClose(1000);
    });

    it('one long message of input is taken as it comes', async () => {
        const ws = await socket('exec', '?command=wc&command=-c&stdin=true&stdout=true');
        ws.send(OP.BINARY, Buffer.concat([Buffer.from([0]), Buffer.alloc(8000000)])).send(OP.BINARY, Buffer.from([255, 0]));
        await ws.find(OP.BINARY);
        assert.equal((await ws.find(OP.BINARY, 30000)).payload.toString(), '\x018000000\n');
        await ws.expectClose(1000);
    });

    it('an abrupt end leaves the program, also that of a terminal that has just begun', async () => {
        const ws = await socket('exec', '?command=sleep&command=100&stdin=true&stdout=true');
        const p = await waitUntil(running, 'the process');
        ws.conn.reset();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be noticed');
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
        const before = (await d.list()).length;
        const tty = await socket('exec', '?command=sleep&command=100&stdin=true&stdout=true&tty=true');
        tty.conn.reset(); // before a size has come: nothing was started yet
        assert.deepEqual(await run(kc(), ['true']), [0, '', '']);
        assert.equal((await d.list()).length, before + 1);
    });

    it('a reader that stands still delays nobody else, and then has every byte', async () => {
        const e = await exec(kc(), ['sh', '-c', `head -c ${FLOOD_BYTES} /dev/urandom; exit 9`]);
        e.ws.pause();
        let bytes = 0;
        e.out.removeAllListeners('data');
        e.out.on('data', (b) => (bytes += b.length));
        const p = await waitUntil(running, 'the program');
        assert.deepEqual(await run(kc(), ['echo', 'others']), [0, 'others\n', '']);
        assert.ok(bytes < FLOOD_BYTES);
        assert.equal((await d.get(p.id)).status, 'running', 'the program waits for its reader');
        e.ws.resume();
        assert.equal(exitCode((await e.done())[0]), 9);
        assert.equal(bytes, FLOOD_BYTES);
    });

    it('a terminal that is not read holds nobody, and shows its screen afterwards', async () => {
        const e = await exec(kc(), ['sh', '-c', `stty raw; echo up; read x; head -c ${FLOOD_BYTES} /dev/urandom | base64; printf '\\033[2J\\033[Hthe-end'; read x`], { tty: true, input: new PassThrough(), size: [24, 80] });
        await waitUntil(() => e.out.bytes.includes('up'), 'the terminal');
        const p = await running();
        const res = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        let tail = '';
        res.on('data', (b) => (tail = (tail + b.toString('latin1')).slice(-100)));
        e.stdin.write('\n');
        e.ws.pause();
        await waitUntil(() => tail.includes('the-end'), 'the fast one', 60000);
        e.ws.resume();
        await waitUntil(() => e.out.bytes.includes('the-end'), 'the screen', 60000);
        assert.ok(e.out.bytes.length < FLOOD_BYTES);
        e.stdin.write('\n');
        assert.equal(exitCode((await e.done())[0]), 0);
        res.destroy();
    });

    it('a log that is not read fast enough is cut, not shortened', async () => {
        const p = await d.sh(`read x; yes | head -c ${FLOOD_BYTES}`, { stdin: 'pipe' });
        const c = await RawConn.connect(d);
        c.send(`GET ${path('log', `?follow=true&container=${containerOf(p)}`)} HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\n\r\n`);
        await c.readUntil('\r\n\r\n');
        c.socket.pause();
        const fast = await d.open('GET', `/v1/processes/${p.id}/output?follow=1&since=0`);
        fast.resume();
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        await within(new Promise((done) => fast.on('end', done)), 60000, 'the fast one');
        c.socket.resume();
        assert.ok(!(await c.rest(30000).catch((err) => (c.ended ? c.held : Promise.reject(err)))).toString('latin1').endsWith('0\r\n\r\n'));
        c.destroy();
    });

    it('native sees what was started here, and its end of it is the exit code here', async () => {
        const events = new SseReader(await d.open('GET', '/v1/events'));
        const e = await exec(kc(), ['sleep', '100']);
        const p = await waitUntil(running, 'the process');
        assert.deepEqual([p.command, p.args], ['sleep', ['100']]);
        for (let told; told?.event !== 'process.created' || JSON.parse(told.data).process?.id !== p.id; ) told = await events.next();
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'TERM' } });
        assert.equal(exitCode((await e.done())[0]), 143);
        events.close?.();
    });

    it('a worker that dies breaks the connection; the pod, the process, its log and its input go on', async () => {
        const core = () => kc().makeApiClient(k8s.CoreV1Api);
        const before = await core().readNamespacedPod({ name: 'sandbox', namespace: 'default' });
        const e = await exec(kc(), ['sh', '-c', 'echo one; read x; echo "two $x"; exit 6'], { input: new PassThrough() });
        await waitUntil(() => e.out.bytes.includes('one'), 'the first line');
        const p = await running();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        assert.equal(await within(e.closed, 20000, 'the break'), 1006);
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
        const after = await core().readNamespacedPod({ name: 'sandbox', namespace: 'default' });
        assert.deepEqual([after.metadata.uid, after.metadata.creationTimestamp], [before.metadata.uid, before.metadata.creationTimestamp]);
        const again = await attach(kc(), containerOf(p), { tty: false });
        await waitUntil(() => again.out.bytes.includes('one\n'), 'what was before');
        again.stdin.write('typed\n');
        await within(again.closed, 20000, 'the end');
        assert.equal(again.out.bytes.toString(), 'one\ntwo typed\n');
        assert.equal((await d.get(p.id)).exit.code, 6);
        assert.equal((await d.request('GET', path('log', `?container=${containerOf(p)}`))).text, 'one\ntwo typed\n');
    });
});
