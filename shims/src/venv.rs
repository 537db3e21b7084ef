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
//!   `DT_RPATH $ORIGIN` in the flat directory would find the left-out ones beside itself. What would need newer
//!   symbols of a library than the environment's has is left out too ([`filling`]).
//! * `override`: the toolchain's libraries come first. Refused where it cannot hold: when a framework library
//!   carries a `DT_RPATH` to libraries that both supply, or when the environment's cuDNN has parts that the
//!   toolchain's lacks.
//! * `off`: with such an environment cuenv puts no library directory on the path at all.
//!
//! Without an environment, or when it supplies none of the toolchain's components, all three are the same: the
//! toolchain's one flat directory.

pub mod filling;
pub mod find;
pub mod inventory;
pub mod overriding;
pub mod policy;

use std::path::{Path, PathBuf};

use crate::activation::{Activation, Component};

pub use filling::LeftOut;
pub use find::{PythonEnv, Via};
pub use inventory::Supplied;
pub use overriding::Refusal;
pub use policy::{Policy, Rule, RuleSource};

/// What became of the library path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    /// Elements for the library path, in order, absolute.
    pub elements: Vec<PathBuf>,
    /// The environment that was looked at, if it brings any NVIDIA library.
    pub env: Option<PythonEnv>,
    /// The policy, and who said it.
    pub rule: Rule,
    /// Components that come from the environment.
    pub from_env: Vec<String>,
    /// Components that come from the toolchain.
    pub from_toolchain: Vec<String>,
    /// Components that come from neither.
    pub left_out: Vec<LeftOut>,
}

/// Decides the library path for a prefix. `flat` is what the activation prepends, absolute.
pub fn libraries(
    prefix: &Path,
    activation: &Activation,
    flat: Vec<PathBuf>,
    env: Option<PythonEnv>,
    rule: Rule,
) -> Result<Libraries, Refusal> {
    let supplied = env.as_ref().map(Supplied::by).unwrap_or_default();
    let names = |components: &[&Component]| -> Vec<String> {
        components.iter().map(|component| component.name.clone()).collect()
    };
    let all: Vec<&Component> = activation.components.iter().collect();
    let Some(env) = env.filter(|_| !supplied.libraries.is_empty()) else {
        let from_toolchain = names(&all);
        return Ok(Libraries { elements: flat, rule, from_toolchain, ..Libraries::default() });
    };
    let (both, mut ours): (Vec<&Component>, Vec<&Component>) =
        all.iter().partition(|component| supplied.brings(component));
    let mut made = Libraries { rule, ..Libraries::default() };
    match made.rule.policy {
        Policy::Off => made.from_env = names(&both),
        Policy::Override => {
            overriding::refuse(&env, &supplied, &both)?;
            made.elements = flat;
            made.from_toolchain = names(&all);
        }
        Policy::Defer => {
            made.left_out = filling::left_out(prefix, &ours, &supplied);
            ours.retain(|component| {
                made.left_out.iter().all(|left| left.component != component.name)
            });
            made.elements = supplied.directories;
            if both.is_empty() && made.left_out.is_empty() {
                made.elements.extend(flat);
            } else {
                let own = ours.iter().map(|component| prefix.join(&component.directory));
                made.elements.extend(own);
            }
            made.from_env = names(&both);
            made.from_toolchain = names(&ours);
        }
    }
    made.env = Some(env);
    Ok(made)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .map(|listing| listing.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venv::find::tests::venv;
    use crate::walk::tests::Temp;

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
        let rule = Rule { policy, ..Rule::default() };
        let flat = vec![PathBuf::from("/p/lib")];
        libraries(Path::new("/p"), &activation(), flat, env.cloned(), rule)
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
