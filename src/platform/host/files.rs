//! Facts that lie in files.

use super::Place;
use crate::domain::found::{Found, Via};
use crate::domain::host::{
    Host, HostGpu, container_of_cgroup, is_wsl_kernel, kernel_module_version,
    names_in_gpu_information, tegra_release,
};
use crate::domain::version::Version;

pub(super) fn read(place: &Place<'_>) -> Host {
    let driver = driver(place);
    Host {
        gpus: gpus(place),
        undriven: if driver.is_none() { undriven(place) } else { Vec::new() },
        driver,
        driver_cuda: None,
        wsl: wsl(place),
        jetson: jetson(place),
        container: container(place),
        libc: None,
        // Set and empty hides every GPU, so the raw value is what counts.
        visible_devices: place
            .process
            .env()
            .get(std::ffi::OsStr::new("CUDA_VISIBLE_DEVICES"))
            .map(|value| value.to_string_lossy().into_owned()),
        faults: Vec::new(),
    }
}

/// Tells whether it is worth loading a library: no sign of a driver, no child process.
pub(super) fn driver_may_be_there(place: &Place<'_>) -> bool {
    ["/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia", "/dev/nvhost-gpu", "/dev/nvgpu"]
        .into_iter()
        .any(|path| place.exists(path))
}

fn driver(place: &Place<'_>) -> Option<Found<Version>> {
    let of_module = place.read("/sys/module/nvidia/version").and_then(|(text, via)| {
        let version = text.trim().parse().ok()?;
        Some(Found::new(version, via))
    });
    of_module.or_else(|| {
        let (text, via) = place.read("/proc/driver/nvidia/version")?;
        Some(Found::new(kernel_module_version(&text)?, via))
    })
}

pub(super) fn names_in(place: &Place<'_>, directory: &str) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(place.path(directory)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn gpus(place: &Place<'_>) -> Vec<HostGpu> {
    names_in(place, "/proc/driver/nvidia/gpus")
        .into_iter()
        .filter_map(|bus| {
            let (text, _) = place.read(&format!("/proc/driver/nvidia/gpus/{bus}/information"))?;
            let gpu = names_in_gpu_information(&text);
            Some(HostGpu { name: gpu.name, uuid: gpu.uuid, ..HostGpu::default() })
        })
        .collect()
}

/// Returns NVIDIA's display devices on the PCI bus.
pub(super) fn on_the_bus(place: &Place<'_>) -> Vec<String> {
    let is_gpu = |bus: &String| {
        let read = |what: &str| place.read(&format!("/sys/bus/pci/devices/{bus}/{what}"));
        let (Some((vendor, _)), Some((class, _))) = (read("vendor"), read("class")) else {
            return false;
        };
        vendor.trim() == "0x10de" && class.trim().starts_with("0x03")
    };
    names_in(place, "/sys/bus/pci/devices").into_iter().filter(is_gpu).collect()
}

fn undriven(place: &Place<'_>) -> Vec<Found<String>> {
    let via = |bus: &str| {
        let file = place.path(&format!("/sys/bus/pci/devices/{bus}/vendor"));
        Via::File(file.display().to_string())
    };
    on_the_bus(place).into_iter().map(|bus| Found::new(bus.clone(), via(&bus))).collect()
}

fn wsl(place: &Place<'_>) -> Option<Found<String>> {
    let (text, via) = place.read("/proc/sys/kernel/osrelease")?;
    is_wsl_kernel(&text).then(|| Found::new(text.trim().to_owned(), via))
}

fn jetson(place: &Place<'_>) -> Option<Found<String>> {
    let of_release = place
        .read("/etc/nv_tegra_release")
        .and_then(|(text, via)| Some(Found::new(tegra_release(&text)?, via)));
    of_release.or_else(|| {
        let (text, via) = place.read("/proc/device-tree/model")?;
        let model = text.trim_end_matches('\0').trim();
        model.contains("Jetson").then(|| Found::new(model.to_owned(), via))
    })
}

fn container(place: &Place<'_>) -> Option<Found<String>> {
    const VARIABLES: [(&str, &str); 4] = [
        ("APPTAINER_CONTAINER", "apptainer"),
        ("SINGULARITY_CONTAINER", "singularity"),
        ("KUBERNETES_SERVICE_HOST", "kubernetes"),
        ("container", ""),
    ];
    const FILES: [(&str, &str); 2] = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    for (name, kind) in VARIABLES {
        if let Some(value) = place.process.var(name) {
            let kind = if kind.is_empty() { value } else { kind };
            return Some(Found::new(kind.to_owned(), Via::Variable(name)));
        }
    }
    for (path, kind) in FILES {
        if place.exists(path) {
            let via = Via::File(place.path(path).display().to_string());
            return Some(Found::new(kind.to_owned(), via));
        }
    }
    let (text, via) = place.read("/proc/1/cgroup")?;
    Some(Found::new(container_of_cgroup(&text)?.to_owned(), via))
}
