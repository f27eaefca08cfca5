// T18 to T20, T28 and T29: interrupts, and how clients answer them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, chat, deleted, id, input, isV1, keeping, post, tool, url, user } from './kit.mjs';

const path = () => `/tmp/${id()}`;
const resolved = (interrupt, payload) => ({ interruptId: interrupt.id, status: 'resolved', payload });
const cancelled = interrupt => ({ interruptId: interrupt.id, status: 'cancelled' });

/** A chat that waits for an approval of each deletion. */
async function waiting(...paths) {
  const agent = chat();
  const run = await agent.go(paths.map(path => `call delete_file {"path":"${path}"}`).join('\n'));
  assert.equal(run.outcome.type, 'interrupt');
  return { agent, calls: run.calls, interrupts: run.outcome.interrupts };
}
const times = async path => (await deleted()).filter(deleted => deleted === path).length;
const ends = frames => frames.filter(frame => /^TOOL_CALL_(START|ARGS|END)/.test(frame.type));

test('T18 approved: the original call has a result, once', async () => {
  const file = path();
  const { agent, calls, interrupts } = await waiting(file);
  const [interrupt] = interrupts;
  assert.equal(interrupt.reason, isV1 ? 'tool_call' : 'confirmation');
  assert.equal(interrupt.toolCallId, calls[0].id);
  assert.match(interrupt.message, new RegExp(file));
  assert.deepEqual(interrupt.responseSchema.required, ['approved']);
  assert.ok(interrupt.responseSchema.properties.editedArgs);
  assert.equal(await times(file), 0);
  if (agent.pendingInterrupts) assert.equal(agent.pendingInterrupts.length, 1);
  const resume = [resolved(interrupt, { approved: true })];
  const run = await agent.go(undefined, { resume });
  assert.deepEqual(ends(run.frames), [], 'nothing is announced again');
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, new RegExp(file));
  assert.match(run.text, new RegExp(`^tool results: .*${file}`));
  assert.equal(await times(file), 1);
  const replayed = await post(input({ threadId: agent.threadId, messages: agent.messages, resume }));
  assert.equal(replayed.status, 200);
  assert.equal(await times(file), 1);
  assert.equal((await agent.go('say Next.')).text, 'Next.');
});

test('T18 approved by fifty at once, and run once', async () => {
  const file = path();
  const { agent, interrupts } = await waiting(file);
  const resume = [resolved(interrupts[0], { approved: true })];
  const bodies = Array.from({ length: 50 }, () => input({ threadId: agent.threadId, messages: agent.messages, resume }));
  const headers = { 'content-type': 'application/json' };
  const send = body => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }).then(response => response.text());
  const all = await Promise.all(bodies.map(send));
  for (const [at, text] of all.entries()) {
    const named = text.split('\n').filter(line => /^data: \{"type":"RUN_(STARTED|FINISHED)"/.test(line));
    const ids = named.map(line => JSON.parse(line.slice('data: '.length)).runId);
    assert.ok(ids.every(id => id === bodies[at].runId), 'who shares an answer has it under its own id');
  }
  assert.equal(await times(file), 1);
});

test('T19 denied with a reason', async () => {
  const file = path();
  const { agent, calls, interrupts } = await waiting(file);
  const run = await agent.go(undefined, { resume: [resolved(interrupts[0], { approved: false, reason: 'keep it' })] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, /denied.*keep it/);
  assert.equal(run.outcome.type, 'success');
  assert.equal(await times(file), 0);
});

test('T19 cancelled', async () => {
  const file = path();
  const { agent, calls, interrupts } = await waiting(file);
  const run = await agent.go(undefined, { resume: [cancelled(interrupts[0])] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.equal(run.outcome.type, 'success');
  assert.equal(await times(file), 0);
});

test('T19 approved with other arguments', async () => {
  const [file, other] = [path(), path()];
  const { agent, calls, interrupts } = await waiting(file);
  const run = await agent.go(undefined, { resume: [resolved(interrupts[0], { approved: true, editedArgs: { path: other } })] });
  assert.equal(run.calls[0].id, calls[0].id);
  assert.match(run.calls[0].result, new RegExp(other));
  assert.deepEqual([await times(file), await times(other)], [0, 1]);
});

test('T19 other arguments that are wrong decide nothing', async () => {
  const file = path();
  const { agent, interrupts } = await waiting(file);
  const run = await agent.go(undefined, { resume: [resolved(interrupts[0], { approved: true, editedArgs: { path: 7 } })] });
  assert.equal(run.outcome.type, 'interrupt');
  assert.match(run.frames[0].metadata.warnings.join(), /path/);
  assert.equal(await times(file), 0);
  const again = await agent.go(undefined, { resume: [resolved(run.outcome.interrupts[0], { approved: true })] });
  assert.equal(again.outcome.type, 'success');
  assert.equal(await times(file), 1);
});

test('T20 nothing but a plain yes is one', async () => {
  const file = path();
  const { agent, interrupts } = await waiting(file);
  for (const payload of [undefined, 'yes', 1, {}, { approved: 'true' }, { approved: 1 }, { accept: true }, []]) {
    const { outcome } = await agent.go(undefined, { resume: [resolved(interrupts[0], payload)] });
    assert.equal(outcome.type, 'interrupt', JSON.stringify(payload));
  }
  assert.equal(await times(file), 0);
});

test('T20 an answer to nothing is left out', async () => {
  const agent = chat();
  const { frames, text } = await agent.go('say Hi', { resume: [{ interruptId: 'nobody.1', status: 'resolved', payload: { approved: true } }] });
  assert.equal(text, 'Hi');
  assert.match(frames[0].metadata.warnings[0], /nobody/);
});

test('T20 an answer that decides nothing keeps the interrupt, whatever comes with it', async () => {
  const file = path();
  const { agent, interrupts } = await waiting(file);
  const unknown = { interruptId: 'nobody.1', status: 'resolved', payload: { approved: true } };
  const refused = resolved(interrupts[0], { approved: true, editedArgs: { path: 7 } });
  let messages = agent.messages;
  const send = async (said, resume) => {
    const run = await post(input({ threadId: agent.threadId, messages: [...messages, ...said], resume }));
    messages = keeping([...messages, ...said], run.frames);
    return run;
  };
  // The real client of 1.0 does not send answers that leave out an open interrupt.
  for (const said of [[], [answer('call_nobody', 'yes')], [user('say Never mind.')]]) {
    for (const entry of [unknown, refused]) {
      const { outcome, frames } = await send(said, [entry]);
      assert.deepEqual(outcome, { type: 'interrupt', interrupts }, JSON.stringify(frames));
    }
  }
  const run = await send([], [resolved(interrupts[0], { approved: true })]);
  assert.match(run.calls[0].result, new RegExp(file));
  assert.equal(await times(file), 1);
});

test('T20 what is not answered still waits', async () => {
  const [first, second] = [path(), path()];
  const { agent, interrupts } = await waiting(first, second);
  assert.equal(interrupts.length, 2);
  const body = input({ threadId: agent.threadId, messages: agent.messages, resume: [resolved(interrupts[0], { approved: true })] });
  const run = await post(body);
  assert.equal(run.outcome.type, 'interrupt');
  assert.deepEqual(run.outcome.interrupts.map(interrupt => interrupt.id), [interrupts[1].id]);
  assert.deepEqual([await times(first), await times(second)], [1, 0]);
  const unanswered = await post({ ...body, runId: id(), resume: undefined, messages: [...keeping(agent.messages, run.frames), user('say Never mind.')] });
  assert.equal(unanswered.outcome.type, 'interrupt');
  assert.deepEqual([await times(first), await times(second)], [1, 0]);
});

test('T20 an answer for another conversation', async () => {
  const file = path();
  const { interrupts } = await waiting(file);
  await chat().go('say Hi', { resume: [resolved(interrupts[0], { approved: true })] });
  assert.equal(await times(file), 0);
});

test('T28 what is new in 1.0 is sent to those who speak it', async () => {
  for (const protocolVersion of [undefined, '0.0.59', '1.0', '1.3']) {
    const isNew = protocolVersion?.startsWith('1');
    const body = { ...input({ messages: [user('call confirm {}')], tools: [tool('confirm')] }), protocolVersion };
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const last = JSON.parse((await response.text()).trim().split('\n\n').at(-1).slice(6));
    assert.equal(last.type, 'RUN_FINISHED');
    assert.equal(last.outcome?.pendingToolCallIds?.length, isNew ? 1 : undefined, `${protocolVersion}`);
  }
});

test('T29 as CopilotKit resumes: an entry, a tool message for the same call, and the same run', async () => {
  for (const approved of [true, false]) {
    const file = path();
    const agent = chat();
    const runId = id();
    const { calls, outcome } = await agent.go(`call delete_file {"path":"${file}"}`, { runId });
    const [interrupt] = outcome.interrupts;
    const run = await agent.go(answer(calls[0].id, JSON.stringify({ approved })), { runId, resume: [resolved(interrupt, { approved })] });
    assert.deepEqual(ends(run.frames), []);
    assert.equal(run.calls[0].id, calls[0].id);
    assert.match(run.calls[0].result, approved ? new RegExp(file) : /denied/);
    assert.equal(await times(file), approved ? 1 : 0);
    assert.equal((await agent.go('say Next.', { runId })).text, 'Next.');
    assert.equal(await times(file), approved ? 1 : 0);
  }
});

test('T29 a tool message alone approves nothing', async () => {
  const file = path();
  const { agent, calls } = await waiting(file);
  const body = input({ threadId: agent.threadId, messages: [...agent.messages, answer(calls[0].id, '{"approved":true}')] });
  assert.equal((await post(body)).outcome.type, 'interrupt');
  assert.equal(await times(file), 0);
});
