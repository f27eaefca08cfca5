// T12 to T17: the input of a run: its fields, client tools, state and context.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgent, id, input, post, tool, toolResult, user } from './kit.mjs';

for (const [name, body] of [
  ['invalid JSON', '{"threadId":'],
  ['an array', '[]'],
  ['no thread id', { ...input(), threadId: undefined }],
  ['a thread id of the wrong type', { ...input(), threadId: 7 }],
  ['no run id', { ...input(), runId: null }],
  ['no messages', { ...input(), messages: undefined }],
  ['messages of the wrong type', { ...input(), messages: 'say Hi' }],
  ['a message without a role', { ...input(), messages: [{ id: '1', content: 'x' }] }],
  ['a message without an id', { ...input(), messages: [{ role: 'user', content: 'x' }] }],
  ['content of the wrong type', { ...input(), messages: [{ id: '1', role: 'user', content: 7 }] }],
  ['a text part without its text', { ...input(), messages: [{ id: '1', role: 'user', content: [{ type: 'text' }] }] }],
  ['a tool message without a call id', { ...input(), messages: [{ id: '1', role: 'tool', content: 'x' }] }],
  ['tools of the wrong type', { ...input(), tools: {} }],
  ['a tool without a name', { ...input(), tools: [{ description: 'x' }] }],
  ['a tool without a description', { ...input(), tools: [{ name: 'x' }] }],
  ['a resume entry with an unknown status', { ...input(), resume: [{ interruptId: 'x', status: 'maybe' }] }],
  ['context of the wrong type', { ...input(), context: [{ description: 'x', value: {} }] }],
  ['a protocol version of the wrong type', { ...input(), protocolVersion: 1 }],
]) {
  test(`T12 the server rejects a request before the run starts: ${name}`, async () => {
    const { status, headers, body: responseBody } = await post(body);
    assert.ok(status >= 400 && status < 500, `${status}`);
    assert.ok(!/event-stream/.test(headers.get('content-type')));
    assert.ok(JSON.parse(responseBody).error.message.length > 10);
  });
}

test('T12 the server rejects another content type', async () => {
  const { status } = await post(input(), { 'content-type': 'text/plain' });
  assert.equal(status, 415);
});

test('T13 the server accepts a request with the required fields only', async () => {
  const { status, text } = await post({ threadId: id(), runId: id(), messages: [user('say Hi')] });
  assert.equal(status, 200);
  assert.equal(text, 'Hi');
});

test('T13 the server ignores unknown fields of a later version', async () => {
  const later = {
    ...input({ protocolVersion: '1.7' }), novelty: { a: 1 },
    messages: [{ ...user('say Hi'), novelty: [1] }],
    tools: [{ ...tool('later'), novelty: true }],
    context: [{ description: 'd', value: 'v', novelty: 1 }],
  };
  const { status, text, outcome } = await post(later);
  assert.equal(status, 200);
  assert.equal(text, 'Hi');
  assert.equal(outcome.type, 'success');
});

test('T13b the server leaves out unknown messages and parts, and warns', async () => {
  const messages = [
    { id: id(), role: 'narrator', content: 'Once upon a time' },
    { id: id(), role: 'user', content: [{ type: 'hologram', data: 1 }, { type: 'text', text: 'say Hi' }, { type: 'image', source: { type: 'url', value: 'https://example.invalid/x.png' } }] },
  ];
  const { status, text, frames } = await post(input({ messages }));
  assert.equal(status, 200);
  assert.equal(text, 'Hi');
  assert.equal(frames[0].metadata.warnings.length, 2);
});

test('T13b the server reads null as an absent field', async () => {
  const { status, text } = await post({
    threadId: id(), runId: id(), parentRunId: null, protocolVersion: null, state: null, tools: null, context: null,
    forwardedProps: null, resume: null,
    messages: [
      { ...user('say Hi'), name: null, encryptedValue: null },
      { id: id(), role: 'assistant', content: null, toolCalls: null, name: null },
      { ...user('say Ho'), name: null },
    ],
  });
  assert.equal(status, 200);
  assert.equal(text, 'Ho');
});

test('T14 a server tool can read the state, context, properties and tools of the request', async () => {
  const agent = createAgent({ initialState: { count: 3, deep: { list: [1, null] } } });
  const { calls } = await agent.runChecked('call echo_input', {
    tools: [tool('paint'), tool('play')],
    context: [{ description: 'page', value: '/cart' }],
    forwardedProps: { theme: 'dark', nothing: null },
  });
  assert.deepEqual(JSON.parse(calls[0].result), {
    state: { count: 3, deep: { list: [1, null] } },
    context: [{ description: 'page', value: '/cart' }],
    forwardedProps: { theme: 'dark', nothing: null },
    tools: ['paint', 'play'],
  });
});

/** Returns a schema with `depth` nested objects. */
const nestedSchema = depth => {
  let schema = { type: 'string' };
  for (let at = 0; at < depth; at += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
};
for (const [name, parameters] of [
  ['draft 7', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { type: 'number' } } }],
  ['2020-12 with definitions', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }],
  ['anyOf', { anyOf: [{ type: 'object', properties: { a: { type: 'number' } } }, { type: 'object', required: ['b'] }] }],
  ['no schema', undefined],
  ['an empty schema', {}],
  ['true', true],
  ['an unknown type', { type: 'file' }],
  ['a number as type', { type: 12 }],
  ['a reference to nothing', { $ref: '#/nowhere' }],
  ['a reference to a file', { $ref: 'file:///etc/passwd' }],
  ['a reference to a server', { $ref: 'http://127.0.0.1:1/schema.json' }],
  ['an unknown dialect', { $schema: 'https://example.invalid/my', type: 'object' }],
  ['an invalid pattern', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
  ['a string', 'object'],
  ['a recursive schema', { type: 'object', properties: { next: { $ref: '#' } } }],
  ['fifty nested objects', nestedSchema(50)],
]) {
  test(`T15 the server accepts a client tool with any schema: ${name}`, async () => {
    const agent = createAgent();
    const tools = [parameters === undefined ? { name: 'dynamic', description: 'd' } : tool('dynamic', parameters)];
    const { calls } = await agent.runChecked('call dynamic {"a":1}', { tools });
    assert.deepEqual(JSON.parse(calls[0].arguments), { a: 1 });
    assert.equal((await agent.runChecked(toolResult(calls[0].id, 'done'), { tools })).text, 'tool results: done');
  });
}

for (const name of ['a.b/c:d', 'größe', '工具', 'constructor', '__proto__', 'toString', '-', 'x'.repeat(200), '"quoted"', '<b>', '0', 'GET_WEATHER', '🛠️']) {
  test(`T16 the server accepts a client tool with the name ${name.slice(0, 20)}`, async () => {
    const agent = createAgent();
    const tools = [tool(name)];
    const { calls } = await agent.runChecked(`call ${name} {"a":"ü"}`, { tools });
    assert.equal(calls[0].name, name);
    assert.equal((await agent.runChecked(toolResult(calls[0].id, 'done'), { tools })).text, 'tool results: done');
  });
}

test('T16 the server rejects a client tool with the name of a server tool', async () => {
  const { status, body } = await post(input({ messages: [user('call get_weather {"city":"Oslo"}')], tools: [tool('get_weather')] }));
  assert.equal(status, 422);
  assert.match(JSON.parse(body).error.message, /get_weather/);
});

test('T17 a call without arguments has the arguments `{}`', async () => {
  const agent = createAgent();
  const tools = [tool('ping')];
  const { calls } = await agent.runChecked('call ping', { tools });
  assert.equal(calls[0].arguments, '{}');
  const again = await agent.runChecked(toolResult(calls[0].id, 'pong'), { tools });
  assert.equal(again.text, 'tool results: pong');
  assert.ok(Array.isArray(JSON.parse((await agent.runChecked('call executed_log')).calls[0].result)));
});

test('the server reports arguments that violate the schema of a client tool', async () => {
  const tools = [tool('paint', { type: 'object', properties: { colour: { enum: ['red', 'blue'] } }, required: ['colour'] })];
  const { calls, frames } = await createAgent().runChecked('call paint {"colour":"bleu"}', { tools });
  const report = frames.find(frame => frame.name === 'tool_arguments');
  assert.equal(report.value.toolCallId, calls[0].id);
  assert.match(report.value.problems[0].message, /blue/);
});
