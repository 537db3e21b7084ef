//! The venv policy: how the NVIDIA libraries of the project's Python environment and those of the toolchain share
//! the library path.
//!
//! Frameworks from wheels bring their own CUDA libraries and find them by `DT_RPATH` (asked before
//! `LD_LIBRARY_PATH`) or `DT_RUNPATH` (asked after it), and those open more libraries by bare name. A foreign
//! directory on `LD_LIBRARY_PATH` can therefore replace a part of such a set: half of two cuDNNs in one process,
//! often without an error.
//!
//! * `defer` (the default): the environment's own directories come first on the library path, and every component
//!   of which the environment supplies a library is left out of the toolchain's part as a whole. Leaving it out is
//!   needed: a cuDNN that lacks an engine library would otherwise be completed by another version's. Components it
//!   does not supply are filled in, each from a directory that shows that component alone, because a library with
//!   `DT_RPATH $ORIGIN` in the flat directory would find the left-out ones beside itself.
//! * `override`: the toolchain's libraries come first. Refused where it cannot hold: when a framework library
//!   carries a `DT_RPATH` to libraries that both supply, or when the environment's cuDNN has parts that the
//!   toolchain's lacks.
//! * `off`: with such an environment cuenv puts no library directory on the path at all.
//!
//! Without an environment, or when it supplies none of the toolchain's components, all three are the same: the
//! toolchain's one flat directory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::activation::{Activation, Component};
use crate::elf;
use crate::locate::normal;
use crate::vars::{Vars, var};

/// Who wins when both bring a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The Python environment; the toolchain fills the gaps.
    #[default]
    Defer,
    /// The toolchain, or a refusal.
    Override,
    /// Nobody: the library path is left alone.
    Off,
}

impl Policy {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defer => "defer",
            Self::Override => "override",
            Self::Off => "off",
        }
    }
}

impl FromStr for Policy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Defer, Self::Override, Self::Off]
            .into_iter()
            .find(|policy| policy.name() == text)
            .ok_or(())
    }
}

/// How a Python environment was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The program lies in it.
    Program,
    /// `VIRTUAL_ENV`.
    VirtualEnv,
    /// `CONDA_PREFIX`.
    Conda,
    /// `.venv` beside the pin.
    BesidePin,
    /// The program is run by this interpreter, which is in no virtual environment.
    Interpreter,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "the program's own",
            Self::VirtualEnv => "VIRTUAL_ENV",
            Self::Conda => "CONDA_PREFIX",
            Self::BesidePin => "beside the pin",
            Self::Interpreter => "the interpreter's",
        })
    }
}

/// A Python environment: where packages lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonEnv {
    /// Its root directory.
    pub root: PathBuf,
    /// How it was found.
    pub via: Via,
    /// Its package directories.
    pub sites: Vec<PathBuf>,
}

impl PythonEnv {
    /// Finds the environment of the interpreter that will run: the program's own `pyvenv.cfg`, `VIRTUAL_ENV`,
    /// `CONDA_PREFIX`, `.venv` beside the pin, and last the interpreter that the program is or names.
    pub fn find(vars: &Vars, program: Option<&Path>, pin_directory: Option<&Path>) -> Option<Self> {
        let interpreter = program.and_then(interpreter_of);
        if let Some(root) = interpreter.as_deref().and_then(root_of)
            && is_venv(root)
        {
            return Some(Self::at(root, Via::Program));
        }
        if let Some(root) = var(vars, "VIRTUAL_ENV").map(Path::new)
            && is_venv(root)
        {
            return Some(Self::at(root, Via::VirtualEnv));
        }
        if let Some(root) = var(vars, "CONDA_PREFIX").map(Path::new)
            && root.join("conda-meta").is_dir()
        {
            return Some(Self::at(root, Via::Conda));
        }
        if let Some(root) = pin_directory.map(|directory| directory.join(".venv"))
            && is_venv(&root)
        {
            return Some(Self::at(&root, Via::BesidePin));
        }
        let interpreter = interpreter?;
        let real = interpreter.canonicalize().ok()?;
        let version = real.file_name()?.to_str().filter(|name| name.starts_with("python3"))?;
        let root = root_of(&real)?;
        let mut places = vec![root.join("lib").join(version)];
        if root == Path::new("/usr") {
            places.push(Path::new("/usr/local/lib").join(version));
        }
        if let Some(home) = var(vars, "HOME") {
            places.push(Path::new(home).join(".local/lib").join(version));
        }
        Some(Self { root: root.to_owned(), via: Via::Interpreter, sites: sites_in(&places) })
    }

    fn at(root: &Path, via: Via) -> Self {
        let mut places = Vec::new();
        for library in ["lib", "lib64"] {
            let library = root.join(library);
            // In most environments `lib64` is a link to `lib`.
            if std::fs::symlink_metadata(&library).is_ok_and(|seen| seen.is_dir()) {
                places.extend(entries(&library).into_iter().filter(|path| {
                    path.file_name()
                        .and_then(OsStr::to_str)
                        .is_some_and(|name| name.starts_with("python3"))
                }));
            }
        }
        Self { root: root.to_owned(), via, sites: sites_in(&places) }
    }
}

/// What a Python environment brings of NVIDIA's libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplied {
    /// Directories of NVIDIA's wheels that hold libraries; they may stand on a library path.
    pub directories: Vec<PathBuf>,
    /// File names of libraries, those of the directories and those a framework or conda holds elsewhere, each with
    /// the directories that hold it.
    pub libraries: BTreeMap<String, Vec<PathBuf>>,
}

impl Supplied {
    /// Looks into an environment.
    pub fn by(env: &PythonEnv) -> Self {
        let mut supplied = Self::default();
        for site in &env.sites {
            for package in entries(&site.join("nvidia")) {
                let directory = package.join("lib");
                if supplied.add(&directory) {
                    supplied.directories.push(directory);
                }
            }
            // Wheels from before NVIDIA's own: the framework carries them beside its own libraries, which must not
            // stand on a library path.
            supplied.add(&site.join("torch/lib"));
        }
        if env.via == Via::Conda {
            supplied.add(&env.root.join("lib"));
        }
        supplied.directories.sort();
        supplied
    }

    fn add(&mut self, directory: &Path) -> bool {
        let Ok(listing) = std::fs::read_dir(directory) else { return false };
        let mut any = false;
        for entry in listing.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_nvidia_library(name) {
                any = true;
                self.libraries.entry(name.to_owned()).or_default().push(directory.to_owned());
            }
        }
        any
    }

    /// Tells whether the environment brings a library of a component.
    pub fn brings(&self, component: &Component) -> bool {
        component.libraries.iter().any(|library| self.libraries.contains_key(library))
    }
}

/// What became of the library path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libraries {
    /// Elements for the library path, in order, absolute.
    pub elements: Vec<PathBuf>,
    /// The environment that was looked at, if it brings any NVIDIA library.
    pub env: Option<PythonEnv>,
    /// The policy.
    pub policy: Policy,
    /// Components that come from the environment.
    pub from_env: Vec<String>,
    /// Components that come from the toolchain.
    pub from_toolchain: Vec<String>,
}

/// Why `override` cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A framework library carries `DT_RPATH` to the environment's libraries.
    Rpath {
        /// The framework's library.
        library: PathBuf,
        /// A component that both bring.
        component: String,
    },
    /// The environment's cuDNN has a part that the toolchain's lacks.
    ExtraPart {
        /// The part.
        library: String,
        /// The environment.
        root: PathBuf,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpath { library, component } => write!(
                f,
                "the venv policy `override` cannot hold: `{}` carries DT_RPATH, which the loader asks before \
                 LD_LIBRARY_PATH, so the venv's {component} would still be loaded",
                library.display()
            ),
            Self::ExtraPart { library, root } => write!(
                f,
                "the venv policy `override` cannot hold: `{}` brings `{library}`, which the toolchain's cuDNN lacks, \
                 so parts of two cuDNNs could be loaded",
                root.display()
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Decides the library path for a prefix. `flat` is what the activation prepends, absolute.
pub fn libraries(
    prefix: &Path,
    activation: &Activation,
    flat: &[PathBuf],
    env: Option<&PythonEnv>,
    policy: Policy,
) -> Result<Libraries, Refusal> {
    let supplied = env.map(Supplied::by).unwrap_or_default();
    let names = |components: &[&Component]| -> Vec<String> {
        components.iter().map(|component| component.name.clone()).collect()
    };
    let (both, ours): (Vec<&Component>, Vec<&Component>) =
        activation.components.iter().partition(|component| supplied.brings(component));
    let flat = flat.to_vec();
    if supplied.libraries.is_empty() {
        let from_toolchain = names(&activation.components.iter().collect::<Vec<_>>());
        return Ok(Libraries {
            elements: flat,
            env: None,
            policy,
            from_env: vec![],
            from_toolchain,
        });
    }
    let made = |elements: Vec<PathBuf>, from_env, from_toolchain| Libraries {
        elements,
        env: env.cloned(),
        policy,
        from_env,
        from_toolchain,
    };
    match policy {
        Policy::Off => Ok(made(Vec::new(), names(&both), Vec::new())),
        Policy::Override => {
            if let Some(env) = env {
                refuse(env, &supplied, &both)?;
            }
            Ok(made(flat, Vec::new(), names(&activation.components.iter().collect::<Vec<_>>())))
        }
        Policy::Defer => {
            let mut elements = supplied.directories;
            if both.is_empty() {
                elements.extend(flat);
            } else {
                elements.extend(ours.iter().map(|component| prefix.join(&component.directory)));
            }
            Ok(made(elements, names(&both), names(&ours)))
        }
    }
}

fn refuse(env: &PythonEnv, supplied: &Supplied, both: &[&Component]) -> Result<(), Refusal> {
    // Where each component that both bring lies in the environment.
    let holders: Vec<(&Path, &str)> = both
        .iter()
        .flat_map(|component| component.libraries.iter().map(|library| (library, &component.name)))
        .flat_map(|(library, component)| {
            let places = supplied.libraries.get(library).into_iter().flatten();
            places.map(|place| (place.as_path(), component.as_str()))
        })
        .collect();
    for library in env.sites.iter().flat_map(|site| framework_libraries(site)) {
        let Some(rpath) = elf::rpath(&library) else { continue };
        let origin = library.parent().unwrap_or(Path::new("/"));
        for element in rpath.split(':') {
            let element = element.replace("${ORIGIN}", "$ORIGIN");
            let Some(below) = element.strip_prefix("$ORIGIN") else { continue };
            let place = normal(&origin.join(below.trim_start_matches('/')));
            if let Some((_, component)) = holders.iter().find(|(holder, _)| *holder == place) {
                return Err(Refusal::Rpath { library, component: (*component).to_owned() });
            }
        }
    }
    if let Some(cudnn) = both.iter().find(|component| component.name == "cudnn") {
        let extra = supplied
            .libraries
            .keys()
            .find(|name| name.starts_with("libcudnn") && !cudnn.libraries.contains(name));
        if let Some(library) = extra {
            return Err(Refusal::ExtraPart { library: library.clone(), root: env.root.clone() });
        }
    }
    Ok(())
}

/// Returns the libraries of the frameworks that are known to open NVIDIA's.
fn framework_libraries(site: &Path) -> Vec<PathBuf> {
    let mut directories = vec![
        site.join("torch/lib"),
        site.join("jaxlib"),
        site.join("tensorflow"),
        site.join("onnxruntime/capi"),
        site.join("vllm"),
    ];
    directories.extend(entries(&site.join("jax_plugins")));
    let is_library = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains(".so"))
    };
    directories
        .iter()
        .flat_map(|directory| {
            let mut found = entries(directory);
            found.sort();
            found
        })
        .filter(is_library)
        .collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .map(|listing| listing.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

fn sites_in(places: &[PathBuf]) -> Vec<PathBuf> {
    places
        .iter()
        .flat_map(|place| [place.join("site-packages"), place.join("dist-packages")])
        .filter(|site| site.is_dir())
        .collect()
}

fn is_venv(root: &Path) -> bool {
    root.join("pyvenv.cfg").is_file()
}

fn root_of(program: &Path) -> Option<&Path> {
    program.parent()?.parent()
}

/// NVIDIA's run-time libraries are recognised by name: conda keeps them among others.
fn is_nvidia_library(name: &str) -> bool {
    const STARTS: [&str; 22] = [
        "libcublas",
        "libcudart",
        "libcudnn",
        "libcufft",
        "libcufile",
        "libcupti",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnccl",
        "libnpp",
        "libnvJitLink",
        "libnvToolsExt",
        "libnvblas",
        "libnvfatbin",
        "libnvjpeg",
        "libnvperf",
        "libnvrtc",
        "libnvshmem",
        "libnvvm",
        "libnvtx",
        "libcutensor",
    ];
    name.contains(".so") && STARTS.iter().any(|start| name.starts_with(start))
}

/// Returns the interpreter that a program is, or that its first line names.
fn interpreter_of(program: &Path) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("python"))
    };
    if is_python(program) {
        return Some(program.to_owned());
    }
    let head = crate::program::first_line(program)?;
    let line = head.strip_prefix("#!")?.trim();
    let mut words = line.split_whitespace();
    let interpreter = Path::new(words.next()?);
    // `#!/usr/bin/env python` asks PATH, as the shim's own search does; the variables decide then.
    is_python(interpreter).then(|| interpreter.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activation::Activation;
    use crate::vars::from_pairs;
    use crate::walk::tests::Temp;

    fn venv(temp: &Temp, below: &str, files: &[&str]) -> PathBuf {
        temp.write(&format!("{below}/pyvenv.cfg"), "home = /usr/bin\n");
        temp.write(&format!("{below}/bin/python"), "");
        std::fs::create_dir_all(temp.path(&format!("{below}/lib/python3.11/site-packages")))
            .unwrap();
        for file in files {
            temp.write(&format!("{below}/lib/python3.11/site-packages/{file}"), "");
        }
        temp.path(below)
    }

    fn activation() -> Activation {
        let mut activation = Activation::standard("t", "p", true);
        for (name, libraries) in [
            ("cublas", &["libcublas.so.12", "libcublasLt.so.12"][..]),
            ("cudnn", &["libcudnn.so.9", "libcudnn_ops.so.9"][..]),
            ("npp", &["libnppc.so.12"][..]),
        ] {
            activation.components.push(Component {
                name: name.to_owned(),
                directory: Path::new(crate::activation::COMPONENT_DIRECTORY).join(name),
                libraries: libraries.iter().map(|library| (*library).to_owned()).collect(),
            });
        }
        activation
    }

    fn decide(env: Option<&PythonEnv>, policy: Policy) -> Result<Libraries, Refusal> {
        libraries(Path::new("/p"), &activation(), &[PathBuf::from("/p/lib")], env, policy)
    }

    fn shown(libraries: &Libraries, root: &Path) -> Vec<String> {
        let site = format!("{}/lib/python3.11/site-packages", root.display());
        libraries
            .elements
            .iter()
            .map(|path| path.display().to_string().replace(&site, "SITE"))
            .collect()
    }

    #[test]
    fn the_interpreter_that_will_run() {
        let temp = Temp::new("find");
        let (a, b) = (venv(&temp, "a", &[]), venv(&temp, "p/.venv", &[]));
        temp.write("conda/conda-meta/history", "");
        let script = format!("#!{}/bin/python\n", a.display());
        let tool = temp.write("tools/torchrun", &script);
        let variables = |pairs: &[(&str, &Path)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(name, path)| (*name, path.to_str().unwrap())).collect();
            from_pairs(&pairs)
        };
        let found = |vars: &Vars, program: Option<&Path>, pin: Option<&Path>| {
            PythonEnv::find(vars, program, pin).map(|env| (env.root, env.via))
        };
        let both = variables(&[("VIRTUAL_ENV", &b), ("CONDA_PREFIX", &temp.path("conda"))]);
        assert_eq!(found(&both, Some(&tool), None), Some((a.clone(), Via::Program)));
        assert_eq!(found(&both, Some(&a.join("bin/python")), None), Some((a, Via::Program)));
        assert_eq!(
            found(&both, Some(Path::new("/bin/sh")), None),
            Some((b.clone(), Via::VirtualEnv))
        );
        let conda = variables(&[
            ("CONDA_PREFIX", &temp.path("conda")),
            ("VIRTUAL_ENV", Path::new("/gone")),
        ]);
        assert_eq!(found(&conda, None, None), Some((temp.path("conda"), Via::Conda)));
        assert_eq!(found(&Vars::new(), None, Some(&temp.path("p"))), Some((b, Via::BesidePin)));
        assert_eq!(found(&Vars::new(), None, None), None);
    }

    #[test]
    fn without_nvidia_wheels_every_policy_is_the_flat_directory() {
        let temp = Temp::new("plain");
        let root = venv(&temp, "v", &["numpy/x.so", "nvidia/__init__.py"]);
        for policy in [Policy::Defer, Policy::Override, Policy::Off] {
            for env in [None, Some(PythonEnv::at(&root, Via::VirtualEnv))] {
                let decided = decide(env.as_ref(), policy).unwrap();
                assert_eq!(decided.elements, [PathBuf::from("/p/lib")]);
                assert_eq!(decided.env, None);
            }
        }
    }

    #[test]
    fn defer_leaves_a_component_out_as_a_whole() {
        let temp = Temp::new("defer");
        // The environment's cuDNN lacks `libcudnn_ops.so.9`: nobody else's may complete it.
        let root = venv(
            &temp,
            "v",
            &[
                "nvidia/cudnn/lib/libcudnn.so.9",
                "nvidia/cu13/lib/libcufft.so.12",
                "nvidia/nvtx/include/x.h",
            ],
        );
        let env = PythonEnv::at(&root, Via::VirtualEnv);
        let decided = decide(Some(&env), Policy::Defer).unwrap();
        let expected = [
            "SITE/nvidia/cu13/lib",
            "SITE/nvidia/cudnn/lib",
            "/p/.cuenv/lib/cublas",
            "/p/.cuenv/lib/npp",
        ];
        assert_eq!(shown(&decided, &root), expected);
        assert_eq!(decided.from_env, ["cudnn"]);
        assert_eq!(decided.from_toolchain, ["cublas", "npp"]);
    }

    #[test]
    fn defer_keeps_the_flat_directory_when_nothing_is_brought_twice() {
        let temp = Temp::new("gap");
        let root = venv(&temp, "v", &["nvidia/cufft/lib/libcufft.so.11"]);
        let decided = decide(Some(&PythonEnv::at(&root, Via::VirtualEnv)), Policy::Defer).unwrap();
        assert_eq!(shown(&decided, &root), ["SITE/nvidia/cufft/lib", "/p/lib"]);
    }

    #[test]
    fn libraries_inside_a_framework_are_supplied_but_not_put_on_the_path() {
        let temp = Temp::new("bundle");
        let root = venv(&temp, "v", &["torch/lib/libcudnn.so.9", "torch/lib/libtorch.so"]);
        let decided = decide(Some(&PythonEnv::at(&root, Via::VirtualEnv)), Policy::Defer).unwrap();
        assert_eq!(shown(&decided, &root), ["/p/.cuenv/lib/cublas", "/p/.cuenv/lib/npp"]);
    }

    #[test]
    fn off_puts_nothing_on_the_path() {
        let temp = Temp::new("off");
        let root = venv(&temp, "v", &["nvidia/cudnn/lib/libcudnn.so.9"]);
        let decided = decide(Some(&PythonEnv::at(&root, Via::VirtualEnv)), Policy::Off).unwrap();
        assert!(decided.elements.is_empty());
        assert!(decided.env.is_some());
    }

    #[test]
    fn override_holds_or_is_refused() {
        let temp = Temp::new("override");
        let root = venv(&temp, "v", &["nvidia/cudnn/lib/libcudnn.so.9"]);
        let env = PythonEnv::at(&root, Via::VirtualEnv);
        assert_eq!(
            decide(Some(&env), Policy::Override).unwrap().elements,
            [PathBuf::from("/p/lib")]
        );
        venv(&temp, "v", &["nvidia/cudnn/lib/libcudnn_extra.so.9"]);
        assert!(
            matches!(decide(Some(&env), Policy::Override), Err(Refusal::ExtraPart { library, .. }) if library == "libcudnn_extra.so.9")
        );
        std::fs::remove_file(
            root.join("lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn_extra.so.9"),
        )
        .unwrap();
        let source = temp.write("t.c", "int t(void) { return 1; }\n");
        let library = root.join("lib/python3.11/site-packages/torch/lib/libtorch_cuda.so");
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        for (flag, refused) in [("--disable-new-dtags", true), ("--enable-new-dtags", false)] {
            let status = std::process::Command::new("gcc")
                .args(["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib"])
                .arg(format!("-Wl,{flag}"))
                .arg("-o")
                .arg(&library)
                .arg(&source)
                .status();
            if !status.is_ok_and(|status| status.success()) {
                println!("skipped: no gcc");
                return;
            }
            assert_eq!(
                matches!(decide(Some(&env), Policy::Override), Err(Refusal::Rpath { .. })),
                refused
            );
        }
    }
}
