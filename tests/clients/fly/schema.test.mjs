// SPDX-License-Identifier: Apache-2.0
// Every reply of machines is what the types of npm fly-admin say it is; they are generated from Fly's OpenAPI document.
// That of an app has two keys more, which fly-go reads.

import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { calls } from '../../lib/routes.mjs';
import { it } from '../../lib/test.mjs';
import { MACHINE } from './client.mjs';

const a = (name) => ({ types: name });

withDaemon('fly: schemas', {}, (d) => {
    it('machines', async () => {
        const r = new Replies(d, '/dialects/fly');
        await r.call('GET', '/v1/apps/box', 200, a('App & { machine_count: number; network: string }'));
        await r.call('GET', '/v1/apps/box/machines', 200, a('Machine[]'));
        await r.call('GET', `/v1/${MACHINE}`, 200, a('Machine'));
        await r.call('POST', `/v1/${MACHINE}/start`, 200, a("{ previous_state: 'started' }"));
        const p = await d.spawn({ command: 'sleep', args: ['1000'] });
        await r.call('GET', `/v1/${MACHINE}/ps`, 200, a('ProcessStat[]'));
        await d.remove(p.id);
        await r.call('POST', `/v1/${MACHINE}/signal`, 200, null, { json: { signal: 'SIGUSR1' } });
        await r.call('GET', `/v1/${MACHINE}/wait?state=started`, 200, a('{ ok: true }'));
        await r.call('GET', '/v1/apps/box/machines/none', 404, a('ErrorResponse'));
        await r.call('POST', `/v1/${MACHINE}/exec`, 400, a('ErrorResponse'), { json: { command: 5 } });
        await r.call('GET', `/v1/${MACHINE}/wait?state=dead`, 400, a('ErrorResponse'));
        await r.call('GET', '/v1/apps/box', 401, a('ErrorResponse'), { role: 'wrong-wrong-wrong-wrong' });
        // Each of these is refused with a reason of its own.
        const refused = /\/machines\/\{machine\}(\/(?!exec|ps|signal|wait|start).*)?$|\/(volumes|secrets)\/?$|apps$|^POST .*machines$|^DELETE .*\{app\}$/;
        for (const c of calls().filter((c) => c.table.dialect === 'fly' && !c.path.includes('/sprites'))) {
            const where = c.path.slice('/dialects/fly'.length);
            if (!refused.test(`${c.method} ${where}`) || /^GET .*\{machine\}$/.test(`${c.method} ${where}`)) continue;
            await r.call(c.method, where.replace('{app}', 'box').replace('{machine}', 'local').replace('{key}', 'k') + (c.isPrefix ? 'x' : ''), 501, a('ErrorResponse'));
        }
        await r.checkTypes(["import type { App, ErrorResponse, Machine, ProcessStat } from 'fly-admin/dist/lib/types';"]);
        r.checkRoutes('fly', {}, { same: /^\/v1\/sprites/ });
    });
});
