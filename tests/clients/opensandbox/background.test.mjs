// SPDX-License-Identifier: Apache-2.0
// Commands that outlive their connection: background, status, logs by cursor, interrupt, list,
// and streams that are taken up again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { bare, call, Pty, refused, texts, withSandbox } from '../../lib/opensandbox.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withSandbox('opensandbox: background', {}, (d, sandbox) => {
    const background = async (command, options) => {
        const a = await (await sandbox()).commands.run(command, { background: true, ...options });
        assert.ok(a.id);
        assert.ok(!('exitCode' in a) || a.exitCode === undefined);
        return a.id;
    };
    const ended = async (id) => {
        const s = await sandbox();
        await waitUntil(async () => !(await s.commands.getCommandStatus(id)).running, 'the end');
        return s.commands.getCommandStatus(id);
    };

    it('starts at once, and status goes from running to its exit code', async () => {
        const s = await sandbox();
        const go = path.join(d.dir, 'go');
        const id = await background(`until test -e ${go}; do sleep 0.01; done; exit 7`);
        const before = await s.commands.getCommandStatus(id);
        assert.equal(before.running, true);
        assert.equal(before.exitCode, null);
        assert.equal(before.finishedAt, null);
        assert.match(before.content, /^until test -e/);
        assert.ok(before.startedAt instanceof Date);
        fs.writeFileSync(go, '');
        const after = await ended(id);
        assert.equal(after.exitCode, 7);
        assert.equal(after.error, 'exit status 7');
        assert.ok(after.finishedAt >= after.startedAt);
        assert.equal((await ended(await background('exit 0'))).error, undefined);
    });

    it('logs by cursor never repeat or skip a byte, nor split a character', async () => {
        const s = await sandbox();
        const id = await background('for i in $(seq 1 300); do printf "%d ä€😀\\n" $i; echo e$i >&2; done; sleep 0.2; printf last');
        let cursor;
        let all = '';
        await waitUntil(async () => {
            const { running } = await s.commands.getCommandStatus(id);
            const a = await s.commands.getBackgroundCommandLogs(id, cursor);
            all += a.content;
            assert.ok(!a.content.includes('\ufffd'), 'a split character');
            const moved = a.cursor - (cursor ?? 0);
            assert.equal(moved, Buffer.byteLength(a.content));
            cursor = a.cursor;
            return !running;
        }, 'all logs', 20000, 1);
        const whole = await s.commands.getBackgroundCommandLogs(id);
        assert.equal(all, whole.content);
        assert.equal(all.split('\n').filter((l) => /^\d+ ä€😀$/.test(l)).length, 300);
        assert.equal(all.split('\n').filter((l) => /^e\d+$/.test(l)).length, 300);
        assert.ok(all.includes('last'));
        const end = await s.commands.getBackgroundCommandLogs(id, cursor);
        assert.deepEqual([end.content, end.cursor], ['', cursor]);
        const beyond = await s.commands.getBackgroundCommandLogs(id, cursor + 1000);
        assert.deepEqual([beyond.content, beyond.cursor], ['', cursor + 1000]);
        assert.equal((await call(d, 'GET', `/command/${id}/logs?cursor=abc`)).text, all);
    });

    it('what the ring has forgotten of a log is told', async () => {
        const id = await background('head -c 12000000 /dev/zero | tr "\\0" "y"');
        await ended(id);
        const a = await call(d, 'GET', `/command/${id}/logs?cursor=5`);
        const gap = Number(a.headers['execd-commands-gap']);
        assert.ok(gap > 0);
        assert.equal(Number(a.headers['execd-commands-tail-cursor']), 12000000);
        assert.equal(5 + gap + a.body.length, 12000000);
    });

    it('logs of a foreground command, and of none, are refused; so is an unknown status', async () => {
        const s = await sandbox();
        const a = await s.commands.run('echo x');
        await refused(s.commands.getBackgroundCommandLogs(a.id), 400, 'INVALID_REQUEST_BODY');
        await refused(s.commands.getBackgroundCommandLogs('nothing'), 400, 'INVALID_REQUEST_BODY');
        await refused(s.commands.getCommandStatus('nothing'), 404, 'INVALID_REQUEST_BODY');
        assert.equal((await s.commands.getCommandStatus(a.id)).exitCode, 0);
    });

    it('interrupt lets a handler speak, and does not wait long for one that will not listen', async () => {
        const s = await sandbox();
        const polite = await background("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
        await waitUntil(async () => (await s.commands.getBackgroundCommandLogs(polite)).content === 'up\n', 'the trap');
        await s.commands.interrupt(polite);
        // The shell may report the end of its sleep, on the other pipe.
        assert.match((await s.commands.getBackgroundCommandLogs(polite)).content, /^up\n((Terminated\n)?bye\n|bye\nTerminated\n)$/);
        assert.equal((await s.commands.getCommandStatus(polite)).running, false);
        const deaf = await background("trap '' TERM; echo up; while :; do sleep 0.05; done");
        await waitUntil(async () => (await s.commands.getBackgroundCommandLogs(deaf)).content === 'up\n', 'the trap');
        await s.commands.interrupt(deaf);
        const status = await s.commands.getCommandStatus(deaf);
        assert.equal(status.exitCode, -1);
        assert.equal(status.error, 'signal: killed');
        await refused(s.commands.interrupt(deaf), 500, 'RUNTIME_ERROR');
        await refused(s.commands.interrupt('nothing'), 500, 'RUNTIME_ERROR');
        const none = await call(d, 'DELETE', '/command');
        assert.equal(none.status, 400);
        assert.equal(none.json.code, 'MISSING_QUERY');
    });

    /** A stream read by hand: [request, events so far]. */
    const stream = (method, where, body) => {
        const events = [];
        const { rq, response } = bare(d, method, where, body);
        const ended = (async () => {
            let text = '';
            for await (const b of await response) {
                const parts = (text + b).split('\n\n');
                text = parts.pop();
                events.push(...parts.map((p) => JSON.parse(p)));
            }
            return events;
        })();
        ended.catch(() => {}); /* of those that are cut */
        return { rq, events, ended };
    };

    it('a foreground command whose connection is cut goes on', async () => {
        const s = await sandbox();
        const cut = stream('POST', '/command', { command: 'echo one; while :; do sleep 0.05; done' });
        await waitUntil(() => cut.events.some((e) => e.text === 'one'), 'the first line');
        cut.rq.destroy();
        const id = cut.events[0].text;
        assert.equal((await s.commands.getCommandStatus(id)).running, true);
        await s.commands.interrupt(id);
        assert.equal((await s.commands.getCommandStatus(id)).running, false);
    });

    it('a stream that was cut is taken up where it was: no line lost, none twice', async () => {
        const go = path.join(d.dir, 'more');
        const first = stream('POST', '/command?partial=1', {
            command: `echo a; echo b >&2; printf part; printf er >&2; until test -e ${go}; do sleep 0.01; done; echo ed; echo ror >&2; echo c`,
        });
        await waitUntil(() => first.events.filter((e) => e.partial).length === 2, 'both unfinished lines');
        first.rq.destroy();
        const output = (events) => events.filter((e) => /^std/.test(e.type)).map((e) => [e.type, e.text]);
        const [id, eid] = [first.events[0].text, Math.max(...first.events.map((e) => e.eid ?? 0))];
        fs.writeFileSync(go, '');
        const second = await stream('GET', `/command/${id}/resume?after_eid=${eid}`).ended;
        assert.deepEqual(output(second).sort(), [['stderr', 'ror'], ['stdout', 'c'], ['stdout', 'ed']]);
        assert.equal(second.at(-1).type, 'execution_complete');
        const one = first.events.find((e) => e.text === 'a').eid;
        const again = output(await stream('GET', `/command/${id}/resume?after_eid=${one}`).ended);
        assert.deepEqual(again.filter((e) => e[0] === 'stdout').map((e) => e[1]), ['parted', 'c']);
        assert.deepEqual(again.filter((e) => e[0] === 'stderr').map((e) => e[1]), ['b', 'error']);
        const all = output(await stream('GET', `/command/${id}/resume`).ended);
        assert.equal(all.length, 5);
        assert.equal((await call(d, 'GET', '/command/nothing/resume')).status, 404);
        assert.equal((await call(d, 'GET', `/command/${id}/resume?after_eid=x`)).status, 400);
    });

    /** All that was told of each stream; line ends are not. */
    const told = (events) => ['stdout', 'stderr'].map((t) => events.filter((e) => e.type === t).map((e) => e.text).join(''));
    const resume = (id, eid) => stream('GET', `/command/${id}/resume?after_eid=${eid}`).ended;
    const numbered = (events) => {
        const eids = events.filter((e) => e.eid !== undefined).map((e) => e.eid);
        eids.forEach((n, i) => assert.ok(Number.isSafeInteger(n) && (i === 0 || n > eids[i - 1]), `${n} behind ${eids[i - 1]}`));
        return events.filter((e) => e.eid !== undefined);
    };

    /* Two events had one number, and a line told in part was told again after any number behind it. */
    it('whichever event was the last, the next stream goes on right behind it, also under the next worker', async () => {
        const pause = 'sleep 1.3';
        const first = await stream('POST', '/command?partial=1', {
            command: [
                `printf A; printf B >&2; ${pause}; printf C; printf D >&2; sleep 0.1; printf E; ${pause}`,
                `echo F; sleep 0.1; echo; printf 'G\\342' >&2; ${pause}; echo one; sleep 0.1; printf '\\202\\254' >&2`,
                `head -c 70000 /dev/zero | tr '\\0' x; printf H >&2; sleep 0.1; echo y; printf I; ${pause}; printf J; printf 'K\\342' >&2`,
            ].join('; '),
        }).ended;
        const events = numbered(first);
        const [id, all] = [first[0].text, told(first)];
        assert.deepEqual(all, [`ACEF\none${'x'.repeat(70000)}yIJ`, 'BDG\u20acHK\ufffd']);
        assert.ok(events.filter((e) => e.partial).length >= 6, 'not many lines were told in part');
        const check = async () => {
            for (const e of events) {
                const rest = await resume(id, e.eid);
                assert.equal(rest.at(-1).type, 'execution_complete');
                assert.ok(numbered(rest).every((n) => n.eid > e.eid));
                const both = told([...first.slice(0, first.indexOf(e) + 1), ...rest]);
                assert.deepEqual(both, all, `after ${JSON.stringify({ ...e, text: e.text.slice(-20) })}`);
            }
        };
        await check();
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await check();
    });

    /* The last of several lines that had been sent before the output ended was sent again. */
    it('so it does where a line had been sent before the output ended', async () => {
        const first = await stream('POST', '/command?partial=1', { command: 'echo e >&2; printf E >&2; sleep 1.3; printf b' }).ended;
        const events = numbered(first);
        assert.deepEqual(told(first), ['b', 'eE']);
        for (const e of events) {
            const rest = await resume(first[0].text, e.eid);
            assert.deepEqual(told([...first.slice(0, first.indexOf(e) + 1), ...rest]), ['b', 'eE'], JSON.stringify(e));
        }
    });

    /* A stream that was taken up too late began with half a line, as if nothing had been in front. */
    it('what the ring has forgotten between the two streams is told: where, and how much', async () => {
        const first = await stream('POST', '/command', { command: 'seq 1 400000' }).ended;
        const events = numbered(first);
        assert.equal(events.length, 400000);
        const all = events.map((e) => `${e.text}\n`).join('');
        for (const n of [0, 10, 100]) {
            const had = events.slice(0, n).map((e) => `${e.text}\n`).join('').length;
            const rest = await resume(first[0].text, n ? events[n - 1].eid : 0);
            const gap = rest.find((e) => e.type === 'status');
            const [, gone, from] = /^(\d+) bytes of output from offset (\d+) were lost/.exec(gap.text).map(Number);
            assert.ok(rest.indexOf(gap) < rest.findIndex((e) => e.eid), 'before what is left');
            assert.equal(from, had);
            assert.equal(numbered(rest).map((e) => `${e.text}\n`).join(''), all.slice(from + gone));
        }
        const late = await resume(first[0].text, events.at(-10).eid);
        assert.deepEqual(texts(numbered(late)), texts(events.slice(-9)));
        assert.ok(!late.some((e) => e.type === 'status'));
    });

    /* Pieces were cut anew from the first byte held, so that their ends moved when it did. */
    it('a line longer than an event and the ring is taken up inside, to the byte', async () => {
        const first = await stream('POST', '/command', { command: 'seq -s, 1 1500000; seq -s, 1 50000' }).ended;
        const events = numbered(first);
        assert.deepEqual(events.map((e) => e.partial), [true, true, undefined, undefined]);
        assert.ok(events.every((e) => JSON.stringify(e).length <= 4 << 20));
        const all = texts(events).join('');
        let [had, whole] = [0, 0];
        for (const e of events) {
            had += e.text.length;
            const rest = await resume(first[0].text, e.eid);
            const gap = rest.find((x) => x.type === 'status');
            const gone = gap ? Number(/^\d+/.exec(gap.text)[0]) : 0;
            assert.ok(told(rest)[0] === all.slice(had + gone), `after ${had} bytes, ${gone} gone`);
            whole += !gap;
        }
        assert.ok(whole >= 1 && whole < events.length);
    });

    it('lists what there is, page by page, whoever started it', async () => {
        const other = await d.spawn({ command: 'sleep', args: ['100'] });
        const page = async (query) => {
            const a = await call(d, 'GET', `/command${query}`);
            assert.equal(a.status, 200, a.text);
            return a.json;
        };
        const running = await page('?running=true');
        assert.ok(running.commands.some((c) => c.session === other.id && c.running && !c.background));
        assert.ok(running.commands.every((c) => !('exit_code' in c)));
        const seen = [];
        for (let cursor = ''; cursor !== undefined; ) {
            const p = await page(`?limit=2${cursor && `&cursor=${cursor}`}`);
            assert.ok(p.commands.length <= 2 && p.pagination.limit === 2);
            seen.push(...p.commands.map((c) => c.session));
            cursor = p.pagination.nextCursor;
        }
        assert.equal(new Set(seen).size, seen.length);
        assert.deepEqual(seen, (await page('?limit=100')).commands.map((c) => c.session));
        for (const q of ['?limit=0', '?limit=101', '?limit=', '?running=maybe', '?what=1', '?limit=1&limit=2', '?cursor=', '?cursor=x']) {
            const a = await call(d, 'GET', `/command${q}`);
            assert.equal(a.status, 400, q);
            assert.equal(a.json.code, 'INVALID_QUERY');
        }
        const s = await sandbox();
        assert.equal((await s.commands.getCommandStatus(other.id)).running, true);
        assert.equal((await s.commands.getCommandStatus(String(other.pid))).id, other.id);
        await s.commands.interrupt(other.id);
        assert.equal((await d.get(other.id)).status, 'exited');
    });

    it('a client that reads nothing holds nobody for ever, and is told what it missed', async () => {
        const done = path.join(d.dir, 'written');
        const { response } = bare(d, 'POST', '/command', { command: `yes 0123456789 | head -c 30000000; touch ${done}; echo; echo end` });
        const res = await response;
        res.pause();
        const [{ session: id }] = (await call(d, 'GET', '/command?running=true&limit=1')).json.commands;
        const other = await Pty.attach(d, id, { mode: 'viewer' }); /* alone it would be given longer */
        await waitUntil(() => fs.existsSync(done), 'the process to go on', 40000, 50);
        await other.end();
        let text = '';
        for await (const b of res) text += b;
        const events = text.trim().split('\n\n').map((l) => JSON.parse(l));
        assert.ok(events.some((e) => e.type === 'status' && /bytes of output from offset \d+ were lost/.test(e.text)));
        assert.deepEqual(texts(events.filter((e) => e.type === 'stdout').slice(-1)), ['end']);
        assert.equal(events.at(-1).type, 'execution_complete');
    });
});
