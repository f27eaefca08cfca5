//! The CPU time of this thread, of the process, and of other processes.

use std::{fs, io, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread.
pub(crate) fn now() -> Duration {
    of_clock(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of all threads of this process.
pub(crate) fn process() -> Duration {
    of_clock(ClockId::ProcessCPUTime)
}

/// The unit in which Linux counts the CPU time of other processes, in seconds.
const TICK: f64 = 0.01;

/// Returns the seconds of CPU of the process with this id.
pub(crate) fn of_process(id: impl std::fmt::Display) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // After the name in brackets: user and system time are the 12th and 13th field.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
    Ok(fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK)
}

fn of_clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the CPU time of `work`.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let value = work();
    (value, now().saturating_sub(start))
}

/// Returns the nanoseconds of CPU for a round of each of `works`: the least of many batches.
pub(crate) fn least(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<f64> {
    let batches = in_turns(works, rounds, batches);
    (0..works.len()).map(|at| batches.iter().map(|batch| batch[at]).fold(f64::INFINITY, f64::min)).collect()
}

/// Returns the nanoseconds of CPU for a round of each of `works`, in each of many batches. The works alternate, so that other
/// load on the machine disturbs all of them alike.
pub(crate) fn in_turns(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<Vec<f64>> {
    let mut measured = vec![vec![0.0; works.len()]; batches];
    for (batch, times) in measured.iter_mut().enumerate() {
        for turn in 0..works.len() {
            // Rotate the order, because the first work finds the last one's data in the caches.
            let at = (batch + turn) % works.len();
            let ((), time) = of(|| works[at](rounds));
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            let each = time.as_secs_f64() * 1e9 / rounds as f64;
            times[at] = each;
        }
    }
    measured
}

/// Returns the ratio of two sides that alternated, and the cost of each, as medians. The least of each side would come from
/// different moments.
pub(crate) fn medians(pairs: &[[f64; 2]]) -> [f64; 3] {
    let median = |of: fn(&[f64; 2]) -> f64| {
        let mut numbers: Vec<f64> = pairs.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
    };
    [median(|pair| pair[0] / pair[1]), median(|pair| pair[0]), median(|pair| pair[1])]
}
