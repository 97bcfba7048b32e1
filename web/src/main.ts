// SPDX-License-Identifier: Apache-2.0
//
// main.ts - entry point: signs the user in, then shows the app

import { AuthError } from '@holdfast/sdk';
import { App } from './app.js';
import { fromHash, takeRefusal } from './base.js';
import { signIn } from './dialogs.js';
import { h } from './dom.js';
import { Store } from './store.js';
import { allowOwnStyles } from './styles.js';

async function main(): Promise<void> {
    allowOwnStyles();
    const root = document.getElementById('app')!;
    const store = new Store();
    const refusal = takeRefusal();
    try {
        await store.start(fromHash() || undefined);
    } catch (err) {
        const denied = err instanceof AuthError;
        root.replaceChildren(denied ? signIn(refusal) : h('main', { class: 'sign-in' }, h('div', { class: 'card' }, h('h1', {}, 'holdfast'), h('p', {}, (err as Error).message), h('button', { class: 'primary', onclick: () => location.reload() }, 'Try again'))));
        return;
    }
    const app = new App(store);
    store.onDenied = (reason) => {
        app.stop();
        root.replaceChildren(signIn(`You have been signed out: ${reason}`));
    };
    root.replaceChildren(app.el);
    app.start();
}

void main();
