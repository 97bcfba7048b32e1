// SPDX-License-Identifier: Apache-2.0
// Vercel Sandbox's API with clients that are not allowed to, send nonsense, go away or do not
// read; and with a worker that dies.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { RawConn } from '../../lib/raw.mjs';
import { before, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { at, refused, Sandbox, skip } from './client.mjs';

const API = '/dialects/vercel/api/v2/sandboxes';
const FLOOD_BYTES = 48000000; // more than the ring and what sockets hold

withDaemon('vercel: faults', { skip }, (d) => {
    let sb;
    let S;
    before(async () => {
        sb = await Sandbox.get({ ...at(d), name: 'local' });
        S = `${API}/sessions/${sb.currentSession().sessionId}`;
    });
    const linesOf = (text) => text.split('\n').filter(Boolean).map((l) => JSON.parse(l));

    it('no token and wrong ones: every call is refused in the same shape', async () => {
        for (const role of [null, 'wrong-wrong-wrong-wrong']) {
            for (const [method, url] of [
                ['GET', API],
                ['POST', '/dialects/vercel/api/v3/sandboxes'],
                ['POST', `${S}/cmd`],
                ['GET', `${S}/cmd/x/logs`],
                ['POST', `${S}/fs/write`],
                ['POST', `${S}/interactive`],
                ['GET', '/dialects/vercel/api/v1/sandboxes'],
                ['GET', '/dialects/vercel/api/v1/none'],
            ]) {
                const a = await d.request(method, url, { role, json: method === 'POST' ? {} : undefined });
                assert.ok(a.status === 401 || (a.status === 404 && url.endsWith('none')), `${method} ${url}: ${a.status}`);
                assert.deepEqual([Object.keys(a.json), Object.keys(a.json.error)], [['error'], ['code', 'message']]);
            }
        }
        await refused(Sandbox.list(at(d, { role: 'wrong-wrong-wrong-wrong' })), 401, { code: 'unauthorized' });
        assert.equal((await d.request('GET', '/dialects/vercel/health', { role: null })).status, 200);
    });

    it('roles hold: who watches starts nothing and ends nothing', async () => {
        const c = await sb.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        const watch = await Sandbox.get({ ...at(d, { role: 'watch' }), name: 'local' });
        await refused(watch.runCommand('true'), 403, { code: 'forbidden' });
        await refused(watch.mkDir('x'), 403);
        await refused(watch.writeFiles([{ path: 'x', content: Buffer.from('x') }]), 403);
        await assert.rejects(watch.readFile({ path: '/etc/passwd' }), /403/);
        await refused(watch.openInteractive(), 403);
        await refused(watch.stop(), 403);
        const seen = await watch.getCommand(c.cmdId);
        await refused(seen.kill(), 403);
        const type = await (await Sandbox.get({ ...at(d, { role: 'type' }), name: 'local' })).getCommand(c.cmdId);
        await refused(type.kill(), 403);
        await type.kill('SIGINT');
        assert.equal((await seen.wait()).exitCode, 130);
    });

    it('calls that are none are refused and start nothing', async () => {
        const before = (await d.list()).length;
        for (const [url, body, status, code] of [
            [`${S}/cmd`, {}, 400, 'missing_field'],
            [`${S}/cmd`, { command: 1 }, 400, 'bad_type'],
            [`${S}/cmd`, { command: 'true', args: 'x' }, 400, 'bad_type'],
            [`${S}/cmd`, { command: 'true', args: [1] }, 400, 'bad_type'],
            [`${S}/cmd`, { command: 'true', env: ['A=b'] }, 400, 'bad_type'],
            [`${S}/cmd`, { command: 'true', env: { A: 1 } }, 400, 'bad_type'],
            [`${S}/cmd`, { command: 'a\0b' }, 400, 'bad_value'],
            [`${S}/cmd`, { command: 'true', timeout: 'x' }, 400, 'bad_type'],
            [`${S}/cmd`, [], 400, 'bad_type'],
            [`${S}/fs/read`, {}, 400, 'missing_field'],
            [`${S}/fs/read`, { path: 7 }, 400, 'bad_type'],
            [`${S}/fs/read`, { path: '' }, 400, 'bad_value'],
            [`${S}/fs/mkdir`, { path: 'a', cwd: 'relative' }, 400, 'bad_value'],
            [`${S}/fs/mkdir`, { path: 'a\0b' }, 400, undefined],
            [`${S}/extend-timeout`, { duration: '1' }, 400, 'bad_value'],
            [`${S}/cmd/none/kill`, {}, 404, 'not_found'],
            [`${API}/none/fork`, {}, 404, 'not_found'],
        ]) {
            const a = await d.request('POST', url, { json: body });
            assert.equal(a.status, status, `${url} ${JSON.stringify(body)}: ${a.text}`);
            assert.equal(typeof a.json.error.message, 'string');
            if (code) assert.equal(a.json.error.code, code, a.text);
        }
        const broken = await d.request('POST', `${S}/cmd`, { body: '{"command":', headers: { 'Content-Type': 'application/json' } });
        assert.deepEqual([broken.status, broken.json.error.code], [400, 'bad_json']);
        const large = await d.request('POST', `${S}/cmd`, { json: { command: 'true', args: ['x'.repeat(1 << 20)] } });
        assert.deepEqual([large.status, large.json.error.code], [413, 'body_too_large']);
        const wrong = await d.request('PUT', `${S}/cmd`);
        assert.deepEqual([wrong.status, wrong.json.error.code], [405, 'method_not_allowed']);
        assert.equal((await d.list()).length, before);
        const c = await sb.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        for (const signal of [0, 99, -1, 'NONE', {}]) {
            const a = await d.request('POST', `${S}/cmd/${c.cmdId}/kill`, { json: { signal } });
            assert.equal(a.status, 400, JSON.stringify(signal));
        }
        await c.kill('SIGKILL');
    });

    it('who asked for a run and went leaves the command, with its output and its code', async () => {
        const c = await RawConn.connect(d);
        const body = JSON.stringify({ command: 'sh', args: ['-c', 'echo begun; sleep 0.2; echo ended; exit 6'], wait: true, logs: true });
        c.send(`POST ${S}/cmd HTTP/1.1\r\nHost: ${d.host}:${d.port}\r\nAuthorization: Bearer ${d.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await waitUntil(() => c.held.includes('begun'), 'the first of it');
        const { id } = JSON.parse(/\{"command".*\}/.exec(c.held.toString())[0]).command;
        c.destroy();
        const again = await sb.getCommand(id);
        assert.equal((await again.wait()).exitCode, 6);
        assert.equal(await again.stdout(), 'begun\nended\n');
    });

    it('logs that are not read hold nobody, and say how much is gone', async () => {
        const c = await sb.runCommand({ cmd: 'sh', args: ['-c', `read x </dev/null; until [ -e ${d.dir}/go ]; do sleep 0.02; done; yes | head -c ${FLOOD_BYTES}`], detached: true });
        const slow = await d.open('GET', `${S}/cmd/${c.cmdId}/logs`);
        slow.pause();
        const fast = await d.open('GET', `/v1/processes/${c.cmdId}/output?follow=1&since=0`);
        let bytes = 0;
        const all = new Promise((done) => fast.on('data', (b) => (bytes += b.length)).on('end', () => done(bytes)));
        await sb.writeFiles([{ path: 'go', content: Buffer.from('') }]);
        assert.equal(await within(all, 120000, 'the fast one'), FLOOD_BYTES);
        assert.equal((await c.wait()).exitCode, 0);
        slow.resume();
        const lines = linesOf(Buffer.concat(await slow.toArray()).toString());
        const note = lines.find((l) => l.stream === 'stderr');
        const gone = Number(/^\[holdfast: (\d+) bytes of output were lost\]\n$/.exec(note?.data)?.[1]);
        const got = lines.filter((l) => l.stream === 'stdout').reduce((n, l) => n + l.data.length, 0);
        assert.ok(gone > 0, JSON.stringify(note));
        assert.equal(got + lines.filter((l) => l.stream === 'stderr').reduce((n, l) => n + Number(/\d+/.exec(l.data)[0]), 0), FLOOD_BYTES);
        await d.remove(c.cmdId);
    });

    it('a worker that dies: commands, names and sessions go on, and waits are asked again', async () => {
        const box = await Sandbox.create({ ...at(d), name: 'survivor', env: { OWN: 'kept' } });
        const c = await box.runCommand({ cmd: 'sh', args: ['-c', `echo one; until [ -e ${d.dir}/next ]; do sleep 0.02; done; echo two; exit 8`], detached: true });
        const ended = c.wait();
        const line = `echo three; until [ -e ${d.dir}/next ]; do sleep 0.02; done; echo four`;
        let seen = '';
        const run = box.runCommand({ cmd: 'sh', args: ['-c', line], stdout: { write: (t) => (seen += t) } }).catch((err) => err);
        await waitUntil(() => seen === 'three\n', 'the run to be answered');
        await d.outputHas(c.cmdId, 'one');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await box.writeFiles([{ path: 'next', content: Buffer.from('') }]);
        assert.equal((await ended).exitCode, 8);
        assert.equal(await (await box.getCommand(c.cmdId)).stdout(), 'one\ntwo\n');
        assert.ok((await run) instanceof Error, 'the stream of the run was cut');
        const ran = (await d.list()).filter((p) => p.args.includes(line));
        assert.equal(ran.length, 1, 'it was not begun again');
        await d.exitOf(ran[0].id);
        assert.equal(await (await box.getCommand(ran[0].id)).stdout(), 'three\nfour\n');
        assert.equal(await (await box.runCommand('sh', ['-c', 'echo $OWN'])).stdout(), 'kept\n');
        assert.equal((await Sandbox.get({ ...at(d), name: 'survivor' })).currentSession().sessionId, box.currentSession().sessionId);
        await box.delete();
    });
});
