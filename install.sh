#!/bin/sh
# Installs cuenv for the user who runs it: no root, no sudo, nothing outside the home directory.
#
# Where the two programs come from, first that holds:
#   --from ARCHIVE        a release archive on this machine; no network
#   beside this script    an unpacked release archive
#   a release             when this copy of the script carries the sha256 of its archives (a release's copy does)
#   a checkout            builds the sources that this script stands in, with cargo
#
# POSIX sh: dash, busybox, bash, ksh. All code is in functions and the last line calls them, so that half a script,
# as a cut download leaves it, does nothing.

# shellcheck disable=SC2016 # backticks in single quotes are how messages mark what a person types
set -u

# A release fills these in. Empty: this is the copy of a checkout.
RELEASE_VERSION=''
RELEASE_BASE=''
SHA256_LINUX_X86_64=''
SHA256_LINUX_AARCH64=''

MARK_BEGIN='# >>> cuenv >>>'
MARK_BEGIN_JOINED='# >>> cuenv >>> (a newline was added before this line)'
MARK_END='# <<< cuenv <<<'

usage() {
    cat <<'TEXT'
Installs cuenv and its shim for the user who runs it

Usage: install.sh [OPTIONS]

Options:
      --from ARCHIVE    install this release archive (.tar.gz); no network is used
      --sha256 HEX      the archive's sha256, when no SHA256SUMS lies beside it
      --modify-path     put the `env` line into the shells' start-up files, between markers
      --no-modify-path  leave start-up files alone and print the line (the default)
      --uninstall       remove what was installed; with --keep-data keep toolchains, cache and settings
      --keep-data       see --uninstall
  -n, --dry-run         with --uninstall: say what would be removed
  -y, --yes             accepted for scripts; nothing is ever asked
  -q, --quiet           print errors only
  -h, --help            print this

Environment:
  CUENV_INSTALL_DIR        where `cuenv` and `cuenv-shim` go (default: $XDG_BIN_HOME, or ~/.local/bin)
  CUENV_NO_MODIFY_PATH     not empty: the same as --no-modify-path, and wins over --modify-path
  CUENV_UNMANAGED_INSTALL  a directory: put the programs there and write nothing else; `cuenv self` then keeps away
  CUENV_DOWNLOAD_BASE      where release archives are fetched from, a mirror for example
  CUENV_HOME               where cuenv keeps its data (default: $XDG_DATA_HOME/cuenv, or ~/.local/share/cuenv)
TEXT
}

say() { [ -n "$quiet" ] || printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
err() {
    printf 'error: %s\n' "$1" >&2
    shift
    for err_hint in "$@"; do printf '  hint: %s\n' "$err_hint" >&2; done
    exit 1
}
usage_error() {
    printf 'error: %s\n  hint: `install.sh --help` lists the options\n' "$1" >&2
    exit 2
}
have() { command -v "$1" >/dev/null 2>&1; }
need() { have "$1" || err "\`$1\` is needed and was not found" "${2:-install it with your package manager}"; }
ensure() { "$@" || err "this failed: $*"; }

main() {
    quiet='' from='' sha256='' modify='' action=install keep_data='' dry_run='' work=''
    while [ $# -gt 0 ]; do
        case $1 in
        --from) [ $# -gt 1 ] || usage_error '`--from` needs an archive'; from=$2; shift ;;
        --from=*) from=${1#*=} ;;
        --sha256) [ $# -gt 1 ] || usage_error '`--sha256` needs a value'; sha256=$2; shift ;;
        --sha256=*) sha256=${1#*=} ;;
        --modify-path) modify=yes ;;
        --no-modify-path) modify='' ;;
        --uninstall) action=uninstall ;;
        --keep-data) keep_data=yes ;;
        -n | --dry-run) dry_run=yes ;;
        -y | --yes) ;;
        -q | --quiet) quiet=yes ;;
        -h | --help) usage; exit 0 ;;
        *) usage_error "unknown option \`$1\`" ;;
        esac
        shift
    done
    [ -z "${CUENV_NO_MODIFY_PATH:-}" ] || modify=''
    [ -n "${HOME:-}" ] || err '`HOME` is not set, so there is nowhere to install to'
    if [ -n "${SUDO_USER:-}" ] && [ "$(id -u)" = 0 ] && [ "$SUDO_USER" != root ]; then
        err "this would install for root, not for \`$SUDO_USER\`" 'run it as yourself, without sudo; root is not needed'
    fi
    for tool in uname mkdir rm rmdir mv cp cat sed grep sort tail tr awk chmod id dirname basename; do need "$tool"; done

    places
    case $action in
    uninstall) uninstall ;;
    *)
        check_platform
        trap 'leave' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
        install
        ;;
    esac
}

leave() {
    leave_code=$?
    [ -z "$work" ] || rm -rf "$work"
    exit "$leave_code"
}

# Every directory that is used. An XDG variable that is not absolute is ignored, as its specification asks.
places() {
    data=$(xdg "${XDG_DATA_HOME:-}" .local/share)
    cache=$(xdg "${XDG_CACHE_HOME:-}" .cache)
    state=$(xdg "${XDG_STATE_HOME:-}" .local/state)
    config=$(xdg "${XDG_CONFIG_HOME:-}" .config)
    if [ -n "${CUENV_HOME:-}" ]; then
        data=$CUENV_HOME cache=$CUENV_HOME/cache state=$CUENV_HOME/state config=$CUENV_HOME/config
    fi
    if [ -n "${CUENV_UNMANAGED_INSTALL:-}" ]; then
        bin=$CUENV_UNMANAGED_INSTALL
    elif [ -n "${CUENV_INSTALL_DIR:-}" ]; then
        bin=$CUENV_INSTALL_DIR
    else
        bin=$HOME/.local/bin
        case ${XDG_BIN_HOME:-} in /*) bin=$XDG_BIN_HOME ;; esac
    fi
    for place in "$bin" "$data"; do
        case $place in
        /*) ;;
        *) err "\`$place\` is not an absolute path" 'CUENV_INSTALL_DIR, CUENV_UNMANAGED_INSTALL and CUENV_HOME take one' ;;
        esac
        case $place in *'
'* | *:*) err "\`$place\` holds a colon or a newline, which PATH cannot carry" ;; esac
    done
    receipt=$data/install-receipt
}

xdg() {
    case $1 in
    /*) printf '%s/cuenv' "$1" ;;
    *) printf '%s/%s/cuenv' "$HOME" "$2" ;;
    esac
}

check_platform() {
    [ "$(uname -s)" = Linux ] || err "cuenv runs on Linux, this is $(uname -s)" 'on Windows use it inside WSL2'
    case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) err "NVIDIA publishes no CUDA wheels for $(uname -m)" 'x86_64 and aarch64 are supported' ;;
    esac
    # A 64-bit kernel may carry a 32-bit system; the fifth byte of any program says which.
    if have od && [ "$(od -An -tx1 -j4 -N1 /bin/sh 2>/dev/null | tr -d ' ')" = 01 ]; then
        err 'this is a 32-bit system on a 64-bit kernel' 'NVIDIA publishes 64-bit libraries only'
    fi
    for loader in /lib/ld-musl-*.so.1; do
        if [ -e "$loader" ] && [ ! -e /lib64/ld-linux-x86-64.so.2 ] && [ ! -e /lib/ld-linux-aarch64.so.1 ]; then
            err "this system has musl (\`$loader\`) and no glibc, which NVIDIA's libraries need"
        fi
    done
}

install() {
    umask 022
    # Read from a pipe, `$0` is the shell, and what lies in the working directory is anybody's.
    here=''
    case $0 in
    install.sh | */install.sh) here=$(CDPATH='' cd -- "$(dirname -- "$0")" 2>/dev/null && pwd) || here='' ;;
    esac
    embedded=$SHA256_LINUX_X86_64
    [ "$machine" = x86_64 ] || embedded=$SHA256_LINUX_AARCH64

    if [ -n "$from" ]; then
        origin=archive
        [ -f "$from" ] || err "no such archive: \`$from\`"
        make_work
        check_archive "$from" "$(expected_sum)"
        unpack "$from"
    elif [ -n "$here" ] && [ -x "$here/cuenv" ] && [ -x "$here/cuenv-shim" ] && [ ! -e "$here/Cargo.toml" ]; then
        origin=archive
        made=$here
    elif [ -n "$embedded" ]; then
        origin=release
        make_work
        archive=cuenv-$RELEASE_VERSION-linux-$machine.tar.gz
        base=${CUENV_DOWNLOAD_BASE:-$RELEASE_BASE}
        [ -n "$base" ] || err 'this script names no download address' 'set CUENV_DOWNLOAD_BASE'
        fetch "${base%/}/$RELEASE_VERSION/$archive" "$work/$archive"
        check_archive "$work/$archive" "$embedded"
        unpack "$work/$archive"
    elif [ -n "$here" ] && [ -f "$here/Cargo.toml" ] && [ -d "$here/shims" ]; then
        origin=checkout
        build "$here"
    else
        err 'there is no release archive and no checkout to install from' \
            'run this script inside a checkout of cuenv, or pass --from ARCHIVE'
    fi

    version=$("$made/cuenv" --version 2>/dev/null) ||
        err "\`$made/cuenv\` does not run on this machine" "run \`$made/cuenv --version\` to see why"
    place_programs
    if [ -n "${CUENV_UNMANAGED_INSTALL:-}" ]; then
        say "Installed $version into \`$bin\`; nothing else was written"
        return
    fi
    write_env
    start_up_files
    write_receipt
    farewell
}

make_work() {
    need mktemp
    work=$(mktemp -d "${TMPDIR:-/tmp}/cuenv-install.XXXXXX") || err 'cannot make a temporary directory'
}

# The sum that --from must meet: the one given, the one this script carries, or the one published beside the archive.
expected_sum() {
    if [ -n "$sha256" ]; then
        printf '%s' "$sha256"
    elif [ -n "$embedded" ] && [ "$(basename "$from")" = "cuenv-$RELEASE_VERSION-linux-$machine.tar.gz" ]; then
        printf '%s' "$embedded"
    elif [ -f "$(dirname -- "$from")/SHA256SUMS" ]; then
        while read -r sums_hex sums_name; do
            if [ "${sums_name#\*}" = "$(basename "$from")" ]; then
                printf '%s' "$sums_hex"
                break
            fi
        done <"$(dirname -- "$from")/SHA256SUMS"
    fi
}

check_archive() {
    [ -n "$2" ] || err "nothing says what the sha256 of \`$1\` must be" \
        'keep its SHA256SUMS beside it, or pass --sha256 HEX'
    sum=$(sha256_of "$1")
    [ "$sum" = "$2" ] || err "sha256 of \`$1\` is $sum, expected $2" 'fetch it again; nothing was installed'
}

sha256_of() {
    if have sha256sum; then
        sha256sum <"$1" | sed 's/ .*//'
    elif have openssl; then
        openssl dgst -sha256 -r <"$1" | sed 's/ .*//'
    elif have shasum; then
        shasum -a 256 <"$1" | sed 's/ .*//'
    else
        err 'none of `sha256sum`, `openssl` and `shasum` was found, so the archive cannot be checked'
    fi
}

# The sha256 decides what is accepted, so a mirror without TLS is allowed; the default is https.
fetch() {
    say "Fetching $1"
    case $1 in
    file://*) cp -- "${1#file://}" "$2" || err "cannot read $1"; return ;;
    esac
    if have curl && ! curl_is_snap; then
        curl -fsSL --retry 3 --connect-timeout 20 -o "$2" "$1" || err "cannot fetch $1"
    elif have wget; then
        wget -q -O "$2" "$1" || err "cannot fetch $1"
    else
        err 'neither `curl` nor `wget` was found' 'or fetch the archive elsewhere and pass --from ARCHIVE'
    fi
}

# A snap's curl cannot write to a hidden directory or to /tmp.
curl_is_snap() { case $(command -v curl) in /snap/*) return 0 ;; *) return 1 ;; esac; }

unpack() {
    need tar
    need gzip
    mkdir "$work/unpacked" || err "cannot write to \`$work\`"
    gzip -dc <"$1" | tar -xf - -C "$work/unpacked" || err "cannot unpack \`$1\`"
    made=''
    for unpack_dir in "$work/unpacked"/*/; do
        [ -x "${unpack_dir}cuenv" ] && [ -x "${unpack_dir}cuenv-shim" ] && made=${unpack_dir%/}
    done
    [ -n "$made" ] || err "\`$1\` holds no cuenv"
}

build() {
    if ! have cargo && [ -x "$HOME/.cargo/bin/cargo" ]; then PATH=$PATH:$HOME/.cargo/bin; fi
    have cargo || err 'building from a checkout needs Rust, and `cargo` was not found' \
        'run the line at https://rustup.rs and then this again; a release archive needs no Rust: `./install.sh --from ARCHIVE`'
    have cc || have gcc || have clang || err 'building from a checkout needs a C compiler, and none was found' \
        'on Debian or Ubuntu: `apt-get install gcc libc6-dev`; a release archive needs none: `./install.sh --from ARCHIVE`'
    say "Building cuenv in \`$1\` (a few minutes the first time)"
    build_flags='--locked'
    [ -z "$quiet" ] || build_flags="$build_flags --quiet"
    target_dir=$(cd "$1" && cargo metadata --format-version 1 --no-deps --locked 2>/dev/null |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    [ -n "$target_dir" ] || target_dir=$1/target
    # shellcheck disable=SC2086 # several options
    (cd "$1" && cargo build --release $build_flags -p cuenv-cli) || err 'the build failed; what cargo says is above' \
        "an old compiler is the usual reason: cuenv needs the Rust that \`Cargo.toml\` names"
    build_shim "$1"
    make_work
    made=$work
    ensure cp "$target_dir/release/cuenv" "$work/cuenv"
    ensure cp "$shim" "$work/cuenv-shim"
}

# The shim is static, so that it starts fast and runs under any library path: musl where rustup has it, glibc else.
build_shim() {
    triple=$machine-unknown-linux-musl
    sysroot=$(cd "$1" && rustc --print sysroot 2>/dev/null)
    if [ ! -d "$sysroot/lib/rustlib/$triple/lib" ] && have rustup; then
        (cd "$1" && rustup target add "$triple") >/dev/null 2>&1 || :
    fi
    static=''
    if [ ! -d "$sysroot/lib/rustlib/$triple/lib" ]; then
        triple=$machine-unknown-linux-gnu
        static='-C target-feature=+crt-static'
    fi
    # shellcheck disable=SC2086 # several options
    (cd "$1" && RUSTFLAGS="${RUSTFLAGS:-} $static" cargo build --profile shim $build_flags -p cuenv-shim --target "$triple") ||
        err 'the shim could not be built; what cargo says is above'
    shim=$target_dir/$triple/shim/cuenv-shim
}

# Each program is written beside its place and renamed into it: one that runs right now goes on running.
place_programs() {
    new_directories=''
    note_absent "$bin"
    if [ -z "${CUENV_UNMANAGED_INSTALL:-}" ]; then
        for place in "$data" "$cache" "$state" "$config"; do note_absent "$place"; done
    fi
    mkdir -p -- "$bin" 2>/dev/null || err "cannot make \`$bin\`" 'choose another place with CUENV_INSTALL_DIR'
    for program in cuenv-shim cuenv; do
        fresh=$bin/.$program.new.$$
        if ! { cp -- "$made/$program" "$fresh" && chmod 755 "$fresh" && mv -f -- "$fresh" "$bin/$program"; } 2>/dev/null; then
            rm -f -- "$fresh"
            err "cannot write to \`$bin\`" 'choose another place with CUENV_INSTALL_DIR'
        fi
    done
    # The links in `shims` lead to a copy of their own.
    copy=$data/bin/cuenv-shim
    if [ -z "${CUENV_UNMANAGED_INSTALL:-}" ] && [ -f "$copy" ]; then
        { cp -- "$made/cuenv-shim" "$copy.new.$$" && chmod 755 "$copy.new.$$" && mv -f -- "$copy.new.$$" "$copy"; } ||
            err "cannot write \`$copy\`"
    fi
}

# Remembers each directory up to the home that is not there yet, so that leaving takes it away again if it is empty.
note_absent() {
    absent=$1
    while [ ! -e "$absent" ] && [ "$absent" != / ] && [ "$absent" != . ]; do
        new_directories="$new_directories$absent
"
        absent=$(dirname -- "$absent")
    done
}

quote_sh() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
quote_fish() { printf "'%s'" "$(printf '%s' "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/\\\\'/g")"; }

write_env() {
    mkdir -p -- "$data" || err "cannot make \`$data\`" 'choose another place with CUENV_HOME'
    quoted=$(quote_sh "$bin")
    cat >"$data/env" <<TEXT || err "cannot write \`$data/env\`"
# Puts cuenv on PATH, once. Written by cuenv's installer.
case ":\${PATH}:" in
    *:$quoted:*) ;;
    *) export PATH=$quoted"\${PATH:+:\$PATH}" ;;
esac
TEXT
    quoted=$(quote_fish "$bin")
    cat >"$data/env.fish" <<TEXT || err "cannot write \`$data/env.fish\`"
# Puts cuenv on PATH, once. Written by cuenv's installer.
if not contains -- $quoted \$PATH
    set -gx PATH $quoted \$PATH
end
TEXT
}

on_path() { case ":${PATH:-}:" in *:"$bin":*) return 0 ;; *) return 1 ;; esac; }

start_up_files() {
    edited='' new_files=''
    [ -n "$modify" ] || return 0
    line=". $(quote_sh "$data/env")"
    # Login shells read .profile or one of bash's own; interactive bash reads .bashrc; zsh reads .zshenv always.
    posix=''
    for rc in .bash_profile .bash_login .profile .bashrc; do
        if [ -f "$HOME/$rc" ]; then
            add_block "$HOME/$rc" "$line"
            posix=yes
        fi
    done
    [ -n "$posix" ] || add_block "$HOME/.profile" "$line"
    zsh_home=${ZDOTDIR:-$HOME}
    case ${SHELL:-} in
    */zsh) add_block "$zsh_home/.zshenv" "$line" ;;
    *) [ ! -f "$zsh_home/.zshrc" ] || add_block "$zsh_home/.zshenv" "$line" ;;
    esac
    fish_home=$(dirname -- "$config")/fish
    [ -z "${CUENV_HOME:-}" ] || fish_home=${XDG_CONFIG_HOME:-$HOME/.config}/fish
    [ ! -d "$fish_home" ] || add_block "$fish_home/config.fish" "source $(quote_fish "$data/env.fish")"
}

add_block() {
    if [ -f "$1" ] && grep -qF "$MARK_END" "$1"; then
        edited="$edited$1
"
        return
    fi
    mark=$MARK_BEGIN
    if [ ! -e "$1" ]; then
        new_files="$new_files$1
"
    elif [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then
        mark=$MARK_BEGIN_JOINED
        printf '\n' >>"$1" || err "cannot write \`$1\`"
    fi
    printf '%s\n%s\n%s\n' "$mark" "$2" "$MARK_END" >>"$1" || err "cannot write \`$1\`"
    edited="$edited$1
"
    say "Changed \`$1\` (three lines between markers)"
}

# What leaving has to take away. Lines of an earlier receipt stay, or a second run would forget what the first one made.
write_receipt() {
    fresh=$receipt.new.$$
    {
        printf 'cuenv-install 1\nversion %s\norigin %s\nbin %s\n' "${version#cuenv }" "$origin" "$bin"
        [ "$origin" != checkout ] || printf 'checkout %s\n' "$here"
        [ "$origin" != release ] || printf 'base %s\n' "$base"
        {
            [ ! -f "$receipt" ] || sed -n '/^\(file\|rc\|newfile\|dir\) /p' "$receipt"
            printf 'file %s\n' "$bin/cuenv" "$bin/cuenv-shim" "$data/env" "$data/env.fish"
            printf '%s' "$edited" | sed 's/^/rc /'
            printf '%s' "$new_files" | sed 's/^/newfile /'
            printf '%s' "$new_directories" | sed 's/^/dir /'
        } | LC_ALL=C sort -u
    } >"$fresh" || err "cannot write \`$fresh\`"
    ensure mv -f -- "$fresh" "$receipt"
}

farewell() {
    say "Installed $version into \`$bin\`"
    found=$(command -v cuenv 2>/dev/null) || found=''
    if [ -n "$found" ] && [ "$found" != "$bin/cuenv" ]; then
        warn "another \`cuenv\` comes first on PATH: \`$found\`"
    fi
    if on_path; then
        say 'Next: cd to a project and run `cuenv use 12.4+cudnn9`'
    elif [ -n "$edited" ]; then
        say "New shells have \`cuenv\`; this one has it after \`. $(quote_sh "$data/env")\`"
    else
        say "To have \`cuenv\` on PATH, put this line into your shell's start-up file (or run this again with --modify-path):"
        case ${SHELL:-} in
        */fish) say "    source $(quote_fish "$data/env.fish")" ;;
        *) say "    . $(quote_sh "$data/env")" ;;
        esac
    fi
}

uninstall() {
    installed=''
    [ ! -f "$receipt" ] || installed=$(sed -n 's/^bin //p' "$receipt" | sed -n 1p)
    [ -n "$installed" ] || err "there is no receipt at \`$receipt\`, so nothing says what was installed" \
        'if CUENV_HOME or XDG_DATA_HOME was set when it was installed, set it again'
    set -- self uninstall --yes
    [ -z "$keep_data" ] || set -- "$@" --keep-data
    [ -z "$dry_run" ] || set -- "$@" --dry-run
    [ -z "$quiet" ] || set -- "$@" --quiet
    if "$installed/cuenv" --version >/dev/null 2>&1; then
        exec "$installed/cuenv" "$@"
    fi
    # The program is gone or does not run: take away what the receipt names, and the four directories that are cuenv's own.
    while read -r kind path; do
        case $kind in
        file) discard "$path" ;;
        rc) remove_block "$path" ;;
        esac
    done <"$receipt"
    lines=$(sed -n '/^\(newfile\|dir\) /p' "$receipt" | LC_ALL=C sort -r)
    if [ -z "$keep_data" ]; then
        for place in "$cache" "$state" "$config" "$data"; do discard_tree "$place"; done
    else
        discard "$receipt"
    fi
    printf '%s\n' "$lines" | while read -r kind path; do
        case $kind in
        newfile) [ -n "$dry_run" ] || [ -s "$path" ] || rm -f -- "$path" ;;
        dir) [ -n "$dry_run" ] || rmdir -- "$path" 2>/dev/null || : ;;
        esac
    done
    say 'Left alone: `.cuenv` and `.cuenv.lock` in your projects'
}

discard() {
    [ -e "$1" ] || return 0
    if [ -n "$dry_run" ]; then say "Would remove \`$1\`"; else rm -f -- "$1" && say "Removed \`$1\`"; fi
}

# Published trees are read-only; their owner may remove them all the same once the directories can be written.
discard_tree() {
    [ -d "$1" ] || return 0
    case ${CUENV_HOME:-none}:$1 in
    none:*/cuenv) set -- "$1" ;;
    # CUENV_HOME may be any directory, one called `cuenv` too, so only what cuenv itself puts there goes.
    *)
        for entry in active bin cache config env env.fish install-receipt links locks previous shims state store tmp toolchains; do
            [ ! -e "$1/$entry" ] || set -- "$@" "$1/$entry"
        done
        shift
        ;;
    esac
    for tree in "$@"; do
        if [ -n "$dry_run" ]; then say "Would remove \`$tree\`"; continue; fi
        chmod -R u+w -- "$tree" 2>/dev/null
        rm -rf -- "$tree" && say "Removed \`$tree\`"
    done
}

# Takes the marked lines out again, byte for byte what the file was before.
remove_block() {
    [ -f "$1" ] && grep -qF "$MARK_END" "$1" || return 0
    if [ -n "$dry_run" ]; then say "Would take cuenv's lines out of \`$1\`"; return; fi
    kept=$(
        sed -e "/^$MARK_BEGIN\$/,/^$MARK_END\$/d" "$1" | awk -v joined="$MARK_BEGIN_JOINED" -v end="$MARK_END" '
            $0 == joined { inside = 1; cut = 1; next }
            inside { if ($0 == end) inside = 0; next }
            { if (seen) printf "\n"; printf "%s", $0; seen = 1; if (cut) cut = 0 }
            END { if (seen && !cut) printf "\n" }'
        printf x
    )
    printf '%s' "${kept%x}" >"$1" || err "cannot write \`$1\`"
    say "Took cuenv's lines out of \`$1\`"
}

main "$@"
