// SPDX-License-Identifier: Apache-2.0
// What cannot or must not be started: a clear error each, and the process list unchanged.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { afterEach, before, it } from '../../lib/test.mjs';
import { checkProblem, withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { exchange, requestBytes } from '../../lib/raw.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('spawn refusals', {}, (d) => {
    let known;
    before(async () => {
        await d.sh('sleep 300', { tag: 'taken' });
        known = (await d.list()).map((p) => p.id);
    });
    afterEach(async () => {
        const now = (await d.list()).map((p) => p.id);
        for (const id of now.filter((x) => !known.includes(x))) await d.remove(id); // the next test starts clean
        assert.deepEqual(now, known, 'the process list changed');
        // One that could not be executed has told so, and is on its way out.
        await waitUntil(() => proc.childrenOf(d.keeperPid()).filter((s) => s.state !== 'Z').length === 2, 'no child that no record knows');
    });
    const both = async (code, body, check = () => {}) => {
        for (const path of ['/v1/processes', '/v1/processes/run'])
            check(await d.refused(code, 'POST', path, { json: body }), path);
    };

    it('unknown fields, at every level', async () => {
        await both('unknown_field', { command: 'true', timout_ms: 5 }, (p) =>
            assert.ok(p.detail.includes('timout_ms'), p.detail),
        );
        await both('unknown_field', { command: 'true', pty: { rows: 1, cols: 1, x: 1 } });
        await both('unknown_field', { command: 'true', limits: { cpu: 1 } });
        await both('unknown_field', { command: 'true', on_detach: { kill_after: 1 } });
        await both('unknown_field', { command: 'true', '': 1 });
        await d.refused('unknown_field', 'POST', '/v1/processes', { json: { command: 'true', max_output_bytes: 1 } });
    });

    it('a missing command', async () => {
        await both('missing_field', {});
        await both('missing_field', { args: ['x'] });
    });

    it('wrong types', async () => {
        const wrong = [
            { command: 1 },
            { command: null },
            { command: ['ls'] },
            { command: 'true', args: 'x' },
            { command: 'true', args: [1] },
            { command: 'true', args: [null] },
            { command: 'true', env: [] },
            { command: 'true', env: { A: 1 } },
            { command: 'true', cwd: 5 },
            { command: 'true', pty: 'yes' },
            { command: 'true', pty: { rows: '24', cols: 80 } },
            { command: 'true', timeout_ms: '5' },
            { command: 'true', timeout_ms: 1.5 },
            { command: 'true', tag: 7 },
            { command: 'true', metadata: [] },
            { command: 'true', shell: 1 },
            { command: 'true', limits: 5 },
            { command: 'true', limits: { cpu_s: 'x' } },
            { command: 'true', on_detach: 5 },
            { command: 'true', input: 5 },
            { command: 'true', user: 0 },
            { command: 'true', stdin: true },
            { command: 'true', clear_env: 'yes' },
            { command: 'true', history_bytes: {} },
        ];
        for (const body of wrong) await both('bad_type', body);
    });

    it('values out of range', async () => {
        const wrong = [
            { command: '' },
            { command: 'true', timeout_ms: -1 },
            { command: 'true', timeout_ms: 1e17 },
            { command: 'true', grace_ms: -5 },
            { command: 'true', idle_timeout_ms: -1 },
            { command: 'true', retain_ms: -2 },
            { command: 'true', history_bytes: -1 },
            { command: 'true', history_bytes: 1e15 },
            { command: 'true', stdin: 'file' },
            { command: 'true', source: 'robot' },
            { command: 'true', on_detach: 'die' },
            { command: 'true', on_detach: { kill_after_ms: -1 } },
            { command: 'true', delivery: 'fast' },
            { command: 'true', size_policy: 'huge' },
            { command: 'true', limits: { cpu_s: -1 } },
            { command: 'true', limits: { nice: 100 } },
            { command: 'true', limits: { oom_score_adj: 5000 } },
            { command: 'true', limits: { open_files: -3 } },
            { command: 'true', tag: '' },
            { command: 'true', tag: 'x'.repeat(200) },
            { command: 'true', label: 'x'.repeat(2000) },
            { command: 'true', metadata: { x: 'y'.repeat(20000) } },
            { command: 'true', env: { '': 'x' } },
            { command: 'true', env: { 'A=B': 'x' } },
            { command: 'true', stdin: 'inherit-pty' },
            { command: 'cat', input: '!', input_encoding: 'base64' },
            { command: 'true', pty: true, stdin: 'pipe' },
        ];
        for (const body of wrong) await both('bad_value', body);
    });

    it('absurd terminal sizes', async () => {
        for (const pty of [
            { rows: 0, cols: 80 },
            { rows: 24, cols: 0 },
            { rows: -1, cols: 80 },
            { rows: 4097, cols: 80 },
            { rows: 24, cols: 65536 },
            { rows: 2 ** 40, cols: 80 },
        ]) {
            await both('bad_size', { command: 'true', pty });
        }
    });

    it('bodies that are not JSON', async () => {
        const bad = [
            '',
            ' ',
            '{',
            '{"command":"true"',
            '{"command":"true"}x',
            '{"command":"true",}',
            "{'command':'true'}",
            '{"command":"true","command":"false"}',
            'null',
            '[]',
            '"true"',
            '5',
            '{"command": tru}',
            '{"command":"a\nb"}',
            '\ufeff{"command":"true"}',
            '{"command":"true","timeout_ms":01}',
            '{"command":"true","timeout_ms":NaN}',
            '{"command":"\\ud800"}',
            '// hello\n{}',
        ];
        for (const json of bad) {
            const a = await d.api('POST', '/v1/processes', { json });
            const code = a.json.code;
            checkProblem(
                a,
                ['bad_type', 'missing_field'].includes(code) && /^(null|\[|"|5)/.test(json)
                    ? code
                    : json === '' && code === 'length_required'
                      ? code
                      : 'bad_json',
                JSON.stringify(json),
            );
        }
    });

    it('a number beyond all numbers', async () => {
        for (const n of ['1e999', '99999999999999999999999', '-1e999']) {
            const a = await d.api('POST', '/v1/processes', { json: `{"command":"true","timeout_ms":${n}}` });
            assert.ok(['bad_json', 'bad_value', 'bad_type'].includes(a.json.code), a.text);
        }
    });

    it('bad UTF-8', async () => {
        for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
            const json = Buffer.concat([
                Buffer.from('{"command":"echo","args":["'),
                Buffer.from(bytes),
                Buffer.from('"]}'),
            ]);
            await d.refused('bad_json', 'POST', '/v1/processes', { json });
        }
    });

    it('10 MB of JSON', async () => {
        await d.refused('body_too_large', 'POST', '/v1/processes', {
            json: { command: 'true', label: 'x'.repeat(10 << 20) },
        });
        await d.refused('body_too_large', 'POST', '/v1/processes/run', {
            json: { command: 'true', args: Array.from({ length: 300000 }, () => 'some words for the argument') },
        });
    });

    it('deep nesting', async () => {
        for (const [a, b] of [
            ['[', ']'],
            ['{"a":', '}'],
        ]) {
            const depth = 20000;
            const inner = a === '[' ? '' : '1';
            await d.refused('bad_json', 'POST', '/v1/processes', {
                json: `{"command":"true","metadata":{"x":${a.repeat(depth)}${inner}${b.repeat(depth)}}}`,
            });
            await d.refused('bad_json', 'POST', '/v1/processes', { json: a.repeat(depth) });
        }
    });

    it('NUL bytes where the system cannot have them', async () => {
        for (const body of [
            { command: 'tr\u0000ue' },
            { command: 'echo', args: ['a\u0000b'] },
            { command: 'env', env: { A: 'x\u0000y' } },
            { command: 'pwd', cwd: '/tmp\u0000/x' },
            { command: 'true', user: 'ro\u0000ot' },
            { command: 'true', tag: 'a\u0000b' },
            { command: 'echo \u0000', shell: true },
        ]) {
            await both('bad_value', body);
        }
        await both('bad_json', { command: 'env', env: { 'A\u0000B': 'x' } });
    });

    it('a cwd that is not there, not a directory, or not allowed', async () => {
        fs.writeFileSync(`${d.dir}/file`, '');
        for (const [cwd, errno] of [
            ['/no/such/place', 'ENOENT'],
            [`${d.dir}/file`, 'ENOTDIR'],
            [`/${'x'.repeat(5000)}`, 'ENAMETOOLONG'],
        ]) {
            await both('spawn_failed', { command: 'pwd', cwd }, (p) => {
                assert.equal(p.errno, errno, JSON.stringify(p));
                if (errno !== 'ENAMETOOLONG') assert.equal(p.path, cwd);
            });
        }
    });

    it('commands that cannot be executed', async () => {
        fs.writeFileSync(`${d.dir}/plain`, 'no program', { mode: 0o644 });
        fs.writeFileSync(`${d.dir}/garbage`, '\x7fELFgarbage', { mode: 0o755 });
        fs.writeFileSync(`${d.dir}/noshell`, '#!/no/such/interpreter\n', { mode: 0o755 });
        for (const [command, errno] of [
            ['no-such-command-anywhere', 'ENOENT'],
            ['/no/such/file', 'ENOENT'],
            [`${d.dir}/plain`, 'EACCES'],
            [d.dir, 'EACCES'],
            [`${d.dir}/garbage`, 'ENOEXEC'],
            [`${d.dir}/noshell`, 'ENOENT'],
            [`${d.dir}/plain/x`, 'ENOTDIR'],
        ]) {
            for (const pty of [undefined, true]) {
                await both('spawn_failed', { command, pty }, (p) => {
                    assert.equal(p.errno, errno, JSON.stringify(p));
                    assert.ok(p.path.includes(command.split('/').pop()), JSON.stringify(p));
                });
            }
        }
    });

    it('arguments larger than the system allows', async () => {
        await both('spawn_failed', { command: 'echo', args: ['x'.repeat(200000)] }, (p) =>
            assert.equal(p.errno, 'E2BIG'),
        );
        await both('bad_value', { command: 'echo', args: Array.from({ length: 5000 }, () => 'x') });
        await both('bad_value', {
            command: 'env',
            env: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`V${i}`, 'x'])),
        });
    });

    it('unknown users', async () => {
        await both('user_unknown', { command: 'id', user: 'no_such_user_here' });
        for (const user of ['', '99999999999', '-1', '0:x']) {
            const a = await d.api('POST', '/v1/processes', { json: { command: 'id', user } });
            assert.ok(['user_unknown', 'bad_value'].includes(a.json.code), `${user}: ${a.text}`);
        }
    });

    it('a second use of a tag', async () => {
        await both('tag_in_use', { command: 'true', tag: 'taken' });
    });

    it('odd queries and methods on the collection', async () => {
        await d.refused('bad_query', 'POST', '/v1/processes?dry_run=1', { json: { command: 'true' } });
        await d.refused('method_not_allowed', 'PUT', '/v1/processes', { json: { command: 'true' } });
        await d.refused('method_not_allowed', 'DELETE', '/v1/processes');
        await d.refused('method_not_allowed', 'GET', '/v1/processes/run');
    });

    it('an Idempotency-Key that is none', async () => {
        for (const key of ['', 'x'.repeat(1000)]) {
            const a = await exchange(
                d,
                requestBytes(d, 'POST /v1/processes', {
                    body: '{"command":"true"}',
                    headers: { 'Idempotency-Key': key },
                }),
            );
            assert.equal(a.status, 400, `${key.length}`);
        }
    });

    it('many bad requests leave no descriptor or zombie behind', async () => {
        const before = d.fdCounts();
        for (let i = 0; i < 100; i++)
            await d.request('POST', '/v1/processes', {
                json: { command: '/no/such/file', pty: i % 2 === 0 || undefined },
            });
        /* The keeper may have made pipes ahead meanwhile; the connection of these requests is open yet. */
        const most = Math.max(before.keeper, d.baseline.keeper);
        await waitUntil(
            () => d.fdCounts().keeper <= most && d.fdCounts().worker <= before.worker + 1,
            'descriptors to return to the baseline',
        );
        await waitUntil(() => !proc.childrenOf(d.keeperPid()).some((s) => s.state === 'Z'), 'the dead to be reaped');
    });
});
