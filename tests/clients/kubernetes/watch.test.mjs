// SPDX-License-Identifier: Apache-2.0
// Watching the pod, what a token may do and who it is: by client-node, kubectl and by hand.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as k8s from '@kubernetes/client-node';
import { Authority } from '../../lib/certs.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { after, it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { configOf, containerOf, Kubectl, KUBECTL, PREFIX } from './client.mjs';

const LIMIT = limit('LIMIT_KUBE_WATCHES');
const KEPT_PART = limit('LIMIT_WAITS_KEPT_PART');
const PODS = '/api/v1/namespaces/default/pods';

withDaemon('kubernetes: watch', {}, (d) => {
    const core = () => configOf(d).makeApiClient(k8s.CoreV1Api);
    /** A watch by the published client, and what it has told so far. */
    const watch = async (query = {}) => {
        const w = { events: [] };
        w.ended = new Promise((done) => (w.end = done));
        w.controller = await new k8s.Watch(configOf(d)).watch(PODS, query, (type, object) => w.events.push({ type, object }), (err) => w.end(err ?? 'regular'));
        w.types = () => w.events.map((e) => e.type).join(' ');
        w.close = () => w.controller.abort();
        w.until = (fits, what) => waitUntil(() => w.events.find(fits), what, 15000);
        return w;
    };
    const has = (p) => (e) => e.object.spec?.containers?.some((c) => c.name === containerOf(p));
    const code = (p) => (e) => e.object.status?.containerStatuses?.some((s) => s.name === containerOf(p) && s.state.terminated?.exitCode === 7);

    it('the pod comes first, then again for a process that starts, ends and is removed', async () => {
        const w = await watch();
        assert.equal((await w.until(() => true, 'the pod')).type, 'ADDED');
        const p = await d.sh('read x; exit 7', { stdin: 'pipe' });
        await w.until(has(p), 'the process');
        await d.api('DELETE', `/v1/processes/${p.id}`);
        await waitUntil(() => !has(p)(w.events.at(-1)), 'the process to be gone');
        const q = await d.sh('exit 7');
        await w.until(code(q), 'its exit');
        assert.match(w.types(), /^ADDED( MODIFIED)+$/);
        const versions = w.events.map((e) => Number(e.object.metadata.resourceVersion));
        assert.deepEqual(versions, [...versions].sort((a, b) => a - b));
        w.close();
    });

    it('from the version of a list: nothing twice, and what was missed', async () => {
        const list = await core().listNamespacedPod({ namespace: 'default' });
        const quiet = await watch({ resourceVersion: list.metadata.resourceVersion, timeoutSeconds: 1, allowWatchBookmarks: true });
        assert.equal(await within(quiet.ended, 15000, 'the end'), 'regular');
        assert.equal(quiet.types(), 'BOOKMARK');
        assert.deepEqual(quiet.events[0].object.metadata, { resourceVersion: list.metadata.resourceVersion, creationTimestamp: null });
        const p = await d.sh('exit 7');
        await d.exitOf(p.id);
        const late = await watch({ resourceVersion: list.metadata.resourceVersion });
        assert.equal((await late.until(code(p), 'what was missed')).type, 'MODIFIED');
        late.close();
    });

    it('selectors: only a watch that matches has the pod', async () => {
        const yes = await watch({ fieldSelector: 'metadata.name=sandbox' });
        const no = await watch({ fieldSelector: 'metadata.name=other', timeoutSeconds: 1 });
        await yes.until((e) => e.type === 'ADDED', 'the pod');
        await d.exitOf((await d.sh('exit 7')).id);
        assert.equal(await within(no.ended, 15000, 'the end'), 'regular');
        assert.equal(no.types(), '');
        yes.close();
        assert.equal((await d.request('GET', `${PREFIX}${PODS}?watch=1&fieldSelector=metadata.color%3Dred`)).status, 400);
    });

    it('a version that is not known any more is 410, and a list with all events ends in a bookmark', async () => {
        const w = await watch({ resourceVersion: '999999999' });
        await within(w.ended, 15000, 'the end');
        assert.deepEqual([w.types(), w.events[0].object.code, w.events[0].object.reason], ['ERROR', 410, 'Expired']);
        const all = await watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true });
        const mark = await all.until((e) => e.type === 'BOOKMARK', 'the bookmark');
        assert.equal(all.events[0].type, 'ADDED');
        assert.deepEqual(mark.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
        all.close();
    });

    it('an informer of the client stays in step, also when the worker dies', async () => {
        const kc = configOf(d);
        const informer = k8s.makeInformer(kc, PODS, () => kc.makeApiClient(k8s.CoreV1Api).listNamespacedPod({ namespace: 'default' }));
        let last = null;
        let added = 0;
        informer.on('add', (pod) => ((last = pod), added++));
        informer.on('update', (pod) => (last = pod));
        const again = () => informer.start().catch(again);
        informer.on('error', again);
        await informer.start();
        const knows = (p) => last?.spec.containers.some((c) => c.name === containerOf(p));
        const first = await d.sh('read x', { stdin: 'pipe' });
        await waitUntil(() => knows(first), 'the first process');
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        const second = await waitUntil(() => d.sh('read x', { stdin: 'pipe' }).catch(() => null), 'the next worker');
        await waitUntil(() => knows(second) && knows(first), 'the second process', 30000);
        assert.equal(added, 1);
        informer.off('error', again);
        await informer.stop();
        for (const p of [first, second]) await d.api('DELETE', `/v1/processes/${p.id}`);
    });

    it('a storm of processes is few events, and as many watches as the limit allows', async () => {
        const many = await Promise.all(Array.from({ length: LIMIT }, () => watch()));
        const refused = await d.request('GET', `${PREFIX}${PODS}?watch=true`);
        assert.equal(refused.status, 429);
        assert.deepEqual(JSON.parse(refused.text).details, { retryAfterSeconds: 1 });
        const p = await d.sh('exit 7');
        await Promise.all(many.map((w) => w.until(code(p), 'the exit')));
        many.forEach((w) => w.close());
        const one = await waitUntil(() => watch().then((w) => w.until(() => true, 'the pod').then(() => w), () => null).catch(() => null), 'room again');
        one.close();
    });

    // A token that only watches could use all of them, and the owner's request was refused.
    it('watchers leave watches and metrics for the owner', async () => {
        const url = `${PREFIX}${PODS}?watch=true`;
        const status = async (role) => {
            const res = await d.open('GET', url, { role });
            res.on('error', () => {}).destroy();
            return res.statusCode;
        };
        const open = [];
        for (let i = 0; i < LIMIT - LIMIT / KEPT_PART; i++) open.push(await d.open('GET', url, { role: 'watch' }));
        assert.deepEqual([await status('watch'), await status('own')], [429, 200]);
        open.forEach((res) => res.on('error', () => {}).destroy());
        await waitUntil(async () => (await status('watch')) === 200, 'room again');
        const metrics = (role) => d.request('GET', `${PREFIX}/apis/metrics.k8s.io/v1beta1/pods`, { role });
        const many = Array.from({ length: 3 * limit('LIMIT_KUBE_METRICS') }, () => metrics('watch'));
        const refused = await Promise.any(many.map(async (r) => ((await r).status === 429 ? 429 : Promise.reject(new Error('not refused')))));
        assert.deepEqual([refused, (await metrics('own')).status], [429, 200]);
        await Promise.all(many);
    });

    /** Changes a process again and again until `body` is over. */
    const whileChanging = async (body) => {
        const p = await d.sh('read x', { stdin: 'pipe' });
        let over = false;
        const changes = (async () => {
            for (let i = 0; !over; i++) await d.request('PATCH', `/v1/processes/${p.id}`, { json: { label: `${i}` } });
        })();
        try {
            return await body();
        } finally {
            over = true;
            await changes;
            await d.remove(p.id);
        }
    };
    const version = (e) => Number(e.object.metadata.resourceVersion);

    // Each watch serialised the pod for itself, so that 64 of a large pod delayed everyone.
    it('all watches share a version of the pod, of which there are ten a second', async () => {
        const began = performance.now();
        const all = await whileChanging(async () => {
            const many = [];
            for (let i = 0; i < 16; i++) {
                many.push(await watch());
                await many[i].until(() => true, 'the pod');
            }
            await Promise.all(many.map((w) => w.until((e) => version(e) > version(many[15].events[0]) + 100, 'later versions')));
            return many;
        });
        all.forEach((w) => w.close());
        const versions = new Set(all.flatMap((w) => w.events.map(version)));
        const most = Math.ceil((performance.now() - began) / 100) + 1;
        assert.ok(versions.size <= most, `${versions.size} versions, at most ${most} expected`);
    });

    // A client that watched again from such a bookmark never got that change.
    it('a bookmark has no version whose pod was not sent', async () => {
        await whileChanging(async () => {
            const many = await Promise.all(Array.from({ length: 16 }, (_, i) => watch({ timeoutSeconds: 1 + (i % 2), allowWatchBookmarks: true })));
            for (const w of many) {
                assert.equal(await within(w.ended, 15000, 'the end'), 'regular');
                const mark = w.events.findIndex((e) => e.type === 'BOOKMARK');
                if (mark >= 0) assert.equal(version(w.events[mark]), version(w.events[mark - 1]), w.types());
            }
        });
    });

    // The reply was the pod, which a client that watches takes for an event without a type.
    it('one pod cannot be watched by its path', async () => {
        const a = await d.request('GET', `${PREFIX}${PODS}/sandbox?watch=true`);
        assert.deepEqual([a.status, a.json.reason, a.json.message], [405, 'MethodNotAllowed', 'watch the list of pods, with fieldSelector=metadata.name=sandbox']);
        assert.equal((await d.request('GET', `${PREFIX}${PODS}/nosuch?watch=true`)).status, 404);
        assert.equal((await d.request('GET', `${PREFIX}${PODS}/sandbox?watch=false`)).json.kind, 'Pod');
    });

    it('an unknown pod has the name and kind in details', async () => {
        const a = await d.request('GET', `${PREFIX}${PODS}/nosuch`);
        assert.deepEqual(JSON.parse(a.text).details, { name: 'nosuch', kind: 'pods' });
    });
});

withDaemon('kubernetes: kubectl watches', { auth: false, args: ['--no-auth'], skip: KUBECTL === null ? 'there is no kubectl on PATH' : false }, (d) => {
    const kubectl = () => new Kubectl(d, { server: d.url + PREFIX });

    it('get --watch prints a line for each change; -o wide has the other columns', async () => {
        const child = kubectl().start('get', 'pods', '--watch');
        await waitUntil(() => child.out().includes('1/1'), 'the pod');
        await d.sh('read x', { stdin: 'pipe' });
        await waitUntil(() => child.out().includes('2/2'), 'the process', 15000);
        child.kill('SIGTERM');
        await child.ended;
        const [code, out] = await kubectl().says(['get', 'pods', '-o', 'wide']);
        assert.equal(code, 0);
        assert.match(out, /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\nsandbox +2\/2 +Running +0 +\S+ +127\.0\.0\.1 +holdfast +<none> +<none>\n$/);
        assert.doesNotMatch((await kubectl().says(['get', 'pods']))[1], /IP/);
    });

    it('wait --for a condition', async () => {
        assert.deepEqual(await kubectl().says(['wait', '--for=condition=Ready', 'pod/sandbox', '--timeout=20s']), [0, 'pod/sandbox condition met\n', '']);
    });
});

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-kube-'));
const ca = new Authority(dir, 'kube');
const { keyFile, certFile } = ca.issue('server', 'IP:127.0.0.1,DNS:localhost');

withDaemon('kubernetes: reviews', { args: ['--tls-cert', certFile, '--tls-key', keyFile], skip: KUBECTL === null ? 'there is no kubectl on PATH' : false }, (d) => {
    after(() => fs.rmSync(dir, { recursive: true, force: true }));
    const as = (role) => new Kubectl(d, { server: d.url + PREFIX, args: ['--token', d.tokens[role], '--certificate-authority', ca.file] });

    it('auth can-i: by the role of the token', async () => {
        for (const [role, words, yes] of [
            ['watch', ['list', 'pods'], true], ['watch', ['watch', 'pods'], true], ['watch', ['get', 'pods', '--subresource=log'], true],
            ['watch', ['create', 'pods', '--subresource=exec'], false], ['own', ['create', 'pods', '--subresource=exec'], true],
            ['own', ['create', 'pods', '--subresource=portforward'], true], ['own', ['delete', 'pods'], false], ['own', ['*', '*'], false], ['own', ['get', '/version'], true], ['own', ['get', '/metrics'], false],
        ]) {
            const [code, out] = await as(role).says(['auth', 'can-i', ...words]);
            assert.deepEqual([code, out.split(' ')[0].trim()], yes ? [0, 'yes'] : [1, 'no'], `${role} ${words}`);
        }
        const [, list] = await as('watch').says(['auth', 'can-i', '--list']);
        assert.match(list, /^pods +\[\] +\[\] +\[get list watch\]$/m);
        assert.doesNotMatch(list, /pods\/exec/);
        assert.match((await as('own').says(['auth', 'can-i', '--list']))[1], /^pods\/exec +\[\] +\[\] +\[create get\]$/m);
    });

    it('auth whoami: the role', async () => {
        const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
        for (const role of ['own', 'watch']) {
            const k = as(role);
            const [code, out] = await k.says(['create', '--raw', PREFIX + '/apis/authentication.k8s.io/v1/selfsubjectreviews', '-f', '-'], review);
            assert.deepEqual([code, JSON.parse(out).status.userInfo.username], [0, `holdfast:${role}`]);
            if (KUBECTL < 28) continue; // it has no whoami
            const [status, text] = await k.says(['auth', 'whoami']);
            assert.equal(status, 0);
            assert.match(text, new RegExp(`^Username +holdfast:${role}$`, 'm'));
        }
    });
});
