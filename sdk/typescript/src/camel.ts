// SPDX-License-Identifier: Apache-2.0
//
// camel.ts - converts between the daemon's snake_case and TypeScript's camelCase
//
// Types and values are converted by the same rule, so the types of this package
// follow the OpenAPI document. User data is not converted: the keys in `env` and
// `metadata`, at any depth.

type CamelKey<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelKey<B>>}` : S;
type Verbatim = 'metadata' | 'env';

/** The same shape with camelCase names. */
export type Camel<T> = T extends readonly (infer U)[]
    ? Camel<U>[]
    : T extends object
      ? { [K in keyof T as CamelKey<K & string>]: K extends Verbatim ? T[K] : Camel<T[K]> }
      : T;

const verbatim = new Set<string>(['metadata', 'env']);
const toCamel = (key: string) => key.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
const toSnake = (key: string) => key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

function rename(value: unknown, key: (k: string) => string): unknown {
    if (Array.isArray(value)) return value.map((v) => rename(v, key));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
        Object.entries(value)
            .filter(([, v]) => v !== undefined)
            .map(([k, v]) => [key(k), verbatim.has(k) ? v : rename(v, key)]),
    );
}

export const camelize = <T>(value: T): Camel<T> => rename(value, toCamel) as Camel<T>;
export const snakeize = (value: unknown): unknown => rename(value, toSnake);
