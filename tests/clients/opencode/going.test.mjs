// SPDX-License-Identifier: Apache-2.0
// Clients of OpenCode that go, and a daemon that is replaced, in the middle of everything.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { askAndVanish, settle, whileHeld } from '../../lib/held.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('opencode: going', {}, (d) => {
    let made;
    const oc = () => (made ??= new OpenCode(d));
    const session = async () => (await oc().v2.session.create({})).data;
    const shell = (s, command) => oc().v2.session.shell({ sessionID: s.id, agent: 'build', command });
    const at = (method, url) => `${method} /dialects/opencode${url}?directory=${d.dir}`;
    /** The shells of sessions, which are there from the beginning, aside. */
    const running = async () => (await d.list('?status=running')).filter((p) => p.source !== 'system');

    it('who goes while something is being made or ended harms nobody', async () => {
        const [p, q, s, t] = [await oc().sh('cat'), await oc().sh('cat'), await session(), await session()];
        const json = (body) => ({ body: JSON.stringify(body) });
        await askAndVanish(d, [
            [at('POST', '/pty'), json({ command: 'cat', title: 'made' })],
            [at('POST', '/api/pty'), json({ command: '/no/such/program' })],
            [at('POST', '/session'), json({ title: 'made too' })],
            [at('POST', `/session/${s.id}/shell`), json({ agent: 'build', command: 'sleep 1000' })],
            [at('POST', `/session/${t.id}/command`), json({ command: 'sleep', arguments: '1000' })],
            [at('DELETE', `/pty/${p.id}`)],
            [at('DELETE', `/api/pty/${q.id}`)],
        ]);
        await waitUntil(async () => (await running()).length === 3, 'what was asked for to have happened');
        assert.deepEqual((await oc().v2.pty.list()).data.map((x) => x.title), ['made']);
        await waitUntil(async () => (await oc().v2.session.list()).data.some((x) => x.title === 'made too'), 'the session');
        assert.equal(Object.keys((await oc().v2.session.status()).data).length, 2);
        await askAndVanish(d, [[at('DELETE', `/session/${s.id}`)], [at('DELETE', `/session/${t.id}`)], [at('POST', '/instance/dispose')]]);
        await waitUntil(async () => (await running()).length === 0, 'the end of all');
        assert.deepEqual((await oc().v2.session.list()).data.map((x) => x.title), ['made too']);
    });

    it('a client that goes leaves its command running, and its messages are kept', async () => {
        const s = await session();
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, at('POST', `/session/${s.id}/shell`), { body: JSON.stringify({ agent: 'build', command: 'echo on; sleep 0.5; echo end' }) }));
        await waitUntil(async () => (await oc().v2.session.status()).data[s.id], 'the session to be busy');
        c.reset();
        const last = async () => (await oc().v2.session.messages({ sessionID: s.id })).data.at(-1)?.parts[0].state;
        await waitUntil(async () => (await last())?.status === 'completed', 'its end');
        assert.equal((await last()).output, 'on\nend\n');
    });

    it('a command that is aborted before it has started is aborted', async () => {
        const s = await session();
        const run = await whileHeld(d, async () => {
            const answer = shell(s, 'sleep 1000');
            await settle(d);
            assert.equal((await shell(s, 'true')).response.status, 409, 'it counts already');
            assert.equal((await oc().v2.session.abort({ sessionID: s.id })).data, true);
            return { answer };
        });
        const { data } = await run.answer;
        assert.match(data.parts[0].state.output, /User aborted the command/);
        assert.deepEqual((await oc().v2.session.status()).data, {});
    });

    it('a command whose session is deleted before it has started does not outlive it', async () => {
        const s = await session();
        const { run, gone } = await whileHeld(d, async () => {
            const answer = shell(s, 'sleep 1000');
            await settle(d);
            const deletion = oc().v2.session.delete({ sessionID: s.id });
            await settle(d);
            return { run: answer, gone: deletion };
        });
        assert.equal((await gone).data, true);
        assert.equal((await run).error.name, 'NotFoundError');
        await waitUntil(async () => (await running()).length === 0, 'nobody to be left');
    });

    it('frames that are no text: what is in them is typed, a broken text ends the connection', async () => {
        const p = await oc().sh("stty raw -echo; echo up; od -An -tx1 -v -w1 | head -n 4 | tr -d ' \\n'; cat");
        const a = oc().attach(p.id);
        await a.sees('up');
        a.send(Buffer.from([0xff, 0, 0xc3]));
        a.send(Buffer.from([0x7b]));
        a.send(Buffer.alloc(0));
        a.send(Buffer.from('x'.repeat(4096))); // for od, which reads blocks
        await a.sees('ff00c37b');
        const b = oc().attach(p.id);
        await b.replay();
        b.ws._socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]));
        assert.equal((await b.end()).code, 1007);
        assert.equal((await oc().v2.pty.get({ ptyID: p.id })).data.status, 'running');
        await oc().v2.pty.remove({ ptyID: p.id });
    });

    it('replaced: a command that runs is not told as ended, and everything goes on', async () => {
        const s = await session();
        const l = await oc().listen();
        await l.until((e) => e.type === 'server.connected');
        const p = await oc().sh('cat');
        const a = oc().attach(p.id);
        await a.replay();
        const run = shell(s, 'echo on; read x < /dev/zero || sleep 1000').catch((e) => ({ error: e }));
        await waitUntil(async () => (await oc().v2.session.status()).data[s.id], 'the session to be busy');
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        assert.equal((await run).data, undefined);
        assert.equal((await a.end()).code, 1001);
        await d.nextWorker(old);
        await waitUntil(async () => (await oc().v2.session.status()).data?.[s.id], 'it to run still');
        assert.equal((await oc().v2.pty.get({ ptyID: p.id })).data.pid, p.pid);
        assert.ok(!l.types().includes('pty.exited') && !l.types().includes('session.idle'));
        l.close();
        await oc().v2.session.abort({ sessionID: s.id });
        await oc().v2.pty.remove({ ptyID: p.id });
        await waitUntil(async () => (await running()).length === 0, 'the end of all');
    });

    /* The connections were cut without an answer, and the terminals stayed on /api/pty as exited ones. */
    it('replaced while terminals and a session are being removed: who asked is told, and they go', async () => {
        const other = new OpenCode(d, { directory: '/usr' });
        const told = path.join(d.dir, 'told'); // a mark of each that was asked to end, and did not
        fs.mkdirSync(told);
        const stays = (name) => `trap ': > ${told}/${name}' HUP TERM; echo up; while :; do sleep 0.05; done`;
        const all = [await oc().sh(stays('a')), await oc().sh(stays('b')), await other.sh(stays('c'))];
        for (const [i, p] of all.entries()) {
            const a = (i < 2 ? oc() : other).attach(p.id);
            await a.sees('up');
            await a.drop();
        }
        const s = await session();
        const run = shell(s, `${stays('d')} > ${told}/../up`);
        await waitUntil(() => fs.existsSync(path.join(d.dir, 'up')), 'the command to run');
        const old = d.workerPid();
        const answers = [
            oc().v2.pty.remove({ ptyID: all[0].id }),
            oc().v2.v2.pty.remove({ ptyID: all[1].id }),
            other.v2.instance.dispose(),
            oc().v2.session.delete({ sessionID: s.id }),
        ];
        for (const a of answers) a.catch(() => {}); // looked at below
        await waitUntil(() => fs.readdirSync(told).length === 4, 'all to be asked to end');
        process.kill(d.keeperPid(), 'SIGHUP');
        for (const a of answers) assert.equal((await a).response.status, 503);
        assert.equal((await run).response.status, 503);
        await d.nextWorker(old);
        await waitUntil(async () => (await d.list('?pty=true')).length === 0, 'the terminals to go', 20000);
        await waitUntil(async () => (await running()).length === 0, 'the command to end');
        assert.equal((await oc().v2.session.get({ sessionID: s.id })).error.name, 'NotFoundError');
    });
});
