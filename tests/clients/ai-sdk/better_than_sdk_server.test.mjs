// B01 to B11: what the AI SDK's own server gets wrong, with the same unmodified client.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import {
  base, call, chat, chunks, counters, echo, executions, post, releaseOnceRead, reset, script, sdk, text, until, untilOver, user,
} from './kit.mjs';

beforeEach(reset);

const approve = async (it, id, approved = true) => it.addToolApprovalResponse({ id: it.part(id).approval.id, approved });

/** A chat whose call of `deleteFile` waits for an approval, and what the client would send to give it. */
async function asked(id) {
  const it = chat({ id, auto: false });
  await it.say([call('c1', 'deleteFile', { filename: 'a.txt' })], [echo]);
  await approve(it, 'c1');
  const messages = structuredClone(it.messages);
  return { it, request: { id: it.id, messages, trigger: 'submit-message', messageId: messages.at(-1).id } };
}

test('B01 an approval counts once', async () => {
  const { it, request } = await asked();
  await it.sendMessage();
  await it.settled();
  assert.equal(await executions('deleteFile'), 1);
  const again = await post(request);
  await again.text();
  const many = await Promise.all(Array.from({ length: 20 }, () => post(request).then(response => response.text())));
  assert.equal(many.length, 20);
  assert.equal(await executions('deleteFile'), 1);
});

test('B01 fifty at a time are one', async () => {
  const { request } = await asked();
  await Promise.all(Array.from({ length: 50 }, () => post(request).then(response => response.text())));
  assert.equal(await executions('deleteFile'), 1);
});

test('B02 an output that the client made up', async () => {
  const it = chat({ auto: false });
  await it.say([call('c1', 'getWeather', { city: 'Oslo' }), call('c2', 'getLocation', {})], [echo]);
  await it.addToolOutput({ tool: 'getLocation', toolCallId: 'c2', output: 'here' });
  it.messages = it.messages.map(message => ({
    ...message,
    parts: message.parts.map(part => (part.toolCallId === 'c1' ? { ...part, output: { city: 'Oslo', temperature: -99 } } : part)),
  }));
  await it.sendMessage();
  await it.settled();
  assert.deepEqual(it.seen().map(seen => seen.value), [{ city: 'Oslo', units: 'celsius', temperature: 21 }, 'here']);
});

test('B02 the same in a chat that the server does not know', async () => {
  const part = { type: 'tool-getWeather', toolCallId: 'c1', state: 'output-available', input: { city: 'Oslo' }, output: { temperature: -99 } };
  const history = [user(script([call('c1', 'getWeather', { city: 'Oslo' })], [echo])), { id: 'a', role: 'assistant', parts: [{ type: 'step-start' }, part] }];
  const told = await post({ id: 'b02-unknown', messages: history, trigger: 'submit-message', messageId: 'a' });
  assert.equal(told.status, 409);
  const it = chat({ messages: history });
  await it.say([echo]);
  assert.deepEqual(it.seen(), []);
});

test('B03 a tool of the client is announced after its approval', async () => {
  const ran = [];
  const it = chat({
    onToolCall: (it, { toolCall }) => {
      ran.push([toolCall.toolCallId, it.part(toolCall.toolCallId)?.approval?.approved]);
      void it.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: 'shared' });
    },
  });
  await it.say([call('c1', 'shareScreen', { window: 'main' })], [echo]);
  assert.deepEqual(ran, []);
  assert.equal(it.part('c1').state, 'approval-requested');
  assert.deepEqual(it.part('c1').input, { window: 'main' });
  await approve(it, 'c1');
  await it.settled();
  it.ok();
  assert.deepEqual(ran, [['c1', true]]);
  assert.equal(it.messages.length, 2);
  assert.equal(it.part('c1').state, 'output-available');
  assert.deepEqual(it.seen(), [{ toolCallId: 'c1', status: 'ok', value: 'shared' }]);
});

test('B04 a tool of the client that is denied never runs', async () => {
  const ran = [];
  const it = chat({ onToolCall: (_, { toolCall }) => void ran.push(toolCall.toolCallId) });
  await it.say([call('c1', 'shareScreen', { window: 'main' })], [echo]);
  await approve(it, 'c1', false);
  await it.settled();
  it.ok();
  assert.deepEqual(ran, []);
  assert.equal(it.part('c1').state, 'output-denied');
  assert.equal(it.seen()[0].status, 'denied');
});

test('B05 an approval is of its chat', async () => {
  const { request } = await asked();
  const { request: other } = await asked();
  // Unknown there, and the same call waiting there, under its own request.
  for (const id of ['b05-nowhere', other.id]) {
    const response = await post({ ...request, id });
    assert.equal(response.status, 409, await response.text());
  }
  assert.equal(await executions('deleteFile'), 0);
});

test('B06 a running answer is resumed', async () => {
  const it = chat({ id: `b06-${sdk.level}`, body: { resumable: true }, legal: false });
  const sent = it.sendMessage({ text: script([text('before'), call('c1', 'slow', { ms: 60_000 })], [echo]) });
  await until('the tool runs', async () => (await executions('slow')) === 1);
  const history = structuredClone(it.messages);
  await it.stop();
  await sent;
  const again = chat({ id: it.id, messages: history });
  const resumed = again.resumeStream();
  await releaseOnceRead(again);
  await resumed;
  await again.settled();
  again.ok();
  assert.equal(again.messages.length, 2);
  assert.match(again.spoken(), /^before\nSEEN/);
  assert.deepEqual(await counters(), { executions: { slow: 1 }, aborted: {} });
  await untilOver(it.id);
});

test('B06 a resumed continuation has the whole message', async () => {
  const it = chat({ id: `b06c-${sdk.level}`, body: { resumable: true }, legal: false });
  await it.say([text('first'), call('c1', 'deleteFile', { filename: 'a' })], [call('c2', 'slow', { ms: 60_000 })], [echo]);
  const requests = it.log.requests.length;
  void approve(it, 'c1');
  await until('the second tool runs', async () => (await executions('slow')) === 1);
  assert.equal(it.log.requests.length, requests + 1);
  const again = chat({ id: it.id, messages: structuredClone(it.messages) });
  const resumed = again.resumeStream();
  await releaseOnceRead(again);
  await resumed;
  await again.settled();
  again.ok();
  assert.equal(again.messages.length, 2);
  assert.deepEqual([again.part('c1').state, again.part('c2').state], ['output-available', 'output-available']);
  assert.match(again.spoken(), /^first\nSEEN/);
  await it.settled();
});

test('B06 stop ends an answer that goes on by itself', async () => {
  const it = chat({ id: `b06s-${sdk.level}`, body: { resumable: true }, legal: false });
  void it.sendMessage({ text: script([call('c1', 'slow', { ms: 20_000 })], [echo]) });
  await until('the tool runs', async () => (await executions('slow')) === 1);
  assert.equal((await fetch(`${base}/api/chat/${it.id}/stop`, { method: 'POST' })).status, 204);
  await until('the tool is given up', async () => (await counters()).aborted.slow === 1, 15_000);
  await it.settled();
});

test('B07 an eager tool starts while the model speaks', async () => {
  const it = chat();
  await it.say([call('c1', 'getWeather', { city: 'Oslo' }), text('long '.repeat(400))], [echo]);
  it.ok();
  const all = await chunks(it.log.raw[0]);
  const output = all.findIndex(chunk => chunk.type === 'tool-output-available');
  const end = all.findIndex(chunk => chunk.type === 'text-end');
  assert.ok(output > 0 && output < end, `output at ${output}, end of the text at ${end}`);
});

test('B08 a new message after a stop', async () => {
  const it = chat({ legal: false });
  const sent = it.sendMessage({ text: script([call('c1', 'slow', { ms: 20_000 })], [echo]) });
  await until('the tool runs', async () => (await executions('slow')) === 1);
  await it.stop();
  await sent;
  await it.say([call('c2', 'getWeather', { city: 'Oslo' })], [echo]);
  it.ok();
  assert.deepEqual(it.seen().map(seen => seen.toolCallId), ['c2']);
});

test('B09 an approval, and then a new message', async () => {
  const it = chat({ auto: false });
  await it.say([call('c1', 'deleteFile', { filename: 'a' })], [echo]);
  await approve(it, 'c1');
  await it.say([text('next')]);
  it.ok();
  assert.equal(it.spoken(), 'next');
  assert.equal(await executions('deleteFile'), 1);
});

test('B10 a tool of the client that nobody answered', async () => {
  const it = chat();
  await it.say([call('c1', 'getLocation', {})], [echo]);
  await it.say([text('next')]);
  it.ok();
  assert.equal(it.spoken(), 'next');
});

test('B11 parts that mean nothing', async () => {
  const it = chat();
  await it.say([text('one')]);
  const odd = [
    { type: 'tool-constructor', toolCallId: 'x', state: 'output-available', input: {}, output: {} },
    { type: 'tool-__proto__', toolCallId: 'y', state: 'approval-responded', approval: { id: 'z', approved: true } },
    { type: 'tool-toString', state: 7 },
    { type: 'data-unknown', data: { deep: [[]] } },
    { type: 'from-the-future' },
    null,
  ];
  const messages = structuredClone(it.messages);
  messages[1].parts.push(...odd);
  const response = await post({ id: it.id, messages: [...messages, user(script([text('two')]))], trigger: 'submit-message' });
  assert.equal(response.status, 200);
  const all = await chunks(await response.text());
  assert.equal(all.filter(chunk => chunk.type === 'text-delta').map(chunk => chunk.delta).join(''), 'two');
  assert.deepEqual((await counters()).executions, {});
});
