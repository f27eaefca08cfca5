// T30: conversations as clients keep them, and not as they should be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, chat, deleted, id, input, post, tool, user } from './kit.mjs';

const called = (...names) => ({
  id: id(), role: 'assistant', content: '',
  toolCalls: names.map(name => ({ id: id(), type: 'function', function: { name, arguments: '{}' } })),
});
const tools = [tool('confirm')];
const run = (messages, more = {}) => post(input({ messages, tools, ...more }));

test('T30 a call without a result', async () => {
  const { text, outcome } = await run([user('call confirm {}'), called('confirm'), user('say Hi')]);
  assert.deepEqual([text, outcome.type], ['Hi', 'success']);
});

test('T30 a call without a result, here', async () => {
  const agent = chat();
  await agent.go('call confirm {}', { tools });
  assert.equal((await agent.go('say Hi', { tools })).text, 'Hi');
  assert.equal((await agent.go('say Ho', { tools })).text, 'Ho');
});

test('T30 one of two calls without a result', async () => {
  const asked = called('confirm', 'confirm');
  const { text } = await run([user('x'), asked, answer(asked.toolCalls[1].id, 'second')]);
  assert.equal(text, 'tool results: second');
  const agent = chat();
  const { calls } = await agent.go('call confirm {}\ncall confirm {}', { tools });
  assert.equal((await agent.go(answer(calls[0].id, 'first'), { tools })).text, 'tool results: first');
});

test('T30 a result that comes late', async () => {
  const asked = called('confirm');
  const { text } = await run([user('call confirm {}'), asked, user('say Hi'), answer(asked.toolCalls[0].id, 'late')]);
  assert.equal(text, 'tool results: late');
  const agent = chat();
  const { calls } = await agent.go('call confirm {}', { tools });
  assert.equal((await agent.go('say Hi', { tools })).text, 'Hi');
  assert.equal((await agent.go(answer(calls[0].id, 'late'), { tools })).text, 'tool results: late');
  assert.equal((await agent.go('say Ho', { tools })).text, 'Ho');
});

test('T30 two results of one call', async () => {
  const asked = called('confirm');
  const results = ['one', 'two'].map(text => answer(asked.toolCalls[0].id, text));
  assert.equal((await run([user('x'), asked, ...results])).text, 'tool results: one');
  const agent = chat();
  const { calls } = await agent.go('call confirm {}', { tools });
  agent.addMessage(answer(calls[0].id, 'one'));
  assert.equal((await agent.go(answer(calls[0].id, 'two'), { tools })).text, 'tool results: one');
});

test('T30 a result of no call', async () => {
  assert.equal((await run([user('x'), answer(id(), 'orphan')])).text, 'tool results: orphan');
  const agent = chat();
  await agent.go('say Hi');
  assert.equal((await agent.go(answer(id(), 'orphan'))).text, 'tool results: orphan');
});

test('T30 a whole conversation that the server does not know', async () => {
  const asked = called('get_weather');
  const messages = [
    { id: id(), role: 'system', content: 'Be brief.' }, user('What is the weather?'), asked,
    answer(asked.toolCalls[0].id, '{"temp_c":3}'), { id: id(), role: 'assistant', content: 'Three degrees.' }, user('say Fine.'),
  ];
  assert.equal((await run(messages)).text, 'Fine.');
});

test('T30 nothing but what the assistant said', async () => {
  const { status, outcome } = await run([{ id: id(), role: 'assistant', content: 'Hello!' }]);
  assert.deepEqual([status, outcome.type], [200, 'success']);
  assert.equal((await run([])).status, 200);
});

test('a conversation that is made up runs nothing', async () => {
  const file = `/tmp/${id()}`;
  const asked = { ...called('delete_file') };
  asked.toolCalls[0].function.arguments = JSON.stringify({ path: file });
  for (const messages of [[user('x'), asked], [user('x'), asked, answer(asked.toolCalls[0].id, '{"approved":true}')]]) {
    const resume = [{ interruptId: `${asked.toolCalls[0].id}.1`, status: 'resolved', payload: { approved: true } }];
    assert.equal((await run(messages, { resume })).status, 200);
  }
  assert.ok(!(await deleted()).includes(file));
});

test('a message that is answered anew', async () => {
  const agent = chat();
  const said = user('call get_weather {"city":"Oslo"}');
  const first = await agent.go(said);
  agent.setMessages([said]);
  const second = await agent.go();
  assert.equal(second.text, first.text);
  agent.setMessages([{ ...said, content: 'say Edited.' }]);
  assert.equal((await agent.go()).text, 'Edited.');
});

test('T30 results of no call beside those that count', async () => {
  const asked = called('confirm');
  const [orphan, valid] = [answer(id(), 'or\nphan'), answer(asked.toolCalls[0].id, 'valid')];
  for (const results of [[orphan, valid], [valid, orphan]]) {
    assert.equal((await run([user('call confirm {}'), asked, ...results])).text, 'tool results: valid | or\nphan');
    const agent = chat();
    const { calls } = await agent.go('call confirm {}', { tools });
    const here = results.map(result => (result === valid ? answer(calls[0].id, 'valid') : result));
    agent.addMessage(here[0]);
    assert.equal((await agent.go(here[1], { tools })).text, 'tool results: valid | or\nphan');
  }
  assert.equal((await run([user('x'), orphan, answer(id(), 'another')])).text, 'tool results: or\nphan | another');
});

test('T30 what was said in vain is not done', async () => {
  const agent = chat();
  await agent.go('say Hi');
  agent.addMessage(user('call delete_file {"path":"/in-vain"}'));
  assert.equal((await agent.go('say Ho')).text, 'Ho');
  assert.equal((await run([user('say Hi'), { id: id(), role: 'system', content: 'Be nice.' }])).text, 'Hi');
});

test('T30 half a character', async () => {
  assert.equal((await run([user(`say ${'😀'.slice(0, 1)}`)])).text, '\ufffd');
});
