// SPDX-License-Identifier: Apache-2.0
// A session that writes as fast as it can gives way to those who carry it, and only then.

import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { holdsFor, waitUntil } from '../../lib/wait.mjs';

const EASED = 3; // FLOOD_NICE
const weight = (pid) => Number(/ nice (-?\d+)/.exec(fs.readFileSync(`/proc/${pid}/autogroup`, 'utf8'))[1]);
const skip = fs.existsSync('/proc/self/autogroup') ? false : 'this kernel has no autogroups';

withDaemon('floods', {}, (d) => {
    const FLOOD = 'while [ ! -e enough ]; do head -c 1000000 /dev/zero; done; rm enough; echo over; sleep 300';
    // On a busy machine the writer may have to wait so often that it is no flood for a while.
    const eased = (p, what) => waitUntil(() => weight(p.pid) === EASED, what, 60000);

    for (const pty of [true, false]) {
        const kind = pty ? 'terminal' : 'pipe';

        it(`a ${kind}'s session has less weight during a flood and its own after it`, { skip }, async () => {
            const p = await d.sh(FLOOD, { pty, cwd: d.dir });
            await eased(p, 'less weight');
            fs.writeFileSync(path.join(d.dir, 'enough'), '');
            await d.outputHas(p.id, 'over');
            await waitUntil(() => weight(p.pid) === 0, 'its own weight again');
            await d.remove(p.id);
        });
    }

    it('what is no flood keeps its weight', { skip }, async () => {
        const p = await d.sh('head -c 400000 /dev/zero; echo over; sleep 300', { pty: true });
        await d.outputHas(p.id, 'over');
        await holdsFor(300, () => weight(p.pid) === 0, 'its own weight');
        await d.remove(p.id);
    });

    it('a flood that goes on is eased by the next worker, too', { skip }, async () => {
        const p = await d.sh('exec yes', { pty: true });
        await eased(p, 'less weight');
        const worker = d.workerPid();
        process.kill(worker, 'SIGKILL');
        await d.nextWorker(worker); // the keeper has given the weight back by then
        await eased(p, 'less weight after a crash');
        await d.remove(p.id);
    });
});
