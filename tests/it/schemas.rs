//! The JSON documents are what `docs/schemas/` says, and every command either prints one or refuses `--json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::sandbox::{Ran, Sandbox};
use crate::support::toolkit;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

fn schema(name: &str) -> Value {
    let path = directory().join(format!("{name}.v1.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks the keywords that our schemas use.
fn check(schema: &Value, value: &Value, at: &str) {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{at}: the checker does not know `{other}`"),
    };
    let fits = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        _ => true,
    };
    assert!(fits, "{at}: {value} is not {}", schema["type"]);
    if value.is_null() {
        return;
    }
    if let Some(expected) = schema.get("const") {
        assert_eq!(value, expected, "{at}");
    }
    if let Some(choices) = schema["enum"].as_array() {
        assert!(choices.contains(value), "{at}: {value}");
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(key.as_str().unwrap()).is_some(), "{at}: {key} is missing in {value}");
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(known), _) => check(known, inner, &at),
            (None, Value::Bool(false)) => panic!("{at} is not in the schema"),
            (None, other) => check(other, inner, &at),
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            check(items, item, &format!("{at}[{index}]"));
        }
    }
}

/// The documents that runs print, each held to its schema.
struct Documents {
    sandbox: Sandbox,
    seen: BTreeSet<String>,
}

impl Documents {
    fn of(&mut self, name: &str, code: i32, args: &[&str]) {
        let ran: Ran = self.sandbox.cuenv(["--json"].iter().chain(args)).code(code);
        check(&schema(name), &ran.json(), &format!("{args:?}"));
        self.seen.insert(name.to_owned());
    }
}

#[test]
fn documents_follow_their_schemas() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", index.url())
        .with_env("CUENV_HOST_ROOT", "/nonexistent");
    sandbox.shims(&[]);
    let cuda = sandbox.root().join("cuda");
    fs::create_dir_all(cuda.join("bin")).unwrap();
    fs::write(cuda.join("bin/nvcc"), "").unwrap();
    let mut documents = Documents { sandbox, seen: BTreeSet::new() };
    let cuda = cuda.to_str().unwrap();
    for (name, code, args) in [
        ("error", 3, &["where", "12.4"][..]),
        // The command line itself is wrong.
        ("error", 2, &["where", "--nosuch"]),
        ("error", 2, &["nosuch"]),
        ("error", 125, &["exec", "--nosuch"]),
        ("current", 0, &["current"]),
        ("use", 0, &["use", "-n", "12.4+cudnn9@base"]),
        ("use", 0, &["use", "12.4+cudnn9@base"]),
        ("install", 0, &["install"]),
        ("install", 0, &["install", "12.4@base"]),
        ("list", 0, &["list"]),
        ("list-available", 0, &["list", "--available"]),
        ("current", 0, &["current"]),
        ("where", 0, &["where"]),
        ("which", 0, &["which", "-a", "sh"]),
        ("env", 0, &["env"]),
        ("bundle", 0, &["bundle"]),
        ("licenses", 0, &["licenses"]),
        ("resolve", 0, &["resolve", "12.4+cudnn9"]),
        ("lock", 0, &["lock"]),
        ("lock", 0, &["lock", "--check"]),
        ("lock", 0, &["update", "-n"]),
        ("lock", 0, &["update"]),
        // The made libraries are none.
        ("verify", 7, &["verify"]),
        ("verify-files", 0, &["verify", "--files"]),
        ("doctor", 0, &["doctor"]),
        ("explain", 0, &["explain", "libcudnn.so.9"]),
        ("shim", 0, &["shim", "list"]),
        ("hook", 0, &["hook", "bash", "--install"]),
        ("link", 0, &["link", "site", cuda]),
        ("list", 0, &["list"]),
        ("gc", 0, &["gc"]),
        ("uninstall", 0, &["uninstall", "-n", "12.4@base"]),
    ] {
        documents.of(name, code, args);
    }
    // A drift is part of the document.
    documents.sandbox.write(".cuenv", "12.4@base\n");
    documents.of("current", 0, &["current"]);
    let all: BTreeSet<String> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".v1.json", ""))
        .collect();
    assert_eq!(documents.seen, all, "every schema is held to a real document");
}

#[test]
fn what_has_no_document_refuses_json() {
    let sandbox = Sandbox::new();
    for args in [
        &["completions", "bash"][..],
        &["help", "nvcc"],
        &["man"],
        &["hook", "bash"],
        &["hook-env", "bash"],
        &["export", "dockerfile"],
    ] {
        let ran = sandbox.cuenv(["--json"].iter().chain(args)).code(2);
        check(&schema("error"), &ran.json(), &format!("{args:?}"));
        let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(args[0]) && message.contains("--json"), "{message}");
    }
}
