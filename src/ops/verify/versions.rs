//! How each library tells its version, by a function that needs no GPU.

use crate::platform::dlopen::{Arg, DlError, Function, Kind, Library, Returned, Returns};

/// How the numbers come out of the function.
#[derive(Clone, Copy)]
enum Form {
    /// `int f(property, int *value)`, asked for major, minor and patch (0, 1, 2).
    Property,
    /// `int f(int *value)`; the value packs the parts: 12040 by these two divisors.
    Packed(u64, u64),
    /// `size_t f(void)`; likewise.
    Returned(u64, u64),
    /// `int f(int *major, int *minor)`.
    Pair,
    /// `cudnnGetVersion`, whose packing changed with version 9.
    Cudnn,
}

/// File name up to `.so`, the function, its form.
const TABLE: &[(&str, &str, Form)] = &[
    ("libcudart", "cudaRuntimeGetVersion", Form::Packed(1000, 10)),
    ("libcublas", "cublasGetProperty", Form::Property),
    ("libcublasLt", "cublasLtGetVersion", Form::Returned(10_000, 100)),
    ("libcufft", "cufftGetProperty", Form::Property),
    ("libcurand", "curandGetProperty", Form::Property),
    ("libcusolver", "cusolverGetProperty", Form::Property),
    ("libcusparse", "cusparseGetProperty", Form::Property),
    ("libcusparseLt", "cusparseLtGetProperty", Form::Property),
    ("libnvjpeg", "nvjpegGetProperty", Form::Property),
    ("libnvrtc", "nvrtcVersion", Form::Pair),
    ("libnvJitLink", "nvJitLinkVersion", Form::Pair),
    ("libnvfatbin", "nvFatbinVersion", Form::Pair),
    ("libcudnn", "cudnnGetVersion", Form::Cudnn),
    ("libnccl", "ncclGetVersion", Form::Packed(10_000, 100)),
    ("libnvvm", "nvvmVersion", Form::Pair),
];

/// What a library said.
pub(super) struct Told {
    pub(super) version: Option<String>,
    /// The function that said it, or why none did.
    pub(super) via: String,
}

/// Asks an open library for its version.
pub(super) fn ask(name: &str, library: &Library) -> Option<Told> {
    let stem = name.rsplit('/').next().unwrap_or(name).split(".so").next()?;
    let (_, symbol, form) = TABLE.iter().find(|(known, _, _)| *known == stem)?;
    let told = match answer(symbol, *form, library) {
        Ok(version) => Told { version: Some(version), via: (*symbol).to_owned() },
        Err(Silence::Missing) => return None,
        // CUDA 11's runtime asks the driver before it tells its own version.
        Err(Silence::Code(code)) => {
            Told { version: None, via: format!("{symbol} answers {code} without a driver") }
        }
    };
    Some(told)
}

enum Silence {
    Missing,
    Code(i32),
}

fn answer(symbol: &'static str, form: Form, library: &Library) -> Result<String, Silence> {
    let packed = |value: u64, major: u64, minor: u64| {
        let rest = value % major;
        // Three parts where the lowest divisor leaves one: the runtime packs two parts and a zero.
        if minor == 10 {
            format!("{}.{}", value / major, rest / minor)
        } else {
            format!("{}.{}.{}", value / major, rest / minor, rest % minor)
        }
    };
    match form {
        Form::Property => {
            let function = Function {
                name: symbol,
                takes: &[Kind::Number, Kind::Bytes(4)],
                returns: Returns::Int,
            };
            let mut parts = [0u32; 3];
            for (property, part) in parts.iter_mut().enumerate() {
                let mut value = [0u8; 4];
                let number = i64::try_from(property).unwrap_or_default();
                ok(&library.call(&function, &mut [Arg::Number(number), Arg::Out(&mut value)]))?;
                *part = u32::from_le_bytes(value);
            }
            Ok(format!("{}.{}.{}", parts[0], parts[1], parts[2]))
        }
        Form::Packed(major, minor) => {
            let function =
                Function { name: symbol, takes: &[Kind::Bytes(4)], returns: Returns::Int };
            let mut value = [0u8; 4];
            ok(&library.call(&function, &mut [Arg::Out(&mut value)]))?;
            Ok(packed(u64::from(u32::from_le_bytes(value)), major, minor))
        }
        Form::Returned(major, minor) => Ok(packed(size(symbol, library)?, major, minor)),
        Form::Cudnn => {
            let value = size(symbol, library)?;
            let major = if value < 10_000 { 1000 } else { 10_000 };
            Ok(packed(value, major, 100))
        }
        Form::Pair => {
            let function = Function {
                name: symbol,
                takes: &[Kind::Bytes(4), Kind::Bytes(4)],
                returns: Returns::Int,
            };
            let (mut major, mut minor) = ([0u8; 4], [0u8; 4]);
            ok(&library.call(&function, &mut [Arg::Out(&mut major), Arg::Out(&mut minor)]))?;
            Ok(format!("{}.{}", u32::from_le_bytes(major), u32::from_le_bytes(minor)))
        }
    }
}

fn size(symbol: &'static str, library: &Library) -> Result<u64, Silence> {
    let function = Function { name: symbol, takes: &[], returns: Returns::Size };
    match library.call(&function, &mut []) {
        Ok(Returned::Size(value)) => Ok(value),
        _ => Err(Silence::Missing),
    }
}

fn ok(returned: &Result<Returned, DlError>) -> Result<(), Silence> {
    match returned {
        Ok(Returned::Int(0)) => Ok(()),
        Ok(Returned::Int(code)) => Err(Silence::Code(*code)),
        _ => Err(Silence::Missing),
    }
}
