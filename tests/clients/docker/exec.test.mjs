// SPDX-License-Identifier: Apache-2.0
// docker exec, with every version of Docker's own client that is there.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { withDaemon } from '../../lib/daemon.mjs';
import { describe, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { Cli, withClis } from './client.mjs';

const md5 = (b) => crypto.createHash('md5').update(b).digest('hex');

/** What the list of facts asks of an exec, also with an older version of the protocol. */
function execs(d, make) {
    it('both streams and the exit code', async () => {
        const r = await make().run(['exec', 'sandbox', 'sh', '-c', 'echo o; echo e >&2; exit 7']);
        assert.deepEqual([r.stdout, r.stderr, r.code], ['o\n', 'e\n', 7]);
    });

    it('input to its end', async () => {
        const r = await make().run(['exec', '-i', 'sandbox', 'sh', '-c', 'cat; echo done'], { input: 'a\nb\n' });
        assert.deepEqual([r.stdout, r.stderr, r.code], ['a\nb\ndone\n', '', 0]);
    });

    it('5 MB of bytes in and out, unchanged', async () => {
        const bytes = crypto.randomBytes(5 << 20);
        const cat = await make().run(['exec', '-i', 'sandbox', 'cat'], { input: bytes, encoding: null });
        assert.equal(md5(cat.stdout), md5(bytes));
        const sum = await make().run(['exec', '-i', 'sandbox', 'md5sum'], { input: bytes });
        assert.equal(sum.stdout, `${md5(bytes)}  -\n`);
    });

    it('a program that ends before it has read all its input keeps its output', async () => {
        const r = await make().run(['exec', '-i', 'sandbox', 'sh', '-c', 'head -c 3; exit 4'], { input: Buffer.alloc(4 << 20, 'x') });
        assert.deepEqual([r.stdout, r.code], ['xxx', 4]);
    });

    it('a terminal: its size from the first prompt on, Ctrl-C, TERM, the exit code', async () => {
        const t = make().pty(['exec', '-it', '-e', 'PS1=here> ', 'sandbox', 'bash', '--norc'], { rows: 31, cols: 97 });
        await t.shows('here> ');
        t.type('stty size; echo "term=$TERM"\r');
        await t.shows('31 97');
        await t.shows('term=xterm\r');
        t.resize(40, 120);
        await waitUntil(async () => (await d.list())[0].cols === 120, 'the new size');
        t.type('stty size\r');
        await t.shows('40 120');
        t.type('sleep 1000\r');
        await waitUntil(async () => (await d.list())[0].foreground === 'sleep', 'sleep to run');
        t.type('\x03');
        await t.shows('here> ');
        t.type('echo code=$?\r');
        await t.shows('code=130');
        t.type('exit 3\r');
        await t.endsWith('exit 3');
        await t.close();
    });

    it('a terminal without input: all that it says', async () => {
        const r = await make().run(['exec', '-t', 'sandbox', 'sh', '-c', 'sleep .5; echo hi']);
        assert.deepEqual([r.stdout, r.code], ['hi\r\n', 0]);
    });

    it('-d returns and leaves it running', async () => {
        assert.equal(await make().ok('exec', '-d', 'sandbox', 'sleep', '987'), '');
        const p = (await d.list()).find((x) => x.args?.[0] === '987');
        assert.equal(p.status, 'running');
        await d.remove(p.id);
    });

    it('programs, directories and containers that are not there', async () => {
        const no = await make().run(['exec', 'sandbox', 'nosuch']);
        assert.deepEqual([no.code, no.stdout + no.stderr], [127, 'exec: "nosuch": executable file not found in $PATH\r\n']);
        assert.equal((await make().run(['exec', 'sandbox', '/etc/passwd'])).code, 126);
        const cwd = await make().run(['exec', '-w', '/no/such', 'sandbox', 'true']);
        assert.equal(cwd.code, 127);
        assert.match(cwd.stderr, /no such file or directory/);
        const box = await make().run(['exec', 'nosuchc', 'ls']);
        assert.equal(box.code, 1);
        assert.match(box.stderr, /No such container: nosuchc\n$/);
        const detached = await make().run(['exec', '-d', 'sandbox', 'nosuch']);
        assert.notEqual(detached.code, 0);
        assert.match(detached.stderr, /executable file not found/);
    });
}

withDaemon('docker exec', {}, (d) => {
    withClis((cli) => {
        const docker = () => new Cli(cli, d);
        execs(d, docker);

        it('-e sets and takes away, -w is where it runs, -u who it is', async () => {
            const env = await docker().ok('exec', '-e', 'A=1', '-e', 'A=two words', '-e', 'LANG', 'sandbox', 'sh', '-c', 'echo "$A|${LANG-none}|$HOSTNAME"');
            assert.match(env, /^two words\|none\|\S+\n$/);
            assert.equal(await docker().ok('exec', '-w', '/usr', 'sandbox', 'pwd'), '/usr\n');
            const no = await docker().run(['exec', '-u', 'nosuchuser', 'sandbox', 'id']);
            assert.equal(no.code, 1);
            assert.match(no.stderr, /unable to find user nosuchuser/);
            if (process.getuid() === 0) assert.equal(await docker().ok('exec', '-u', 'nobody', 'sandbox', 'id', '-un'), 'nobody\n');
        });

        it('--privileged changes nothing and is no error', async () => {
            assert.equal(await docker().ok('exec', '--privileged', 'sandbox', 'echo', 'x'), 'x\n');
        });

        it('an exec is a process: listed, signalled by its id, and its end is told to its client', async () => {
            const run = docker().start(['exec', 'sandbox', 'sh', '-c', 'echo up; exec sleep 986']);
            await waitUntil(() => run.stdout() === 'up\n', 'its output');
            const id = (await docker().ok('ps', '-q', '--no-trunc')).split('\n')[0];
            await docker().ok('kill', '-s', 'TERM', id);
            assert.equal((await run.over).code, 143);
        });
    });

    withClis((cli) => {
        if (cli.version.startsWith('20.')) return;
        describe('with DOCKER_API_VERSION=1.41', () => execs(d, () => new Cli(cli, d, { env: { DOCKER_API_VERSION: '1.41' } })));
    });
});
