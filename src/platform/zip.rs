//! Reads a zip archive front to back, as its bytes arrive.
//!
//! A wheel is unpacked while it is downloaded, so this reader trusts the local headers first and then demands that
//! the central directory at the end tells the same story: same members, same order, same places, same sizes, and
//! nothing between or after them. An archive that two programs could read in two ways is refused. So is everything
//! that no wheel of NVIDIA uses and that would need trust: encryption, sizes that follow the data, links, names that
//! leave the directory. `zip64`, stored members and modes without type bits are accepted.

mod name;
mod wire;

use std::collections::{HashMap, HashSet};
use std::io::BufRead;

pub use name::{NameFault, check as check_name};

/// Where an archive stops being one, or stops being a safe one.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    /// The bytes could not be had.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// The archive ends inside a header, a member or the directory.
    #[error("it ends after {0} bytes, before the archive does")]
    Truncated(u64),
    /// The first bytes are not a zip header.
    #[error("it is not a zip archive: it begins with `{0}`")]
    NotAZip(String),
    /// No header stands where one must.
    #[error("byte {0} begins neither a member nor the directory")]
    Signature(u64),
    /// A feature that is not read.
    #[error("member `{name}` uses {feature}")]
    Unsupported {
        /// The member.
        name: String,
        /// What it uses.
        feature: &'static str,
    },
    /// A name that is refused.
    #[error("member name `{}` {fault}", name.escape_debug())]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// Two members that cannot both exist.
    #[error("member `{0}` appears twice")]
    Duplicate(String),
    /// The directory and the members tell two stories.
    #[error("the directory contradicts member `{name}` in its {field}")]
    Contradiction {
        /// The member.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// The directory lacks members or has more than there are.
    #[error("the directory lists {listed} members of {found}")]
    Count {
        /// Members in the directory.
        listed: u64,
        /// Members seen.
        found: u64,
    },
    /// A link, device or pipe.
    #[error("member `{0}` is not a plain file")]
    NotAFile(String),
    /// Bytes after the end.
    #[error("bytes follow the end of the archive")]
    Trailing,
    /// More than any wheel needs: a bomb, or a mistake.
    #[error("{what} exceed the limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// How a member is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Stored,
    /// RFC 1951.
    Deflate,
}

/// One member, as its local header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name: relative, `/`-separated, safe to join to a directory.
    pub name: String,
    /// How it is stored.
    pub method: Method,
    /// CRC-32 of its bytes.
    pub crc32: u32,
    /// Bytes in the archive.
    pub compressed: u64,
    /// Bytes when unpacked.
    pub size: u64,
    /// Where its local header begins.
    pub offset: u64,
}

impl Member {
    /// Tells whether the member is a directory entry.
    pub fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }
}

/// What an archive may hold before it is called a bomb.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of members.
    pub members: u64,
    /// Bytes of all members, unpacked.
    pub size: u64,
}

impl Limits {
    /// Returns the limits for an archive of `bytes`: a hundred times its size, which is four times what the best
    /// compressed wheel reaches (headers, 4x to 25x).
    pub fn for_archive(bytes: u64) -> Self {
        Self { members: 100_000, size: bytes.saturating_mul(100).max(1 << 20) }
    }
}

/// Deflate cannot shrink data further than this; a header that claims so lies.
const DEFLATE_LIMIT: u64 = 1032;

/// Reads the structure of an archive; the bytes of the members are the caller's to read.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    members: Vec<Member>,
    names: HashSet<String>,
    folders: HashSet<String>,
    size: u64,
}

impl Reader {
    /// Starts at the first byte of an archive.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            members: Vec::new(),
            names: HashSet::new(),
            folders: HashSet::new(),
            size: 0,
        }
    }

    /// Returns the members read so far.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Reads the next local header, of which `offset` bytes stand before. `None`: the directory begins, and its
    /// signature has been read; [`Self::finish`] must follow.
    pub fn next<R: BufRead>(
        &mut self,
        input: &mut R,
        offset: u64,
    ) -> Result<Option<Member>, ZipError> {
        let mut input = wire::Cursor::new(input, offset);
        let signature = input.u32()?;
        if signature != wire::LOCAL {
            if offset == 0 {
                return Err(ZipError::NotAZip(input.printable(signature)));
            }
            if signature == wire::CENTRAL {
                return Ok(None);
            }
            return Err(ZipError::Signature(offset));
        }
        let member = wire::local(&mut input, offset)?;
        self.admit(&member)?;
        self.members.push(member.clone());
        Ok(Some(member))
    }

    /// Takes a member as read that another process has read before.
    pub fn restore(&mut self, member: &Member) -> Result<(), ZipError> {
        self.admit(member)?;
        self.members.push(member.clone());
        Ok(())
    }

    fn admit(&mut self, member: &Member) -> Result<(), ZipError> {
        name::check(&member.name)
            .map_err(|fault| ZipError::Name { name: member.name.clone(), fault })?;
        let limit = |what, limit| ZipError::Limit { what, limit };
        if self.members.len() as u64 >= self.limits.members {
            return Err(limit("members", self.limits.members));
        }
        self.size = self.size.saturating_add(member.size);
        if self.size > self.limits.size {
            return Err(limit("unpacked bytes", self.limits.size));
        }
        let possible = member.compressed.saturating_mul(DEFLATE_LIMIT).saturating_add(64);
        if member.method == Method::Deflate && member.size > possible {
            return Err(limit("unpacked bytes of one member", possible));
        }
        let bare = member.name.trim_end_matches('/');
        // A name may be a file once, or a folder of others, not both.
        let fresh = self.names.insert(bare.to_owned())
            && (member.is_directory() || !self.folders.contains(bare));
        if !fresh {
            return Err(ZipError::Duplicate(member.name.clone()));
        }
        let mut folder = bare;
        while let Some((parent, _)) = folder.rsplit_once('/') {
            if self.is_file(parent) {
                return Err(ZipError::Duplicate(member.name.clone()));
            }
            if !self.folders.insert(parent.to_owned()) {
                break;
            }
            folder = parent;
        }
        if member.is_directory() {
            self.folders.insert(bare.to_owned());
        }
        Ok(())
    }

    fn is_file(&self, name: &str) -> bool {
        self.names.contains(name) && !self.folders.contains(name)
    }

    /// Reads the directory, whose first signature has been read, and the end, which must be the end of the input.
    /// `offset` is where the directory begins.
    pub fn finish<R: BufRead>(&self, input: &mut R, offset: u64) -> Result<(), ZipError> {
        let mut input = wire::Cursor::new(input, offset + 4);
        let mut by_name: HashMap<&str, &Member> =
            self.members.iter().map(|member| (member.name.as_str(), member)).collect();
        let found = self.members.len() as u64;
        let mut listed = 0;
        loop {
            let entry = wire::central(&mut input)?;
            listed += 1;
            let Some(member) = by_name.remove(entry.member.name.as_str()) else {
                return Err(ZipError::Count { listed, found });
            };
            entry.agree(member)?;
            let signature = input.u32()?;
            if signature != wire::CENTRAL {
                wire::end(&mut input, signature, offset)?;
                break;
            }
        }
        if listed == found { Ok(()) } else { Err(ZipError::Count { listed, found }) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
