//! `pip.conf`: the files that pip reads, in its order, and the few keys that say where wheels come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::platform::process::Process;

/// Values by key, each with the file it came from; later files win.
#[derive(Default)]
pub(super) struct PipConf {
    values: BTreeMap<String, (String, String)>,
}

impl PipConf {
    /// Reads the machine's, the user's and the venv's file, and the one that `PIP_CONFIG_FILE` names.
    /// Another tool's file that cannot be read stops nothing here; the reason is put down.
    pub(super) fn load(process: &Process, unreadable: &mut Option<String>) -> Self {
        let mut conf = Self::default();
        let named = process.var_os("PIP_CONFIG_FILE").map(PathBuf::from);
        // pip's way to say "no files at all".
        if named.as_deref() == Some(Path::new("/dev/null")) {
            return conf;
        }
        for path in files(process).into_iter().chain(named) {
            match super::read(&path) {
                Ok(Some(text)) => conf.read(&text, &format!("`{}`", path.display())),
                Ok(None) => {}
                Err(reason) => {
                    unreadable.get_or_insert(reason);
                }
            }
        }
        conf
    }

    /// A value and the file that set it.
    pub(super) fn value(&self, key: &str) -> Option<(&str, &str)> {
        self.values.get(key).map(|(value, via)| (value.as_str(), via.as_str()))
    }

    /// The form of Python's `configparser`: sections, `key = value` or `key: value`, further lines indented.
    fn read(&mut self, text: &str, via: &str) {
        // `[install]` and `[download]` are more specific than `[global]`, whatever their order in the file.
        for wanted in [&["global"][..], &["install", "download"]] {
            let mut inside = false;
            let mut last: Option<String> = None;
            for line in text.lines() {
                let trimmed = line.trim();
                if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                    continue;
                }
                if line.starts_with(char::is_whitespace) {
                    if let Some((value, _)) = last.as_ref().and_then(|key| self.values.get_mut(key))
                    {
                        value.push('\n');
                        value.push_str(trimmed);
                    }
                    continue;
                }
                last = None;
                if let Some(section) = trimmed.strip_prefix('[') {
                    let name = section.split(']').next().unwrap_or_default().trim();
                    inside = wanted.contains(&name);
                } else if inside && let Some(at) = trimmed.find(['=', ':']) {
                    let key = trimmed[..at].trim().to_ascii_lowercase().replace('_', "-");
                    let value = trimmed[at + 1..].trim().to_owned();
                    self.values.insert(key.clone(), (value, via.to_owned()));
                    last = Some(key);
                }
            }
        }
    }
}

fn files(process: &Process) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let system = process.var("XDG_CONFIG_DIRS").unwrap_or("/etc/xdg");
    files.extend(
        system
            .split(':')
            .rev()
            .filter(|part| part.starts_with('/'))
            .map(|part| Path::new(part).join("pip/pip.conf")),
    );
    files.push(PathBuf::from("/etc/pip.conf"));
    if let Some(home) = process.var_os("HOME").map(Path::new) {
        files.push(home.join(".pip/pip.conf"));
        let config =
            process.var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        files.push(config.join("pip/pip.conf"));
    }
    files.extend(process.var_os("VIRTUAL_ENV").map(|venv| Path::new(venv).join("pip.conf")));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_files_and_lines_that_go_on() {
        let mut conf = PipConf::default();
        conf.read(
            "# comment\n[install]\nindex_url: https://special.example/simple\n\n[global]\n\
             index-url = https://index.example/simple\nextra-index-url =\n    https://a.example\n\
             \x20   # not this\n    https://b.example\n[other]\ncert = /no\n    /neither\n",
            "first",
        );
        assert_eq!(conf.value("index-url"), Some(("https://special.example/simple", "first")));
        let extra = conf.value("extra-index-url").unwrap().0;
        assert_eq!(
            extra.split_whitespace().collect::<Vec<_>>(),
            ["https://a.example", "https://b.example"]
        );
        assert_eq!(conf.value("cert"), None);
        conf.read("[global]\nindex-url=https://later.example/simple", "second");
        assert_eq!(conf.value("index-url"), Some(("https://later.example/simple", "second")));
    }

    #[test]
    fn the_users_file_wins_over_the_machines_and_the_named_one_over_both() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, key: &str| {
            let path = root.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, format!("[global]\nindex-url = {key}\n{key} = 1\n")).unwrap();
            path.display().to_string()
        };
        write("etc/pip/pip.conf", "machine");
        write("home/.config/pip/pip.conf", "user");
        let named = write("named.conf", "named");
        let etc = root.path().join("etc").display().to_string();
        let home = root.path().join("home").display().to_string();
        let load = |extra: &[(&str, &str)]| {
            let mut env = vec![("XDG_CONFIG_DIRS", etc.as_str()), ("HOME", home.as_str())];
            env.extend_from_slice(extra);
            PipConf::load(&Process::for_test(root.path(), &env), &mut None)
        };
        let conf = load(&[]);
        assert_eq!(conf.value("index-url").map(|(value, _)| value), Some("user"));
        assert!(conf.value("machine").is_some());
        let conf = load(&[("PIP_CONFIG_FILE", &named)]);
        assert_eq!(conf.value("index-url").map(|(value, _)| value), Some("named"));
        assert!(load(&[("PIP_CONFIG_FILE", "/dev/null")]).value("user").is_none());
    }
}
