# SPDX-License-Identifier: Apache-2.0
#
# integration.zsh - makes an interactive zsh mark its prompts and commands
#
# The marks are those of integration.bash. This file is read before the user's .zshrc, so that none
# of their aliases affects it; the hooks are added after it. The precmd hook keeps itself last.

__holdfast_report_directory() {
    emulate -L zsh
    setopt no_multibyte extended_glob
    local path_now=$PWD out='' c i
    for ((i = 1; i <= ${#path_now}; i++)); do
        c=${path_now[i]}
        case $c in
        [a-zA-Z0-9/._~-]) out+=$c ;;
        *) out+=%${(l:2::0:)$(([##16] #c))} ;;
        esac
    done
    builtin printf '\e]7;file://%s%s\a' "$HOST" "$out"
}

__holdfast_precmd() {
    local code=$? a=$'%{\e]133;A\a%}' b=$'%{\e]133;B\a%}'
    emulate -L zsh
    [[ -n $__holdfast_ran ]] && builtin printf '\e]133;D;%s\a' $code
    typeset -g __holdfast_ran=
    __holdfast_report_directory
    if [[ $PS1 != *$b ]]; then
        PS1=${PS1//$a/}
        PS1=$a${PS1//$b/}$b
    fi
    if [[ ${precmd_functions[-1]} != __holdfast_precmd ]]; then
        typeset -ga precmd_functions=(${precmd_functions:#__holdfast_precmd} __holdfast_precmd)
    fi
}

__holdfast_preexec() {
    typeset -g __holdfast_ran=1
    builtin printf '\e]133;C\a'
}
