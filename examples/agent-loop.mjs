// SPDX-License-Identifier: Apache-2.0
//
// agent-loop.mjs - what an agent does all day
//
// Starts a server, waits until it says that it listens, uses it, reads what it
// logged, and ends it with all its children. Nothing here polls or sleeps. A restart
// of the daemon ends nothing: a start and a wait that it cuts are asked for again. What
// might be done twice by that, as `exec` and `remove`, fails with a ConnectionError.
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

// 1. Start it. A tag gives it a name that later calls can use; the source says whose it is.
const server = await sandbox.processes.start({ command: 'node', args: ['-e', program], tag: `server-${process.pid}`, source: 'agent' });
console.log('started', server.id);

// 2. Wait for what it says, or for its end: whichever comes first.
const ready = await server.waitFor([{ regex: 'listening on port \\d+\\n' }, { exit: true }], { timeoutMs: 20_000 });
if (ready.matched !== 'regex') throw new Error(`the server did not start: ${ready.output.data}`);
const port = /port (\d+)/.exec(ready.output.data)[1];
console.log('ready on port', port);

// 3. Use it, from inside of the sandbox. What follows `next` is what this made it say.
const answer = await sandbox.exec(`node -e "fetch('http://127.0.0.1:${port}/agent').then(r => r.text()).then(console.log)"`);
console.log('it answered', answer.stdout.trim());
const logged = await server.waitFor({ text: 'GET /agent' }, { from: ready.next, timeoutMs: 20_000 });
console.log('it logged', logged.output.data.trim());

// 4. End it and all that it started, and know how it went.
const { exit, survivors } = await server.remove({ graceMs: 2000 });
console.log('ended by', exit.signal ?? exit.code, 'survivors', survivors.length);
