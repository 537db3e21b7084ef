//! Another shim manager on the same PATH, the real pyenv: whoever comes first, nothing loops.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::Bed;

/// A project with both managers' shims for `python`. pyenv's root is the bed's own; its program is the tester's.
struct Field {
    bed: Bed,
    pyenv: PathBuf,
    root: PathBuf,
}

/// What ends as an ordinary interpreter does.
const REAL: &str = "#!/bin/sh\necho \"real $0 ${CUENV_ACTIVE-none} $*\"\n";

fn field(version: &str, python: &str) -> Option<Field> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let pyenv = [root, home].into_iter().flatten().map(|root| root.join("bin/pyenv"));
    let Some(pyenv) = pyenv.into_iter().find(|program| program.is_file()) else {
        println!("skipped: no pyenv");
        return None;
    };
    let bed = Bed::new();
    bed.toolchain("12.4.1-abc", "12.4");
    bed.write("project/.cuenv", "12.4\n");
    bed.shim("python");
    bed.program("bin/python", REAL);
    let root = bed.path("pyenv");
    bed.program(&format!("pyenv/versions/{version}/bin/python"), python);
    std::fs::create_dir_all(root.join("shims")).unwrap();
    let field = Field { bed, pyenv, root };
    let done = field.command(&field.pyenv, &[]).arg("rehash").output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(field.root.join("shims/python").is_file(), "pyenv made its shim");
    Some(field)
}

impl Field {
    /// A command with these directories on PATH, behind them the system's and pyenv's own program.
    fn command(&self, program: &Path, first: &[PathBuf]) -> Command {
        let own = self.pyenv.parent().unwrap().to_owned();
        let rest = [own, self.bed.path("bin"), "/usr/bin".into(), "/bin".into()];
        let all: Vec<String> =
            first.iter().chain(&rest).map(|path| path.display().to_string()).collect();
        // A loop would be endless.
        let mut command = self.bed.command(Path::new("/usr/bin/timeout"));
        command.arg("20").arg(program).env("PATH", all.join(":")).env("PYENV_ROOT", &self.root);
        command
    }

    fn run(&self, order: [&str; 2], version: &str) -> Output {
        let place = |name: &str| match name {
            "cuenv" => self.bed.path("data/shims"),
            _ => self.root.join("shims"),
        };
        let order = order.map(place);
        let mut command = self.command(&order[0].join("python"), &order);
        command.env("PYENV_VERSION", version).arg("x").output().unwrap()
    }
}

const ORDERS: [[&str; 2]; 2] = [["cuenv", "pyenv"], ["pyenv", "cuenv"]];

#[test]
fn its_interpreter_runs_once_in_either_order() {
    let Some(field) = field("3.9.9", REAL) else { return };
    for order in ORDERS {
        let output = field.run(order, "3.9.9");
        let seen = String::from_utf8_lossy(&output.stdout);
        let real = field.root.join("versions/3.9.9/bin/python");
        // pyenv's shim, when it is asked first, goes to its interpreter and past ours.
        let active = if order[0] == "cuenv" { "12.4.1-abc" } else { "none" };
        assert_eq!(seen, format!("real {} {active} x\n", real.display()), "{order:?}: {output:?}");
    }
    // Its word for `the one behind me`.
    for order in ORDERS {
        let output = field.run(order, "system");
        let seen = String::from_utf8_lossy(&output.stdout);
        let real = field.bed.path("bin/python");
        assert_eq!(
            seen,
            format!("real {} 12.4.1-abc x\n", real.display()),
            "{order:?}: {output:?}"
        );
    }
}

#[test]
fn an_interpreter_that_calls_the_shim_again_ends() {
    // As a wrapper that somebody installed as a version: it runs whatever `python` the shims give.
    let Some(field) = field("wrapped", "#!/bin/sh\nexec \"$OURS\" \"$@\"\n") else { return };
    let ours = field.bed.path("data/shims/python");
    for order in ORDERS {
        let place = [field.bed.path("data/shims"), field.root.join("shims")];
        let mut command =
            field.command(&place[usize::from(order[0] != "cuenv")].join("python"), &place);
        let output = command.env("PYENV_VERSION", "wrapped").env("OURS", &ours).output().unwrap();
        assert!(output.status.success(), "{order:?}: {output:?}");
        let seen = String::from_utf8_lossy(&output.stdout);
        assert!(
            seen.starts_with(&format!("real {}", field.bed.path("bin/python").display())),
            "{seen}"
        );
    }
}

#[test]
fn a_loop_through_new_processes_stops_and_shows_its_chain() {
    let Some(field) = field("looping", "#!/bin/sh\n\"$OURS\" \"$@\"\n") else { return };
    let ours = field.bed.path("data/shims/python");
    let order = [field.bed.path("data/shims"), field.root.join("shims")];
    let mut command = field.command(&ours, &order);
    let output = command.env("PYENV_VERSION", "looping").env("OURS", &ours).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("python: stopped after 32 shims in a row, a loop:"), "{said}");
    assert!(
        said.contains(&format!("-> {}\n", field.root.join("shims/python").display())),
        "{said}"
    );
    let again = format!("-> {}", field.root.join("versions/looping/bin/python").display());
    assert_eq!(said.matches(&again).count(), 31, "{said}");
}
