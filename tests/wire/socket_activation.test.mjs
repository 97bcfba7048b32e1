// SPDX-License-Identifier: Apache-2.0
// LISTEN_FDS: sockets that someone else has opened.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { test } from '../lib/test.mjs';
import { Daemon, binary } from '../lib/daemon.mjs';

async function listener(where) {
    const server = net.createServer();
    await new Promise((ok) => server.listen(where, ok));
    return server;
}

test('serves on inherited sockets and does not hand the variables on', async () => {
    const d = new Daemon({ fdBaseline: false }).prepare();
    const tcp = await listener({ host: '127.0.0.1', port: 0 });
    const unix = await listener(`${d.dir}/bound.sock`);
    fs.renameSync(`${d.dir}/bound.sock`, `${d.dir}/activated.sock`); // closing our side unlinks the name it bound
    const port = tcp.address().port;
    // The variables name the process that gets them, so a shell sets them just before exec.
    d.options.bin = '/bin/sh';
    d.options.listen = [];
    d.options.extraFds = [tcp._handle.fd, unix._handle.fd];
    d.options.argsWhole = ['-c', `LISTEN_PID=$$ LISTEN_FDS=2 exec ${binary()} serve --token-file ${d.tokenFile}`];
    await d.start();
    tcp.close();
    unix._handle.close();
    try {
        assert.equal(d.port, port);
        assert.equal((await d.request('GET', '/v1/info')).status, 200);
        assert.equal(
            (
                await d.request('GET', '/v1/info', {
                    role: null,
                    target: { socketPath: `${d.dir}/activated.sock` },
                    agent: false,
                })
            ).status,
            200,
        );
        const env = (await d.api('POST', '/v1/processes/run', { json: { command: 'env' } })).json.stdout;
        assert.ok(!/LISTEN_/.test(env), env);
        const fds = (
            await d.api('POST', '/v1/processes/run', { json: { command: 'ls', args: ['/proc/self/fd'] } })
        ).json.stdout
            .trim()
            .split('\n');
        assert.deepEqual(
            fds
                .map(Number)
                .sort((a, b) => a - b)
                .filter((n) => n > 3),
            [],
            'only 0, 1, 2 and the directory itself',
        );
    } finally {
        await d.stop();
    }
});

test('variables meant for another process are ignored', async () => {
    const d = new Daemon({ env: { LISTEN_PID: '1', LISTEN_FDS: '1' } });
    await d.start();
    try {
        assert.equal((await d.request('GET', '/healthz')).status, 200);
    } finally {
        await d.stop();
    }
});
