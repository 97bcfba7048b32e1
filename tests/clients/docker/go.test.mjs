// SPDX-License-Identifier: Apache-2.0
// Docker's client library for Go against the real binary: the tests are in tests/go/docker.

import { withDaemon } from '../../lib/daemon.mjs';
import { goTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';
import { BASE } from './client.mjs';

withDaemon('docker: Go', {}, (d) => {
    it('exec with streams, input and a terminal; the list of containers', () =>
        goTests('docker', { HOME: d.dir, DOCKER_HOST: `tcp://127.0.0.1:${d.port}${BASE}`, HOLDFAST_TOKEN: d.token }));
});
