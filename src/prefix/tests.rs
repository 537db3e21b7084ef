use std::path::Path;

use fs_err as fs;

use super::*;
use crate::domain::digest::Digest;
use crate::domain::layout::Layout;
use crate::domain::receipt::{Entry, File, Receipt as WheelReceipt};
use crate::domain::target::Target;

/// Lays an unpacked wheel into a directory.
fn entry(root: &Path, name: &str, files: &[(&str, &str)], foreign: bool) -> Entry {
    let path = root.join(name);
    let files = files
        .iter()
        .map(|(file, bytes)| {
            let to = path.join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(&to, bytes).unwrap();
            File {
                path: (*file).to_owned(),
                size: bytes.len() as u64,
                digest: Digest::of(bytes.as_bytes()),
                executable: false,
            }
        })
        .collect();
    let receipt = WheelReceipt {
        file: format!("{name}-9.1-py3-none-manylinux2014_x86_64.whl"),
        size: 7,
        digest: Digest::of(name.as_bytes()),
        boot: String::new(),
        files,
    };
    Entry { path, receipt, foreign }
}

fn cudnn(root: &Path, foreign: bool) -> Entry {
    let files = [
        ("nvidia/cudnn/lib/libcudnn.so.9", "so"),
        ("nvidia/cudnn/include/cudnn.h", "h"),
        ("nvidia_cudnn_cu12-9.1.dist-info/License.txt", "licence"),
    ];
    entry(root, "nvidia_cudnn_cu12", &files, foreign)
}

fn request(wheels: &[Entry]) -> Request<'_> {
    Request {
        name: "12.4.1+cudnn9.1-0123456789ab",
        toolchain: "12.4.1+cudnn9.1",
        cuda: "12.4.1",
        target: Target::LinuxX86_64,
        profile: "runtime",
        wheels,
    }
}

#[test]
fn a_prefix_is_whole_movable_and_built_once() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::under(&dir.path().join("home"));
    let wheels = [cudnn(dir.path(), false)];
    let built = build(&layout, &request(&wheels)).unwrap();
    assert!(!built.present);
    assert_eq!(built.receipt.placed.get("hardlink"), Some(&3));
    assert_eq!(Receipt::read(&built.path).unwrap(), built.receipt);
    let moved = dir.path().join("moved");
    fs::rename(&built.path, &moved).unwrap();
    for path in [
        "lib/libcudnn.so.9",
        "lib64/libcudnn.so",
        "targets/x86_64-linux/lib/libcudnn.so.9",
        "include/cudnn.h",
        "LICENSES/nvidia-cudnn-cu12/License.txt",
        "version.json",
        ".cuenv/lib/cudnn/libcudnn.so.9",
    ] {
        assert!(moved.join(path).is_file(), "{path}");
    }
    assert!(!moved.join("lib/libcudnn.so").exists());
    let activation = fs::read_to_string(moved.join(receipt::ACTIVATION)).unwrap();
    assert!(activation.contains("component cudnn .cuenv/lib/cudnn libcudnn.so.9\n"));
    assert!(!build(&layout, &request(&wheels)).unwrap().present);
    assert!(build(&layout, &request(&wheels)).unwrap().present);
    assert_eq!(fs::read_dir(layout.tmp()).unwrap().count(), 0);
}

#[test]
fn a_store_of_another_owner_is_pointed_at() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::under(&dir.path().join("home"));
    let wheels = [cudnn(dir.path(), true)];
    let built = build(&layout, &request(&wheels)).unwrap();
    let library = built.path.join("lib/libcudnn.so.9");
    assert_eq!(
        fs::read_link(&library).unwrap(),
        wheels[0].path.join("nvidia/cudnn/lib/libcudnn.so.9")
    );
    assert_eq!(built.receipt.placed.get("symlink"), Some(&3));
}

#[test]
fn a_prefix_without_its_receipt_is_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::under(&dir.path().join("home"));
    let wheels = [cudnn(dir.path(), false)];
    let built = build(&layout, &request(&wheels)).unwrap();
    fs::remove_file(built.path.join(receipt::PATH)).unwrap();
    fs::remove_file(built.path.join("lib/libcudnn.so.9")).unwrap();
    assert!(!build(&layout, &request(&wheels)).unwrap().present);
    assert!(built.path.join("lib/libcudnn.so.9").is_file());
}
