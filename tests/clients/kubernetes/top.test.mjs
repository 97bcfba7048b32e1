// SPDX-License-Identifier: Apache-2.0
// kubectl top: what the containers of the pod use, measured between two samples.

import assert from 'node:assert/strict';
import { burn, burner } from '../../lib/burn.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { KUBECTL, Kubectl, PREFIX } from './client.mjs';

const LIMIT = 16; // LIMIT_KUBE_METRICS
const API = '/apis/metrics.k8s.io/v1beta1';

const options = {
    auth: false, // kubectl sends no token over plain http
    args: ['--no-auth', '--dialect', 'kubernetes=127.0.0.1:0'],
    listen: ['127.0.0.1:0'],
    skip: KUBECTL === null ? 'there is no kubectl on PATH' : false,
};

withDaemon('kubernetes: top', options, (d) => {
    const kubectl = () => new Kubectl(d, { server: d.url + PREFIX });
    const top = async (...args) => {
        const r = await kubectl().run(['top', 'pod', '--no-headers', ...args]);
        assert.equal(r.code, 0, r.err);
        return r.out.toString().trim().split('\n').map((l) => l.trim().split(/ +/));
    };
    const get = (path) => d.request('GET', `${PREFIX}${path}`);

    it('the use of each container, and of the pod', async () => {
        const { command, args } = burner(d, { hold: true });
        const held = await d.spawn({ command, args, stdin: 'pipe', tag: 'held' });
        await d.outputHas(held.id, 'written_bytes');
        const busy = await d.sh('while :; do :; done', { tag: 'busy' });
        const rows = await top('sandbox', '--containers');
        const of = (name) => rows.find((r) => r[0] === 'sandbox' && r[1] === name);
        assert.match(of('busy')[2], /^\d+m$/);
        assert.ok(parseInt(of('busy')[2], 10) >= 10 && parseInt(of('busy')[2], 10) <= 1300, `${of('busy')}`);
        assert.ok(parseInt(of('held')[3], 10) >= burn.memory / 1048576 && /^\d+Mi$/.test(of('held')[3]), `${of('held')}`);
        const [[name, cpu, memory]] = await top();
        assert.equal(name, 'sandbox');
        assert.ok(parseInt(cpu, 10) >= 10 && parseInt(memory, 10) >= 64, `${cpu} ${memory}`);
        await d.remove(held.id);
        await d.remove(busy.id);
    });

    it('the window is the time between the samples; selectors and other names', async () => {
        const { json } = await get(`${API}/namespaces/default/pods/sandbox`);
        assert.deepEqual([json.kind, json.metadata.name, json.metadata.namespace, json.containers], ['PodMetrics', 'sandbox', 'default', []]);
        assert.ok(parseFloat(json.window) >= 0.9, json.window);
        const items = async (query) => (await get(`${API}/namespaces/other/pods${query}`)).json.items.length;
        assert.equal(await items(''), 1);
        assert.equal(await items('?labelSelector=app%3Dx'), 0);
        assert.equal((await get(`${API}/namespaces/default/pods/nosuch`)).status, 404);
        assert.equal((await get(`${API}/pods?fieldSelector=nosuch`)).status, 400);
    });

    it('as many requests at once as the limit allows, and room again when they end', async () => {
        const all = await Promise.all(Array.from({ length: 2 * LIMIT }, () => get(`${API}/pods`)));
        const refused = all.filter((r) => r.status === 429);
        assert.ok(refused.length > 0 && all.length - refused.length >= LIMIT);
        assert.match(refused[0].json.message, /already in progress; try again later/);
        await waitUntil(async () => (await get(`${API}/pods`)).status === 200, 'room again');
    });

    it('the group is discovered', async () => {
        const r = await kubectl().run(['api-resources', '--api-group=metrics.k8s.io', '--no-headers']);
        assert.match(r.out.toString(), /^pods +metrics\.k8s\.io\/v1beta1 +true +PodMetrics\n$/, r.err);
    });
});
