# SPDX-License-Identifier: Apache-2.0
#
# versions.sh - the tools this checkout needs, and the versions it brings. Sourced by scripts/setup-tools.
#
# A tool on PATH is used if it is at least this new. Otherwise setup-tools installs the
# version pinned in node.txt or go.txt, below .tools/ in this checkout.

NODE_MIN_PAGE=20   # esbuild and TypeScript
NODE_MIN_TESTS=22  # what the newest published clients ask for
NPM_MIN=10         # npm 9 cannot read a lock file with overrides of aliased packages
GO_MIN=1.26        # tests/go/go.mod
