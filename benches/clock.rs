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

/// The length in seconds of the ticks in which Linux counts the CPU time of other processes.
const TICK: f64 = 0.01;

/// Returns the seconds of CPU that the process with this id has taken so far. Fails if `/proc` has no such process.
pub(crate) fn time_of_process(id: impl std::fmt::Display) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The user time and the system time are the 12th and 13th field after the name in brackets.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
    Ok(fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK)
}

fn of_clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Does `work`. Returns its value, and its CPU time on this thread.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread_time();
    let value = work();
    (value, thread_time().saturating_sub(start))
}

/// Measures the nanoseconds of CPU for a round of each of `works`. Returns the least of `batches` batches of `rounds` rounds.
pub(crate) fn time_least(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<f64> {
    let batches = time_in_turns(works, rounds, batches);
    (0..works.len()).map(|at| batches.iter().map(|batch| batch[at]).fold(f64::INFINITY, f64::min)).collect()
}

/// Measures the nanoseconds of CPU for a round of each of `works`, in each of `batches` batches. The works alternate, because
/// other load on the machine then affects all of them equally.
pub(crate) fn time_in_turns(works: &mut [&mut dyn FnMut(u64)], rounds: u64, batches: usize) -> Vec<Vec<f64>> {
    let mut measured = vec![vec![0.0; works.len()]; batches];
    for (batch, times) in measured.iter_mut().enumerate() {
        for turn in 0..works.len() {
            // The order rotates, because each work finds the data of the work before it in the caches.
            let at = (batch + turn) % works.len();
            let ((), time) = time(|| works[at](rounds));
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            let each = time.as_secs_f64() * 1e9 / rounds as f64;
            times[at] = each;
        }
    }
    measured
}

/// Returns three medians of `pairs`, the costs of two works that alternated: of the ratio, of the first and of the second cost.
/// The least costs of the two would come from different moments, with different load.
pub(crate) fn medians(pairs: &[[f64; 2]]) -> [f64; 3] {
    let median = |value: fn(&[f64; 2]) -> f64| {
        let mut numbers: Vec<f64> = pairs.iter().map(value).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
    };
    [median(|pair| pair[0] / pair[1]), median(|pair| pair[0]), median(|pair| pair[1])]
}
