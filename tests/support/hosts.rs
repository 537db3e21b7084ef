//! Two hosts on one machine: network namespaces joined by a pair of virtual devices, private to one test, each with a
//! name, a table of names and, if asked, a server for logins of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// `node-a` and `node-b`, 10.92.0.1 and 10.92.0.2.
pub struct Hosts {
    name: String,
    directory: PathBuf,
    servers: Vec<Child>,
}

impl Hosts {
    /// Makes the hosts; `None`, said in a line, where that cannot be. What they need lies below `directory`.
    pub fn up(directory: &Path) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = directory.join("hosts");
        std::fs::create_dir_all(&directory).unwrap();
        let name = format!("cuenv{}-{number}", std::process::id());
        let hosts = Self { name, directory, servers: Vec::new() };
        let name = &hosts.name;
        let script = format!(
            "set -e; ip netns add {name}-a; ip netns add {name}-b
             ip -n {name}-a link add eth0 type veth peer name eth0 netns {name}-b
             ip -n {name}-a addr add 10.92.0.1/24 dev eth0; ip -n {name}-b addr add 10.92.0.2/24 dev eth0
             for x in a b; do ip -n {name}-$x link set lo up; ip -n {name}-$x link set eth0 up; done"
        );
        let made = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no network namespaces here");
            return None;
        }
        let table = "127.0.0.1 localhost\n10.92.0.1 node-a\n10.92.0.2 node-b\n";
        std::fs::write(hosts.directory.join("names"), table).unwrap();
        Some(hosts)
    }

    /// A command on a host, with nothing of this process's environment.
    pub fn command(&self, host: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let names = self.directory.join("names");
        // The name of the host and its table of names are the namespace's own.
        let inner = "hostname node-$1; mount --bind \"$2\" /etc/hosts; shift 2; exec \"$@\"";
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/run/netns/{}-{host}", self.name))
            .args(["unshare", "--uts", "--mount", "sh", "-c", inner, "sh", host])
            .arg(names)
            .arg(program)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// Starts a server for logins on a host, as root with a key of the test's own. `lines` are added to its settings.
    pub fn sshd(&mut self, host: &str, lines: &str) -> bool {
        let below = self.directory.display().to_string();
        for key in ["host", "user"] {
            if !self.directory.join(key).exists() {
                let mut make = Command::new("ssh-keygen");
                make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.directory.join(key));
                assert!(make.status().unwrap().success());
            }
        }
        let client = format!(
            "Host *\nIdentityFile {below}/user\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\nBatchMode yes\n"
        );
        std::fs::write(self.directory.join("client"), client).unwrap();
        let settings = format!(
            "HostKey {below}/host\nAuthorizedKeysFile {below}/user.pub\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPidFile none\n{lines}"
        );
        let file = self.directory.join(format!("sshd-{host}"));
        std::fs::write(&file, settings).unwrap();
        std::fs::create_dir_all("/run/sshd").unwrap();
        let mut server = self.command(host, "/usr/sbin/sshd");
        server.args(["-D", "-e", "-f"]).arg(&file).stdin(Stdio::null()).stderr(Stdio::null());
        self.servers.push(server.spawn().unwrap());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            let mut login = self.command(host, "ssh");
            login.arg("-F").arg(self.client()).args([&format!("node-{host}"), "true"]);
            if login.stderr(Stdio::null()).status().unwrap().success() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("skipped: no login over ssh here");
        false
    }

    /// The settings of a client that may log in.
    pub fn client(&self) -> PathBuf {
        self.directory.join("client")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for host in ["a", "b"] {
            let _ = Command::new("ip")
                .args(["netns", "del", &format!("{}-{host}", self.name)])
                .stderr(Stdio::null())
                .status();
        }
    }
}
