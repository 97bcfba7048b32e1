// SPDX-License-Identifier: Apache-2.0
// The ways in: the SDK's own control-plane calls, execd's proxy for itself, a listener of its own,
// WebSockets on /command and /terminal, metrics, and what is not there.

import assert from 'node:assert/strict';
import { ConnectionConfig, Sandbox } from '@alibaba-group/opensandbox';
import { bare, call, connect, controlPlane, domainOf, newPty, PREFIX, Pty, texts, withSandbox } from '../../lib/opensandbox.mjs';
import { daemonFor } from '../../lib/daemon.mjs';
import { exchange, requestBytes } from '../../lib/raw.mjs';
import { it, test } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withSandbox('opensandbox: doors', {}, (d, sandbox) => {
    const hears = async (s) => assert.deepEqual(texts((await s.commands.run('echo heard')).logs.stdout), ['heard']);

    it('create, look and kill are answered by the daemon itself', async () => {
        const config = new ConnectionConfig({ domain: domainOf(d), apiKey: d.token });
        const s = await Sandbox.create({ image: 'any', connectionConfig: config });
        await hears(s);
        const info = await s.getInfo();
        assert.equal(info.status.state, 'Running');
        assert.ok(info.createdAt instanceof Date);
        assert.equal(info.id, s.id);
        const list = await s.sandboxes.listSandboxes();
        assert.equal(list.items[0].id, s.id);
        assert.equal((await s.getEndpoint(8123)).endpoint, `${d.host}:8123`);
        await s.kill();
        await hears(s);
        await s.close();
    });

    it('through the proxy for itself, and through that of the control plane', async () => {
        for (const path of ['/proxy/44772', '/sandboxes/x/proxy/44772', '/v1/sandboxes/x/proxy/44772']) {
            const base = `${domainOf(d)}${path}`;
            const plane = await controlPlane(base, d.token);
            const s = await connect(d, { domain: plane.domain });
            await hears(s);
            const id = await newPty(d, { command: 'echo deep' }, { prefix: `${PREFIX}${path}` });
            const p = Pty.at(d, id, {}, { base });
            await p.end();
            assert.equal(p.text, 'deep\r\n');
            await s.close();
            plane.close();
        }
        const proxied = await connect(d, { config: { useServerProxy: true } });
        const at = await proxied.getEndpoint(44772);
        assert.equal(at.endpoint, `${domainOf(d)}/sandboxes/any/proxy/44772`);
        assert.deepEqual(at.headers, { 'X-EXECD-ACCESS-TOKEN': d.token });
        await hears(proxied);
        await proxied.close();
        const other = await call(d, 'GET', '/proxy/8000/x');
        assert.equal(other.status, 501);
        assert.equal(other.json.code, 'NOT_SUPPORTED');
        assert.equal((await call(d, 'GET', '/proxy/44772/ping', { token: '', headers: { Authorization: '' } })).status, 401);
    });

    it('/terminal starts a terminal and attaches to it in one step', async () => {
        const p = new Pty(d, '/terminal', { query: { cols: 101, rows: 31, command: 'stty size; read x; echo "<$x>"; exit 8' } });
        const hello = await p.message('connected');
        assert.equal(hello.mode, 'pty');
        await p.says('31 101');
        p.type('y\n');
        await p.end();
        assert.ok(p.text.includes('<y>'));
        assert.equal(p.exit.exit_code, 8);
        assert.equal((await d.get(hello.session_id)).exit_code, 8);
        const shell = new Pty(d, '/terminal');
        const { session_id } = await shell.message('connected');
        shell.type('echo sh$((1+1))\n');
        await shell.says('sh2');
        await shell.leave();
        const back = await Pty.attach(d, session_id, { since: shell.at });
        back.type('exit\n');
        await back.end();
        assert.equal((await call(d, 'GET', '/terminal')).status, 400);
    });

    /* Bare input was dropped without a word, and output had a channel in front. */
    it('their binary frames are bytes both ways, whatever byte comes first; JSON sizes them', async () => {
        const p = new Pty(d, '/terminal', { query: { command: 'stty raw -echo; echo up; head -c 6 | od -An -tx1; stty size; printf "\\003\\001"' } });
        await p.says('up');
        p.send({ type: 'resize', cols: 77, rows: 22 });
        for (const bad of ['no json', { type: 'none' }]) {
            const n = p.messages.length;
            p.send(bad);
            assert.equal((await p.until(() => p.messages[n], 'an error')).code, 'INVALID_FRAME');
        }
        p.ws.send(Buffer.from([0, 1, 2]));
        p.ws.send(Buffer.from([3, 4, 0]));
        await p.end();
        assert.match(p.text, /00 01 02 03 04 00\s+22 77\s+\x03\x01$/);
        const bytes = Buffer.alloc(3000000, 'abc');
        const cat = new Pty(d, '/command', { query: { command: `head -c ${bytes.length}` } });
        await cat.message('connected');
        cat.type(bytes);
        await cat.end();
        assert.ok(cat.output.equals(bytes));
    });

    it('/ws/session/{id} is /pty/{id}/ws; the shell of a bash session is only watched', async () => {
        const id = await newPty(d, { command: 'echo one; read x; echo "<$x>"' });
        const p = new Pty(d, `/ws/session/${id}`, { query: { pty: 1 } });
        assert.equal((await p.message('connected')).session_id, id);
        await p.says('one');
        const viewer = new Pty(d, `/ws/session/${id}`, { query: { pty: 1, since: 3, mode: 'viewer' } });
        assert.equal((await viewer.message('connected')).role, 'viewer');
        p.type('y\n');
        await Promise.all([p.end(), viewer.end()]);
        assert.match(p.text, /<y>/);
        assert.equal(viewer.text, p.text.slice(3));
        const s = await sandbox();
        const session = await s.commands.createSession();
        await s.commands.runInSession(session, 'echo in-session');
        const watcher = new Pty(d, `/ws/session/${session}`, { query: { pty: 1, since: 0 } });
        assert.equal((await watcher.message('connected')).role, 'viewer');
        await watcher.says('in-session');
        watcher.type('exit\n');
        assert.equal((await watcher.message('error')).code, 'READ_ONLY');
        await watcher.leave();
        assert.equal((await s.commands.runInSession(session, 'echo on')).logs.stdout[0].text, 'on');
        await s.commands.deleteSession(session);
        await assert.rejects(new Pty(d, '/ws/session/nothing').opened, (err) => err.status === 404);
    });

    it('/command as a WebSocket: pipes or a terminal, with input', async () => {
        const p = new Pty(d, '/command', { query: { command: 'read x; echo "o$x"; echo "e$A" >&2; exit 4', env: 'A=b c' } });
        assert.equal((await p.message('connected')).mode, 'pipe');
        p.type('1\n');
        await p.end();
        assert.equal(p.text, 'o1\neb c\n');
        assert.equal(p.exit.exit_code, 4);
        const q = new Pty(d, '/command?argv=stty&argv=size', { query: {} });
        await q.end();
        assert.notEqual(q.exit.exit_code, 0, 'no terminal, no size');
        const t = new Pty(d, '/command?argv=stty&argv=size&tty=true&cols=90&rows=20');
        await t.end();
        assert.equal(t.text, '20 90\r\n');
        for (const bad of ['/command', '/command?command=x&cols=abc', '/command?command=x&cwd=$NO_SUCH_VAR', '/terminal?rows=0']) {
            await assert.rejects(new Pty(d, bad).opened, (err) => err.status === 400, bad);
        }
        await assert.rejects(new Pty(d, '/command?command=x', { token: d.tokens.type }).opened, (err) => err.status === 403);
        const lost = new Pty(d, '/command?argv=/no/such');
        assert.equal((await lost.message('error')).code, 'START_FAILED');
        assert.equal((await lost.end()).code, 1011);
    });

    it('metrics, once and as a stream', async () => {
        const s = await sandbox();
        const m = await s.getMetrics();
        assert.ok(m.cpuCount >= 1 && m.memoryTotalMiB > 0 && m.memoryUsedMiB > 0 && m.memoryUsedMiB <= m.memoryTotalMiB);
        assert.ok(m.cpuUsedPercentage >= 0 && m.cpuUsedPercentage <= 100);
        assert.ok(Math.abs(m.timestamp - Date.now()) < 60000);
        const { rq, response } = bare(d, 'GET', '/metrics/watch');
        const stream = await response;
        assert.match(stream.headers['content-type'], /^text\/event-stream/);
        let text = '';
        for await (const b of stream) {
            text += b;
            if (text.split('\n').length > 2) break;
        }
        for (const line of text.trim().split('\n')) assert.ok(JSON.parse(line).mem_total_mib > 0);
        rq.destroy();
    });

    it('what is not served says so', async () => {
        const s = await sandbox();
        assert.equal((await s.isolation.capabilities()).available, false);
        assert.equal((await call(d, 'POST', '/code', { json: {} })).status, 501);
        assert.equal((await call(d, 'GET', '/no/such')).status, 404);
        const roles = await call(d, 'POST', '/command', { json: { command: 'x' }, token: d.tokens.watch });
        assert.equal(roles.status, 403);
        assert.equal(roles.json.code, 'FORBIDDEN');
    });
});

const withOwnListener = (body) =>
    daemonFor({ args: ['--dialect', 'opensandbox=127.0.0.1:0'], fdBaseline: false }, async (d) => {
        await waitUntil(() => [...(d.stdout + d.stderr).matchAll(/listening on (\S+)/g)].length === 2, 'both listeners');
        const ports = [...(d.stdout + d.stderr).matchAll(/listening on http:\/\/[^:]+:(\d+)/g)].map((m) => Number(m[1]));
        await body(d, ports.find((p) => p !== d.port));
    });

/* "//evil.example" in a Location is the name of a host: whoever followed it was led away. */
test('opensandbox: a redirect never leads to another host', () =>
    withOwnListener(async (d, port) => {
        const get = (path) => exchange({ port }, requestBytes(d, `GET ${path}`, { headers: { Host: `127.0.0.1:${port}` } }));
        for (const path of ['//evil.example/', '///evil.example/', '/\\evil.example/', '//evil.example/ping/?a=1']) {
            const a = await get(path);
            assert.ok([400, 404].includes(a.status), `${path}: ${a.status}`);
            assert.equal(a.headers.location, undefined, path);
        }
        const slash = await get('/ping/?a=1');
        assert.deepEqual([slash.status, slash.headers.location], [301, '/ping?a=1']);
    }));

test('opensandbox: a listener of its own, at its root, and a daemon that goes', () =>
    withOwnListener(async (d, port) => {
        const domain = `127.0.0.1:${port}`;
        const s = await connect(d, { domain });
        assert.deepEqual(texts((await s.commands.run('echo root')).logs.stdout), ['root']);
        const cut = s.commands.run('echo a; sleep 60').then((r) => r.exitCode, () => 'cut');
        const p = new Pty(d, '/terminal', { base: domain });
        await p.message('connected');
        await d.stop();
        assert.ok([-1, 'cut'].includes(await cut), 'a stream that was cut is no success');
        assert.ok([1000, 1001].includes((await p.end()).code));
        await s.close();
    }));
