// SPDX-License-Identifier: Apache-2.0
// npm dockerode: exec with and without an upgrade, attach, logs, run, errors.

import assert from 'node:assert/strict';
import http from 'node:http';
import { PassThrough } from 'node:stream';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { demux, dockerode, readAll } from './client.mjs';

const ALL = { AttachStdin: true, AttachStdout: true, AttachStderr: true };

withDaemon('docker: dockerode', {}, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const docker = () => dockerode(d);
    const exec = (options) => docker().getContainer('sandbox').exec({ ...ALL, ...options });

    it('a hijacked exec: input, both streams in frames, the exit code', async () => {
        const e = await exec({ Cmd: ['sh', '-c', 'cat; echo err >&2; exit 6'] });
        const s = await e.start({ hijack: true, stdin: true });
        s.end('in\n');
        const got = demux(await readAll(s));
        assert.deepEqual([got.stdout, got.stderr], ['in\n', 'err\n']);
        const seen = await e.inspect();
        assert.deepEqual([seen.ExitCode, seen.Running, seen.ProcessConfig.entrypoint], [6, false, 'sh']);
    });

    it('its own demultiplexer takes our frames', async () => {
        const e = await exec({ AttachStdin: false, Cmd: ['sh', '-c', 'head -c 100000 /dev/zero; echo err >&2'] });
        const s = await e.start({ hijack: true });
        const out = new PassThrough();
        const err = new PassThrough();
        const texts = [readAll(out), readAll(err)];
        docker().modem.demuxStream(s, out, err);
        s.on('end', () => [out, err].forEach((x) => x.end()));
        assert.equal((await texts[0]).length, 100000);
        assert.equal((await texts[1]).toString(), 'err\n');
    });

    it('without an upgrade: a plain answer, and input all the same', async () => {
        const e = await exec({ AttachStdin: false, Cmd: ['echo', 'plain'] });
        assert.equal(demux(await readAll(await e.start({}))).stdout, 'plain\n');
        const two = await exec({ Cmd: ['sh', '-c', 'read x; echo "got $x"'] });
        const s = await two.start({ stdin: true });
        s.write('words\n');
        assert.equal(demux(await readAll(s)).stdout, 'got words\n');
        assert.equal((await two.inspect()).ExitCode, 0);
    });

    it('a terminal: size at the start and later, input, raw bytes', async () => {
        const e = await exec({ Tty: true, Cmd: ['sh', '-c', 'stty size; read x; stty size; echo "<$x>"; exit 2'] });
        const s = await e.start({ hijack: true, stdin: true, Tty: true, ConsoleSize: [44, 111] });
        let text = '';
        s.on('data', (b) => (text += b));
        const end = new Promise((done) => s.on('end', done));
        await waitUntil(() => text.includes('44 111'), 'the size');
        await e.resize({ h: 33, w: 77 });
        s.write('hello\n');
        await within(end, 20000, 'the end');
        assert.match(text, /33 77\r\n<hello>\r\n$/);
        assert.equal((await e.inspect()).ExitCode, 2);
    });

    it('a terminal that is started as none has frames, as Docker has it', async () => {
        const e = await exec({ Tty: true, AttachStdin: false, Cmd: ['sh', '-c', 'test -t 1 && echo tty'] });
        assert.equal(demux(await readAll(await e.start({ hijack: true }))).stdout, 'tty\r\n');
    });

    it('the keys to leave by are found here, too, and can be turned off', async () => {
        const leave = await exec({ Tty: true, Cmd: ['cat'] });
        const s = await leave.start({ hijack: true, stdin: true, Tty: true });
        const left = readAll(s);
        s.write('abc\x10');
        s.write('\x11never');
        assert.doesNotMatch((await left).toString(), /never/);
        assert.equal((await leave.inspect()).Running, true);
        const none = await exec({ Tty: true, DetachKeys: 'none', Cmd: ['sh', '-c', 'stty raw -echo; echo up; head -c 2 | od -An -tx1'] });
        const t = await none.start({ hijack: true, stdin: true, Tty: true });
        let text = '';
        t.on('data', (b) => (text += b));
        await waitUntil(() => text.includes('up'), 'raw mode');
        t.write('\x10\x11');
        await waitUntil(() => text.includes('10 11'), 'the bytes');
        await assert.rejects(exec({ Tty: true, DetachKeys: 'ctrl-,', Cmd: ['cat'] }), { statusCode: 400 });
    });

    it('attach with a half-close; logs follow; wait; remove', async () => {
        const c = await docker().createContainer({ Image: 'x', Cmd: ['sh', '-c', 'cat; echo end >&2; exit 4'], OpenStdin: true, StdinOnce: true, name: 'dockerode-1' });
        const s = await c.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
        const seen = readAll(s);
        s.write('one\n');
        await c.start();
        const logs = readAll(await c.logs({ follow: true, stdout: true, stderr: true }));
        s.end('two\n');
        for (const bytes of [await seen, await logs]) {
            const got = demux(bytes);
            assert.deepEqual([got.stdout, got.stderr], ['one\ntwo\n', 'end\n']);
        }
        assert.equal((await c.wait()).StatusCode, 4);
        assert.equal((await c.inspect()).State.Status, 'exited');
        assert.ok((await docker().listContainers({ all: true })).some((x) => x.Names[0] === '/dockerode-1' && x.Id === c.id));
        const held = demux(await c.logs({ stdout: true, stderr: true, tail: 1 }));
        assert.deepEqual([held.stdout, held.stderr], ['', 'end\n']);
        const replay = await c.attach({ logs: true, stdout: true, stderr: true, hijack: true });
        assert.equal(demux(await readAll(replay)).stdout, 'one\ntwo\n');
        await c.remove();
    });

    it('docker.run', async () => {
        const out = new PassThrough();
        let text = '';
        out.on('data', (piece) => (text += piece));
        const [data, c] = await docker().run('x', ['sh', '-c', 'echo from run; exit 7'], out, { Tty: false });
        assert.equal(data.StatusCode, 7);
        // Asked for on two connections: the status may be here before the output is.
        await waitUntil(() => text.includes('from run\n'), 'the output');
        await c.remove();
    });

    it('refusals have their codes', async () => {
        const sandbox = docker().getContainer('sandbox');
        await assert.rejects(docker().getContainer('nosuch').inspect(), (err) => err.statusCode === 404 && err.reason === 'no such container' && err.json.message === 'No such container: nosuch');
        await assert.rejects(docker().getExec('nosuch').inspect(), { statusCode: 404 });
        await assert.rejects(sandbox.exec({ ...ALL, Cmd: [] }), { statusCode: 400 });
        await assert.rejects(sandbox.exec({ ...ALL, Cmd: ['true'], Env: ['=x'] }), { statusCode: 400 });
        await assert.rejects(sandbox.remove(), { statusCode: 409 });
        await assert.rejects(sandbox.pause(), { statusCode: 501 });
        const e = await exec({ AttachStdin: false, Cmd: ['true'] });
        await readAll(await e.start({ hijack: true }));
        await assert.rejects(e.start({ Detach: true }), { statusCode: 409 });
        await assert.rejects(dockerode(d, { token: null }).info(), { statusCode: 401 });
    });
});
