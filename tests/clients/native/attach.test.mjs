// SPDX-License-Identifier: Apache-2.0
// GET …/connect: the conversation over the WebSocket.

import assert from 'node:assert/strict';
import { it } from '../../lib/test.mjs';
import { Viewer, closeCodeOf } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { checkBytes, emit } from '../../lib/gen.mjs';
import { limit } from '../../lib/limits.mjs';
import * as proc from '../../lib/proc.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';
import { OP, WsRaw } from '../../lib/wsraw.mjs';

/** Behind a gateway twice as many sockets hold output, so these cannot count on where it stops. */
const moreBuffers = { skip: Boolean(process.env.HF_TEST_GATEWAY) };

withDaemon('attach', {}, (d) => {
    it('hello, replay, live, exit, close 1000', async () => {
        const p = await d.sh('echo before; read x; echo "after $x"; exit 6', { stdin: 'pipe' });
        await d.outputHas(p.id, 'before');
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        const h = v.hello;
        assert.equal(h.offset, 0);
        assert.equal(h.replay_until, 7);
        assert.equal(h.input_offset, 0);
        assert.equal(h.role, 'own');
        assert.equal(h.process.id, p.id);
        assert.equal(typeof h.protocol === 'string' || typeof h.protocol === 'number', true);
        assert.equal((await v.message('replay_done')).offset, 7);
        await v.send('you\n');
        const x = await v.finish();
        assert.equal(x.exit_code, 6);
        assert.equal(x.exit.kind, 'exited');
        assert.equal(v.output.toString(), 'before\nafter you\n');
        const types = v.messages.map((m) => m.type);
        assert.ok(types.indexOf('replay_done') < types.indexOf('exit'));
    });

    it('messages match their schemas, where the document has them', async () => {
        const api = await d.openapi();
        const p = await d.sh('echo x; echo y >&2; exit 0', {});
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await v.finish();
        const name = ['WebSocketServerMessage', 'ServerMessage', 'WsServerMessage'].find((n) => api.hasSchema(n));
        if (name) for (const m of v.messages) api.checkSchema(name, m);
    });

    it('pipes say which stream', async () => {
        const n = 30000;
        const p = await d.spawn({ command: emit(), args: ['-n', String(n), '-s', '90', '-e', '-c', '1000'] });
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await v.finish();
        checkBytes(90, 0, v.bytesOf('stdout'));
        checkBytes(91, 0, v.bytesOf('stderr'));
        assert.equal(v.bytesOf('stdout').length + v.bytesOf('stderr').length, 2 * n);
    });

    it('since: an offset, the last N, now, 0', async () => {
        const p = await d.spawn({ command: emit(), args: ['-n', '10000', '-s', '92', '-H'] });
        await waitUntil(async () => (await d.get(p.id)).output.next === 10000, 'the output');
        for (const [since, from] of [
            ['0', 0],
            ['1234', 1234],
            ['10000', 10000],
            ['-500', 9500],
            ['-99999', 0],
            ['now', 10000],
        ]) {
            const v = await Viewer.attach(d, p.id, { query: { since } });
            assert.equal(v.hello.offset, from, since);
            await v.message('replay_done');
            assert.equal(v.at, 10000);
            checkBytes(92, from, v.output);
            v.cut();
        }
        await d.remove(p.id);
    });

    it('since beyond the output is refused', async () => {
        const p = await d.sh('echo x; sleep 300');
        await d.outputHas(p.id, 'x');
        const v = new Viewer(d, p.id, { query: { since: '1000000' } });
        let outcome;
        try {
            await v.opened;
            outcome = await v.closed;
        } catch (err) {
            outcome = err.status;
        }
        assert.ok([416, 1008, 400].includes(outcome), `${outcome}`);
        await d.remove(p.id);
    });

    it('the last bytes of a terminal begin at a safe boundary', async () => {
        // More than 64 KiB, made of characters and sequences that must not be torn.
        const p = await d.sh(
            `i=0; while [ $i -lt 6000 ]; do printf '\\033[38;5;%dm\\342\\202\\254\\360\\237\\230\\200' $((i % 256)); i=$((i+1)); done; echo END; sleep 300`,
            { pty: true },
        );
        await d.outputHas(p.id, 'END', 30000);
        const v = await Viewer.attach(d, p.id, { query: { since: '-65536' } });
        await v.message('replay_done');
        const end = (await d.get(p.id)).output.next;
        assert.ok(
            end - v.hello.offset <= 65536 && end - v.hello.offset > 65536 - 200,
            `replay of ${end - v.hello.offset}`,
        );
        const text = new TextDecoder('utf-8', { fatal: true }).decode(v.output);
        assert.match(text, /^(\u001b\[38;5;\d+m|\u20ac|\u{1f600})/u);
        v.cut();
        await d.remove(p.id);
    });

    it('the default for pipes is everything held', async () => {
        const p = await d.sh('echo all of it; sleep 300');
        await d.outputHas(p.id, 'all of it');
        const v = await Viewer.attach(d, p.id);
        await v.message('replay_done');
        assert.equal(v.output.toString(), 'all of it\n');
        v.cut();
        await d.remove(p.id);
    });

    it('attaching to the dead: replay, exit, close', async () => {
        const p = await d.sh('echo remains; exit 8');
        await d.exitOf(p.id);
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        assert.equal((await v.finish()).exit_code, 8);
        assert.equal(v.output.toString(), 'remains\n');
    });

    it('control messages', async () => {
        const p = await d.sh('trap "echo INT" INT; echo ready; cat; echo "eof seen"; exit 2', { stdin: 'pipe' });
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await v.outputHas('ready');
        v.control({ type: 'signal', signal: 'SIGINT', target: 'leader' });
        await v.send('typed');
        await v.outputHas('typed');
        v.control({ type: 'eof' });
        assert.equal((await v.finish()).exit_code, 2);
        assert.ok(v.output.includes('eof seen'));
    });

    it('bad control messages are errors and the connection lives', async () => {
        const p = await d.sh('exec cat', { pty: true });
        const v = await Viewer.attach(d, p.id);
        const tries = [
            ['not json', 'bad_json'],
            ['[]', 'bad_type'],
            ['{}', 'missing_field'],
            ['{"type":5}', 'bad_type'],
            ['{"type":"dance"}', 'bad_value'],
            ['{"type":"resize"}', 'missing_field'],
            ['{"type":"resize","rows":0,"cols":1}', 'bad_size'],
            ['{"type":"resize","rows":"1","cols":1}', 'bad_type'],
            ['{"type":"signal","signal":"NOPE"}', 'bad_signal'],
            ['{"type":"eof","x":1}', 'unknown_field'],
            ['{"type":"ack","offset":-1}', null],
            ['"text"', 'bad_type'],
        ];
        for (const [text, code] of tries) {
            v.messages.length = 0;
            v.ws.send(text);
            const e = await v.message('error', 5000).catch((err) => assert.fail(`${text}: ${err.message}`));
            if (code) assert.equal(e.code, code, text);
            assert.ok(e.detail.length > 3);
        }
        await v.send('still here');
        await v.outputHas('still here');
        v.cut();
        await d.remove(p.id);
    });

    it('ping is answered by pong', async () => {
        const p = await d.sh('sleep 300');
        const v = await Viewer.attach(d, p.id, {});
        v.control({ type: 'ping' });
        await waitUntil(() => v.messages.find((m) => m.type === 'pong'), 'the answer');
        assert.ok(!v.messages.some((m) => m.type === 'error'));
        v.ws.terminate();
        await d.remove(p.id);
    });

    it('detach closes with 1000 and the process lives', async () => {
        const p = await d.sh('sleep 300');
        const v = await Viewer.attach(d, p.id);
        v.control({ type: 'detach' });
        assert.equal(await v.closed, 1000);
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('mode=ro takes no input', async () => {
        const p = await d.sh('exec cat', { pty: true });
        const v = await Viewer.attach(d, p.id, { query: { mode: 'ro' } });
        await v.send('ignored');
        assert.equal((await v.message('error')).code, 'forbidden');
        const w = await Viewer.attach(d, p.id, { query: { mode: 'rw' } });
        await w.send('taken');
        await w.outputHas('taken');
        assert.ok(!w.output.includes('ignored'));
        v.cut();
        w.cut();
        await d.remove(p.id);
    });

    it('viewers are counted, listed and told', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const a = await Viewer.attach(d, p.id, { query: { client: 'anna' } });
        assert.equal((await d.get(p.id)).viewers, 1);
        const b = await Viewer.attach(d, p.id, { query: { client: 'bert' } });
        const m = await a.message('viewers', 5000, (x) => x.count === 2);
        assert.deepEqual(m.list.map((x) => x.client).sort(), ['anna', 'bert']);
        b.cut();
        await a.message('viewers', 5000, (x) => x.count === 1);
        assert.equal((await d.get(p.id)).viewers, 1);
        a.cut();
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'nobody');
        await d.remove(p.id);
    });

    it('input of a client is counted across its connections', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const a = await Viewer.attach(d, p.id, { query: { client: 'c1', since: '0' } });
        assert.equal(a.hello.input_offset, 0);
        await a.send('12345');
        assert.equal((await a.message('input_ack', 5000, (m) => m.offset === 5)).offset, 5);
        await a.outputHas('12345');
        a.cut();
        const b = await Viewer.attach(d, p.id, { query: { client: 'c1', since: '0' } });
        assert.equal(b.hello.input_offset, 5);
        const c = await Viewer.attach(d, p.id, { query: { client: 'c2', since: '0' } });
        assert.equal(c.hello.input_offset, 0);
        b.cut();
        c.cut();
        await d.remove(p.id);
    });

    it('ack=1 sends no more than the window until acknowledged', async () => {
        const total = 4 << 20;
        const p = await d.spawn({
            command: emit(),
            args: ['-n', String(total), '-s', '93', '-c', '65536', '-w'],
            stdin: 'pipe',
            delivery: 'lossless',
        });
        const v = await Viewer.attach(d, p.id, {
            query: { since: '0', ack: '1' },
            keep: false,
            onBytes: (at, b) => checkBytes(93, at, b),
        });
        await v.send('x');
        let acked = 0;
        while (!v.exit) {
            await v.until(() => v.at > acked || v.exit, 20000, 'bytes');
            await holdsFor(
                20,
                () => v.at < acked + (512 << 10) + limit('VIEWER_SLICE_BYTES'),
                'no more than the window and one frame',
            );
            acked = v.at;
            v.control({ type: 'ack', offset: acked });
        }
        assert.equal(v.at, total);
    });

    it('lossless: a viewer that stands still holds the process and gets everything', moreBuffers, async () => {
        const total = 8 << 20;
        const p = await d.spawn({
            command: emit(),
            args: ['-n', String(total), '-s', '94', '-c', '65536', '-w'],
            stdin: 'pipe',
            delivery: 'lossless',
            history_bytes: 1 << 20,
        });
        const v = await Viewer.attach(d, p.id, {
            query: { since: '0' },
            keep: false,
            onBytes: (at, b) => checkBytes(94, at, b),
        });
        v.ws.pause();
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'x' }, expect: 200 });
        await waitUntil(async () => (await d.get(p.id)).output.next >= 1 << 20, 'the ring to fill');
        const held = await waitUntil(async () => {
            const a = (await d.get(p.id)).output.next;
            await holdsFor(150, () => true, 'a while');
            return (await d.get(p.id)).output.next === a ? a : null;
        }, 'the process to be held');
        assert.ok(held < total, 'it was not held');
        assert.ok(proc.isAlive(p.pid));
        v.ws.resume();
        assert.equal((await v.finish(60000)).exit_code, 0);
        assert.equal(v.at, total);
        assert.deepEqual(v.gaps, []);
    });

    it('the last 16 clients are remembered', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        for (let i = 0; i < 16; i++) {
            const v = await Viewer.attach(d, p.id, { query: { client: `c${i}`, since: 'now' } });
            await v.send('x'.repeat(i + 1));
            await v.message('input_ack', 5000, (m) => m.offset === i + 1);
            v.cut();
        }
        for (let i = 0; i < 16; i++) {
            const v = await Viewer.attach(d, p.id, { query: { client: `c${i}`, since: 'now' } });
            assert.equal(v.hello.input_offset, i + 1);
            v.cut();
        }
        await d.remove(p.id);
    });

    it('a bare terminal attach may use text frames for input', async () => {
        const p = await d.sh('exec cat', { stdin: 'pipe' });
        const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect?raw=1&since=0`);
        w.send(OP.TEXT, 'typed as text, {"type":"eof"} too; ').send(OP.BINARY, 'and bytes');
        assert.equal((await w.binary(44)).toString(), 'typed as text, {"type":"eof"} too; and bytes');
        w.destroy();
        await d.remove(p.id);
    });

    it('a bare attach that misses output of pipes is closed rather than left with a hole', async () => {
        const p = await d.sh('read x; head -c 1000000 /dev/zero', { stdin: 'pipe', history_bytes: 65536 });
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        await d.exitOf(p.id);
        const w = await WsRaw.open(d, `/v1/processes/${p.id}/connect?raw=1&since=10`);
        await w.expectClose(4416);
        // What was gone before it came, and was not asked for, is no news.
        const all = await WsRaw.open(d, `/v1/processes/${p.id}/connect?raw=1`);
        assert.equal((await all.binary(65536)).length, 65536);
        all.destroy();
        await d.remove(p.id);
    });

    it('a link to nothing', async () => {
        assert.equal(await closeCodeOf(d, 'proc_zzzz'), 4404);
    });

    it('a title is told', async () => {
        const p = await d.sh('sleep 300', { pty: true });
        const v = await Viewer.attach(d, p.id);
        await d.api('PATCH', `/v1/processes/${p.id}`, { json: { title: 'new title' }, expect: 200 });
        assert.equal((await v.message('title')).title, 'new title');
        v.cut();
        await d.remove(p.id);
    });

    it('deleting the process tells the exit first', async () => {
        const p = await d.sh('echo x; sleep 300');
        const v = await Viewer.attach(d, p.id, { query: { since: '0' } });
        await v.outputHas('x');
        await d.remove(p.id);
        assert.equal((await v.finish()).exit.kind, 'killed');
    });

    it('every way of going away is noticed', async () => {
        const p = await d.sh('sleep 300');
        for (const leave of [
            (v) => v.cut(),
            (v) => v.ws.close(1000),
            (v) => v.ws.close(4000, 'why not'),
            (v) => v.ws._socket.resetAndDestroy?.() ?? v.cut(),
            (v) => v.ws._socket.end(),
        ]) {
            const v = await Viewer.attach(d, p.id);
            leave(v);
            await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'the viewer to be gone', 10000);
            v.cut();
        }
        await d.remove(p.id);
    });
});
