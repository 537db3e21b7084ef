//! The one door to foreign code: opens shared libraries and calls C functions of a stated signature.
//!
//! This is the only file with `unsafe`, and only child processes made for it come here (`cuenv verify` starts them), so that
//! a library that crashes, hangs or ends the process takes nothing else with it.
//!
//! A [`Function`] states a C signature as data: for each argument whether it is a number, an opaque handle, or a pointer to at
//! least so many bytes. [`Library::call`] compares every argument with that before it calls. What it cannot check is that the
//! statement is true; the statements stand beside their use and follow the vendor's headers.

#![expect(unsafe_code, reason = "the one place that loads and calls foreign code")]

use std::ffi::{CStr, c_char, c_void};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

/// An open library. It stays open until the process ends: NVIDIA's libraries do not survive being unloaded.
#[derive(Debug)]
pub struct Library {
    handle: std::mem::ManuallyDrop<Handle>,
    name: String,
}

/// What a function takes at one place.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An integer of at most 64 bits.
    Number,
    /// An opaque handle or an address on the device, made by another call; zero where C allows a null pointer.
    Handle,
    /// A pointer to at least this many bytes, read or written by the function.
    Bytes(usize),
    /// A pointer to as many bytes as the argument of this number says.
    Sized(usize),
    /// A NUL-terminated text.
    Text,
    /// An array of NUL-terminated texts, as many as the argument of this number says.
    Texts(usize),
    /// An array of pointers to single values, each of eight bytes of room.
    Values,
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// An `int` or an enumeration.
    Int,
    /// A `size_t`.
    Size,
    /// A `const char *` that lives as long as the library.
    Text,
}

/// A C function: its symbol and its signature.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The symbol.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'a [Kind],
    /// What it returns.
    pub returns: Returns,
}

/// One argument.
#[derive(Debug)]
pub enum Arg<'a> {
    /// For [`Kind::Number`].
    Number(i64),
    /// For [`Kind::Handle`].
    Handle(u64),
    /// For [`Kind::Bytes`] and [`Kind::Sized`], read only.
    In(&'a [u8]),
    /// For [`Kind::Bytes`] and [`Kind::Sized`].
    Out(&'a mut [u8]),
    /// For [`Kind::Text`].
    Text(&'a CStr),
    /// For [`Kind::Texts`].
    Texts(&'a [&'a CStr]),
    /// For [`Kind::Values`].
    Values(&'a [[u8; 8]]),
}

/// Why a library could not be opened or a function not be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DlError {
    /// The loader's own words.
    #[error("{0}")]
    Open(String),
    /// The library has no such symbol.
    #[error("`{library}` has no `{symbol}`")]
    NoSymbol {
        /// The library.
        library: String,
        /// The symbol.
        symbol: &'static str,
    },
    /// The arguments do not fit the stated signature.
    #[error("argument {place} of `{symbol}` does not fit its signature")]
    Misfit {
        /// The symbol.
        symbol: &'static str,
        /// The argument, from 0.
        place: usize,
    },
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// For [`Returns::Int`].
    Int(i32),
    /// For [`Returns::Size`].
    Size(u64),
    /// For [`Returns::Text`].
    Text(String),
}

/// More arguments than any function here has.
const MOST: usize = 16;

/// Any function of integers and pointers, as the machine calls it.
type C = unsafe extern "C" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> u64;

impl Library {
    /// Opens `name`, a soname or a path, as programs do: all symbols bound at once, kept to itself.
    pub fn open(name: &str) -> Result<Self, DlError> {
        // SAFETY: the initialisers of the library run. They are the ones that every program runs that uses it, and this
        // process was started for nothing else.
        match unsafe { Handle::open(Some(name), RTLD_NOW | RTLD_LOCAL) } {
            Ok(handle) => {
                Ok(Self { handle: std::mem::ManuallyDrop::new(handle), name: name.to_owned() })
            }
            Err(error) => Err(DlError::Open(words(&error))),
        }
    }

    /// Whether the library, or one it needs, has the symbol.
    pub fn has(&self, symbol: &str) -> bool {
        // SAFETY: the symbol is looked up and not used.
        unsafe { self.handle.get::<*const c_void>(symbol.as_bytes()) }.is_ok()
    }

    /// Calls a function.
    pub fn call(&self, function: &Function<'_>, args: &mut [Arg<'_>]) -> Result<Returned, DlError> {
        check(function, args)?;
        let mut arrays: Vec<Vec<*const c_void>> = Vec::new();
        let mut words = [0u64; MOST];
        for (word, arg) in words.iter_mut().zip(args.iter_mut()) {
            *word = match arg {
                Arg::Number(number) => number.cast_unsigned(),
                Arg::Handle(handle) => *handle,
                Arg::In(bytes) => bytes.as_ptr() as u64,
                Arg::Out(bytes) => bytes.as_mut_ptr() as u64,
                Arg::Text(text) => text.as_ptr() as u64,
                Arg::Texts(texts) => {
                    arrays.push(texts.iter().map(|text| text.as_ptr().cast()).collect());
                    arrays.last().map_or(0, |array| array.as_ptr() as u64)
                }
                Arg::Values(values) => {
                    arrays.push(values.iter().map(|value| value.as_ptr().cast()).collect());
                    arrays.last().map_or(0, |array| array.as_ptr() as u64)
                }
            };
        }
        // SAFETY: the symbol is a C function whose parameters are integers and pointers alone, as `function` states. On
        // x86_64 and aarch64 Linux each of them takes one integer register or one 8-byte stack slot, in order, and the
        // caller removes them, so that the slots behind the last one do no harm. Every pointer covers the bytes that the
        // signature asks for (checked above) and lives until the call returns.
        let raw = unsafe {
            let Ok(symbol) = self.handle.get::<C>(function.name.as_bytes()) else {
                return Err(DlError::NoSymbol {
                    library: self.name.clone(),
                    symbol: function.name,
                });
            };
            let w = words;
            symbol(
                w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                w[13], w[14], w[15],
            )
        };
        drop(arrays);
        Ok(match function.returns {
            Returns::Int => {
                let [a, b, c, d, ..] = raw.to_le_bytes();
                Returned::Int(i32::from_le_bytes([a, b, c, d]))
            }
            Returns::Size => Returned::Size(raw),
            Returns::Text if raw == 0 => Returned::Text(String::new()),
            Returns::Text => {
                // SAFETY: the signature states a NUL-terminated text that lives as long as the library, which is never
                // closed.
                let text = unsafe { CStr::from_ptr(raw as *const c_char) };
                Returned::Text(text.to_string_lossy().into_owned())
            }
        })
    }
}

/// The loader's message; the error's own text names the function that failed, which says nothing.
fn words(error: &libloading::Error) -> String {
    let text =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    text.trim().to_owned()
}

fn check(function: &Function<'_>, args: &[Arg<'_>]) -> Result<(), DlError> {
    let misfit = |place| DlError::Misfit { symbol: function.name, place };
    if args.len() != function.takes.len() || args.len() > MOST {
        return Err(misfit(args.len()));
    }
    let number = |place: usize| match args.get(place) {
        Some(Arg::Number(number)) => usize::try_from(*number).ok(),
        _ => None,
    };
    for (place, (kind, arg)) in function.takes.iter().zip(args).enumerate() {
        let length = match arg {
            Arg::In(bytes) => bytes.len(),
            Arg::Out(bytes) => bytes.len(),
            _ => 0,
        };
        let pointer = matches!(arg, Arg::In(_) | Arg::Out(_));
        let fits = match kind {
            Kind::Number => matches!(arg, Arg::Number(_)),
            Kind::Handle => matches!(arg, Arg::Handle(_)),
            Kind::Bytes(least) => pointer && length >= *least,
            Kind::Sized(of) => pointer && number(*of).is_some_and(|size| length >= size),
            Kind::Text => matches!(arg, Arg::Text(_)),
            Kind::Texts(of) => {
                matches!(arg, Arg::Texts(texts) if number(*of).is_some_and(|count| texts.len() >= count))
            }
            Kind::Values => matches!(arg, Arg::Values(_)),
        };
        if !fits {
            return Err(misfit(place));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Arg, DlError, Function, Kind, Library, Returned, Returns};

    const STRNLEN: Function<'_> = Function {
        name: "strnlen",
        takes: &[Kind::Sized(1), Kind::Number],
        returns: Returns::Size,
    };

    #[test]
    fn calls_what_fits_and_refuses_what_does_not() {
        let libc = Library::open("libc.so.6").expect("libc");
        let returned = libc.call(&STRNLEN, &mut [Arg::In(b"four\0"), Arg::Number(5)]);
        assert_eq!(returned, Ok(Returned::Size(4)));
        let returned = libc.call(&STRNLEN, &mut [Arg::In(b"four"), Arg::Number(5)]);
        assert_eq!(returned, Err(DlError::Misfit { symbol: "strnlen", place: 0 }));
        let returned = libc.call(&STRNLEN, &mut [Arg::In(b"four\0")]);
        assert_eq!(returned, Err(DlError::Misfit { symbol: "strnlen", place: 1 }));
    }

    #[test]
    fn texts_and_missing_symbols() {
        let libc = Library::open("libc.so.6").expect("libc");
        let version = Function { name: "gnu_get_libc_version", takes: &[], returns: Returns::Text };
        let Ok(Returned::Text(text)) = libc.call(&version, &mut []) else { panic!("no text") };
        assert!(text.starts_with("2."), "{text}");
        let none = Function { name: "cudnnGetVersion", takes: &[], returns: Returns::Size };
        assert!(matches!(libc.call(&none, &mut []), Err(DlError::NoSymbol { .. })));
        let words = Library::open("libnosuch.so.1").expect_err("missing").to_string();
        assert_eq!(
            words,
            "libnosuch.so.1: cannot open shared object file: No such file or directory"
        );
    }

    #[test]
    fn numbers_come_back_through_pointers() {
        let libm = Library::open("libm.so.6").expect("libm");
        assert!(libm.has("frexp") && !libm.has("nosuch"));
        let libc = Library::open("libc.so.6").expect("libc");
        let memcpy = Function {
            name: "memcpy",
            takes: &[Kind::Sized(2), Kind::Sized(2), Kind::Number],
            returns: Returns::Size,
        };
        let mut to = [0u8; 4];
        libc.call(&memcpy, &mut [Arg::Out(&mut to), Arg::In(b"abcd"), Arg::Number(4)])
            .expect("copied");
        assert_eq!(&to, b"abcd");
    }
}
