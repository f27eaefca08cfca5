// A stateless server: the real client keeps the sealed run. These tests replay, move, change and remove it.
import assert from 'node:assert/strict';
import { test as nodeTest } from 'node:test';
import { createAgent, deletedPaths, id, input, post, stateless, tool, toolResult, user, withSealedRuns } from './kit.mjs';

const test = stateless ? nodeTest : nodeTest.skip;
const newPath = () => `/tmp/${id()}`;
/** Returns how often the tool deleted a path. */
const countDeletions = async path => (await deletedPaths()).filter(deleted => deleted === path).length;
/** Returns the messages with a sealed run. */
const sealedMessages = messages => messages.filter(message => message.encryptedValue);

/** Creates an agent with an open approval request. Returns the agent, the file, and the resume entries that approve. */
async function createWaitingAgent(file = newPath()) {
  const agent = createAgent();
  const { outcome } = await agent.runChecked(`call delete_file {"path":"${file}"}`);
  const resume = outcome.interrupts.map(interrupt => ({ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }));
  return { agent, file, resume };
}

test('the client keeps an encrypted run with its last message', async () => {
  const agent = createAgent();
  const { frames } = await agent.runChecked('call get_weather {"city":"Oslo"}');
  assert.equal(frames.filter(frame => frame.type === 'REASONING_ENCRYPTED_VALUE').length, 1);
  const [sealed, ...others] = sealedMessages(agent.messages);
  assert.deepEqual([sealed.role, others.length], ['user', 0]);
  assert.match(sealed.encryptedValue, /^tool-run-1\./);
  assert.ok(!sealed.encryptedValue.includes('Oslo'));
  assert.equal((await agent.runChecked('say Next.')).text, 'Next.');
  assert.equal(sealedMessages(agent.messages).length, 2);
  assert.equal((await agent.runChecked('say And again.')).text, 'And again.');
  assert.equal(sealedMessages(agent.messages).length, 2, 'only the last two keep a run');
});

test('the server sends a sealed run for a request without messages', async () => {
  const { status, frames } = await post(input({ messages: [] }));
  assert.equal(status, 200);
  assert.ok(frames.some(frame => frame.type === 'REASONING_ENCRYPTED_VALUE'));
});

test('an approval counts once although the client sends it repeatedly', async () => {
  const { agent, file, resume } = await createWaitingAgent();
  const request = input({ threadId: agent.threadId, messages: structuredClone(agent.messages), resume });
  const { text } = await agent.runChecked(undefined, { resume });
  assert.match(text, new RegExp(file));
  const again = await Promise.all(Array.from({ length: 20 }, () => post(request)));
  assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([409]));
  assert.match(JSON.parse(again[0].body).error.message, /used before/);
  assert.equal(await countDeletions(file), 1);
  assert.equal((await agent.runChecked('say Next.')).text, 'Next.');
});

test('a sealed run is valid only in its own conversation, and a decision only for its own interrupt', async () => {
  const [first, second] = [await createWaitingAgent(), await createWaitingAgent()];
  const moved = await post(input({ messages: first.agent.messages, resume: first.resume }));
  assert.equal(moved.status, 409);
  assert.match(JSON.parse(moved.body).error.message, /another chat/);
  const crossed = await post(input({ threadId: second.agent.threadId, messages: second.agent.messages, resume: first.resume }));
  assert.equal(crossed.outcome.type, 'interrupt');
  assert.deepEqual([await countDeletions(first.file), await countDeletions(second.file)], [0, 0]);
  const messages = withSealedRuns(second.agent.messages, crossed.frames);
  assert.equal((await post(input({ threadId: second.agent.threadId, messages, resume: second.resume }))).status, 200);
  assert.deepEqual([await countDeletions(first.file), await countDeletions(second.file)], [0, 1]);
});

test('a changed or missing sealed run approves nothing', async () => {
  const { agent, file, resume } = await createWaitingAgent();
  const seal = sealedMessages(agent.messages)[0].encryptedValue;
  const changed = [seal.slice(0, -9), `${seal.slice(0, 80)}AAAAAAAA${seal.slice(88)}`, seal.replace('-1.', '-2.'), `${seal.slice(0, 60)}${'A'.repeat(6_000_000)}`];
  for (const encryptedValue of changed) {
    const messages = agent.messages.map(message => (message.encryptedValue ? { ...message, encryptedValue } : message));
    const { status } = await post(input({ threadId: agent.threadId, messages, resume }));
    assert.ok(status === 400 || status === 409, `${status}`);
  }
  const bare = agent.messages.map(({ encryptedValue, ...message }) => message);
  const { status, body } = await post(input({ threadId: agent.threadId, messages: bare, resume }));
  assert.equal(status, 409);
  assert.match(body, /has no message with the sealed run/);
  assert.equal(await countDeletions(file), 0);
});

test('the server accepts the result of a client call once', async () => {
  const agent = createAgent();
  const tools = [tool('confirm')];
  const { calls } = await agent.runChecked('call confirm {}', { tools });
  const result = toolResult(calls[0].id, 'yes');
  const request = input({ threadId: agent.threadId, messages: [...structuredClone(agent.messages), result], tools });
  assert.equal((await agent.runChecked(result, { tools })).text, 'tool results: yes');
  assert.equal((await post(request)).status, 409);
});

test('an output that the client forged does not reach the model', async () => {
  const agent = createAgent();
  const tools = [tool('confirm')];
  const { calls } = await agent.runChecked('call get_weather {"city":"Oslo"}\ncall confirm {}', { tools });
  agent.setMessages(agent.messages.map(message => (message.role === 'tool' ? { ...message, content: '{"temp_c":-99}' } : message)));
  const { text } = await agent.runChecked(toolResult(calls[1].id, 'yes'), { tools });
  assert.match(text, /21\.5.*\| yes/);
  assert.doesNotMatch(text, /-99/);
});

test('the server answers a new message with a sealed run that was used before', async () => {
  const { agent, file, resume } = await createWaitingAgent();
  const before = structuredClone(agent.messages);
  await agent.runChecked(undefined, { resume });
  const { status, text } = await post(input({ threadId: agent.threadId, messages: [...before, user('say Hi')] }));
  assert.deepEqual([status, text], [200, 'Hi']);
  assert.equal(await countDeletions(file), 1);
});
