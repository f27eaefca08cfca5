//! A run whose processes are killed with SIGKILL at all points and at random moments, and processes that compete for one run.
//! Nothing is lost, no call runs twice without permission, and the run ends.

mod check;
mod child;
mod pair;
mod parent;
mod point;
mod world;

use std::time::Instant;

use crate::process_locks::beside_others_blocking;

use parent::{Case, Kill, play, play_all};

/// Plays the script, killed at every point that is a multiple of `stride`.
fn at_points_of(script: usize, person: usize, stride: usize) {
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
fn killed_at_every_point_when_calls_come_one_by_one() {
    at_points_of(0, 0, 1);
}

#[test]
fn killed_at_every_point_when_calls_run_side_by_side() {
    at_points_of(1, 1, 1);
}

#[test]
fn killed_at_every_point_without_decisions_about_lost_calls() {
    at_points_of(2, 2, 1);
}

#[test]
fn killed_at_many_points_of_a_long_run() {
    at_points_of(3, 0, 7);
}

#[test]
fn killed_at_every_point_when_tools_keep_their_steps() {
    for person in 0..3 {
        at_points_of(4, person, 1);
    }
}

#[test]
fn killed_again_where_the_run_is_taken_over() {
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
fn killed_at_any_moment_again_and_again() {
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
