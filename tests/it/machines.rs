//! What this machine cannot run is refused before the first byte, with the deciding number, what would work, and exit
//! code 6. The table is the one that the verdicts are tested with; the index is the catalog's own releases.

use std::sync::Arc;

use cuenv::catalog::Catalog;
use cuenv::cli::exit::Exit;
use cuenv::cli::failure::Failure;
use cuenv::domain::compat::{Machine, MachineGpu};
use cuenv::domain::listing::{Listing, Location, MetadataFile, WheelFile};
use cuenv::domain::spec::Spec;
use cuenv::domain::target::Target;
use cuenv::domain::version::PackageVersion;
use cuenv::index;
use cuenv::ops::resolve::{Request, Source, resolve};

const TABLE: &str = include_str!("../data/machines.txt");

/// An index that lists what the catalog knows, and nothing can be fetched from.
struct Known<'a>(&'a Catalog);

impl Known<'_> {
    fn wheel(distribution: &str, version: &PackageVersion, platform: &str) -> WheelFile {
        let name = distribution.replace('-', "_");
        WheelFile {
            name: format!("{name}-{version}-py3-none-{platform}.whl").parse().unwrap(),
            location: Location::Url("https://index.example/".to_owned()),
            size: Some(1),
            digest: None,
            yanked: None,
            uploaded: None,
            metadata: MetadataFile::Unknown,
        }
    }
}

impl Source for Known<'_> {
    fn listing(&self, distribution: &str) -> Result<Arc<Listing>, index::Error> {
        let mut listing = Listing { distribution: distribution.to_owned(), ..Listing::default() };
        if distribution == "cuda-toolkit" {
            for release in self.0.releases() {
                let version = release.version.to_string().parse().unwrap();
                listing.wheels.push(Self::wheel(distribution, &version, "any"));
            }
            return Ok(Arc::new(listing));
        }
        let (component, build) = self.0.carrier(distribution).unwrap();
        let mut versions: Vec<PackageVersion> = match component.id.as_str() {
            "cudnn" => self
                .0
                .cudnn_releases()
                .iter()
                .filter_map(|release| release.build(build.cuda_major)?.linux_x86_64.clone())
                .collect(),
            id => self
                .0
                .releases()
                .iter()
                .filter(|release| release.version.major() == build.cuda_major)
                .filter_map(|release| release.components.get(id).cloned())
                .collect(),
        };
        versions.sort();
        versions.dedup();
        for version in versions {
            listing.wheels.push(Self::wheel(distribution, &version, "manylinux_2_17_x86_64"));
        }
        Ok(Arc::new(listing))
    }

    fn metadata(&self, wheel: &WheelFile) -> Result<String, index::Error> {
        let version = &wheel.name.version;
        let release = self.0.releases().iter().find(|release| {
            release.version.to_string().parse::<PackageVersion>().as_ref() == Ok(version)
        });
        let release = release.unwrap();
        let mut text = format!("Name: cuda-toolkit\nVersion: {version}\nProvides-Extra: all\n");
        for (id, pin) in &release.components {
            let distribution = self.0.distribution(id, release.version.major()).unwrap();
            let pin = pin.only_release();
            text += &format!("Requires-Dist: {distribution}=={pin}.*; extra == \"all\"\n");
        }
        Ok(text)
    }

    fn prefetch(&self, _: &[&str]) -> Result<(), index::Error> {
        Ok(())
    }
}

#[test]
fn what_a_machine_cannot_run_is_refused_with_exit_code_6() {
    let catalog = Catalog::builtin();
    let source = Known(&catalog);
    let (mut rows, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [driver, gpus, cuda, cudnn, expected] = cells[..] else { panic!("{line}") };
        let spec = match cudnn {
            "-" => format!("{cuda}@base"),
            cudnn => format!("{cuda}+cudnn{cudnn}@base"),
        };
        let Spec::Toolchain(spec) = spec.parse().unwrap() else { panic!("{line}") };
        let models = gpus
            .split(',')
            .filter(|model| *model != "-")
            .map(|model| catalog.gpus.gpu.iter().find(|gpu| gpu.model == model).unwrap());
        let (number, told) = match driver.split_once("cuda ") {
            Some((number, told)) => (number.trim(), Some(told.parse().unwrap())),
            None => (driver, None),
        };
        let machine = Machine {
            driver: (!matches!(number, "-" | "")).then(|| number.parse().unwrap()),
            driver_cuda: told,
            gpus: models.map(|gpu| MachineGpu { cc: gpu.cc, kind: Some(gpu.kind) }).collect(),
        };
        let target = Target::LinuxX86_64;
        let request = Request { spec, target, glibc: None, machine, least: Default::default() };
        let answer = resolve(&catalog, &source, &request).map_err(Failure::from);
        rows += 1;
        match (answer, expected.strip_prefix("impossible: ")) {
            (Ok(_), None) => {}
            (Ok(_), Some(_)) => wrong.push(format!("{line}\n    was resolved")),
            (Err(failure), None) => wrong.push(format!("{line}\n    {failure}")),
            (Err(failure), Some(because)) => {
                refused += 1;
                let said = format!("{failure}\n{}", failure.hints().join("\n"));
                // The number in the table's reason is in what the person reads.
                let number = because.rsplit(' ').next().unwrap();
                if failure.exit() != Exit::Host || !said.contains(number) {
                    wrong.push(format!("{line}\n    {:?}: {said}", failure.exit()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 100 && refused >= 30, "{rows} {refused}");
    println!("{rows} machines, {refused} refused with exit code 6");
}
