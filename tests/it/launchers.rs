//! The documented form for each launcher, run with the real launcher where it is installed.
//!
//! Launchers differ in what they hand on: some nothing at all. What always works is `cuenv exec -- CMD`, or a shim, on
//! the far side, called by its path; these tests also hold what does not work, so that the documents stay true.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::hosts::Hosts;
use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::terminal::is_installed;

const SHOW: &str = "#!/bin/sh\necho \"${LD_LIBRARY_PATH-unset}\"\n";

struct Bed {
    sandbox: Sandbox,
    show: PathBuf,
    library: String,
}

fn bed() -> Bed {
    let sandbox = Sandbox::new();
    let prefix = sandbox.toolchain("12.4.1-b", "12.4", &[]);
    sandbox.write(".cuenv", "12.4\n");
    let show = sandbox.program("bin/show", SHOW);
    let library = sandbox.redact(&format!("{}/lib", prefix.display()));
    Bed { sandbox, show, library }
}

fn missing(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !is_installed(program));
    if let Some(program) = missing {
        println!("skipped: no {program}");
    }
    missing.is_some()
}

#[test]
fn a_service_or_cron_job_starts_with_nothing() {
    let bed = bed();
    // The data directory is known from the place of the shim's binary alone.
    let shims = bed.sandbox.shims(&["show"]);
    let mut command = Command::new(shims.join("show"));
    command.env_clear().current_dir(bed.sandbox.project());
    // No PATH: the program behind the shim must be in a system directory, so there is none.
    let ran = Ran::of(&mut command, &bed.sandbox).code(127);
    assert_eq!(ran.stderr, "cuenv: show: command not found\n");
    command.env("PATH", bed.show.parent().unwrap());
    Ran::of(&mut command, &bed.sandbox).code(0).says(&format!("{}\n", bed.library));
    // cron: HOME, LOGNAME, SHELL and a PATH of two.
    let mut cron = Command::new("/bin/sh");
    cron.env_clear()
        .env("HOME", bed.sandbox.home())
        .env("PATH", "/usr/bin:/bin")
        .env("CUENV_HOME", bed.sandbox.cuenv_home())
        .args([
            "-c",
            &format!(
                "cd {} && {} exec -- {}",
                bed.sandbox.project().display(),
                cuenv().display(),
                bed.show.display()
            ),
        ]);
    Ran::of(&mut cron, &bed.sandbox).code(0).says(&format!("{}\n", bed.library));
}

#[test]
fn a_unit_file_carries_the_variables() {
    let bed = bed();
    let unit = bed.sandbox.cuenv(["env", "--format", "systemd"]).code(0).stdout;
    assert!(unit.lines().all(|line| line.starts_with("Environment=\"") && line.ends_with('"')));
    assert!(unit.contains(&format!("Environment=\"LD_LIBRARY_PATH={}\"\n", bed.library)));
}

#[test]
fn mpirun_hands_on_what_exec_set() {
    if missing(&["mpirun"]) {
        return;
    }
    let bed = bed();
    let flags = ["--allow-run-as-root", "--oversubscribe", "-np", "2"];
    // Open MPI puts its own directory in front of the list.
    let check = |ran: Ran| {
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "{}", ran.stderr);
        for line in lines {
            let elements: Vec<&str> = line.split(':').collect();
            assert_eq!(
                elements.iter().filter(|element| **element == bed.library).count(),
                1,
                "{line}"
            );
        }
    };
    let mut inside = vec!["exec", "--", "mpirun"];
    inside.extend(flags);
    inside.push(bed.show.to_str().unwrap());
    check(bed.sandbox.cuenv(inside).code(0));
    // Each rank for itself, which also holds on other hosts.
    let mut each = bed.sandbox.command("mpirun");
    each.args(flags).arg(cuenv()).args(["exec", "--"]).arg(&bed.show);
    check(Ran::of(&mut each, &bed.sandbox).code(0));
    // The printed flags, without cuenv on the far side.
    let mut printed = bed.sandbox.command("sh");
    printed.args([
        "-c",
        &format!(
            "mpirun {} $({} env --format mpirun) {}",
            flags.join(" "),
            cuenv().display(),
            bed.show.display()
        ),
    ]);
    check(Ran::of(&mut printed, &bed.sandbox).code(0));
}

#[test]
fn sudo_drops_the_variables_and_exec_behind_it_brings_them() {
    if missing(&["sudo"]) {
        return;
    }
    let works = Command::new("sudo").args(["-n", "true"]).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: sudo asks for a password");
        return;
    }
    let bed = bed();
    let show = bed.show.to_str().unwrap();
    let ran = bed.sandbox.cuenv(["exec", "--", "sudo", "-n", "-E", show]).code(0).says("unset\n");
    assert!(ran.stderr.contains("the loader drops LD_LIBRARY_PATH"), "{}", ran.stderr);
    let mut behind = bed.sandbox.command("sudo");
    let home = format!("CUENV_HOME={}", bed.sandbox.cuenv_home().display());
    behind.args(["-n", &home]).arg(cuenv()).args(["exec", "--", show]);
    Ran::of(&mut behind, &bed.sandbox).code(0).says(&format!("{}\n", bed.library));
}

/// A server of one's own on the loopback interface.
struct Sshd {
    child: Child,
    port: u16,
    directory: PathBuf,
}

impl Sshd {
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let directory = sandbox.root().join("ssh");
        std::fs::create_dir_all(&directory).unwrap();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(directory.join(key))
                .status();
            assert!(made.unwrap().success());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let below = directory.display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {below}/host\nAuthorizedKeysFile {below}/user.pub\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n"
        );
        std::fs::write(directory.join("config"), config).unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(directory.join("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { child, port, directory };
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > Duration::from_secs(10) {
                println!("skipped: sshd does not start here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn run(&self, line: &str) -> Command {
        let mut command = Command::new("ssh");
        command
            .args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"])
            .args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-p"])
            .arg(self.port.to_string())
            .arg("-i")
            .arg(self.directory.join("user"))
            .args(["127.0.0.1", line]);
        command
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ssh_starts_a_shell_without_a_hook() {
    if missing(&["ssh", "ssh-keygen", "/usr/sbin/sshd"]) {
        return;
    }
    let bed = bed();
    let Some(server) = Sshd::start(&bed.sandbox) else { return };
    let login = Ran::of(&mut server.run("true"), &bed.sandbox);
    if login.code != Some(0) {
        println!("skipped: no login over ssh here: {}", login.stderr);
        return;
    }
    let project = bed.sandbox.project();
    let (project, show) = (project.display(), bed.show.display());
    let home = format!("CUENV_HOME={}", bed.sandbox.cuenv_home().display());
    let cli = cuenv().display();
    // What DeepSpeed and pdsh do: nothing of the caller's environment arrives.
    let mut plain = server.run(&show.to_string());
    plain.env("LD_LIBRARY_PATH", "/callers");
    Ran::of(&mut plain, &bed.sandbox).code(0).says("unset\n");
    let line = format!("cd {project} && {home} {cli} exec -- {show}");
    let expected = format!("{}\n", bed.library);
    Ran::of(&mut server.run(&line), &bed.sandbox).code(0).says(&expected);
    // A shim called by its path needs no variable at all.
    let shims = bed.sandbox.shims(&["show"]);
    let line = format!(
        "cd {project} && PATH={}:$PATH {}/show",
        bed.show.parent().unwrap().display(),
        shims.display()
    );
    Ran::of(&mut server.run(&line), &bed.sandbox).code(0).says(&expected);
    // DeepSpeed reads `.deepspeed_env` and puts its lines in front of the command as `export NAME=VALUE;`.
    let lines = bed.sandbox.cuenv(["env", "--format", "deepspeed"]).code(0).stdout;
    let exports: String = lines
        .lines()
        .map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            let value = value.replace("[CUENV]", bed.sandbox.cuenv_home().to_str().unwrap());
            format!("export {name}={value}; ")
        })
        .collect();
    let line = format!("{exports} cd {project}; {show}");
    Ran::of(&mut server.run(&line), &bed.sandbox).code(0).says(&expected);
}

const ALL_REDUCE: &str = "import os, socket, torch, torch.distributed as dist\n\
    dist.init_process_group('gloo')\n\
    x = torch.ones(8); dist.all_reduce(x)\n\
    assert x[0].item() == dist.get_world_size()\n\
    print('rank', dist.get_rank(), 'of', dist.get_world_size(), os.environ.get('CUENV_ACTIVE'), flush=True)\n\
    dist.destroy_process_group()\n";

fn torch_environment() -> PathBuf {
    PathBuf::from(
        std::env::var("CUENV_TEST_VENV").expect("set CUENV_TEST_VENV to an environment with torch"),
    )
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("rank ")).collect();
    lines.sort_unstable();
    lines
}

#[test]
#[ignore = "needs an environment with torch, some gigabytes"]
fn torchrun_on_one_host_gives_every_worker_the_toolchain() {
    let bed = bed();
    let script = bed.sandbox.write("train.py", ALL_REDUCE);
    let shims = bed.sandbox.shims(&["torchrun", "python", "accelerate"]);
    let venv = torch_environment();
    let path = format!("{}:{}/bin:/usr/bin:/bin", shims.display(), venv.display());
    let expected = ["rank 0 of 2 12.4.1-b", "rank 1 of 2 12.4.1-b"];
    // A rendezvous that goes wrong waits for many minutes.
    let mut through_shim = bed.sandbox.command("timeout");
    through_shim
        .env("PATH", &path)
        .args(["120", "torchrun", "--standalone", "--nproc-per-node", "2"])
        .arg(&script);
    let ran = Ran::of(&mut through_shim, &bed.sandbox).code(0);
    assert_eq!(sorted(&ran.stdout), expected, "{} {}", ran.stdout, ran.stderr);
    let torchrun = venv.join("bin/torchrun");
    let torchrun = torchrun.to_str().unwrap();
    let args = ["exec", "--", "timeout", "120", torchrun, "--standalone", "--nproc-per-node", "2"];
    let ran = bed.sandbox.cuenv(args.iter().copied().chain([script.to_str().unwrap()])).code(0);
    assert_eq!(sorted(&ran.stdout), expected, "{} {}", ran.stdout, ran.stderr);
    if venv.join("bin/accelerate").exists() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        // On the CPU of one host it starts one plain process.
        let text = "import os; print(os.environ.get('CUENV_ACTIVE'))\n";
        let plain = bed.sandbox.write("plain.py", text);
        let mut accelerate = bed.sandbox.command("timeout");
        accelerate
            .env("PATH", &path)
            .args(["120", "accelerate", "launch", "--cpu", "--num_processes", "2"])
            .args(["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"])
            .args(["--main_process_port", &port])
            .arg(&plain);
        let ran = Ran::of(&mut accelerate, &bed.sandbox).code(0);
        assert!(ran.stdout.contains("12.4.1-b\n"), "{} {}", ran.stdout, ran.stderr);
    } else {
        println!("skipped: no accelerate");
    }
}

#[test]
#[ignore = "needs root, network namespaces and an environment with torch"]
fn torchrun_on_two_hosts_gives_every_worker_the_toolchain() {
    let bed = bed();
    let Some(hosts) = Hosts::up(bed.sandbox.root()) else { return };
    let script = bed.sandbox.write("train.py", ALL_REDUCE);
    let shims = bed.sandbox.shims(&["torchrun"]);
    let venv = torch_environment();
    let start = |host: &str, rank: u32| {
        hosts
            .command(host, "timeout")
            .arg("120")
            .arg(shims.join("torchrun"))
            .args(["--nnodes", "2", "--nproc-per-node", "1", "--node-rank", &rank.to_string()])
            .args(["--rdzv-id", "7", "--rdzv-backend", "c10d"])
            .args(["--rdzv-endpoint", "10.92.0.1:29511"])
            .arg(&script)
            .current_dir(bed.sandbox.project())
            .env("HOME", bed.sandbox.home())
            .env("CUENV_HOME", bed.sandbox.cuenv_home())
            .env("PATH", format!("{}/bin:/usr/sbin:/usr/bin:/sbin:/bin", venv.display()))
            .env("GLOO_SOCKET_IFNAME", "eth0")
            .env("TP_SOCKET_IFNAME", "eth0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (a, b) = (start("a", 0), start("b", 1));
    let (a, b) = (a.wait_with_output().unwrap(), b.wait_with_output().unwrap());
    let all =
        format!("{}{}", String::from_utf8_lossy(&a.stdout), String::from_utf8_lossy(&b.stdout));
    let said = String::from_utf8_lossy(&a.stderr);
    assert_eq!(sorted(&all), ["rank 0 of 2 12.4.1-b", "rank 1 of 2 12.4.1-b"], "{said}");
}
