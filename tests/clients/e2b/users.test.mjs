// SPDX-License-Identifier: Apache-2.0
// As whom things are done when the daemon is root and its worker is not: as the one who was named,
// also if that is the worker's own user.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { create } from '../../lib/e2b.mjs';
import { after, before, it } from '../../lib/test.mjs';

const skip = process.getuid() !== 0 && 'needs root';

withDaemon('e2b: the worker has a user whom a client may name', { skip, args: ['--worker-user', 'nobody'] }, (d) => {
    let dir;
    let s;
    before(async () => {
        dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-e2b-'));
        fs.chmodSync(dir, 0o777);
        fs.writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
        s = await create(d);
    });
    after(() => fs.rmSync(dir, { recursive: true }));
    const whom = async (user) => (await s.commands.run('id -un', { user })).stdout.trim();

    it('a command of that user is not one of root', async () => {
        assert.equal(await whom('nobody'), 'nobody');
        assert.equal(await whom(String(fs.statSync(`/proc/${d.workerPid()}`).uid)), 'nobody');
        assert.equal(await whom('daemon'), 'daemon');
        assert.equal(await whom('root'), 'root');
        assert.equal(await whom(undefined), 'root');
    });

    it('nor is what is done to files', async () => {
        await assert.rejects(s.files.read(`${dir}/secret`, { user: 'nobody' }));
        await s.files.write(`${dir}/mine`, 'x', { user: 'nobody' });
        assert.equal((await s.files.getInfo(`${dir}/mine`, { user: 'nobody' })).owner, 'nobody');
        assert.equal(await s.files.read(`${dir}/secret`), 'x');
    });
});
