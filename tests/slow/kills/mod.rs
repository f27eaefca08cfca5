//! Tests of runs whose processes are killed with SIGKILL at all points and at random moments, and of processes that compete for
//! one run. No entry is lost, no call runs twice without permission, and the run ends.

mod check;
mod child;
mod effects;
mod pair;
mod parent;
mod pause;
mod point;

use std::time::Instant;

use crate::process_locks::beside_others_blocking;

use parent::{Case, Kill, play, play_all};

/// Plays the script once for each point that is a multiple of `stride`, and kills its process there.
fn kill_at_points(script: usize, person: usize, stride: usize) {
    let _turn = beside_others_blocking();
    let begun = Instant::now();
    let points = play(&Case { script, person, kills: Vec::new() }).points;
    let kills = (1..=points).step_by(stride);
    let wanted = kills.clone().count();
    let killed = play_all(kills.map(|point| Case { script, person, kills: vec![Kill::Point(point)] }));
    println!("script {script}: {killed} of {wanted} kills at {points} points in {:.1?}", begun.elapsed());
    // The numbers of appends and of renewals depend on timing, so the last points may not be reached.
    assert!(killed >= wanted - wanted / 4, "{killed} of {wanted}");
}

#[test]
fn a_run_survives_kills_at_every_point_when_calls_come_one_by_one() {
    kill_at_points(0, 0, 1);
}

#[test]
fn a_run_survives_kills_at_every_point_when_calls_run_side_by_side() {
    kill_at_points(1, 1, 1);
}

#[test]
fn a_run_survives_kills_at_every_point_when_lost_calls_are_denied() {
    kill_at_points(2, 2, 1);
}

#[test]
fn a_long_run_survives_kills_at_many_points() {
    kill_at_points(3, 0, 7);
}

#[test]
fn a_run_survives_kills_at_every_point_when_tools_keep_their_steps() {
    for person in 0..3 {
        kill_at_points(4, person, 1);
    }
}

#[test]
fn a_run_survives_a_second_kill_during_its_recovery() {
    let _turn = beside_others_blocking();
    let begun = Instant::now();
    // All pairs have different distances.
    let cases = (0..48).map(|number| {
        let (first, second) = (1 + number * 37 % 101, 1 + number * 11 % 29);
        let (script, person) = ((number % 3) as usize, (number / 3 % 3) as usize);
        Case { script, person, kills: vec![Kill::Point(first), Kill::Point(second)] }
    });
    let killed = play_all(cases);
    println!("{killed} kills in {:.1?}", begun.elapsed());
    assert!(killed >= 70, "{killed}");
}

#[test]
fn a_run_survives_kills_at_any_moment_again_and_again() {
    let _turn = beside_others_blocking();
    let begun = Instant::now();
    let cases = (0..24).map(|number| {
        let moment = |kill: u64| Kill::Micros(2_000 + (number * 7919 + kill * 104_729) % 60_000);
        Case { script: (number % 4) as usize, person: (number % 3) as usize, kills: (0..4).map(moment).collect() }
    });
    let killed = play_all(cases);
    println!("{killed} kills in {:.1?}", begun.elapsed());
    assert!(killed >= 30, "{killed}");
}
