// SPDX-License-Identifier: Apache-2.0
// terminal(request) and terminal.upgrade(): an app's server passes browsers on to terminals, and keeps the token.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { Authority } from '../../lib/certs.mjs';
import { after, it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { Sandbox, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const servers = new Set();
after(() => {
    for (const s of servers) {
        s.closeAllConnections();
        s.close();
    }
});

async function listening(server) {
    servers.add(server);
    server.on('upgrade', (_, socket) => servers.add({ closeAllConnections: () => socket.destroy(), close() {} }));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return server.address().port;
}

function refuse(socket, response) {
    const lines = [...response.headers].map(([n, v]) => `${n}: ${v}\r\n`).join('');
    void response.text().then((text) => socket.end(`HTTP/1.1 ${response.status} x\r\n${lines}Connection: close\r\n\r\n${text}`));
}

/** An app's server, by Node's event or as a runtime does that turns a Request into a Response; `results` has what became of each call. */
const apps = {
    async node(sandbox, options) {
        const server = http.createServer();
        const results = [];
        server.on('upgrade', (req, socket, head) => results.push(sandbox.terminal.upgrade(req, socket, head, options).catch((err) => err)));
        return { port: await listening(server), results };
    },
    async fetch(sandbox, options) {
        const server = http.createServer();
        const results = [];
        server.on('upgrade', (req, socket, head) => {
            socket.on('error', () => {});
            const request = new Request(`http://${req.headers.host}${req.url}`, { headers: req.headers });
            const upgrade = (_, { protocol }) => {
                // As by Deno: the subprotocol is the one that is passed, and none otherwise.
                const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol ?? false });
                let own;
                sockets.handleUpgrade(req, socket, head, (ws) => (own = ws));
                return { socket: own, response: new Response(null, { status: 204 }) };
            };
            const answer = sandbox.terminal(request, { ...options, upgrade }).then(
                (response) => (response.status === 204 ? true : (refuse(socket, response), false)),
                (err) => (socket.destroy(), err),
            );
            results.push(answer);
        });
        return { port: await listening(server), results };
    },
};

/** A browser: no token. */
function browser(port, { path = '/shell?since=0', origin, protocols = ['holdfast.v1'], headers = {} } = {}) {
    const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers: { ...(origin ? { Origin: origin } : {}), ...headers } });
    ws.text = '';
    ws.messages = [];
    ws.on('message', (data, isBinary) => (isBinary ? (ws.text += data) : ws.messages.push(JSON.parse(data))));
    ws.ended = new Promise((done) => ws.on('close', (code, reason) => done({ code, reason: String(reason) })));
    ws.refused = new Promise((done) => ws.on('unexpected-response', (_, res) => (res.resume(), done(res.statusCode))));
    ws.on('error', () => {});
    /** The status of a refused handshake, or the code of a close frame. */
    ws.fate = () => within(Promise.race([ws.refused, ws.ended.then((e) => e.code)]), 20000, 'the refusal');
    return ws;
}

/** An upstream that is no daemon, for what a real one would not do; `seen` has the handshakes. */
async function upstream(onSocket) {
    const seen = [];
    const server = http.createServer((req, res) => {
        if (req.url === '/moved') res.writeHead(302, { Location: '/elsewhere' });
        else if (req.url === '/elsewhere') seen.push(req);
        res.end('{}');
    });
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'holdfast.v1' });
    server.on('upgrade', (req, socket, head) => {
        seen.push(req);
        sockets.handleUpgrade(req, socket, head, (ws) => onSocket(ws, socket));
    });
    return { url: `http://127.0.0.1:${await listening(server)}`, seen };
}

withDaemon('terminals for browsers', {}, (d) => {
    for (const [kind, serve] of Object.entries(apps)) {
        it(`${kind}: a browser types into a terminal, and gets its exit`, async () => {
            const sandbox = sandboxOf(d);
            const terminal = await sandbox.terminal.create({ command: 'sh', env: { PS1: '$ ' } });
            const { port, results } = await serve(sandbox, { process: terminal.id });
            const ws = browser(port, { path: '/shell?since=0&rows=30&cols=90&token=mine', origin: `http://127.0.0.1:${port}` });
            await waitUntil(() => ws.messages.length > 0, 'hello');
            assert.equal(ws.protocol, 'holdfast.v1');
            const [hello] = ws.messages;
            assert.deepEqual([hello.type, hello.process.id, hello.role], ['hello', terminal.id, 'own']);
            assert.equal(await results[0], true);
            ws.send(Buffer.from('stty size; exit 4\n'));
            const end = await within(ws.ended, 20000, 'the end');
            assert.match(ws.text, /30 90/);
            assert.deepEqual([end.code, end.reason], [1000, 'exit']);
            assert.equal((await d.get(terminal.id)).exit_code, 4);
            assert.ok(!JSON.stringify(ws.messages).includes(d.token));
        });

        it(`${kind}: a tag finds its terminal, or starts it, once`, async () => {
            const sandbox = sandboxOf(d);
            const { port } = await serve(sandbox, { tag: `own-${kind}`, command: 'cat' });
            const both = [browser(port), browser(port)];
            await waitUntil(() => both.every((ws) => ws.messages.length > 0), 'both hellos');
            assert.equal(both[0].messages[0].process.id, both[1].messages[0].process.id);
            assert.equal((await d.list(`?tag=own-${kind}`)).length, 1);
            for (const ws of both) ws.close();
            for (const ws of both) assert.equal((await within(ws.ended, 10000, 'the end')).code, 1005);
            await d.remove(both[0].messages[0].process.id);
        });

        it(`${kind}: a terminal with the tag that has exited is not the one`, async () => {
            const sandbox = sandboxOf(d);
            const tag = `ended-${kind}`;
            const first = await sandbox.terminal.create({ tag, command: 'true' });
            await first.wait();
            const { port } = await serve(sandbox, { tag, command: 'cat' });
            const ws = browser(port);
            await waitUntil(() => ws.messages.length > 0, 'hello');
            const [{ process }] = ws.messages;
            assert.notEqual(process.id, first.id);
            assert.equal(process.status, 'running');
            ws.terminate();
            await d.remove(process.id);
        });

        it(`${kind}: a browser that only watches cannot type`, async () => {
            const sandbox = sandboxOf(d);
            const terminal = await sandbox.terminal.create({ command: 'cat' });
            const { port } = await serve(sandbox, { process: terminal.id, mode: 'ro' });
            const ws = browser(port, { path: '/shell?mode=rw' });
            await waitUntil(() => ws.messages.length > 0, 'hello');
            ws.send(Buffer.from('typed\n'));
            await waitUntil(() => ws.messages.some((m) => m.type === 'error' || m.type === 'notice') || ws.readyState === WebSocket.CLOSED, 'the refusal');
            assert.equal(String(await d.output(terminal.id)), '');
            ws.terminate();
            await terminal.kill();
        });

        it(`${kind}: what must not connect is refused with a status`, async () => {
            const sandbox = sandboxOf(d);
            const { id } = await sandbox.terminal.create({ command: 'cat' });
            const own = await serve(sandbox, { process: id });
            assert.equal(await browser(own.port, { origin: 'https://evil.example' }).fate(), 403);
            assert.equal(await browser(own.port, { origin: 'null' }).fate(), 403);
            const listed = await serve(sandbox, { process: id, origins: ['https://app.example'] });
            assert.equal(await browser(listed.port, { origin: `http://127.0.0.1:${listed.port}` }).fate(), 403);
            const fine = browser(listed.port, { origin: 'https://app.example' });
            await waitUntil(() => fine.messages.length > 0, 'hello');
            fine.terminate();
            const none = await serve(sandbox, { process: 'tag:none' });
            assert.equal(await browser(none.port).fate(), 4404);
            const stranger = await serve(new Sandbox({ url: d.url, token: 'wrong-wrong-wrong', WebSocket }), { process: id });
            assert.equal(await browser(stranger.port).fate(), 502, "the server's token is not the browser's problem");
            const down = await serve(new Sandbox({ url: 'http://127.0.0.1:1', token: 'x', WebSocket, retry: { maxAttempts: 0 } }), { process: id });
            assert.equal(await browser(down.port).fate(), 502);
            assert.equal(await down.results[0], false);
            const unset = await serve(sandbox, {});
            const ws = browser(unset.port);
            await ws.fate();
            assert.ok((await unset.results[0]) instanceof TypeError);
            const other = net.connect(own.port, '127.0.0.1');
            other.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
            const [bytes] = await once(other, 'data');
            assert.match(String(bytes), /^HTTP\/1\.1 426 /);
            other.destroy();
            await d.remove(id);
        });

        it(`${kind}: the browser's cookies, credentials and parameters stay with the app`, async () => {
            const up = await upstream((ws) => ws.send('{"type":"hello"}'));
            const { port } = await serve(new Sandbox({ url: up.url, token: 'secret', WebSocket }), { process: 'a/b', name: 'ann' });
            const ws = browser(port, { path: '/x?since=5&user=u1&ack=1&name=eve', protocols: ['holdfast.v1', 'holdfast.bearer.bWluZQ'], origin: `http://127.0.0.1:${port}`, headers: { Cookie: 'a=1', Authorization: 'Bearer mine', 'X-Other': 'y' } });
            await waitUntil(() => ws.messages.length > 0, 'hello');
            const { url, headers } = up.seen[0];
            assert.equal(url, '/v1/processes/a%2Fb/connect?since=5&ack=1&name=ann');
            assert.deepEqual([headers.cookie, headers.origin, headers['x-other']], [undefined, undefined, undefined]);
            assert.ok(!JSON.stringify(headers).includes('bWluZQ') && !JSON.stringify(headers).includes('mine'));
            assert.ok(headers.authorization === 'Bearer secret' || headers['sec-websocket-protocol'].includes('holdfast.bearer.'));
            ws.terminate();
        });

        it(`${kind}: no browser takes another's connection over, and one that returns is the same client`, async () => {
            const sandbox = sandboxOf(d);
            const { id } = await sandbox.terminal.create({ command: 'cat' });
            const typing = await serve(sandbox, { process: id, name: 'alice' });
            const alice = browser(typing.port, { path: '/?client=web-alice' });
            await waitUntil(() => alice.messages.length > 0, 'hello');
            const shown = alice.messages[0].viewers[0].client;
            assert.match(shown, /^c_[0-9a-f]{16}$/);
            const watching = await serve(sandbox, { process: id, mode: 'ro', name: 'eve' });
            for (const client of ['web-alice', shown]) {
                const eve = browser(watching.port, { path: `/?client=${client}` });
                await waitUntil(() => eve.messages.length > 0, 'hello');
                const { viewers } = eve.messages[0];
                assert.deepEqual(viewers.map((v) => v.name).sort(), ['alice', 'eve']);
                assert.ok(!JSON.stringify(viewers).includes('web-alice'));
                eve.close();
                await within(eve.ended, 20000, 'the end');
            }
            assert.equal(alice.readyState, WebSocket.OPEN);
            alice.send(Buffer.from('abc'));
            await waitUntil(() => alice.messages.some((m) => m.type === 'input_ack' && m.offset === 3), 'the count');
            const again = browser(typing.port, { path: '/?client=web-alice' });
            await waitUntil(() => again.messages.length > 0, 'hello');
            assert.equal(again.messages[0].input_offset, 3);
            assert.equal((await within(alice.ended, 20000, 'the replacement')).code, 1008);
            again.terminate();
            await d.remove(id);
        });

        it(`${kind}: ids of clients depend on a key that is random, or given`, async () => {
            const up = await upstream((ws) => ws.send('{"type":"hello"}'));
            const idBy = async (options) => {
                const { port } = await serve(new Sandbox({ url: up.url, WebSocket }), { process: 'x', ...options });
                const ws = browser(port, { path: '/?client=web-1' });
                await waitUntil(() => ws.messages.length > 0, 'hello');
                ws.terminate();
                return new URLSearchParams(up.seen.at(-1).url.split('?')[1]).get('client');
            };
            assert.notEqual(await idBy({}), await idBy({}));
            const own = await idBy({ secret: 'mine' });
            assert.equal(own, `c_${createHmac('sha256', 'mine').update('[null,"web-1"]').digest('hex').slice(0, 16)}`);
            assert.equal(await idBy({ secret: 'mine' }), own);
            assert.notEqual(await idBy({ secret: 'other' }), own);
            assert.notEqual(await idBy({ secret: 'mine', name: 'ann' }), own);
        });

        it(`${kind}: either side's end reaches the other, with its code`, async () => {
            const ups = [];
            const ends = [];
            const up = await upstream((ws, socket) => {
                ups.push({ ws, socket });
                ws.on('close', (code, reason) => ends.push([code, String(reason)]));
                ws.send('{"type":"hello"}');
            });
            const { port } = await serve(new Sandbox({ url: up.url, WebSocket }), { process: 'x' });
            const next = async () => {
                const ws = browser(port);
                await waitUntil(() => ws.messages.length > 0, 'hello');
                return ws;
            };
            (await next()).close(4001, 'bye');
            await waitUntil(() => ends.length === 1, 'the upstream to see the end');
            assert.deepEqual(ends[0], [4001, 'bye']);
            const b = await next();
            ups[1].ws.close(4404, 'no_such_process');
            assert.deepEqual(await within(b.ended, 10000, 'the end'), { code: 4404, reason: 'no_such_process' });
            (await next()).terminate();
            await waitUntil(() => ends.length === 3, 'the upstream to see the loss');
            const e = await next();
            ups[3].socket.destroy();
            assert.ok([1006, 1011].includes((await within(e.ended, 10000, 'the end')).code));
        });

        it(`${kind}: a browser that does not read stops the daemon's side, and misses nothing`, async () => {
            const PIECE = Buffer.alloc(65536, 7);
            const PIECES = 1024;
            let sent = 0;
            const up = await upstream(async (ws, socket) => {
                ws.send('{"type":"hello"}');
                for (; sent < PIECES; sent++) {
                    ws.send(PIECE);
                    if (socket.writableLength > 0) await once(socket, 'drain').catch(() => {});
                }
            });
            const { port } = await serve(new Sandbox({ url: up.url, WebSocket }), { process: 'x' });
            const ws = new WebSocket(`ws://127.0.0.1:${port}/`, ['holdfast.v1']);
            let got = 0;
            ws.on('message', (data, isBinary) => (got += isBinary ? data.length : 0));
            ws.once('message', () => ws.pause());
            await waitUntil(() => sent > 0, 'the first pieces');
            let last = -1;
            let same = 0;
            await waitUntil(() => ((same = sent === last ? same + 1 : 0), (last = sent), sent === PIECES || same === 30), 'the flow to stop', 30000, 20);
            assert.ok(sent < PIECES, `all ${PIECES} pieces were accepted for a browser that does not read`);
            ws.resume();
            await waitUntil(() => got === PIECES * PIECE.length, 'every byte', 60000);
            ws.terminate();
        });
    }

    it('node: a page of http is not of the origin of a server of https', async () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-forward-'));
        const ca = new Authority(dir, 'forward');
        const { keyFile, certFile } = ca.issue('server', 'IP:127.0.0.1');
        const { id } = await sandboxOf(d).terminal.create({ command: 'cat' });
        const server = https.createServer({ key: fs.readFileSync(keyFile), cert: fs.readFileSync(certFile) });
        server.on('upgrade', (req, socket, head) => sandboxOf(d).terminal.upgrade(req, socket, head, { process: id }));
        const host = `127.0.0.1:${await listening(server)}`;
        const connect = (origin) => {
            const ws = new WebSocket(`wss://${host}/`, ['holdfast.v1'], { origin, ca: fs.readFileSync(ca.file) });
            ws.on('error', () => {});
            return within(
                new Promise((done) => {
                    ws.on('unexpected-response', (_, res) => (res.resume(), done(res.statusCode)));
                    ws.on('message', () => (ws.terminate(), done('hello')));
                }),
                20000,
                'the outcome',
            );
        };
        assert.equal(await connect(`http://${host}`), 403);
        assert.equal(await connect(`https://${host}`), 'hello');
        fs.rmSync(dir, { recursive: true });
        await d.remove(id);
    });

    it('a request by https is only for pages of https', async () => {
        const sandbox = new Sandbox({ url: 'http://127.0.0.1:1', token: 'x', WebSocket, retry: { maxAttempts: 0 } });
        const upgrade = () => assert.fail('the upstream is not connected');
        const ask = async (url, headers) =>
            (await sandbox.terminal(new Request(url, { headers: { Upgrade: 'websocket', ...headers } }), { process: 'p', upgrade })).status;
        const PERMITTED = 502; // there is no daemon
        assert.equal(await ask('https://app.example/', { Origin: 'https://app.example' }), PERMITTED);
        assert.equal(await ask('https://app.example:444/', { Origin: 'https://app.example:444' }), PERMITTED);
        assert.equal(await ask('https://app.example/', { Origin: 'http://app.example' }), 403);
        assert.equal(await ask('https://app.example/', { Origin: 'https://app.example:444' }), 403);
        assert.equal(await ask('http://app.example/', { Origin: 'http://app.example' }), PERMITTED);
        assert.equal(await ask('http://app.example/', { Origin: 'https://app.example' }), PERMITTED);
        assert.equal(await ask('http://app.example/', { Origin: 'ftp://app.example' }), 403);
        const proxied = { 'X-Forwarded-Proto': 'https' };
        assert.equal(await ask('http://app.example/', { Origin: 'https://app.example', ...proxied }), PERMITTED);
        assert.equal(await ask('http://app.example/', { Origin: 'http://app.example', ...proxied }), 403);
    });

    it('no request ends the server, whatever its target is', async () => {
        const { id } = await sandboxOf(d).terminal.create({ command: 'cat' });
        const { port, results } = await apps.node(sandboxOf(d), { process: id });
        for (const target of ['//', '//[', 'http://[', 'http://x:99999/']) {
            const socket = net.connect(port, '127.0.0.1');
            socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`);
            const [bytes] = await within(once(socket, 'data'), 20000, 'the refusal');
            assert.match(String(bytes), /^HTTP\/1\.1 400 /, target);
            assert.equal(await results.at(-1), false, 'it is no mistake of the app');
            socket.destroy();
        }
        await d.remove(id);
    });

    it('only mistakes of the app are thrown', async () => {
        const fails = new Sandbox({ url: d.url, token: d.token, WebSocket: class { constructor() { throw new TypeError('a bad address'); } } });
        const request = new Request('http://app.example/', { headers: { Upgrade: 'websocket' } });
        const upgrade = () => assert.fail('the upstream is not connected');
        const { status } = await fails.terminal(request, { process: 'p', upgrade });
        assert.equal(status, 502);
        const own = new Request('http://app.example/?client=web-1', { headers: { Upgrade: 'websocket' } });
        await assert.rejects(sandboxOf(d).terminal(own, { process: 'p', secret: '', upgrade }), /`secret` must not be empty/);
    });

    it('a killed worker ends the connection, and the browser resumes at its offset', async () => {
        const sandbox = sandboxOf(d);
        const { id } = await sandbox.terminal.create({ command: 'sh', args: ['-c', 'printf before; read x; printf after'] });
        const { port } = await apps.node(sandbox, { process: id });
        const a = browser(port);
        await waitUntil(() => a.text === 'before', 'output');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await within(a.ended, 10000, 'the end');
        await d.nextWorker(old);
        const b = browser(port, { path: '/shell?since=6' });
        await waitUntil(() => b.messages.length > 0, 'hello');
        b.send(Buffer.from('\n'));
        await within(b.ended, 20000, 'the exit');
        assert.match(b.text, /^\r\nafter$/);
    });

    it('on Deno the browser gets the subprotocol that it offers', async () => {
        const { id } = await sandboxOf(d).terminal.create({ command: 'cat' });
        const seen = [];
        const deno = (sandbox, options) =>
            apps.fetch({ terminal: (request, { upgrade, ...rest }) => {
                globalThis.Deno = { upgradeWebSocket: (...args) => (seen.push(args[1]), upgrade(...args)) };
                return sandbox.terminal(request, rest);
            } }, options);
        try {
            const { port } = await deno(sandboxOf(d), { process: id });
            for (const protocols of [['holdfast.v1'], ['other', 'holdfast.v1'], []]) {
                const ws = browser(port, { protocols });
                await waitUntil(() => ws.messages.length > 0, 'hello');
                assert.equal(ws.protocol, protocols.length ? 'holdfast.v1' : '');
                ws.terminate();
            }
            assert.deepEqual(seen, [{ protocol: 'holdfast.v1' }, { protocol: 'holdfast.v1' }, {}]);
        } finally {
            delete globalThis.Deno;
        }
        await d.remove(id);
    });

    it('on Workers no other response than an upgraded one is returned', async () => {
        const { url, seen } = await upstream(() => assert.fail('nothing is upgraded here'));
        const others = [
            () => new Response('<script>', { status: 200, headers: { 'Set-Cookie': 'a=1' } }),
            () => new Response(null, { status: 204 }),
            // A real fetch, so that "manual" is tested: it must not reach the place that the redirect names.
            (options) => fetch(`${url}/moved`, { ...options, headers: {} }),
        ];
        globalThis.WebSocketPair = class {};
        try {
            for (const other of others) {
                const sandbox = new Sandbox({ url: 'http://sandbox.internal', fetch: async (_, options) => other(options) });
                const response = await sandbox.terminal(new Request('https://app.example/term', { headers: { Upgrade: 'websocket' } }), { process: 'p' });
                assert.equal(response.status, 502);
                assert.match(await response.text(), /^the sandbox /);
                assert.equal(response.headers.get('Set-Cookie'), null);
            }
            assert.deepEqual(seen, [], 'the redirect was followed');
        } finally {
            delete globalThis.WebSocketPair;
        }
    });

    it('on Workers the response of an upgraded fetch is returned', async () => {
        const calls = [];
        const answer = { status: 101, webSocket: {} };
        const fetch = async (url, options) => (calls.push([url, options]), options.headers.Upgrade ? answer : new Response('{}'));
        globalThis.WebSocketPair = class {};
        try {
            const sandbox = new Sandbox({ url: 'http://sandbox.internal', token: 'secret', fetch });
            const request = new Request('https://app.example/term?since=3', { headers: { Upgrade: 'websocket', Origin: 'https://app.example' } });
            assert.equal(await sandbox.terminal(request, { process: 'p' }), answer);
            const [url, { headers }] = calls.at(-1);
            assert.equal(url, 'http://sandbox.internal/v1/processes/p/connect?since=3');
            assert.equal(headers.Authorization, 'Bearer secret');
            assert.equal(headers['Sec-WebSocket-Protocol'], undefined, 'the browser offered none');
            request.headers.set('Sec-WebSocket-Protocol', 'other, holdfast.v1');
            await sandbox.terminal(request, { process: 'p' });
            assert.equal(calls.at(-1)[1].headers['Sec-WebSocket-Protocol'], 'holdfast.v1');
            const plain = await sandbox.terminal(new Request('https://app.example/term'), { process: 'p' });
            assert.deepEqual([plain.status, plain.headers.get('Upgrade')], [426, 'websocket']);
        } finally {
            delete globalThis.WebSocketPair;
        }
        const request = new Request('https://app.example/term', { headers: { Upgrade: 'websocket' } });
        await assert.rejects(sandboxOf(d).terminal(request, { process: 'p' }), /pass `upgrade`/);
    });
});
