# cuenv: sets and restores the environment of the toolchain that holds in the current directory.
# tcsh has no functions: the hook acts when the directory changes, and a pin that is edited is seen at the next cd.
alias __cuenv_hook 'if ( -x @BIN_IN@ ) eval "`@BIN_IN@ hook-env tcsh @QUIET@`"';
alias cwdcmd '__cuenv_hook';
if ( -x @BIN@ ) eval "`@BIN@ hook-env tcsh @QUIET@`";
