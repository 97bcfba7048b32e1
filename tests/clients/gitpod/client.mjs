// SPDX-License-Identifier: Apache-2.0
//
// client.mjs - Gitpod's own client of the TerminalService, with promises around it

import { createRequire } from 'node:module';
import { after } from '../../lib/test.mjs';
import { waitUntil, within } from '../../lib/wait.mjs';

const require = createRequire(import.meta.url);
export const grpc = require('@grpc/grpc-js');
export const pb = require('@gitpod/supervisor-api-grpc/lib/terminal_pb.js');
const { TerminalServiceClient } = require('@gitpod/supervisor-api-grpc/lib/terminal_grpc_pb.js');

/** The daemon's listener of this dialect: the second that it announced. */
export const OPTIONS = { args: ['--dialect', 'gitpod=127.0.0.1:0'], gateway: false };
export const portOf = (d) =>
    Number(new URL(/gitpod\S* listening on (\S+)/.exec(d.stdout + d.stderr)?.[1] ?? d.urls.at(-1)).port);

const metadata = (values) => {
    const m = new grpc.Metadata();
    for (const [k, v] of Object.entries(values)) m.set(k, v);
    return m;
};

/** One connection, with the token of this role in the metadata. */
export class Terminals {
    constructor(d, { role = 'own', header = 'authorization', options = {} } = {}) {
        this.raw = new TerminalServiceClient(`127.0.0.1:${portOf(d)}`, grpc.credentials.createInsecure(), options);
        const token = role === null ? null : (d.tokens[role] ?? role);
        this.metadata = metadata(
            token === null ? {} : { [header]: header === 'authorization' ? `Bearer ${token}` : token },
        );
    }

    call(method, message, options = {}) {
        return within(
            new Promise((ok, no) =>
                this.raw[method](message, this.metadata, options, (err, r) => (err ? no(err) : ok(r))),
            ),
            30000,
            method,
        );
    }

    async open({ shell = '/bin/bash', args = ['--norc', '--noprofile'], env = {}, workdir, annotations = {}, size } = {}) {
        const o = new pb.OpenTerminalRequest();
        o.setShell(shell);
        o.setShellArgsList(args);
        if (workdir) o.setWorkdir(workdir);
        for (const [k, v] of Object.entries(env)) o.getEnvMap().set(k, v);
        for (const [k, v] of Object.entries(annotations)) o.getAnnotationsMap().set(k, v);
        if (size) o.setSize(sizeOf(size));
        const r = await this.call('open', o);
        return { ...plain(r.getTerminal()), token: r.getStarterToken() };
    }

    async list() {
        return (await this.call('list', new pb.ListTerminalsRequest())).getTerminalsList().map(plain);
    }

    async get(alias) {
        const q = new pb.GetTerminalRequest();
        q.setAlias(alias);
        return plain(await this.call('get', q));
    }

    async write(alias, data, options) {
        const q = new pb.WriteTerminalRequest();
        q.setAlias(alias);
        q.setStdin(Buffer.from(data));
        return (await this.call('write', q, options)).getBytesWritten();
    }

    setSize(alias, size, { token, force } = {}) {
        const q = new pb.SetTerminalSizeRequest();
        q.setAlias(alias);
        if (token !== undefined) q.setToken(token);
        if (force !== undefined) q.setForce(force);
        if (size) q.setSize(sizeOf(size));
        return this.call('setSize', q);
    }

    setTitle(alias, title) {
        const q = new pb.SetTerminalTitleRequest();
        q.setAlias(alias);
        q.setTitle(title);
        return this.call('setTitle', q);
    }

    annotate(alias, changed, deleted = []) {
        const q = new pb.UpdateTerminalAnnotationsRequest();
        q.setAlias(alias);
        for (const [k, v] of Object.entries(changed)) q.getChangedMap().set(k, v);
        q.setDeletedList(deleted);
        return this.call('updateAnnotations', q);
    }

    shutdown(alias) {
        const q = new pb.ShutdownTerminalRequest();
        q.setAlias(alias);
        return this.call('shutdown', q);
    }

    listen(alias, options = {}) {
        const q = new pb.ListenTerminalRequest();
        q.setAlias(alias);
        return new Listener(this.raw.listen(q, this.metadata, options), options);
    }

    close() {
        this.raw.close();
    }
}

const sizeOf = ([rows, cols]) => {
    const s = new pb.TerminalSize();
    s.setRows(rows);
    s.setCols(cols);
    return s;
};

export const plain = (t) => ({
    alias: t.getAlias(),
    command: t.getCommandList(),
    title: t.getTitle(),
    pid: t.getPid(),
    initialWorkdir: t.getInitialWorkdir(),
    currentWorkdir: t.getCurrentWorkdir(),
    annotations: Object.fromEntries(t.getAnnotationsMap().getEntryList()),
    titleSource: t.getTitleSource(),
});

/** A Listen: what came, in order, and how it ended. */
export class Listener {
    constructor(call, { paused = false } = {}) {
        this.call = call;
        this.items = [];
        this.parts = [];
        this.length = 0;
        this.end = new Promise((done) => {
            call.on('end', () => done({ code: 0 }));
            call.on('error', (err) => done(err));
        });
        this.end.then((e) => (this.ended = e));
        if (!paused) this.read();
    }

    read() {
        this.call.on('data', (m) => {
            const Case = pb.ListenTerminalResponse.OutputCase;
            const kind = m.getOutputCase();
            if (kind === Case.DATA) {
                this.parts.push(Buffer.from(m.getData_asU8()));
                this.length += m.getData_asU8().length;
                this.items.push({ data: m.getData_asU8().length });
            } else if (kind === Case.EXIT_CODE) this.items.push({ exit: m.getExitCode() });
            else if (kind === Case.TITLE) this.items.push({ title: m.getTitle(), source: m.getTitleSource() });
            else this.items.push({});
        });
        return this;
    }

    get bytes() {
        return Buffer.concat(this.parts);
    }

    get text() {
        return this.bytes.toString();
    }

    sees(text) {
        return waitUntil(() => this.text.includes(text), `"${text}" among ${JSON.stringify(this.text.slice(-300))}`, 20000);
    }

    titled(title, source = 0) {
        return waitUntil(
            () => {
                const last = this.items.filter((i) => 'title' in i).at(-1);
                return last?.title === title && last.source === source;
            },
            `the title ${title} among ${JSON.stringify(this.items.filter((i) => 'title' in i))}`,
            20000,
        );
    }
}

/** Clients of a daemon, all closed with its tests. */
export function clientsOf(d) {
    const all = [];
    after(() => all.forEach((c) => c.close()));
    return (options) => {
        const c = new Terminals(d, options);
        all.push(c);
        return c;
    };
}
