// SPDX-License-Identifier: Apache-2.0
//
// test.mjs - node:test with a deadline on everything
//
// A test that hangs must fail by its own name, not take the whole run with it.

import * as nodeTest from 'node:test';
import { scaled } from './scale.mjs';

const DEADLINE_MS = scaled(1800000, 300000); // for what hangs: a slow machine must not come near it

const withDeadline =
    (fn) =>
    (name, ...rest) => {
        const options = typeof rest[0] === 'object' ? rest.shift() : {};
        return fn(name, { timeout: DEADLINE_MS, ...options }, ...rest);
    };
const hook = (fn) => (body, options) => fn(body, { timeout: DEADLINE_MS, ...options });

export const it = withDeadline(nodeTest.it);
export const test = withDeadline(nodeTest.test);
export const before = hook(nodeTest.before);
export const after = hook(nodeTest.after);
export const afterEach = hook(nodeTest.afterEach);
export const { describe } = nodeTest;
