// SPDX-License-Identifier: Apache-2.0
// Fly's Machines API by fly-admin: the machine, and what is executed in it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { MACHINE, machinesOf } from './client.mjs';

const EXEC = `/dialects/fly/v1/${MACHINE}/exec`;

withDaemon('fly: machines', {}, (d) => {
    const { client, exec, which } = machinesOf(d);
    const sh = (line, more) => exec({ command: ['sh', '-c', line], ...more });
    const running = async () => (await d.list('?status=running')).map((p) => p.id);

    it('the machine is there, and started', async () => {
        const m = await client().Machine.getMachine(which);
        assert.deepEqual([m.id, m.state, typeof m.config, m.created_at], ['local', 'started', 'object', new Date(m.created_at).toJSON()]);
        assert.deepEqual(await client().Machine.listMachines('box'), [m]);
        assert.deepEqual(await client().Machine.listMachines({ app_name: 'other', region: 'ams' }), [m]);
        assert.deepEqual(await client().Machine.waitMachine({ ...which, state: 'started', timeout: '5s' }), { ok: true });
        assert.deepEqual(await client().Machine.waitMachine(which), { ok: true });
        const app = await client().restOrThrow('apps/box');
        assert.deepEqual([app.name, app.machine_count, typeof app.organization.slug], ['box', 1, 'string']);
    });

    it('a wait for what is no state, or for longer than may be asked, is refused', async () => {
        for (const q of ['timeout=0', 'timeout=61', 'timeout=x', 'state=dead']) {
            await assert.rejects(client().restOrThrow(`${MACHINE}/wait?${q}`), /^Error: 400: .*invalid_argument/);
        }
    });

    it('listProcesses has what runs, and signalMachine reaches what came by this API', async () => {
        const native = await d.spawn({ command: 'sleep', args: ['1000'] });
        const answer = sh('trap "echo got; exit 4" USR1; echo up; while :; do sleep 0.05; done');
        const p = await waitUntil(async () => (await d.list('?status=running')).find((x) => x.id !== native.id), 'the command');
        await d.outputHas(p.id, 'up');
        const all = await client().Machine.listProcesses(which);
        assert.deepEqual(all.map((x) => x.pid).sort(), [native.pid, p.pid].sort());
        const one = all.find((x) => x.pid === native.pid);
        assert.deepEqual([one.command, one.directory], ['sleep 1000', fs.realpathSync(d.dir)]);
        assert.ok(one.rss > 0 && one.cpu >= 0 && one.rtime >= 0 && Math.abs(one.stime - Date.now() / 1000) < 600, JSON.stringify(one));
        assert.deepEqual(await client().Machine.signalMachine({ ...which, signal: 'SIGUSR1' }), {});
        const { exit_code, stdout } = await answer;
        assert.deepEqual([exit_code, stdout], [4, 'up\ngot\n']);
        assert.deepEqual(await running(), [native.id]); // was not meant
        await assert.rejects(client().Machine.signalMachine({ ...which, signal: 'SIGNONE' }), /^Error: 400/);
        await d.remove(native.id);
    });

    it('command: exit code, both streams, 200 also for a failure', async () => {
        assert.deepEqual(await sh('echo out; echo err >&2; exit 3'), { exit_code: 3, exit_signal: 0, stdout: 'out\n', stderr: 'err\n' });
        assert.deepEqual(await exec({ command: ['printf', '%s|', 'a b', '', "it's"] }), { exit_code: 0, exit_signal: 0, stdout: "a b||it's|", stderr: '' });
        assert.deepEqual(await sh('kill -9 $$'), { exit_code: 137, exit_signal: 9, stdout: '', stderr: '' });
    });

    it('cmd is split into words, and no shell reads it', async () => {
        assert.equal((await exec({ cmd: "sh -c 'echo A && echo B'" })).stdout, 'A\nB\n');
        assert.equal((await exec({ cmd: 'echo A && echo B' })).stdout, 'A && echo B\n');
        assert.equal((await exec({ cmd: 'echo $HOME "a  b" *' })).stdout, '$HOME a  b *\n');
        assert.equal((await exec({ cmd: 'sh -c "echo $PPID | tr 0-9 x | head -c 1"' })).stdout, 'x');
        await assert.rejects(exec({ cmd: "echo 'open" }), /^Error: 400: .*unterminated/);
    });

    it('stdin reaches the command and ends; without it there is none', async () => {
        assert.equal((await exec({ command: ['cat'], stdin: 'one\ntwo \u{1f600}' })).stdout, 'one\ntwo \u{1f600}');
        assert.equal((await exec({ command: ['wc', '-c'], stdin: 'x'.repeat(900000) })).stdout.trim(), '900000');
        assert.equal((await exec({ command: ['cat'] })).stdout, '');
        assert.equal((await exec({ command: ['cat'], stdin: '' })).stdout, '');
    });

    it('a deadline ends all of it and is told as 408', async () => {
        const pids = path.join(d.dir, 'pids');
        const vain = client().Machine.waitMachine({ ...which, state: 'stopped', timeout: '1' }).catch((e) => e); // a state that it never has
        const before = Date.now();
        const err = await sh(`trap "" TERM; sleep 61 & echo $$ $! > ${pids}; echo begun; sleep 62`, { timeout: 1 }).catch((e) => e);
        assert.match(err.message, /^408: .*deadline_exceeded: .*after 1 s; see process proc_\w+/);
        assert.ok(Date.now() - before >= 1000);
        for (const pid of fs.readFileSync(pids, 'utf8').trim().split(' ')) {
            await waitUntil(() => !fs.existsSync(`/proc/${pid}`), `the end of ${pid}`);
        }
        const id = /proc_\w+/.exec(err.message)[0];
        assert.equal((await d.output(id)).toString(), 'begun\n'); // what it wrote can still be had
        assert.equal((await d.get(id)).exit.by, 'timeout');
        assert.deepEqual(await running(), []);
        assert.match((await vain).message, /^408: .*deadline_exceeded/);
    });

    it('errors: unknown machine, no command, nonsense', async () => {
        const refused = (body, re) => assert.rejects(exec(body), re);
        for (const call of [
            client().Machine.getMachine({ app_name: 'box', machine_id: 'm9' }),
            client().restOrThrow('apps/box/machines/m9/exec', 'POST', { command: ['true'] }),
            client().restOrThrow('apps/box/machines/m9/ps'),
            client().restOrThrow('apps/box/machines/m9/wait'),
            client().restOrThrow('apps/box/machines/m9/signal', 'POST', { signal: 'TERM' }),
        ]) {
            await assert.rejects(call, /^Error: 404: .*machine not found/);
        }
        await refused({}, /^Error: 400: .*no command/);
        await refused({ command: [] }, /^Error: 400: .*no command/);
        await refused({ command: ['true'], timeout: -1 }, /^Error: 400: .*timeout/);
        await refused({ command: ['true'], timeout: 1e12 }, /^Error: 400: .*timeout/);
        await refused({ command: ['true'], container: 'a', machine: true }, /^Error: 400: .*mutually exclusive/);
        await refused([], /^Error: 400: .*object/);
        assert.equal((await exec({ command: ['true'], container: 'a', unknown: { x: 1 } })).exit_code, 0);
        await assert.rejects(client('wrong-wrong-wrong-wrong').Machine.getMachine(which), /^Error: 401: /);
    });

    it('5 MiB arrive whole, more is cut and said, and no byte breaks the JSON', async () => {
        const big = await sh('yes 0123456789abcde | head -c 5242880; yes e | head -c 300000 >&2');
        assert.deepEqual([big.stdout.length, big.stderr.length, big.exit_code], [5242880, 300000, 0]);
        assert.ok(big.stdout === '0123456789abcde\n'.repeat(327680));
        const cut = await sh('yes 0123456789abcde | head -c 9000000; echo tail >&2');
        assert.equal(cut.stdout.length, 8 << 20);
        assert.equal(cut.stderr, 'tail\n\n[standard output was truncated after 8388608 of 9000000 bytes]\n');
        assert.equal((await sh("printf 'a\\377\\376b\\000c\\033'")).stdout, 'a\ufffd\ufffdb\0c\x1b');
    });

    it('20 at once do not mix', async () => {
        const line = (i) => `for n in 1 2 3 4 5; do echo out-${i}; echo err-${i} >&2; done; exit ${i}`;
        const all = await Promise.all(Array.from({ length: 20 }, (_, i) => sh(line(i))));
        assert.deepEqual(all, all.map((_, i) => ({ exit_code: i, exit_signal: 0, stdout: `out-${i}\n`.repeat(5), stderr: `err-${i}\n`.repeat(5) })));
    });

    it('what is not there or may not run is told as a shell tells it', async () => {
        const none = await exec({ command: ['no-such-program-here'] });
        assert.deepEqual([none.exit_code, none.stdout], [127, '']);
        assert.match(none.stderr, /no-such-program-here/);
        assert.equal((await exec({ cmd: '/no/such/program' })).exit_code, 127);
        const denied = await exec({ command: [d.dir] });
        assert.equal(denied.exit_code, 126);
        assert.ok(denied.stderr.includes(d.dir), denied.stderr);
    });

    it('a token may come as FlyV1', async () => {
        const ask = (value) => d.request('POST', EXEC, { role: null, headers: { Authorization: value }, json: { cmd: 'echo hi' } });
        for (const scheme of ['FlyV1', 'flyv1', 'Bearer', 'bearer']) assert.equal((await ask(`${scheme} ${d.token}`)).json.stdout, 'hi\n');
        assert.equal((await ask(`FlyV1 ${d.tokens.watch}`)).status, 403);
        assert.equal((await ask('FlyV1 fm2_wrong')).status, 401);
        assert.equal((await ask(`FlyV2 ${d.token}`)).status, 401);
    });

    it('the answer names the process, and its record stays', async () => {
        const a = await d.request('POST', EXEC, { json: { cmd: 'echo hi' } });
        const p = await d.get(a.headers['fly-request-id']);
        assert.deepEqual([p.command, p.status, p.exit_code], ['echo', 'exited', 0]);
    });

    it('who hangs up leaves it running, to be found, watched and ended', async () => {
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `POST ${EXEC}`, { body: JSON.stringify({ cmd: "sh -c 'echo up; cat; sleep 1000'", stdin: 'in', timeout: 900 }) }));
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        await d.outputHas(p.id, 'up\nin');
        c.destroy();
        await waitUntil(async () => (await d.request('GET', '/healthz')).status === 200, 'the daemon');
        assert.equal((await d.get(p.id)).status, 'running');
        assert.deepEqual((await client().Machine.listProcesses(which)).map((x) => x.pid), [p.pid]);
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'TERM', target: 'tree' } });
        assert.equal((await d.exitOf(p.id)).exit_code, 143);
    });

    it('its deadline holds when nobody waits any more', async () => {
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, `POST ${EXEC}`, { body: JSON.stringify({ command: ['sleep', '1000'], timeout: 2 }) }));
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the command');
        c.reset();
        assert.equal((await within(d.exitOf(p.id), 15000, 'the end')).exit.by, 'timeout');
    });
});
