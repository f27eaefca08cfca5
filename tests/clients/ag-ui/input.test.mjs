// T12 to T17: what clients send, and what they bring.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, chat, id, input, post, tool, url, user } from './kit.mjs';

for (const [name, body] of [
  ['no JSON', '{"threadId":'],
  ['no object', '[]'],
  ['no thread', { ...input(), threadId: undefined }],
  ['a thread of the wrong type', { ...input(), threadId: 7 }],
  ['no run', { ...input(), runId: null }],
  ['no messages', { ...input(), messages: undefined }],
  ['messages of the wrong type', { ...input(), messages: 'say Hi' }],
  ['a message without role', { ...input(), messages: [{ id: '1', content: 'x' }] }],
  ['a message without id', { ...input(), messages: [{ role: 'user', content: 'x' }] }],
  ['content of the wrong type', { ...input(), messages: [{ id: '1', role: 'user', content: 7 }] }],
  ['a known part without its text', { ...input(), messages: [{ id: '1', role: 'user', content: [{ type: 'text' }] }] }],
  ['a result of no call', { ...input(), messages: [{ id: '1', role: 'tool', content: 'x' }] }],
  ['tools of the wrong type', { ...input(), tools: {} }],
  ['a tool without name', { ...input(), tools: [{ description: 'x' }] }],
  ['a tool without description', { ...input(), tools: [{ name: 'x' }] }],
  ['an answer of an unknown status', { ...input(), resume: [{ interruptId: 'x', status: 'maybe' }] }],
  ['context of the wrong type', { ...input(), context: [{ description: 'x', value: {} }] }],
  ['a version of the wrong type', { ...input(), protocolVersion: 1 }],
]) {
  test(`T12 refused before it begins: ${name}`, async () => {
    const { status, headers, body: said } = await post(body);
    assert.ok(status >= 400 && status < 500, `${status}`);
    assert.ok(!/event-stream/.test(headers.get('content-type')));
    assert.ok(JSON.parse(said).error.message.length > 10);
  });
}

test('T12 another content type', async () => {
  const { status } = await post(input(), { 'content-type': 'text/plain' });
  assert.equal(status, 415);
});

test('T13 as little as possible', async () => {
  const { status, text } = await post({ threadId: id(), runId: id(), messages: [user('say Hi')] });
  assert.equal(status, 200);
  assert.equal(text, 'Hi');
});

test('T13 from a later version', async () => {
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

test('T13b what is not known is left out', async () => {
  const messages = [
    { id: id(), role: 'narrator', content: 'Once upon a time' },
    { id: id(), role: 'user', content: [{ type: 'hologram', data: 1 }, { type: 'text', text: 'say Hi' }, { type: 'image', source: { type: 'url', value: 'https://example.invalid/x.png' } }] },
  ];
  const { status, text, frames } = await post(input({ messages }));
  assert.equal(status, 200);
  assert.equal(text, 'Hi');
  assert.equal(frames[0].metadata.warnings.length, 2);
});

test('T13b null for what is absent', async () => {
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

test('T14 tools know what the client sent along', async () => {
  const agent = chat({ initialState: { count: 3, deep: { list: [1, null] } } });
  const { calls } = await agent.go('call echo_input', {
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

const deep = depth => {
  let schema = { type: 'string' };
  for (let at = 0; at < depth; at += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
};
for (const [name, parameters] of [
  ['draft 7', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { type: 'number' } } }],
  ['2020-12 with definitions', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }],
  ['alternatives', { anyOf: [{ type: 'object', properties: { a: { type: 'number' } } }, { type: 'object', required: ['b'] }] }],
  ['nothing', undefined],
  ['an empty schema', {}],
  ['true', true],
  ['a type that is none', { type: 'file' }],
  ['a type of the wrong type', { type: 12 }],
  ['a reference to nowhere', { $ref: '#/nowhere' }],
  ['a reference to a file', { $ref: 'file:///etc/passwd' }],
  ['a reference to a server', { $ref: 'http://127.0.0.1:1/schema.json' }],
  ['a dialect that nobody knows', { $schema: 'https://example.invalid/my', type: 'object' }],
  ['a pattern that is none', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
  ['a text', 'object'],
  ['a recursion', { type: 'object', properties: { next: { $ref: '#' } } }],
  ['a hundred levels', deep(50)],
]) {
  test(`T15 a schema of the client: ${name}`, async () => {
    const agent = chat();
    const tools = [parameters === undefined ? { name: 'dynamic', description: 'd' } : tool('dynamic', parameters)];
    const { calls } = await agent.go('call dynamic {"a":1}', { tools });
    assert.deepEqual(JSON.parse(calls[0].arguments), { a: 1 });
    assert.equal((await agent.go(answer(calls[0].id, 'done'), { tools })).text, 'tool results: done');
  });
}

for (const name of ['a.b/c:d', 'größe', '工具', 'constructor', '__proto__', 'toString', '-', 'x'.repeat(200), '"quoted"', '<b>', '0', 'GET_WEATHER', '🛠️']) {
  test(`T16 a tool called ${name.slice(0, 20)}`, async () => {
    const agent = chat();
    const tools = [tool(name)];
    const { calls } = await agent.go(`call ${name} {"a":"ü"}`, { tools });
    assert.equal(calls[0].name, name);
    assert.equal((await agent.go(answer(calls[0].id, 'done'), { tools })).text, 'tool results: done');
  });
}

test('T16 a tool called like one of the server', async () => {
  const { status, body } = await post(input({ messages: [user('call get_weather {"city":"Oslo"}')], tools: [tool('get_weather')] }));
  assert.equal(status, 422);
  assert.match(JSON.parse(body).error.message, /get_weather/);
});

test('T17 a tool without arguments', async () => {
  const agent = chat();
  const tools = [tool('ping')];
  const { calls } = await agent.go('call ping', { tools });
  assert.equal(calls[0].arguments, '{}');
  const again = await agent.go(answer(calls[0].id, 'pong'), { tools });
  assert.equal(again.text, 'tool results: pong');
  assert.ok(Array.isArray(JSON.parse((await agent.go('call executed_log')).calls[0].result)));
});

test('arguments that do not fit the schema of a client are reported', async () => {
  const tools = [tool('paint', { type: 'object', properties: { colour: { enum: ['red', 'blue'] } }, required: ['colour'] })];
  const { calls, frames } = await chat().go('call paint {"colour":"bleu"}', { tools });
  const report = frames.find(frame => frame.type === 'CUSTOM');
  assert.equal(report.name, 'tool_arguments');
  assert.equal(report.value.toolCallId, calls[0].id);
  assert.match(report.value.problems[0].message, /blue/);
});
