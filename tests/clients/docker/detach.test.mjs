// SPDX-License-Identifier: Apache-2.0
// Leaving a terminal and coming back to it, by TCP and by a unix socket.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { describe, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, Cli, withClis } from './client.mjs';

const KEYS = '\x10\x11';

withDaemon('docker: detach and attach', { listen: ['127.0.0.1:0', 'unix:DIR/hf.sock'], args: ['--dialect', 'docker=unix:dk.sock'] }, (d) => {
    const places = {
        tcp: () => `tcp://127.0.0.1:${d.port}${BASE}`,
        unix: () => `unix://${d.dir}/dk.sock`,
    };

    withClis((cli) => {
        for (const [name, host] of Object.entries(places)) {
            describe(`by ${name}`, () => {
                const docker = () => new Cli(cli, d, { host: host() });

                it('the keys end exec -it, and the process lives', async () => {
                    const t = docker().pty(['exec', '-it', '-e', 'PS1=here> ', 'sandbox', 'bash', '--norc']);
                    await t.shows('here> ');
                    const [p] = await d.list();
                    t.type(KEYS);
                    await t.shows('read escape sequence');
                    await t.endsWith('exit 1');
                    assert.equal((await d.get(p.id)).status, 'running');
                    await t.close();
                    await d.remove(p.id);
                });

                it('the keys end attach, too; a second attach shows the screen again and types', async () => {
                    const run = docker().pty(['run', '-it', '--name', 'scr', '-e', 'PS1=here> ', 'x', 'bash', '--norc']);
                    await run.shows('here> ');
                    run.type('echo mark-$((6*7))\r');
                    await run.shows('mark-42');
                    run.type(KEYS);
                    await run.exit();
                    await run.close();
                    for (const word of ['again', 'still']) {
                        const t = docker().pty(['attach', 'scr']);
                        await t.shows('mark-42'); // not typed again: it is the screen
                        t.type(`echo ${word}-$((1+1))\r`);
                        await t.shows(`${word}-2`);
                        t.type(KEYS);
                        await t.shows('read escape sequence');
                        await t.endsWith('exit 1');
                        await t.close();
                    }
                    const last = docker().pty(['attach', 'scr']);
                    await last.shows('still-2');
                    last.type('exit 5\r');
                    await last.endsWith('exit 5');
                    await last.close();
                    assert.equal(await docker().ok('inspect', '-f', '{{.State.ExitCode}}', 'scr'), '5\n');
                    await docker().ok('rm', 'scr');
                });
            });
        }

        it('keys of its own', async () => {
            const t = new Cli(cli, d).pty(['exec', '-it', '--detach-keys', 'ctrl-x,q', 'sandbox', 'cat']);
            await waitUntil(async () => (await d.list())[0]?.args?.length === 0 && (await d.list())[0].command === 'cat', 'cat');
            await t.raw();
            t.type(`a${KEYS}b\r`);
            await t.shows('b\r\n');
            const [p] = await d.list();
            t.type('\x18q');
            await t.endsWith('exit 1');
            assert.equal((await d.get(p.id)).status, 'running');
            await t.close();
            await d.remove(p.id);
        });

        it('a client that is killed leaves a process that can be attached to, with its screen', async () => {
            const docker = new Cli(cli, d);
            const t = docker.pty(['exec', '-it', '-e', 'PS1=here> ', 'sandbox', 'bash', '--norc']);
            await t.shows('here> ');
            t.type('echo mark-$((6*7))\r');
            await t.shows('mark-42');
            const [p] = await d.list();
            process.kill(await t.pid(), 'SIGKILL');
            await t.exit();
            const id = (await docker.ok('ps', '-q')).split('\n')[0];
            const again = docker.pty(['attach', id]);
            await again.shows('mark-42');
            await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'only the new one is there');
            again.type('exit 6\r');
            await again.endsWith('exit 6');
            await t.close();
            await again.close();
            assert.equal((await d.get(p.id)).exit_code, 6);
        });
    });
});
