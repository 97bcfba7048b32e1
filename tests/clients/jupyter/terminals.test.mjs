// SPDX-License-Identifier: Apache-2.0
// Jupyter's terminals by the published client: TerminalManager, TerminalAPI, TerminalConnection.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { after, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { disposeManagers, managerOf, Seen, settingsOf, TerminalAPI } from './client.mjs';

withDaemon('jupyter: terminals', { args: ['--dialect', 'jupyter=127.0.0.1:0'], env: { SHELL: '/bin/sh' } }, (d) => {
    after(disposeManagers);
    const api = () => settingsOf(d);
    const names = async () => (await TerminalAPI.listRunning(api())).map((t) => t.name);

    it('a manager starts a terminal, lists it, types, and shuts it down', async () => {
        const manager = managerOf(d);
        await manager.ready;
        const s = new Seen(await manager.startNew());
        await s.connected();
        const [model] = await TerminalAPI.listRunning(api());
        assert.equal(model.name, s.t.name);
        assert.match(model.name, /^proc_\w+$/);
        assert.ok(Math.abs(Date.now() - new Date(model.last_activity)) < 60_000, model.last_activity);
        s.type('echo "<$TERM>"; stty size; echo $((6 * 7))\r');
        await s.sees('<xterm-256color>');
        await s.sees('42');
        assert.ok((await d.get(model.name)).pty, 'the native API has it, too');
        await manager.shutdown(s.t.name);
        await within(s.disposed, 5000, 'the end');
        assert.deepEqual(await names(), []);
    });

    it('a name and a directory of the client\'s; the same name is one terminal', async () => {
        const model = await TerminalAPI.startNew(api(), 'notes', '/tmp');
        assert.equal(model.name, 'notes');
        assert.deepEqual(await names(), ['notes']);
        await assert.rejects(TerminalAPI.startNew(api(), 'notes'), (e) => e.response.status === 409);
        const manager = managerOf(d);
        const [a, b] = [1, 2].map(() => new Seen(manager.connectTo({ model })));
        await Promise.all([a.connected(), b.connected()]);
        a.type('pwd\r');
        await Promise.all([a.sees('/tmp\r\n'), b.sees('/tmp\r\n')]);
        b.type('exit\r');
        await within(Promise.all([a.disposed, b.disposed]), 5000, 'both ends');
        await TerminalAPI.shutdownTerminal('notes', api()); // 404 is a warning
    });

    it('has the size of the smallest of its viewers, as in the original', async () => {
        const model = await TerminalAPI.startNew(api());
        const manager = managerOf(d);
        const size = (rows, cols) => waitUntil(async () => {
            const p = await d.get(model.name);
            return p.rows === rows && p.cols === cols;
        }, `${rows} x ${cols}`);
        const [a, b] = [1, 2].map(() => new Seen(manager.connectTo({ model })));
        await Promise.all([a.connected(), b.connected()]);
        a.size(40, 120);
        await size(40, 120);
        b.size(30, 100);
        await size(30, 100);
        a.type('stty size\r');
        await b.sees('30 100');
        b.t.dispose();
        await size(40, 120);
        a.size(0, 0); // a hidden tab
        a.size(null, null);
        a.type('stty size\r');
        await a.sees('40 120');
        await manager.shutdownAll();
        assert.deepEqual(await names(), []);
    });

    /* terminado decodes as it reads, so it cut nothing either; a frame of JSON cannot have half a character. */
    it('characters that arrive in pieces, or never whole, and every byte in order', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', "stty -echo -opost; read x; printf 'a\\303'; read x; printf '\\244\\342\\202'; read x; printf '\\254!\\377'; seq 20000; echo end"], pty: true });
        const manager = managerOf(d);
        const s = new Seen(manager.connectTo({ model: { name: p.id } }));
        await s.connected();
        for (const until of ['a', 'aä', 'aä€!']) {
            s.type('\r');
            await s.sees(until);
        }
        await within(s.disposed, 20000, 'the end');
        const lines = Array.from({ length: 20000 }, (_, i) => `${i + 1}\n`).join('');
        assert.equal(s.text.slice(s.text.indexOf('a')), `aä€!\ufffd${lines}end\n`);
        await d.remove(p.id);
    });

    it('a terminal that a client reconnects to shows its history; one of another dialect is in the list', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'echo before; cat'], pty: true, tag: 'theirs' });
        await waitUntil(async () => (await d.get(p.id)).output.bytes_total > 0, 'output');
        assert.deepEqual(await names(), ['theirs']);
        const manager = managerOf(d);
        const s = new Seen(manager.connectTo({ model: { name: 'theirs' } }));
        await s.sees('before\r\n');
        s.type('x'.repeat(300) + '\r'); // more than a keystroke
        await s.sees(`${'x'.repeat(300)}\r\n`);
        await s.t.reconnect();
        await waitUntil(() => s.text.split('before').length === 3, 'the history again');
        await TerminalAPI.shutdownTerminal('theirs', api());
        await within(s.disposed, 5000, 'the end');
        await d.remove(p.id);
    });

    it('what ignores the hangup is killed', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', "trap '' HUP TERM; echo ready; while :; do sleep 1; done"], pty: true });
        await waitUntil(async () => (await d.get(p.id)).output.bytes_total > 0, 'the trap');
        await TerminalAPI.shutdownTerminal(p.id, api());
        assert.equal((await d.get(p.id)).exit.signal, 'SIGKILL');
        await d.remove(p.id);
    });
});
