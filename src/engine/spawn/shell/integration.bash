# SPDX-License-Identifier: Apache-2.0
#
# integration.bash - makes an interactive bash mark its prompts and commands
#
# OSC 133 marks: A before the prompt, B after it, C before a command's output, D with its exit
# code after it. OSC 7 reports the directory. This file is read after the user's own files and
# replaces nothing of theirs: their PROMPT_COMMAND runs between ours, and their PS1 is between the
# marks.

if [[ $- == *i* && -z ${__holdfast_ready-} ]]; then
    __holdfast_ready=1
    __holdfast_ran=

    __holdfast_report_directory() {
        local LC_ALL=C path=$PWD out='' c n i
        for ((i = 0; i < ${#path}; i++)); do
            c=${path:i:1}
            case $c in
            [a-zA-Z0-9/._~-]) out+=$c ;;
            *)
                printf -v n '%d' "'$c"
                printf -v c '%%%02X' "$((n & 255))"
                out+=$c
                ;;
            esac
        done
        printf '\e]7;file://%s%s\a' "${HOSTNAME-}" "$out"
    }

    # Both leave $? as it was, for the user's own commands and prompt.
    __holdfast_before_prompt() {
        local code=$?
        [[ -n $__holdfast_ran ]] && printf '\e]133;D;%s\a' "$code"
        __holdfast_ran=
        __holdfast_report_directory
        return "$code"
    }

    # The user's commands may have set another prompt: mark it again.
    __holdfast_mark_prompt() {
        local code=$? a='\[\e]133;A\a\]' b='\[\e]133;B\a\]'
        if [[ ${PS1-} != *"$b" ]]; then
            PS1=${PS1-}
            PS1=${PS1//"$a"/}
            PS1=$a${PS1//"$b"/}$b
        fi
        return "$code"
    }

    # PS0 is expanded when a command has been read; the expansion to nothing records that.
    PS0='\e]133;C\a${__holdfast_ready:0:$((__holdfast_ran = 1, 0))}'${PS0-}

    if ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
        PROMPT_COMMAND=(__holdfast_before_prompt "${PROMPT_COMMAND[@]}" __holdfast_mark_prompt)
    else
        PROMPT_COMMAND=__holdfast_before_prompt$'\n'${PROMPT_COMMAND-}$'\n'__holdfast_mark_prompt
    fi
fi
