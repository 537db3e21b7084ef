# fish completion for cuenv
function __cuenv_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command cuenv __complete -- $words 2>/dev/null)
    set -l current (commandline -ct)
    switch "$lines[1]"
        case files
            __fish_complete_path $current
        case directories
            __fish_complete_directories $current
        case command
            __fish_complete_path $current
            complete -C "$current"
    end
    if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
end
complete -c cuenv -f -a '(__cuenv_complete)'
