use super::{Class, Elf, ElfError, Kind, ReadAt, library_names};

use super::writer::Library;

fn parse(bytes: &[u8]) -> Elf {
    Elf::parse(&bytes).expect("a whole file")
}

/// Counts the bytes that are read of a file.
struct Counted<'a>(&'a [u8], std::cell::Cell<u64>);

impl ReadAt for Counted<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        self.1.set(self.1.get() + into.len() as u64);
        self.0.read_at(offset, into)
    }
}

fn sample() -> Library {
    Library::new("libcusparse.so.12")
        .needs("libnvJitLink.so.12")
        .needs("libc.so.6")
        .runpath("$ORIGIN:$ORIGIN/../../nvjitlink/lib")
        .version("libcusparse.so.12")
        .function("cusparseGetProperty", 7)
        .import("malloc")
        .import_version("__nvJitLinkAddData_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12")
        .import_version("dlopen", "libc.so.6", "GLIBC_2.34")
}

#[test]
fn reads_what_was_written() {
    let elf = parse(&sample().bytes());
    assert_eq!(elf.class, Class::Bits64);
    assert_eq!(elf.kind, Kind::Shared);
    assert_eq!(elf.soname.as_deref(), Some("libcusparse.so.12"));
    assert_eq!(elf.needed, ["libnvJitLink.so.12", "libc.so.6"]);
    assert_eq!(elf.runpath.as_deref(), Some("$ORIGIN:$ORIGIN/../../nvjitlink/lib"));
    assert_eq!(elf.rpath, None);
    assert!(!elf.no_default_lib);
    let needs: Vec<_> = elf
        .version_needs
        .iter()
        .map(|need| (need.file.as_str(), need.version.as_str(), need.weak))
        .collect();
    assert_eq!(
        needs,
        [("libnvJitLink.so.12", "libnvJitLink.so.12", false), ("libc.so.6", "GLIBC_2.34", false)]
    );
    assert_eq!(elf.version_defs.len(), 1);
    assert_eq!(elf.version_defs[0].version, "libcusparse.so.12");
}

#[test]
fn runpath_silences_rpath() {
    let elf = parse(&Library::new("a").rpath("/a").bytes());
    assert_eq!(elf.effective_rpath(), Some("/a"));
    let elf = parse(&Library::new("a").rpath("/a").runpath("/b").bytes());
    assert_eq!(elf.rpath.as_deref(), Some("/a"));
    assert_eq!(elf.effective_rpath(), None);
}

#[test]
fn finds_symbols_by_name_and_version() {
    let bytes = sample().bytes();
    let elf = parse(&bytes);
    let file = &bytes.as_slice();
    assert!(elf.defines(&file_of(file), "cusparseGetProperty", None));
    assert!(elf.defines(&file_of(file), "cusparseGetProperty", Some("libcusparse.so.12")));
    assert!(!elf.defines(&file_of(file), "cusparseGetProperty", Some("libcusparse.so.11")));
    assert!(!elf.defines(&file_of(file), "malloc", None), "an import is no definition");
    assert!(!elf.defines(&file_of(file), "cusparse", None));
    let imports = elf.imports(&file_of(file));
    assert_eq!(imports.len(), 3);
    assert_eq!(imports[0].version, None);
    assert_eq!(
        imports[1].version,
        Some(("libnvJitLink.so.12".to_owned(), "libnvJitLink.so.12".to_owned()))
    );
}

fn file_of(bytes: &[u8]) -> Counted<'_> {
    Counted(bytes, std::cell::Cell::new(0))
}

#[test]
fn library_without_versions_answers_for_every_version() {
    let bytes = Library::new("a").function("f", 1).bytes();
    assert!(parse(&bytes).defines(&file_of(&bytes), "f", Some("ANY_1")));
}

#[test]
fn says_what_the_loader_says_of_no_elf() {
    assert_eq!(Elf::parse(&b"".as_slice()), Err(ElfError::TooShort));
    let script =
        b"/* GNU ld script */ GROUP ( /lib/libc.so.6 AS_NEEDED ( /lib64/ld.so ) )".as_slice();
    assert_eq!(Elf::parse(&script), Err(ElfError::NotElf));
    let mut bytes = Library::new("a").bytes();
    bytes[5] = 2;
    assert_eq!(Elf::parse(&bytes.as_slice()), Err(ElfError::BigEndian));
    bytes[5] = 1;
    bytes[4] = 1;
    assert_eq!(parse(&bytes).class, Class::Bits32);
}

#[test]
fn finds_names_among_constants() {
    let bytes = Library::new("a")
        .constant("libcudnn_ops.so.9")
        .constant("Unable to load libcublas.so.12, sorry")
        .constant("/usr/lib/libcufft.so.%d")
        .constant("solib")
        .constant("prefixlibnvrtc.so")
        .constant("mylib.source")
        .bytes();
    let names: Vec<_> = library_names(&parse(&bytes), &bytes.as_slice()).into_iter().collect();
    assert_eq!(names, ["libcudnn_ops.so.9", "libcufft.so.%d", "libnvrtc.so"]);
}

#[test]
fn reads_little_of_a_big_file() {
    let mut bytes = sample().bytes();
    bytes.resize(8 << 20, 0);
    let counted = Counted(&bytes, std::cell::Cell::new(0));
    Elf::parse(&counted).expect("a whole file");
    assert!(counted.1.get() < 16 * 1024, "read {} bytes", counted.1.get());
}

#[test]
fn survives_any_bytes() {
    let whole = sample().constant("libcudnn.so.9").bytes();
    arbtest::arbtest(|u| {
        let mut bytes = whole.clone();
        for _ in 0..u.int_in_range(0..=12)? {
            let at = u.int_in_range(0..=bytes.len() - 1)?;
            let width = u.int_in_range(1..=8)?;
            let value: u64 = match u.int_in_range(0..=3u8)? {
                0 => u64::MAX,
                1 => u64::MAX / 2,
                _ => u.arbitrary()?,
            };
            for (offset, byte) in value.to_le_bytes().iter().take(width).enumerate() {
                if let Some(slot) = bytes.get_mut(at + offset) {
                    *slot = *byte;
                }
            }
        }
        bytes.truncate(u.int_in_range(0..=bytes.len())?);
        if let Ok(elf) = Elf::parse(&bytes.as_slice()) {
            elf.imports(&bytes.as_slice());
            elf.defines(&bytes.as_slice(), "cusparseGetProperty", Some("libcusparse.so.12"));
            library_names(&elf, &bytes.as_slice());
        }
        Ok(())
    })
    .budget_ms(1500);
}
