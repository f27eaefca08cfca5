//! The tasks of a server, a list for each principal. No principal takes the room of another: running tasks and kept results
//! have a limit for one principal, and one for all.
//!
//! rmcp's `TaskManager` has one list, which limits nothing, and walks it for each request.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, DetailedTask, InputRequest, InputResponses, JsonObject, Task, TaskPayload, TaskStatus},
    task_manager::current_timestamp,
};
use serde::Serialize;
use serde_json::Value;
use tokio::{sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;
use tool_runtime::run::Principal;

use crate::host::lock;

/// The time that a task may take, and the time for which the server then keeps it.
const LIFETIME: Duration = Duration::from_mins(5);

/// The time after which a client should ask again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The limits of tasks.
#[derive(Clone, Copy, Debug)]
pub struct TaskLimits {
    /// The maximum number of running tasks of one principal.
    pub running: usize,
    /// The maximum number of running tasks.
    pub all_running: usize,
    /// The maximum number of ended tasks that the server keeps for one principal.
    pub ended: usize,
    /// The maximum number of bytes of results that the server keeps for one principal.
    pub bytes: usize,
    /// The maximum number of bytes of results that the server keeps.
    pub all_bytes: usize,
}

const LIMITS: TaskLimits =
    TaskLimits { running: 100, all_running: 1024, ended: 2000, bytes: 32 * 1024 * 1024, all_bytes: 256 * 1024 * 1024 };

/// The end of a task that has no result.
pub enum Exit {
    /// The client called the task off.
    Cancelled,
    /// The call failed.
    Failed(ErrorData),
}

impl From<ErrorData> for Exit {
    fn from(error: ErrorData) -> Self {
        Self::Failed(error)
    }
}

/// The work of a task.
pub type Work = BoxFuture<'static, Result<CallToolResult, Exit>>;

/// The lists of all principals.
#[derive(Clone)]
pub struct TaskList {
    lists: Arc<Mutex<Lists>>,
    limits: TaskLimits,
}

#[derive(Default)]
struct Lists {
    of: HashMap<Principal, Owned>,
    running: usize,
    bytes: usize,
}

/// The tasks of one principal.
#[derive(Default)]
struct Owned {
    tasks: HashMap<String, Entry>,
    running: usize,
    /// The ids of the tasks that have ended, the oldest first. Some of them may be removed already.
    ended: VecDeque<String>,
    bytes: usize,
}

struct Entry {
    task: Task,
    state: State,
    cancelled: CancellationToken,
}

enum State {
    /// The task runs, and waits for the answers to these questions.
    Running(BTreeMap<String, (InputRequest, oneshot::Sender<Value>)>),
    Ended(Ended),
}

enum Ended {
    /// The result, as JSON.
    Completed(String),
    /// The error, as JSON.
    Failed(String),
    Cancelled,
}

impl Ended {
    fn bytes(&self) -> usize {
        match self {
            Self::Completed(json) | Self::Failed(json) => json.len(),
            Self::Cancelled => 0,
        }
    }

    fn payload(&self) -> TaskPayload {
        let object = |json: &str| serde_json::from_str::<JsonObject>(json).unwrap_or_default();
        match self {
            Self::Completed(json) => TaskPayload::Completed { result: object(json) },
            Self::Failed(json) => TaskPayload::Failed { error: object(json) },
            Self::Cancelled => TaskPayload::Cancelled,
        }
    }
}

impl From<Result<CallToolResult, Exit>> for Ended {
    fn from(result: Result<CallToolResult, Exit>) -> Self {
        match result {
            Ok(result) => Self::Completed(to_json(&result)),
            Err(Exit::Cancelled) => Self::Cancelled,
            Err(Exit::Failed(error)) => Self::Failed(to_json(&error)),
        }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Entry {
    fn touch(&mut self) {
        self.task.last_updated_at = current_timestamp();
    }
}

impl Default for TaskList {
    fn default() -> Self {
        Self::new(LIMITS)
    }
}

impl TaskList {
    pub fn new(limits: TaskLimits) -> Self {
        Self { lists: Arc::default(), limits }
    }

    /// Begins a task of `owner`. Fails if it or all principals together have as many running tasks as they may.
    pub fn begin(&self, owner: &Principal, work: impl FnOnce(TaskHandle) -> Work) -> Result<Task, ErrorData> {
        let id = uuid::Uuid::new_v4().to_string();
        let now = current_timestamp();
        let mut task = Task::new(id.clone(), TaskStatus::Working, now.clone(), now);
        let millis = |time: Duration| u64::try_from(time.as_millis()).ok();
        (task.ttl_ms, task.poll_interval_ms) = (millis(LIFETIME), millis(POLL_INTERVAL));
        let cancelled = CancellationToken::new();
        {
            let mut lists = self.lock();
            let full = |most: usize, whose: &str| {
                Err(ErrorData::internal_error(
                    format!("at most {most} tasks{whose} run at a time; try again later"),
                    None,
                ))
            };
            if lists.of.get(owner).is_some_and(|owned| owned.running >= self.limits.running) {
                return full(self.limits.running, " of one caller");
            }
            if lists.running >= self.limits.all_running {
                return full(self.limits.all_running, "");
            }
            lists.running += 1;
            let owned = lists.of.entry(owner.clone()).or_default();
            owned.running += 1;
            let (state, cancelled) = (State::Running(BTreeMap::new()), cancelled.clone());
            owned.tasks.insert(id.clone(), Entry { task: task.clone(), state, cancelled });
        }
        let handle = TaskHandle { list: self.clone(), owner: owner.clone(), id, cancelled };
        let work = AssertUnwindSafe(work(handle.clone())).catch_unwind();
        tokio::spawn(async move {
            let result = match select(Box::pin(work), Box::pin(sleep(LIFETIME))).await {
                Either::Left((Ok(result), _)) => result,
                Either::Left((Err(_), _)) => Err(ErrorData::internal_error("the task panicked", None).into()),
                Either::Right(_) => {
                    Err(ErrorData::internal_error("the task took longer than five minutes", None).into())
                }
            };
            let TaskHandle { list, owner, id, .. } = handle;
            list.end(&owner, &id, result.into());
            sleep(LIFETIME).await;
            list.lock().remove(&owner, &id);
        });
        Ok(task)
    }

    /// Records the end of a task, and removes the oldest ended tasks beyond the limits.
    fn end(&self, owner: &Principal, id: &str, ended: Ended) {
        let limits = self.limits;
        let ended = if ended.bytes() <= limits.bytes {
            ended
        } else {
            let text = format!("the result is larger than the server keeps, {} bytes", limits.bytes);
            Ended::Failed(to_json(&ErrorData::internal_error(text, None)))
        };
        let mut lists = self.lock();
        let bytes = ended.bytes();
        let Some(owned) = lists.of.get_mut(owner) else { return };
        let Some(entry) = owned.tasks.get_mut(id) else { return };
        entry.state = State::Ended(ended);
        entry.touch();
        owned.running -= 1;
        owned.bytes += bytes;
        owned.ended.push_back(id.to_owned());
        lists.running -= 1;
        lists.bytes += bytes;
        while lists.of.get(owner).is_some_and(|owned| owned.bytes > limits.bytes || owned.ended.len() > limits.ended) {
            lists.remove_oldest(owner);
        }
        while lists.bytes > limits.all_bytes {
            let Some((most, _)) = lists.of.iter().max_by_key(|(_, owned)| owned.bytes) else { return };
            let most = most.clone();
            lists.remove_oldest(&most);
        }
    }

    pub fn get(&self, id: &str, by: &Principal) -> Result<DetailedTask, ErrorData> {
        self.with(id, by, |entry| {
            let payload = match &entry.state {
                State::Running(open) if open.is_empty() => TaskPayload::Working,
                State::Running(open) => TaskPayload::InputRequired {
                    input_requests: open.iter().map(|(key, (request, _))| (key.clone(), request.clone())).collect(),
                },
                State::Ended(ended) => ended.payload(),
            };
            DetailedTask::new(entry.task.clone(), payload)
        })
    }

    /// Passes answers to the questions of a task. Ignores those to questions that are not open.
    pub fn update(&self, id: &str, responses: InputResponses, by: &Principal) -> Result<(), ErrorData> {
        self.with(id, by, |entry| {
            if let State::Running(open) = &mut entry.state {
                for (key, value) in responses {
                    if let Some((_, answer)) = open.remove(&key) {
                        // An error means that the call does not wait any more.
                        let _ = answer.send(value);
                    }
                }
            }
            entry.touch();
        })
    }

    pub fn cancel(&self, id: &str, by: &Principal) -> Result<(), ErrorData> {
        self.with(id, by, |entry| {
            entry.cancelled.cancel();
            if let State::Running(open) = &mut entry.state {
                // The call then has no answer, and ends.
                open.clear();
                entry.touch();
            }
        })
    }

    /// Calls `act` with the principal's task. The error is the same if the task belongs to another principal, so a guessed id
    /// reveals nothing.
    fn with<T>(&self, id: &str, by: &Principal, act: impl FnOnce(&mut Entry) -> T) -> Result<T, ErrorData> {
        let mut lists = self.lock();
        let entry = lists.of.get_mut(by).and_then(|owned| owned.tasks.get_mut(id));
        entry.map(act).ok_or_else(|| ErrorData::invalid_params("there is no such task, or it was removed", None))
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        lock(&self.lists)
    }
}

impl Lists {
    fn remove_oldest(&mut self, owner: &Principal) {
        let Some(oldest) = self.of.get_mut(owner).and_then(|owned| owned.ended.pop_front()) else { return };
        self.remove(owner, &oldest);
    }

    /// Removes a task that has ended.
    fn remove(&mut self, owner: &Principal, id: &str) {
        let Some(owned) = self.of.get_mut(owner) else { return };
        if let Some(Entry { state: State::Ended(ended), .. }) = owned.tasks.remove(id) {
            owned.bytes -= ended.bytes();
            self.bytes -= ended.bytes();
        }
        while owned.ended.front().is_some_and(|oldest| !owned.tasks.contains_key(oldest)) {
            owned.ended.pop_front();
        }
        if owned.tasks.is_empty() {
            self.of.remove(owner);
        }
    }
}

/// A running task, as its call uses it.
#[derive(Clone)]
pub struct TaskHandle {
    list: TaskList,
    owner: Principal,
    id: String,
    cancelled: CancellationToken,
}

impl TaskHandle {
    /// Asks the client, and returns its answer; `None` if the task was called off. A task can use each key only once.
    pub async fn request_input(&self, key: String, request: InputRequest) -> Option<Value> {
        let (send, answer) = oneshot::channel();
        self.change(|entry| {
            if let State::Running(open) = &mut entry.state
                && !entry.cancelled.is_cancelled()
            {
                open.insert(key, (request, send));
            }
        });
        answer.await.ok()
    }

    pub fn set_status_message(&self, message: &str) {
        self.change(|entry| entry.task.status_message = Some(message.to_owned()));
    }

    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.cancelled.cancelled()
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        let changed = self.list.with(&self.id, &self.owner, |entry| {
            change(entry);
            entry.touch();
        });
        // The task has ended, and was removed.
        changed.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, iter::repeat_with};

    use rmcp::model::ContentBlock;

    use super::*;

    const SMALL: TaskLimits = TaskLimits { running: 2, all_running: 3, ended: 4, bytes: 2000, all_bytes: 3000 };

    fn of(bytes: usize) -> impl FnOnce(TaskHandle) -> Work {
        move |_| Box::pin(async move { Ok(CallToolResult::success(vec![ContentBlock::text("x".repeat(bytes))])) })
    }

    fn endless(_: TaskHandle) -> Work {
        Box::pin(pending())
    }

    /// Begins a task, waits until it has ended, and returns its id.
    async fn complete(list: &TaskList, by: &Principal, bytes: usize) -> String {
        let id = list.begin(by, of(bytes)).unwrap().task_id;
        while list.get(&id, by).is_ok_and(|task| !task.status().is_terminal()) {
            tokio::task::yield_now().await;
        }
        id
    }

    fn has_result(list: &TaskList, by: &Principal, id: &str) -> bool {
        list.get(id, by).is_ok_and(|task| matches!(task.payload, TaskPayload::Completed { .. }))
    }

    #[tokio::test]
    async fn one_principal_does_not_take_the_running_tasks_of_another() {
        let (list, greedy, other) = (TaskList::new(SMALL), Principal::from("greedy"), Principal::from("other"));
        let begun: Vec<bool> = repeat_with(|| list.begin(&greedy, endless).is_ok()).take(9).collect();
        assert_eq!(begun.iter().filter(|begun| **begun).count(), 2);
        let refused = list.begin(&greedy, endless).unwrap_err();
        assert!(refused.message.contains("of one caller"), "{refused:?}");
        assert!(list.begin(&other, endless).is_ok());
        let refused = list.begin(&other, endless).unwrap_err();
        assert!(refused.message.contains("at most 3 tasks run"), "{refused:?}");
    }

    #[tokio::test]
    async fn one_principal_does_not_take_the_room_of_anothers_results() {
        let (list, greedy, other) = (TaskList::new(SMALL), Principal::from("greedy"), Principal::from("other"));
        let mine = complete(&list, &other, 1000).await;
        let mut ids = Vec::new();
        for _ in 0..9 {
            ids.push(complete(&list, &greedy, 800).await);
            assert!(list.lock().bytes <= 3000 && list.lock().of[&greedy].bytes <= 2000);
        }
        assert!(has_result(&list, &other, &mine));
        let kept: Vec<bool> = ids.iter().map(|id| has_result(&list, &greedy, id)).collect();
        assert_eq!(kept, [[false; 7].as_slice(), &[true; 2]].concat(), "the latest are kept");

        // A result beyond the limit is a failure that says so, and takes no room.
        let large = complete(&list, &other, 2001).await;
        let TaskPayload::Failed { error } = list.get(&large, &other).unwrap().payload else {
            panic!("it is too large")
        };
        assert!(error["message"].as_str().unwrap().contains("2000 bytes"), "{error:?}");

        // Small results have a limit, too, and those of several principals together.
        for _ in 0..9 {
            complete(&list, &greedy, 1).await;
        }
        assert_eq!(list.lock().of[&greedy].tasks.len(), 4);
        for name in ["a", "b", "c"] {
            complete(&list, &Principal::from(name), 900).await;
        }
        assert!(list.lock().bytes <= 3000);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_left_of_a_task_when_its_time_is_over() {
        let (list, by) = (TaskList::new(SMALL), Principal::from("anna"));
        let (late, done) = (list.begin(&by, endless).unwrap().task_id, complete(&list, &by, 9).await);
        sleep(LIFETIME + Duration::from_secs(1)).await;
        assert!(list.get(&done, &by).is_err());
        assert_eq!(list.get(&late, &by).unwrap().status(), TaskStatus::Failed);
        sleep(LIFETIME).await;
        assert!(list.get(&late, &by).is_err());
        let lists = list.lock();
        assert_eq!((lists.of.len(), lists.running, lists.bytes), (0, 0, 0));
    }

    #[tokio::test]
    async fn a_panic_ends_the_task() {
        let (list, by) = (TaskList::new(SMALL), Principal::from("anna"));
        let id = list.begin(&by, |_| Box::pin(async { panic!("on purpose") })).unwrap().task_id;
        while list.get(&id, &by).unwrap().status() != TaskStatus::Failed {
            tokio::task::yield_now().await;
        }
        assert_eq!(list.lock().running, 0);
    }
}
