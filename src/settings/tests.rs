//! Which source wins, and that no message shows a password.

use std::path::Path;

use super::*;

struct Box {
    root: tempfile::TempDir,
}

impl Box {
    fn new(config: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::under(root.path());
        fs_err::create_dir_all(layout.config()).unwrap();
        fs_err::write(layout.settings_file(), config).unwrap();
        Self { root }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.root.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn load(&self, env: &[(&str, &str)]) -> Result<Settings, Error> {
        let home = self.root.path().display().to_string();
        let mut all = vec![("HOME", home.as_str()), ("XDG_CONFIG_DIRS", "/nonexistent")];
        all.extend_from_slice(env);
        let process = Process::for_test(self.root.path(), &all);
        Settings::load(&process, &Layout::under(self.root.path()), &Overrides::default())
    }
}

fn indexes(settings: &Settings) -> Vec<&str> {
    settings.indexes.iter().map(|index| index.value.as_str()).collect()
}

#[test]
fn the_index_comes_from_the_most_specific_source() {
    let sandbox = Box::new("[index]\nurl = 'https://file.example/simple'\n");
    let pip =
        sandbox.write(".config/pip/pip.conf", "[global]\nindex-url = https://conf.example/\n");
    let ladder = [
        ("CUENV_INDEX_URL", "https://own.example/"),
        ("UV_DEFAULT_INDEX", "https://uv.example/"),
        ("UV_INDEX_URL", "https://olduv.example/"),
        ("PIP_INDEX_URL", "https://pip.example/"),
    ];
    let first = |sandbox: &Box, env: &[(&str, &str)]| sandbox.load(env).unwrap().indexes[0].clone();
    let found = first(&sandbox, &ladder);
    assert_eq!(
        (found.value.as_str(), found.via.as_str()),
        ("https://own.example/", "CUENV_INDEX_URL")
    );
    assert_eq!(first(&sandbox, &ladder[1..]).value.as_str(), "https://file.example/simple");
    fs_err::write(Layout::under(sandbox.root.path()).settings_file(), "").unwrap();
    for at in 1..ladder.len() {
        let found = first(&sandbox, &ladder[at..]);
        assert_eq!((found.value.as_str(), found.via.as_str()), (ladder[at].1, ladder[at].0));
    }
    let found = first(&sandbox, &[("PIP_INDEX_URL", "")]);
    assert_eq!((found.value.as_str(), found.via), ("https://conf.example/", format!("`{pip}`")));
    fs_err::remove_file(pip).unwrap();
    let built_in = indexes(&sandbox.load(&[("PIP_CONFIG_FILE", "/dev/null")]).unwrap()).len();
    assert_eq!(built_in, usize::from(!BUILT_IN_INDEX.is_empty()));
}

#[test]
fn further_indexes_follow_and_none_is_asked_twice() {
    let sandbox = Box::new("[index]\nurl = 'https://a.example/'\nextra = ['https://b.example/']\n");
    let settings = sandbox
        .load(&[
            ("CUENV_EXTRA_INDEX_URL", "https://c.example/ https://a.example/"),
            ("UV_INDEX", "internal=https://d.example/?x=y"),
            ("PIP_EXTRA_INDEX_URL", "https://b.example/\nhttps://e.example/"),
        ])
        .unwrap();
    let expected = [
        "https://a.example/",
        "https://c.example/",
        "https://b.example/",
        "https://d.example/?x=y",
        "https://e.example/",
    ];
    assert_eq!(indexes(&settings), expected);
    let none = sandbox.load(&[("PIP_NO_INDEX", "1")]).unwrap();
    assert!(none.no_index && none.indexes.is_empty());
    assert!(!sandbox.load(&[("PIP_NO_INDEX", "1"), ("CUENV_NO_INDEX", "0")]).unwrap().no_index);
}

#[test]
fn directories_add_up() {
    let sandbox = Box::new("");
    let (one, two) = (sandbox.write("one/x", ""), sandbox.write("two/x", ""));
    let parent = |path: &str| Path::new(path).parent().unwrap().to_owned();
    let (one, two) = (parent(&one), parent(&two));
    let settings = sandbox
        .load(&[
            ("CUENV_FIND_LINKS", "~/one"),
            ("PIP_FIND_LINKS", &format!("file://{} {} /nonexistent", two.display(), one.display())),
        ])
        .unwrap();
    assert_eq!(settings.directories, [one, two]);
    assert_eq!(
        settings.notes,
        ["`/nonexistent` (PIP_FIND_LINKS) is not a directory here and is passed over"]
    );
    let error = sandbox.load(&[("CUENV_FIND_LINKS", "/nonexistent")]).unwrap_err();
    assert_eq!(error.to_string(), "CUENV_FIND_LINKS is `/nonexistent`: there is no such directory");
}

#[test]
fn authorities_and_proxies() {
    let sandbox = Box::new("[network]\nca = ['~/own.pem']\nno-proxy = '.example'\n");
    let settings = sandbox
        .load(&[
            ("SSL_CERT_FILE", "/a.pem"),
            ("CURL_CA_BUNDLE", "/b.pem"),
            ("SSL_CERT_DIR", "/x::/y"),
            ("http_proxy", "proxy.example:3128"),
            ("HTTP_PROXY", "http://loses.example"),
            ("ALL_PROXY", "http://all.example"),
            ("NO_PROXY", "loses"),
            ("PIP_CONFIG_FILE", "/dev/null"),
        ])
        .unwrap();
    let files: Vec<_> = settings
        .http
        .authorities
        .files
        .iter()
        .map(|(path, via)| (path.clone(), via.as_str()))
        .collect();
    let file = format!("`{}`", sandbox.root.path().join("config/config.toml").display());
    assert_eq!(
        files,
        [
            (sandbox.root.path().join("own.pem"), file.as_str()),
            ("/a.pem".into(), "SSL_CERT_FILE"),
            ("/b.pem".into(), "CURL_CA_BUNDLE"),
        ]
    );
    assert_eq!(settings.http.authorities.directories, [Path::new("/x"), Path::new("/y")]);
    assert_eq!(settings.http.http_proxy.as_deref(), Some("http://proxy.example:3128"));
    assert_eq!(settings.http.https_proxy.as_deref(), Some("http://all.example"));
    assert_eq!(settings.http.no_proxy.as_deref(), Some(".example"));
}

#[test]
fn numbers_and_flags_are_checked() {
    let sandbox = Box::new("jobs = 3\nvenv = 'off'\n[network]\noffline = true\ntimeout = 7\n");
    let settings = sandbox.load(&[]).unwrap();
    assert_eq!((settings.jobs, settings.http.offline), (Some(3), true));
    assert_eq!(settings.http.idle_timeout.as_secs(), 7);
    let settings = sandbox.load(&[("CUENV_JOBS", "9"), ("CUENV_OFFLINE", "no")]).unwrap();
    assert_eq!((settings.jobs, settings.http.offline), (Some(9), false));
    for (name, value, told) in [
        ("CUENV_JOBS", "0", "CUENV_JOBS is `0`: expected a number above zero"),
        ("CUENV_OFFLINE", "maybe", "CUENV_OFFLINE is `maybe`: expected `1` or `0`"),
        ("CUENV_HTTP_RETRIES", "-1", "CUENV_HTTP_RETRIES is `-1`: expected a number"),
        (
            "CUENV_INDEX_URL",
            "index.example/simple",
            "CUENV_INDEX_URL is `index.example/simple`: expected the address of an index",
        ),
        (
            "PIP_INDEX_URL",
            "ftp://a.example/",
            "PIP_INDEX_URL is `ftp://a.example/`: expected an address that begins with `https://` or `http://`",
        ),
    ] {
        assert_eq!(sandbox.load(&[(name, value)]).unwrap_err().to_string(), told);
    }
}

#[test]
fn stores_below_come_from_the_variable_or_the_file() {
    let sandbox = Box::new("[store]\nbelow = ['/opt/cuenv', '~/shared']\n");
    let shared = sandbox.root.path().join("shared");
    assert_eq!(sandbox.load(&[]).unwrap().below, [Path::new("/opt/cuenv"), &shared]);
    let named = sandbox.load(&[("CUENV_STORE_BELOW", "/a::/b")]).unwrap();
    assert_eq!(named.below, [Path::new("/a"), Path::new("/b")]);
}

#[test]
fn no_password_is_shown() {
    let secret = "https://bob:hunter2@index.example/simple";
    let sandbox = Box::new(&format!(
        "[index]\nurl = '{secret}'\n[network]\nproxy = 'http://bob:hunter2@p.example'\n"
    ));
    sandbox.write(".netrc", "machine files.example login bob password hunter2\n");
    let settings = sandbox.load(&[("UV_INDEX", &format!("x={secret}/b"))]).unwrap();
    let shown = format!("{settings:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("bob"), "{shown}");
    for (name, value) in [
        ("CUENV_INDEX_URL", "ftp://bob:hunter2@index.example/simple"),
        ("CUENV_INDEX_URL", "bob:hunter2@index.example/simple"),
        ("CUENV_FIND_LINKS", "https://bob:hunter2@index.example/links"),
        ("CUENV_JOBS", secret),
    ] {
        let error = sandbox.load(&[(name, value)]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    let notes = sandbox.load(&[("PIP_FIND_LINKS", secret)]).unwrap().notes;
    assert!(notes[0].contains("index.example") && !notes[0].contains("hunter2"), "{notes:?}");
}
