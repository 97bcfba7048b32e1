// SPDX-License-Identifier: Apache-2.0
//
// docker.test.mjs - a real Docker engine: the static binary is PID 1 of three containers FROM scratch
//
// The image holds that binary and a static shell for the terminals to run, and no library. The
// containers share the host's network, as the engine has no bridge of its own here; each has its port.

import assert from 'node:assert/strict';
import net from 'node:net';
import WebSocket from 'ws';
import { releaseBinary } from '../lib/daemon.mjs';
import { Engine, noEngine } from '../lib/docker.mjs';
import { Gateway, ask } from '../lib/gateway.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const freePort = () =>
    new Promise((done) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => done(port));
        });
    });

/** What a person sees of a terminal: `has(text)` waits for it, the next search begins behind it. */
class Screen {
    constructor(url) {
        this.bytes = Buffer.alloc(0);
        this.ws = new WebSocket(url, ['holdfast.v1']);
        this.ws.on('message', (data, binary) => {
            if (binary) this.bytes = Buffer.concat([this.bytes, data]);
            else this.onText(JSON.parse(data));
        });
        this.closed = new Promise((done) => this.ws.once('close', (code) => done(code)));
        this.hello = within(
            new Promise((done, fail) => {
                this.onText = (m) => m.type === 'hello' && done(m);
                this.ws.once('error', fail);
            }),
            20000,
            'hello',
        );
    }

    type(text) {
        this.ws.send(Buffer.from(text));
    }

    has(text) {
        return waitUntil(() => this.bytes.includes(text), `${JSON.stringify(text)} on the screen`, 20000);
    }
}

const skip = (!releaseBinary() && 'no release binary') || noEngine();

describe('docker: with a real engine', { skip }, () => {
    const engine = new Engine();
    const ids = ['alpha', 'beta', 'gamma'];
    let gw;
    const status = async (id) => (await ask(gw.url(id, 7070, '/v1/info'))).status;
    const terminal = (id, query = '') => new Screen(gw.ws(id, 7070, `/v1/terminal?command=/bin/sh&rows=24&cols=80${query}`));

    async function runContainer(id) {
        const port = await freePort();
        const labels = ['--label', `holdfast.sandbox=${id}`, '--label', `holdfast.ports=7070=${port}`];
        const args = ['run', '-d', '--name', `hf-${id}`, '--hostname', id, '--network', 'host', ...labels, '-e', `WHERE=${id}`];
        await engine.docker(...args, 'holdfast', '/holdfast', 'serve', '--listen', `127.0.0.1:${port}`, '--no-auth');
    }

    before(async () => {
        await engine.start();
        await engine.image('holdfast', { '/holdfast': releaseBinary(), '/bin/sh': '/bin/busybox' });
        gw = await new Gateway({ resolver: `docker:${engine.socket}` }).start();
        for (const id of ids) await runContainer(id);
    });
    after(async () => {
        await gw?.stop();
        await engine.stop();
    });

    it('finds each by its label, and each is PID 1 of its container', async () => {
        for (const id of ids) {
            await waitUntil(async () => (await status(id)) === 200, id);
            assert.match(await engine.docker('top', `hf-${id}`, '-o', 'pid,args'), /\/holdfast serve/);
            const made = await ask(gw.url(id, 7070, '/v1/processes/run'), {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ command: '/bin/sh', args: ['-c', 'echo $WHERE; tr "\\0" " " </proc/1/cmdline'] }),
            });
            assert.equal(made.status, 200, made.text);
            assert.match(made.json.stdout, new RegExp(`^${id}\n/holdfast serve `));
        }
        assert.equal(await status('delta'), 404);
        assert.equal((await ask(gw.url('alpha', 7071))).json.code, 'port_not_allowed');
    });

    it('a terminal works in each, with its query kept', async () => {
        for (const id of ids) {
            const t = terminal(id, '&tag=pty%3D1');
            const hello = await t.hello;
            assert.equal(hello.process.tag, 'pty=1');
            assert.deepEqual([hello.rows, hello.cols], [24, 80]);
            t.type('echo "in $WHERE: $((6*7))"\n');
            await t.has(`in ${id}: 42`);
            t.ws.send(JSON.stringify({ type: 'resize', rows: 33, cols: 111 }));
            t.type('while [ "$(stty size)" != "33 111" ]; do :; done; echo resized\n');
            await t.has('\nresized');
            t.type('exit\n');
            assert.equal(await within(t.closed, 20000, 'the close'), 1000);
        }
    });

    it('a cut terminal comes back with since, to the byte', async () => {
        const t = terminal('beta', '&client=me&terminal=0'); // the shell asks where the cursor is: bytes as they are
        const { process } = await t.hello;
        t.type('i=0; count() { while [ $i -lt $1 ]; do echo "line $i of the output"; i=$((i+1)); done; }; count 1500; read go; count 3000; echo all-is-said\n');
        await t.has('line 100 ');
        t.ws.terminate();
        await t.closed;
        const got = t.bytes;
        const url = gw.ws('beta', 7070, `/v1/processes/${process.id}/connect?client=me&terminal=0`);
        const rest = new Screen(`${url}&since=${got.length}`);
        await rest.hello;
        rest.type('\n'); // the shell waits for it, so that a slow client has not had all of it before the cut
        await rest.has('\nall-is-said');
        const whole = new Screen(`${gw.ws('beta', 7070, `/v1/processes/${process.id}/connect`)}?since=0&terminal=0`);
        await waitUntil(() => whole.bytes.length >= got.length + rest.bytes.length, 'the whole output');
        assert.ok(Buffer.concat([got, rest.bytes]).equals(whole.bytes.subarray(0, got.length + rest.bytes.length)));
        rest.ws.terminate();
        whole.ws.terminate();
    });

    it('a session keeps its state from one request to the next', async () => {
        const post = async (rest, body) => {
            const r = await ask(gw.url('gamma', 7070, rest), {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify(body),
            });
            assert.ok(r.status < 300, r.text);
            return r.json;
        };
        const s = await post('/v1/sessions', { shell: '/bin/sh' });
        await post(`/v1/sessions/${s.id}/run`, { command: 'cd /tmp; export A=1; f() { echo "$A in $PWD"; }' });
        assert.match(JSON.stringify(await post(`/v1/sessions/${s.id}/run`, { command: 'f' })), /1 in \/tmp/);
    });

    it('a removed container is gone at once, and its streams with it; a new one is there', async () => {
        const t = terminal('alpha');
        await t.hello;
        await engine.docker('rm', '-f', 'hf-alpha');
        await within(t.closed, 5000, 'the stream to end');
        await waitUntil(async () => (await status('alpha')) === 404, 'it to be gone', 2000);
        assert.equal(await status('beta'), 200);
        await runContainer('alpha');
        await waitUntil(async () => (await status('alpha')) === 200, 'the new one');
    });
});
