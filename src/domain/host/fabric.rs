//! How GPUs reach each other: where they sit, the network adapters, shared memory. What NCCL builds its paths from, as
//! far as files tell it.

use super::Found;

/// The paths between GPUs, as the kernel's files show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// The GPUs on the PCI bus.
    pub gpus: Vec<Device>,
    /// InfiniBand and RoCE adapters.
    pub adapters: Vec<Adapter>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Bytes of `/dev/shm`, where its size is told.
    pub shared_memory: Option<Found<u64>>,
    /// NVIDIA's switch between GPUs is there.
    pub has_switch: bool,
    /// The kernel module that lets adapters read GPU memory is loaded.
    pub has_peer_memory: bool,
    /// Settings of NCCL in the system's file, with the file.
    pub settings: Vec<Found<(String, String)>>,
}

/// A device on the PCI bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its bus address.
    pub address: String,
    /// The NUMA node it hangs on; absent where there is only one or none is told.
    pub numa: Option<u32>,
}

/// An InfiniBand or RoCE adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Its name: `mlx5_0`.
    pub name: String,
    /// `InfiniBand` or `Ethernet`.
    pub link: String,
    /// Whether one of its ports is active.
    pub is_active: bool,
    /// Its NUMA node.
    pub numa: Option<u32>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it carries traffic.
    pub is_up: bool,
}

impl Fabric {
    /// The interface that another machine can most likely be reached through.
    pub fn outward(&self) -> Option<&Interface> {
        const INWARD: [&str; 5] = ["lo", "docker", "veth", "br-", "virbr"];
        let outward = |one: &&Interface| !INWARD.iter().any(|start| one.name.starts_with(start));
        self.interfaces.iter().filter(outward).find(|one| one.is_up)
    }
}

/// Reads the size of a mount from `/proc/self/mounts`: the last one of that path, if it names a size.
pub fn mount_size(mounts: &str, path: &str) -> Option<u64> {
    let line = mounts.lines().rev().find(|line| line.split(' ').nth(1) == Some(path))?;
    let options = line.split(' ').nth(3)?;
    let size = options.split(',').find_map(|option| option.strip_prefix("size="))?;
    let digits = size.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let shift = match &size[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    number.checked_shl(shift)
}

/// Whether a name is among those that a list of NCCL's selects: `^` before the list excludes, `=` wants the whole name,
/// otherwise its beginning is enough. Ports (`mlx5_0:1`) do not count.
pub fn selects(list: &str, name: &str) -> bool {
    let (excludes, list) = match list.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let (whole, list) = match list.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let named = list
        .split(',')
        .map(|part| part.split(':').next().unwrap_or(part))
        .any(|part| !part.is_empty() && if whole { name == part } else { name.starts_with(part) });
    named != excludes
}

/// Reads the `NCCL_…` lines of `/etc/nccl.conf`.
pub fn settings(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| name.starts_with("NCCL_"))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{mount_size, selects, settings};

    #[test]
    fn mounts_tell_their_size() {
        let mounts = "tmpfs /dev tmpfs rw,size=65536k,mode=755 0 0\nshm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n";
        assert_eq!(mount_size(mounts, "/dev/shm"), Some(64 << 20));
        assert_eq!(mount_size("shm /dev/shm tmpfs rw,size=1g 0 0", "/dev/shm"), Some(1 << 30));
        assert_eq!(mount_size("shm /dev/shm tmpfs rw 0 0", "/dev/shm"), None);
        assert_eq!(mount_size("shm /dev/shm tmpfs rw,size=50% 0 0", "/dev/shm"), None);
        // What was mounted last lies on top.
        let twice = "a /dev/shm tmpfs rw,size=1k 0 0\nb /dev/shm tmpfs rw,size=2k 0 0";
        assert_eq!(mount_size(twice, "/dev/shm"), Some(2048));
    }

    #[test]
    fn lists_of_names_are_read_as_nccl_reads_them() {
        assert!(selects("eth", "eth0"));
        assert!(selects("ib,eth0", "eth0"));
        assert!(!selects("=eth", "eth0"));
        assert!(selects("=eth0", "eth0"));
        assert!(!selects("^docker,lo", "docker0"));
        assert!(selects("^docker,lo", "eth0"));
        assert!(selects("=mlx5_0:1,mlx5_1:1", "mlx5_1"));
        assert!(!selects("^=eth0", "eth0"));
        assert!(!selects("", "eth0"));
    }

    #[test]
    fn the_systems_file_is_read() {
        let text = "# NCCL_DEBUG=INFO\nNCCL_IB_HCA = mlx5_0\nOTHER=1\n\nNCCL_DEBUG=WARN\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings(text), [pair("NCCL_IB_HCA", "mlx5_0"), pair("NCCL_DEBUG", "WARN")]);
    }
}
