// SPDX-License-Identifier: Apache-2.0
// An agent that has nothing but HTTP edits a file in vim: keys, waits and the screen, and no sleep anywhere.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { report, scaled } from '../../lib/scale.mjs';

const LONG = 60000;
const has = (name) => (process.env.PATH ?? '').split(':').some((dir) => fs.existsSync(`${dir}/${name}`));

withDaemon('an agent in vim', {}, (d) => {
    const wait = async (id, until, from) =>
        (await d.api('POST', `/v1/processes/${id}/wait`, { json: { until, from, timeout_ms: LONG }, expect: 200 }))
            .json;
    const type = (id, json) => d.api('POST', `/v1/processes/${id}/input`, { json, expect: 200 });

    it('opens vim, writes a file, saves and quits', { skip: !has('vim') && 'no vim here' }, async () => {
        const rounds = scaled(100, 5);
        for (let i = 0; i < rounds; i++) {
            const file = `${d.dir}/file-${i}`;
            const p = await d.spawn({
                command: 'vim',
                args: ['-u', 'NONE', '-N', '-n', '--', file],
                pty: true,
                env: { TERM: 'xterm-256color' },
            });
            let w = await wait(p.id, [{ blocked_on_tty: true }], 0);
            assert.equal(w.matched, 'blocked_on_tty', JSON.stringify(w));
            await type(p.id, { data: 'i' });
            w = await wait(p.id, [{ text: 'INSERT' }], w.next);
            assert.equal(w.matched, 'text', JSON.stringify(w));
            await type(p.id, { data: `line one of ${i}`, keys: ['Enter'] });
            await type(p.id, { data: 'line two', keys: ['Home', 'Up', 'End', '!', 'Escape'] });
            w = await wait(p.id, [{ blocked_on_tty: true }], w.next);
            assert.equal(w.matched, 'blocked_on_tty', JSON.stringify(w));
            await type(p.id, { data: ':w', keys: ['Enter'] });
            w = await wait(p.id, [{ text: 'written' }, { exit: true }], w.next);
            assert.equal(w.matched, 'text', JSON.stringify(w));
            assert.equal(fs.readFileSync(file, 'utf8'), `line one of ${i}!\nline two\n`);
            const screen = (await d.request('GET', `/v1/processes/${p.id}/screen?format=text`)).text;
            assert.deepEqual(screen.split('\n').slice(0, 3), [`line one of ${i}!`, 'line two', '~']);
            await type(p.id, { data: ':q', keys: ['Enter'] });
            w = await wait(p.id, [{ exit: true }], w.next);
            assert.deepEqual([w.matched, w.exit_code], ['exit', 0], JSON.stringify(w));
        }
        report(`vim opened, written and left ${rounds} of ${rounds} times`);
    });
});
