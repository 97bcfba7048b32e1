// SPDX-License-Identifier: Apache-2.0
// What the SDK's requests look like behind `holdfast gateway`: a sandbox that only writes down what reaches it.

import assert from 'node:assert/strict';
import zlib from 'node:zlib';
import { SandboxApiException } from '@alibaba-group/opensandbox';
import { Daemon } from '../../lib/daemon.mjs';
import { ask, Gateway, httpUpstream } from '../../lib/gateway.mjs';
import { connect, texts } from '../../lib/opensandbox.mjs';
import { after, before, describe, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

describe('opensandbox: requests behind a gateway', () => {
    /* The control plane, which only says where the others are. */
    const plane = new Daemon({ args: ['--dialect', 'opensandbox=127.0.0.1:0'], fdBaseline: false, gateway: false });
    const seen = [];
    let spy, g;
    before(async () => {
        await plane.start();
        spy = await httpUpstream((req, res) => {
            seen.push(req);
            req.resume();
            if (req.url.startsWith('/command')) {
                const events = [{ type: 'init', text: 'id' }, { type: 'stdout', text: 'squeezed' }, { type: 'execution_complete' }];
                res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
                res.end(zlib.gzipSync(events.map((e) => `${JSON.stringify(e)}\n\n`).join('')));
            } else {
                res.end();
            }
        });
        const [, own] = await waitUntil(() => /opensandbox listening on http:\/\/(\S+)/.exec(plane.stdout), 'its listener');
        g = await new Gateway({
            sandboxes: {
                plane: { ports: { 44772: own }, headers: { 'X-EXECD-ACCESS-TOKEN': plane.token } },
                spy: { ports: { 44772: `127.0.0.1:${spy.port}` }, headers: { 'X-EXECD-ACCESS-TOKEN': 'of-the-sandbox' } },
                dead: { ports: { 44772: '127.0.0.1:1' } },
            },
            args: ['--default-sandbox', 'plane:44772', '--websocket-close-codes'],
        }).start();
    });
    after(async () => {
        await g?.stop();
        spy?.close();
        await plane.stop();
    });

    const open = (sandboxId, more = {}) =>
        connect(
            { token: 'of-the-control-plane' },
            { domain: `127.0.0.1:${g.port}`, sandboxId, config: { useServerProxy: true, headers: { Authorization: 'Bearer mine', Cookie: 'a=b' } }, ...more },
        );

    it('secrets of the client stay behind, those of the sandbox are added, a gzip body is left alone', async () => {
        const s = await open('spy');
        const a = await s.commands.run('anything');
        assert.deepEqual(texts(a.logs.stdout), ['squeezed']);
        assert.deepEqual(seen.map((q) => q.url), ['/ping', '/command']);
        for (const q of seen) {
            for (const name of ['authorization', 'cookie', 'open-sandbox-api-key']) assert.equal(q.headers[name], undefined, name);
            assert.equal(q.headers['x-execd-access-token'], 'of-the-sandbox');
            assert.match(q.headers['user-agent'], /^OpenSandbox-JS-SDK/);
        }
        await s.close();
        for (const root of ['', '/v1']) {
            await ask(`http://127.0.0.1:${g.port}${root}/sandboxes/spy/proxy/44772/x?a=1&b=%2F`);
            assert.equal(seen.at(-1).url, '/x?a=1&b=%2F');
        }
    });

    it('a dead sandbox is a 502 with a code and a message, as the SDK tells it', async () => {
        const s = await open('dead', { skipHealthCheck: true });
        await assert.rejects(s.commands.run('echo x'), (err) => {
            assert.ok(err instanceof SandboxApiException, String(err));
            assert.equal(err.statusCode, 502);
            assert.equal(err.error.code, 'upstream_unreachable');
            assert.ok(err.error.message.length > 5);
            return true;
        });
        await s.close();
    });
});
