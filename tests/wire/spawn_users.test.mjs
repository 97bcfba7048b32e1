// SPDX-License-Identifier: Apache-2.0
// As whom processes may run is the keeper's decision, not that of the worker, which faces the network.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { binary, withDaemon } from '../lib/daemon.mjs';
import { it } from '../lib/test.mjs';

const skip = process.getuid() !== 0 && 'needs root';

async function idOf(d, more) {
    const p = await d.sh('id -u; id -g', more);
    await d.exitOf(p.id);
    const text = (await d.output(p.id)).toString();
    await d.remove(p.id);
    return text;
}
const refused = (d, user) => d.refused('spawn_failed', 'POST', '/v1/processes', { json: { command: 'id', user } });

withDaemon('--spawn-user', { skip, args: ['--spawn-user', '60124'] }, (d) => {
    it('is the user of processes that name none', async () => assert.equal(await idOf(d), '60124\n60124\n'));

    it('is the only one', async () => {
        for (const user of ['root', '0', '1', '60124:0']) {
            const err = await refused(d, user);
            assert.equal(err.errno, 'EPERM', JSON.stringify(err));
        }
        assert.equal(await idOf(d, { user: '60124' }), '60124\n60124\n');
    });

    it('holds for the next worker too', async () => {
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await refused(d, 'root');
        assert.equal(await idOf(d), '60124\n60124\n');
    });

    it('holds after an upgrade', async () => {
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        await d.nextWorker(old);
        await refused(d, 'root');
        assert.equal(await idOf(d), '60124\n60124\n');
    });
});

withDaemon('--allow-users', { skip, fdBaseline: false, args: ['--allow-users', '60124,60125:7'] }, (d) => {
    it('are those that may be named, with their group', async () => {
        assert.equal(await idOf(d, { user: '60124' }), '60124\n60124\n');
        assert.equal(await idOf(d, { user: '60125:7' }), '60125\n7\n');
        for (const user of ['root', '60125:8', '60126']) await refused(d, user);
    });

    it('the daemon itself is not one of them unless named', () => refused(d, undefined));
});

it('a user that is not there stops the start', { skip }, () => {
    const ran = spawnSync(binary(), ['serve', '--listen', '127.0.0.1:0', '--no-auth', '--allow-users', 'nobody-of-this-name'], { encoding: 'utf8', timeout: 20000 });
    assert.equal(ran.status, 1, ran.stderr);
    assert.match(ran.stderr, /no user 'nobody-of-this-name'/);
});

it('each user that is not there is named, and those that are count', { skip }, () => {
    const ran = spawnSync(binary(), ['serve', '--listen', '127.0.0.1:0', '--no-auth', '--spawn-user', 'nobody-1', '--allow-users', 'nobody-2,60124,nobody-3'], { encoding: 'utf8', timeout: 20000 });
    assert.equal(ran.status, 1, ran.stderr);
    assert.deepEqual([...ran.stderr.matchAll(/no user '(nobody-\d)'/g)].map((m) => m[1]), ['nobody-1', 'nobody-2', 'nobody-3']);
});
