// SPDX-License-Identifier: Apache-2.0
//
// tls.test.mjs - those whom the gateway itself asks, by TLS: a certificate of a private authority is taken
// only from whom it was made for, and a refusal says why

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { Authority } from '../lib/certs.mjs';
import { Daemon, binary, releaseBinary } from '../lib/daemon.mjs';
import { Gateway, ask, httpUpstream } from '../lib/gateway.mjs';
import { KubeApi } from '../lib/kube_api.mjs';
import { Redis, noRedis } from '../lib/redis.mjs';
import { after, before, describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-tls-'));
const ours = new Authority(dir, 'ours');
const other = new Authority(dir, 'other');
const good = ours.issue('good', 'IP:127.0.0.1,DNS:kubernetes.default.svc');
const elsewhere = ours.issue('elsewhere', 'DNS:kubernetes.default.svc,IP:10.0.0.1');
const up = {};
before(async () => Object.assign(up, await httpUpstream((req, res) => res.end('here'))));
after(async () => {
    await up.close();
    fs.rmSync(dir, { recursive: true });
});

/** How a gateway with these arguments refuses to start. */
function refusal(bin, ...args) {
    const r = spawnSync(bin, ['gateway', '--no-auth', '--listen', '127.0.0.1:0', ...args], { encoding: 'utf8', timeout: 20000 });
    assert.notEqual(r.status, 0);
    return r.stderr;
}
const NOT_TRUSTED = /(unable to get local issuer certificate|self-signed certificate in certificate chain|unable to verify the first certificate)/;

/* What a pod finds around itself stands at a fixed place: the gateway gets a view of the file system in which it does. */
const SECRETS = '/run/secrets/kubernetes.io/serviceaccount';
const inPod = (account) => ['unshare', '-rm', 'sh', '-c', `mount -t tmpfs none /run && mkdir -p ${SECRETS} && mount --bind ${account} ${SECRETS} && exec "$@"`, 'sh'];
const noPod = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /run']).status !== 0 && 'no mount namespaces here';

describe('kubernetes: with the credentials of a pod', { skip: noPod }, () => {
    const api = new KubeApi({ namespace: 'of-the-pod', tls: good });
    let account;
    const pod = (name) => api.pod(name, { ports: `80=${up.port}` });
    const gateway = async (port) => {
        const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
        return new Gateway({ resolver: 'kubernetes:', env, via: inPod(account) }).start();
    };

    before(async () => {
        await api.start();
        api.pods.set('a', pod('a'));
        account = fs.mkdtempSync(path.join(dir, 'account-'));
        fs.writeFileSync(`${account}/token`, 'first');
        fs.writeFileSync(`${account}/namespace`, 'of-the-pod\n');
        fs.copyFileSync(ours.file, `${account}/ca.crt`);
    });
    after(() => api.close());

    it('takes authority, token and namespace from their files, and a new token when there is one', async () => {
        const g = await gateway(api.port);
        await waitUntil(async () => (await ask(g.url('a', 80))).text === 'here', 'the list');
        await waitUntil(() => api.watches.size === 1, 'the watch');
        api.token = 'second';
        fs.writeFileSync(`${account}/token.new`, 'second\n');
        fs.renameSync(`${account}/token.new`, `${account}/token`);
        api.endWatches();
        await waitUntil(() => api.watches.size === 1, 'the next watch');
        api.put(pod('b'));
        await waitUntil(async () => (await ask(g.url('b', 80))).status === 200, 'a pod after that');
        assert.deepEqual([...new Set(api.requests.map((r) => r.headers.authorization))], ['Bearer first', 'Bearer second']);
        await g.stop();
    });

    it('refuses a server of another authority, and tells it nothing', async () => {
        const was = api.requests.length;
        fs.copyFileSync(other.file, `${account}/ca.crt`);
        const g = await gateway(api.port);
        await waitUntil(() => /kubernetes: the API server at 127\.0\.0\.1:\d+: /.test(g.stderr), 'the reason');
        assert.match(g.stderr, NOT_TRUSTED);
        assert.equal((await ask(g.url('a', 80))).json.code, 'resolver_unavailable');
        assert.equal((await ask(`http://127.0.0.1:${g.port}/readyz`)).status, 503);
        assert.equal(api.requests.length, was);
        await g.stop();
        fs.copyFileSync(ours.file, `${account}/ca.crt`);
    });

    it('refuses a server whose certificate is for another name', async () => {
        const stranger = await new KubeApi({ namespace: 'of-the-pod', tls: elsewhere }).start();
        const g = await gateway(stranger.port);
        await waitUntil(() => /kubernetes: the API server at 127\.0\.0\.1:\d+: IP address mismatch/.test(g.stderr), 'the reason');
        assert.equal((await ask(g.url('a', 80))).json.code, 'resolver_unavailable');
        assert.equal(stranger.requests.length, 0);
        await g.stop();
        await stranger.close();
    });
});

describe('what TLS needs is asked for at the start', () => {
    const url = 'kubernetes:https://127.0.0.1:1';
    it('a file of authorities that is there and is one', () => {
        assert.match(refusal(binary(), '--resolver', `${url}?ca_file=${dir}/none`), /cannot use the certificates of .*none/);
        assert.match(refusal(binary(), '--resolver', `${url}?ca_file=${good.keyFile}`), /cannot use the certificates of/);
        assert.match(refusal(binary(), '--unsigned-registrations', '--resolver', `rediss://127.0.0.1:1?ca_file=${dir}/none`), /cannot use the certificates of .*none/);
        assert.match(refusal(binary(), '--resolver', `redis://127.0.0.1:1?ca_file=${ours.file}`), /rediss:\/\/ for TLS/);
        assert.match(refusal(binary(), '--resolver', 'kubernetes:'), /outside a cluster, the URL of the API server is required/);
        const r = spawnSync(binary(), ['serve', '--listen', '127.0.0.1:0', '--register', `rediss://127.0.0.1:1?unsigned=1&ca_file=${dir}/none`, '--no-auth'], { encoding: 'utf8', timeout: 10000 });
        assert.match(r.stderr, /cannot use the certificates of .*none/);
    });

    it('a binary that has it', { skip: !releaseBinary() && 'no release binary' }, () => {
        for (const resolver of [url, 'rediss://127.0.0.1:1'])
            assert.match(refusal(releaseBinary(), '--unsigned-registrations', '--resolver', resolver), /built without TLS/);
        assert.match(refusal(releaseBinary(), '--resolver', 'file:/dev/null', '--auth-hook', 'https://127.0.0.1:1/'), /built without TLS/);
    });
});

describe('an auth hook by https', () => {
    it('is asked if the system trusts it, and else lets nobody in', async () => {
        let asked = 0;
        const hook = https.createServer(good, (req, res) => {
            asked++;
            res.statusCode = req.headers.authorization === 'Bearer good' ? 204 : 403;
            res.end();
        });
        await new Promise((done) => hook.listen(0, '127.0.0.1', done));
        const start = (env) =>
            new Gateway({
                sandboxes: { a: { address: '127.0.0.1', ports: { 80: up.port } } },
                auth: true,
                env,
                args: ['--auth-hook', `https://127.0.0.1:${hook.address().port}/check`],
            }).start();
        const as = (token) => ({ headers: { authorization: `Bearer ${token}` } });
        let g = await start({ SSL_CERT_FILE: ours.file });
        assert.equal((await ask(g.url('a', 80), as('good'))).text, 'here');
        assert.equal((await ask(g.url('a', 80), as('bad'))).json.code, 'forbidden');
        await g.stop();
        asked = 0;
        g = await start({ SSL_CERT_FILE: other.file });
        assert.equal((await ask(g.url('a', 80), as('good'))).json.code, 'auth_unavailable');
        assert.match(g.stderr, new RegExp(`the auth hook: ${NOT_TRUSTED.source}`));
        assert.equal(asked, 0);
        await g.stop();
        hook.closeAllConnections();
        await new Promise((done) => hook.close(done));
    });
});

describe('rediss:', { skip: noRedis }, () => {
    const redis = new Redis({ tls: { ...good, caFile: ours.file } });
    before(() => redis.start());
    after(() => redis.stop());

    it('daemons register and gateways find them, by TLS', async () => {
        const d = await new Daemon({ args: ['--register', redis.register('safe', `&ca_file=${ours.file}&share_token=1`)], gateway: false }).start();
        const g = await new Gateway({ resolver: `${redis.url}&ca_file=${ours.file}`, args: redis.trust }).start();
        await waitUntil(async () => (await ask(g.url('safe', d.port, '/v1/info'))).status === 200, 'the daemon');
        await d.stop();
        await waitUntil(async () => (await ask(g.url('safe', d.port, '/v1/info'))).status === 404, 'it to be gone');
        await g.stop();
    });

    it('a Redis of another authority is not believed, and not told the password', async () => {
        const g = await new Gateway({ resolver: `${redis.url}&ca_file=${other.file}`, args: redis.trust }).start();
        await waitUntil(() => /redis at 127\.0\.0\.1:\d+ is not responding: /.test(g.stderr), 'the reason');
        assert.match(g.stderr, NOT_TRUSTED);
        assert.equal((await ask(g.url('safe', 80))).json.code, 'resolver_unavailable');
        await g.stop();
    });
});
