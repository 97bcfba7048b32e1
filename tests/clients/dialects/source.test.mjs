// SPDX-License-Identifier: Apache-2.0
// Who asked for a process: an agent by an SDK, or a person at a terminal.

import assert from 'node:assert/strict';
import http from 'node:http';
import { clientOf, closeAll, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { after, afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { dockerode } from '../docker/client.mjs';
import { spritesOf, watched } from '../fly/client.mjs';
import { OPTIONS, Terminals } from '../gitpod/client.mjs';
import * as kube from '../kubernetes/client.mjs';

withDaemon('source', { args: OPTIONS.args, fdBaseline: false }, (d) => {
    after(() => http.globalAgent.destroy());
    afterEach(closeAll);
    const sourceOf = (mark) =>
        waitUntil(async () => (await d.list()).find((p) => [p.command, ...p.args].join(' ').includes(mark)), mark).then((p) => p.source);

    it('Docker: exec and run are an agent\'s, exec -it is a person\'s', async () => {
        const docker = dockerode(d);
        for (const [mark, options, source] of [
            ['docker-plain', {}, 'agent'],
            ['docker-output', { Tty: true }, 'agent'],
            ['docker-typed', { Tty: true, AttachStdin: true }, 'user'],
        ]) {
            const exec = await docker.getContainer('sandbox').exec({ Cmd: ['sh', '-c', `exit 0; ${mark}`], AttachStdout: true, ...options });
            const stream = await exec.start({ hijack: true, stdin: options.AttachStdin, Tty: options.Tty });
            stream.on('error', () => {}).resume();
            assert.equal(await sourceOf(mark), source, mark);
            stream.destroy();
        }
        const box = await docker.createContainer({ Image: 'any', Cmd: ['sh', '-c', 'exit 0; docker-run'] });
        await box.start();
        assert.equal(await sourceOf('docker-run'), 'agent');
    });

    it('Kubernetes: the same', async () => {
        const kc = kube.configOf(d);
        await kube.run(kc, ['sh', '-c', 'exit 0; kube-plain']);
        assert.equal(await sourceOf('kube-plain'), 'agent');
        await kube.exec(kc, ['sh', '-c', 'exit 0; kube-typed'], { tty: true, input: 'x' });
        assert.equal(await sourceOf('kube-typed'), 'user');
    });

    it('Fly: a command is an agent\'s, a console with input a person\'s', async () => {
        const sprite = spritesOf(d)();
        for (const [mark, tty, source] of [['fly-plain', false, 'agent'], ['fly-typed', true, 'user']]) {
            const w = watched(sprite.spawn('sh', ['-c', `exit 0; ${mark}`], { tty }));
            assert.equal(await sourceOf(mark), source);
            await w.ended();
        }
    });

    it('Gitpod: a terminal with a command is an agent\'s, a shell a person\'s', async () => {
        const terminals = new Terminals(d);
        await terminals.open({ shell: '/bin/sh', args: ['-c', 'exit 0; gitpod-command'] });
        assert.equal(await sourceOf('gitpod-command'), 'agent');
        const { alias } = await terminals.open();
        assert.equal(await sourceOf('/bin/bash --norc'), 'user');
        await terminals.shutdown(alias);
        terminals.close();
    });

    it('Cloudflare: a background process is an agent\'s, a terminal a person\'s', async () => {
        const c = await clientOf(d);
        await c.processes.startProcess('true cf-plain', 'source');
        await waitUntil(async () => (await d.list()).some((p) => p.source === 'agent' && [p.command, ...p.args].join(' ').includes('cf-plain')), 'the process');
        const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare/ws/pty?access_token=${d.token}&sessionId=typed&shell=sh`);
        await waitUntil(() => ws.received.some((m) => m.type === 'ready'), 'ready');
        assert.equal((await d.list()).find((p) => p.pty && p.session_id === 'typed').source, 'user');
        ws.terminate();
    });
});
