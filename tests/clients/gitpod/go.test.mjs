// SPDX-License-Identifier: Apache-2.0
//
// Gitpod's TerminalService by grpc-go against the real binary: the tests are in tests/go/gitpod. The messages
// come from the descriptors that descriptors.mjs makes of Gitpod's own package.

import { withDaemon } from '../../lib/daemon.mjs';
import { goTests } from '../../lib/languages.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { OPTIONS, portOf } from './client.mjs';
import { writeDescriptors } from './descriptors.mjs';

withDaemon('gitpod: Go', OPTIONS, (d) => {
    it('terminals, listeners, errors and stress with grpc-go', () =>
        goTests('gitpod', {
            HOME: d.dir,
            TARGET: `127.0.0.1:${portOf(d)}`,
            TOKEN: d.token,
            WATCH_TOKEN: d.tokens.watch,
            WORKER_PID: String(d.workerPid()),
            DESCRIPTORS: writeDescriptors(d.dir),
            QUIET_S: String(scaled(70, 12)),
        }));
});
