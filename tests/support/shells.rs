//! Interactive shells with the hook, and a project for them to go to.

use super::sandbox::{Sandbox, cuenv};
use super::terminal::Terminal;

/// How a shell is started without a person's own files, and how it says things.
pub struct Dialect {
    pub name: &'static str,
    /// The command line; `%` is replaced by a start-up file that loads the hook.
    pub start: &'static str,
    pub load: &'static str,
}

pub const BASH: Dialect = Dialect {
    name: "bash",
    start: "bash --noprofile --rcfile % -i",
    load: "eval \"$(CUENV hook bash)\"",
};
pub const ZSH: Dialect =
    Dialect { name: "zsh", start: "ZDOTDIR=%d zsh -i", load: "eval \"$(CUENV hook zsh)\"" };
pub const FISH: Dialect = Dialect {
    name: "fish",
    start: "fish --no-config -i -C 'source %'",
    load: "CUENV hook fish | source",
};

/// Starts a shell with the hook loaded, in the project's parent.
pub fn shell(sandbox: &Sandbox, dialect: &Dialect, before: &str) -> Option<Terminal> {
    let cli = cuenv().display().to_string();
    let directory = sandbox.root().join("rc");
    std::fs::create_dir_all(&directory).unwrap();
    let rc = directory.join(".zshrc");
    std::fs::write(&rc, format!("{before}\n{}\n", dialect.load.replace("CUENV", &cli))).unwrap();
    let start =
        dialect.start.replace("%d", directory.to_str().unwrap()).replace('%', rc.to_str().unwrap());
    let mut like = sandbox.command("true");
    like.current_dir(sandbox.root());
    Terminal::start(like, dialect.name, &start, &sandbox.root().join("answers"))
}

/// Two toolchains and a project in a project.
pub fn bed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.shims(&[]);
    sandbox.toolchain("11.8.0-a", "11.8", &[]);
    sandbox.toolchain("12.4.1-b", "12.4", &[]);
    sandbox.write("one/.cuenv", "11.8\n");
    sandbox.write("one/inner/.cuenv", "12.4\n");
    sandbox.write("one/deep/er/x", "");
    sandbox.write("none/x", "");
    sandbox
}

/// Runs a check in every shell that is installed.
pub fn each(check: impl Fn(&Sandbox, &Dialect, Terminal)) {
    for dialect in [BASH, ZSH, FISH] {
        let sandbox = bed();
        if let Some(terminal) = shell(&sandbox, &dialect, "") {
            check(&sandbox, &dialect, terminal);
        }
    }
}

/// A command that prints a variable, `unset` when it is unset, in every shell.
pub fn show(name: &str) -> String {
    format!("sh -c 'echo \"${{{name}-unset}}\"'")
}
