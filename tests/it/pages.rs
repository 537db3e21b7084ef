//! Every shell block of README and book that can run is run, in the page's order, in a home of its own, over a whole
//! small CUDA on a loopback index. What cannot run says why in the page (`tests/support/blocks.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::blocks::{self, Block, Where};
use crate::support::index::Index;
use crate::support::release;
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::whole;

/// Pages that begin with the installation, in an unpacked release archive.
const FROM_THE_ARCHIVE: [&str; 2] = ["README.md", "docs/tour.md"];

fn read(page: &Path) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

/// A newcomer's home and shell for one page.
fn session(page: &Path, index: &Index) -> (Sandbox, Command) {
    let sandbox = Sandbox::new();
    let bin = sandbox.root().join("bin");
    let home = sandbox.home();
    fs::create_dir(&bin).unwrap();
    let mut directory = home.clone();
    if FROM_THE_ARCHIVE.iter().any(|name| Path::new(name) == page) {
        let (archive, _) = release::archive(&sandbox.root().join("archives"));
        let untar = Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&home).status();
        assert!(untar.unwrap().success());
        directory = home.join(release::archive_name().strip_suffix(".tar.gz").unwrap());
        fs::copy(release::installer(), directory.join("install.sh")).unwrap();
    } else {
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        for program in ["cuenv", "cuenv-shim"] {
            symlink(cuenv().with_file_name(program), home.join(".local/bin").join(program))
                .unwrap();
        }
    }
    let mut bash = sandbox.command("bash");
    bash.current_dir(directory)
        .env_remove("CUENV_HOME")
        .env("PATH", format!("{}/.local/bin:{}:/usr/bin:/bin", home.display(), bin.display()))
        .env("TMPDIR", sandbox.root())
        .env("CUENV_INDEX_URL", index.url())
        .env("CUENV_HTTP_RETRIES", "0")
        .env("CUENV_HOST_ROOT", "/nonexistent");
    (sandbox, bash)
}

#[test]
fn every_shell_block_that_can_run_runs() {
    release::shim();
    let index = whole::index();
    let (mut ran, mut real) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for page in blocks::pages() {
        let all = blocks::blocks(&read(&page));
        let mut here: Vec<&Block> = Vec::new();
        for block in &all {
            match &block.runs {
                Where::Everywhere => here.push(block),
                Where::RealWheels => real += 1,
                Where::Nowhere(reason) => *reasons.entry(reason.clone()).or_default() += 1,
            }
        }
        if here.is_empty() {
            continue;
        }
        ran += here.len();
        let (sandbox, bash) = session(&page, &index);
        if let Err(told) = blocks::run(bash, &here, &sandbox.root().join("blocks")) {
            wrong.push(format!("{}: {}", page.display(), sandbox.redact(&told)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 30, "only {ran} blocks were found: the search is broken");
    let not: usize = reasons.values().sum();
    let mut told =
        format!("pages: {ran} shell blocks ran, {real} run in the real stage, {not} cannot run");
    for (reason, count) in reasons {
        told.push_str(&format!("\n    {count}: {reason}"));
    }
    let _ = writeln!(std::io::stderr(), "{told}");
}

#[test]
fn no_command_hides_in_a_block_that_is_not_run() {
    let mut hidden = Vec::new();
    // The command reference is generated: its blocks are usage lines and help texts.
    for page in blocks::pages().into_iter().filter(|page| !page.ends_with("commands.md")) {
        let mut fence: Option<String> = None;
        for (at, line) in read(&page).lines().enumerate() {
            if let Some(kind) = line.trim_start().strip_prefix("```") {
                fence = if fence.is_none() { Some(kind.to_owned()) } else { None };
                if !["", "sh", "text", "toml", "ini", "json"].contains(&kind) {
                    hidden.push(format!("{}:{}: a `{kind}` block", page.display(), at + 1));
                }
                continue;
            }
            let starts =
                ["cuenv ", "$ ", "./", "sudo ", "ssh ", "eval ", "pip ", "export ", "source "];
            if fence.as_deref().is_some_and(|kind| kind != "sh")
                && starts.iter().any(|start| line.starts_with(start))
            {
                hidden.push(format!("{}:{}: {line}", page.display(), at + 1));
            }
        }
        assert!(fence.is_none(), "{}: a block without an end", page.display());
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
}

#[test]
fn a_block_that_fails_is_found() {
    let page = "```sh\ntrue\n```\n<!-- `false` exits with 1 -->\n```sh\nfalse one\n```\n";
    let sandbox = Sandbox::new();
    let run = |page: &str| {
        let all = blocks::blocks(page);
        let bash = sandbox.command("bash");
        blocks::run(bash, &all.iter().collect::<Vec<_>>(), &sandbox.root().join("blocks"))
    };
    run(page).unwrap();
    for bad in [
        "```sh\ntrue\nfalse\ntrue\n```\n",
        "```sh\ncd /nonexistent && true\ntrue\n```\n",
        "```sh\nif true; then\n```\n",
        "```sh\nexit 0\n```\n",
        "```sh\nno-such-program | cat; [ \"${PIPESTATUS[0]}\" = 0 ]\n```\n",
        "<!-- `true` exits with 1 -->\n```sh\ntrue\n```\n",
    ] {
        run(bad).expect_err(bad);
    }
    let all = blocks::blocks("<!-- not run: needs a GPU -->\n```sh\nfalse\n```\n");
    assert_eq!(all[0].runs, Where::Nowhere("needs a GPU".to_owned()));
}
