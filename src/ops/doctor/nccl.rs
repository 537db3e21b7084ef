//! What NCCL builds its paths from: where GPUs and adapters sit, shared memory, and the variables that steer it.
//!
//! Said where there is more than one GPU, or where a variable of NCCL's is set; nobody else asks.

use crate::context::Context;
use crate::domain::finding::{Finding, Severity};
use crate::domain::host::Host;
use crate::domain::host::fabric::{Adapter, Device, Fabric, selects};
use crate::domain::size::megabytes;
use crate::platform::host::fabric;

/// NCCL and the loaders of data share memory there; Docker gives 64 MB, which is not enough for several GPUs.
const ENOUGH_SHARED: u64 = 1 << 30;

pub(super) fn check(cx: &Context<'_>, host: &Host) -> Vec<Finding> {
    let settings = set_here(cx);
    let several = host.gpus.len() > 1;
    if !several && settings.is_empty() {
        return Vec::new();
    }
    let fabric = fabric(cx.process);
    let all = Settings { here: settings, fabric: &fabric };
    let mut found = Vec::new();
    found.extend(interface(&all, several));
    found.extend(adapter(&all));
    found.extend(unused_adapter(&all));
    if several {
        found.extend(shared_memory(&all, host));
    }
    found.push(paths(&all, host));
    found
}

/// NCCL's variables of this process, by name.
fn set_here(cx: &Context<'_>) -> Vec<(String, String)> {
    let all = cx.process.env().iter();
    all.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .filter(|(name, value)| name.starts_with("NCCL_") && !value.is_empty())
        .collect()
}

struct Settings<'a> {
    here: Vec<(String, String)>,
    fabric: &'a Fabric,
}

impl Settings<'_> {
    /// A variable of this process, else the line of the system's file.
    fn get(&self, name: &str) -> Option<(&str, String)> {
        if let Some((_, value)) = self.here.iter().find(|(known, _)| known == name) {
            return Some((value, format!("unset {name}")));
        }
        let line = self.fabric.settings.iter().find(|line| line.value.0 == name)?;
        Some((&line.value.1, format!("remove `{name}` from {}", line.via)))
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|(value, _)| value.trim() != "0")
    }
}

fn joined(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// `NCCL_SOCKET_IFNAME` that names no interface: NCCL ends with `no socket interface found`.
fn interface(settings: &Settings<'_>, several: bool) -> Option<Finding> {
    const NAME: &str = "NCCL_SOCKET_IFNAME";
    let (list, undo) = settings.get(NAME)?;
    let interfaces = &settings.fabric.interfaces;
    if interfaces.is_empty() || interfaces.iter().any(|one| selects(list, &one.name)) {
        return None;
    }
    let here = joined(interfaces.iter().map(|one| format!("`{}`", one.name)));
    let fix = match settings.fabric.outward() {
        Some(outward) => format!("export {NAME}={}", outward.name),
        None => undo,
    };
    let severity = if several { Severity::Error } else { Severity::Warning };
    Some(
        Finding::new(
            "nccl-interface",
            severity,
            format!("{NAME} names no network interface of this machine: NCCL will not start"),
        )
        .proof(format!("{NAME}={list}"))
        .proof(format!("interfaces here: {here}"))
        .fix(fix),
    )
}

/// `NCCL_IB_HCA` that names no adapter: NCCL goes on through sockets, slowly, and says so only in its log.
fn adapter(settings: &Settings<'_>) -> Option<Finding> {
    const NAME: &str = "NCCL_IB_HCA";
    let (list, undo) = settings.get(NAME)?;
    let adapters = &settings.fabric.adapters;
    if adapters.is_empty() || adapters.iter().any(|one| selects(list, &one.name)) {
        return None;
    }
    let here = joined(adapters.iter().map(|one| format!("`{}`", one.name)));
    Some(
        Finding::new(
            "nccl-adapter",
            Severity::Warning,
            format!("{NAME} names no adapter of this machine, so NCCL falls back to sockets"),
        )
        .proof(format!("{NAME}={list}"))
        .proof(format!("adapters here: {here}"))
        .fix(undo),
    )
}

/// A fast network is there, and a variable keeps NCCL from it.
fn unused_adapter(settings: &Settings<'_>) -> Option<Finding> {
    const NAME: &str = "NCCL_IB_DISABLE";
    let active = settings.fabric.adapters.iter().find(|one| one.is_active)?;
    if !settings.is_on(NAME) {
        return None;
    }
    let (value, undo) = settings.get(NAME)?;
    Some(
        Finding::new(
            "nccl-adapter-unused",
            Severity::Warning,
            format!("{NAME} keeps NCCL from `{}`, so machines talk through sockets", active.name),
        )
        .proof(format!("{NAME}={value}"))
        .proof(described(active))
        .fix(undo),
    )
}

fn shared_memory(settings: &Settings<'_>, host: &Host) -> Option<Finding> {
    let size = settings.fabric.shared_memory.as_ref()?;
    if size.value >= ENOUGH_SHARED || settings.is_on("NCCL_SHM_DISABLE") {
        return None;
    }
    let fix = if host.container.is_some() {
        "start the container with `--shm-size=1g` (or `--ipc=host`)"
    } else {
        "ask the administrator: `mount -o remount,size=1g /dev/shm`"
    };
    Some(
        Finding::new(
            "nccl-shared-memory",
            Severity::Warning,
            format!(
                "`/dev/shm` has {}: NCCL and data loaders of several GPUs run out of it, and die with a bus error",
                megabytes(size.value)
            ),
        )
        .proof(format!("its size, from {}", size.via))
        .fix(fix),
    )
}

fn node(numa: Option<u32>) -> String {
    numa.map(|node| format!(", NUMA node {node}")).unwrap_or_default()
}

fn described(adapter: &Adapter) -> String {
    let state = if adapter.is_active { "active" } else { "no active port" };
    let link = if adapter.link.is_empty() { "adapter" } else { &adapter.link };
    format!("`{}`: {link}, {state}{}", adapter.name, node(adapter.numa))
}

/// All that is known, as one note.
fn paths(settings: &Settings<'_>, host: &Host) -> Finding {
    let fabric = settings.fabric;
    let what = match host.gpus.len() {
        0 | 1 => "variables that steer NCCL are set".to_owned(),
        count => format!("{count} GPUs: what NCCL has to reach them by"),
    };
    let mut finding = Finding::new("nccl", Severity::Note, what);
    if host.gpus.len() > 1 {
        let mut nodes: Vec<Option<u32>> = fabric.gpus.iter().map(|gpu| gpu.numa).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node_of in nodes {
            let here = fabric.gpus.iter().filter(|gpu: &&Device| gpu.numa == node_of);
            let addresses: Vec<&str> = here.map(|gpu| gpu.address.as_str()).collect();
            finding = finding.proof(format!("GPU {}{}", addresses.join(", "), node(node_of)));
        }
        finding = finding.proof(if fabric.has_switch {
            "NVSwitch joins the GPUs of this machine".to_owned()
        } else {
            "no NVSwitch: direct links, PCI or shared memory (`nvidia-smi topo -m` shows which)"
                .to_owned()
        });
        if let Some(size) = &fabric.shared_memory {
            finding = finding.proof(format!("`/dev/shm`: {}", megabytes(size.value)));
        }
        for adapter in &fabric.adapters {
            finding = finding.proof(described(adapter));
        }
        if fabric.adapters.iter().any(|one| one.is_active) && !fabric.has_peer_memory {
            finding = finding.proof(
                "`nvidia_peermem` is not loaded: adapters read GPU memory only where kernel and driver share it by dma-buf",
            );
        }
        if fabric.adapters.is_empty() {
            let up = fabric.interfaces.iter().filter(|one| one.is_up);
            let names = joined(up.map(|one| format!("`{}`", one.name)));
            finding = finding.proof(format!("no InfiniBand or RoCE; network interfaces: {names}"));
        }
    }
    for (name, value) in &settings.here {
        finding = finding.proof(format!("{name}={value} {}", meaning(name, value)));
    }
    for line in &fabric.settings {
        let (name, value) = &line.value;
        finding =
            finding.proof(format!("{name}={value} {} (in {})", meaning(name, value), line.via));
    }
    finding
}

/// What a variable does, in a few words.
fn meaning(name: &str, value: &str) -> &'static str {
    let switch = |on: &'static str| if value.trim() == "0" { "changes nothing" } else { on };
    match name {
        "NCCL_P2P_DISABLE" => {
            switch("keeps GPUs of one machine from reading each other's memory: slower")
        }
        "NCCL_P2P_LEVEL" => "limits how far apart GPUs may be that read each other's memory",
        "NCCL_SHM_DISABLE" => {
            switch("keeps GPUs of one machine from sharing memory: they use the network")
        }
        "NCCL_IB_DISABLE" => switch("keeps NCCL from InfiniBand and RoCE: it uses sockets"),
        "NCCL_IB_HCA" => "chooses InfiniBand and RoCE adapters",
        "NCCL_IB_GID_INDEX" => "chooses the address of a RoCE adapter",
        "NCCL_IB_TIMEOUT" | "NCCL_IB_RETRY_CNT" => "changes how long InfiniBand waits",
        "NCCL_SOCKET_IFNAME" => "chooses the network interfaces that ranks meet on",
        "NCCL_SOCKET_FAMILY" => "chooses IPv4 or IPv6",
        "NCCL_NET" | "NCCL_NET_PLUGIN" => "chooses the network that NCCL loads",
        "NCCL_NET_GDR_LEVEL" | "NCCL_NET_GDR_READ" => "says when adapters read GPU memory directly",
        "NCCL_NVLS_ENABLE" => "switches reductions inside NVSwitch",
        "NCCL_CUMEM_ENABLE" => "switches how NCCL takes memory from the driver",
        "NCCL_ALGO" | "NCCL_PROTO" => "forces NCCL's choice of algorithm, which may be slower",
        "NCCL_TOPO_FILE" => "replaces the topology that NCCL finds itself",
        "NCCL_DEBUG" => "makes NCCL write a log",
        "NCCL_DEBUG_FILE" => "says where NCCL's log goes",
        "NCCL_BLOCKING_WAIT" | "NCCL_ASYNC_ERROR_HANDLING" => {
            "is torch's, which calls it TORCH_NCCL_… since 2.2"
        }
        _ => "is read by NCCL",
    }
}
