// SPDX-License-Identifier: Apache-2.0
// Daytona's control plane as far as a client needs it to find its one sandbox, and the places it can be in.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import WebSocket from 'ws';
import { daemonFor, root, withDaemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { it } from '../../lib/test.mjs';
import { within } from '../../lib/wait.mjs';
import { BASE, clientsOf, follow, ownListener, refused, screen, startAsync } from './client.mjs';

/** One of each: plain calls, a session that is followed, a terminal, an error. */
async function everything(p) {
    assert.equal((await p.executeCommand('echo hi')).result, 'hi\n');
    await p.createSession('all');
    const f = follow(p, 'all', await startAsync(p, 'all', 'echo out; echo err >&2'));
    await within(f.end, 10000, 'the end');
    assert.deepEqual([f.stdout, f.stderr], ['out\n', 'err\n']);
    await p.deleteSession('all');
    const s = screen();
    const t = await p.createPty({ id: 'all', onData: s.onData });
    await t.sendInput('exit 4\n');
    assert.equal((await t.wait()).exitCode, 4);
    await refused(p.getSession('all'), 'DaytonaProcessNotFoundError', /all/);
}

withDaemon('daytona: sandbox', { gateway: false, listen: ['127.0.0.1:0'], args: ['--dialect', 'daytona=127.0.0.1:0'] }, (d) => {
    const client = clientsOf(d);

    it('get, create, list and the address of the toolbox', async () => {
        const box = await client.sandbox();
        assert.deepEqual([box.id, box.state, box.toolboxProxyUrl], ['local', 'started', `${d.url}${BASE}/toolbox`]);
        const made = await client.make().create({ language: 'javascript', labels: { mine: 'yes' } });
        assert.equal(made.id, 'local');
        assert.deepEqual((await client.sandbox()).labels, { mine: 'yes', 'code-toolbox-language': 'javascript' });
        assert.equal((await made.process.codeRun('console.log(1 + 1)')).result, '2\n');
        const listed = [];
        for await (const b of client.make().list()) listed.push(b.id);
        assert.deepEqual(listed, ['local']);
        const asked = await d.request('GET', `${BASE}/api/sandbox/local/toolbox-proxy-url`);
        assert.deepEqual(asked.json, { url: `${d.url}${BASE}/toolbox` });
        await refused(client.make().get('other'), 'DaytonaNotFoundError', /other/);
        await client.make().create();
    });

    it('directories, the version, variables for all that follows', async () => {
        const box = await client.sandbox();
        assert.equal(await box.getWorkDir(), d.dir);
        assert.equal(await box.getUserHomeDir(), d.dir);
        const version = (await d.request('GET', `${BASE}/version`)).json.version;
        assert.equal(version, (await d.request('GET', '/v1/info')).json.version);
        await box.updateEnv({ DT_A: 'one', DT_B: 'two' });
        await box.process.createSession('env');
        const line = 'echo $DT_A $DT_B';
        assert.equal((await box.process.executeSessionCommand('env', { command: line })).stdout, 'one two\n');
        assert.equal((await box.process.executeCommand(line, undefined, { DT_B: 'mine' })).result, 'one mine\n');
        await box.updateEnv({ DT_A: '1' }, { unset: ['DT_B', 'LANG'] });
        assert.equal((await box.process.executeCommand(`${line}; echo "<$LANG>"`)).result, '1\n<>\n');
        const prefix = await d.request('POST', `${BASE}/env`, { json: { unsetValuePrefix: '1' } });
        assert.equal(prefix.status, 200);
        assert.equal((await box.process.executeCommand(line)).result, '\n');
        for (const json of [{ set: { 'A B': 'x' } }, { set: [] }, { unset: 'A' }, { unset: [1] }, { unsetValuePrefix: 1 }, { set: { BIG: 'x'.repeat(100000) } }])
            assert.ok([400, 413].includes((await d.request('POST', `${BASE}/env`, { json })).status), JSON.stringify(json).slice(0, 80));
        await box.process.deleteSession('env');
    });

    /* A client that finds no Socket.IO tries again for minutes, and its program does not end. */
    for (const [way, options] of Object.entries({ 'with its socket': {}, 'with polling': { useDeprecatedPolling: true } })) {
        it(`a program ends by itself ${way}`, async () => {
            const program = `
                import { Daytona } from 'daytona-sdk';
                const d = new Daytona(${JSON.stringify({ apiKey: d.token, apiUrl: `${d.url}${BASE}/api`, target: 'us', ...options })});
                const made = await d.create();
                const got = await d.get('local');
                console.log(made.id, (await got.process.executeCommand('echo hi')).result);`;
            const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: path.join(root, 'tests'), stdio: ['ignore', 'pipe', 'inherit'] });
            let out = '';
            child.stdout.on('data', (b) => (out += b));
            const code = await within(new Promise((done) => child.on('close', done)), 60000, 'the program to end').finally(() => child.kill('SIGKILL'));
            assert.deepEqual([code, out], [0, 'local hi\n\n']);
        });
    }

    it('the socket is only for who has a token', async () => {
        const talk = (first) =>
            new Promise((done, fail) => {
                const seen = [];
                const ws = new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/api/socket.io/?EIO=4&transport=websocket`);
                ws.on('message', (m) => {
                    seen.push(m.toString());
                    if (seen.length === 1) ws.send(first);
                    else if (seen[1].startsWith('40')) ws.close();
                });
                ws.on('close', (code) => done([seen, code])).on('error', fail);
            });
        const [good, left] = await talk(`40{"token":"${d.token}"}`);
        assert.match(good[0], /^0\{"sid":".+","upgrades":\[\],"pingInterval":25000/);
        assert.deepEqual([good[1], left], ['40{"sid":"local"}', 1005]);
        for (const first of ['40{"token":"wrong-wrong-wrong-wrong"}', '40', '40{']) {
            const [bad, code] = await talk(first);
            assert.deepEqual([bad[1], code], ['44{"message":"Unauthorized"}', 1008], first);
        }
        assert.equal((await d.request('GET', `${BASE}/api/socket.io/?EIO=4`, { role: null })).status, 426);
    });

    /* What a browser does: it can send no header, and shows in the query what it got for its token. */
    it('a WebSocket gets in by a ticket, once', async () => {
        const p = await client.process();
        await p.createSession('t');
        const id = await startAsync(p, 't', 'echo hi');
        const open = (ticket) =>
            new Promise((done) => {
                const got = [];
                const ws = new WebSocket(
                    `${d.url.replace('http', 'ws')}${BASE}/toolbox/local/process/session/t/command/${id}/logs?follow=true&DAYTONA_SANDBOX_AUTH_KEY=${ticket}`,
                    ['X-Daytona-SDK-Version~0.218.0'],
                );
                ws.on('message', (m) => got.push(m)).on('error', (err) => done(err.message));
                ws.on('close', () => done(Buffer.concat(got).toString()));
            });
        const box = await client.sandbox();
        const { token } = await box.getPreviewLink(1);
        assert.equal(await open(token), '\x01\x01\x01hi\n');
        assert.match(await open(token), /401/);
        assert.match(await open('x'.repeat(token.length)), /401/);
        assert.match(await open(d.token), /401/, 'a token does not belong into an address');
        const { token: other } = await box.getPreviewLink(1);
        assert.equal((await d.request('GET', `${BASE}/process/session?DAYTONA_SANDBOX_AUTH_KEY=${other}`, { role: null })).status, 401);
        await assert.rejects(box.getPreviewLink(3000));
        await p.deleteSession('t');
    });

    it('delete ends what was started here, and leaves what others did', async () => {
        const box = await client.sandbox();
        const other = await d.sh('sleep 1000');
        await box.process.createSession('mine');
        await startAsync(box.process, 'mine', 'sleep 1000');
        await box.process.createPty({ id: 'mine', onData() {} });
        await box.delete();
        assert.equal(box.state, 'destroyed');
        assert.deepEqual((await d.list('?status=running')).map((x) => x.id), [other.id]);
        assert.deepEqual(await box.process.listSessions(), []);
        assert.equal((await client.sandbox()).state, 'started');
        await d.remove(other.id);
    });

    it('a listener of its own, with and without /api; the paths of a toolbox at its root', async () => {
        const own = ownListener(d);
        assert.notEqual(own, d.url);
        await everything(await client.process({ url: `${own}/api` }));
        await everything(await client.process({ url: own }));
        const direct = await fetch(`${own}/process/execute`, {
            method: 'POST',
            headers: { ...d.authHeaders(), 'content-type': 'application/json', connection: 'close' },
            body: '{"command":"echo direct"}',
        });
        assert.deepEqual(await direct.json(), { exitCode: 0, result: 'direct\n' });
    });

    it('behind a gateway, which is what the toolbox address then names', async () => {
        const g = await new Gateway({ sandboxes: { s: { ports: { 1: new URL(d.url).host } } }, args: ['--forward', 'authorization'] }).start();
        try {
            const base = `http://127.0.0.1:${g.port}/v1/sandboxes/s/proxy/1${BASE}`;
            const box = await client.sandbox({ url: `${base}/api` });
            assert.equal(box.toolboxProxyUrl, `${base}/toolbox`);
            await everything(box.process);
        } finally {
            await g.stop();
        }
    });
});

it('without tokens any key will do', () =>
    daemonFor({ auth: false, args: ['--no-auth'] }, async (d) => {
        const { Daytona } = await import('daytona-sdk');
        const c = new Daytona({ apiKey: 'any', apiUrl: `${d.url}${BASE}/api`, target: 'us' });
        await everything((await c.get('local')).process);
        await c[Symbol.asyncDispose]();
    }));
