//! The JSON documents are what `docs/schemas/` says.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::sandbox::Sandbox;
use crate::support::toolkit;

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks the keywords that our schemas use.
fn check(schema: &Value, value: &Value, at: &str) {
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some(other) => panic!("{at}: the checker does not know `{other}`"),
        None => true,
    };
    assert!(fits, "{at}: {value} is not {}", schema["type"]);
    if let Some(expected) = schema.get("const") {
        assert_eq!(value, expected, "{at}");
    }
    if let Some(choices) = schema["enum"].as_array() {
        assert!(choices.contains(value), "{at}: {value}");
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(key.as_str().unwrap()).is_some(), "{at}: {key} is missing in {value}");
    }
    if let Some(object) = value.as_object() {
        for (key, inner) in object {
            match schema["properties"].get(key) {
                Some(known) => check(known, inner, &format!("{at}.{key}")),
                None => assert_ne!(
                    schema["additionalProperties"],
                    Value::Bool(false),
                    "{at}: `{key}` is not in the schema"
                ),
            }
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            check(items, item, &format!("{at}[{index}]"));
        }
    }
}

#[test]
fn documents_follow_their_schemas() {
    let index = toolkit::index();
    let sandbox = Sandbox::new()
        .with_env("CUENV_INDEX_URL", index.url())
        .with_env("CUENV_HOST_ROOT", "/nonexistent");
    let failed = sandbox.cuenv(["--json", "where", "12.4"]).code(3).json();
    check(&schema("error.v1.json"), &failed, "error");
    sandbox.cuenv(["use", "12.4+cudnn9@base"]).succeeds();
    for command in ["where", "bundle", "licenses"] {
        let found = sandbox.cuenv(["--json", command]).succeeds().json();
        check(&schema(&format!("{command}.v1.json")), &found, command);
    }
}
