// SPDX-License-Identifier: Apache-2.0
//
// workspace.mjs - a daemon whose /workspace is its own
//
// Clients of some platforms take no other directory than /workspace. Files that ran side by side or one
// after the other would find each other's work there, so the daemon gets a root of its own: the machine's,
// with an empty workspace that is DIR/workspace outside of it, or with none.

import { spawnSync } from 'node:child_process';
import path from 'node:path';

const NAMESPACE = ['unshare', process.getuid() === 0 ? '-m' : '-rm'];

// A file system of our own on /mnt takes one mount of each directory of the machine's root.
const SCRIPT = `
set -e
dir=$(pwd) given=$1
shift
mount -t tmpfs none /mnt
for entry in /*; do
    case $entry in /mnt | /workspace) continue ;; esac
    if [ -L "$entry" ]; then
        cp -P "$entry" /mnt
    elif [ -d "$entry" ]; then
        mkdir "/mnt$entry"
        mount --rbind "$entry" "/mnt$entry"
    fi
done
if [ "$given" = yes ]; then
    mkdir /mnt/workspace workspace
    mount --bind workspace /mnt/workspace
fi
exec chroot /mnt sh -c 'cd "$0" && exec "$@"' "$dir" "$@"
`;

const skip = spawnSync(NAMESPACE[0], [NAMESPACE[1], 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0 && 'no mount namespaces here';
const startedBy = (given) => ({ before: [...NAMESPACE, 'sh', '-c', SCRIPT, 'sh', given], skip });

/** Options of a Daemon with an empty /workspace. */
export const withWorkspace = startedBy('yes');

/** And of one without. */
export const withoutWorkspace = startedBy('no');

/** Where the workspace of a daemon is seen from here. */
export const workspaceOf = (d) => path.join(d.dir, 'workspace');
