// SPDX-License-Identifier: Apache-2.0
// What moves files and ports for the owner is seen by the owner alone.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { it } from '../../lib/test.mjs';
import { closeCodeOf } from '../../lib/client.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { SseReader } from '../../lib/sse.mjs';
import { waitUntil } from '../../lib/wait.mjs';

/** Every dialect's list of what runs. */
const LISTS = [
    ['POST', '/dialects/e2b/process.Process/List', {}],
    ['GET', '/dialects/docker/containers/json?all=1'],
    ['GET', '/dialects/kubernetes/api/v1/namespaces/default/pods'],
    ['GET', '/dialects/fly/v1/apps/sandbox/machines/local/ps'],
    ['GET', '/dialects/fly/v1/sprites/holdfast/exec'],
    ['GET', '/dialects/sandbox-agent/v1/processes'],
    ['GET', '/dialects/hyperbrowser/sandbox/processes'],
    ['GET', '/dialects/opensandbox/command'],
    ['GET', '/dialects/opencode/pty'],
    ['GET', '/dialects/gitpod/_supervisor/v1/terminal/list'],
    ['GET', '/dialects/cloudflare/api/process/list'],
    ['GET', '/dialects/daytona/process/session'],
];

withDaemon('helper processes', {}, (d) => {
    const source = (name, bytes) => {
        const file = path.join(d.dir, name);
        fs.writeFileSync(file, Buffer.alloc(bytes, 'secret of the owner\n'));
        fs.chmodSync(file, 0o644);
        fs.chmodSync(d.dir, 0o755);
        return file;
    };
    const list = async (role) => (await d.api('GET', '/v1/processes', { role, expect: 200 })).json.processes;
    const helper = (label) =>
        waitUntil(async () => (await list('own')).find((p) => p.label === label || (p.args ?? []).includes(label)), `helper ${label}`);

    /** Starts a download that stands still, and looks at it with every role. */
    const download = async (url, find) => {
        const events = new SseReader(await d.open('GET', '/v1/events?all=1', { role: 'watch' }));
        const res = await d.open('GET', url);
        assert.equal(res.statusCode, 200);
        res.pause();
        const p = await find();
        return { events, res, p };
    };

    it("a file that the owner downloads is in nobody else's reach", async () => {
        const file = source('large', 8 << 20);
        const { events, res, p } = await download(`/dialects/e2b/files?path=${encodeURIComponent(file)}`, () => helper('file'));
        for (const role of ['watch', 'type']) {
            assert.ok(!(await list(role)).some((x) => x.id === p.id));
            for (const ref of [p.id, `pid:${p.pid}`]) {
                for (const what of ['', '/output', '/output?follow=1', '/wait?timeout_ms=0', '/recording', '/screen']) {
                    await d.refused('no_such_process', 'GET', `/v1/processes/${ref}${what}`, { role });
                }
                await d.refused('no_such_process', 'POST', `/v1/processes/${ref}/wait`, { json: { until: [{ exit: true }] }, role });
                assert.equal(await closeCodeOf(d, ref, { role }), 4404);
            }
            await d.refused('bad_query', 'GET', `/v1/processes?after=${p.id}`, { role });
        }
        await d.refused('no_such_process', 'POST', `/v1/processes/${p.id}/signal`, { json: { signal: 'INT' }, role: 'type' });
        await d.api('GET', `/v1/processes/${p.id}?include=output`, { expect: 200 });
        for (const [method, url, json] of LISTS) {
            for (const role of ['watch', 'own']) {
                const a = await d.request(method, url, { json, role });
                assert.equal(a.status, 200, `${method} ${url}: ${a.text.slice(0, 200)}`);
                assert.ok(!a.text.includes(p.id) && !a.text.includes('file-op') && !a.text.includes(p.id.replace('_', '-')), `${method} ${url}: ${a.text.slice(0, 300)}`);
            }
        }
        res.destroy();
        await waitUntil(async () => !(await list('own')).some((x) => x.id === p.id), 'the helper to be gone');
        const q = await d.sh('true', { label: 'last' });
        let e;
        do {
            e = await events.next();
            assert.notEqual(JSON.parse(e.data).process?.id, p.id, `${e.event} of the helper`);
        } while (JSON.parse(e.data).process?.id !== q.id);
        events.res.destroy();
        await d.exitOf(q.id);
        await d.remove(q.id);
    });

    it("nor is one that it reads through cloudflare's bridge", async () => {
        const file = source('bridged', 8 << 20);
        const { events, res, p } = await download(`/dialects/cloudflare/v1/sandbox/sandbox/file${file}`, () => helper(file));
        await d.refused('no_such_process', 'GET', `/v1/processes/${p.id}/output`, { role: 'watch' });
        assert.ok(!(await list('watch')).some((x) => x.id === p.id));
        res.destroy();
        events.res.destroy();
    });

    it('stays hidden from a new worker', async () => {
        // One that the next worker finds is ended by it, so what is looked at is that it never shows.
        const file = source('kept', 8 << 20);
        const { events, res, p } = await download(`/dialects/cloudflare/v1/sandbox/sandbox/file${file}`, () => helper(file));
        const old = d.workerPid();
        process.kill(old, 'SIGKILL');
        await d.nextWorker(old);
        await d.refused('no_such_process', 'GET', `/v1/processes/${p.id}/output`, { role: 'watch' });
        assert.ok(!(await list('watch')).some((x) => x.id === p.id));
        await d.request('DELETE', `/v1/processes/${p.id}`);
        res.destroy();
        events.res.destroy();
    });
});
