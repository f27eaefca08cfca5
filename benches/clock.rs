//! The CPU time of this thread, of the process, and of other processes.

use std::{fs, io, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread.
pub(crate) fn thread_time() -> Duration {
    of_clock(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of all threads of this process.
pub(crate) fn process_time() -> Duration {
    of_clock(ClockId::ProcessCPUTime)
}

/// The unit in which Linux counts the CPU time of other processes, in seconds.
const TICK: f64 = 0.01;

/// Returns the seconds of CPU of the process with this id.
pub(crate) fn time_of_process(id: impl std::fmt::Display) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // After the name in brackets: user and system time are the 12th and 13th field.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
    Ok(fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK)
}

fn of_clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Does `work`, and returns its CPU time.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread_time();
    let value = work();
    (value, thread_time().saturating_sub(start))
}

/// Measures the nanoseconds of CPU for a round of each of `works`: the least of many batches.
pub(crate) fn time_least(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<f64> {
    let batches = time_in_turns(works, rounds, batches);
    (0..works.len()).map(|at| batches.iter().map(|batch| batch[at]).fold(f64::INFINITY, f64::min)).collect()
}

/// Measures the nanoseconds of CPU for a round of each of `works`, in each of many batches. The works alternate,
/// because other load on the machine then affects all of them equally.
pub(crate) fn time_in_turns(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<Vec<f64>> {
    let mut measured = vec![vec![0.0; works.len()]; batches];
    for (batch, times) in measured.iter_mut().enumerate() {
        for turn in 0..works.len() {
            // The order rotates, because the first work finds the data of the last one in the caches.
            let at = (batch + turn) % works.len();
            let ((), time) = time(|| works[at](rounds));
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            let each = time.as_secs_f64() * 1e9 / rounds as f64;
            times[at] = each;
        }
    }
    measured
}

/// Returns the medians of the ratios and of each side's cost, for two sides that alternated. The least costs would come
/// from different moments.
pub(crate) fn medians(pairs: &[[f64; 2]]) -> [f64; 3] {
    let median = |value: fn(&[f64; 2]) -> f64| {
        let mut numbers: Vec<f64> = pairs.iter().map(value).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
    };
    [median(|pair| pair[0] / pair[1]), median(|pair| pair[0]), median(|pair| pair[1])]
}
