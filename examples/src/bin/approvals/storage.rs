//! Opens the store of the runs, and serves them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tool_runtime::{Agent, store::Store};
use tool_stores::{PostgresStore, SqliteStore};

use crate::command::On;

/// The store of the runs, and the file of the shop's ledger.
pub(crate) struct Storage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: PathBuf,
    engine: Engine,
}

/// The part that drives runs after a decision.
enum Engine {
    /// The program itself, which looks for runs that can continue.
    Sweep,
    #[cfg(feature = "restate")]
    Restate(tool_restate::RestateStore),
    #[cfg(feature = "temporal")]
    Temporal(tool_temporal::TemporalStore),
}

impl Storage {
    /// Opens the storage `on`. Without one, that is the file `path`, or PostgreSQL if `DATABASE_URL` is set.
    pub(crate) async fn open(on: Option<On>, path: Option<PathBuf>) -> Result<Self, String> {
        let path = path.unwrap_or_else(|| state_folder().join("runs.db"));
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let ledger = path.with_extension("ledger.txt");
        let (store, engine): (Arc<dyn Store>, _) = match on {
            None if env::var_os("DATABASE_URL").is_none() => {
                let file = SqliteStore::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                (Arc::new(file), Engine::Sweep)
            }
            None | Some(On::Postgres) => (Arc::new(postgres().await?), Engine::Sweep),
            Some(On::Restate) => restate()?,
            Some(On::Temporal) => temporal().await?,
        };
        Ok(Self { store, ledger, engine })
    }

    /// Drives runs with `agent` until the process ends.
    pub(crate) async fn serve(self, agent: Agent) -> Result<(), String> {
        match self.engine {
            Engine::Sweep => {
                println!("serving, until Ctrl-C");
                loop {
                    agent.sweep().await.map_err(|error| error.to_string())?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            #[cfg(feature = "restate")]
            Engine::Restate(engine) => {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
                let address = listener.local_addr().map_err(|error| error.to_string())?;
                let address = format!("http://{address}");
                let registered = async {
                    engine.register(&address).await.map_err(|error| error.to_string())?;
                    println!("serving, until Ctrl-C");
                    std::future::pending().await
                };
                tokio::select! {
                    () = engine.serve(listener, move |_| agent.clone()) => Ok(()),
                    failed = registered => failed,
                }
            }
            #[cfg(feature = "temporal")]
            Engine::Temporal(runs) => {
                println!("serving, until Ctrl-C");
                let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
                runs.serve_until(move |_| agent.clone(), stop).await.map_err(|error| error.to_string())
            }
        }
    }
}

async fn postgres() -> Result<PostgresStore, String> {
    let url = env::var("DATABASE_URL").map_err(|_| "DATABASE_URL is not set; `scripts/postgres COMMAND` sets it")?;
    PostgresStore::connect(&url).await.map_err(|error| format!("DATABASE_URL: {error}"))
}

#[cfg(feature = "restate")]
fn restate() -> Result<(Arc<dyn Store>, Engine), String> {
    let (ingress, admin) = (server("ENGINE_INGRESS", "restate")?, server("ENGINE_ADMIN", "restate")?);
    let engine = tool_restate::RestateStore::new(&ingress, &admin).map_err(|error| error.to_string())?;
    Ok((Arc::new(engine.clone()), Engine::Restate(engine)))
}

#[cfg(not(feature = "restate"))]
fn restate() -> Result<(Arc<dyn Store>, Engine), String> {
    Err(left_out("restate"))
}

#[cfg(feature = "temporal")]
async fn temporal() -> Result<(Arc<dyn Store>, Engine), String> {
    let address = server("TEMPORAL_ADDRESS", "temporal")?;
    let runs = tool_temporal::TemporalStore::connect(&address, "approvals").await.map_err(|error| error.to_string())?;
    Ok((Arc::new(runs.clone()), Engine::Temporal(runs)))
}

#[cfg(not(feature = "temporal"))]
#[allow(clippy::unused_async, reason = "the other one connects")]
async fn temporal() -> Result<(Arc<dyn Store>, Engine), String> {
    Err(left_out("temporal"))
}

/// Returns the address in the variable `name`.
#[cfg(any(feature = "restate", feature = "temporal"))]
fn server(name: &str, engine: &str) -> Result<String, String> {
    env::var(name)
        .map_err(|_| format!("{name} is not set; `scripts/engine {engine} COMMAND` starts a server and sets it"))
}

/// Returns the error about an engine that this program was built without.
#[cfg(not(all(feature = "restate", feature = "temporal")))]
fn left_out(engine: &str) -> String {
    format!(
        "this program was built without {engine}; start it with \
         `cargo run -p examples --features {engine} --bin approvals -- --on {engine}`"
    )
}

fn state_folder() -> PathBuf {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")));
    state.unwrap_or_else(env::temp_dir).join("tool-approvals")
}
