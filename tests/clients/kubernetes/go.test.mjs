// SPDX-License-Identifier: Apache-2.0
// client-go's remotecommand against the real binary, by SPDY and by WebSocket: the tests are in tests/go/kubernetes.

import { withDaemon } from '../../lib/daemon.mjs';
import { goTests } from '../../lib/languages.mjs';
import { it } from '../../lib/test.mjs';
import { PREFIX } from './client.mjs';

withDaemon('kubernetes: Go', {}, (d) => {
    it('exec with streams, input, terminals, resizes, errors and stress', () =>
        goTests('kubernetes', { HOME: d.dir, KUBE_SERVER: d.url + PREFIX, KUBE_TOKEN: d.token, KUBE_WATCH_TOKEN: d.tokens.watch }));
});
