// SPDX-License-Identifier: Apache-2.0
// The published Hyperbrowser client, unchanged, against the real binary: sandboxes and processes
// of its "works when" list.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { bash, clientsOf, collect, PLACES, refused } from './client.mjs';

for (const [where, place] of Object.entries(PLACES)) {
    withDaemon(`hyperbrowser: processes ${where}`, { args: ['--dialect', 'hyperbrowser=127.0.0.1:0'] }, (d) => {
        const client = clientsOf(d, place);
        let made;
        const sandbox = () => (made ??= client().sandboxes.connect('local'));

        it('connects, creates, lists and stops', async () => {
            const c = client();
            const sb = await c.sandboxes.create({ imageName: 'node' });
            assert.equal(sb.id, 'local');
            assert.equal(sb.status, 'active');
            assert.equal((await sb.info()).id, 'local');
            assert.equal((await c.sandboxes.connect('local')).runtime.baseUrl, client.runtime());
            const all = await c.sandboxes.list({ limit: 5 });
            assert.deepEqual([all.totalCount, all.sandboxes.length, all.sandboxes[0].id], [1, 1, 'local']);
            assert.ok(!('token' in all.sandboxes[0]));
            assert.equal((await c.sandboxes.list({ status: 'closed' })).sandboxes.length, 0);
            await refused(c.sandboxes.get('other'), 404, { service: 'control', text: 'not found' });
            await refused(client({ apiKey: 'wrong-wrong-wrong-wrong' }).sandboxes.connect('local'), 401, { service: 'control' });
        });

        it('stop ends what this platform started, and nothing else', async () => {
            const sb = await client().sandboxes.connect('local');
            const p = await sb.processes.start('sleep 100');
            const native = await d.spawn({ command: 'sleep', args: ['100'] });
            assert.deepEqual(await sb.stop(), { success: true });
            assert.equal((await d.get(p.id)).status, 'exited');
            assert.equal((await d.get(native.id)).status, 'running');
            await refused(sb.exec('true'), 409, { code: 'sandbox_not_running' });
            await d.remove(native.id);
        });

        it('exec: output, exit code, legacy arguments, environment and directory', async () => {
            const sb = await sandbox();
            const a = await sb.exec('echo hi');
            assert.deepEqual([a.stdout, a.stderr, a.exitCode, a.status], ['hi\n', '', 0, 'exited']);
            assert.ok(a.completedAt >= a.startedAt && a.startedAt > 1e12);
            const b = await sb.exec('echo no >&2; exit 7');
            assert.deepEqual([b.stdout, b.stderr, b.exitCode], ['', 'no\n', 7]);
            assert.equal((await sb.exec(bash('echo "a b"'))).stdout, 'a b\n');
            assert.equal((await sb.exec('pwd; echo $A', { cwd: '/', env: { A: 'it is' } })).stdout, '/\nit is\n');
            assert.equal((await sb.exec('cat; echo end')).stdout, 'end\n');
            assert.equal((await sb.exec('whoami', { runAs: 'root' })).stdout, 'root\n');
            assert.equal((await sb.exec("printf '\\343\\201\\202'")).stdout, 'あ');
        });

        it('exec: a time-out ends the whole tree and says so', async () => {
            const sb = await sandbox();
            const t = await sb.exec('echo a; sleep 60 & echo $!; wait', { timeoutMs: 300 });
            assert.equal(t.status, 'timed_out');
            const [a, child] = t.stdout.split('\n');
            assert.equal(a, 'a');
            await waitUntil(() => !proc.isAlive(Number(child)), 'the child to be gone too');
        });

        it('what cannot be started or asked is refused', async () => {
            const sb = await sandbox();
            await refused(sb.exec('true', { cwd: '/no/such/dir' }), 422, { code: 'spawn_failed' });
            await refused(sb.exec('true', { runAs: 'no-such-user' }), 422, { code: 'user_unknown' });
            await refused(sb.exec(''), 400, { code: 'bad_value' });
            await refused(sb.exec('true', { timeoutMs: -1 }), 400, { code: 'bad_value' });
            await refused(sb.getProcess('proc_missing'), 404, { code: 'not_found', text: 'not found' });
            const bad = await d.request('POST', '/dialects/hyperbrowser/sandbox/exec', { body: '{' });
            assert.equal(bad.status, 400);
            assert.equal(bad.json.code, 'bad_json');
            assert.equal((await d.request('GET', '/dialects/hyperbrowser/sandbox/nothing')).status, 404);
            const large = await d.request('POST', '/dialects/hyperbrowser/sandbox/exec', { json: { command: 'x'.repeat(2 << 20) } });
            assert.equal(large.status, 413);
        });

        it('start, list, get, refresh; input to the end; both streams', async () => {
            const sb = await sandbox();
            const p = await sb.processes.start(bash('while read l; do echo out:$l; echo err:$l >&2; done'));
            const list = await sb.processes.list({ limit: 20 });
            assert.ok(list.data.some((x) => x.id === p.id));
            const got = await sb.getProcess(p.id);
            assert.equal((await got.refresh()).status, 'running');
            await p.writeStdin('one\n');
            await p.writeStdin(Buffer.from('two\n'));
            await p.writeStdin({ data: 'x\n', eof: true });
            const r = await p.wait();
            assert.equal(r.stdout, 'out:one\nout:two\nout:x\n');
            assert.equal(r.stderr, 'err:one\nerr:two\nerr:x\n');
            assert.deepEqual(await p.result(), r);
            await refused(p.writeStdin('late'), 409);
        });

        it('list: filters and pages', async () => {
            const sb = await sandbox();
            const since = Date.now();
            const all = [];
            for (let i = 0; i < 3; i++) all.push((await sb.processes.start('sleep 100')).id);
            const done = await sb.processes.start('true');
            await done.wait();
            const ids = async (q) => (await sb.processes.list({ createdAfter: since, ...q })).data.map((p) => p.id);
            assert.deepEqual(await ids({ status: 'running' }), all.toReversed());
            assert.deepEqual(await ids({ status: ['exited', 'killed'] }), [done.id]);
            assert.deepEqual(await ids({ createdBefore: since - 1 }), []);
            const first = await sb.processes.list({ createdAfter: since, status: 'running', limit: 2 });
            assert.equal(first.data.length, 2);
            const rest = await sb.processes.list({ createdAfter: since, status: 'running', cursor: first.nextCursor });
            assert.deepEqual(rest.data.map((p) => p.id), [all[0]]);
            assert.equal(rest.nextCursor, undefined);
            await refused(sb.processes.list({ cursor: 'proc_gone' }), 400);
            for (const id of all) await (await sb.getProcess(id)).kill();
        });

        it('wait: 408 in time, then a signal and a final status; kill ends what ignores signals', async () => {
            const sb = await sandbox();
            const p = await sb.processes.start(bash('sleep 10'));
            await refused(p.wait({ timeoutMs: 100 }), 408, { text: 'timed out', code: 'timeout' });
            await p.signal('TERM');
            assert.equal((await p.wait({ timeoutMs: 3000 })).status, 'killed');
            const q = await sb.processes.start('trap "" TERM; sleep 100 & echo $!; while :; do sleep 0.1; done');
            const child = Number(await d.outputHas(q.id, '\n'));
            const { pid } = await d.get(q.id);
            assert.equal(proc.stat(child).session, pid);
            const killed = await q.kill();
            assert.equal(killed.status, 'killed');
            await waitUntil(() => proc.sessionIsGone(pid), 'its children to be gone too');
            await refused(q.signal('TERM'), 409, { code: 'not_running' });
            await refused(q.signal('NONSENSE'), 400, { code: 'bad_signal' });
            const r = await sb.processes.start('sleep 30');
            assert.notEqual((await r.kill()).status, 'running');
        });

        it('stream: numbered events of both streams, and the result', async () => {
            const sb = await sandbox();
            const p = await sb.processes.start('echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three; exit 3');
            const all = await collect(p.stream());
            const out = all.slice(0, -1);
            assert.deepEqual(out.map((e) => e.seq), [1, 2, 3]);
            assert.deepEqual(out.map((e) => `${e.type} ${e.data}`), ['stdout one\n', 'stderr two\n', 'stdout three\n']);
            assert.ok(out.every((e) => Math.abs(e.timestamp - Date.now()) < 60000));
            const end = all.at(-1);
            assert.equal(end.type, 'exit');
            assert.deepEqual([end.result.exitCode, end.result.stdout, end.result.stderr], [3, 'one\nthree\n', 'two\n']);
            const later = await collect(p.stream(1));
            assert.deepEqual(later.map((e) => e.seq), [2, 3, undefined]);
            await refused(collect(p.stream(9)), 416);
        });

        it('stream: what was given once is not given again to whoever resumes', async () => {
            const sb = await sandbox();
            const p = await sb.processes.start('for i in 1 2 3; do echo $i; read x; done');
            let seen = '';
            for (let last; !seen.includes('3'); ) {
                for await (const e of p.stream(last)) {
                    assert.equal(e.seq, (last ?? 0) + 1);
                    seen += e.data;
                    last = e.seq;
                    break;
                }
                await p.writeStdin('\n');
            }
            assert.equal(seen, '1\n2\n3\n');
            assert.equal((await p.wait()).exitCode, 0);
        });

        it('an expired replay window is told, and the result is still whole', async () => {
            const sb = await sandbox();
            const p = await sb.processes.start(bash(`yes ${'x'.repeat(95)} | head -n 120000; echo end >&2`));
            const r = await p.result();
            assert.equal(r.stdout.length, 120000 * 96);
            assert.equal(r.stderr, 'end\n');
            await refused(collect(p.stream(1)), 410, { code: 'replay_window_expired', text: 'Replay window expired' });
        });

        it('characters are never split, in no piece and in no result', async () => {
            const sb = await sandbox();
            const half = (a, b) => `printf '${a}'; sleep 0.05; printf '${b}'; sleep 0.15;`;
            const p = await sb.processes.start(`${half('a\\342\\202', '\\254b')} ${half('\\360\\237', '\\230\\200')}`);
            const all = await collect(p.stream());
            assert.deepEqual(all.slice(0, -1).map((e) => e.data).join(''), 'a€b😀');
            const flood = await sb.processes.start("yes 'あ€😀' | head -n 200000");
            const text = (await collect(flood.stream())).slice(0, -1).map((e) => e.data);
            assert.ok(text.length > 1 && text.join('') === 'あ€😀\n'.repeat(200000));
            const big = await sb.exec("yes 'あ€😀' | head -n 30000; printf 'a\\343' >&2");
            assert.ok(big.stdout === 'あ€😀\n'.repeat(30000));
            assert.equal(big.stderr, 'a\ufffd');
        });

        it('a process of the native API is seen here, and the other way round', async () => {
            const sb = await sandbox();
            const native = await d.sh('echo native; cat', { stdin: 'pipe' });
            const p = await sb.getProcess(native.id);
            await p.writeStdin({ data: 'typed', eof: true });
            assert.equal((await p.wait()).stdout, 'native\ntyped');
            const theirs = await sb.processes.start('sleep 100');
            assert.equal((await d.get(theirs.id)).status, 'running');
            assert.equal((await sb.getProcess(`pid:${(await d.get(theirs.id)).pid}`)).id, theirs.id);
            await d.remove(theirs.id);
            await refused(theirs.refresh(), 404);
        });
    });
}
