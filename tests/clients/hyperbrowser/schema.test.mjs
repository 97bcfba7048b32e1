// SPDX-License-Identifier: Apache-2.0
// Every reply is what the models of PyPI hyperbrowser say it is, strictly. The models have none for errors.

import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';

const a = (name) => ({ python: `hyperbrowser.models.sandbox:${name}` });

withDaemon('hyperbrowser: schemas', {}, (d) => {
    it('the sandbox, commands, processes, terminals and files', async () => {
        const r = new Replies(d, '/dialects/hyperbrowser');
        const json = (body, more) => ({ json: body, ...more });

        const { id, runtime } = await r.call('POST', '/api/sandbox', 200, a('SandboxDetail'), json({ imageName: 'node' }));
        r.note('runtime', a('SandboxRuntimeTarget'), runtime);
        await r.call('GET', `/api/sandbox/${id}`, 200, a('SandboxDetail'));
        await r.call('GET', '/api/sandboxes', 200, a('SandboxListResponse'));

        const [process, result] = [{ key: 'process' }, { key: 'result' }];
        await r.call('POST', '/sandbox/exec', 200, a('SandboxProcessResult'), json({ command: 'sh', args: ['-c', 'echo out; echo err >&2; exit 3'] }, result));
        await r.call('POST', '/sandbox/exec', 200, a('SandboxProcessResult'), json({ command: 'sleep 60', useShell: true, timeoutMs: 100 }, result));
        const cat = await r.call('POST', '/sandbox/processes', 200, a('SandboxProcessSummary'), json({ command: 'cat', args: [], cwd: '/' }, process));
        await r.call('GET', `/sandbox/processes/${cat.id}`, 200, a('SandboxProcessSummary'), process);
        await r.call('GET', '/sandbox/processes', 200, a('SandboxProcessListResponse'));
        await r.call('POST', `/sandbox/processes/${cat.id}/stdin`, 200, null, json({ data: 'x', encoding: 'utf8' }));
        await r.call('POST', `/sandbox/processes/${cat.id}/signal`, 200, a('SandboxProcessSummary'), json({ signal: 'TERM' }, process));
        await r.call('POST', `/sandbox/processes/${cat.id}/wait`, 200, a('SandboxProcessResult'), json({}, result));
        const sleep = await r.call('POST', '/sandbox/processes', 200, a('SandboxProcessSummary'), json({ command: 'sleep', args: ['60'] }, process));
        await r.call('DELETE', `/sandbox/processes/${sleep.id}`, 200, a('SandboxProcessSummary'), process);
        await r.call('GET', '/sandbox/processes?limit=1', 200, a('SandboxProcessListResponse'));

        const pty = { key: 'pty' };
        const terminal = await r.call('POST', '/sandbox/pty', 200, a('SandboxTerminalStatus'), json({ command: 'sh', args: [], rows: 30, cols: 100 }, pty));
        await r.call('GET', `/sandbox/pty/${terminal.id}`, 200, a('SandboxTerminalStatus'), pty);
        await r.call('POST', `/sandbox/pty/${terminal.id}/resize`, 200, a('SandboxTerminalStatus'), json({ rows: 31, cols: 101 }, pty));
        await r.call('POST', `/sandbox/pty/${terminal.id}/kill`, 200, a('SandboxTerminalStatus'), json({ signal: 'KILL' }, pty));
        await r.call('POST', `/sandbox/pty/${terminal.id}/wait`, 200, a('SandboxTerminalStatus'), json({}, pty));

        const dir = path.join(d.dir, 'files');
        const at = (name) => path.join(dir, name);
        await r.call('POST', '/sandbox/files/mkdir', 200, a('SandboxFileMutationResult'), json({ path: dir, parents: true }));
        await r.call('POST', '/sandbox/files/mkdir', 200, a('SandboxFileMutationResult'), json({ path: at('sub') }));
        await r.call('POST', '/sandbox/files/write', 200, a('SandboxFileWriteResult'), json({ path: at('one'), data: 'text', encoding: 'utf8' }));
        await r.call('PUT', `/sandbox/files/upload?path=${encodeURIComponent(at('two'))}`, 200, a('SandboxFileTransferResult'), { body: 'more' });
        fs.symlinkSync('one', at('link'));
        const modes = { headers: { 'Content-Type': 'application/json' } };
        await r.call('POST', '/sandbox/files/read', 200, a('SandboxFileReadResult'), json({ path: at('one'), encoding: 'utf8' }, modes));
        await r.call('POST', '/sandbox/files/read', 200, a('SandboxFileReadResult'), json({ path: at('one'), encoding: 'base64', length: 2 }, modes));
        await r.call('GET', `/sandbox/files?path=${encodeURIComponent(dir)}&depth=1`, 200, a('SandboxFileListResponse'));
        for (const name of ['one', 'sub', 'link']) await r.call('GET', `/sandbox/files/stat?path=${encodeURIComponent(at(name))}`, 200, a('SandboxFileInfo'), { key: 'file' });
        await r.call('POST', '/sandbox/files/move', 200, a('SandboxFileMoveCopyResult'), json({ from: at('one'), to: at('moved') }));
        await r.call('POST', '/sandbox/files/copy', 200, a('SandboxFileMoveCopyResult'), json({ from: at('moved'), to: at('copied') }));
        await r.call('POST', '/sandbox/files/chmod', 200, a('SandboxFileMutationResult'), json({ path: at('moved'), mode: '600' }));
        await r.call('POST', '/sandbox/files/chown', 200, a('SandboxFileMutationResult'), json({ path: at('moved'), uid: globalThis.process.getuid() }));
        await r.call('POST', '/sandbox/files/delete', 200, null, json({ path: dir, recursive: true }));

        await r.call('PUT', `/api/sandbox/${id}/stop`, 200, { python: 'hyperbrowser.models.session:BasicResponse' });
        await r.checkPython();
        const refused = 'it is refused, and the models have none for errors';
        r.checkRoutes(
            'hyperbrowser',
            {
                'GET /sandbox/processes/{id}/stream': 'a stream of events',
                'GET /sandbox/pty/{id}/ws': 'a WebSocket',
                'GET /sandbox/files/download': 'the bytes of a file',
                'POST /sandbox/files/watch': refused,
                'POST /sandbox/files/presign-upload': refused,
                'POST /sandbox/files/presign-download': refused,
            },
            { same: /^\/sandbox\/\{sandbox\}/ },
        );
    });
});
