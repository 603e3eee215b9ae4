# bash completion of dftracerctl and the dftracer_* commands. The client says what there is: dftracerctl --words [COMMAND].
_dftracerctl() {
    local command=${1##*/} word=$2 previous=$3 program=dftracerctl takes='' choices=() short long argument
    [[ $1 != */* ]] || program=${1%/*}/dftracerctl
    COMPREPLY=()
    if [[ $command = dftracerctl ]]; then
        if ((COMP_CWORD == 1)); then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" --words)" -- "$word")
            return
        fi
        command=dftracer_${COMP_WORDS[1]}
    fi
    while read -r short long argument _; do
        [[ $short != "$previous" && $long != "$previous" ]] || takes=$argument
        [[ $short = - ]] || choices+=("$short")
        choices+=("$long")
    done < <("$program" --words "${command#dftracer_}")
    [[ $takes != '['* ]] || takes=${takes//[][]/}'|'${choices[*]} # a value, or the next option
    case $takes,$word in
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${takes//|/ }" -- "$word") ;;
    ,-* | -,-*) mapfile -t COMPREPLY < <(compgen -W "${choices[*]}" -- "$word") ;;
    DIR,*) compopt -o dirnames ;;
    esac
}
complete -o default -F _dftracerctl dftracerctl @NAMES@
