use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Environment, Files, Host, LoadError, Loader, Object, Opened, Rule};
use crate::domain::elf::{Elf, Import, MACHINE_AARCH64, MACHINE_X86_64};

use crate::domain::elf::writer::Library;

/// Files in memory: path → bytes; links are paths with the same identity.
#[derive(Default)]
struct Disk {
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
}

impl Disk {
    fn with(mut self, path: &str, library: &Library) -> Self {
        self.files.insert(path.to_owned(), library.bytes());
        self
    }

    fn raw(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.to_owned(), bytes.to_owned());
        self
    }

    fn link(mut self, path: &str, to: &str) -> Self {
        self.links.insert(path.to_owned(), to.to_owned());
        self
    }

    fn resolve<'a>(&'a self, path: &'a str) -> &'a str {
        self.links.get(path).map_or(path, String::as_str)
    }

    fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(self.resolve(&super::tokens::normal(path))).map(Vec::as_slice)
    }
}

impl Files for Disk {
    fn open(&self, path: &str) -> Opened {
        let normal = super::tokens::normal(path);
        let real = self.resolve(&normal);
        let Some(bytes) = self.files.get(real) else { return Opened::Missing };
        let position = self.files.keys().position(|key| key == real).expect("just found");
        match Elf::parse(&bytes.as_slice()) {
            Ok(elf) => Opened::File(Rc::new(Object { identity: (1, position as u64), elf })),
            Err(error) => Opened::Refused(error.to_string()),
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        let inside = format!("{}/", super::tokens::normal(path));
        self.files.keys().chain(self.links.keys()).any(|known| known.starts_with(&inside))
    }

    fn real_path(&self, path: &str) -> Option<String> {
        Some(self.resolve(path).to_owned())
    }

    fn defines(&self, path: &str, symbol: &str, version: Option<&str>) -> bool {
        self.bytes(path).is_some_and(|bytes| {
            Elf::parse(&bytes).is_ok_and(|elf| elf.defines(&bytes, symbol, version))
        })
    }

    fn imports(&self, path: &str) -> Vec<Import> {
        self.bytes(path)
            .and_then(|bytes| Some(Elf::parse(&bytes).ok()?.imports(&bytes)))
            .unwrap_or_default()
    }
}

fn host() -> Host {
    Host {
        machine: if cfg!(target_arch = "aarch64") { MACHINE_AARCH64 } else { MACHINE_X86_64 },
        lib: "lib64".to_owned(),
        system_dirs: vec!["/lib64/".to_owned()],
        hwcaps: vec!["x86-64-v3".to_owned(), "x86-64-v2".to_owned()],
        ..Host::default()
    }
}

fn environment(library_path: &str) -> Environment {
    Environment {
        library_path: library_path.to_owned(),
        cwd: "/srv".to_owned(),
        ..Environment::default()
    }
}

/// Starts `/bin/app` and says which path answers each needed name.
fn winners(disk: &Disk, host: &Host, environment: Environment) -> Vec<(String, String)> {
    let loader = Loader::start(disk, host, environment, "/bin/app").expect("the program is there");
    loader
        .lookups()
        .iter()
        .map(|lookup| {
            let answer = match &lookup.answer {
                Ok((index, _)) => loader.loaded()[*index].path.clone(),
                Err(error) => error.to_string(),
            };
            (lookup.name.clone(), answer)
        })
        .collect()
}

fn winner(disk: &Disk, environment: Environment) -> String {
    winners(disk, &host(), environment).remove(0).1
}

fn app() -> Library {
    Library::nameless().needs("a.so")
}

#[test]
fn library_path_beats_runpath_and_loses_to_rpath() {
    let lib = Library::new("a.so");
    let disk = |app: Library| {
        Disk::default().with("/bin/app", &app).with("/own/a.so", &lib).with("/env/a.so", &lib)
    };
    assert_eq!(winner(&disk(app().runpath("/own")), environment("/env")), "/env/a.so");
    assert_eq!(winner(&disk(app().rpath("/own")), environment("/env")), "/own/a.so");
    assert_eq!(winner(&disk(app().rpath("/own").runpath("/no")), environment("/env")), "/env/a.so");
    assert_eq!(winner(&disk(app().runpath("/own")), environment("")), "/own/a.so");
}

#[test]
fn rpath_of_the_chain_counts_and_runpath_of_the_chain_does_not() {
    let middle = Library::new("a.so").needs("b.so");
    let disk = |app: Library| {
        Disk::default()
            .with("/bin/app", &app)
            .with("/x/a.so", &middle)
            .with("/x/b.so", &Library::new("b.so"))
    };
    let names = |app: Library| winners(&disk(app), &host(), environment(""));
    assert_eq!(names(app().rpath("/x"))[1].1, "/x/b.so");
    assert_eq!(
        names(app().runpath("/x"))[1].1,
        "b.so: cannot open shared object file: No such file or directory"
    );
    // The object's own RUNPATH silences the RPATH of everything above it.
    let disk = disk(app().rpath("/x")).with("/x/a.so", &middle.clone().runpath("/none"));
    assert!(winners(&disk, &host(), environment(""))[1].1.contains("cannot open"));
}

#[test]
fn empty_elements_are_the_current_directory() {
    let lib = Library::new("a.so");
    let disk = Disk::default().with("/bin/app", &app()).with("/srv/a.so", &lib);
    for path in ["/x:", ":/x", "/x::/y", ":"] {
        assert_eq!(winner(&disk, environment(path)), "a.so", "{path}");
    }
    assert!(winner(&disk, environment("/x")).contains("cannot open"));
    assert!(winner(&disk, environment("")).contains("cannot open"), "an empty variable is unset");
}

#[test]
fn origin_of_a_library_is_where_it_was_opened_and_of_the_program_where_it_is() {
    let a = Library::new("a.so").needs("b.so").runpath("$ORIGIN/deps");
    let b = Library::new("b.so");
    let disk = Disk::default()
        .with("/real/app", &app().runpath("${ORIGIN}/lib"))
        .link("/bin/app", "/real/app")
        .with("/store/a.so", &a)
        .link("/real/lib/a.so", "/store/a.so")
        .with("/real/lib/deps/b.so", &b)
        .with("/store/deps/b.so", &b);
    let found = winners(&disk, &host(), environment(""));
    assert_eq!(found[0].1, "/real/lib/a.so");
    assert_eq!(found[1].1, "/real/lib/deps/b.so");
}

#[test]
fn a_file_reached_by_two_paths_is_one() {
    let disk = Disk::default()
        .with("/bin/app", &Library::nameless().needs("a.so").needs("alias.so").runpath("/x"))
        .with("/x/a.so", &Library::nameless())
        .link("/x/alias.so", "/x/a.so");
    let found = winners(&disk, &host(), environment(""));
    assert_eq!(found[1], ("alias.so".to_owned(), "/x/a.so".to_owned()));
}

#[test]
fn better_cpu_levels_come_first() {
    let lib = Library::new("a.so");
    let disk = Disk::default()
        .with("/bin/app", &app())
        .with("/x/a.so", &lib)
        .with("/x/glibc-hwcaps/x86-64-v2/a.so", &lib)
        .with("/x/glibc-hwcaps/x86-64-v4/a.so", &lib);
    assert_eq!(winner(&disk, environment("/x")), "/x/glibc-hwcaps/x86-64-v2/a.so");
    let disk = disk.with("/x/glibc-hwcaps/x86-64-v3/a.so", &lib);
    assert_eq!(winner(&disk, environment("/x")), "/x/glibc-hwcaps/x86-64-v3/a.so");
}

#[test]
fn cache_obeys_levels_and_the_flag_against_default_directories() {
    let lib = Library::new("a.so");
    let mut host = host();
    host.cache.add("a.so", "/lib64/a.so", None);
    host.cache.add("a.so", "/opt/v2/a.so", Some("x86-64-v2"));
    let disk = |app: Library| {
        Disk::default().with("/bin/app", &app).with("/lib64/a.so", &lib).with("/opt/v2/a.so", &lib)
    };
    assert_eq!(winners(&disk(app()), &host, environment(""))[0].1, "/opt/v2/a.so");
    host.hwcaps.clear();
    assert_eq!(winners(&disk(app()), &host, environment(""))[0].1, "/lib64/a.so");
    let shy = app().no_default_lib();
    assert!(winners(&disk(shy), &host, environment(""))[0].1.contains("cannot open"));
}

#[test]
fn foreign_words_are_passed_over_and_scripts_end_the_search() {
    let mut small = Library::new("a.so").bytes();
    small[4] = 1;
    let disk = Disk::default()
        .with("/bin/app", &app())
        .raw("/x/a.so", &small)
        .with("/y/a.so", &Library::new("a.so"));
    assert_eq!(winner(&disk, environment("/x:/y")), "/y/a.so");
    let disk = disk.raw("/x/a.so", &[b'#'; 80]);
    assert_eq!(winner(&disk, environment("/x:/y")), "/x/a.so: invalid ELF header");
}

#[test]
fn privileged_programs_ignore_the_variables_and_their_own_origin() {
    let lib = Library::new("a.so");
    let disk = Disk::default()
        .with("/bin/app", &app().runpath("$ORIGIN/lib"))
        .with("/bin/lib/a.so", &lib)
        .with("/env/a.so", &lib);
    let secure = Environment { secure: true, ..environment("/env") };
    assert!(winner(&disk, secure.clone()).contains("cannot open"));
    let disk = disk.with("/bin/app", &app().runpath("/bin/lib"));
    assert_eq!(winner(&disk, secure), "/bin/lib/a.so");
}

#[test]
fn dlopen_by_bare_name_uses_the_caller_and_fails_whole() {
    let caller = Library::new("a.so").runpath("$ORIGIN");
    let disk = Disk::default()
        .with("/bin/app", &app().runpath("/x"))
        .with("/x/a.so", &caller)
        .with("/x/part.so", &Library::new("part.so").needs("other.so").runpath("$ORIGIN"))
        .with("/x/other.so", &Library::new("other.so"))
        .with("/x/broken.so", &Library::new("broken.so").needs("gone.so"));
    let host = host();
    let mut loader = Loader::start(&disk, &host, environment(""), "/bin/app").expect("there");
    let a = loader.position("/x/a.so").expect("loaded");
    let part = loader.dlopen("part.so", a).expect("by the RUNPATH of a.so");
    assert_eq!(loader.loaded()[part].path, "/x/part.so");
    assert_eq!(
        loader.loaded()[part].rule,
        Rule::Runpath { of: "/x/a.so".to_owned(), entry: "$ORIGIN".to_owned() }
    );
    assert_eq!(loader.loaded().len(), 4);
    assert_eq!(
        loader.dlopen("broken.so", a),
        Err(LoadError::Missing { name: "gone.so".to_owned() })
    );
    assert_eq!(loader.loaded().len(), 4, "nothing is left behind");
    let disk_part = loader.dlopen("/x/part.so", 0).expect("there");
    assert_eq!(disk_part, part);
}

#[test]
fn the_callers_rpath_counts_for_the_opened_file_alone() {
    let disk = |app: Library| {
        Disk::default()
            .with("/bin/app", &app.runpath("/x"))
            .with("/x/a.so", &Library::new("a.so").rpath("/own"))
            .with("/own/part.so", &Library::new("part.so").needs("other.so"))
            .with("/own/other.so", &Library::new("other.so"))
    };
    let host = host();
    let disk = disk(app());
    let mut loader = Loader::start(&disk, &host, environment(""), "/bin/app").expect("there");
    let a = loader.position("/x/a.so").expect("loaded");
    assert_eq!(
        loader.dlopen("part.so", a),
        Err(LoadError::Missing { name: "other.so".to_owned() })
    );
    loader.dlopen("other.so", a).expect("found by the RPATH of a.so");
}

#[test]
fn preloads_come_first_and_win_by_soname() {
    let disk = Disk::default()
        .with("/bin/app", &app().runpath("/x"))
        .with("/x/a.so", &Library::new("a.so"))
        .with("/mine/fake.so", &Library::new("a.so"));
    let environment =
        Environment { preload: "/mine/fake.so /gone.so".to_owned(), ..environment("") };
    assert_eq!(winner(&disk, environment), "/mine/fake.so");
}

#[test]
fn losers_are_listed_in_order() {
    let lib = Library::new("a.so");
    let mut host = host();
    host.cache.add("a.so", "/cached/a.so", None);
    let disk = Disk::default()
        .with("/bin/app", &app().runpath("/own"))
        .with("/own/a.so", &lib)
        .with("/env/a.so", &lib)
        .with("/cached/a.so", &lib)
        .with("/lib64/a.so", &lib);
    let loader = Loader::start(&disk, &host, environment("/env"), "/bin/app").expect("there");
    let (found, error) = loader.candidates("a.so", 0);
    let paths: Vec<_> = found.iter().map(|candidate| candidate.path.as_str()).collect();
    assert_eq!(paths, ["/env/a.so", "/own/a.so", "/cached/a.so", "/lib64/a.so"]);
    assert_eq!(error, None);
}

#[test]
fn missing_versions_and_symbols_are_foretold() {
    let new = "libnvJitLink.so.12";
    let wants = Library::new("libcusparse.so.12").needs(new).runpath("/own").import_version(
        "__nvJitLinkAddData_12_4",
        new,
        new,
    );
    let old = Library::new(new).version(new).function("__nvJitLinkAddData_12_1", 1);
    let good = old.clone().function("__nvJitLinkAddData_12_4", 1);
    let disk = Disk::default()
        .with("/bin/app", &Library::nameless().needs("libcusparse.so.12").runpath("/own"))
        .with("/own/libcusparse.so.12", &wants)
        .with("/own/libnvJitLink.so.12", &good)
        .with("/old/libnvJitLink.so.12", &old)
        .with("/odd/libnvJitLink.so.12", &Library::new(new).version("other"));
    let host = host();
    let gaps = |path: &str| {
        let loader = Loader::start(&disk, &host, environment(path), "/bin/app").expect("there");
        let at = loader.position("/own/libcusparse.so.12").expect("loaded");
        (loader.version_gaps().len(), loader.symbol_gaps(at, &|file| file == new))
    };
    assert_eq!(gaps(""), (0, Vec::new()));
    let (versions, symbols) = gaps("/old");
    assert_eq!(versions, 0, "the version's name is there, the symbol is not");
    assert_eq!(symbols.len(), 1);
    assert_eq!(symbols[0].symbol, "__nvJitLinkAddData_12_4");
    assert_eq!(symbols[0].winner, "/old/libnvJitLink.so.12");
    assert_eq!(gaps("/odd").0, 1);
}
