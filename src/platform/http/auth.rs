//! Credentials by host, and the rule that none of them is ever printed.

use std::fmt;

use reqwest::Url;
use reqwest::header::HeaderValue;

/// What stands in a message where a secret was.
const HIDDEN: &str = "****";

/// A user name and password for one host.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// Host name, lower case.
    pub host: String,
    /// Port; none stands for every port of the host.
    pub port: Option<u16>,
    /// User name.
    pub user: String,
    /// Password or token.
    pub password: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Every credential this run knows, most specific source first.
#[derive(Debug, Clone, Default)]
pub struct Credentials(Vec<Credential>);

impl Credentials {
    /// Adds one behind those that are there.
    pub fn add(&mut self, credential: Credential) {
        self.0.push(credential);
    }

    /// Takes the user name and password out of an address such as `https://user:secret@index.example/simple`.
    pub fn add_from_url(&mut self, url: &Url) {
        let Some(host) = url.host_str() else { return };
        if url.username().is_empty() && url.password().is_none() {
            return;
        }
        self.add(Credential {
            host: host.to_ascii_lowercase(),
            port: url.port_or_known_default(),
            user: decode(url.username()),
            password: decode(url.password().unwrap_or_default()),
        });
    }

    /// The `Authorization` header for a request: the address's own user first, then the list.
    pub(super) fn header_for(&self, url: &Url) -> Option<HeaderValue> {
        let mut own = Self::default();
        own.add_from_url(url);
        let host = url.host_str()?.to_ascii_lowercase();
        let port = url.port_or_known_default();
        let found = own.0.iter().chain(&self.0).find(|credential| {
            credential.host == host && (credential.port.is_none() || credential.port == port)
        })?;
        let text = format!("{}:{}", found.user, found.password);
        let mut value =
            HeaderValue::from_str(&format!("Basic {}", base64(text.as_bytes()))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Removes user name and password, so that no layer below can log them.
pub(super) fn strip(url: &mut Url) {
    // Both fail only for addresses that cannot hold a user at all.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// The address without user and password.
pub fn without_user(url: &Url) -> Url {
    let mut bare = url.clone();
    strip(&mut bare);
    bare
}

/// An address as it may be printed: without user and password, and without a query, which in signed
/// addresses is a credential too.
pub fn safe_url(url: &Url) -> String {
    let mut bare = url.clone();
    let had_user = !bare.username().is_empty() || bare.password().is_some();
    strip(&mut bare);
    let had_query = bare.query().is_some();
    bare.set_query(None);
    bare.set_fragment(None);
    let mut text = bare.to_string();
    if had_user {
        text = text.replacen("://", &format!("://{HIDDEN}@"), 1);
    }
    if had_query {
        text.push_str("?…");
    }
    text
}

/// [`safe_url`] for text that may not be an address at all.
pub fn safe_text(text: &str) -> String {
    if let Ok(url) = Url::parse(text)
        && url.has_host()
    {
        return safe_url(&url);
    }
    // Not an address: everything up to the last `@` may be a secret.
    match text.rsplit_once('@') {
        Some((_, rest)) => format!("{HIDDEN}@{rest}"),
        None => text.to_owned(),
    }
}

/// Removes the user names and passwords of `addresses` from a text that came from below.
pub(super) fn scrub<'a>(text: &str, addresses: impl IntoIterator<Item = &'a str>) -> String {
    let mut clean = text.to_owned();
    for address in addresses {
        let Some((before, _)) = address.rsplit_once('@') else { continue };
        let user = before.rsplit("//").next().unwrap_or(before);
        let password = user.split_once(':').map(|(_, password)| password);
        for secret in [Some(user), password].into_iter().flatten().filter(|part| !part.is_empty()) {
            clean = clean.replace(secret, HIDDEN);
        }
    }
    clean
}

/// Undoes percent-encoding; what is not valid stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%'
            && let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.push(high * 16 + low);
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |word, (i, byte)| word | u32::from(*byte) << (16 - 8 * i));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Credential, Credentials, Url, base64, decode, safe_text, safe_url, scrub};

    fn url(text: &str) -> Url {
        Url::parse(text).expect("test address")
    }

    #[test]
    fn nothing_secret_is_left_in_a_shown_address() {
        for text in [
            "https://bob:hunter2@index.example/simple/?sig=hunter2#hunter2",
            "https://hunter2@index.example/simple/",
            "bob:hunter2@index.example",
            "not an address bob:hunter2@index.example",
        ] {
            assert!(!safe_text(text).contains("hunter2"), "{}", safe_text(text));
        }
        assert_eq!(
            safe_url(&url("https://a:b@index.example/x?y=z")),
            "https://****@index.example/x?…"
        );
        assert_eq!(safe_text("https://index.example/simple/"), "https://index.example/simple/");
        let reason = scrub("proxy bob:hunter2 refused hunter2", ["http://bob:hunter2@p.example:1"]);
        assert_eq!(reason, "proxy **** refused ****");
        let shown = format!(
            "{:?}",
            Credential {
                host: "h".to_owned(),
                port: None,
                user: "bob".to_owned(),
                password: "hunter2".to_owned(),
            }
        );
        assert!(!shown.contains("hunter2") && !shown.contains("bob"), "{shown}");
    }

    #[test]
    fn a_credential_serves_its_own_host_and_port_only() {
        let mut known = Credentials::default();
        known.add_from_url(&url("https://bob:p%40ss@index.example/simple"));
        let header = known.header_for(&url("https://INDEX.example/other")).expect("same host");
        assert_eq!(header.to_str().ok(), Some(format!("Basic {}", base64(b"bob:p@ss")).as_str()));
        assert!(header.is_sensitive());
        assert!(known.header_for(&url("https://files.example/other")).is_none());
        assert!(known.header_for(&url("https://index.example:8443/other")).is_none());
        assert!(known.header_for(&url("http://index.example/other")).is_none());
    }

    #[test]
    fn base64_follows_the_standard() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(decode("p%40s%zz%"), "p@s%zz%");
    }
}
