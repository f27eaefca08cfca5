//! A request is dropped at every point at which it waits, and sent again.

use crate::lost_connections::{
    client::{Client, Protocol, Says},
    world::World,
};

/// More points than a request has.
const MAX_POLLS: usize = 2000;

/// Without turns of other tasks in between, a request never gets further than to the first that it waits for.
const STUCK: usize = 40;

/// A request whose connection was lost.
struct Lost {
    world: World,
    client: Client,
    body: String,
    at: String,
}

impl Lost {
    /// Loses the connection of the answer to a question about the tool `prompt`, at each point in turn.
    async fn at_every_point(is_sealed: bool, protocol: Protocol, prompt: &str, says: Says, check: impl AsyncFn(Self)) {
        for yields in [0, 1, 3] {
            for polls in 1.. {
                assert!(polls < MAX_POLLS, "the answer has no end");
                let world = World::new(is_sealed);
                let client = Client::asked(&world, protocol, prompt).await;
                let body = client.answers(says, &[prompt]);
                let is_over = world.lose(protocol.path(), &body, polls, yields).await;
                let at = format!("{protocol:?}, sealed: {is_sealed}, {says:?}, {polls} polls, {yields} turns");
                check(Self { world, client, body, at }).await;
                if is_over || yields == 0 && polls == STUCK {
                    assert!(polls > 3, "{polls} points are too few to be all");
                    break;
                }
            }
        }
    }

    /// Sends the request again. Returns the status.
    async fn again(&self) -> u16 {
        let answer = self.world.post(self.client.protocol.path(), &self.body).await;
        self.world.rest().await;
        answer.status
    }

    /// Says something new, which the model hears with what came of the calls before.
    async fn goes_on(&self) -> String {
        let answer = self.world.post(self.client.protocol.path(), &self.client.says_more()).await;
        assert_eq!(answer.status, 200, "{}: {}", self.at, answer.text);
        self.world.received()
    }
}

async fn runs_once(is_sealed: bool, protocol: Protocol, says: Says) {
    Lost::at_every_point(is_sealed, protocol, "pay", says, async |lost| {
        let before = lost.world.counts.pay.runs();
        let status = lost.again().await;
        assert_eq!(lost.world.counts.pay.runs(), 1, "{}; it had run {before} times, then {status}", lost.at);
        let received = lost.goes_on().await;
        let paid = if says == Says::Edit { "paid 4" } else { "paid 5" };
        // A sealed run whose client is gone has nowhere to go.
        assert!(is_sealed || received.contains(paid), "{}: {received}", lost.at);
        assert_eq!(lost.world.counts.pay.runs(), 1, "{}", lost.at);
    })
    .await;
}

/// Each test of each mode and protocol.
macro_rules! everywhere {
    ($($test:ident: $check:ident($says:ident);)*) => {
        $(mod $test {
            use super::{$check, Protocol, Says};

            #[tokio::test]
            async fn stored_ai_sdk() {
                $check(false, Protocol::AiSdk, Says::$says).await;
            }

            #[tokio::test]
            async fn stored_ag_ui() {
                $check(false, Protocol::AgUi, Says::$says).await;
            }

            #[tokio::test]
            async fn sealed_ai_sdk() {
                $check(true, Protocol::AiSdk, Says::$says).await;
            }

            #[tokio::test]
            async fn sealed_ag_ui() {
                $check(true, Protocol::AgUi, Says::$says).await;
            }
        })*
    };
}

everywhere! {
    an_approval: runs_once(Yes);
    an_edit: runs_once(Edit);
    an_approval_beside_a_prompt: runs_once(YesAndMore);
    a_denial: never_runs(No);
    a_result: counts_once(Result);
}

async fn never_runs(is_sealed: bool, protocol: Protocol, says: Says) {
    Lost::at_every_point(is_sealed, protocol, "pay", says, async |lost| {
        lost.again().await;
        let received = lost.goes_on().await;
        assert!(is_sealed || received.contains("denied"), "{}: {received}", lost.at);
        // Who has denied it cannot have it after all.
        let yes = lost.client.answers(Says::Yes, &["pay"]);
        lost.world.post(protocol.path(), &yes).await;
        lost.world.rest().await;
        assert_eq!(lost.world.counts.pay.runs(), 0, "{}", lost.at);
    })
    .await;
}

async fn counts_once(is_sealed: bool, protocol: Protocol, says: Says) {
    Lost::at_every_point(is_sealed, protocol, "Locate", says, async |lost| {
        lost.again().await;
        let received = lost.goes_on().await;
        assert!(is_sealed || received.matches("home").count() == 1, "{}: {received}", lost.at);
    })
    .await;
}
