//! The command line itself: help, wrong words, exit codes.

use crate::support::sandbox::Sandbox;

#[test]
fn help_goes_to_stdout_and_wrong_words_exit_2() {
    let sandbox = Sandbox::new();
    let help = sandbox.cuenv(["--help"]).succeeds();
    assert!(help.stdout.contains("Usage: cuenv"), "{}", help.stdout);
    assert_eq!(help.stderr, "");
    sandbox.cuenv(["no-such-command"]).code(2);
}

#[test]
fn a_wrong_spec_is_shown_with_the_character() {
    let sandbox = Sandbox::new();
    let ran = sandbox.cuenv(["where", "12..4"]).code(2);
    assert_eq!(ran.stdout, "");
    insta::assert_snapshot!(ran.stderr, @r"
    error: `12..4` is not a spec: expected a digit at character 4
        12..4
           ^
      hint: a spec reads like `12.4+cudnn9`, `11.8+cudnn8@runtime` or `auto+cudnn9`
    ");
}
