//! Notebooks, editors and direnv.

use std::fmt::Write as _;

use super::Handover;
use super::quote::json;

impl Handover {
    /// Writes a Jupyter kernel that starts `python` through cuenv, whatever environment the server has.
    pub fn kernelspec(&self, python: &str) -> String {
        let argv = [
            self.cuenv.as_str(),
            "exec",
            &self.spec,
            "--",
            python,
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ];
        let argv: Vec<_> = argv.iter().map(|word| format!("    {}", json(word))).collect();
        format!(
            "{{\n  \"argv\": [\n{}\n  ],\n  \"display_name\": {},\n  \"language\": \"python\",\n  \"metadata\": {{ \"debugger\": true }}\n}}\n",
            argv.join(",\n"),
            json(&format!("Python (CUDA {})", self.spec)),
        )
    }

    /// Writes settings for a VS Code workspace: terminals, CMake and the C/C++ extension.
    pub fn vscode(&self) -> String {
        let mut variables = Vec::new();
        for variable in &self.variables {
            let path = Self::below(&self.prefix, &variable.path);
            // VS Code puts an unset variable in as nothing, which would leave an empty element, the current directory, on a
            // library path; PATH is always set.
            let value = match (variable.list, variable.name.as_str()) {
                (true, "PATH") => format!("{path}:${{env:PATH}}"),
                _ => path,
            };
            variables.push(format!("{}: {}", json(&variable.name), json(&value)));
        }
        let block = variables.join(",\n    ");
        format!(
            "{{\n  \"terminal.integrated.env.linux\": {{\n    {block}\n  }},\n  \"cmake.environment\": {{\n    {block}\n  }},\n  \"C_Cpp.default.includePath\": [\n    \"${{workspaceFolder}}/**\",\n    {}\n  ]\n}}\n",
            json(&Self::below(&self.prefix, "include")),
        )
    }

    /// Writes lines for an `.envrc`. They hold no path of this machine, so that the file can be shared.
    pub fn direnv(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {}, written by `cuenv export direnv`", self.spec);
        if self.locked {
            out.push_str("watch_file .cuenv .cuenv.lock\n");
            out.push_str("eval \"$(cuenv env --shell bash)\"\n");
        } else {
            let _ = writeln!(out, "eval \"$(cuenv env {} --shell bash)\"", self.spec);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::handover;

    #[test]
    fn a_kernel_is_json_that_starts_through_cuenv() {
        let text = handover().kernelspec("/venv/bin/python");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["argv"][0], "/h/a $x'b\"/bin/cuenv");
        assert_eq!(value["argv"][4], "/venv/bin/python");
        assert_eq!(value["argv"][8], "{connection_file}");
    }

    #[test]
    fn settings_leave_no_empty_element() {
        let value: serde_json::Value = serde_json::from_str(&handover().vscode()).unwrap();
        let library = value["terminal.integrated.env.linux"]["LD_LIBRARY_PATH"].as_str().unwrap();
        assert!(library.ends_with("/lib") && !library.contains("${"), "{library}");
    }

    #[test]
    fn an_envrc_holds_no_path_of_this_machine() {
        let text = handover().direnv();
        assert!(!text.contains("/h/"), "{text}");
        assert!(text.contains("cuenv env --shell bash"));
    }
}
