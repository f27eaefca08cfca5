//! The example `approvals`, as several processes in sequence.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tool_test_kit::stores::Schema;

/// A shop whose runs are in a file of its own, or at another place.
struct Shop {
    folder: PathBuf,
    /// The place, and the address of its database.
    on: Option<(&'static str, Option<String>)>,
    serving: Option<Child>,
}

struct Outcome {
    fine: bool,
    out: String,
    err: String,
}

impl Shop {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tool-approvals-{}-{number}", process::id()));
        Self { folder, on: None, serving: None }
    }

    /// Creates a shop whose runs go on at `place`, with the address of a database if it is one.
    fn on(place: &'static str, database: Option<String>) -> Self {
        let mut shop = Self::new();
        shop.on = Some((place, database));
        shop
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_approvals"));
        for model in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "DATABASE_URL", "APPROVALS_USER"] {
            command.env_remove(model);
        }
        if let Some((place, database)) = &self.on {
            command.args(["--on", place]).envs(database.iter().map(|url| ("DATABASE_URL", url)));
        }
        command.arg("--store").arg(self.folder.join("runs.db")).args(arguments);
        command
    }

    /// Starts a process that drives runs, in place of an earlier one.
    fn serve(&mut self) {
        self.close();
        let mut serving = self.command(&["serve"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "serving, until Ctrl-C\n");
        self.serving = Some(serving);
    }

    fn close(&mut self) {
        if let Some(mut serving) = self.serving.take() {
            serving.kill().unwrap();
            serving.wait().unwrap();
        }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome { fine: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Returns the program's output, and asserts its success.
    fn says(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(outcome.fine, "{arguments:?}: {}{}", outcome.out, outcome.err);
        outcome.out
    }

    /// Returns the program's output, and asserts its refusal.
    fn refuses(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(!outcome.fine, "{arguments:?}: {}", outcome.out);
        outcome.err
    }

    /// Returns the id of a waiting refund.
    fn waiting(&self) -> String {
        self.waiting_for("A102")
    }

    fn waiting_for(&self, order: &str) -> String {
        let outcome = self.says(&["ask", &format!("refund 40 euros for order {order}")]);
        let id = outcome.lines().find_map(|line| line.strip_prefix("waits for a decision: "));
        id.unwrap_or_else(|| panic!("{outcome}")).to_owned()
    }

    fn ledger(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("runs.ledger.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.close();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn approved_by_one_process_and_paid_by_another_once() {
    let shop = Shop::new();
    let id = shop.waiting();
    assert!(shop.ledger().is_empty());
    assert!(shop.says(&["list"]).contains("Pay 40 euros back for order \"A102\"?"));
    let shown = shop.says(&["show", &id]);
    assert!(shown.contains("order: \"A102\"\n  amount: 40\n"), "{shown}");
    assert!(shop.says(&["resume"]).contains("0 runs"), "nobody decided yet");
    assert!(shop.ledger().is_empty());
    shop.says(&["approve", &id]);
    shop.says(&["approve", &id]);
    assert!(shop.says(&["list"]).contains("nothing waits for clerk"));
    let resumed = shop.says(&["resume"]);
    assert!(
        resumed.contains("40 euros were paid back to Grace") && resumed.contains("1 run was taken up"),
        "{resumed}"
    );
    shop.says(&["resume"]);
    shop.says(&["resume", id.split('/').next().unwrap()]);
    assert_eq!(shop.ledger().len(), 1, "{:?}", shop.ledger());
}

#[test]
fn edited_and_paid_as_edited() {
    let shop = Shop::new();
    let id = shop.waiting();
    let refused = shop.refuses(&["edit", &id, r#"{"order": "A102", "amount": 501, "why": "broken"}"#]);
    for part in ["it still waits", "`amount`", "500", "`why`"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(shop.refuses(&["edit", &id, "{order}"]).contains("not JSON"));
    // The beginning of the run's id is enough.
    let (run, call) = id.split_once('/').unwrap();
    shop.says(&["edit", &format!("{}/{call}", &run[..8]), r#"{"order": "A103", "amount": 30}"#]);
    shop.says(&["resume", run]);
    assert!(shop.ledger()[0].starts_with("A103 30 EUR"), "{:?}", shop.ledger());
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let shop = Shop::new();
    let id = shop.waiting();
    shop.says(&["deny", &id, "it", "was", "worn"]);
    assert!(shop.says(&["resume"]).contains("it was worn"));
    assert!(shop.refuses(&["approve", &id]).contains("too late"));
    shop.says(&["resume"]);
    assert!(shop.ledger().is_empty());
}

#[test]
fn other_users_cannot_decide_and_unknown_ids_are_errors() {
    let shop = Shop::new();
    let id = shop.waiting();
    let run = id.split('/').next().unwrap();
    assert!(shop.says(&["list", "--as", "mallory"]).contains("nothing waits for mallory"));
    assert!(shop.says(&["list", "--as", "mallory", "--all"]).contains(&id));
    assert!(shop.refuses(&["approve", &id, "--as", "mallory"]).contains("mallory may not decide here"));
    assert!(shop.refuses(&["approve", &format!("{run}/call_9.1")]).contains("nothing waits, or waited"));
    assert!(shop.refuses(&["approve", "nowhere/call_1.1"]).contains("there is no run nowhere"));
    assert!(shop.refuses(&["approve", "call_1"]).contains("expected an id of the form RUN/CALL.1"));
    assert!(shop.refuses(&["resume", "nowhere"]).contains("there is no run nowhere"));
    shop.says(&["resume"]);
    assert!(shop.ledger().is_empty());
    assert!(shop.says(&["list"]).contains(&id), "it still waits");
}

/// Waits until `is_so` holds, after what another process does.
#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("it did not come to this within a minute");
}

/// One process drives runs, and is replaced between the question and the answer; others ask and decide.
fn asked_and_decided_while_another_process_drives(mut shop: Shop) {
    for (at, order) in ["A102", "A104"].into_iter().enumerate() {
        shop.serve();
        let id = shop.waiting_for(order);
        // A server's list can be a moment behind.
        until(|| shop.says(&["list"]).contains(&id));
        let shown = shop.says(&["show", &id]);
        assert!(shown.contains("amount: 40\n"), "{shown}");
        assert!(shop.refuses(&["approve", &id, "--as", "mallory"]).contains("mallory may not decide here"));
        assert_eq!(shop.ledger().len(), at, "nobody decided yet");
        shop.serve();
        for _ in 0..2 {
            until(|| shop.run(&["approve", &id]).fine);
        }
        until(|| shop.ledger().len() > at);
        let run = id.split('/').next().unwrap();
        until(|| shop.run(&["resume", run]).fine);
        until(|| shop.says(&["list"]).contains("nothing waits for clerk"));
        assert!(shop.refuses(&["deny", &id]).contains("too late"));
        assert_eq!(shop.ledger().len(), at + 1, "{:?}", shop.ledger());
    }
}

#[test]
fn a_file_is_served() {
    asked_and_decided_while_another_process_drives(Shop::new());
}

#[test]
fn postgres_is_served() {
    let database = Schema::new();
    let sql = |sql: String| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(database.sql(&sql));
    };
    // A database of its own, because the program has its tables in the usual schema.
    sql(format!("CREATE DATABASE {}", database.name));
    let (server, _) = database.url.rsplit_once('/').unwrap();
    let own = format!("{server}/{}", database.name);
    asked_and_decided_while_another_process_drives(Shop::on("postgres", Some(own)));
    sql(format!("DROP DATABASE {} WITH (FORCE)", database.name));
}

#[cfg(feature = "restate")]
#[test]
fn restate_is_served() {
    asked_and_decided_while_another_process_drives(Shop::on("restate", None));
}

#[cfg(feature = "temporal")]
#[test]
fn temporal_is_served() {
    asked_and_decided_while_another_process_drives(Shop::on("temporal", None));
}

#[test]
fn a_place_that_is_not_there_names_its_command() {
    let shop = Shop::new();
    assert!(shop.refuses(&["--on", "postgres", "list"]).contains("`scripts/postgres COMMAND` sets it"));
    for (place, is_built) in [("restate", cfg!(feature = "restate")), ("temporal", cfg!(feature = "temporal"))] {
        let mut command = shop.command(&["--on", place, "list"]);
        let output = command.env_remove("ENGINE_INGRESS").env_remove("TEMPORAL_ADDRESS").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let named = if is_built {
            format!("`scripts/engine {place} COMMAND` starts a server")
        } else {
            format!("`cargo run -p examples --features {place} --bin approvals -- --on {place}`")
        };
        assert!(!output.status.success() && error.contains(&named), "{error}");
    }
}
