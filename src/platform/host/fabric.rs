//! Reads where GPUs and network adapters sit from `/sys`, and what NCCL shares memory through.

use super::files::{names_in, on_the_bus};
use super::{Place, ROOT_VARIABLE};
use crate::domain::found::{Found, Via};
use crate::domain::host::fabric::{Adapter, Device, Fabric, Interface, mount_size, settings};
use crate::platform::process::Process;

/// Reads the paths between GPUs; files alone, nothing is asked or started.
pub fn fabric(process: &Process) -> Fabric {
    let place = Place::new(process);
    Fabric {
        gpus: gpus(&place),
        adapters: adapters(&place),
        interfaces: interfaces(&place),
        shared_memory: shared_memory(&place),
        has_switch: !names_in(&place, "/proc/driver/nvidia-nvswitch/devices").is_empty(),
        has_peer_memory: place.exists("/sys/module/nvidia_peermem"),
        settings: place.read("/etc/nccl.conf").map_or_else(Vec::new, |(text, via)| {
            let set = settings(&text).into_iter();
            set.map(|setting| Found::new(setting, via.clone())).collect()
        }),
    }
}

/// The NUMA node of a device; the kernel says `-1` where there is none to name.
fn numa(place: &Place<'_>, device: &str) -> Option<u32> {
    place.read(&format!("{device}/numa_node"))?.0.trim().parse().ok()
}

fn gpus(place: &Place<'_>) -> Vec<Device> {
    // The driver lists what this container was given; the bus shows the whole machine.
    let mut addresses = names_in(place, "/proc/driver/nvidia/gpus");
    if addresses.is_empty() {
        addresses = on_the_bus(place);
    }
    let device = |address: String| Device {
        numa: numa(place, &format!("/sys/bus/pci/devices/{address}")),
        address,
    };
    addresses.into_iter().map(device).collect()
}

fn adapters(place: &Place<'_>) -> Vec<Adapter> {
    const ALL: &str = "/sys/class/infiniband";
    let one = |name: String| {
        let ports = format!("{ALL}/{name}/ports");
        let numbers = names_in(place, &ports);
        let of_port = |port: &String, what: &str| {
            place.read(&format!("{ports}/{port}/{what}")).map(|(text, _)| text.trim().to_owned())
        };
        let is_active =
            |port: &String| of_port(port, "state").is_some_and(|state| state.ends_with("ACTIVE"));
        Adapter {
            link: numbers.iter().find_map(|port| of_port(port, "link_layer")).unwrap_or_default(),
            is_active: numbers.iter().any(is_active),
            numa: numa(place, &format!("{ALL}/{name}/device")),
            name,
        }
    };
    names_in(place, ALL).into_iter().map(one).collect()
}

fn interfaces(place: &Place<'_>) -> Vec<Interface> {
    let names = names_in(place, "/sys/class/net").into_iter();
    names
        .map(|name| {
            let state = place.read(&format!("/sys/class/net/{name}/operstate"));
            // The loopback and many virtual interfaces never say more than `unknown`.
            let is_up = state.is_none_or(|(state, _)| state.trim() != "down");
            Interface { name, is_up }
        })
        .collect()
}

fn shared_memory(place: &Place<'_>) -> Option<Found<u64>> {
    let (mounts, via) = place.read("/proc/self/mounts")?;
    if let Some(size) = mount_size(&mounts, "/dev/shm") {
        return Some(Found::new(size, via));
    }
    // Without a size of its own it has half of the memory, which the file system itself tells: of this machine only.
    if place.process.var_os(ROOT_VARIABLE).is_some() {
        return None;
    }
    let seen = rustix::fs::statvfs("/dev/shm").ok()?;
    Some(Found::new(seen.f_blocks * seen.f_frsize, Via::File("/dev/shm".to_owned())))
}
