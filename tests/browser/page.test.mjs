// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: in by a link, a terminal, a program that draws, a reload, a killed worker.

import assert from 'node:assert/strict';
import { it } from '../lib/test.mjs';
import { ticketUrl, withBrowser } from '../lib/browser.mjs';
import { waitUntil } from '../lib/wait.mjs';

withBrowser('the link that serve prints', { args: ['--print-link'], gateway: false }, (d, visit, browser) => {
    it('signs a browser in, once', async () => {
        const url = (await waitUntil(() => /^open (http:\S+)\n/m.exec(d.stdout), 'the link'))[1];
        const u = await visit({ url });
        await u.page.getByRole('heading', { name: 'Hold fast.' }).waitFor();
        await u.newTerminal();
        await u.type('echo $((6 * 7))\n');
        await u.shows('42');
        await u.leave();
        const other = await browser().newContext();
        const page = await other.newPage();
        assert.equal((await page.goto(url)).status(), 401);
        await page.getByRole('alert').filter({ hasText: 'run “holdfast open” for a fresh link' }).waitFor();
        await page.getByLabel('Token').waitFor();
        await other.close();
        for (const p of await d.list()) await d.remove(p.id);
    });
});

withBrowser('the page in a browser', {}, (d, visit, browser) => {
    it('is let in by a ticket, once; who has none is asked for the token', async () => {
        const url = await ticketUrl(d);
        const a = await visit({ url });
        await a.page.getByRole('heading', { name: 'Hold fast.' }).waitFor();
        assert.equal(new URL(a.page.url()).search, '', 'the ticket stays in no address');
        await a.picture('welcome');
        await a.page.goto(url);
        await a.page.getByRole('heading', { name: 'Hold fast.' }).waitFor();
        assert.equal(new URL(a.page.url()).search, '', 'who is in already stays in');
        await a.leave();
        const b = await browser().newContext();
        const page = await b.newPage();
        assert.equal((await page.goto(url)).status(), 401, 'a second time');
        await page.getByRole('alert').filter({ hasText: 'This link has expired or was already used.' }).waitFor();
        assert.equal(new URL(page.url()).search, '', 'nor does one that is spent');
        assert.equal((await page.goto(`${d.url}/?link=hfl_none`)).status(), 401);
        await page.getByRole('alert').filter({ hasText: 'was revoked or has no uses left' }).waitFor();
        await page.goto(d.url);
        await page.getByLabel('Token').fill('wrong');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('alert').filter({ hasText: 'unauthorized' }).waitFor();
        await page.getByLabel('Token').fill(d.token);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'Hold fast.' }).waitFor();
        await b.close();
    });

    it('an address that points at nothing, and not even well, is the page without a terminal', async () => {
        const u = await visit({ hash: '#100%' });
        await u.page.getByRole('heading', { name: 'Hold fast.' }).waitFor();
        const p = await d.spawn({ command: 'cat', pty: true });
        await u.page.evaluate(() => (location.hash = '#%E0%A4'));
        await u.page.locator(`li[data-id=${p.id}]`).waitFor();
        await u.page.evaluate((id) => (location.hash = `#${id}`), p.id);
        await u.page.waitForSelector('.pane[data-state=connected]');
        await u.leave();
        await d.remove(p.id);
    });

    it('starts a terminal, types into it, and shows it in the list', async () => {
        const u = await visit();
        await u.newTerminal();
        await u.type('echo $((6 * 7)); stty size\n');
        await u.shows('42');
        const [p] = await d.list('?status=running');
        assert.ok((await u.text()).includes(`${p.rows} ${p.cols}`), 'the shell has the size of the window');
        await u.page.locator('.item', { hasText: 'bash' }).waitFor();
        await u.leave();
        await d.remove(p.id);
    });

    it('resizes with the window, splits, renames, finds, signals and ends', async () => {
        const u = await visit();
        await u.newTerminal();
        const id = (await d.list('?status=running'))[0].id;
        await u.page.setViewportSize({ width: 900, height: 500 });
        const before = (await d.get(id)).cols;
        await u.page.setViewportSize({ width: 1300, height: 850 });
        await waitUntil(async () => (await d.get(id)).cols > before, 'more columns');
        await u.type('stty size\n');
        const { rows, cols } = await d.get(id);
        await u.shows(`${rows} ${cols}`);

        await u.page.getByRole('button', { name: 'More: rename, signal, terminate' }).click();
        await u.page.getByRole('menuitem', { name: 'Rename …' }).click();
        await u.page.getByRole('dialog').getByRole('textbox').fill('my shell');
        await u.page.keyboard.press('Enter');
        await u.page.locator('.tab', { hasText: 'my shell' }).waitFor();
        assert.equal((await d.get(id)).label, 'my shell');

        await u.page.locator('.pane').click();
        await u.page.keyboard.press('Control+Shift+E');
        await u.page.locator('.pane[data-state=connected]').nth(1).waitFor();
        assert.equal(await u.page.locator('.view:visible .pane').count(), 2);
        await u.type('for i in $(seq 1 300); do echo needle$i; done\n');
        await u.shows('needle300');
        await u.page.keyboard.press('Control+Shift+F');
        await u.page.keyboard.type('needle7');
        await u.page.locator('.count', { hasText: 'of 11' }).waitFor();
        await u.page.keyboard.press('Escape');

        const second = (await d.list('?status=running')).find((p) => p.id !== id);
        await u.type('sleep 1000\n');
        await waitUntil(async () => (await d.get(second.id)).foreground === 'sleep', 'sleep to run');
        await u.page.keyboard.press('Control+Shift+P');
        await u.page.keyboard.type('hup');
        await u.page.keyboard.press('Enter');
        await u.page.locator('.banner', { hasText: 'The process has ended' }).waitFor();
        await u.page.locator('.pane.active').getByRole('button', { name: 'More: rename, signal, terminate' }).click();
        await u.page.getByRole('menuitem', { name: 'Delete …' }).click();
        await u.page.getByRole('button', { name: 'Delete' }).click();
        await waitUntil(async () => (await u.page.locator('.view:visible .pane').count()) === 1, 'one pane');
        await d.remove(id);
        await u.page.getByRole('heading', { name: 'Hold fast.' }).or(u.page.locator('.banner', { hasText: /deleted|no such|ended/ })).first().waitFor();
        await u.leave();
    });

    it('runs vim; a reload shows the same screen; a killed worker is but a blink', async () => {
        const u = await visit();
        await u.newTerminal();
        await u.type('vim -u NONE -N notes.txt\n');
        await u.shows('~');
        await u.type('iholdfast keeps this\x1b');
        await u.shows('holdfast keeps this');
        await waitUntil(async () => !(await u.text()).includes('INSERT'), 'the end of insert mode');
        const screen = await u.text();
        await u.page.reload();
        await u.shows('holdfast keeps this');
        await waitUntil(async () => (await u.text()) === screen, 'the same screen').catch(async (err) => {
            assert.equal(await u.text(), screen, err.message);
        });

        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        d.agent.destroy();
        await u.type('oand goes on\x1b');
        await u.shows('and goes on');
        await u.type(':w\n');
        await u.shows('written');
        const id = (await d.list('?status=running'))[0].id;
        await u.type(':q\n');
        await u.shows('vim -u NONE'); // the shell's screen: vim would swallow what is typed before
        await u.type('exit\n');
        await u.page.locator('.banner', { hasText: 'done' }).waitFor();
        await u.page.locator('.banner', { hasText: /\d s CPU, [\d.]+ MB/ }).waitFor();
        assert.equal((await d.get(id)).exit_code, 0);
        await u.leave();
    });

    it('tells when the daemon is away, keeps what is typed, and comes back', async () => {
        const u = await visit();
        await u.newTerminal();
        await u.type('echo before\n');
        await u.shows('before');
        await u.context.setOffline(true);
        await u.page.waitForFunction(() => fetch('healthz').then(() => false, () => true));
        // Chromium keeps open sockets when it is set offline; the worker's death closes them. A WebSocket that it opens
        // just then may still come through: then it is closed once more.
        const banner = u.page.locator('.banner', { hasText: 'Next attempt in' });
        for (let left = 4; ; left--) {
            const worker = d.workerPid();
            process.kill(worker, 'SIGKILL');
            await d.nextWorker(worker);
            const shown = await banner.waitFor({ timeout: 7000 }).then(() => true, () => false);
            if (shown) break;
            assert.ok(left > 0, 'the page says that the daemon is away');
        }
        d.agent.destroy();
        await u.picture('reconnect');
        await u.type('echo typed meanwhile\n');
        await u.context.setOffline(false);
        await u.shows('typed meanwhile\n');
        await u.page.locator('.banner').waitFor({ state: 'hidden' });
        await u.leave();
    });
});
