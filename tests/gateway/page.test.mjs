// SPDX-License-Identifier: Apache-2.0
//
// page.test.mjs - the page below a gateway's prefix: nothing it asks for is outside of that

import assert from 'node:assert/strict';
import { withBrowser } from '../lib/browser.mjs';
import { Gateway } from '../lib/gateway.mjs';
import { it } from '../lib/test.mjs';

withBrowser('the page in the path form', { gateway: false }, (d, visit) => {
    it('signs in, opens a terminal, and a share link of it works below the prefix', async () => {
        const g = await new Gateway({
            sandboxes: { box: { ports: { 7070: `127.0.0.1:${d.port}` } } },
            args: ['--forward', 'cookie', '--forward', 'authorization', '--trust-path-origin'],
        }).start();
        d.url = g.url('box', 7070, ''); // visit() takes requests to anywhere else for errors
        const user = await visit();
        await user.newTerminal();
        await user.type('echo "at $((6 * 7))"\n');
        await user.shows('at 42');
        const [shell] = await d.list('?status=running');
        const link = (await d.api('POST', `/v1/processes/${shell.id}/links`, { json: { role: 'watch' }, expect: 201 })).json;
        const guest = await visit({ url: `${d.url}${link.url}` });
        await guest.shows('at 42');
        await user.page.reload();
        await user.shows('at 42');
        assert.ok(user.page.url().startsWith(`${d.url}/`), user.page.url());
        await guest.leave();
        await user.leave();
        d.url = `http://127.0.0.1:${d.port}`;
        await g.stop();
    });
});
