//! The environment of a toolchain, as a pure computation: from an environment to the changes that enter a
//! toolchain, and to those that leave it again.
//!
//! Rules. A list is a list: no empty element is ever written (an empty element of `LD_LIBRARY_PATH` or `PATH` is
//! the current directory), inherited empties and another toolchain's elements are taken out, the user's stay in
//! their order. Leaving restores exactly what was there: unset is not empty. When the user changed a list in
//! between, leaving takes out what cuenv put in and nothing else; a variable the user set anew is left alone.
//! Entering from inside another toolchain leaves that one first.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::dirs::Dirs;
use crate::names;
use crate::undo::{ListRecord, Record, SetRecord, hash};
use crate::vars::Vars;

/// What a toolchain wants, with absolute values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The toolchain's name, for `CUENV_ACTIVE`.
    pub toolchain: OsString,
    /// Variables and their values.
    pub set: Vec<(OsString, OsString)>,
    /// Lists and what is put in front of each.
    pub lists: Vec<(OsString, Vec<OsString>)>,
}

/// Changes of an environment: a value, or `None` to unset. Only what differs, in order of name.
pub type Changes = Vec<(OsString, Option<OsString>)>;

impl Wanted {
    /// Tells this activation from another one.
    pub fn identity(&self) -> OsString {
        let mut text = Vec::new();
        let mut push = |word: &OsStr| {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        };
        push(&self.toolchain);
        for (name, value) in &self.set {
            push(name);
            push(value);
        }
        for (name, elements) in &self.lists {
            push(name);
            for element in elements {
                push(element);
            }
        }
        format!("{:x}", hash(OsStr::from_bytes(&text))).into()
    }
}

/// Returns the changes that enter a toolchain, for a program that is about to be started: whatever the user or
/// another toolchain set before, this toolchain's values hold and its elements come first.
pub fn enter(vars: &Vars, wanted: &Wanted, dirs: &Dirs) -> Changes {
    let mut after = left(vars);
    let mut record = Record { identity: wanted.identity(), ..Record::default() };
    for (name, value) in &wanted.set {
        let previous = after.insert(name.clone(), value.clone());
        record.set.push(SetRecord { name: name.clone(), ours: value.clone(), previous });
    }
    for (name, added) in &wanted.lists {
        let previous = after.get(name).cloned();
        let was_set = previous.is_some();
        let start = match previous {
            // A program without PATH still finds the system's; see `names::BUILT_IN_PATH`.
            None if name == "PATH" => Some(OsString::from(names::BUILT_IN_PATH)),
            other => other,
        };
        let mut removed = Vec::new();
        let mut elements = added.clone();
        for (at, element) in start.as_deref().map(split).unwrap_or_default().into_iter().enumerate()
        {
            if element.is_empty() || dirs.owns(&element) {
                removed.push((at, element));
            } else {
                elements.push(element);
            }
        }
        if elements.is_empty() {
            after.remove(name);
        } else {
            after.insert(name.clone(), join(&elements));
        }
        let hash = after.get(name).map_or(0, |value| hash(value));
        let added = added.clone();
        record.lists.push(ListRecord { name: name.clone(), hash, was_set, added, removed });
    }
    after.insert(names::ACTIVE.into(), wanted.toolchain.clone());
    after.insert(names::UNDO.into(), record.render());
    difference(vars, &after)
}

/// Returns the changes for a prompt: nothing when this toolchain is active and its elements are all still there,
/// so that what the user put in front of them stays in front; otherwise those of [`enter`].
pub fn keep(vars: &Vars, wanted: &Wanted, dirs: &Dirs) -> Changes {
    let holds = Record::of(vars).is_some_and(|record| {
        record.identity == wanted.identity()
            && record.lists.iter().all(|list| {
                let elements = vars.get(&list.name).map(|value| split(value)).unwrap_or_default();
                list.added.iter().all(|entry| elements.contains(entry))
                    && !elements
                        .iter()
                        .any(|element| dirs.owns(element) && !list.added.contains(element))
            })
            && record.set.iter().all(|set| vars.contains_key(&set.name))
    });
    if holds { Vec::new() } else { enter(vars, wanted, dirs) }
}

/// Returns the changes that leave the active toolchain, nothing when none is.
pub fn leave(vars: &Vars) -> Changes {
    let marks = [names::UNDO, names::ACTIVE].map(OsStr::new);
    if !marks.iter().any(|mark| vars.contains_key(*mark)) {
        return Changes::new();
    }
    difference(vars, &left(vars))
}

/// Returns the environment with changes applied.
pub fn apply(vars: &Vars, changes: &Changes) -> Vars {
    let mut after = vars.clone();
    for (name, value) in changes {
        match value {
            Some(value) => after.insert(name.clone(), value.clone()),
            None => after.remove(name),
        };
    }
    after
}

/// Splits a list at its colons; an empty text is one empty element.
pub fn split(value: &OsStr) -> Vec<OsString> {
    value
        .as_bytes()
        .split(|byte| *byte == b':')
        .map(|part| OsStr::from_bytes(part).into())
        .collect()
}

fn join(elements: &[OsString]) -> OsString {
    let parts: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
    OsString::from_vec(parts.join(&b':'))
}

/// Returns the environment without what an activation put into it.
pub fn left(vars: &Vars) -> Vars {
    let mut after = vars.clone();
    let record = Record::of(vars);
    after.remove(OsStr::new(names::UNDO));
    after.remove(OsStr::new(names::ACTIVE));
    // Without a record nothing is known to be cuenv's: what lies in a prefix may have been put there by hand.
    let Some(record) = record else { return after };
    for set in record.set {
        if after.get(&set.name) == Some(&set.ours) {
            match set.previous {
                Some(previous) => after.insert(set.name, previous),
                None => after.remove(&set.name),
            };
        }
    }
    for list in record.lists {
        let Some(current) = after.get(&list.name).cloned() else {
            continue;
        };
        let mut elements = split(&current);
        if hash(&current) == list.hash {
            if !list.was_set {
                after.remove(&list.name);
                continue;
            }
            elements.drain(..list.added.len().min(elements.len()));
            for (at, element) in list.removed {
                elements.insert(at.min(elements.len()), element);
            }
            after.insert(list.name, join(&elements));
            continue;
        }
        for added in &list.added {
            if let Some(at) = elements.iter().position(|element| element == added) {
                elements.remove(at);
            }
        }
        if !list.was_set && elements.iter().all(|element| element.is_empty()) {
            after.remove(&list.name);
        } else {
            after.insert(list.name.clone(), join(&elements));
        }
    }
    after
}

/// Takes elements out of `PATH` and `LD_LIBRARY_PATH`: a hook's own of earlier, which a virtual environment brings
/// back when it is deactivated after the project was left.
pub fn without(vars: &Vars, past: &[OsString]) -> Vars {
    let mut after = vars.clone();
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        let Some(value) = vars.get(OsStr::new(name)) else { continue };
        let elements = split(value);
        let kept: Vec<OsString> =
            elements.iter().filter(|element| !past.contains(element)).cloned().collect();
        if kept.is_empty() {
            after.remove(OsStr::new(name));
        } else if kept.len() < elements.len() {
            after.insert(name.into(), join(&kept));
        }
    }
    after
}

/// Returns the changes from one environment to another.
pub fn difference(before: &Vars, after: &Vars) -> Changes {
    let mut changes: Changes = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value))
        .map(|(name, value)| (name.clone(), Some(value.clone())))
        .collect();
    changes.extend(
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), None)),
    );
    changes.sort_unstable();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::from_pairs;

    fn dirs() -> Dirs {
        Dirs::find(&from_pairs(&[("CUENV_HOME", "/c"), ("HOME", "/h")]), None).unwrap()
    }

    fn wanted(name: &str) -> Wanted {
        let prefix = format!("/c/toolchains/t/{name}");
        Wanted {
            toolchain: name.into(),
            set: vec![("CUDA_HOME".into(), prefix.clone().into())],
            lists: vec![
                ("PATH".into(), vec![format!("{prefix}/bin").into()]),
                (
                    "LD_LIBRARY_PATH".into(),
                    vec!["/v/nvidia/lib".into(), format!("{prefix}/lib").into()],
                ),
            ],
        }
    }

    fn into(vars: &Vars, name: &str) -> Vars {
        apply(vars, &enter(vars, &wanted(name), &dirs()))
    }

    fn out(vars: &Vars) -> Vars {
        apply(vars, &leave(vars))
    }

    fn get<'a>(vars: &'a Vars, name: &str) -> Option<&'a str> {
        vars.get(OsStr::new(name)).map(|value| value.to_str().unwrap())
    }

    /// Environments with every oddity a list can have.
    fn environments() -> Vec<Vars> {
        let lists = [
            None,
            Some(""),
            Some(":"),
            Some("/u"),
            Some(":/u"),
            Some("/u:"),
            Some("/u::/w"),
            Some("::/u:/w::"),
            Some("/c/toolchains/t/old/lib:/u"),
            Some("/u:/c/toolchains/t/old/lib::/w:/u"),
            Some("/v/nvidia/lib:/u"),
            Some("/a b:/c\"d':/e\nf"),
        ];
        let mut all = Vec::new();
        for path in lists {
            for libraries in lists {
                for home in [None, Some(""), Some("/usr/local/cuda")] {
                    let mut vars = from_pairs(&[("OTHER", "x")]);
                    for (name, value) in
                        [("PATH", path), ("LD_LIBRARY_PATH", libraries), ("CUDA_HOME", home)]
                    {
                        if let Some(value) = value {
                            vars.insert(name.into(), value.into());
                        }
                    }
                    all.push(vars);
                }
            }
        }
        all
    }

    #[test]
    fn no_empty_element_is_ever_written_and_the_users_keep_their_order() {
        for vars in environments() {
            let inside = into(&vars, "a");
            for name in ["PATH", "LD_LIBRARY_PATH"] {
                let elements = split(&inside[OsStr::new(name)]);
                assert!(elements.iter().all(|element| !element.is_empty()), "{vars:?}");
                assert!(!elements.iter().any(|element| element.to_str().unwrap().contains("/old")));
                let mine: Vec<OsString> = vars
                    .get(OsStr::new(name))
                    .map(|value| split(value))
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|element| !element.is_empty() && !dirs().owns(element))
                    .collect();
                if vars.contains_key(OsStr::new(name)) {
                    let ours =
                        wanted("a").lists.iter().find(|list| list.0 == name).unwrap().1.len();
                    assert_eq!(elements[ours..], mine[..], "{vars:?}");
                }
            }
            assert_eq!(get(&inside, "CUDA_HOME"), Some("/c/toolchains/t/a"));
        }
    }

    #[test]
    fn leaving_restores_exactly_what_was_there() {
        for vars in environments() {
            assert_eq!(out(&into(&vars, "a")), vars);
            // Nested: from inside `a` into `b`, which leaves `a` first.
            let nested = into(&into(&vars, "a"), "b");
            assert_eq!(nested, into(&vars, "b"));
            assert_eq!(out(&nested), vars);
            // Twice the same is once.
            assert_eq!(into(&into(&vars, "a"), "a"), into(&vars, "a"));
        }
    }

    #[test]
    fn what_the_user_changed_in_between_stays() {
        let vars =
            from_pairs(&[("PATH", "/bin:"), ("LD_LIBRARY_PATH", "/u"), ("CUDA_HOME", "/usr")]);
        let mut inside = into(&vars, "a");
        let path = format!("/venv/bin:{}:/late", get(&inside, "PATH").unwrap());
        inside.insert("PATH".into(), path.into());
        inside.insert("CUDA_HOME".into(), "/mine".into());
        inside.remove(OsStr::new("LD_LIBRARY_PATH"));
        let outside = out(&inside);
        assert_eq!(get(&outside, "PATH"), Some("/venv/bin:/bin:/late"));
        assert_eq!(get(&outside, "CUDA_HOME"), Some("/mine"));
        assert_eq!(get(&outside, "LD_LIBRARY_PATH"), None);
        assert_eq!(get(&outside, "CUENV_UNDO"), None);
    }

    #[test]
    fn a_list_that_was_unset_is_unset_again_even_after_an_edit() {
        let vars = from_pairs(&[("PATH", "/bin")]);
        let mut inside = into(&vars, "a");
        let value = format!("{}:", get(&inside, "LD_LIBRARY_PATH").unwrap());
        inside.insert("LD_LIBRARY_PATH".into(), value.into());
        inside = apply(&inside, &enter(&inside, &wanted("a"), &dirs()));
        assert!(!get(&inside, "LD_LIBRARY_PATH").unwrap().ends_with(':'));
        let mut same = into(&vars, "a");
        same.insert("LD_LIBRARY_PATH".into(), "/c/toolchains/t/a/lib:/v/nvidia/lib".into());
        assert_eq!(get(&out(&same), "LD_LIBRARY_PATH"), None);
    }

    #[test]
    fn a_prompt_leaves_alone_what_still_holds() {
        let vars = from_pairs(&[("PATH", "/bin")]);
        let mut inside = into(&vars, "a");
        let value = format!("/mine:{}", get(&inside, "LD_LIBRARY_PATH").unwrap());
        inside.insert("LD_LIBRARY_PATH".into(), value.into());
        assert_eq!(keep(&inside, &wanted("a"), &dirs()), Changes::new());
        // A virtual environment brought back a PATH of before.
        inside.insert("PATH".into(), "/bin".into());
        let again = apply(&inside, &keep(&inside, &wanted("a"), &dirs()));
        assert_eq!(get(&again, "PATH"), Some("/c/toolchains/t/a/bin:/bin"));
        assert_eq!(get(&again, "LD_LIBRARY_PATH").unwrap().matches("/mine").count(), 1);
        assert_ne!(keep(&again, &wanted("b"), &dirs()), Changes::new());
    }

    #[test]
    fn a_lost_record_is_not_guessed_and_entering_still_cleans() {
        let mut inside = into(&from_pairs(&[("PATH", "/bin"), ("LD_LIBRARY_PATH", "/u")]), "a");
        for record in [None, Some("9;not;a;record")] {
            match record {
                None => inside.remove(OsStr::new(names::UNDO)),
                Some(text) => inside.insert(names::UNDO.into(), text.into()),
            };
            assert_eq!(get(&out(&inside), "PATH"), get(&inside, "PATH"));
            let other = into(&inside, "b");
            assert_eq!(get(&other, "PATH"), Some("/c/toolchains/t/b/bin:/bin"));
            let libraries = "/v/nvidia/lib:/c/toolchains/t/b/lib:/v/nvidia/lib:/u";
            assert_eq!(get(&other, "LD_LIBRARY_PATH"), Some(libraries));
        }
    }

    #[test]
    fn what_a_hook_put_in_earlier_can_be_taken_out() {
        let vars =
            from_pairs(&[("PATH", "/v/bin:/c/a/bin:/bin:"), ("LD_LIBRARY_PATH", "/c/a/lib")]);
        let clean = without(&vars, &["/c/a/bin".into(), "/c/a/lib".into()]);
        assert_eq!(get(&clean, "PATH"), Some("/v/bin:/bin:"));
        assert_eq!(get(&clean, "LD_LIBRARY_PATH"), None);
    }

    #[test]
    fn no_path_becomes_the_built_in_one() {
        let inside = into(&Vars::new(), "a");
        let expected = format!("/c/toolchains/t/a/bin:{}", names::BUILT_IN_PATH);
        assert_eq!(get(&inside, "PATH"), Some(expected.as_str()));
        assert_eq!(out(&inside), Vars::new());
    }

    #[test]
    fn a_path_of_two_thousand_elements_makes_a_small_record() {
        let path: Vec<String> =
            (0..2000).map(|number| format!("/some/where/{number}/bin")).collect();
        let vars = from_pairs(&[("PATH", &path.join(":"))]);
        let inside = into(&vars, "a");
        assert!(inside[OsStr::new(names::UNDO)].len() < 1000);
        assert_eq!(out(&inside), vars);
    }
}
