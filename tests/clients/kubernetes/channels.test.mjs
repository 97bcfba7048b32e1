// SPDX-License-Identifier: Apache-2.0
// The channels of exec as every version of the protocol frames them, message by message.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { FULL } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { closePayload, OP, WsRaw } from '../../lib/wsraw.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { POD, PREFIX } from './client.mjs';

withDaemon('kubernetes: channels', {}, (d) => {
    const query = (command, flags) => [...command.map((c) => `command=${encodeURIComponent(c)}`), ...flags.map((f) => `${f}=true`)].join('&');
    const open = (protocol, command, flags = ['stdin', 'stdout', 'stderr'], options = {}) =>
        WsRaw.open(d, `${PREFIX}${POD}/exec?${query(command, flags)}`, {
            ...options,
            headers: { ...(protocol ? { 'Sec-WebSocket-Protocol': protocol } : {}), ...options.headers },
        });
    const message = (channel, data = '') => Buffer.concat([Buffer.from([channel]), Buffer.from(data)]);

    /** All messages up to the close, as [channel, text]; adjacent ones of a channel are one. */
    const conversation = async (ws, code = 1000) => {
        const all = [];
        for (;;) {
            const f = await ws.frame(20000);
            if (f.opcode === OP.PING) {
                ws.send(OP.PONG, f.payload);
                continue;
            }
            if (f.opcode === OP.PONG) continue;
            if (f.opcode === OP.CLOSE) {
                assert.equal(f.payload.readUInt16BE(), code);
                ws.send(OP.CLOSE, closePayload(code));
                await ws.conn.rest();
                ws.destroy();
                return all;
            }
            const text = f.opcode === OP.TEXT;
            const channel = text ? f.payload[0] - 0x30 : f.payload[0];
            const data = text ? Buffer.from(f.payload.subarray(1).toString(), 'base64').toString() : f.payload.subarray(1).toString();
            if (all.at(-1)?.[0] === channel && all.at(-1)[1]) all.at(-1)[1] += data;
            else all.push([channel, data]);
        }
    };
    const script = ['sh', '-c', 'cat; exit 7'];
    const failure = {
        metadata: {},
        status: 'Failure',
        message: 'command terminated with non-zero exit code: exit status 7',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    };

    it('v5: ready, output, Status, close 1000; FF 00 ends the input', async () => {
        const ws = await open('v5.channel.k8s.io, v4.channel.k8s.io', script);
        assert.equal(ws.answer.headers['sec-websocket-protocol'], 'v5.channel.k8s.io');
        ws.send(OP.BINARY, message(0, 'in')).send(OP.BINARY, Buffer.from([255, 0]));
        const all = await conversation(ws);
        assert.deepEqual(all.slice(0, 2), [[1, ''], [1, 'in']]);
        assert.deepEqual([all[2][0], JSON.parse(all[2][1])], [3, failure]);
        assert.equal(all.length, 3);
    });

    it('v4: the same Status; FF 00 means nothing there', async () => {
        const ws = await open('v4.channel.k8s.io', ['sh', '-c', 'read x; echo "<$x>"; read y; exit 7']);
        assert.equal(ws.answer.headers['sec-websocket-protocol'], 'v4.channel.k8s.io');
        ws.send(OP.BINARY, Buffer.from([255, 0])).send(OP.BINARY, message(0, 'a\n')).send(OP.BINARY, message(0, 'b\n'));
        const all = await conversation(ws);
        assert.deepEqual(all.slice(0, 2), [[1, ''], [1, '<a>\n']]);
        assert.deepEqual(JSON.parse(all[2][1]), failure);
    });

    it('base64: text messages, a digit and base64, both ways', async () => {
        for (const [name, status] of [['v4.base64.channel.k8s.io', true], ['base64.channel.k8s.io', false]]) {
            const ws = await open(name, ['sh', '-c', 'read x; echo "<$x>"; exit 7']);
            assert.equal(ws.answer.headers['sec-websocket-protocol'], name);
            ws.send(OP.TEXT, `0${Buffer.from('a\n').toString('base64')}`);
            const all = await conversation(ws);
            assert.deepEqual(all.slice(0, 2), [[1, ''], [1, '<a>\n']]);
            assert.deepEqual(status ? JSON.parse(all[2][1]) : all[2][1], status ? failure : failure.message);
        }
    });

    it('base64: more input than there is room for is all taken', async () => {
        const ws = await open('v4.base64.channel.k8s.io', ['sh', '-c', 'sleep 0.3; head -c 1500000 | wc -c'], ['stdin', 'stdout']);
        for (let i = 0; i < 3; i++) ws.send(OP.TEXT, `0${Buffer.alloc(500000, 'x').toString('base64')}`);
        const all = await conversation(ws);
        assert.equal(all[1][1], '1500000\n');
    });

    it('before v4, and with no protocol at all: plain text, and only for a failure', async () => {
        for (const name of ['v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io', null]) {
            let ws = await open(name, ['sh', '-c', 'exit 7'], ['stdout']);
            assert.equal(ws.answer.headers['sec-websocket-protocol'], name ?? undefined);
            assert.deepEqual(await conversation(ws), [[1, ''], [3, failure.message]]);
            ws = await open(name, ['true'], ['stdout']);
            assert.deepEqual(await conversation(ws), [[1, '']]);
        }
    });

    it('ready is said on the first channel that is read', async () => {
        const first = async (flags) => (await conversation(await open('v5.channel.k8s.io', ['true'], flags)))[0];
        assert.deepEqual(await first(['stderr']), [2, '']);
        assert.deepEqual((await first(['stdin']))[0], 3);
        assert.deepEqual(await first(['stdout', 'stderr', 'tty', 'stdin']), [1, '']);
    });

    /* kubectl begins to read before its streams are there, and once dropped the first output for that. */
    it('nothing is said before the client has answered a ping, or sent something', async () => {
        for (const command of [['echo', 'hi'], ['/nosuch']]) {
            const ws = await open('v5.channel.k8s.io', command, ['stdout']);
            const first = await ws.frame();
            assert.equal(first.opcode, OP.PING);
            ws.send(OP.PONG, first.payload);
            const all = await conversation(ws);
            assert.deepEqual(all[0], [1, '']);
            assert.equal(all.at(-1)[0], 3);
        }
    });

    it('a token may be one of the protocols, beside the one that is meant', async () => {
        const bearer = (token) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
        const ws = await open(`${bearer(d.token)}, v5.channel.k8s.io`, ['true'], ['stdout'], { role: null });
        assert.equal(ws.answer.headers['sec-websocket-protocol'], 'v5.channel.k8s.io');
        await conversation(ws);
        await assert.rejects(open(bearer(d.token), ['true'], ['stdout'], { role: null }), /401/);
        await assert.rejects(open(`v5.channel.k8s.io, ${bearer('wrong-wrong-wrong-wrong')}`, ['true'], ['stdout'], { role: null }), /401/);
    });

    it('a close in good order ends the input of what reads it, and the program goes on', async () => {
        const ws = await open('v4.channel.k8s.io', ['sh', '-c', 'cat; echo at-the-end; sleep 100']);
        ws.send(OP.BINARY, message(0, 'in\n')).send(OP.CLOSE, closePayload(1000));
        await ws.conn.rest();
        const p = await waitUntil(async () => (await d.list('?status=running'))[0], 'the process');
        await d.outputHas(p.id, 'in\nat-the-end\n');
        await d.remove(p.id);
    });

    it('nor does the close overtake the input that came before it', async () => {
        const ws = await open('v4.channel.k8s.io', ['sh', '-c', 'sleep 0.3; wc -c']);
        for (let i = 0; i < 10; i++) ws.send(OP.BINARY, Buffer.concat([Buffer.from([0]), Buffer.alloc(60000)]));
        ws.send(OP.CLOSE, closePayload(1000));
        await ws.conn.rest();
        const p = await waitUntil(async () => (await d.list()).find((x) => x.args[1] === 'sleep 0.3; wc -c'), 'the process');
        await d.outputHas(p.id, '600000\n');
    });

    it('pings are answered while nothing else is said', async () => {
        const ws = await open('v5.channel.k8s.io', ['sleep', FULL ? '70' : '1'], ['stdout']);
        ws.send(OP.PING, '');
        assert.equal((await ws.find(OP.PONG)).payload.length, 0);
        const timer = setInterval(() => ws.send(OP.PING, ''), 5000); // as kubectl does
        const rest = await conversation(ws).finally(() => clearInterval(timer));
        assert.deepEqual(JSON.parse(rest.at(-1)[1]).status, 'Success');
    });
});
