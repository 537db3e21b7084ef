//! Two projects, two toolchains, side by side: `use`, `install`, `lock`, `list`, `where`, `uninstall`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::support::index::{Fault, Index};
use crate::support::sandbox::Sandbox;
use crate::support::toolkit;
use crate::support::tree;
use crate::support::wheel::Builder;

struct World {
    index: Index,
    sandbox: Sandbox,
}

impl World {
    fn new() -> Self {
        Self::with(toolkit::index())
    }

    fn with(index: Index) -> Self {
        let sandbox = Sandbox::new()
            .with_env("CUENV_INDEX_URL", index.url())
            .with_env("CUENV_HTTP_RETRIES", "1")
            // A machine without driver and GPU, whatever the tests run on.
            .with_env("CUENV_HOST_ROOT", "/nonexistent");
        Self { index, sandbox }
    }

    fn prefix(&self) -> PathBuf {
        let ran =
            self.sandbox.command(crate::support::sandbox::cuenv()).arg("where").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        PathBuf::from(String::from_utf8(ran.stdout).unwrap().trim_end())
    }

    fn library(&self, name: &str) -> String {
        fs::read_to_string(self.prefix().join("lib").join(name)).unwrap()
    }
}

#[test]
fn two_projects_pin_different_releases_side_by_side() {
    let world = World::new();
    let asr = world.sandbox.write("asr/.keep", "");
    let trainer = world.sandbox.write("trainer/.keep", "");
    let (asr, trainer) = (asr.parent().unwrap(), trainer.parent().unwrap());
    let run = |directory: &std::path::Path, args: &[&str]| {
        let mut all = vec!["-C", directory.to_str().unwrap()];
        all.extend(args);
        world.sandbox.cuenv(all).succeeds()
    };
    run(asr, &["use", "11.8+cudnn8@base"]);
    run(trainer, &["use", "12.4+cudnn9@base"]);
    let at = |directory, library: &str| {
        let prefix = run(directory, &["where"]).stdout;
        let prefix =
            prefix.trim_end().replace("[CUENV]", world.sandbox.cuenv_home().to_str().unwrap());
        fs::read_to_string(format!("{prefix}/lib/{library}")).unwrap()
    };
    assert_eq!(at(asr, "libcudnn.so.8"), "nvidia-cudnn-cu11 8.9.6.50");
    assert_eq!(at(asr, "libcudart.so.11.0"), "nvidia-cuda-runtime-cu11 11.8.89");
    assert_eq!(at(trainer, "libcudnn.so.9"), "nvidia-cudnn-cu12 9.14.0.64");
    assert_eq!(at(trainer, "libcublas.so.12"), "nvidia-cublas-cu12 12.4.5.8");

    let listed = world.sandbox.cuenv(["list", "--json"]).succeeds().json();
    let names: Vec<_> = listed["toolchains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["toolchain"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["11.8.0+cudnn8.9.6.50", "12.4.1+cudnn9.14.0.64"]);
}

#[test]
fn a_second_use_asks_nobody_and_changes_nothing() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    let (requests, files) = (world.index.requests().len(), tree::of(world.sandbox.root()));
    assert!(requests > 0);
    let again = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    assert_eq!(world.index.requests().len(), requests, "{}", again.stderr);
    assert_eq!(tree::of(world.sandbox.root()), files);
    // Another project with the same spec needs nobody either.
    let other = world.sandbox.write("other/.keep", "");
    world
        .sandbox
        .cuenv(["-C", other.parent().unwrap().to_str().unwrap(), "use", "12.4+cudnn9@base"])
        .succeeds();
    assert_eq!(world.index.requests().len(), requests);
    let lock = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(
        lock(world.sandbox.project().join(".cuenv.lock")),
        lock(world.sandbox.project().join("other/.cuenv.lock"))
    );
}

#[test]
fn nothing_outside_of_cuenvs_directories_and_the_two_files_is_written() {
    let world = World::new();
    world.sandbox.write("train.py", "print()");
    let before = tree::of(world.sandbox.root());
    for args in [
        &["use", "12.4+cudnn9@base"][..],
        &["install"],
        &["lock", "--check"],
        &["list"],
        &["where"],
        &["resolve", "11.8"],
        &["uninstall", "12.4+cudnn9"],
    ] {
        world.sandbox.cuenv(args).succeeds();
    }
    let mut after = tree::of(world.sandbox.root());
    for ours in ["project/.cuenv", "project/.cuenv.lock"] {
        assert!(after.remove(std::path::Path::new(ours)).is_some(), "{ours}");
    }
    let outside = |found: BTreeMap<PathBuf, String>| -> BTreeMap<PathBuf, String> {
        found
            .into_iter()
            // The times of these two directories change with the entries in them.
            .filter(|(path, _)| !path.starts_with("cuenv") && path.to_str() != Some("project"))
            .collect()
    };
    assert_eq!(outside(after), outside(before));
}

#[test]
fn cuda_files_are_shared_between_cudnn_8_and_9() {
    let world = World::new();
    let inode =
        |library: &str| fs::metadata(world.prefix().join("lib").join(library)).unwrap().ino();
    world.sandbox.cuenv(["use", "12.4+cudnn8@base"]).succeeds();
    let (first, fetched) = (inode("libcublas.so.12"), world.index.count("nvidia_cublas"));
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    assert_eq!(inode("libcublas.so.12"), first);
    assert_eq!(world.index.count("nvidia_cublas"), fetched, "only the cuDNN is fetched");
    assert_eq!(world.library("libcudnn.so.9"), "nvidia-cudnn-cu12 9.14.0.64");
}

#[test]
fn a_clone_installs_the_same_bytes_from_the_lock_and_from_nowhere_else() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9.1@base"]).succeeds();
    let (lock, prefix) =
        (fs::read(world.sandbox.project().join(".cuenv.lock")).unwrap(), world.prefix());
    let bytes = tree::contents(&prefix);

    let clone = World::new();
    clone.sandbox.write(".cuenv", "12.4+cudnn9.1@base\n");
    clone.sandbox.write(".cuenv.lock", &lock);
    clone.sandbox.cuenv(["install", "--locked"]).succeeds();
    assert_eq!(tree::contents(&clone.prefix()), bytes);
    assert_eq!(fs::read(clone.sandbox.project().join(".cuenv.lock")).unwrap(), lock);

    // An index that serves other bytes under a locked name is refused.
    let index = toolkit::index();
    index.remove("nvidia-cudnn-cu12");
    let other = Builder::new("nvidia-cudnn-cu12", "9.1.0.70")
        .file("nvidia/cudnn/lib/libcudnn.so.9", "other");
    index.add(&other.build());
    let hostile = World::with(index);
    hostile.sandbox.write(".cuenv", "12.4+cudnn9.1@base\n");
    hostile.sandbox.write(".cuenv.lock", &lock);
    let ran = hostile.sandbox.cuenv(["install"]).code(5);
    assert!(ran.stderr.contains("nvidia_cudnn_cu12-9.1.0.70"), "{}", ran.stderr);
    hostile.sandbox.cuenv(["where"]).code(3);
}

#[test]
fn a_lock_that_does_not_answer_the_pin_is_drift() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9.1@base"]).succeeds();
    world.sandbox.cuenv(["lock", "--check"]).succeeds();
    world.sandbox.write(".cuenv", "12.4+cudnn8@base\n");
    for args in [&["lock", "--check"][..], &["install", "--locked"]] {
        let ran = world.sandbox.cuenv(args).code(8);
        assert!(
            ran.stderr.contains("12.4+cudnn8@base") && ran.stderr.contains("12.4+cudnn9.1@base")
        );
    }
    // Without `--locked`, the pin is what counts.
    world.sandbox.cuenv(["install"]).succeeds();
    assert_eq!(world.library("libcudnn.so.8"), "nvidia-cudnn-cu12 8.9.7.29");
    world.sandbox.cuenv(["lock", "--check"]).succeeds();
}

#[test]
fn update_moves_the_lock_and_says_how() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    world.sandbox.cuenv(["update", "-n"]).succeeds();
    let newer =
        toolkit::component("nvidia-cudnn-cu12", "9.15.0.57", "nvidia/cudnn/lib/libcudnn.so.9");
    world.index.add(&newer.build());
    fs::remove_dir_all(world.sandbox.cuenv_home().join("cache")).unwrap();
    let would = world.sandbox.cuenv(["update", "-n"]).code(100);
    assert!(would.stdout.contains("cudnn 9.14.0.64 -> 9.15.0.57"), "{}", would.stdout);
    assert_eq!(world.library("libcudnn.so.9"), "nvidia-cudnn-cu12 9.14.0.64");
    world.sandbox.cuenv(["update"]).succeeds();
    assert_eq!(world.library("libcudnn.so.9"), "nvidia-cudnn-cu12 9.15.0.57");
}

#[test]
fn what_has_no_answer_exits_3_and_names_what_is_near() {
    let world = World::new();
    let ran = world.sandbox.cuenv(["use", "12.7"]).code(3);
    assert!(ran.stderr.contains("no CUDA release matches `12.7`") && ran.stderr.contains("12.4.1"));
    let ran = world.sandbox.cuenv(["use", "12.4+cudn9"]).code(3);
    assert!(ran.stderr.contains("did you mean `cudnn`?"), "{}", ran.stderr);
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn7"]).code(3);
    assert!(ran.stderr.contains("cudnn"), "{}", ran.stderr);
    assert!(!world.sandbox.project().join(".cuenv").exists(), "a failed `use` writes no pin");
    world.sandbox.cuenv(["uninstall", "12.4"]).code(3);
    world.sandbox.cuenv(["where"]).code(3);
    world.sandbox.cuenv(["install"]).code(3);
}

#[test]
fn offline_and_a_dead_index_exit_4() {
    let world = World::new();
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9", "--offline"]).code(4);
    assert!(ran.stderr.contains("--offline"), "{}", ran.stderr);
    assert_eq!(world.index.connections(), 0);
    world.index.fault("cuda-toolkit", usize::MAX, Fault::Status(503, None));
    world.sandbox.cuenv(["use", "12.4+cudnn9"]).code(4);
    // What was fetched once works offline.
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    world.sandbox.cuenv(["install", "--offline"]).succeeds();
    world.sandbox.cuenv(["install", "12.4+cudnn9@base", "--offline"]).succeeds();
}

#[test]
fn the_driver_and_the_gpu_are_asked_before_the_first_byte() {
    let world = World::new();
    let run = |driver: &str, cc: &str, spec: &str| {
        let mut command = world.sandbox.command(crate::support::sandbox::cuenv());
        command.args(["resolve", spec]).env("CUENV_DRIVER_VERSION", driver);
        command.env("CUENV_COMPUTE_CAPABILITY", cc);
        crate::support::sandbox::Ran::of(&mut command, &world.sandbox)
    };
    let ran = run("470.82.01", "8.6", "12.4+cudnn9").code(6);
    assert!(ran.stderr.contains("470.82.01") && ran.stderr.contains("525.60.13"), "{}", ran.stderr);
    // Pascal: the last cuDNN with code for it is 9.10.2, although 9.14 is there.
    let ran = run("550.54.14", "6.1", "12.4+cudnn9").succeeds();
    assert!(ran.stdout.contains("9.10.2.21"), "{}", ran.stdout);
    let ran = run("550.54.14", "6.1", "12.4+cudnn9.14").code(6);
    assert!(ran.stderr.contains("6.1") && ran.stderr.contains("9.10"), "{}", ran.stderr);
    let ran = run("550.54.14", "9.0", "auto+cudnn9").succeeds();
    assert!(ran.stdout.contains("12.4.1"), "{}", ran.stdout);
    let ran = run("none", "none", "auto").code(6);
    assert!(ran.stderr.contains("CUENV_DRIVER_VERSION"), "{}", ran.stderr);
    assert_eq!(
        world.index.count("/files/"),
        world.index.count("cuda_toolkit"),
        "only metapackages"
    );
}

#[test]
fn hostile_wheels_exit_5_and_publish_nothing() {
    let hostile: Vec<(&str, Builder)> = vec![
        ("climbs out", cudnn().file("nvidia/../../../evil", "x")),
        ("absolute path", cudnn().file("/tmp/evil", "x")),
        ("symlink", cudnn().file("nvidia/cudnn/lib/libx.so.1", "/etc/passwd").symlink()),
        ("twice the same name", cudnn().file("nvidia/a", "1").file("nvidia/a", "2")),
        ("not in RECORD", cudnn().file("nvidia/a", "1").unrecorded()),
        ("other bytes than RECORD", cudnn().file("nvidia/a", "1").misrecorded()),
        ("no RECORD", cudnn().without_record()),
        ("wrong checksum", cudnn().file("nvidia/a", "1").with_wrong_crc()),
        ("wrong size", cudnn().file("nvidia/a", "1").claiming_size(5)),
        ("bomb", cudnn().bomb("nvidia/zeros", 256).claiming_size(1000)),
    ];
    for (what, builder) in hostile {
        let index = toolkit::index();
        index.remove("nvidia-cudnn-cu12");
        index.add(&builder.build());
        // Whoever has a wheel's digest from the index has those of its files; without, they are compared with RECORD.
        index.set(|options| options.no_hashes = what.starts_with("other bytes"));
        let world = World::with(index);
        let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]);
        assert_eq!(ran.code, Some(5), "{what}: {}", ran.stderr);
        assert!(ran.stderr.contains("nvidia_cudnn_cu12"), "{what}: {}", ran.stderr);
        world.sandbox.cuenv(["where", "12.4+cudnn9@base"]).code(3);
        assert!(!world.sandbox.project().join(".cuenv").exists(), "{what}");
        let store = world.sandbox.cuenv_home().join("store");
        let entries = fs::read_dir(store).map(Iterator::count).unwrap_or(0);
        assert!(entries <= 3, "{what}: the hostile wheel is in the store");
        assert!(!world.sandbox.root().join("evil").exists());
    }
}

fn cudnn() -> Builder {
    toolkit::component("nvidia-cudnn-cu12", "9.1.0.70", "nvidia/cudnn/lib/libcudnn.so.9")
}

#[test]
fn damaged_downloads_exit_5_and_cut_ones_4() {
    for (what, fault, code) in [
        ("flipped", Fault::WrongByte(200), 5),
        ("not a zip", Fault::WrongByte(0), 5),
        ("cut", Fault::DropAfter(0), 4),
        ("gone", Fault::Status(404, None), 4),
    ] {
        let world = World::new();
        world.index.fault(
            "nvidia_cudnn_cu12-9.14.0.64-py3-none-manylinux2014_x86_64.whl",
            usize::MAX,
            fault,
        );
        let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]);
        assert_eq!(ran.code, Some(code), "{what}: {}", ran.stderr);
        world.sandbox.cuenv(["where", "12.4+cudnn9@base"]).code(3);
    }
}

#[test]
fn two_wheels_with_one_path_and_different_bytes_collide() {
    let index = toolkit::index();
    index.remove("nvidia-cudnn-cu12");
    index.add(&cudnn().file("nvidia/cudnn/lib/libcublas.so.12", "mine").build());
    let world = World::with(index);
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).code(5);
    assert!(ran.stderr.contains("libcublas.so.12"), "{}", ran.stderr);
}

#[test]
fn broken_pins_and_locks_are_named_and_kept() {
    let world = World::new();
    for pin in ["12..4\n", "$(id)\n", "../../x\n", "toolchain = 12\n", "12.4\n11.8\n", "\u{0}\u{1}"]
    {
        let path = world.sandbox.write(".cuenv", pin);
        let ran = world.sandbox.cuenv(["install"]);
        assert_eq!(ran.code, Some(2), "{pin:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(".cuenv"), "{pin:?}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(path).unwrap(), pin);
    }
    world.sandbox.write(".cuenv", "12.4+cudnn9@base\n");
    for lock in ["nonsense", "version = 99\n", "version = 1\nspec = \"../..\"\n"] {
        let path = world.sandbox.write(".cuenv.lock", lock);
        world.sandbox.cuenv(["install"]).code(5);
        assert_eq!(fs::read_to_string(path).unwrap(), lock);
    }
    // `use` writes a broken lock anew, but not a newer cuenv's.
    let newer = world.sandbox.write(".cuenv.lock", "version = 99\n");
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).code(5);
    assert!(ran.stderr.contains("self update"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&newer).unwrap(), "version = 99\n");
    fs::remove_file(newer).unwrap();
    // A directory of another tool with the same name is no pin, and is not overwritten.
    fs::remove_file(world.sandbox.project().join(".cuenv")).unwrap();
    fs::create_dir_all(world.sandbox.project().join(".cuenv/cache")).unwrap();
    world.sandbox.cuenv(["where"]).code(3);
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).code(1);
    assert!(ran.stderr.contains("is a directory"), "{}", ran.stderr);
}

#[test]
fn uninstall_removes_the_prefix_and_keeps_the_store() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    let prefix = world.prefix();
    world.sandbox.cuenv(["uninstall", "-n", "12.4+cudnn9"]).succeeds();
    assert!(prefix.is_dir());
    let ran = world.sandbox.cuenv(["uninstall", "12.4+cudnn9"]).succeeds();
    assert!(ran.stderr.contains("[PROJECT]` uses it"), "{}", ran.stderr);
    assert!(!prefix.exists());
    let requests = world.index.count("/files/");
    world.sandbox.cuenv(["install"]).succeeds();
    assert_eq!(world.index.count("/files/"), requests, "the wheels were still in the store");
    assert_eq!(world.prefix(), prefix);
}

#[test]
fn json_is_one_document_and_quiet_prints_nothing() {
    let world = World::new();
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base", "--json"]).succeeds();
    let report = ran.json();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["toolchain"], "12.4.1+cudnn9.14.0.64");
    assert_eq!(report["install"]["fetched"], 4);
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn9@base", "-q"]).succeeds();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    let ran = world.sandbox.cuenv(["use", "12.7", "--json"]).code(3);
    assert_eq!(ran.json()["error"]["exit"], 3);
    let ran = world.sandbox.cuenv(["resolve", "12.4+cudnn9@base", "-q"]).succeeds();
    assert_eq!(ran.stdout, "12.4.1+cudnn9.14.0.64\n");
}

#[test]
fn several_platforms_share_one_lock() {
    let world = World::new();
    for (distribution, version, library) in [
        ("nvidia-cuda-runtime-cu12", "12.4.127", "nvidia/cuda_runtime/lib/libcudart.so.12"),
        ("nvidia-cuda-nvrtc-cu12", "12.4.127", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
        ("nvidia-cublas-cu12", "12.4.5.8", "nvidia/cublas/lib/libcublas.so.12"),
        ("nvidia-cudnn-cu12", "9.1.0.70.post1", "nvidia/cudnn/lib/libcudnn.so.9"),
    ] {
        let wheel = toolkit::component(distribution, version, library);
        world.index.add(&wheel.tags("py3-none-manylinux2014_aarch64").build());
    }
    world.sandbox.write(".cuenv", "12.4+cudnn9.1@base\n");
    world.sandbox.cuenv(["lock", "--platform", "linux-x86_64,linux-aarch64"]).succeeds();
    let lock = fs::read_to_string(world.sandbox.project().join(".cuenv.lock")).unwrap();
    assert!(
        lock.contains("prefix.linux-x86_64") && lock.contains("prefix.linux-aarch64"),
        "{lock}"
    );
    assert!(lock.contains("9.1.0.70.post1"), "{lock}");
    assert!(lock.contains("toolchain = \"12.4.1+cudnn9.1.0.70\""), "{lock}");
    world.sandbox.cuenv(["install", "--locked"]).succeeds();
    assert_eq!(world.library("libcudnn.so.9"), "nvidia-cudnn-cu12 9.1.0.70");

    // A new pin keeps the other platform where it has an answer, and says where it has none.
    let lock = || fs::read_to_string(world.sandbox.project().join(".cuenv.lock")).unwrap();
    world.sandbox.cuenv(["use", "12.4@base"]).succeeds();
    assert!(lock().contains("prefix.linux-aarch64"), "{}", lock());
    let ran = world.sandbox.cuenv(["use", "12.4+cudnn8@base"]).succeeds();
    assert!(ran.stdout.contains("no longer covers linux-aarch64"), "{}", ran.stdout);
    assert!(!lock().contains("linux-aarch64"), "{}", lock());
}

#[test]
fn a_lock_whose_names_its_wheels_do_not_give_installs_nothing() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    let lock = fs::read_to_string(world.sandbox.project().join(".cuenv.lock")).unwrap();
    let head = &lock[..lock.find("\n[[wheel]]").unwrap()];
    let fewer = format!("{head}{}", &lock[lock.rfind("\n[[wheel]]").unwrap()..]);
    let other = lock.replace("component = \"cudnn\"", "component = \"cublas2\"");
    for hostile in [head.to_owned(), fewer, other] {
        let evil = World::new();
        evil.sandbox.write(".cuenv", "12.4+cudnn9@base\n");
        evil.sandbox.write(".cuenv.lock", &hostile);
        let ran = evil.sandbox.cuenv(["install", "--locked"]).code(5);
        assert!(ran.stderr.contains("prefix.linux-x86_64"), "{}", ran.stderr);
        assert!(!evil.sandbox.cuenv_home().join("toolchains").exists());
    }
}

#[test]
fn a_deleted_directory_a_relative_home_and_another_directory_are_told_apart() {
    let world = World::new();
    let gone = world.sandbox.write("gone/.keep", "");
    let script = format!(
        "cd gone && rm -r ../gone && exec {} use 12.4",
        crate::support::sandbox::cuenv().display()
    );
    let mut command = world.sandbox.command("sh");
    command.args(["-c", &script]);
    let ran = crate::support::sandbox::Ran::of(&mut command, &world.sandbox).code(1);
    assert!(ran.stderr.contains("no longer exists"), "{}", ran.stderr);
    assert!(!gone.exists());

    let mut command = world.sandbox.command(crate::support::sandbox::cuenv());
    command.arg("list").env("CUENV_HOME", "relative");
    let ran = crate::support::sandbox::Ran::of(&mut command, &world.sandbox).code(2);
    assert!(ran.stderr.contains("CUENV_HOME"), "{}", ran.stderr);

    world.sandbox.write("there/.cuenv", "system\n");
    let ran = world.sandbox.cuenv(["-C", "there", "exec", "--", "pwd"]).succeeds();
    assert_eq!(ran.stdout, "[PROJECT]/there\n");
}

#[test]
fn a_toolkit_that_is_there_can_be_linked_pinned_and_forgotten() {
    let world = World::new();
    let toolkit = world.sandbox.root().join("opt/cuda 12.2");
    fs::create_dir_all(toolkit.join("lib64")).unwrap();
    fs::write(toolkit.join("lib64/libcudart.so"), "").unwrap();
    fs::write(toolkit.join("version.json"), r#"{"cuda": {"version": "12.2.2"}}"#).unwrap();
    let path = toolkit.to_str().unwrap();
    world.sandbox.cuenv(["link", "12.2", path]).code(2);
    world.sandbox.cuenv(["link", "site", "/usr"]).code(2);
    world.sandbox.cuenv(["link", "site", world.sandbox.home().to_str().unwrap()]).code(3);
    world.sandbox.cuenv(["use", "site"]).code(3);
    let linked = world.sandbox.cuenv(["link", "site", path]).succeeds();
    assert!(linked.stdout.contains("CUDA 12.2.2"), "{}", linked.stdout);
    world.sandbox.cuenv(["use", "site"]).succeeds();
    let ran = world
        .sandbox
        .cuenv(["exec", "--", "sh", "-c", "echo $CUDA_HOME; echo $LD_LIBRARY_PATH"])
        .succeeds();
    assert_eq!(ran.stdout, format!("[ROOT]/opt/cuda 12.2\n[ROOT]/opt/cuda 12.2/lib64\n"));
    // Its own compiler is found, though nothing else puts it on PATH.
    let nvcc = toolkit.join("bin/nvcc");
    fs::create_dir(toolkit.join("bin")).unwrap();
    fs::write(&nvcc, "#!/bin/sh\necho the toolkit\n").unwrap();
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).unwrap();
    let before = tree::of(&toolkit);
    let ran = world.sandbox.cuenv(["exec", "nvcc"]).succeeds();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("the toolkit\n", ""));
    assert!(world.sandbox.cuenv(["list"]).succeeds().stdout.contains("linked to"));
    world.sandbox.cuenv(["uninstall", "site"]).succeeds();
    world.sandbox.cuenv(["where"]).code(3);
    assert_eq!(tree::of(&toolkit), before, "the toolkit itself is never touched");
    assert_eq!(world.index.connections(), 0);
}

#[test]
fn the_folder_that_pip_unpacks_for_cuda_13_is_a_toolkit_and_one_component_is_none() {
    let world = World::new();
    let site = ".venv/lib/python3.12/site-packages/nvidia";
    for library in ["libcudart.so.13", "libnvrtc.so.13"] {
        world.sandbox.write(&format!("{site}/cu13/lib/{library}"), "");
    }
    world.sandbox.write(&format!("{site}/cu13/include/cuda.h"), "#define CUDA_VERSION 13020\n");
    world.sandbox.write(&format!("{site}/cuda_runtime/lib/libcudart.so.12"), "");
    let linked = world.sandbox.cuenv(["link", "pip", &format!("{site}/cu13")]).succeeds();
    assert!(linked.stdout.contains("(CUDA 13.2)"), "{}", linked.stdout);
    world.sandbox.cuenv(["use", "pip"]).succeeds();
    let shown = ["exec", "--", "sh", "-c", "echo $CUDA_HOME $LD_LIBRARY_PATH"];
    let ran = world.sandbox.cuenv(shown).succeeds();
    let at = format!("[PROJECT]/{site}/cu13");
    assert_eq!(ran.stdout, format!("{at} {at}/lib\n"));
    world.sandbox.cuenv(["link", "one", &format!("{site}/cuda_runtime")]).code(3);
}

#[test]
fn frameworks_in_the_project_bound_the_cudnn() {
    let world = World::new();
    let info = ".venv/lib/python3.11/site-packages/torch-2.4.1.dist-info/METADATA";
    world.sandbox.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    world.sandbox.write(info, "Metadata-Version: 2.1\nName: torch\nVersion: 2.4.1\n");
    world.sandbox.write(".venv/lib/python3.11/site-packages/torch/version.py", "cuda = '12.1'\n");
    let ran = world.sandbox.cuenv(["use", "--detect", "-n"]).succeeds();
    assert!(ran.stdout.contains("torch 2.4.1") && ran.stdout.contains("cudnn9"), "{}", ran.stdout);
    assert!(!world.sandbox.project().join(".cuenv").exists(), "a proposal is not yet a pin");
    // torch 2.4.1 was built with cuDNN 9.1: an older 9.x would fail at the first convolution.
    let ran = world.sandbox.cuenv(["resolve", "12.4+cudnn9"]).succeeds();
    assert!(ran.stdout.contains("torch 2.4.1") && ran.stdout.contains("9.1"), "{}", ran.stdout);
}

#[test]
fn list_and_current_say_how_this_machine_takes_it() {
    let world = World::new();
    world.sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    let run = |args: &[&str], driver: &str, cc: &str| {
        let mut command = world.sandbox.command(crate::support::sandbox::cuenv());
        command.args(args).env("CUENV_DRIVER_VERSION", driver).env("CUENV_COMPUTE_CAPABILITY", cc);
        crate::support::sandbox::Ran::of(&mut command, &world.sandbox).succeeds().stdout
    };
    let old = run(&["list"], "470.82.01", "8.6");
    assert!(old.contains("cannot run here: driver 470.82.01"), "{old}");
    let good = run(&["list"], "550.54.14", "8.6");
    assert!(good.contains("driver 550.54.14 supports CUDA up to 12.4"), "{good}");
    let gone = run(&["list"], "550.54.14", "6.1");
    assert!(gone.contains("6.1") && gone.contains("cannot run here"), "{gone}");
    let current = run(&["current"], "550.54.14", "8.6");
    assert!(current.contains("550.54.14, supports CUDA up to 12.4"), "{current}");
    assert!(current.contains("compute capability 8.6"), "{current}");
    assert_eq!(run(&["current", "-q"], "550.54.14", "8.6"), "12.4+cudnn9@base\n");
}
