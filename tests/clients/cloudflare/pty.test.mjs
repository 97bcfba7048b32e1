// SPDX-License-Identifier: Apache-2.0
// The published SandboxAddon 0.12 on /ws/pty: what it shows, types and does when the line breaks.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { SandboxAddon } from 'cf-sandbox/xterm';
import WebSocket from 'ws';
import { clientOf, closeAll, page, Socket } from '../../lib/cloudflare.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { withWorkspace } from '../../lib/workspace.mjs';

const MD5_OF_AS = crypto.createHash('md5').update(Buffer.alloc(3000000, 'a')).digest('hex');

withDaemon('cloudflare: terminals of the stable generation', { ...withWorkspace, args: [...(withWorkspace.args ?? []), '--log-level', 'debug'] }, (d) => {
    afterEach(closeAll);
    const open = (session, size) => {
        const p = page(SandboxAddon, d, (q) => `/ws/pty?sessionId=${q.sessionId}&shell=sh&cols=${size?.cols ?? 80}&rows=${size?.rows ?? 24}`, size);
        p.addon.connect({ sandboxId: 'sb', sessionId: session });
        return p;
    };
    const raw = (query, role = 'own') => {
        const ws = new Socket(`${d.url.replace('http', 'ws')}/dialects/cloudflare/ws/pty?access_token=${d.tokens[role]}${query}`);
        ws.closed = new Promise((done) => ws.on('close', (code, reason) => done([code, reason.toString()])));
        ws.says = (type) => waitUntil(() => ws.received.find((m) => m.type === type), type);
        ws.bytes = () => Buffer.concat(ws.received.filter(Buffer.isBuffer)).toString();
        ws.sees = (text) => waitUntil(() => ws.bytes().includes(text), `${text} in ${JSON.stringify(ws.bytes())}`);
        return ws;
    };
    const terminalOf = async (session) => (await d.list(`?session_id=${session}&status=running`)).find((p) => p.pty);

    it('connecting, connected, one resize; keys arrive and the size is the addon\'s', async () => {
        const a = open('s1', { cols: 100, rows: 30 });
        await a.connected();
        assert.deepEqual(a.states, ['connecting', 'connected']);
        a.type('stty size; echo $((6 * 7))\n');
        await a.shows('30 100');
        await a.shows('42');
        const resizes = a.socket().sent.filter((m) => typeof m === 'string');
        assert.deepEqual(resizes.map((m) => JSON.parse(m)), [{ type: 'resize', cols: 100, rows: 30 }]);
        a.term.resize(90, 20);
        await waitUntil(async () => (await terminalOf('s1')).cols === 90, 'the new size');
        a.addon.dispose();
        assert.equal((await terminalOf('s1')).status, 'running', 'the shell outlives the page');
    });

    it('after a forced drop it is back at its first attempt, and shows what it showed', async () => {
        const a = open('s2');
        await a.connected();
        a.type("PS1='> '; printf '\\033[31mred\\033[0m and more'; echo; echo $((40 + 2))\n");
        await a.shows('42\n>');
        const before = a.text();
        for (let i = 2; i < 4; i++) {
            const cut = Date.now();
            const dials = Socket.all.length;
            a.socket().terminate();
            await waitUntil(() => a.states.at(-1) === 'disconnected', 'the cut');
            await a.connected(i);
            assert.ok(Date.now() - cut >= 1000, 'the addon waits a second by itself');
            assert.equal(Socket.all.length, dials + 1, 'its first attempt, 1.0 to 1.1 s after the drop, was enough');
            await waitUntil(() => a.text() === before, 'the same screen').catch(() => assert.equal(a.text(), before));
            const order = a.socket().received.map((m) => (Buffer.isBuffer(m) ? 'bytes' : m.type));
            assert.deepEqual(order.slice(0, 2), ['bytes', 'ready']);
        }
        a.type('echo again$((1))\n');
        await a.shows('again1');
        a.addon.dispose();
    });

    /* Its page may have become taller meanwhile, whether it says so in its URL or only afterwards. */
    for (const said of [true, false])
        it(`a taller window overwrites no history, its size ${said ? 'in the URL' : 'told later'}`, async () => {
            const session = `tall-${said}`;
            const low = open(session, { cols: 80, rows: 10 });
            await low.connected();
            low.type("PS1='> '; clear; i=1; while [ $i -le 24 ]; do echo line-$i-; i=$((i+1)); done\n");
            await low.shows('line-24-\n>');
            low.addon.dispose();
            const url = (q) => `/ws/pty?sessionId=${q.sessionId}${said ? '&cols=80&rows=30' : ''}`;
            const tall = page(SandboxAddon, d, url, { cols: 80, rows: 30 });
            tall.addon.connect({ sandboxId: 'sb', sessionId: session });
            await tall.shows('line-24-\n>');
            await waitUntil(async () => (await terminalOf(session)).rows === 30, 'the new size');
            tall.type('echo still-$((1)); stty size\n');
            await tall.shows('still-1\n30 80\n>');
            for (let i = 1; i <= 24; i++) assert.match(tall.text(), new RegExp(`\\bline-${i}-\n`), tall.text());
            assert.equal(tall.text().split('line-24-').length, 2, tall.text());
            tall.addon.dispose();
        });

    it('two addons of one session see the same; another session has another shell', async () => {
        const a = open('s3');
        const b = open('s3'); // while the terminal is being started
        const c = open('s4');
        await Promise.all([a, b, c].map((x) => x.connected()));
        a.type('x=secret; echo from-$((1)); echo $$\n');
        await b.shows('from-1');
        await a.shows('from-1');
        b.type('echo is-$x\n');
        await a.shows('is-secret');
        c.type('echo is-$x-not\n');
        await c.shows('is--not');
        assert.ok(!c.text().includes('from-1'));
        assert.equal((await d.list('?session_id=s3&status=running')).filter((p) => p.pty).length, 1);
        [a, b, c].forEach((x) => x.addon.dispose());
    });

    it('frames that are no JSON or unknown disturb nothing; 0x0 is an error and no more', async () => {
        const a = open('s5');
        await a.connected();
        const ws = a.socket();
        ws.send('{');
        ws.send('{"type":"dance"}');
        ws.send('{"type":"resize","cols":0,"rows":0}');
        ws.send('{"type":"resize","cols":"80","rows":24}');
        ws.send(JSON.stringify({ type: 'resize', cols: 100000, rows: 2 }));
        await waitUntil(() => a.errors.length === 4, 'four errors');
        assert.deepEqual(a.errors.slice(0, 3), [
            'Invalid control message',
            'Invalid dimensions: cols and rows must be positive',
            'Invalid control message',
        ]);
        await waitUntil(() => /debug .*control message of 16 bytes/.test(d.stdout + d.stderr), 'the unknown one in the log');
        a.type('echo alive$((1))\n');
        await a.shows('alive1');
        assert.equal(a.addon.state, 'connected');
        assert.deepEqual(a.states, ['connecting', 'connected']);
        a.addon.dispose();
    });

    /*
     * The original never says exit and keeps the dead terminal: every client that comes gets the old
     * screen and is cut at its first key, for ever.
     */
    it('the end of the shell is told, and the next connection has a new one', async () => {
        const a = open('s6');
        await a.connected();
        const first = await terminalOf('s6');
        a.type('echo old-screen; exit 3\n');
        await waitUntil(() => a.errors.some((e) => e.includes('exited with code 3')), 'the exit');
        await a.connected(2); // the addon comes back by itself
        assert.ok(!a.text().includes('old-screen'), a.text());
        a.type('echo new-$((1))\n');
        await a.shows('new-1');
        assert.notEqual((await terminalOf('s6')).id, first.id);
        a.addon.dispose();
        const ws = raw('&sessionId=s6');
        await ws.says('ready');
        ws.send(Buffer.from('exit 9\n'));
        assert.deepEqual(await ws.closed, [1000, 'Terminal exited']);
        const last = ws.received.at(-1);
        assert.deepEqual(last, { type: 'exit', code: 9 });
    });

    it('what was set through the API is there in the terminal', async () => {
        const c = await clientOf(d);
        await c.utils.createSession({ id: 's7', env: { FROM_CREATE: 'one two' }, cwd: '/usr' });
        await c.commands.execute("export FROM_EXEC=\"it's \\$here\"; cd /usr/bin", 's7');
        const ws = raw('&sessionId=s7');
        await ws.says('ready');
        ws.send(Buffer.from('echo "<$FROM_CREATE|$FROM_EXEC|$PWD|$TERM>"; ls ${TMPDIR:-/tmp}/.holdfast-env-* 2>&1 | wc -l\n'));
        await ws.sees("<one two|it's $here|/usr/bin|xterm-256color>");
        await ws.sees('\r\n1\r\n');
        const p = await terminalOf('s7');
        assert.equal(p.session_id, 's7');
        // Its children are its own, not the session shell's: the daemon's mark is right.
        ws.send(Buffer.from('echo "mark=$HOLDFAST_PROCESS_ID"\n'));
        await ws.sees(`mark=${p.id}`);
        ws.terminate();
    });

    /* On the platform a long command in the session keeps its terminal from being opened. */
    it('a command that runs in the session does not hold up its terminal', async () => {
        const c = await clientOf(d);
        await c.utils.createSession({ id: 's8', env: { KNOWN: 'yes' } });
        const long = c.commands.execute('while [ ! -e go ]; do sleep 0.05; done; echo went', 's8');
        await waitUntil(async () => (await d.api('GET', '/v1/sessions/s8')).json.status === 'running', 'the command');
        const ws = raw('&sessionId=s8');
        await ws.says('ready');
        ws.send(Buffer.from('echo known-$KNOWN; touch go\n'));
        await ws.sees('known-yes');
        assert.equal((await long).stdout, 'went\n');
        ws.terminate();
    });

    it('any terminal of the daemon can be shown, by its id', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'echo native$((1)); cat'], pty: { rows: 10, cols: 40 } });
        await d.outputHas(p.id, 'native1');
        const a = open(p.id, { cols: 70, rows: 12 });
        await a.connected();
        await a.shows('native1');
        a.type('typed\n');
        await d.outputHas(p.id, 'typed\r\ntyped');
        await waitUntil(async () => (await d.get(p.id)).cols === 70, 'the size');
        a.addon.dispose();
        const pipe = await d.spawn({ command: 'cat' });
        const ws = raw(`&sessionId=${pipe.id}`);
        assert.deepEqual(await ws.closed, [1011, 'this process has no terminal']);
    });

    it('frames that are too long end the connection and not the shell', async () => {
        const ws = raw('&sessionId=s12&shell=sh');
        await ws.says('ready');
        ws.send(JSON.stringify({ type: 'resize', cols: 80, rows: 24, more: 'x'.repeat(1 << 20) }));
        assert.equal((await ws.closed)[0], 1009);
        assert.equal((await terminalOf('s12')).status, 'running');
        // Input is streamed, so a paste has no such end: all of it arrives.
        const again = raw('&sessionId=s12');
        await again.says('ready');
        again.send(Buffer.from('stty raw -echo; head -c 3000000 | md5sum; stty sane\n'));
        await waitUntil(async () => /raw -echo/.test(again.bytes()), 'the line');
        await d.outputHas((await terminalOf('s12')).id, 'stty sane');
        again.send(Buffer.alloc(3000000, 'a'));
        await again.sees(MD5_OF_AS);
        again.terminate();
    });

    const status = (url, headers = {}) =>
        new Promise((done) => {
            const ws = new WebSocket(`${d.url.replace('http', 'ws')}/dialects/cloudflare${url}`, { headers });
            ws.on('open', () => (ws.terminate(), done(101)));
            ws.on('unexpected-response', (rq, rs) => done(rs.statusCode));
            ws.on('error', () => {});
        });

    it('no session, no upgrade, no token: refused', async () => {
        assert.equal(await status(`/ws/pty?access_token=${d.token}`), 400);
        assert.equal(await status(`/ws/pty?sessionId=&access_token=${d.token}`), 400);
        assert.equal(await status('/ws/pty?sessionId=x'), 401);
        for (const url of ['/ws/pty?sessionId=x&', '/ws/terminal?terminalId=x&', '/ws?', '/api/ws?', '/v1/sandbox/x/pty?']) {
            assert.equal(await status(`${url}access_token=wrong-wrong-wrong-wrong`), 401, url);
        }
        const plain = await d.request('GET', '/dialects/cloudflare/ws/pty?sessionId=x');
        assert.equal(plain.status, 426);
        assert.equal(plain.type, 'text/plain');
        const token = await d.request('GET', `/dialects/cloudflare/api/ping?access_token=${d.token}`, { role: null });
        assert.equal(token.status, 401, 'by query for a WebSocket only');
    });

    it('a session that cannot be made is an error and a close', async () => {
        const bad = raw(`&sessionId=${encodeURIComponent('no spaces')}`);
        const [code, reason] = await bad.closed;
        assert.equal(code, 1011);
        assert.equal(bad.received[0].type, 'error');
        assert.equal(bad.received[0].message, reason);
        const shell = raw('&sessionId=s9&shell=no-such-shell');
        assert.equal((await shell.closed)[0], 1011);
        assert.match(shell.received[0].message, /no-such-shell/);
    });

    it('one that may only watch sees and does not type; it starts nothing', async () => {
        const none = raw('&sessionId=s10', 'watch');
        assert.equal((await none.closed)[0], 1008);
        const own = raw('&sessionId=s10&shell=sh');
        await own.says('ready');
        const watch = raw('&sessionId=s10', 'watch');
        await watch.says('ready');
        watch.send(JSON.stringify({ type: 'resize', cols: 33, rows: 11 }));
        watch.send(Buffer.from('echo never\n'));
        await watch.says('error');
        own.send(Buffer.from('echo seen$((1)); stty size\n'));
        await watch.sees('seen1');
        await watch.sees('24 80');
        assert.ok(!own.bytes().includes('never'));
        [own, watch].forEach((w) => w.terminate());
    });

    it('a reader that stands still holds nobody, and its screen is right afterwards', async () => {
        const own = raw('&sessionId=s11&shell=sh');
        await own.says('ready');
        const slow = raw('&sessionId=s11');
        await slow.says('ready');
        slow.pause();
        own.send(Buffer.from('stty -echo; seq 1 600000 | tail -c 4000000; echo done$((1))\n'));
        await waitUntil(() => own.bytes().includes('done1'), 'the end of the flood', 60000);
        slow.resume();
        await waitUntil(() => slow.bytes().includes('done1'), 'the slow one', 60000);
        const tail = slow.received.filter(Buffer.isBuffer).map(String);
        const reset = tail.findLastIndex((m) => m.includes('\x1bc'));
        assert.ok(reset > 0 ? tail.slice(reset).join('').includes('600000') : slow.bytes().length > 3500000);
        [own, slow].forEach((w) => w.terminate());
    });
});
