// SPDX-License-Identifier: Apache-2.0
// POST …/resize, windows of viewers, and the policies between them.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('resize', {}, (d) => {
    const resize = (id, rows, cols) => d.api('POST', `/v1/processes/${id}/resize`, { json: { rows, cols } });
    const sizeOf = async (id) => {
        const p = await d.get(id);
        return [p.rows, p.cols];
    };
    const sizeIs = (id, want) =>
        waitUntil(async () => JSON.stringify(await sizeOf(id)) === JSON.stringify(want), `size ${want}`);

    it('the program sees the new size and SIGWINCH', async () => {
        const p = await d.sh('trap "stty size" WINCH; echo ready; while :; do sleep 0.05; done', {
            pty: { rows: 24, cols: 80 },
        });
        await d.outputHas(p.id, 'ready');
        assert.equal((await resize(p.id, 50, 132)).status, 200);
        await d.outputHas(p.id, '50 132');
        assert.deepEqual(await sizeOf(p.id), [50, 132]);
        for (const [r, c] of [
            [1, 1],
            [4096, 4096],
        ]) {
            assert.equal((await resize(p.id, r, c)).status, 200);
            await d.outputHas(p.id, `${r} ${c}`);
        }
        await d.remove(p.id);
    });

    it('sizes out of range', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const at = `/v1/processes/${p.id}/resize`;
        for (const [rows, cols] of [
            [0, 80],
            [24, 0],
            [4097, 80],
            [24, 4097],
            [-1, 80],
            [1e12, 80],
        ])
            await d.refused('bad_size', 'POST', at, { json: { rows, cols } });
        for (const [rows, cols] of [
            ['24', 80],
            [24.5, 80],
            [null, 80],
            [[], 80],
        ])
            await d.refused('bad_type', 'POST', at, { json: { rows, cols } });
        await d.refused('missing_field', 'POST', at, { json: { rows: 24 } });
        await d.refused('missing_field', 'POST', at, { json: {} });
        await d.refused('unknown_field', 'POST', at, { json: { rows: 24, cols: 80, depth: 3 } });
        assert.deepEqual(await sizeOf(p.id), [24, 80]);
        await d.remove(p.id);
    });

    it('pipes have no size', async () => {
        const p = await d.sh('sleep 300');
        await d.refused('not_a_terminal', 'POST', `/v1/processes/${p.id}/resize`, { json: { rows: 24, cols: 80 } });
        assert.deepEqual(await sizeOf(p.id), [null, null]);
        await d.remove(p.id);
    });

    it('the dead have none either', async () => {
        const p = await d.sh('exit 0', { pty: true });
        await d.exitOf(p.id);
        await d.refused('not_running', 'POST', `/v1/processes/${p.id}/resize`, { json: { rows: 24, cols: 80 } });
        await d.refused('no_such_process', 'POST', '/v1/processes/proc_none/resize', { json: { rows: 24, cols: 80 } });
    });

    const windows = async (policy, act) => {
        const p = await d.sh('sleep 300', { pty: { rows: 24, cols: 80 }, size_policy: policy });
        const a = await Viewer.attach(d, p.id, { query: { rows: '40', cols: '100' } });
        const b = await Viewer.attach(d, p.id, { query: { rows: '30', cols: '120' } });
        await act(p, a, b);
        a.cut();
        b.cut();
        await d.remove(p.id);
    };

    it('latest: who came or moved last decides', () =>
        windows('latest', async (p, a) => {
            await sizeIs(p.id, [30, 120]);
            a.control({ type: 'resize', rows: 41, cols: 101 });
            await sizeIs(p.id, [41, 101]);
            const s = await a.message('size', 5000, (m) => m.rows === 41);
            assert.equal(s.cols, 101);
        }));

    it('smallest: everybody sees everything', () =>
        windows('smallest', async (p, a, b) => {
            await sizeIs(p.id, [30, 100]);
            b.cut();
            await sizeIs(p.id, [40, 100]);
            a.control({ type: 'resize', rows: 10, cols: 20 });
            await sizeIs(p.id, [10, 20]);
        }));

    it('fixed: windows change nothing, the call does', () =>
        windows('fixed', async (p, a) => {
            a.control({ type: 'resize', rows: 10, cols: 20 });
            await a.message('hello');
            assert.deepEqual(await sizeOf(p.id), [24, 80]);
            await resize(p.id, 33, 66);
            await sizeIs(p.id, [33, 66]);
        }));

    it('owner: the first window decides while it is there', () =>
        windows('owner', async (p, a, b) => {
            await sizeIs(p.id, [40, 100]);
            b.control({ type: 'resize', rows: 10, cols: 20 });
            a.control({ type: 'resize', rows: 44, cols: 104 });
            await sizeIs(p.id, [44, 104]);
        }));

    const window = (p, rows, cols, client) =>
        Viewer.attach(d, p.id, { query: { rows: String(rows), cols: String(cols), ...(client ? { client } : {}) } });
    const sizes = (v) => v.messages.filter((m) => m.type === 'size').map((m) => `${m.rows}x${m.cols}`);

    it('latest: when who decided goes, the one before decides again; a call counts as well', async () => {
        const p = await d.sh('sleep 300', { pty: true, size_policy: 'latest' });
        const a = await window(p, 40, 100);
        const b = await window(p, 30, 120);
        const c = await window(p, 20, 60);
        await sizeIs(p.id, [20, 60]);
        b.cut();
        c.cut();
        await sizeIs(p.id, [40, 100]);
        await resize(p.id, 11, 22);
        await sizeIs(p.id, [11, 22]);
        const e = await window(p, 50, 50);
        await sizeIs(p.id, [50, 50]);
        await resize(p.id, 12, 23);
        e.cut();
        await a.message('viewers', 5000, (m) => m.count === 1);
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { size_policy: 'smallest' }, expect: 200 });
        await sizeIs(p.id, [40, 100]);
        assert.ok(!sizes(a).slice(sizes(a).indexOf('12x23')).includes('50x50'));
        a.cut();
        await d.remove(p.id);
    });

    it('smallest: of all who are there, as they come and go', async () => {
        const p = await d.sh('sleep 300', { pty: true, size_policy: 'smallest' });
        const a = await window(p, 40, 100);
        await sizeIs(p.id, [40, 100]);
        const b = await window(p, 50, 60);
        await sizeIs(p.id, [40, 60]);
        const c = await window(p, 20, 200);
        await sizeIs(p.id, [20, 60]);
        const watcher = await Viewer.attach(d, p.id, { role: 'watch', query: { rows: '5', cols: '5' } });
        b.cut();
        await sizeIs(p.id, [20, 100]);
        c.cut();
        await sizeIs(p.id, [40, 100]);
        a.cut();
        watcher.cut();
        await d.remove(p.id);
    });

    it('owner: the first, then the next; but not for a reconnect', async () => {
        const p = await d.sh('sleep 300', { pty: true, size_policy: 'owner' });
        const a = await window(p, 40, 100, 'a');
        const b = await window(p, 30, 120, 'b');
        await sizeIs(p.id, [40, 100]);
        const again = await window(p, 41, 101, 'a');
        await sizeIs(p.id, [41, 101]);
        assert.ok(!sizes(b).includes('30x120'), 'b was not the owner in between');
        again.cut();
        await sizeIs(p.id, [30, 120]);
        const late = await window(p, 42, 102, 'a');
        b.control({ type: 'resize', rows: 31, cols: 121 });
        await sizeIs(p.id, [31, 121]);
        assert.ok(!sizes(late).includes('42x102'));
        for (const v of [a, b, late]) v.cut();
        await d.remove(p.id);
    });

    it('fixed: neither coming nor going matters', async () => {
        const p = await d.sh('sleep 300', { pty: { rows: 24, cols: 80 }, size_policy: 'fixed' });
        const a = await window(p, 40, 100);
        const b = await window(p, 30, 120);
        b.cut();
        await a.message('viewers', 5000, (m) => m.count === 1);
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { size_policy: 'owner' }, expect: 200 });
        await sizeIs(p.id, [40, 100]);
        assert.deepEqual(sizes(a), ['40x100'], 'nothing before that');
        a.cut();
        await d.remove(p.id);
    });

    /* A dragged window made a full-screen program redraw a hundred times. */
    it('many changes at once become few, and the last one counts', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const a = await window(p, 100, 100);
        for (let i = 1; i <= 200; i++) a.control({ type: 'resize', rows: 100 + i, cols: 100 });
        await sizeIs(p.id, [300, 100]);
        assert.ok(sizes(a).length <= 60, `${sizes(a).length} sizes of 200`);
        assert.equal(sizes(a).at(-1), '300x100');
        a.cut();
        await d.remove(p.id);
    });

    it('a bad window over the WebSocket is an error, not an end', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const v = await Viewer.attach(d, p.id);
        v.control({ type: 'resize', rows: 0, cols: 80 });
        assert.equal((await v.message('error')).code, 'bad_size');
        v.control({ type: 'resize', rows: 25, cols: 81 });
        await sizeIs(p.id, [25, 81]);
        v.cut();
        await d.remove(p.id);
    });
});
