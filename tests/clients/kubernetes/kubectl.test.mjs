// SPDX-License-Identifier: Apache-2.0
// The kubectl that is on PATH, in every way it can speak: exec, attach, logs, cp, get, version.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import * as proc from '../../lib/proc.mjs';
import { Pty } from '../../lib/pty.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';
import { containerOf, KUBECTL, Kubectl, PREFIX, WIRES } from './client.mjs';

const options = {
    auth: false, // kubectl sends no token over plain http
    args: ['--no-auth', '--dialect', 'kubernetes=127.0.0.1:0'],
    listen: ['127.0.0.1:0'],
    skip: KUBECTL === null ? 'there is no kubectl on PATH' : false,
};

withDaemon('kubernetes: kubectl', options, (d) => {
    const own = () => waitUntil(() => /kubernetes listening on (\S+)/.exec(d.stdout + d.stderr)?.[1], 'the own listener');
    const prefixed = async () => d.url + PREFIX;
    const places = { 'a listener of its own': own, 'a path in the server': prefixed };
    const client = async (wire = WIRES[0], server = own) => new Kubectl(d, { server: await server(), env: wire.env });
    const running = async () => (await d.list('?status=running'))[0];

    for (const wire of WIRES) {
        for (const [place, server] of Object.entries(places)) {
            it(`exec by ${wire.name}, at ${place}: both streams, the exit code, input to its end`, async () => {
                const k = await client(wire, server);
                const failed = (n) => `command terminated with exit code ${n}\n`;
                const [streams, input] = await Promise.all([
                    k.says(['exec', 'sandbox', '--', 'sh', '-c', 'echo o; echo e >&2; exit 7']),
                    k.says(['exec', '-i', 'sandbox', '--', 'sh', '-c', 'cat; echo done; exit 5'], 'a\nb\n'),
                ]);
                assert.deepEqual(streams, [7, 'o\n', `e\n${failed(7)}`]);
                assert.deepEqual(input, [5, 'a\nb\ndone\n', failed(5)]);
            });
        }

        it(`exec by ${wire.name}: 3 MB through cat are the same bytes`, async () => {
            const bytes = crypto.randomBytes(3000000);
            const r = await (await client(wire, prefixed)).run(['exec', '-i', 'sandbox', '--', 'cat'], bytes);
            assert.equal(r.code, 0, r.err);
            assert.ok(r.out.equals(bytes), `${r.out.length} bytes`);
        });

        it(`exec by ${wire.name}: a terminal has the right size at once and after a change; Ctrl-C; the exit code`, async () => {
            const k = await client(wire, prefixed);
            const pty = new Pty('kubectl', [...k.args, 'exec', '-it', 'sandbox', '--', 'sh'], { rows: 31, cols: 97, env: k.env });
            pty.type("PS1='> '; stty size\r");
            await pty.shows('31 97');
            pty.resize(40, 120);
            const p = await running();
            await waitUntil(async () => (await d.get(p.id)).cols === 120, 'the new size');
            pty.type('stty size\r');
            await pty.shows('40 120');
            pty.type("trap 'echo got-''int' INT; sleep 100\r");
            await waitUntil(() => proc.descendantsOf(p.pid).some((s) => s.name === 'sleep'), 'sleep');
            pty.type('\x03');
            await pty.shows('got-int');
            pty.type('exit 3\r');
            await pty.endsWith('exit 3');
            await pty.close();
            assert.equal((await d.get(p.id)).exit.code, 3);
        });

        it(`exec by ${wire.name}: the size is right for a program that looks once`, async () => {
            const k = await client(wire);
            const pty = new Pty('kubectl', [...k.args, 'exec', '-it', 'sandbox', '--', 'stty', 'size'], { rows: 29, cols: 91, env: k.env });
            await pty.shows('29 91');
            await pty.endsWith('exit 0');
            await pty.close();
        });

        it(`attach by ${wire.name}: twice, and the second sees the screen, types, and gets the exit`, async () => {
            const p = await d.spawn({ command: 'sh', pty: true, env: { PS1: '> ' } });
            const k = await client(wire);
            const join = () => new Pty('kubectl', [...k.args, 'attach', '-it', 'sandbox', '-c', containerOf(p)], { env: k.env });
            const a = join();
            a.type('echo one-$((1+1))\r');
            await a.shows('one-2');
            const b = join();
            await b.shows('one-2');
            b.type('echo two-$((2+2))\r');
            await Promise.all([a.shows('two-4'), b.shows('two-4')]);
            b.type('exit 4\r');
            for (const pty of [a, b]) {
                assert.equal(await pty.exit(), 'exit 4');
                await pty.close();
            }
        });

        it(`exec by ${wire.name}: a kubectl that is killed leaves its process, which is listed and can be attached to`, async () => {
            const k = await client(wire);
            const child = k.start('exec', '-i', 'sandbox', '--', 'cat');
            child.stdin.write('before\n');
            await waitUntil(() => child.out().includes('before'), 'cat');
            child.kill('SIGKILL');
            await child.ended;
            const p = await running();
            await waitUntil(async () => (await d.get(p.id)).viewers === 0, 'it to be noticed');
            const [, names] = await k.says(['get', 'pod', 'sandbox', '-o', 'jsonpath={.spec.containers[*].name}']);
            assert.ok(names.split(' ').includes(containerOf(p)), names);
            const again = k.start('attach', '-i', 'sandbox', '-c', containerOf(p));
            await waitUntil(() => again.out().includes('before'), 'what it wrote before');
            again.stdin.write('after\n');
            await waitUntil(() => again.out().includes('after'), 'what is typed now');
            again.stdin.end();
            assert.deepEqual((await within(again.ended, 20000, 'the end')).code, 0);
        });

        it(`exec by ${wire.name}: a worker that dies is an error, never success with half the output`, async () => {
            const child = (await client(wire, prefixed)).start('exec', 'sandbox', '--', 'sh', '-c', 'echo up; exec sleep 976');
            await waitUntil(() => child.out().toString() === 'up\n', 'its output');
            const old = d.workerPid();
            process.kill(old, 'SIGKILL');
            const { code } = await within(child.ended, 20000, 'kubectl');
            assert.notEqual(code, 0);
            await d.nextWorker(old);
            await d.remove((await running()).id);
        });

        it(`exec by ${wire.name}: what cannot be`, async () => {
            const k = await client(wire);
            const before = (await d.list()).length;
            const [pod, container] = await Promise.all([k.says(['exec', 'nopod', '--', 'true']), k.says(['exec', 'sandbox', '-c', 'zz', '--', 'true'])]);
            assert.deepEqual(pod, [1, '', 'Error from server (NotFound): pods "nopod" not found\n']);
            assert.deepEqual(container, [1, '', 'Error from server (BadRequest): container zz is not valid for pod sandbox\n']);
            assert.equal((await d.list()).length, before, 'nothing was started');
            assert.deepEqual(await k.says(['exec', 'sandbox', '--', '/nosuch']), [1, '', 'error: cannot execute /nosuch: No such file or directory\n']);
        });

        it(`cp by ${wire.name}: up and down, files and directories`, async () => {
            const k = await client(wire);
            const bytes = crypto.randomBytes(300000);
            const box = fs.mkdtempSync(path.join(d.dir, 'box-'));
            fs.mkdirSync(path.join(k.home, 'up/in'), { recursive: true });
            fs.writeFileSync(path.join(k.home, 'up/in/file'), bytes);
            fs.writeFileSync(path.join(k.home, 'up/text'), 'text\n');
            assert.equal((await k.run(['cp', 'up', `sandbox:${box}/there`])).code, 0);
            assert.ok(fs.readFileSync(path.join(box, 'there/in/file')).equals(bytes));
            assert.equal((await k.run(['cp', `sandbox:${box}/there`, 'down'])).code, 0);
            assert.ok(fs.readFileSync(path.join(k.home, 'down/in/file')).equals(bytes));
            assert.equal(fs.readFileSync(path.join(k.home, 'down/text'), 'utf8'), 'text\n');
        });
    }

    it('logs: the last lines, then on to the exit; main is what was started last', async () => {
        const k = await client();
        const p = await d.sh('seq 1 200; read x; echo end', { stdin: 'pipe' });
        await d.outputHas(p.id, '200\n');
        const child = k.start('logs', '-f', '--tail=100', 'sandbox');
        await waitUntil(() => child.out().includes('200\n'), 'the lines');
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { data: '\n' }, expect: 200 });
        const r = await within(child.ended, 20000, 'the end');
        assert.equal(r.code, 0);
        assert.equal(r.out.toString(), `${Array.from({ length: 100 }, (_, i) => i + 101).join('\n')}\nend\n`);
        assert.deepEqual((await k.says(['logs', 'sandbox', '-c', containerOf(p), '--tail=1'])).slice(0, 2), [0, 'end\n']);
        assert.match((await k.says(['logs', 'sandbox', '-c', 'zz']))[2], /zz/);
    });

    it('get pods as a table, a pod as YAML, version', async () => {
        const k = await client();
        const [table, all, yaml, version, other, services] = await Promise.all([
            k.says(['get', 'pods']),
            k.says(['get', 'po', '-A']),
            k.says(['get', 'pod', 'sandbox', '-o', 'yaml']),
            k.says(['version', '-o', 'json']),
            k.says(['get', 'pod', 'other']),
            k.says(['get', 'services']),
        ]);
        assert.match(table[1], /^NAME +READY +STATUS +RESTARTS +AGE\nsandbox +\d+\/\d+ +Running +0 +\S+\n$/);
        assert.match(all[1], /^NAMESPACE +NAME.*\ndefault +sandbox/);
        assert.match(yaml[1], /^apiVersion: v1\nkind: Pod\nmetadata:\n/);
        assert.match(yaml[1], /containerStatuses:/);
        assert.match(JSON.parse(version[1]).serverVersion.gitVersion, /^v1\.\d+\.0\+holdfast/);
        assert.match(other[2], /pods "other" not found/);
        assert.match(services[2], /the server doesn't have a resource type "services"/);
    });
});
