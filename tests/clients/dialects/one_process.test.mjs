// SPDX-License-Identifier: Apache-2.0
// One process, every protocol: begun through one platform's client, used through the others',
// and all of them see the same bytes.

import assert from 'node:assert/strict';
import { Hyperbrowser } from '@hyperbrowser/sdk';
import { Daytona } from 'daytona-sdk';
import Docker from 'dockerode';
import http from 'node:http';
import { SandboxAgent } from 'sandbox-agent';
import { Viewer } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import * as e2b from '../../lib/e2b.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import { Pty } from '../../lib/opensandbox.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { after, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import * as vercel from '../vercel/client.mjs';
import { spritesOf, watched } from '../fly/client.mjs';
import * as kube from '../kubernetes/client.mjs';
import { OPTIONS, Terminals } from '../gitpod/client.mjs';

withDaemon('one process, every protocol', { args: OPTIONS.args, fdBaseline: false }, (d) => {
    after(() => http.globalAgent.destroy());

    it('E2B starts it, execd, OpenCode, Kubernetes, Docker and Gitpod watch and type, Hyperbrowser, Daytona and Fly size it, sandbox-agent ends it', async () => {
        const events = new SseReader(await d.open('GET', '/v1/events'));

        // A terminal by E2B's SDK: it answers with a pid, which is the engine's.
        const box = await e2b.create(d);
        let seenByE2b = '';
        const made = await box.pty.create({
            cols: 80,
            rows: 24,
            timeoutMs: 0,
            onData: (b) => (seenByE2b += Buffer.from(b).toString('latin1')),
        });
        const typeByE2b = (text) => box.pty.sendInput(made.pid, new TextEncoder().encode(text));
        const p = (await d.list()).find((x) => x.pid === made.pid);
        assert.ok(p?.pty, 'it is in the native list');
        const watcher = await Viewer.attach(d, p.id, { query: { since: '0', mode: 'ro', terminal: '0' } });
        await typeByE2b("PS1='> '; stty -echo; echo from-e2b\r");
        await waitUntil(() => seenByE2b.includes('from-e2b\r\n'), 'E2B to see its own');

        // execd's WebSocket, from the middle of it on.
        const since = (await d.get(p.id)).output.next;
        const execd = await Pty.attach(d, p.id, { since, mode: 'viewer' });

        // OpenCode's terminal types; what was there before is its replay.
        const opencode = new OpenCode(d);
        const typist = opencode.attach(p.id, { cursor: '0' });
        assert.match(await typist.replay(), /from-e2b/);
        typist.send('echo from-opencode: h\u00e9\r');
        await typist.sees('from-opencode: h\u00e9');
        await execd.until(() => execd.text.includes('from-opencode: h\u00e9\r\n'), 'execd to see it');

        // As a container of the pod, Kubernetes' client shows its screen and types.
        const pod = await kube.attach(kube.configOf(d), kube.containerOf(p), { size: [24, 80] });
        await waitUntil(() => pod.out.bytes.includes('from-opencode'), 'the screen in the pod');
        pod.stdin.write('echo from-kubernetes\r');
        await typist.sees('from-kubernetes');

        // Hyperbrowser's client finds it by its id and sizes it.
        const hyper = new Hyperbrowser({ apiKey: d.token, baseUrl: `${d.url}/dialects/hyperbrowser` });
        const sandbox = await hyper.sandboxes.connect('local');
        const sized = await sandbox.terminal.get(p.id);
        await sized.resize(33, 111);
        await typeByE2b('echo "size $(stty size)"\r');
        await typist.sees('size 33 111');
        assert.deepEqual([(await d.get(p.id)).rows, (await d.get(p.id)).cols], [33, 111]);

        // Daytona's finds it among its PTYs, types and sizes it back.
        const daytona = new Daytona({ apiKey: d.token, apiUrl: `${d.url}/dialects/daytona/api`, target: 'us', useDeprecatedPolling: true });
        const ptys = (await daytona.get('local')).process;
        assert.ok((await ptys.listPtySessions()).some((x) => x.id === p.id && x.cols === 111));
        let seenByDaytona = '';
        const handle = await ptys.connectPty(p.id, { onData: (b) => void (seenByDaytona += Buffer.from(b).toString('latin1')) });
        await handle.resize(80, 24);
        await handle.sendInput('echo "from-daytona: $(stty size)"\r');
        await typist.sees('from-daytona: 24 80');
        await waitUntil(() => seenByDaytona.includes('from-daytona: 24 80\r\n'), 'Daytona to see it');

        // Vercel's reads all of it as logs of a command, where it can be loaded.
        let logs = [];
        if (!vercel.skip) {
            const box = await vercel.Sandbox.get({ name: 'local', ...vercel.at(d) });
            logs = vercel.collect((await box.getCommand(p.id)).logs());
        }

        // Fly's finds it among its sessions, has its history, and sizes it, too.
        const sprite = spritesOf(d)();
        assert.ok((await sprite.listSessions()).some((x) => x.id === p.id && x.tty));
        const fly = watched(sprite.attachSession(p.id));
        await fly.has('from-daytona: 24 80\r\n');
        fly.command.resize(99, 22);
        await waitUntil(async () => (await d.get(p.id)).cols === 99, 'the size that Fly asked for');

        // Docker's clients know it as a container, and have its log from the first byte on.
        const docker = new Docker({ host: '127.0.0.1', port: d.port, protocol: 'http', headers: d.authHeaders(), version: 'dialects/docker' });
        assert.ok((await docker.listContainers()).some((x) => x.Names[0] === `/${p.id}`));
        const container = docker.getContainer(p.id);
        const log = await container.logs({ follow: true, stdout: true, stderr: true });
        let seenByDocker = '';
        log.on('data', (b) => (seenByDocker += b.toString('latin1')));
        const logEnd = new Promise((done) => log.on('end', done));
        const typing = await container.attach({ stream: true, stdin: true, hijack: true });
        typing.write('echo from-docker\r');
        await typist.sees('from-docker');
        typing.destroy();

        // Gitpod's listens by gRPC, from the start, and types.
        const gitpod = new Terminals(d);
        const heard = gitpod.listen(p.id);
        await heard.sees('size 33 111');
        await gitpod.write(p.id, 'echo from-"gitpod"\r');
        await typist.sees('from-gitpod');
        await heard.sees('from-gitpod\r\n');
        heard.call.cancel();
        gitpod.close();

        // And sandbox-agent's ends it, for all.
        const agent = await SandboxAgent.connect({ baseUrl: `${d.url}/dialects/sandbox-agent`, token: d.token });
        assert.ok((await agent.listProcesses()).processes.some((x) => x.id === p.id));
        await agent.killProcess(p.id);
        await assert.rejects(made.wait(), (err) => err.exitCode === -1, 'E2B is told how it ended');
        assert.equal((await handle.wait()).exitCode, 137);
        await execd.closed;
        await typist.closed;
        await pod.closed;
        await waitUntil(() => watcher.exit, 'the native viewer to be told');
        assert.equal(execd.exit?.type, 'exit');
        await fly.ended();
        assert.equal(fly.messages.at(-1).type, 'exit');

        // The same bytes, everywhere.
        const all = (await d.output(p.id)).toString('latin1');
        assert.equal(watcher.output.toString('latin1'), all);
        assert.equal(seenByE2b, all);
        await logEnd;
        assert.equal(seenByDocker, all);
        assert.equal(execd.output.toString('latin1'), all.slice(since));
        assert.equal(Buffer.from(typist.text).toString('latin1'), all);
        if (!vercel.skip) assert.equal(Buffer.from(vercel.textOf(await logs, 'stdout')).toString('latin1'), all);
        assert.equal(Buffer.from(fly.stdout).toString('latin1'), all);
        const told = [];
        while (told.at(-1) !== 'process.exited') {
            const e = await events.next();
            if (JSON.parse(e.data).process?.id === p.id) told.push(e.event);
        }
        assert.equal(told[0], 'process.created');
        assert.ok(told.includes('process.updated'), told.join());
        events.close?.();
        await agent.dispose?.();
    });
});
