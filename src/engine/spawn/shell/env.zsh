# SPDX-License-Identifier: Apache-2.0
#
# env.zsh - the .zshenv of the directory that ZDOTDIR names at the start: the user's, and back
#
# While a file of the user's is read, ZDOTDIR is theirs. Nothing is read inside a function, because
# what it declares would be local there.

__holdfast_dir=$ZDOTDIR
if (( ${+HOLDFAST_ZDOTDIR} )); then
    ZDOTDIR=$HOLDFAST_ZDOTDIR
    unset HOLDFAST_ZDOTDIR
else
    unset ZDOTDIR
fi
if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
    source ${ZDOTDIR-$HOME}/.zshenv
fi
(( ${+ZDOTDIR} )) && __holdfast_zdotdir=$ZDOTDIR
ZDOTDIR=$__holdfast_dir
