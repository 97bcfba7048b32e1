// SPDX-License-Identifier: Apache-2.0
//
// engines.test.mjs - sandboxes as the Docker engine and the Kubernetes API server tell of them
//
// Both are doubles that answer as the real ones do on the wire: list, events or watch, bookmarks, 410.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Gateway, ask, httpUpstream } from '../lib/gateway.mjs';
import { KubeApi } from '../lib/kube_api.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const up = {};
before(async () => Object.assign(up, await httpUpstream((req, res) => res.end('here'))));
after(() => up.close());

describe('docker:', () => {
    const engine = { containers: [], lists: 0, fails: 0, flood: null, stalls: 0, events: new Set() };
    let gw;

    const container = (name, label, ip = '127.0.0.1') => ({
        Id: `${name}${'0'.repeat(64)}`.slice(0, 64),
        Names: [`/${name}`],
        State: 'running',
        Labels: { 'holdfast.sandbox': label, 'holdfast.ports': `80=${up.port}` },
        NetworkSettings: { Networks: { none: { IPAddress: '' }, bridge: { IPAddress: ip } } },
    });
    const event = (action) => engine.events.forEach((res) => res.write(`${JSON.stringify({ Type: 'container', Action: action })}\n`));

    before(async () => {
        gw = new Gateway({ args: ['--answer-timeout-ms', '300'] });
        engine.path = path.join(gw.dir, 'docker.sock');
        gw.resolver = `docker:${engine.path}`;
        engine.start = () =>
            new Promise((done) => {
                engine.server = http.createServer((req, res) => {
                    const url = new URL(req.url, 'http://docker');
                    const filters = JSON.parse(url.searchParams.get('filters'));
                    assert.deepEqual(filters.label, ['holdfast.sandbox']);
                    if (url.pathname === '/events') {
                        assert.deepEqual(filters.type, ['container']);
                        res.writeHead(200, { 'content-type': 'application/json' });
                        res.flushHeaders();
                        engine.events.add(res);
                        res.on('close', () => engine.events.delete(res));
                        return;
                    }
                    assert.equal(url.pathname, '/containers/json');
                    assert.deepEqual(filters.status, ['running']);
                    engine.lists++;
                    if (engine.fails-- > 0) return res.writeHead(500).end('{"message":"busy"}');
                    res.setHeader('content-type', 'application/json');
                    if (engine.flood) return res.end(engine.flood);
                    if (engine.stalls-- > 0) return res.write('[{"Id":');
                    res.end(JSON.stringify(engine.containers));
                });
                engine.server.listen(engine.path, done);
            });
        engine.stop = () =>
            new Promise((done) => {
                engine.server.closeAllConnections();
                engine.server.close(done);
            });
        engine.containers = [container('c1', 'alpha'), container('c2', '')];
        await engine.start();
        await gw.start();
    });
    after(async () => {
        await gw.stop();
        await engine.stop();
    });
    const status = async (id) => (await ask(gw.url(id, 80))).status;

    it('finds containers by label, or by their own id', async () => {
        await waitUntil(async () => (await status('alpha')) === 200, 'the list');
        assert.equal(await status('c20000000000'), 200);
        assert.equal(await status('beta'), 404);
    });

    it('sees one come and go at once', async () => {
        engine.containers.push(container('c3', 'beta'));
        event('start');
        await waitUntil(async () => (await status('beta')) === 200, 'the new container');
        engine.containers = engine.containers.filter((c) => c.Labels['holdfast.sandbox'] !== 'alpha');
        event('die');
        await waitUntil(async () => (await status('alpha')) === 404, 'it to be gone');
    });

    it('says so when a list is too long, keeps what it knows, and asks again', async () => {
        engine.flood = Buffer.from(JSON.stringify(['x'.repeat(17 << 20)]));
        engine.containers.push(container('flood', 'flooded'));
        event('start');
        await waitUntil(() => /docker: the list of containers failed: it is too long/.test(gw.stderr), 'the reason', 30000);
        assert.equal(await status('beta'), 200);
        engine.flood = null;
        await waitUntil(async () => (await status('flooded')) === 200, 'the next list');
        engine.containers.pop();
        event('die');
    });

    /* An event comes once: a list that failed after it once left the gateway with what it knew before. */
    it('asks again for a list that failed', async () => {
        engine.fails = 2;
        engine.containers.push(container('c5', 'delta'));
        event('start');
        await waitUntil(async () => (await status('delta')) === 200, 'the list after two failures');
        assert.match(gw.stderr, /the list of containers failed: refused/);
    });

    it('gives up a list that stands still in the middle, and asks again', async () => {
        engine.containers.push(container('c8', 'slow'));
        engine.stalls = 1;
        event('start');
        await waitUntil(async () => (await status('slow')) === 200, 'the next list');
        assert.ok(engine.stalls < 0);
        engine.containers.pop();
        event('die');
        await waitUntil(async () => (await status('slow')) === 404, 'it to be gone');
    });

    it('keeps what it knows while the engine is away, and looks again when it is back', async () => {
        await engine.stop();
        assert.equal(await status('beta'), 200);
        engine.containers = [container('c4', 'gamma')];
        await engine.start();
        await waitUntil(async () => (await status('gamma')) === 200, 'the list after the return');
        assert.equal(await status('beta'), 404);
    });
});

describe('kubernetes:', () => {
    const api = new KubeApi();
    let gw;
    const pod = (name, options) => api.pod(name, { ports: `80=${up.port}`, ...options });
    const put = (p, type) => api.put(p, type);
    const tell = (type, object) => api.tell(type, object);

    before(async () => {
        gw = new Gateway({ args: ['--answer-timeout-ms', '1000'] });
        fs.writeFileSync(path.join(gw.dir, 'token'), 'first\n');
        await api.start();
        gw.resolver = `kubernetes:http://127.0.0.1:${api.port}?namespace=boxes&token_file=${gw.dir}/token`;
        for (const name of ['a', 'b', 'c', 'd', 'e']) api.pods.set(name, pod(name));
        api.pods.set('p', pod('p', { phase: 'Pending' }));
        api.pods.set('twin-1', pod('twin-1', { label: 'twin' }));
        api.pods.set('twin-2', pod('twin-2', { label: 'twin', phase: 'Failed' }));
        await gw.start();
    });
    after(async () => {
        await gw.stop();
        await api.close();
    });
    const status = async (id) => (await ask(gw.url(id, 80))).status;
    const endWatches = () => api.endWatches();
    const watching = () => waitUntil(() => api.watches.size === 1, 'a watch');

    it('lists in pages, then watches from there', async () => {
        await watching();
        for (const id of ['a', 'c', 'e']) assert.equal(await status(id), 200, id);
        assert.equal(await status('p'), 404, 'one that does not run yet');
        const [first, second] = api.requests;
        assert.equal(first.url, '/api/v1/namespaces/boxes/pods?labelSelector=holdfast.dev%2Fsandbox&limit=500', 'a resourceVersion would make the server ignore the limit');
        assert.equal(second.url, '/api/v1/namespaces/boxes/pods?continue=page%2F2&labelSelector=holdfast.dev%2Fsandbox&limit=500');
        assert.equal(first.headers.accept, 'application/json');
        const watch = api.requests.find((r) => r.url.includes('watch='));
        assert.equal(
            watch.url,
            `/api/v1/namespaces/boxes/pods?allowWatchBookmarks=true&labelSelector=holdfast.dev%2Fsandbox&resourceVersion=${api.version}&timeoutSeconds=300&watch=true`,
        );
    });

    it('follows what happens: added, modified, leaving, deleted', async () => {
        put(pod('new', { phase: 'Pending' }));
        put(pod('new'), 'MODIFIED');
        await waitUntil(async () => (await status('new')) === 200, 'the new pod');
        put(pod('new', { deletion: '2026-01-01T00:00:00Z' }), 'MODIFIED');
        await waitUntil(async () => (await status('new')) === 404, 'the one that leaves');
        const a = api.pods.get('a');
        api.pods.delete('a');
        tell('DELETED', a);
        await waitUntil(async () => (await status('a')) === 404, 'the deleted one');
    });

    it('one that failed or goes takes nothing from another of the same id', async () => {
        assert.equal(await status('twin'), 200, 'a failed one is listed behind it');
        put(pod('old', { label: 'moved', ip: '127.0.0.2', ports: '80=1', created: '2026-01-01T00:00:00Z' }));
        await waitUntil(async () => (await status('moved')) === 502, 'the old pod, where nobody is');
        put(pod('young', { label: 'moved', created: '2026-01-02T00:00:00Z' }));
        await waitUntil(async () => (await status('moved')) === 200, 'the one that replaces it');
        put(pod('old', { label: 'moved', deletion: '2026-01-01T00:00:00Z' }), 'MODIFIED');
        const old = api.pods.get('old');
        api.pods.delete('old');
        tell('DELETED', old);
        put(pod('after'));
        await waitUntil(async () => (await status('after')) === 200, 'what was told behind it');
        assert.equal(await status('moved'), 200);
        const young = api.pods.get('young');
        api.pods.delete('young');
        tell('DELETED', young);
        await waitUntil(async () => (await status('moved')) === 404, 'its own end');
    });

    it('a pod whose label changes leaves its old id at once, also when it is deleted later', async () => {
        put(pod('wanderer', { label: 'first' }));
        await waitUntil(async () => (await status('first')) === 200, 'its first id');
        put(pod('wanderer', { label: 'second' }), 'MODIFIED');
        await waitUntil(async () => (await status('second')) === 200, 'its second id');
        assert.equal(await status('first'), 404);
        const last = api.pods.get('wanderer');
        api.pods.delete('wanderer');
        tell('DELETED', last);
        await waitUntil(async () => (await status('second')) === 404, 'its end');
        assert.equal(await status('first'), 404);
    });

    it('of two running pods of one id the ready one serves, and the other when that one leaves', async () => {
        const nowhere = { ip: '127.0.0.2', ports: '80=1' };
        put(pod('keeps', { label: 'pair', created: '2026-01-01T00:00:00Z' }));
        put(pod('replaces', { label: 'pair', created: '2026-01-02T00:00:00Z', ready: false, ...nowhere }));
        put(pod('marker-1'));
        await waitUntil(async () => (await status('marker-1')) === 200, 'what was told behind them');
        assert.equal(await status('pair'), 200, 'the newer one is not ready');
        put(pod('replaces', { label: 'pair', created: '2026-01-02T00:00:00Z', ready: true, ...nowhere }), 'MODIFIED');
        await waitUntil(async () => (await status('pair')) === 502, 'the newer one, where nobody is');
        const leaves = api.pods.get('replaces');
        api.pods.delete('replaces');
        tell('DELETED', leaves);
        await waitUntil(async () => (await status('pair')) === 200, 'the one that still runs');
    });

    it('goes on from the version of a bookmark when a watch ends', async () => {
        tell('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '4711' } });
        api.version = 4711;
        await waitUntil(() => api.watches.size === 1, 'a watch');
        const was = api.requests.length;
        endWatches();
        await waitUntil(() => api.requests.length > was, 'the next watch');
        assert.match(api.requests[was].url, /resourceVersion=4711.*watch=true/);
        await watching();
    });

    it('begins again with a list when its version is gone', async () => {
        const was = api.requests.length;
        api.gone = true;
        api.pods.delete('b');
        api.pods.set('late', pod('late'));
        endWatches();
        await waitUntil(async () => (await status('late')) === 200, 'a new list');
        assert.equal(await status('b'), 404);
        const list = api.requests.slice(was).find((r) => !r.url.includes('watch=true'));
        assert.equal(list.url, '/api/v1/namespaces/boxes/pods?labelSelector=holdfast.dev%2Fsandbox&limit=500', 'not an old one from a cache');
        await watching();
    });

    it('gives up a list that stands still in the middle, and asks again', async () => {
        api.gone = true;
        api.stalls = 1;
        api.pods.set('slow', pod('slow'));
        endWatches();
        await waitUntil(async () => (await status('slow')) === 200, 'the next list', 30000);
        assert.equal(api.stalls, 0);
        await watching();
    });

    it('reads a list of any size, also from a server that ignores the limit', async () => {
        const note = 'x'.repeat(60000);
        for (let i = 0; i < 300; i++) api.pods.set(`many-${i}`, pod(`many-${i}`, { note })); // 18 MB
        api.gone = api.ignoresLimit = true;
        endWatches();
        await waitUntil(async () => (await status('many-299')) === 200, 'the last of them', 30000);
        for (let i = 0; i < 300; i++) api.pods.delete(`many-${i}`);
        api.ignoresLimit = false;
        await watching();
    });

    it('takes a new token from its file', async () => {
        api.token = 'second';
        fs.writeFileSync(path.join(gw.dir, 'token'), 'second');
        endWatches();
        await watching();
        put(pod('after'));
        await waitUntil(async () => (await status('after')) === 200, 'a pod after the change');
    });

    const logged = (text) => gw.stderr.split(text).length - 1;

    it('serves what it knows while the API server is away', async () => {
        const was = api.requests.length;
        const backs = logged('kubernetes is responding again');
        api.token = 'nobody has this';
        api.endWatches();
        await waitUntil(() => /rejected the gateway's token \(status 401\)/.test(gw.stderr), 'a refusal to be told');
        api.token = 'second';
        await waitUntil(() => logged('kubernetes is responding again') === backs + 1, 'a watch that works again', 30000);
        await watching();
        api.token = 'nobody has this';
        api.endWatches();
        await waitUntil(() => logged("rejected the gateway's token") === 2, 'the next refusal', 30000);
        assert.ok(api.requests.length > was);
        assert.equal(await status('late'), 200);
        await api.close();
        assert.equal(await status('late'), 200);
    });

    it('finds back by itself when it is there again, and takes what has changed', async () => {
        const backs = logged('kubernetes is responding again');
        api.token = 'second';
        api.pods.delete('late');
        api.pods.set('later', pod('later'));
        api.gone = true; // it has forgotten the versions from before
        await api.start();
        await waitUntil(async () => (await status('later')) === 200, 'a new list', 30000);
        assert.equal(await status('late'), 404);
        assert.equal(logged('kubernetes is responding again'), backs + 1);
    });
});

describe('kubernetes: a watch behind a hop that stays open', () => {
    it('is opened again from the last version when it has been silent for too long', async () => {
        const api = await new KubeApi().start();
        api.token = 'same';
        api.pods.set('a', api.pod('a', { ports: `80=${up.port}` }));
        const gw = new Gateway();
        fs.writeFileSync(path.join(gw.dir, 'token'), 'same');
        gw.resolver = `kubernetes:http://127.0.0.1:${api.port}?namespace=boxes&token_file=${gw.dir}/token&silence_s=1`;
        await gw.start();
        try {
            await waitUntil(() => api.watches.size === 1, 'a watch');
            const [first] = api.watches;
            await waitUntil(() => api.watches.size === 1 && !api.watches.has(first), 'another watch in its place', 30000);
            assert.match(api.requests.at(-1).url, new RegExp(`resourceVersion=${api.version}&.*watch=true`));
        } finally {
            await gw.stop();
            await api.close();
        }
    });
});
