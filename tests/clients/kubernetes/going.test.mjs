// SPDX-License-Identifier: Apache-2.0
// What is under way when the worker is replaced: nobody is told that a command has succeeded, and
// it can be found again by the name that was told.

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import * as k8s from '@kubernetes/client-node';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { attach, configOf, containerOf, exec, Kubectl, POD, PREFIX, run, sink, Spdy, WIRES } from './client.mjs';

const replaceOf = (d) => async () => {
    const old = d.workerPid();
    process.kill(d.keeperPid(), 'SIGHUP');
    await d.nextWorker(old);
    await waitUntil(() => d.request('GET', '/healthz', { agent: false }).then((a) => a.status === 200), 'the next worker');
};

withDaemon('kubernetes: going', {}, (d) => {
    const kc = () => configOf(d);
    const replace = replaceOf(d);
    const running = async () => (await d.list('?status=running'))[0];

    it('client-node is told by a Status which container to attach to, and that works', async () => {
        const e = await exec(kc(), ['sh', '-c', 'echo up; read x; echo "<$x>"'], { input: new PassThrough() });
        await waitUntil(() => e.out.bytes.includes('up'), 'the program');
        const p = await running();
        await replace();
        const [status] = await e.done();
        assert.deepEqual([status.status, status.reason], ['Failure', 'InternalError']);
        const name = /attach to container (\S+)$/.exec(status.message)[1];
        assert.equal(name, containerOf(p));
        const a = await attach(kc(), name, { tty: false });
        a.stdin.write('again\n');
        await within(a.closed, 20000, 'the end');
        assert.equal(a.out.bytes.toString(), 'up\n<again>\n');
    });

    it('SPDY is told the same on its error stream', async () => {
        const s = await Spdy.open(d, `${POD}/exec?command=sleep&command=100&stdout=true`);
        const error = await s.stream({ streamtype: 'error' });
        await s.stream({ streamtype: 'stdout' });
        const p = await waitUntil(running, 'the process');
        const told = s.until(() => s.streams.get(error).fin, 'the status');
        await replace();
        await told;
        assert.match(JSON.parse(s.text(error)).message, new RegExp(`attach to container ${containerOf(p)}`));
        s.goaway();
        await s.conn.rest();
        assert.equal((await d.get(p.id)).status, 'running');
        await d.remove(p.id);
    });

    it('a log that is followed is cut, and a forwarded port ends with its relay', async () => {
        const p = await d.sh('echo line; sleep 100');
        const res = await d.open('GET', `${PREFIX}${POD}/log?follow=true&container=${containerOf(p)}`);
        const cut = new Promise((done) => res.on('error', () => done('cut')).on('end', () => done('end')));
        let text = '';
        res.on('data', (b) => (text += b));
        await waitUntil(() => text === 'line\n', 'the line');
        const ws = await new k8s.PortForward(kc()).portForward('default', 'sandbox', [d.port], sink(), sink(), new PassThrough());
        const closed = new Promise((done) => ws.on('close', done));
        await waitUntil(async () => (await d.list()).some((x) => x.label === 'port'), 'the relay');
        await replace();
        assert.equal(await within(cut, 20000, 'the cut'), 'cut');
        assert.equal(await within(closed, 20000, 'the close'), 1001);
        await waitUntil(async () => !(await d.list()).some((x) => x.label === 'port'), 'the relay to be gone');
        await d.remove(p.id);
        assert.deepEqual(await run(kc(), ['echo', 'as before']), [0, 'as before\n', '']);
    });

    it('relays of a worker that died are ended by the next', async () => {
        const ws = await new k8s.PortForward(kc()).portForward('default', 'sandbox', [d.port], sink(), sink(), new PassThrough());
        ws.on('error', () => {});
        await waitUntil(async () => (await d.list()).some((x) => x.label === 'port'), 'the relay');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await waitUntil(async () => !(await d.list()).some((x) => x.label === 'port'), 'the relay to be gone');
    });
});

for (const wire of WIRES) {
    withDaemon(`kubernetes: going, kubectl by ${wire.name}`, { auth: false, args: ['--no-auth'] }, (d) => {
        it('does not take it for success', async () => {
            const k = new Kubectl(d, { server: d.url + PREFIX, env: wire.env });
            const child = k.start('exec', '-i', 'sandbox', '--', 'sh', '-c', 'echo up; sleep 100');
            await waitUntil(() => child.out().includes('up'), 'the program');
            await replaceOf(d)();
            const r = await within(child.ended, 20000, 'the end');
            assert.equal(r.code, 1, r.err);
            assert.equal((await d.list('?status=running')).length, 1);
        });

        it('nor where the worker dies', async () => {
            const k = new Kubectl(d, { server: d.url + PREFIX, env: wire.env });
            const child = k.start('exec', 'sandbox', '--', 'sh', '-c', 'echo up; sleep 100');
            await waitUntil(() => child.out().includes('up'), 'the program');
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            const r = await within(child.ended, 20000, 'the end');
            assert.notEqual(r.code, 0, r.err);
            assert.notEqual(r.err.trim(), '', 'it says that something went wrong');
            await d.nextWorker(old);
        });

        /** What kubectl had last, what the log that follows the death of the worker has first, and
         * whether the log came while the claim certainly held. */
        const floods = async () => {
            const k = new Kubectl(d, { server: d.url + PREFIX, env: wire.env });
            const child = k.start('exec', 'sandbox', '--', 'seq', '100000000');
            let bytes = 0;
            child.stdout.on('data', (b) => (bytes += b.length));
            await waitUntil(() => bytes > 4 << 20, 'the flood');
            const p = (await d.list('?status=running')).find((x) => x.command === 'seq');
            const old = d.workerPid();
            const killed = performance.now();
            process.kill(old, 'SIGKILL');
            const url = `${PREFIX}${POD}/log?container=${containerOf(p)}`;
            const log = await waitUntil(() => d.request('GET', url, { agent: false }).then((a) => a.status === 200 && a.text, () => null), 'the log', 20000);
            const claimed = performance.now() - killed < limit('LIMIT_CLAIM_MS');
            const r = await within(child.ended, 20000, 'the end');
            await d.remove(p.id);
            return [Number(r.out.subarray(-40).toString().split('\n').at(-2)), Number(log.slice(0, 40).split('\n')[1]), claimed];
        };

        // It ran on while no worker read for its client, and the ring had turned over.
        it('a program in full flood is held back then: its log begins where kubectl stopped', async () => {
            /* A slow machine may need more time for the log than the claim lasts: then it begins later. */
            for (let attempt = 1, claimed = false; attempt <= 3 && !claimed; attempt++) {
                let last, first;
                [last, first, claimed] = await floods();
                assert.ok(first > 1 && (!claimed || first <= last + 1), `kubectl had everything to ${last}, the log begins at ${first}`);
            }
        });
    });
}
