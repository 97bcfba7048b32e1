// SPDX-License-Identifier: Apache-2.0
// GET /v1/processes: order, filters, pages.

import assert from 'node:assert/strict';
import { before, it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';

withDaemon('list', {}, (d) => {
    let made;
    before(async () => {
        made = [];
        for (let i = 0; i < 9; i++) {
            made.push(
                await d.sh(i % 3 === 0 ? 'exit 0' : 'sleep 300', {
                    pty: i % 2 ? true : undefined,
                    tag: `t${i}`,
                    label: i < 5 ? 'first half' : 'second half',
                    session_id: i % 3 === 1 ? 'one' : undefined,
                    source: ['user', 'agent', 'system'][i % 3],
                }),
            );
        }
        for (const i of [0, 3, 6]) await d.exitOf(made[i].id);
    });
    const ids = (list) => list.map((p) => p.id);
    const where = (fn) =>
        made
            .filter((_, i) => fn(i))
            .map((p) => p.id)
            .reverse();

    it('newest first', async () => {
        assert.deepEqual(
            ids(await d.list()),
            where(() => true),
        );
    });

    it('filters', async () => {
        assert.deepEqual(
            ids(await d.list('?status=exited')),
            where((i) => i % 3 === 0),
        );
        assert.deepEqual(
            ids(await d.list('?status=running')),
            where((i) => i % 3 !== 0),
        );
        assert.deepEqual(
            ids(await d.list('?pty=true')),
            where((i) => i % 2 === 1),
        );
        assert.deepEqual(
            ids(await d.list('?pty=false')),
            where((i) => i % 2 === 0),
        );
        assert.deepEqual(
            ids(await d.list('?tag=t4')),
            where((i) => i === 4),
        );
        assert.deepEqual(
            ids(await d.list('?session_id=one')),
            where((i) => i % 3 === 1),
        );
        assert.deepEqual(
            ids(await d.list('?source=agent')),
            where((i) => i % 3 === 1),
        );
        assert.deepEqual(
            ids(await d.list('?label=first%20half')),
            where((i) => i < 5),
        );
        assert.deepEqual(
            ids(await d.list('?status=running&pty=true&label=first+half')),
            where((i) => i % 3 !== 0 && i % 2 === 1 && i < 5),
        );
        assert.deepEqual(await d.list('?tag=none'), []);
    });

    it('pages, to the last one', async () => {
        const seen = [];
        let after = '';
        let rounds = 0;
        do {
            const a = (await d.api('GET', `/v1/processes?limit=4${after}`, { expect: 200 })).json;
            assert.ok(a.processes.length <= 4);
            seen.push(...ids(a.processes));
            after = a.next ? `&after=${encodeURIComponent(a.next)}` : null;
            rounds++;
        } while (after);
        assert.deepEqual(
            seen,
            where(() => true),
        );
        assert.equal(rounds, 3);
    });

    it('a page goes on where it was although newer ones came and shown ones went', async () => {
        const first = (await d.api('GET', '/v1/processes?limit=3', { expect: 200 })).json;
        const extra = await d.sh('sleep 300');
        const second = (await d.api('GET', `/v1/processes?limit=3&after=${first.next}`, { expect: 200 })).json;
        assert.deepEqual(ids(second.processes), where(() => true).slice(3, 6));
        await d.remove(extra.id);
    });

    it('a page that begins behind a process that is gone is refused', async () => {
        const extra = await d.sh('sleep 300');
        const first = (await d.api('GET', '/v1/processes?limit=1', { expect: 200 })).json;
        await d.remove(extra.id);
        await d.refused('bad_query', 'GET', `/v1/processes?limit=3&after=${first.next}`);
    });

    it('bad filters', async () => {
        for (const q of [
            '?status=dead',
            '?pty=maybe',
            '?limit=0',
            '?limit=x',
            '?limit=1000000',
            '?after=%20',
            '?source=robot',
            '?foo=1',
            '?status=running&status=exited',
        ]) {
            await d.refused('bad_query', 'GET', `/v1/processes${q}`);
        }
    });

    it('an empty list is a list', async () => {
        await d.removeAll();
        assert.deepEqual((await d.api('GET', '/v1/processes', { expect: 200 })).json, { processes: [], next: null });
    });
});
