// SPDX-License-Identifier: Apache-2.0
//
// Cloudflare's published addon and ours, side by side in one page of real Chromium at the same terminal
//
// Ours goes through a relay that is cut twenty times while the terminal writes; theirs is
// the witness that was never cut. Every cell is compared, with its colours and attributes, the scrollback too.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { withBrowser } from '../lib/browser.mjs';
import { root } from '../lib/daemon.mjs';
import { it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const DROPS = 20;
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/tests/node_modules/@xterm/xterm/css/xterm.css">
<div id="theirs"></div><div id="ours"></div>
<script type="module">
import { Terminal } from '/tests/node_modules/@xterm/xterm/lib/xterm.mjs';
import { SandboxAddon as Theirs } from '/tests/node_modules/cf-sandbox/dist/xterm/index.js';
import { SandboxAddon as Ours } from '/sdk/typescript/dist/xterm.js';
const q = new URLSearchParams(location.hash.slice(1));
const open = (name, Addon, url, more = {}) => {
    const term = new Terminal({ cols: 80, rows: 24, scrollback: 1000, allowProposedApi: true });
    term.open(document.getElementById(name));
    const connects = { count: 0 };
    const addon = new Addon({ getWebSocketUrl: () => url, onStateChange: (s) => (connects.count += s === 'connected' ? 1 : 0), ...more });
    term.loadAddon(addon);
    window[name] = { term, addon, connects };
};
open('theirs', Theirs, q.get('theirs'));
open('ours', Ours, q.get('ours'), { token: q.get('token') });
window.start = (name) => window[name].addon.connect({ sandboxId: 'sb', sessionId: 's' });
window.cells = (name) => {
    const { term } = window[name];
    const b = term.buffer.active;
    const lines = [];
    for (let y = 0; y < b.length; y++) {
        const line = b.getLine(y);
        let s = line.isWrapped ? '+' : ' ';
        for (let x = 0; x < term.cols; x++) {
            const c = line.getCell(x);
            s += [c.getChars(), c.getWidth(), c.getFgColorMode(), c.getFgColor(), c.getBgColorMode(), c.getBgColor(), c.isBold(), c.isItalic(), c.isUnderline(), c.isInverse(), c.isDim()].join(',') + '|';
        }
        lines.push(s);
    }
    return { lines, cursor: [b.cursorX, b.cursorY, b.baseY], type: b.type, size: [term.cols, term.rows] };
};
window.shown = (name) => {
    const b = window[name].term.buffer.active;
    return Array.from({ length: b.length }, (_, y) => b.getLine(y).translateToString(true)).join('\\n');
};
document.title = 'loaded';
</script>`;

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css' };
const files = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    if (pathname === '/page.html') return response.setHeader('Content-Type', 'text/html').end(PAGE);
    const file = path.join(root, path.normalize(pathname));
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return response.writeHead(404).end();
    return response.setHeader('Content-Type', TYPES[path.extname(file)] ?? 'application/octet-stream').end(fs.readFileSync(file));
});

/** Passes bytes on until it is cut. */
class Relay {
    sockets = new Set();
    constructor(port) {
        this.server = net.createServer((a) => {
            const b = net.connect(port, '127.0.0.1');
            a.pipe(b).pipe(a);
            for (const s of [a, b]) {
                this.sockets.add(s);
                s.on('error', () => {}).on('close', () => (this.sockets.delete(s), a.destroy(), b.destroy()));
            }
        });
    }
    cut() {
        for (const s of this.sockets) s.destroy();
    }
}

/** Colours, bold, wide and combined characters, lines that wrap, and a program that draws over its lines. */
const SCRIPT = `
stty -echo
printf '\\033[31mred\\033[0m \\033[1;44mbold on blue\\033[0m \\033[38;2;1;2;3mtrue\\033[0m \\033[3;4;7mall\\033[0m\\r\\n'
printf 'wide 漢字 emoji 😀 mark e\\314\\201 end\\r\\n'
printf '%0200d\\r\\n' 7
i=0
while read -r word; do
    case $word in
    quit) exit;;
    *) i=$((i + 1)); printf '\\033[3%dm%s\\033[0m %s\\r\\n' $((i % 8)) "$word" $i; seq $((i * 10)) $((i * 10 + 9)); printf '50%%\\r100%%\\033[K\\r\\n> ';;
    esac
done`;

const listen = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
const filesPort = await listen(files);
files.unref();
const origin = `http://127.0.0.1:${filesPort}`;

withBrowser("Cloudflare's addon and ours", { args: ['--cors-origin', origin] }, (d, visit, browser) => {
    it(`show the same screen, and ours still does after ${DROPS} drops`, async () => {
        const relay = new Relay(d.port);
        const relayPort = await listen(relay.server);
        const p = await d.spawn({ command: 'bash', args: ['--norc', '-c', SCRIPT], pty: { rows: 24, cols: 80 } });
        const say = (text) => d.request('POST', `/v1/processes/${p.id}/input`, { json: { data: `${text}\n` } });
        await say('early');
        await d.outputHas(p.id, 'early');

        const context = await browser().newContext({ viewport: { width: 1500, height: 1000 } });
        const view = await context.newPage();
        const wrong = [];
        view.on('pageerror', (e) => wrong.push(e.stack ?? e.message));
        const q = new URLSearchParams({
            theirs: `ws://127.0.0.1:${d.port}/dialects/cloudflare/ws/pty?sessionId=${p.id}&access_token=${d.token}`,
            ours: `ws://127.0.0.1:${relayPort}/v1/processes/${p.id}/connect`,
            token: d.token,
        });
        await view.goto(`${origin}/page.html#${q}`);
        await waitUntil(async () => (await view.title()) === 'loaded', 'the page');
        for (const name of ['theirs', 'ours']) await view.evaluate((n) => window.start(n), name);
        const connects = (name) => view.evaluate((n) => window[n].connects.count, name);
        const shows = (name, text) => waitUntil(() => view.evaluate(([n, t]) => window.shown(n).includes(t), [name, text]), `${text} at ${name}`, 15000);
        const same = async (when) => {
            const both = () => view.evaluate(() => [window.cells('theirs'), window.cells('ours')]);
            let pair; // output may still arrive, so what is compared is what the wait has seen
            await waitUntil(async () => {
                pair = await both();
                return JSON.stringify(pair[0]) === JSON.stringify(pair[1]);
            }, 'the same cells').catch(() => {});
            const [theirs, ours] = pair;
            assert.equal(ours.lines.length, theirs.lines.length, `${when}: lines`);
            theirs.lines.forEach((line, y) => assert.equal(ours.lines[y], line, `${when}: line ${y}`));
            assert.deepEqual([ours.cursor, ours.type, ours.size], [theirs.cursor, theirs.type, theirs.size], when);
        };

        await shows('theirs', 'early 1');
        await shows('ours', 'early 1');
        await same('at first');
        await view.evaluate(() => window.theirs.term.input('from-theirs\r'));
        await shows('ours', 'from-theirs 2');
        await view.evaluate(() => window.ours.term.input('from-ours\r'));
        await shows('theirs', 'from-ours 3');
        await same('after both typed');

        for (let i = 1; i <= DROPS; i++) {
            const before = await connects('ours');
            relay.cut();
            await say(`drop-${i}`); // while nobody of ours is there
            await shows('theirs', `drop-${i} ${i + 3}`);
            await waitUntil(async () => (await connects('ours')) > before, `ours to be back after drop ${i}`, 20000);
            await shows('ours', `drop-${i} ${i + 3}`);
        }
        assert.equal(await connects('theirs'), 1, 'theirs was never cut');
        assert.ok((await connects('ours')) > DROPS);
        await same(`after ${DROPS} drops`);
        const dump = await view.evaluate(() => window.shown('ours'));
        assert.ok(dump.includes('early 1') && dump.includes(`drop-${DROPS}`), 'the whole scrollback is there');
        if (process.env.HF_PICTURES && process.env.HF_PICTURES !== '1') await view.screenshot({ path: path.join(process.env.HF_PICTURES, 'cloudflare.png') });
        assert.deepEqual(wrong, []);

        await say('quit');
        await context.close();
        await d.exitOf(p.id);
        relay.cut();
        relay.server.close();
        files.closeAllConnections();
        files.close();
    });
});
