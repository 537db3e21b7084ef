//! What the store knows about one unpacked wheel: `<entry>/.cuenv-wheel`.
//!
//! Line form, so that a new prefix over a warm store needs no JSON parser and no second reading of RECORD:
//!
//! ```text
//! cuenv-wheel 1
//! file nvidia_cuda_runtime_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl
//! size 883737
//! sha256 64403288fa2136ee…
//! boot 5c1f…                       the boot it was written in
//! = 0f3a… 5592 - nvidia/cuda_runtime/include/cuda.h
//! = 77b2… 707904 x nvidia/…/bin/ptxas
//! end 2
//! ```

use std::fmt::Write as _;
use std::path::PathBuf;

use super::digest::Digest;

/// The receipt's name inside an entry.
pub const NAME: &str = ".cuenv-wheel";

const HEAD: &str = "cuenv-wheel 1";

/// One file of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path inside the wheel.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Its sha256, as RECORD has it.
    pub digest: Digest,
    /// Whether it is a program.
    pub executable: bool,
}

/// The receipt of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The wheel's file name.
    pub file: String,
    /// The wheel's size.
    pub size: u64,
    /// The wheel's sha256.
    pub digest: Digest,
    /// The boot of the machine in which the entry was written.
    pub boot: String,
    /// The files, in the order of the wheel.
    pub files: Vec<File>,
}

/// One unpacked wheel in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its directory.
    pub path: PathBuf,
    /// What it holds.
    pub receipt: Receipt,
    /// Whether it is in a store that somebody else fills: then a prefix may only point into it.
    pub foreign: bool,
}

/// A receipt that cannot be read; line 0: its end is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {0} of the receipt cannot be read")]
pub struct ReceiptError(pub usize);

impl Receipt {
    /// Returns the distribution and version that the file name begins with.
    pub fn distribution(&self) -> (&str, &str) {
        let mut parts = self.file.split('-');
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }

    /// Returns the bytes of all files.
    pub fn unpacked(&self) -> u64 {
        self.files.iter().map(|file| file.size).fold(0, u64::saturating_add)
    }

    /// Writes the receipt.
    pub fn render(&self) -> String {
        let mut text = format!(
            "{HEAD}\nfile {}\nsize {}\nsha256 {}\nboot {}\n",
            self.file, self.size, self.digest, self.boot
        );
        for file in &self.files {
            let kind = if file.executable { 'x' } else { '-' };
            let _ = writeln!(text, "= {} {} {kind} {}", file.digest, file.size, file.path);
        }
        let _ = writeln!(text, "end {}", self.files.len());
        text
    }

    /// Reads a receipt.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        let mut lines = text.lines().enumerate();
        let mut field = |name: &str| {
            let (index, line) = lines.next().unwrap_or_default();
            let value = line.strip_prefix(name).ok_or(ReceiptError(index + 1))?;
            Ok::<_, ReceiptError>((index + 1, value.to_owned()))
        };
        field(HEAD)?;
        let (_, file) = field("file ")?;
        let (line, size) = field("size ")?;
        let size = size.parse().map_err(|_| ReceiptError(line))?;
        let (line, digest) = field("sha256 ")?;
        let digest = digest.parse().map_err(|_| ReceiptError(line))?;
        let (_, boot) = field("boot ")?;
        let mut files = Vec::new();
        for (index, line) in lines {
            if line.strip_prefix("end ").and_then(|count| count.parse().ok()) == Some(files.len()) {
                return Ok(Self { file, size, digest, boot, files });
            }
            files.push(entry(line).ok_or(ReceiptError(index + 1))?);
        }
        Err(ReceiptError(0))
    }
}

fn entry(line: &str) -> Option<File> {
    let mut parts = line.strip_prefix("= ")?.splitn(4, ' ');
    let digest = parts.next()?.parse().ok()?;
    let size = parts.next()?.parse().ok()?;
    let executable = match parts.next()? {
        "x" => true,
        "-" => false,
        _ => return None,
    };
    Some(File { path: parts.next()?.to_owned(), size, digest, executable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Receipt {
        Receipt {
            file: "nvidia_x_cu12-1.2.3-py3-none-any.whl".into(),
            size: 10,
            digest: Digest::of(b"wheel"),
            boot: "b".into(),
            files: vec![
                File { path: "a b/c".into(), size: 1, digest: Digest::of(b"c"), executable: false },
                File { path: "bin/p".into(), size: 2, digest: Digest::of(b"p"), executable: true },
            ],
        }
    }

    #[test]
    fn reads_what_it_writes() {
        let receipt = sample();
        assert_eq!(Receipt::parse(&receipt.render()), Ok(receipt.clone()));
        assert_eq!(receipt.distribution(), ("nvidia_x_cu12", "1.2.3"));
    }

    #[test]
    fn refuses_a_torn_receipt() {
        let text = sample().render();
        for end in 0..text.len() - 1 {
            assert!(Receipt::parse(&text[..end]).is_err(), "{:?}", &text[..end]);
        }
        assert_eq!(Receipt::parse("cuenv-wheel 2\n"), Err(ReceiptError(1)));
    }
}
