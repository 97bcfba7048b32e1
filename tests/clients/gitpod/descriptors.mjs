// SPDX-License-Identifier: Apache-2.0
//
// descriptors.mjs - the TerminalService as a FileDescriptorSet, for gRPC clients of other languages
//
// Gitpod publishes generated code for Node alone, and no .proto file. Its readers name every field with its
// number and type, and its service every method, so the descriptors are made from them when a test runs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pb } from './client.mjs';

const require = createRequire(import.meta.url);
const { TerminalServiceService } = require('@gitpod/supervisor-api-grpc/lib/terminal_grpc_pb.js');
const descriptor = require('google-protobuf/google/protobuf/descriptor_pb.js');
const { Type, Label } = descriptor.FieldDescriptorProto;

const PACKAGE = 'supervisor';
const READERS = { String: 'STRING', Uint32: 'UINT32', Int32: 'INT32', Int64: 'INT64', Bool: 'BOOL', Bytes: 'BYTES', Enum: 'ENUM' };
const snake = (name) => name.replace(/\B[A-Z]/g, '_$&').toLowerCase();
const full = (name) => `.${PACKAGE}.${name}`;

function field(name, number, type, { repeated = false, of } = {}) {
    const f = new descriptor.FieldDescriptorProto();
    f.setName(name);
    f.setNumber(number);
    f.setType(Type[`TYPE_${type}`]);
    f.setLabel(repeated ? Label.LABEL_REPEATED : Label.LABEL_OPTIONAL);
    if (of) f.setTypeName(full(of));
    return f;
}

/** A map of strings is a repeated message of its own. */
function mapEntry(name) {
    const entry = new descriptor.DescriptorProto();
    entry.setName(name);
    entry.addField(field('key', 1, 'STRING'));
    entry.addField(field('value', 2, 'STRING'));
    entry.setOptions(new descriptor.MessageOptions());
    entry.getOptions().setMapEntry(true);
    return entry;
}

/** One `case` of the generated reader. */
function addField(message, number, body) {
    const map = /msg\.get(\w+)Map\(\)/.exec(body);
    if (map) {
        assert.equal(body.match(/BinaryReader\.prototype\.readString/g).length, 2, body);
        message.addNestedType(mapEntry(`${map[1]}Entry`));
        message.addField(field(snake(map[1]), number, 'MESSAGE', { repeated: true, of: `${message.getName()}.${map[1]}Entry` }));
        return;
    }
    const [, verb, name] = /msg\.(set|add)(\w+)\(value/.exec(body);
    const nested = /new proto\.supervisor\.(\w+)/.exec(body);
    const of = nested?.[1] ?? /@type \{!proto\.supervisor\.(\w+)\}/.exec(body)?.[1];
    const type = nested ? 'MESSAGE' : READERS[/reader\.read(\w+)\(\)/.exec(body)[1]];
    assert.ok(type, body);
    message.addField(field(snake(name), number, type, { repeated: verb === 'add', of }));
}

function messageOf(name, made) {
    const message = new descriptor.DescriptorProto();
    message.setName(name);
    const cases = made.deserializeBinaryFromReader.toString().matchAll(/case (\d+):([\s\S]*?)\n {4}(?=case|default)/g);
    for (const [, number, body] of cases) addField(message, Number(number), body);
    const names = Object.keys(made).filter((k) => k.endsWith('Case'));
    (made.oneofGroups_ ?? []).forEach((numbers, i) => {
        const oneof = new descriptor.OneofDescriptorProto();
        oneof.setName(snake(names[i].slice(0, -'Case'.length)));
        message.addOneofDecl(oneof);
        message.getFieldList().filter((f) => numbers.includes(f.getNumber())).forEach((f) => f.setOneofIndex(i));
    });
    return message;
}

function enumOf(name, values) {
    const made = new descriptor.EnumDescriptorProto();
    made.setName(name);
    for (const [text, number] of Object.entries(values)) {
        const value = new descriptor.EnumValueDescriptorProto();
        value.setName(text.toLowerCase());
        value.setNumber(number);
        made.addValue(value);
    }
    return made;
}

function serviceOf(definition) {
    const nameOf = (type) => full(Object.keys(pb).find((name) => pb[name] === type));
    const service = new descriptor.ServiceDescriptorProto();
    for (const m of Object.values(definition)) {
        const [, name, method] = /^\/supervisor\.(\w+)\/(\w+)$/.exec(m.path);
        const made = new descriptor.MethodDescriptorProto();
        service.setName(name);
        made.setName(method);
        made.setInputType(nameOf(m.requestType));
        made.setOutputType(nameOf(m.responseType));
        made.setServerStreaming(m.responseStream);
        service.addMethod(made);
    }
    return service;
}

/** Writes a FileDescriptorSet with the one file into a directory, and returns its path. */
export function writeDescriptors(dir) {
    const file = new descriptor.FileDescriptorProto();
    file.setName('terminal.proto');
    file.setPackage(PACKAGE);
    file.setSyntax('proto3');
    for (const [name, made] of Object.entries(pb)) {
        if (typeof made === 'function') file.addMessageType(messageOf(name, made));
        else file.addEnumType(enumOf(name, made));
    }
    file.addService(serviceOf(TerminalServiceService));
    const set = new descriptor.FileDescriptorSet();
    set.addFile(file);
    const at = path.join(dir, 'terminal.pb');
    fs.writeFileSync(at, set.serializeBinary());
    return at;
}
