// SPDX-License-Identifier: Apache-2.0
// GET /v1/terminal: a terminal and a viewer in one step.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Viewer, refusedHandshake } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';

withDaemon('terminal', {}, (d) => {
    const open = (query, path = '/v1/terminal') => Viewer.attach(d, null, { path, query });

    it('starts and attaches, on both paths', async () => {
        for (const path of ['/v1/terminal', '/terminal']) {
            const v = await open({ command: 'sh', cols: '100', rows: '30' }, path);
            assert.equal(v.hello.process.pty, true);
            assert.deepEqual([v.hello.rows, v.hello.cols], [30, 100]);
            await v.send('stty size; exit 4\n');
            assert.equal((await v.finish()).exit_code, 4);
            assert.ok(v.output.includes('30 100'), v.output.toString());
        }
    });

    it('a shell by default', async () => {
        const v = await open({});
        await v.send('echo $((40+2)); exit\n');
        await v.outputHas('42');
        await v.finish();
    });

    it('nothing is missed between the start and the attach', async () => {
        for (let i = 0; i < 20; i++) {
            const v = await open({ command: 'echo', args: 'quick' }).catch(() => null) ?? await open({ command: 'uname' });
            await v.finish();
            assert.ok(v.output.length > 0);
            assert.equal(v.hello.offset, 0);
        }
    });

    it('the process is an ordinary one', async () => {
        const v = await open({ command: 'cat' });
        const id = v.hello.process.id;
        assert.equal((await d.get(id)).viewers, 1);
        v.cut();
        assert.equal((await d.get(id)).status, 'running', 'it outlives its connection');
        await d.remove(id);
    });

    it('refusals come before the upgrade and leave nothing', async () => {
        const before = (await d.list()).length;
        const code = async (query) => (await refusedHandshake(d, null, { path: '/v1/terminal', query })).problem.code;
        assert.equal(await code({ command: '/no/such/thing' }), 'spawn_failed');
        assert.ok(['bad_size', 'bad_query'].includes(await code({ command: 'sh', rows: '0', cols: '80' })));
        assert.equal(await code({ command: 'sh', nope: '1' }), 'bad_query');
        await d.refused('upgrade_required', 'GET', '/v1/terminal?command=sh');
        assert.equal((await d.list()).length, before);
    });
});
