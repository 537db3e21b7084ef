//! The table of machines and toolchains, judged.

use super::Catalog;
use crate::domain::compat::{
    CudnnVerdict, DriverVerdict, GpuVerdict, Grade, Machine, MachineGpu, Verdict,
};
use crate::domain::version::Version;

/// Also read by the black-box test that resolves each of them.
const TABLE: &str = include_str!("../../tests/data/machines.txt");

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn machine(catalog: &Catalog, driver: &str, gpus: &str) -> Machine {
    let known = |model: &str| {
        let gpu = catalog.gpus.gpu.iter().find(|gpu| gpu.model == model);
        let gpu = gpu.unwrap_or_else(|| panic!("no GPU `{model}`"));
        MachineGpu { cc: gpu.cc, kind: Some(gpu.kind) }
    };
    // `560.94 cuda 12.6`: what a driver says of itself; Jetson's has no number.
    let (number, told) = match driver.split_once("cuda ") {
        Some((number, told)) => (number.trim(), Some(version(told))),
        None => (driver, None),
    };
    Machine {
        driver: (!matches!(number, "-" | "")).then(|| version(number)),
        driver_cuda: told,
        gpus: if gpus == "-" { Vec::new() } else { gpus.split(',').map(known).collect() },
    }
}

/// Says a verdict in the words of the table.
fn words(verdict: &Verdict) -> String {
    let runs = |cc| {
        let gpu = verdict.gpus.iter().all(|(other, gpu)| other != cc || gpu.runs());
        gpu && verdict.cudnn.iter().all(|(other, cudnn)| other != cc || cudnn.runs())
    };
    if verdict.grade == Grade::Impossible
        && !verdict.gpus.is_empty()
        && !verdict.gpus.iter().any(|(cc, _)| runs(cc))
    {
        let by_gpu = verdict.gpus.iter().find_map(|(_, gpu)| match gpu {
            GpuVerdict::TooNew { first_cuda } => Some(format!("GPU needs CUDA {first_cuda}")),
            GpuVerdict::TooOld { last_cuda } => Some(format!("last CUDA {last_cuda}")),
            _ => None,
        });
        let by_cudnn = verdict.cudnn.iter().find_map(|(_, cudnn)| match cudnn {
            CudnnVerdict::TooNew { first } => Some(format!("cuDNN from {first}")),
            CudnnVerdict::TooOld { last } => Some(format!("cuDNN up to {last}")),
            _ => None,
        });
        return format!("impossible: {}", by_gpu.or(by_cudnn).unwrap());
    }
    let mut text = match &verdict.driver {
        DriverVerdict::Unknown => "unknown".to_owned(),
        DriverVerdict::Native { driver_cuda } => format!("native: {driver_cuda}"),
        DriverVerdict::MinorCompat { driver_cuda, native_from } => {
            format!("minor_compat: {driver_cuda}, native from {}", native_from.as_ref().unwrap())
        }
        DriverVerdict::ForwardCompat { needs, .. } => format!("forward_compat: needs {needs}"),
        DriverVerdict::TooOld { needs, .. } => format!("impossible: needs driver {needs}"),
    };
    for (_, gpu) in &verdict.gpus {
        if let GpuVerdict::AsOlder { code } = gpu {
            text = format!("{text}, runs code for {code}");
        }
    }
    if verdict.cudnn.iter().any(|(_, cudnn)| matches!(cudnn, CudnnVerdict::Doubtful { .. })) {
        text.push_str(", cuDNN doubtful");
    }
    text
}

#[test]
fn verdicts_follow_the_vendors_tables() {
    let catalog = Catalog::builtin();
    let knowledge = catalog.knowledge();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [driver, gpus, cuda, cudnn, expected] = cells[..] else { panic!("{line}") };
        let release = catalog.release(&version(cuda)).unwrap_or_else(|| panic!("{line}"));
        let cudnn = (cudnn != "-").then(|| version(cudnn));
        if let Some(cudnn) = &cudnn {
            assert!(catalog.cudnn_release(cudnn, release.version.major()).is_some(), "{line}");
        }
        let machine = machine(&catalog, driver, gpus);
        let verdict = knowledge.judge(&machine, release, cudnn.as_ref());
        let found = words(&verdict);
        if found != expected {
            wrong.push(format!("{line}\n      found {found}"));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows >= 100, "{rows}");
    println!("{rows} (driver, GPU, toolchain) triples");
}

#[test]
fn the_newest_release_that_a_machine_runs() {
    let catalog = Catalog::builtin();
    let knowledge = catalog.knowledge();
    let newest = |driver, gpus, wanted: &str| {
        let wanted = (wanted != "auto").then(|| version(wanted));
        knowledge
            .newest_cuda_for(&machine(&catalog, driver, gpus), wanted.as_ref())
            .map(|(release, grade)| (release.version.to_string(), grade))
    };
    let is = |text: &str, grade| Some((text.to_owned(), grade));
    assert_eq!(newest("550.54.15", "H100", "auto"), is("12.4.1", Grade::Native));
    assert_eq!(newest("550.54.15", "H100", "12"), is("12.4.1", Grade::Native));
    assert_eq!(newest("550.54.15", "H100", "12.6"), is("12.6.3", Grade::MinorCompat));
    assert_eq!(newest("550.54.15", "GeForce RTX 4090", "13"), None);
    assert_eq!(newest("580.65.06", "H200", "auto"), is("13.0.3", Grade::Native));
    assert_eq!(newest("580.65.06", "V100", "auto"), is("12.9.2", Grade::Native));
    assert_eq!(newest("580.65.06", "V100", "13"), None);
    assert_eq!(newest("470.57.02", "GeForce GTX 1080", "auto"), is("11.8.0", Grade::MinorCompat));
    assert_eq!(newest("470.57.02", "A100", "12.4"), is("12.4.1", Grade::ForwardCompat));
    assert_eq!(newest("470.57.02", "A100", "auto"), is("11.8.0", Grade::MinorCompat));
    assert_eq!(newest("418.87.01", "V100", "auto"), None);
    assert_eq!(newest("-", "-", "auto"), is("13.5.0", Grade::Unknown));
    assert_eq!(newest("-", "V100", "auto"), is("12.9.2", Grade::Unknown));
    assert_eq!(newest("-", "GeForce RTX 5090", "12.6"), None);
    assert_eq!(newest("-", "-", "12.7"), None);
    assert_eq!(newest("999.1", "H100", "auto"), is("13.5.0", Grade::Native));
}

#[test]
fn the_cudnn_releases_that_gpus_run() {
    let catalog = Catalog::builtin();
    let knowledge = catalog.knowledge();
    let range = |gpus: &str, major| {
        let ccs: Vec<_> = machine(&catalog, "-", gpus).gpus.iter().map(|gpu| gpu.cc).collect();
        let (first, last) = knowledge.cudnn_range_for(&ccs, major)?;
        Some(format!("{first} - {last}"))
    };
    assert_eq!(range("V100", 12).as_deref(), Some("8.8.0.121 - 9.10.2.21"));
    assert_eq!(range("GeForce GTX 1080", 12).as_deref(), Some("8.8.0.121 - 9.10.2.21"));
    assert_eq!(range("V100", 13), None);
    assert_eq!(range("GeForce RTX 5090", 12).as_deref(), Some("9.7.0.66 - 9.28.0.42"));
    assert_eq!(range("H100,V100", 12).as_deref(), Some("8.8.0.121 - 9.10.2.21"));
    assert_eq!(range("GeForce RTX 5090,V100", 12).as_deref(), Some("9.7.0.66 - 9.10.2.21"));
    assert_eq!(range("Rubin", 13).as_deref(), Some("9.25.1.1 - 9.28.1.4"));
    assert_eq!(range("-", 11).as_deref(), Some("8.5.0.96 - 9.10.2.21"));

    let newest = |gpus, major, wanted: &str, least: &str| {
        let ccs: Vec<_> = machine(&catalog, "-", gpus).gpus.iter().map(|gpu| gpu.cc).collect();
        let least = (least != "-").then(|| version(least));
        knowledge
            .newest_cudnn_for(&ccs, major, &version(wanted), least.as_ref())
            .map(|release| release.version.to_string())
    };
    assert_eq!(newest("H100", 12, "9", "-").as_deref(), Some("9.28.0.42"));
    assert_eq!(newest("V100", 12, "9", "-").as_deref(), Some("9.10.2.21"));
    assert_eq!(newest("V100", 12, "9", "9.11"), None);
    assert_eq!(newest("H100", 12, "9.1", "-").as_deref(), Some("9.1.1.17"));
    assert_eq!(newest("H100", 12, "8", "-").as_deref(), Some("8.9.7.29"));
    assert_eq!(newest("H100", 11, "8", "-").as_deref(), Some("8.9.6.50"));
    assert_eq!(newest("H100", 13, "8", "-"), None);
    assert_eq!(newest("H100", 12, "8", "9.1"), None);
}

#[test]
fn a_release_newer_than_the_catalog_is_judged_by_its_predecessor() {
    let catalog = Catalog::builtin();
    let knowledge = catalog.knowledge();
    let judge =
        |cc: &str, cudnn: &str| knowledge.judge_cudnn(cc.parse().unwrap(), &version(cudnn), 13);
    assert_eq!(judge("9.0", "9.40.0.1"), CudnnVerdict::Fits);
    assert_eq!(judge("14.0", "9.40.0.1"), CudnnVerdict::Fits);
    assert!(!judge("7.0", "9.40.0.1").runs());
    assert_eq!(judge("9.0", "10.0.0.1"), CudnnVerdict::NoBuild);
    assert_eq!(judge("9.0", "8.9.7.29"), CudnnVerdict::NoBuild);
}

#[test]
fn what_the_driver_says_itself_wins_over_the_table() {
    let catalog = Catalog::builtin();
    let knowledge = catalog.knowledge();
    let grade = |driver: &str, says: &str, cuda: &str| {
        let machine = Machine {
            driver: (driver != "-").then(|| version(driver)),
            driver_cuda: (says != "-").then(|| version(says)),
            gpus: Vec::new(),
        };
        knowledge.judge(&machine, catalog.release(&version(cuda)).unwrap(), None).grade
    };
    // Jetson drivers count otherwise: 540.4.0 supports 12.6, which branch 535 does not.
    assert_eq!(grade("540.4.0", "-", "12.6.3"), Grade::MinorCompat);
    assert_eq!(grade("540.4.0", "12.6", "12.6.3"), Grade::Native);
    assert_eq!(grade("-", "12.4", "12.6.3"), Grade::MinorCompat);
    assert_eq!(grade("-", "12.4", "12.4.1"), Grade::Native);
    assert_eq!(grade("-", "12.4", "13.0.0"), Grade::Impossible);
    // A driver of Windows, seen from WSL2.
    assert_eq!(grade("551.61", "-", "12.4.1"), Grade::Native);
}
