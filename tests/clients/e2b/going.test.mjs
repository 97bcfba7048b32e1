// SPDX-License-Identifier: Apache-2.0
// Clients of E2B that go, and a daemon that is replaced, in the middle of everything.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Sandbox } from 'e2b';
import { withDaemon } from '../../lib/daemon.mjs';
import { OpenStream, base, create, direct, envelope, options, unary } from '../../lib/e2b.mjs';
import { askAndVanish, settle, whileHeld } from '../../lib/held.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('e2b: going', {}, (d) => {
    const rpc = (method, message) => [`POST /dialects/e2b/process.Process/${method}`, { body: JSON.stringify(message) }];
    const start = (line) => [
        'POST /dialects/e2b/process.Process/Start',
        { headers: { 'Content-Type': 'application/connect+json' }, body: envelope({ process: { cmd: '/bin/sh', args: ['-c', line], cwd: '/usr' } }) },
    ];
    const file = (method, name) => `${method} /dialects/e2b/files?path=${path.join(d.dir, name)}`;
    const running = async () => (await direct(d).commands.list()).map((p) => p.args.at(-1)).sort();

    it('who goes while something is being started or ended harms nobody', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['1000'] });
        fs.writeFileSync(path.join(d.dir, 'there'), 'x'.repeat(100000));
        await askAndVanish(d, [
            start('sleep 1001'),
            start('exit 3'),
            rpc('SendSignal', { process: { pid: p.pid }, signal: 'SIGNAL_SIGKILL' }),
            ['POST /dialects/e2b/filesystem.Filesystem/Stat', { body: JSON.stringify({ path: '/usr' }) }],
            ['POST /dialects/e2b/filesystem.Filesystem/MakeDir', { body: JSON.stringify({ path: path.join(d.dir, 'made') }) }],
            [file('GET', 'there')],
            [file('GET', 'not-there')],
            [file('POST', 'written'), { headers: { 'Content-Type': 'application/octet-stream' }, body: 'half of it' }],
            [file('POST', 'form'), { headers: { 'Content-Type': 'multipart/form-data; boundary=b' }, body: '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\ny\r\n--b--' }],
        ]);
        await waitUntil(async () => (await running()).join() === 'sleep 1001', 'what was asked for to have happened');
        await waitUntil(async () => (await d.list()).every((q) => q.source !== 'system'), 'no helper to be left, nor what is known of it');
        assert.ok(fs.statSync(path.join(d.dir, 'made')).isDirectory());
        await d.removeAll();
    });

    it('who goes while a process has no room for its input leaves it as it is', async () => {
        const s = direct(d);
        const c = await s.commands.run('sleep 0.5; wc -c', { background: true, stdin: true });
        const gone = new AbortController();
        const big = JSON.stringify({ process: { pid: c.pid }, input: { stdin: Buffer.alloc(900000, 'x').toString('base64') } });
        const left = fetch(`${base(d)}/process.Process/SendInput`, {
            method: 'POST',
            body: big,
            headers: { 'Content-Type': 'application/json', 'X-Access-Token': d.token, Connection: 'close' },
            signal: gone.signal,
        }).catch(() => {});
        const after = unary(d, 'SendInput', { process: { pid: c.pid }, input: { stdin: Buffer.from('end').toString('base64') } }, { agent: false });
        await settle(d);
        gone.abort();
        await left;
        assert.equal((await after).status, 200, 'the next one is not held up by it');
        await c.closeStdin();
        const n = Number((await c.wait()).stdout);
        assert.ok(n >= 3 && n <= 900003, `${n} bytes`);
    });

    it('an end that is asked for while input waits for room comes behind it', async () => {
        const go = path.join(d.dir, 'read-it');
        const c = await direct(d).commands.run(`read x; echo up; until [ -e ${go} ]; do sleep 0.02; done; wc -c`, { background: true, stdin: true });
        const typed = c.sendStdin(`x\n${'y'.repeat(600000)}`);
        await waitUntil(() => c.stdout === 'up\n', 'the first of it');
        const closed = c.closeStdin();
        await settle(d);
        fs.writeFileSync(go, '');
        await Promise.all([typed, closed]);
        assert.equal((await c.wait()).stdout, 'up\n600000\n');
    });

    it('a process that was on its way when its sandbox was killed is ended as well', async () => {
        const s = await create(d);
        const { run, kill } = await whileHeld(d, async () => {
            const started = s.commands.run('sleep 1000', { timeoutMs: 0 }).then((r) => r, (e) => e);
            await settle(d);
            const killed = s.kill();
            await settle(d);
            return { run: started, kill: killed };
        });
        assert.equal(await kill, true);
        assert.ok((await run) instanceof Error);
        await waitUntil(async () => (await d.list('?status=running')).length === 0, 'nobody to be left');
        await create(d);
    });

    // The writer waits for the rest of a body that no worker will ever read.
    it('a worker that dies in the middle of an upload or a download leaves no helper', async () => {
        fs.writeFileSync(path.join(d.dir, 'large'), Buffer.alloc(64 << 20));
        const half = net.connect(new URL(d.url).port, '127.0.0.1');
        const head = `Host: 127.0.0.1\r\nX-Access-Token: ${d.token}\r\n`;
        half.on('error', () => {});
        half.write(`${file('POST', 'half')} HTTP/1.1\r\n${head}Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\nhalf`);
        const unread = net.connect(new URL(d.url).port, '127.0.0.1');
        unread.on('error', () => {});
        unread.pause();
        unread.write(`${file('GET', 'large')} HTTP/1.1\r\n${head}\r\n`);
        await waitUntil(async () => (await d.list('?status=running')).length === 2, 'a writer and a reader');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(async () => (await d.list('?status=running')).length === 0, 'no helper to be left');
        half.destroy();
        unread.destroy();
    });

    it('replaced: no end is invented, and what ran is connected to again', async () => {
        const s = await create(d);
        const c = await s.commands.run('echo on; read x; exit 6', { background: true, stdin: true, timeoutMs: 0 });
        const other = await OpenStream.open(d, 'Connect', { process: { pid: c.pid } });
        await waitUntil(() => c.stdout === 'on\n', 'its output');
        const t = await s.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} });
        const ends = [c.wait(), t.wait()].map((w) => w.then((r) => r, (e) => e));
        const old = d.workerPid();
        process.kill(d.keeperPid(), 'SIGHUP');
        for (const e of await Promise.all(ends)) assert.equal(e.exitCode, undefined, `an end that never was: ${e}`);
        await other.ended;
        assert.ok(!other.events.some((e) => e.end));
        await d.nextWorker(old);
        const again = await waitUntil(() => Sandbox.connect(s.sandboxId, options(d)), 'the new worker');
        assert.deepEqual((await again.commands.list()).map((p) => p.pid).sort(), [c.pid, t.pid].sort());
        const back = await again.commands.connect(c.pid);
        await back.sendStdin('\n');
        await assert.rejects(back.wait(), (err) => err.exitCode === 6);
        assert.equal(await again.pty.kill(t.pid), true);
    });
});

// Each was once begun from within the one before, on a stack that holds some thousands of them; here
// some hundreds.
withDaemon('e2b: many who wait', { before: ['sh', '-c', 'ulimit -s 256 && exec "$@"', 'sh'] }, (d) => {
    it('input that waits behind other input is answered when the process ends, all of it', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['1000'], stdin: 'pipe' });
        const input = (bytes) => requestBytes(d, 'POST /dialects/e2b/process.Process/SendInput', { headers: { 'X-Access-Token': d.token }, body: JSON.stringify({ process: { pid: p.pid }, input: { stdin: Buffer.from(bytes).toString('base64') } }) });
        const all = await Promise.all(Array.from({ length: 900 }, () => RawConn.connect(d)));
        all[0].send(input('x'.repeat(300000)));
        await settle(d);
        for (const c of all.slice(1)) c.send(input('y'));
        await settle(d);
        const worker = d.workerPid();
        process.kill(p.pid, 'SIGKILL');
        await waitUntil(() => all.every((c) => c.held.includes('"code":"not_found"') || c.held.includes('"code":"internal"')), 'all answers');
        assert.equal(d.workerPid(), worker);
        for (const c of all) c.destroy();
    });
});
