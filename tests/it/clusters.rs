//! Launchers that start processes elsewhere: Slurm, Open MPI and pdsh over ssh, a service manager. Each runs for real,
//! where it is installed; what does not arrive is held as well, so that the documents stay true.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::hosts::Hosts;
use crate::support::sandbox::{Ran, Sandbox, cuenv};
use crate::support::slurm::Slurm;
use crate::support::terminal::is_installed;

/// An installation as a user has it: both programs under `bin/`, so that they know their data from their place alone.
struct Bed {
    sandbox: Sandbox,
    cli: PathBuf,
    shims: PathBuf,
    show: PathBuf,
    library: String,
}

const SHOW: &str = "#!/bin/sh\necho \"${LD_LIBRARY_PATH-unset}\"\n";

fn bed() -> Bed {
    let sandbox = Sandbox::new();
    let prefix = sandbox.toolchain("12.4.1-b", "12.4", &[]);
    sandbox.write(".cuenv", "12.4\n");
    let shims = sandbox.shims(&["show", "python3"]);
    let cli = sandbox.cuenv_home().join("bin/cuenv");
    std::fs::hard_link(cuenv(), &cli).unwrap();
    let show = sandbox.program("tools/show", SHOW);
    let library = sandbox.redact(&format!("{}/lib", prefix.display()));
    Bed { sandbox, cli, shims, show, library }
}

fn missing(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !is_installed(program));
    if let Some(program) = missing {
        println!("skipped: no {program}");
    }
    missing.is_some()
}

impl Bed {
    /// Asserts that a run printed `expected` once for each rank.
    #[track_caller]
    fn ranks(&self, command: &mut Command, expected: &[&str]) {
        let ran = Ran::of(command, &self.sandbox).code(0);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines, expected, "{}", ran.stderr);
    }
}

#[test]
fn slurm_starts_tasks_with_and_without_an_environment() {
    if missing(&["srun", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"]) {
        return;
    }
    let bed = bed();
    let Some(slurm) = Slurm::up(bed.sandbox.root()) else { return };
    let (library, project) = (bed.library.as_str(), bed.sandbox.project());
    let srun = |export: &str, program: &Path| {
        let mut command = slurm.command("srun");
        command
            .current_dir(&project)
            .args(["-N2", "-n2", &format!("--export={export}")])
            .arg(program);
        command
    };
    let path = "import os; print(os.environ.get('LD_LIBRARY_PATH', 'unset'))";
    // Nothing at all is handed on, not even PATH and HOME: a shim, or cuenv, called by its path.
    bed.ranks(&mut srun("NONE", &bed.show), &["unset", "unset"]);
    bed.ranks(srun("NONE", &bed.shims.join("python3")).args(["-c", path]), &[library, library]);
    let mut through_exec = srun("NONE", &bed.cli);
    bed.ranks(through_exec.args(["exec", "--"]).arg(&bed.show), &[library, library]);
    // Everything is handed on: the shims of the caller's PATH, or what `cuenv exec` set before.
    let inherited = format!("{}:/usr/bin:/bin", bed.shims.display());
    let mut through_shim = srun("ALL", Path::new("python3"));
    bed.ranks(through_shim.args(["-c", path]).env("PATH", inherited), &[library, library]);
    let mut around = slurm.command(bed.cli.to_str().unwrap());
    around.current_dir(&project).args(["exec", "--", "srun", "-N2", "-n2"]).arg(&bed.show);
    bed.ranks(&mut around, &[library, library]);
    // The printed flag brings the variables themselves.
    let flag = bed.sandbox.cuenv(["env", "--format", "sbatch"]).code(0).stdout;
    let flag = flag.trim().replace("[CUENV]", bed.sandbox.cuenv_home().to_str().unwrap());
    let mut printed = slurm.command("srun");
    printed.current_dir(&project).args(["-N2", "-n2", &flag]).arg(&bed.show);
    bed.ranks(&mut printed, &[library, library]);
}

#[test]
fn open_mpi_and_pdsh_reach_another_host_over_ssh() {
    if missing(&["mpirun", "ssh", "/usr/sbin/sshd", "ip", "nsenter"]) {
        return;
    }
    let bed = bed();
    let Some(mut hosts) = Hosts::up(bed.sandbox.root()) else { return };
    // An administrator's form for shells that nobody logs in to: the shims are first on their PATH.
    let path =
        format!("{}:{}:/usr/bin:/bin", bed.shims.display(), bed.show.parent().unwrap().display());
    if !hosts.sshd("b", &format!("SetEnv PATH={path}\n")) {
        return;
    }
    let (library, project) = (bed.library.as_str(), bed.sandbox.project());
    let agent = format!("ssh -F {}", hosts.client().display());
    let flags = [
        "--allow-run-as-root",
        "--mca",
        "plm_rsh_agent",
        &agent,
        "--mca",
        "btl_tcp_if_include",
        "eth0",
        "--mca",
        "oob_tcp_if_include",
        "eth0",
        "-np",
        "1",
        "--host",
        "node-b",
    ];
    let on_a = |program: &Path| {
        let mut command = hosts.command("a", program);
        command.current_dir(&project).env("HOME", bed.sandbox.home());
        command
    };
    // Open MPI puts its own directory in front of the list.
    let check = |command: &mut Command, expected: bool, what: &str| {
        let ran = Ran::of(command, &bed.sandbox);
        let found = ran.stdout.trim().split(':').any(|element| element == library);
        assert_eq!(found, expected, "{what}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
    };
    let show = bed.show.to_str().unwrap();
    let mut inside = on_a(&bed.cli);
    inside.args(["exec", "--", "mpirun"]).args(flags).arg(show);
    check(&mut inside, false, "what exec set stays on this host");
    let mut handed = on_a(&bed.cli);
    handed.args(["exec", "--", "mpirun", "-x", "LD_LIBRARY_PATH"]).args(flags).arg(show);
    check(&mut handed, true, "-x");
    let mut listed = on_a(&bed.cli);
    listed.env("OMPI_MCA_mca_base_env_list", "LD_LIBRARY_PATH;CUDA_HOME");
    listed.args(["exec", "--", "mpirun"]).args(flags).arg(show);
    check(&mut listed, true, "mca_base_env_list");
    let mut there = on_a(Path::new("mpirun"));
    there.args(flags).arg(&bed.cli).args(["exec", "--", show]);
    check(&mut there, true, "cuenv exec on the far side");
    let mut shim = on_a(Path::new("mpirun"));
    shim.args(flags).arg(bed.shims.join("show"));
    check(&mut shim, true, "a shim on the far side");

    let ssh = |line: &str| {
        let mut command = on_a(Path::new("ssh"));
        command.arg("-F").arg(hosts.client()).args(["node-b", line]);
        command
    };
    let line = format!("cd {} && show", project.display());
    bed.ranks(&mut ssh(&line), &[library]);
    // What DeepSpeed does with its pdsh launcher: `export` of every line of `.deepspeed_env`, then the command.
    if missing(&["pdsh"]) {
        return;
    }
    let lines = bed.sandbox.cuenv(["env", "--format", "deepspeed"]).code(0).stdout;
    let lines = lines.replace("[CUENV]", bed.sandbox.cuenv_home().to_str().unwrap());
    let exports: String = lines.lines().map(|line| format!("export {line}; ")).collect();
    let pdsh = |line: &str| {
        let mut command = on_a(Path::new("pdsh"));
        let agent = format!("-F {}", hosts.client().display());
        command.env("PDSH_SSH_ARGS_APPEND", agent).args(["-N", "-R", "ssh", "-w", "node-b", line]);
        command
    };
    bed.ranks(&mut pdsh(show), &["unset"]);
    bed.ranks(&mut pdsh(&format!("{exports}{show}")), &[library]);
    let line = format!("cd {} && {} exec -- {show}", project.display(), bed.cli.display());
    bed.ranks(&mut pdsh(&line), &[library]);
}

/// Starts a real service manager for a user, in namespaces of its own, and runs a script beside it.
const MANAGER: &str = r#"
mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system /run/user/0; chmod 700 /run/user/0
export XDG_RUNTIME_DIR=/run/user/0
env -i PATH=/usr/bin:/bin XDG_RUNTIME_DIR=/run/user/0 XDG_CONFIG_HOME="$1" HOME="$1" USER=root SYSTEMD_LOG_TARGET=console \
    /lib/systemd/systemd --user --unit=sockets.target >"$1/log" 2>&1 &
for i in $(seq 100); do [ -S /run/user/0/systemd/private ] && break; sleep 0.1; done
[ -S /run/user/0/systemd/private ] || exit 77
eval "$2"
"#;

#[test]
fn a_service_manager_starts_units_in_the_toolchain() {
    if missing(&["/lib/systemd/systemd", "systemctl", "systemd-run", "unshare"]) {
        return;
    }
    let bed = bed();
    let home = bed.sandbox.root().join("services");
    let units = home.join("systemd/user");
    std::fs::create_dir_all(&units).unwrap();
    let (cli, show, project) = (bed.cli.display(), bed.show.display(), bed.sandbox.project());
    let variables = bed.sandbox.cuenv(["env", "--format", "systemd"]).code(0).stdout;
    let variables = variables.replace("[CUENV]", bed.sandbox.cuenv_home().to_str().unwrap());
    for (name, lines) in [
        ("plain", format!("ExecStart={show}\n")),
        ("wrapped", format!("ExecStart={cli} exec -- {show}\n")),
        ("variables", format!("{variables}ExecStart={show}\n")),
    ] {
        let out = home.join(name);
        let unit = format!(
            "[Service]\nType=oneshot\nWorkingDirectory={}\nStandardOutput=file:{}\n{lines}",
            project.display(),
            out.display()
        );
        std::fs::write(units.join(format!("{name}.service")), unit).unwrap();
    }
    let transient = home.join("transient");
    let script = format!(
        "for unit in plain wrapped variables; do systemctl --user start $unit.service || exit 1; done
         systemd-run --user --quiet --wait --working-directory={} --property=StandardOutput=file:{} {cli} exec -- {show}",
        project.display(),
        transient.display()
    );
    let mut command = Command::new("timeout");
    command
        .args([
            "60",
            "unshare",
            "--mount",
            "--pid",
            "--net",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ])
        .args(["sh", "-c", MANAGER, "sh"])
        .arg(&home)
        .arg(&script);
    let ran = Ran::of(&mut command, &bed.sandbox);
    if ran.code == Some(77) || ran.stderr.contains("unshare failed") {
        let log = std::fs::read_to_string(home.join("log")).unwrap_or_default();
        println!(
            "skipped: no service manager here: {} {}",
            ran.stderr,
            log.lines().last().unwrap_or_default()
        );
        return;
    }
    let ran = ran.code(0);
    let said = |name: &str| {
        let start = Instant::now();
        loop {
            let text = std::fs::read_to_string(home.join(name)).unwrap_or_default();
            if !text.is_empty() || start.elapsed() > Duration::from_secs(5) {
                return bed.sandbox.redact(&text);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    assert_eq!(said("plain"), "unset\n", "{}", ran.stderr);
    for name in ["wrapped", "variables", "transient"] {
        assert_eq!(said(name), format!("{}\n", bed.library), "{name}: {}", ran.stderr);
    }
}
