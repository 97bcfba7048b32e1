// SPDX-License-Identifier: Apache-2.0
// Which language the shell of a session's commands speaks.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Daemon } from '../../lib/daemon.mjs';
import { OpenCode } from '../../lib/opencode.mjs';
import { test } from '../../lib/test.mjs';

/* Any "fish" in the path was one, and then neither ~/.bashrc was read nor were the streams one. */
test('opencode: a shell is what its name says, not what its path says', async () => {
    const d = new Daemon({}).prepare();
    const shell = path.join(d.dir, 'kingfisher', 'bash');
    fs.mkdirSync(path.dirname(shell));
    fs.symlinkSync('/bin/bash', shell);
    fs.chmodSync(d.dir, 0o711); // the worker looks for it, and may be another user
    fs.writeFileSync(path.join(d.dir, '.bashrc'), 'alias hi="echo from an alias"\n');
    d.options.env = { SHELL: shell, HOME: d.dir };
    await d.start();
    try {
        const { v2 } = new OpenCode(d);
        const s = (await v2.session.create({})).data;
        const { data } = await v2.session.shell({ sessionID: s.id, agent: 'build', command: 'hi; echo err >&2' });
        assert.equal(data.parts[0].state.output, 'from an alias\nerr\n');
    } finally {
        await d.stop();
    }
});
