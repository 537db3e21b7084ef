//! Ways in which an installation gets hurt, each with what is said and the command that is named: it is run, and mends it.
//! Damaged prefixes, and K7 to K11 of the recipes: a bad index, loops of shims, the loader's lookups, locks, space.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::index::{Fault, Index};
use crate::support::release::shim;
use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::toolkit;
use crate::support::wheel::Builder;

struct World {
    index: Index,
    sandbox: Sandbox,
}

impl World {
    /// A pinned project with its toolchain installed, on a machine without a GPU.
    fn new() -> Self {
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
            .file("nvidia/cudnn/lib/libcudnn.so.9", "front")
            .file("nvidia/cudnn/lib/libcudnn_adv.so.9", "part")
            .file("nvidia/cudnn/include/cudnn.h", "header");
        index.add(&cudnn.build());
        let sandbox = Sandbox::new()
            .with_env("CUENV_INDEX_URL", index.url())
            .with_env("CUENV_HOST_ROOT", "/nonexistent");
        sandbox.cuenv(["use", "12.4+cudnn9"]).succeeds();
        Self { index, sandbox }
    }

    fn prefix(&self) -> PathBuf {
        PathBuf::from(
            self.sandbox
                .cuenv(["where"])
                .succeeds()
                .stdout
                .trim()
                .replace("[CUENV]", self.sandbox.cuenv_home().to_str().unwrap()),
        )
    }

    fn finding(&self, code: &str) -> Option<serde_json::Value> {
        let json = self.sandbox.cuenv(["doctor", "--json"]).json();
        json["findings"].as_array().unwrap().iter().find(|one| one["code"] == code).cloned()
    }

    /// Runs the command that a finding or message names.
    fn run(&self, fix: &str) -> Ran {
        let words: Vec<&str> = fix.split(' ').collect();
        assert_eq!(words[0], "cuenv", "{fix}");
        self.sandbox.cuenv(&words[1..]).succeeds()
    }
}

/// What is not what was installed is seen without reading it, and the one command makes it whole.
#[test]
fn a_damaged_toolchain_is_seen_at_a_glance_and_the_fix_mends_it() {
    let world = World::new();
    assert_eq!(world.finding("toolchain-damaged"), None);
    let gone = |path: &'static str| {
        let prefix = world.prefix();
        move || {
            let path = prefix.join(path);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
    };
    let shortened = || {
        // Another file under the name: the one in the store stays as it is.
        let library = world.prefix().join("lib/libcudnn.so.9");
        fs::remove_file(&library).unwrap();
        fs::write(library, "x").unwrap();
    };
    let shortened_everywhere = || {
        use std::os::unix::fs::PermissionsExt as _;
        let library = world.prefix().join("lib/libcudnn.so.9");
        fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(library, "x").unwrap();
    };
    let cases: [(&str, &dyn Fn(), &str); 7] = [
        (
            "a library",
            &gone("lib/libcudnn_adv.so.9"),
            "`lib/libcudnn_adv.so.9` of the toolchain is missing",
        ),
        ("a header", &gone("include/cudnn.h"), "`include/cudnn.h` of the toolchain is missing"),
        ("another size", &shortened, "`lib/libcudnn.so.9` of the toolchain has another size"),
        (
            "another size, in the store too",
            &shortened_everywhere,
            "`lib/libcudnn.so.9` of the toolchain has another size",
        ),
        (
            "its receipt",
            &gone(".cuenv/receipt.json"),
            "`.cuenv/receipt.json` of the toolchain is missing or cannot be read",
        ),
        ("all libraries", &gone("lib"), "/lib` of the toolchain is missing"),
        ("several files", &gone(".cuenv/lib"), " files of the toolchain are gone or changed"),
    ];
    for (name, damage, what) in cases {
        damage();
        let found = world.finding("toolchain-damaged");
        let found = found.unwrap_or_else(|| panic!("{name}: not seen"));
        assert_eq!(found["severity"], "error");
        assert!(found["what"].as_str().unwrap().ends_with(what), "{name}: {found}");
        world.run(found["fix"].as_str().unwrap());
        assert_eq!(world.finding("toolchain-damaged"), None, "{name}");
        world.sandbox.cuenv(["verify", "--files"]).succeeds();
    }
}

#[test]
fn verify_sees_the_same_and_list_says_so() {
    let world = World::new();
    fs::remove_file(world.prefix().join("lib/libcudnn_adv.so.9")).unwrap();
    let ran = world.sandbox.cuenv(["verify", "--no-gpu"]).code(7);
    assert!(ran.stdout.contains("  `lib/libcudnn_adv.so.9` is missing\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  fix: cuenv verify --files --repair\n"), "{}", ran.stdout);
    let ran = world.sandbox.cuenv(["list"]).succeeds();
    assert!(
        ran.stdout.contains("damaged: `cuenv verify --files --repair 12.4+cudnn9` makes it whole"),
        "{}",
        ran.stdout
    );
    world.run("cuenv verify --files --repair 12.4+cudnn9");
    assert!(world.prefix().join("lib/libcudnn_adv.so.9").exists());
    assert!(!world.sandbox.cuenv(["list"]).succeeds().stdout.contains("damaged"));
}

/// Nothing is run in silence in a prefix whose libraries or whose activation are gone.
#[test]
fn a_damaged_toolchain_runs_nothing_and_names_the_command() {
    let world = World::new();
    let shims = world.sandbox.cuenv_home().join("shims");
    fs::create_dir_all(&shims).unwrap();
    std::os::unix::fs::symlink(shim(), shims.join("uname")).unwrap();
    let through_shim = || {
        let mut command = world.sandbox.command(shims.join("uname"));
        Ran::of(&mut command, &world.sandbox)
    };
    for damaged in ["lib", ".cuenv/activation"] {
        let path = world.prefix().join(damaged);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        for ran in [world.sandbox.cuenv(["exec", "--", "uname"]), through_shim()] {
            assert_eq!(ran.code, Some(125), "{damaged}: {} {}", ran.stdout, ran.stderr);
            assert_eq!(ran.stdout, "", "{damaged}");
            let fix =
                ran.stderr.split("run `").nth(1).expect("a command").split('`').next().unwrap();
            world.run(fix);
            if path.exists() {
                break;
            }
        }
        world.sandbox.cuenv(["exec", "--", "uname"]).succeeds();
        assert_eq!(through_shim().code, Some(0));
    }
}

/// K7: what the index does wrong is told apart, and the next run goes on.
#[test]
fn k7_a_bad_index_is_told_apart_and_the_next_run_mends_it() {
    let world = World::new();
    let path = "nvidia_cudnn";
    let again = || {
        fs::remove_dir_all(world.sandbox.cuenv_home()).unwrap();
        world.index.clear_faults();
    };
    for (fault, code, word) in [
        (Fault::WrongByte(100), 5, "nvidia_cudnn_cu12"),
        (Fault::Status(404, None), 4, "404"),
        (Fault::Status(503, None), 4, "503"),
    ] {
        again();
        world.index.fault(path, usize::MAX, fault);
        let ran = world.sandbox.cuenv(["install"]).code(code);
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        let doctor = world.finding("not-installed").unwrap();
        assert_eq!(doctor["fix"], "cuenv install");
        world.index.clear_faults();
        world.run("cuenv install");
        assert_eq!(world.finding("not-installed"), None, "{word}");
    }
    // A connection that is cut is taken up where it was.
    again();
    world.index.fault(path, 3, Fault::DropAfter(50));
    world.run("cuenv install 12.4+cudnn9");
}

/// K8: however often the shims stand on PATH, and under whatever home, the program behind them is run once.
#[test]
fn k8_shims_never_find_themselves() {
    let world = World::new();
    let shims = world.sandbox.cuenv_home().join("shims");
    fs::create_dir_all(&shims).unwrap();
    std::os::unix::fs::symlink(shim(), shims.join("uname")).unwrap();
    let twice = format!("{0}/:{0}:{0}/../shims:/usr/bin:/bin", shims.display());
    for home in ["/nonexistent", "/"] {
        let mut command = world.sandbox.command(shims.join("uname"));
        let ran = Ran::of(command.env("PATH", &twice).env("HOME", home), &world.sandbox);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Linux\n"), "{}", ran.stderr);
    }
    // Behind the shims there is nothing: the usual words, no loop.
    let mut command = world.sandbox.command(shims.join("uname"));
    let ran = Ran::of(command.env("PATH", format!("{0}/:{0}", shims.display())), &world.sandbox);
    assert_eq!(ran.code, Some(127), "{}", ran.stderr);
    assert!(ran.stderr.contains("command not found"), "{}", ran.stderr);
}

/// K9: the whole toolchain is one directory for the loader.
#[test]
fn k9_a_toolchain_costs_a_program_one_directory() {
    let world = World::new();
    let traced = world.sandbox.root().join("trace");
    let ran = world
        .sandbox
        .command("strace")
        .args(["-f", "-e", "trace=execve,openat,newfstatat", "-o"])
        .arg(&traced)
        .arg(cuenv())
        .args(["exec", "--", "/bin/true"])
        .stderr(Stdio::null())
        .status();
    if !ran.is_ok_and(|status| status.success()) {
        println!("skipped: no strace");
        return;
    }
    let lib = world.prefix().join("lib").display().to_string();
    let text = fs::read_to_string(traced).unwrap();
    // After the program took over; what cuenv itself looks at is no cost of the loader's.
    let program = text.rsplit("execve(").next().unwrap();
    let lookups = program.lines().filter(|line| line.contains(&lib)).count();
    let path = world.sandbox.cuenv(["exec", "--", "sh", "-c", "echo $LD_LIBRARY_PATH"]).succeeds();
    assert_eq!(path.stdout.trim().split(':').count(), 1, "{}", path.stdout);
    assert!(lookups <= 40, "{lookups} lookups below the toolchain");
    println!("{lookups} lookups");
}

/// K10: a file system without locks is borne with; what is installed is whole.
#[test]
fn k10_locks_that_do_not_work_are_no_reason_to_stop() {
    let world = World::new();
    let source = world.sandbox.root().join("noflock.c");
    let library = world.sandbox.root().join("noflock.so");
    fs::write(&source, "#include <errno.h>\nint flock(int f, int o) { errno = 37; return -1; }\n")
        .unwrap();
    let made =
        Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no gcc");
        return;
    }
    fs::remove_dir_all(world.sandbox.cuenv_home()).unwrap();
    assert_eq!(world.finding("not-installed").unwrap()["fix"], "cuenv install");
    let mut command = world.sandbox.command(cuenv());
    let ran = Ran::of(command.args(["install"]).env("LD_PRELOAD", &library), &world.sandbox);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.finding("not-installed"), None);
    world.sandbox.cuenv(["verify", "--files"]).succeeds();
}

/// K11: no space and no network name what to do; with it, it works.
#[test]
fn k11_a_full_disk_and_no_network_name_the_way_out() {
    let world = World::new();
    let inside = |arguments: &str, unshare: &str, script: &str| {
        let script = format!("{script}; exec '{}' {arguments}", cuenv().display());
        let mut command = world.sandbox.command("unshare");
        command.args([unshare, "sh", "-c", &script]);
        Ran::of(&mut command, &world.sandbox)
    };
    if inside("--version", "-rm", "true").code != Some(0) {
        println!("skipped: no namespaces here");
        return;
    }
    let small = "mount -t tmpfs -o size=16k none \"$CUENV_HOME\" || exit 99";
    let ran = inside("install 12.4+cudnn9", "-rm", small);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("CUENV_HOME"), "{}", ran.stderr);
    // Elsewhere there is room.
    let elsewhere = world.sandbox.root().join("scratch");
    let other = format!("export CUENV_HOME='{}'", elsewhere.display());
    let ran = inside("install 12.4+cudnn9", "-rm", &other);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // No network: what is installed runs, what is not says so, and a bundle carries it across.
    let ran = inside("install --offline", "-rn", "true");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    world.sandbox.cuenv(["bundle", "--out", "carried.tar.zst"]).succeeds();
    fs::remove_dir_all(world.sandbox.cuenv_home()).unwrap();
    let ran = inside("install", "-rn", "true");
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let ran = inside("install --from carried.tar.zst", "-rn", "true");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.finding("not-installed"), None);
}
