# SPDX-License-Identifier: Apache-2.0
#
# profile.bash - what a login bash would read, then our marks
#
# A login shell ignores the option that names an rc file, so this bash is not started as one.

if [[ -r /etc/profile ]]; then
    . /etc/profile
fi
if [[ -r ~/.bash_profile ]]; then
    . ~/.bash_profile
elif [[ -r ~/.bash_login ]]; then
    . ~/.bash_login
elif [[ -r ~/.profile ]]; then
    . ~/.profile
fi
. "${BASH_SOURCE[0]%/*}/integration.bash"
