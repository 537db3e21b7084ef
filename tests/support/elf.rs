//! Writes minimal ELF64 shared objects that the real dynamic loader takes: soname, needed, search paths, functions
//! that return a number, imports, and symbol versions. No compiler is needed, and a file has a few hundred bytes.

/// A shared object to be written.
#[derive(Clone, Default)]
pub(crate) struct Library {
    soname: Option<String>,
    needed: Vec<String>,
    rpath: Option<String>,
    runpath: Option<String>,
    version: Option<String>,
    flags_1: u64,
    crashes: bool,
    functions: Vec<(String, u32)>,
    imports: Vec<(String, Option<(String, String)>)>,
    constants: Vec<String>,
}

struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = u32::try_from(self.bytes.len()).expect("small file");
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        at
    }
}

fn elf_hash(name: &str) -> u32 {
    name.bytes().fold(0u32, |hash, byte| {
        let hash = hash.wrapping_shl(4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

#[allow(dead_code, reason = "each test binary that includes this file uses a part of it")]
impl Library {
    pub(crate) fn new(soname: &str) -> Self {
        Self { soname: Some(soname.to_owned()), ..Self::default() }
    }

    pub(crate) fn nameless() -> Self {
        Self::default()
    }

    pub(crate) fn needs(mut self, name: &str) -> Self {
        self.needed.push(name.to_owned());
        self
    }

    pub(crate) fn rpath(mut self, path: &str) -> Self {
        self.rpath = Some(path.to_owned());
        self
    }

    pub(crate) fn runpath(mut self, path: &str) -> Self {
        self.runpath = Some(path.to_owned());
        self
    }

    /// All functions get this symbol version, defined by this file.
    pub(crate) fn version(mut self, name: &str) -> Self {
        self.version = Some(name.to_owned());
        self
    }

    /// `DF_1_NODEFLIB`.
    pub(crate) fn no_default_lib(mut self) -> Self {
        self.flags_1 |= 0x800;
        self
    }

    /// A function without arguments that returns `value`.
    pub(crate) fn function(mut self, name: &str, value: u32) -> Self {
        self.functions.push((name.to_owned(), value));
        self
    }

    /// A symbol that must be found when the file is loaded.
    pub(crate) fn import(mut self, name: &str) -> Self {
        self.imports.push((name.to_owned(), None));
        self
    }

    /// A symbol wanted with a version from a file.
    pub(crate) fn import_version(mut self, name: &str, file: &str, version: &str) -> Self {
        self.imports.push((name.to_owned(), Some((file.to_owned(), version.to_owned()))));
        self
    }

    /// Its initialiser runs into an invalid instruction.
    pub(crate) fn crashes(mut self) -> Self {
        self.crashes = true;
        self
    }

    /// A text in the section `.rodata`.
    pub(crate) fn constant(mut self, text: &str) -> Self {
        self.constants.push(text.to_owned());
        self
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut strings = Strings { bytes: vec![0] };
        let soname = self.soname.as_deref().map(|name| strings.add(name));
        let needed: Vec<u32> = self.needed.iter().map(|name| strings.add(name)).collect();
        let rpath = self.rpath.as_deref().map(|path| strings.add(path));
        let runpath = self.runpath.as_deref().map(|path| strings.add(path));

        let base: u64 = 64 + 2 * 56;
        let mut out = vec![0u8; usize::try_from(base).expect("small")];

        // Code, then one pointer-sized slot for each import.
        let mut code = Vec::new();
        for (_, value) in &self.functions {
            code.push(out.len() as u64);
            out.extend_from_slice(&returning(*value));
        }
        let crash = out.len() as u64;
        if self.crashes {
            out.extend_from_slice(&INVALID);
        }
        align(&mut out, 8);
        let slots = out.len() as u64;
        out.resize(out.len() + 8 * self.imports.len(), 0);

        // Symbols: null, imports, functions.
        let mut names = vec![String::new()];
        let symbols = out.len() as u64;
        out.extend_from_slice(&[0; 24]);
        for (name, _) in &self.imports {
            out.extend_from_slice(&strings.add(name).to_le_bytes());
            out.extend_from_slice(&[0x12, 0, 0, 0]);
            out.extend_from_slice(&[0; 16]);
            names.push(name.clone());
        }
        for ((name, _), at) in self.functions.iter().zip(&code) {
            out.extend_from_slice(&strings.add(name).to_le_bytes());
            out.extend_from_slice(&[0x12, 0, 1, 0]);
            out.extend_from_slice(&at.to_le_bytes());
            out.extend_from_slice(&16u64.to_le_bytes());
            names.push(name.clone());
        }

        // One bucket: a chain through all symbols.
        let hash = out.len() as u64;
        let count = u32::try_from(names.len()).expect("small");
        let mut words = vec![1, count, count.saturating_sub(1)];
        words.extend((0..count).map(|index| index.saturating_sub(1)));
        for word in words {
            out.extend_from_slice(&word.to_le_bytes());
        }

        // Versions: index 2 is this file's own, the needs follow.
        let mut versym = vec![0u16];
        let mut needs: Vec<(&str, &str, u16)> = Vec::new();
        for (_, version) in &self.imports {
            let Some((file, version)) = version else {
                versym.push(1);
                continue;
            };
            let known = needs.iter().position(|need| (need.0, need.1) == (file, version));
            let position = known.unwrap_or(needs.len());
            let index = 3 + u16::try_from(position).expect("few");
            if known.is_none() {
                needs.push((file, version, index));
            }
            versym.push(index);
        }
        let own = if self.version.is_some() { 2 } else { 1 };
        versym.extend(self.functions.iter().map(|_| own));
        align(&mut out, 2);
        let versym_at = out.len() as u64;
        for index in versym {
            out.extend_from_slice(&index.to_le_bytes());
        }
        align(&mut out, 8);
        let need_at = out.len() as u64;
        for (position, (file, version, index)) in needs.iter().enumerate() {
            let next = if position + 1 == needs.len() { 0u32 } else { 32 };
            out.extend_from_slice(&[1, 0, 1, 0]);
            for word in [strings.add(file), 16, next, elf_hash(version)] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(&strings.add(version).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
        }
        let define_at = out.len() as u64;
        if let Some(version) = &self.version {
            let base_name = self.soname.as_deref().unwrap_or("nameless");
            for (flags, index, name, next) in [(1u16, 1u16, base_name, 28u32), (0, 2, version, 0)] {
                out.extend_from_slice(&[1, 0]);
                out.extend_from_slice(&flags.to_le_bytes());
                out.extend_from_slice(&index.to_le_bytes());
                out.extend_from_slice(&[1, 0]);
                for word in [elf_hash(name), 20, next, strings.add(name), 0] {
                    out.extend_from_slice(&word.to_le_bytes());
                }
            }
        }
        align(&mut out, 8);
        let relocations = out.len() as u64;
        for index in 0..self.imports.len() as u64 {
            out.extend_from_slice(&(slots + 8 * index).to_le_bytes());
            out.extend_from_slice(&((index + 1) << 32 | GLOB_DAT).to_le_bytes());
            out.extend_from_slice(&[0; 8]);
        }

        let rodata = out.len() as u64;
        for text in &self.constants {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        let rodata_length = out.len() as u64 - rodata;
        let section_name = strings.add(".rodata");
        let strings_at = out.len() as u64;
        out.extend_from_slice(&strings.bytes);
        align(&mut out, 8);

        let mut dynamic: Vec<(u64, u64)> = Vec::new();
        dynamic.extend(needed.iter().map(|at| (1, u64::from(*at))));
        dynamic.extend(soname.map(|at| (14, u64::from(at))));
        dynamic.extend(rpath.map(|at| (15, u64::from(at))));
        dynamic.extend(runpath.map(|at| (29, u64::from(at))));
        dynamic.extend([(4, hash), (5, strings_at), (6, symbols)]);
        dynamic.extend([(10, strings.bytes.len() as u64), (11, 24)]);
        if !self.imports.is_empty() {
            dynamic.extend([(7, relocations), (8, 24 * self.imports.len() as u64), (9, 24)]);
        }
        if self.version.is_some() || !needs.is_empty() {
            dynamic.push((0x6fff_fff0, versym_at));
        }
        if !needs.is_empty() {
            dynamic.extend([(0x6fff_fffe, need_at), (0x6fff_ffff, needs.len() as u64)]);
        }
        if self.version.is_some() {
            dynamic.extend([(0x6fff_fffc, define_at), (0x6fff_fffd, 2)]);
        }
        if self.flags_1 != 0 {
            dynamic.push((0x6fff_fffb, self.flags_1));
        }
        if self.crashes {
            dynamic.push((12, crash));
        }
        dynamic.push((0, 0));
        let dynamic_at = out.len() as u64;
        for (tag, value) in &dynamic {
            out.extend_from_slice(&tag.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
        }
        let loaded = out.len() as u64;

        // Sections, for readers of constants: null, the string table, `.rodata`.
        let sections = out.len() as u64;
        out.extend_from_slice(&[0; 64]);
        section(&mut out, 0, 3, strings_at, strings.bytes.len() as u64);
        section(&mut out, section_name, 1, rodata, rodata_length);

        header(&mut out, sections);
        program_header(&mut out, 64, 1, 0, loaded, 0x1000);
        program_header(&mut out, 120, 2, dynamic_at, loaded - dynamic_at, 8);
        out
    }
}

/// An instruction that the processor refuses.
#[cfg(target_arch = "x86_64")]
const INVALID: [u8; 4] = [0x0f, 0x0b, 0x0f, 0x0b];
#[cfg(target_arch = "aarch64")]
const INVALID: [u8; 4] = [0, 0, 0, 0];

#[cfg(target_arch = "x86_64")]
const GLOB_DAT: u64 = 6;
#[cfg(target_arch = "aarch64")]
const GLOB_DAT: u64 = 1025;

/// Machine code, padded to 16 bytes, of a function that returns `value`.
#[cfg(target_arch = "x86_64")]
fn returning(value: u32) -> [u8; 16] {
    let mut code = [0x90; 16];
    code[0] = 0xb8;
    code[1..5].copy_from_slice(&value.to_le_bytes());
    code[5] = 0xc3;
    code
}

#[cfg(target_arch = "aarch64")]
fn returning(value: u32) -> [u8; 16] {
    let mut code = [0; 16];
    code[..4].copy_from_slice(&(0x5280_0000 | (value & 0xffff) << 5).to_le_bytes());
    code[4..8].copy_from_slice(&(0x72a0_0000 | (value >> 16) << 5).to_le_bytes());
    code[8..12].copy_from_slice(&0xd65f_03c0u32.to_le_bytes());
    code
}

fn align(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}

fn section(out: &mut Vec<u8>, name: u32, kind: u32, offset: u64, length: u64) {
    out.extend_from_slice(&name.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    for word in [2, offset, offset, length, 0, 1, 0] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn header(out: &mut [u8], sections: u64) {
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    out[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    out[16..18].copy_from_slice(&3u16.to_le_bytes());
    out[18..20].copy_from_slice(&machine.to_le_bytes());
    out[20] = 1;
    out[32..40].copy_from_slice(&64u64.to_le_bytes());
    out[40..48].copy_from_slice(&sections.to_le_bytes());
    for (at, value) in [(52, 64u16), (54, 56), (56, 2), (58, 64), (60, 3), (62, 1)] {
        out[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
}

fn program_header(out: &mut [u8], at: usize, kind: u32, offset: u64, length: u64, alignment: u64) {
    out[at..at + 4].copy_from_slice(&kind.to_le_bytes());
    // Readable, writable (the loader relocates the dynamic section in place) and executable.
    out[at + 4..at + 8].copy_from_slice(&7u32.to_le_bytes());
    let words = [offset, offset, offset, length, length, alignment];
    for (index, word) in words.iter().enumerate() {
        let start = at + 8 + index * 8;
        out[start..start + 8].copy_from_slice(&word.to_le_bytes());
    }
}
