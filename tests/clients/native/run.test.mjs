// SPDX-License-Identifier: Apache-2.0
// POST /v1/processes/run: start, wait, answer.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit, expectedBytes } from '../../lib/gen.mjs';
import * as proc from '../../lib/proc.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('run', {}, (d) => {
    const run = async (json) =>
        (await d.api('POST', '/v1/processes/run', { json, expect: 200, timeoutMs: 60000 })).json;

    it('answers everything at once', async () => {
        const r = await run({ command: 'echo out; echo err >&2; exit 3', shell: true });
        assert.equal(r.stdout, 'out\n');
        assert.equal(r.stderr, 'err\n');
        assert.ok(['out\nerr\n', 'err\nout\n'].includes(r.output));
        assert.equal(r.exit_code, 3);
        assert.equal(r.exit.kind, 'exited');
        assert.equal(r.timed_out, false);
        assert.equal(r.omitted_bytes, 0);
        assert.equal(r.process.status, 'exited');
        assert.equal(r.process.exit_code, 3);
        assert.equal((await d.get(r.process.id)).exit_code, 3, 'the record is kept');
    });

    it('a terminal has its output in one piece', async () => {
        const r = await run({ command: 'echo out; echo err >&2', shell: true, pty: true });
        assert.equal(r.output, 'out\r\nerr\r\n');
    });

    it('a signal is an answer, not an error', async () => {
        const r = await run({ command: 'kill -9 $$', shell: true });
        assert.equal(r.exit_code, 137);
        assert.deepEqual([r.exit.kind, r.exit.signal], ['signaled', 'SIGKILL']);
    });

    it('a time-out ends it and says so, with the output so far', async () => {
        const r = await run({ command: 'echo before; sleep 300; echo after', shell: true, timeout_ms: 300 });
        assert.equal(r.timed_out, true);
        assert.equal(r.exit.kind, 'timed_out');
        assert.equal(r.stdout, 'before\n');
        assert.ok(!proc.isAlive(r.process.pid));
    });

    it('large output keeps its head and its tail', async () => {
        const text = await run({ command: 'seq 1 200000', shell: true, max_output_bytes: 10000 });
        const whole = Array.from({ length: 200000 }, (_, i) => `${i + 1}\n`).join('');
        assert.equal(text.process.output.bytes_total, whole.length);
        assert.ok(text.omitted_bytes > 0);
        assert.ok(text.stdout.startsWith('1\n2\n3\n'));
        assert.ok(text.stdout.endsWith('199999\n200000\n'));
        assert.ok(text.stdout.length <= 11000, `${text.stdout.length}`);
        assert.ok(whole.length - text.omitted_bytes <= 10000);
    });

    it('nothing is omitted below the limit', async () => {
        const r = await run({ command: emit(), args: ['-n', '900000', '-s', '81'], max_output_bytes: 1 << 20 });
        assert.equal(r.omitted_bytes, 0);
        assert.equal(r.process.output.bytes_total, 900000);
        const out = await d.output(r.process.id);
        checkBytes(81, 900000 - out.length, out);
    });

    it('output larger than the ring is still counted and kept to the limit', async () => {
        const n = 5 << 20;
        const r = await run({ command: 'yes | head -c 5242880', shell: true, max_output_bytes: 4 << 20 });
        assert.equal(r.process.output.bytes_total, n);
        assert.equal(r.stdout.replace(/[^y\n]/g, '').length >= (4 << 20) - 4096, true, `${r.stdout.length}`);
        assert.equal(r.omitted_bytes, n - (4 << 20));
    });

    it('bytes that are not UTF-8 do not break the answer', async () => {
        const r = await run({ command: 'printf', args: ['ok \\377\\376 ok'] });
        assert.ok(r.stdout.startsWith('ok ') && r.stdout.endsWith(' ok'));
        assert.deepEqual(await d.output(r.process.id), Buffer.from('ok \xff\xfe ok', 'latin1'));
    });

    it('input is given and ended', async () => {
        const r = await run({ command: 'sort', input: 'c\na\nb\n' });
        assert.equal(r.stdout, 'a\nb\nc\n');
    });

    it('is killed if the client goes away', async () => {
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, 'POST /v1/processes/run', {
                body: JSON.stringify({ command: 'sleep', args: ['300'], tag: 'left' }),
            }),
        );
        const p = await waitUntil(async () => (await d.list('?tag=left'))[0], 'the process');
        c.destroy();
        await waitUntil(async () => (await d.get(p.id)).status === 'exited', 'its end', 15000);
        assert.deepEqual([(await d.get(p.id)).exit.kind, (await d.get(p.id)).exit.by], ['killed', 'detach']);
    });

    it('is kept if asked', async () => {
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, 'POST /v1/processes/run', {
                body: JSON.stringify({ command: 'sleep', args: ['300'], tag: 'kept', on_detach: 'keep' }),
            }),
        );
        const p = await waitUntil(async () => (await d.list('?tag=kept'))[0], 'the process');
        c.destroy();
        await d.sh('exit 0').then((q) => d.exitOf(q.id));
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('deleting the process from elsewhere answers the caller', async () => {
        const waiting = run({ command: 'sleep', args: ['300'], tag: 'deleted' });
        const p = await waitUntil(async () => (await d.list('?tag=deleted'))[0], 'the process');
        await d.remove(p.id);
        const r = await waiting;
        assert.equal(r.exit.kind, 'killed');
    });

    it('refusals of its own', async () => {
        await d.refused('bad_value', 'POST', '/v1/processes/run', { json: { command: 'true', max_output_bytes: -1 } });
        await d.refused('bad_value', 'POST', '/v1/processes/run', {
            json: { command: 'true', max_output_bytes: 1e12 },
        });
        await d.refused('bad_type', 'POST', '/v1/processes/run', { json: { command: 'true', max_output_bytes: 'x' } });
    });

    it('a hundred at once', async () => {
        const all = await Promise.all(
            Array.from({ length: 100 }, (_, i) =>
                run({ command: emit(), args: ['-n', String(i * 97), '-s', String(i), '-x', String(i)] }),
            ),
        );
        for (let i = 0; i < 100; i++) {
            assert.equal(all[i].exit_code, i);
            assert.equal(all[i].process.output.bytes_total, i * 97);
            assert.deepEqual(await d.output(all[i].process.id), expectedBytes(i, 0, i * 97));
        }
    });
});
