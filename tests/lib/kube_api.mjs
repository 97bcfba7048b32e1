// SPDX-License-Identifier: Apache-2.0
//
// kube_api.mjs - a double of the Kubernetes API server: pods, listed in pages of two and watched
//
// It answers as the real one does on the wire: continue, watch, bookmarks, 410 Gone, 401. By HTTP, or
// with `tls` ({ key, cert }) by HTTPS only.

import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';

export class KubeApi {
    pods = new Map();
    version = 10;
    watches = new Set();
    requests = [];
    sockets = new Set();
    token = 'first';
    gone = false;
    stalls = 0; // so many lists end in their middle, and their connections do not
    ignoresLimit = false; // as the real one does where it answers from its cache

    constructor({ namespace = 'boxes', tls } = {}) {
        Object.assign(this, { namespace, tls });
    }

    async start() {
        const answer = (req, res) => this.#answer(req, res);
        this.server = this.tls ? https.createServer(this.tls, answer) : http.createServer(answer);
        this.server.on(this.tls ? 'secureConnection' : 'connection', (s) => {
            this.sockets.add(s);
            s.on('close', () => this.sockets.delete(s));
        });
        await new Promise((done) => this.server.listen(this.port ?? 0, '127.0.0.1', done));
        this.port = this.server.address().port;
        return this;
    }

    close() {
        return new Promise((done) => {
            this.sockets.forEach((s) => s.destroy());
            this.server.close(done);
        });
    }

    pod(name, { label = name, phase = 'Running', ip = '127.0.0.1', ports, deletion, uid = name, created, ready, note } = {}) {
        return {
            metadata: {
                name,
                uid: `uid-of-${uid}`,
                ...(created ? { creationTimestamp: created } : {}),
                labels: { 'holdfast.dev/sandbox': label },
                annotations: { 'holdfast.dev/ports': ports, ...(note ? { note } : {}) },
                resourceVersion: String(++this.version),
                ...(deletion ? { deletionTimestamp: deletion } : {}),
            },
            status: { phase, podIP: ip, ...(ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] }) },
        };
    }

    tell(type, object) {
        this.watches.forEach((res) => res.write(`${JSON.stringify({ type, object })}\n`));
    }

    put(pod, type = 'ADDED') {
        this.pods.set(pod.metadata.name, pod);
        this.tell(type, pod);
    }

    endWatches() {
        const all = [...this.watches];
        this.watches.clear();
        all.forEach((res) => res.end());
    }

    #answer(req, res) {
        const url = new URL(req.url, 'http://k8s');
        const q = url.searchParams;
        this.requests.push({ url: req.url, headers: req.headers });
        res.setHeader('content-type', 'application/json');
        if (req.headers.authorization !== `Bearer ${this.token}`) {
            res.statusCode = 401;
            res.end('{"kind":"Status","code":401}');
            return;
        }
        assert.equal(url.pathname, `/api/v1/namespaces/${this.namespace}/pods`);
        assert.equal(q.get('labelSelector'), 'holdfast.dev/sandbox');
        if (q.get('watch') === 'true') this.#watch(q, res);
        else this.#list(q, res);
    }

    #watch(q, res) {
        assert.equal(q.get('allowWatchBookmarks'), 'true');
        assert.match(q.get('resourceVersion'), /^\d+$/);
        if (this.gone) {
            this.gone = false;
            res.write('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n');
            res.end();
            return;
        }
        res.flushHeaders();
        this.watches.add(res);
        res.on('close', () => this.watches.delete(res));
    }

    #list(q, res) {
        const all = [...this.pods.values()];
        const from = Number(q.get('continue')?.slice(5) ?? 0);
        const metadata = { resourceVersion: String(this.version) };
        const page = this.ignoresLimit ? all.length : 2;
        if (from + page < all.length) metadata.continue = `page/${from + page}`;
        const list = JSON.stringify({ kind: 'PodList', metadata, items: all.slice(from, from + page) });
        if (this.stalls > 0) {
            this.stalls--;
            res.write(list.slice(0, list.length / 2));
        } else {
            res.end(list);
        }
    }
}
