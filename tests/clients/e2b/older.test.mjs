// SPDX-License-Identifier: Apache-2.0
//
// The E2B client of before 2.0 against the real binary: the tests are in older_test.py. It has no option for
// an address: api.DOMAIN is the control API and PORT-ID.DOMAIN is envd, both by https.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Authority } from '../../lib/certs.mjs';
import { withProxy } from '../../lib/connect_proxy.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { after, it } from '../../lib/test.mjs';

const DOMAIN = 'sandbox.test';
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-e2b-'));
const ca = new Authority(dir, 'e2b');
const { keyFile, certFile } = ca.issue('server', `IP:127.0.0.1,DNS:localhost,DNS:*.${DOMAIN}`);
const hosts = [`api.${DOMAIN}`, `49983-holdfast.${DOMAIN}`].flatMap((h) => ['--allow-host', h]);
const args = ['--tls-cert', certFile, '--tls-key', keyFile, ...hosts, '--dialect', 'e2b=127.0.0.1:0'];

withDaemon('e2b: Python before 2.0', { args, gateway: false }, (d) => {
    after(() => fs.rmSync(dir, { recursive: true, force: true }));

    it('create, connect, run, errors, a terminal and files', () =>
        withProxy(Number(/e2b listening on https:\/\/\S+:(\d+)/.exec(d.stdout + d.stderr)[1]), (proxy) =>
            pythonTests(
                path.join(import.meta.dirname, 'older_test.py'),
                { HOME: d.dir, PROXY: proxy, E2B_DOMAIN: DOMAIN, E2B_API_KEY: d.token, SSL_CERT_FILE: ca.file },
                'older',
            ),
        ));
});
