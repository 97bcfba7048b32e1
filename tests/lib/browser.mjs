// SPDX-License-Identifier: Apache-2.0
//
// browser.mjs - the page in Debian's Chromium, by playwright-core
//
// A fresh profile each time, no graphics card, and none of the things a browser
// does by itself: the only peer is the daemon under test, and a request to anybody
// else fails the test, as does a word of the page's security policy.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { Daemon, root } from './daemon.mjs';
import { after, before, describe } from './test.mjs';
import { waitUntil } from './wait.mjs';

const EXECUTABLE = process.env.HF_CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((f) => fs.existsSync(f));
const ARGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-default-apps',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--no-proxy-server',
    '--font-render-hinting=none',
];

async function launch() {
    assert.ok(EXECUTABLE, 'no Chromium: run scripts/setup test');
    return chromium.launch({ executablePath: EXECUTABLE, args: ARGS, headless: true });
}

/** A describe() block with a daemon and a browser, which goes first: the daemon counts what is left open. */
export function withBrowser(title, options, body) {
    const d = new Daemon(options);
    let browser;
    describe(title, () => {
        before(async () => {
            await d.start();
            browser = await launch();
        });
        after(async () => {
            await browser?.close();
            await d.stop();
        });
        body(d, (visitOptions) => visit(browser, d, visitOptions), () => browser);
    });
}

/** A one-time link for this role, as a user gets it. */
export async function ticketUrl(d, role = 'own', hash = '') {
    const t = (await d.api('POST', '/v1/tickets', { json: { role }, expect: 201 })).json;
    return `${d.url}${t.url}${hash}`;
}

/** A browser of its own, let in by a ticket; checks at the end that nothing was wrong. */
async function visit(browser, d, { role = 'own', hash = '', url, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark', ...options });
    const page = await context.newPage();
    const wrong = [];
    page.on('console', (m) => m.type() === 'error' && !/WebSocket connection|Failed to load resource|ERR_/.test(m.text()) && wrong.push(m.text()));
    page.on('pageerror', (e) => wrong.push(e.stack ?? e.message));
    page.on('request', (r) => {
        if (!r.url().startsWith(d.url) && !/^(data|blob|about):/.test(r.url())) wrong.push(`asked ${r.url()}`);
    });
    await page.goto(url ?? (await ticketUrl(d, role, hash)));
    const user = {
        page,
        context,
        /** The text of the terminals that are shown. */
        text: () => page.evaluate(() => window.holdfastText?.() ?? ''),
        shows: (text, ms = 15000) =>
            waitUntil(async () => (await user.text()).includes(text), `${JSON.stringify(text)} in the browser`, ms).catch(async (err) => {
                throw new Error(`${err.message}; it shows:\n${await user.text()}\n${wrong.join('\n')}`);
            }),
        type: (text) => page.keyboard.type(text),
        async newTerminal() {
            await page.getByRole('button', { name: 'New terminal (Ctrl+Shift+T)' }).click();
            await page.waitForSelector('.pane[data-state=connected]');
        },
        picture: (name) => keepPicture(page, name),
        async leave() {
            assert.deepEqual(wrong, [], 'errors in the browser');
            await context.close();
        },
    };
    return user;
}

/** HF_PICTURES=1 renews the pictures of the documentation. */
async function keepPicture(page, name) {
    if (!process.env.HF_PICTURES) return;
    const dir = process.env.HF_PICTURES === '1' ? path.join(root, 'docs/images') : process.env.HF_PICTURES;
    fs.mkdirSync(dir, { recursive: true });
    await page.screenshot({ path: path.join(dir, `${name}.png`) });
}
