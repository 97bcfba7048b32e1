// SPDX-License-Identifier: Apache-2.0
//
// files.ts - files of the sandbox: bytes, directories, archives
//
// A path is absolute, or relative to the home directory of `user`. Bodies are streams where the caller has one,
// so a file may be larger than memory.

import type * as api from './api.gen.js';
import { type Camel, camelize } from './camel.js';
import type { HttpClient } from './http.js';
import type { CallOptions } from './process.js';

export interface FileOptions extends CallOptions {
    /** Whose rights apply: a name, a uid or `uid:gid`; the daemon's user by default. */
    user?: string;
}
export interface ReadOptions extends FileOptions {
    /** The first byte; 0 by default. */
    offset?: number;
    /** At most so many bytes. */
    length?: number;
}
export interface WriteOptions extends FileOptions {
    /** Octal, such as `0755`. */
    mode?: string;
    /** Create missing directories; true by default. */
    parents?: boolean;
    /** Add to the end, as the bytes arrive. */
    append?: boolean;
    /** Refuse to replace a file. */
    exclusive?: boolean;
    /** Replace only the version with this `etag`. */
    ifMatch?: string;
}
export interface ListFilesOptions extends FileOptions {
    depth?: number;
    limit?: number;
}
export interface SearchOptions extends FileOptions {
    /** A pattern as in a shell, for the last component. */
    name?: string;
    /** Lines that contain this. */
    text?: string;
    /** Lines that match this POSIX extended expression. */
    regex?: string;
    ignoreCase?: boolean;
    depth?: number;
    limit?: number;
}
export type FileEntry = Camel<api.FileEntry>;
export type FileList = Camel<api.FileList>;
export type SearchAnswer = Camel<api.SearchAnswer>;
export type UnpackAnswer = Camel<api.UnpackAnswer>;
export type FileBody = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;
export type ArchiveFormat = 'tar' | 'tar.gz';

const flag = (on?: boolean) => (on === undefined ? undefined : on ? 1 : 0);

export class Files {
    readonly #http: HttpClient;

    constructor(http: HttpClient) {
        this.#http = http;
    }

    /** The bytes as they arrive. The stream fails if the file is cut short. */
    async readStream(path: string, { user, signal, offset = 0, length }: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
        const part = offset > 0 || length !== undefined;
        if (length === 0) return new Blob([]).stream();
        const end = length === undefined ? '' : offset + length - 1;
        const headers: Record<string, string> = { 'Accept-Encoding': 'identity', ...(part ? { Range: `bytes=${offset}-${end}` } : {}) };
        const answer = await this.#http.request('GET', '/v1/files/content', { query: { path, user }, headers, signal });
        return answer.body ?? new Blob([]).stream();
    }

    async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
        return new Uint8Array(await new Response(await this.readStream(path, options)).arrayBuffer());
    }

    async readText(path: string, options: ReadOptions = {}): Promise<string> {
        return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.read(path, options));
    }

    /** The file appears whole or not at all, unless it is appended to. */
    async write(path: string, body: FileBody, options: WriteOptions = {}): Promise<FileEntry> {
        const { user, mode, parents, append, exclusive, ifMatch, signal } = options;
        const query = { path, user, mode, parents: flag(parents), append: flag(append), exclusive: flag(exclusive) };
        const headers: Record<string, string> = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
        return this.#send('/v1/files/content', query, body, { headers, signal });
    }

    async stat(path: string, { user, signal }: FileOptions = {}): Promise<FileEntry> {
        return camelize(await this.#http.json<api.FileEntry>('GET', '/v1/files/stat', { query: { path, user }, signal }));
    }

    async exists(path: string, options: FileOptions = {}): Promise<boolean> {
        try {
            await this.stat(path, options);
            return true;
        } catch (err) {
            const { code } = err as { code?: string };
            if (code === 'no_such_file' || code === 'not_a_directory') return false;
            throw err;
        }
    }

    async list(path: string, { user, depth, limit, signal }: ListFilesOptions = {}): Promise<FileList> {
        return camelize(await this.#http.json<api.FileList>('GET', '/v1/files/list', { query: { path, user, depth, limit }, signal }));
    }

    async search(path: string, { ignoreCase, signal, ...rest }: SearchOptions): Promise<SearchAnswer> {
        const query = { ...rest, path, case: ignoreCase ? 0 : undefined };
        return camelize(await this.#http.json<api.SearchAnswer>('GET', '/v1/files/search', { query, signal }));
    }

    /** Missing parents are created; an existing directory is no error, unless `exclusive`. */
    async mkdir(path: string, options: FileOptions & { mode?: string; parents?: boolean; exclusive?: boolean } = {}): Promise<FileEntry> {
        return this.#change('mkdir', { path, ...options });
    }

    async move(from: string, to: string, options: FileOptions & { overwrite?: boolean } = {}): Promise<FileEntry> {
        return this.#change('move', { from, to, ...options });
    }

    async copy(from: string, to: string, options: FileOptions & { overwrite?: boolean; recursive?: boolean } = {}): Promise<FileEntry & { skipped: number }> {
        return this.#change('copy', { from, to, ...options });
    }

    async permissions(path: string, options: FileOptions & { mode?: string; owner?: string; group?: string; recursive?: boolean }): Promise<FileEntry> {
        return this.#change('permissions', { path, ...options });
    }

    /** Replaces every occurrence of a text in a file. */
    async replace(path: string, from: string, to: string, options: FileOptions = {}): Promise<FileEntry & { replaced: number }> {
        return this.#change('replace', { path, from, to, ...options });
    }

    async remove(path: string, { user, recursive, signal }: FileOptions & { recursive?: boolean } = {}): Promise<void> {
        await this.#http.request('DELETE', '/v1/files', { query: { path, user, recursive: flag(recursive) }, signal });
    }

    /** A directory, with paths relative to it, or a single file. */
    async readArchive(path: string, { user, format, signal }: FileOptions & { format?: ArchiveFormat } = {}): Promise<ReadableStream<Uint8Array>> {
        const answer = await this.#http.request('GET', '/v1/files/archive', { query: { path, user, format }, signal });
        return answer.body ?? new Blob([]).stream();
    }

    /** Unpacks into the directory, which is created if it is missing. */
    async writeArchive(path: string, body: FileBody, { user, format, signal }: FileOptions & { format?: ArchiveFormat } = {}): Promise<UnpackAnswer> {
        return this.#send('/v1/files/archive', { path, user, format }, body, { signal });
    }

    async #change<T>(call: string, { signal, ...json }: CallOptions & Record<string, unknown>): Promise<T> {
        return camelize(await this.#http.json<object>('POST', `/v1/files/${call}`, { json, signal })) as T;
    }

    /** Not retried: a stream can be sent only once. */
    async #send<T>(path: string, query: Record<string, string | number | undefined>, body: FileBody, more: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<T> {
        const headers = { 'Content-Type': 'application/octet-stream', ...more.headers };
        const answer = await this.#http.json<object>('PUT', path, { query, body: body as BodyInit, headers, signal: more.signal });
        return camelize(answer) as T;
    }
}
