// T18 to T20, T28 and T29: interrupts, and the decisions of clients about them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgent, deletedPaths, id, input, isV1, post, stateless, tool, toolResult, url, user, withSealedRuns } from './kit.mjs';

const newPath = () => `/tmp/${id()}`;
const resolved = (interrupt, payload) => ({ interruptId: interrupt.id, status: 'resolved', payload });
const cancelled = interrupt => ({ interruptId: interrupt.id, status: 'cancelled' });

/** Creates an agent that waits for an approval of the deletion of each path. */
async function createWaitingAgent(...paths) {
  const agent = createAgent();
  const run = await agent.runChecked(paths.map(path => `call delete_file {"path":"${path}"}`).join('\n'));
  assert.equal(run.outcome.type, 'interrupt');
  return { agent, calls: run.calls, interrupts: run.outcome.interrupts };
}
/** Returns how often the tool deleted a path. */
const countDeletions = async path => (await deletedPaths()).filter(deleted => deleted === path).length;
/** Returns the frames that announce calls. */
const callFrames = frames => frames.filter(frame => /^TOOL_CALL_(START|ARGS|END)/.test(frame.type));

test('T18 an approved call keeps its id, and runs once', async () => {
  const file = newPath();
  const { agent, calls, interrupts } = await createWaitingAgent(file);
  const [interrupt] = interrupts;
  assert.equal(interrupt.reason, isV1 ? 'tool_call' : 'confirmation');
  assert.equal(interrupt.toolCallId, calls[0].id);
  assert.match(interrupt.message, new RegExp(file));
  assert.deepEqual(interrupt.responseSchema.required, ['approved']);
  assert.ok(interrupt.responseSchema.properties.editedArgs);
  assert.equal(await countDeletions(file), 0);
  if (agent.pendingInterrupts) assert.equal(agent.pendingInterrupts.length, 1);
  const resume = [resolved(interrupt, { approved: true })];
  const run = await agent.runChecked(undefined, { resume });
  assert.deepEqual(callFrames(run.frames), [], 'the call is not announced again');
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, new RegExp(file));
  assert.match(run.text, new RegExp(`^tool results: .*${file}`));
  assert.equal(await countDeletions(file), 1);
  const replayed = await post(input({ threadId: agent.threadId, messages: agent.messages, resume }));
  assert.equal(replayed.status, 200);
  assert.equal(await countDeletions(file), 1);
  assert.equal((await agent.runChecked('say Next.')).text, 'Next.');
});

test('T18 fifty concurrent copies of an approval count once', async () => {
  const file = newPath();
  const { agent, interrupts } = await createWaitingAgent(file);
  const resume = [resolved(interrupts[0], { approved: true })];
  const bodies = Array.from({ length: 50 }, () => input({ threadId: agent.threadId, messages: agent.messages, resume }));
  const headers = { 'content-type': 'application/json' };
  const send = body => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }).then(response => response.text());
  const all = await Promise.all(bodies.map(send));
  for (const [at, text] of all.entries()) {
    const lines = text.split('\n').filter(line => /^data: \{"type":"RUN_(STARTED|FINISHED)"/.test(line));
    const ids = lines.map(line => JSON.parse(line.slice('data: '.length)).runId);
    assert.ok(ids.every(id => id === bodies[at].runId), 'each response has the run id of its own request');
  }
  assert.equal(await countDeletions(file), 1);
});

test('T19 a denied call does not run, and its result has the reason', async () => {
  const file = newPath();
  const { agent, calls, interrupts } = await createWaitingAgent(file);
  const run = await agent.runChecked(undefined, { resume: [resolved(interrupts[0], { approved: false, reason: 'keep it' })] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, /denied.*keep it/);
  assert.equal(run.outcome.type, 'success');
  assert.equal(await countDeletions(file), 0);
});

test('T19 a call does not run if the client cancels its interrupt', async () => {
  const file = newPath();
  const { agent, calls, interrupts } = await createWaitingAgent(file);
  const run = await agent.runChecked(undefined, { resume: [cancelled(interrupts[0])] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.equal(run.outcome.type, 'success');
  assert.equal(await countDeletions(file), 0);
});

test('T19 an approved call runs with the edited arguments', async () => {
  const [file, other] = [newPath(), newPath()];
  const { agent, calls, interrupts } = await createWaitingAgent(file);
  const run = await agent.runChecked(undefined, { resume: [resolved(interrupts[0], { approved: true, editedArgs: { path: other } })] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, new RegExp(other));
  const decided = run.events.find(({ name }) => name === 'tool_decision').value;
  assert.deepEqual([decided.decision, decided.arguments], ['edit', { path: other }]);
  assert.deepEqual([await countDeletions(file), await countDeletions(other)], [0, 1]);
});

test('T19 invalid edited arguments decide nothing', async () => {
  const file = newPath();
  const { agent, interrupts } = await createWaitingAgent(file);
  const run = await agent.runChecked(undefined, { resume: [resolved(interrupts[0], { approved: true, editedArgs: { path: 7 } })] });
  assert.equal(run.outcome.type, 'interrupt');
  assert.match(run.frames[0].metadata.warnings.join(), /path/);
  assert.match(run.outcome.interrupts[0].metadata.refusal, /path/);
  assert.ok(run.outcome.interrupts[0].message.startsWith(run.outcome.interrupts[0].metadata.refusal));
  assert.equal(await countDeletions(file), 0);
  const again = await agent.runChecked(undefined, { resume: [resolved(run.outcome.interrupts[0], { approved: true })] });
  assert.equal(again.outcome.type, 'success');
  assert.equal(await countDeletions(file), 1);
});

for (const isTogether of [true, false]) {
  test(`T19 a client tool beside an approval: ${isTogether ? 'one request answers both' : 'the result comes first'}`, async () => {
    const file = newPath();
    const agent = createAgent();
    const tools = [tool('confirm')];
    const { calls, outcome } = await agent.runChecked(`call confirm {}\ncall delete_file {"path":"${file}"}`, { tools });
    assert.deepEqual(outcome.interrupts.map(({ toolCallId }) => toolCallId), [calls[1].id]);
    const resume = [resolved(outcome.interrupts[0], { approved: true })];
    agent.addMessage(toolResult(calls[0].id, 'yes'));
    if (!isTogether) {
      // The real client sends no request without the decision.
      const waits = await post(input({ threadId: agent.threadId, messages: agent.messages, tools }));
      assert.deepEqual(waits.outcome.interrupts.map(({ id }) => id), [outcome.interrupts[0].id]);
      agent.setMessages(withSealedRuns(agent.messages, waits.frames));
    }
    const run = await agent.runChecked(undefined, { resume, tools });
    assert.match(run.text, new RegExp(`^tool results: yes \\| .*${file}`));
    assert.equal(await countDeletions(file), 1);
  });
}

test('T19 a late decision receives the one that counted, and the rest of the answer', { skip: stateless }, async () => {
  const file = newPath();
  const { agent, calls, interrupts } = await createWaitingAgent(file);
  const other = createAgent({ threadId: agent.threadId, initialMessages: agent.messages });
  const denied = await other.runChecked(undefined, { resume: [resolved(interrupts[0], { approved: false })] });
  const late = await agent.runChecked(undefined, { resume: [resolved(interrupts[0], { approved: true })] });
  assert.equal(late.events.find(({ name }) => name === 'tool_decision').value.decision, 'deny');
  assert.deepEqual(late.calls.map(({ id, result }) => [id, result]), [[calls[0].id, denied.calls[0].result]]);
  assert.equal(late.text, denied.text);
  assert.equal(await countDeletions(file), 0);
  assert.equal((await agent.runChecked('say Next.')).text, 'Next.');
});

test('T20 only `approved: true` approves a call', async () => {
  const file = newPath();
  const { agent, interrupts } = await createWaitingAgent(file);
  for (const payload of [undefined, 'yes', 1, {}, { approved: 'true' }, { approved: 1 }, { accept: true }, []]) {
    const { outcome } = await agent.runChecked(undefined, { resume: [resolved(interrupts[0], payload)] });
    assert.equal(outcome.type, 'interrupt', JSON.stringify(payload));
  }
  assert.equal(await countDeletions(file), 0);
});

test('T20 the server leaves out a decision about an unknown interrupt, and warns', async () => {
  const agent = createAgent();
  const { frames, text } = await agent.runChecked('say Hi', { resume: [{ interruptId: 'nobody.1', status: 'resolved', payload: { approved: true } }] });
  assert.equal(text, 'Hi');
  assert.match(frames[0].metadata.warnings[0], /nobody/);
});

test('T20 an invalid decision keeps the interrupt open, with or without a message', async () => {
  const file = newPath();
  const { agent, interrupts } = await createWaitingAgent(file);
  const unknown = { interruptId: 'nobody.1', status: 'resolved', payload: { approved: true } };
  const refused = resolved(interrupts[0], { approved: true, editedArgs: { path: 7 } });
  let messages = agent.messages;
  const send = async (added, resume) => {
    const run = await post(input({ threadId: agent.threadId, messages: [...messages, ...added], resume }));
    messages = withSealedRuns([...messages, ...added], run.frames);
    return run;
  };
  // These requests come without the real client: that of 1.0 sends no decisions that leave out an open interrupt.
  for (const added of [[], [toolResult('call_nobody', 'yes')], [user('say Never mind.')]]) {
    for (const entry of [unknown, refused]) {
      const { outcome, frames } = await send(added, [entry]);
      // The interrupt states why the server has refused the answer.
      const { refusal, ...metadata } = outcome.interrupts[0].metadata;
      assert.equal(refusal !== undefined, entry === refused, JSON.stringify(frames));
      const message = outcome.interrupts[0].message.slice(refusal ? refusal.length + 1 : 0);
      assert.deepEqual({ ...outcome.interrupts[0], metadata, message }, interrupts[0], JSON.stringify(frames));
    }
  }
  const run = await send([], [resolved(interrupts[0], { approved: true })]);
  assert.match(run.calls[0].result, new RegExp(file));
  assert.equal(await countDeletions(file), 1);
});

test('T20 an interrupt without a decision stays open', async () => {
  const [first, second] = [newPath(), newPath()];
  const { agent, interrupts } = await createWaitingAgent(first, second);
  assert.equal(interrupts.length, 2);
  const body = input({ threadId: agent.threadId, messages: agent.messages, resume: [resolved(interrupts[0], { approved: true })] });
  const run = await post(body);
  assert.equal(run.outcome.type, 'interrupt');
  assert.deepEqual(run.outcome.interrupts.map(interrupt => interrupt.id), [interrupts[1].id]);
  assert.deepEqual([await countDeletions(first), await countDeletions(second)], [1, 0]);
  const unanswered = await post({ ...body, runId: id(), resume: undefined, messages: [...withSealedRuns(agent.messages, run.frames), user('say Never mind.')] });
  assert.equal(unanswered.outcome.type, 'interrupt');
  assert.deepEqual([await countDeletions(first), await countDeletions(second)], [1, 0]);
});

test('T20 a decision is valid only in its own conversation', async () => {
  const file = newPath();
  const { interrupts } = await createWaitingAgent(file);
  await createAgent().runChecked('say Hi', { resume: [resolved(interrupts[0], { approved: true })] });
  assert.equal(await countDeletions(file), 0);
});

test('T28 the server sends fields of 1.0 only to clients of 1.x', async () => {
  for (const protocolVersion of [undefined, '0.0.59', '1.0', '1.3']) {
    const isNew = protocolVersion?.startsWith('1');
    const body = { ...input({ messages: [user('call confirm {}')], tools: [tool('confirm')] }), protocolVersion };
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const last = JSON.parse((await response.text()).trim().split('\n\n').at(-1).slice(6));
    assert.equal(last.type, 'RUN_FINISHED');
    assert.equal(last.outcome?.pendingToolCallIds?.length, isNew ? 1 : undefined, `${protocolVersion}`);
  }
});

test('T29 the server accepts a decision with a tool message and the same run id, as CopilotKit sends it', async () => {
  for (const approved of [true, false]) {
    const file = newPath();
    const agent = createAgent();
    const runId = id();
    const { calls, outcome } = await agent.runChecked(`call delete_file {"path":"${file}"}`, { runId });
    const [interrupt] = outcome.interrupts;
    const run = await agent.runChecked(toolResult(calls[0].id, JSON.stringify({ approved })), { runId, resume: [resolved(interrupt, { approved })] });
    assert.deepEqual(callFrames(run.frames), []);
    assert.equal(run.calls[0].id, calls[0].id);
    assert.match(run.calls[0].result, approved ? new RegExp(file) : /denied/);
    assert.equal(await countDeletions(file), approved ? 1 : 0);
    assert.equal((await agent.runChecked('say Next.', { runId })).text, 'Next.');
    assert.equal(await countDeletions(file), approved ? 1 : 0);
  }
});

test('T29 a tool message alone approves nothing', async () => {
  const file = newPath();
  const { agent, calls } = await createWaitingAgent(file);
  const body = input({ threadId: agent.threadId, messages: [...agent.messages, toolResult(calls[0].id, '{"approved":true}')] });
  assert.equal((await post(body)).outcome.type, 'interrupt');
  assert.equal(await countDeletions(file), 0);
});
