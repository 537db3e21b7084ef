//! A wheel's own list of its files: `*.dist-info/RECORD` (CSV: path, hash, size).

use std::collections::HashMap;

use crate::domain::digest::Digest;

/// Why a RECORD is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not UTF-8.
    #[error("RECORD is not UTF-8")]
    Encoding,
    /// A line that is not `path,hash,size`.
    #[error("RECORD line {0} is not `path,hash,size`")]
    Line(usize),
    /// A hash that is not sha256, or not base64.
    #[error("RECORD line {0} has no sha256 that can be read")]
    Hash(usize),
    /// A path that is listed twice.
    #[error("RECORD lists `{}` twice", .0.escape_debug())]
    Twice(String),
}

/// What RECORD says about one file; both are empty for RECORD itself and for its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The file's sha256.
    pub digest: Option<Digest>,
    /// The file's size.
    pub size: Option<u64>,
}

/// Reads a RECORD.
pub fn parse(bytes: &[u8]) -> Result<HashMap<String, Listed>, RecordError> {
    let text = std::str::from_utf8(bytes).map_err(|_| RecordError::Encoding)?;
    let mut files = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.is_empty() {
            continue;
        }
        let [path, hash, size] = fields(line).ok_or(RecordError::Line(number))?;
        let size = match size.as_str() {
            "" => None,
            digits => Some(digits.parse().map_err(|_| RecordError::Line(number))?),
        };
        let digest = match hash.as_str() {
            "" => None,
            hash => Some(sha256(hash).ok_or(RecordError::Hash(number))?),
        };
        if files.insert(path.clone(), Listed { digest, size }).is_some() {
            return Err(RecordError::Twice(path));
        }
    }
    Ok(files)
}

/// Splits a CSV line of three fields; a quoted field doubles its quotes.
fn fields(line: &str) -> Option<[String; 3]> {
    let mut found: Vec<String> = Vec::with_capacity(3);
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut field = String::new();
            let mut tail = quoted;
            loop {
                let (part, after) = tail.split_once('"')?;
                field.push_str(part);
                let Some(more) = after.strip_prefix('"') else {
                    tail = after;
                    break;
                };
                field.push('"');
                tail = more;
            }
            found.push(field);
            rest = tail;
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.is_empty() => break,
            None => return None,
        }
    }
    found.try_into().ok()
}

fn sha256(hash: &str) -> Option<Digest> {
    let text = hash.strip_prefix("sha256=")?.trim_end_matches('=');
    Some(Digest::from_bytes(base64(text)?))
}

/// Decodes 43 characters of URL-safe base64, which are 32 bytes.
fn base64(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0u8; 33];
    if text.len() != 43 {
        return None;
    }
    let (mut bits, mut count, mut at) = (0u32, 0, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes[at] = u8::try_from(bits >> count & 0xff).ok()?;
            at += 1;
        }
    }
    // 43 characters carry 258 bits; the last two must be zero.
    (bits.trailing_zeros() >= 2).then(|| bytes[..32].try_into().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

    #[test]
    fn reads_lines_quotes_and_its_own_row() {
        let text = format!("a/b.so,{ABC},3\r\n\"q\"\"x,y\",{ABC},3\nx.dist-info/RECORD,,\n");
        let files = parse(text.as_bytes()).unwrap();
        assert_eq!(files["a/b.so"], Listed { digest: Some(Digest::of(b"abc")), size: Some(3) });
        assert!(files.contains_key("q\"x,y"));
        assert_eq!(files["x.dist-info/RECORD"], Listed { digest: None, size: None });
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn refuses_what_it_cannot_check() {
        for (text, error) in [
            ("a\n".to_owned(), RecordError::Line(1)),
            ("a,b,c,d\n".to_owned(), RecordError::Line(1)),
            (format!("a,{ABC},x\n"), RecordError::Line(1)),
            (format!("a,{ABC},-1\n"), RecordError::Line(1)),
            ("\"a,,\n".to_owned(), RecordError::Line(1)),
            ("a,md5=xyz,3\n".to_owned(), RecordError::Hash(1)),
            ("a,sha256=short,3\n".to_owned(), RecordError::Hash(1)),
            (format!("a,{},3\n", ABC.replace("Fa0", "Fa1")), RecordError::Hash(1)),
            (format!("a,{ABC},3\na,{ABC},3\n"), RecordError::Twice("a".to_owned())),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(error), "{text:?}");
        }
        assert_eq!(parse(b"\xff"), Err(RecordError::Encoding));
    }
}
