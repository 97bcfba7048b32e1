// SPDX-License-Identifier: Apache-2.0
// Daytona's PTYs with both ways of its client to make one: in one call with the connection, and in two.

import assert from 'node:assert/strict';
import * as now from 'daytona-sdk';
import * as before199 from 'daytona-sdk-196';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { BASE, clientsOf, refused, screen } from './client.mjs';

/** By version: since 0.199 a PTY is made and connected to in one call. */
const SDKS = { '0.218.0': now, '0.196.0': before199 };

for (const [version, sdk] of Object.entries(SDKS)) {
    withDaemon(`daytona: PTYs with ${version}`, { env: { SHELL: '/bin/bash' } }, (d) => {
        const client = clientsOf(d, sdk);
        const make = async (p, id, more = {}) => {
            const s = screen();
            return { s, t: await p.createPty({ id, onData: s.onData, ...more }) };
        };
        /** Quotes keep the echo of what was typed from being taken for its output. */
        const say = (text) => `echo ${text[0]}''${text.slice(1)}\n`;

        it('the prompt, the size, the variables and the directory', async () => {
            const p = await client.process();
            const { s, t } = await make(p, 'a', { cols: 100, rows: 30, envs: { X: 'y é' }, cwd: '/tmp' });
            await waitUntil(() => s.text().length > 0, 'a prompt');
            await t.sendInput('echo "<$(stty size)|$X|$TERM|$PWD>"\n');
            await s.sees('<30 100|y é|xterm-256color|/tmp>');
            const info = await p.getPtySessionInfo('a');
            assert.deepEqual([info.id, info.cwd, info.cols, info.rows, info.active, info.envs], ['a', '/tmp', 100, 30, true, {}]);
            assert.ok(Math.abs(Date.parse(info.createdAt) - Date.now()) < 600000);
            assert.equal(info.lazyStart, version === '0.196.0');
            assert.deepEqual(await p.listPtySessions(), [info]);
            await t.kill();
        });

        it('resize is answered with the size, and the program sees it', async () => {
            const p = await client.process();
            const { s, t } = await make(p, 'r');
            await t.sendInput(`trap 'echo "winch $(stty size)"' WINCH; ${say('ready')}`);
            await s.sees('ready');
            const info = await t.resize(120, 40);
            assert.deepEqual([info.cols, info.rows], [120, 40]);
            await t.sendInput('\n');
            await s.sees('winch 40 120');
            assert.deepEqual(await p.resizePtySession('r', 0, 50).then((i) => [i.cols, i.rows]), [120, 50]);
            await refused(t.resize(1001, 40), 'DaytonaValidationError', /cols/);
            await t.kill();
            await refused(p.resizePtySession('r', 80, 24), version === '0.218.0' ? 'DaytonaSessionEndedError' : 'DaytonaError', /r not found/);
        });

        it('the exit: its code after the last line, every time', async () => {
            const p = await client.process();
            for (const [code, times] of [[5, 4], [0, 4]]) {
                for (let i = 0; i < times; i++) {
                    const { s, t } = await make(p, 'same-id');
                    await t.sendInput(`${say(`last words ${i}`).trim()}; exit ${code}\n`);
                    const end = await within(t.wait(), 20000, 'the end');
                    assert.equal(end.exitCode, code);
                    assert.equal(Boolean(end.error), code !== 0);
                    assert.ok(s.text().includes(`last words ${i}\r\n`), s.text());
                    assert.doesNotMatch(s.text(), /"type":"control"/);
                }
            }
            assert.deepEqual(await p.listPtySessions(), []);
        });

        it('killed it is 137, the id is free, the tree is gone', async () => {
            const p = await client.process();
            for (const kill of [(t) => t.kill(), () => p.killPtySession('k')]) {
                const { s, t } = await make(p, 'k');
                await t.sendInput(`sleep 1000 & sleep 1001 & ${say('ready')}`);
                await s.sees('ready\r\n');
                await kill(t);
                const end = await within(t.wait(), 10000, 'the end');
                assert.deepEqual([end.exitCode, end.error], [137, 'SIGKILL']);
                assert.deepEqual(await p.listPtySessions(), []);
                assert.ok(!proc.withEnv(d.mark).some((pid) => proc.cmdline(pid)[0] === 'sleep'));
            }
            await refused(p.killPtySession('k'), version === '0.218.0' ? 'DaytonaProcessNotFoundError' : 'DaytonaNotFoundError', /k not found/);
            await refused(p.getPtySessionInfo('k'), version === '0.218.0' ? 'DaytonaProcessNotFoundError' : 'DaytonaNotFoundError', /k not found/);
        });

        it('a connection may go and come; two see the same; history comes first', async () => {
            const p = await client.process();
            const { s, t } = await make(p, 'c');
            await t.sendInput(`mine=$$; ${say('before')}`);
            await s.sees('before\r\n');
            await t.disconnect();
            await waitUntil(async () => (await d.list('?status=running'))[0].viewers === 0, 'it to be noticed');
            const [one, two] = [screen(), screen()];
            const again = await p.connectPty('c', { onData: one.onData });
            const other = await p.connectPty('c', { onData: two.onData });
            assert.ok(again.isConnected());
            await one.sees('before\r\n');
            await again.sendInput('[ $mine = $$ ] && echo th"e same"\n');
            await one.sees('the same\r\n');
            await two.sees('the same\r\n');
            await other.sendInput('exit 3\n');
            const ends = await within(Promise.all([again.wait(), other.wait()]), 10000, 'both ends');
            assert.deepEqual(ends.map((e) => e.exitCode), [3, 3]);
            assert.equal(one.text(), two.text());
        });

        it('unknown ids, taken ids and impossible wishes are told in words', async () => {
            const p = await client.process();
            const kind = version === '0.218.0' ? 'DaytonaConnectionError' : 'DaytonaError';
            const s = screen();
            const byWords = async (promise, text) => assert.rejects(promise, (err) => (assert.match(err.message, text), true));
            await byWords(p.connectPty('nope', { onData: s.onData }), /PTY session nope not found/);
            if (version === '0.218.0') await refused(p.connectPty('nope', { onData: s.onData }), kind);
            const { t } = await make(p, 'taken');
            await byWords(make(p, 'taken'), /taken.*exists/);
            // Those that come at once are told apart, too.
            const many = await Promise.allSettled(Array.from({ length: 5 }, () => make(p, 'once')));
            assert.deepEqual(many.map((m) => m.status).sort(), ['fulfilled', ...Array(4).fill('rejected')]);
            assert.ok(many.every((m) => m.status === 'fulfilled' || /exists/.test(m.reason.message)));
            await p.killPtySession('once');
            await byWords(make(p, 'bad', { cwd: '/nowhere' }), /nowhere/);
            await byWords(make(p, 'bad', { cols: 1001 }), /cols/);
            await byWords(make(p, 'bad', { envs: { 'A B': 'x' } }), /A B/);
            assert.equal(s.text(), '');
            assert.deepEqual((await p.listPtySessions()).map((x) => x.id), ['taken']);
            await t.kill();
        });

        it('megabytes both ways', async () => {
            const p = await client.process();
            const { s, t } = await make(p, 'big');
            await t.sendInput(`exec sh -c 'stty raw -echo; echo u""p; head -c 1500000 | cksum; yes | head -c 3000000'\n`);
            await s.sees('up\n');
            await t.sendInput(new Uint8Array(1500000).fill(120));
            assert.equal((await within(t.wait(), 60000, 'the end')).exitCode, 0);
            assert.match(s.text(), / 1500000\n/);
            assert.equal(s.text().split('y\n').length - 1, 1500000);
        });
    });
}

withDaemon('daytona: PTYs and others', {}, (d) => {
    const client = clientsOf(d);

    it('a terminal that another made is one here, and the other way round', async () => {
        const p = await client.process();
        const theirs = await d.spawn({ command: 'cat', pty: true });
        const s = screen();
        const t = await p.connectPty(theirs.id, { onData: s.onData });
        await t.sendInput('hello\n');
        await d.outputHas(theirs.id, 'hello\r\nhello');
        await s.sees('hello\r\nhello');
        const mine = await p.createPty({ id: 'mine', onData() {} });
        const native = (await d.list('?status=running')).find((x) => x.metadata?.pty?.id === 'mine');
        await d.remove(native.id);
        assert.equal((await within(mine.wait(), 10000, 'the end')).exitCode, 137);
        await d.remove(theirs.id);
        await within(t.wait(), 10000, 'the end');
    });

    it('exactly one subprotocol is answered, and never the one with the variables', async () => {
        const talk = (offered) =>
            new Promise((done, fail) => {
                const ws = new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/process/pty/create-connect?id=p&cols=0&rows=0`, offered, { headers: d.authHeaders() });
                const seen = [];
                ws.on('message', (m, binary) => {
                    if (!binary) seen.push(JSON.parse(m));
                    if (seen.length === 1 && !binary) ws.send('exit 7\n');
                });
                ws.on('close', (code, reason) => done({ protocol: ws.protocol, seen, code, reason: JSON.parse(reason) })).on('error', fail);
            });
        const envs = `X-Daytona-Pty-Envs~${Buffer.from('{"SECRET":"s"}').toString('base64url')}`;
        const connected = { type: 'control', status: 'connected' };
        const end = { exitCode: 7, exitReason: 'non-zero exit' };
        const both = await talk([envs, 'X-Daytona-Pty-Exit-Control']);
        assert.deepEqual(both, { protocol: 'X-Daytona-Pty-Exit-Control', seen: [connected, { type: 'control', status: 'exited', ...end }], code: 1011, reason: end });
        const versioned = await talk(['X-Daytona-SDK-Version~0.218.0']);
        assert.deepEqual(versioned, { protocol: 'X-Daytona-SDK-Version~0.218.0', seen: [connected], code: 1011, reason: end });
        const none = await talk([]);
        assert.deepEqual([none.protocol, none.seen], ['', [connected]]);
    });
});
