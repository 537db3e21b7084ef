//! A table of (driver, GPUs, toolchain), worked out by hand from NVIDIA's tables: release notes (driver per release),
//! minor-version and forward compatibility, the compilers' GPU lists, cuDNN's support matrices.

use super::Catalog;
use crate::domain::compat::{
    CudnnVerdict, DriverVerdict, GpuVerdict, Grade, Machine, MachineGpu, Verdict,
};
use crate::domain::version::Version;

/// `driver | GPUs, comma-separated | CUDA release | cuDNN | grade: the number that decides`
/// (`-`: unknown or none).
const TABLE: &str = "
-          | -                    | 12.4.1 | -         | unknown
-          | H100                 | 12.4.1 | 9.1.0.70  | unknown
-          | GeForce RTX 5090     | 12.4.1 | -         | impossible: GPU needs CUDA 12.8
-          | V100                 | 13.0.2 | -         | impossible: last CUDA 12.9
550.54.15  | -                    | 12.4.1 | 9.1.0.70  | native: 12.4
550.54.15  | H100                 | 12.4.1 | 9.1.0.70  | native: 12.4
550.54.14  | A100                 | 12.4.1 | 9.1.0.70  | native: 12.4
550.54.14  | A100                 | 11.8.0 | 8.9.6.50  | native: 12.4
550.144.03 | L40S                 | 12.4.0 | 8.9.7.29  | native: 12.4
550.54.15  | A100                 | 12.6.3 | 9.5.1.17  | minor_compat: 12.4, native from 560.35.05
550.54.15  | A100                 | 12.9.1 | 9.10.2.21 | minor_compat: 12.4, native from 575.57.08
550.54.15  | A100                 | 13.0.0 | 9.12.0.46 | forward_compat: needs 580.65.06
550.54.15  | GeForce RTX 4090     | 13.0.0 | 9.12.0.46 | impossible: needs driver 580.65.06
550.54.15  | RTX A6000            | 13.0.0 | -         | impossible: needs driver 580.65.06
550.54.15  | -                    | 13.0.0 | -         | impossible: needs driver 580.65.06
535.104.05 | T4                   | 12.2.2 | 8.9.5.30  | native: 12.2
535.104.05 | T4                   | 12.4.1 | 9.1.0.70  | minor_compat: 12.2, native from 550.54.15
535.54.03  | GeForce RTX 3090     | 12.1.1 | 8.9.2.26  | native: 12.2
535.54.03  | A10                  | 13.2.0 | -         | forward_compat: needs 580.65.06
530.30.02  | GeForce RTX 2080 Ti  | 12.1.0 | -         | native: 12.1
530.30.02  | GeForce RTX 2080 Ti  | 12.3.2 | 9.0.0.312 | minor_compat: 12.1, native from 545.23.08
525.60.13  | P100                 | 12.0.0 | 8.8.0.121 | native: 12.0
525.60.13  | GeForce GTX 1080 Ti  | 12.9.1 | 9.10.2.21 | minor_compat: 12.0, native from 575.57.08
525.60.12  | GeForce RTX 3090     | 12.4.1 | -         | impossible: needs driver 525.60.13
520.61.05  | GeForce RTX 3090     | 11.8.0 | 8.6.0.163 | native: 11.8
520.61.05  | GeForce RTX 3090     | 12.0.0 | -         | impossible: needs driver 525.60.13
520.61.05  | A100                 | 12.0.0 | -         | forward_compat: needs 525.60.13
470.57.02  | GeForce GTX 1080     | 11.8.0 | 8.9.6.50  | minor_compat: 11.4, native from 520.61.05
470.57.02  | A100                 | 12.4.1 | 9.1.0.70  | forward_compat: needs 525.60.13
470.57.02  | GeForce GTX 1080     | 12.4.1 | -         | impossible: needs driver 525.60.13
470.57.02  | -                    | 12.4.1 | -         | impossible: needs driver 525.60.13
460.27.04  | V100                 | 11.8.0 | 8.7.0.84  | minor_compat: 11.2, native from 520.61.05
450.80.02  | T4                   | 11.8.0 | -         | minor_compat: 11.0, native from 520.61.05
450.51.05  | GeForce GTX 1660     | 11.8.0 | -         | impossible: needs driver 450.80.02
450.51.05  | T4                   | 11.8.0 | -         | forward_compat: needs 450.80.02
440.33.01  | V100                 | 11.8.0 | -         | impossible: needs driver 450.80.02
418.87.01  | GeForce GTX 1080     | 12.4.1 | -         | impossible: needs driver 525.60.13
545.23.08  | H100                 | 12.3.2 | 9.0.0.312 | native: 12.3
555.42.02  | GeForce RTX 4090     | 12.5.1 | 9.3.0.75  | native: 12.5
560.35.03  | GeForce RTX 4070     | 12.6.3 | 9.5.1.17  | native: 12.6
565.57.01  | GeForce RTX 4090     | 12.6.3 | 9.5.1.17  | native: 12.7
565.57.01  | GeForce RTX 4090     | 12.8.1 | 9.8.0.87  | minor_compat: 12.7, native from 570.124.06
570.26     | B200                 | 12.8.0 | 9.7.0.66  | native: 12.8
570.86.10  | GeForce RTX 5090     | 12.8.1 | 9.10.2.21 | native: 12.8
570.86.10  | GeForce RTX 5090     | 12.6.3 | 9.5.1.17  | impossible: GPU needs CUDA 12.8
570.86.10  | GeForce RTX 5090     | 11.8.0 | -         | impossible: GPU needs CUDA 12.8
570.86.10  | GeForce RTX 5090     | 12.8.1 | 9.5.1.17  | impossible: cuDNN from 9.7.0
570.86.10  | GeForce RTX 5090     | 12.8.1 | 8.9.7.29  | native: 12.8, cuDNN doubtful
570.86.10  | GeForce RTX 5090     | 12.8.1 | 9.6.0.74  | native: 12.8, cuDNN doubtful
570.86.10  | GB10 (DGX Spark)     | 12.8.1 | 9.8.0.87  | native: 12.8, runs code for 12.0
570.86.10  | GB300                | 12.8.1 | 9.8.0.87  | native: 12.8, runs code for 10.0
575.51.03  | GB300                | 12.9.1 | 9.10.2.21 | native: 12.9
575.51.03  | GB10 (DGX Spark)     | 12.9.1 | 9.10.2.21 | native: 12.9
575.51.03  | V100                 | 12.9.1 | 9.10.2.21 | native: 12.9
575.51.03  | V100                 | 12.9.1 | 9.11.0.98 | impossible: cuDNN up to 9.10.2
575.51.03  | GeForce GTX 1080 Ti  | 12.4.1 | 9.28.0.42 | impossible: cuDNN up to 9.10.2
575.51.03  | M60                  | 12.4.1 | 9.10.2.21 | native: 12.9
575.51.03  | P40                  | 12.6.3 | 8.9.7.29  | native: 12.9
580.65.06  | V100                 | 12.9.1 | 9.10.2.21 | native: 13.0
580.65.06  | V100                 | 13.0.0 | -         | impossible: last CUDA 12.9
580.65.06  | GeForce GTX 1080 Ti  | 13.0.2 | 9.13.0.50 | impossible: last CUDA 12.9
580.65.06  | T4                   | 13.0.2 | 9.13.0.50 | native: 13.0
580.65.06  | H200                 | 13.0.2 | 9.19.0.56 | native: 13.0
580.65.06  | H200                 | 13.2.0 | 9.26.0.51 | minor_compat: 13.0, native from 595.45.04
580.65.06  | H200                 | 11.8.0 | 8.9.6.50  | native: 13.0
580.65.06  | H200                 | 12.1.1 | 8.9.2.26  | native: 13.0
580.65.06  | GeForce RTX 5090     | 13.0.2 | 9.19.0.56 | native: 13.0
580.65.06  | Jetson T5000 (Thor)  | 13.0.2 | 9.13.0.50 | native: 13.0
580.65.06  | Jetson T5000 (Thor)  | 12.9.1 | -         | impossible: GPU needs CUDA 13.0
590.44.01  | H100                 | 13.1.0 | 9.17.0.29 | native: 13.1
595.45.04  | H100                 | 13.2.0 | 9.20.0.48 | native: 13.2
610.43.02  | B200                 | 13.3.0 | 9.23.0.39 | native: 13.3
615.61     | Rubin                | 13.4.1 | 9.25.1.1  | native: 13.4
615.61     | Rubin                | 13.4.1 | 9.24.0.43 | impossible: cuDNN from 9.25.1
615.61     | Rubin                | 13.3.0 | 9.25.1.1  | native: 13.4, runs code for 10.3
620.11     | H100                 | 13.5.0 | 9.28.1.4  | native: 13.5
650.10     | H100                 | 13.5.0 | 9.28.1.4  | native: 13.5
580.65.06  | V100,H100            | 13.0.2 | 9.19.0.56 | native: 13.0
580.65.06  | V100,P40             | 13.0.2 | 9.19.0.56 | impossible: last CUDA 12.9
550.54.15  | A100,GeForce RTX 4090| 13.0.0 | -         | impossible: needs driver 580.65.06
550.54.15  | A100,H100            | 13.0.0 | -         | forward_compat: needs 580.65.06
";

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn machine(catalog: &Catalog, driver: &str, gpus: &str) -> Machine {
    let known = |model: &str| {
        let gpu = catalog.gpus.gpu.iter().find(|gpu| gpu.model == model);
        let gpu = gpu.unwrap_or_else(|| panic!("no GPU `{model}`"));
        MachineGpu { cc: gpu.cc, kind: Some(gpu.kind) }
    };
    Machine {
        driver: (driver != "-").then(|| version(driver)),
        driver_cuda: None,
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
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
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
    assert!(rows >= 60, "{rows}");
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
