// SPDX-License-Identifier: Apache-2.0
// OpenCode's events of a daemon that keeps no exited process: the record was dropped in the turn of
// the exit, and who came to tell of it found nothing.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('opencode: nothing retained', { args: ['--retain-count', '0'] }, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const of = (l, id) => l.events.filter((e) => (e.properties?.info?.id ?? e.properties?.id) === id).map((e) => e.type);

    it('ends are told although nothing is kept', async () => {
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const p = await oc().sh('exit 3');
        const end = await l.until((e) => e.type === 'pty.exited');
        assert.deepEqual(end.properties, { id: p.id, exitCode: 3 });
        const q = await oc().sh('cat');
        await oc().v2.pty.remove({ ptyID: q.id });
        await l.until((e) => e.type === 'pty.deleted');
        assert.deepEqual([of(l, p.id), of(l, q.id)], [['pty.created', 'pty.exited'], ['pty.created', 'pty.deleted']]);
        const s = (await oc().v2.session.create({})).data;
        await oc().v2.session.shell({ sessionID: s.id, agent: 'build', command: 'echo hi' });
        await l.until((e) => e.type === 'session.idle');
        const parts = l.events.filter((e) => e.type === 'message.part.updated').map((e) => e.properties.part.state);
        assert.deepEqual([parts.at(-1).status, parts.at(-1).output], ['completed', 'hi\n']);
        assert.deepEqual(l.events.filter((e) => e.type === 'session.status').map((e) => e.properties.status.type), ['busy', 'idle']);
        assert.deepEqual((await oc().v2.pty.list()).data, [], 'and nothing is kept');
        await oc().v2.session.delete({ sessionID: s.id });
        l.close();
    });
});
