// SPDX-License-Identifier: Apache-2.0
// The same calls at the root of a listener of its own, behind a gateway, without a token. The
// whole suites of processes and terminals run below /sandbox/ID and behind the client's proxy override too.

import assert from 'node:assert/strict';
import http from 'node:http';
import { Hyperbrowser } from '@hyperbrowser/sdk';
import { daemonFor, withDaemon } from '../../lib/daemon.mjs';
import { Gateway } from '../../lib/gateway.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { collect, ownListener, refused } from './client.mjs';

/** One of each: plain calls, a stream, a terminal, errors of both. */
async function everything(sb) {
    assert.equal((await sb.exec('echo hi')).stdout, 'hi\n');
    const p = await sb.processes.start('cat');
    await p.writeStdin({ data: 'x\n', eof: true });
    assert.deepEqual((await collect(p.stream())).map((e) => e.data), ['x\n', undefined]);
    assert.equal((await p.wait()).exitCode, 0);
    assert.ok((await sb.processes.list()).data.some((x) => x.id === p.id));
    const t = await sb.terminal.create({ command: 'sh', rows: 24, cols: 80 });
    const c = await t.attach();
    await c.resize(33, 99);
    await c.write('stty size; exit 4\n');
    const seen = await collect(c.events());
    assert.match(seen.map((e) => e.data ?? '').join(''), /33 99/);
    assert.equal(seen.at(-1).status.exitCode, 4);
    await refused(sb.terminal.get('pty_missing'), 404, { text: 'not found' });
    await refused(sb.getProcess('proc_missing'), 404, { text: 'not found' });
}

withDaemon('hyperbrowser: places', { listen: ['127.0.0.1:0'], args: ['--dialect', 'hyperbrowser=127.0.0.1:0'] }, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const connect = (baseUrl) => new Hyperbrowser({ apiKey: d.token, baseUrl }).sandboxes.connect('local');

    it('a listener of its own', async () => {
        assert.notEqual(ownListener(d), d.url);
        await everything(await connect(ownListener(d)));
    });

    it('behind a gateway, which is what the runtime address then names', async () => {
        const g = await new Gateway({ sandboxes: { s: { ports: { 1: new URL(d.url).host } } }, args: ['--forward', 'authorization'] }).start();
        try {
            const base = `http://127.0.0.1:${g.port}/v1/sandboxes/s/proxy/1/dialects/hyperbrowser`;
            const sb = await connect(base);
            assert.equal(sb.runtime.baseUrl, base);
            await everything(sb);
        } finally {
            http.globalAgent.destroy();
            await g.stop();
        }
    });

    it('without a token where none is asked for', () =>
        daemonFor({ auth: false, args: ['--no-auth'], fdBaseline: false }, async (open) => {
            const c = new Hyperbrowser({ apiKey: 'any', baseUrl: `${open.url}/dialects/hyperbrowser` });
            await everything(await c.sandboxes.create({ imageName: 'node' }));
            http.globalAgent.destroy();
        }));
});
