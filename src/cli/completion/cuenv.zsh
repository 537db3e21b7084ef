#compdef cuenv
# zsh completion for cuenv: as `_cuenv` in a directory of $fpath, or sourced after compinit.
_cuenv() {
    local -a lines found
    local line how
    lines=("${(@f)$(command cuenv __complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    how=${lines[1]-}
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        # A colon separates the two parts for _describe.
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#found )) && _describe -t cuenv 'cuenv' found
    case $how in
        files) _files ;;
        directories) _files -/ ;;
        command) _files; _command_names -e ;;
    esac
}
if [[ ${funcstack[1]-} = _cuenv ]]; then
    _cuenv "$@"
elif (( $+functions[compdef] )); then
    compdef _cuenv cuenv
fi
