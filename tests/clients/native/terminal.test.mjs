// SPDX-License-Identifier: Apache-2.0
// GET /v1/terminal: a terminal and a viewer in one step.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
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
            const v = await open({ command: 'echo', args: '["very","quick"]' });
            await v.finish();
            assert.equal(v.output.toString(), 'very quick\r\n');
            assert.equal(v.hello.offset, 0);
        }
    });

    it('on_detach=kill goes with its connection', async () => {
        const v = await open({ command: 'cat', on_detach: 'kill', tag: 'short-lived' });
        const id = v.hello.process.id;
        assert.equal(v.hello.process.tag, 'short-lived');
        v.cut();
        assert.equal((await d.exitOf(id)).exit.by, 'detach');
    });

    it('the process is an ordinary one', async () => {
        const v = await open({ command: 'cat' });
        const id = v.hello.process.id;
        assert.equal((await d.get(id)).viewers, 1);
        v.cut();
        assert.equal((await d.get(id)).status, 'running', 'it outlives its connection');
        await d.remove(id);
    });

    it('a wrong query is refused before the upgrade, a failed start by the close; neither leaves anything', async () => {
        const before = (await d.list()).length;
        const code = async (query) => (await refusedHandshake(d, null, { path: '/v1/terminal', query })).problem.code;
        assert.equal(await code({ command: 'sh', rows: '0', cols: '80' }), 'bad_size');
        assert.equal(await code({ command: 'sh', args: '-l' }), 'bad_query');
        assert.equal(await code({ command: '' }), 'bad_query');
        const v = new Viewer(d, null, { path: '/v1/terminal', query: { command: '/no/such/thing' } });
        await v.opened;
        assert.equal(await v.closed, 1011);
        assert.match(v.closeReason, /^spawn_failed: /);
        assert.equal(await code({ command: 'sh', nope: '1' }), 'bad_query');
        assert.equal(await code({ command: 'sh', since: '1' }), 'bad_query', 'there is nothing behind 0 yet');
        await d.refused('upgrade_required', 'GET', '/v1/terminal?command=sh');
        assert.equal((await d.list()).length, before);
    });
});
