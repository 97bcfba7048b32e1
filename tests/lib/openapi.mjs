// SPDX-License-Identifier: Apache-2.0
//
// openapi.mjs - holds every answer to the document that the daemon itself serves
//
// An answer whose path, status, type or shape is not in /openapi.json fails the
// test that got it. So does a request that the daemon accepted though the
// document does not allow it: then the document is wrong.

import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const escape = (s) => s.replaceAll('~', '~0').replaceAll('/', '~1');
const RFC3339_MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export class OpenApi {
    constructor(doc) {
        this.doc = doc;
        this.compiled = new Map();
        this.seen = new Set();
        this.ajv = new Ajv2020.default({ strict: false, allErrors: true, validateSchema: false });
        this.ajv.addFormat('date-time', RFC3339_MS);
        for (const f of ['int32', 'int64', 'uint64', 'binary', 'byte', 'uri', 'uri-reference', 'password', 'regex']) {
            this.ajv.addFormat(f, true);
        }
        this.ajv.addSchema(doc, 'openapi.json');
        this.routes = Object.keys(doc.paths)
            .map((path) => ({
                path,
                literal: !path.includes('{'),
                re: new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '([^/]+)')}$`),
            }))
            .sort((a, b) => b.literal - a.literal);
    }

    /** Follows $ref; returns [object, json pointer]. */
    resolve(object, pointer) {
        while (object && object.$ref) {
            assert.ok(object.$ref.startsWith('#/'), `outside reference ${object.$ref}`);
            pointer = object.$ref.slice(1);
            object = this.at(pointer);
        }
        return [object, pointer];
    }

    at(pointer) {
        const object = pointer
            .split('/')
            .slice(1)
            .map((p) => decodeURIComponent(p).replaceAll('~1', '/').replaceAll('~0', '~'))
            .reduce((o, key) => o?.[key], this.doc);
        assert.notEqual(object, undefined, `dangling reference ${pointer}`);
        return object;
    }

    route(path) {
        const clean = path.split('?')[0];
        return this.routes.find((r) => r.re.test(clean))?.path;
    }

    operation(method, path) {
        const route = this.route(path);
        const op = route && this.doc.paths[route][method.toLowerCase()];
        return op ? { op, pointer: `/paths/${escape(route)}/${method.toLowerCase()}`, route } : null;
    }

    validator(pointer) {
        if (!this.compiled.has(pointer)) {
            const ref = pointer.split('/').map(encodeURIComponent).join('/');
            this.compiled.set(pointer, this.ajv.compile({ $ref: `openapi.json#${ref}` }));
        }
        return this.compiled.get(pointer);
    }

    checkValue(pointer, value, what) {
        const validate = this.validator(pointer);
        if (validate(value)) return;
        const errors = validate.errors.map(
            (e) => `  ${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`,
        );
        assert.fail(
            `${what} does not match openapi.json${pointer}:\n${errors.join('\n')}\n${JSON.stringify(value).slice(0, 1500)}`,
        );
    }

    /** A named schema, as for the WebSocket's messages. */
    checkSchema(name, value) {
        this.checkValue(`/components/schemas/${escape(name)}`, value, name);
    }

    hasSchema(name) {
        return Boolean(this.doc.components?.schemas?.[name]);
    }

    /** Checks an answer; `sent` is the JSON body of the request, if it had one. */
    checkAnswer(method, path, answer, sent) {
        const m = method === 'HEAD' ? 'GET' : method;
        const found = this.operation(m, path);
        const what = `answer ${answer.status} to ${method} ${path}`;
        if (!found) {
            // What the document does not know must be refused, with nothing but a problem.
            assert.ok(
                [400, 401, 403, 404, 405, 501].includes(answer.status) || method === 'OPTIONS',
                `${what}: path or method not in the document`,
            );
            if (method !== 'HEAD' && method !== 'OPTIONS') this.checkProblem(answer, what);
            return;
        }
        this.seen.add(`${m} ${found.route} ${answer.status}`);
        const [response, pointer] = this.response(found, answer.status, what);
        if (method === 'HEAD' || answer.body.length === 0) return;
        const type = Object.keys(response.content ?? {}).find((t) => t === answer.type);
        assert.ok(type, `${what}: type ${answer.type} is not documented (${Object.keys(response.content ?? {})})`);
        if (/json$/.test(type)) {
            this.checkValue(`${pointer}/content/${escape(type)}/schema`, answer.json, what);
        }
        if (answer.status < 300 && sent !== undefined) this.checkRequest(found, sent, `body of ${method} ${path}`);
        if (answer.status < 300) this.checkQuery(found, path);
    }

    response({ op, pointer }, status, what) {
        const key = [String(status), `${String(status)[0]}XX`, 'default'].find((k) => op.responses[k]);
        assert.ok(key, `${what}: status is not documented`);
        return this.resolve(op.responses[key], `${pointer}/responses/${escape(key)}`);
    }

    checkRequest({ op, pointer }, sent, what) {
        assert.ok(op.requestBody, `${what}: the document knows no body here`);
        const [body, at] = this.resolve(op.requestBody, `${pointer}/requestBody`);
        assert.ok(body.content['application/json'], `${what}: JSON is not documented`);
        this.checkValue(`${at}/content/application~1json/schema`, sent, what);
    }

    checkQuery({ op, pointer, route }, path) {
        const params = [...(this.doc.paths[route].parameters ?? []), ...(op.parameters ?? [])]
            .map((p) => this.resolve(p, pointer)[0])
            .filter((p) => p.in === 'query')
            .map((p) => p.name);
        for (const name of new URLSearchParams(path.split('?')[1] ?? '').keys()) {
            assert.ok(params.includes(name), `query parameter ${name} of ${route} is accepted but not documented`);
        }
    }

    checkProblem(answer, what) {
        assert.equal(answer.type, 'application/problem+json', what);
        const p = answer.json;
        for (const key of ['type', 'title', 'code', 'detail']) assert.equal(typeof p[key], 'string', `${what}: ${key}`);
        assert.equal(p.status, answer.status, what);
    }

    /** Every method of every path, as [METHOD, path]. */
    operations() {
        return Object.entries(this.doc.paths).flatMap(([path, item]) =>
            METHODS.filter((m) => item[m]).map((m) => [m.toUpperCase(), path]),
        );
    }
}
