//! A release archive made of the programs under test, as `scripts/release` lays it out.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::sandbox::cuenv;

/// The version of the programs under test.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The shim beside the `cuenv` under test; built when only the main package was.
pub fn shim() -> PathBuf {
    let path = cuenv().with_file_name("cuenv-shim");
    if !path.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "cuenv-shim"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(built.success() && path.exists(), "no `{}`", path.display());
    }
    path
}

/// `install.sh` of this checkout.
pub fn installer() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh")
}

/// The name of the archive for this machine.
pub fn archive_name() -> String {
    format!("cuenv-{VERSION}-linux-{}.tar.gz", std::env::consts::ARCH)
}

/// Writes the archive and its SHA256SUMS into `directory`; returns the archive and its sha256.
pub fn archive(directory: &Path) -> (PathBuf, String) {
    // Packed once a run: a debug build is large.
    static PACKED: OnceLock<(Vec<u8>, String)> = OnceLock::new();
    let (bytes, sum) = PACKED.get_or_init(pack);
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(archive_name());
    fs::write(&path, bytes).unwrap();
    fs::write(directory.join("SHA256SUMS"), format!("{sum}  {}\n", archive_name())).unwrap();
    (path, sum.clone())
}

fn pack() -> (Vec<u8>, String) {
    let stage = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let name = archive_name();
    let top = name.strip_suffix(".tar.gz").unwrap();
    fs::create_dir(stage.path().join(top)).unwrap();
    fs::copy(cuenv(), stage.path().join(top).join("cuenv")).unwrap();
    fs::copy(shim(), stage.path().join(top).join("cuenv-shim")).unwrap();
    let made = Command::new("tar")
        .args(["--use-compress-program=gzip -1", "-cf", &name, top])
        .current_dir(stage.path())
        .status()
        .unwrap();
    assert!(made.success());
    let path = stage.path().join(&name);
    (fs::read(&path).unwrap(), sha256(&path))
}

/// The sha256 of a file, by the system's own tool.
pub fn sha256(path: &Path) -> String {
    let out = Command::new("sha256sum").arg(path).output().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

/// Everything below a directory: path -> mode, and a file's text or a link's target.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, String)> {
    fn walk(root: &Path, at: &Path, found: &mut BTreeMap<PathBuf, (u32, String)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if meta.is_file() {
                // Programs are compared by size: reading debug builds would take most of the test's time.
                match meta.len() {
                    0..65_536 => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
                    size => format!("{size} bytes"),
                }
            } else {
                String::new()
            };
            let name = path.strip_prefix(root).unwrap().to_owned();
            found.insert(name, (meta.permissions().mode(), content));
            if meta.is_dir() {
                walk(root, &path, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}
