// SPDX-License-Identifier: Apache-2.0
// Every reply is what the types of npm @opencode-ai/sdk say for its call and status; they are generated from OpenCode's OpenAPI document.

import fs from 'node:fs';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { basic } from '../../lib/opencode.mjs';
import { Replies } from '../../lib/replies.mjs';
import { it } from '../../lib/test.mjs';

withDaemon('opencode: schemas', {}, (d) => {
    it('the server, sessions, terminals, and errors', async () => {
        const r = new Replies(d, '/dialects/opencode', { role: null });
        const used = new Set();
        /** A call whose type is NAMEResponses or NAMEErrors at this status. */
        const call = (method, where, name, status = 200, { role = 'own', headers, ...options } = {}) => {
            const type = `${name}${status < 400 ? 'Responses' : 'Errors'}`;
            used.add(type);
            // The document gives some calls another error for a bad body than the server sends, which is BadRequestError.
            const known = status === 400 && !where.startsWith('/api/') ? ' | BadRequestError' : '';
            return r.call(method, where, status, { types: `${type}[${status}]${known}` }, { ...options, headers: { Authorization: basic(d.tokens[role]), 'x-opencode-directory': d.dir, ...headers } });
        };
        const json = (body) => ({ json: body });

        for (const [where, name] of Object.entries({
            '/global/health': 'GlobalHealth', '/global/config': 'GlobalConfigGet', '/path': 'PathGet', '/project': 'ProjectList', '/project/current': 'ProjectCurrent',
            '/config': 'ConfigGet', '/config/providers': 'ConfigProviders', '/agent': 'AppAgents', '/command': 'CommandList', '/vcs': 'VcsGet', '/provider': 'ProviderList',
            '/provider/auth': 'ProviderAuth', '/experimental/capabilities': 'ExperimentalCapabilitiesGet', '/experimental/console': 'ExperimentalConsoleGet',
            '/experimental/resource': 'ExperimentalResourceList', '/experimental/workspace': 'ExperimentalWorkspaceList', '/experimental/workspace/status': 'ExperimentalWorkspaceStatus',
            '/lsp': 'LspStatus', '/mcp': 'McpStatus', '/formatter': 'FormatterStatus', '/skill': 'AppSkills', '/permission': 'PermissionList', '/question': 'QuestionList',
            '/pty/shells': 'PtyShells', '/api/health': 'V2HealthGet',
        })) await call('GET', where, name);

        const s = await call('POST', '/session', 'SessionCreate', 200, json({ title: 'x' }));
        const child = await call('POST', '/session', 'SessionCreate', 200, json({ parentID: s.id }));
        await call('GET', '/session', 'SessionList');
        await call('GET', '/session/status', 'SessionStatus');
        await call('GET', `/session/${s.id}`, 'SessionGet');
        await call('PATCH', `/session/${s.id}`, 'SessionUpdate', 200, json({ title: 'y' }));
        await call('GET', `/session/${s.id}/children`, 'SessionChildren');
        await call('GET', `/session/${s.id}/todo`, 'SessionTodo');
        await call('GET', `/session/${s.id}/diff`, 'SessionDiff');
        const message = await call('POST', `/session/${s.id}/shell`, 'SessionShell', 200, json({ agent: 'build', command: 'echo out; exit 3' }));
        await call('GET', `/session/${s.id}/message`, 'SessionMessages');
        await call('GET', `/session/${s.id}/message/${message.info.id}`, 'SessionMessage');
        await call('POST', `/session/${s.id}/abort`, 'SessionAbort');
        await call('POST', '/session', 'SessionCreate', 400, json({ title: 5 }));
        await call('POST', `/session/${s.id}/shell`, 'SessionShell', 400, json({ agent: 'build' }));
        await call('POST', `/session/${s.id}/command`, 'SessionCommand', 400, json({ arguments: '' }));
        await call('DELETE', `/session/${child.id}`, 'SessionDelete');
        await call('DELETE', `/session/${s.id}`, 'SessionDelete');
        for (const [method, tail, name] of [
            ['GET', '', 'SessionGet'], ['DELETE', '', 'SessionDelete'], ['GET', '/children', 'SessionChildren'], ['GET', '/message', 'SessionMessages'],
        ]) await call(method, `/session/${s.id}${tail}`, name, 404);

        const p = await call('POST', '/pty', 'PtyCreate', 200, json({ command: 'sh', args: ['-c', 'cat'], title: 'x' }));
        await call('GET', '/pty', 'PtyList');
        await call('GET', `/pty/${p.id}`, 'PtyGet');
        await call('PUT', `/pty/${p.id}`, 'PtyUpdate', 200, json({ title: 'y', size: { rows: 30, cols: 100 } }));
        await call('POST', `/pty/${p.id}/connect-token`, 'PtyConnectToken', 200, { headers: { 'x-opencode-ticket': '1' } });
        await call('POST', `/pty/${p.id}/connect-token`, 'PtyConnectToken', 403);
        await call('DELETE', `/pty/${p.id}`, 'PtyRemove');
        await call('GET', `/pty/${p.id}`, 'PtyGet', 404);
        await call('PUT', `/pty/${p.id}`, 'PtyUpdate', 404, json({ title: 'y' }));
        await call('DELETE', `/pty/${p.id}`, 'PtyRemove', 404);
        await call('POST', '/pty', 'PtyCreate', 400, json({ command: 5 }));

        const v2 = await call('POST', '/api/pty', 'V2PtyCreate', 200, json({ command: 'cat' }));
        await call('GET', '/api/pty', 'V2PtyList');
        await call('GET', `/api/pty/${v2.data.id}`, 'V2PtyGet');
        await call('PUT', `/api/pty/${v2.data.id}`, 'V2PtyUpdate', 200, json({ title: 'y' }));
        await call('POST', `/api/pty/${v2.data.id}/connect-token`, 'V2PtyConnectToken', 200, { headers: { 'x-opencode-ticket': '1' } });
        await r.call('DELETE', `/api/pty/${v2.data.id}`, 204, null, { headers: { Authorization: basic(d.token) } });
        await call('GET', `/api/pty/${v2.data.id}`, 'V2PtyGet', 404);
        await call('POST', '/api/pty', 'V2PtyCreate', 400, json({ command: 5 }));
        fs.mkdirSync(path.join(d.dir, 'sub'));
        fs.writeFileSync(path.join(d.dir, 'sub/text'), 'one TODO\n');
        fs.writeFileSync(path.join(d.dir, 'sub/bytes'), Buffer.from([0, 255, 1]));
        await call('GET', '/file?path=sub', 'FileList');
        for (const name of ['text', 'bytes', 'none']) await call('GET', `/file/content?path=sub/${name}`, 'FileRead');
        await call('GET', '/file/status', 'FileStatus');
        await call('GET', '/find?pattern=TODO', 'FindText');
        await call('GET', '/find/file?query=text', 'FindFiles');
        await call('GET', '/find/symbol?query=text', 'FindSymbols');
        await call('GET', '/api/fs/list?path=sub', 'V2FsList');
        await call('GET', '/api/fs/find?query=text', 'V2FsFind');
        await call('GET', '/file', 'FileList', 400);
        await call('GET', '/api/fs/list?path=..', 'V2FsList', 400);
        await call('POST', '/instance/dispose', 'InstanceDispose');

        await r.checkTypes([`import type { BadRequestError, ${[...used].join(', ')} } from '@opencode-ai/sdk/v2/types';`]);
        const stream = 'a stream of events';
        const slash = 'the same with a slash';
        r.checkRoutes('opencode', {
            'GET /api/fs/read/': 'the bytes of a file', 'GET /global/event': stream, 'GET /event': stream, 'GET /pty/{id}/connect': 'a WebSocket', 'GET /api/pty/{id}/connect': 'a WebSocket',
            'GET /global/health/': slash, 'GET /session/': slash, 'POST /session/': slash, 'GET /pty/': slash, 'POST /pty/': slash, 'GET /api/pty/': slash, 'POST /api/pty/': slash,
        });
    });
});
