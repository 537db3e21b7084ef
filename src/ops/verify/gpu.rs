//! The GPU as the computations use it: memory of the runtime, modules of the driver, calls with their signatures.

use crate::platform::dlopen::{Arg, Function, Kind, Library, Returned, Returns};

/// Runtime and driver, open.
pub(super) struct Gpu {
    runtime: Library,
    driver: Library,
}

/// An error as people read it: `cublasSgemm_v2 answers 13`.
pub(super) type Outcome<T> = Result<T, String>;

/// The runtimes of the CUDA majors; the prefix has one of them.
const RUNTIMES: [&str; 3] = ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"];

/// Calls a function that answers zero when all is well. `signature` has one letter an argument: `n` a number, `h` a handle,
/// `t` a text, `T` texts (as many as the argument before says), `v` values, `pN` a pointer to at least N bytes, `sN` a pointer
/// to as many bytes as argument N says.
pub(super) fn call(
    library: &Library,
    name: &'static str,
    signature: &str,
    args: &mut [Arg<'_>],
) -> Outcome<()> {
    let takes = kinds(signature);
    let function = Function { name, takes: &takes, returns: Returns::Int };
    match library.call(&function, args) {
        Ok(Returned::Int(0)) => Ok(()),
        Ok(Returned::Int(code)) => Err(format!("`{name}` answers {code}")),
        Ok(_) => Err(format!("`{name}` gave no number")),
        Err(error) => Err(error.to_string()),
    }
}

fn kinds(signature: &str) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut letters = signature.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut number = 0;
        while let Some(digit) = letters.peek().and_then(|next| next.to_digit(10)) {
            number = number * 10 + digit as usize;
            letters.next();
        }
        kinds.push(match letter {
            'n' => Kind::Number,
            't' => Kind::Text,
            'T' => Kind::Texts(kinds.len() - 1),
            'v' => Kind::Values,
            'p' => Kind::Bytes(number),
            's' => Kind::Sized(number),
            _ => Kind::Handle,
        });
    }
    kinds
}

/// Calls a function whose first argument is where a handle is put.
pub(super) fn create(
    library: &Library,
    name: &'static str,
    signature: &str,
    rest: Vec<Arg<'_>>,
) -> Outcome<u64> {
    let mut handle = [0u8; 8];
    {
        let mut args = vec![Arg::Out(&mut handle)];
        args.extend(rest);
        call(library, name, &format!("p8{signature}"), &mut args)?;
    }
    Ok(u64::from_le_bytes(handle))
}

impl Gpu {
    /// Opens runtime and driver; the error says why there is no GPU to compute with.
    pub(super) fn open() -> Outcome<Self> {
        let driver = Library::open("libcuda.so.1").map_err(|error| error.to_string())?;
        call(&driver, "cuInit", "n", &mut [Arg::Number(0)])?;
        let runtime = RUNTIMES
            .iter()
            .find_map(|name| Library::open(name).ok())
            .ok_or("the toolchain has no CUDA runtime")?;
        let gpu = Self { runtime, driver };
        call(&gpu.runtime, "cudaSetDevice", "n", &mut [Arg::Number(0)])?;
        // Makes the context that the driver's calls need as well.
        call(&gpu.runtime, "cudaFree", "h", &mut [Arg::Handle(0)])?;
        Ok(gpu)
    }

    /// The compute capability, as in `sm_90`.
    pub(super) fn capability(&self) -> Outcome<u32> {
        let attribute = |number: i64| {
            let mut value = [0u8; 4];
            let mut args = [Arg::Out(&mut value), Arg::Number(number), Arg::Number(0)];
            call(&self.runtime, "cudaDeviceGetAttribute", "p4nn", &mut args)?;
            Ok::<_, String>(u32::from_le_bytes(value))
        };
        Ok(attribute(75)? * 10 + attribute(76)?)
    }

    pub(super) fn room(&self, bytes: usize) -> Outcome<u64> {
        let size = i64::try_from(bytes.max(4)).unwrap_or(i64::MAX);
        create(&self.runtime, "cudaMalloc", "n", vec![Arg::Number(size)])
    }

    pub(super) fn put(&self, bytes: &[u8]) -> Outcome<u64> {
        let to = self.room(bytes.len())?;
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let mut args = [Arg::Handle(to), Arg::In(bytes), Arg::Number(size), Arg::Number(1)];
        call(&self.runtime, "cudaMemcpy", "hs2nn", &mut args)?;
        Ok(to)
    }

    pub(super) fn put_floats(&self, values: &[f32]) -> Outcome<u64> {
        self.put(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Waits for all work and copies floats back.
    pub(super) fn floats(&self, from: u64, count: usize) -> Outcome<Vec<f32>> {
        self.wait()?;
        let mut bytes = vec![0u8; count * 4];
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let mut args = [Arg::Out(&mut bytes), Arg::Handle(from), Arg::Number(size), Arg::Number(2)];
        call(&self.runtime, "cudaMemcpy", "s2hnn", &mut args)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect())
    }

    pub(super) fn wait(&self) -> Outcome<()> {
        call(&self.runtime, "cudaDeviceSynchronize", "", &mut [])
    }

    /// Loads machine code and runs its kernel `twice` over 32 numbers.
    pub(super) fn run_twice(&self, code: &[u8]) -> Outcome<()> {
        let module = create(&self.driver, "cuModuleLoadData", "p1", vec![Arg::In(code)])?;
        let function = create(
            &self.driver,
            "cuModuleGetFunction",
            "ht",
            vec![Arg::Handle(module), Arg::Text(c"twice")],
        )?;
        let before: Vec<f32> = (0u8..32).map(f32::from).collect();
        let data = self.put_floats(&before)?;
        let values = [data.to_le_bytes()];
        let one = || Arg::Number(1);
        let mut args = [
            Arg::Handle(function),
            one(),
            one(),
            one(),
            Arg::Number(32),
            one(),
            one(),
            Arg::Number(0),
            Arg::Handle(0),
            Arg::Values(&values),
            Arg::Handle(0),
        ];
        call(&self.driver, "cuLaunchKernel", "hnnnnnnnhvh", &mut args)?;
        let after = self.floats(data, 32)?;
        let wanted: Vec<f32> = before.iter().map(|value| value * 2.0).collect();
        same(&after, &wanted)
    }
}

/// Compares what came back with what is right.
pub(super) fn same(found: &[f32], wanted: &[f32]) -> Outcome<()> {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
    if found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| near(*a, *b)) {
        return Ok(());
    }
    let at = found.iter().zip(wanted).position(|(a, b)| !near(*a, *b)).unwrap_or(0);
    Err(format!(
        "wrong result: number {at} is {}, expected {}",
        found.get(at).copied().unwrap_or(f32::NAN),
        wanted.get(at).copied().unwrap_or(f32::NAN)
    ))
}

#[cfg(test)]
mod tests {
    use super::{call, same};
    use crate::platform::dlopen::{Arg, Library};

    #[test]
    fn signatures_are_read_and_codes_told() {
        let libc = Library::open("libc.so.6").expect("libc");
        let mut to = [0u8; 4];
        let mut args = [Arg::Out(&mut to), Arg::In(b"abcd"), Arg::Number(4)];
        // Not a function that answers zero: the pointer comes back, of which the low word is told.
        call(&libc, "memcpy", "s2s2n", &mut args).expect_err("a pointer is no zero");
        assert_eq!(&to, b"abcd");
        let mut args = [Arg::Text(c"a"), Arg::Text(c"a")];
        assert_eq!(call(&libc, "strcmp", "tt", &mut args), Ok(()));
        let mut short = [Arg::In(b"ab"), Arg::In(b"ab"), Arg::Number(4)];
        assert!(
            call(&libc, "memcmp", "s2s2n", &mut short)
                .expect_err("too short")
                .contains("argument 0")
        );
    }

    #[test]
    fn wrong_results_are_told_with_the_number() {
        assert_eq!(same(&[1.0, 2.0], &[1.0, 2.0]), Ok(()));
        assert!(same(&[1.0, 5.0], &[1.0, 2.0]).expect_err("wrong").contains("number 1 is 5"));
        assert!(same(&[1.0], &[1.0, 2.0]).is_err());
    }
}
