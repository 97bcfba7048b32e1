// SPDX-License-Identifier: Apache-2.0
// The SDK's files, against the real daemon.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { sandboxOf } from '../../lib/sdk.mjs';

withDaemon('sdk files', {}, (d) => {
    const at = (...names) => path.join(d.dir, 's', ...names);
    const files = () => sandboxOf(d).files;
    const code = (wanted) => (err) => err.code === wanted || assert.fail(`${err.code} instead of ${wanted}: ${err.message}`);

    it('text, bytes and streams go both ways', async () => {
        const bytes = crypto.randomBytes(500000);
        const made = await files().write(at('text'), 'grüße', { mode: '0600' });
        assert.deepEqual([made.path, made.mode, made.size, typeof made.modifiedAt], [at('text'), '0600', 7, 'string']);
        assert.equal(await files().readText(at('text')), 'grüße');
        for (const body of [bytes, new Blob([bytes]), new Blob([bytes]).stream(), new Uint8Array(bytes).buffer]) {
            await files().write(at('bytes'), body);
            assert.ok(Buffer.from(await files().read(at('bytes'))).equals(bytes));
        }
        const parts = [];
        for await (const part of await files().readStream(at('bytes'))) parts.push(part);
        assert.ok(Buffer.concat(parts).equals(bytes));
    });

    it('parts, appending, versions', async () => {
        const first = await files().write(at('part'), '0123456789');
        assert.equal(await files().readText(at('part'), { offset: 3, length: 4 }), '3456');
        assert.equal(await files().readText(at('part'), { offset: 8 }), '89');
        assert.equal(await files().readText(at('part'), { length: 0 }), '');
        assert.equal((await files().write(at('part'), 'ab', { append: true })).size, 12);
        await assert.rejects(files().write(at('part'), 'x', { ifMatch: first.etag }), code('precondition_failed'));
        await assert.rejects(files().write(at('part'), 'x', { exclusive: true }), code('file_exists'));
        await assert.rejects(files().read(at('part'), { offset: 100 }), code('range_not_satisfiable'));
    });

    it('trees: mkdir, list, copy, move, permissions, search, replace, remove', async () => {
        const f = files();
        await f.mkdir(at('t/in'), { mode: '0700' });
        await f.write(at('t/in/file'), 'a needle here');
        assert.deepEqual((await f.list(at('t'), { depth: 2 })).entries.map((e) => e.name), ['in', 'file']);
        assert.equal((await f.copy(at('t'), at('u'), { recursive: true })).skipped, 0);
        assert.equal((await f.move(at('u/in/file'), at('v'))).path, at('v'));
        assert.equal((await f.permissions(at('v'), { mode: '0640' })).mode, '0640');
        assert.deepEqual((await f.search(at('t'), { text: 'NEEDLE', ignoreCase: true })).results.map((r) => [r.path, r.line]), [[at('t/in/file'), 1]]);
        assert.equal((await f.replace(at('v'), 'needle', 'thread')).replaced, 1);
        assert.equal(fs.readFileSync(at('v'), 'utf8'), 'a thread here');
        assert.deepEqual([await f.exists(at('v')), await f.exists(at('none')), await f.exists(at('v/below'))], [true, false, false]);
        await assert.rejects(f.remove(at('t')), code('directory_not_empty'));
        await f.remove(at('t'), { recursive: true });
        await assert.rejects(f.stat(at('t')), code('no_such_file'));
    });

    it('archives are streams', async () => {
        const f = files();
        await f.write(at('from/a/b'), 'x'.repeat(100000));
        for (const format of ['tar', 'tar.gz']) {
            const all = await f.writeArchive(at('to', format), await f.readArchive(at('from'), { format }), { format });
            assert.deepEqual([all.entries, all.bytes, all.skipped], [2, 100000, 0]);
            assert.equal(fs.statSync(at('to', format, 'a/b')).size, 100000);
        }
    });
});
