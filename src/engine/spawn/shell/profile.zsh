# SPDX-License-Identifier: Apache-2.0
#
# profile.zsh - the .zprofile of a login shell: reads the user's, like env.zsh

if (( ${+__holdfast_zdotdir} )); then
    ZDOTDIR=$__holdfast_zdotdir
else
    unset ZDOTDIR
fi
if [[ -r ${ZDOTDIR-$HOME}/.zprofile ]]; then
    source ${ZDOTDIR-$HOME}/.zprofile
fi
unset __holdfast_zdotdir
(( ${+ZDOTDIR} )) && __holdfast_zdotdir=$ZDOTDIR
ZDOTDIR=$__holdfast_dir
