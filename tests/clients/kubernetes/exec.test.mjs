// SPDX-License-Identifier: Apache-2.0
// Exec, attach, logs and the pod by the published @kubernetes/client-node.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { PassThrough } from 'node:stream';
import * as k8s from '@kubernetes/client-node';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { attach, configOf, containerOf, exec, exitCode, run, sink } from './client.mjs';

withDaemon('kubernetes: client-node', {}, (d) => {
    const kc = () => configOf(d);
    const core = () => kc().makeApiClient(k8s.CoreV1Api);

    it('exec: both streams, the exit code as a cause, close 1000', async () => {
        const e = await exec(kc(), ['sh', '-c', 'echo o; echo e >&2; exit 7']);
        const [status, code] = await e.done();
        assert.equal(e.out.bytes.toString(), 'o\n');
        assert.equal(e.err.bytes.toString(), 'e\n');
        assert.deepEqual([status.status, status.reason, exitCode(status)], ['Failure', 'NonZeroExitCode', 7]);
        assert.ok(code === 1000 || code === 1005, `close ${code}`); // the client closes too, when it has the status
        const [fine] = await (await exec(kc(), 'true')).done();
        assert.deepEqual(fine, { metadata: {}, status: 'Success' });
        const [killed] = await (await exec(kc(), ['sh', '-c', 'kill -9 $$'])).done();
        assert.equal(exitCode(killed), 137);
    });

    it('exec: nothing is sent on a stream that was not asked for', async () => {
        const [code, out, err] = await run(kc(), ['sh', '-c', 'echo o; echo e >&2'], { stderr: false });
        assert.deepEqual([code, out, err], [0, 'o\n', undefined]);
    });

    it('exec: input to its end, 3 MB both ways', async () => {
        assert.deepEqual(await run(kc(), ['sh', '-c', 'cat; echo done; exit 5'], { input: 'a\nb\n' }), [5, 'a\nb\ndone\n', '']);
        const bytes = crypto.randomBytes(3000000);
        const e = await exec(kc(), ['cat'], { input: bytes });
        const [status] = await e.done();
        assert.equal(status.status, 'Success');
        assert.ok(e.out.bytes.equals(bytes));
    });

    it('exec: one string is one word of the command line', async () => {
        const [status] = await (await exec(kc(), 'echo hi')).done();
        assert.equal(status.status, 'Failure');
        assert.match(status.message, /there is no 'echo hi' in PATH/);
        assert.equal(status.reason, 'InternalError');
        assert.deepEqual(await run(kc(), ['printf', '%s|', 'a b', "it's", 'x&y=z', 'ü+']), [0, "a b|it's|x&y=z|\u00c3\u00bc+|", '']);
    });

    it('exec: the size of the terminal is there before the program looks, and changes with the window', async () => {
        const input = new PassThrough();
        const e = await exec(kc(), ['sh', '-c', 'stty size; read x; stty size; read x; exit 4'], { tty: true, input, size: [33, 77] });
        await waitUntil(() => e.out.bytes.includes('33 77'), 'the size');
        [e.out.rows, e.out.columns] = [40, 100];
        e.out.emit('resize');
        const p = (await d.list('?status=running'))[0];
        await waitUntil(async () => (await d.get(p.id)).cols === 100, 'the new size');
        input.write('\n');
        await waitUntil(() => e.out.bytes.includes('40 100'), 'the new size in the program');
        input.write('\n');
        assert.equal(exitCode((await e.done())[0]), 4);
        assert.equal((await d.get(p.id)).pty, true);
    });

    it('attach: a terminal shows its screen to everyone who comes, and takes what they type', async () => {
        const p = await d.spawn({ command: 'sh', pty: true, env: { PS1: '$ ' } });
        const a = await attach(kc(), containerOf(p), { size: [24, 80] });
        a.stdin.write('echo first-$((40+2))\n');
        await waitUntil(() => a.out.bytes.includes('first-42'), 'the first');
        const b = await attach(kc(), containerOf(p), { size: [24, 80] });
        await waitUntil(() => b.out.bytes.includes('first-42'), 'the screen for the second');
        b.stdin.write('echo second-$((1+1))\n');
        await waitUntil(() => a.out.bytes.includes('second-2') && b.out.bytes.includes('second-2'), 'both to see it');
        b.stdin.write('exit 6\n');
        await within(Promise.all([a.closed, b.closed]), 20000, 'both to end');
        assert.equal((await d.get(p.id)).exit.code, 6);
    });

    it('attach: pipes replay what they hold, and a tag is a name', async () => {
        const p = await d.sh('echo early; cat', { stdin: 'pipe', tag: 'web-1' });
        await d.outputHas(p.id, 'early');
        const a = await attach(kc(), 'web-1', { tty: false });
        await waitUntil(() => a.out.bytes.includes('early'), 'what was before');
        a.stdin.write('typed\n');
        await waitUntil(() => a.out.bytes.includes('typed'), 'what was typed');
        const pod = await core().readNamespacedPod({ name: 'sandbox', namespace: 'default' });
        assert.deepEqual(pod.spec.containers.map((c) => c.name).filter((n) => !n.startsWith('proc-')), ['main', 'web-1']);
        a.ws.close();
        await a.closed;
        await d.remove(p.id);
    });

    it('readNamespacedPod and listNamespacedPod: one pod, in any namespace, with a container for each process', async () => {
        const p = await d.spawn({ command: 'sleep', args: ['100'] });
        const gone = await d.sh('exit 3');
        await d.exitOf(gone.id);
        const pod = await core().readNamespacedPod({ name: 'sandbox', namespace: 'elsewhere' });
        assert.deepEqual([pod.metadata.namespace, pod.status.phase], ['elsewhere', 'Running']);
        const state = (id) => pod.status.containerStatuses.find((c) => c.name === id);
        assert.ok(state('main').state.running);
        assert.ok(state(containerOf(p)).state.running.startedAt instanceof Date);
        assert.equal(state(containerOf(gone)).state.terminated.exitCode, 3);
        assert.deepEqual(pod.spec.containers.find((c) => c.name === containerOf(p)).command, ['sleep', '100']);
        const list = await core().listNamespacedPod({ namespace: 'default' });
        assert.deepEqual(list.items.map((i) => i.metadata.name), ['sandbox']);
        assert.equal(list.items[0].metadata.uid, pod.metadata.uid);
        await d.remove(p.id);
    });

    const logOf = async (container, options) => {
        const out = sink();
        const ended = new Promise((done) => out.on('end', done));
        await new k8s.Log(kc()).log('default', 'sandbox', container, out, options);
        return { out, ended };
    };

    it('log: up to now, the last lines, since, with times, bounded', async () => {
        const p = await d.sh('printf "1\\n2\\n3\\n"; echo e >&2; sleep 100');
        await d.outputHas(p.id, 'e\n');
        const all = await logOf(containerOf(p), {});
        await all.ended;
        assert.equal(all.out.bytes.toString(), '1\n2\n3\ne\n');
        const tail = await logOf(containerOf(p), { tailLines: 2 });
        await tail.ended;
        assert.equal(tail.out.bytes.toString(), '3\ne\n');
        const timed = await logOf(containerOf(p), { timestamps: true });
        await timed.ended;
        assert.match(timed.out.bytes.toString(), /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z .\n){4}$/);
        const few = await logOf(containerOf(p), { limitBytes: 3 });
        await few.ended;
        assert.equal(few.out.bytes.toString(), '1\n2');
        const none = await logOf(containerOf(p), { sinceTime: new Date(Date.now() + 3600000).toISOString() });
        await none.ended;
        assert.equal(none.out.bytes.length, 0);
        const lately = await logOf(containerOf(p), { sinceSeconds: 3600 });
        await lately.ended;
        assert.equal(lately.out.bytes.toString(), '1\n2\n3\ne\n');
        await d.remove(p.id);
    });

    it('log: follow ends with the process, behind its last byte', async () => {
        const p = await d.sh('echo begin; read x; echo end', { stdin: 'pipe' });
        const l = await logOf(containerOf(p), { follow: true });
        await waitUntil(() => l.out.bytes.includes('begin\n'), 'the beginning');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        await within(l.ended, 20000, 'the end');
        assert.equal(l.out.bytes.toString(), 'begin\nend\n');
    });

    it('unknown pods and containers are refused, and nothing is started', async () => {
        const before = (await d.list()).length;
        await assert.rejects(exec(kc(), ['true'], { pod: 'other' }), (err) => /404/.test(err.message));
        await assert.rejects(exec(kc(), ['true'], { container: 'zz' }), (err) => /400/.test(err.message));
        await assert.rejects(core().readNamespacedPod({ name: 'other', namespace: 'default' }), (err) => err.code === 404 && /pods \\"other\\" not found/.test(err.body));
        await assert.rejects(logOf('zz', {}), (err) => err.code === 400);
        assert.equal((await d.list()).length, before);
    });
});
