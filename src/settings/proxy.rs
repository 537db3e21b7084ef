//! Proxies, with the rules of curl: small letters win, an address without a scheme is one of an http proxy.

use super::Reader;
use super::pip_conf::PipConf;

pub(super) struct Proxies {
    pub(super) http: Option<String>,
    pub(super) https: Option<String>,
    pub(super) none: Option<String>,
}

pub(super) fn proxies(read: &Reader<'_>, pip: &PipConf) -> Proxies {
    let var =
        |names: &[&str]| names.iter().find_map(|name| read.process.var(name)).map(str::to_owned);
    let own = read.file.network.proxy.clone();
    let all = var(&["all_proxy", "ALL_PROXY"]);
    let of_pip =
        var(&["PIP_PROXY"]).or_else(|| pip.value("proxy").map(|(value, _)| value.to_owned()));
    let choose = |names: &[&str]| {
        let found =
            own.clone().or_else(|| var(names)).or_else(|| all.clone()).or_else(|| of_pip.clone());
        found.filter(|text| !text.trim().is_empty()).map(|text| with_scheme(text.trim()))
    };
    // In a CGI program `HTTP_PROXY` is a header that the client chose.
    let http: &[&str] = match read.process.var("REQUEST_METHOD") {
        Some(_) => &["http_proxy"],
        None => &["http_proxy", "HTTP_PROXY"],
    };
    Proxies {
        http: choose(http),
        https: choose(&["https_proxy", "HTTPS_PROXY"]),
        none: read.file.network.no_proxy.clone().or_else(|| var(&["no_proxy", "NO_PROXY"])),
    }
}

fn with_scheme(text: &str) -> String {
    if text.contains("://") { text.to_owned() } else { format!("http://{text}") }
}
