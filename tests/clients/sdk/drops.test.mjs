// SPDX-License-Identifier: Apache-2.0
// Connections that break: no byte is lost or doubled either way, and the exit comes once.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit, expectedBytes } from '../../lib/gen.mjs';
import { report, scaled } from '../../lib/scale.mjs';
import { AuthError, CuttableWebSocket, NotFoundError, sandboxOf } from '../../lib/sdk.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const DOWN = scaled(100_000_000, 20_000_000);
const UP = scaled(5_000_000, 2_000_000);
const EVERY_MS = 300;
const reconnect = { baseMs: 5, maxMs: 200 };

withDaemon('the SDK over broken lines', {}, (d) => {
    /** Kills the worker again and again until told to stop; how often it did. */
    function killer() {
        let kills = 0;
        let over = false;
        const done = (async () => {
            while (!over) {
                await new Promise((next) => setTimeout(next, EVERY_MS));
                const pid = d.workerPid();
                if (over || !pid) continue;
                process.kill(pid, 'SIGKILL');
                kills++;
                await d.nextWorker(pid);
            }
        })();
        return async () => {
            over = true;
            await done;
            d.agent.destroy();
            return kills;
        };
    }

    async function download(connection, seed) {
        let at = 0;
        let exits = 0;
        for await (const event of connection.events()) {
            if (event.type === 'output') {
                assert.equal(event.offset, at, 'a byte is missing or doubled');
                checkBytes(seed, at, Buffer.from(event.data.buffer, event.data.byteOffset, event.data.length));
                at += event.data.length;
            } else if (event.type === 'exit') {
                exits++;
                assert.equal(event.status.exitCode, 6);
            } else assert.notEqual(event.type, 'gap', JSON.stringify(event));
        }
        return { at, exits };
    }

    it(`a download of ${DOWN / 1e6} MB while the worker is killed every ${EVERY_MS} ms`, async () => {
        // Lossless: with nobody attached a process would not wait, so it may begin only when we are there.
        const fifo = `${d.dir}/go`;
        execFileSync('mkfifo', [fifo]);
        const p = await sandboxOf(d).processes.start({
            command: emit(),
            args: ['-n', String(DOWN), '-s', '71', '-c', '65536', '-d', '6000', '-x', '6', '-W', fifo],
            historyBytes: 64 << 20,
            delivery: 'lossless',
        });
        const states = [];
        const connection = await p.attach({ reconnect, onStateChange: (s) => states.push(s) });
        fs.closeSync(fs.openSync(fifo, 'w'));
        const stop = killer();
        const { at, exits } = await download(connection, 71);
        const kills = await stop();
        assert.equal(at, DOWN);
        assert.equal(exits, 1);
        assert.ok(kills > 0 && states.includes('reconnecting'), `${kills} kills`);
        assert.equal(states.at(-1), 'closed');
        report(`${DOWN / 1e6} MB down, ${kills} kills of the worker`);
    });

    it(`an upload of ${UP / 1e6} MB while the worker is killed every ${EVERY_MS} ms`, async () => {
        const file = `${d.dir}/up`;
        const p = await sandboxOf(d).processes.start({ command: `cat > ${file}; echo done`, shell: true, stdin: 'pipe' });
        const connection = await p.attach({ reconnect });
        const stop = killer();
        const bytes = expectedBytes(72, 0, UP);
        const step = Math.ceil(UP / 40);
        for (let at = 0; at < UP; at += step) {
            await connection.write(bytes.subarray(at, at + step));
            await new Promise((next) => setTimeout(next, 50));
        }
        await connection.flush();
        await connection.eof();
        let exits = 0;
        for await (const event of connection.events()) if (event.type === 'exit') exits++;
        const kills = await stop();
        assert.ok(kills > 0);
        assert.equal(exits, 1);
        const got = fs.readFileSync(file);
        assert.equal(got.length, UP);
        checkBytes(72, 0, got, 'input');
        report(`${UP / 1e6} MB up, ${kills} kills of the worker`);
    });

    it('input and output of a terminal with the line cut at every turn', async () => {
        const t = await sandboxOf(d, { WebSocket: CuttableWebSocket }).terminal.create({
            command: 'sh',
            args: ['-c', 'stty raw -echo; echo ready; exec head -c 100000'],
        });
        await t.waitFor({ text: 'ready' });
        const states = [];
        const c = await t.attach({ reconnect, onStateChange: (s) => states.push(s) });
        const connects = () => states.filter((s) => s === 'connected').length;
        // Text only: what asks a terminal something is blanked when it is sent again.
        const bytes = crypto.randomBytes(100_000).map((b) => 0x20 + (b % 0x5f));
        const parts = [];
        const reading = (async () => {
            for await (const e of c.events()) if (e.type === 'output') parts.push(e.data);
        })();
        for (let at = 0; at < bytes.length; at += 5000) {
            const before = connects();
            await c.write(bytes.subarray(at, at + 5000));
            CuttableWebSocket.cutAll();
            await waitUntil(() => connects() > before || c.state === 'closed', 'the connection to be back');
        }
        await reading;
        const all = Buffer.concat(parts);
        assert.equal(Buffer.compare(all.subarray(all.indexOf('ready\n') + 6), bytes), 0);
        assert.ok(connects() > 15, `${connects()} connections`);
    });

    it('writes that are made while the line is down are sent when it is back', async () => {
        const t = await sandboxOf(d, { WebSocket: CuttableWebSocket }).terminal.create({ command: 'cat' });
        const c = await t.attach({ reconnect: { baseMs: 100, maxMs: 100 } });
        CuttableWebSocket.cutAll();
        await waitUntil(() => c.state === 'reconnecting', 'the cut to be seen');
        await c.write('typed meanwhile\n');
        assert.equal(c.pendingInput > 0, true);
        c.retryNow();
        await c.flush();
        await t.waitFor({ text: 'typed meanwhile\r\ntyped meanwhile' }, { timeoutMs: 10_000 });
        await c.close();
        await t.kill();
    });

    it('a signal that is sent while the line is down arrives when it is back, or is refused', async () => {
        const command = 'trap "echo interrupted; exit 3" INT; echo ready; while :; do sleep 0.05; done';
        const p = await sandboxOf(d, { WebSocket: CuttableWebSocket }).processes.start({ command, shell: true });
        await p.waitFor({ text: 'ready' });
        const c = await p.attach({ reconnect: { baseMs: 100, maxMs: 100 } });
        CuttableWebSocket.cutAll();
        await waitUntil(() => c.state === 'reconnecting', 'the cut to be seen');
        await c.signal('INT');
        assert.equal((await p.wait({ timeoutMs: 10_000 })).exitCode, 3);
        await c.close();
        await assert.rejects(c.signal('INT'), { code: 'closed' });
    });

    it('close() sends what was written while the line was down', async () => {
        const p = await sandboxOf(d, { WebSocket: CuttableWebSocket }).processes.start({ command: 'cat', stdin: 'pipe' });
        // The delay is longer than close() waits: it does not wait for the rest of it.
        const c = await p.attach({ reconnect: { baseMs: 60_000, maxMs: 60_000 } });
        CuttableWebSocket.cutAll();
        await waitUntil(() => c.state === 'reconnecting', 'the cut to be seen');
        await c.write('precious\n');
        await c.close();
        assert.equal(c.pendingInput, 0);
        assert.equal((await p.waitFor({ text: 'precious' }, { timeoutMs: 10_000 })).matched, 'text');
        await p.kill();
    });

    it('events of the sandbox go on over kills, none missed and none doubled', async () => {
        const s = sandboxOf(d);
        const stop = new AbortController();
        const ids = [];
        const exited = new Set();
        const listening = (async () => {
            for await (const e of s.events({ since: 0, signal: stop.signal })) {
                ids.push(e.id);
                if (e.type === 'process.exited') exited.add(e.process.id);
            }
        })();
        const started = [];
        for (let i = 0; i < 4; i++) {
            started.push((await s.processes.start('true')).id);
            const pid = d.workerPid();
            process.kill(pid, 'SIGKILL');
            await d.nextWorker(pid);
        }
        await waitUntil(() => started.every((id) => exited.has(id)), 'all exits', 20_000);
        stop.abort();
        await listening.catch(() => undefined);
        assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
        d.agent.destroy();
    });

    it('gives up when told to, and does not hide why', async () => {
        const s = sandboxOf(d, { WebSocket: CuttableWebSocket });
        const t = await s.terminal.create({ command: 'sleep', args: ['60'] });
        const once = await t.attach({ reconnect: false });
        CuttableWebSocket.cutAll();
        await assert.rejects(once.ended, { code: 'lost' });
        await assert.rejects(once.write('x'), { code: 'lost' });
        const c = await t.attach({ reconnect });
        await t.remove({ graceMs: 0 });
        await waitUntil(() => c.state === 'closed', 'the end');
        await c.ended.catch((err) => assert.ok(err instanceof NotFoundError));
        const replaced = await s.terminal.create({ command: 'sleep', args: ['60'] });
        const a = await replaced.attach({ client: 'same', reconnect });
        const b = await replaced.attach({ client: 'same', reconnect });
        await assert.rejects(a.ended, { code: 'replaced' });
        assert.equal(b.state, 'connected');
        await b.close();
        await replaced.kill();
        // A token that was taken away opens nothing, so it is not tried again.
        const kept = fs.readFileSync(d.tokenFile, 'utf8');
        const u = await (await s.terminal.create({ command: 'sleep', args: ['60'] })).attach({ reconnect });
        fs.writeFileSync(d.tokenFile, kept.replace(d.tokens.own, 'another-owner-0123456789'));
        assert.equal((await d.request('POST', '/v1/reload')).json.changed, true);
        await assert.rejects(u.ended, (e) => e instanceof AuthError && e.code === 'token_ended');
        fs.writeFileSync(d.tokenFile, kept);
        await d.request('POST', '/v1/reload', { role: 'another-owner-0123456789' });
    });
});
