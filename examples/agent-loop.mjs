// SPDX-License-Identifier: Apache-2.0
//
// agent-loop.mjs - the typical work of an agent
//
// Starts a server, waits until it reports that it listens, uses it, reads its log, and
// terminates it with all its children. Nothing here polls or sleeps. The processes keep
// running when the daemon restarts, and the SDK repeats an interrupted start or wait.
// Calls that are not safe to repeat, such as `remove`, fail with a ConnectionError.
//
//   HOLDFAST_URL=http://127.0.0.1:7070 HOLDFAST_TOKEN=… node examples/agent-loop.mjs

import { Sandbox } from '../sdk/typescript/dist/index.js';

const WebSocket = globalThis.WebSocket ?? (await import('../tests/node_modules/ws/wrapper.mjs')).WebSocket;
const sandbox = new Sandbox({ url: process.env.HOLDFAST_URL, token: process.env.HOLDFAST_TOKEN, WebSocket });

const program = `
const server = require('node:http').createServer((request, response) => {
    console.log(request.method, request.url);
    response.end('hello ' + request.url.slice(1));
});
server.listen(0, '127.0.0.1', () => console.log('listening on port', server.address().port));
`;

// 1. Start the server. The tag is a name for later calls; the source records who started it.
const server = await sandbox.processes.start({ command: 'node', args: ['-e', program], tag: `server-${process.pid}`, source: 'agent' });
console.log('started', server.id);

// 2. Wait for its message or its exit, whichever comes first.
const ready = await server.waitFor([{ regex: 'listening on port \\d+\\n' }, { exit: true }], { timeoutMs: 20_000 });
if (ready.matched !== 'regex') throw new Error(`the server did not start: ${ready.output.data}`);
const port = /port (\d+)/.exec(ready.output.data)[1];
console.log('ready on port', port);

// 3. Use it from inside the sandbox. Output from offset `next` on is the result of this request.
const reply = await sandbox.exec(`node -e "fetch('http://127.0.0.1:${port}/agent').then(r => r.text()).then(console.log)"`);
console.log('it replied', reply.stdout.trim());
const logged = await server.waitFor({ text: 'GET /agent' }, { from: ready.next, timeoutMs: 20_000 });
console.log('it logged', logged.output.data.trim());

// 4. Terminate it and all its children, and report the result.
const { exit, survivors } = await server.remove({ graceMs: 2000 });
console.log('terminated by', exit.signal ?? exit.code, 'survivors', survivors.length);
