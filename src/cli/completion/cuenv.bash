# bash completion for cuenv. Needs bash 3.2 or newer; bash-completion is not needed.
_cuenv() {
    local line=${COMP_LINE:0:COMP_POINT} current breaks strip how candidate lines
    local -a words
    read -ra words <<<"$line"
    case $line in *[[:space:]]) words+=('') ;; esac
    current=${words[${#words[@]} - 1]}
    # Readline replaces only what follows the last character of COMP_WORDBREAKS, or, if that is `@`, what begins with it.
    strip=
    breaks=${COMP_WORDBREAKS//[^@=:]/}
    [ -z "$breaks" ] || strip=${current%"${current##*[$breaks]}"}
    strip=${strip%@}
    COMPREPLY=()
    lines=$(command cuenv __complete -- "${words[@]}" 2>/dev/null) || return 0
    {
        read -r how
        while IFS=$'\t' read -r candidate _; do
            COMPREPLY+=("${candidate#"$strip"}")
        done
    } <<<"$lines"
    case $how in
        files) while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$current") ;;
        directories) while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -d -- "$current") ;;
        command) while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -c -f -- "$current") ;;
    esac
    [ "$how" = none ] || compopt -o filenames 2>/dev/null
    # A spec goes on after `+` and `@`, an option after `=`.
    case ${COMPREPLY[0]-} in *= | *+ | *@) compopt -o nospace 2>/dev/null ;; esac
    return 0
}
complete -F _cuenv cuenv
