# SPDX-License-Identifier: Apache-2.0
#
# rc.zsh - the .zshrc: restores ZDOTDIR for good, reads the user's .zshrc, then adds our hooks

if (( ${+__holdfast_zdotdir} )); then
    export ZDOTDIR=$__holdfast_zdotdir
else
    unset ZDOTDIR
fi
source $__holdfast_dir/.integration
unset __holdfast_dir __holdfast_zdotdir
if [[ -r ${ZDOTDIR-$HOME}/.zshrc ]]; then
    source ${ZDOTDIR-$HOME}/.zshrc
fi
precmd_functions+=(__holdfast_precmd)
preexec_functions+=(__holdfast_preexec)
