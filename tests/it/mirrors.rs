//! Every kind of index that is out there: the same wheels, served in all the ways that mirrors serve them.

use std::path::PathBuf;
use std::time::Duration;

use cuenv::domain::digest::Digest;
use cuenv::domain::listing::{Fit, Listing, Location};
use cuenv::domain::target::Target;
use cuenv::index::{Error, Index as Client, Options};
use cuenv::platform::http::{self, Config, Http, Retry, Url};

use crate::support::index::{Fault, Index};
use crate::support::wheel::{Builder, Wheel};

type Change = fn(&mut crate::support::index::Options);

const FIT: Fit = Fit::Linux(Target::LinuxX86_64, None);

struct World {
    server: Index,
    cache: tempfile::TempDir,
    wheel: Wheel,
}

impl World {
    fn new() -> Self {
        let server = Index::start();
        let wheel = Builder::new("nvidia-cublas-cu12", "12.4.5.8")
            .header("Requires-Dist: nvidia-cuda-nvrtc-cu12")
            .file("nvidia/cublas/lib/libcublas.so.12", "ELF")
            .build();
        server.add(&wheel);
        let cache = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { server, cache, wheel }
    }

    fn http(change: impl FnOnce(&mut Config)) -> Http {
        let mut config = Config {
            idle_timeout: Duration::from_millis(800),
            retry: Retry { times: 2, first: Duration::from_millis(1), ..Retry::default() },
            ..Config::default()
        };
        change(&mut config);
        Http::new(config)
    }

    fn options(&self) -> Options {
        Options {
            indexes: vec![url(&self.server.url())],
            directories: Vec::new(),
            cache: self.cache.path().join("listings"),
            fresh_for: Duration::ZERO,
            unreadable: None,
        }
    }

    fn list(&self) -> Result<Listing, Error> {
        let http = Self::http(|_| {});
        Client::new(&http, self.options()).listing("nvidia-cublas-cu12")
    }

    fn metadata(&self) -> Result<String, Error> {
        let http = Self::http(|_| {});
        let client = Client::new(&http, self.options());
        let listing = client.listing("nvidia-cublas-cu12")?;
        client.metadata(listing.choose(FIT, |_| true).expect("one wheel"))
    }
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn every_form_gives_the_same_wheel() {
    let world = World::new();
    world.server.add_bytes("nvidia-cublas-cu12", "nvidia-cublas-cu12-0.0.1.tar.gz", b"sdist");
    let plain = world.list().unwrap();
    assert_eq!((plain.wheels.len(), plain.others), (1, 1));
    assert_eq!(plain.wheels[0].digest, Some(world.wheel.digest()));
    assert_eq!(plain.wheels[0].size, Some(world.wheel.bytes.len() as u64));
    let forms: [(&str, Change); 7] = [
        ("html", |options| options.html_only = true),
        ("406 for JSON", |options| options.refuse_json = true),
        ("no type", |options| options.no_content_type = true),
        ("JSON as text", |options| options.content_type = Some("text/plain".to_owned())),
        ("JSON as HTML", |options| options.content_type = Some("text/html".to_owned())),
        ("compressed", |options| options.gzip = true),
        ("HTML without type, compressed", |options| {
            options.html_only = true;
            options.no_content_type = true;
            options.gzip = true;
        }),
    ];
    for (form, change) in forms {
        world.server.set(|options| *options = crate::support::index::Options::default());
        world.server.set(change);
        let mut listing = world.list().unwrap_or_else(|error| panic!("{form}: {error}"));
        // HTML has no place for a size.
        listing.wheels[0].size = plain.wheels[0].size;
        assert_eq!(listing, plain, "{form}");
    }
}

#[test]
fn metadata_comes_by_the_cheapest_way_the_server_has() {
    // Larger than what is fetched whole, and incompressible enough to stay so.
    let noise: Vec<u8> = (0..200_000_u32)
        .flat_map(|n| Digest::of(&n.to_le_bytes()).as_bytes()[..4].to_vec())
        .collect();
    let big = Builder::new("nvidia-cublas-cu12", "12.4.5.9")
        .header("Requires-Dist: nvidia-cuda-nvrtc-cu12")
        .file("nvidia/cublas/lib/libcublas.so.12", noise)
        .build();
    let ways: [(&str, Change, &[&str]); 6] = [
        ("promised and there", |options| options.metadata = true, &[".metadata None"]),
        (
            "promised, not there",
            |options| options.metadata_missing = true,
            &[".metadata None", ".whl Some"],
        ),
        ("ranges", |_| {}, &[".whl Some"]),
        ("HTML without sizes", |options| options.html_only = true, &[".whl Some"]),
        ("no ranges", |options| options.no_range = true, &[".whl Some"]),
        (
            "no suffix ranges",
            |options| {
                options.no_suffix_range = true;
                options.no_sizes = true;
            },
            &[".whl Some"],
        ),
    ];
    for (way, change, expected) in ways {
        let world = World::new();
        world.server.remove("nvidia-cublas-cu12");
        world.server.add(&big);
        world.server.set(change);
        let text = world.metadata().unwrap_or_else(|error| panic!("{way}: {error}"));
        assert_eq!(text, big.metadata, "{way}");
        let asked: Vec<_> = world
            .server
            .requests()
            .iter()
            .filter(|request| request.path.starts_with("/files/"))
            .map(|request| {
                let end = request.path.rfind('.').unwrap();
                let range = if request.header("range").is_some() { "Some" } else { "None" };
                format!("{} {range}", &request.path[end..])
            })
            .collect();
        assert_eq!(asked, expected, "{way}");
        // What was read once is kept with the digest as its name.
        let before = world.server.count("/files/");
        assert_eq!(world.metadata().unwrap(), big.metadata);
        assert_eq!(world.server.count("/files/"), before, "{way}");
    }
}

#[test]
fn metadata_of_a_small_wheel_is_checked_against_its_digest() {
    let world = World::new();
    assert_eq!(world.metadata().unwrap(), world.wheel.metadata);
    assert!(world.server.requests().iter().all(|request| request.header("range").is_none()));
    let world = World::new();
    world.server.fault(".whl", 1, Fault::WrongByte(40));
    let error = world.metadata().unwrap_err().to_string();
    assert!(error.contains("has sha256") && error.contains("listed is"), "{error}");
}

#[test]
fn the_first_index_that_knows_a_distribution_is_the_only_one() {
    let world = World::new();
    let other = Index::start();
    let newer = Builder::new("nvidia-cublas-cu12", "99").build();
    let only_here = Builder::new("nvidia-nccl-cu12", "2.21.5").build();
    other.add(&newer);
    other.add(&only_here);
    let http = World::http(|_| {});
    let mut options = world.options();
    options.indexes.push(url(&other.url()));
    let client = Client::new(&http, options);
    let found = client.listing("nvidia_cublas.cu12").unwrap();
    assert_eq!(found.wheels[0].name.version.to_string(), "12.4.5.8");
    assert_eq!(other.count("cublas"), 0);
    assert_eq!(client.listing("nvidia-nccl-cu12").unwrap().wheels.len(), 1);
    let error = client.listing("nvidia-nothing").unwrap_err();
    let expected =
        format!("no index has `nvidia-nothing`; asked `{}`, `{}`", world.server.url(), other.url());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_failing_index_is_not_taken_for_one_that_does_not_know() {
    let world = World::new();
    let other = Index::start();
    other.add(&world.wheel);
    let http = World::http(|_| {});
    let mut options = world.options();
    options.indexes.push(url(&other.url()));
    world.server.fault("cublas", usize::MAX, Fault::Status(500, None));
    let error = Client::new(&http, options).listing("nvidia-cublas-cu12").unwrap_err();
    assert!(matches!(&error, Error::Http(http::Error::Status { status: 500, .. })), "{error}");
    assert_eq!((world.server.count("cublas"), other.connections()), (3, 0));
}

#[test]
fn faults_that_pass_are_tried_again_and_those_that_stay_have_a_name() {
    for fault in [
        Fault::Status(503, None),
        Fault::Status(429, Some("0".to_owned())),
        Fault::DropAfter(20),
        Fault::StallAfter(20),
    ] {
        let world = World::new();
        world.server.fault("cublas", 1, fault.clone());
        let listing = world.list().unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(listing.wheels.len(), 1, "{fault:?}");
        assert_eq!(world.server.count("cublas"), 2, "{fault:?}");
    }
    for (fault, part) in [
        (Fault::Status(401, None), "answered 401 (Unauthorized)"),
        (Fault::Status(403, None), "answered 403 (Forbidden)"),
        (Fault::Status(429, Some("3600".to_owned())), "answered 429 and asks to wait 3600 s"),
        (Fault::DropAfter(20), "broke off after 20 of"),
        (Fault::StallAfter(0), "broke off after 0 of"),
        (Fault::Redirect("{path}".to_owned()), "redirects without end"),
        (Fault::Redirect("ftp://files.example/".to_owned()), "neither http nor https"),
    ] {
        let world = World::new();
        world.server.fault("cublas", usize::MAX, fault.clone());
        let error = world.list().unwrap_err().to_string();
        assert!(error.contains(part), "{fault:?}: {error}");
    }
    let world = World::new();
    world.server.fault("cublas", usize::MAX, Fault::Slow(64, Duration::from_millis(200)));
    assert_eq!(world.list().unwrap().wheels.len(), 1, "slow is not dead");
}

#[test]
fn a_kept_answer_is_reused_then_revalidated_and_used_offline_at_any_age() {
    let world = World::new();
    world.server.set(|options| options.etag = true);
    let first = world.list().unwrap();
    let http = World::http(|_| {});
    let fresh = Options { fresh_for: Duration::from_mins(1), ..world.options() };
    assert_eq!(Client::new(&http, fresh).listing("nvidia-cublas-cu12").unwrap(), first);
    assert_eq!(world.server.count("cublas"), 1);
    // Not fresh: one conditional request, no second body.
    assert_eq!(world.list().unwrap(), first);
    let asked = world.server.requests();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].header("if-none-match").is_some());
    // The list changes: the new one comes.
    world.server.add(&Builder::new("nvidia-cublas-cu12", "12.4.5.9").build());
    assert_eq!(world.list().unwrap().wheels.len(), 2);

    world.server.forget();
    let offline = World::http(|config| config.offline = true);
    let client = Client::new(&offline, world.options());
    assert_eq!(client.listing("nvidia-cublas-cu12").unwrap().wheels.len(), 2);
    let error = client.listing("nvidia-nccl-cu12").unwrap_err();
    assert!(matches!(&error, Error::Offline { .. }), "{error}");
    assert_eq!(world.server.connections(), 0);
    assert!(!offline.is_used());
}

#[test]
fn a_damaged_cache_is_fetched_anew() {
    let world = World::new();
    world.list().unwrap();
    let directory = world.cache.path().join("listings");
    for entry in std::fs::read_dir(directory).unwrap() {
        std::fs::write(entry.unwrap().path(), "{\"form\": 1}\nrubbish").unwrap();
    }
    let http = World::http(|_| {});
    let fresh = Options { fresh_for: Duration::from_mins(1), ..world.options() };
    assert_eq!(Client::new(&http, fresh).listing("nvidia-cublas-cu12").unwrap().wheels.len(), 1);
    assert_eq!(world.server.count("cublas"), 2);
}

#[test]
fn a_cache_that_cannot_be_written_is_no_failure() {
    let world = World::new();
    let http = World::http(|_| {});
    let options = Options { cache: PathBuf::from("/proc/nowhere"), ..world.options() };
    // As root every directory can be written, but not one in /proc.
    let listing = Client::new(&http, options).listing("nvidia-cublas-cu12");
    assert_eq!(listing.unwrap().wheels.len(), 1);
}

#[test]
fn credentials_reach_their_index_and_no_message() {
    let world = World::new();
    world.server.set(|options| options.auth = Some(("bob".to_owned(), "hunter2".to_owned())));
    let files = Index::start();
    files.add(&world.wheel);
    world
        .server
        .set(|options| options.files_at = Some(files.origin().replace("127.0.0.1", "localhost")));
    assert!(matches!(world.list(), Err(Error::Http(http::Error::Status { status: 401, .. }))));

    let with_user = url(&world.server.url().replace("://", "://bob:hunter2@"));
    let http = World::http(|config| config.credentials.add_from_url(&with_user));
    let options = Options { indexes: vec![with_user], ..world.options() };
    let client = Client::new(&http, options);
    let listing = client.listing("nvidia-cublas-cu12").unwrap();
    client.metadata(&listing.wheels[0]).unwrap();
    assert!(files.requests().iter().all(|request| request.header("authorization").is_none()));
    let missing = client.listing("nvidia-nothing").unwrap_err();
    world.server.fault("nccl", usize::MAX, Fault::Status(500, None));
    let failing = client.listing("nvidia-nccl-cu12").unwrap_err();
    for shown in
        [format!("{missing} {missing:?}"), format!("{failing} {failing:?}"), format!("{client:?}")]
    {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    // Nor is it kept on disk.
    let mut kept = String::new();
    for entry in std::fs::read_dir(world.cache.path().join("listings")).unwrap() {
        let entry = entry.unwrap();
        kept.push_str(&entry.file_name().to_string_lossy());
        kept.push_str(&std::fs::read_to_string(entry.path()).unwrap_or_default());
    }
    assert!(kept.contains("12.4.5.8") && !kept.contains("hunter2"), "{kept}");
}

#[test]
fn a_lock_finds_its_file_by_digest_wherever_it_is() {
    let world = World::new();
    let yanked = Builder::new("nvidia-cublas-cu12", "12.4.5.7").build();
    world.server.add_with(&yanked, Some("Broken release"), None);
    let http = World::http(|_| {});
    let client = Client::new(&http, world.options());
    let locate = |wheel: &Wheel| client.locate(&wheel.distribution, &wheel.file, &wheel.digest());
    assert_eq!(locate(&world.wheel).unwrap().name.file, world.wheel.file);
    assert!(locate(&yanked).unwrap().yanked.is_some());

    let other = Builder::new("nvidia-cublas-cu12", "12.4.5.8").file("x", "other").build();
    assert_eq!(other.file, world.wheel.file);
    let error = locate(&other).unwrap_err();
    assert!(
        matches!(&error, Error::OtherBytes { found, .. } if *found == world.wheel.digest()),
        "{error}"
    );
    let gone = Builder::new("nvidia-cublas-cu12", "1").build();
    assert!(matches!(locate(&gone), Err(Error::NoSuchFile { .. })));
    // A server without digests cannot contradict: the download is checked instead.
    world.server.set(|options| options.no_hashes = true);
    assert_eq!(locate(&other).unwrap().digest, Some(other.digest()));
}

#[test]
fn a_directory_of_wheels_comes_first_and_needs_no_network() {
    let world = World::new();
    let directory = world.cache.path().join("wheels");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join(&world.wheel.file), &world.wheel.bytes).unwrap();
    std::fs::write(directory.join("notes.txt"), "no wheel").unwrap();
    let offline = World::http(|config| config.offline = true);
    let options = Options { directories: vec![directory.clone()], ..world.options() };
    let client = Client::new(&offline, options);
    let listing = client.listing("nvidia-cublas-cu12").unwrap();
    assert_eq!(listing.wheels.len(), 1);
    assert_eq!(listing.wheels[0].location, Location::File(directory.join(&world.wheel.file)));
    assert_eq!(client.metadata(&listing.wheels[0]).unwrap(), world.wheel.metadata);
    let located =
        client.locate("nvidia-cublas-cu12", &world.wheel.file, &world.wheel.digest()).unwrap();
    assert_eq!(located.digest, Some(world.wheel.digest()));
    assert!(!offline.is_used());
}

#[test]
fn what_is_no_index_is_said_to_be_none() {
    let world = World::new();
    world.server.add_bytes("nvidia-nccl-cu12", "login.html", b"");
    let http = World::http(|_| {});
    let client = Client::new(&http, world.options());
    let error = client.listing("nvidia-nccl-cu12").unwrap_err();
    assert!(matches!(&error, Error::NotAListing { .. }), "{error}");
    let none = Options { indexes: Vec::new(), ..world.options() };
    assert!(matches!(Client::new(&http, none).listing("x"), Err(Error::NoIndex)));
}

#[test]
fn many_listings_come_in_the_order_asked() {
    let world = World::new();
    let names: Vec<String> = (0..30).map(|at| format!("nvidia-part{at}-cu12")).collect();
    for name in names.iter().filter(|name| !name.contains("part7-")) {
        world.server.add(&Builder::new(name, "1").build());
    }
    let http = World::http(|_| {});
    let client = Client::new(&http, world.options());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (name, listing) in names.iter().zip(client.listings(&names)) {
        match listing {
            Ok(listing) => assert_eq!(listing.distribution, *name),
            Err(error) => {
                assert!(matches!(error, Error::NotFound { .. }) && name.contains("part7-"));
            }
        }
    }
    assert_eq!(world.server.count("/simple/"), 30);
}

#[test]
#[ignore = "needs the network"]
fn the_real_index_lists_cuda_and_its_metadata() {
    let cache = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let process = cuenv::platform::process::Process::from_os();
    let layout = cuenv::domain::layout::Layout::under(cache.path());
    let overrides = cuenv::settings::Overrides::default();
    let settings = cuenv::settings::Settings::load(&process, &layout, &overrides).unwrap();
    let http = Http::new(settings.http.clone());
    let options = Options {
        indexes: settings.indexes_or_pip(&process),
        directories: Vec::new(),
        cache: layout.listings(),
        fresh_for: settings.fresh_for,
        unreadable: None,
    };
    let client = Client::new(&http, options);
    let begun = std::time::Instant::now();
    let listing = client.listing("cuda-toolkit").unwrap();
    let wanted: pep440_rs::VersionSpecifiers = "==12.4.1".parse().unwrap();
    let wheel = listing.choose(Fit::Any, |version| wanted.contains(version)).unwrap();
    let metadata: cuenv::domain::requirement::Metadata =
        cuenv::domain::requirement::Metadata::parse(&client.metadata(wheel).unwrap()).unwrap();
    println!("metapackage: {:?}", begun.elapsed());
    let environment =
        cuenv::domain::marker::Environment { target: Target::LinuxX86_64, extra: "all" };
    let requires: Vec<_> = metadata.requires_in(&environment).collect();
    assert_eq!(requires.len(), 20);
    let names: Vec<&str> = requires.iter().map(|one| one.distribution.as_str()).collect();
    let listings = client.listings(&names);
    println!("and {} listings: {:?}", names.len(), begun.elapsed());
    for (requirement, listing) in requires.iter().zip(listings) {
        let listing = listing.unwrap();
        let wheel = listing.choose(FIT, |version| requirement.accepts(version)).unwrap();
        assert!(wheel.digest.is_some() && wheel.size.is_some());
        println!("{} <- {requirement}", wheel.name.file);
    }
    // A large wheel: the end of it is enough.
    let cublas = client.listing("nvidia-cublas-cu12").unwrap();
    let text = client.metadata(cublas.choose(FIT, |_| true).unwrap()).unwrap();
    assert!(text.contains("Name: nvidia-cublas-cu12"), "{text}");
    println!("and the metadata of cublas: {:?}", begun.elapsed());
}
