//! Tests of random orders of messages, decisions, reloads and second tabs, with fixed seeds. If the variable `WHOLE` is set,
//! the tests make ten times as many walks.

use std::fmt::Write as _;

use tool_test_kit::mutate::Random;

use super::{
    Counts, KINDS, Kind,
    page::{Answer, Page},
    world::World,
};
use crate::{
    ai_sdk::reload::{HOLD, call},
    model::Step,
};

/// The number of walks of each kind of chat.
const WALKS: usize = 25;

/// The number of moves in a walk.
const MOVES: usize = 14;

/// The calls that a turn may make.
const CALLS: [(&str, &str); 9] = [
    ("work", "{}"),
    ("halves", "{}"),
    ("asks", r#"{"what":"a"}"#),
    ("carefully", r#"{"what":"b"}"#),
    ("fails", "{}"),
    ("asks_within", "{}"),
    ("locate", "{}"),
    ("share", r#"{"window":"left"}"#),
    ("guide", r#"{"task":"home"}"#),
];

fn turns(random: &mut Random) -> Vec<Vec<Step>> {
    let turn = |random: &mut Random| {
        let mut turn = vec![Step::Text("So".to_owned())];
        if random.below(3) == 0 {
            turn.extend([HOLD, " it goes"].map(|text| Step::Text(text.to_owned())));
        }
        if random.below(5) > 0 {
            let (name, arguments) = CALLS[random.below(CALLS.len())];
            let mut call = call(name, arguments);
            if random.below(4) == 0 {
                call.insert(1, Step::Text(HOLD.to_owned()));
            }
            turn.extend(call);
        }
        turn
    };
    (0..=random.below(3)).map(|_| turn(random)).collect()
}

struct Walk {
    world: World,
    random: Random,
    /// The tabs. The flag is set if the tab is up to date.
    tabs: Vec<(Page, bool)>,
    prompts: usize,
    /// Set if pages of a sealed chat have answered a request differently, and each goes on with its own copy of the run.
    is_forked: bool,
    counts: Counts,
    /// The name of the walk, and its moves so far.
    at: String,
}

impl Walk {
    fn new(kind: Kind, number: usize) -> Self {
        let seed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            world: World::new(kind),
            random: Random::new(seed),
            tabs: vec![(Page::new(), true)],
            prompts: 0,
            is_forked: false,
            counts: Counts::default(),
            at: format!("{kind:?}, walk {number}"),
        }
    }

    /// Checks that all tabs that are up to date show the same.
    async fn check(&mut self) {
        self.world.settle().await;
        for (tab, _) in &mut self.tabs {
            tab.catch_up(&self.world);
        }
        let mut views = self.tabs.iter().filter(|(_, is_fresh)| *is_fresh).map(|(tab, _)| tab.view(&self.world));
        let first = views.next().expect("a tab that is up to date");
        for view in views {
            assert_eq!(view, first, "{}", self.at);
        }
    }

    /// Returns a random tab that is up to date.
    fn choose_fresh(&mut self) -> usize {
        let fresh: Vec<_> = (0..self.tabs.len()).filter(|at| self.tabs[*at].1).collect();
        fresh[self.random.below(fresh.len())]
    }

    /// Notes that only `tab` is up to date, because it has sent a request.
    fn note_sent(&mut self, tab: usize) {
        for (at, (_, is_fresh)) in self.tabs.iter_mut().enumerate() {
            *is_fresh = at == tab;
        }
    }

    async fn step(&mut self) {
        let tab = self.choose_fresh();
        let open = self.tabs[tab].0.open_requests(&self.world);
        let is_reading = self.tabs[tab].0.is_reading();
        match self.random.below(6) {
            // A tab is loaded again, or another is opened.
            0 | 1 => {
                if self.prompts == 0 {
                    return;
                }
                let loaded = Page::load(&self.world, Some(&self.tabs[tab].0)).await;
                self.counts.add("reloads");
                write!(self.at, ", load of {tab}").unwrap();
                if self.tabs.len() < 3 && self.random.below(2) == 0 {
                    self.tabs.push((loaded, true));
                    self.counts.add("second tabs");
                } else {
                    let at = self.random.below(self.tabs.len());
                    self.tabs[at] = (loaded, true);
                }
            }
            2..=4 if is_reading => {
                self.counts.add("releases");
                self.at += ", release";
                self.world.release().await;
            }
            2..=4 if !open.is_empty() => {
                let open = &open[self.random.below(open.len())];
                let answer = if self.random.below(3) > 0 { Answer::Yes } else { Answer::No };
                // Other tabs that show the same request may give the opposite answer a moment later.
                let others: Vec<_> = (0..self.tabs.len())
                    .filter(|at| *at != tab && self.tabs[*at].0.open_requests(&self.world).contains(open))
                    .collect();
                write!(self.at, ", {answer:?} by {tab} to {open:?}").unwrap();
                let status = self.tabs[tab].0.answer(&self.world, open, answer).await;
                assert_eq!(status, 200, "{}: {open:?}: {}", self.at, self.tabs[tab].0.refusal);
                self.counts.add("decisions");
                self.note_sent(tab);
                for other in others {
                    if self.random.below(2) == 0 {
                        let before = self.world.ran();
                        let answer = if answer == Answer::Yes { Answer::No } else { Answer::Yes };
                        write!(self.at, ", too late by {other}").unwrap();
                        let status = self.tabs[other].0.answer(&self.world, open, answer).await;
                        assert!([200, 409].contains(&status), "{}: {status}", self.at);
                        self.counts.add("decisions that came too late");
                        assert!(self.world.ran() <= before + 1, "{}", self.at);
                        // A sealed run is single-use from its first effect on. Before that, two pages may each continue their own
                        // copy, for example while an allowed call waits for the client.
                        self.is_forked |= self.world.kind.is_sealed && status == 200;
                    }
                }
            }
            _ if !is_reading && (open.is_empty() || self.random.below(4) == 0) => {
                self.prompts += 1;
                write!(self.at, ", message {} by {tab}", self.prompts).unwrap();
                let (id, turns) = (format!("m{}", self.prompts), turns(&mut self.random));
                assert_eq!(self.tabs[tab].0.say(&self.world, &id, &turns).await, 200, "{}", self.at);
                self.counts.add("messages");
                self.note_sent(tab);
                if !open.is_empty() {
                    // The calls that waited are superseded. They are in an earlier message, which changes only when a page is
                    // loaded.
                    self.tabs[tab].0.settle(&self.world).await;
                    self.tabs[tab].0 = Page::load(&self.world, Some(&self.tabs[tab].0)).await;
                }
            }
            _ => {}
        }
    }

    async fn run(mut self) -> Counts {
        for _ in 0..MOVES {
            self.step().await;
            if self.is_forked {
                self.counts.add("sealed chats with two copies");
                return self.counts;
            }
            self.check().await;
        }
        let tab = self.choose_fresh();
        let loaded = Page::load(&self.world, Some(&self.tabs[tab].0)).await;
        self.tabs.push((loaded, true));
        self.check().await;
        let (loaded, _) = self.tabs.last().expect("it was just added");
        for (call, by) in &loaded.shown.decided {
            // A call of `asks_within` has two decisions.
            assert!(by.iter().all(|by| by == "anna") && by.len() <= 2, "{}: {call} {by:?}", self.at);
        }
        self.counts.add("walks");
        self.counts
    }
}

#[tokio::test(start_paused = true)]
async fn all_tabs_show_the_same_in_any_order() {
    let times = if std::env::var_os("WHOLE").is_some() { 10 } else { 1 };
    let mut all = Counts::default();
    for kind in KINDS {
        for number in 0..WALKS * times {
            all.merge(&Walk::new(kind, number).run().await);
        }
    }
    for name in ["walks", "reloads", "second tabs", "decisions", "decisions that came too late"] {
        assert!(all.get(name) > 0, "no {name}: {}", all.to_line());
    }
    println!("reloads at random: {}", all.to_line());
}
