// SPDX-License-Identifier: Apache-2.0
// POST …/input: bytes, text, keys, end of file, and back-pressure that loses nothing.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, expectedBytes } from '../../lib/gen.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

const RAW = { 'Content-Type': 'application/octet-stream' };

withDaemon('input', {}, (d) => {
    const input = async (id, json) => (await d.api('POST', `/v1/processes/${id}/input`, { json, expect: 200 })).json;
    const cat = (more = {}) => d.sh('exec cat', { stdin: 'pipe', history_bytes: 16 << 20, ...more });

    it('text, base64 and raw bytes', async () => {
        const p = await cat();
        assert.deepEqual(await input(p.id, { data: 'h\u00e9llo ' }), { accepted_bytes: 7 });
        assert.deepEqual(
            await input(p.id, { data: Buffer.from([0, 255, 10]).toString('base64'), encoding: 'base64' }),
            { accepted_bytes: 3 },
        );
        const raw = await d.api('POST', `/v1/processes/${p.id}/input`, {
            body: Buffer.from([1, 2, 0, 254]),
            headers: RAW,
            expect: 200,
        });
        assert.deepEqual(raw.json, { accepted_bytes: 4 });
        await input(p.id, { eof: true });
        await d.exitOf(p.id);
        assert.deepEqual(await d.output(p.id), Buffer.from([...Buffer.from('h\u00e9llo '), 0, 255, 10, 1, 2, 0, 254]));
    });

    it('end of file with and without data', async () => {
        const p = await cat();
        assert.deepEqual(await input(p.id, { data: 'last', eof: true }), { accepted_bytes: 4 });
        assert.equal((await d.exitOf(p.id)).exit_code, 0);
        const q = await cat();
        await input(q.id, { eof: true });
        await waitUntil(
            async () =>
                (await d.request('POST', `/v1/processes/${q.id}/input`, { json: { data: 'x' } })).status === 409,
            'closed',
        );
    });

    it('?eof=1 ends the input behind a raw body', async () => {
        const p = await cat();
        const a = await d.api('POST', `/v1/processes/${p.id}/input?eof=1`, {
            body: Buffer.from('raw, and the end'),
            headers: RAW,
            expect: 200,
        });
        assert.deepEqual(a.json, { accepted_bytes: 16 });
        await d.exitOf(p.id);
        assert.equal((await d.output(p.id)).toString(), 'raw, and the end');
    });

    it('end of file on a terminal is its character', async () => {
        const p = await d.sh('cat; echo "[over]"', { pty: true });
        await input(p.id, { data: 'line\n', eof: true });
        await d.outputHas(p.id, '[over]');
        await d.exitOf(p.id);
    });

    it('keys become the sequences of a terminal', async () => {
        const p = await d.sh('stty raw -echo; echo ready; exec od -An -tx1 -v -w1', { pty: true });
        await d.outputHas(p.id, 'ready');
        const before = (await d.output(p.id)).length;
        const keys = [
            'Enter',
            'Tab',
            'Escape',
            'Backspace',
            'Up',
            'Down',
            'Right',
            'Left',
            'Home',
            'End',
            'PageUp',
            'PageDown',
            'Delete',
            'Insert',
            'F1',
            'F5',
            'F12',
            'Ctrl-C',
            'Ctrl-A',
            'Alt-x',
            'Space',
        ];
        const want = [
            [13],
            [9],
            [27],
            [127],
            [27, 91, 65],
            [27, 91, 66],
            [27, 91, 67],
            [27, 91, 68],
            [27, 91, 72],
            [27, 91, 70],
            [27, 91, 53, 126],
            [27, 91, 54, 126],
            [27, 91, 51, 126],
            [27, 91, 50, 126],
            [27, 79, 80],
            [27, 91, 49, 53, 126],
            [27, 91, 50, 52, 126],
            [3],
            [1],
            [27, 120],
            [32],
        ].flat();
        const r = await input(p.id, { keys });
        assert.equal(r.accepted_bytes, want.length);
        const got = await waitUntil(async () => {
            const text = (await d.output(p.id)).subarray(before).toString();
            const bytes = text
                .trim()
                .split(/\s+/)
                .map((h) => parseInt(h, 16));
            return bytes.length >= want.length ? bytes : null;
        }, 'the keys');
        assert.deepEqual(got, want);
        await d.remove(p.id);
    });

    it('data and keys in one call, data first', async () => {
        const p = await d.sh('read a; echo "got:$a"', { pty: true });
        await input(p.id, { data: 'words', keys: ['Enter'] });
        await d.outputHas(p.id, 'got:words');
        await d.exitOf(p.id);
    });

    it('application cursor keys are known', async () => {
        const p = await d.sh(
            `stty raw -echo; printf '\\033[?1hready'; dd bs=1 count=3 2>/dev/null | od -An -tx1; echo over`,
            { pty: true },
        );
        await d.outputHas(p.id, 'ready');
        await input(p.id, { keys: ['Up'] });
        const out = await d.outputHas(p.id, 'over');
        assert.match(out, /1b 4f 41/);
    });

    it('10 MB arrive once and in order, at the pace of the reader', async () => {
        const total = 10 << 20;
        const p = await d.sh('exec cat', { stdin: 'pipe', history_bytes: 16 << 20 });
        const a = await d.request('POST', `/v1/processes/${p.id}/input`, {
            body: expectedBytes(41, 0, total),
            headers: RAW,
            timeoutMs: 60000,
        });
        assert.equal(a.status, 200, a.text);
        assert.deepEqual(a.json, { accepted_bytes: total });
        await input(p.id, { eof: true });
        await d.exitOf(p.id, 30000);
        const out = await d.output(p.id, '?since=0');
        assert.equal(out.length, total);
        checkBytes(41, 0, out);
    });

    it('a process that does not read holds the sender, and nobody else', async () => {
        const p = await d.sh('exec sleep 300', { stdin: 'pipe' });
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, `POST /v1/processes/${p.id}/input`, { headers: { ...RAW, 'Content-Length': 50 << 20 } }),
        );
        const block = Buffer.alloc(1 << 20);
        for (let i = 0; i < 50; i++) c.send(block);
        await waitUntil(() => c.socket.writableLength > 10 << 20, 'the sender to be held');
        const held = c.socket.writableLength;
        await holdsFor(300, () => c.socket.writableLength >= held - (4 << 20), 'the daemon does not take it all');
        assert.equal((await d.request('GET', '/healthz')).status, 200);
        const q = await cat();
        await input(q.id, { data: 'not held', eof: true });
        await d.exitOf(q.id);
        // The end of the process ends the waiting, and says how much was taken.
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'KILL' }, expect: 200 });
        const a = await c.response({ ms: 20000 });
        assert.equal(a.status, 409);
        const problem = JSON.parse(a.body);
        assert.ok(['not_running', 'stdin_closed'].includes(problem.code));
        assert.ok(problem.accepted_bytes >= 4096 && problem.accepted_bytes < 2 << 20, a.body.toString());
        c.destroy();
    });

    it('an unfinished body leaves what was taken and no more', async () => {
        const p = await cat();
        const c = await RawConn.connect(d);
        c.send(
            requestBytes(d, `POST /v1/processes/${p.id}/input`, { headers: { ...RAW, 'Content-Length': 100 } }),
            'only this',
        );
        await d.outputHas(p.id, 'only this');
        c.destroy();
        await input(p.id, { data: ' and this', eof: true });
        await d.exitOf(p.id);
        assert.equal((await d.output(p.id)).toString(), 'only this and this');
    });

    it('refusals', async () => {
        const p = await cat();
        const at = `/v1/processes/${p.id}/input`;
        await d.refused('unknown_field', 'POST', at, { json: { text: 'x' } });
        await d.refused('bad_type', 'POST', at, { json: { data: 5 } });
        await d.refused('bad_type', 'POST', at, { json: { keys: 'Enter' } });
        await d.refused('bad_value', 'POST', at, { json: { keys: ['Hyper-Q'] } });
        await d.refused('bad_value', 'POST', at, { json: { data: 'x', encoding: 'rot13' } });
        await d.refused('bad_value', 'POST', at, { json: { data: '!!!', encoding: 'base64' } });
        await d.refused('no_such_process', 'POST', '/v1/processes/proc_none/input', { json: { data: 'x' } });
        await input(p.id, { eof: true });
        await d.exitOf(p.id);
        await d.refused('not_running', 'POST', at, { json: { data: 'x' } });
        const q = await d.sh('sleep 300');
        await d.refused('stdin_closed', 'POST', `/v1/processes/${q.id}/input`, { json: { data: 'x' } });
        await d.refused('stdin_closed', 'POST', `/v1/processes/${q.id}/input`, {
            body: Buffer.from('x'),
            headers: RAW,
        });
        await d.remove(q.id);
    });

    it('a process that closed its input is not waited for', async () => {
        const p = await d.sh('exec <&-; echo closed; sleep 300', { stdin: 'pipe' });
        await d.outputHas(p.id, 'closed');
        await waitUntil(async () => {
            const a = await d.request('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x' } });
            return a.status === 409 && a.json.code === 'stdin_closed';
        }, 'stdin_closed');
        await d.remove(p.id);
    });
});
