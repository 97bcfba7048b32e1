# SPDX-License-Identifier: Apache-2.0
#
# rc.bash - what an interactive bash reads in place of ~/.bashrc: that file, then our marks

if [[ -r ~/.bashrc ]]; then
    . ~/.bashrc
fi
. "${BASH_SOURCE[0]%/*}/integration.bash"
