//! `defer`: which components of the toolchain can fill what the environment lacks.
//!
//! A component that the environment does not supply may need a library that it does: cuSPARSE needs nvJitLink. The
//! environment's is what the process gets, so it must have every symbol that the component is bound to. nvJitLink of
//! 12.1 has not what cuSPARSE of 12.4 needs, and the loader would end the process with `undefined symbol`; without
//! the component it says that there is none. What cannot be filled in is left out as a whole, and with it what needs
//! it in turn.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::inventory::Supplied;
use crate::activation::Component;
use crate::elf::Library;

/// A component that neither the environment supplies nor the toolchain may fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The component.
    pub component: String,
    /// The library that decided it.
    pub library: String,
    /// The library that this one needs.
    pub needs: String,
    /// Why it cannot have it.
    pub because: Because,
}

/// Why a needed library is not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// The environment's is another version.
    Lacks {
        /// A symbol that is missing.
        symbol: String,
        /// The environment's file.
        file: PathBuf,
    },
    /// It is left out itself.
    LeftOut,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, library, needs, because } = self;
        match because {
            Because::Lacks { symbol, file } => write!(
                f,
                "{component} (`{library}` needs `{symbol}`, which `{}` lacks)",
                file.display()
            ),
            Because::LeftOut => write!(f, "{component} (`{library}` needs `{needs}`)"),
        }
    }
}

/// One library of the toolchain and what it needs.
struct Need<'a> {
    component: &'a str,
    library: &'a str,
    needs: String,
}

/// Returns the components of `ours` that cannot stand beside what the environment supplies.
pub(super) fn left_out(prefix: &Path, ours: &[&Component], supplied: &Supplied) -> Vec<LeftOut> {
    let mut out: Vec<LeftOut> = Vec::new();
    let mut inner: Vec<Need<'_>> = Vec::new();
    let mut holders: BTreeMap<PathBuf, Option<Library>> = BTreeMap::new();
    for component in ours {
        for name in &component.libraries {
            let path = prefix.join(&component.directory).join(name);
            let Some(mut library) = Library::open(&path) else { continue };
            for needs in library.needed() {
                let Some(places) = supplied.libraries.get(&needs) else {
                    inner.push(Need { component: &component.name, library: name, needs });
                    continue;
                };
                if out.iter().any(|left| left.component == component.name) {
                    continue;
                }
                let wanted = library.wants_of(&needs);
                let lacks = places.iter().find_map(|place| {
                    let file = place.join(&needs);
                    let held = holders.entry(file.clone()).or_insert_with(|| Library::open(&file));
                    let held = held.as_mut()?;
                    let symbol =
                        wanted.iter().find(|symbol| held.defines(symbol) == Some(false))?;
                    Some(Because::Lacks { symbol: symbol.clone(), file })
                });
                if let Some(because) = lacks {
                    let (component, library) = (component.name.clone(), name.clone());
                    out.push(LeftOut { component, library, needs, because });
                }
            }
        }
    }
    follow(&mut out, &inner, ours);
    out
}

/// Adds what needs a component that is left out, until nothing more does.
fn follow(out: &mut Vec<LeftOut>, inner: &[Need<'_>], ours: &[&Component]) {
    let mut at = 0;
    while at < out.len() {
        let gone = ours.iter().find(|component| component.name == out[at].component);
        let gone = gone.map(|component| component.libraries.as_slice()).unwrap_or_default();
        for need in inner.iter().filter(|need| gone.contains(&need.needs)) {
            if out.iter().all(|left| left.component != need.component) {
                out.push(LeftOut {
                    component: need.component.to_owned(),
                    library: need.library.to_owned(),
                    needs: need.needs.clone(),
                    because: Because::LeftOut,
                });
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::elf::tests::link;
    use crate::walk::tests::Temp;

    /// A versioned library that defines the given functions and calls others of other libraries.
    fn library(temp: &Temp, below: &str, defines: &[&str], calls: &[&str], with: &[&Path]) -> bool {
        let name = Path::new(below).file_name().unwrap().to_str().unwrap();
        let mut code = String::new();
        for function in calls {
            let _ = writeln!(code, "int {function}(void);");
        }
        for function in defines {
            let _ = write!(code, "int {function}(void) {{ return 1");
            for called in calls {
                let _ = write!(code, " + {called}()");
            }
            code.push_str("; }\n");
        }
        let map = temp.write("map", &format!("{name} {{ global: *; }};\n"));
        let mut flags = vec![
            format!("-Wl,-soname,{name}"),
            format!("-Wl,--version-script={}", map.display()),
            "-Wl,-rpath-link,.".to_owned(),
            "-Wl,--unresolved-symbols=ignore-in-shared-libs".to_owned(),
        ];
        flags.extend(with.iter().map(|path| path.display().to_string()));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        link(temp, below, &code, &flags).is_some()
    }

    #[test]
    fn what_needs_newer_symbols_is_left_out_and_what_needs_that_too() {
        let temp = Temp::new("filling");
        let p = |below: &str| temp.path(below);
        let made = library(&temp, "p/jit/libjit.so.12", &["jit_1", "jit_4"], &[], &[])
            && library(
                &temp,
                "p/sparse/libsparse.so.12",
                &["sparse"],
                &["jit_4"],
                &[&p("p/jit/libjit.so.12")],
            )
            && library(
                &temp,
                "p/solver/libsolver.so.11",
                &["solver"],
                &["sparse"],
                &[&p("p/sparse/libsparse.so.12")],
            )
            && library(&temp, "p/npp/libnpp.so.12", &["npp"], &[], &[])
            && library(&temp, "old/libjit.so.12", &["jit_1"], &[], &[])
            && library(&temp, "new/libjit.so.12", &["jit_1", "jit_4", "jit_9"], &[], &[]);
        if !made {
            return;
        }
        let component = |name: &str, library: &str| Component {
            name: name.to_owned(),
            directory: name.into(),
            libraries: vec![library.to_owned()],
        };
        let all = [
            component("solver", "libsolver.so.11"),
            component("sparse", "libsparse.so.12"),
            component("npp", "libnpp.so.12"),
        ];
        let ours: Vec<&Component> = all.iter().collect();
        let beside = |place: &str| {
            let mut supplied = Supplied::default();
            supplied.libraries.insert("libjit.so.12".to_owned(), vec![p(place)]);
            left_out(&p("p"), &ours, &supplied)
        };
        assert_eq!(beside("new"), []);
        let left: Vec<String> = beside("old").iter().map(ToString::to_string).collect();
        let lacks = p("old/libjit.so.12");
        assert_eq!(
            left,
            [
                format!(
                    "sparse (`libsparse.so.12` needs `jit_4`, which `{}` lacks)",
                    lacks.display()
                ),
                "solver (`libsolver.so.11` needs `libsparse.so.12`)".to_owned()
            ]
        );
        // A file that is no library is not known to lack anything.
        temp.write("odd/libjit.so.12", "");
        assert_eq!(beside("odd"), []);
    }
}
