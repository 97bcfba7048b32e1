// SPDX-License-Identifier: Apache-2.0
// What a person would notice about a terminal: in the object, in events, over a restart of the worker.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

withDaemon('attention', {}, (d) => {
    const input = (id, data) => d.api('POST', `/v1/processes/${id}/input`, { json: { data }, expect: 200 });
    const becomes = (id, what, is) => waitUntil(async () => is(await d.get(id)), what);
    const follow = async () => new SseReader(await d.open('GET', '/v1/events'));
    const told = (s, id, is) =>
        s.find((e) => {
            const b = JSON.parse(e.data);
            return e.event === 'process.updated' && b.process.id === id && is(b.process);
        });

    it('pipes have none of it', async () => {
        const p = await d.sh('printf "\\033]0;title\\007\\007"; sleep 300');
        await d.outputHas(p.id, 'title');
        const o = await d.get(p.id);
        assert.deepEqual(
            [o.waiting_for_input, o.echo_off, o.bell, o.title, o.foreground],
            [null, null, null, null, null],
        );
        await d.remove(p.id);
    });

    it('title, bell and directory as the program tells them, and an event for each', async () => {
        const s = await follow();
        const p = await d.sh('while read -r l; do printf "$l"; done', { pty: true });
        await told(
            s,
            p.id,
            (o) => o.waiting_for_input === true && o.echo_off === false && o.bell === 0 && o.title === null,
        );
        await input(p.id, '\\033]2;first\\007\n');
        await told(s, p.id, (o) => o.title === 'first');
        await input(p.id, '\\007a\\007\n');
        await told(s, p.id, (o) => o.bell === 2);
        await input(p.id, '\\033]7;file:///somewhere/%%C3%%A4\\033\\\\\n');
        await told(s, p.id, (o) => o.cwd === '/somewhere/ä');
        await input(p.id, '\\033]0;second\\033\\\\\n');
        await told(s, p.id, (o) => o.title === 'second');
        s.close();
        await d.remove(p.id);
    });

    it('a title that was given stays; without one the program has its own', async () => {
        const p = await d.sh('read x; printf "\\033]0;its own\\007"; exec cat', { pty: true });
        const v = await Viewer.attach(d, p.id);
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { title: 'given' }, expect: 200 });
        await input(p.id, '\n');
        await d.outputHas(p.id, 'its own');
        assert.equal((await d.get(p.id)).title, 'given');
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { title: null }, expect: 200 });
        assert.equal((await d.get(p.id)).title, 'its own');
        await v.message('title', (m) => m.title === 'its own');
        v.ws.close();
        await d.remove(p.id);
    });

    it('the foreground and where it stands, from the kernel', async () => {
        fs.mkdirSync(`${d.dir}/below`);
        const s = await follow();
        const p = await d.spawn({ command: 'bash', args: ['--norc'], cwd: d.dir, pty: true });
        await told(s, p.id, (o) => o.foreground === 'bash' && o.cwd === d.dir && o.waiting_for_input === true);
        await input(p.id, 'cd below; cat\n');
        await told(
            s,
            p.id,
            (o) => o.foreground === 'cat' && o.cwd === `${d.dir}/below` && o.waiting_for_input === true,
        );
        await input(p.id, '\x04');
        await told(s, p.id, (o) => o.foreground === 'bash' && o.cwd === `${d.dir}/below`);
        await input(p.id, 'sleep 300\n');
        await told(s, p.id, (o) => o.foreground === 'sleep' && o.waiting_for_input === false);
        await input(p.id, '\x03');
        await told(s, p.id, (o) => o.waiting_for_input === true);
        await input(p.id, 'stty -echo; cat\n');
        await told(s, p.id, (o) => o.echo_off === true && o.foreground === 'cat');
        s.close();
        await d.remove(p.id);
    });

    it('what goes on in silence is found out within seconds, by looks that end', async () => {
        const p = await d.sh('echo begun; sleep 1; read x', { pty: true });
        await d.outputHas(p.id, 'begun');
        await becomes(p.id, 'it to wait', (o) => o.waiting_for_input === true);
        await d.remove(p.id);
    });

    it('typing at a prompt is no event', async () => {
        const p = await d.sh('exec cat', { pty: true });
        await becomes(p.id, 'it to wait', (o) => o.waiting_for_input === true);
        const s = await follow();
        let events = 0;
        s.find((e) => (events += JSON.parse(e.data).process.id === p.id) < 0).catch(() => {});
        for (const c of 'hello') {
            await input(p.id, c);
            await d.outputHas(p.id, c);
        }
        await holdsFor(300, () => events === 0, 'no event');
        s.close();
        await d.remove(p.id);
    });

    it('an exited terminal waits for nothing and keeps its title', async () => {
        const p = await d.sh('stty -echo; printf "\\033]0;kept\\007\\007"; read x', { pty: true });
        await becomes(p.id, 'it to wait', (o) => o.waiting_for_input && o.echo_off && o.title === 'kept');
        await input(p.id, '\n');
        await d.exitOf(p.id);
        const o = await d.get(p.id);
        assert.deepEqual([o.waiting_for_input, o.echo_off, o.title, o.bell], [false, false, 'kept', 1]);
    });

    it('a new worker knows all of it, also of a sequence it was killed in', async () => {
        const p = await d.sh(
            'printf "\\033]0;one\\007\\007\\033]7;file:///there\\007"; read x; printf "\\033]0;tw"; read x; printf "o\\007"; exec cat',
            {
                pty: true,
            },
        );
        await becomes(p.id, 'the first title', (o) => o.title === 'one' && o.waiting_for_input);
        await input(p.id, '\n');
        await d.outputHas(p.id, '\x1b]0;tw');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const o = await d.get(p.id);
        assert.deepEqual([o.title, o.bell, o.cwd], ['one', 1, '/there']);
        await becomes(p.id, 'it to wait', (x) => x.waiting_for_input === true);
        await input(p.id, '\n');
        // The echo of the line end stands inside the sequence, as the terminal has it.
        await becomes(p.id, 'the second title', (x) => x.title === 'tw\r\no');
        await d.remove(p.id);
    });
});
