# SPDX-License-Identifier: Apache-2.0
#
# env.zsh - the .zshenv of our ZDOTDIR: reads the user's .zshenv, then restores our ZDOTDIR
#
# While a file of the user's is read, ZDOTDIR has the user's value. No file is read inside a
# function, because its declarations would be local there.

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
