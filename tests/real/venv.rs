//! The venv policy on real wheels: a Python environment with a cuDNN, or an nvJitLink, of another release than the
//! toolchain's. Without a GPU: the libraries are opened as frameworks open them, and asked for their versions.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CASES, World, output};

/// Opens cuDNN by the path or name that is given, as torch's and onnxruntime's loaders do, then its parts by name as cuDNN
/// does, and prints what it says of itself and where all of it came from.
const CUDNN: &str = r#"
import ctypes, sys
cudnn = ctypes.CDLL(sys.argv[1])
cudnn.cudnnGetVersion.restype = ctypes.c_size_t
for part in ("graph", "ops", "cnn", "adv", "heuristic"):
    ctypes.CDLL("libcudnn_%s.so.9" % part)
print("version", cudnn.cudnnGetVersion())
print("check", cudnn.cudnnOpsVersionCheck(), cudnn.cudnnAdvVersionCheck())
for line in open("/proc/self/maps"):
    if "libcudnn" in line:
        print("map", line.split()[-1])
"#;

/// What the program found.
#[derive(Debug)]
struct Seen {
    version: u64,
    directories: BTreeSet<PathBuf>,
}

impl Seen {
    fn of(command: &mut Command) -> Self {
        let text = output(command);
        let line =
            |name: &'static str| text.lines().filter_map(move |line| line.strip_prefix(name));
        let directories =
            line("map ").map(|path| Path::new(path).parent().unwrap().to_owned()).collect();
        let version = line("version ").next().unwrap().parse().unwrap();
        Self { version, directories }
    }
}

fn site(venv: &Path) -> PathBuf {
    let lib = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap();
    lib.path().join("site-packages")
}

/// An environment that shows another one's NVIDIA wheels, and may hold more.
fn beside(world: &World, name: &str, venv: &Path) -> PathBuf {
    let own = world.work.path().join(name);
    output(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&own));
    symlink(fs::canonicalize(site(venv).join("nvidia")).unwrap(), site(&own).join("nvidia"))
        .unwrap();
    own
}

#[test]
#[ignore = "needs the network: downloads cuDNN 9.1.0 into a virtual environment the first time"]
fn one_cudnn_beside_a_venv_with_another() {
    let world = World::new();
    let project = world.project("mixed");
    world.run(&project, &["use", CASES[1].spec, "--no-progress"]);
    let prefix = world.prefix(&project);
    let venv = world.venv("nvidia-cudnn-cu12==9.1.0.70", &[]);
    let venv = beside(&world, "torch-like", &venv);
    let python = venv.join("bin/python");
    let own = fs::canonicalize(site(&venv).join("nvidia/cudnn/lib")).unwrap();
    let by_path = site(&venv).join("nvidia/cudnn/lib/libcudnn.so.9").display().to_string();
    let ask = |policy: &str, first: &str| {
        let mut command = world.cuenv(&project);
        command.env("CUENV_VENV", policy).args(["exec", "--"]).arg(&python);
        command.args(["-c", CUDNN, first]);
        command
    };
    let only = |directory: &Path| BTreeSet::from([directory.to_owned()]);
    let real = |seen: &Seen| -> BTreeSet<PathBuf> {
        seen.directories.iter().map(|path| fs::canonicalize(path).unwrap()).collect()
    };

    // What happens with the toolchain's directory alone on the path: parts of both, and no error.
    let mut bare = Command::new(&python);
    bare.args(["-c", CUDNN, &by_path]).env("LD_LIBRARY_PATH", prefix.join("lib"));
    let mixed = Seen::of(&mut bare);
    assert!(mixed.directories.len() > 1, "the two cuDNNs do not mix by themselves: {mixed:?}");

    for first in [by_path.as_str(), "libcudnn.so.9"] {
        let seen = Seen::of(&mut ask("defer", first));
        assert_eq!((seen.version, real(&seen)), (90100, only(&own)), "defer, {first}");
    }
    let seen = Seen::of(&mut ask("override", "libcudnn.so.9"));
    assert_ne!(seen.version, 90100);
    assert_eq!(seen.directories.len(), 1, "{seen:?}");
    assert!(seen.directories.iter().all(|path| path.starts_with(&prefix)), "{seen:?}");
    println!("defer: cuDNN 90100 of the venv; override: {} of {}", seen.version, prefix.display());

    // A framework that goes past the library path, as torch's wheels do, makes `override` impossible.
    let torch = site(&venv).join("torch/lib");
    fs::create_dir_all(&torch).unwrap();
    let source = world.work.path().join("torch.c");
    fs::write(&source, "int torch(void) { return 0; }\n").unwrap();
    output(
        Command::new("gcc")
            .args(["-shared", "-fPIC", "-Wl,--disable-new-dtags"])
            .arg("-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib")
            .arg("-o")
            .arg(torch.join("libtorch_cuda.so"))
            .arg(&source),
    );
    let refused = ask("override", "libcudnn.so.9").output().unwrap();
    assert_eq!(refused.status.code(), Some(125));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("libtorch_cuda.so` carries DT_RPATH"), "{said}");
    let seen = Seen::of(&mut ask("defer", &by_path));
    assert_eq!((seen.version, real(&seen)), (90100, only(&own)));
}

#[test]
#[ignore = "needs the network: downloads cuSPARSE and an older nvJitLink the first time"]
fn no_cusparse_beside_a_venv_with_an_older_nvjitlink() {
    let world = World::new();
    let project = world.project("jitlink");
    world.run(&project, &["use", "12.4+cusparse@base", "--no-progress"]);
    let prefix = world.prefix(&project);
    let venv = world.venv("nvidia-nvjitlink-cu12==12.1.105", &[]);
    let open = |command: &mut Command| {
        command.args(["-c", "import ctypes; ctypes.CDLL('libcusparse.so.12')"]);
        let ran = command.output().unwrap();
        (ran.status.success(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let python = venv.join("bin/python");
    // By hand: the loader takes the environment's nvJitLink for the toolchain's cuSPARSE.
    let jit = site(&venv).join("nvidia/nvjitlink/lib");
    let mut bare = Command::new(&python);
    bare.env("LD_LIBRARY_PATH", format!("{}:{}/lib", jit.display(), prefix.display()));
    let (opened, said) = open(&mut bare);
    assert!(!opened && said.contains("undefined symbol: __nvJitLink"), "{said}");
    let (opened, said) = open(world.cuenv(&project).args(["exec", "--"]).arg(&python));
    assert!(!opened && said.contains("libcusparse.so.12: cannot open"), "{said}");
    let shown = output(world.cuenv(&project).args(["current"]).env("VIRTUAL_ENV", &venv));
    assert!(
        shown.contains("left out: cusparse (`libcusparse.so.12` needs `__nvJitLink"),
        "{shown}"
    );
    // Without such an environment it is there.
    let (opened, said) = open(world.cuenv(&project).args(["exec", "--", "python3"]));
    assert!(opened, "{said}");
}
