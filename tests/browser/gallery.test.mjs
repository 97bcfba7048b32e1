// SPDX-License-Identifier: Apache-2.0
// The page as people will see it first: a screen with work on it. HF_PICTURES=1 keeps its pictures.

import { it } from '../lib/test.mjs';
import { withBrowser } from '../lib/browser.mjs';

const BUILD = [
    'printf "\\033[2J\\033[H"',
    'for f in base/buf base/clock base/crypto base/json engine/journal engine/process engine/viewer transport/http1 transport/ws_codec; do printf "  \\033[36mCC\\033[0m  src/$f.c\\n"; done',
    'printf "  \\033[35mLD\\033[0m  build/holdfast\\n\\n\\033[1;32m✓ 412 passed\\033[0m, \\033[2m0 failed\\033[0m in 6.1 s\\n\\n"',
    'exec bash --norc',
].join('; ');
const SERVER = 'echo "listening on http://127.0.0.1:8080"; n=0; while [ $n -lt 14 ]; do n=$((n+1)); printf "\\033[2m12:0$((n%10)):11\\033[0m GET /api/items/%d \\033[32m200\\033[0m %d ms\\n" $n $((n*7%23+2)); done; sleep 600';

withBrowser('a screen with work on it', {}, (d, visit) => {
    it('shows tabs, a split, previews and colours', async () => {
        const pty = { rows: 40, cols: 100 };
        const env = { PS1: '\\[\\e[32m\\]~/work\\[\\e[0m\\] $ ' };
        const build = await d.spawn({ command: 'sh', args: ['-c', BUILD], pty, env, label: 'build' });
        await d.spawn({ command: 'sh', args: ['-c', SERVER], pty, label: 'dev server', tag: 'server' });
        await d.spawn({ command: 'sh', args: ['-c', 'echo migrating; exit 3'], pty, label: 'migrate' });
        const u = await visit({ hash: `#${build.id}` });
        await u.shows('passed');
        await u.page.locator('.item', { hasText: 'dev server' }).click();
        await u.shows('listening');
        await u.page.locator('.item', { hasText: 'build' }).click();
        await u.page.keyboard.press('Control+Shift+E');
        await u.page.locator('.view:visible .pane[data-state=connected]').nth(1).waitFor();
        await u.type("PS1='\\[\\e[36m\\]holdfast\\[\\e[0m\\] $ '; clear\n");
        await u.type('vim -u NONE -n -N -c "syntax on" -c "set number" /etc/profile\n');
        await u.shows('profile');
        await u.page.locator('.preview:visible').nth(1).waitFor();
        await u.picture('page');
        await u.page.keyboard.press('Control+Shift+P');
        await u.page.keyboard.type('s');
        await u.picture('palette');
        await u.leave();
        await d.removeAll();
    });
});
