//! GET over HTTP(S): redirects, credentials, proxies, own certificate authorities, ranges, retries.
//!
//! `reqwest` lives in this folder and nowhere else. Three promises:
//!
//! - **Nothing happens before the first request.** [`Http::new`] only stores its configuration; the
//!   client (threads, trust roots) is built on first use, so commands that stay offline pay nothing.
//! - **`offline` makes no socket.** A request then fails before a client exists.
//! - **No credential reaches a message.** URLs are shown by [`safe_url`], and reasons from below are scrubbed.
//!
//! The timeout is an idle timeout: a slow transfer that moves is never cut. A request is retried only
//! until its headers are there; who reads the body owns what follows, with the same [`Backoff`].

mod auth;
mod error;
mod range;
mod response;
mod retry;
mod tls;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Proxy;
use reqwest::blocking::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;

pub use reqwest::Url;

pub use self::auth::{Credential, Credentials, safe_text, safe_url, without_user};
pub use self::error::Error;
pub use self::range::{ByteRange, ContentRange};
pub use self::response::Response;
pub use self::retry::{Backoff, OnPause, Retry};
pub use self::tls::Authorities;

type MakeProxy = fn(&str) -> reqwest::Result<Proxy>;

/// As many hops as browsers and pip allow in practice; a loop is recognised before that.
const MAX_REDIRECTS: usize = 10;

/// Everything that decides how requests are made.
#[derive(Clone)]
pub struct Config {
    /// Refuse every request.
    pub offline: bool,
    /// Value of the `User-Agent` header.
    pub user_agent: String,
    /// Time without a byte (or without an answer) after which a request counts as dead.
    pub idle_timeout: Duration,
    /// Time a connection may take to open.
    pub connect_timeout: Duration,
    /// How often and how patiently transient failures are tried again.
    pub retry: Retry,
    /// Trust roots.
    pub authorities: Authorities,
    /// User names and passwords by host.
    pub credentials: Credentials,
    /// Proxy for `http:` requests.
    pub http_proxy: Option<String>,
    /// Proxy for `https:` requests.
    pub https_proxy: Option<String>,
    /// Hosts that are reached directly, in the form of the `NO_PROXY` variable.
    pub no_proxy: Option<String>,
    /// Who is told of pauses between tries.
    pub on_pause: Option<OnPause>,
}

impl fmt::Debug for Config {
    /// Without the proxies' addresses, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("offline", &self.offline)
            .field("idle_timeout", &self.idle_timeout)
            .field("authorities", &self.authorities)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            offline: false,
            user_agent: concat!("cuenv/", env!("CARGO_PKG_VERSION")).to_owned(),
            idle_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(15),
            retry: Retry::default(),
            authorities: Authorities::default(),
            credentials: Credentials::default(),
            http_proxy: None,
            https_proxy: None,
            no_proxy: None,
            on_pause: None,
        }
    }
}

/// The client. Cheap to make, safe to share between threads.
#[derive(Debug)]
pub struct Http {
    config: Config,
    /// For `http:` addresses; it trusts nobody and reads no trust roots.
    plain: OnceLock<Built>,
    /// For `https:` addresses.
    secure: OnceLock<Built>,
}

#[derive(Debug)]
struct Built {
    client: Client,
    seen: Arc<tls::Seen>,
}

impl Http {
    /// Keeps `config`; opens nothing.
    pub fn new(config: Config) -> Self {
        Self { config, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Whether every request is refused.
    pub fn is_offline(&self) -> bool {
        self.config.offline
    }

    /// Whether a client was built, that is, whether a request was tried at all.
    pub fn is_used(&self) -> bool {
        self.plain.get().is_some() || self.secure.get().is_some()
    }

    /// A fresh series of pauses for a caller that repeats work of its own (a body that broke off).
    pub fn backoff(&self) -> Backoff {
        Backoff::new(self.config.retry, self.config.on_pause.clone())
    }

    /// Parses an address; the error names it without its password.
    pub fn url(text: &str) -> Result<Url, Error> {
        Url::parse(text)
            .map_err(|reason| Error::BadUrl { url: safe_text(text), reason: reason.to_string() })
    }

    /// Asks for `url` with additional `headers`. Answers 200, 206 and 304 are responses, all else is an error.
    pub fn get(&self, url: &Url, headers: &[(&'static str, &str)]) -> Result<Response, Error> {
        let mut backoff = self.backoff();
        loop {
            match self.get_once(url, headers) {
                Err(error) => backoff.again(error)?,
                done => return done,
            }
        }
    }

    /// [`Http::get`] and the body as text of at most `limit` bytes; a body that breaks off is asked for again.
    /// The response is handed back for its headers.
    pub fn get_text(
        &self,
        url: &Url,
        headers: &[(&'static str, &str)],
        limit: u64,
    ) -> Result<(Response, String), Error> {
        let mut backoff = self.backoff();
        loop {
            let answer = self.get_once(url, headers).and_then(|mut response| {
                let text = response.text(limit)?;
                Ok((response, text))
            });
            match answer {
                Err(error) => backoff.again(error)?,
                done => return done,
            }
        }
    }

    /// Asks for a part of `url`. `validator` (an ETag or date seen before) makes the server send the
    /// whole body when the file has changed since.
    ///
    /// The answer may be the whole body (200) from a server without ranges: see [`Response::is_partial`].
    /// A partial answer is checked to start where it was asked to.
    pub fn get_range(
        &self,
        url: &Url,
        range: ByteRange,
        validator: Option<&str>,
    ) -> Result<Response, Error> {
        let mut backoff = self.backoff();
        loop {
            match self.get_range_once(url, range, validator) {
                Err(error) => backoff.again(error)?,
                done => return done,
            }
        }
    }

    /// [`Http::get_range`] without retries, for callers with a loop of their own.
    pub fn get_range_once(
        &self,
        url: &Url,
        range: ByteRange,
        validator: Option<&str>,
    ) -> Result<Response, Error> {
        let text = range.to_string();
        // A compressed representation has other offsets: ask for the bytes as they are.
        let mut headers = vec![("range", text.as_str()), ("accept-encoding", "identity")];
        headers.extend(validator.map(|value| ("if-range", value)));
        let response = self.get_once(url, &headers)?;
        if response.is_partial() && !response.content_range().is_some_and(|got| range.admits(&got))
        {
            return Err(Error::BadRange {
                url: safe_url(url),
                asked: text,
                got: response.header("content-range").unwrap_or("none").to_owned(),
            });
        }
        Ok(response)
    }

    /// [`Http::get`] without retries.
    pub fn get_once(&self, url: &Url, headers: &[(&'static str, &str)]) -> Result<Response, Error> {
        if self.config.offline {
            return Err(Error::Offline { url: safe_url(url) });
        }
        let mut hops = vec![url.clone()];
        let mut current = url.clone();
        loop {
            let response = self.send(self.built(&current)?, &current, headers)?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                auth::strip(&mut current);
                return Response::accept(response, current);
            }
            let next = redirect_target(&current, response.headers().get(LOCATION))?;
            if hops.contains(&next) || hops.len() > MAX_REDIRECTS {
                return Err(Error::Redirects {
                    url: safe_url(url),
                    last: safe_url(&next),
                    count: hops.len(),
                });
            }
            hops.push(next.clone());
            current = next;
        }
    }

    fn send(
        &self,
        built: &Built,
        url: &Url,
        headers: &[(&'static str, &str)],
    ) -> Result<reqwest::blocking::Response, Error> {
        let mut bare = url.clone();
        auth::strip(&mut bare);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|reason| Error::BadUrl {
                url: safe_url(url),
                reason: reason.to_string(),
            })?;
            map.insert(HeaderName::from_static(name), value);
        }
        // Credentials are looked up for each hop anew: what belongs to one host never reaches another.
        if let Some(value) = self.config.credentials.header_for(url) {
            map.insert(AUTHORIZATION, value);
        }
        let request = built.client.get(bare).headers(map);
        request.send().map_err(|error| self.explain(built, url, error))
    }

    fn explain(&self, built: &Built, url: &Url, error: reqwest::Error) -> Error {
        let shown = safe_url(url);
        if error.is_timeout() {
            return Error::Timeout { url: shown, after: self.config.idle_timeout };
        }
        let error = error.without_url();
        if let Some(reason) = tls::reason(&error) {
            return Error::Tls { url: shown, reason, issuer: built.seen.issuer() };
        }
        let secrets = [self.config.http_proxy.as_deref(), self.config.https_proxy.as_deref()];
        let reason = auth::scrub(&error::chain(&error), secrets.into_iter().flatten());
        if error.is_builder() {
            return Error::BadUrl { url: shown, reason };
        }
        Error::Connect { url: shown, reason }
    }

    fn built(&self, url: &Url) -> Result<&Built, Error> {
        let secure = url.scheme() == "https";
        let slot = if secure { &self.secure } else { &self.plain };
        if let Some(built) = slot.get() {
            return Ok(built);
        }
        let built = self.build(secure)?;
        // Another thread may have been quicker; then its client is the one that stays.
        Ok(slot.get_or_init(|| built))
    }

    fn build(&self, secure: bool) -> Result<Built, Error> {
        let config = &self.config;
        let roots = if secure { tls::roots(&config.authorities)? } else { tls::no_roots() };
        let (tls, seen) = tls::client_config(roots)?;
        let mut builder = Client::builder()
            .user_agent(&config.user_agent)
            .use_preconfigured_tls(tls)
            .redirect(Policy::none())
            .referer(false)
            .timeout(config.idle_timeout)
            .connect_timeout(config.connect_timeout)
            .tcp_nodelay(true)
            // Settings decide about proxies; the client must not read the environment a second time.
            .no_proxy();
        let direct = config.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string);
        let proxies: [(&Option<String>, MakeProxy); 2] = [
            (&config.http_proxy, |address| Proxy::http(address)),
            (&config.https_proxy, |address| Proxy::https(address)),
        ];
        for (address, make) in proxies {
            let Some(address) = address else { continue };
            let known = ["http://", "https://"].iter().any(|scheme| address.starts_with(scheme));
            if !known {
                let reason = "only `http://` and `https://` proxies can be used".to_owned();
                return Err(Error::BadProxy { proxy: safe_text(address), reason });
            }
            let proxy = make(address).map_err(|error| Error::BadProxy {
                proxy: safe_text(address),
                reason: auth::scrub(&error::chain(&error.without_url()), [address.as_str()]),
            })?;
            builder = builder.proxy(proxy.no_proxy(direct.clone()));
        }
        let client =
            builder.build().map_err(|error| Error::Client { reason: error::chain(&error) })?;
        Ok(Built { client, seen })
    }
}

fn redirect_target(from: &Url, location: Option<&HeaderValue>) -> Result<Url, Error> {
    let bad = |reason: &str| Error::BadRedirect { url: safe_url(from), reason: reason.to_owned() };
    let text = location
        .ok_or_else(|| bad("the answer has no Location header"))?
        .to_str()
        .map_err(|_| bad("its Location header is not text"))?;
    let mut next = from.join(text).map_err(|reason| bad(&reason.to_string()))?;
    next.set_fragment(None);
    match (from.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Ok(next),
        ("https", "http") => Err(bad("it leads from https to plain http")),
        _ => Err(bad("it leads to an address that is neither http nor https")),
    }
}

#[cfg(test)]
mod tests;
