//! `install.sh`, run by every shell that is here, and `self uninstall`, which must leave what was there before.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::release::{VERSION, archive, archive_name, installer, sha256, tree};
use crate::support::sandbox::{Ran, Sandbox};

/// POSIX shells; a person's /bin/sh is one of them.
const SHELLS: [&[&str]; 6] =
    [&["dash"], &["busybox", "sh"], &["bash", "--posix"], &["ksh"], &["mksh"], &["yash"]];

fn shells() -> Vec<&'static [&'static str]> {
    let (here, gone): (Vec<_>, Vec<_>) = SHELLS
        .into_iter()
        .partition(|shell| Command::new(shell[0]).arg("-c").arg(":").output().is_ok());
    for shell in gone {
        let _ = writeln!(std::io::stderr(), "skipped: {} is not installed", shell[0]);
    }
    assert!(!here.is_empty(), "no shell at all");
    here
}

struct Newcomer {
    sandbox: Sandbox,
    script: PathBuf,
}

impl Newcomer {
    /// A person with a home and an archive, whose name of the home is not a plain one.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir_all(Self::home_of(&sandbox)).unwrap();
        // Alone in a directory, so that no checkout and no unpacked archive lies beside it.
        let script = sandbox.root().join("download/install.sh");
        fs::create_dir(script.parent().unwrap()).unwrap();
        fs::copy(installer(), &script).unwrap();
        Self { sandbox, script }
    }

    fn home_of(sandbox: &Sandbox) -> PathBuf {
        sandbox.home().join("ada o'neil")
    }

    fn home(&self) -> PathBuf {
        Self::home_of(&self.sandbox)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.sandbox.command(program);
        command.env_remove("CUENV_HOME").env("HOME", self.home());
        command
    }

    fn install(&self, args: &[&str]) -> Ran {
        self.install_with("sh", &[], args, &[])
    }

    fn install_with(
        &self,
        shell: &str,
        options: &[&str],
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Ran {
        let mut command = self.command(shell);
        command.args(options).arg(&self.script).args(args).envs(env.iter().copied());
        Ran::of(&mut command, &self.sandbox)
    }

    fn installed(&self) -> PathBuf {
        self.home().join(".local/bin/cuenv")
    }

    fn cuenv(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(self.installed().to_str().unwrap()).args(args), &self.sandbox)
    }
}

#[test]
fn the_script_is_clean() {
    match Command::new("shellcheck").args(["-s", "sh"]).arg(installer()).output() {
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout)),
        Err(_) => eprintln!("skipped: shellcheck is not installed"),
    }
}

#[test]
fn installs_twice_and_leaves_no_trace_in_every_shell() {
    for shell in shells() {
        let ada = Newcomer::new();
        let before = tree(&ada.home());
        let (from, _) = archive(&ada.sandbox.root().join("archives"));
        let from = from.to_str().unwrap();
        let args = ["--from", from, "-y"];
        let ran = ada.install_with(shell[0], &shell[1..], &args, &[]).succeeds();
        assert!(ran.stdout.contains("Installed cuenv"), "{shell:?}: {}", ran.stdout);
        assert_eq!(ran.stderr, "", "{shell:?}");
        assert_eq!(ada.cuenv(&["--version"]).succeeds().stdout, format!("cuenv {VERSION}\n"));

        let first = tree(&ada.home());
        ada.install_with(shell[0], &shell[1..], &args, &[]).succeeds();
        assert_eq!(tree(&ada.home()), first, "{shell:?}: a second run changes nothing");

        // The line it prints works in the same shell, also when it is read twice, and adds one element.
        let line = ran.stdout.lines().last().unwrap().trim().replace("[HOME]", "$H");
        let line = line.replace('\'', "\"").replace("o\"\\\"\"neil", "o'neil");
        let script = format!("{line}\n{line}\ncuenv --version\nprintf '%s\\n' \"$PATH\"");
        let mut sourced = ada.command(shell[0]);
        sourced.args(&shell[1..]).arg("-c").arg(script).env("H", ada.sandbox.home());
        let sourced = Ran::of(&mut sourced, &ada.sandbox).succeeds();
        assert_eq!(
            sourced.stdout.replace(VERSION, "[VERSION]"),
            "cuenv [VERSION]\n\
             [HOME]/ada o'neil/.local/bin:/usr/local/bin:/usr/bin:/bin\n",
            "{shell:?}"
        );

        ada.cuenv(&["self", "uninstall", "--yes"]).succeeds();
        assert_eq!(tree(&ada.home()), before, "{shell:?}");
    }
}

#[test]
fn start_up_files_come_back_byte_for_byte() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let from = from.to_str().unwrap();
    let home = ada.home();
    // No newline at the end, an empty file, and one that is a link into somebody's dotfiles.
    fs::write(home.join(".bashrc"), "alias l=ls").unwrap();
    fs::write(home.join(".zshrc"), "").unwrap();
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::write(home.join("dotfiles/profile"), "umask 027\n").unwrap();
    fs::set_permissions(home.join("dotfiles/profile"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("dotfiles/profile", home.join(".profile")).unwrap();
    fs::create_dir_all(home.join(".config/fish")).unwrap();
    let before = tree(&home);

    let shell = [("SHELL", "/bin/zsh")];
    for _ in 0..2 {
        ada.install_with("sh", &[], &["--from", from, "--modify-path"], &shell).succeeds();
    }
    for (file, times) in [
        (".bashrc", 1),
        (".profile", 1),
        (".zshenv", 1),
        (".config/fish/config.fish", 1),
        (".zshrc", 0),
    ] {
        let text = fs::read_to_string(home.join(file)).unwrap();
        assert_eq!(text.matches("# >>> cuenv >>>").count(), times, "{file}: {text}");
    }
    let mut login = ada.command("bash");
    login.args(["-lc", "command -v cuenv"]).env("PATH", "/usr/bin:/bin");
    assert!(Ran::of(&mut login, &ada.sandbox).succeeds().stdout.ends_with("/.local/bin/cuenv\n"));
    if let Ok(out) = ada.command("fish").args(["-c", "command -v cuenv"]).output() {
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        // fish itself writes into ~/.config/fish and ~/.local/share/fish; that is not ours to compare.
        fs::remove_dir_all(home.join(".local/share/fish")).unwrap();
        for entry in fs::read_dir(home.join(".config/fish")).unwrap().flatten() {
            if entry.file_name() != "config.fish" {
                fs::remove_dir_all(entry.path())
                    .or_else(|_| fs::remove_file(entry.path()))
                    .unwrap();
            }
        }
    }
    ada.cuenv(&["self", "uninstall", "--yes"]).succeeds();
    let after = tree(&home);
    assert_eq!(after, before);
    assert_eq!(after[Path::new("dotfiles/profile")].0 & 0o777, 0o640);
}

#[test]
fn the_script_uninstalls_when_the_program_is_broken() {
    let ada = Newcomer::new();
    fs::write(ada.home().join(".profile"), "a").unwrap();
    fs::write(ada.home().join(".bashrc"), "b\n").unwrap();
    let before = tree(&ada.home());
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    ada.install(&["--from", from.to_str().unwrap(), "--modify-path"]).succeeds();
    fs::write(ada.installed(), "#!/bin/false\n").unwrap();
    ada.install(&["--uninstall", "-n"]).succeeds();
    assert!(ada.installed().exists());
    ada.install(&["--uninstall"]).succeeds();
    assert_eq!(tree(&ada.home()), before);
    let again = ada.install(&["--uninstall"]).code(1);
    assert!(again.stderr.contains("there is no receipt"), "{}", again.stderr);
}

#[test]
fn keeps_what_the_user_made_and_what_is_asked_to_stay() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let from = from.to_str().unwrap();
    ada.install(&["--from", from]).succeeds();
    let data = ada.home().join(".local/share/cuenv");
    fs::create_dir_all(data.join("store/00")).unwrap();
    fs::write(ada.home().join(".local/bin/mine"), "mine").unwrap();

    let told = ada.cuenv(&["self", "uninstall"]).succeeds();
    assert!(told.stdout.contains("Would remove"), "{}", told.stdout);
    assert!(ada.installed().exists(), "nothing goes without a word");

    ada.cuenv(&["self", "uninstall", "-y", "--keep-data"]).succeeds();
    assert!(!ada.installed().exists());
    assert!(data.join("store/00").exists());
    assert!(!data.join("install-receipt").exists() && !data.join("env").exists());
    assert_eq!(fs::read_to_string(ada.home().join(".local/bin/mine")).unwrap(), "mine");

    ada.install(&["--from", from]).succeeds();
    ada.cuenv(&["self", "uninstall", "-y"]).succeeds();
    assert!(!data.exists());
    assert!(ada.home().join(".local/bin/mine").exists());
}

#[test]
fn a_shared_cuenv_home_loses_only_what_is_cuenvs() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let home = ada.home();
    let home = home.to_str().unwrap();
    fs::write(ada.home().join("thesis.tex"), "x").unwrap();
    let before = tree(&ada.home());
    let env = [("CUENV_HOME", home)];
    ada.install_with("sh", &[], &["--from", from.to_str().unwrap()], &env).succeeds();
    let mut gone = ada.command(ada.installed().to_str().unwrap());
    Ran::of(gone.args(["self", "uninstall", "-y"]).env("CUENV_HOME", home), &ada.sandbox)
        .succeeds();
    assert_eq!(tree(&ada.home()), before);
}

#[test]
fn an_unchecked_or_wrong_archive_is_refused_before_anything_is_written() {
    let ada = Newcomer::new();
    let before = tree(&ada.home());
    let directory = ada.sandbox.root().join("archives");
    let (path, sum) = archive(&directory);
    let from = path.to_str().unwrap();

    fs::remove_file(directory.join("SHA256SUMS")).unwrap();
    let ran = ada.install(&["--from", from]).code(1);
    assert!(ran.stderr.contains("nothing says what the sha256"), "{}", ran.stderr);

    let wrong = sum.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
    let ran = ada.install(&["--from", from, "--sha256", &wrong]).code(1);
    assert!(ran.stderr.contains(&format!("is {sum}, expected {wrong}")), "{}", ran.stderr);
    assert_eq!(tree(&ada.home()), before);

    ada.install(&["--from", from, "--sha256", &sum]).succeeds();
}

#[test]
fn a_release_copy_fetches_checks_and_records_where_from() {
    let ada = Newcomer::new();
    let mirror = ada.sandbox.root().join("mirror");
    let (path, sum) = archive(&mirror.join(VERSION));
    let script = fs::read_to_string(installer()).unwrap();
    let field = format!("SHA256_LINUX_{}", std::env::consts::ARCH.to_uppercase());
    let script = script
        .replacen("RELEASE_VERSION=''", &format!("RELEASE_VERSION='{VERSION}'"), 1)
        .replacen(&format!("{field}=''"), &format!("{field}='{sum}'"), 1);
    fs::write(&ada.script, script).unwrap();
    let none = ada.install(&[]).code(1);
    assert!(none.stderr.contains("CUENV_DOWNLOAD_BASE"), "{}", none.stderr);

    let base = format!("file://{}", mirror.display());
    let env = [("CUENV_DOWNLOAD_BASE", base.as_str())];
    ada.install_with("sh", &[], &["-q"], &env).succeeds();
    let receipt =
        fs::read_to_string(ada.home().join(".local/share/cuenv/install-receipt")).unwrap();
    assert!(receipt.contains("\norigin release\n"), "{receipt}");
    assert!(receipt.contains(&format!("\nbase {base}\n")), "{receipt}");
    ada.cuenv(&["self", "uninstall", "-y"]).succeeds();

    let before = tree(&ada.home());
    fs::write(&path, [fs::read(&path).unwrap(), b"more".to_vec()].concat()).unwrap();
    assert_ne!(sha256(&path), sum);
    let ran = ada.install_with("sh", &[], &[], &env).code(1);
    assert!(ran.stderr.contains(&format!("expected {sum}")), "{}", ran.stderr);
    assert_eq!(tree(&ada.home()), before, "a wrong archive leaves nothing behind");
}

#[test]
fn an_unpacked_archive_installs_itself() {
    let ada = Newcomer::new();
    let (path, _) = archive(&ada.sandbox.root().join("archives"));
    let mut untar = ada.command("tar");
    untar.arg("-xf").arg(path).arg("-C").arg(ada.sandbox.root());
    Ran::of(&mut untar, &ada.sandbox).succeeds();
    let top = ada.sandbox.root().join(archive_name().strip_suffix(".tar.gz").unwrap());
    fs::copy(installer(), top.join("install.sh")).unwrap();
    let mut run = ada.command("sh");
    Ran::of(run.arg(top.join("install.sh")), &ada.sandbox).succeeds();
    ada.cuenv(&["--version"]).succeeds();
}

#[test]
fn an_unmanaged_install_writes_two_files() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let into = ada.home().join("ci");
    let env = [("CUENV_UNMANAGED_INSTALL", into.to_str().unwrap())];
    ada.install_with("sh", &[], &["--from", from.to_str().unwrap(), "--modify-path"], &env)
        .succeeds();
    let names: Vec<_> = tree(&ada.home()).into_keys().collect();
    assert_eq!(names, [Path::new("ci"), Path::new("ci/cuenv"), Path::new("ci/cuenv-shim")]);
    let mut own = ada.command(into.join("cuenv").to_str().unwrap());
    let ran = Ran::of(own.args(["self", "uninstall"]), &ada.sandbox).code(1);
    assert!(ran.stderr.contains("was not put there by cuenv's installer"), "{}", ran.stderr);
}

#[test]
fn half_a_script_does_nothing() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let whole = fs::read(installer()).unwrap();
    let before = tree(&ada.home());
    // Everything but the call in the last line, and cuts all over the place.
    let last = whole.len() - "main \"$@\"\n".len();
    assert_eq!(&whole[last..], b"main \"$@\"\n");
    for cut in (0..last).step_by(611).chain([last]) {
        fs::write(&ada.script, &whole[..cut]).unwrap();
        ada.install(&["--from", from.to_str().unwrap()]);
        assert_eq!(tree(&ada.home()), before, "cut at {cut}");
    }
}

#[test]
fn tells_of_another_cuenv_and_of_wrong_words() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let other = ada.sandbox.root().join("bin");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("cuenv"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(other.join("cuenv"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", other.display());
    let env = [("PATH", path.as_str())];
    let ran = ada.install_with("sh", &[], &["--from", from.to_str().unwrap()], &env).succeeds();
    assert_eq!(ran.stderr, "warning: another `cuenv` comes first on PATH: `[ROOT]/bin/cuenv`\n");
    ada.install(&["--form", "x"]).code(2);
    ada.install(&["--from"]).code(2);
    let env = [("CUENV_INSTALL_DIR", "relative")];
    let ran = ada.install_with("sh", &[], &["--from", from.to_str().unwrap()], &env).code(1);
    assert!(ran.stderr.contains("is not an absolute path"), "{}", ran.stderr);
    let ran = ada.install(&[]).code(1);
    assert!(ran.stderr.contains("no release archive and no checkout"), "{}", ran.stderr);
}

#[test]
fn updates_itself_from_where_it_came_and_keeps_the_old_one() {
    let ada = Newcomer::new();
    let before = tree(&ada.home());
    let mirror = ada.sandbox.root().join("mirror");
    let (from, _) = archive(&mirror.join(VERSION));
    ada.install(&["--from", from.to_str().unwrap()]).succeeds();
    let lost = ada.cuenv(&["self", "update"]).code(1);
    assert!(lost.stderr.contains("nothing says where releases are"), "{}", lost.stderr);

    // What anybody on the way could change is not run, wherever its digests come from.
    let mut plain = ada.command(ada.installed().to_str().unwrap());
    plain.args(["self", "update"]).env("CUENV_DOWNLOAD_BASE", "http://releases.invalid/cuenv");
    let refused = Ran::of(&mut plain, &ada.sandbox).code(2);
    assert!(refused.stderr.contains("https://"), "{}", refused.stderr);

    let base = format!("file://{}", mirror.display());
    let update = |args: &[&str]| {
        let mut command = ada.command(ada.installed().to_str().unwrap());
        command.args(["self", "update"]).args(args).env("CUENV_DOWNLOAD_BASE", &base);
        Ran::of(&mut command, &ada.sandbox)
    };
    fs::write(mirror.join("latest"), format!("{VERSION}\n")).unwrap();
    assert!(update(&["--check"]).succeeds().stdout.contains("is the newest"));

    // A newer release: the same programs under another version.
    fs::write(mirror.join("latest"), "99.0.0\n").unwrap();
    let newer = mirror.join("99.0.0");
    fs::create_dir(&newer).unwrap();
    let name = archive_name().replace(VERSION, "99.0.0");
    fs::copy(&from, newer.join(&name)).unwrap();
    update(&["--check"]).code(100);
    let wrong = "0".repeat(64);
    fs::write(newer.join("SHA256SUMS"), format!("{wrong}  {name}\n")).unwrap();
    let installed = tree(&ada.home());
    let ran = update(&[]).code(5);
    assert!(ran.stderr.contains(&format!("expected {wrong}")), "{}", ran.stderr);
    let kept = tree(&ada.home());
    let changed: Vec<_> = kept.iter().filter(|(path, _)| !installed.contains_key(*path)).collect();
    assert!(changed.iter().all(|(path, _)| path.ends_with("tmp")), "{changed:?}");

    fs::write(newer.join("SHA256SUMS"), format!("{}  {name}\n", sha256(&newer.join(&name))))
        .unwrap();
    assert!(update(&[]).succeeds().stdout.contains("by 99.0.0"));
    assert!(ada.home().join(".local/share/cuenv/previous/cuenv").is_file());
    let receipt =
        fs::read_to_string(ada.home().join(".local/share/cuenv/install-receipt")).unwrap();
    assert!(receipt.contains("\nversion 99.0.0\n"), "{receipt}");
    ada.cuenv(&["self", "uninstall", "-y"]).succeeds();
    assert_eq!(tree(&ada.home()), before);
}

#[test]
fn what_another_manager_installed_is_left_to_it() {
    let ada = Newcomer::new();
    let venv = |place: &str| {
        let root = ada.home().join(place);
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        root.join("bin")
    };
    let cargo = ada.home().join(".cargo/bin");
    fs::create_dir_all(&cargo).unwrap();
    let by_hand = ada.home().join("opt");
    fs::create_dir_all(&by_hand).unwrap();
    for (bin, update, uninstall) in [
        (venv("proj/.venv"), "pip install --upgrade cuenv", "pip uninstall cuenv"),
        (venv(".local/share/uv/tools/cuenv"), "uv tool upgrade cuenv", "uv tool uninstall cuenv"),
        (venv(".local/share/pipx/venvs/cuenv"), "pipx upgrade cuenv", "pipx uninstall cuenv"),
        (venv(".cache/uv/archive-v0/x1"), "uvx cuenv@latest", "uvx cuenv@latest"),
        (cargo, "cargo uninstall cuenv-cli", "cargo uninstall cuenv-cli"),
        (by_hand, "replace or remove the two files", "replace or remove the two files"),
    ] {
        fs::hard_link(crate::support::sandbox::cuenv(), bin.join("cuenv")).unwrap();
        let before = tree(&ada.home());
        for (words, command) in
            [(&["self", "update"][..], update), (&["self", "uninstall", "-y"], uninstall)]
        {
            let mut run = ada.command(bin.join("cuenv").to_str().unwrap());
            let ran = Ran::of(run.args(words), &ada.sandbox).code(1);
            assert!(
                ran.stderr.contains("was not put there by cuenv's installer")
                    && ran.stderr.contains(command),
                "{words:?}: {}",
                ran.stderr
            );
        }
        assert_eq!(tree(&ada.home()), before);
        fs::remove_file(bin.join("cuenv")).unwrap();
    }
}

#[test]
fn a_checkout_without_rust_says_what_to_do_and_an_archive_needs_none() {
    let ada = Newcomer::new();
    // A checkout as the script sees one, and a PATH with what every Debian has, wherever this machine has its cargo.
    let checkout = ada.sandbox.root().join("checkout");
    fs::create_dir_all(checkout.join("shims")).unwrap();
    fs::write(checkout.join("Cargo.toml"), "").unwrap();
    fs::copy(installer(), checkout.join("install.sh")).unwrap();
    let bin = ada.sandbox.root().join("bare");
    fs::create_dir(&bin).unwrap();
    let tools = "sh uname mkdir rm rmdir mv cp cat sed grep sort tail tr awk chmod id dirname basename mktemp tar gzip \
                 sha256sum od";
    for tool in tools.split_whitespace() {
        let found = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(tool));
        let found = found.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no {tool}"));
        std::os::unix::fs::symlink(found, bin.join(tool)).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = ada.command(bin.join("sh").to_str().unwrap());
        command.arg(checkout.join("install.sh")).args(args).env("PATH", &bin);
        Ran::of(&mut command, &ada.sandbox)
    };
    let before = tree(&ada.home());
    assert_eq!(
        run(&[]).code(1).stderr,
        "error: building from a checkout needs Rust, and `cargo` was not found\n  \
         hint: run the line at https://rustup.rs and then this again; a release archive needs no Rust: \
         `./install.sh --from ARCHIVE`\n"
    );
    fs::write(bin.join("cargo"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = run(&[]).code(1);
    assert!(ran.stderr.contains("needs a C compiler, and none was found"), "{}", ran.stderr);
    fs::remove_file(bin.join("cargo")).unwrap();
    assert_eq!(tree(&ada.home()), before);
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    run(&["--from", from.to_str().unwrap()]).succeeds();
    ada.cuenv(&["--version"]).succeeds();
}

#[test]
fn an_installation_for_root_through_sudo_is_refused() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let args = ["--from", from.to_str().unwrap()];
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let ran = ada.install_with("sh", &[], &args, &[("SUDO_USER", "ada")]);
    if is_root {
        let ran = ran.code(1);
        assert!(
            ran.stderr.contains("this would install for root, not for `ada`"),
            "{}",
            ran.stderr
        );
        assert!(!ada.installed().exists());
        // A root without sudo is a person's own machine, a container for example.
        ada.install_with("sh", &[], &args, &[("SUDO_USER", "root")]).succeeds();
    } else {
        // A name that was left in the environment of an ordinary user says nothing.
        ran.succeeds();
    }
}

#[test]
fn the_installers_variables_say_where_and_how() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    let from = from.to_str().unwrap();
    let before = tree(&ada.home());
    let home = ada.home().display().to_string();
    fs::write(ada.home().join(".profile"), "").unwrap();
    let (tools, data) = (format!("{home}/tools"), format!("{home}/scratch/cuenv"));
    // The variable wins over the option, and an option may be written either way.
    let env = [
        ("CUENV_INSTALL_DIR", tools.as_str()),
        ("CUENV_HOME", &data),
        ("CUENV_NO_MODIFY_PATH", "1"),
    ];
    let from_is = format!("--from={from}");
    ada.install_with("sh", &[], &[&from_is, "--modify-path", "-q"], &env).succeeds();
    assert_eq!(fs::read_to_string(ada.home().join(".profile")).unwrap(), "");
    assert!(
        ada.home().join("tools/cuenv").is_file() && ada.home().join("tools/cuenv-shim").is_file()
    );
    assert!(ada.home().join("scratch/cuenv/install-receipt").is_file());
    assert!(!ada.home().join(".local").exists());
    let gone = ada.install_with("sh", &[], &["--uninstall", "--quiet"], &env).succeeds();
    assert_eq!(gone.stderr, "");
    fs::remove_file(ada.home().join(".profile")).unwrap();
    assert_eq!(tree(&ada.home()), before);

    // XDG, where nothing of cuenv's own is set.
    let xdg = [("XDG_BIN_HOME", tools.as_str()), ("XDG_DATA_HOME", &data)];
    ada.install_with("sh", &[], &["--from", from], &xdg).succeeds();
    assert!(ada.home().join("tools/cuenv").is_file());
    assert!(ada.home().join("scratch/cuenv/cuenv/install-receipt").is_file());
    ada.install_with("sh", &[], &["--uninstall"], &xdg).succeeds();
    assert_eq!(tree(&ada.home()), before);
}

#[test]
fn nothing_waits_for_an_answer() {
    let ada = Newcomer::new();
    let (from, _) = archive(&ada.sandbox.root().join("archives"));
    // A terminal that nobody types at would hang a script that asks.
    let mut script = ada.command("timeout");
    let line = format!("sh '{}' --from '{}'", ada.script.display(), from.display());
    script.args(["60", "script", "-qec", &line, "/dev/null"]);
    script.stdin(std::process::Stdio::null());
    let ran = Ran::of(&mut script, &ada.sandbox).succeeds();
    assert!(ran.stdout.contains("Installed cuenv"), "{}", ran.stdout);
}
