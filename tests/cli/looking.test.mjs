// SPDX-License-Identifier: Apache-2.0
// The commands that look on: logs, wait and events.

import assert from 'node:assert/strict';
import http from 'node:http';
import { it } from '../lib/test.mjs';
import { cli, fails, ok, onPty, start } from '../lib/cli.mjs';
import { withDaemon } from '../lib/daemon.mjs';
import { waitUntil } from '../lib/wait.mjs';

withDaemon('looking on', {}, (d) => {
    const json = async ([command, ...rest]) => JSON.parse(await ok(d, [command, '--json', ...rest]));
    const check = async (schema, value) => (await d.openapi()).checkSchema(schema, value);

    it('logs: all, the last lines, one stream, from an offset, follow, JSON', async () => {
        const p = await d.sh('for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; sleep 0.02; done');
        await d.exitOf(p.id);
        const r = await cli(d, ['logs', p.id]);
        assert.deepEqual([r.text, r.stderr], ['out 1\nout 2\nout 3\nout 4\nout 5\n', 'err 1\nerr 2\nerr 3\nerr 4\nerr 5\n']);
        assert.equal((await cli(d, ['logs', '--stderr', p.id])).text, '');
        const t = await cli(d, ['logs', '-n', '2', p.id]);
        assert.equal((t.text + t.stderr).split('\n').length - 1, 2);
        assert.equal((await cli(d, ['logs', '--stdout', '--since', '12', p.id])).text, 'out 2\nout 3\nout 4\nout 5\n');
        const j = await json(['logs', p.id]);
        await check('OutputChunks', j).catch(() => assert.ok(Array.isArray(j.chunks)));
        assert.equal((await ok(d, ['logs', '--format', '{next}', p.id])).trim(), String(j.next));
        const q = await d.sh('echo first; read x; echo "second $x"', { stdin: 'pipe' });
        const f = start(d, ['logs', '-f', q.id]);
        await waitUntil(() => f.printed() === 'first\n', 'the first line');
        await ok(d, ['send', q.id, 'go', '--enter']);
        const e = await f.done;
        assert.deepEqual([e.code, e.text], [0, 'first\nsecond go\n']);
        await fails(d, 125, /beyond/, ['logs', '--since', '99999', q.id]);
    });

    it('logs: no lines at all, one stream as JSON, and an offset that is none', async () => {
        const p = await d.sh('echo out; echo err >&2; read x; echo later', { stdin: 'pipe' });
        await d.outputHas(p.id, 'err');
        assert.equal(await ok(d, ['logs', '-n', '0', '--stdout', p.id]), '');
        for (const name of ['stdout', 'stderr'])
            assert.deepEqual((await json(['logs', `--${name}`, p.id])).chunks.map((c) => c.stream), [name]);
        assert.deepEqual((await json(['logs', '-n', '0', p.id])).chunks, []);
        for (const args of [['logs'], ['logs', '--json'], ['attach', '--no-stdin'], ['record']])
            for (const since of ['a b', '0&x=1']) {
                const r = await cli(d, [...args, '--since', since, p.id]);
                assert.ok([1, 125].includes(r.code), `${args} ${r.code}`);
                assert.match(r.stderr, /since.*bad_query/, `${args}`);
            }
        await fails(d, 2, /--tail/, ['logs', '-n', 'x', p.id]);
        const f = start(d, ['logs', '-f', '-n', '0', p.id]);
        await waitUntil(async () => (await d.get(p.id)).viewers === 1, 'the reader');
        await ok(d, ['send', p.id, '--enter']);
        assert.equal((await f.done).text, 'later\n');
    });

    it('logs reports which bytes are no longer kept', async () => {
        const p = await d.spawn({ command: 'head', args: ['-c', '300000', '/dev/zero'], history_bytes: 65536 });
        await d.exitOf(p.id);
        const r = await cli(d, ['logs', p.id]);
        assert.equal(r.code, 0);
        const gap = /(\d+) bytes of output \(0 to (\d+)\) are no longer kept/.exec(r.stderr);
        assert.equal(r.stdout.length + Number(gap[1]), 300000);
    });

    /*
     * A viewer that counts as a terminal gets a snapshot where the ring has turned over, and blanks
     * where a program asked its terminal something. A file of it then lacked most of what was held.
     */
    it('logs of a terminal are the bytes that are held, as they were written', async () => {
        const p = await d.sh('printf "asks\\033[6n\\033[c"; seq 1 30000; printf "asks\\033[6n\\033[cend"', { pty: true, history_bytes: 65536 });
        await d.exitOf(p.id);
        const held = await d.output(p.id);
        const r = await cli(d, ['logs', p.id]);
        assert.equal(r.code, 0, r.stderr);
        assert.ok(held.length >= 60000 && held.includes('asks\x1b[6n\x1b[cend'), held.subarray(-40).toString());
        assert.ok(r.stdout.equals(held), `${r.stdout.length} bytes of ${held.length}`);
        assert.match(r.stderr, /bytes of output \(0 to \d+\) are no longer kept/);
    });

    it('and at a terminal what is missing is named, and nothing is asked of it', async () => {
        const p = await d.sh('seq 1 30000; printf "asks\\033[6n\\033[cend"', { pty: true, history_bytes: 65536 });
        await d.exitOf(p.id);
        for (const args of [['logs', p.id], ['logs', '-f', p.id]]) {
            const t = onPty(d, args);
            await t.endsWith('exit 0');
            assert.match(t.text, /bytes of output \(0 to \d+\) are no longer kept/);
            assert.ok(t.text.includes('\n29999\r') && t.text.includes('\n25000\r'), t.text.slice(0, 200));
            assert.ok(!t.text.includes('\x1b[6n') && !t.text.includes('\x1b[c'));
            await t.close();
        }
    });

    it('wait: exit code printed or passed on, time-out, conditions', async () => {
        const p = await d.sh('echo ready on 80; read x; exit 6', { stdin: 'pipe' });
        assert.equal(await ok(d, ['wait', '--text', 'ready', p.id]), 'text\n');
        assert.equal(await ok(d, ['wait', '--regex', 'on [0-9]+', '--quiet', '1h', p.id]), 'regex\n');
        assert.equal((await json(['wait', '--text', 'nothing', '--text', 'ready', p.id])).index, 1);
        await fails(d, 124, /timed out after 50ms/, ['wait', '-t', '50ms', p.id]);
        await fails(d, 124, /timed out after 50ms/, ['wait', '-t', '50ms', '--text', 'never', p.id]);
        await fails(d, 1, /bad_regex/, ['wait', '--regex', '(', p.id]);
        await ok(d, ['send', p.id, '--enter']);
        assert.equal(await ok(d, ['wait', p.id]), '6\n');
        const r = await cli(d, ['wait', '-e', p.id]);
        assert.deepEqual([r.code, r.text], [6, '6\n']);
        await check('Process', Object.fromEntries(Object.entries(await json(['wait', p.id])).filter(([k]) => k !== 'timed_out')));
        await fails(d, 1, /ended before a condition/, ['wait', '--text', 'never', p.id]);
    });

    it('wait for several: all of them, the first code that is not 0, one time-out', async () => {
        const [a, b, c] = [await d.sh('exit 3'), await d.sh('read x; exit 4', { stdin: 'pipe' }), await d.sh('exit 0')];
        const w = start(d, ['wait', '-e', a.id, b.id, c.id]);
        await waitUntil(() => w.printed() === '3\n', 'the first');
        await ok(d, ['send', b.id, '--enter']);
        const r = await w.done;
        assert.deepEqual([r.code, r.text], [3, '3\n4\n0\n']);
        const [e, f] = [await d.sh('exec sleep 1000'), await d.sh('exec sleep 1000')];
        const t = await cli(d, ['wait', '-t', '300ms', e.id, c.id, f.id]);
        assert.deepEqual([t.code, t.text], [124, '0\n']);
        for (const p of [e, f]) await d.remove(p.id);
    });

    it('events: as lines, as JSON, from the log, and over a killed worker', async () => {
        const c = start(d, ['events', '--count', '4', '--json']);
        await waitUntil(async () => {
            await d.exitOf((await d.sh('true')).id);
            return c.printed().split('\n').length > 1;
        }, 'the first events');
        process.kill(d.workerPid(), 'SIGKILL');
        await d.nextWorker(0);
        const timer = setInterval(() => d.request('POST', '/v1/processes', { json: { command: 'true' }, agent: false }).catch(() => {}), 100);
        const r = await c.done.finally(() => clearInterval(timer));
        assert.equal(r.code, 0, r.stderr);
        const lines = r.text.trim().split('\n').map((l) => JSON.parse(l));
        assert.equal(lines.length, 4);
        for (const e of lines) assert.match(e.type, /^process\./);
        const text = await ok(d, ['events', '--since', '0', '-n', '2']);
        assert.match(text, /^\d{4}-.*Z process\.created proc_\w+ /);
        assert.equal(await ok(d, ['events', '--since', '0', '-n', '1', '--format', '{type}']), 'process.created\n');
        await fails(d, 1, /bad_query/, ['events', '--since', 'odd']);
    });

    /* It knew no number before its first event, so the second connection began later than the first had ended. */
    it('events: nothing is missed over a cut before the first event, or while a proxy is alone', async () => {
        let [streams, away] = [0, 0];
        const proxy = http.createServer((req, res) => {
            const to = http.request({ host: d.host, port: d.port, path: req.url, method: req.method, headers: req.headers }, (answer) => {
                if (!req.url.includes('since=9223372036854775807') && streams++ === 0) {
                    // The first stream is cut, something happens, and for a moment nobody is behind the proxy.
                    d.sh('true', { tag: 'between' }).then(() => ((away = 2), req.socket.destroy()));
                    return;
                }
                res.writeHead(answer.statusCode, answer.headers);
                answer.pipe(res);
            });
            req.on('close', () => to.destroy());
            to.on('error', () => res.destroy());
            if (away-- > 0) res.writeHead(502).end();
            else to.end();
        });
        await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
        const door = { url: `http://127.0.0.1:${proxy.address().port}`, token: d.token };
        const r = await cli(door, ['events', '-n', '1', '--format', '{type} {process.tag}']).finally(() => {
            proxy.closeAllConnections();
            proxy.close();
        });
        assert.deepEqual([r.code, r.text, away], [0, 'process.created between\n', -1], r.stderr);
    });

    it('events of sessions name the session and its command', async () => {
        await ok(d, ['session', 'create', 'told']);
        assert.equal((await cli(d, ['session', 'run', 'told', '(exit 3)'])).code, 3);
        const text = await ok(d, ['events', '-a', '--session', 'told', '--since', '0', '-n', '4']);
        assert.match(text, / session\.created told\n/);
        assert.match(text, / session\.command_started told \(exit 3\)\n/);
        assert.match(text, / session\.command_finished told \(exit 3\) exit 3\n/);
        await ok(d, ['session', 'rm', 'told']);
    });
});
