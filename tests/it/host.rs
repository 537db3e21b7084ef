//! What cuenv reads of a machine, over fake roots and fake drivers.

use std::time::{Duration, Instant};

use cuenv::catalog::Catalog;
use cuenv::domain::host::{Fault, Host, Libc, Probe};
use cuenv::platform::host::{Depth, HostError};
use cuenv::platform::process::Process;

use crate::support::host::{Behaviour, FakeHost};
use crate::support::sandbox::cuenv;

fn try_probe(host: &FakeHost, depth: Depth, env: &[(&str, &str)]) -> Result<Host, HostError> {
    let root = host.root().to_str().unwrap();
    let mut all = vec![("CUENV_HOST_ROOT", root), ("PATH", "/usr/bin:/bin")];
    all.extend(env);
    let process = Process::for_test(host.root(), &all).with_exe(cuenv());
    cuenv::ops::host::probe(&process, &Catalog::builtin(), depth)
}

fn probe(host: &FakeHost, depth: Depth, env: &[(&str, &str)]) -> Host {
    try_probe(host, depth, env).unwrap()
}

fn driver(host: &Host) -> String {
    host.driver.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn capabilities(host: &Host) -> Vec<String> {
    host.gpus
        .iter()
        .map(|gpu| gpu.cc.as_ref().map_or_else(|| "?".to_owned(), |cc| cc.value.to_string()))
        .collect()
}

#[test]
fn files_alone_are_enough_where_the_names_are_known() {
    let fake = FakeHost::new()
        .driver("550.54.15")
        .gpu("0000:01:00.0", "NVIDIA A100-SXM4-40GB")
        .gpu("0000:02:00.0", "NVIDIA GeForce RTX 4090")
        // Would be seen if it were asked.
        .libraries(Behaviour::Crash, Behaviour::Crash);
    let host = probe(&fake, Depth::Enough, &[]);
    assert_eq!(host.driver.as_ref().unwrap().value.to_string(), "550.54.15");
    assert!(driver(&host).ends_with("/sys/module/nvidia/version`)"), "{}", driver(&host));
    assert_eq!(capabilities(&host), ["8.0", "8.9"]);
    assert_eq!(host.gpus[0].cc.as_ref().unwrap().via.to_string(), "the GPU's name");
    assert_eq!(host.faults, []);
}

#[test]
fn the_second_file_stands_in_for_the_first() {
    let fake = FakeHost::new().file(
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n",
    );
    let host = probe(&fake, Depth::Enough, &[]);
    assert_eq!(host.driver.unwrap().value.to_string(), "535.104.05");
}

#[test]
fn a_machine_without_a_driver_has_none_and_starts_no_child() {
    let fake = FakeHost::new().libraries(Behaviour::Hang, Behaviour::Hang);
    let start = Instant::now();
    let host = probe(&fake, Depth::Enough, &[]);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!((host.driver, host.gpus, host.faults), (None, Vec::new(), Vec::new()));
}

#[test]
fn nvml_says_what_files_leave_open() {
    let fake = FakeHost::new()
        .driver("550.54.15")
        .gpu("0000:01:00.0", "NVIDIA Graphics Device")
        .libraries(Behaviour::Answer, Behaviour::Crash);
    let host = probe(&fake, Depth::Enough, &[]);
    assert_eq!(capabilities(&host), ["9.0"]);
    let via = host.gpus[0].cc.as_ref().unwrap().via.to_string();
    assert!(via.starts_with("NVML, `") && via.contains("libnvidia-ml.so.1"), "{via}");
    assert_eq!(host.driver_cuda.unwrap().value.to_string(), "12.4");
    assert_eq!(host.faults, []);
}

#[test]
fn windows_drivers_are_asked_through_nvml() {
    let fake = FakeHost::new()
        .file("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
        .file("/dev/dxg", "")
        .libraries(Behaviour::Answer, Behaviour::Answer);
    let host = probe(&fake, Depth::Enough, &[]);
    assert!(host.wsl.is_some());
    assert_eq!(host.driver.as_ref().unwrap().value.to_string(), "550.54.15");
    assert!(driver(&host).contains("NVML"));
}

#[test]
fn a_hanging_library_costs_the_limit_and_no_more() {
    let fake = FakeHost::new()
        .driver("550.54.15")
        .gpu("0000:01:00.0", "NVIDIA H100 80GB HBM3")
        .libraries(Behaviour::Answer, Behaviour::Hang);
    let start = Instant::now();
    let host = probe(&fake, Depth::Everything, &[("CUENV_PROBE_TIMEOUT", "0.5")]);
    assert!(start.elapsed() < Duration::from_secs(10));
    let [fault] = host.faults.as_slice() else { panic!("{:?}", host.faults) };
    assert_eq!(fault.probe, Probe::Libcuda);
    assert_eq!(fault.fault, Fault::TimedOut { milliseconds: 500 });
    assert_eq!(capabilities(&host), ["9.0"]);
    assert_eq!(host.driver.unwrap().value.to_string(), "550.54.15");
}

#[test]
fn a_crashing_library_takes_nobody_down() {
    for (behaviour, signal) in [(Behaviour::Crash, 6), (Behaviour::CrashOnLoad, 11)] {
        let fake = FakeHost::new()
            .driver("550.54.15")
            .gpu("0000:01:00.0", "NVIDIA H100 80GB HBM3")
            .libraries(behaviour, behaviour);
        let host = probe(&fake, Depth::Everything, &[]);
        let faults: Vec<_> =
            host.faults.iter().map(|fault| (fault.probe, fault.fault.clone())).collect();
        assert_eq!(
            faults,
            [(Probe::Nvml, Fault::Crashed { signal }), (Probe::Libcuda, Fault::Crashed { signal })]
        );
        assert_eq!(capabilities(&host), ["9.0"], "the name still tells");
    }
}

#[test]
fn error_numbers_are_kept() {
    for code in [34, 35, 100, 803, 804, 999] {
        let fake = FakeHost::new()
            .driver("550.54.15")
            .gpu("0000:01:00.0", "NVIDIA H100 80GB HBM3")
            .libraries(Behaviour::Answer, Behaviour::Refuse(code));
        let host = probe(&fake, Depth::Everything, &[]);
        let [fault] = host.faults.as_slice() else { panic!("{:?}", host.faults) };
        let call = "cuInit".to_owned();
        assert_eq!(fault.fault, Fault::Refused { call, code: code.into() });
        assert_eq!(fault.path.as_deref(), fake.library("libcuda.so.1").to_str());
    }
}

#[test]
fn nvidia_smi_is_the_last_to_be_asked() {
    let fake =
        FakeHost::new().file("/dev/nvidiactl", "").nvidia_smi("550.54.15, 8.6, GPU-1, NVIDIA A10");
    let host = probe(&fake, Depth::Enough, &[]);
    assert!(driver(&host).starts_with("550.54.15 (from `"), "{}", driver(&host));
    assert_eq!(capabilities(&host), ["8.6"]);
    let absent: Vec<_> = host.faults.iter().map(|fault| (fault.probe, &fault.fault)).collect();
    assert_eq!(absent, [(Probe::Nvml, &Fault::Absent), (Probe::Libcuda, &Fault::Absent)]);
}

#[test]
fn variables_win_and_need_no_child() {
    let fake = FakeHost::new()
        .driver("550.54.15")
        .gpu("0000:01:00.0", "NVIDIA Graphics Device")
        .libraries(Behaviour::Hang, Behaviour::Hang);
    let env = [("CUENV_DRIVER_VERSION", "470.57.02"), ("CUENV_COMPUTE_CAPABILITY", "6.1, 9.0")];
    let host = probe(&fake, Depth::Enough, &env);
    assert_eq!(driver(&host), "470.57.02 (from `CUENV_DRIVER_VERSION`)");
    assert_eq!(capabilities(&host), ["6.1", "9.0"]);
    let machine = host.machine();
    assert_eq!(
        (machine.driver.unwrap().to_string().as_str(), machine.gpus.len()),
        ("470.57.02", 2)
    );

    let none = [("CUENV_DRIVER_VERSION", "none"), ("CUENV_COMPUTE_CAPABILITY", "none")];
    let host = probe(&fake, Depth::Enough, &none);
    assert_eq!((host.driver, host.gpus), (None, Vec::new()));

    for (name, value, message) in [
        ("CUENV_DRIVER_VERSION", "newest", "`CUENV_DRIVER_VERSION` is not a driver version"),
        ("CUENV_COMPUTE_CAPABILITY", "sm_90", "`CUENV_COMPUTE_CAPABILITY` is not a list"),
        ("CUENV_PROBE_TIMEOUT", "soon", "`CUENV_PROBE_TIMEOUT` is `soon`"),
    ] {
        let error = try_probe(&fake, Depth::Enough, &[(name, value)]).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn devices_without_a_driver_are_seen() {
    let device = |fake: FakeHost, bus: &str, vendor: &str, class: &str| {
        fake.file(&format!("/sys/bus/pci/devices/{bus}/vendor"), vendor)
            .file(&format!("/sys/bus/pci/devices/{bus}/class"), class)
    };
    let fake = device(FakeHost::new(), "0000:01:00.0", "0x10de\n", "0x030200\n");
    let fake = device(fake, "0000:01:00.1", "0x10de\n", "0x040300\n");
    let fake = device(fake, "0000:00:02.0", "0x8086\n", "0x030000\n");
    let host = probe(&fake, Depth::Enough, &[]);
    let buses: Vec<_> = host.undriven.iter().map(|found| found.value.as_str()).collect();
    assert_eq!(buses, ["0000:01:00.0"]);
    let fake = fake.driver("550.54.15");
    assert_eq!(probe(&fake, Depth::Enough, &[]).undriven, []);
}

#[test]
fn special_machines_are_known() {
    let jetson = FakeHost::new()
        .file("/etc/nv_tegra_release", "# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n");
    let host = probe(&jetson, Depth::Enough, &[]);
    assert_eq!(host.jetson.unwrap().value, "R36.3.0");
    let model =
        FakeHost::new().file("/proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0");
    let host = probe(&model, Depth::Enough, &[]);
    assert_eq!(host.jetson.unwrap().value, "NVIDIA Jetson AGX Orin Developer Kit");

    let docker = FakeHost::new().file("/.dockerenv", "");
    assert_eq!(probe(&docker, Depth::Enough, &[]).container.unwrap().value, "docker");
    let plain = FakeHost::new().file("/proc/1/cgroup", "0::/init.scope\n");
    assert_eq!(probe(&plain, Depth::Enough, &[]).container, None);
    let variable = probe(&plain, Depth::Enough, &[("container", "podman")]);
    assert_eq!(variable.container.unwrap().to_string(), "podman (from `container`)");

    let musl = FakeHost::new().file("/lib/ld-musl-x86_64.so.1", "");
    assert_eq!(probe(&musl, Depth::Enough, &[]).libc.unwrap().value, Libc::Musl);
    let glibc = FakeHost::new();
    let library = glibc.root().join("lib/x86_64-linux-gnu/libc.so.6");
    std::fs::create_dir_all(library.parent().unwrap()).unwrap();
    let own = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own = own.lines().find_map(|line| {
        line.find('/').map(|at| &line[at..]).filter(|path| path.ends_with("libc.so.6"))
    });
    std::fs::copy(own.unwrap(), library).unwrap();
    let host = probe(&glibc, Depth::Enough, &[]);
    let expected = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    assert_eq!(host.libc.unwrap().value.to_string(), expected.trim());
}

#[test]
fn hidden_devices_are_told_from_an_unset_variable() {
    let fake = FakeHost::new();
    assert_eq!(probe(&fake, Depth::Enough, &[]).visible_devices, None);
    let hidden = probe(&fake, Depth::Enough, &[("CUDA_VISIBLE_DEVICES", "")]);
    assert_eq!(hidden.visible_devices.as_deref(), Some(""));
}
