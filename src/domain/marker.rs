//! Environment markers of a requirement (PEP 508): the part that NVIDIA's metadata uses, read strictly.
//!
//! A variable that is not known here is an error and not a guess: a component that is left out by mistake
//! shows only when a program fails to load.

use std::fmt;

use super::target::Target;
use super::version::PackageVersion;
use super::wheel_name::normalise;

/// Nesting beyond this is refused; real metadata has two levels.
const MAX_DEPTH: usize = 32;

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Both hold.
    And(Box<Marker>, Box<Marker>),
    /// One holds.
    Or(Box<Marker>, Box<Marker>),
    /// A comparison of a variable with a text.
    Compare(Compare),
}

/// One comparison, with the variable on the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    variable: Variable,
    operator: Operator,
    value: String,
    /// Whether the text stood on the left; matters for `in` only.
    reversed: bool,
}

/// What a marker can ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    Extra,
    SysPlatform,
    PlatformMachine,
    PlatformSystem,
    OsName,
    PythonVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Compatible,
    In,
    NotIn,
}

/// What the variables stand for.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The platform that is resolved for.
    pub target: Target,
    /// The extra that is asked for; empty for none.
    pub extra: &'a str,
}

/// The Python that metadata is read for. cuenv runs no Python and NVIDIA's wheels are for every one, so this
/// only has to be newer than any lower bound they name.
const PYTHON: &str = "3.12";

/// Why a text is not a marker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("marker `{}`: {reason} at character {}", text.escape_debug(), at + 1)]
pub struct MarkerError {
    /// The marker.
    pub text: String,
    /// Byte offset of the offending place.
    pub at: usize,
    /// What is wrong there.
    pub reason: String,
}

impl Marker {
    /// Reads a marker.
    pub fn parse(text: &str) -> Result<Self, MarkerError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let marker = reader.either()?;
        reader.space();
        if reader.at < text.len() {
            return Err(reader.fail("unexpected text"));
        }
        Ok(marker)
    }

    /// Tells whether the condition holds in `environment`.
    pub fn holds(&self, environment: &Environment<'_>) -> bool {
        match self {
            Self::And(left, right) => left.holds(environment) && right.holds(environment),
            Self::Or(left, right) => left.holds(environment) || right.holds(environment),
            Self::Compare(compare) => compare.holds(environment),
        }
    }
}

impl Compare {
    fn holds(&self, environment: &Environment<'_>) -> bool {
        let actual = match self.variable {
            Variable::Extra => {
                let (asked, named) = (normalise(environment.extra), normalise(&self.value));
                return self.by_text(&asked, &named);
            }
            Variable::SysPlatform => "linux",
            Variable::PlatformMachine => environment.target.machine(),
            Variable::PlatformSystem => "Linux",
            Variable::OsName => "posix",
            Variable::PythonVersion => return self.by_version(),
        };
        self.by_text(actual, &self.value)
    }

    fn by_text(&self, actual: &str, value: &str) -> bool {
        let contains =
            || if self.reversed { actual.contains(value) } else { value.contains(actual) };
        match self.operator {
            Operator::Equal | Operator::Compatible => actual == value,
            Operator::NotEqual => actual != value,
            Operator::Less => actual < value,
            Operator::LessEqual => actual <= value,
            Operator::Greater => actual > value,
            Operator::GreaterEqual => actual >= value,
            Operator::In => contains(),
            Operator::NotIn => !contains(),
        }
    }

    fn by_version(&self) -> bool {
        let operator = match self.operator {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::Compatible => "~=",
            Operator::In | Operator::NotIn => return self.by_text(PYTHON, &self.value),
        };
        let specifier = format!("{operator}{}", self.value).parse::<pep440_rs::VersionSpecifier>();
        match (specifier, PYTHON.parse::<PackageVersion>()) {
            (Ok(specifier), Ok(python)) => specifier.contains(&python),
            _ => self.by_text(PYTHON, &self.value),
        }
    }
}

impl Operator {
    /// The operator with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }
}

impl Variable {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "extra" => Self::Extra,
            "sys_platform" | "sys.platform" => Self::SysPlatform,
            "platform_machine" | "platform.machine" => Self::PlatformMachine,
            "platform_system" => Self::PlatformSystem,
            "os_name" | "os.name" => Self::OsName,
            "python_version" | "python_full_version" => Self::PythonVersion,
            _ => return None,
        })
    }
}

enum Side {
    Variable(Variable),
    Text(String),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn either(&mut self) -> Result<Marker, MarkerError> {
        let mut left = self.both()?;
        while self.word("or") {
            left = Marker::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Marker, MarkerError> {
        let mut left = self.single()?;
        while self.word("and") {
            left = Marker::And(Box::new(left), Box::new(self.single()?));
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Marker, MarkerError> {
        self.space();
        if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.fail("too many parentheses"));
            }
            let inner = self.either()?;
            self.space();
            if !self.take(")") {
                return Err(self.fail("expected `)`"));
            }
            self.depth -= 1;
            return Ok(inner);
        }
        let start = self.at;
        let left = self.side()?;
        let operator = self.operator()?;
        let right = self.side()?;
        match (left, right) {
            (Side::Variable(variable), Side::Text(value)) => {
                Ok(Marker::Compare(Compare { variable, operator, value, reversed: false }))
            }
            (Side::Text(value), Side::Variable(variable)) => Ok(Marker::Compare(Compare {
                variable,
                operator: operator.turned(),
                value,
                reversed: true,
            })),
            _ => {
                self.at = start;
                Err(self.fail("expected a comparison of a variable with a text"))
            }
        }
    }

    fn side(&mut self) -> Result<Side, MarkerError> {
        self.space();
        for quote in ["'", "\""] {
            if self.take(quote) {
                let Some(length) = self.rest().find(quote) else {
                    return Err(self.fail("text without its closing quote"));
                };
                let value = self.rest()[..length].to_owned();
                self.at += length + 1;
                return Ok(Side::Text(value));
            }
        }
        let name = self.name();
        if name.is_empty() {
            return Err(self.fail("expected a variable or a quoted text"));
        }
        match Variable::named(name) {
            Some(variable) => {
                self.at += name.len();
                Ok(Side::Variable(variable))
            }
            None => Err(self.fail(format!("unknown variable `{name}`"))),
        }
    }

    fn operator(&mut self) -> Result<Operator, MarkerError> {
        self.space();
        // The longer spelling first: `<` is the beginning of `<=`.
        let signs = [
            ("===", Operator::Equal),
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            ("~=", Operator::Compatible),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        for (sign, operator) in signs {
            if self.take(sign) {
                return Ok(operator);
            }
        }
        if self.word("in") {
            return Ok(Operator::In);
        }
        if self.word("not") {
            return if self.word("in") {
                Ok(Operator::NotIn)
            } else {
                Err(self.fail("expected `in`"))
            };
        }
        Err(self.fail("expected a comparison"))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn name(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.space();
        let found = self.name() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn fail(&self, reason: impl fmt::Display) -> MarkerError {
        MarkerError { text: self.text.to_owned(), at: self.at, reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, target: Target, extra: &str) -> bool {
        Marker::parse(text).unwrap().holds(&Environment { target, extra })
    }

    #[test]
    fn nvidias_own_forms_hold_where_they_should() {
        let (x86, arm) = (Target::LinuxX86_64, Target::LinuxAarch64);
        let old = "(sys_platform == 'win32' or sys_platform == 'linux') and extra == 'all'";
        assert!(holds(old, x86, "all") && holds(old, arm, "all"));
        assert!(!holds(old, x86, "cudart") && !holds(old, x86, ""));
        let new = "(sys_platform == 'linux' and platform_machine == 'x86_64' or \
                   sys_platform == 'win32' and platform_machine == 'AMD64') and extra == 'all'";
        assert!(holds(new, x86, "all"));
        assert!(!holds(new, arm, "all"));
    }

    #[test]
    fn operators_and_sides() {
        let x86 = Target::LinuxX86_64;
        for (text, expected) in [
            ("python_version >= '3.8'", true),
            // As a text, `3.12` would be below `3.8`.
            ("python_version < \"3.8\"", false),
            ("'3.8' <= python_version", true),
            ("python_version not in '2.7, 3.5'", true),
            ("platform_machine in 'x86_64 AMD64'", true),
            ("platform_machine not in 'arm64'", true),
            ("'86' in platform_machine", true),
            ("platform_system == 'Linux' and os_name == 'posix'", true),
            ("sys_platform != 'linux' or extra == 'Some_Extra'", true),
            ("sys_platform == 'win32' or sys_platform == 'linux' and extra == 'no'", false),
        ] {
            assert_eq!(holds(text, x86, "some.extra"), expected, "{text}");
        }
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, at, reason) in [
            ("libc == 'musl'", 0, "unknown variable `libc`"),
            ("extra == 'all", 10, "text without its closing quote"),
            ("extra 'all'", 6, "expected a comparison"),
            ("(extra == 'all'", 15, "expected `)`"),
            ("extra == 'all' extra", 15, "unexpected text"),
            ("extra == sys_platform", 0, "expected a comparison of a variable with a text"),
            ("", 0, "expected a variable or a quoted text"),
            ("extra not 'a'", 10, "expected `in`"),
        ] {
            let error = Marker::parse(text).unwrap_err();
            assert_eq!((error.at, error.reason.as_str()), (at, reason), "{text}");
        }
        assert!(Marker::parse(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn never_panics_on_any_marker() {
        arbtest::arbtest(|u| {
            let pieces =
                ["extra", "==", "'a'", "(", ")", " and ", " or ", "in", "not", "é", "\"", " "];
            let mut text = String::new();
            for _ in 0..u.int_in_range(0..=12)? {
                text.push_str(u.choose(&pieces)?);
            }
            if let Ok(marker) = Marker::parse(&text) {
                marker.holds(&Environment { target: Target::LinuxX86_64, extra: "a" });
            }
            Ok(())
        });
    }
}
