// SPDX-License-Identifier: Apache-2.0
// GET …/wait for the exit, POST …/wait for the first of several things.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { checkProblem, withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { RawConn, requestBytes } from '../../lib/raw.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withDaemon('wait', {}, (d) => {
    const wait = async (id, json) => (await d.api('POST', `/v1/processes/${id}/wait`, { json, expect: 200 })).json;
    const input = (id, json) => d.api('POST', `/v1/processes/${id}/input`, { json, expect: 200 });

    it('GET answers at the exit', async () => {
        const p = await d.sh('read x; exit 5', { stdin: 'pipe' });
        const waiting = d.api('GET', `/v1/processes/${p.id}/wait?timeout_ms=20000`, { expect: 200 });
        await input(p.id, { data: '\n' });
        const w = (await waiting).json;
        assert.equal(w.status, 'exited');
        assert.equal(w.exit_code, 5);
        assert.equal(w.timed_out, false);
        assert.equal(w.exit.kind, 'exited');
        const again = (await d.api('GET', `/v1/processes/${p.id}/wait`, { expect: 200 })).json;
        assert.equal(again.exit_code, 5);
    });

    it('GET says so when time is up', async () => {
        const p = await d.sh('sleep 300');
        for (const ms of [0, 50]) {
            const w = (await d.api('GET', `/v1/processes/${p.id}/wait?timeout_ms=${ms}`, { expect: 200 })).json;
            assert.equal(w.status, 'running');
            assert.equal(w.timed_out, true);
            assert.equal(w.exit_code, null);
        }
        for (const q of ['?timeout_ms=x', '?timeout_ms=-1', '?timeout=5', '?timeout_ms=99999999999999'])
            await d.refused('bad_query', 'GET', `/v1/processes/${p.id}/wait${q}`);
        await d.refused('no_such_process', 'GET', '/v1/processes/proc_none/wait');
        await d.remove(p.id);
    });

    it('GET is answered when the process is deleted', async () => {
        const p = await d.sh('sleep 300');
        const waiting = d.api('GET', `/v1/processes/${p.id}/wait`, { expect: 200 });
        await d.remove(p.id);
        assert.equal((await waiting).json.status, 'exited');
    });

    it('for a text, also one that is cut across writes', async () => {
        const p = await d.sh('printf "server is rea"; sleep 0.1; printf "dy now\\n"; sleep 300');
        const w = await wait(p.id, { until: [{ text: 'ready' }], from: 0, timeout_ms: 10000 });
        assert.deepEqual([w.matched, w.index, w.match], ['text', 0, { from: 10, to: 15 }]);
        assert.deepEqual(w.output, { offset: 0, data: 'server is ready', encoding: 'utf8' });
        assert.equal(w.next, 15);
        const again = await wait(p.id, { until: [{ text: 'ready' }], from: 11, timeout_ms: 50 });
        assert.equal(again.timed_out, true);
        await d.remove(p.id);
    });

    it('for a regular expression', async () => {
        const p = await d.sh('echo "listening on port 12345"; sleep 300');
        const w = await wait(p.id, {
            until: [{ text: 'nope' }, { regex: 'port ([0-9]+)' }],
            from: 0,
            timeout_ms: 10000,
        });
        assert.deepEqual([w.matched, w.index, w.match.from], ['regex', 1, 'listening on '.length]);
        assert.ok(w.output.data.startsWith('listening on port 1'), JSON.stringify(w));
        await d.remove(p.id);
    });

    it('expressions: anchors, classes, flags, and a prompt at a pause', async () => {
        const p = await d.sh(`printf 'first line\r\nERROR 42: it broke\nlast $ '; sleep 300`);
        const finds = async (regex) => {
            const w = await wait(p.id, { until: [{ regex }], from: 0, timeout_ms: 3000 });
            return w.match && [w.match.from, w.match.to];
        };
        assert.deepEqual(await finds('^ERROR \\d+'), [12, 19]);
        assert.deepEqual(await finds('(?i)error'), [12, 17]);
        assert.deepEqual(await finds('line$'), [6, 10]);
        assert.deepEqual(await finds('\\$ $'), [36, 38]);
        assert.deepEqual(await finds('[a-c]roke|x{3,5}'), [25, 30]);
        assert.equal(await finds('^line'), null);
        await d.remove(p.id);
    });

    it('the first in time wins, whatever its place in the list', async () => {
        const p = await d.sh('echo alpha; echo beta; sleep 300');
        await d.outputHas(p.id, 'beta');
        const w = await wait(p.id, { until: [{ text: 'beta' }, { text: 'alpha' }], from: 0, timeout_ms: 10000 });
        assert.deepEqual([w.index, w.match.from], [1, 0]);
        await d.remove(p.id);
    });

    it('for quiet', async () => {
        const p = await d.sh('for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; sleep 300');
        const w = await wait(p.id, { until: [{ quiet_ms: 400 }], from: 0, timeout_ms: 20000 });
        assert.deepEqual([w.matched, w.index, w.match], ['quiet_ms', 0, null]);
        assert.equal(w.output.data, '1\n2\n3\n4\n5\n');
        await d.remove(p.id);
    });

    it('for the exit, also when a text never comes', async () => {
        const p = await d.sh('echo something else; exit 3');
        const w = await wait(p.id, { until: [{ text: 'never' }, { exit: true }], from: 0, timeout_ms: 10000 });
        assert.deepEqual([w.matched, w.index], ['exit', 1]);
        assert.equal(w.exit_code, 3);
        const none = await wait(p.id, { until: [{ text: 'never' }], from: 0, timeout_ms: 10000 });
        assert.notEqual(none.status, 'running', 'a text that cannot come any more is not waited for');
    });

    it('from the first byte held by default, and again from where it was', async () => {
        const p = await d.sh('echo marker; exec cat', { stdin: 'pipe' });
        await d.outputHas(p.id, 'marker');
        const first = await wait(p.id, { until: [{ text: 'marker' }], timeout_ms: 10000 });
        assert.deepEqual(first.match, { from: 0, to: 6 });
        const waiting = wait(p.id, { until: [{ text: 'marker' }], from: first.next, timeout_ms: 10000 });
        await input(p.id, { data: 'x marker' });
        assert.deepEqual((await waiting).match, { from: 9, to: 15 });
        await d.remove(p.id);
    });

    it('from an offset that is gone', async () => {
        const p = await d.sh('head -c 300000 /dev/zero; sleep 300', { history_bytes: 65536 });
        await waitUntil(async () => (await d.get(p.id)).output.next === 300000, 'the output');
        await d.refused('offset_gone', 'POST', `/v1/processes/${p.id}/wait`, {
            json: { until: [{ text: 'x' }], from: 5 },
        });
        await d.remove(p.id);
    });

    it('refusals', async () => {
        const p = await d.sh('echo abc; sleep 300');
        const at = `/v1/processes/${p.id}/wait`;
        for (const regex of ['(', '[a', 'a{2,1}', '*', 'a**b(', '\\'])
            await d.refused('bad_regex', 'POST', at, { json: { until: [{ regex }] } });
        await d.refused('missing_field', 'POST', at, { json: {} });
        await d.refused('bad_type', 'POST', at, { json: { until: 'exit' } });
        await d.refused('bad_type', 'POST', at, { json: { until: [{ text: 5 }] } });
        await d.refused('bad_type', 'POST', at, { json: { until: ['exit'] } });
        await d.refused('bad_value', 'POST', at, { json: { until: [] } });
        await d.refused('bad_value', 'POST', at, {
            json: { until: Array.from({ length: 17 }, () => ({ exit: true })) },
        });
        await d.refused('bad_value', 'POST', at, { json: { until: [{ exit: true, text: 'x' }] } });
        for (const regex of ['(?=a)', '\\1', '(?<n>a)', 'a{100000}'])
            await d.refused('bad_regex', 'POST', at, { json: { until: [{ regex }] } });
        await d.refused('bad_value', 'POST', at, { json: { until: [{ text: '' }] } });
        await d.refused('bad_value', 'POST', at, { json: { until: [{ quiet_ms: -1 }] } });
        await d.refused('bad_value', 'POST', at, { json: { until: [{ text: 'x'.repeat(5000) }] } });
        await d.refused('unknown_field', 'POST', at, { json: { until: [{ texts: 'x' }] } });
        await d.refused('unknown_field', 'POST', at, { json: { until: [{ exit: true }], till: 5 } });
        const far = await d.api('POST', at, { json: { until: [{ text: 'x' }], from: 1e12 } });
        assert.ok(['range_not_satisfiable', 'bad_value'].includes(far.json.code), far.text);
        await d.refused('no_such_process', 'POST', '/v1/processes/proc_none/wait', {
            json: { until: [{ exit: true }] },
        });
        await d.remove(p.id);
    });

    it('an expression that would take for ever elsewhere is quick here', async () => {
        const p = await d.sh(`head -c 60000 /dev/zero | tr '\\0' a; echo; sleep 300`);
        await d.outputHas(p.id, '\n');
        const start = Date.now();
        const w = await wait(p.id, {
            until: [{ regex: '(a+)+b' }, { regex: '(a|a)*c' }, { regex: '(.*)(.*)(.*)(.*)(.*)d' }],
            from: 0,
            timeout_ms: 500,
        });
        assert.equal(w.timed_out, true);
        assert.ok(Date.now() - start < 8000, `took ${Date.now() - start} ms`);
        await d.remove(p.id);
    });

    it('a limit of waiting requests, and room again when they go', async () => {
        const p = await d.sh('sleep 300');
        const held = [];
        let refused = null;
        for (let i = 0; i < 1100 && !refused; i++) {
            const c = await RawConn.connect(d);
            held.push(c);
            c.send(requestBytes(d, `GET /v1/processes/${p.id}/wait`));
            if (i === limit('LIMIT_WAITS') - limit('LIMIT_WAITS') / limit('LIMIT_WAITS_KEPT_PART')) {
                const probe = (role) => d.request('GET', `/v1/processes/${p.id}/wait?timeout_ms=1`, { role });
                await waitUntil(async () => (await probe('watch')).status === 429, 'no more room for who only watches');
                assert.equal((await probe('own')).status, 200, 'but for the owner');
            }
            if (i % 64 === 63 || i >= 1020) {
                const probe = await d.request('GET', `/v1/processes/${p.id}/wait?timeout_ms=1`);
                if (probe.status === 429) refused = probe;
            }
        }
        assert.ok(refused, 'no limit was met');
        assert.equal(checkProblem(refused, 'too_many_waits').limit, 'waits');
        held.forEach((c) => c.destroy());
        await d.exitOf((await d.sh('exit 0')).id);
        await d.remove(p.id);
    });
});
