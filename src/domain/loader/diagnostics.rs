//! Reads what `ld.so --list-diagnostics` (glibc 2.33 and later) says about itself.

use std::collections::BTreeMap;

use super::{Cache, Host};
use crate::domain::elf::{MACHINE_AARCH64, MACHINE_X86_64};
use crate::domain::target::Target;

/// The loader's description from its own words, or the usual one of the target where there are none.
pub fn from_diagnostics(text: &str, target: Target, cache: Cache) -> Host {
    let facts: BTreeMap<&str, String> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key, value.trim_matches('"').to_owned()))
        .collect();
    let mut system_dirs: Vec<String> = (0..16)
        .map_while(|index| facts.get(format!("path.system_dirs[{index:#x}]").as_str()).cloned())
        .collect();
    let (machine, interpreter) = match target {
        Target::LinuxX86_64 => (MACHINE_X86_64, "/lib64/ld-linux-x86-64.so.2"),
        Target::LinuxAarch64 => (MACHINE_AARCH64, "/lib/ld-linux-aarch64.so.1"),
    };
    if system_dirs.is_empty() {
        system_dirs = ["/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"].map(str::to_owned).into();
    }
    let glibc = facts.get("version.version").and_then(|version| {
        let (major, minor) = version.split_once('.')?;
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    });
    let number = |key: &str| {
        let text = facts.get(key)?.strip_prefix("0x")?;
        u64::from_str_radix(text, 16).ok()
    };
    let active = number("dl_hwcaps_subdirs_active").unwrap_or(0);
    let levels = facts.get("dl_hwcaps_subdirs").map(String::as_str).unwrap_or_default();
    // The list is best first, and bit 0 stands for its first element.
    let hwcaps = levels
        .split(':')
        .enumerate()
        .filter(|(index, level)| !level.is_empty() && active >> index & 1 == 1)
        .map(|(_, level)| level.to_owned())
        .collect();
    let platform = facts.get("dl_platform").filter(|platform| !platform.is_empty()).cloned();
    let glibc = glibc.unwrap_or((0, 0));
    let capabilities = number("dl_hwcap").unwrap_or(0) & number("dl_hwcap_important").unwrap_or(0);
    let legacy = if glibc != (0, 0) && glibc < (2, 37) {
        legacy(target, capabilities, platform.as_deref())
    } else {
        Vec::new()
    };
    Host {
        machine,
        interpreter: facts.get("path.rtld").cloned().unwrap_or_else(|| interpreter.to_owned()),
        glibc,
        hwcaps,
        legacy,
        platform,
        // The first default directory is `/` and the value of `$LIB`, in every distribution.
        lib: system_dirs[0].trim_matches('/').to_owned(),
        system_dirs,
        cache,
    }
}

/// The subdirectories of glibc before 2.37: every subset of the names, those with the later names first.
fn legacy(target: Target, capabilities: u64, platform: Option<&str>) -> Vec<String> {
    let names: &[(u64, &str)] = match target {
        Target::LinuxX86_64 => &[(1 << 1, "x86_64"), (1 << 2, "avx512_1")],
        Target::LinuxAarch64 => &[(1 << 8, "atomics")],
    };
    let mut parts: Vec<&str> =
        names.iter().filter(|(bit, _)| capabilities & bit != 0).map(|(_, name)| *name).collect();
    parts.extend(platform);
    parts.push("tls");
    let all = 1usize << parts.len();
    let mut found: Vec<String> = Vec::new();
    for set in (1..all).rev() {
        let chosen: Vec<&str> = (0..parts.len())
            .rev()
            .filter(|index| set >> index & 1 == 1)
            .map(|index| parts[index])
            .collect();
        let path = chosen.join("/");
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::from_diagnostics;
    use crate::domain::loader::Cache;
    use crate::domain::target::Target;

    const DEBIAN: &str = r#"dl_hwcap=0x2
dl_hwcap_important=0x6
dl_hwcaps_subdirs="x86-64-v4:x86-64-v3:x86-64-v2"
dl_hwcaps_subdirs_active=0x6
dl_platform="x86_64"
path.rtld="/lib64/ld-linux-x86-64.so.2"
path.system_dirs[0x0]="/lib/x86_64-linux-gnu/"
path.system_dirs[0x1]="/usr/lib/x86_64-linux-gnu/"
version.version="2.36"
"#;

    #[test]
    fn reads_the_words_of_debian_12() {
        let host = from_diagnostics(DEBIAN, Target::LinuxX86_64, Cache::default());
        assert_eq!(host.hwcaps, ["x86-64-v3", "x86-64-v2"]);
        assert_eq!(host.system_dirs, ["/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/"]);
        assert_eq!(host.lib, "lib/x86_64-linux-gnu");
        assert_eq!(host.glibc, (2, 36));
        assert_eq!(
            host.legacy,
            ["tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64"]
        );
    }

    #[test]
    fn newer_loaders_have_no_old_subdirectories() {
        let text = DEBIAN.replace("2.36", "2.40");
        let host = from_diagnostics(&text, Target::LinuxX86_64, Cache::default());
        assert!(host.legacy.is_empty());
    }

    #[test]
    fn silence_gives_the_usual_directories() {
        let host = from_diagnostics("", Target::LinuxAarch64, Cache::default());
        assert_eq!(host.interpreter, "/lib/ld-linux-aarch64.so.1");
        assert_eq!(host.system_dirs[0], "/lib64/");
        assert_eq!(host.lib, "lib64");
    }
}
