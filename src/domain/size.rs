//! Sizes as people read them: decimal units, as disks and downloads are sold.

/// Writes `bytes` in kB, MB or GB (powers of 1000), with three significant digits.
pub fn megabytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut thousandths = bytes;
    let mut unit = 0;
    while thousandths >= 1_000_000 && unit + 1 < UNITS.len() {
        thousandths /= 1000;
        unit += 1;
    }
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    match whole {
        0..10 => format!("{whole}.{:02} {}", rest / 10, UNITS[unit]),
        10..100 => format!("{whole}.{} {}", rest / 100, UNITS[unit]),
        _ => format!("{whole} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::megabytes;

    #[test]
    fn three_significant_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_500, "1.50 kB"),
            (883_698, "883 kB"),
            (17_623_000, "17.6 MB"),
            (1_735_000_000, "1.73 GB"),
            (2_500_000_000_000, "2.50 TB"),
        ] {
            assert_eq!(megabytes(bytes), text);
        }
    }
}
