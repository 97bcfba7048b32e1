// SPDX-License-Identifier: Apache-2.0
// Every reply is what the models of PyPI kubernetes say it is.

import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { PREFIX } from './client.mjs';

const a = (name) => ({ python: `kubernetes.client.models:${name}` });
const METRICS = '/apis/metrics.k8s.io/v1beta1';

withDaemon('kubernetes: schemas', {}, (d) => {
    it('discovery, pods, metrics, and errors', async () => {
        const r = new Replies(d, PREFIX);
        const pods = '/api/v1/namespaces/default/pods';
        const p = await d.spawn({ command: 'sh', args: ['-c', 'exec cat'], pty: true, env: { A: '1' } });
        await d.exitOf((await d.spawn({ command: 'sh', args: ['-c', 'exit 3'] })).id);
        await d.exitOf((await d.spawn({ command: 'sh', args: ['-c', 'kill -9 $$'] })).id);

        for (const slash of ['', '/']) {
            await r.call('GET', `/version${slash}`, 200, a('VersionInfo'));
            await r.call('GET', `/api${slash}`, 200, a('V1APIVersions'));
            await r.call('GET', `/apis${slash}`, 200, a('V1APIGroupList'));
            await r.call('GET', `/api/v1${slash}`, 200, a('V1APIResourceList'));
            await r.call('GET', `/apis/metrics.k8s.io${slash}`, 200, a('V1APIGroup'));
            await r.call('GET', `${METRICS}${slash}`, 200, a('V1APIResourceList'));
        }
        await r.call('GET', '/api/v1/pods', 200, a('V1PodList'));
        await r.call('GET', pods, 200, a('V1PodList'));
        await r.call('GET', `${pods}/sandbox`, 200, a('V1Pod'));

        for (const group of ['authorization', 'authentication']) await r.call('GET', `/apis/${group}.k8s.io/v1`, 200, a('V1APIResourceList'));
        const review = (group, kind, spec) => r.call('POST', `/apis/${group}.k8s.io/v1/self${kind.toLowerCase()}s`, 201, a(`V1Self${kind}`), { json: { apiVersion: `${group}.k8s.io/v1`, kind: `Self${kind}`, spec } });
        await review('authorization', 'SubjectAccessReview', { resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } });
        await review('authorization', 'SubjectRulesReview', { namespace: 'default' });
        await review('authentication', 'SubjectReview');

        const status = a('V1Status');
        await r.call('GET', `${pods}/none`, 404, status);
        await r.call('GET', `${pods}/none/log`, 404, status);
        await r.call('GET', `${pods}/sandbox/log?container=none`, 400, status);
        await r.call('GET', '/api/v1/nodes', 404, status);
        await r.call('POST', pods, 405, status, { json: {} });
        await r.call('POST', `${pods}/sandbox/exec?command=true`, 400, status);
        await r.call('POST', `${pods}/sandbox/attach`, 400, status);
        await r.call('POST', `${pods}/sandbox/portforward`, 400, status);
        await r.call('GET', `${pods}/sandbox/exec?command=true`, 400, status);
        await r.call('GET', `${pods}/sandbox/attach`, 400, status);
        await r.call('GET', `${pods}/sandbox/portforward`, 400, status);
        await r.call('GET', pods, 401, status, { role: 'wrong-wrong-wrong-wrong' });
        await r.call('GET', `${pods}?fieldSelector=a%20b`, 400, status);
        await d.remove(p.id);

        await r.checkPython();
        const probe = 'the text "ok"';
        const metrics = 'the only published types require selfLink, which Kubernetes no longer sends';
        r.checkRoutes('kubernetes', { 'GET /healthz': probe, 'GET /livez': probe, 'GET /readyz': probe, [`GET ${METRICS}/pods`]: metrics, [`GET ${METRICS}/namespaces/{ns}/pods`]: metrics, [`GET ${METRICS}/namespaces/{ns}/pods/{name}`]: metrics });
    });
});
