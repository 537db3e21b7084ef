//! Facts that NVIDIA's libraries and programs give, asked in child processes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{Depth, PROBE_COMMAND, Place};
use crate::domain::found::{Found, Via};
use crate::domain::host::{
    Answer, AnswerGpu, Fault, Host, HostGpu, Probe, ProbeFault, nvidia_smi_gpus,
};
use crate::platform::child::{How, run_limited};

/// Directories in which drivers put their libraries, WSL2 first: there the Linux ones are wrong.
const DIRECTORIES: [&str; 6] = [
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/run/opengl-driver/lib",
];

/// Returns what to try to load for a probe, best first.
pub(super) fn candidates(place: &Place<'_>, probe: Probe) -> Vec<PathBuf> {
    let fixed = DIRECTORIES
        .iter()
        .map(|directory| place.path(directory).join(probe.file()))
        .filter(|path| path.exists());
    // By bare name, the loader's own order decides: what a program would get. Another root has no loader.
    let bare = place.root.is_none().then(|| PathBuf::from(probe.file()));
    bare.into_iter().chain(fixed).collect()
}

/// Asks NVML, and the driver API where everything is wanted or NVML does not answer, and `nvidia-smi` as the last.
pub(super) fn ask(place: &Place<'_>, host: &mut Host, limit: Duration, depth: Depth) {
    let nvml = ask_library(place, Probe::Nvml, limit);
    let answered = take(host, Probe::Nvml, nvml);
    if depth == Depth::Everything || !answered {
        let libcuda = ask_library(place, Probe::Libcuda, limit);
        take(host, Probe::Libcuda, libcuda);
    }
    if !answered {
        ask_nvidia_smi(place, host, limit);
    }
}

fn ask_library(place: &Place<'_>, probe: Probe, limit: Duration) -> Result<Answer, Fault> {
    let Some(exe) = place.process.exe() else { return Err(Fault::Absent) };
    let mut command = Command::new(exe);
    command.args([PROBE_COMMAND, probe.name()]).env_clear().envs(place.process.env());
    let ended = run_limited(command, limit).map_err(|_| Fault::Absent)?;
    let mut answer = Answer::parse(&ended.stdout);
    let fault = match ended.how {
        How::Exited(0) if answer.complete => None,
        How::Exited(_) => Some(Fault::Unreadable),
        How::Killed(signal) => Some(Fault::Crashed { signal }),
        How::TimedOut => Some(timed_out(limit)),
    };
    answer.fault = fault.or(answer.fault);
    Ok(answer)
}

fn timed_out(limit: Duration) -> Fault {
    Fault::TimedOut { milliseconds: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}

/// Takes over what a library answered; tells whether it came to its end without a fault.
fn take(host: &mut Host, probe: Probe, answer: Result<Answer, Fault>) -> bool {
    let answer = match answer {
        Ok(answer) => answer,
        Err(fault) => Answer { fault: Some(fault), ..Answer::default() },
    };
    let path = answer.library.clone().unwrap_or_else(|| probe.file().to_owned());
    let via = || match probe {
        Probe::Nvml => Via::Nvml(path.clone()),
        Probe::Libcuda => Via::Libcuda(path.clone()),
        Probe::NvidiaSmi => Via::NvidiaSmi(path.clone()),
    };
    if let Some(driver) = answer.driver
        && host.driver.is_none()
    {
        host.driver = Some(Found::new(driver, via()));
    }
    if let Some(cuda) = answer.cuda
        && host.driver_cuda.is_none()
    {
        host.driver_cuda = Some(Found::new(cuda, via()));
    }
    // NVML sees every GPU; the driver API hides some when `CUDA_VISIBLE_DEVICES` says so.
    if !answer.gpus.is_empty() && (probe != Probe::Libcuda || !knows_gpus(host)) {
        host.gpus = answer.gpus.into_iter().map(|gpu| host_gpu(gpu, &via)).collect();
    }
    let fine = answer.fault.is_none();
    if let Some(fault) = answer.fault {
        host.faults.push(ProbeFault { probe, path: answer.library, fault });
    }
    fine
}

fn knows_gpus(host: &Host) -> bool {
    !host.gpus.is_empty() && host.gpus.iter().all(|gpu| gpu.cc.is_some())
}

fn host_gpu(gpu: AnswerGpu, via: &dyn Fn() -> Via) -> HostGpu {
    HostGpu {
        name: gpu.name,
        cc: gpu.cc.map(|cc| Found::new(cc, via())),
        kind: None,
        uuid: gpu.uuid,
    }
}

fn ask_nvidia_smi(place: &Place<'_>, host: &mut Host, limit: Duration) {
    let Some(program) = nvidia_smi(place) else { return };
    let path = program.display().to_string();
    let mut command = Command::new(&program);
    command
        .args(["--query-gpu=driver_version,compute_cap,uuid,name", "--format=csv,noheader"])
        .env_clear()
        .envs(place.process.env());
    let fault = match run_limited(command, limit) {
        Err(_) => Some(Fault::Absent),
        Ok(ended) => {
            let (driver, gpus) = nvidia_smi_gpus(&ended.stdout);
            let via = || Via::NvidiaSmi(path.clone());
            if let Some(driver) = driver
                && host.driver.is_none()
            {
                host.driver = Some(Found::new(driver, via()));
            }
            if !gpus.is_empty() && !knows_gpus(host) {
                host.gpus = gpus.into_iter().map(|gpu| host_gpu(gpu, &via)).collect();
            }
            match ended.how {
                How::Exited(0) => None,
                How::Exited(code) => {
                    Some(Fault::Refused { call: "nvidia-smi".to_owned(), code: code.into() })
                }
                How::Killed(signal) => Some(Fault::Crashed { signal }),
                How::TimedOut => Some(timed_out(limit)),
            }
        }
    };
    if let Some(fault) = fault {
        host.faults.push(ProbeFault { probe: Probe::NvidiaSmi, path: Some(path), fault });
    }
}

fn nvidia_smi(place: &Place<'_>) -> Option<PathBuf> {
    let name = Probe::NvidiaSmi.file();
    let fixed = ["/usr/bin", "/usr/lib/wsl/lib"].map(|directory| place.path(directory).join(name));
    let mut directories = Vec::new();
    if place.root.is_none() {
        let path = place.process.var_os("PATH").unwrap_or_default();
        // Never from the working directory: an empty or relative entry is skipped.
        directories.extend(std::env::split_paths(path).filter(|entry| entry.is_absolute()));
    }
    directories
        .into_iter()
        .map(|directory| directory.join(name))
        .chain(fixed)
        .find(|path| path.is_file())
}
