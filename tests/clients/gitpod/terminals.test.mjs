// SPDX-License-Identifier: Apache-2.0
// Gitpod's TerminalService with its own client: open, list, write, size, title, annotations, the end.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { pidAlive } from './alive.mjs';
import { it } from '../../lib/test.mjs';
import { inParallel, waitUntil } from '../../lib/wait.mjs';
import { OPTIONS, clientsOf, grpc, pb } from './client.mjs';

withDaemon('gitpod: terminals', OPTIONS, (d) => {
    const client = clientsOf(d);
    const end = async (c, alias) => c.shutdown(alias);

    it('connects without TLS, and the list is empty', async () => {
        assert.deepEqual(await client().list(), []);
    });

    it('open tells alias, pid, command and token; list and get show it', async () => {
        const c = client();
        const t = await c.open({ workdir: '/tmp', annotations: { a: '1' }, env: { HELLO: 'there' } });
        assert.ok(pidAlive(t.pid));
        assert.deepEqual(t.command, ['/bin/bash', '--norc', '--noprofile']);
        assert.match(t.token, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.equal(t.initialWorkdir, '/tmp');
        assert.deepEqual(t.annotations, { a: '1' });
        const second = await c.open();
        assert.deepEqual((await c.list()).map((x) => x.alias), [t.alias, second.alias], 'the oldest first');
        const got = await c.get(t.alias);
        assert.equal(got.pid, t.pid);
        const l = c.listen(t.alias);
        await c.write(t.alias, 'cd /; echo "$HELLO $TERM"\n');
        await l.sees('there xterm-256color\r\n');
        await waitUntil(async () => (await c.get(t.alias)).currentWorkdir === '/', 'the new directory');
        assert.equal((await c.get(t.alias)).initialWorkdir, '/tmp');
        for (const x of [t, second]) await end(c, x.alias);
    });

    it('a shell that is not there is INTERNAL with the reason', async () => {
        await assert.rejects(client().open({ shell: '/nonexistent/shell', args: [] }), (e) => e.code === 13 && e.details.length > 0);
        assert.deepEqual(await client().list(), []);
    });

    it('write tells how many bytes, and they arrive', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias);
        assert.equal(await c.write(t.alias, 'echo hi\n'), 8);
        await l.sees('echo hi\r\n');
        await l.sees('\rhi\r\n');
        const cat = await c.open({ shell: 'sh', args: ['-c', 'stty raw -echo; echo ready; exec od -An -tx1 -N4 -v'] });
        const raw = c.listen(cat.alias);
        await raw.sees('ready');
        assert.equal(await c.write(cat.alias, Buffer.from([0, 255, 254, 10])), 4);
        await raw.sees('00 ff fe 0a');
        await end(c, t.alias);
    });

    it('size: refused without priority, set by token or force', async () => {
        const c = client();
        const t = await c.open({ size: [30, 0] });
        const l = c.listen(t.alias);
        await c.write(t.alias, 'stty size\n');
        await l.sees('30 80\r\n');
        const refused = (e) => e.code === 9 && e.details === 'wrong token or force not set';
        await assert.rejects(c.setSize(t.alias, [40, 100]), refused);
        await assert.rejects(c.setSize(t.alias, [40, 100], { token: 'wrong' }), refused);
        await assert.rejects(c.setSize(t.alias, [40, 100], { force: false }), refused);
        await assert.rejects(c.setSize(t.alias, null, { force: true }), (e) => e.code === 3);
        await assert.rejects(c.setSize(t.alias, [70000, 100], { force: true }), (e) => e.code === 3);
        await c.setSize(t.alias, [41, 101], { token: t.token });
        await c.write(t.alias, 'stty size\n');
        await l.sees('41 101\r\n');
        await c.setSize(t.alias, [42, 102], { force: true });
        await c.write(t.alias, 'stty size\n');
        await l.sees('42 102\r\n');
        await end(c, t.alias);
    });

    it('titles: the program that runs, or what was set', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias);
        await l.titled('bash');
        await c.setTitle(t.alias, 'x');
        await l.titled('x', 1);
        assert.deepEqual([(await c.get(t.alias)).title, (await c.get(t.alias)).titleSource], ['x', 1]);
        await c.setTitle(t.alias, '');
        await l.titled('bash', 0);
        await c.write(t.alias, 'sleep 1\n');
        await l.titled('sleep');
        await l.titled('bash');
        await assert.rejects(c.setTitle(t.alias, 'x'.repeat(2000)), (e) => e.code === 3);
        await end(c, t.alias);
    });

    it('annotations are changed and deleted', async () => {
        const c = client();
        const t = await c.open({ annotations: { keep: '1', drop: '2' } });
        await c.annotate(t.alias, { new: 'v\u00e4lue', keep: '3' }, ['drop', 'never']);
        assert.deepEqual((await c.get(t.alias)).annotations, { keep: '3', new: 'v\u00e4lue' });
        await assert.rejects(c.annotate(t.alias, { big: 'x'.repeat(20000) }), (e) => e.code === 3 || e.code === 8);
        assert.deepEqual((await c.get(t.alias)).annotations, { keep: '3', new: 'v\u00e4lue' });
        await end(c, t.alias);
    });

    it('an unknown alias is NOT_FOUND in the words of the original', async () => {
        const c = client();
        const gone = (text) => (e) => e.code === 5 && e.details === text;
        await assert.rejects(c.get('none'), gone('terminal not found'));
        await assert.rejects(c.write('none', 'x'), gone('terminal not found'));
        await assert.rejects(c.setTitle('none', 'x'), gone('terminal not found'));
        await assert.rejects(c.shutdown('none'), gone('not found'));
        const e = await c.listen('none').end;
        assert.ok(gone('terminal not found')(e));
        const pipe = await d.sh('sleep 60');
        await assert.rejects(c.get(pipe.id), gone('terminal not found'));
        await d.remove(pipe.id);
    });

    it('shutdown ends an interactive shell and its children soon', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias);
        await c.write(t.alias, 'sleep 1000 & (trap "" HUP TERM; sleep 1001) & echo "pids" $(jobs -p)\n');
        await waitUntil(() => /pids (\d+) (\d+)\r\n/.test(l.text), 'the pids');
        const pids = /pids (\d+) (\d+)\r\n/.exec(l.text).slice(1).map(Number);
        await c.shutdown(t.alias);
        assert.deepEqual((await c.list()).filter((x) => x.alias === t.alias), []);
        for (const pid of [t.pid, ...pids]) assert.equal(pidAlive(pid), false, `pid ${pid}`);
        assert.equal((await l.end).code, 0);
        assert.ok('exit' in l.items.at(-1));
    });

    it('fifty calls at once on one connection', async () => {
        const c = client();
        const t = await c.open({ shell: 'cat', args: [] });
        const l = c.listen(t.alias);
        await inParallel(50, 50, async (i) => {
            if (i % 2) assert.ok((await c.list()).some((x) => x.alias === t.alias));
            else assert.equal(await c.write(t.alias, `line ${i}\n`), `line ${i}\n`.length);
        });
        for (let i = 0; i < 50; i += 2) await l.sees(`line ${i}\r\n`);
        await end(c, t.alias);
    });

    it('a deadline gives code 4', async () => {
        const c = client();
        const t = await c.open();
        const l = c.listen(t.alias, { deadline: Date.now() + 300 });
        assert.equal((await l.end).code, 4);
        assert.equal((await c.get(t.alias)).alias, t.alias);
        await end(c, t.alias);
    });

    it('force_success, which the published classes do not have, makes the exit 0', async () => {
        const c = client();
        const t = await c.open({ shell: 'sleep', args: ['1000'] });
        const l = c.listen(t.alias);
        await l.titled('sleep');
        await new Promise((ok, no) =>
            c.raw.makeUnaryRequest(
                '/supervisor.TerminalService/Shutdown',
                (b) => b,
                (b) => b,
                Buffer.concat([Buffer.from([0x0a, t.alias.length]), Buffer.from(t.alias), Buffer.from([0x10, 1])]),
                c.metadata,
                (e, r) => (e ? no(e) : ok(r)),
            ),
        );
        assert.equal((await l.end).code, 0);
        assert.deepEqual(l.items.at(-1), { exit: 0 });
    });

    it('an unknown method is 12, a malformed message 3 or 13, and the connection survives', async () => {
        const c = client();
        const send = (path, bytes) =>
            new Promise((ok) =>
                c.raw.makeUnaryRequest(path, (b) => b, (b) => b, bytes, c.metadata, (e, r) => ok(e ?? r)),
            );
        assert.equal((await send('/supervisor.TerminalService/Nothing', Buffer.alloc(0))).code, 12);
        assert.equal((await send('/supervisor.StatusService/SupervisorStatus', Buffer.alloc(0))).code, 12);
        for (const bad of [[0x0a, 0x7f], [0x0a, 1, 0xff], [0xff, 0xff, 0xff]])
            assert.ok([3, 13].includes((await send('/supervisor.TerminalService/Get', Buffer.from(bad))).code));
        assert.equal((await send('/supervisor.TerminalService/Write', Buffer.alloc(5 << 20))).code, 8);
        assert.ok(Array.isArray(await c.list()));
        assert.ok(pb && grpc);
    });
});
