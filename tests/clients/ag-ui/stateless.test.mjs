// A server that keeps nothing: the real client keeps the run, sealed, and what it has kept is good for what it says.
import assert from 'node:assert/strict';
import { test as always } from 'node:test';
import { answer, chat, deleted, id, input, keeping, post, stateless, tool, user } from './kit.mjs';

const test = stateless ? always : always.skip;
const path = () => `/tmp/${id()}`;
const times = async path => (await deleted()).filter(deleted => deleted === path).length;
const seals = messages => messages.filter(message => message.encryptedValue);

/** A client that is asked for an approval, and its answer, which says yes. */
async function asked(file = path()) {
  const agent = chat();
  const { outcome } = await agent.go(`call delete_file {"path":"${file}"}`);
  const resume = outcome.interrupts.map(interrupt => ({ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }));
  return { agent, file, resume };
}

test('the client keeps the run with its last message, and shows nobody', async () => {
  const agent = chat();
  const { frames } = await agent.go('call get_weather {"city":"Oslo"}');
  assert.equal(frames.filter(frame => frame.type === 'REASONING_ENCRYPTED_VALUE').length, 1);
  const [kept, ...others] = seals(agent.messages);
  assert.deepEqual([kept.role, others.length], ['user', 0]);
  assert.match(kept.encryptedValue, /^tool-run-1\./);
  assert.ok(!kept.encryptedValue.includes('Oslo'));
  assert.equal((await agent.go('say Next.')).text, 'Next.');
  assert.equal(seals(agent.messages).length, 2);
  assert.equal((await agent.go('say And again.')).text, 'And again.');
  assert.equal(seals(agent.messages).length, 2, 'the last, and the one before it');
});

test('a call of a client with no messages of its own to keep anything', async () => {
  const { status, frames } = await post(input({ messages: [] }));
  assert.equal(status, 200);
  assert.ok(frames.some(frame => frame.type === 'REASONING_ENCRYPTED_VALUE'));
});

test('an approval counts once, however often it is sent', async () => {
  const { agent, file, resume } = await asked();
  const request = input({ threadId: agent.threadId, messages: structuredClone(agent.messages), resume });
  const { text } = await agent.go(undefined, { resume });
  assert.match(text, new RegExp(file));
  const again = await Promise.all(Array.from({ length: 20 }, () => post(request)));
  assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([409]));
  assert.match(JSON.parse(again[0].body).error.message, /used before/);
  assert.equal(await times(file), 1);
  assert.equal((await agent.go('say Next.')).text, 'Next.');
});

test('what is kept is of its conversation, and of its question', async () => {
  const [first, second] = [await asked(), await asked()];
  const moved = await post(input({ messages: first.agent.messages, resume: first.resume }));
  assert.equal(moved.status, 409);
  assert.match(JSON.parse(moved.body).error.message, /another chat/);
  const crossed = await post(input({ threadId: second.agent.threadId, messages: second.agent.messages, resume: first.resume }));
  assert.equal(crossed.outcome.type, 'interrupt');
  assert.deepEqual([await times(first.file), await times(second.file)], [0, 0]);
  const messages = keeping(second.agent.messages, crossed.frames);
  assert.equal((await post(input({ threadId: second.agent.threadId, messages, resume: second.resume }))).status, 200);
  assert.deepEqual([await times(first.file), await times(second.file)], [0, 1]);
});

test('what was changed opens nothing', async () => {
  const { agent, file, resume } = await asked();
  const seal = seals(agent.messages)[0].encryptedValue;
  const changed = [seal.slice(0, -9), `${seal.slice(0, 80)}AAAAAAAA${seal.slice(88)}`, seal.replace('-1.', '-2.'), `${seal.slice(0, 60)}${'A'.repeat(6_000_000)}`];
  for (const encryptedValue of changed) {
    const messages = agent.messages.map(message => (message.encryptedValue ? { ...message, encryptedValue } : message));
    const { status } = await post(input({ threadId: agent.threadId, messages, resume }));
    assert.ok(status === 400 || status === 409, `${status}`);
  }
  const bare = agent.messages.map(({ encryptedValue, ...message }) => message);
  const { status, frames } = await post(input({ threadId: agent.threadId, messages: bare, resume }));
  assert.equal(status, 200);
  assert.match(frames[0].metadata.warnings.join(), /nothing here waits/);
  assert.equal(await times(file), 0);
});

test('a result of the client finishes its call once', async () => {
  const agent = chat();
  const tools = [tool('confirm')];
  const { calls } = await agent.go('call confirm {}', { tools });
  const said = answer(calls[0].id, 'yes');
  const request = input({ threadId: agent.threadId, messages: [...structuredClone(agent.messages), said], tools });
  assert.equal((await agent.go(said, { tools })).text, 'tool results: yes');
  assert.equal((await post(request)).status, 409);
});

test('outputs that the client made up do not reach the model', async () => {
  const agent = chat();
  const tools = [tool('confirm')];
  const { calls } = await agent.go('call get_weather {"city":"Oslo"}\ncall confirm {}', { tools });
  agent.setMessages(agent.messages.map(message => (message.role === 'tool' ? { ...message, content: '{"temp_c":-99}' } : message)));
  const { text } = await agent.go(answer(calls[1].id, 'yes'), { tools });
  assert.match(text, /21\.5.*\| yes/);
  assert.doesNotMatch(text, /-99/);
});

test('a new message is heard, whatever became of the run', async () => {
  const { agent, file, resume } = await asked();
  const before = structuredClone(agent.messages);
  await agent.go(undefined, { resume });
  const { status, text } = await post(input({ threadId: agent.threadId, messages: [...before, user('say Hi')] }));
  assert.deepEqual([status, text], [200, 'Hi']);
  assert.equal(await times(file), 1);
});
