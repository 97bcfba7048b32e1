// SPDX-License-Identifier: Apache-2.0
// Daytona's logs as they come: all from the beginning, each stream to its own, the end after the last byte.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import WebSocket from 'ws';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { holdsFor, waitUntil, within } from '../../lib/wait.mjs';
import { BASE, clientsOf, exitOf, follow, startAsync } from './client.mjs';

withDaemon('daytona: follow', {}, (d) => {
    const client = clientsOf(d);
    const at = (name) => path.join(d.dir, name);
    const until = (name) => `until [ -e ${at(name)} ]; do sleep 0.02; done`;
    const allow = (name) => fs.writeFileSync(at(name), '');
    const raw = (id, { query = 'follow=true', headers = { 'X-Daytona-SDK-Version': '0.218.0' } } = {}) => {
        const ws = new WebSocket(`${d.url.replace('http', 'ws')}${BASE}/process/session/f/command/${id}/logs?${query}`, { headers: { ...d.authHeaders(), ...headers } });
        const frames = [];
        ws.on('message', (m, binary) => frames.push(binary ? m : null));
        return { ws, frames, closed: new Promise((done, fail) => ws.on('close', done).on('error', fail)) };
    };

    /* The client itself keeps a piece of one or two bytes until more comes, so pieces are longer here. */
    it('live, to the right callback, with characters cut anywhere', async () => {
        const p = await client.process();
        await p.createSession('f');
        const half = `printf 'h\\303'; printf 'b\\342\\202' >&2; ${until('rest')}; printf '\\251 wide'; printf '\\254 wide' >&2; ${until('end')}; (exit 2)`;
        const id = await startAsync(p, 'f', half);
        const seen = follow(p, 'f', id);
        await waitUntil(() => seen.stdout === 'h' && seen.stderr === 'b', 'what is whole');
        allow('rest');
        await waitUntil(() => seen.stdout === 'hé wide' && seen.stderr === 'b€ wide', 'the rest');
        await holdsFor(100, () => !seen.ended, 'no end before the end');
        allow('end');
        await within(seen.end, 10000, 'the end');
        assert.equal((await p.getSessionCommand('f', id)).exitCode, 2);
        await p.deleteSession('f');
    });

    it('two who follow, one of them late, have all of it', async () => {
        const p = await client.process();
        await p.createSession('f');
        const id = await startAsync(p, 'f', `echo early; echo bad >&2; ${until('both')}; echo late`);
        const first = follow(p, 'f', id);
        await waitUntil(() => first.stdout === 'early\n', 'the beginning');
        const second = follow(p, 'f', id);
        await waitUntil(() => second.stdout === 'early\n', 'the beginning again');
        allow('both');
        await within(Promise.all([first.end, second.end]), 10000, 'both ends');
        const third = follow(p, 'f', id);
        await within(third.end, 10000, 'the end of one that came after it');
        for (const f of [first, second, third]) assert.deepEqual([f.stdout, f.stderr], ['early\nlate\n', 'bad\n']);
        // What follows in the same shell is not its output.
        await p.executeSessionCommand('f', { command: 'echo other' });
        assert.equal((await p.getSessionCommandLogs('f', id)).stdout, 'early\nlate\n');
        const again = follow(p, 'f', id);
        await within(again.end, 10000, 'the end');
        assert.equal(again.stdout, 'early\nlate\n');
        await p.deleteSession('f');
    });

    it('5 MiB at once arrive whole, in frames that the client can take', async () => {
        const p = await client.process();
        await p.createSession('f');
        const lines = 65536;
        const id = await startAsync(p, 'f', `${until('burst')}; yes ${'0123456789'.repeat(8).slice(1)} | head -n ${lines}; echo last >&2`);
        const seen = follow(p, 'f', id);
        const r = raw(id);
        await new Promise((done) => r.ws.on('open', done));
        allow('burst');
        await within(seen.end, 60000, 'the end');
        assert.deepEqual([seen.stdout.length, seen.stderr], [lines * 80, 'last\n']);
        assert.equal(await within(r.closed, 60000, 'the close'), 1000);
        assert.ok(r.frames.every((f) => f.length <= 16384 && (f[0] === 1 || f[0] === 2) && f[1] === f[0] && f[2] === f[0]), 'a marker on each');
        assert.ok(r.frames.every((f) => !f.includes('\x01\x01\x01', 3)), 'and no more than one');
        assert.equal((await p.getSessionCommandLogs('f', id)).stdout.length, lines * 80);
        await p.deleteSession('f');
    });

    it('bytes before the end of a command that is quick are never lost', async () => {
        const p = await client.process();
        await p.createSession('f');
        for (let i = 0; i < 30; i++) {
            const id = await startAsync(p, 'f', `echo number ${i}; echo bad ${i} >&2`);
            const seen = follow(p, 'f', id);
            await within(seen.end, 10000, 'the end');
            assert.deepEqual([seen.stdout, seen.stderr], [`number ${i}\n`, `bad ${i}\n`]);
        }
        await p.deleteSession('f');
    });

    it('without follow=true it is what there is, and the end; unknown ones are 404', async () => {
        const p = await client.process();
        await p.createSession('f');
        const id = await startAsync(p, 'f', `echo here; ${until('quit')}`);
        const seen = follow(p, 'f', id);
        await waitUntil(() => seen.stdout === 'here\n', 'it to run');
        const r = raw(id, { query: '' });
        assert.equal(await within(r.closed, 10000, 'the close'), 1000);
        assert.equal(Buffer.concat(r.frames).toString(), '\x01\x01\x01here\n');
        const plain = raw(id, { query: '', headers: {} });
        await within(plain.closed, 10000, 'the close');
        assert.equal(Buffer.concat(plain.frames).toString(), 'here\n');
        await assert.rejects(raw('nope').closed, /404/);
        await assert.rejects(p.getSessionCommandLogs('none', 'x', () => {}, () => {}), (e) => /404/.test(e.message));
        allow('quit');
        await within(seen.end, 10000, 'the end');
        assert.equal(await exitOf(p, 'f', id), 0);
        await p.deleteSession('f');
    });

    it('one who does not read delays nobody, and is told what it has missed', async () => {
        const p = await client.process();
        await p.createSession('f');
        const bytes = 24000000; // more than the ring and what a socket holds of it
        const id = await startAsync(p, 'f', `${until('flood')}; yes | head -c ${bytes}; echo over >&2`);
        const slow = raw(id);
        await new Promise((done) => slow.ws.on('open', done));
        slow.ws.pause();
        const fast = raw(id);
        await new Promise((done) => fast.ws.on('open', done));
        allow('flood');
        await within(fast.closed, 60000, 'the end of one who reads');
        assert.equal(fast.frames.reduce((n, f) => n + f.length - 3, 0), bytes + 5);
        assert.equal(await exitOf(p, 'f', id), 0);
        slow.ws.resume();
        assert.equal(await within(slow.closed, 60000, 'the close'), 1000);
        const stderr = slow.frames.filter((f) => f[0] === 2).map((f) => f.subarray(3).toString()).join('');
        const missed = Number(/\[(\d+) bytes of output were lost\]/.exec(stderr)[1]);
        const got = slow.frames.filter((f) => f[0] === 1).reduce((n, f) => n + f.length - 3, 0);
        assert.equal(got + missed, bytes);
        assert.match(stderr, /over\n$/);
        const logs = await p.getSessionCommandLogs('f', id);
        assert.match(logs.stderr, /bytes of output were lost\]\nover\n$/);
        await p.deleteSession('f');
    });
});
