# cuenv: sets and restores the environment of the toolchain that holds in the current directory.
# No process is started while the directory, the variables below and the watched files stay the same.
use path
use str
var cuenv-bin = @BIN@
var cuenv-watch = []
var cuenv-past = ''
var cuenv-said = ''
var cuenv-seen = ''
fn cuenv-look {
  var now = [$pwd]
  for name [PATH LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX CUENV_TOOLCHAIN CUENV_SHELL_TOOLCHAIN CUENV_VENV CUENV_HOME CUENV_UNDO] {
    if (has-env $name) { set now = [$@now $name'='(get-env $name)] }
  }
  for file $cuenv-watch {
    set now = [$@now $file]
    if (path:is-regular &follow-symlink=$true $file) {
      try { set now = [$@now (slurp < $file)] } catch e { }
    }
  }
  put (str:join "\x1f" $now)
}
fn cuenv-hook {|@ignored|
  if (and (!=s (cuenv-look) $cuenv-seen) (path:is-regular &follow-symlink=$true $cuenv-bin)) {
    try {
      tmp E:CUENV_HOOK_PAST = $cuenv-past
      tmp E:CUENV_HOOK_SAID = $cuenv-said
      var answer = ((external $cuenv-bin) hook-env elvish @QUIET@ | from-json)
      for name $answer[unset] { unset-env $name }
      for name [(keys $answer[set])] { set-env $name $answer[set][$name] }
      set cuenv-watch = $answer[watch]
      set cuenv-past = $answer[past]
      set cuenv-said = $answer[said]
    } catch e { }
    set cuenv-seen = (cuenv-look)
  }
}
set edit:before-readline = [$@edit:before-readline $cuenv-hook~]
set after-chdir = [$@after-chdir $cuenv-hook~]
cuenv-hook
