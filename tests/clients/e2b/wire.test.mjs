// SPDX-License-Identifier: Apache-2.0
// E2B's protocol byte by byte: odd but legal requests, and what is refused.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { envelope, envelopes, stream, unary } from '../../lib/e2b.mjs';
import { RawConn, exchange, requestBytes } from '../../lib/raw.mjs';
import { it } from '../../lib/test.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

const STREAM = { 'Content-Type': 'application/connect+json' };
const rpc = (method) => `POST /dialects/e2b/process.Process/${method}`;
const message = (line) => ({ process: { cmd: '/bin/sh', args: ['-c', line], future: 1 }, unknown: { a: [1] } });

withDaemon('e2b: wire', {}, (d) => {
    const chunked = (body, size) => {
        const parts = [];
        for (let at = 0; at < body.length; at += size) {
            const piece = body.subarray(at, at + size);
            parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
        }
        return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
    };
    const stdoutOf = (body) =>
        envelopes(body)
            .filter((e) => e.flags === 0)
            .map((e) => JSON.parse(e.body).event.data?.stdout ?? '')
            .map((t) => Buffer.from(t, 'base64').toString())
            .join('');

    it('byte by byte', async () => {
        const c = await RawConn.connect(d);
        for (const byte of requestBytes(d, rpc('Start'), { headers: STREAM, body: envelope(message('echo slow')) })) c.send(Buffer.from([byte]));
        const a = await c.response();
        c.destroy();
        assert.equal(a.status, 200);
        assert.equal(a.headers['content-type'], 'application/connect+json');
        assert.equal(stdoutOf(a.body), 'slow\n');
    });

    it('chunked, indented, with identity as encoding and fields that nobody knows', async () => {
        const body = envelope(JSON.stringify(message('echo odd'), null, 4));
        const headers = { ...STREAM, 'Transfer-Encoding': 'chunked', 'Connect-Content-Encoding': 'identity', 'Connect-Protocol-Version': '1' };
        const a = await exchange(d, Buffer.concat([requestBytes(d, rpc('Start'), { headers }), chunked(body, 7)]));
        assert.equal(stdoutOf(a.body), 'odd\n');
        const list = await unary(d, 'List', '{\n  "x": null\n}', { headers: { 'Content-Type': 'application/json; charset=utf-8', 'Content-Encoding': 'identity' } });
        assert.deepEqual(list.json, { processes: [] });
    });

    it('every call: byte by byte, in chunks, indented, with fields that nobody knows', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'cat; exit 3'], stdin: 'pipe' });
        const t = await d.spawn({ command: 'sleep', args: ['100'], pty: true });
        const of = (pid) => ({ process: { pid, new: 1 }, newer: [{}] });
        const spaced = (m) => JSON.stringify(m, null, 4);
        const input = (text) => ({ input: { stdin: Buffer.from(text).toString('base64'), odd: null } });
        const whole = async (method, body, headers, size) => {
            const all = { 'Transfer-Encoding': 'chunked', 'Connect-Protocol-Version': '1', ...headers };
            const c = await RawConn.connect(d);
            for (const byte of Buffer.concat([requestBytes(d, rpc(method), { headers: all }), chunked(body, size)])) c.send(Buffer.from([byte]));
            const a = await c.response();
            c.destroy();
            assert.equal(a.status, 200, `${method}: ${a.body}`);
            return a.body;
        };
        const one = async (method, m) => JSON.parse(await whole(method, Buffer.from(spaced(m)), { 'Content-Type': 'application/json', 'Content-Encoding': 'identity' }, 3));
        const streamed = (method, ...messages) => whole(method, Buffer.concat(messages.map((m) => envelope(spaced(m)))), { ...STREAM, 'Connect-Content-Encoding': 'identity' }, 2);

        assert.deepEqual((await one('List', { x: 1 })).processes.map((x) => x.pid).sort(), [p.pid, t.pid].sort());
        assert.deepEqual(await one('SendInput', { ...of(p.pid), ...input('one ') }), {});
        const typed = envelopes(await streamed('StreamInput', { start: of(p.pid) }, { keepalive: {} }, { data: input('two') }));
        assert.deepEqual(typed.map((e) => [e.flags, e.body.toString()]), [[0, '{}'], [2, '{}']]);
        await d.outputHas(p.id, 'one two');
        assert.deepEqual(await one('CloseStdin', of(p.pid)), {});
        await d.exitOf(p.id);
        const events = envelopes(await streamed('Connect', of(p.pid))).filter((e) => e.flags === 0).map((e) => JSON.parse(e.body).event);
        assert.deepEqual([events[0].start.pid, events.at(-1).end.exitCode], [p.pid, 3]);
        assert.deepEqual(await one('Update', { ...of(t.pid), pty: { size: { cols: 99, rows: 33 }, x: 0 } }), {});
        assert.deepEqual([(await d.get(t.id)).cols, (await d.get(t.id)).rows], [99, 33]);
        assert.deepEqual(await one('SendSignal', { ...of(t.pid), signal: 'SIGNAL_SIGKILL' }), {});
        assert.equal((await d.exitOf(t.id)).exit.signal, 'SIGKILL');
        assert.equal(stdoutOf(await streamed('Start', message('echo start'))), 'start\n');
        await d.removeAll();
    });

    it('numbers as text, enums as numbers, snake_case, null as absent', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['100'] });
        assert.equal((await unary(d, 'CloseStdin', { process: { pid: String(p.pid), tag: null } })).status, 200);
        assert.equal((await unary(d, 'SendSignal', { process: { pid: p.pid }, signal: 2 })).text, '{}');
        assert.equal((await d.exitOf(p.id)).exit.signal, 'SIGINT');
    });

    it('any process can be chosen by the id that the daemon gave it', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['100'] });
        assert.equal((await unary(d, 'SendSignal', { process: { tag: p.id }, signal: 'SIGNAL_SIGTERM' })).status, 200);
        assert.equal((await d.exitOf(p.id)).exit.signal, 'SIGTERM');
    });

    it('unary errors have a status, a code and a sentence', async () => {
        const cases = [
            ['SendInput', '', 400, 'invalid_argument'],
            ['SendInput', '[]', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":1,"tag":"x"}}', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":-1}}', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":4294967296}}', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":1.5}}', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":999999},"input":{"stdin":"!"}}', 400, 'invalid_argument'],
            ['SendInput', '{"process":{"pid":999999}}', 404, 'not_found'],
            ['SendInput', '{"process":{"tag":"no\\u0000ne"}}', 404, 'not_found'],
            ['SendInput', `{"process":{"tag":"${'x'.repeat(5000)}"}}`, 404, 'not_found'],
            ['SendInput', '{}', 501, 'unimplemented'],
            ['SendSignal', '{"process":{"pid":1},"signal":"SIGNAL_SIGHUP"}', 400, 'invalid_argument'],
            ['Update', '{"process":{"tag":"none"}}', 404, 'not_found'],
        ];
        for (const [method, body, status, code] of cases) {
            const a = await unary(d, method, body);
            assert.equal(a.status, status, `${method} ${body}: ${a.text}`);
            assert.equal(a.json.code, code, `${method} ${body}: ${a.text}`);
            assert.ok(a.json.message.length > 5);
        }
    });

    it('stream errors come with status 200 in the last envelope', async () => {
        const cases = [
            [Buffer.alloc(0), 'invalid_argument'],
            [Buffer.from([0, 0, 0]), 'invalid_argument'],
            [Buffer.from([0, 0, 0, 0, 9, 1]), 'invalid_argument'],
            [Buffer.concat([envelope({}), envelope({})]), 'invalid_argument'],
            [envelope({}, 1), 'invalid_argument'],
            [envelope('{'), 'invalid_argument'],
            [envelope({ process: { cmd: 'a\0b' } }), 'invalid_argument'],
            [envelope({ process: { cmd: 'sh', args: ['\0'] } }), 'invalid_argument'],
            [envelope({ process: { cmd: 'sh', envs: { A: 1 } } }), 'invalid_argument'],
            [envelope({ process: { cmd: 'sh', envs: { 'A=': 'x' } } }), 'invalid_argument'],
            [envelope({ process: { cmd: 'sh', args: Array(5000).fill('x') } }), 'invalid_argument'],
            [envelope({ process: { cmd: '/no/such/program' } }), 'invalid_argument'],
            [envelope({ process: { cmd: '/bin/sh', cwd: `/usr${'/'.repeat(5000)}x` } }), 'invalid_argument'],
            [envelope({ process: { cmd: '/bin/sh' }, pty: { size: { cols: 70000, rows: 1 } } }), 'invalid_argument'],
            [envelope({ process: { cmd: '/bin/sh' }, tag: 'x'.repeat(200) }), 'invalid_argument'],
        ];
        for (const [body, code] of cases) {
            const { end, raw } = await stream(d, 'Start', null, { body });
            assert.equal(end.error?.code, code, `${body.subarray(0, 80)}: ${JSON.stringify(end)}`);
            assert.equal(raw.length, 0);
        }
        assert.deepEqual(await d.list('?status=running'), []);
    });

    it('a tag has one process', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['100'], tag: 'mine' });
        assert.equal((await stream(d, 'Start', { process: { cmd: 'true' }, tag: 'mine' })).end.error.code, 'already_exists');
        await d.remove(p.id);
    });

    it('methods, paths and types that are none', async () => {
        const get = await d.request('GET', '/dialects/e2b/process.Process/List');
        assert.equal(get.status, 405);
        assert.match(get.headers.allow, /POST/);
        const none = await unary(d, 'Nothing', '{}');
        assert.equal(none.status, 404);
        assert.equal(none.json.code, 404);
        for (const [method, type] of [['List', 'text/plain'], ['List', 'application/connect+json'], ['Start', 'application/json'], ['List', 'application/jsonx']]) {
            const a = await unary(d, method, '{}', { headers: { 'Content-Type': type } });
            assert.equal(a.status, 415, `${method} ${type}`);
            assert.ok(a.headers['accept-post']);
        }
        assert.equal((await unary(d, 'List', '{}', { headers: { 'Content-Encoding': 'gzip' } })).json.code, 'unimplemented');
    });

    it('a wrong token is refused by status, whatever is asked', async () => {
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            const a = await unary(d, 'List', '{}', { role });
            assert.equal(a.status, 401);
            assert.equal(a.json.code, 401);
        }
        const ok = await unary(d, 'List', '{}', { role: null, headers: { 'X-Access-Token': d.token } });
        assert.equal(ok.status, 200);
    });

    it('a message that is too large is refused and costs nothing', async () => {
        const a = await exchange(d, requestBytes(d, rpc('Update'), { headers: { 'Content-Length': 5000000, 'Content-Type': 'application/json' } }));
        assert.equal(a.status, 400, 'clients take 429 for a rate limit');
        assert.equal(JSON.parse(a.body).code, 'invalid_argument');
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, rpc('StreamInput'), { headers: { ...STREAM, 'Transfer-Encoding': 'chunked' } }), '5\r\n\0\xff\xff\xff\xff\r\n');
        const b = await c.response();
        assert.equal(JSON.parse(envelopes(b.body)[0].body).error.code, 'invalid_argument');
        c.destroy();
    });

    const outputOf = async (p) => (await d.exitOf(p.id), (await d.output(p.id)).toString().trim());
    /** A process that counts its input. */
    const counter = async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'wc -c'], stdin: 'pipe' });
        return { ...p, closed: async () => (await unary(d, 'CloseStdin', { process: { pid: p.pid } }), await outputOf(p)) };
    };
    const head = (p, kind = 'stdin') => `{"process":{"pid":${p.pid}},"input":{"${kind}":"`;
    const long = Buffer.alloc(6_000_000, 'abc').toString('base64');

    // A message that was held whole had 4 MiB at most, and clients reported a rate limit.
    it('one SendInput of any size, whatever its form and pieces', async () => {
        const varint = (n) => Buffer.from(n < 128 ? [n] : [...varint(n & 127).map((b) => b | 128), ...varint(Math.floor(n / 128))]);
        const field = (tag, body) => Buffer.concat([Buffer.from([tag]), varint(body.length), body]);
        const proto = (p) => Buffer.concat([field(0x0a, Buffer.concat([Buffer.from([8]), varint(p.pid)])), field(0x12, field(0x0a, Buffer.alloc(6_000_000)))]);
        const json = (text) => (p) => `${head(p)}${text}"}}`;
        for (const [type, body, bytes = 6_000_000] of [
            ['application/json', json(long)],
            ['application/json', (p) => `\n{ "process" : {"pid":"${p.pid}"} , "input":\n{ "stdin"\t:  "${long}" } }\r\n`],
            ['application/json', json(Buffer.alloc(6_000_000, 0xff).toString('base64').replaceAll('/', '\\/'))],
            ['application/json', json(Buffer.alloc(5_999_999).toString('base64')), 5_999_999],
            ['application/json', json(Buffer.alloc(5_999_998).toString('base64url')), 5_999_998],
            ['application/proto', proto],
            ['application/grpc', (p) => envelope(proto(p))],
            ['application/grpc+json', (p) => envelope(json(long)(p))],
        ]) {
            const p = await counter();
            const a = await unary(d, 'SendInput', body(p), { headers: { 'Content-Type': type } });
            assert.equal(a.status, 200, a.text);
            assert.equal(Number(await p.closed()), bytes, type);
        }
    });

    it('two long inputs at once stay apart, and so does a short one between them', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'sleep 0.2; uniq'], stdin: 'pipe' });
        const lines = (c) => Buffer.from(`${c}\n`.repeat(500_000)).toString('base64');
        const all = ['a', 'b', 'c'].map((c) => unary(d, 'SendInput', c === 'b' ? `${head(p)}Ygo="}}` : `${head(p)}${lines(c)}"}}`));
        for (const a of await Promise.all(all)) assert.equal(a.status, 200, a.text);
        await unary(d, 'CloseStdin', { process: { pid: p.pid } });
        assert.deepEqual((await outputOf(p)).split('\n').sort(), ['a', 'b', 'c']);
    });

    it('a long input that cannot be typed is refused with the reason', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'cat >/dev/null'], stdin: 'pipe' });
        const deaf = await d.spawn({ command: 'sleep', args: ['1000'], stdin: 'null' });
        const cases = [
            [`{"input":{"stdin":"${long}"},"process":{"pid":${p.pid}}}`, 400, /process must come before input/],
            [`${head(p)}${long}"},"more":1}`, 400, /last field/],
            [`{"process":{"pid":${p.pid}},"input":{"other":"${long}"}}`, 400, /last field/],
            [`{"process":{"tag":"${long}"}}`, 400, /last field/],
            [`{"input":{"stdin":""},"process":{"pid":${p.pid},"stdin":"${long}"}}`, 400, /last field/],
            [`{"process":{"pid":${p.pid}},"other":{"stdin":"${long}"}}`, 400, /last field/],
            [`{"process":[{"pid":${p.pid}},"input":{"stdin":"${long}"}}`, 400, /last field/],
            [`${' '.repeat(70_000)}${head(p)}"}}`, 400, /last field/],
            [`${head(p)}${long.slice(0, 70_000)}!!!!"}}`, 400, /base64/],
            [`${head(p)}${long.slice(0, 70_000)}AA==AA=="}}`, 400, /base64/],
            [`${head(p)}${long.slice(0, 70_000)}\\u0041"}}`, 400, /base64/],
            [`${head(p)}${long.slice(0, 70_000)}`, 400, /cut short/],
            [`${head(p)}${long.slice(0, 70_000)}"}`, 400, /cut short/],
            [`${head(p)}${long.slice(0, 70_000)}"}}}`, 400, /last field/],
            [`${head({ pid: 4_000_000_000 })}${long}"}}`, 404, /not found/],
            [`${head(deaf)}${long}"}}`, 500, /stdin: true/],
            [`${head(p, 'pty')}${long}"}}`, 500, /send the input as stdin/],
        ];
        for (const [body, status, why] of cases) {
            const a = await unary(d, 'SendInput', body);
            assert.equal(a.status, status, `${body.slice(0, 100)}: ${a.text}`);
            assert.match(a.json.message, why);
        }
        const proto = (hex) => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(70_000)]);
        for (const hex of ['0a0408ff8f7a', '0a0308010112ffffff7f0affffff7f', '12f0a2040aeca204', '0a020801', '0a02080112f6a2040affa204', 'ff', '0affffffffff'])
            assert.equal((await unary(d, 'SendInput', proto(hex), { headers: { 'Content-Type': 'application/proto' } })).status, 400, hex);
        const flagged = Buffer.concat([Buffer.from([1]), envelope(`${head(p)}${long}"}}`).subarray(1)]);
        const a = await unary(d, 'SendInput', flagged, { headers: { 'Content-Type': 'application/grpc+json' } });
        assert.equal(a.headers['grpc-status'], '3');
        await d.remove(p.id);
        await d.remove(deaf.id);
    });

    it('a long input gives its turn up when its client or its process goes', async () => {
        const p = await counter();
        const c = await RawConn.connect(d);
        c.send(requestBytes(d, rpc('SendInput'), { headers: { 'Content-Type': 'application/json', 'Content-Length': 9_000_000 } }), Buffer.from(`${head(p)}${long.slice(0, 400_000)}`));
        const next = unary(d, 'SendInput', { process: { pid: p.pid }, input: { stdin: 'YWJj' } });
        await holdsFor(100, () => c.held.length === 0, 'no answer to half a message');
        c.reset();
        assert.equal((await next).status, 200);
        const typed = Number(await p.closed());
        assert.ok(typed >= 3 && typed <= 300_003, `${typed} bytes`);
        const q = await d.spawn({ command: 'sleep', args: ['1000'], stdin: 'pipe' });
        const late = unary(d, 'SendInput', `${head(q)}${long}"}}`);
        await holdsFor(100, () => true, 'the pipe is full');
        await d.remove(q.id);
        assert.match((await late).json.code, /^(not_found|internal)$/);
    });

    it('StreamInput waits for a process that reads slowly, and goes away with its client', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['100'], stdin: 'pipe' });
        const c = await RawConn.connect(d);
        const part = (m) => {
            const e = envelope(m);
            return [Buffer.from(`${e.length.toString(16)}\r\n`), e, Buffer.from('\r\n')];
        };
        c.send(requestBytes(d, rpc('StreamInput'), { headers: { ...STREAM, 'Transfer-Encoding': 'chunked' } }));
        c.send(...part({ start: { process: { pid: p.pid } } }));
        const data = { data: { input: { stdin: Buffer.alloc(100000, 'x').toString('base64') } } };
        for (let i = 0; i < 5; i++) c.send(...part(data));
        await holdsFor(200, () => c.held.length === 0, 'no answer while the process does not read');
        c.send('0\r\n\r\n');
        await holdsFor(100, () => c.held.length === 0, 'no answer yet');
        await unary(d, 'SendSignal', { process: { pid: p.pid }, signal: 'SIGNAL_SIGKILL' });
        const a = await c.response();
        // Which of the two comes first, the end of its input or its own, is the kernel's affair.
        assert.match(JSON.parse(envelopes(a.body)[0].body).error.code, /^(not_found|internal)$/);
        c.destroy();
        const q = await d.spawn({ command: 'sleep', args: ['100'], stdin: 'pipe' });
        const gone = await RawConn.connect(d);
        gone.send(requestBytes(d, rpc('StreamInput'), { headers: { ...STREAM, 'Transfer-Encoding': 'chunked' } }));
        gone.send(...part({ start: { process: { pid: q.pid } } }));
        for (let i = 0; i < 5; i++) gone.send(...part(data));
        gone.reset();
        await waitUntil(async () => (await d.request('GET', '/healthz')).status === 200, 'the daemon to be well');
        await d.remove(q.id);
    });
});
