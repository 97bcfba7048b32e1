// SPDX-License-Identifier: Apache-2.0
// Calls of Hyperbrowser's client that are under way when the worker is replaced, when another like
// them is, or when there are too many: what is answered is what has happened.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { settle } from '../../lib/held.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { clientsOf, refused } from './client.mjs';

withDaemon('hyperbrowser: going', {}, (d) => {
    const client = clientsOf(d);
    const sandbox = () => client().sandboxes.connect('local');
    const at = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${at(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(at(name), '');

    const replace = async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
    };

    it('input that was taken in part is not answered as taken', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x; ${until('read-it')}; wc -c`);
        const written = refused(p.writeStdin({ data: `up\n${'x'.repeat(600000)}`, eof: true }), 500, {
            code: 'internal',
            text: ' of 600003 bytes of the input were taken',
        });
        await d.outputHas(p.id, 'up');
        await replace();
        await written;
        allow('read-it');
        const late = await (await sandbox()).getProcess(p.id);
        await late.writeStdin({ data: '', eof: true });
        const n = Number((await late.wait()).stdout.split('\n')[1]);
        assert.ok(n > 0 && n < 600000, `${n} bytes`);
    });

    it('input of which nothing was taken may be sent again', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x; ${until('then')}; wc -c`);
        const first = p.writeStdin(`up\n${'x'.repeat(300000)}`).catch(() => {});
        await d.outputHas(p.id, 'up');
        const second = refused(p.writeStdin({ data: 'y', eof: true }), 503, { code: 'shutting_down', retryable: true });
        await settle(d);
        await replace();
        await Promise.all([first, second]);
        await (await (await sandbox()).getProcess(p.id)).kill();
    });

    it('writes at once are taken one after the other, and the end comes behind all', async () => {
        const p = await (await sandbox()).processes.start(`read x; echo $x >&2; ${until('cat-it')}; cat`);
        const writes = [p.writeStdin(`up\n${'a'.repeat(300000)}`)];
        await d.outputHas(p.id, 'up');
        for (const next of [{ data: 'b'.repeat(1000) }, { data: '', eof: true }]) {
            writes.push(p.writeStdin(next));
            await settle(d);
        }
        allow('cat-it');
        await Promise.all(writes);
        const { stdout } = await p.wait();
        assert.ok(stdout === 'a'.repeat(300000) + 'b'.repeat(1000), `${stdout.length} bytes, in ${stdout.match(/a+|b+/g).length} pieces`);
    });
});
