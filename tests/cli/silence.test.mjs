// SPDX-License-Identifier: Apache-2.0
// A line that died without a word: no FIN, no reset, only silence.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { it } from '../lib/test.mjs';
import { ok, start } from '../lib/cli.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil, within } from '../lib/wait.mjs';

const LONG_MS = 150000; // the client gives a line 45 s

withDaemon('silence', {}, (d) => {
    /** In front of the daemon; what is open when it is told so carries nothing any more. */
    const muting = async (body) => {
        const open = new Set();
        const server = net.createServer((from) => {
            const line = { from, to: net.connect(d.port, d.host), mute: false };
            open.add(line);
            from.on('data', (bytes) => line.mute || line.to.write(bytes)).on('error', () => {}).on('close', () => line.to.destroy());
            line.to.on('data', (bytes) => line.mute || from.write(bytes)).on('error', () => {}).on('close', () => line.mute || from.destroy());
        });
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        const mute = () => open.forEach((line) => (line.mute = true));
        try {
            await body({ url: `http://127.0.0.1:${server.address().port}`, token: d.token }, mute);
        } finally {
            open.forEach((line) => line.from.destroy());
            server.close();
        }
    };

    it('is noticed by who is attached, and what came meanwhile is there', () =>
        muting(async (door, mute) => {
            const p = await d.sh('echo one; read x; echo two; exit 5', { stdin: 'pipe' });
            const all = [['attach', '--no-stdin', p.id], ['logs', '-f', p.id]].map((args) => start(door, args));
            for (const c of all) await waitUntil(() => c.printed() === 'one\n', 'the first line');
            mute();
            await ok(d, ['send', p.id, '--enter']);
            const [a, l] = await within(Promise.all(all.map((c) => c.done)), LONG_MS, 'the clients to come back');
            assert.deepEqual([a.code, a.text, l.code, l.text], [5, 'one\ntwo\n', 0, 'one\ntwo\n']);
        }));

    /** The kernel's timer of a process's connection to the daemon: 2 is keep-alive. */
    const timerOf = (pid) => {
        const own = Object.values(proc.fds(pid) ?? {});
        const lines = fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').map((line) => line.trim().split(/\s+/));
        return lines.find((f) => own.includes(`socket:[${f[9]}]`) && parseInt(f[2].split(':')[1], 16) === d.port)?.[5].split(':')[0];
    };

    it('is looked for by the kernel while one long question is asked', async () => {
        const p = await d.sh('read x', { stdin: 'pipe' });
        const c = start(d, ['wait', p.id]);
        await waitUntil(() => timerOf(c.pid) === '02', 'keep-alive');
        await ok(d, ['send', p.id, '--enter']);
        assert.equal((await c.done).code, 0);
    });
});
