// SPDX-License-Identifier: Apache-2.0
// What faces the network has dropped what it does not need.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { releaseBinary, withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';

/* A sanitized worker must trace itself at its end and so is not filtered: this is about the release. */
const bin = releaseBinary();

if (!bin) it('confinement', { skip: 'no release binary' }, () => {});
else
    withDaemon('confinement', { bin }, (d) => {
        it(
            'the worker is not root and cannot become it again',
            { skip: process.getuid() !== 0 && 'needs root' },
            () => {
                const worker = d.workerPid();
                const uids = proc.statusField(worker, 'Uid').split(/\s+/);
                assert.ok(
                    uids.every((u) => u !== '0'),
                    `uids ${uids}`,
                );
                const gids = [
                    ...proc.statusField(worker, 'Gid').split(/\s+/),
                    ...proc.statusField(worker, 'Groups').split(/\s+/).filter(Boolean),
                ];
                assert.ok(
                    gids.every((g) => g !== '0'),
                    `groups ${gids}`,
                );
                assert.match(proc.statusField(worker, 'CapEff'), /^0+$/);
                assert.match(proc.statusField(worker, 'CapPrm'), /^0+$/);
            },
        );

        it('no new privileges, and a filter of system calls', () => {
            const worker = d.workerPid();
            assert.equal(proc.statusField(worker, 'NoNewPrivs'), '1');
            assert.equal(proc.statusField(worker, 'Seccomp'), '2');
        });

        it('children have neither: sudo and ping must work', async () => {
            const p = await d.sh('sleep 300');
            assert.equal(proc.statusField(p.pid, 'NoNewPrivs'), '0');
            assert.equal(proc.statusField(p.pid, 'Seccomp'), '0');
            await d.remove(p.id);
        });

        it('a new worker is confined too', async () => {
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            const now = await d.nextWorker(old);
            d.agent.destroy();
            await d.request('GET', '/healthz');
            assert.equal(proc.statusField(now, 'Seccomp'), '2');
        });
    });
