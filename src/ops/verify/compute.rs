//! One small computation with each library, and the check of its result against the one known beforehand.

use super::gpu::{Gpu, Outcome, call, create, same};
use crate::platform::dlopen::{Arg, Library};

/// A computation: the libraries that it takes (one of the names has to be there), and what it does.
pub(super) struct Step {
    /// What `verify` calls it.
    pub(super) name: &'static str,
    /// Sonames without their version.
    pub(super) library: &'static str,
    run: fn(&Gpu, &str) -> Outcome<()>,
}

pub(super) const STEPS: &[Step] = &[
    Step { name: "memory there and back", library: "libcudart", run: copy },
    Step { name: "kernel compiled and launched", library: "libnvrtc", run: nvrtc },
    Step { name: "PTX linked and launched", library: "libnvJitLink", run: nvjitlink },
    Step { name: "matrix product", library: "libcublas", run: cublas },
    Step { name: "matrix product", library: "libcublasLt", run: cublas_lt },
    Step { name: "transform of an impulse", library: "libcufft", run: cufft },
    Step { name: "uniform numbers", library: "libcurand", run: curand },
    Step { name: "linear system", library: "libcusolver", run: cusolver },
    Step { name: "sparse product", library: "libcusparse", run: cusparse },
    Step { name: "convolution", library: "libcudnn", run: cudnn },
    Step { name: "sum over one rank", library: "libnccl", run: nccl },
];

/// Runs the step for the library of this file name.
pub(super) fn run(gpu: &Gpu, file: &str) -> Outcome<&'static str> {
    let step = step_for(file).ok_or_else(|| format!("no computation is known for `{file}`"))?;
    (step.run)(gpu, file).map(|()| step.name)
}

pub(super) fn step_for(file: &str) -> Option<&'static Step> {
    let stem = file.split(".so").next()?;
    STEPS.iter().find(|step| step.library == stem)
}

fn open(name: &str) -> Outcome<Library> {
    Library::open(name).map_err(|error| error.to_string())
}

fn n(number: i64) -> Arg<'static> {
    Arg::Number(number)
}

fn h(handle: u64) -> Arg<'static> {
    Arg::Handle(handle)
}

const ONE: [u8; 4] = 1.0f32.to_le_bytes();
const ZERO: [u8; 4] = 0.0f32.to_le_bytes();

fn copy(gpu: &Gpu, _: &str) -> Outcome<()> {
    let values: Vec<f32> = (0u16..4096).map(f32::from).collect();
    let at = gpu.put_floats(&values)?;
    same(&gpu.floats(at, values.len())?, &values)
}

const KERNEL: &std::ffi::CStr =
    c"extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }";

/// Compiles the kernel, to machine code or to PTX.
fn compile(library: &Library, architecture: &str, ptx: bool) -> Outcome<Vec<u8>> {
    let args = vec![Arg::Text(KERNEL), Arg::Text(c"twice.cu"), n(0), h(0), h(0)];
    let program = create(library, "nvrtcCreateProgram", "ttnhh", args)?;
    let option = std::ffi::CString::new(format!("--gpu-architecture={architecture}"))
        .map_err(|error| error.to_string())?;
    let options = [option.as_c_str()];
    call(library, "nvrtcCompileProgram", "hnT", &mut [h(program), n(1), Arg::Texts(&options)])?;
    let (size, get) = if ptx {
        ("nvrtcGetPTXSize", "nvrtcGetPTX")
    } else {
        ("nvrtcGetCUBINSize", "nvrtcGetCUBIN")
    };
    taken(library, size, get, program)
}

/// Asks for a size, then for so many bytes.
fn taken(library: &Library, size: &'static str, get: &'static str, of: u64) -> Outcome<Vec<u8>> {
    let mut length = [0u8; 8];
    call(library, size, "hp8", &mut [h(of), Arg::Out(&mut length)])?;
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(|error| error.to_string())?;
    let mut bytes = vec![0u8; length.max(1)];
    call(library, get, "hp1", &mut [h(of), Arg::Out(&mut bytes)])?;
    Ok(bytes)
}

fn nvrtc(gpu: &Gpu, file: &str) -> Outcome<()> {
    let code = compile(&open(file)?, &format!("sm_{}", gpu.capability()?), false)?;
    gpu.run_twice(&code)
}

fn nvjitlink(gpu: &Gpu, file: &str) -> Outcome<()> {
    let cc = gpu.capability()?;
    let compiler =
        ["libnvrtc.so.13", "libnvrtc.so.12"].iter().find_map(|name| Library::open(name).ok());
    let compiler = compiler.ok_or("the toolchain has no NVRTC to make PTX with")?;
    let ptx = compile(&compiler, &format!("compute_{cc}"), true)?;
    let library = open(file)?;
    let option =
        std::ffi::CString::new(format!("-arch=sm_{cc}")).map_err(|error| error.to_string())?;
    let options = [option.as_c_str()];
    let linker = create(&library, "nvJitLinkCreate", "nT", vec![n(1), Arg::Texts(&options)])?;
    let size = i64::try_from(ptx.len()).map_err(|error| error.to_string())?;
    let mut args = [h(linker), n(2), Arg::In(&ptx), n(size), Arg::Text(c"twice")];
    call(&library, "nvJitLinkAddData", "hns3nt", &mut args)?;
    call(&library, "nvJitLinkComplete", "h", &mut [h(linker)])?;
    let code = taken(&library, "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin", linker)?;
    gpu.run_twice(&code)
}

const SIDE: usize = 64;

/// Two square matrices of small whole numbers, by columns, and their product.
fn matrices() -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let small =
        |index: usize, modulus: usize| f32::from(u8::try_from(index % modulus).unwrap_or(0));
    let a: Vec<f32> = (0..SIDE * SIDE).map(|index| small(index, 7)).collect();
    let b: Vec<f32> = (0..SIDE * SIDE).map(|index| small(index, 5)).collect();
    let mut c = vec![0.0f32; SIDE * SIDE];
    for column in 0..SIDE {
        for row in 0..SIDE {
            c[column * SIDE + row] =
                (0..SIDE).map(|k| a[k * SIDE + row] * b[column * SIDE + k]).sum();
        }
    }
    (a, b, c)
}

fn cublas(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let handle = create(&library, "cublasCreate_v2", "", Vec::new())?;
    let (a, b, wanted) = matrices();
    let (a, b, c) = (gpu.put_floats(&a)?, gpu.put_floats(&b)?, gpu.room(SIDE * SIDE * 4)?);
    let side = || n(64);
    let mut args = [
        h(handle),
        n(0),
        n(0),
        side(),
        side(),
        side(),
        Arg::In(&ONE),
        h(a),
        side(),
        h(b),
        side(),
        Arg::In(&ZERO),
        h(c),
        side(),
    ];
    call(&library, "cublasSgemm_v2", "hnnnnnp4hnhnp4hn", &mut args)?;
    same(&gpu.floats(c, SIDE * SIDE)?, &wanted)
}

fn cublas_lt(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let handle = create(&library, "cublasLtCreate", "", Vec::new())?;
    // Computes and scales in single precision.
    let product = create(&library, "cublasLtMatmulDescCreate", "nn", vec![n(68), n(0)])?;
    let layout =
        create(&library, "cublasLtMatrixLayoutCreate", "nnnn", vec![n(0), n(64), n(64), n(64)])?;
    let (a, b, wanted) = matrices();
    let (a, b, c) = (gpu.put_floats(&a)?, gpu.put_floats(&b)?, gpu.room(SIDE * SIDE * 4)?);
    let mut args = [
        h(handle),
        h(product),
        Arg::In(&ONE),
        h(a),
        h(layout),
        h(b),
        h(layout),
        Arg::In(&ZERO),
        h(c),
        h(layout),
        h(c),
        h(layout),
        h(0),
        h(0),
        n(0),
        h(0),
    ];
    call(&library, "cublasLtMatmul", "hhp4hhhhp4hhhhhhnh", &mut args)?;
    same(&gpu.floats(c, SIDE * SIDE)?, &wanted)
}

fn cufft(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let mut plan = [0u8; 4];
    // Eight points, complex to complex, one batch.
    call(&library, "cufftPlan1d", "p4nnn", &mut [Arg::Out(&mut plan), n(8), n(0x29), n(1)])?;
    let plan = i64::from(u32::from_le_bytes(plan));
    let mut impulse = [0.0f32; 16];
    impulse[0] = 1.0;
    let data = gpu.put_floats(&impulse)?;
    call(&library, "cufftExecC2C", "nhhn", &mut [n(plan), h(data), h(data), n(-1)])?;
    let flat: Vec<f32> = (0..16).map(|index| if index % 2 == 0 { 1.0 } else { 0.0 }).collect();
    same(&gpu.floats(data, 16)?, &flat)
}

fn curand(gpu: &Gpu, file: &str) -> Outcome<()> {
    const COUNT: u16 = 10_000;
    let library = open(file)?;
    let generator = create(&library, "curandCreateGenerator", "n", vec![n(100)])?;
    call(&library, "curandSetPseudoRandomGeneratorSeed", "hn", &mut [h(generator), n(42)])?;
    let data = gpu.room(usize::from(COUNT) * 4)?;
    let mut args = [h(generator), h(data), n(i64::from(COUNT))];
    call(&library, "curandGenerateUniform", "hhn", &mut args)?;
    let values = gpu.floats(data, usize::from(COUNT))?;
    let mean = values.iter().sum::<f32>() / f32::from(COUNT);
    let inside = values.iter().all(|value| *value > 0.0 && *value <= 1.0);
    if inside && (mean - 0.5).abs() < 0.02 {
        return Ok(());
    }
    Err(format!("wrong result: the mean of {COUNT} uniform numbers is {mean}"))
}

fn cusolver(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let handle = create(&library, "cusolverDnCreate", "", Vec::new())?;
    let matrix = gpu.put_floats(&[2.0, 1.0, 1.0, 3.0])?;
    let right = gpu.put_floats(&[3.0, 5.0])?;
    let (pivots, info) = (gpu.room(8)?, gpu.room(4)?);
    let mut length = [0u8; 4];
    let mut args = [h(handle), n(2), n(2), h(matrix), n(2), Arg::Out(&mut length)];
    call(&library, "cusolverDnSgetrf_bufferSize", "hnnhnp4", &mut args)?;
    let work = gpu.room(usize::try_from(u32::from_le_bytes(length)).unwrap_or(1) * 4)?;
    let mut args = [h(handle), n(2), n(2), h(matrix), n(2), h(work), h(pivots), h(info)];
    call(&library, "cusolverDnSgetrf", "hnnhnhhh", &mut args)?;
    let mut args =
        [h(handle), n(0), n(2), n(1), h(matrix), n(2), h(pivots), h(right), n(2), h(info)];
    call(&library, "cusolverDnSgetrs", "hnnnhnhhnh", &mut args)?;
    same(&gpu.floats(right, 2)?, &[0.8, 1.4])
}

fn cusparse(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let handle = create(&library, "cusparseCreate", "", Vec::new())?;
    let words =
        |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let rows = gpu.put(&words(&[0, 1, 2, 3]))?;
    let columns = gpu.put(&words(&[0, 1, 2]))?;
    let values = gpu.put_floats(&[2.0, 3.0, 4.0])?;
    let (x, y) = (gpu.put_floats(&[1.0, 10.0, 100.0])?, gpu.put_floats(&[0.0; 3])?);
    // Indices of 32 bits from zero, single precision.
    let args = vec![n(3), n(3), n(3), h(rows), h(columns), h(values), n(2), n(2), n(0), n(0)];
    let matrix = create(&library, "cusparseCreateCsr", "nnnhhhnnnn", args)?;
    let x = create(&library, "cusparseCreateDnVec", "nhn", vec![n(3), h(x), n(0)])?;
    let result = create(&library, "cusparseCreateDnVec", "nhn", vec![n(3), h(y), n(0)])?;
    let mut size = [0u8; 8];
    let mut args = [
        h(handle),
        n(0),
        Arg::In(&ONE),
        h(matrix),
        h(x),
        Arg::In(&ZERO),
        h(result),
        n(0),
        n(0),
        Arg::Out(&mut size),
    ];
    call(&library, "cusparseSpMV_bufferSize", "hnp4hhp4hnnp8", &mut args)?;
    let work = gpu.room(usize::try_from(u64::from_le_bytes(size)).unwrap_or(0))?;
    let mut args = [
        h(handle),
        n(0),
        Arg::In(&ONE),
        h(matrix),
        h(x),
        Arg::In(&ZERO),
        h(result),
        n(0),
        n(0),
        h(work),
    ];
    call(&library, "cusparseSpMV", "hnp4hhp4hnnh", &mut args)?;
    same(&gpu.floats(y, 3)?, &[2.0, 30.0, 400.0])
}

fn cudnn(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    let handle = create(&library, "cudnnCreate", "", Vec::new())?;
    let tensor = |side: i64| {
        let tensor = create(&library, "cudnnCreateTensorDescriptor", "", Vec::new())?;
        let mut args = [h(tensor), n(0), n(0), n(1), n(1), n(side), n(side)];
        call(&library, "cudnnSetTensor4dDescriptor", "hnnnnnn", &mut args)?;
        Ok::<_, String>(tensor)
    };
    let (from, to) = (tensor(4)?, tensor(2)?);
    let filter = create(&library, "cudnnCreateFilterDescriptor", "", Vec::new())?;
    let mut args = [h(filter), n(0), n(0), n(1), n(1), n(3), n(3)];
    call(&library, "cudnnSetFilter4dDescriptor", "hnnnnnn", &mut args)?;
    let convolution = create(&library, "cudnnCreateConvolutionDescriptor", "", Vec::new())?;
    // No padding, steps of one, cross-correlation, single precision.
    let mut args = [h(convolution), n(0), n(0), n(1), n(1), n(1), n(1), n(1), n(0)];
    call(&library, "cudnnSetConvolution2dDescriptor", "hnnnnnnnn", &mut args)?;
    let image: Vec<f32> = (1u8..=16).map(f32::from).collect();
    let (x, w, y) = (gpu.put_floats(&image)?, gpu.put_floats(&[1.0; 9])?, gpu.room(16)?);
    let mut size = [0u8; 8];
    let mut args =
        [h(handle), h(from), h(filter), h(convolution), h(to), n(0), Arg::Out(&mut size)];
    call(&library, "cudnnGetConvolutionForwardWorkspaceSize", "hhhhhnp8", &mut args)?;
    let size = u64::from_le_bytes(size);
    let work = gpu.room(usize::try_from(size).unwrap_or(0))?;
    let mut args = [
        h(handle),
        Arg::In(&ONE),
        h(from),
        h(x),
        h(filter),
        h(w),
        h(convolution),
        n(0),
        h(work),
        n(i64::try_from(size).unwrap_or(0)),
        Arg::In(&ZERO),
        h(to),
        h(y),
    ];
    call(&library, "cudnnConvolutionForward", "hp4hhhhhnhnp4hh", &mut args)?;
    same(&gpu.floats(y, 4)?, &[54.0, 63.0, 90.0, 99.0])
}

fn nccl(gpu: &Gpu, file: &str) -> Outcome<()> {
    let library = open(file)?;
    // One rank, on the first device.
    let communicator = create(&library, "ncclCommInitAll", "nh", vec![n(1), h(0)])?;
    let values: Vec<f32> = (0u8..16).map(f32::from).collect();
    let (from, to) = (gpu.put_floats(&values)?, gpu.room(64)?);
    let mut args = [h(from), h(to), n(16), n(7), n(0), h(communicator), h(0)];
    call(&library, "ncclAllReduce", "hhnnnhh", &mut args)?;
    let found = gpu.floats(to, 16)?;
    call(&library, "ncclCommDestroy", "h", &mut [h(communicator)])?;
    same(&found, &values)
}
