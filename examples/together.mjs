// SPDX-License-Identifier: Apache-2.0
//
// together.mjs - one terminal for several people
//
// Serves a page for a shared shell. Everyone sees the same screen and who else is
// present. One person types; the others watch and can take over the keyboard. The
// daemon's token stays here: browsers talk to this server, and it talks to the daemon.
//
//   HOLDFAST_URL=… HOLDFAST_TOKEN=… PORT=8090 node examples/together.mjs

import http from 'node:http';
import { WebSocketServer, WebSocket } from '../tests/node_modules/ws/wrapper.mjs';
import { Sandbox } from '../sdk/typescript/dist/index.js';

const sandbox = new Sandbox({ url: process.env.HOLDFAST_URL, token: process.env.HOLDFAST_TOKEN, WebSocket });
const terminal = await sandbox.terminal.create({ command: 'bash', rows: 24, cols: 80, label: 'together' });
/** Maps a name to the socket of its browser. The first one has the keyboard. */
const people = new Map();
let writer = null;

function notifyAll() {
    const names = [...people.keys()];
    if (!people.has(writer)) writer = names[0] ?? null;
    for (const ws of people.values()) ws.send(JSON.stringify({ people: names, writer }));
}

/** Each browser has its own connection to the daemon, so a slow one does not delay the others. */
async function join(ws, name) {
    const connection = terminal.connect({ since: 0, client: name });
    // Before the first await: a browser may disconnect or type while we are still attaching.
    ws.on('message', (data, isBinary) => {
        if (!isBinary) writer = name;
        else if (writer === name) connection.write(data).catch(() => {});
        if (!isBinary) notifyAll();
    });
    ws.on('close', () => {
        people.delete(name);
        void connection.close();
        notifyAll();
    });
    people.set(name, ws);
    notifyAll();
    for await (const event of connection.events()) {
        if (event.type === 'output') ws.send(event.data);
        if (event.type === 'exit') ws.close(1000, 'the shell has ended');
    }
}

const page = `<!doctype html><meta charset="utf-8"><title>together</title>
<style>body{font:14px system-ui;background:#0c1716;color:#d5e3dd;max-width:720px;margin:24px auto}pre{background:#000;padding:12px;min-height:24em;white-space:pre-wrap;outline:none}b{color:#5fd6aa}</style>
<p id=who></p><button id=take>Take the keyboard</button><pre id=screen tabindex=0></pre>
<script>
const ws = new WebSocket(location.href.replace(/^http/, 'ws')), screen = document.getElementById('screen'), text = new TextDecoder();
ws.binaryType = 'arraybuffer';
ws.onmessage = ({ data }) => {
    if (typeof data === 'string') { const m = JSON.parse(data); who.innerHTML = m.people.map((p) => p === m.writer ? '<b>' + p + ' (typing)</b>' : p).join(', '); return; }
    screen.textContent += text.decode(data, { stream: true }).replace(/\\x1b\\[[0-9;?]*[A-Za-z]|\\r/g, '');
    screen.scrollTop = screen.scrollHeight;
};
take.onclick = () => { ws.send('take'); screen.focus(); };
screen.onkeydown = (e) => {
    const special = { Enter: '\\r', Backspace: '\\x7f', Tab: '\\t', Escape: '\\x1b' }[e.key];
    const key = special ?? (e.key.length === 1 ? (e.ctrlKey ? String.fromCharCode(e.key.toUpperCase().charCodeAt(0) & 31) : e.key) : null);
    if (key) { ws.send(new TextEncoder().encode(key)); e.preventDefault(); }
};
</script>`;

const server = http.createServer((request, response) => response.setHeader('Content-Type', 'text/html').end(page));
const sockets = new WebSocketServer({ server });
let guests = 0;
sockets.on('connection', (ws) => join(ws, `guest-${++guests}`).catch((err) => ws.close(1011, err.message.slice(0, 100))));
server.listen(Number(process.env.PORT ?? 8090), '127.0.0.1', () => console.log(`open http://127.0.0.1:${server.address().port} in several browsers`));
process.once('SIGINT', () => terminal.remove().finally(() => process.exit()));
process.once('SIGTERM', () => terminal.remove().finally(() => process.exit()));
