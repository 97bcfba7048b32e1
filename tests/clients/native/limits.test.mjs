// SPDX-License-Identifier: Apache-2.0
// Limits: each has a name, its own code, and room again afterwards.

import assert from 'node:assert/strict';
import { test } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { checkProblem, daemonFor } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { waitUntil } from '../../lib/wait.mjs';

test('processes: the living count, the dead do not', () =>
    daemonFor({ args: ['--max-processes', '4'] }, async (d) => {
        const all = [];
        for (let i = 0; i < 4; i++) all.push(await d.sh('sleep 300'));
        const p = await d.refused('too_many_processes', 'POST', '/v1/processes', { json: { command: 'true' } });
        assert.ok(/process/.test(p.limit), JSON.stringify(p));
        assert.ok(
            Number((await d.request('POST', '/v1/processes', { json: { command: 'true' } })).headers['retry-after']) >
                0,
        );
        await d.refused('too_many_processes', 'POST', '/v1/processes/run', { json: { command: 'true' } });
        assert.equal((await d.list()).length, 4);
        await d.api('POST', `/v1/processes/${all[0].id}/signal`, { json: { signal: 'KILL' }, expect: 200 });
        await d.exitOf(all[0].id);
        await d.exitOf((await d.sh('exit 0')).id);
        await d.exitOf((await d.sh('exit 0')).id);
        const info = (await d.api('GET', '/v1/info', { expect: 200 })).json;
        assert.ok(JSON.stringify(info.limits).includes('4'), JSON.stringify(info.limits));
    }));

test('viewers of one process', () =>
    daemonFor({ args: ['--max-viewers', '3'] }, async (d) => {
        const p = await d.sh('sleep 300');
        const other = await d.sh('sleep 300');
        const vs = [];
        for (let i = 0; i < 3; i++) vs.push(await Viewer.attach(d, p.id));
        const extra = new Viewer(d, p.id);
        let told;
        try {
            await extra.opened;
            await extra.closed;
            told = extra.messages.find((m) => m.type === 'error')?.code ?? extra.closeCode;
        } catch (err) {
            told = JSON.parse(err.body).code;
        }
        assert.ok(['too_many_viewers', 1008, 1013].includes(told), String(told));
        const a = await d.request('GET', `/v1/processes/${p.id}/output?follow=1`, { timeoutMs: 5000 });
        assert.ok(checkProblem(a, 'too_many_viewers').limit);
        (await Viewer.attach(d, other.id)).cut();
        vs.pop().cut();
        await waitUntil(async () => {
            const v = new Viewer(d, p.id);
            try {
                await v.opened;
                await v.message('hello', 1000);
                return true;
            } catch {
                return false;
            } finally {
                v.cut();
            }
        }, 'a free place');
        vs.forEach((v) => v.cut());
    }));

test('journal memory over all processes', () =>
    daemonFor({ args: ['--journal-memory-bytes', String(4 << 20), '--journal-bytes', String(1 << 20)] }, async (d) => {
        const all = [];
        for (let i = 0; i < 4; i++) all.push(await d.sh('sleep 300'));
        const p = await d.refused('journal_memory_full', 'POST', '/v1/processes', { json: { command: 'true' } });
        assert.ok(p.limit);
        await d.remove(all.pop().id);
        await d.refused('journal_memory_full', 'POST', '/v1/processes', {
            json: { command: 'true', history_bytes: 8 << 20 },
        });
        await d.exitOf((await d.sh('exit 0')).id);
    }));

test('exited records give way to new processes when memory is short', () =>
    daemonFor({ args: ['--journal-memory-bytes', String(4 << 20), '--journal-bytes', String(1 << 20)] }, async (d) => {
        for (let i = 0; i < 20; i++) await d.exitOf((await d.sh('exit 0')).id);
        assert.ok((await d.list()).length <= 4);
    }));

test('the default ring is what was asked for', () =>
    daemonFor({ args: ['--journal-bytes', '131072'] }, async (d) => {
        const p = await d.sh('head -c 500000 /dev/zero');
        await d.exitOf(p.id);
        const o = (await d.get(p.id)).output;
        assert.ok(o.next - o.first <= 131072 && o.next - o.first >= 65536, JSON.stringify(o));
    }));

test('no descriptor left for the streams of a process that was started: it is refused, and nothing of it stays', () =>
    daemonFor({ before: ['prlimit', '--nofile=100:100'], fdBaseline: false, args: ['--header-timeout-ms', '120000'] }, async (d) => {
        // Connections take 40 of the worker's descriptors and none of the keeper's, so the worker runs out first.
        const conns = await Promise.all(Array.from({ length: 40 }, () => RawConn.connect(d)));
        const kept = [];
        let refused = 0;
        while (refused === 0 && kept.length < 100) {
            const a = await d.request('POST', '/v1/processes', { json: { command: 'echo out; echo err >&2; sleep 300', shell: true } });
            if (a.status === 201) {
                await d.outputHas(a.json.id, 'out');
                await d.outputHas(a.json.id, 'err');
                kept.push(a.json.id);
            } else {
                checkProblem(a, a.json.code);
                assert.match(a.json.detail, /no descriptors left/);
                refused++;
            }
        }
        assert.equal(refused, 1);
        conns.forEach((c) => c.destroy());
        for (const id of kept) await d.api('DELETE', `/v1/processes/${id}?grace_ms=0`, { expect: 200 });
        await waitUntil(async () => (await d.list()).length === 0, 'nothing to be left of it');
    }));

test('no terminal left', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
    // The kernel's own limit is shared by the machine, so a private devpts with room for two is mounted.
    const { execFileSync } = await import('node:child_process');
    const can = (() => {
        try {
            execFileSync(
                'unshare',
                [
                    '-m',
                    'sh',
                    '-c',
                    'mount -t devpts -o newinstance,max=2,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx',
                ],
                { stdio: 'ignore' },
            );
            return true;
        } catch {
            return false;
        }
    })();
    if (!can) return t.skip('no private devpts here');
    await daemonFor(
        {
            before: [
                'unshare',
                '-m',
                'sh',
                '-c',
                'mount -t devpts -o newinstance,max=2,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx && exec "$@"',
                'sh',
            ],
            fdBaseline: false,
        },
        async (d) => {
            await d.sh('sleep 300', { pty: true });
            await d.sh('sleep 300', { pty: true });
            await d.refused('no_pty', 'POST', '/v1/processes', { json: { command: 'true', pty: true } });
            assert.equal((await d.list()).length, 2);
            await d.exitOf((await d.sh('exit 0')).id);
        },
    );
});
