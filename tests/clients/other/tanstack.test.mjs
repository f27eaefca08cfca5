// TanStack AI's client, unmodified: `ChatClient` with its adapter for event streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toolDefinition } from '@tanstack/ai/client';
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';
import { until } from '../until.mjs';
import { base, call, headers, newChat, stateless } from '../page_server.mjs';

const END = 'All is well that ends.';
const schema = (properties = {}) => ({ type: 'object', properties, required: Object.keys(properties) });

/** The storage of a device, in which the client keeps its chats. */
class Device extends Map {
  getItem = id => this.has(id) ? JSON.parse(this.get(id)) : null;
  setItem = (id, value) => void this.set(id, JSON.stringify(value));
  removeItem = id => void this.delete(id);
}

/** Opens the chat on a device. */
function open(chat, device = new Device()) {
  const executed = [];
  const clientTool = (name, properties, output) =>
    toolDefinition({ name, description: `The tool ${name}.`, inputSchema: schema(properties) }).client(input => {
      executed.push([name, input]);
      return output(input);
    });
  // The server declares `locate` and `share` itself. `show` exists only in the page.
  const tools = [
    clientTool('locate', {}, () => ({ here: true })),
    clientTool('share', { window: { type: 'string' } }, () => ({ here: true })),
    clientTool('show', { text: { type: 'string' } }, ({ text }) => ({ shown: text })),
  ];
  const client = new ChatClient({
    connection: fetchServerSentEvents(`${base}/agent`, { headers }),
    threadId: chat.thread,
    tools,
    persistence: device,
  });
  client.attach();
  const parts = () => client.getMessages().flatMap(({ role, parts }) => (role === 'assistant' ? parts : []));
  return Object.assign(client, {
    device,
    executed,
    texts: () => parts().filter(({ type }) => type === 'text').map(({ content }) => content),
    calls: () => parts().filter(({ type }) => type === 'tool-call'),
    resultOf: ({ id }) => parts().find(({ type, toolCallId }) => type === 'tool-result' && toolCallId === id)?.content,
    /** Waits until the client is at rest, and the model's last text is there. */
    untilEnd: () => until('the answer ends', () => !client.getIsLoading() && client.texts().at(-1) === END),
    untilAsked: async (count = 1) => {
      await until('the client is asked', () => !client.getIsLoading() && client.getPendingInterrupts().length === count);
      return client.getPendingInterrupts();
    },
  });
}

test('a text, a call, and calls of one turn', async () => {
  const chat = newChat();
  const client = open(chat);
  const turn = [call('weather', { city: 'Oslo' }), call('breaks', { why: 'rust' }), call('weather', { city: 'Rome' })];
  await client.sendMessage(chat.script(['Look: ', call('weather', { city: 'Bern' })], turn, [END]));
  assert.deepEqual(client.texts(), ['Look: ', END]);
  assert.deepEqual(client.calls().map(({ name, arguments: text }) => [name, JSON.parse(text)]), [
    ['weather', { city: 'Bern' }], ['weather', { city: 'Oslo' }], ['breaks', { why: 'rust' }], ['weather', { city: 'Rome' }],
  ]);
  const [bern, oslo, broken, rome] = client.calls().map(client.resultOf);
  for (const [result, city] of [[bern, 'Bern'], [oslo, 'Oslo'], [rome, 'Rome']]) assert.deepEqual(JSON.parse(result), { city, degrees: 21 });
  assert.match(broken, /it broke: rust/);
  await client.sendMessage(chat.script(['Again.']));
  assert.equal(client.texts().at(-1), 'Again.');
});

test('tools of the page, also two of one turn', async () => {
  const chat = newChat();
  const client = open(chat);
  await client.sendMessage(chat.script([call('locate')], [call('show', { text: 'one' }), call('show', { text: 'two' })], [END]));
  await client.untilEnd();
  assert.deepEqual(client.executed, [['locate', {}], ['show', { text: 'one' }], ['show', { text: 'two' }]]);
});

test('a tool of the page beside an approval', async () => {
  const chat = newChat();
  const client = open(chat);
  await client.sendMessage(chat.script([call('show', { text: 'one' }), call('remove', { what: chat.gate })], [END]));
  const [asked] = await client.untilAsked();
  assert.deepEqual(client.executed, [['show', { text: 'one' }]]);
  asked.resolveInterrupt({ approved: true });
  await client.untilEnd();
  assert.deepEqual(client.executed, [['show', { text: 'one' }]]);
  assert.equal(await chat.countRemovals(), 1);
});

test('a tool of the page after an approval', async () => {
  const chat = newChat();
  const client = open(chat);
  await client.sendMessage(chat.script([call('share', { window: 'left' })], [END]));
  const [asked] = await client.untilAsked();
  assert.deepEqual(client.executed, []);
  asked.resolveInterrupt({ approved: true });
  await client.untilEnd();
  assert.deepEqual(client.executed, [['share', { window: 'left' }]]);
});

/** Returns a client that waits for an approval of a removal. */
async function ask(chat) {
  const client = open(chat);
  await client.sendMessage(chat.script([call('remove', { what: chat.gate })], [END]));
  await client.untilAsked();
  return client;
}

for (const approved of [true, false]) {
  test(`a client ${approved ? 'approves' : 'denies'}`, async () => {
    const chat = newChat();
    const client = await ask(chat);
    const [{ message, kind, metadata }] = client.getPendingInterrupts();
    assert.deepEqual([kind, message, metadata.toolName, metadata.input], ['generic', `Remove "${chat.gate}"?`, 'remove', { what: chat.gate }]);
    assert.equal(client.calls()[0].state, 'approval-requested');
    client.getPendingInterrupts()[0].resolveInterrupt({ approved, reason: 'keep it' });
    await client.untilEnd();
    assert.match(client.resultOf(client.calls()[0]), approved ? /removed/ : /denied.*keep it/);
    assert.equal(await chat.countRemovals(), approved ? 1 : 0);
  });
}

test('an edit that does not fit is asked about again, and one that fits counts', async () => {
  const chat = newChat();
  const client = await ask(chat);
  client.getPendingInterrupts()[0].resolveInterrupt({ approved: true, editedArgs: { what: chat.gate, more: 1 } });
  await until('the client is asked again', () => client.getPendingInterrupts()[0]?.metadata.refusal);
  const [again] = await client.untilAsked();
  assert.match(again.message, /more.*\nRemove/s);
  assert.equal(await chat.countRemovals(), 0);
  const what = `${chat.gate}-other`;
  again.resolveInterrupt({ approved: true, editedArgs: { what } });
  await client.untilEnd();
  assert.deepEqual([await chat.countRemovals(), await chat.countRemovals(what)], [0, 1]);
});

test('an answer after a reload', async () => {
  const chat = newChat();
  const { device } = await ask(chat);
  const reloaded = open(chat, device);
  const [asked] = await reloaded.untilAsked();
  asked.resolveInterrupt({ approved: true });
  await reloaded.untilEnd();
  assert.equal(await chat.countRemovals(), 1);
});

// A stateless server refuses a run that was used before.
test('a late answer from another device receives the decision that counted', { skip: stateless }, async () => {
  const chat = newChat();
  const client = await ask(chat);
  const other = open(chat, new Device(client.device));
  (await other.untilAsked())[0].resolveInterrupt({ approved: false });
  await other.untilEnd();
  client.getPendingInterrupts()[0].resolveInterrupt({ approved: true });
  await client.untilEnd();
  assert.match(client.resultOf(client.calls()[0]), /denied/);
  assert.equal(await chat.countRemovals(), 0);
});

test('a client stops, and the thread goes on, also without its messages', async () => {
  const chat = newChat();
  const client = open(chat);
  const sent = client.sendMessage(chat.script(['Once upon ', null, 'a time.']));
  await until('the text begins', () => client.texts()[0] === 'Once upon ');
  client.stop();
  await sent;
  await client.sendMessage(chat.script(['Again.']));
  assert.equal(client.texts().at(-1), 'Again.');
  const old = open(chat);
  await old.sendMessage(chat.script(['And again.']));
  assert.deepEqual(old.texts(), ['And again.']);
});

test('another tab stops the answer, and the thread goes on', { skip: stateless }, async () => {
  const chat = newChat();
  const client = open(chat);
  const sent = client.sendMessage(chat.script(['Look: ', call('work', { gate: chat.gate })], ['Too late.']));
  await until('the call is there', () => client.calls()[0]?.state === 'input-complete');
  await chat.stop();
  await sent;
  assert.ok(client.resultOf(client.calls()[0]));
  await client.sendMessage(chat.script(['Again.']));
  assert.deepEqual(client.texts(), ['Look: ', 'Again.']);
});
