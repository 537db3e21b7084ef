//! The fuzz targets on their seeds, and on a fixed row of changed copies: the same inputs on every machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../fuzz/entries.rs"]
mod entries;

use entries::ENTRIES;

/// Changed copies of each seed.
const COPIES: u64 = 1000;

/// A small generator of numbers with a fixed row (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// Cuts, doubles, overwrites and inserts.
fn change(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let byte = u8::try_from(dice.below(256)).unwrap();
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte),
            2 => bytes
                .splice(at..at, b"\0\xff\"'<&/..\n;()[]="[dice.below(12)..].iter().copied().take(3))
                .for_each(drop),
            3 => {
                let end = (at + dice.below(32)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.extend(part);
            }
            _ => {
                if let Some(old) = bytes.get_mut(at) {
                    *old ^= byte;
                }
            }
        }
    }
    bytes
}

#[test]
fn seeds_and_changed_copies_break_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in ENTRIES {
        let mut seeds: Vec<_> = std::fs::read_dir(corpus.join(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        seeds.sort();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            let bytes = std::fs::read(&seed).unwrap();
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
            for copy in 0..=COPIES {
                let input = if copy == 0 { bytes.clone() } else { change(&bytes, &mut dice) };
                let done = catch_unwind(AssertUnwindSafe(|| run(&input)));
                assert!(
                    done.is_ok(),
                    "{name}: copy {copy} of {}: {}",
                    seed.display(),
                    input.escape_ascii()
                );
            }
        }
    }
}

#[test]
fn every_fuzz_target_is_replayed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut targets: Vec<_> = std::fs::read_dir(root.join("targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    targets.sort();
    let mut entries: Vec<_> = ENTRIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    entries.sort();
    assert_eq!(targets, entries);
}
