// SPDX-License-Identifier: Apache-2.0
// docker stats: real figures of a tree and of the machine, once and as a stream.

import assert from 'node:assert/strict';
import http from 'node:http';
import os from 'node:os';
import { burn, burner } from '../../lib/burn.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { Cli, dockerode, withClis } from './client.mjs';

const LIMIT = limit('LIMIT_DOCKER_STATS');
const KEPT_PART = limit('LIMIT_WAITS_KEPT_PART');

withDaemon('docker: stats', {}, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const docker = () => dockerode(d);
    const burned = async (tag) => {
        const { command, args } = burner(d, { hold: true });
        const p = await d.spawn({ command: 'sh', args: ['-c', '"$@"; exit 0', 'sh', command, ...args], stdin: 'pipe', tag });
        await d.outputHas(p.id, 'written_bytes');
        return p;
    };

    it('one sample of a tree: CPU, memory, disk, processes', async () => {
        const p = await burned('burned');
        const s = await docker().getContainer('burned').stats({ stream: false, 'one-shot': true });
        assert.equal(s.name, '/burned');
        assert.match(s.id, /^[0-9a-f]{64}$/);
        assert.equal(s.pids_stats.current, 2);
        assert.ok(s.cpu_stats.cpu_usage.total_usage >= (burn.cpuMs - 20) * 1e6 && s.cpu_stats.cpu_usage.total_usage < 60e9);
        assert.ok(s.cpu_stats.system_cpu_usage > s.cpu_stats.cpu_usage.total_usage);
        assert.ok(s.memory_stats.usage >= burn.memory && s.memory_stats.usage < 4 * burn.memory);
        assert.equal(s.memory_stats.limit, os.totalmem());
        /* A daemon that root started faces the network as a user who may not read it. */
        const own = process.getuid() !== 0;
        const { written_bytes } = JSON.parse((await d.output(p.id)).toString());
        const io = s.blkio_stats.io_service_bytes_recursive;
        assert.ok(own ? io.find((e) => e.op === 'write').value >= written_bytes : io === null, JSON.stringify(io));
        assert.equal(s.precpu_stats.cpu_usage.total_usage, 0, 'nothing to compare with');
        await d.remove(p.id);
    });

    it('of two samples the second has the first', async () => {
        const p = await d.sh('while :; do :; done', { tag: 'busy' });
        const s = await docker().getContainer('busy').stats({ stream: false });
        const [now, before] = [s.cpu_stats, s.precpu_stats];
        assert.ok(Date.parse(s.read) - Date.parse(s.preread) >= 900, `${s.preread} ${s.read}`);
        assert.ok(now.cpu_usage.total_usage > before.cpu_usage.total_usage, 'it is busy');
        assert.ok(now.system_cpu_usage > before.system_cpu_usage);
        await d.remove(p.id);
    });

    it('a stream has a sample a second, and ends with the container', async () => {
        const p = await d.sh('read x', { tag: 'ending', stdin: 'pipe' });
        const stream = await docker().getContainer('ending').stats({ stream: true });
        const seen = [];
        let rest = '';
        stream.on('data', (b) => {
            const lines = (rest + b).split('\n');
            rest = lines.pop();
            seen.push(...lines.map((l) => JSON.parse(l)));
        });
        const end = new Promise((done) => stream.on('end', done));
        await waitUntil(() => seen.length >= 2, 'two samples', 20000);
        assert.equal(seen[1].preread, seen[0].read);
        await d.api('POST', `/v1/processes/${p.id}/input`, { json: { eof: true }, expect: 200 });
        await end;
        const last = seen.at(-1);
        assert.deepEqual([last.pids_stats, last.memory_stats, last.cpu_stats.cpu_usage.total_usage], [{}, {}, 0], 'it does not run');
    });

    it('what does not run uses nothing; what is not there is 404', async () => {
        const p = await d.sh('exit 0', { tag: 'over' });
        await d.exitOf(p.id);
        const s = await docker().getContainer('over').stats({ stream: false });
        assert.deepEqual([s.read, s.pids_stats, s.memory_stats], ['0001-01-01T00:00:00Z', {}, {}]);
        await assert.rejects(docker().getContainer('nosuch').stats({ stream: false }), { statusCode: 404 });
        await assert.rejects(docker().getContainer('sandbox').stats({ stream: true, 'one-shot': true }), { statusCode: 400 });
    });

    it('as many requests at once as the limit allows, and room again when they end', async () => {
        const open = [];
        for (let i = 0; i < LIMIT; i++) open.push(await d.open('GET', '/dialects/docker/v1.51/containers/sandbox/stats'));
        const once = () => d.request('GET', '/dialects/docker/v1.51/containers/sandbox/stats?stream=0&one-shot=1');
        const refused = await once();
        assert.deepEqual([refused.status, /already in progress; try again later/.test(refused.json.message)], [429, true]);
        for (const res of open) res.destroy();
        await waitUntil(async () => (await once()).status === 200, 'room again');
    });

    // A token that only watches could use all of them, and the owner's request was refused.
    it('watchers leave requests for the owner', async () => {
        const url = '/dialects/docker/v1.51/containers/sandbox/stats';
        const status = async (role) => (await d.request('GET', `${url}?stream=0&one-shot=1`, { role })).status;
        const open = [];
        for (let i = 0; i < LIMIT - LIMIT / KEPT_PART; i++) open.push(await d.open('GET', url, { role: 'watch' }));
        assert.deepEqual([await status('watch'), await status('own')], [429, 200]);
        for (const res of open) res.destroy();
        await waitUntil(async () => (await status('watch')) === 200, 'room again');
    });

    withClis((cli) => {
        const columns = async (...names) =>
            (await new Cli(cli, d).ok('stats', '--no-stream', '--format', '{{.Name}}|{{.CPUPerc}}|{{.MemUsage}}|{{.BlockIO}}|{{.PIDs}}', ...names)).trim().split('\n').map((l) => l.split('|'));
        const mib = (text) => Number(/^([\d.]+)MiB/.exec(text)[1]);

        it('stats --no-stream prints the figures of a tree', async () => {
            const p = await burned('shown');
            const [[name, cpu, memory, io, pids]] = await columns('shown');
            assert.deepEqual([name, pids], ['shown', '2']);
            assert.match(cpu, /^\d+\.\d\d%$/);
            assert.ok(mib(memory) >= 64 && mib(memory) < 256, memory);
            assert.match(io, /^\S+ \/ \S+$/);
            await d.remove(p.id);
        });

        it('stats --no-stream prints a busy process and the machine', async () => {
            const p = await d.sh('while :; do :; done', { tag: 'spinning' });
            const rows = Object.fromEntries((await columns('spinning', 'sandbox')).map(([name, ...rest]) => [name, rest]));
            const percent = (name) => Number(rows[name][0].replace('%', ''));
            assert.ok(percent('spinning') > 1 && percent('spinning') <= 130, rows.spinning[0]);
            assert.ok(percent('sandbox') > 1 && percent('sandbox') <= 100 * os.cpus().length + 1, rows.sandbox[0]);
            assert.ok(Number(rows.sandbox[3]) > 2, 'the processes of the machine');
            await d.remove(p.id);
        });
    });
});
