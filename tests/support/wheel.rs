//! Builds wheels of a few hundred bytes: a true zip file with `METADATA`, `WHEEL` and a true `RECORD`, and on demand
//! one that lies in exactly one way.

use std::fmt::Write as _;
use std::io::Write as _;

use cuenv::domain::digest::Digest;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// A built wheel.
#[derive(Clone)]
pub struct Wheel {
    pub distribution: String,
    pub file: String,
    pub bytes: Vec<u8>,
    pub metadata: String,
}

impl Wheel {
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// One member as it will stand in the zip file.
#[derive(Clone)]
struct Member {
    name: String,
    data: Vec<u8>,
    /// Unix mode with its type bits, as NVIDIA's wheels carry it.
    mode: u32,
    stored: bool,
    /// What `RECORD` says about it; `None` says nothing.
    record: Option<Record>,
    /// Written in place of the true size.
    claimed_size: Option<u32>,
    wrong_crc: bool,
}

#[derive(Clone)]
enum Record {
    True,
    Line(String),
}

/// What goes into a wheel.
#[derive(Clone)]
pub struct Builder {
    distribution: String,
    version: String,
    build: Option<String>,
    tags: String,
    headers: Vec<String>,
    members: Vec<Member>,
    no_record: bool,
}

impl Builder {
    /// A wheel for x86_64 without files.
    pub fn new(distribution: &str, version: &str) -> Self {
        Self {
            distribution: distribution.to_owned(),
            version: version.to_owned(),
            build: None,
            tags: "py3-none-manylinux2014_x86_64".to_owned(),
            headers: Vec::new(),
            members: Vec::new(),
            no_record: false,
        }
    }

    /// A metapackage: `py2.py3-none-any` with these `Requires-Dist` lines.
    pub fn metapackage(distribution: &str, version: &str, requires: &[&str]) -> Self {
        let mut builder = Self::new(distribution, version).tags("py2.py3-none-any");
        builder.headers = requires.iter().map(|line| format!("Requires-Dist: {line}")).collect();
        builder
    }

    pub fn tags(mut self, tags: &str) -> Self {
        tags.clone_into(&mut self.tags);
        self
    }

    pub fn build_tag(mut self, build: &str) -> Self {
        self.build = Some(build.to_owned());
        self
    }

    /// Adds a line to `METADATA`.
    pub fn header(mut self, line: &str) -> Self {
        self.headers.push(line.to_owned());
        self
    }

    /// Adds an ordinary file.
    pub fn file(self, name: &str, data: impl AsRef<[u8]>) -> Self {
        self.file_with_mode(name, data, 0o100_644)
    }

    /// Adds a file with a mode; without type bits, as NVIDIA's oldest wheels have them, if `mode` has none.
    pub fn file_with_mode(mut self, name: &str, data: impl AsRef<[u8]>, mode: u32) -> Self {
        self.members.push(Member {
            name: name.to_owned(),
            data: data.as_ref().to_vec(),
            mode,
            stored: false,
            record: Some(Record::True),
            claimed_size: None,
            wrong_crc: false,
        });
        self
    }

    fn last(mut self, change: impl FnOnce(&mut Member)) -> Self {
        change(self.members.last_mut().expect("a file was added"));
        self
    }

    /// The last file is stored instead of deflated.
    pub fn stored(self) -> Self {
        self.last(|member| member.stored = true)
    }

    /// Hostile: the last file is a symbolic link; its data is where it points.
    pub fn symlink(self) -> Self {
        self.last(|member| member.mode = 0o120_777)
    }

    /// Hostile: `RECORD` does not name the last file.
    pub fn unrecorded(self) -> Self {
        self.last(|member| member.record = None)
    }

    /// Hostile: `RECORD` has another digest for the last file.
    pub fn misrecorded(self) -> Self {
        self.last(|member| {
            let line = format!("{},sha256={},{}", member.name, "A".repeat(43), member.data.len());
            member.record = Some(Record::Line(line));
        })
    }

    /// Hostile: the last file's size is a lie, in both places that say it.
    pub fn claiming_size(self, size: u32) -> Self {
        self.last(|member| member.claimed_size = Some(size))
    }

    /// Hostile: the last file's check sum is a lie.
    pub fn with_wrong_crc(self) -> Self {
        self.last(|member| member.wrong_crc = true)
    }

    /// Hostile: a file of zeros that inflates to `megabytes`.
    pub fn bomb(self, name: &str, megabytes: usize) -> Self {
        self.file(name, vec![0; megabytes << 20])
    }

    /// Hostile: no `RECORD` at all.
    pub fn without_record(mut self) -> Self {
        self.no_record = true;
        self
    }

    pub fn build(self) -> Wheel {
        let stem = format!("{}-{}", self.distribution.replace('-', "_"), self.version);
        let info = format!("{stem}.dist-info");
        let mut metadata = format!(
            "Metadata-Version: 2.1\nName: {}\nVersion: {}\n",
            self.distribution, self.version
        );
        for line in &self.headers {
            let _ = writeln!(metadata, "{line}");
        }
        let about = format!("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {}\n", self.tags);
        let mut with_info = self.clone();
        with_info = with_info.file(&format!("{info}/METADATA"), &metadata);
        with_info = with_info.file(&format!("{info}/WHEEL"), about);
        let mut record = String::new();
        for member in &with_info.members {
            match &member.record {
                None => {}
                Some(Record::Line(line)) => record = format!("{record}{line}\n"),
                Some(Record::True) => {
                    let digest = url_safe(Digest::of(&member.data).as_bytes());
                    let _ =
                        writeln!(record, "{},sha256={digest},{}", member.name, member.data.len());
                }
            }
        }
        if !self.no_record {
            let _ = writeln!(record, "{info}/RECORD,,");
            with_info = with_info.file(&format!("{info}/RECORD"), record);
        }
        let build = self.build.as_ref().map_or(String::new(), |build| format!("-{build}"));
        Wheel {
            file: format!("{stem}{build}-{}.whl", self.tags),
            distribution: self.distribution,
            bytes: zip(&with_info.members),
            metadata,
        }
    }
}

fn zip(members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let mut crc = flate2::Crc::new();
        crc.update(&member.data);
        let packed = if member.stored {
            member.data.clone()
        } else {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&member.data).unwrap();
            encoder.finish().unwrap()
        };
        let offset = length(out.len());
        // The fields that the local header and the directory share.
        let mut shared = Vec::new();
        shared.extend(20_u16.to_le_bytes());
        shared.extend(0_u16.to_le_bytes());
        shared.extend(if member.stored { 0_u16 } else { 8 }.to_le_bytes());
        shared.extend(0_u16.to_le_bytes());
        // 2020-02-02, the date of reproducible wheels.
        shared.extend(0x5042_u16.to_le_bytes());
        shared.extend((crc.sum() ^ u32::from(member.wrong_crc)).to_le_bytes());
        shared.extend(length(packed.len()).to_le_bytes());
        let size = member.claimed_size.unwrap_or(length(member.data.len()));
        shared.extend(size.to_le_bytes());
        shared.extend(u16::try_from(member.name.len()).unwrap().to_le_bytes());
        shared.extend(0_u16.to_le_bytes());

        out.extend(b"PK\x03\x04");
        out.extend(&shared);
        out.extend(member.name.as_bytes());
        out.extend(packed);

        directory.extend(b"PK\x01\x02");
        // Made by unix.
        directory.extend(0x0314_u16.to_le_bytes());
        directory.extend(&shared);
        directory.extend([0; 6]);
        directory.extend((member.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(member.name.as_bytes());
    }
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    let start = length(out.len());
    let size = length(directory.len());
    out.extend(directory);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(count);
    out.extend(count);
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

/// Base64 with `-` and `_` and without padding, as `RECORD` has it.
fn url_safe(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3)
            .fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..=chunk.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}
