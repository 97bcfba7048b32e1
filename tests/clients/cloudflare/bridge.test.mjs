// SPDX-License-Identifier: Apache-2.0
// The bridge, by OpenAI's published CloudflareSandboxClient, and what others of its clients send.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { Manifest } from '@openai/agents-core/sandbox';
import { CloudflareSandboxClient } from '@openai/agents-extensions/sandbox/cloudflare';
import WebSocket from 'ws';
import { closeAll, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { withWorkspace, workspaceOf } from '../../lib/workspace.mjs';

withDaemon('cloudflare: the bridge', withWorkspace, (d) => {
    afterEach(closeAll);
    const base = () => `${d.url}/dialects/cloudflare`;
    const create = (options = {}) => new CloudflareSandboxClient({ workerUrl: base(), apiKey: d.token, ...options }).create(new Manifest({ root: '/workspace' }));
    const ask = (method, url, options = {}) => d.request(method, `/dialects/cloudflare${url}`, options);
    const open = (url, headers = d.authHeaders()) => {
        const ws = new Socket(`${base().replace('http', 'ws')}${url}`, { headers });
        ws.closed = new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));
        ws.bytes = () => Buffer.concat(ws.received.filter(Buffer.isBuffer)).toString();
        ws.sees = (text) => waitUntil(() => ws.bytes().includes(text), `${text} in ${JSON.stringify(ws.bytes())}`);
        ws.ready = () => waitUntil(() => ws.received.some((m) => m.type === 'ready'), 'ready');
        return ws;
    };
    const parse = (body) =>
        body
            .toString()
            .split('\n\n')
            .filter((f) => f.startsWith('event:'))
            .map((f) => Object.fromEntries(f.split('\n').map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 1).trim()])));
    const alive = (mark) => proc.pids().filter((p) => proc.cmdline(p).join(' ') === mark).length;

    it('create, running, output and exit code, gone after close', async () => {
        const s = await create();
        assert.equal(await s.running(), true);
        assert.match(s.state.sandboxId, /^[a-z2-7]{1,128}$/);
        const r = await s.execCommand({ cmd: 'pwd; echo err >&2; echo "ä€😀"; exit 3' });
        assert.match(r, /exited with code 3/);
        assert.match(r, /\/workspace/);
        assert.match(r, /ä€😀/);
        assert.match(r, /err/);
        const started = await s.execCommand({ cmd: 'nohup sleep 377.5 >/dev/null 2>&1 & echo on its way' });
        assert.match(started, /on its way/);
        await s.close();
        assert.equal(await s.running(), false);
        await waitUntil(() => alive('sleep 377.5') === 0, 'what a command had left behind');
        assert.equal((await d.api('GET', '/v1/sessions')).json.sessions.length, 0);
    });

    it('a terminal: ready, output, what is typed, exit code and the end', async () => {
        const s = await create();
        let all = await s.execCommand({ cmd: 'echo tty-$((1)); read x; echo "got $x"; [ -t 0 ] && echo is-a-tty', tty: true, yieldTimeMs: 250 });
        const sessionId = Number(/session ID (\d+)/i.exec(all)[1]);
        const say = async (chars, want) => {
            all += await s.writeStdin({ sessionId, chars, yieldTimeMs: 250 });
            await waitUntil(async () => want.test(all) || (all += await s.writeStdin({ sessionId, chars: '', yieldTimeMs: 250 })) === '', `${want} in ${all}`);
        };
        await say('', /tty-1/);
        await say('word\n', /got word[^]*is-a-tty/);
        await say('exit 6\n', /exited with code 6/);
        await s.close();
    });

    /* On Cloudflare all terminals without a session are one shell, so they type into each other. */
    it('two terminals without a session are two shells, and end with their connections', async () => {
        const s = await create();
        const a = open(`/v1/sandbox/${s.state.sandboxId}/pty?cols=90&rows=20&shell=sh`);
        const b = open(`/v1/sandbox/${s.state.sandboxId}/pty?cols=80&rows=24&shell=sh`);
        await Promise.all([a.ready(), b.ready()]);
        a.send(Buffer.from('x=mine; stty size; echo a-$((1))\n'));
        await a.sees('20 90');
        b.send(Buffer.from('echo "<$x>"\n'));
        await b.sees('<>');
        assert.ok(!b.bytes().includes('a-1'));
        assert.ok(!a.bytes().includes('\x1bc'), 'nothing but what the shell wrote');
        const mine = async () => (await d.list(`?session_id=${s.state.sandboxId}&status=running`)).filter((p) => p.pty);
        assert.equal((await mine()).length, 2);
        a.terminate();
        await waitUntil(async () => (await mine()).length === 1, 'the first shell to end');
        await s.close();
        assert.equal((await b.closed)[0], 1000);
    });

    it('a named session: its directory and variables for exec, one shared terminal', async () => {
        const s = await create();
        const box = `/v1/sandbox/${s.state.sandboxId}`;
        assert.deepEqual((await ask('POST', `${box}/session`, { json: { id: 'work.1', cwd: '/usr', env: { A: 'one' } } })).json, { id: 'work.1' });
        assert.equal((await ask('POST', `${box}/session`, { json: { id: 'work.1' } })).status, 409);
        const exec = async (argv, more = {}) => parse((await ask('POST', `${box}/exec`, { json: { argv, ...more }, headers: { 'Session-Id': 'work.1' } })).body);
        const r = await exec(['sh', '-c', 'echo "$A $PWD $0" "$1"', "it's", 'x y']);
        assert.equal(Buffer.from(r[0].data, 'base64').toString(), "one /usr it's x y\n");
        assert.deepEqual(JSON.parse(r.at(-1).data), { exit_code: 0 });
        const a = open(`${box}/pty?session=work.1&shell=sh`);
        await a.ready();
        const b = open(`${box}/pty`, { ...d.authHeaders(), 'Session-Id': 'work.1' });
        await b.ready();
        a.send(Buffer.from('echo shared-$A\n'));
        await b.sees('shared-one');
        assert.equal((await ask('DELETE', `${box}/session/work.1`)).status, 204);
        assert.equal((await ask('DELETE', `${box}/session/work.1`)).status, 404);
        for (const id of ['a/b', '..', 'a..b', 'x'.repeat(200), '']) {
            assert.equal((await ask('POST', `${box}/session`, { json: { id } })).status, 400, id);
        }
        for (const body of [{ id: 7 }, { cwd: 7 }, { env: 'A=b' }]) {
            assert.equal((await ask('POST', `${box}/session`, { json: body })).status, 400, JSON.stringify(body));
        }
        await s.close();
    });

    it('files of a manifest and of the client are written and read, whole or not at all', async () => {
        const client = new CloudflareSandboxClient({ workerUrl: base(), apiKey: d.token });
        const s = await client.create(new Manifest({ root: '/workspace', entries: { 'deep/in/manifest.txt': { type: 'file', content: 'from the manifest' } } }));
        assert.equal(fs.readFileSync(`${workspaceOf(d)}/deep/in/manifest.txt`, 'utf8'), 'from the manifest');
        assert.equal(Buffer.from(await s.readFile({ path: 'deep/in/manifest.txt' })).toString(), 'from the manifest');
        await assert.rejects(s.readFile({ path: 'nothing.txt' }), (e) => e.constructor.name === 'SandboxWorkspaceReadNotFoundError');
        const file = (name) => `/v1/sandbox/${s.state.sandboxId}/file/${name}`;
        const bytes = Buffer.from(Array.from({ length: 3 << 20 }, (_, i) => (i * 7) & 255));
        assert.deepEqual((await ask('PUT', file('workspace/new%20dir/%C3%A4.bin'), { body: bytes })).json, { ok: true });
        assert.ok(fs.readFileSync(`${workspaceOf(d)}/new dir/ä.bin`).equals(bytes));
        assert.ok((await ask('GET', file('workspace/new%20dir/%C3%A4.bin'))).body.equals(bytes));
        assert.deepEqual((await ask('PUT', file('workspace/empty'), { body: Buffer.alloc(0) })).json, { ok: true });
        const empty = await ask('GET', file('workspace/empty'));
        assert.deepEqual([empty.status, empty.body.length], [200, 0]);
        assert.equal((await ask('GET', file('workspace'))).status, 400, 'a directory');
        assert.equal((await ask('GET', file('workspace/none'))).status, 404);
        assert.equal((await ask('PUT', file('workspace/empty/below'), { body: 'x' })).status, 500);
        assert.equal((await ask('PUT', file('workspace/new%20dir'), { body: 'x' })).status, 500);
        assert.equal((await ask('GET', file(''))).status, 400);
        assert.equal((await ask('PUT', file('workspace/x'), { body: 'x', role: 'type' })).status, 403);
        const half = http.request(`${base()}${file('workspace/half')}`, { method: 'PUT', headers: { ...d.authHeaders(), 'Content-Length': 100 } });
        half.on('error', () => {}).write('half');
        await waitUntil(() => proc.fileWriters('/workspace/half').length === 1, 'the beginning');
        half.destroy();
        await waitUntil(() => proc.fileWriters('/workspace/half').length === 0, 'its end');
        assert.deepEqual(
            fs.readdirSync(workspaceOf(d)).filter((f) => f.includes('half') || f.endsWith('.part')),
            [],
        );
        await s.close();
    });

    /* Each event is decoded by itself, so half a character would be two wrong ones. */
    it('no character is cut in two', async () => {
        const s = await create();
        const a = await ask('POST', `/v1/sandbox/${s.state.sandboxId}/exec`, {
            json: { argv: ['bash', '-c', "printf '\\xe2'; sleep 0.05; printf '\\x82'; sleep 0.05; printf '\\xac\\xff'; printf '\\xc3' >&2"] },
        });
        const events = parse(a.body);
        assert.deepEqual(
            events.map((e) => [e.event, e.event === 'exit' ? e.data : Buffer.from(e.data, 'base64').toString('latin1')]),
            [['stdout', '\xe2\x82\xac\xff'], ['stderr', '\xc3'], ['exit', '{"exit_code":0}']],
        );
        await s.close();
    });

    it('time-outs, programs that are not there, directories outside', async () => {
        const s = await create();
        const exec = (json) => ask('POST', `/v1/sandbox/${s.state.sandboxId}/exec`, { json });
        const late = parse((await exec({ argv: ['sh', '-c', 'echo a; sleep 30'], timeout_ms: 200 })).body);
        assert.deepEqual(late.map((e) => e.event), ['stdout', 'exit']);
        assert.deepEqual(JSON.parse(late[1].data), { exit_code: 124 });
        const none = await exec({ argv: ['no-such-program'] });
        assert.equal(none.status, 502);
        assert.equal(none.json.code, 'exec_transport_error');
        for (const argv of [[], 'ls', [1], ['a\0b'], ['']]) assert.equal((await exec({ argv })).status, 400, JSON.stringify(argv));
        assert.equal((await exec({ argv: ['true'], timeout_ms: -1 })).status, 400);
        assert.equal((await exec({ argv: ['true'], cwd: 7 })).status, 400);
        assert.equal((await exec({ argv: ['true'], cwd: null, timeout_ms: null })).status, 200);
        for (const cwd of ['/etc', '/workspace/../etc', '/workspaces', '..', 'a/../../etc']) assert.equal((await exec({ argv: ['true'], cwd })).status, 403, cwd);
        fs.mkdirSync(`${workspaceOf(d)}/sub`, { recursive: true });
        for (const cwd of ['/workspace/sub', 'sub']) {
            const events = parse((await exec({ argv: ['pwd'], cwd })).body);
            assert.equal(Buffer.from(events[0].data, 'base64').toString(), '/workspace/sub\n');
        }
        await s.close();
    });

    it('whoever goes away in the middle of a command ends it', async () => {
        const s = await create();
        const answer = await d.open('POST', `/dialects/cloudflare/v1/sandbox/${s.state.sandboxId}/exec`, { body: JSON.stringify({ argv: ['sleep', '388.25'] }) });
        await waitUntil(() => alive('sleep 388.25') === 1, 'the command');
        answer.destroy();
        await waitUntil(() => alive('sleep 388.25') === 0, 'its end');
        await s.close();
    });

    /* Who went before the process was there once left it running, and a file's writer for ever. */
    it('whoever goes away before a command has begun ends it, or it never begins', async () => {
        const s = await create();
        const send = async (method, url, body, length = body.length) => {
            const c = await RawConn.connect(d);
            c.send(`${method} /dialects/cloudflare/v1/sandbox/${s.state.sandboxId}/${url} HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Length: ${length}\r\n\r\n${body}`);
            c.destroy();
        };
        for (let i = 0; i < 10; i++) {
            await send('POST', 'exec', JSON.stringify({ argv: ['sleep', '399.75'] }));
            await send('PUT', `file/workspace/gone-${i}`, 'half', 100);
        }
        const over = async () =>
            alive('sleep 399.75') === 0 && (await d.list('?status=running&limit=100')).every((p) => p.session_id === s.state.sandboxId && !p.args.includes('399.75'));
        let since = null; // some of them may not have been read yet, so that it is so now says little
        await waitUntil(async () => {
            since = (await over()) ? (since ?? Date.now()) : null;
            return since !== null && Date.now() - since > 300;
        }, 'all to end');
        assert.deepEqual(fs.readdirSync(workspaceOf(d)).filter((f) => f.startsWith('gone-')), []);
        await s.close();
    });

    /* Nobody is left who would bring the rest, so its writer would wait for ever. */
    it('a worker that dies in the middle of a file leaves nothing of it', async () => {
        const s = await create();
        const half = http.request(`${base()}/v1/sandbox/${s.state.sandboxId}/file/workspace/torn`, { method: 'PUT', headers: { ...d.authHeaders(), 'Content-Length': 100 } });
        half.on('error', () => {}).write('half');
        await waitUntil(() => proc.fileWriters('/workspace/torn').length === 1, 'the beginning');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(() => proc.fileWriters('/workspace/torn').length === 0, 'its end', 30000);
        assert.deepEqual(
            fs.readdirSync(workspaceOf(d)).filter((f) => f.includes('torn') || f.endsWith('.part')),
            [],
        );
        half.destroy();
        await waitUntil(async () => (await d.list('?status=running')).every((p) => p.session_id === s.state.sandboxId), 'the writer to be gone');
        await s.close();
    });

    it('tokens and wrong requests', async () => {
        await assert.rejects(create({ apiKey: 'wrong-wrong-wrong-wrong' }), /unauthorized/);
        assert.deepEqual((await ask('GET', '/health', { role: null })).json, { ok: true });
        const no = await ask('POST', '/v1/sandbox', { json: {}, role: 'watch' });
        assert.equal(no.status, 403);
        assert.equal(no.json.code, 'forbidden');
        assert.equal((await ask('POST', '/v1/sandbox', { body: '[', headers: { 'Content-Type': 'application/json' } })).status, 400);
        assert.equal((await ask('GET', '/v1/sandbox/no%20id/running')).status, 400);
        assert.deepEqual((await ask('GET', '/v1/sandbox/unknown/running')).json, { running: false });
        assert.equal((await ask('DELETE', '/v1/sandbox/unknown')).status, 204);
        assert.deepEqual((await ask('GET', '/v1/nothing')).json.code, 'not_found');
        assert.equal((await ask('GET', '/v1/sandbox/x/pty')).status, 426);
        const watch = new WebSocket(`${base().replace('http', 'ws')}/v1/sandbox/x/pty`, { headers: d.authHeaders('watch') });
        assert.equal(await new Promise((done) => watch.on('close', done)), 1008);
    });
});
