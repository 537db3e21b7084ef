//! Companies' networks: an authority of their own, a proxy in between, passwords in netrc; and no network at all.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cuenv::domain::layout::Layout;
use cuenv::index::{Error, Index as Client, Options};
use cuenv::platform::http::{self, Http, Retry};
use cuenv::platform::process::Process;
use cuenv::settings::{Overrides, Settings};

use crate::support::index::{Fault, Index};
use crate::support::tls::{Authority, Proxy};
use crate::support::wheel::Builder;

const NAME: &str = "nvidia-nccl-cu12";

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Asks as a user would whose environment is `env`: through the settings.
fn list(home: &Path, env: &[(&str, &str)]) -> Result<usize, Error> {
    let home_text = home.display().to_string();
    let mut all = vec![
        ("HOME", home_text.as_str()),
        ("XDG_CONFIG_DIRS", "/nonexistent"),
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("CUENV_HTTP_TIMEOUT", "2"),
    ];
    all.extend_from_slice(env);
    let process = Process::for_test(home, &all);
    let layout = Layout::under(home);
    let mut settings = Settings::load(&process, &layout, &Overrides::default()).unwrap();
    settings.http.retry = Retry { times: 0, first: Duration::from_millis(1), ..Retry::default() };
    let http = Http::new(settings.http.clone());
    let options = Options {
        indexes: settings.indexes_or_pip(&process),
        directories: settings.directories.clone(),
        cache: layout.listings(),
        fresh_for: Duration::ZERO,
        unreadable: settings.unreadable.clone(),
    };
    Client::new(&http, options).listing(NAME).map(|listing| listing.wheels.len())
}

#[test]
fn a_companys_authority_is_trusted_by_any_of_the_usual_names_and_told_when_it_is_missing() {
    let home = directory();
    let Some(authority) = Authority::new(&home.path().join("ca"), "Corp_Proxy_CA") else { return };
    let server = authority.index();
    server.add(&Builder::new(NAME, "2.21.5").build());
    let (url, file) = (server.url(), authority.file().display().to_string());

    let error = list(home.path(), &[("CUENV_INDEX_URL", &url)]).unwrap_err();
    assert!(matches!(&error, Error::Http(http::Error::Tls { .. })), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("issued by `Corp_Proxy_CA`") && text.contains(&url), "{text}");
    assert_eq!(server.requests().len(), 0);

    for name in
        ["CUENV_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
    {
        assert_eq!(
            list(home.path(), &[("CUENV_INDEX_URL", &url), (name, &file)]).unwrap(),
            1,
            "{name}"
        );
    }
    // A directory holds the file among others.
    let directory = home.path().join("ca").display().to_string();
    assert_eq!(
        list(home.path(), &[("CUENV_INDEX_URL", &url), ("SSL_CERT_DIR", &directory)]).unwrap(),
        1
    );
    // A trusted authority does not make a certificate good for another name.
    let proxy = Proxy::to(server.port()).address();
    let env = [
        ("CUENV_INDEX_URL", "https://index.example/simple"),
        ("SSL_CERT_FILE", file.as_str()),
        ("HTTPS_PROXY", proxy.as_str()),
    ];
    let error = list(home.path(), &env).unwrap_err();
    assert!(matches!(&error, Error::Http(http::Error::Tls { .. })), "{error:?}");
    assert!(error.to_string().contains("not valid for name \"index.example\""), "{error}");

    let empty = home.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    let empty = empty.display().to_string();
    let text = list(home.path(), &[("CUENV_INDEX_URL", &url), ("PIP_CERT", &empty)])
        .unwrap_err()
        .to_string();
    assert_eq!(
        text,
        format!(
            "cannot use the certificate authorities in `{empty}` (PIP_CERT): it holds no certificate"
        )
    );
}

#[test]
fn a_connect_proxy_carries_tls_and_learns_only_the_host() {
    let home = directory();
    let Some(authority) = Authority::new(&home.path().join("ca"), "Corp_CA") else { return };
    let server = authority.index();
    server.add(&Builder::new(NAME, "2.21.5").build());
    server.set(|options| options.auth = Some(("bob".to_owned(), "hunter2".to_owned())));
    let (url, file) =
        (server.url().replace("://", "://bob:hunter2@"), authority.file().display().to_string());
    let proxy = Proxy::start();
    let address = format!("http://ann:secret@{}", proxy.address());
    let env =
        [("CUENV_INDEX_URL", url.as_str()), ("SSL_CERT_FILE", &file), ("HTTPS_PROXY", &address)];
    assert_eq!(list(home.path(), &env).unwrap(), 1);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with(&format!("connect 127.0.0.1:{} ", server.port())), "{}", heads[0]);
    assert!(heads[0].contains("proxy-authorization: basic"), "{}", heads[0]);
    assert!(!heads[0].contains(NAME), "{}", heads[0]);

    let direct = [env[0], env[1], env[2], ("NO_PROXY", "127.0.0.1")];
    assert_eq!(list(home.path(), &direct).unwrap(), 1);
    assert_eq!(proxy.heads().len(), 1, "NO_PROXY was not honoured");

    // A proxy that cannot reach the server: the message names neither password.
    let dead = "https://bob:hunter2@127.0.0.1:1/simple";
    let error = list(home.path(), &[("CUENV_INDEX_URL", dead), env[2]]).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("hunter2") && !text.contains("secret"), "{text}");
    let error = list(home.path(), &[env[0], ("HTTPS_PROXY", "socks5://ann:secret@127.0.0.1:1")])
        .unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("only `http://` and `https://` proxies") && !text.contains("secret"),
        "{text}"
    );
}

#[test]
fn netrc_serves_the_index_and_a_file_host_of_its_own() {
    let home = directory();
    let server = Index::start();
    server.add(&Builder::new(NAME, "2.21.5").build());
    server.set(|options| options.auth = Some(("bob".to_owned(), "hunter2".to_owned())));
    let url = server.url();
    let refused = list(home.path(), &[("CUENV_INDEX_URL", &url)]).unwrap_err();
    assert!(matches!(refused, Error::Http(http::Error::Status { status: 401, .. })));
    let netrc = home.path().join(".netrc");
    std::fs::write(&netrc, "machine 127.0.0.1\n  login bob\n  password hunter2\n").unwrap();
    assert_eq!(list(home.path(), &[("CUENV_INDEX_URL", &url)]).unwrap(), 1);
    std::fs::write(&netrc, "default login bob password hunter2\n").unwrap();
    assert!(
        list(home.path(), &[("CUENV_INDEX_URL", &url)]).is_err(),
        "a default entry goes to no host"
    );
}

#[test]
fn a_redirect_from_https_to_http_is_not_followed() {
    let home = directory();
    let Some(authority) = Authority::new(&home.path().join("ca"), "Corp_CA") else { return };
    let (server, plain) = (authority.index(), Index::start());
    server.fault("nccl", usize::MAX, Fault::Redirect(format!("{}{{path}}", plain.origin())));
    let file = authority.file().display().to_string();
    let error = list(home.path(), &[("CUENV_INDEX_URL", &server.url()), ("SSL_CERT_FILE", &file)])
        .unwrap_err();
    assert!(error.to_string().contains("from https to plain http"), "{error}");
    assert_eq!(plain.connections(), 0);
}

/// Looks at everything that could want the network; run by the test below under `strace`.
#[test]
#[ignore = "run by `offline_makes_no_socket`"]
fn offline_lookups() {
    let Ok(home) = std::env::var("CUENV_TEST_HOME") else { return };
    let env = [("CUENV_OFFLINE", "1"), ("CUENV_INDEX_URL", "https://index.example/simple")];
    let error = list(Path::new(&home), &env).unwrap_err();
    assert!(matches!(error, Error::Offline { .. }));
}

#[test]
fn offline_makes_no_socket() {
    let home = directory();
    let log = home.path().join("log");
    let traced = Command::new("strace")
        .args(["-f", "-e", "trace=%network", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "network::offline_lookups"])
        .env("CUENV_TEST_HOME", home.path())
        .output();
    let Ok(traced) = traced else {
        println!("skipped: strace is not installed");
        return;
    };
    let out = String::from_utf8_lossy(&traced.stdout);
    if !out.contains("running") {
        println!("skipped: strace may not trace here");
        return;
    }
    assert!(traced.status.success() && out.contains("1 passed"), "{out}");
    let calls = std::fs::read_to_string(log).unwrap();
    assert!(!calls.contains("socket("), "{calls}");
}
