// SPDX-License-Identifier: Apache-2.0
// The same services in every form that the original's server has: Connect and gRPC, protobuf and
// JSON, HTTP/1.1 and HTTP/2 without TLS. Connect's own client for Node with the schema that is in the
// E2B package.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { withDaemon } from '../../lib/daemon.mjs';
import { base, envelope, filesystemService, processService, stream, unary } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const forms = {
    'Connect with protobuf, HTTP/1.1': [createConnectTransport, { httpVersion: '1.1', useBinaryFormat: true }],
    'Connect with protobuf, HTTP/2': [createConnectTransport, { httpVersion: '2', useBinaryFormat: true }],
    'Connect with JSON, HTTP/2': [createConnectTransport, { httpVersion: '2', useBinaryFormat: false }],
    'gRPC with protobuf': [createGrpcTransport, { httpVersion: '2', useBinaryFormat: true }],
    'gRPC with JSON': [createGrpcTransport, { httpVersion: '2', useBinaryFormat: false }],
};

const everyCall = ([transport, options]) => (d) => {
    const clientOf = (service) =>
        createClient(
            service,
            transport({
                baseUrl: base(d),
                ...options,
                interceptors: [(next) => (rq) => (rq.header.set('X-Access-Token', rq.header.get('X-Access-Token') ?? d.token), next(rq))],
            }),
        );
    let made;
    const client = () => (made ??= clientOf(processService()));
    const sh = (line, more = {}) => ({ process: { cmd: '/bin/sh', args: ['-c', line] }, ...more });
    const byPid = (pid) => ({ selector: { case: 'pid', value: pid } });
    const stdin = (text) => ({ input: { case: 'stdin', value: Buffer.from(text) } });

    /** Reads a stream in the background. */
    const follow = (messages) => {
        const f = { out: '', err: '', pty: '', keepalives: 0 };
        f.done = (async () => {
            for await (const { event } of messages) {
                const { case: kind, value } = event.event;
                if (kind === 'start') f.pid = value.pid;
                else if (kind === 'keepalive') f.keepalives++;
                else if (kind === 'end') f.end = value;
                else {
                    const name = { stdout: 'out', stderr: 'err', pty: 'pty' }[value.output.case];
                    f[name] += Buffer.from(value.output.value).toString('latin1');
                }
            }
            return f;
        })();
        f.done.catch(() => {});
        f.started = () => waitUntil(() => f.pid, 'the start');
        return f;
    };
    const code = (promise, want) =>
        assert.rejects(promise, (err) => {
            assert.ok(err instanceof ConnectError, String(err));
            assert.equal(Code[err.code], want, err.message);
            return true;
        });

    it('Start: streams, exit codes 0, 3 and by a signal', async () => {
        const ok = await follow(client().start(sh('echo out; echo err >&2'))).done;
        assert.equal(ok.out, 'out\n');
        assert.equal(ok.err, 'err\n');
        const { exitCode, exited, status, error } = ok.end;
        assert.deepEqual({ exitCode, exited, status, error }, { exitCode: 0, exited: true, status: 'exit status 0', error: undefined });
        const three = await follow(client().start(sh('exit 3'))).done;
        assert.equal(three.end.exitCode, 3);
        assert.equal(three.end.error, 'exit status 3');
        const killed = await follow(client().start(sh('kill -9 $$'))).done;
        assert.equal(killed.end.exitCode, -1);
        assert.equal(killed.end.exited, false);
        assert.equal(killed.end.status, 'signal: killed');
        const seg = await follow(client().start(sh('ulimit -c 0; kill -SEGV $$'))).done;
        assert.equal(seg.end.status, 'signal: segmentation fault');
    });

    it('List, Connect, SendInput, CloseStdin, by pid and by tag', async () => {
        const f = follow(client().start({ ...sh('cat; exit 2'), tag: 'bin', process: { ...sh('cat; exit 2').process, envs: { A: 'b' }, cwd: '/usr' } }));
        await f.started();
        const { processes } = await client().list({});
        const p = processes.find((x) => x.pid === f.pid);
        assert.equal(p.tag, 'bin');
        assert.deepEqual([p.config.cmd, p.config.args, p.config.envs, p.config.cwd], ['/bin/sh', ['-c', 'cat; exit 2'], { A: 'b' }, '/usr']);
        const g = follow(client().connect({ process: { selector: { case: 'tag', value: 'bin' } } }));
        await g.started();
        await client().sendInput({ process: byPid(f.pid), input: stdin('\0\xffhello') });
        await waitUntil(() => g.out.endsWith('hello') && f.out === g.out, 'the echo at both');
        await client().closeStdin({ process: byPid(f.pid) });
        assert.equal((await f.done).end.exitCode, 2);
        assert.equal((await g.done).end.exitCode, 2);
    });

    it('StreamInput types as it goes and answers once', async () => {
        const f = follow(client().start(sh('cat')));
        await f.started();
        const big = 'x'.repeat(200000);
        const answer = await client().streamInput(
            (async function* () {
                yield { event: { case: 'start', value: { process: byPid(f.pid) } } };
                yield { event: { case: 'data', value: { input: stdin('one ') } } };
                await waitUntil(() => f.out === 'one ', 'the first part before the second is sent');
                yield { event: { case: 'keepalive', value: {} } };
                for (let i = 0; i < 10; i++) yield { event: { case: 'data', value: { input: stdin(big) } } };
            })(),
        );
        assert.equal(answer.$typeName, 'process.StreamInputResponse');
        await client().closeStdin({ process: byPid(f.pid) });
        assert.equal((await f.done).out, `one ${big.repeat(10)}`);
        await code(client().streamInput((async function* () { yield { event: { case: 'data', value: { input: stdin('x') } } }; })()), 'InvalidArgument');
        await code(client().streamInput((async function* () { yield { event: { case: 'start', value: { process: byPid(999999) } } }; })()), 'NotFound');
    });

    it('a terminal: Update, SendInput; SendSignal with any number', async () => {
        const f = follow(client().start({ process: { cmd: '/bin/sh' }, pty: { size: { cols: 80, rows: 24 } } }));
        await f.started();
        await client().update({ process: byPid(f.pid), pty: { size: { cols: 101, rows: 31 } } });
        await client().sendInput({ process: byPid(f.pid), input: { input: { case: 'pty', value: Buffer.from('stty size\r') } } });
        await waitUntil(() => f.pty.includes('31 101'), 'the new size');
        await client().sendSignal({ process: byPid(f.pid), signal: 1 });
        assert.equal((await f.done).end.status, 'signal: hangup');
        await code(client().sendSignal({ process: byPid(f.pid), signal: 9 }), 'NotFound');
    });

    it('errors have the codes of the original', async () => {
        await code(follow(client().connect({ process: byPid(999999) })).done, 'NotFound');
        await code(follow(client().connect({})).done, 'Unimplemented');
        await code(client().sendSignal({ process: {} }), 'Unimplemented');
        await code(follow(client().start({ process: { cmd: '/bin/sh', cwd: '/no/such' } })).done, 'InvalidArgument');
        await code(follow(client().start({ process: { cmd: '' } })).done, 'InvalidArgument');
        await code(follow(client().start(sh('true'), { headers: { Authorization: `Basic ${btoa('nobody-knows:')}` } })).done, 'Unauthenticated');
        const f = follow(client().start({ ...sh('sleep 100'), stdin: false }));
        await f.started();
        await code(client().sendInput({ process: byPid(f.pid), input: stdin('x') }), 'Internal');
        await code(client().sendInput({ process: byPid(f.pid), input: {} }), 'Unimplemented');
        await code(client().sendSignal({ process: byPid(f.pid), signal: 0 }), 'Unimplemented');
        await code(client().sendSignal({ process: byPid(f.pid), signal: 200 }), 'Unimplemented');
        await client().sendSignal({ process: byPid(f.pid), signal: 15 });
        assert.equal((await f.done).end.status, 'signal: terminated');
    });

    it('files: when they were changed, and more of them than a request may list', async () => {
        const files = clientOf(filesystemService());
        const dir = path.join(d.dir, 'many');
        fs.mkdirSync(dir);
        const count = options.httpVersion === '1.1' ? 4200 : 3; // the length is the same for all forms
        for (let i = 0; i < count; i++) fs.writeFileSync(path.join(dir, `f${i}`), '');
        const times = { f0: 0, f1: 1767323045.25, f2: -2.5 };
        for (const [name, s] of Object.entries(times)) fs.utimesSync(path.join(dir, name), 0, new Date(s * 1000));
        const { entries } = await files.listDir({ path: dir, depth: 1 });
        assert.equal(entries.length, count);
        for (const [name, s] of Object.entries(times)) {
            const t = entries.find((e) => e.name === name).modifiedTime;
            assert.equal(Number(t.seconds) + t.nanos / 1e9, s, name);
        }
        const { entry } = await files.stat({ path: path.join(dir, 'f1') });
        assert.deepEqual([entry.modifiedTime.seconds, entry.modifiedTime.nanos], [1767323045n, 250000000]);
    });

    it('a deadline ends the call and its process', async () => {
        const f = follow(client().start({ ...sh('sleep 1000'), tag: 'late' }, { timeoutMs: 500 }));
        await f.started();
        await code(f.done, 'DeadlineExceeded');
        await waitUntil(async () => !(await client().list({})).processes.some((p) => p.tag === 'late'), 'its process to end');
    });

    it('a wrong token, and a sandbox that was killed', async () => {
        const wrong = { headers: { 'X-Access-Token': 'wrong-wrong-wrong-wrong' } };
        await code(client().list({}, wrong), 'Unauthenticated');
        await code(follow(client().start(sh('true'), wrong)).done, 'Unauthenticated');
        const f = follow(client().start(sh('sleep 1000')));
        await f.started();
        assert.equal((await d.request('DELETE', '/dialects/e2b/sandboxes/holdfast')).status, 204);
        await assert.rejects(f.done);
        await code(client().list({}), 'Unavailable');
        await code(follow(client().start(sh('true'))).done, 'Unavailable');
        assert.equal((await d.request('POST', '/dialects/e2b/sandboxes', { json: {} })).status, 201);
        assert.equal((await follow(client().start(sh('echo again'))).done).out, 'again\n');
    });
};

for (const [name, form] of Object.entries(forms)) withDaemon(`e2b: ${name}`, { fdBaseline: false }, everyCall(form));

withDaemon('e2b: protobuf by hand', {}, (d) => {
    // Taken from real traffic; pid 300.
    it('the bytes on the wire are those of the original', async () => {
        const proto = { 'Content-Type': 'application/connect+proto' };
        const start = Buffer.concat([Buffer.from([0x0a, 25, 0x0a, 7]), Buffer.from('/bin/sh'), Buffer.from([0x12, 2]), Buffer.from('-c'), Buffer.from([0x12, 10]), Buffer.from('printf hi\n')]);
        const s = await stream(d, 'Start', null, { body: envelope(start), headers: proto });
        assert.match(s.raw[0].body.toString('hex'), /^0a(04|05|06)0a(02|03|04)08/);
        assert.equal(s.raw[1].body.toString('hex'), '0a0612040a026869');
        assert.equal(s.raw[2].body.toString('hex'), `0a131a1110011a0d${Buffer.from('exit status 0').toString('hex')}`);
        assert.deepEqual(s.end, {});
        const list = await unary(d, 'List', '', { headers: { 'Content-Type': 'application/proto' } });
        assert.equal(list.status, 200);
        assert.equal(list.type, 'application/proto');
        assert.equal(list.body.length, 0);
    });

    it('messages that are not protobuf are refused', async () => {
        for (const bad of ['0a', '0aff', '08', 'ffffffffffffffffffffffffffffff', '03', '0a050a03ff', '0a04120280ff']) {
            const a = await unary(d, 'SendInput', Buffer.from(bad, 'hex'), { headers: { 'Content-Type': 'application/proto' } });
            assert.equal(a.status, 400, `${bad}: ${a.text}`);
            assert.equal(a.json.code, 'invalid_argument');
        }
    });
});

withDaemon('e2b: gRPC by hand', { fdBaseline: false }, (d) => {
    /** One request over HTTP/2: its status, headers, body and trailers. */
    const call = (method, body, headers = {}) =>
        new Promise((resolve, reject) => {
            const session = http2.connect(d.url);
            const rq = session.request({
                ':method': 'POST',
                ':path': `/dialects/e2b/process.Process/${method}`,
                'content-type': 'application/grpc',
                'x-access-token': d.token,
                te: 'trailers',
                ...headers,
            });
            const chunks = [];
            const answer = {};
            rq.on('response', (h) => Object.assign(answer, { status: h[':status'], head: h }));
            rq.on('trailers', (h) => (answer.trailers = h));
            rq.on('data', (b) => chunks.push(b));
            rq.on('error', reject);
            rq.on('close', () => {
                session.close();
                resolve({ ...answer, body: Buffer.concat(chunks) });
            });
            rq.end(body);
        });
    /** What the call came to, wherever gRPC allows it to be. */
    const result = ({ head, trailers }) => Number((trailers ?? head)['grpc-status']);

    it('a reply is one message, and its result is in the trailers', async () => {
        const a = await call('List', envelope(''));
        assert.deepEqual([a.status, a.head['content-type'], result(a), a.body.toString('hex')], [200, 'application/grpc', 0, '0000000000']);
        const json = await call('List', envelope({}), { 'content-type': 'application/grpc+json' });
        assert.deepEqual([json.head['content-type'], json.body.subarray(5).toString()], ['application/grpc+json', '{"processes":[]}']);
        const s = await call('Start', envelope({ process: { cmd: 'sh', args: ['-c', 'exit 3'] } }), { 'content-type': 'application/grpc+json' });
        assert.equal(result(s), 0, 'the exit of a process is no failure of the call');
        assert.match(s.body.toString(), /"exitCode":3/);
    });

    it('what cannot be decoded is refused by number', async () => {
        const list = envelope('');
        for (const [method, body, headers, code] of [
            ['List', list, { 'grpc-encoding': 'gzip' }, 12],
            ['List', list.subarray(0, 4), {}, 3],
            ['List', Buffer.concat([list, list]), {}, 3],
            ['List', envelope('', 1), {}, 3],
            ['SendInput', envelope(Buffer.from('0aff', 'hex')), {}, 3],
            ['SendInput', envelope(''), {}, 12],
            ['Start', envelope(Buffer.from('0a040a026c73', 'hex')), { 'grpc-timeout': '1y' }, 3],
            ['Connect', envelope(Buffer.from('0a0408ff8f7a', 'hex')), {}, 5],
            ['StreamInput', list.subarray(0, 3), {}, 3],
        ]) {
            const a = await call(method, body, headers);
            assert.deepEqual([a.status, result(a)], [200, code], `${method} ${body.toString('hex')} ${JSON.stringify(a.head)}`);
            assert.ok((a.trailers ?? a.head)['grpc-message'].length > 0);
        }
        assert.equal((await call('List', list, { 'content-type': 'application/grpc-web' })).status, 415);
        assert.equal((await call('Nothing', list)).status, 404, 'clients read it as an unknown method');
        assert.equal((await call('List', list, { 'x-access-token': 'wrong-wrong-wrong-wrong' })).status, 401);
    });
});
