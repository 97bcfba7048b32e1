// SPDX-License-Identifier: Apache-2.0
// Clients of execd that go, frames that are too large, and a daemon that is replaced, in the middle of everything.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { askAndVanish, settle, whileHeld } from '../../lib/held.mjs';
import { bare, call, newPty, PREFIX, Pty, ptyStatus, refused, refusedPty, texts, withSandbox } from '../../lib/opensandbox.mjs';
import { exchange, RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const UPGRADE = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };

withSandbox('opensandbox: going', {}, (d, sandbox) => {
    const at = (method, url) => `${method} ${PREFIX}${url}`;
    const json = (body) => ({ body: JSON.stringify(body) });
    const socket = { headers: UPGRADE };
    /** The shells of sessions aside. */
    const running = async () => (await d.list('?status=running')).filter((p) => p.source !== 'system');
    const left = async (n) => {
        await waitUntil(async () => (await running()).length === n, `${n} to be left`);
        return running();
    };

    it('who goes while something is being started or ended harms nobody, and what nobody knows of ends', async () => {
        const s = await sandbox();
        const doomed = (await s.commands.run('sleep 1000', { background: true })).id;
        const [pty, gone] = [await newPty(d), await newPty(d, { command: 'sleep 1000' })];
        await (await Pty.attach(d, gone)).leave();
        await askAndVanish(d, [
            [at('POST', '/command'), json({ command: 'sleep 1001' })],
            [at('POST', '/command'), json({ command: 'sleep 1002', background: true })],
            [at('POST', '/command'), json({ command: 'x', cwd: '/no/such' })],
            [at('POST', '/session'), json({})],
            [at('POST', '/pty'), json({ command: 'sleep 1003' })],
            [at('GET', `/pty/${pty}/ws`), socket],
            [at('GET', '/terminal?command=sleep%201004'), socket],
            [at('GET', '/command?command=sleep%201005'), socket],
            [at('DELETE', `/command?id=${doomed}`)],
            [at('DELETE', `/pty/${gone}`)],
        ]);
        const list = await left(3);
        assert.deepEqual(list.map((p) => p.args.at(-1)).filter((a) => a.startsWith('sleep')).sort(), ['sleep 1001', 'sleep 1002']);
        assert.equal((await ptyStatus(d, pty)).running, true);
        assert.equal((await call(d, 'GET', `/pty/${gone}`)).status, 404);
        const p = await Pty.attach(d, pty);
        p.type('exit 3\n');
        await p.end();
        assert.equal(p.exit.exit_code, 3);
        for (const c of await left(2)) await s.commands.interrupt(c.id);
        await left(0);
    });

    it('a session that is deleted before its shell has started has no shell', async () => {
        const id = await newPty(d, { command: 'sleep 1000' });
        const { p, gone } = await whileHeld(d, async () => {
            const first = Pty.at(d, id);
            await waitUntil(async () => (await refusedPty(d, id, { takeover: 1 }).catch((e) => e)).json?.code === 'ALREADY_CONNECTED', 'the first to be under way');
            const deletion = call(d, 'DELETE', `/pty/${id}`, { agent: false });
            await settle(d);
            return { p: first, gone: deletion };
        });
        assert.equal((await gone).status, 200);
        await assert.rejects(p.opened, (err) => err.status === 404);
        await left(0);
        await waitUntil(async () => (await call(d, 'GET', `/pty/${id}`)).status === 404, 'it to be forgotten');
    });

    it('a frame of JSON that is too large ends its connection, and nothing else; bytes have no such bound', async () => {
        const id = await newPty(d, { command: 'stty raw -echo; echo up; head -c 2000000 | md5sum; sleep 1000' });
        const p = await Pty.attach(d, id);
        await p.says('up');
        p.send({ type: 'stdin', data: 'x'.repeat(1 << 21) });
        assert.equal((await p.end()).code, 1009);
        assert.equal((await ptyStatus(d, id)).running, true);
        const q = await Pty.attach(d, id, { since: p.at });
        q.type('y'.repeat(2000000));
        await q.until(() => /[0-9a-f]{32}  -/.test(q.text), 'all of them');
        q.ws._socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]));
        assert.equal((await q.end()).code, 1007, 'a text frame that is no text');
        assert.equal((await call(d, 'DELETE', `/pty/${id}`)).status, 200);
    });

    it('a query that is no text is refused, not read in part', async () => {
        for (const bad of ['/command?argv=echo&argv=%ff', '/command?command=x&cwd=%c3', '/terminal?command=x&env=A=%ff', '/command?%ff=1&command=x']) {
            await assert.rejects(new Pty(d, bad).opened, (err) => err.status === 400 && JSON.parse(err.body).code === 'INVALID_QUERY', bad);
        }
        for (const [name, value] of [['Sec-WebSocket-Version', '12'], ['Sec-WebSocket-Key', 'short'], ['Sec-WebSocket-Key', null]]) {
            const a = await exchange(d, requestBytes(d, at('GET', '/terminal'), { headers: { ...UPGRADE, [name]: value } }));
            assert.equal(a.status, 400, `${name}: ${value}`);
        }
        await left(0);
    });

    it('replaced: no end is invented, and what ran is found by its id', async () => {
        const s = await sandbox();
        const session = await s.commands.createSession();
        const p = await Pty.attach(d, await newPty(d));
        const calls = [
            s.commands.run('echo on; sleep 1000'),
            s.commands.runInSession(session, 'sleep 1000'),
            s.commands.runInSession(session, 'echo queued'),
        ].map((c) => c.then((r) => r.exitCode, () => 'cut'));
        await waitUntil(async () => (await d.api('GET', `/v1/sessions/${session}`)).json.status === 'running', 'the command of the session');
        await left(2);
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        for (const c of calls) assert.equal(await c, 'cut', 'an end that never was');
        assert.equal((await p.end()).code, 1001);
        await d.nextWorker(old);
        const [one] = (await waitUntil(async () => (await call(d, 'GET', '/command?running=true')).json?.commands, 'the new worker')).filter((c) => !c.background);
        assert.equal((await d.api('GET', `/v1/sessions/${session}`)).json.status, 'running');
        assert.equal((await running()).length, 2);
        await s.commands.interrupt(one.session);
        await s.commands.deleteSession(session);
        await refused(s.commands.runInSession(session, 'echo x'), 500, 'RUNTIME_ERROR');
        await d.removeAll();
    });

    const stat = (pid) => fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').pop().split(' ');
    const children = (pid) => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');

    /**
     * Until the keeper has told its worker to go. SIGHUP starts two children at once: the trial of the program and the
     * reading of the credentials. The worker is told when the trial has ended, so both have to be gone. That they
     * were there is seen by the page faults of children that were reaped.
     */
    const retire = async () => {
        const keeper = d.keeperPid();
        const reaped = () => Number(stat(keeper)[8]);
        const [faults, before] = [reaped(), children(keeper)];
        const areGone = () => children(keeper).every((pid) => before.includes(pid));
        process.kill(keeper, 'SIGHUP');
        await waitUntil(() => reaped() > faults && areGone(), 'the end of the trial', 10000, 1);
        await waitUntil(() => stat(keeper)[0] === 'S', 'the keeper to be done with it', 10000, 1);
    };

    /** Both in one turn of the worker: these requests, and then that it is to go. */
    const askAndRetire = async (calls) => {
        const worker = d.workerPid();
        const conns = await Promise.all(calls.map(() => RawConn.connect(d)));
        for (const c of conns) await c.send(requestBytes(d, at('GET', '/ping'))).response(); /* it is accepted */
        process.kill(worker, 'SIGSTOP');
        conns.forEach((c, i) => c.send(requestBytes(d, ...calls[i])));
        await retire();
        process.kill(worker, 'SIGCONT');
        await d.nextWorker(worker);
        for (const c of conns) await waitUntil(() => c.ended, 'the end of a connection');
        return conns.map((c) => c.held.toString());
    };

    /** Requests that the worker had no time for before it retired are refused, and nothing was started for them. */
    const isRefused = (reply) => /^HTTP\/1.1 503 .*RUNTIME_ERROR/s.test(reply);

    const requestAtRetirement = async (session) => {
        const [fore, back, inside] = await askAndRetire([
            [at('POST', '/command'), json({ command: 'echo out; sleep 1000' })],
            [at('POST', '/command'), json({ command: 'sleep 1001', background: true })],
            [at('POST', `/session/${session}/run`), json({ command: 'echo out; sleep 1002', cwd: '/usr' })],
        ]);
        const started = [];
        if (!isRefused(fore)) {
            started.push('echo out; sleep 1000');
            assert.match(fore, /^HTTP\/1.1 200 .*"init","text":"proc_/s);
            assert.doesNotMatch(fore, /"out"|execution_complete|"error"|\r\n0\r\n/, 'it continued while its worker was retiring');
        }
        if (!isRefused(back)) {
            started.push('sleep 1001');
            assert.match(back, /^HTTP\/1.1 200 .*"init","text":"proc_.*execution_complete.*\r\n0\r\n\r\n$/s);
        }
        assert.ok(isRefused(inside), inside);
        assert.deepEqual((await left(started.length)).map((p) => p.args.at(-1)).sort(), started);
        await d.removeAll();
        return started.length;
    };

    it('requested while the worker retires: a client whose command was started receives its id, and no end', async () => {
        const session = await (await sandbox()).commands.createSession();
        let started = 0;
        for (let i = 0; i < 10 && started < 2; i++) started = await requestAtRetirement(session);
        assert.equal(started, 2, 'no worker had time for both requests before it retired');
        const log = (await d.api('GET', `/v1/sessions/${session}/transcript`)).text;
        assert.ok(!log.includes('1002'), 'a refused command was run');
    });

    it('a stream that is cut before its first byte is read costs nothing', async () => {
        for (let i = 0; i < 20; i++) {
            const { rq, response } = bare(d, 'POST', '/command', { command: 'echo x; echo y' });
            if (i % 2) await response;
            rq.destroy();
        }
        await left(0);
        assert.deepEqual(texts((await (await sandbox()).commands.run('echo well')).logs.stdout), ['well']);
    });
});
