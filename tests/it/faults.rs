//! The engine under fire: killed, crowded, out of space, fed with damaged and halting downloads. Real processes against
//! a loopback index. `CUENV_FAULT_ROUNDS=300` (as `tests/run --faults` sets it) makes the short forms long.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::index::{Fault, Index};
use crate::support::sandbox::{Sandbox, cuenv};
use crate::support::wheel::Builder;
use crate::support::{toolkit, tree};

/// Large enough for several notes of how far it is (one every 8 MB).
const LARGE: usize = 20 << 20;

pub(crate) fn rounds(short: usize) -> usize {
    std::env::var("CUENV_FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}

/// Bytes that hardly shrink.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8 & 0x7f
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) struct World {
    pub(crate) index: Index,
    pub(crate) sandbox: Sandbox,
}

impl World {
    /// A project with a lock; one of its wheels is as large as asked for.
    pub(crate) fn new(large: usize) -> Self {
        let index = Index::start();
        let parts = [
            ("nvidia-cuda-runtime-cu12", "12.4.127", "nvidia/cuda_runtime/lib/libcudart.so.12"),
            ("nvidia-cuda-nvrtc-cu12", "12.4.127", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            ("nvidia-cublas-cu12", "12.4.5.8", "nvidia/cublas/lib/libcublas.so.12"),
        ];
        index.add(&toolkit::metapackage("12.4.1", &parts));
        for (distribution, version, library) in parts {
            index.add(&toolkit::component(distribution, version, library).build());
        }
        let cudnn = Builder::new("nvidia-cudnn-cu12", "9.1.0.70")
            .file("nvidia/cudnn/lib/libcudnn.so.9", "small")
            .file("nvidia/cudnn/lib/libcudnn_adv.so.9", noise(large / 4))
            .file("nvidia/cudnn/lib/libcudnn_engines.so.9", noise(large))
            .file("nvidia/cudnn/include/cudnn.h", "header");
        index.add(&cudnn.build());
        let sandbox = Sandbox::new()
            .with_env("CUENV_INDEX_URL", index.url())
            .with_env("CUENV_HOST_ROOT", "/nonexistent");
        let world = Self { index, sandbox };
        world.sandbox.cuenv(["use", "12.4+cudnn9"]).succeeds();
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.sandbox.cuenv_home()
    }

    pub(crate) fn wipe(&self) {
        if self.home().exists() {
            fs::remove_dir_all(self.home()).unwrap();
        }
    }

    pub(crate) fn install(&self) -> Command {
        let mut command = self.sandbox.command(cuenv());
        command.args(["install", "--locked", "-q"]).stdout(Stdio::null());
        command
    }

    /// Everything that a finished installation consists of.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, String> {
        ["store", "toolchains", "active"]
            .into_iter()
            .flat_map(|part| {
                tree::contents(&self.home().join(part))
                    .into_iter()
                    .map(move |(path, what)| (PathBuf::from(part).join(path), what))
            })
            .collect()
    }

    pub(crate) fn left_overs(&self) -> usize {
        fs::read_dir(self.home().join("tmp")).map_or(0, Iterator::count)
    }

    /// Runs to the end and compares with what an undisturbed run gave.
    #[track_caller]
    fn recovers(&self, whole: &BTreeMap<PathBuf, String>, after: &str) {
        let output = self.install().output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "after {after}: {stderr}");
        assert!(self.tree() == *whole, "after {after}: another tree");
    }
}

pub(crate) fn was_killed(child: &mut Child) -> bool {
    child.wait().unwrap().signal() == Some(9)
}

#[test]
fn a_run_killed_at_any_checkpoint_is_followed_by_one_that_succeeds() {
    let world = World::new(LARGE);
    let whole = world.tree();
    let mut kills = 0;
    for point in [
        "staged",
        "note",
        "noted",
        "unpacked",
        "published",
        "prefix-linked",
        "prefix-staged",
        "prefix-published",
    ] {
        for pass in 1..=if rounds(0) > 0 { 4 } else { 1 } {
            world.wipe();
            let at = format!("{point}:{pass}");
            let mut child = world.install().env("CUENV_TEST_KILL_AT", &at).spawn().unwrap();
            let killed = was_killed(&mut child);
            // Every point is passed at least once; some are passed once a wheel or once a note.
            assert!(killed || pass > 1, "{at} was never reached");
            kills += usize::from(killed);
            world.recovers(&whole, &at);
            assert_eq!(world.left_overs(), if killed { world.left_overs() } else { 0 }, "{at}");
            if !killed {
                break;
            }
        }
    }
    assert!(kills >= 8, "{kills}");
}

#[test]
fn a_run_killed_at_any_time_is_followed_by_one_that_succeeds() {
    let world = World::new(LARGE);
    let whole = world.tree();
    world.wipe();
    let started = Instant::now();
    world.recovers(&whole, "nothing");
    let usual = started.elapsed();
    let rounds = rounds(6);
    let mut killed = 0;
    for round in 0..rounds {
        if round % 3 == 0 {
            world.wipe();
        } else {
            // Two of three go on where the one before was killed, without a run that cleans up between.
            let _ = fs::remove_dir_all(world.home().join("toolchains"));
        }
        let mut child = world.install().stderr(Stdio::null()).spawn().unwrap();
        // The golden ratio spreads the moments evenly without repeating one.
        let moment = (round as f64 * 0.618_034).fract();
        std::thread::sleep(usual.mul_f64(moment * 0.8));
        let _ = child.kill();
        killed += usize::from(was_killed(&mut child));
        if round % 3 == 2 {
            world.recovers(&whole, &format!("a kill at {moment:.2} of the usual time"));
        }
    }
    assert!(killed * 6 >= rounds, "only {killed} of {rounds} runs were killed before their end");
    world.recovers(&whole, "all");
}

#[test]
fn a_killed_download_goes_on_where_it_stopped() {
    let world = World::new(LARGE);
    let whole = world.tree();
    world.wipe();
    let mut child = world.install().env("CUENV_TEST_KILL_AT", "noted:2").spawn().unwrap();
    assert!(was_killed(&mut child));
    world.index.forget();
    world.recovers(&whole, "the second note");
    let ranges: Vec<u64> = world
        .index
        .requests()
        .iter()
        .filter_map(|request| {
            let range = request.header("range")?.strip_prefix("bytes=")?.to_owned();
            range.strip_suffix('-')?.parse().ok()
        })
        .collect();
    assert_eq!(ranges.len(), 1, "{ranges:?}");
    assert!(ranges[0] >= 16 << 20, "{ranges:?}");
    // The same on a server that knows no ranges: it sends all, and what was used is skipped.
    world.wipe();
    let mut child = world.install().env("CUENV_TEST_KILL_AT", "noted:1").spawn().unwrap();
    assert!(was_killed(&mut child));
    world.index.set(|options| options.no_range = true);
    world.recovers(&whole, "a note, on a server without ranges");
}

#[test]
fn many_at_once_fetch_each_wheel_once() {
    let world = World::new(2 << 20);
    let whole = world.tree();
    world.wipe();
    world.index.forget();
    let many = if rounds(0) > 0 { 64 } else { 8 };
    let children: Vec<Child> =
        (0..many).map(|_| world.install().stderr(Stdio::piped()).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(world.tree() == whole);
    assert_eq!(world.left_overs(), 0);
    for wheel in ["nvidia_cudnn", "nvidia_cublas", "nvidia_cuda_runtime", "nvidia_cuda_nvrtc"] {
        assert_eq!(world.index.count(&format!("/{wheel}")), 1, "{wheel}");
    }
}

#[test]
fn a_waiting_run_says_for_whom_it_waits() {
    let world = World::new(2 << 20);
    world.wipe();
    world.index.fault("nvidia_cudnn", usize::MAX, Fault::Slow(64 << 10, Duration::from_millis(60)));
    let mut first = world.install().spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let mut second = world.sandbox.command(cuenv());
    let output = second.args(["install", "--locked"]).output().unwrap();
    assert!(first.wait().unwrap().success() && output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(&format!("waiting for pid {} on ", first.id())), "{text}");
    assert_eq!(world.index.count("/nvidia_cudnn"), 2, "once here, once when the pin was made");
}

#[test]
fn locks_that_do_not_work_cost_nothing_but_the_saving() {
    let world = World::new(1 << 20);
    let whole = world.tree();
    let source = world.sandbox.root().join("noflock.c");
    let library = world.sandbox.root().join("noflock.so");
    let code = "#include <errno.h>\n#include <stdlib.h>\nint flock(int f, int o) { errno = atoi(getenv(\"FLOCK_ERRNO\")); return -1; }\n";
    fs::write(&source, code).unwrap();
    let made =
        Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no gcc");
        return;
    }
    // ENOSYS, ENOLCK, EBADF, 524 (Lustre, GPFS), EOPNOTSUPP.
    for errno in ["38", "37", "9", "524", "95"] {
        world.wipe();
        world.index.forget();
        let children: Vec<Child> = (0..4)
            .map(|_| {
                let mut command = world.install();
                command.env("LD_PRELOAD", &library).env("FLOCK_ERRNO", errno);
                command.stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(
                output.status.success(),
                "{errno}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert!(world.tree() == whole, "errno {errno}");
        // The stand-in file saves the work as well.
        assert_eq!(world.index.count("/nvidia_cudnn"), 1, "errno {errno}");
    }
}

#[test]
fn a_full_disk_leaves_no_litter_and_names_the_way_out() {
    let world = World::new(6 << 20);
    let cuenv = cuenv().display().to_string();
    let levels = if rounds(0) > 0 { 20 } else { 6 };
    // In its own mount namespace: a tmpfs of each size, an installation on it, and what is left.
    let script = format!(
        "mount -t tmpfs -o size=$1k none \"$CUENV_HOME\" || exit 99
         '{cuenv}' install 12.4+cudnn9 -q >/dev/null 2>\"$ERRORS\"; code=$?
         left=$(find \"$CUENV_HOME/tmp\" -type f 2>/dev/null | wc -l); echo $code $left; umount \"$CUENV_HOME\""
    );
    let errors = world.sandbox.root().join("errors");
    let (mut full, mut done) = (0, 0);
    // Without sizes nothing can be foreseen, so the disk fills up halfway.
    world.index.set(|options| options.no_sizes = true);
    for level in 0..levels {
        world.wipe();
        fs::create_dir_all(world.home()).unwrap();
        let kilobytes = 64 + level * 14_000 / levels;
        let output = world
            .sandbox
            .command("unshare")
            .args(["-rm", "sh", "-c", &script, "sh", &kilobytes.to_string()])
            .env("ERRORS", &errors)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = fs::read_to_string(&errors).unwrap_or_default();
        match text.trim() {
            "1 0" => {
                full += 1;
                assert!(stderr.contains("CUENV_HOME"), "{kilobytes}: {stderr}");
            }
            "0 0" => done += 1,
            _ if output.status.code() == Some(99) || text.is_empty() => {
                println!("skipped: no mount namespaces here");
                return;
            }
            other => panic!("{kilobytes} kB: {other}\n{stderr}"),
        }
    }
    assert!(full >= 3 && done >= 1, "{full} full, {done} done");
}

#[test]
fn a_flipped_byte_is_always_an_integrity_failure() {
    let world = World::new(64);
    let wheel = "nvidia_cublas_cu12-12.4.5.8";
    let requests = world.index.requests();
    let path = requests.iter().find(|request| request.path.contains(wheel)).unwrap().path.clone();
    let lock = fs::read_to_string(world.sandbox.project().join(".cuenv.lock")).unwrap();
    let block = lock.split("[[wheel]]").find(|block| block.contains(wheel)).unwrap();
    let size: u64 = block.lines().find_map(|l| l.strip_prefix("size = ")).unwrap().parse().unwrap();
    for at in (0..size).step_by(100).chain([size - 1]) {
        world.wipe();
        world.index.clear_faults();
        world.index.fault(&path, usize::MAX, Fault::WrongByte(at));
        let output = world.install().output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "byte {at}: {stderr}");
        assert!(!world.home().join("toolchains").exists(), "byte {at}");
        assert_eq!(world.left_overs(), 0, "byte {at}");
        // The other wheels were whole, and they are kept.
        assert_eq!(fs::read_dir(world.home().join("store")).unwrap().count(), 3, "byte {at}");
    }
    world.index.clear_faults();
    world.install().status().unwrap();
    assert_eq!(fs::read_dir(world.home().join("store")).unwrap().count(), 4);
}

#[test]
fn servers_that_falter_are_borne_with() {
    let world = World::new(1 << 20);
    let whole = world.tree();
    let cases = [
        ("busy twice", 2, Fault::Status(503, None), 0),
        ("asks to wait", 1, Fault::Status(429, Some("1".into())), 0),
        ("cuts three times", 3, Fault::DropAfter(200_000), 0),
        ("is always cut", usize::MAX, Fault::DropAfter(0), 4),
        ("falls silent", 1, Fault::StallAfter(100_000), 0),
        ("is slow but moves", 1, Fault::Slow(100_000, Duration::from_millis(100)), 0),
        ("has nothing", usize::MAX, Fault::Status(404, None), 4),
        ("is broken", usize::MAX, Fault::Status(500, None), 4),
        ("turns in circles", usize::MAX, Fault::Redirect("{path}".into()), 4),
    ];
    for (what, times, fault, code) in cases {
        world.wipe();
        world.index.clear_faults();
        world.index.fault("/nvidia_cudnn", times, fault);
        let mut command = world.install();
        let output = command.env("CUENV_HTTP_TIMEOUT", "1").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{what}: {stderr}");
        assert!(!stderr.contains("digest"), "{what}: {stderr}");
        if code == 0 {
            assert!(world.tree() == whole, "{what}");
        } else {
            // What was whole is kept.
            assert_eq!(fs::read_dir(world.home().join("store")).unwrap().count(), 3, "{what}");
        }
    }
}

#[test]
fn gc_keeps_what_is_pinned_and_frees_the_rest() {
    let world = World::new(1 << 20);
    let dry = world.sandbox.cuenv(["gc"]).succeeds();
    assert!(dry.stdout.contains("Nothing to remove"), "{}", dry.stdout);
    // Without the pin and its lock nothing holds it: the link of its spec alone keeps nothing.
    fs::remove_file(world.sandbox.project().join(".cuenv")).unwrap();
    fs::remove_file(world.sandbox.project().join(".cuenv.lock")).unwrap();
    let before = world.tree();
    let report = world.sandbox.cuenv(["gc", "--json"]).succeeds();
    assert!(report.stdout.contains("\"dry_run\": true"), "{}", report.stdout);
    let report = report.json();
    let rows = report["items"].as_array().unwrap().iter();
    let sum: u64 = rows.map(|row| row["bytes"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), report["bytes"].as_u64(), "the rows add up: {report}");
    let kept = |path: &PathBuf| world.home().join(path).symlink_metadata().is_ok();
    assert!(before.keys().filter(|path| !path.starts_with("active")).all(kept));
    world.sandbox.cuenv(["gc", "-y"]).succeeds();
    assert_eq!(fs::read_dir(world.home().join("store")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(world.home().join("active/linux-x86_64")).unwrap().count(), 0);
    assert_eq!(world.left_overs(), 0);
}

/// One project's broken lock, a merge's left-overs say, does not stop `gc` for all others; what it may need stays.
#[test]
fn gc_keeps_what_a_broken_lock_may_need_and_frees_the_rest() {
    let world = World::new(1 << 10);
    let kept = world.tree();
    let newer = Builder::new("nvidia-cudnn-cu12", "9.1.1.17");
    world.index.add(&newer.file("nvidia/cudnn/lib/libcudnn.so.9", "newer").build());
    fs::remove_dir_all(world.home().join("cache")).unwrap();
    let other = world.sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    world.sandbox.cuenv(["-C", other.to_str().unwrap(), "use", "12.4+cudnn9.1.1"]).succeeds();
    assert!(world.tree().len() > kept.len());
    fs::remove_dir_all(&other).unwrap();
    let lock = world.sandbox.project().join(".cuenv.lock");
    let text = fs::read_to_string(&lock).unwrap();
    // The link of its spec holds the prefix, and without that the text of the lock does.
    let link = world.home().join("active/linux-x86_64/12.4+cudnn9");
    for bent in ["version = 1\nspec = ".to_owned(), format!("<<<<<<< ours\n{text}=======\n")] {
        fs::write(&lock, bent).unwrap();
        let ran = world.sandbox.cuenv(["gc", "-y"]).succeeds();
        assert!(ran.stderr.contains(".cuenv.lock"), "{}", ran.stderr);
        assert!(ran.stderr.contains("is kept; `cuenv -C"), "{}", ran.stderr);
        let is_there = |path: &PathBuf| world.home().join(path).symlink_metadata().is_ok();
        let prefix = |path: &&PathBuf| !path.starts_with("active");
        assert!(kept.keys().filter(prefix).all(is_there), "{}", ran.stdout);
        let newer = |path: &PathBuf| path.to_string_lossy().contains("9.1.1.17");
        assert!(!world.tree().keys().any(newer), "what no pin means is gone");
        let _ = fs::remove_file(&link);
    }
    // Prefixes alone do not hold its wheels: the text of the lock does.
    fs::remove_dir_all(world.home().join("toolchains")).unwrap();
    world.sandbox.cuenv(["gc", "-y"]).succeeds();
    assert_eq!(fs::read_dir(world.home().join("store")).unwrap().count(), 4);
}

/// A download that was cut short is named, kept for the next installation, and goes when that is asked for.
#[test]
fn gc_names_interrupted_downloads_and_removes_them_when_asked() {
    let world = World::new(LARGE);
    world.wipe();
    let mut child = world.install().env("CUENV_TEST_KILL_AT", "noted:1").spawn().unwrap();
    assert!(!child.wait().unwrap().success());
    let dry = world.sandbox.cuenv(["gc"]).succeeds();
    assert!(dry.stdout.starts_with("Nothing to remove"), "what came whole stays: {}", dry.stdout);
    let row = dry.stdout.lines().find(|line| line.contains("kept: ")).unwrap_or_default();
    assert!(row.contains("interrupted download nvidia_cudnn_cu12-9.1.0.70-"), "{}", dry.stdout);
    assert!(row.contains("for 14 more days"), "{row}");
    assert!(dry.stderr.contains("`cuenv gc --downloads -y`"), "{}", dry.stderr);
    world.sandbox.cuenv(["gc", "-y"]).succeeds();
    let kept = world.sandbox.cuenv(["gc", "--json"]).succeeds().json();
    assert_eq!(kept["kept"].as_array().unwrap().len(), 1, "{kept}");
    let dry = world.sandbox.cuenv(["gc", "--downloads"]).succeeds();
    assert!(dry.stderr.contains("`cuenv gc --downloads -y`"), "{}", dry.stderr);
    world.sandbox.cuenv(["gc", "--downloads", "-y"]).succeeds();
    assert_eq!(world.left_overs(), 0);
    assert_eq!(world.sandbox.cuenv(["gc"]).succeeds().stdout, "Nothing to remove\n");
}

/// What a project needs must not go because its lock cannot be read just now.
#[test]
fn gc_removes_nothing_while_a_lock_cannot_be_read() {
    let world = World::new(1 << 20);
    let lock = world.sandbox.project().join(".cuenv.lock");
    let before = world.tree();
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink("/nonexistent", &lock).unwrap();
    world.sandbox.cuenv(["gc", "-y"]).code(1);
    fs::remove_file(&lock).unwrap();
    // So must not what the default needs, nor what a pin on a disk that is not mounted needs.
    let default = world.home().join("config/default");
    fs::create_dir_all(default.parent().unwrap()).unwrap();
    fs::write(&default, "12.4 nonsense").unwrap();
    let ran = world.sandbox.cuenv(["gc", "-y"]).code(2);
    assert!(ran.stderr.contains("nothing was removed"), "{}", ran.stderr);
    fs::remove_file(&default).unwrap();
    let pin = world.sandbox.project().join(".cuenv");
    fs::remove_file(&pin).unwrap();
    std::os::unix::fs::symlink("/nonexistent", &pin).unwrap();
    world.sandbox.cuenv(["gc", "-y"]).code(2);
    assert_eq!(world.tree(), before);
}

/// A lock decides for its project: what the same spec means elsewhere stays.
#[test]
fn a_lock_answers_for_its_project_alone() {
    let world = World::new(1 << 10);
    world.wipe();
    let newer = Builder::new("nvidia-cudnn-cu12", "9.1.1.17");
    world.index.add(&newer.file("nvidia/cudnn/lib/libcudnn.so.9", "newer").build());
    let other = world.sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    world.sandbox.cuenv(["-C", other, "use", "12.4+cudnn9"]).succeeds();
    let link = world.home().join("active/linux-x86_64/12.4+cudnn9");
    let before = fs::read_link(&link).unwrap();
    assert!(before.to_str().unwrap().contains("9.1.1.17"), "{before:?}");
    world.sandbox.cuenv(["install", "--locked"]).succeeds();
    assert_eq!(fs::read_link(&link).unwrap(), before);
    let here = world.sandbox.cuenv(["where"]).succeeds().stdout;
    assert!(here.contains("cudnn9.1.0.70"), "{here}");
}

/// A clone's lock may name NVIDIA's wheels and nothing else that an index has.
#[test]
fn a_lock_that_names_no_component_is_refused() {
    let world = World::new(1 << 10);
    world.wipe();
    world.index.forget();
    let lock = world.sandbox.project().join(".cuenv.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let bent =
        text.replace("nvidia-cudnn-cu12", "evil-pkg").replace("nvidia_cudnn_cu12", "evil_pkg");
    assert_ne!(bent, text);
    fs::write(&lock, bent).unwrap();
    for args in [&["install"][..], &["install", "--locked"], &["use", "12.4+cudnn9"]] {
        let ran = world.sandbox.cuenv(args).code(5);
        assert!(ran.stderr.contains("`evil-pkg`, which is no component"), "{}", ran.stderr);
    }
    assert_eq!(world.index.connections(), 0);
    fs::write(&lock, text).unwrap();
    world.sandbox.cuenv(["install", "--locked"]).succeeds();
}

/// Nobody sees a toolchain that gc is about to take: an installation waits until gc is done.
#[test]
fn an_installation_waits_for_gc() {
    let world = World::new(1 << 20);
    let path = world.home().join("locks/store");
    let held = fs::File::create(&path).unwrap();
    held.lock().unwrap();
    let mut install = world.sandbox.command(cuenv()).arg("install").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(install.try_wait().unwrap().is_none(), "it did not wait");
    drop(held);
    assert!(install.wait().unwrap().success());
}

/// A venv that holds the very wheel already spares the download; whatever differs is fetched.
#[test]
fn a_wheel_that_a_venv_holds_is_linked_instead_of_fetched() {
    let world = World::new(2 << 20);
    let mut whole = world.tree();
    whole.retain(|path, _| !path.ends_with(".cuenv-wheel"));
    let library = "nvidia/cudnn/lib/libcudnn_engines.so.9";
    let site = world.sandbox.project().join(".venv/lib/python3.11/site-packages");
    let entries = fs::read_dir(world.home().join("store")).unwrap().map(|e| e.unwrap().path());
    let entry = entries.into_iter().find(|entry| entry.join(library).exists()).unwrap();
    fs::create_dir_all(site.parent().unwrap()).unwrap();
    let copied = Command::new("cp").arg("-r").arg(&entry).arg(&site).status().unwrap();
    assert!(copied.success());
    let digest = entry.file_name().unwrap().to_owned();

    let run = |reuse: &str| {
        world.wipe();
        world.index.forget();
        let mut install = world.sandbox.command(cuenv());
        let output =
            install.args(["install", "--locked"]).env("CUENV_REUSE", reuse).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // A receipt lists the files in the order in which they came.
        let mut tree = world.tree();
        tree.retain(|path, _| !path.ends_with(".cuenv-wheel"));
        assert!(tree == whole, "another tree with CUENV_REUSE={reuse}");
        world.sandbox.cuenv(["verify", "--files"]).succeeds();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run("1");
    assert!(said.contains("1 unpacked on this machine already"), "{said}");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let stored = world.home().join("store").join(&digest).join(library);
    assert_eq!(inode(&stored), inode(&site.join(library)));

    let said = run("0");
    assert!(!said.contains("unpacked on this machine"), "{said}");
    fs::set_permissions(site.join(library), fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = fs::read(site.join(library)).unwrap();
    bytes[0] ^= 1;
    fs::write(site.join(library), bytes).unwrap();
    let said = run("1");
    assert!(!said.contains("unpacked on this machine"), "{said}");
}

#[test]
fn a_damaged_file_is_found_and_only_its_wheel_is_fetched_again() {
    let world = World::new(1 << 20);
    let whole = world.tree();
    world.sandbox.cuenv(["verify", "--files"]).succeeds();
    let entries = fs::read_dir(world.home().join("store")).unwrap().map(|e| e.unwrap().path());
    let library = entries
        .map(|entry| entry.join("nvidia/cudnn/lib/libcudnn.so.9"))
        .find(|path| path.exists())
        .unwrap();
    fs::remove_file(&library).unwrap();
    fs::write(&library, "other").unwrap();
    let ran = world.sandbox.cuenv(["verify", "--files"]).code(7);
    assert!(ran.stdout.contains("libcudnn.so.9` has other bytes"), "{}", ran.stdout);
    // A repair that cannot fetch takes nothing away.
    let before = world.tree();
    world.sandbox.cuenv(["verify", "--files", "--repair", "--offline"]).code(4);
    assert_eq!(world.tree(), before);
    assert_eq!(world.left_overs(), 0);
    world.index.forget();
    world.sandbox.cuenv(["verify", "--files", "--repair"]).succeeds();
    assert_eq!(world.index.count("/nvidia_cudnn"), 1);
    assert_eq!(world.index.count("/nvidia_cublas"), 0);
    assert_eq!(world.tree(), whole);
    world.sandbox.cuenv(["verify", "--files"]).succeeds();
}
