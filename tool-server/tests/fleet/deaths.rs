//! Tests of servers that are killed: every client gets its whole response, no effect happens twice, and none is lost.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tool_test_kit::within;

use super::{
    Fleet,
    client::Counts,
    read_number,
    world::{World, script, turn},
};

/// Returns a pseudo-random pause, which is the same in every run of the tests.
fn pause_before_kill(number: usize) -> Duration {
    let step = number as u64 * 7919 % 1300;
    Duration::from_millis(200 + step * 3)
}

/// Checks that each effect in `once` has happened exactly once, and each effect in `again` at least once.
fn check(world: &World, once: &[String], again: &[String]) {
    let effects = world.effects();
    let count = |effect: &String| effects.iter().filter(|known| *known == effect).count();
    for effect in once {
        assert_eq!(count(effect), 1, "{effect}");
    }
    for effect in again {
        assert!(count(effect) >= 1, "{effect}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_approvals_survive_the_death_of_servers_at_any_moment() {
    let kills = read_number("KILLS", 10);
    // A server renews its lease after half of it. A slow server must not lose its lease, because another would repeat its calls.
    let mut fleet = Fleet::start(Duration::from_secs(5)).await;
    let world = Arc::new(fleet.world());
    let (mut counts, mut chats, mut killed) = (Counts::default(), 0_u64, 0);
    // The next kill may come after the chats in progress.
    let mut next = Instant::now() + pause_before_kill(0);
    while killed < kills {
        let mut clients = JoinSet::new();
        let (mut once, mut again) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let (client, n, is_ai_sdk) = (fleet.client(format!("c{chats}")), chats * 100, chats % 2 == 0);
            chats += 1;
            once.extend([format!("add {}", n + 1), format!("pay {}", n + 2), format!("add {}", n + 3)]);
            again.extend([format!("set {n}"), format!("set {}", n + 4)]);
            let turns = [
                turn("First two of them.", &[("set", n), ("add", n + 1)]),
                turn("Then one that is approved.", &[("pay", n + 2), ("add", n + 3), ("set", n + 4)]),
            ];
            let (text, world) = (script(&turns), Arc::clone(&world));
            clients.spawn(async move {
                let played = if is_ai_sdk {
                    client.play_ai_sdk(&text, &world).await
                } else {
                    client.play_ag_ui(&text, &world).await
                };
                (client.chat, played)
            });
        }
        within("a chat", async {
            loop {
                tokio::select! {
                    ended = clients.join_next() => {
                        let Some(ended) = ended else { return };
                        let (chat, (text, of_client)) = ended.unwrap();
                        assert_eq!(text, "First two of them.Then one that is approved.done", "{chat}");
                        counts.add(of_client);
                    }
                    () = sleep_until(next), if killed < kills => {
                        let server = killed * 2 % 3;
                        fleet.kill(server);
                        fleet.replace(server);
                        killed += 1;
                        next = Instant::now() + pause_before_kill(killed);
                    }
                }
            }
        })
        .await;
        check(&world, &once, &again);
    }
    let Counts { broken, lost } = counts;
    println!(
        "fleet: {killed} kills, {chats} chats ended, {broken} streams broke off, {lost} lost calls were asked about, no effect twice, none lost"
    );
    fleet.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_whole_when_a_server_dies_in_the_middle() {
    let streams = read_number("STREAMS", 100);
    // Many streams make servers slow, and a slow server must not lose its lease.
    let mut fleet = Fleet::start(Duration::from_millis(5000 + 25 * streams as u64)).await;
    let world = Arc::new(fleet.world());
    let mut clients = JoinSet::new();
    let words: String = (0..20).map(|number| format!("word{number} ")).collect();
    for stream in 0..streams {
        let (client, n) = (fleet.client(format!("s{stream}")), stream as u64 * 10);
        let turns = [turn(&words, &[("set", n), ("add", n + 1)]), turn(&words, &[("add", n + 2)])];
        let (text, world) = (script(&turns), Arc::clone(&world));
        clients.spawn(async move {
            if stream % 2 == 0 {
                client.play_ai_sdk(&text, &world).await
            } else {
                client.play_ag_ui(&text, &world).await
            }
        });
    }
    within("a stream", async {
        while world.effects().iter().filter(|effect| effect.starts_with("add ")).count() < streams {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    fleet.kill(1);
    if std::env::var_os("CUT").is_some() {
        fleet.schema.cut().await;
    }
    let (mut whole, mut counts) = (0, Counts::default());
    while let Some(ended) = within("a stream", clients.join_next()).await {
        let (text, of_client) = ended.unwrap();
        assert_eq!(text, format!("{words}{words}done"));
        counts.add(of_client);
        whole += 1;
    }
    let of = |numbers: &[u64], tool: &str| -> Vec<String> {
        (0..streams as u64)
            .flat_map(|stream| numbers.iter().map(move |n| format!("{tool} {}", stream * 10 + n)))
            .collect()
    };
    check(&world, &of(&[1, 2], "add"), &of(&[0], "set"));
    let (Counts { broken, lost }, effects) = (counts, world.effects().len());
    println!(
        "fleet: {streams} streams over 3 servers, one killed: {whole} whole responses, {broken} streams broke off, {lost} lost calls \
         were asked about, {effects} effects, none twice, none lost"
    );
    fleet.end().await;
}
