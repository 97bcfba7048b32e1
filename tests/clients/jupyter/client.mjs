// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published client with a daemon's address, and its terminals.

import { PageConfig } from '@jupyterlab/coreutils';
import { ServerConnection, TerminalAPI, TerminalManager } from '@jupyterlab/services';
import WebSocket from 'ws';
import { waitUntil } from '../../lib/wait.mjs';

export const BASE = '/dialects/jupyter';
export { TerminalAPI };
PageConfig.setOption('terminalsAvailable', 'true'); // a Jupyter server's page says so
console.warn = () => {}; // the client reports each socket that closes

/** As JupyterLab does it: the token in a header, and in the query of a WebSocket. */
export function settingsOf(d, more = {}) {
    const baseUrl = `${d.url}${BASE}/`;
    return ServerConnection.makeSettings({
        baseUrl,
        wsUrl: baseUrl.replace('http', 'ws'),
        token: d.token,
        appendToken: true,
        WebSocket,
        ...more,
    });
}

const managers = new Set();

export function managerOf(d, more) {
    const manager = new TerminalManager({ serverSettings: settingsOf(d, more) });
    managers.add(manager);
    return manager;
}

/** After the tests of a file: a manager polls until it is disposed. */
export const disposeManagers = () => managers.forEach((m) => m.dispose());

/** A terminal of the client, and what it has received. */
export class Seen {
    constructor(connection) {
        this.t = connection;
        this.text = '';
        this.statuses = [connection.connectionStatus];
        connection.messageReceived.connect((_, m) => {
            if (m.type === 'stdout') this.text += m.content[0];
        });
        connection.connectionStatusChanged.connect((_, status) => this.statuses.push(status));
        this.disposed = new Promise((done) => connection.disposed.connect(() => done()));
    }
    type(...content) {
        this.t.send({ type: 'stdin', content });
    }
    size(rows, cols) {
        this.t.send({ type: 'set_size', content: [rows, cols, rows * 20, cols * 9] });
    }
    connected() {
        return waitUntil(() => this.t.connectionStatus === 'connected', 'the setup');
    }
    sees(what) {
        return waitUntil(() => this.text.includes(what), `${JSON.stringify(what)} in ${JSON.stringify(this.text)}`);
    }
}
