//! The whole command on every kind of mirror: the same lock and the same bytes, whatever the mirror cannot do.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::index::{Fault, Index, Options};
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::toolkit;
use crate::support::tree;

const SPEC: &str = "12.4+cudnn9@base";

fn sandbox(index: &str) -> Sandbox {
    Sandbox::new()
        .with_env("CUENV_INDEX_URL", index)
        .with_env("CUENV_HTTP_RETRIES", "2")
        .with_env("CUENV_HTTP_TIMEOUT", "5")
        .with_env("CUENV_HOST_ROOT", "/nonexistent")
}

fn lock(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.project().join(".cuenv.lock")).unwrap()
}

type Change = fn(&mut Options);

#[test]
fn every_kind_of_mirror_gives_the_same_lock() {
    let plain = toolkit::index();
    let first = sandbox(&plain.url());
    first.cuenv(["use", SPEC]).succeeds();
    let (expected, bytes) = (lock(&first), tree::contents(&first.cuenv_home().join("store")));
    let kinds: [(&str, Change); 12] = [
        ("HTML only", |options| options.html_only = true),
        ("406 for JSON", |options| options.refuse_json = true),
        ("no content type", |options| options.no_content_type = true),
        ("odd content type", |options| {
            options.content_type = Some("application/octet-stream".to_owned())
        }),
        ("no ranges", |options| options.no_range = true),
        ("no suffix ranges, no sizes", |options| {
            options.no_suffix_range = true;
            options.no_sizes = true;
        }),
        ("compressed", |options| options.gzip = true),
        ("validators", |options| options.etag = true),
        ("metadata files", |options| options.metadata = true),
        ("metadata files promised only", |options| options.metadata_missing = true),
        ("no digests", |options| options.no_hashes = true),
        ("HTML without digests", |options| {
            options.html_only = true;
            options.no_hashes = true;
        }),
    ];
    for (kind, change) in kinds {
        let index = toolkit::index();
        index.set(change);
        let sandbox = sandbox(&index.url());
        let ran = sandbox.cuenv(["use", SPEC]);
        assert_eq!(ran.code, Some(0), "{kind}: {}", ran.stderr);
        assert_eq!(lock(&sandbox), expected, "{kind}");
        let found = tree::contents(&sandbox.cuenv_home().join("store"));
        assert!(found == bytes, "{kind}: the store differs");
        let warned = ran.stdout.contains("tells no sha256 for `nvidia_");
        assert_eq!(warned, kind.contains("digests"), "{kind}: {}", ran.stderr);
    }
}

#[test]
fn files_may_be_elsewhere_and_behind_redirects() {
    let (index, files) = (toolkit::index(), toolkit::index());
    let elsewhere = files.origin().replace("127.0.0.1", "localhost");
    index.set(|options| options.files_at = Some(elsewhere));
    let first = sandbox(&index.url());
    first.cuenv(["use", SPEC]).succeeds();
    assert_eq!(index.count("/files/"), 0);
    assert!(files.count("/files/") >= 4);

    let index = toolkit::index();
    index.fault(
        "/files/",
        usize::MAX,
        Fault::Redirect(format!("{}{{path}}?signature=hunter2", files.origin())),
    );
    let second = sandbox(&index.url());
    second.cuenv(["use", SPEC]).succeeds();
    assert_eq!(lock(&second), lock(&first));

    let index = toolkit::index();
    index.fault("/files/", usize::MAX, Fault::Redirect("{path}".to_owned()));
    let ran = sandbox(&index.url()).cuenv(["use", SPEC]).code(4);
    assert!(ran.stderr.contains("redirects without end"), "{}", ran.stderr);
}

#[test]
fn faults_that_pass_do_not_show() {
    let index = toolkit::index();
    index.fault("/simple/cuda-toolkit/", 1, Fault::Status(503, None));
    index.fault("/simple/nvidia-cublas-cu12/", 1, Fault::DropAfter(40));
    index.fault("nvidia_cublas", 1, Fault::DropAfter(100));
    index.fault("nvidia_cudnn", 1, Fault::Status(429, Some("0".to_owned())));
    index.fault("nvidia_cuda_runtime", usize::MAX, Fault::Slow(200, Duration::from_millis(20)));
    let sandbox = sandbox(&index.url());
    sandbox.cuenv(["use", SPEC]).succeeds();
    let wheel = "nvidia_cublas_cu12-12.4.5.8-py3-none-manylinux2014_x86_64.whl";
    assert_eq!(index.count(wheel), 2, "cut once, then resumed");
}

#[test]
fn no_output_and_no_file_shows_a_password() {
    let index = toolkit::index();
    index.set(|options| options.auth = Some(("bob".to_owned(), "hunter2".to_owned())));
    let with_user = index.url().replace("://", "://bob:hunter2@");
    let world = sandbox(&with_user);
    let mut shown = String::new();
    let mut run = |args: &[&str]| {
        let ran = world.cuenv(args);
        shown.push_str(&ran.stdout);
        shown.push_str(&ran.stderr);
        ran.code
    };
    assert_eq!(run(&["use", SPEC, "-vv"]), Some(0));
    for args in
        [&["list", "--json"][..], &["resolve", "12.4+cudnn9", "--json"], &["resolve", "99", "-vv"]]
    {
        run(args);
    }
    index.remove("nvidia-nccl-cu12");
    run(&["use", "12.4+nccl2.21", "-vv"]);
    index.fault("/", usize::MAX, Fault::Status(500, None));
    assert_eq!(run(&["resolve", "11.8+cudnn8", "-vv"]), Some(4));
    index.fault("/", usize::MAX, Fault::Redirect("{path}".to_owned()));
    run(&["install", "11.8", "--json"]);
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!contains(world.root(), "hunter2"), "a file holds the password");
}

fn contains(directory: &Path, secret: &str) -> bool {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).any(|entry| {
        if entry.file_type().unwrap().is_dir() {
            return contains(&entry.path(), secret);
        }
        let bytes = fs::read(entry.path()).unwrap_or_default();
        entry.file_name().to_string_lossy().contains(secret)
            || bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
    })
}

fn index_with_auth() -> (Index, String) {
    let index = toolkit::index();
    index.set(|options| options.auth = Some(("bob".to_owned(), "hunter2".to_owned())));
    let url = index.url();
    (index, url)
}

#[test]
fn netrc_is_read() {
    let (_index, url) = index_with_auth();
    let world = sandbox(&url);
    let refused = world.cuenv(["use", SPEC]).code(4);
    assert!(
        refused.stderr.contains("401") && refused.stderr.contains("netrc"),
        "{}",
        refused.stderr
    );
    fs::write(world.home().join(".netrc"), "machine 127.0.0.1 login bob password hunter2\n")
        .unwrap();
    world.cuenv(["use", SPEC]).succeeds();
}

/// What carries a wheel across an air gap: a directory of files, and a machine without any network.
#[test]
fn a_directory_of_wheels_is_enough_where_there_is_no_network() {
    let index = toolkit::index();
    let connected = sandbox(&index.url());
    connected.cuenv(["use", SPEC]).succeeds();

    let apart = sandbox("https://index.example/simple");
    let wheels = apart.root().join("wheels");
    fs::create_dir(&wheels).unwrap();
    for (name, bytes) in index.files() {
        fs::write(wheels.join(name), bytes).unwrap();
    }
    let cut_off = |args: &[&str]| {
        let mut command = apart.command("unshare");
        command.args(["-rn", "--"]).arg(cuenv()).args(args);
        command.env("CUENV_FIND_LINKS", &wheels).env("CUENV_OFFLINE", "1").output().unwrap()
    };
    if !Command::new("unshare").args(["-rn", "true"]).output().is_ok_and(|ran| ran.status.success())
    {
        println!("skipped: this machine gives out no network namespaces");
        return;
    }
    let ran = cut_off(&["use", SPEC]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(lock(&apart), lock(&connected));
    // And from the lock of another machine.
    fs::remove_dir_all(apart.cuenv_home()).unwrap();
    fs::create_dir(apart.cuenv_home()).unwrap();
    let ran = cut_off(&["install", "--locked"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn offline_commands_make_no_socket() {
    let index = toolkit::index();
    let world = sandbox(&index.url());
    world.cuenv(["use", SPEC]).succeeds();
    for args in [
        &["install", "--offline"][..],
        &["use", SPEC, "--offline"],
        &["resolve", SPEC, "--offline"],
        &["use", "11.8+cudnn8@base", "--offline"],
    ] {
        let log = world.root().join("calls");
        let mut command = world.command("strace");
        command.args(["-f", "-e", "trace=%network", "-o"]).arg(&log).arg(cuenv()).args(args);
        let Ok(ran) = command.output() else {
            println!("skipped: strace is not installed");
            return;
        };
        let calls = fs::read_to_string(&log).unwrap_or_default();
        if calls.is_empty() {
            println!("skipped: strace may not trace here");
            return;
        }
        assert!(!calls.contains("socket("), "{args:?}: {calls}");
        assert!(calls.contains("+++ exited with"), "{args:?}: {ran:?} {calls}");
    }
}

/// An administrator fills one store; users build prefixes on it and fetch nothing.
#[test]
fn a_store_below_is_used_and_never_changed() {
    let index = toolkit::index();
    let administrator = sandbox(&index.url());
    administrator.cuenv(["install", SPEC]).succeeds();
    let before = tree::of(&administrator.cuenv_home());
    index.forget();

    let user = sandbox(&index.url())
        .with_env("CUENV_STORE_BELOW", administrator.cuenv_home().display().to_string());
    user.cuenv(["use", SPEC]).succeeds();
    assert_eq!(index.count("/files/nvidia"), 0, "{:?}", index.requests());
    assert_eq!(tree::of(&administrator.cuenv_home()), before);
    let own = fs::read_dir(user.cuenv_home().join("store")).map_or(0, Iterator::count);
    assert_eq!(own, 0, "the wheels were copied");
    let prefix = user.cuenv(["where"]).succeeds().stdout;
    let prefix = prefix.trim_end().replace("[CUENV]", user.cuenv_home().to_str().unwrap());
    let library = fs::read_to_string(format!("{prefix}/lib/libcudnn.so.9")).unwrap();
    assert_eq!(library, "nvidia-cudnn-cu12 9.14.0.64");

    // A wheel that is broken there is fetched into the own store; the other one stays as it is.
    let entry = fs::read_dir(administrator.cuenv_home().join("store")).unwrap();
    let broken = entry
        .map(|entry| entry.unwrap().path().join("nvidia/cudnn/lib/libcudnn.so.9"))
        .find(|path| path.exists())
        .unwrap();
    fs::remove_file(&broken).unwrap();
    fs::write(&broken, "other").unwrap();
    let before = tree::of(&administrator.cuenv_home());
    user.cuenv(["verify", "--files", "--repair"]).succeeds();
    user.cuenv(["verify", "--files"]).succeeds();
    let library = fs::read_to_string(format!("{prefix}/lib/libcudnn.so.9")).unwrap();
    assert_eq!(library, "nvidia-cudnn-cu12 9.14.0.64");
    assert_eq!(tree::of(&administrator.cuenv_home()), before);
}
