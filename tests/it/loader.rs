//! The loader prediction against the real dynamic loader, over generated programs.
//!
//! Every case is a directory of small objects linked by the real linker, and a program that reports what is mapped in it
//! (`dl_iterate_phdr`) after its start and after each `dlopen`. The same questions go to the prediction. All answers have
//! to be equal: the paths as opened, in the order of loading, and the loader's own words on a failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuenv::domain::loader::{Environment, Host, LoadError, Loader};
use cuenv::domain::target::Target;
use cuenv::platform::loader::{RealFiles, probe_host};

const CASES: u64 = 250;

/// Reports the mapped objects, and opens libraries: `name` from the program, `path|name` from the library at that path.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
static int show(struct dl_phdr_info *info, size_t size, void *data) {
  printf("OBJECT %s\n", info->dlpi_name);
  return 0;
}
typedef void *opener(const char *);
int main(int argc, char **argv) {
  dl_iterate_phdr(show, 0);
  for (int i = 1; i < argc; i++) {
    char *bar = strchr(argv[i], '|');
    void *handle = 0;
    if (bar) {
      *bar = 0;
      void *library = dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD);
      opener *from = library ? (opener *)dlsym(library, "probe_open") : 0;
      if (!from) { printf("NOCALLER %s\n", argv[i]); continue; }
      handle = from(bar + 1);
    } else {
      void *volatile direct = dlopen(argv[i], RTLD_NOW);
      handle = direct;
    }
    if (handle) printf("OPENED\n"); else printf("FAILED %s\n", dlerror());
    dl_iterate_phdr(show, 0);
  }
  return 0;
}
"#;

/// What every library holds: a way to call `dlopen` from inside it.
const LIBRARY: &str = r"
#include <dlfcn.h>
void *probe_open(const char *name) { void *volatile handle = dlopen(name, RTLD_NOW); return handle; }
";

/// A small generator of repeatable choices (xorshift), so that a case can be named by its number.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The pieces that every case is linked from.
pub(crate) struct Kit {
    root: PathBuf,
    start_files: Vec<PathBuf>,
    end_files: Vec<PathBuf>,
    libc: PathBuf,
    interpreter: String,
}

impl Kit {
    /// Compiles the two sources; `None` without a compiler.
    pub(crate) fn new(root: &Path, host: &Host) -> Option<Self> {
        fs::write(root.join("program.c"), PROGRAM).unwrap();
        fs::write(root.join("library.c"), LIBRARY).unwrap();
        for (source, options) in [("program", "-fno-pic"), ("library", "-fPIC")] {
            let status = Command::new("gcc")
                .args(["-O0", "-c", options, "-fno-stack-protector", "-o"])
                .arg(root.join(format!("{source}.o")))
                .arg(root.join(format!("{source}.c")))
                .status();
            if !status.is_ok_and(|status| status.success()) {
                return None;
            }
        }
        fs::create_dir(root.join("stubs")).unwrap();
        let file = |name: &str| {
            let output =
                Command::new("gcc").arg(format!("-print-file-name={name}")).output().unwrap();
            PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
        };
        Some(Self {
            root: root.to_owned(),
            start_files: vec![file("crt1.o"), file("crti.o")],
            end_files: vec![file("libc_nonshared.a"), file("crtn.o")],
            libc: file("libc.so.6"),
            interpreter: host.interpreter.clone(),
        })
    }

    /// A library whose only use is to put `name` into the needed entries of what is linked against it.
    fn stub(&self, name: &str) -> PathBuf {
        let path = self.root.join("stubs").join(name.replace('/', "%"));
        if !path.exists() {
            let soname = ["-soname".to_owned(), name.to_owned()];
            link(
                Command::new("ld")
                    .args(["-shared", "-o"])
                    .arg(&path)
                    .args(soname)
                    .arg(self.root.join("library.o")),
            );
        }
        path
    }

    fn library(&self, to: &Path, shape: &Shape) {
        let mut command = Command::new("ld");
        command.args(["-shared", "--allow-shlib-undefined", "-o"]).arg(to);
        if let Some(soname) = &shape.soname {
            command.args(["-soname", soname]);
        }
        shape.paths(&mut command);
        command.arg(self.root.join("library.o")).arg("--no-as-needed");
        command.args(shape.needed.iter().map(|name| self.stub(name)));
        link(&mut command);
    }

    pub(crate) fn program(&self, to: &Path, shape: &Shape) {
        let mut command = Command::new("ld");
        command
            .args(["--allow-shlib-undefined", "-dynamic-linker", &self.interpreter, "-o"])
            .arg(to);
        shape.paths(&mut command);
        command.args(&self.start_files).arg(self.root.join("program.o")).arg("--no-as-needed");
        command.args(shape.needed.iter().map(|name| self.stub(name)));
        command.arg(&self.libc).args(&self.end_files);
        link(&mut command);
    }
}

fn link(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// How one object is linked.
#[derive(Default)]
pub(crate) struct Shape {
    soname: Option<String>,
    needed: Vec<String>,
    search: Option<(bool, String)>,
    no_default_lib: bool,
}

impl Shape {
    fn paths(&self, command: &mut Command) {
        if let Some((old, path)) = &self.search {
            command.args([
                if *old { "--disable-new-dtags" } else { "--enable-new-dtags" },
                "-rpath",
                path,
            ]);
        }
        if self.no_default_lib {
            command.args(["-z", "nodefaultlib"]);
        }
    }
}

/// One run: the program as it is called, its variables, and the names to open.
pub(crate) struct Case {
    pub(crate) root: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) library_path: Option<String>,
    pub(crate) preload: Option<String>,
    pub(crate) opens: Vec<String>,
    pub(crate) features: Vec<&'static str>,
}

const DIRECTORIES: [&str; 5] = ["d0", "d1", "d2", "d3", "d4"];
const NAMES: [&str; 7] =
    ["liba.so", "libb.so.1", "libc2.so.9", "libd.so", "libe.so.12", "libf.so.3", "libg.so"];

/// A search path of one to four elements of every kind.
fn search_path(
    dice: &mut Dice,
    root: &Path,
    variable: bool,
    features: &mut Vec<&'static str>,
) -> String {
    let mut path = String::new();
    let separators: &[char] = if variable { &[':', ':', ';'] } else { &[':'] };
    for index in 0..2 + dice.below(4) {
        if index > 0 {
            path.push(*dice.pick(separators));
        }
        let directory = *dice.pick(&DIRECTORIES);
        match dice.below(20) {
            0 => features.push("empty element"),
            1 => write!(path, "{directory}").unwrap(),
            2 => write!(path, "{}//", root.join(directory).display()).unwrap(),
            3 => path.push_str("/nowhere"),
            4 => path.push_str("$ORIGIN"),
            5 => write!(path, "${{ORIGIN}}/../{directory}").unwrap(),
            6 => write!(path, "{}/$LIB", root.join(directory).display()).unwrap(),
            7 => write!(path, "{}/$PLATFORM", root.join(directory).display()).unwrap(),
            8 => write!(path, "{}/./$ORIGINAL", root.join(directory).display()).unwrap(),
            9 | 10 => write!(path, "$ORIGIN/../{directory}").unwrap(),
            _ => write!(path, "{}", root.join(directory).display()).unwrap(),
        }
    }
    path
}

fn shape(
    dice: &mut Dice,
    root: &Path,
    soname: Option<&str>,
    features: &mut Vec<&'static str>,
) -> Shape {
    let mut needed: Vec<String> = Vec::new();
    for _ in 0..dice.below(3) {
        let name = *dice.pick(&NAMES);
        if dice.chance(4) {
            features.push("needed with $ORIGIN");
            needed.push(format!("$ORIGIN/../{}/{name}", dice.pick(&DIRECTORIES)));
        } else {
            needed.push(name.to_owned());
        }
    }
    needed.dedup();
    let search = dice.chance(85).then(|| {
        let old = dice.chance(50);
        features.push(if old { "RPATH" } else { "RUNPATH" });
        (old, search_path(dice, root, false, features))
    });
    let no_default_lib = soname.is_some() && dice.chance(5);
    Shape { soname: soname.map(str::to_owned), needed, search, no_default_lib }
}

/// Puts one object at one place: linked anew, copied, by symbolic or by hard link, or something that is no library.
fn place(
    dice: &mut Dice,
    kit: &Kit,
    case: &mut Case,
    host: &Host,
    name: &str,
    made: &mut BTreeMap<String, PathBuf>,
) {
    let mut directory = case.root.join(dice.pick(&DIRECTORIES));
    match dice.below(12) {
        0 if !host.hwcaps.is_empty() => {
            case.features.push("hwcaps");
            directory = directory.join("glibc-hwcaps").join(dice.pick(&host.hwcaps));
        }
        1 if !host.legacy.is_empty() => {
            case.features.push("old subdirectory");
            directory = directory.join(dice.pick(&host.legacy));
        }
        2 => directory = directory.join(&host.lib),
        3 => directory = directory.join(host.platform.as_deref().unwrap_or("none")),
        4 => {
            case.features.push("hwcaps not in use");
            directory = directory.join("glibc-hwcaps/x86-64-v9");
        }
        5 => directory.clone_from(&case.root),
        _ => {}
    }
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    if path.symlink_metadata().is_ok() {
        return;
    }
    let soname = match dice.below(10) {
        0 => None,
        1 => Some(*dice.pick(&NAMES)),
        _ => Some(name),
    };
    let known = made.get(name).cloned();
    match (dice.below(48), known) {
        (0, _) => {
            case.features.push("script");
            fs::write(&path, [b'#'; 100]).unwrap();
        }
        (1, _) => {
            case.features.push("too short");
            fs::write(&path, "").unwrap();
        }
        (2, _) => {
            case.features.push("directory");
            fs::create_dir(&path).unwrap();
        }
        (3 | 4, Some(known)) => {
            case.features.push("foreign word size");
            let mut bytes = fs::read(known).unwrap();
            bytes[4] = 1;
            fs::write(&path, bytes).unwrap();
        }
        (5, Some(known)) => {
            case.features.push("foreign machine");
            let mut bytes = fs::read(known).unwrap();
            bytes[18] = 243;
            fs::write(&path, bytes).unwrap();
        }
        (6, _) => {
            case.features.push("dangling link");
            symlink("gone", &path).unwrap();
        }
        (7..=14, Some(known)) => {
            case.features.push("symbolic link");
            symlink(known, &path).unwrap();
        }
        (15..=20, Some(known)) => {
            case.features.push("hard link");
            fs::hard_link(known, &path).unwrap();
        }
        (21..=25, Some(known)) => {
            case.features.push("copy");
            fs::copy(known, &path).unwrap();
        }
        _ => {
            let shape = shape(dice, &case.root, soname, &mut case.features);
            kit.library(&path, &shape);
            made.insert(name.to_owned(), path);
        }
    }
}

fn case(number: u64, kit: &Kit, host: &Host) -> Case {
    let mut dice = Dice::new(number);
    let root = kit.root.join(format!("case{number}"));
    for directory in DIRECTORIES {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let mut case = Case {
        root: root.clone(),
        program: root.join("bin/app"),
        library_path: None,
        preload: None,
        opens: Vec::new(),
        features: Vec::new(),
    };
    let mut made = BTreeMap::new();
    for name in NAMES {
        // The second places more often, so that most needs can be met and most cases get far.
        for _ in 0..2 + dice.below(4) {
            place(&mut dice, kit, &mut case, host, name, &mut made);
        }
    }
    fs::create_dir_all(root.join("real")).unwrap();
    fs::create_dir_all(root.join("bin")).unwrap();
    let shape = shape(&mut dice, &root, None, &mut case.features);
    let real = if dice.chance(30) {
        case.features.push("program is a link");
        symlink("../real/app", &case.program).unwrap();
        root.join("real/app")
    } else {
        case.program.clone()
    };
    kit.program(&real, &shape);
    if dice.chance(70) {
        case.features.push("LD_LIBRARY_PATH");
        let mut features = Vec::new();
        case.library_path = Some(search_path(&mut dice, &root, true, &mut features));
        case.features.extend(features);
    }
    if dice.chance(15) {
        case.features.push("LD_PRELOAD");
        let directory = dice.pick(&DIRECTORIES);
        let name = dice.pick(&NAMES);
        case.preload = Some(match dice.below(3) {
            0 => (*name).to_owned(),
            1 => format!("{directory}/{name}"),
            _ => format!("{}:{}", root.join(directory).join(name).display(), dice.pick(&NAMES)),
        });
    }
    case
}

/// What is mapped, and the failure if there was one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) objects: Vec<String>,
    pub(crate) failure: Option<String>,
}

/// Runs the program for real.
pub(crate) fn real(case: &Case) -> Vec<Answer> {
    let mut command = Command::new(&case.program);
    command.env_clear().current_dir(&case.root).args(&case.opens);
    if let Some(path) = &case.library_path {
        command.env("LD_LIBRARY_PATH", path);
    }
    if let Some(preload) = &case.preload {
        command.env("LD_PRELOAD", preload);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let words = ": error while loading shared libraries: ";
    if let Some((_, failure)) = stderr.lines().find_map(|line| line.split_once(words)) {
        return vec![Answer { objects: Vec::new(), failure: Some(failure.to_owned()) }];
    }
    assert!(output.status.success(), "{}: {:?} {stderr}", case.root.display(), output.status);
    let mut answers = vec![Answer { objects: Vec::new(), failure: None }];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        match line.split_once(' ') {
            Some(("OBJECT", "" | "linux-vdso.so.1")) => {}
            Some(("OBJECT", name)) => answers.last_mut().unwrap().objects.push(name.to_owned()),
            Some(("FAILED", text)) => {
                answers.push(Answer { objects: Vec::new(), failure: Some(text.to_owned()) });
            }
            _ => answers.push(Answer { objects: Vec::new(), failure: None }),
        }
    }
    answers
}

/// Asks the prediction the same.
pub(crate) fn predicted(case: &Case, host: &Host, files: &RealFiles) -> Vec<Answer> {
    let text = |error: LoadError| Some(error.to_string());
    let environment = Environment {
        library_path: case.library_path.clone().unwrap_or_default(),
        preload: case.preload.clone().unwrap_or_default(),
        cwd: case.root.to_str().unwrap().to_owned(),
        secure: false,
    };
    let mut loader =
        Loader::start(files, host, environment, case.program.to_str().unwrap()).unwrap();
    let failed = loader.lookups().iter().find_map(|lookup| lookup.answer.clone().err());
    if let Some(error) = failed {
        return vec![Answer { objects: Vec::new(), failure: text(error) }];
    }
    let objects = |loader: &Loader<'_>| {
        loader.loaded().iter().skip(1).map(|object| object.path.clone()).collect::<Vec<_>>()
    };
    let mut answers = vec![Answer { objects: objects(&loader), failure: None }];
    for open in &case.opens {
        let (caller, name) = open.split_once('|').unwrap_or(("", open));
        let caller = if caller.is_empty() { 0 } else { loader.position(caller).unwrap() };
        let failure = loader.dlopen(name, caller).err().and_then(text);
        answers.push(Answer { objects: objects(&loader), failure });
    }
    answers
}

/// Names to open, from callers that the start has loaded: chosen by what really is in the process.
fn choose_opens(number: u64, case: &mut Case, start: &Answer) {
    let mut dice = Dice::new(number ^ 0xdead_beef);
    let root = case.root.display().to_string();
    let callers: Vec<&String> =
        start.objects.iter().filter(|path| path.starts_with(&root)).collect();
    for _ in 0..=dice.below(5) {
        let name = *dice.pick(&NAMES);
        let directory = *dice.pick(&DIRECTORIES);
        let name = match dice.below(8) {
            0 => format!("{root}/{directory}/{name}"),
            1 => format!("{directory}/{name}"),
            2 => format!("$ORIGIN/../{directory}/{name}"),
            _ => name.to_owned(),
        };
        case.features.push("dlopen");
        if callers.is_empty() || dice.chance(40) {
            case.opens.push(name);
        } else {
            case.features.push("dlopen from a library");
            case.opens.push(format!("{}|{name}", dice.pick(&callers)));
        }
    }
}

/// Failures in one wording: before libc is there, the loader has no texts for the system's error numbers.
fn plain(failure: &str) -> String {
    let missing = "cannot open shared object file";
    failure
        .replace("Error 21", "Is a directory")
        .replace(&format!("{missing}: No such file or directory"), missing)
}

/// The real one lists the interpreter at another place; it is the same in both.
pub(crate) fn comparable(answers: &mut [Answer], host: &Host) {
    for answer in answers {
        answer.objects.retain(|path| *path != host.interpreter);
        answer.failure = answer.failure.as_deref().map(plain);
    }
}

#[test]
fn prediction_equals_the_real_loader() {
    let host = probe_host(Target::host());
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let Some(kit) = Kit::new(&root, &host) else {
        println!("skipped: no gcc");
        return;
    };
    let mut features: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut unequal, mut ended, mut objects, mut questions) = (Vec::new(), 0, 0, 0);
    for number in 1..=CASES {
        let mut case = case(number, &kit, &host);
        let start = real(&case).remove(0);
        if start.failure.is_none() {
            choose_opens(number, &mut case, &start);
        } else {
            ended += 1;
        }
        let mut expected = real(&case);
        let mut found = predicted(&case, &host, &RealFiles::default());
        comparable(&mut expected, &host);
        comparable(&mut found, &host);
        questions += expected.len();
        objects += expected.last().map_or(0, |answer| answer.objects.len());
        case.features.sort_unstable();
        case.features.dedup();
        for feature in &case.features {
            *features.entry(feature).or_default() += 1;
        }
        if expected == found {
            let _ = fs::remove_dir_all(&case.root);
        } else {
            unequal.push(format!(
                "case {number}: LD_LIBRARY_PATH={:?} LD_PRELOAD={:?} opens {:?}\n  real      {expected:?}\n  predicted {found:?}",
                case.library_path, case.preload, case.opens
            ));
        }
    }
    println!(
        "{} of {CASES} cases equal: {questions} starts and openings, {objects} objects mapped, {ended} starts that fail",
        CASES - unequal.len() as u64
    );
    println!("cases by feature: {features:?}");
    if !unequal.is_empty() {
        let kept = directory.keep();
        panic!("{} unequal, kept in {}\n{}", unequal.len(), kept.display(), unequal.join("\n"));
    }
    for feature in [
        "RPATH",
        "RUNPATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "dlopen from a library",
        "symbolic link",
    ] {
        assert!(
            features.get(feature).is_some_and(|count| *count >= 10),
            "too few cases of {feature}"
        );
    }
    assert!(ended < CASES / 2 && objects > 400, "most starts must get somewhere");
}
