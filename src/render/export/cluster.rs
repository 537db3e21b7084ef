//! Clusters: a module file that Lmod and Environment Modules both read, and a Slurm job script.

use std::fmt::Write as _;

use super::Handover;
use super::quote::{shell, tcl};

impl Handover {
    /// Writes a module file in Tcl.
    pub fn modulefile(&self) -> String {
        let mut out = String::from("#%Module1.0\n");
        let _ = writeln!(
            out,
            "## {}: {}, written by `cuenv export modulefile`",
            self.spec, self.toolchain
        );
        let _ = writeln!(
            out,
            "proc ModulesHelp {{ }} {{\n    puts stderr {}\n}}",
            tcl(&format!("CUDA toolchain {} by cuenv", self.toolchain))
        );
        let _ =
            writeln!(out, "module-whatis {}", tcl(&format!("CUDA toolchain {}", self.toolchain)));
        // Two toolkits on one library path are two halves of none.
        out.push_str("conflict cuda cudatoolkit cudnn\n");
        for variable in &self.variables {
            let path = tcl(&Self::below(&self.prefix, &variable.path));
            let verb = if variable.list { "prepend-path" } else { "setenv" };
            let _ = writeln!(out, "{verb} {} {path}", variable.name);
        }
        out
    }

    /// Writes a Slurm job script.
    pub fn slurm(&self) -> String {
        let mut out = String::from("#!/bin/sh\n");
        let _ =
            writeln!(out, "# {}: {}, written by `cuenv export slurm`", self.spec, self.toolchain);
        out.push_str("#SBATCH --job-name=cuenv\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=1\n");
        // The script must not depend on what the submitting shell happened to have.
        out.push_str("#SBATCH --export=NONE\n\nset -eu\n");
        let _ = writeln!(out, "cd {}", shell(&self.project));
        out.push_str("# Each rank starts through cuenv, so that it gets the toolchain on whatever node it runs.\n");
        let run = format!("srun --export=ALL {} exec {} --", shell(&self.cuenv), self.spec);
        let _ = writeln!(out, "{run} python train.py");
        out.push_str("\n# With a bundle on each node's own disk instead of a home on NFS (cuenv bundle -o toolchain.tar.zst):\n");
        out.push_str("#   sbcast toolchain.tar.zst /tmp/toolchain.tar.zst\n");
        let _ = writeln!(
            out,
            "#   srun --ntasks-per-node=1 env CUENV_HOME=/tmp/cuenv {} install --from /tmp/toolchain.tar.zst",
            shell(&self.cuenv)
        );
        let _ = writeln!(out, "#   export CUENV_HOME=/tmp/cuenv");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::handover;

    #[test]
    fn a_module_file_quotes_for_tcl() {
        let text = handover().modulefile();
        assert!(text.starts_with("#%Module1.0\n"));
        assert!(text.contains(
            "\nprepend-path LD_LIBRARY_PATH \"/h/a \\$x'b\\\"/toolchains/12.4.1+cudnn9.1.0.70-3f2a91c0de44/lib\"\n"
        ), "{text}");
        assert!(text.contains("\nsetenv CUDA_HOME \"/h/a"));
    }

    #[test]
    fn a_job_script_quotes_for_the_shell() {
        let text = handover().slurm();
        assert!(text.contains("\ncd '/h/a $x'\\''b\"/proj'\n"), "{text}");
        assert!(text.contains("exec 12.4+cudnn9 -- python train.py\n"));
    }
}
