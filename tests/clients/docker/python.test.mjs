// SPDX-License-Identifier: Apache-2.0
// Docker's client from PyPI against the real binary: the tests are in client_test.py. The client
// knows no paths in front of its own, so it gets a listener of the dialect's own.

import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { pythonTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('docker: Python', { auth: false, gateway: false, args: ['--no-auth', '--dialect', 'docker=127.0.0.1:0'] }, (d) => {
    it('exec, run, attach, logs: no output is lost', () => {
        const listener = /docker listening on (?:http|tcp):\/\/(\S+)/.exec(d.stdout + d.stderr)[1];
        return pythonTests(path.join(import.meta.dirname, 'client_test.py'), { HOME: d.dir, DOCKER_HOST: `tcp://${listener}` });
    });
});
