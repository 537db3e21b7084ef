//! Reads the texts that carry facts about a machine.

use super::AnswerGpu;
use crate::domain::version::Version;

/// Reads the driver's version from `/proc/driver/nvidia/version`:
/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024`.
pub fn kernel_module_version(text: &str) -> Option<Version> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_whitespace().find_map(|word| {
        let version: Version = word.parse().ok()?;
        (version.parts().len() >= 2 && version.major() >= 100).then_some(version)
    })
}

/// Reads name and identifier from `/proc/driver/nvidia/gpus/BUS/information`.
pub fn names_in_gpu_information(text: &str) -> AnswerGpu {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key))?;
        let value = line.trim_start_matches(':').trim();
        // The identifier is question marks until the GPU was used for the first time.
        (!value.is_empty() && !value.contains("??")).then(|| value.to_owned())
    };
    AnswerGpu { cc: None, name: value("Model:"), uuid: value("GPU UUID:") }
}

/// Reads the answer to `nvidia-smi --query-gpu=driver_version,compute_cap,uuid,name --format=csv,noheader`.
pub fn nvidia_smi_gpus(text: &str) -> (Option<Version>, Vec<AnswerGpu>) {
    let mut driver = None;
    let mut gpus = Vec::new();
    for line in text.lines().take(256) {
        let mut cells = line.splitn(4, ',').map(str::trim);
        let mut cell = || cells.next().filter(|text| !text.is_empty() && !text.starts_with('['));
        let (version, cc, uuid, name) = (cell(), cell(), cell(), cell());
        let Some(name) = name else { continue };
        driver = driver.or_else(|| version.and_then(|text| text.parse().ok()));
        gpus.push(AnswerGpu {
            cc: cc.and_then(|text| text.parse().ok()),
            uuid: uuid.map(str::to_owned),
            name: Some(name.to_owned()),
        });
    }
    (driver, gpus)
}

/// Tells whether a kernel's release string is that of Windows Subsystem for Linux.
pub fn is_wsl_kernel(osrelease: &str) -> bool {
    let lower = osrelease.to_ascii_lowercase();
    lower.contains("microsoft") || lower.contains("wsl2")
}

/// Reads the release from `/etc/nv_tegra_release`: `# R36 (release), REVISION: 3.0, ...` is `R36.3.0`.
pub fn tegra_release(text: &str) -> Option<String> {
    let line = text.lines().next()?.strip_prefix('#')?;
    let release = line.split_whitespace().next().filter(|word| word.starts_with('R'))?;
    let revision = line.split_once("REVISION:")?.1.split(',').next()?.trim();
    Some(format!("{release}.{revision}"))
}

/// Reads the kind of container from the control groups of process 1.
pub fn container_of_cgroup(text: &str) -> Option<&'static str> {
    const MARKS: [(&str, &str); 6] = [
        ("kubepods", "kubernetes"),
        ("/docker", "docker"),
        ("docker-", "docker"),
        ("libpod", "podman"),
        ("/lxc", "lxc"),
        ("containerd", "containerd"),
    ];
    MARKS.into_iter().find(|(mark, _)| text.contains(mark)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_modules_version() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.2.0\n";
        assert_eq!(kernel_module_version(closed), Some("550.54.15".parse().unwrap()));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)  Sun Jul 27\n";
        assert_eq!(kernel_module_version(open), Some("580.65.06".parse().unwrap()));
        let tegra =
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n";
        assert_eq!(kernel_module_version(tegra), Some("540.4.0".parse().unwrap()));
        assert_eq!(kernel_module_version("GCC version: 12.2.0"), None);
    }

    #[test]
    fn reads_gpu_information() {
        let text = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 345\nGPU UUID: \t GPU-5f2a\nVideo BIOS: \t ??.??.??.??.??\n";
        let gpu = names_in_gpu_information(text);
        assert_eq!(gpu.name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!(gpu.uuid.as_deref(), Some("GPU-5f2a"));
        let unused = names_in_gpu_information("Model: Tesla T4\nGPU UUID: GPU-????????-????\n");
        assert_eq!(unused.uuid, None);
    }

    #[test]
    fn reads_nvidia_smi() {
        let (driver, gpus) = nvidia_smi_gpus(
            "550.54.15, 9.0, GPU-1, NVIDIA H100 80GB HBM3\n550.54.15, [N/A], GPU-2, Tesla K80\n",
        );
        assert_eq!(driver, Some("550.54.15".parse().unwrap()));
        assert_eq!(gpus.len(), 2);
        assert_eq!(gpus[0].cc, Some("9.0".parse().unwrap()));
        assert_eq!((gpus[1].cc, gpus[1].name.as_deref()), (None, Some("Tesla K80")));
        let failed =
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
        assert_eq!(nvidia_smi_gpus(failed), (None, Vec::new()));
    }

    #[test]
    fn knows_special_machines() {
        assert!(is_wsl_kernel("5.15.153.1-microsoft-standard-WSL2"));
        assert!(!is_wsl_kernel("6.1.0-21-amd64"));
        let tegra =
            "# R36 (release), REVISION: 3.0, GCID: 36191598, BOARD: generic, EABI: aarch64\n";
        assert_eq!(tegra_release(tegra).as_deref(), Some("R36.3.0"));
        assert_eq!(container_of_cgroup("0::/kubepods.slice/x"), Some("kubernetes"));
        assert_eq!(container_of_cgroup("0::/docker/5f2a"), Some("docker"));
        assert_eq!(container_of_cgroup("0::/init.scope"), None);
    }
}
