// SPDX-License-Identifier: Apache-2.0
// Several people at one terminal, phones, files, and what is seen by keyboard and screen reader.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { it } from '../lib/test.mjs';
import { withBrowser } from '../lib/browser.mjs';
import * as proc from '../lib/proc.mjs';
import { waitUntil } from '../lib/wait.mjs';

withBrowser('the page with several people', {}, (d, visit, browser) => {
    const features = async () => (await d.api('GET', '/v1/info', { expect: 200 })).json.features;
    const shell = (more = {}) => d.spawn({ command: 'bash', args: ['--norc'], env: { PS1: '$ ' }, pty: { rows: 24, cols: 80 }, ...more });

    it('two browsers at one terminal, one of them only watches', async () => {
        const p = await shell({ label: 'pair' });
        const a = await visit({ hash: `#${p.id}` });
        const b = await visit({ role: 'watch', hash: `#${p.id}`, viewport: { width: 1000, height: 640 } });
        await a.shows('$ ');
        await b.shows('$ ');
        await a.type('echo from $((40 + 2))\n');
        await a.shows('from 42');
        await b.shows('from 42');
        await b.page.locator('.pane').click();
        await b.type('echo never\n');
        await b.page.locator('.read-only').waitFor();
        await a.page.locator('.people .chip.ro').waitFor();
        await a.type('echo still $((40 + 3))\n');
        // Wait for the prompt as well: nothing follows it, so both screens stay as they are.
        await a.shows('still 43\n$ ');
        await b.shows('still 43\n$ ');
        assert.ok(!(await a.text()).includes('never'));
        assert.equal(await b.page.getByRole('button', { name: /New terminal/ }).count(), 0);
        assert.equal((await b.text()).trim(), (await a.text()).trim(), 'the same screen');
        await a.leave();
        await b.leave();
        await d.remove(p.id);
    });

    it('who may type can choose to watch, and the other way round', async () => {
        const p = await shell();
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('$ ');
        await a.page.getByRole('button', { name: 'Read only' }).click();
        await a.page.locator('.pane.read-only[data-state=connected]').waitFor();
        await a.page.locator('.pane-body').click();
        await a.type('echo nothing\n');
        await a.page.getByRole('button', { name: 'Read only' }).click();
        await a.page.locator('.pane:not(.read-only)[data-state=connected]').waitFor();
        await a.page.locator('.pane-body').click();
        await a.type('echo something\n');
        await a.shows('something\n');
        assert.ok(!(await d.output(p.id)).toString().includes('nothing'));
        await a.leave();
        await d.remove(p.id);
    });

    it('a share link leads others to the terminal, and ends', async () => {
        const p = await shell({ label: 'shared' });
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('$ ');
        await a.type('echo see me\n');
        await a.page.getByRole('button', { name: 'Share', exact: true }).click();
        await a.page.getByRole('button', { name: 'Create link' }).click();
        const url = await a.page.getByLabel('Link', { exact: true }).inputValue();
        await a.page.getByRole('img', { name: 'QR code of the link' }).waitFor();
        await a.picture('share');
        const b = await visit({ url });
        await b.shows('see me');
        assert.equal(await b.page.locator('.pane.read-only').count(), 1);
        if ((await features()).links) {
            assert.equal(await b.page.locator('.side').count(), 0, 'a guest has no list');
            await a.page.getByRole('button', { name: 'Revoke' }).click();
            await b.page.locator('.banner.bad').waitFor();
        }
        await b.leave();
        const c = await browser().newContext();
        const again = await c.newPage();
        assert.equal((await again.goto(url.split('#')[0])).status(), 401);
        await c.close();
        await a.leave();
        await d.remove(p.id);
    });

    it('a recording is played back with a time line', async (t) => {
        if (!(await features()).recording) return t.skip('this daemon does not record');
        const p = await d.sh('for i in 1 2 3 4 5; do echo step $i; sleep 0.05; done', { pty: true, label: 'steps' });
        await d.exitOf(p.id);
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('step 5');
        await a.page.getByRole('button', { name: 'Recording' }).click();
        const dialog = a.page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Play' }).waitFor();
        await dialog.locator('.xterm-rows, canvas').first().waitFor();
        await a.picture('recording');
        await dialog.getByLabel('Time').fill('0');
        await dialog.getByRole('link', { name: 'Download' }).waitFor();
        await a.leave();
        return d.remove(p.id);
    });

    it('a phone has a bar of keys, with Control for the next one', async () => {
        const p = await shell();
        const a = await visit({ hash: `#${p.id}`, viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 });
        await a.shows('$ ');
        const bar = a.page.getByRole('toolbar', { name: 'Keys' });
        await bar.waitFor();
        await a.page.locator('.pane-body').tap();
        await a.type('echo one two');
        await bar.getByRole('button', { name: 'Left' }).tap();
        await a.type('X');
        await a.shows('echo one twXo');
        await bar.getByRole('button', { name: 'Control, for the next key' }).tap();
        await bar.locator('[aria-pressed=true]').waitFor();
        await a.type('a');
        await a.type('sleep 1000; ');
        await a.shows('sleep 1000; echo one twXo');
        await a.type('\n');
        await waitUntil(async () => (await d.get(p.id)).foreground === 'sleep', 'sleep to run');
        await bar.getByRole('button', { name: 'Control C' }).tap();
        await waitUntil(async () => (await d.get(p.id)).foreground === 'bash', 'the interrupt');
        // Elements are drawn where WebGL cannot be trusted, as under an emulated pixel ratio: what is there is visible.
        await a.page.locator('.xterm-rows', { hasText: 'twXo' }).waitFor();
        const size = await a.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(size[0] <= size[1], 'nothing is wider than the phone');
        await a.picture('phone');
        await a.leave();
        await d.remove(p.id);
    });

    const drop = async (u, name, text, times = 1) => {
        const files = await u.page.evaluateHandle(([n, t, count]) => {
            const data = new DataTransfer();
            data.items.add(new File([t.repeat(count)], n));
            return data;
        }, [name, text, times]);
        await u.page.dispatchEvent('.pane', 'dragenter', { dataTransfer: files });
        await u.page.dispatchEvent('.pane', 'drop', { dataTransfer: files });
    };

    it('a file that is dropped on a terminal is uploaded into its directory', async () => {
        const p = await shell({ cwd: d.dir });
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('$ ');
        await drop(a, 'new file.txt', 'its content');
        await a.page.getByText(`Uploaded to ${d.dir}/new file.txt`).waitFor();
        assert.equal(fs.readFileSync(`${d.dir}/new file.txt`, 'utf8'), 'its content');
        await drop(a, 'new file.txt', 'other');
        await a.page.getByText('a file with this name already exists').waitFor();
        assert.equal(fs.readFileSync(`${d.dir}/new file.txt`, 'utf8'), 'its content', 'nothing is overwritten');
        await a.leave();
        await d.remove(p.id);
    });

    it('an upload that is cut says so, and leaves neither half a file nor a shell that waits', async () => {
        const p = await shell({ cwd: d.dir });
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('$ ');
        const file = `${d.dir}/large.bin`;
        const size = 5_000_000;
        // The process that writes the file is stopped before the first byte is sent, so the upload cannot finish before the cut.
        let writer;
        await a.page.route('**/input?**', async (route) => {
            const uploader = (await d.list()).find((q) => q.label === 'upload of large.bin');
            writer = await waitUntil(() => proc.childrenOf(uploader.pid).find((s) => s.name === 'cat'), 'what writes the file');
            process.kill(writer.pid, 'SIGSTOP');
            await route.continue();
        }, { times: 1 });
        await drop(a, 'large.bin', '0123456789', size / 10);
        await waitUntil(async () => (await d.list()).some((q) => q.label === 'upload of large.bin' && q.last_input_at), 'the first of the bytes', 30000);
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker);
        assert.ok(fs.statSync(file).size < size, 'the worker was killed before the end');
        process.kill(writer.pid, 'SIGCONT');
        const leavesNothing = async (name) => {
            await a.page.getByText(`${name}: upload failed`).waitFor();
            assert.ok(!fs.existsSync(`${d.dir}/${name}`), 'no half of a file');
            await waitUntil(async () => (await d.list()).every((q) => q.id === p.id), 'nothing that waits for the rest');
        };
        await leavesNothing('large.bin');
        // A browser may send the request again by itself, as above, or not.
        await a.page.route('**/input?**', (route) => route.abort('connectionreset'));
        await drop(a, 'small.txt', 'its content');
        await leavesNothing('small.txt');
        await a.page.unrouteAll({ behavior: 'wait' });
        await a.leave();
        await d.remove(p.id);
    });

    it('everything has a name, and settings are kept', async () => {
        const p = await shell();
        const a = await visit({ hash: `#${p.id}` });
        await a.shows('$ ');
        const nameless = await a.page.evaluate(() =>
            [...document.querySelectorAll('button, input, select')].filter((e) => !e.closest('.xterm') && !e.textContent.trim() && !e.getAttribute('aria-label') && !e.closest('label')).map((e) => e.outerHTML),
        );
        assert.deepEqual(nameless, []);
        await a.page.getByRole('button', { name: 'Settings' }).click();
        await a.page.getByRole('button', { name: 'Paper' }).click();
        await a.page.getByLabel('Font size').fill('20');
        await a.picture('settings');
        await a.page.keyboard.press('Escape');
        await a.page.reload();
        await a.shows('$ ');
        assert.equal(await a.page.evaluate(() => document.documentElement.dataset.theme), 'paper');
        await a.leave();
        await d.remove(p.id);
    });
});
