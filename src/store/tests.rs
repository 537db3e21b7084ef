use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;
use crate::platform::fs::{made_by, unique};
use crate::platform::http::{Config, Http};
use crate::platform::zip::tests::Writer;
use crate::progress::Silent;

struct Sandbox {
    dir: tempfile::TempDir,
    layout: Layout,
    http: Http,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::under(&dir.path().join("home"));
        Self { dir, layout, http: Http::new(Config { offline: true, ..Config::default() }) }
    }

    fn source(&self, bytes: &[u8]) -> WheelSource {
        let path = self.dir.path().join("wheel.whl");
        fs::write(&path, bytes).unwrap();
        WheelSource {
            file: "nvidia_x_cu12-1.0-py3-none-any.whl".into(),
            digest: Some(Digest::of(bytes)),
            size: Some(bytes.len() as u64),
            places: vec![Place::File(path)],
            unpacked: None,
        }
    }

    fn store(&self) -> Store {
        Store::open(&self.layout, &[])
    }

    fn ingest(&self, source: &WheelSource) -> Result<Ingested, Error> {
        self.store().ingest(source, &self.http, &Silent)
    }

    /// Every refusal leaves the store and its staging directory empty.
    fn assert_empty(&self) {
        for folder in [self.layout.store(), self.layout.tmp()] {
            assert_eq!(fs::read_dir(folder).map_or(0, Iterator::count), 0);
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digest = Digest::of(bytes);
    let mut bits = digest.as_bytes().iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1));
    let mut text = String::from("sha256=");
    for _ in 0..43 {
        let value = (0..6).fold(0usize, |v, _| v << 1 | usize::from(bits.next().unwrap_or(0)));
        text.push(char::from(ALPHABET[value]));
    }
    text
}

const RECORD: &str = "nvidia_x_cu12-1.0.dist-info/RECORD";

/// Builds a wheel; `record` may bend its RECORD.
fn wheel(files: &[(&str, &[u8])], record: impl Fn(String) -> String) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut lines = String::new();
    for (name, bytes) in files {
        writer.deflated(name, bytes);
        let _ = writeln!(lines, "{name},{},{}", hash(bytes), bytes.len());
    }
    let _ = writeln!(lines, "{RECORD},,");
    writer.deflated(RECORD, record(lines).as_bytes()).finish()
}

fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("nvidia/x/bin/tool", b"\x7fELF tool"),
        ("nvidia/x/bin/readme", b"text"),
        ("nvidia/x/lib/libx.so.1", b"\x7fELF library"),
        ("nvidia/x/include/empty.h", b""),
    ]
}

#[test]
fn a_wheel_becomes_an_immutable_entry() {
    let sandbox = Sandbox::new();
    let bytes = wheel(&files(), |record| record);
    let source = sandbox.source(&bytes);
    let digest = source.digest.unwrap();
    assert_eq!(sandbox.ingest(&source).unwrap().how, How::Fetched);
    assert_eq!(sandbox.ingest(&source).unwrap().how, How::Present);
    let entry = sandbox.store().entry(&digest).unwrap().unwrap();
    assert_eq!(entry.receipt.size, bytes.len() as u64);
    for (name, content) in files() {
        let path = entry.path.join(name);
        assert_eq!(fs::read(&path).unwrap(), content);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if name.ends_with("tool") { 0o555 } else { 0o444 }, "{name}");
    }
    assert_eq!(sandbox.store().digests().unwrap(), [digest]);
    assert_eq!(fs::read_dir(sandbox.layout.tmp()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(sandbox.layout.locks()).unwrap().count(), 0);
}

#[test]
fn a_digest_that_the_index_does_not_tell_is_computed() {
    let sandbox = Sandbox::new();
    let bytes = wheel(&files(), |record| record);
    let source = WheelSource { digest: None, size: None, ..sandbox.source(&bytes) };
    assert_eq!(sandbox.ingest(&source).unwrap().digest, Digest::of(&bytes));
    assert!(sandbox.store().contains(&Digest::of(&bytes)));
}

#[test]
fn a_store_below_is_read_and_not_written() {
    let below = Sandbox::new();
    let bytes = wheel(&files(), |record| record);
    let source = below.source(&bytes);
    below.ingest(&source).unwrap();
    let above = Sandbox::new();
    let store = Store::open(&above.layout, &[below.layout.data().to_owned()]);
    assert_eq!(store.ingest(&source, &above.http, &Silent).unwrap().how, How::Present);
    assert!(store.entry(&source.digest.unwrap()).unwrap().unwrap().foreign);
    assert!(!above.layout.data().exists());
}

#[test]
fn bad_wheels_are_refused_and_leave_nothing() {
    let good = wheel(&files(), |record| record);
    let replaced = |from: &'static str, to: &'static str| {
        wheel(&files(), move |record| record.replacen(from, to, 1))
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("not a zip archive", b"<!DOCTYPE html>".to_vec()),
        ("not listed", replaced("nvidia/x/bin/tool", "nvidia/x/bin/other")),
        ("its size", replaced(",4\n", ",5\n")),
        ("no sha256 is listed", wheel(&files(), |r| r.replace(&hash(b"text"), ""))),
        ("listed and missing", wheel(&files(), |r| format!("{r}ghost,{},1\n", hash(b"x")))),
        ("instead of one", Writer::new().stored("nvidia/x/lib/a.so", b"x").finish()),
        ("a placeholder", wheel(&[("nvidia/__init__.py", b"")], |r| r)),
        ("`..`", wheel(&[("../evil", b"x")], |r| r)),
        ("is absolute", wheel(&[("/evil", b"x")], |r| r)),
        ("appears twice", wheel(&[("a/b", b"x"), ("a/b", b"y")], |r| r)),
        ("ends after", good[..good.len() - 1].to_vec()),
        ("bytes follow", [&good[..], b"x"].concat()),
    ];
    for (expected, bytes) in cases {
        let sandbox = Sandbox::new();
        let error = sandbox.ingest(&sandbox.source(&bytes)).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{expected}: {error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        sandbox.assert_empty();
    }
}

#[test]
fn members_are_compared_with_record_where_nobody_vouches_for_the_wheel() {
    let sandbox = Sandbox::new();
    let bytes = wheel(&files(), |record| record.replace(&hash(b"text"), &hash(b"other")));
    let promised = sandbox.source(&bytes);
    let error = sandbox.ingest(&WheelSource { digest: None, ..promised.clone() }).unwrap_err();
    assert!(error.to_string().contains("its sha256"), "{error}");
    sandbox.assert_empty();
    // With its digest promised and found, the bytes are right whatever RECORD says.
    sandbox.ingest(&promised).unwrap();
}

#[test]
fn a_receipt_has_the_digest_of_every_file() {
    let sandbox = Sandbox::new();
    let source = sandbox.source(&wheel(&files(), |record| record));
    sandbox.ingest(&source).unwrap();
    let entry = sandbox.store().entry(&source.digest.unwrap()).unwrap().unwrap();
    assert_eq!(entry.receipt.files.len(), files().len() + 1);
    for file in &entry.receipt.files {
        let bytes = fs::read(entry.path.join(&file.path)).unwrap();
        assert_eq!((file.size, file.digest), (bytes.len() as u64, Digest::of(&bytes)), "{file:?}");
    }
}

#[test]
fn a_link_member_is_refused() {
    let sandbox = Sandbox::new();
    let mut writer = Writer::new();
    writer.mode = 0o120_777;
    let bytes = writer.stored("nvidia/x/lib/l", b"/etc/passwd").finish();
    let error = sandbox.ingest(&sandbox.source(&bytes)).unwrap_err();
    assert!(error.to_string().contains("not a plain file"), "{error}");
    sandbox.assert_empty();
}

#[test]
fn other_bytes_than_promised_are_told_from_an_incomplete_download() {
    let sandbox = Sandbox::new();
    let bytes = wheel(&files(), |record| record);
    let wrong = Digest::of(b"other");
    let source = WheelSource { digest: Some(wrong), ..sandbox.source(&bytes) };
    let error = sandbox.ingest(&source).unwrap_err();
    assert!(error.to_string().contains(&format!("expected sha256:{wrong}")), "{error}");
    sandbox.assert_empty();
    let source = WheelSource { size: Some(bytes.len() as u64 + 1), ..sandbox.source(&bytes) };
    let error = sandbox.ingest(&source).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. } | Error::Incomplete { .. }), "{error:?}");
    sandbox.assert_empty();
    fs::write(sandbox.dir.path().join("wheel.whl"), &bytes[..100]).unwrap();
    let source =
        WheelSource { digest: Some(Digest::of(&bytes)), size: Some(bytes.len() as u64), ..source };
    let error = sandbox.ingest(&source).unwrap_err();
    assert!(error.to_string().starts_with("incomplete download"), "{error}");
    sandbox.assert_empty();
}

#[test]
fn a_failure_keeps_what_is_finished() {
    let sandbox = Sandbox::new();
    let good = sandbox.source(&wheel(&files(), |record| record));
    let missing = WheelSource {
        digest: Some(Digest::of(b"missing")),
        places: vec![Place::File("/nonexistent".into())],
        ..good.clone()
    };
    let sources = [missing, good.clone()];
    let options = Options { jobs: 2 };
    let error = sandbox.store().ingest_all(&sources, &sandbox.http, options, &Silent).unwrap_err();
    assert!(matches!(error, Error::Fetch { .. }), "{error:?}");
    assert!(sandbox.store().contains(&good.digest.unwrap()));
}

#[test]
fn files_of_a_prefix_are_links_into_the_store() {
    let sandbox = Sandbox::new();
    let source = sandbox.source(&wheel(&files(), |record| record));
    sandbox.ingest(&source).unwrap();
    let entry = sandbox.store().entry(&source.digest.unwrap()).unwrap().unwrap();
    let library = entry.path.join("nvidia/x/lib/libx.so.1");
    crate::platform::link::place(&library, &sandbox.dir.path().join("l")).unwrap();
    assert_eq!(fs::metadata(library).unwrap().nlink(), 2);
}

/// Bytes that hardly shrink, different for each seed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).to_le_bytes()[0] & 0x7f
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn an_interrupted_wheel_goes_on_where_it_stopped() {
    let (first, second) = (noise(1, 5 << 20), noise(2, 18 << 20));
    let files: Vec<(&str, &[u8])> =
        vec![("nvidia/x/lib/liba.so.1", &first), ("nvidia/x/lib/libb.so.1", &second)];
    let bytes = wheel(&files, |record| record);
    for cut in [bytes.len() * 3 / 5, bytes.len() - 100] {
        let sandbox = Sandbox::new();
        let source = sandbox.source(&bytes);
        let Place::File(path) = &source.places[0] else { unreachable!() };
        fs::write(path, &bytes[..cut]).unwrap();
        let error = sandbox.ingest(&source).unwrap_err();
        assert!(matches!(error, Error::Incomplete { got, .. } if got == cut as u64), "{error}");
        let digest = source.digest.unwrap().to_string();
        let left = journal::left_behind(&sandbox.layout.tmp(), &digest);
        let position = left[0].1.as_ref().unwrap().position;
        assert!(position > 0 && cut as u64 - position < 9 << 20, "{position} of {cut}");
        // What was used before the note is never asked for again.
        let mut rest = bytes.clone();
        rest[..usize::try_from(position).unwrap()].fill(0);
        fs::write(path, &rest).unwrap();
        assert_eq!(sandbox.ingest(&source).unwrap().how, How::Fetched);
        let entry = sandbox.store().entry(&source.digest.unwrap()).unwrap().unwrap();
        assert!(fs::read(entry.path.join(files[1].0)).unwrap() == second);
        assert_eq!(fs::read_dir(&entry.path).unwrap().count(), 3);
        assert_eq!(fs::read_dir(sandbox.layout.tmp()).unwrap().count(), 0);
    }
}

#[test]
fn a_note_whose_files_are_damaged_costs_a_new_start_and_no_more() {
    let content = noise(3, 20 << 20);
    let files: Vec<(&str, &[u8])> = vec![("nvidia/x/lib/liba.so.1", &content)];
    let bytes = wheel(&files, |record| record);
    let sandbox = Sandbox::new();
    let source = sandbox.source(&bytes);
    let Place::File(path) = &source.places[0] else { unreachable!() };
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    sandbox.ingest(&source).unwrap_err();
    let left = journal::left_behind(&sandbox.layout.tmp(), &source.digest.unwrap().to_string());
    let file = left[0].0.join(files[0].0);
    fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut damaged = fs::read(&file).unwrap();
    damaged[1000] ^= 1;
    fs::write(&file, damaged).unwrap();
    fs::write(path, &bytes).unwrap();
    sandbox.ingest(&source).unwrap();
    let entry = sandbox.store().entry(&source.digest.unwrap()).unwrap().unwrap();
    assert!(fs::read(entry.path.join(files[0].0)).unwrap() == content);
}

#[test]
fn a_check_names_every_kind_of_damage() {
    let sandbox = Sandbox::new();
    let source = sandbox.source(&wheel(&files(), |record| record));
    sandbox.ingest(&source).unwrap();
    let digest = source.digest.unwrap();
    let entry = sandbox.store().entry(&digest).unwrap().unwrap();
    assert_eq!(sandbox.store().check(&entry, &|_| ()), []);
    let at = |name: &str| entry.path.join("nvidia/x").join(name);
    for name in ["bin/readme", "bin/tool"] {
        fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(at("bin/readme"), b"tex!").unwrap();
    fs::write(at("bin/tool"), b"").unwrap();
    fs::remove_file(at("lib/libx.so.1")).unwrap();
    fs::write(at("lib/stray"), b"").unwrap();
    let mut faults: Vec<String> = sandbox
        .store()
        .check(&entry, &|_| ())
        .iter()
        .map(|found| format!("{} {}", found.path, found.fault))
        .collect();
    faults.sort();
    assert_eq!(
        faults,
        [
            "nvidia/x/bin/readme has other bytes",
            "nvidia/x/bin/tool has another size",
            "nvidia/x/lib/libx.so.1 is missing or cannot be read",
            "nvidia/x/lib/stray does not belong there",
        ]
    );
    let apart = sandbox.store().apart(&sandbox.dir.path().join("apart"));
    assert_eq!(apart.ingest(&source, &sandbox.http, &Silent).unwrap().how, How::Fetched);
    sandbox.store().replace(&digest, &apart).unwrap();
    assert!(!apart.contains(&digest));
    let entry = sandbox.store().entry(&digest).unwrap().unwrap();
    assert_eq!(sandbox.store().check(&entry, &|_| ()), []);
}

#[test]
fn only_what_no_root_names_is_swept() {
    let sandbox = Sandbox::new();
    let kept = sandbox.source(&wheel(&files(), |record| record));
    sandbox.ingest(&kept).unwrap();
    let gone = sandbox.source(&wheel(&[("nvidia/y/lib/liby.so.1", b"y")], |record| record));
    sandbox.ingest(&gone).unwrap();
    let dead = made_by("left", u32::MAX - 1);
    for name in [dead.clone(), unique("busy")] {
        fs::create_dir_all(sandbox.layout.tmp().join(name)).unwrap();
    }
    let store = sandbox.store();
    let roots = std::collections::BTreeSet::from([kept.digest.unwrap()]);
    let list = |older_than| {
        let reach = Reach { older_than, downloads: false };
        store.sweepable(&roots, reach, &|_| None).unwrap()
    };
    let young = list(YOUNG);
    assert_eq!(young.items, []);
    assert_eq!(young.kept.len(), 3);
    let shared = store.hold_shared(&Silent).unwrap();
    assert!(matches!(store.hold_exclusive(), Hold::Busy(_)));
    drop(shared);
    assert!(matches!(store.hold_exclusive(), Hold::Held(_)));
    let found = list(std::time::Duration::ZERO).items;
    let names: Vec<&str> = found.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, [gone.file.clone(), format!("left-over staging {dead}")]);
    store.sweep(&found).unwrap();
    assert_eq!(store.digests().unwrap(), [kept.digest.unwrap()]);
    assert_eq!(fs::read_dir(sandbox.layout.tmp()).unwrap().count(), 1);
}

#[test]
fn shared_bytes_are_not_counted_as_freed() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    fs::create_dir_all(&a).unwrap();
    fs::create_dir_all(&b).unwrap();
    fs::write(a.join("one"), [0; 10]).unwrap();
    fs::write(a.join("two"), [0; 5]).unwrap();
    crate::platform::link::place(&a.join("one"), &b.join("one")).unwrap();
    assert_eq!(measure(&[&a]), Sizes { apparent: 15, shared: 10, own: 5 });
    assert_eq!(measure(&[&a, &b]), Sizes { apparent: 15, shared: 0, own: 15 });
}

/// Unpacks a wheel as an installer does, with rows of its own in RECORD; returns the site directory and the wheel's RECORD.
fn installed(sandbox: &Sandbox, bytes: &[u8]) -> Unpacked {
    let donor = Sandbox::new();
    let source = donor.source(bytes);
    donor.ingest(&source).unwrap();
    let entry = donor.store().entry(&source.digest.unwrap()).unwrap().unwrap();
    let site = sandbox.dir.path().join("site-packages");
    for file in &entry.receipt.files {
        let to = site.join(&file.path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(entry.path.join(&file.path), &to).unwrap();
        let mode = if file.executable { 0o755 } else { 0o644 };
        fs::set_permissions(&to, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let record = fs::read(entry.path.join(RECORD)).unwrap();
    fs::write(
        site.join(RECORD),
        [&record[..], b"nvidia_x_cu12-1.0.dist-info/INSTALLER,,\n"].concat(),
    )
    .unwrap();
    Unpacked { site, record }
}

/// A source that can only be had by what is unpacked.
fn only_unpacked(sandbox: &Sandbox, bytes: &[u8], unpacked: Unpacked) -> WheelSource {
    let source = sandbox.source(bytes);
    fs::remove_file(sandbox.dir.path().join("wheel.whl")).unwrap();
    WheelSource { unpacked: Some(unpacked), ..source }
}

#[test]
fn what_an_installer_has_unpacked_is_taken() {
    let sandbox = Sandbox::new();
    let bytes = wheel(&files(), |record| record);
    let unpacked = installed(&sandbox, &bytes);
    let site = unpacked.site.clone();
    // What nobody writes is linked; what its owner may still change, or a program that cannot run, is copied.
    let mode = |name: &str, mode| {
        fs::set_permissions(site.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("nvidia/x/lib/libx.so.1", 0o444);
    mode("nvidia/x/bin/tool", 0o444);
    let source = only_unpacked(&sandbox, &bytes, unpacked);
    assert_eq!(sandbox.ingest(&source).unwrap().how, How::Adopted);
    let entry = sandbox.store().entry(&source.digest.unwrap()).unwrap().unwrap();
    assert_eq!(sandbox.store().check(&entry, &|_| ()), []);
    let inode = |root: &Path, name: &str| fs::metadata(root.join(name)).unwrap().ino();
    let is_shared = |name: &str| inode(&site, name) == inode(&entry.path, name);
    assert!(is_shared("nvidia/x/lib/libx.so.1"));
    assert!(!is_shared("nvidia/x/bin/tool") && !is_shared("nvidia/x/bin/readme"));
    let modes = |name: &str| {
        [&site, &entry.path].map(|root| fs::metadata(root.join(name)).unwrap().mode() & 0o777)
    };
    assert_eq!(modes("nvidia/x/bin/tool"), [0o444, 0o555]);
    assert_eq!(modes("nvidia/x/bin/readme"), [0o644, 0o444]);
    // An edit in place does not reach the store.
    fs::write(site.join("nvidia/x/bin/readme"), "edit").unwrap();
    assert_eq!(sandbox.store().check(&entry, &|_| ()), []);
}

#[test]
fn what_differs_from_the_wheels_own_record_is_not_taken() {
    type Bend<'a> = &'a dyn Fn(&mut Unpacked);
    let bytes = wheel(&files(), |record| record);
    let bends: [(&str, Bend<'_>); 7] = [
        ("other bytes", &|un| {
            fs::write(un.site.join("nvidia/x/lib/libx.so.1"), b"\x7fELF librarY").unwrap();
        }),
        ("missing", &|un| fs::remove_file(un.site.join("nvidia/x/bin/readme")).unwrap()),
        ("a directory", &|un| {
            fs::remove_file(un.site.join("nvidia/x/bin/readme")).unwrap();
            fs::create_dir(un.site.join("nvidia/x/bin/readme")).unwrap();
        }),
        ("a way out", &|un| {
            un.record = String::from_utf8(un.record.clone())
                .unwrap()
                .replace("nvidia/x/bin/readme", "../../../readme")
                .into();
        }),
        ("no hash", &|un| {
            let text = String::from_utf8(un.record.clone()).unwrap();
            un.record = text.replace(&hash(b"text"), "").into();
        }),
        ("no longer there", &|un| {
            let library = un.site.join("nvidia/x/lib/libx.so.1");
            fs::remove_file(&library).unwrap();
            std::os::unix::fs::symlink("/nonexistent", library).unwrap();
        }),
        ("no RECORD", &|un| un.record = b"<html>".to_vec()),
    ];
    for (what, bend) in bends {
        let sandbox = Sandbox::new();
        let mut unpacked = installed(&sandbox, &bytes);
        bend(&mut unpacked);
        let source = only_unpacked(&sandbox, &bytes, unpacked);
        assert!(sandbox.ingest(&source).is_err(), "{what}");
        sandbox.assert_empty();
    }
}
