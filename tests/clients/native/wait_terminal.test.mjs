// SPDX-License-Identifier: Apache-2.0
// POST …/wait for what a terminal does: reads, hides, prompts; and for a port. Each condition is tried
// met before the call, during it, never, and with a process that ends instead.

import assert from 'node:assert/strict';
import net from 'node:net';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const LONG = 20000;
const MARK_A = '\x1b]133;A\x07';
const MARK_B = '\x1b]133;B\x07';
const MARK_D7 = '\x1b]133;D;7\x07';

withDaemon('wait at a terminal', {}, (d) => {
    const wait = async (id, json) => (await d.api('POST', `/v1/processes/${id}/wait`, { json, expect: 200 })).json;
    const input = (id, json) => d.api('POST', `/v1/processes/${id}/input`, { json, expect: 200 });
    const next = async (id) => (await d.get(id)).output.next;
    const tty = (line) => d.sh(line, { pty: true });
    const freePort = async () => {
        const s = net.createServer();
        await new Promise((done) => s.listen(0, '127.0.0.1', done));
        const { port } = s.address();
        await new Promise((done) => s.close(done));
        return port;
    };
    const listen = (port) =>
        `exec python3 -c 'import socket,time; s=socket.socket(); s.setsockopt(1,2,1); s.bind(("127.0.0.1",${port})); s.listen(); time.sleep(300)'`;

    /** The same four questions to every condition. */
    const four = (name, { until, before, during, trigger, never }) => {
        it(`${name}: met before the call`, async () => {
            const p = await tty(before);
            assert.equal((await wait(p.id, { until: [until], timeout_ms: LONG })).matched, name);
            const again = await wait(p.id, { until: [{ text: 'nope' }, until], timeout_ms: LONG });
            assert.deepEqual([again.matched, again.index, again.timed_out], [name, 1, false]);
            await d.remove(p.id);
        });
        it(`${name}: met during it`, async () => {
            const p = await tty(during);
            await d.outputHas(p.id, 'begun');
            const waiting = wait(p.id, { until: [until], from: await next(p.id), timeout_ms: LONG });
            await waitUntil(async () => (await d.get(p.id)).status === 'running', 'it to run');
            if (trigger) await input(p.id, { data: trigger });
            const w = await waiting;
            assert.deepEqual([w.matched, w.index, w.status], [name, 0, 'running']);
            await d.remove(p.id);
        });
        it(`${name}: never`, async () => {
            const p = await tty(never);
            await d.outputHas(p.id, 'begun');
            const w = await wait(p.id, { until: [until], timeout_ms: 300 });
            assert.deepEqual([w.matched, w.timed_out, w.status], [null, true, 'running']);
            await d.remove(p.id);
        });
        it(`${name}: a process that ends fails the wait at once, with its last lines`, async () => {
            const p = await tty(
                'echo begun; stty -icanon -echo min 1; dd bs=1 count=1 2>/dev/null; echo last words; exit 9',
            );
            await d.outputHas(p.id, 'begun');
            const waiting = wait(p.id, {
                until: [{ text: 'nope' }, name === 'blocked_on_tty' ? { prompt: true } : until],
                timeout_ms: LONG,
            });
            await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: LONG });
            await input(p.id, { data: 'x' });
            const w = await waiting;
            assert.deepEqual([w.matched, w.timed_out, w.status, w.exit_code], [null, false, 'exited', 9]);
            assert.match(w.output.data, /last words\r\n$/);
            assert.equal((await wait(p.id, { until: [until], timeout_ms: LONG })).exit_code, 9, 'also afterwards');
        });
    };

    four('blocked_on_tty', {
        until: { blocked_on_tty: true },
        before: 'echo begun; read x',
        during: 'echo begun; sleep 0.2; read x',
        never: 'echo begun; sleep 300',
    });
    four('echo_off', {
        until: { echo_off: true },
        before: 'stty -echo; echo begun; read x',
        during: 'echo begun; read x; stty -echo; sleep 300',
        trigger: 'go\n',
        never: 'echo begun; stty -icanon -echo; sleep 300',
    });
    four('prompt', {
        until: { prompt: true },
        before: `printf 'begun\\033]133;A\\007$ \\033]133;B\\007'; sleep 300`,
        during: `echo begun; read x; printf '\\033]133;A\\007$ \\033]133;B\\007'; sleep 300`,
        trigger: 'go\n',
        never: `printf 'begun\\033]133;A\\007$ \\033]133;C\\007\\033]0;133;B\\007'; sleep 300`,
    });

    it('port: before, during, never, by a child, by anybody, and the exit', async () => {
        const port = await freePort();
        const mine = await tty(`echo begun; read x; ( ${listen(port)} ) & wait`);
        const other = await tty('echo begun; read x; exit 4');
        await d.outputHas(mine.id, 'begun');
        assert.equal((await wait(mine.id, { until: [{ port }], timeout_ms: 100 })).timed_out, true);
        const waits = [
            wait(mine.id, { until: [{ text: 'nope' }, { port }], timeout_ms: LONG }),
            wait(other.id, { until: [{ port, any: true }], timeout_ms: LONG }),
        ];
        const never = wait(other.id, { until: [{ port }], timeout_ms: LONG });
        await input(mine.id, { data: 'go\n' });
        const [w, a] = await Promise.all(waits);
        assert.deepEqual([w.matched, w.index, w.match, w.timed_out], ['port', 1, null, false]);
        assert.deepEqual([a.matched, a.index], ['port', 0]);
        assert.equal((await wait(mine.id, { until: [{ port }], timeout_ms: LONG })).matched, 'port', 'already there');
        assert.equal((await wait(other.id, { until: [{ port }], timeout_ms: 300 })).timed_out, true, 'not its own');
        await input(other.id, { data: 'go\n' });
        const n = await never;
        assert.deepEqual([n.matched, n.status, n.exit_code], [null, 'exited', 4]);
        await d.remove(mine.id);
    });

    it('who waits at a terminal: readers of many kinds, and sleepers that do not', async () => {
        const blocked = [
            ['cat'],
            ['sh', '-c', 'read x'],
            ['sh', '-c', 'cat; true'],
            ['sh', '-c', 'cat | cat; true'],
            ['python3', '-c', 'input()'],
            ['python3', '-c', 'import select,sys; select.select([sys.stdin],[],[])'],
            ['python3', '-c', 'import select; p=select.poll(); p.register(0, select.POLLIN); p.poll()'],
            ['python3', '-c', 'import select; e=select.epoll(); e.register(0, select.EPOLLIN); e.poll()'],
            ['python3', '-c', 'import threading,time; threading.Thread(target=input).start(); time.sleep(300)'],
            ['bash', '--norc'],
        ];
        const not = [
            ['sleep', '300'],
            ['sh', '-c', 'sleep 300 | cat'],
            ['sh', '-c', 'cat < /dev/zero > /dev/null'],
            ['python3', '-c', 'import select,os; r,w=os.pipe(); select.select([r],[],[])'],
            ['python3', '-c', 'import select; select.select([],[0],[],0); select.poll().poll()'],
        ];
        for (const [command, ...args] of blocked) {
            const p = await d.spawn({ command, args, pty: true });
            const w = await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: LONG });
            assert.equal(w.matched, 'blocked_on_tty', `${command} ${args.join(' ')}: ${JSON.stringify(w)}`);
            await waitUntil(async () => (await d.get(p.id)).waiting_for_input === true, 'the object to say so');
            await d.remove(p.id);
        }
        for (const [command, ...args] of not) {
            const p = await d.spawn({ command, args, pty: true });
            const w = await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: 400 });
            assert.equal(w.timed_out, true, `${command} ${args.join(' ')}: ${JSON.stringify(w)}`);
            assert.equal((await d.get(p.id)).waiting_for_input, false, `${command} ${args.join(' ')}`);
            await d.remove(p.id);
        }
    });

    it('read -s hides what is typed', async () => {
        const p = await d.spawn({
            command: 'bash',
            args: ['-c', 'read -s -p "Password: " x; echo; echo "got $x"; sleep 300'],
            pty: true,
        });
        const w = await wait(p.id, { until: [{ echo_off: true }], timeout_ms: LONG });
        assert.equal(w.matched, 'echo_off');
        await input(p.id, { data: 'secret\n' });
        const got = await wait(p.id, { until: [{ text: 'got secret' }], timeout_ms: LONG });
        assert.equal(got.output.data.split('secret').length, 2, 'the echo would show it twice');
        await waitUntil(async () => (await d.get(p.id)).echo_off === false, 'echo to be on again');
        await d.remove(p.id);
    });

    /*
     * Between typing and waiting there is no sleep, and none is needed: what was typed has reached the
     * program before it is looked at, so the wait never sees the wait of before.
     */
    it('after a line was typed, blocked_on_tty means the next time, with all the output in between', async () => {
        const p = await d.spawn({ command: 'bash', args: ['--norc'], env: { PS1: '> ' }, pty: true });
        let w = await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: LONG });
        assert.ok(w.output.data.endsWith('> '), JSON.stringify(w.output));
        for (let i = 0; i < 20; i++) {
            await input(p.id, { data: `echo $((${i} + 1000))`, keys: ['Enter'] });
            w = await wait(p.id, { until: [{ blocked_on_tty: true }], from: w.next, timeout_ms: LONG });
            assert.match(w.output.data, new RegExp(`\\r\\n.*${i + 1000}\\r\\n.*> $`, 's'));
        }
        await d.remove(p.id);
    });

    it('a prompt tells the exit code, and where it stands', async () => {
        const p = await d.sh('cat', { stdin: 'pipe' });
        await input(p.id, { data: `${MARK_D7}${MARK_A}$ ${MARK_B}ls` });
        const w = await wait(p.id, { until: [{ prompt: true }], timeout_ms: LONG });
        const at = MARK_D7.length + MARK_A.length + 2;
        assert.deepEqual(w.match, { from: at, to: at + MARK_B.length });
        assert.deepEqual([w.prompt, w.next], [{ exit_code: 7 }, at + MARK_B.length]);
        const none = await wait(p.id, { until: [{ prompt: true }], from: w.next, timeout_ms: 150 });
        assert.deepEqual([none.timed_out, none.prompt], [true, null]);
        await input(p.id, { data: `${MARK_A}only A, and a pause> ` });
        const a = await wait(p.id, { until: [{ prompt: true }], from: w.next, timeout_ms: LONG });
        assert.deepEqual([a.matched, a.prompt], ['prompt', { exit_code: null }]);
        assert.ok(a.output.data.endsWith('a pause> '));
        await d.remove(p.id);
    });

    it('a text, an expression and a prompt that are cut at every byte', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const kinds = [
            [{ text: 'ready now' }, 'ready now'],
            [{ regex: 'r[e]ady (now|later)' }, 'ready now'],
            [{ prompt: true }, `${MARK_A}$ ${MARK_B}`],
        ];
        let from = 0;
        for (const [until, bytes] of kinds) {
            for (let cut = 1; cut < bytes.length; cut++) {
                const waiting = wait(p.id, { until: [until], from, timeout_ms: LONG });
                await input(p.id, { data: `.${bytes.slice(0, cut)}` });
                await waitUntil(async () => (await next(p.id)) === from + 1 + cut, 'the first half');
                await input(p.id, { data: bytes.slice(cut) });
                const w = await waiting;
                assert.equal(w.match?.to, from + 1 + bytes.length, `cut at ${cut}: ${JSON.stringify(w)}`);
                from = w.next;
            }
        }
        await d.remove(p.id);
    });

    it('several at once: the first that is met', async () => {
        const p = await tty('echo begun; read x; stty -echo; echo now; sleep 300');
        await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: LONG });
        const waiting = wait(p.id, {
            until: [{ port: 1 }, { text: 'never' }, { echo_off: true }, { exit: true }, { prompt: true }],
            timeout_ms: LONG,
        });
        await input(p.id, { data: 'go\n' });
        const w = await waiting;
        assert.deepEqual([w.matched, w.index], ['echo_off', 2]);
        await d.remove(p.id);
    });

    it('waits go on over a flood, and end when their caller goes', async () => {
        const p = await tty('i=0; while [ $i -lt 3 ]; do seq 1 20000; i=$((i+1)); done; echo the end; read x');
        const w = await wait(p.id, { until: [{ blocked_on_tty: true }], timeout_ms: LONG });
        assert.match(w.output.data, /the end\r\n$/);
        const ac = new AbortController();
        const q = await tty('sleep 300');
        const gone = fetch(`http://${d.host}:${d.port}/v1/processes/${q.id}/wait`, {
            method: 'POST',
            headers: { ...d.authHeaders(), 'content-type': 'application/json' },
            body: JSON.stringify({ until: [{ blocked_on_tty: true }, { port: 1 }] }),
            signal: ac.signal,
        }).catch(() => 'aborted');
        assert.equal((await wait(q.id, { until: [{ echo_off: true }], timeout_ms: 200 })).timed_out, true);
        ac.abort();
        assert.equal(await gone, 'aborted');
        await d.remove(p.id);
        await d.remove(q.id);
    });

    it('refusals', async () => {
        const p = await d.sh('sleep 300');
        const at = `/v1/processes/${p.id}/wait`;
        const no = (code, until) => d.refused(code, 'POST', at, { json: { until: [until] } });
        await no('not_a_terminal', { blocked_on_tty: true });
        await no('not_a_terminal', { echo_off: true });
        await no('bad_type', { prompt: 1 });
        await no('bad_value', { prompt: false });
        await no('bad_value', { blocked_on_tty: false });
        await no('bad_type', { port: '80' });
        for (const port of [0, -1, 65536]) await no('bad_value', { port });
        await no('bad_type', { port: 80, any: 1 });
        await no('bad_value', { text: 'x', any: true });
        await no('bad_value', { port: 80, text: 'x' });
        await no('unknown_field', { any: true });
        await no('bad_value', {});
        await d.remove(p.id);
    });
});
