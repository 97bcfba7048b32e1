// SPDX-License-Identifier: Apache-2.0
//
// connect_proxy.mjs - an HTTP proxy that knows CONNECT alone, for clients that have only a domain
//
// Every name leads to the one port, so a client reaches a daemon by the host names of its platform, without DNS.

import http from 'node:http';
import net from 'node:net';

/** Runs `body` with the URL of a proxy whose tunnels all end at `port` of loopback. */
export async function withProxy(port, body) {
    const sockets = new Set();
    const server = http.createServer((_req, res) => res.writeHead(405).end());
    server.on('connect', (_req, client, head) => {
        const daemon = net.connect(port, '127.0.0.1', () => {
            client.write('HTTP/1.1 200 Connection established\r\n\r\n');
            daemon.write(head);
            client.pipe(daemon).pipe(client);
        });
        for (const [one, other] of [[client, daemon], [daemon, client]]) {
            sockets.add(one);
            one.on('error', () => other.destroy());
            one.on('close', () => sockets.delete(one));
        }
    });
    await new Promise((ok) => server.listen(0, '127.0.0.1', ok));
    try {
        return await body(`http://127.0.0.1:${server.address().port}`);
    } finally {
        sockets.forEach((s) => s.destroy());
        await new Promise((ok) => server.close(ok));
    }
}
