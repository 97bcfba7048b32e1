// SPDX-License-Identifier: Apache-2.0
// Docker's API with clients that may not, send nonsense, go away or do not read; and a worker that dies.

import assert from 'node:assert/strict';
import http from 'node:http';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, Cli, clis, demux, dockerode, noCli, readAll } from './client.mjs';

const ALL = { AttachStdin: true, AttachStdout: true, AttachStderr: true };
const UPGRADE = { Upgrade: 'tcp', Connection: 'Upgrade' };
const FLOOD_BYTES = 24000000; // more than a ring and what a socket holds of it

/** The rest of a connection, when there is much of it. */
async function drained(c) {
    c.socket.removeAllListeners('data');
    const rest = readAll(c.socket);
    c.socket.resume();
    return Buffer.concat([c.held, await rest]);
}

withDaemon('docker: faults', {}, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const docker = () => dockerode(d);
    const sandbox = () => docker().getContainer('sandbox');
    const ask = (method, path, options) => d.request(method, BASE + path, options);
    const made = async (body) => (await ask('POST', '/containers/sandbox/exec', { json: { ...ALL, ...body } })).json.Id;
    const stateOf = async (id) => (await ask('GET', `/exec/${id}/json`)).json;

    /** A connection that has asked for an exec's stream, and what it was answered. */
    async function hijack(id, { body = '{}', headers = UPGRADE, path = `/exec/${id}/start`, rest = '' } = {}) {
        const c = await RawConn.connect(d);
        c.send(Buffer.concat([requestBytes(d, `POST ${BASE}${path}`, { headers, body }), Buffer.from(rest)]));
        const head = (await c.readUntil('\r\n\r\n')).toString();
        return { c, head };
    }

    it('tokens and roles, each refusal in Docker\'s shape', async () => {
        const p = await d.spawn({ command: 'cat', pty: true, tag: 'roles' });
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            for (const [method, path] of [['GET', '/_ping'], ['GET', '/containers/json'], ['POST', '/containers/sandbox/exec'], ['POST', '/v1.41/containers/roles/attach?stream=1'], ['GET', '/nosuch']]) {
                const a = await ask(method, path, { role });
                assert.equal(a.status, 401);
                assert.deepEqual(Object.keys(a.json), ['message']);
                assert.equal(a.headers['api-version'], '1.51');
            }
            const head = await ask('HEAD', '/_ping', { role });
            assert.deepEqual([head.status, head.body.length], [401, 0]);
        }
        for (const [role, method, path, status] of [
            ['watch', 'GET', '/containers/roles/json', 200],
            ['watch', 'POST', '/containers/sandbox/exec', 403],
            ['watch', 'POST', '/containers/create', 403],
            ['watch', 'POST', '/containers/roles/attach?stream=1&stdin=1&stdout=1', 403],
            ['watch', 'POST', '/containers/roles/resize?h=10&w=20', 403],
            ['type', 'POST', '/containers/roles/resize?h=10&w=20', 200],
            ['type', 'POST', '/containers/roles/kill?signal=KILL', 403],
            ['type', 'POST', '/containers/roles/stop', 403],
            ['type', 'DELETE', '/containers/roles?force=1', 403],
        ]) {
            assert.equal((await ask(method, path, { role })).status, status, `${role} ${method} ${path}`);
        }
        await d.remove(p.id);
    });

    it('paths, methods, versions, bodies that are wrong or too long', async () => {
        for (const [method, path, status, options] of [
            ['GET', '/images/alpine/history', 404],
            ['GET', '/networks', 404],
            ['GET', '/v1.99/containers/json', 200],
            ['GET', '/v1.24/_ping', 200],
            ['POST', '/containers/json', 405],
            ['GET', '/containers/nosuch/json', 404],
            ['GET', '/containers/sandbox/logs', 400],
            ['GET', '/containers/sandbox/logs?stdout=1&since=x', 400],
            ['GET', '/containers/json?filters=%7B', 400],
            ['GET', '/containers/json?filters=%5B%5D', 400],
            ['GET', '/containers/json?filters=%7B%22status%22%3A%5B%22odd%22%5D%7D', 400],
            ['POST', '/containers/sandbox/wait?condition=never', 400],
            ['POST', '/containers/sandbox/exec', 400],
            ['POST', '/containers/sandbox/exec', 400, { body: '{"Cmd":' }],
            ['POST', '/containers/sandbox/exec', 400, { json: [] }],
            ['POST', '/containers/sandbox/exec', 400, { json: { Cmd: [7] } }],
            ['POST', '/containers/sandbox/exec', 400, { json: { Cmd: ['a\u0000b'] } }],
            ['POST', '/containers/sandbox/exec', 413, { json: { Cmd: ['x'.repeat(1 << 20)] } }],
            ['POST', '/containers/create?name=x', 400, { json: { Cmd: ['true'] } }],
            ['POST', '/containers/create?name=a%2Fb', 400, { json: { Cmd: ['true'] } }],
            ['POST', '/containers/create', 400, { json: { Cmd: null, Image: 'x' } }],
            ['POST', '/exec/nosuch/start', 404, { json: {} }],
            ['POST', '/exec/nosuch/resize?h=1&w=1', 404],
            ['POST', '/exec/sandbox/start', 404, { json: {} }],
        ]) {
            const a = await ask(method, path, options);
            assert.equal(a.status, status, `${method} ${path}: ${a.text}`);
            if (status >= 400) assert.deepEqual(Object.keys(a.json), ['message'], path);
        }
        for (const size of ['', '?h=0&w=10', '?h=10', '?h=-1&w=9', '?h=99999&w=10', '?h=x&w=y']) {
            const id = await made({ Tty: true, Cmd: ['true'] });
            assert.equal((await ask('POST', `/exec/${id}/resize${size}`)).status, 400, size);
        }
    });

    it('the answer of a hijack: with and without an upgrade, by version, and bytes behind the body are input', async () => {
        const cases = [
            [{}, UPGRADE, '', /^HTTP\/1\.1 101 .*multiplexed-stream/s],
            [{}, UPGRADE, '/v1.41', /^HTTP\/1\.1 101 .*raw-stream/s],
            [{}, {}, '', /^HTTP\/1\.1 200 .*raw-stream/s],
        ];
        for (const [body, headers, version, expected] of cases) {
            const id = await made({ Cmd: ['cat'] });
            const { c, head } = await hijack(id, { body: JSON.stringify(body), headers, path: `${version}/exec/${id}/start`, rest: 'with the request\n' });
            assert.match(head, expected);
            assert.doesNotMatch(head, /chunked|content-length/i);
            c.send('later\n').half();
            assert.equal(demux(await c.rest()).stdout, 'with the request\nlater\n');
            assert.equal((await stateOf(id)).ExitCode, 0);
        }
        const id = await made({ Tty: true, Cmd: ['sh', '-c', 'echo tty'] });
        const { c, head } = await hijack(id, { body: '{"Tty":true}' });
        assert.match(head, /raw-stream/);
        await c.readUntil('tty\r\n');
        await c.expectEnd();
    });

    it('the first byte of a terminal with input comes in one write with the head to Docker\'s own client', async () => {
        const id = await made({ Tty: true, Cmd: ['sleep', '980'] });
        const c = await RawConn.connect(d);
        const first = new Promise((done) => c.socket.once('data', done));
        c.send(requestBytes(d, `POST ${BASE}/exec/${id}/start`, { headers: { ...UPGRADE, 'User-Agent': 'Docker-Client/28.2.2 (linux)' }, body: '{"Tty":true}' }));
        assert.match((await first).toString('latin1'), /^HTTP\/1\.1 101 .*\r\n\r\n\x1b\[m/s);
        c.reset();
        await waitUntil(async () => (await stateOf(id)).Running, 'it goes on without its client');
    });

    it('a client that goes: the process stays; one that goes before the start leaves nothing', async () => {
        const id = await made({ Cmd: ['sh', '-c', 'echo up; cat'] });
        const { c } = await hijack(id);
        await c.readUntil('up\n');
        c.reset();
        const p = (await d.list()).find((x) => x.pid && x.args?.[1] === 'echo up; cat');
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'its viewer to be gone');
        assert.equal((await stateOf(id)).Running, true);
        const made1 = (await ask('POST', '/containers/create?name=left', { json: { Cmd: ['cat'], OpenStdin: true } })).json.Id;
        const { c: early } = await hijack(made1, { path: '/containers/left/attach?stream=1&stdin=1&stdout=1' });
        early.send('unread');
        early.reset();
        assert.equal((await ask('DELETE', '/containers/left')).status, 204);
        assert.equal((await ask('GET', '/containers/left/json')).status, 404);
        await ask('POST', `/containers/${id}/kill`);
    });

    it('a reader that stands still delays its own process only, and loses nothing; a slow log holds nobody', async () => {
        const id = await made({ AttachStdin: false, Cmd: ['sh', '-c', `head -c ${FLOOD_BYTES} /dev/zero`] });
        const { c } = await hijack(id);
        c.socket.pause();
        assert.equal((await readAll(await (await sandbox().exec({ ...ALL, AttachStdin: false, Cmd: ['echo', 'other'] })).start({ hijack: true }))).subarray(8).toString(), 'other\n');
        assert.equal((await stateOf(id)).Running, true);
        assert.equal(demux(await drained(c)).stdout.length, FLOOD_BYTES);
        assert.equal((await stateOf(id)).ExitCode, 0);

        await ask('POST', '/containers/create?name=flood', { json: { Cmd: ['sh', '-c', `read x; head -c ${FLOOD_BYTES} /dev/zero; echo end >&2`], OpenStdin: true } });
        await ask('POST', '/containers/flood/start');
        const slow = await RawConn.connect(d);
        slow.send(requestBytes(d, `GET ${BASE}/containers/flood/logs?follow=1&stdout=1&stderr=1`));
        await slow.readUntil('\r\n\r\n');
        slow.socket.pause();
        const fast = await hijack('', { path: '/containers/flood/attach?stream=1&stdin=1&stdout=1&stderr=1' });
        fast.c.send('\n');
        assert.match(demux(await drained(fast.c)).stderr, /end\n/);
        assert.equal((await ask('GET', '/containers/flood/json')).json.State.Status, 'exited');
        slow.send(requestBytes(d, `GET ${BASE}/_ping`, { headers: { Connection: 'close' } })); // so that it ends
        const all = (await drained(slow)).toString('latin1');
        const failure = all.slice(-1000);
        // The frame that clients take for an error is the last: nobody takes a part for the whole.
        assert.ok(/\x03\0\0\0\0\0\0.holdfast: \d+ bytes of output were lost: they were not read in time\r\n0\r\n\r\nHTTP\/1\.1 200/s.test(failure), JSON.stringify(failure));
        assert.ok(!/end\n\r\n/.test(all), 'nothing comes behind the gap');
        assert.ok(all.endsWith('OK'));
        await ask('DELETE', '/containers/flood');
    });

    it('the log of a terminal that missed something is cut: it has no frame for an error', async () => {
        await ask('POST', '/containers/create?name=screen', { json: { Tty: true, Cmd: ['sh', '-c', `stty raw; read x; head -c ${FLOOD_BYTES} /dev/zero`], OpenStdin: true } });
        await ask('POST', '/containers/screen/start');
        const slow = await RawConn.connect(d);
        slow.send(requestBytes(d, `GET ${BASE}/containers/screen/logs?follow=1&stdout=1`));
        await slow.readUntil('\r\n\r\n');
        slow.socket.pause();
        const fast = await hijack('', { path: '/containers/screen/attach?stream=1&stdin=1&stdout=1' });
        fast.c.send('\n');
        await drained(fast.c);
        const all = (await drained(slow)).toString('latin1');
        assert.ok(!all.endsWith('0\r\n\r\n'), 'its end would say that this was all');
        await ask('DELETE', '/containers/screen');
    });

    it('native list and events see it; what native ends, its client is told', async () => {
        const events = new SseReader(await d.open('GET', '/v1/events'));
        const id = await made({ AttachStdin: false, Cmd: ['sh', '-c', 'echo up; sleep 979'] });
        const { c } = await hijack(id);
        await c.readUntil('up\n');
        const p = (await d.list()).find((x) => x.metadata?.docker?.kind === 'exec' && x.status === 'running');
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'TERM', target: 'tree' } });
        await c.expectEnd();
        assert.equal((await stateOf(id)).ExitCode, 143);
        const told = [];
        while (told.at(-1) !== 'process.exited') {
            const e = await events.next();
            if (JSON.parse(e.data).process?.id === p.id) told.push(e.event);
        }
        assert.equal(told[0], 'process.created');
        events.close?.();
    });

    it('input, output and screen of a process that native has started', async () => {
        const p = await d.sh('read x; echo "got $x"', { stdin: 'pipe', tag: 'foreign' });
        const { c, head } = await hijack('', { path: '/containers/foreign/attach?stream=1&stdin=1&stdout=1&stderr=1' });
        assert.match(head, /101/);
        c.send('words\n');
        assert.equal(demux(await c.rest()).stdout, 'got words\n');
        const ws = new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/containers/${p.id}/attach/ws?logs=1&stream=1&stdout=1`, { headers: d.authHeaders() });
        let text = '';
        ws.on('message', (b) => (text += b));
        await within(new Promise((done) => ws.on('close', done)), 10000, 'the close');
        assert.equal(text, 'got words\n');
        await d.remove(p.id);
    });

    it('too many that are created and not started: execs go, containers are refused', async () => {
        const first = await made({ Cmd: ['true'] });
        for (let i = 0; i < 256; i++) await made({ Cmd: ['true'] });
        assert.equal((await ask('GET', `/exec/${first}/json`)).status, 404);
        const ids = [];
        let last;
        for (let i = 0; i < 65; i++) {
            last = await ask('POST', '/containers/create', { json: { Cmd: ['true'] } });
            if (last.status === 201) ids.push(last.json.Id);
        }
        assert.equal(last.status, 429);
        assert.match(last.json.message, /start or remove some/);
        assert.equal((await ask('GET', `/containers/${ids[0].slice(0, 16)}/json`)).json.State.Status, 'created');
        for (const id of ids) assert.equal((await ask('DELETE', `/containers/${id}`)).status, 204);
    });

    it('a worker that dies: what runs, what is created, exit codes and --rm outlive it', async () => {
        const list = () => ask('GET', '/containers/json?all=1', { agent: false });
        const began = (await list()).json.find((x) => x.Names[0] === '/sandbox');
        const ended = await made({ AttachStdin: false, Cmd: ['sh', '-c', 'exit 9'] });
        await (await hijack(ended)).c.rest();
        const failed = await made({ AttachStdin: false, Cmd: ['nosuch-program'] });
        await (await hijack(failed)).c.rest();
        const running = await made({ Cmd: ['sh', '-c', 'echo before; read x; echo after; exit 6'] });
        const { c } = await hijack(running);
        await c.readUntil('before\n');
        const exec = await made({ Cmd: ['cat'] });
        await ask('POST', '/containers/create?name=kept', { json: { Cmd: ['sh', '-c', 'echo kept; exit 2'], Labels: { a: 'b' } } });
        await ask('POST', '/containers/create?name=rm', { json: { Cmd: ['cat'], OpenStdin: true, StdinOnce: true, HostConfig: { AutoRemove: true } } });
        assert.equal((await ask('POST', '/containers/rm/start')).status, 204);

        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await c.rest().catch(() => {});
        await waitUntil(async () => (await list()).status === 200, 'the new worker to answer');

        assert.deepEqual((await list()).json.find((x) => x.Names[0] === '/sandbox').Created, began.Created);
        assert.equal((await stateOf(ended)).ExitCode, 9);
        assert.equal((await stateOf(failed)).ExitCode, 127);
        assert.equal((await stateOf(running)).Running, true);
        const again = await hijack('', { path: `/containers/${running}/attach?logs=1&stream=1&stdin=1&stdout=1` });
        again.c.send('x\n');
        assert.equal(demux(await again.c.rest()).stdout, 'before\nafter\n');
        assert.equal((await stateOf(running)).ExitCode, 6);
        const late = await hijack(exec, { rest: 'still' });
        late.c.half();
        assert.equal(demux(await late.c.rest()).stdout, 'still');
        assert.deepEqual((await ask('GET', '/containers/kept/json')).json.Config.Labels, { a: 'b' });
        assert.equal((await ask('POST', '/containers/kept/start')).status, 204);
        assert.deepEqual((await ask('POST', '/containers/kept/wait')).json, { StatusCode: 2 });
        const end = await hijack('', { path: '/containers/rm/attach?stream=1&stdin=1&stdout=1' });
        const removed = await RawConn.connect(d);
        removed.send(requestBytes(d, `POST ${BASE}/containers/rm/wait?condition=removed`));
        assert.match((await removed.readUntil('\r\n\r\n')).toString(), /^HTTP\/1\.1 200 /); // before there is anything to tell
        end.c.half();
        await end.c.rest();
        assert.deepEqual(JSON.parse(await removed.chunks()), { StatusCode: 0 });
        removed.destroy();
        assert.equal((await ask('GET', '/containers/rm/json')).status, 404);
    });

    it('a worker that is replaced: a client with frames is told so, and does not take it for the end', { skip: noCli }, async () => {
        const run = new Cli(clis.at(-1), d).start(['exec', 'sandbox', 'sh', '-c', 'echo up; sleep 978']);
        await waitUntil(() => run.stdout() === 'up\n', 'its output');
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        const r = await run.over;
        assert.notEqual(r.code, 0);
        assert.match(r.stderr, /the daemon is shutting down; the process keeps running/);
        assert.ok((await d.list()).some((x) => x.status === 'running' && x.args?.[1]?.includes('sleep 978')));
    });
});
