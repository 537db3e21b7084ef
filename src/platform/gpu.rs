//! Asks NVIDIA's libraries. Meant to be run in a child process: a broken driver may hang or crash whoever loads them.
//!
//! This is the one file with `unsafe`: the functions of a C library are called through pointers whose types are
//! written down here, after NVIDIA's headers `nvml.h` and `cuda.h`. Nothing is called that creates a context,
//! allocates on a GPU or changes a setting.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::PathBuf;

use libloading::Library;

use crate::domain::capability::ComputeCapability;
use crate::domain::host::{Answer, AnswerGpu, Fault, Probe};
use crate::domain::version::Version;

/// More GPUs than any machine has: a count above is not believed.
const MAX_GPUS: u32 = 64;

type Text = [c_char; 128];

/// Asks one library, the first of `candidates` that can be loaded, and says what it answered.
pub fn answer(probe: Probe, candidates: &[PathBuf]) -> Answer {
    let mut answer = Answer { complete: true, ..Answer::default() };
    // SAFETY: loading runs the library's initialisers, which is what the caller's child process is for; the names are
    // those of NVIDIA's driver libraries.
    #[expect(unsafe_code, reason = "loading a library")]
    let library = candidates.iter().find_map(|path| unsafe { Library::new(path) }.ok());
    let Some(library) = library else {
        answer.fault = Some(Fault::Absent);
        return answer;
    };
    answer.library = mapped_file(probe.file());
    let result = match probe {
        Probe::Nvml => ask_nvml(&library, &mut answer),
        Probe::Libcuda => ask_libcuda(&library, &mut answer),
        Probe::NvidiaSmi => Ok(()),
    };
    if let Err(fault) = result {
        answer.fault = Some(fault);
    }
    // Unloading runs finalisers that may hang as well, and the process is about to end.
    std::mem::forget(library);
    answer
}

/// Returns the file behind a library that this process has just loaded.
fn mapped_file(name: &str) -> Option<String> {
    let stem = name.split(".so").next().unwrap_or(name);
    let maps = fs_err::read_to_string("/proc/self/maps").ok()?;
    let file =
        maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| {
            path.rsplit('/').next().is_some_and(|file| file.starts_with(&format!("{stem}.so")))
        })?;
    Some(file.to_owned())
}

/// Looks a function up.
fn function<T: Copy>(library: &Library, name: &str) -> Result<T, Fault> {
    // SAFETY: every caller names the type that NVIDIA's header gives the function; the pointer is used while the
    // library stays loaded, which is until the process ends.
    #[expect(unsafe_code, reason = "looking a symbol up")]
    let symbol = unsafe { library.get::<T>(name) };
    symbol.map(|symbol| *symbol).map_err(|_| refused(name, -1))
}

fn refused(call: &str, code: i64) -> Fault {
    Fault::Refused { call: call.to_owned(), code }
}

fn check(call: &str, code: c_int) -> Result<(), Fault> {
    if code == 0 { Ok(()) } else { Err(refused(call, i64::from(code))) }
}

fn text(buffer: &Text) -> Option<String> {
    let end = buffer.iter().position(|byte| *byte == 0)?;
    // `c_char` is signed on x86 and unsigned on Arm.
    let bytes: Vec<u8> = buffer[..end].iter().flat_map(|byte| byte.to_ne_bytes()).collect();
    let text = String::from_utf8(bytes).ok()?.replace(['\n', '\r'], " ");
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn cuda_version(number: c_int) -> Option<Version> {
    let number = u64::try_from(number).ok().filter(|number| (1000..100_000).contains(number))?;
    Some(Version::from_parts(&[number / 1000, number % 1000 / 10]))
}

fn capability(major: c_int, minor: c_int) -> Option<ComputeCapability> {
    let number = |value: c_int| u32::try_from(value).ok().filter(|value| *value < 100);
    Some(ComputeCapability::new(number(major).filter(|major| *major > 0)?, number(minor)?))
}

#[expect(unsafe_code, reason = "calls into NVML")]
fn ask_nvml(library: &Library, answer: &mut Answer) -> Result<(), Fault> {
    type Device = *mut c_void;
    let init: extern "C" fn() -> c_int = function(library, "nvmlInit_v2")?;
    check("nvmlInit_v2", init())?;
    let mut buffer: Text = [0; 128];
    let driver: unsafe extern "C" fn(*mut c_char, c_uint) -> c_int =
        function(library, "nvmlSystemGetDriverVersion")?;
    // SAFETY: the buffer is as long as the length says, here and below.
    check("nvmlSystemGetDriverVersion", unsafe { driver(buffer.as_mut_ptr(), 128) })?;
    answer.driver = text(&buffer).and_then(|text| text.parse().ok());
    if let Ok(cuda) = function::<unsafe extern "C" fn(*mut c_int) -> c_int>(
        library,
        "nvmlSystemGetCudaDriverVersion_v2",
    ) {
        let mut number = 0;
        // SAFETY: writes one int.
        if unsafe { cuda(&raw mut number) } == 0 {
            answer.cuda = cuda_version(number);
        }
    }
    let count: unsafe extern "C" fn(*mut c_uint) -> c_int =
        function(library, "nvmlDeviceGetCount_v2")?;
    let mut devices = 0;
    // SAFETY: writes one unsigned int.
    check("nvmlDeviceGetCount_v2", unsafe { count(&raw mut devices) })?;
    let handle: unsafe extern "C" fn(c_uint, *mut Device) -> c_int =
        function(library, "nvmlDeviceGetHandleByIndex_v2")?;
    let name: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int =
        function(library, "nvmlDeviceGetName")?;
    let uuid: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int =
        function(library, "nvmlDeviceGetUUID")?;
    let cc: unsafe extern "C" fn(Device, *mut c_int, *mut c_int) -> c_int =
        function(library, "nvmlDeviceGetCudaComputeCapability")?;
    for index in 0..devices.min(MAX_GPUS) {
        let mut device: Device = std::ptr::null_mut();
        // SAFETY: writes one pointer, which is only handed back to the same library.
        check("nvmlDeviceGetHandleByIndex_v2", unsafe { handle(index, &raw mut device) })?;
        let mut gpu = AnswerGpu::default();
        let mut buffer: Text = [0; 128];
        // SAFETY: as above.
        if unsafe { name(device, buffer.as_mut_ptr(), 128) } == 0 {
            gpu.name = text(&buffer);
        }
        let mut buffer: Text = [0; 128];
        // SAFETY: as above.
        if unsafe { uuid(device, buffer.as_mut_ptr(), 128) } == 0 {
            gpu.uuid = text(&buffer);
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two ints.
        if unsafe { cc(device, &raw mut major, &raw mut minor) } == 0 {
            gpu.cc = capability(major, minor);
        }
        answer.gpus.push(gpu);
    }
    Ok(())
}

#[expect(unsafe_code, reason = "calls into the driver API")]
fn ask_libcuda(library: &Library, answer: &mut Answer) -> Result<(), Fault> {
    // `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
    const MAJOR: c_int = 75;
    const MINOR: c_int = 76;
    let version: unsafe extern "C" fn(*mut c_int) -> c_int =
        function(library, "cuDriverGetVersion")?;
    let mut number = 0;
    // SAFETY: writes one int; works before `cuInit`.
    check("cuDriverGetVersion", unsafe { version(&raw mut number) })?;
    answer.cuda = cuda_version(number);
    let init: extern "C" fn(c_uint) -> c_int = function(library, "cuInit")?;
    check("cuInit", init(0))?;
    let count: unsafe extern "C" fn(*mut c_int) -> c_int = function(library, "cuDeviceGetCount")?;
    let mut devices = 0;
    // SAFETY: writes one int.
    check("cuDeviceGetCount", unsafe { count(&raw mut devices) })?;
    let device: unsafe extern "C" fn(*mut c_int, c_int) -> c_int =
        function(library, "cuDeviceGet")?;
    let name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int =
        function(library, "cuDeviceGetName")?;
    let attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int =
        function(library, "cuDeviceGetAttribute")?;
    let most = c_int::try_from(MAX_GPUS).unwrap_or(c_int::MAX);
    for index in 0..devices.clamp(0, most) {
        let mut ordinal = 0;
        // SAFETY: writes one int.
        check("cuDeviceGet", unsafe { device(&raw mut ordinal, index) })?;
        let mut gpu = AnswerGpu::default();
        let mut buffer: Text = [0; 128];
        // SAFETY: the buffer is as long as the length says.
        if unsafe { name(buffer.as_mut_ptr(), 128, ordinal) } == 0 {
            gpu.name = text(&buffer);
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: each writes one int.
        let known = unsafe {
            attribute(&raw mut major, MAJOR, ordinal) == 0
                && attribute(&raw mut minor, MINOR, ordinal) == 0
        };
        if known {
            gpu.cc = capability(major, minor);
        }
        answer.gpus.push(gpu);
    }
    Ok(())
}
