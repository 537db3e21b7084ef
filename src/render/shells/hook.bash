# cuenv: sets and restores the environment of the toolchain that holds in the current directory.
# No process is started while the directory, the variables below and the watched files stay the same.
__cuenv_bin=@BIN@
__cuenv_cli=@CLI@

__cuenv_look() {
  local file line count most
  __cuenv_now="${PWD-}|${PATH-}|${LD_LIBRARY_PATH-}|${VIRTUAL_ENV-}|${CONDA_PREFIX-}|${CUENV_TOOLCHAIN-}"
  __cuenv_now="$__cuenv_now|${CUENV_SHELL_TOOLCHAIN-}|${CUENV_VENV-}|${CUENV_HOME-}|${CUENV_UNDO-}"
  for file in ${__cuenv_watch[@]+"${__cuenv_watch[@]}"}; do
    __cuenv_now="$__cuenv_now|$file:"
    if [ -f "$file" ] && [ -r "$file" ]; then
      count=0 most=100
      case $file in
        */activation) most=3 ;;
        */.cuenv.lock) most=7 ;;
      esac
      while [ "$count" -lt "$most" ] && { IFS= read -r line || [ -n "$line" ]; }; do
        __cuenv_now="$__cuenv_now$line|"
        count=$((count + 1))
      done 2>/dev/null <"$file"
    fi
  done
  return 0
}

__cuenv_hook() {
  local __cuenv_status=$? __cuenv_text
  __cuenv_look
  if [ "$__cuenv_now" != "${__cuenv_seen-}" ]; then
    if [ -x "$__cuenv_bin" ] && __cuenv_text=$(CUENV_HOOK_PAST=${__cuenv_past-} \
      CUENV_HOOK_SAID=${__cuenv_said-} "$__cuenv_bin" hook-env bash @QUIET@); then
      eval "$__cuenv_text"
    fi
    __cuenv_look
    __cuenv_seen=$__cuenv_now
  fi
  # Under `set -e` a prompt command that fails would end the shell.
  case $- in *e*) return 0 ;; esac
  return "$__cuenv_status"
}

cuenv() {
  local __cuenv_text
  case " $* " in
    " shell "*" -h "* | " shell "*" --help "*) command "$__cuenv_cli" "$@" ;;
    " shell "*)
      __cuenv_text=$(command "$__cuenv_cli" "$@" --eval bash) || return
      eval "$__cuenv_text"
      __cuenv_hook
      ;;
    *)
      # bash tells nobody of a `cd` before its next prompt.
      __cuenv_hook || :
      command "$__cuenv_cli" "$@"
      ;;
  esac
}

case "${PROMPT_COMMAND[*]-}" in
  *__cuenv_hook*) ;;
  *)
    case "$(declare -p PROMPT_COMMAND 2>/dev/null)" in
      "declare -a"*) PROMPT_COMMAND[0]="__cuenv_hook${PROMPT_COMMAND[0]:+;${PROMPT_COMMAND[0]}}" ;;
      *) PROMPT_COMMAND="__cuenv_hook${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;
    esac
    ;;
esac
__cuenv_hook || :
