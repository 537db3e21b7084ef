# cuenv: sets and restores the environment of the toolchain that holds in the current directory.
# No process is started while the directory, the variables below and the watched files stay the same.
set -g __cuenv_bin @BIN@
set -g __cuenv_cli @CLI@

function __cuenv_look
    set -l now "$PWD" "$PATH" "$LD_LIBRARY_PATH" "$VIRTUAL_ENV" "$CONDA_PREFIX" "$CUENV_TOOLCHAIN"
    set -a now "$CUENV_SHELL_TOOLCHAIN" "$CUENV_VENV" "$CUENV_HOME" "$CUENV_UNDO"
    for file in $__cuenv_watch
        set -a now $file
        if test -f $file -a -r $file
            set -l text
            read -z text <$file
            set -a now "$text"
        end
    end
    set -g __cuenv_now (string join \x1f -- $now | string collect)
end

function __cuenv_hook --on-event fish_prompt --on-variable PWD
    set -l saved $status
    __cuenv_look
    if test "$__cuenv_now" != "$__cuenv_seen"
        if test -x $__cuenv_bin
            CUENV_HOOK_PAST=$__cuenv_past CUENV_HOOK_SAID=$__cuenv_said \
                $__cuenv_bin hook-env fish @QUIET@ | source
        end
        __cuenv_look
        set -g __cuenv_seen $__cuenv_now
    end
    return $saved
end

function cuenv --wraps $__cuenv_cli
    if test "$argv[1]" = shell; and not contains -- -h $argv; and not contains -- --help $argv
        set -l text (command $__cuenv_cli $argv --eval fish | string collect)
        or return
        printf '%s\n' $text | source
        __cuenv_hook
    else
        command $__cuenv_cli $argv
    end
end
__cuenv_hook
