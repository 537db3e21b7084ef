//! Native files: extension modules of the Python environment and programs of the project.
//!
//! They are read for the names they ask the loader for, and for names among their constants where they load libraries
//! themselves. What a file brings along (its own directory, `*.libs`) or finds by its own search path in the
//! environment is no wish.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Found, shown};
use crate::domain::elf::{Elf, Kind, library_names};
use crate::domain::manifest::framework::Framework;
use crate::domain::version::Version;
use crate::domain::wish::{CudaWish, NativeFacts, Tables, Wish, nvjitlink_minor};
use crate::platform::elf_file::ElfFile;

/// What a module's libraries ask for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Names in `DT_NEEDED`.
    needed: BTreeSet<String>,
    /// Names among the constants.
    named: BTreeSet<String>,
    /// The newest minor that nvJitLink's symbols ask for.
    jit: Option<Version>,
    /// The file that asks first.
    place: String,
}

/// Bounds for one look: a project tree may be anything.
const MAX_ENTRIES: usize = 40_000;
const MAX_DEPTH: usize = 6;
/// Scanning constants of larger files takes too long for what it tells.
const MAX_SCANNED: u64 = 400 << 20;

/// Reads the extension modules of a package directory, by top-level module. Frameworks that find NVIDIA's wheels by
/// themselves are passed over: their metadata says everything, and they have hundreds of libraries.
pub(super) fn read_modules(site: &Path, names: &[String], tables: &Tables<'_>, found: &mut Found) {
    let mut left = MAX_ENTRIES;
    for name in names {
        let stem = name.strip_suffix(".libs").unwrap_or(name);
        let family =
            tables.frameworks.framework.iter().find(|family| {
                family.modules.iter().any(|module| module == stem || module == name)
            });
        if name == "nvidia"
            || [".dist-info", ".egg-info", ".pth", ".py"].iter().any(|end| name.ends_with(end))
            || family.is_some_and(|family| family.finds_wheels)
        {
            continue;
        }
        let mut asked = Asked::default();
        let mut brought = BTreeSet::new();
        for path in shared_objects(&site.join(name), 0, &mut left) {
            brought.extend(path.file_name().and_then(|file| file.to_str()).map(str::to_owned));
            read_file(&path, site, tables, &mut asked);
        }
        asked.needed.retain(|needed| !brought.contains(needed));
        asked.named.retain(|named| !brought.contains(named));
        if !asked.needed.is_empty() || !asked.named.is_empty() {
            let module = family.map_or(stem, |family| family.id.as_str());
            let into = found.native.entry(module.to_owned()).or_default();
            into.needed.extend(asked.needed);
            into.named.extend(asked.named);
            into.jit = into.jit.take().max(asked.jit);
            if into.place.is_empty() {
                into.place = asked.place;
            }
        }
    }
}

/// Reads the programs and libraries of the project itself: its top directory and the usual places for results.
pub(super) fn read_programs(directory: &Path, tables: &Tables<'_>, found: &mut Found) {
    let mut left = 2_000;
    let usual = ["", "bin", "build", "lib", "out", "dist", "target/release", "target/debug"];
    for place in usual {
        let Ok(entries) = fs_err::read_dir(directory.join(place)) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if left == 0 {
                return;
            }
            left -= 1;
            let mut asked = Asked::default();
            if !path.is_file() || !read_file(&path, directory, tables, &mut asked) {
                continue;
            }
            let names = asked.needed.iter().chain(&asked.named).map(String::as_str);
            let Some(facts) = tables.read_sonames(names) else { continue };
            if facts.cuda().is_none() && facts.cudnn_major.is_none() {
                continue;
            }
            found.looked_at.push(path.clone());
            let shown = shown(&path, directory);
            found.wishes.push(Wish {
                who: shown.clone(),
                place: shown,
                cuda: facts.cuda(),
                cudnn: facts.cudnn(),
                verified: true,
                ..Wish::default()
            });
        }
    }
}

/// Corrects a wish by what the framework's own libraries ask for: a build from another index has no label.
pub(super) fn merge(wish: &mut Wish, family: &Framework, tables: &Tables<'_>, found: &Found) {
    let Some(asked) = found.native.get(&family.id) else { return };
    let Some(facts) = facts(asked, tables) else { return };
    if let Some(cuda) = facts.cuda()
        && wish.cuda.as_ref().is_none_or(|known| known.major != cuda.major)
    {
        wish.notes.push(format!("`{}` asks for CUDA {}", asked.place, cuda.major));
        wish.cuda = Some(cuda);
        wish.verified = true;
    }
    if let Some(cudnn) = facts.cudnn()
        && !wish.no_cudnn
        && wish.cudnn.as_ref().is_none_or(|known| known.major() != cudnn.major())
    {
        wish.notes.push(format!("`{}` asks for cuDNN {cudnn}", asked.place));
        wish.cudnn = Some(cudnn);
    }
    raise(wish.cuda.as_mut(), asked.jit.as_ref());
}

/// Returns the wishes of modules whose framework has none yet, or that no table knows.
pub(super) fn wishes_of_others(
    tables: &Tables<'_>,
    found: &Found,
    done: &BTreeSet<String>,
) -> Vec<Wish> {
    let others = found.native.iter().filter(|(module, _)| !done.contains(*module));
    others
        .filter_map(|(module, asked)| {
            let facts = facts(asked, tables)?;
            let mut cuda = facts.cuda();
            // Names that exist in several majors say nothing.
            if cuda.is_none() && facts.cudnn_major.is_none() {
                return None;
            }
            raise(cuda.as_mut(), asked.jit.as_ref());
            Some(Wish {
                who: module.clone(),
                place: asked.place.clone(),
                cuda,
                cudnn: facts.cudnn(),
                verified: true,
                ..Wish::default()
            })
        })
        .collect()
}

fn raise(cuda: Option<&mut CudaWish>, jit: Option<&Version>) {
    if let (Some(cuda), Some(jit)) = (cuda, jit)
        && cuda.major == jit.major()
    {
        cuda.least = cuda.least.take().max(Some(jit.clone()));
    }
}

/// What is linked against tells more than what is named: constants may name every version that was ever supported.
fn facts(asked: &Asked, tables: &Tables<'_>) -> Option<NativeFacts> {
    let linked = tables.read_sonames(asked.needed.iter().map(String::as_str));
    linked.or_else(|| tables.read_sonames(asked.named.iter().map(String::as_str)))
}

/// Reads one file; tells whether it is a native file that asks for one of NVIDIA's libraries.
fn read_file(path: &Path, below: &Path, tables: &Tables<'_>, asked: &mut Asked) -> bool {
    let Ok(file) = ElfFile::open(path) else { return false };
    let Ok(elf) = Elf::parse(&file) else { return false };
    if elf.kind == Kind::Other {
        return false;
    }
    let mut any = false;
    for name in &elf.needed {
        // A mangled name (`libcudart-0a1b2c3d.so.12`) is a copy that the package brings along.
        if tables.read_sonames([name.as_str()]).is_some() {
            any = true;
            if name.starts_with("libnvJitLink.so") {
                let minors = elf.imports(&file).into_iter();
                let newest = minors.filter_map(|import| nvjitlink_minor(&import.name)).max();
                asked.jit = asked.jit.take().max(newest);
            }
            asked.needed.insert(name.clone());
        }
    }
    // Only a file that loads libraries itself is worth a scan of its constants.
    let loads = || elf.imports(&file).iter().any(|import| import.name == "dlopen");
    let small = fs_err::metadata(path).is_ok_and(|metadata| metadata.len() <= MAX_SCANNED);
    if !any && small && loads() {
        for name in library_names(&elf, &file) {
            if tables.read_sonames([name.as_str()]).is_some() {
                any = true;
                asked.named.insert(name);
            }
        }
    }
    if any && asked.place.is_empty() {
        asked.place = shown(path, below);
    }
    any
}

fn shared_objects(path: &Path, depth: usize, left: &mut usize) -> Vec<PathBuf> {
    let is_library = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.contains(".so")
    };
    if path.is_file() {
        return if is_library(path) { vec![path.to_owned()] } else { Vec::new() };
    }
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let Ok(entries) = fs_err::read_dir(path) else { return Vec::new() };
    let mut found = Vec::new();
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs_err::DirEntry::file_name);
    for entry in entries {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let path = entry.path();
        // Links are not followed: they lead out of the package, or in circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(shared_objects(&path, depth + 1, left)),
            Ok(kind) if kind.is_file() && is_library(&path) => found.push(path),
            _ => {}
        }
    }
    found
}
