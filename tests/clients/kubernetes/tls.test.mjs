// SPDX-License-Identifier: Apache-2.0
// Tokens by kubectl and client-node: with TLS, as kubectl insists, and what it hears otherwise.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as k8s from '@kubernetes/client-node';
import { Authority } from '../../lib/certs.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { after, it } from '../../lib/test.mjs';
import { Kubectl, KUBECTL, PREFIX, run, WIRES } from './client.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-kube-'));
const ca = new Authority(dir, 'kube');
const { keyFile, certFile } = ca.issue('server', 'IP:127.0.0.1,DNS:localhost');
const LOGIN = /You must be logged in to the server/;

withDaemon('kubernetes: tokens with TLS', { args: ['--tls-cert', certFile, '--tls-key', keyFile] }, (d) => {
    after(() => fs.rmSync(dir, { recursive: true, force: true }));
    const server = () => d.url + PREFIX;

    for (const wire of WIRES) {
        it(`kubectl by ${wire.name}: a token is taken, another is told to log in`, async () => {
            const say = (...args) => new Kubectl(d, { server: server(), env: wire.env, args }).says(['exec', 'sandbox', '--', 'echo', 'in']);
            assert.deepEqual(await say('--token', d.token, '--certificate-authority', ca.file), [0, 'in\n', '']);
            const [code, , err] = await say('--token', 'wrong-wrong-wrong-wrong', '--insecure-skip-tls-verify');
            assert.equal(code, 1);
            assert.match(err, LOGIN);
        });
    }

    it('kubectl: a token that may only watch is told why', { skip: KUBECTL === null }, async () => {
        const k = new Kubectl(d, { server: server(), args: ['--token', d.tokens.watch, '--certificate-authority', ca.file] });
        assert.match((await k.says(['get', 'pods']))[1], /sandbox/);
        assert.match((await k.says(['exec', 'sandbox', '--', 'true']))[2], /Error from server \(Forbidden\): This needs the role 'own'/);
    });

    it('client-node with the certificate of the authority', async () => {
        const kc = new k8s.KubeConfig();
        kc.loadFromClusterAndUser({ name: 'c', server: server(), caFile: ca.file }, { name: 'u', token: d.token });
        assert.deepEqual(await run(kc, ['echo', 'in']), [0, 'in\n', '']);
        const pod = await kc.makeApiClient(k8s.CoreV1Api).readNamespacedPod({ name: 'sandbox', namespace: 'default' });
        assert.equal(pod.metadata.name, 'sandbox');
    });
});

withDaemon('kubernetes: tokens without TLS', { skip: KUBECTL === null }, (d) => {
    it('kubectl drops its token, and is told to log in', async () => {
        const k = new Kubectl(d, { server: d.url + PREFIX, args: ['--token', d.token] });
        const [code, , err] = await k.says(['get', 'pods']);
        assert.equal(code, 1);
        assert.match(err, LOGIN);
    });
});
