# SPDX-License-Identifier: Apache-2.0
#
# tools-path.sh - puts the tools of this checkout in front of PATH. Sourced from its root.
PATH=$PWD/.tools/bin:$PATH
npm_config_cache=$PWD/.tools/npm-cache
export PATH npm_config_cache
