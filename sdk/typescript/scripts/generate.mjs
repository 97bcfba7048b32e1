// SPDX-License-Identifier: Apache-2.0
//
// generate.mjs - TypeScript types from the daemon's OpenAPI document
//
// Usage: node scripts/generate.mjs OPENAPI_JSON OUTPUT_TS
// Every schema of the document becomes an exported type of the same name, so
// that the compiler finds a field that the daemon does not have. The output is
// a product of the build and is not kept.

import fs from 'node:fs';
import { pathToFileURL } from 'node:url';

const literal = (v) => JSON.stringify(v);

function objectType(schema, indent) {
    const inner = `${indent}    `;
    const required = new Set(schema.required ?? []);
    const lines = Object.entries(schema.properties ?? {}).map(([name, s]) => {
        const doc = s.description ? `${inner}/** ${s.description.replaceAll('*/', '* /')} */\n` : '';
        return `${doc}${inner}${literal(name)}${required.has(name) ? '' : '?'}: ${typeOf(s, inner)};`;
    });
    const rest = schema.additionalProperties;
    if (lines.length === 0 && rest !== false) {
        return `Record<string, ${rest && typeof rest === 'object' ? typeOf(rest, indent) : 'unknown'}>`;
    }
    return `{\n${lines.join('\n')}\n${indent}}`;
}

function plainType(type, schema, indent) {
    switch (type) {
        case 'string': return 'string';
        case 'integer':
        case 'number': return 'number';
        case 'boolean': return 'boolean';
        case 'null': return 'null';
        case 'array': return `(${schema.items ? typeOf(schema.items, indent) : 'unknown'})[]`;
        case 'object': return objectType(schema, indent);
        default: return 'unknown';
    }
}

function typeOf(schema, indent = '') {
    if (schema === true || schema === undefined) return 'unknown';
    if (schema.$ref) return schema.$ref.split('/').at(-1);
    if ('const' in schema) return literal(schema.const);
    if (schema.enum) return schema.enum.map(literal).join(' | ');
    if (schema.allOf) return schema.allOf.map((s) => `(${typeOf(s, indent)})`).join(' & ');
    const choice = schema.oneOf ?? schema.anyOf;
    if (choice) return choice.map((s) => `(${typeOf(s, indent)})`).join(' | ');
    const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? (schema.properties ? 'object' : '')];
    return types.map((t) => plainType(t, schema, indent)).join(' | ');
}

export function generate(document) {
    const out = [
        '// SPDX-License-Identifier: Apache-2.0',
        '// Made by scripts/generate.mjs from openapi.json; changes here are lost.',
        '',
    ];
    for (const [name, schema] of Object.entries(document.components.schemas)) {
        if (schema.description) out.push(`/** ${schema.description.replaceAll('*/', '* /')} */`);
        out.push(`export type ${name} = ${typeOf(schema)};`, '');
    }
    return out.join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    const [from, to] = process.argv.slice(2);
    const text = generate(JSON.parse(fs.readFileSync(from, 'utf8')));
    // An unchanged file keeps its date, for the sake of make.
    if (!fs.existsSync(to) || fs.readFileSync(to, 'utf8') !== text) fs.writeFileSync(to, text);
}
