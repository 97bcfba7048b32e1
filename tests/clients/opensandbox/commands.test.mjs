// SPDX-License-Identifier: Apache-2.0
// The published OpenSandbox SDK, unchanged, against the real binary: connecting and commands.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { SandboxReadyTimeoutException } from '@alibaba-group/opensandbox';
import { bare, call, connect, controlPlane, domainOf, refused, texts, withSandbox } from '../../lib/opensandbox.mjs';
import * as proc from '../../lib/proc.mjs';
import { scaled } from '../../lib/scale.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

withSandbox('opensandbox: commands', {}, (d, sandbox) => {
    const run = async (...args) => (await sandbox()).commands.run(...args);

    it('connects with what a control plane says; a wrong token is never ready', async () => {
        const plane = await controlPlane(domainOf(d), d.token);
        const s = await connect(d, { domain: plane.domain, token: undefined }); /* only the plane's header opens */
        assert.deepEqual(texts((await s.commands.run('echo in')).logs.stdout), ['in']);
        for (const port of [44772, 18080]) assert.ok(plane.seen.some((u) => u.startsWith(`/v1/sandboxes/any/endpoints/${port}`)));
        await s.close();
        plane.close();
        const liar = await controlPlane(domainOf(d), 'wrong-wrong-wrong-wrong');
        const wrong = connect(d, { domain: liar.domain, token: undefined, readyTimeoutSeconds: 0.6 });
        await assert.rejects(wrong, SandboxReadyTimeoutException);
        liar.close();
    });

    it('run: both streams, an id, exit codes, signals, a missing binary', async () => {
        const a = await run('echo hi; echo err >&2');
        assert.deepEqual(texts(a.logs.stdout), ['hi']);
        assert.deepEqual(texts(a.logs.stderr), ['err']);
        assert.ok(a.complete);
        assert.equal(a.exitCode, 0);
        assert.match(a.id, /^proc_/);
        const three = await run('exit 3');
        assert.equal(three.exitCode, 3);
        assert.equal(three.error.name, 'CommandExecError');
        assert.deepEqual(three.error.traceback, ['exit status 3']);
        const killed = await run('kill -9 $$');
        assert.equal(killed.exitCode, -1);
        assert.deepEqual(killed.error.traceback, ['signal: killed']);
        assert.equal((await run('/no/such/binary')).exitCode, 127);
    });

    it('lines: blank ones, all line ends, bytes that are not UTF-8, one without an end', async () => {
        const lines = async (command) => texts((await run(command)).logs.stdout);
        assert.deepEqual(await lines("printf 'a\\n\\nb\\n\\n\\nc\\n'"), ['a', '\n', 'b', '\n', '\n', 'c']);
        assert.deepEqual(await lines("printf 'x\\r\\ny\\rz'"), ['x', 'y', 'z']);
        assert.deepEqual(await lines("printf 'a\\377b\\n\\303\\244'"), ['a\ufffdb', 'ä']);
        assert.deepEqual(await lines("printf 'p1'; sleep 0.05; printf 'p2'; sleep 0.05; printf 'p3'"), ['p1p2p3']);
        const many = await lines('seq 1 20000');
        assert.equal(many.length, 20000);
        assert.ok(many.every((t, i) => t === String(i + 1)));
    });

    /* Lines of more than 64 KiB, and those with a pause inside, arrived in pieces: clients put newlines between them. */
    it('a line is one event, however long it is and however slowly it comes', async () => {
        const lines = async (command) => texts((await run(command)).logs.stdout);
        assert.deepEqual(await lines('head -c 3000000 /dev/zero | tr "\\0" x; echo; echo end'), ['x'.repeat(3000000), 'end']);
        assert.deepEqual(await lines("printf 'no'; sleep 1.5; printf 'w\\n'"), ['now']);
        const session = await (await sandbox()).commands.createSession();
        const slow = await (await sandbox()).commands.runInSession(session, "printf 'no'; sleep 1.5; printf 'w\\n'");
        assert.deepEqual(texts(slow.logs.stdout), ['now']);
    });

    /* From 1.1.1 on the client of Python adds no newline to a text that has one: a blank line vanished. */
    it('a blank line is wide only for the client that would lose it', async () => {
        const stdout = async (agent) => {
            const a = await call(d, 'POST', '/command', { json: { command: "printf '\\na\\n\\n\\nb\\n'" }, headers: { 'User-Agent': agent } });
            return texts(a.text.trim().split('\n\n').map((l) => JSON.parse(l)).filter((e) => e.type === 'stdout'));
        };
        for (const agent of ['1.1.1', '1.1.2.dev1', '1.2', '2.0.0']) {
            assert.deepEqual(await stdout(`OpenSandbox-Python-SDK/${agent}`), ['\n', 'a', '\n\n', '\n', 'b'], agent);
        }
        for (const agent of ['OpenSandbox-Python-SDK/1.1.0', 'OpenSandbox-Python-SDK/0.1.16', 'OpenSandbox-Python-SDK/x', 'OpenSandbox-Go-SDK/1.2.0', 'curl/8']) {
            assert.deepEqual(await stdout(agent), ['\n', 'a', '\n', '\n', 'b'], agent);
        }
    });

    it('a short command is answered at once, and nobody waits for what it left behind', async () => {
        await run('echo x');
        // A busy machine may delay some of them, but not all.
        await waitUntil(async () => {
            const t = performance.now();
            await run('echo x').catch((err) => Promise.reject(Object.assign(err, { fatal: true })));
            return performance.now() - t < 100;
        }, 'a command that takes less than 100 ms', 30000);
        const t = performance.now();
        assert.deepEqual(texts((await run('sleep 1000 & echo hi')).logs.stdout), ['hi']);
        assert.ok(performance.now() - t < 30000, `took ${performance.now() - t} ms`);
    });

    it('directory, environment and user take effect; a wrong directory is refused', async () => {
        const one = async (command, options) => texts((await run(command, options)).logs.stdout)[0];
        assert.equal(await one('pwd', { workingDirectory: '/usr' }), '/usr');
        assert.equal(await one('pwd', { workingDirectory: '~' }), d.dir);
        assert.equal(await one('pwd', { workingDirectory: '${HOME}/' }), d.dir);
        assert.equal(await one('echo $A-$B', { envs: { A: '1', B: 'x y' } }), '1-x y');
        if (process.getuid() === 0) {
            assert.equal(await one('id -u', { uid: 65534 }), '65534');
            assert.equal(await one('id -u; id -g', { uid: 65534, gid: 12345 }), '65534');
            assert.deepEqual(texts((await run('id -u; id -g', { uid: 65534, gid: 12345 })).logs.stdout), ['65534', '12345']);
        }
        await refused(run('pwd', { workingDirectory: '/no/such/dir' }), 400, 'INVALID_REQUEST_BODY');
        await refused(run('pwd', { workingDirectory: '$NO_SUCH_VARIABLE/x' }), 400, 'INVALID_REQUEST_BODY');
        await refused(run('pwd', { workingDirectory: '/etc/passwd' }), 400, 'INVALID_REQUEST_BODY');
    });

    it('a time-out ends the whole group, in time', async () => {
        const t = performance.now();
        const a = await run('echo a; sleep 71 & sleep 72', { timeoutSeconds: 2 });
        assert.ok(performance.now() - t < 30000, `took ${performance.now() - t} ms`);
        assert.deepEqual(texts(a.logs.stdout), ['a']);
        assert.equal(a.exitCode, -1);
        assert.deepEqual(a.error.traceback, ['signal: killed']);
        await waitUntil(() => !proc.descendantsOf(d.pid).some((p) => p.name === 'sleep' && /sleep.7[12]/.test(proc.cmdline(p.pid))), 'no survivor');
    });

    /* The SDK gives a body up that is silent for 300 s; at full scale this one is, but for the pings. */
    it('silence is filled with pings', async () => {
        const s = await sandbox();
        const types = [];
        const go = path.join(d.dir, 'go-on');
        for await (const ev of s.commands.runStream(`sleep ${scaled(400, 0)}; until [ -e ${go} ]; do sleep 0.05; done; echo end`)) {
            types.push(ev.type);
            if (types.slice(2).includes('ping')) fs.writeFileSync(go, '');
        }
        assert.deepEqual(types.slice(0, 2), ['init', 'ping']);
        assert.ok(types.slice(2).includes('ping'), types.join(' '));
        assert.equal(types.at(-1), 'execution_complete');
    });

    it('a line that does not end is shown to those who ask for parts of lines', async () => {
        const go = path.join(d.dir, 'shown');
        const { response } = bare(d, 'POST', '/command?partial=1', { command: `printf "name? "; until [ -e ${go} ]; do sleep 0.05; done; echo; echo end` });
        let text = '';
        for await (const b of await response) {
            text += b;
            if (text.includes('name? ')) fs.writeFileSync(go, ''); /* not before it was shown */
        }
        const events = text.trim().split('\n\n').map((l) => JSON.parse(l)).filter((e) => e.type === 'stdout');
        assert.deepEqual(events.map((e) => [e.text, e.partial]), [['name? ', true], ['end', undefined]]);
    });

    it('what cannot be asked is refused with a body that says why', async () => {
        const post = (json) => call(d, 'POST', '/command', { json });
        for (const [body, match] of [
            [{}, /command/],
            [{ command: '' }, /command/],
            [{ command: 'x', argv: ['x'] }, /not both/],
            [{ argv: [] }, /argv/],
            [{ argv: [1] }, /argv/],
            [{ command: 'x', timeout: -1 }, /timeout/],
            [{ command: 'x', gid: 1 }, /uid/],
            [{ command: 'x', envs: { A: 1 } }, /env/],
            [{ command: 'x', cwd: 7 }, /cwd/],
            [{ command: 'x', tty: true, rows: 0 }, /rows/],
            ['[]', /object/],
            ['{', /./],
        ]) {
            const a = await post(body);
            assert.equal(a.status, 400, JSON.stringify(body) + a.text);
            assert.equal(a.json.code, 'INVALID_REQUEST_BODY');
            assert.match(a.json.message, match);
        }
        const big = await post(`{"command":"${'x'.repeat(1 << 20)}"}`);
        assert.equal(big.status, 413);
        assert.ok(big.json.code);
        const none = await call(d, 'GET', '/ping', { token: '', headers: { Authorization: '' } });
        assert.equal(none.status, 401);
        assert.deepEqual(none.json, { error: 'Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN' });
        const lost = await call(d, 'PUT', '/ping');
        assert.equal(lost.status, 404);
        assert.equal(lost.text, '404 page not found');
        const slash = await call(d, 'GET', '/ping/');
        assert.equal(slash.status, 301);
        assert.match(slash.headers.location, /\/ping$/);
        const ok = await call(d, 'GET', '/ping');
        assert.equal(ok.status, 200);
        assert.equal(ok.headers['content-length'], '0');
    });

    it('argv runs without a shell', async () => {
        const a = await call(d, 'POST', '/command', { json: { argv: ['printf', '%s|', 'a b', '$HOME'] } });
        const events = a.text.trim().split('\n\n').map((l) => JSON.parse(l));
        assert.equal(events.find((e) => e.type === 'stdout').text, 'a b|$HOME|');
        /* A status of 500 made the client throw instead of returning a failed command. */
        for (const body of [{ argv: ['/no/such'] }, { argv: ['no-such-program'], background: true }]) {
            const missing = await call(d, 'POST', '/command', { json: body });
            assert.equal(missing.status, 200, missing.text);
            const [init, , error, ...more] = missing.text.trim().split('\n\n').map((l) => JSON.parse(l));
            assert.deepEqual([init.type, error.type, error.error.ename, more], ['init', 'error', 'CommandExecError', []]);
            assert.match(error.error.evalue, /\D/);
            assert.deepEqual(error.error.traceback, [error.error.evalue]);
            assert.equal((await call(d, 'GET', `/command/status/${init.text}`)).status, 404);
        }
    });

    it('a terminal: tty, cols and rows of the body', async () => {
        const a = await call(d, 'POST', '/command', { json: { command: 'stty size; test -t 1 && echo yes', tty: true, cols: 91, rows: 33 } });
        const lines = a.text.trim().split('\n\n').map((l) => JSON.parse(l)).filter((e) => e.type === 'stdout');
        assert.deepEqual(texts(lines), ['33 91', 'yes']);
    });
});
