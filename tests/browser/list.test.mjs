// SPDX-License-Identifier: Apache-2.0
// The list of the page: nothing is missed while it is fetched, and it never stands still without a word.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { ticketUrl, withBrowser } from '../lib/browser.mjs';

withBrowser('the list of the page', {}, (d, visit) => {
    const sleeper = (label) => d.spawn({ command: 'sleep', args: ['1000'], label });
    const item = (u, label) => u.page.locator('.item', { hasText: label });

    it('has a process that started behind the list and before the page had it', async () => {
        const u = await visit({ url: 'about:blank' });
        let made;
        await u.page.route('**/v1/processes?**', async (route) => {
            const answer = await route.fetch();
            made ??= await sleeper('in the gap');
            await route.fulfill({ response: answer });
        });
        await u.page.goto(await ticketUrl(d));
        await item(u, 'in the gap').waitFor();
        await u.page.unrouteAll({ behavior: 'wait' });
        await u.leave();
        await d.remove(made.id);
    });

    it('does not go back to what an older event says', async () => {
        const p = await sleeper('was running');
        const old = await d.get(p.id);
        await d.api('POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'KILL' }, expect: 200 });
        await d.exitOf(p.id);
        const u = await visit({ url: 'about:blank' });
        let told = 0;
        await u.page.route('**/v1/events?**all=1**', async (route) => {
            if (told++) return route.abort();
            const data = JSON.stringify({ type: 'process.updated', time: old.created_at, process: old });
            return route.fulfill({ contentType: 'text/event-stream', body: `event: process.updated\nid: 1000000\ndata: ${data}\n\n` });
        });
        await u.page.goto(await ticketUrl(d));
        await u.page.waitForRequest((r) => r.url().includes('since=1000000'));
        assert.equal(await u.page.locator('details.ended .item', { hasText: 'was running' }).count(), 1);
        await u.page.unrouteAll({ behavior: 'wait' });
        await u.leave();
        await d.remove(p.id);
    });

    const killWorker = async () => {
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
    };

    it('whose cookie has ended is asked for the token, and is back where it was', async () => {
        const p = await d.spawn({ command: 'sh', pty: true, label: 'a shell of mine' });
        const u = await visit({ hash: `#${p.id}` });
        await u.page.waitForSelector('.pane[data-state=connected]');
        await item(u, 'a shell of mine').waitFor();
        await u.context.clearCookies();
        await killWorker();
        await u.page.getByRole('alert').filter({ hasText: 'signed out' }).waitFor();
        const other = await sleeper('made meanwhile');
        await u.page.getByLabel('Token').fill(d.token);
        await u.page.getByRole('button', { name: 'Sign in' }).click();
        await item(u, 'made meanwhile').waitFor();
        await u.page.locator('.tab', { hasText: 'a shell of mine' }).waitFor();
        await u.leave();
        await d.remove(p.id);
        await d.remove(other.id);
    });

    it('says when it cannot be kept up to date, and is again as soon as it can', async () => {
        const u = await visit();
        await u.page.locator('.list').waitFor();
        const problem = { type: 'about:blank', title: 'internal', status: 500, code: 'internal', detail: 'something is broken' };
        await u.page.route('**/v1/events?**', (route) => route.fulfill({ status: 500, json: problem }));
        await killWorker();
        const trouble = u.page.getByRole('status').filter({ hasText: 'may be out of date: something is broken' });
        await trouble.waitFor();
        const p = await sleeper('made behind its back');
        await u.page.unrouteAll({ behavior: 'wait' });
        await item(u, 'made behind its back').waitFor();
        await trouble.waitFor({ state: 'hidden' });
        await u.leave();
        await d.remove(p.id);
    });
});
