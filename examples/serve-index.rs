//! Serves a directory of wheels as an index on the loopback interface, with faults by name: for the fault suites and
//! the benchmarks, which need a server that outlives one test.
//!
//! ```text
//! serve-index DIRECTORY [--port N] [--set OPTION]... [--fault PATTERN:TIMES:FAULT]...
//! ```
//!
//! Options: `html_only`, `refuse_json`, `no_content_type`, `no_range`, `no_suffix_range`, `no_hashes`, `no_sizes`, `etag`,
//! `gzip`. Faults: `drop_after=BYTES`, `stall_after=BYTES`, `status=CODE`, `retry_after=CODE,SECONDS`, `wrong_byte=OFFSET`,
//! `slow=BYTES,MILLISECONDS`, `redirect=ADDRESS`. TIMES is a number or `always`. The first line printed is the address of
//! the index; after that, each line read from standard input is answered: `count PATTERN` with a number, `forget` with
//! `ok`, `fault PATTERN:TIMES:FAULT` with `ok`. It ends when standard input does.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::new_without_default,
    unreachable_pub,
    dead_code,
    reason = "a program for tests: it stops at the first surprise"
)]

use std::io::BufRead as _;
use std::path::Path;
use std::time::Duration;

#[path = "../tests/support/index.rs"]
mod index;
#[path = "../tests/support/wheel.rs"]
mod wheel;

use index::{Fault, Index, Options};

fn main() {
    let mut args = std::env::args().skip(1);
    let directory =
        args.next().expect("usage: serve-index DIRECTORY [--port N] [--set OPTION] [--fault RULE]");
    let mut options = Options::default();
    let mut faults = Vec::new();
    let mut port = "0".to_owned();
    while let Some(name) = args.next() {
        let value = args.next().expect("every option takes a value");
        match name.as_str() {
            "--port" => port = value,
            "--set" => set(&mut options, &value),
            "--fault" => faults.push(value),
            other => panic!("unknown option {other}"),
        }
    }
    let server = Index::start_on(&format!("127.0.0.1:{port}"));
    server.set(|current| *current = options);
    let mut paths: Vec<_> = std::fs::read_dir(Path::new(&directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect();
    paths.sort();
    for path in paths {
        server.add_file(&path);
    }
    for rule in faults {
        add_fault(&server, &rule);
    }
    println!("{}", server.url());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("count", pattern) => println!("{}", server.count(pattern)),
            ("fault", rule) => {
                add_fault(&server, rule);
                println!("ok");
            }
            ("forget", _) => {
                server.forget();
                println!("ok");
            }
            _ => println!("unknown"),
        }
    }
}

fn set(options: &mut Options, name: &str) {
    let field = match name {
        "html_only" => &mut options.html_only,
        "refuse_json" => &mut options.refuse_json,
        "no_content_type" => &mut options.no_content_type,
        "no_range" => &mut options.no_range,
        "no_suffix_range" => &mut options.no_suffix_range,
        "no_hashes" => &mut options.no_hashes,
        "no_sizes" => &mut options.no_sizes,
        "etag" => &mut options.etag,
        "gzip" => &mut options.gzip,
        other => panic!("unknown option {other}"),
    };
    *field = true;
}

fn add_fault(server: &Index, rule: &str) {
    let mut parts = rule.splitn(3, ':');
    let (pattern, times, fault) =
        (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let times = if times == "always" { usize::MAX } else { times.parse().unwrap() };
    let (name, value) = fault.split_once('=').unwrap_or((fault, ""));
    let pair = || value.split_once(',').expect("two values");
    server.fault(
        pattern,
        times,
        match name {
            "drop_after" => Fault::DropAfter(value.parse().unwrap()),
            "stall_after" => Fault::StallAfter(value.parse().unwrap()),
            "status" => Fault::Status(value.parse().unwrap(), None),
            "retry_after" => Fault::Status(pair().0.parse().unwrap(), Some(pair().1.to_owned())),
            "wrong_byte" => Fault::WrongByte(value.parse().unwrap()),
            "slow" => Fault::Slow(
                pair().0.parse().unwrap(),
                Duration::from_millis(pair().1.parse().unwrap()),
            ),
            "redirect" => Fault::Redirect(value.to_owned()),
            other => panic!("unknown fault {other}"),
        },
    );
}
