// T01 to T11: texts, calls of both sides, and what goes wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, chat, isV1, tool } from './kit.mjs';

test('T01 plain text', async () => {
  const agent = chat();
  const { frames, text, outcome } = await agent.go('say Hello, this is a text that is longer than one piece.');
  assert.equal(text, 'Hello, this is a text that is longer than one piece.');
  assert.ok(frames.filter(frame => frame.type === 'TEXT_MESSAGE_CONTENT').length >= 2);
  assert.equal(outcome.type, 'success');
  assert.equal(agent.messages.at(-1).role, 'assistant');
  assert.equal(agent.messages.at(-1).content, text);
});

test('T02 a tool of the client: called, left open, answered with the next request', async () => {
  const agent = chat();
  const tools = [tool('confirm', { type: 'object', properties: { action: { type: 'string' } }, required: ['action'] })];
  const { calls, outcome } = await agent.go('call confirm {"action":"buy"}', { tools });
  assert.equal(calls.length, 1);
  assert.deepEqual(JSON.parse(calls[0].arguments), { action: 'buy' });
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [calls[0].id]);
  const held = agent.messages.at(-1);
  assert.deepEqual(held.toolCalls.map(call => [call.id, call.function.name]), [[calls[0].id, 'confirm']]);
  const next = await agent.go(answer(calls[0].id, 'approved by the user'), { tools });
  assert.equal(next.text, 'tool results: approved by the user');
});

test('T03 a tool of the client that failed', async () => {
  const agent = chat();
  const tools = [tool('confirm')];
  const { calls } = await agent.go('call confirm {}', { tools });
  const next = await agent.go(answer(calls[0].id, 'the dialog was closed', 'user_denied'), { tools });
  assert.equal(next.text, 'tool results: [error: user_denied] the dialog was closed');
});

test('T04 tools of the client side by side', async () => {
  const agent = chat();
  const tools = [tool('left'), tool('right')];
  const { calls } = await agent.go('call left {"a":1}\ncall right {"b":2}\ncall left {"c":3}', { tools });
  assert.deepEqual(calls.map(call => [call.name, JSON.parse(call.arguments)]), [
    ['left', { a: 1 }], ['right', { b: 2 }], ['left', { c: 3 }],
  ]);
  for (const call of [calls[2], calls[0]]) agent.addMessage(answer(call.id, `${call.name} ${call.arguments}`));
  const next = await agent.go(answer(calls[1].id, 'right'), { tools });
  assert.equal(next.text, 'tool results: left {"a":1} | right | left {"c":3}');
});

test('T05 tools of both sides in one turn', async () => {
  const agent = chat();
  const tools = [tool('confirm')];
  const { calls, outcome } = await agent.go('say Both.\ncall get_weather {"city":"Oslo"}\ncall confirm {}', { tools });
  const [weather, confirm] = calls;
  assert.equal(JSON.parse(weather.result).city, 'Oslo');
  assert.equal(confirm.result, undefined);
  assert.equal(weather.parent, confirm.parent);
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [confirm.id]);
  const next = await agent.go(answer(confirm.id, 'yes'), { tools });
  assert.equal(next.text, `tool results: ${weather.result} | yes`);
});

test('T06 a tool of the server, and ids that are never used twice', async () => {
  const agent = chat();
  for (const city of ['Oslo', 'Rome', 'Oslo']) {
    const { calls, text } = await agent.go(`call get_weather {"city":"${city}"}`, { runId: 'always the same' });
    const weather = JSON.parse(calls[0].result);
    assert.equal(weather.city, city);
    assert.equal(typeof weather.temp_c, 'number');
    assert.equal(text, `tool results: ${calls[0].result}`);
    assert.ok(!calls[0].id.includes('always the same'));
  }
});

for (const [name, line, said] of [
  ['T07 a tool of the server that fails', 'call divide {"a":1,"b":0}', /zero/],
  ['T08 arguments of the wrong type', 'call get_weather {"city":7}', /city/],
  ['T08 arguments that are missing', 'call divide {"a":1}', /\bb\b/],
  ['T09 arguments that are no JSON', 'rawcall get_weather {"city": "Osl', /JSON/i],
  ['T10 a tool that nobody has', 'call get_wether {"city":"Oslo"}', /get_weather/],
]) {
  test(name, async () => {
    const agent = chat();
    const { calls, text, outcome } = await agent.go(line);
    assert.equal(calls.length, 1);
    assert.match(calls[0].result, said);
    assert.equal(outcome.type, 'success');
    assert.equal(text, `tool results: ${calls[0].result}`);
    assert.equal((await agent.go('say Still here.')).text, 'Still here.');
  });
}

test('T11 the run fails, and the server goes on', async () => {
  const agent = chat();
  const { frames, outcome } = await agent.go('say Before it.\ncrash');
  assert.equal(outcome.type, 'error');
  assert.ok(!/script/.test(outcome.message), 'what only a log may hold');
  assert.ok(frames.some(frame => frame.type === 'TEXT_MESSAGE_END'), 'what is open is closed');
  assert.equal((await agent.go('say Again.')).text, 'Again.');
});

test('T11 the run fails behind a call of the client, which is left to it', async () => {
  const agent = chat();
  const tools = [tool('confirm')];
  const { calls, frames, outcome } = await agent.go('call confirm {}\ncall get_weather {"city":"Oslo"}\ncrash', { tools });
  assert.equal(outcome.type, 'error');
  const answered = frames.filter(frame => frame.type === 'TOOL_CALL_RESULT').map(frame => frame.toolCallId);
  assert.deepEqual(answered, [calls[1].id], 'of the server\'s own, each has one; of the client\'s, none');
  const { text } = await agent.go(answer(calls[0].id, 'late'), { tools });
  assert.match(text, /^tool results: .*late$/);
});
