// T01 to T11: texts, calls of server tools and client tools, and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgent, isV1, tool, toolResult } from './kit.mjs';

test('T01 the client receives a text in pieces', async () => {
  const agent = createAgent();
  const { frames, text, outcome } = await agent.runChecked('say Hello, this is a text that is longer than one piece.');
  assert.equal(text, 'Hello, this is a text that is longer than one piece.');
  assert.ok(frames.filter(frame => frame.type === 'TEXT_MESSAGE_CONTENT').length >= 2);
  assert.equal(outcome.type, 'success');
  assert.equal(agent.messages.at(-1).role, 'assistant');
  assert.equal(agent.messages.at(-1).content, text);
});

test('T02 the client executes its own tool, and sends the result with the next request', async () => {
  const agent = createAgent();
  const tools = [tool('confirm', { type: 'object', properties: { action: { type: 'string' } }, required: ['action'] })];
  const { calls, outcome, events } = await agent.runChecked('call confirm {"action":"buy"}', { tools });
  assert.equal(calls.length, 1);
  assert.deepEqual(JSON.parse(calls[0].arguments), { action: 'buy' });
  // Each version learns from the stream which calls it has to execute.
  const inputs = events.filter(({ name }) => name === 'tool-input-available').map(({ value }) => value);
  assert.deepEqual(inputs, isV1 ? [] : [{ toolCallId: calls[0].id, toolName: 'confirm', input: { action: 'buy' } }]);
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [calls[0].id]);
  const callMessage = agent.messages.at(-1);
  assert.deepEqual(callMessage.toolCalls.map(call => [call.id, call.function.name]), [[calls[0].id, 'confirm']]);
  const next = await agent.runChecked(toolResult(calls[0].id, 'approved by the user'), { tools });
  assert.equal(next.text, 'tool results: approved by the user');
});

test('T03 the model receives the error of a client tool', async () => {
  const agent = createAgent();
  const tools = [tool('confirm')];
  const { calls } = await agent.runChecked('call confirm {}', { tools });
  const next = await agent.runChecked(toolResult(calls[0].id, 'the dialog was closed', 'user_denied'), { tools });
  assert.equal(next.text, 'tool results: [error: user_denied] the dialog was closed');
});

test('T04 the client may send the results of several calls in any order', async () => {
  const agent = createAgent();
  const tools = [tool('left'), tool('right')];
  const { calls } = await agent.runChecked('call left {"a":1}\ncall right {"b":2}\ncall left {"c":3}', { tools });
  assert.deepEqual(calls.map(call => [call.name, JSON.parse(call.arguments)]), [
    ['left', { a: 1 }], ['right', { b: 2 }], ['left', { c: 3 }],
  ]);
  for (const call of [calls[2], calls[0]]) agent.addMessage(toolResult(call.id, `${call.name} ${call.arguments}`));
  const next = await agent.runChecked(toolResult(calls[1].id, 'right'), { tools });
  assert.equal(next.text, 'tool results: left {"a":1} | right | left {"c":3}');
});

test('T05 one turn may call server tools and client tools', async () => {
  const agent = createAgent();
  const tools = [tool('confirm')];
  const { calls, outcome } = await agent.runChecked('say Both.\ncall get_weather {"city":"Oslo"}\ncall confirm {}', { tools });
  const [weather, confirm] = calls;
  assert.equal(JSON.parse(weather.result).city, 'Oslo');
  assert.equal(confirm.result, undefined);
  assert.equal(weather.parent, confirm.parent);
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [confirm.id]);
  const next = await agent.runChecked(toolResult(confirm.id, 'yes'), { tools });
  assert.equal(next.text, `tool results: ${weather.result} | yes`);
});

test('T06 call ids are unique although the client repeats its run id', async () => {
  const agent = createAgent();
  for (const city of ['Oslo', 'Rome', 'Oslo']) {
    const { calls, text } = await agent.runChecked(`call get_weather {"city":"${city}"}`, { runId: 'always the same' });
    const weather = JSON.parse(calls[0].result);
    assert.equal(weather.city, city);
    assert.equal(typeof weather.temp_c, 'number');
    assert.equal(text, `tool results: ${calls[0].result}`);
    assert.ok(!calls[0].id.includes('always the same'));
  }
});

for (const [name, line, expected] of [
  ['T07 the model receives the error of a server tool', 'call divide {"a":1,"b":0}', /zero/],
  ['T08 the model receives the problem of an argument of the wrong type', 'call get_weather {"city":7}', /city/],
  ['T08 the model receives the problem of a missing argument', 'call divide {"a":1}', /\bb\b/],
  ['T09 the model receives the problem of arguments that are not valid JSON', 'rawcall get_weather {"city": "Osl', /JSON/i],
  ['T10 the model receives an error for a call of an unknown tool', 'call get_wether {"city":"Oslo"}', /get_weather/],
]) {
  test(name, async () => {
    const agent = createAgent();
    const { calls, text, outcome } = await agent.runChecked(line);
    assert.equal(calls.length, 1);
    assert.match(calls[0].result, expected);
    assert.equal(outcome.type, 'success');
    // The model reads a rejection as text, and the page gets its data.
    assert.match(text, /^tool results: /);
    assert.match(text, expected);
    assert.equal((await agent.runChecked('say Still here.')).text, 'Still here.');
  });
}

test('T11 a run fails, and the server continues the conversation', async () => {
  const agent = createAgent();
  const { frames, outcome } = await agent.runChecked('say Before it.\ncrash');
  assert.equal(outcome.type, 'error');
  assert.ok(!/script/.test(outcome.message), 'the message has no internal details');
  assert.ok(frames.some(frame => frame.type === 'TEXT_MESSAGE_END'), 'the server ends the open text');
  assert.equal((await agent.runChecked('say Again.')).text, 'Again.');
});

test('T11 a client call stays open when its run fails', async () => {
  const agent = createAgent();
  const tools = [tool('confirm')];
  const { calls, frames, outcome } = await agent.runChecked('call confirm {}\ncall get_weather {"city":"Oslo"}\ncrash', { tools });
  assert.equal(outcome.type, 'error');
  const callsWithResult = frames.filter(frame => frame.type === 'TOOL_CALL_RESULT').map(frame => frame.toolCallId);
  assert.deepEqual(callsWithResult, [calls[1].id], 'only the server call has a result');
  const { text } = await agent.runChecked(toolResult(calls[0].id, 'late'), { tools });
  assert.match(text, /^tool results: .*late$/);
});
