// SPDX-License-Identifier: Apache-2.0
// The exit comes after the last byte, and a grandchild that holds the output does not hold the exit.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('exit order', {}, (d) => {
    for (const pty of [undefined, true]) {
        const how = pty ? 'terminal' : 'pipes';

        it(`everything written just before the exit is there (${how})`, async () => {
            for (const n of [1, 4095, 4096, 4097, 65536, 65537, 200000]) {
                const p = await d.spawn({
                    command: emit(),
                    args: ['-n', String(n), '-s', String(n), '-c', '65536', '-x', '5'],
                    pty,
                });
                const v = await Viewer.attach(d, p.id, { query: { since: '0', terminal: '0' } });
                assert.equal((await v.finish()).exit_code, 5);
                assert.equal(v.at, n);
                checkBytes(n, 0, v.output);
            }
        });

        it(`a grandchild that holds the output does not delay the exit (${how})`, async () => {
            const go = path.join(d.dir, `go-${how}`);
            const p = await d.sh(`echo first; (trap '' HUP; until [ -e ${go} ]; do sleep 0.02; done; echo second; sleep 300) & exit 3`, { pty });
            const e = await d.exitOf(p.id);
            assert.equal(e.exit_code, 3);
            assert.ok((await d.output(p.id)).includes('first'));
            if (!pty) {
                assert.equal(e.output.open, true, 'the output is still open');
                fs.writeFileSync(go, '');
                await d.outputHas(p.id, 'second');
                const later = await d.get(p.id);
                assert.equal(later.status, 'exited');
                assert.ok(later.output.next > e.output.next);
            }
            await d.remove(p.id);
        });

        it(`a grandchild that floods does not delay the exit beyond its bound (${how})`, async () => {
            const p = await d.sh(`(trap '' HUP; exec yes) & sleep 0.2; exit 4`, { pty });
            const v = await Viewer.attach(d, p.id, { query: { since: 'now' }, keep: false });
            const x = await v.finish(20000);
            assert.equal(x.exit_code, 4);
            await d.remove(p.id);
        });
    }

    it('output.open turns false when the last holder is gone', async () => {
        const p = await d.sh('(sleep 0.6; echo late) & exit 0');
        await d.exitOf(p.id);
        await waitUntil(async () => (await d.get(p.id)).output.open === false, 'the end of the output');
        assert.equal((await d.output(p.id)).toString(), 'late\n');
    });

    it('a process that closes its output lives on', async () => {
        const p = await d.sh('echo bye; exec >&- 2>&-; sleep 300');
        await waitUntil(async () => (await d.get(p.id)).output.open === false, 'closed');
        assert.equal((await d.get(p.id)).status, 'running');
        const r = await d.remove(p.id);
        assert.equal(r.exit.kind, 'killed');
    });

    it('a terminal whose program ends with unread output loses nothing', async () => {
        for (let i = 0; i < 30; i++) {
            const p = await d.spawn({
                command: emit(),
                args: ['-n', '50000', '-s', String(i), '-c', '50000'],
                pty: true,
            });
            await d.exitOf(p.id);
            const out = await d.output(p.id, '?since=0');
            assert.equal(out.length, 50000);
            checkBytes(i, 0, out);
            await d.remove(p.id);
        }
    });
});
