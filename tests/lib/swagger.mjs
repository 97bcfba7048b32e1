// SPDX-License-Identifier: Apache-2.0
//
// swagger.mjs - holds replies to a platform's Swagger 2.0 document, with no key that it does not have
//
// The document comes from a published package. What encodes in Go writes null for an empty list or map, so
// null is an array or an object here, as it is to the clients.

import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';
import { INVENTED } from './replies.mjs';

const escape = (s) => s.replaceAll('~', '~0').replaceAll('/', '~1');

/** JSON Schema of a Swagger schema: closed, and nullable where Swagger's extension or Go's encoder says so. */
function closed(schema, isPart = false) {
    if (Array.isArray(schema)) return schema.map((s) => closed(s));
    if (schema === null || typeof schema !== 'object') return schema;
    const { example: _example, examples: _examples, discriminator: _d, ...out } = schema;
    if (out.properties) out.properties = Object.fromEntries(Object.entries(out.properties).map(([k, v]) => [k, closed(v)]));
    if (out.items) out.items = closed(out.items);
    if (out.allOf) out.allOf = out.allOf.map((s) => closed(s, true));
    if (typeof out.additionalProperties === 'object') out.additionalProperties = closed(out.additionalProperties);
    if (!isPart && (out.properties || out.allOf) && out.additionalProperties === undefined) out.unevaluatedProperties = false;
    const isNullable = schema['x-nullable'] || ['array', 'object'].includes(out.type);
    if (isNullable && typeof out.type === 'string') out.type = [out.type, 'null'];
    if (isNullable && out.enum) out.enum = [...out.enum, null];
    if (schema['x-nullable'] && out.$ref) return { anyOf: [{ $ref: out.$ref }, { type: 'null' }] };
    return out;
}

/** Names of definitions that are a part of others, which are open by themselves. */
function parts(schema, found = new Set()) {
    if (schema === null || typeof schema !== 'object') return found;
    for (const s of schema.allOf ?? []) if (s.$ref) found.add(s.$ref.split('/').at(-1));
    for (const value of Object.values(schema)) parts(value, found);
    return found;
}

export class Swagger {
    constructor(doc) {
        this.doc = doc;
        const inner = parts(doc.definitions);
        const definitions = Object.fromEntries(Object.entries(doc.definitions).map(([name, s]) => [name, closed(s, inner.has(name))]));
        const responses = {};
        for (const [path, item] of Object.entries(doc.paths))
            for (const [method, op] of Object.entries(item))
                for (const [status, response] of Object.entries(op.responses ?? {}))
                    if (response.schema) responses[`${method.toUpperCase()} ${path} ${status}`] = closed(response.schema);
        this.responses = responses;
        this.ajv = new Ajv2020.default({ strict: false, allErrors: true, validateSchema: false, validateFormats: false });
        this.ajv.addSchema({ definitions, responses }, 'swagger');
        this.routes = Object.keys(doc.paths)
            .map((path) => ({ path, re: new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`) }))
            .sort((a, b) => a.path.includes('{') - b.path.includes('{'));
    }

    /** Faults of a body; `key` names the response. */
    faults(key, body) {
        const pointer = `#/responses/${escape(key)}`.split('/').map(encodeURIComponent).join('/').replace('%23', '#');
        const validate = this.ajv.compile({ $ref: `swagger${pointer}` });
        return validate(body) ? [] : validate.errors.map((e) => `${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`);
    }

    /** Every recorded reply of a call that the document has; `elsewhere` is the response that errors have whose status it lacks. */
    check(records, elsewhere) {
        const wrong = [];
        for (const { what, body, call } of records) {
            const route = this.routes.find((r) => r.re.test(call.path) && this.doc.paths[r.path][call.method.toLowerCase()]);
            if (!route) {
                wrong.push(`${what}: the document has no such call`);
                continue;
            }
            const own = `${call.method} ${route.path} ${call.status}`;
            const key = this.responses[own] ? own : elsewhere;
            if (!this.responses[own] && call.status < 400) {
                if (body !== null || !this.doc.paths[route.path][call.method.toLowerCase()].responses[call.status]) wrong.push(`${what}: the document has no such reply`);
                continue;
            }
            wrong.push(...this.faults(key, body).map((f) => `${what}: ${f}\n    ${JSON.stringify(body).slice(0, 3000)}`));
            const invented = Array.isArray(body) ? [{ ...body[0], [INVENTED]: 1 }] : { ...body, [INVENTED]: 1 };
            if (!this.faults(key, invented).some((f) => f.includes(INVENTED))) wrong.push(`${what}: ${key} accepts any key, so it proves nothing`);
        }
        assert.deepEqual([...new Set(wrong)], []);
    }
}
