# cuenv: sets and restores the environment of the toolchain that holds in the current directory.
# No process is started while the directory, the variables below and the watched files stay the same.
typeset -g __cuenv_bin=@BIN@
typeset -g __cuenv_cli=@CLI@
typeset -ga __cuenv_watch

__cuenv_look() {
  emulate -L zsh
  local file line most
  local -i count
  __cuenv_now="${PWD-}|${PATH-}|${LD_LIBRARY_PATH-}|${VIRTUAL_ENV-}|${CONDA_PREFIX-}|${CUENV_TOOLCHAIN-}"
  __cuenv_now="$__cuenv_now|${CUENV_SHELL_TOOLCHAIN-}|${CUENV_VENV-}|${CUENV_HOME-}|${CUENV_UNDO-}"
  for file in "${__cuenv_watch[@]}"; do
    __cuenv_now="$__cuenv_now|$file:"
    if [[ -f $file && -r $file ]]; then
      count=0 most=100
      case $file in
        */activation) most=3 ;;
        */.cuenv.lock) most=7 ;;
      esac
      while (( count < most )) && { IFS= read -r line || [[ -n $line ]] }; do
        __cuenv_now="$__cuenv_now$line|"
        (( count += 1 ))
      done 2>/dev/null <"$file"
    fi
  done
  return 0
}

__cuenv_apply() {
  emulate -L zsh
  local __cuenv_text
  if [[ -x $__cuenv_bin ]] && __cuenv_text=$(CUENV_HOOK_PAST=${__cuenv_past-} \
    CUENV_HOOK_SAID=${__cuenv_said-} "$__cuenv_bin" hook-env zsh @QUIET@); then
    eval "$__cuenv_text"
  fi
  __cuenv_look
  typeset -g __cuenv_seen=$__cuenv_now
}

__cuenv_hook() {
  local __cuenv_status=$?
  __cuenv_look
  if [[ "$__cuenv_now" != "${__cuenv_seen-}" ]]; then
    __cuenv_apply
  fi
  # Under `set -e` a hook that fails would end the shell.
  [[ -o errexit ]] && return 0
  return $__cuenv_status
}

cuenv() {
  local __cuenv_text
  case " $* " in
    " shell "*" -h "* | " shell "*" --help "*) command "$__cuenv_cli" "$@" ;;
    " shell "*)
      __cuenv_text=$(command "$__cuenv_cli" "$@" --eval zsh) || return
      eval "$__cuenv_text"
      __cuenv_hook
      ;;
    *) command "$__cuenv_cli" "$@" ;;
  esac
}

typeset -ga precmd_functions chpwd_functions
if (( ! ${precmd_functions[(I)__cuenv_hook]} )); then
  precmd_functions=(__cuenv_hook $precmd_functions)
  chpwd_functions=(__cuenv_hook $chpwd_functions)
fi
__cuenv_hook || :
