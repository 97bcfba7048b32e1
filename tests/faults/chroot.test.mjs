// SPDX-License-Identifier: Apache-2.0
// The static release binary in a root directory that holds nothing else.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { test } from '../lib/test.mjs';
import { Viewer } from '../lib/client.mjs';
import { Daemon, releaseBinary } from '../lib/daemon.mjs';
import { checkBytes, emit } from '../lib/gen.mjs';

const bin = releaseBinary();
const skip = (!bin && 'no release binary') || (process.getuid() !== 0 && 'needs root');

test('the release binary is static and stripped', { skip: !bin && 'no release binary' }, () => {
    const bytes = fs.readFileSync(bin);
    assert.equal(bytes.subarray(0, 4).toString('latin1'), '\x7fELF');
    const headers = execFileSync('readelf', ['-lS', bin]).toString();
    assert.ok(!/INTERP/.test(headers), 'it asks for a loader');
    assert.ok(!/\.symtab/.test(headers), 'it has symbols');
    assert.ok(bytes.length <= 3_200_000, `${bytes.length} bytes`);
    assert.ok(
        !bytes.includes('/root/') && !bytes.includes(process.cwd()),
        'it names a path of the machine it was built on',
    );
});

test('it serves from an empty root', { skip }, async () => {
    const d = new Daemon({ before: ['chroot', 'DIR'], bin: '/holdfast', fdBaseline: false }).prepare();
    d.options.before = ['chroot', d.dir];
    fs.copyFileSync(bin, `${d.dir}/holdfast`);
    fs.copyFileSync(emit(), `${d.dir}/emit`);
    fs.chmodSync(`${d.dir}/holdfast`, 0o755);
    fs.chmodSync(`${d.dir}/emit`, 0o755);
    fs.chmodSync(d.dir, 0o755);
    d.tokenFile = '/tokens';
    await d.start();
    try {
        assert.equal((await d.request('GET', '/healthz')).status, 200);
        const p = await d.spawn({ command: '/emit', args: ['-n', '200000', '-s', '7', '-x', '6'], cwd: '/' });
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        assert.equal((await v.finish()).exit_code, 6);
        checkBytes(7, 0, v.output);
        const r = await d.api('POST', '/v1/processes/run', {
            json: { command: '/holdfast', args: ['--version'] },
            expect: 200,
        });
        assert.match(r.json.stdout, /\d+\.\d+/);
        await d.refused('no_pty', 'POST', '/v1/processes', { json: { command: '/emit', pty: true } });
        await d.refused('spawn_failed', 'POST', '/v1/processes', { json: { command: 'sh' } });
        await d.refused('user_unknown', 'POST', '/v1/processes', { json: { command: '/emit', user: 'nobody' } });
        await d.refused('spawn_failed', 'POST', '/v1/processes', { json: { command: 'x', shell: true } });
        const byNumber = await d.api('POST', '/v1/processes/run', {
            json: { command: '/emit', args: ['-n', '3'], user: '1234' },
            expect: 200,
        });
        assert.equal(byNumber.json.exit_code, 0);
    } finally {
        await d.stop();
    }
});
