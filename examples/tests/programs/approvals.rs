//! Tests of the example `approvals`, as several processes in sequence.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tool_test_kit::stores::Schema;

/// A shop whose runs are in a file of its own, in a database or in an engine.
pub(crate) struct Shop {
    folder: PathBuf,
    /// The variables that name a model.
    pub(crate) model: Vec<(&'static str, String)>,
    /// The database or engine, and the URL of the database.
    on: Option<(&'static str, Option<String>)>,
    serving: Option<Child>,
}

struct Outcome {
    succeeded: bool,
    out: String,
    err: String,
}

impl Shop {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tool-approvals-{}-{number}", process::id()));
        Self { folder, model: Vec::new(), on: None, serving: None }
    }

    /// Creates a shop whose runs are in `backend`, with the URL if it is a database.
    fn on(backend: &'static str, database: Option<String>) -> Self {
        let mut shop = Self::new();
        shop.on = Some((backend, database));
        shop
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_approvals"));
        for name in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "DATABASE_URL",
            "APPROVALS_USER",
        ] {
            command.env_remove(name);
        }
        command.envs(self.model.iter().map(|(name, value)| (name, value)));
        if let Some((backend, database)) = &self.on {
            command.args(["--on", backend]).envs(database.iter().map(|url| ("DATABASE_URL", url)));
        }
        command.arg("--store").arg(self.folder.join("runs.db")).args(arguments);
        command
    }

    /// Starts a process that drives runs, and replaces an earlier one.
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
        Outcome { succeeded: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs the program, and asserts its success. Returns its output.
    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(outcome.succeeded, "{arguments:?}: {}{}", outcome.out, outcome.err);
        outcome.out
    }

    /// Runs the program, and asserts its failure. Returns its error text.
    fn run_err(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(!outcome.succeeded, "{arguments:?}: {}", outcome.out);
        outcome.err
    }

    /// Asks for a refund. Returns the id of its approval.
    pub(crate) fn request_refund(&self) -> String {
        self.request_refund_of("A102")
    }

    fn request_refund_of(&self, order: &str) -> String {
        let outcome = self.run_ok(&["ask", &format!("refund 40 euros for order {order}")]);
        let id = outcome.lines().find_map(|line| line.strip_prefix("waits for a decision: "));
        id.unwrap_or_else(|| panic!("{outcome}")).to_owned()
    }

    pub(crate) fn ledger(&self) -> Vec<String> {
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
fn a_refund_is_approved_by_one_process_and_paid_once_by_another() {
    let shop = Shop::new();
    let id = shop.request_refund();
    assert!(shop.ledger().is_empty());
    assert!(shop.run_ok(&["list"]).contains("Pay 40 euros back for order \"A102\"?"));
    let shown = shop.run_ok(&["show", &id]);
    assert!(shown.contains("order: \"A102\"\n  amount: 40\n"), "{shown}");
    assert!(shop.run_ok(&["resume"]).contains("0 runs"), "nothing runs without a decision");
    assert!(shop.ledger().is_empty());
    shop.run_ok(&["approve", &id]);
    shop.run_ok(&["approve", &id]);
    assert!(shop.run_ok(&["list"]).contains("nothing waits for clerk"));
    let resumed = shop.run_ok(&["resume"]);
    assert!(
        resumed.contains("40 euros were paid back to Grace") && resumed.contains("1 run was taken up"),
        "{resumed}"
    );
    shop.run_ok(&["resume"]);
    shop.run_ok(&["resume", id.split('/').next().unwrap()]);
    assert_eq!(shop.ledger().len(), 1, "{:?}", shop.ledger());
}

#[test]
fn an_edited_refund_is_paid_as_edited() {
    let shop = Shop::new();
    let id = shop.request_refund();
    let refused = shop.run_err(&["edit", &id, r#"{"order": "A102", "amount": 501, "why": "broken"}"#]);
    for part in ["the call still waits", "`amount`", "500", "`why`"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(shop.run_err(&["edit", &id, "{order}"]).contains("not JSON"));
    // The beginning of the run's id is enough.
    let (run, call) = id.split_once('/').unwrap();
    shop.run_ok(&["edit", &format!("{}/{call}", &run[..8]), r#"{"order": "A103", "amount": 30}"#]);
    shop.run_ok(&["resume", run]);
    assert!(shop.ledger()[0].starts_with("A103 30 EUR"), "{:?}", shop.ledger());
}

#[test]
fn a_denial_reaches_the_model_with_its_reason() {
    let shop = Shop::new();
    let id = shop.request_refund();
    shop.run_ok(&["deny", &id, "it", "was", "worn"]);
    assert!(shop.run_ok(&["resume"]).contains("it was worn"));
    assert!(shop.run_err(&["approve", &id]).contains("too late"));
    shop.run_ok(&["resume"]);
    assert!(shop.ledger().is_empty());
}

#[test]
fn other_users_cannot_decide_and_unknown_ids_are_errors() {
    let shop = Shop::new();
    let id = shop.request_refund();
    let run = id.split('/').next().unwrap();
    assert!(shop.run_ok(&["list", "--as", "mallory"]).contains("nothing waits for mallory"));
    assert!(shop.run_ok(&["list", "--as", "mallory", "--all"]).contains(&id));
    assert!(shop.run_err(&["approve", &id, "--as", "mallory"]).contains("mallory may not decide here"));
    assert!(shop.run_err(&["approve", &format!("{run}/call_9.1")]).contains("there is no interrupt"));
    assert!(shop.run_err(&["approve", "nowhere/call_1.1"]).contains("there is no run nowhere"));
    assert!(shop.run_err(&["approve", "call_1"]).contains("expected an id of the form RUN/CALL.1"));
    assert!(shop.run_err(&["resume", "nowhere"]).contains("there is no run nowhere"));
    shop.run_ok(&["resume"]);
    assert!(shop.ledger().is_empty());
    assert!(shop.run_ok(&["list"]).contains(&id), "the approval still waits");
}

/// Waits until `holds` returns true, because another process has acted.
#[track_caller]
fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the condition did not hold within a minute");
}

/// Checks that one process drives runs, and may be replaced between the question and the decision. Others ask and decide.
fn check_a_server_between_processes_that_ask_and_decide(mut shop: Shop) {
    for (at, order) in ["A102", "A104"].into_iter().enumerate() {
        shop.serve();
        let id = shop.request_refund_of(order);
        // A server's list can be a moment behind.
        wait_until(|| shop.run_ok(&["list"]).contains(&id));
        let shown = shop.run_ok(&["show", &id]);
        assert!(shown.contains("amount: 40\n"), "{shown}");
        assert!(shop.run_err(&["approve", &id, "--as", "mallory"]).contains("mallory may not decide here"));
        assert_eq!(shop.ledger().len(), at, "nothing runs without a decision");
        shop.serve();
        for _ in 0..2 {
            wait_until(|| shop.run(&["approve", &id]).succeeded);
        }
        wait_until(|| shop.ledger().len() > at);
        let run = id.split('/').next().unwrap();
        wait_until(|| shop.run(&["resume", run]).succeeded);
        wait_until(|| shop.run_ok(&["list"]).contains("nothing waits for clerk"));
        assert!(shop.run_err(&["deny", &id]).contains("too late"));
        assert_eq!(shop.ledger().len(), at + 1, "{:?}", shop.ledger());
    }
}

#[test]
fn runs_in_a_file_are_served() {
    check_a_server_between_processes_that_ask_and_decide(Shop::new());
}

#[test]
fn runs_in_postgres_are_served() {
    let database = Schema::new();
    let sql = |sql: String| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(database.sql(&sql));
    };
    // A database of its own, because the program has its tables in the usual schema.
    sql(format!("CREATE DATABASE {}", database.name));
    let (server, _) = database.url.rsplit_once('/').unwrap();
    let own = format!("{server}/{}", database.name);
    check_a_server_between_processes_that_ask_and_decide(Shop::on("postgres", Some(own)));
    sql(format!("DROP DATABASE {} WITH (FORCE)", database.name));
}

#[cfg(feature = "restate")]
#[test]
fn runs_in_restate_are_served() {
    check_a_server_between_processes_that_ask_and_decide(Shop::on("restate", None));
}

#[cfg(feature = "temporal")]
#[test]
fn runs_in_temporal_are_served() {
    check_a_server_between_processes_that_ask_and_decide(Shop::on("temporal", None));
}

#[test]
fn a_missing_backend_names_the_command_that_starts_it() {
    let shop = Shop::new();
    assert!(shop.run_err(&["--on", "postgres", "list"]).contains("`scripts/postgres COMMAND` sets it"));
    for (backend, is_built) in [("restate", cfg!(feature = "restate")), ("temporal", cfg!(feature = "temporal"))] {
        let mut command = shop.command(&["--on", backend, "list"]);
        let output = command.env_remove("ENGINE_INGRESS").env_remove("TEMPORAL_ADDRESS").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let named = if is_built {
            format!("`scripts/engine {backend} COMMAND` starts a server")
        } else {
            format!("`cargo run -p examples --features {backend} --bin approvals -- --on {backend}`")
        };
        assert!(!output.status.success() && error.contains(&named), "{error}");
    }
}
