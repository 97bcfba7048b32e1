// SPDX-License-Identifier: Apache-2.0
// SPDY/3.1 by hand: what kubectl does over it, and what it would never do.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { POD, Spdy } from './client.mjs';

const target = (command, flags) =>
    `${POD}/exec?${[...command.map((c) => `command=${encodeURIComponent(c)}`), ...flags.map((f) => `${f}=true`)].join('&')}`;

withDaemon('kubernetes: SPDY', {}, (d) => {
    const begin = async (command, flags, options) => {
        const s = await Spdy.open(d, target(command, flags), options);
        s.error = await s.stream({ streamtype: 'error' });
        for (const f of flags) if (f !== 'tty') s[f] = await s.stream({ streamtype: f });
        if (flags.includes('tty')) s.resize = await s.stream({ streamtype: 'resize' });
        return s;
    };
    const ended = (s) => s.until(() => s.streams.get(s.error).fin, 'the status');

    it('streams for the channels, FIN for the end of input, the Status, pings echoed', async () => {
        const s = await begin(['sh', '-c', 'cat; echo e >&2; exit 7'], ['stdin', 'stdout', 'stderr']);
        assert.equal(s.answer.headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
        s.ping(11);
        s.data(s.stdin, 'in');
        s.data(s.stdin, 'put', true);
        await s.until(() => [s.error, s.stdin, s.stdout, s.stderr].every((id) => s.streams.get(id).fin), 'the end');
        assert.deepEqual([s.text(s.stdout), s.text(s.stderr)], ['input', 'e\n']);
        assert.deepEqual(JSON.parse(s.text(s.error)).details.causes, [{ reason: 'ExitCode', message: '7' }]);
        assert.deepEqual(s.pings, [11]);
        s.goaway();
        await s.conn.expectEnd();
    });

    it('a worker that dies leaves no status that could be taken for success', async () => {
        const s = await begin(['sh', '-c', 'echo up; exec sleep 977'], ['stdout']);
        await s.until(() => s.text(s.stdout) === 'up\n', 'its output');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await s.conn.rest().catch(() => {});
        await d.nextWorker(old);
        assert.equal(s.text(s.error), '{', 'kubectl takes silence for success, and this for an error');
        const p = (await d.list('?status=running')).find((x) => x.args?.[1]?.endsWith('sleep 977'));
        await d.remove(p.id);
    });

    it('a client that does not end the connection has it ended', async () => {
        const s = await begin(['true'], ['stdout']);
        await s.until(() => s.streams.get(s.error).fin && s.streams.get(s.stdout).fin, 'the end');
        await s.conn.rest();
    });

    it('a terminal begins with its first size, and v3 has text for a status', async () => {
        const s = await begin(['sh', '-c', 'stty size; exit 3'], ['stdin', 'stdout', 'tty'], {
            headers: { 'X-Stream-Protocol-Version': 'v9.channel.k8s.io, v3.channel.k8s.io' },
        });
        assert.equal(s.answer.headers['x-stream-protocol-version'], 'v3.channel.k8s.io');
        s.data(s.resize, '{"Width":97,');
        s.data(s.resize, '"Height":31}\n');
        await ended(s);
        assert.equal(s.text(s.stdout), '31 97\r\n');
        assert.equal(s.text(s.error), 'command terminated with non-zero exit code: exit status 3');
        s.goaway();
    });

    it('a terminal whose client has no size begins all the same', async () => {
        const s = await begin(['stty', 'size'], ['stdout', 'tty']);
        s.control(6, Buffer.from([0, 0, 0, 2])); // as clients answer our ping
        await ended(s);
        assert.equal(s.text(s.stdout), '24 80\r\n');
        s.goaway();
    });

    it('streams that were not asked for, or come twice, are reset; the rest goes on', async () => {
        const s = await Spdy.open(d, target(['sh', '-c', 'echo ok'], ['stdout']));
        const error = await s.stream({ streamtype: 'error' });
        const again = await s.stream({ streamtype: 'error' });
        const other = await s.stream({ streamtype: 'stderr' });
        const none = await s.stream({ 'x-nothing': 'y' });
        assert.deepEqual([error, again, other, none].map((id) => s.streams.get(id).reset), [null, 3, 3, 3]);
        const out = await s.stream({ streamtype: 'stdout' });
        await s.until(() => s.streams.get(error).fin, 'the end');
        assert.equal(s.text(out), 'ok\n');
        s.goaway();
    });

    it('what is not SPDY ends the connection, and nothing runs', async () => {
        const before = (await d.list()).length;
        for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.from('8002000100000004', 'hex'), Buffer.from('8003000100ffffff', 'hex'), Buffer.from('800300010000000e00000001000000000000deadbeef', 'hex')]) {
            const s = await Spdy.open(d, target(['sleep', '100'], ['stdout']));
            s.conn.send(bytes);
            if (bytes[0] >= 0x80) await s.conn.expectEnd();
            else s.conn.destroy(); // that is data of a stream nobody knows: passed over
        }
        assert.equal((await d.list()).length, before);
    });

    it('upgrades that are none are refused with a Status', async () => {
        const refused = async (options, status, message, t = target(['true'], ['stdout'])) => {
            const [, a] = await Spdy.ask(d, t, options);
            const body = JSON.parse(a.body);
            assert.deepEqual([a.status, body.kind, body.code], [status, 'Status', status], String(a.body));
            assert.match(body.message, message);
            return a;
        };
        await refused({ headers: { 'X-Stream-Protocol-Version': null } }, 400, /X-Stream-Protocol-Version is missing/);
        const a = await refused({ headers: { 'X-Stream-Protocol-Version': 'v1.x' } }, 403, /unable to negotiate/);
        assert.equal(a.headers['x-accepted-stream-protocol-versions'], 'v4.channel.k8s.io, v3.channel.k8s.io');
        await refused({ headers: { Upgrade: 'h2c' } }, 400, /only WebSocket and SPDY/);
        await refused({ headers: { Upgrade: null, Connection: null } }, 400, /Upgrade request required/);
        await refused({ role: null }, 401, /Unauthorized/);
        await refused({ role: 'watch' }, 403, /role/);
        await refused({}, 400, /at least 1 of/, target(['true'], []));
        await refused({}, 400, /at least 1 command/, target([], ['stdout']));
        await refused({}, 404, /pods "x" not found/, target(['true'], ['stdout']).replace('sandbox', 'x'));
    });

    it('a client that goes leaves the process and its input as they are', async () => {
        const s = await begin(['cat'], ['stdin', 'stdout']);
        s.data(s.stdin, 'held\n');
        await s.until(() => s.text(s.stdout) === 'held\n', 'the echo');
        s.conn.reset();
        const p = (await d.list('?status=running'))[0];
        await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be noticed');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: 'more\n' }, expect: 200 });
        await d.outputHas(p.id, 'held\nmore\n');
        await d.remove(p.id);
    });

    it('one that goes before its streams are there leaves nothing', async () => {
        const before = (await d.list()).length;
        const s = await Spdy.open(d, target(['sleep', '100'], ['stdout', 'stderr']));
        await s.stream({ streamtype: 'error' });
        s.conn.destroy();
        const t = await begin(['true'], ['stdout']);
        await ended(t);
        t.goaway();
        assert.equal((await d.list()).length, before + 1);
    });
});
