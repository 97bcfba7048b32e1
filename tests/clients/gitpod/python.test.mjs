// SPDX-License-Identifier: Apache-2.0
//
// Gitpod's TerminalService by grpcio from PyPI against the real binary: the tests are in the files *_test.py.
// The messages come from the descriptors that descriptors.mjs makes of Gitpod's own package.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Authority } from '../../lib/certs.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { scaled } from '../../lib/scale.mjs';
import { after, it } from '../../lib/test.mjs';
import { OPTIONS, portOf } from './client.mjs';
import { writeDescriptors } from './descriptors.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-gitpod-'));
const ca = new Authority(dir, 'gitpod');
const { keyFile, certFile } = ca.issue('server', 'IP:127.0.0.1');
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const run = (d, name, more) =>
    pythonTests(path.join(import.meta.dirname, name), {
        HOME: d.dir,
        TARGET: `127.0.0.1:${portOf(d)}`,
        TOKEN: d.token,
        DESCRIPTORS: writeDescriptors(d.dir),
        ...more,
    });

withDaemon('gitpod: Python', OPTIONS, (d) => {
    it('terminals, listeners, errors and stress with grpcio', () =>
        run(d, 'client_test.py', {
            WATCH_TOKEN: d.tokens.watch,
            WORKER_PID: String(d.workerPid()),
            QUIET_S: String(scaled(70, 12)),
        }));
});

withDaemon('gitpod: Python and TLS', { ...OPTIONS, args: [...OPTIONS.args, '--tls-cert', certFile, '--tls-key', keyFile] }, (d) => {
    it('a terminal', () => run(d, 'secure_test.py', { CA: ca.file }));
});
