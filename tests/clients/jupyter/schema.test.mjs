// SPDX-License-Identifier: Apache-2.0
// Every reply is what the types of npm @jupyterlab/services say it is. They leave out last_activity, which the
// server's own document has.

import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';
import { BASE } from './client.mjs';

withDaemon('jupyter: schemas', {}, (d) => {
    it('the list and the terminals', async () => {
        const r = new Replies(d, BASE);
        const { name } = await r.call('POST', '/api/terminals', 200, { types: 'Terminal' });
        await r.call('GET', '/api/terminals', 200, { types: 'Terminal[]' });
        await r.call('GET', `/api/terminals/${name}`, 200, { types: 'Terminal' });
        await r.call('DELETE', `/api/terminals/${name}`, 204);
        await r.checkTypes(["import type { IModel } from '@jupyterlab/services/lib/terminal/restapi';", 'type Terminal = IModel & { last_activity: string };']);
        r.checkRoutes('jupyter', { 'GET /terminals/websocket/{name}': 'a WebSocket' });
    });
});
