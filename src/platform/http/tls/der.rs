//! Just enough DER to read who issued a certificate.

/// The issuer's common name, else its organisation.
pub(super) fn issuer_name(certificate: &[u8]) -> Option<String> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut body, _) = element(certificate)?;
    let (tag, _, rest) = element(body)?;
    // The version is optional and has a tag of its own.
    if tag == 0xa0 {
        body = rest;
    }
    let (_, _serial, body) = element(body)?;
    let (_, _algorithm, body) = element(body)?;
    let (_, mut names, _) = element(body)?;
    let mut organisation = None;
    while let Some((_, set, rest)) = element(names) {
        names = rest;
        let (_, pair, _) = element(set)?;
        let (_, kind, value) = element(pair)?;
        let (_, text, _) = element(value)?;
        // 2.5.4.3 is the common name, 2.5.4.10 the organisation.
        match kind {
            [0x55, 0x04, 0x03] => return Some(printable(text)),
            [0x55, 0x04, 0x0a] => organisation = Some(printable(text)),
            _ => {}
        }
    }
    organisation
}

/// Splits the first element off: its tag, its content, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, mut rest) = rest.split_first()?;
    let mut length = usize::from(*first);
    if length >= 0x80 {
        let count = length & 0x7f;
        if count > 4 || count > rest.len() {
            return None;
        }
        let (digits, after) = rest.split_at(count);
        length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    Some((*tag, content, after))
}

fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::issuer_name;

    fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![tag, u8::try_from(content.len()).expect("short")];
        out.extend_from_slice(content);
        out
    }

    fn name(kind: u8, text: &str) -> Vec<u8> {
        let mut pair = wrap(6, &[0x55, 0x04, kind]);
        pair.extend(wrap(12, text.as_bytes()));
        wrap(0x31, &wrap(0x30, &pair))
    }

    fn certificate(names: &[Vec<u8>]) -> Vec<u8> {
        let mut body = wrap(0xa0, &wrap(2, &[2]));
        body.extend(wrap(2, &[1]));
        body.extend(wrap(0x30, &[]));
        body.extend(wrap(0x30, &names.concat()));
        wrap(0x30, &wrap(0x30, &body))
    }

    #[test]
    fn the_common_name_wins_over_the_organisation() {
        let both = certificate(&[name(10, "Corp"), name(3, "Corp Proxy CA")]);
        assert_eq!(issuer_name(&both).as_deref(), Some("Corp Proxy CA"));
        assert_eq!(issuer_name(&certificate(&[name(10, "Corp")])).as_deref(), Some("Corp"));
        assert_eq!(issuer_name(&certificate(&[])), None);
    }

    #[test]
    fn cut_input_gives_nothing_and_never_panics() {
        let whole = certificate(&[name(3, "Corp Proxy CA")]);
        for end in 0..whole.len() {
            assert_eq!(issuer_name(&whole[..end]), None, "{end}");
        }
        assert_eq!(issuer_name(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
