// SPDX-License-Identifier: Apache-2.0
// What all dialects together cost a daemon that nobody talks to: each with a listener of its own,
// beside a daemon that has none of them.
//
// Which dialects there are is asked of the binary, so one that is added later is measured too.
// Pages of the program file do not count: the kernel loads and drops them as it likes, and processes
// share them, so how many there are depends on what else the machine does.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { binary, daemonFor, releaseBinary } from '../../lib/daemon.mjs';
import { test } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';

const LIMIT_KIB = 250;

function ownKiB(pid) {
    const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)[1]);
    return field('Pss_Anon') + field('Pss_Shmem');
}
const memoryKiB = (d) => ownKiB(d.keeperPid()) + ownKiB(d.workerPid());

/** The release where there is one: a sanitizer keeps books of its own about each allocation. */
const bin = releaseBinary() ?? binary();

/** All names, from the complaint about one that is none. */
function names() {
    const { stderr } = spawnSync(bin, ['serve', '--dialect', '?'], { encoding: 'utf8' });
    return /available: (.*)/.exec(stderr)[1].split(', ');
}

const start = (args, body) => daemonFor({ bin, args, fdBaseline: false }, body);
const dialectsOf = async (d) => {
    const { dialects } = (await d.request('GET', '/v1/info')).json;
    return dialects.filter((name) => name !== 'native' && name !== 'mcp');
};

test('--no-dialects speaks none but those that are named', () =>
    start(['--no-dialects', '--dialect', `${names()[0]}=127.0.0.1:0`], async (d) => {
        const [first, ...others] = names();
        assert.deepEqual(await dialectsOf(d), [first]);
        for (const name of others) assert.equal((await d.request('GET', `/dialects/${name}/`)).json.code, 'not_found');
    }));

test(`all dialects together cost an idle daemon less than ${LIMIT_KIB} KiB`, () =>
    start(['--no-dialects'], (plain) =>
        start(names().flatMap((name) => ['--dialect', `${name}=127.0.0.1:0`]), async (all) => {
            // Both have answered the same, or the first answer's memory would be the difference.
            assert.deepEqual(await dialectsOf(plain), []);
            assert.deepEqual(await dialectsOf(all), names());
            const listeners = () => (all.stdout + all.stderr).match(/listening on /g).length;
            await waitUntil(() => listeners() === 1 + names().length, 'a listener for each');
            for (const d of [plain, all]) d.agent.destroy();
            // Buffers of closed connections are freed a little later.
            let cost, without, withAll;
            const fits = () => {
                [without, withAll] = [plain, all].map(memoryKiB);
                cost = withAll - without;
                return cost < LIMIT_KIB;
            };
            await waitUntil(fits, 'the daemons to be idle', 20000, 250).catch(() =>
                assert.fail(`${names().join(', ')} cost ${cost} KiB: ${without} -> ${withAll} KiB`),
            );
            console.log(`# ${names().length} dialects: ${cost} KiB (${without} -> ${withAll})`);
        }),
    ));
