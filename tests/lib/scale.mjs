// SPDX-License-Identifier: Apache-2.0
//
// scale.mjs - how much of the big tests runs
//
// HF_TEST_SCALE=full runs the numbers that the project promises; ci (the default)
// runs the same tests smaller, so that the whole command stays short on two cores.

export const FULL = process.env.HF_TEST_SCALE === 'full';
export const scaled = (full, ci) => (FULL ? full : ci);
export const report = (text) => console.log(`${FULL ? 'full' : 'ci'} scale: ${text}`);
