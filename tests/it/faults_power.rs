//! Power cuts: a file system of its own on a loop device, shut down as a cut does it (what only memory has is never
//! written), mounted again and compared with an undisturbed installation. Needs root.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::faults::{World, rounds};
use crate::support::sandbox::cuenv;

/// Lets a program believe that the file system has no direct writing, and keeps it from asking for writing in advance: what
/// is not waited for stays in memory.
const CACHED: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fadvise64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 98;
    execv(argv[1], argv + 1);
    return 99;
}
"#;

/// Installs on `$IMAGE`, cuts the power `$AFTER` seconds after the start (`end`: when it is done), mounts it again, compares
/// what is published with `$WHOLE`, and lets a second run make it whole. In a mount namespace of its own.
const ROUND: &str = r#"
set -e
fail() { echo "$1"; exit 1; }
cut() { python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", int(sys.argv[2])))' "$CUENV_HOME" "$LOG"; }
mount -o loop "$IMAGE" "$CUENV_HOME" || exit 77
"$@" & pid=$!
if [ "$AFTER" = end ]; then
    wait $pid || fail "the first installation"
    cut || exit 77
else
    sleep "$AFTER"; cut || exit 77; kill -9 $pid 2>/dev/null || true; wait $pid 2>/dev/null || true
fi
umount "$CUENV_HOME"
mount -o loop "$IMAGE" "$CUENV_HOME"
for kind in store toolchains/linux-*; do
    for entry in "$CUENV_HOME"/$kind/*; do
        [ -e "$entry" ] || continue
        name=${entry#"$CUENV_HOME"/}
        diff -rq --no-dereference "$WHOLE/$name" "$entry" || fail "published and not whole: $name"
        published="$published $name"
    done
done
shift $(($# - 4))
"$@" || fail "the second installation"
for part in store toolchains active; do
    diff -rq --no-dereference "$WHOLE/$part" "$CUENV_HOME/$part" || fail "another tree"
done
umount "$CUENV_HOME"
echo "published $published"
"#;

/// What happened to the journal just before the cut.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Log {
    /// It was written: every name is there, and files whose bytes nobody has flushed are empty.
    Written = 1,
    /// It was not.
    Lost = 2,
}

struct Bench {
    world: World,
    whole: PathBuf,
    image: PathBuf,
    cached: PathBuf,
}

impl Bench {
    /// `None`, with a word about it, where this cannot be done.
    fn new() -> Option<Self> {
        let skip = |why: &str| {
            println!("skipped: {why}");
            None
        };
        if !rustix_is_root() {
            return skip("power cuts need root");
        }
        let world = World::new(8 << 20);
        let root = world.sandbox.root().to_owned();
        let (source, cached) = (root.join("cached.c"), root.join("cached"));
        fs::write(&source, CACHED).unwrap();
        let made = Command::new("gcc").arg(&source).arg("-o").arg(&cached).status();
        if !made.is_ok_and(|status| status.success()) {
            return skip("no gcc");
        }
        let whole = root.join("whole");
        fs::rename(world.home(), &whole).unwrap();
        fs::create_dir(world.home()).unwrap();
        Some(Self { whole, image: root.join("image"), cached, world })
    }

    fn round(&self, make: &[&str], direct: bool, after: &str, log: Log) -> Option<String> {
        let image = fs::File::create(&self.image).unwrap();
        image.set_len(0).unwrap();
        image.set_len(400 << 20).unwrap();
        let made = Command::new(make[0]).args(&make[1..]).arg(&self.image).output();
        if !made.is_ok_and(|output| output.status.success()) {
            println!("skipped: no {}", make[0]);
            return None;
        }
        let mut command = self.world.sandbox.command("unshare");
        command.args(["-m", "sh", "-c", ROUND, "sh"]);
        if !direct {
            command.arg(&self.cached);
        }
        command.arg(cuenv()).args(["install", "--locked", "-q"]);
        command.env("IMAGE", &self.image).env("AFTER", after).env("WHOLE", &self.whole);
        command.env("LOG", (log as u8).to_string());
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(77) {
            println!("skipped: {make:?} cannot be mounted or shut down here: {errors}");
            return None;
        }
        let what = format!("{make:?} direct {direct} after {after}, log {log:?}");
        assert!(output.status.success(), "{what}: {said}{errors}");
        Some(said)
    }
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|seen| seen.uid() == 0)
}

#[test]
fn a_power_cut_leaves_what_is_published_whole() {
    let Some(bench) = Bench::new() else { return };
    let ext4 = ["mkfs.ext4", "-q", "-F"];
    let xfs = ["mkfs.xfs", "-q", "-f"];
    let makes: &[&[&str]] = if rounds(0) > 0 { &[&ext4, &xfs] } else { &[&ext4] };
    let moments: Vec<String> = if rounds(0) > 0 {
        (1..16).map(|step| format!("{}", f64::from(step) * 0.06)).collect()
    } else {
        vec!["0.3".to_owned()]
    };
    let mut rounds = 0;
    for make in makes {
        for direct in [true, false] {
            for log in [Log::Written, Log::Lost] {
                for after in std::iter::once("end").chain(moments.iter().map(String::as_str)) {
                    let Some(said) = bench.round(make, direct, after, log) else { continue };
                    rounds += 1;
                    if after == "end" && log == Log::Written {
                        let names =
                            (said.matches("store/").count(), said.matches("toolchains/").count());
                        assert_eq!(names, (4, 1), "{make:?} direct {direct}: {said}");
                    }
                }
            }
        }
    }
    println!("{rounds} power cuts");
}
