//! A real Slurm of two nodes on this machine: one controller and two node daemons, told apart by their ports.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The cluster; its daemons end with it.
pub struct Slurm {
    settings: PathBuf,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts it below a directory; `None`, said in a line, where it does not come up.
    pub fn up(directory: &Path) -> Option<Self> {
        if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
            println!("skipped: Slurm's daemons need root");
            return None;
        }
        let directory = directory.join("slurm");
        for below in ["state", "spool/n1", "spool/n2"] {
            std::fs::create_dir_all(directory.join(below)).unwrap();
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        // All are asked for before any is given back, so that they differ.
        let held: Vec<TcpListener> =
            (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = held.iter().map(|port| port.local_addr().unwrap().port()).collect();
        drop(held);
        let below = directory.display();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/none\nCredType=cred/none\nSlurmctldPort={}\nSlurmdPort={}\n\
             StateSaveLocation={below}/state\nSlurmdSpoolDir={below}/spool/%n\n\
             SlurmctldPidFile={below}/slurmctld.pid\nSlurmdPidFile={below}/%n.pid\n\
             SlurmctldLogFile={below}/slurmctld.log\nSlurmdLogFile={below}/%n.log\nMailProg=/bin/true\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdParameters=config_overrides\nKillWait=2\n",
            ports[0], ports[1]
        );
        for (number, port) in [(1, ports[2]), (2, ports[3])] {
            let _ = writeln!(
                text,
                "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=500 State=UNKNOWN"
            );
        }
        text.push_str("PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n");
        let settings = directory.join("slurm.conf");
        std::fs::write(&settings, text).unwrap();
        let mut slurm = Self { settings, daemons: Vec::new() };
        slurm.daemon("slurmctld", &["-D", "-c"]);
        slurm.daemon("slurmd", &["-D", "-N", "n1"]);
        slurm.daemon("slurmd", &["-D", "-N", "n2"]);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            let mut ask = slurm.command("sinfo");
            let seen = ask.args(["-h", "-N", "-o", "%T"]).output().unwrap().stdout;
            if String::from_utf8_lossy(&seen).lines().filter(|line| *line == "idle").count() == 2 {
                return Some(slurm);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = std::fs::read_to_string(directory.join("slurmctld.log")).unwrap_or_default();
        println!(
            "skipped: Slurm does not come up here: {}",
            log.lines().last().unwrap_or_default()
        );
        None
    }

    fn daemon(&mut self, name: &str, args: &[&str]) {
        let mut daemon = self.command(&format!("/usr/sbin/{name}"));
        daemon.args(args).arg("-f").arg(&self.settings);
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(daemon.spawn().unwrap());
    }

    /// A client's command, with nothing of this process's environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("SLURM_CONF", &self.settings);
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
