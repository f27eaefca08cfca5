// The turns of one response: failed, empty and steered turns, provider tools, and values that clients cannot read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base, call, createChat, executions, parseChunks, releaseSlow, reset, script, sdk, text, until } from './kit.mjs';

test('a retried turn replaces the failed one in clients of version 7', async () => {
  const chat = createChat();
  await chat.sendScript([text('It is in '), { fail: `turn-${Math.random()}` }, text('Oslo.')]);
  chat.assertOk();
  const types = (await parseChunks(chat.log.raw[0])).map(chunk => chunk.type);
  assert.equal(types.includes('reset-step'), sdk.version === 7);
  const texts = chat.parts().filter(part => part.type === 'text').map(part => part.text);
  assert.deepEqual(texts, sdk.version === 7 ? ['It is in Oslo.'] : ['It is in ', 'It is in Oslo.']);
});

test('the client receives a call of a provider tool with its output, and executes nothing', async () => {
  const chat = createChat();
  const provided = { id: 's1', name: 'web_search', input: { query: 'rust' }, output: [{ url: 'https://a.example' }] };
  await chat.sendScript([{ provided }, text('found')]);
  chat.assertOk();
  const part = chat.part('s1');
  assert.deepEqual(
    [part.type, part.toolName, part.state, part.providerExecuted, part.input, part.output],
    ['dynamic-tool', 'web_search', 'output-available', true, provided.input, provided.output],
  );
  assert.equal(chat.lastText(), 'found');
  assert.equal(chat.log.requests.length, 1, 'the client sent no automatic request');
});

test('a steering message reaches the model at its next turn', async () => {
  await reset();
  const chat = createChat();
  const response = chat.sendScript([call('c1', 'slow', { ms: 60_000 })], [text('not this')]);
  await until('the tool runs', async () => (await executions('slow')) === 1);
  const message = { id: 'rather', role: 'user', parts: [{ type: 'text', text: script([text('this')]) }] };
  const steer = id => fetch(`${base}/api/chat/${id}/steer`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }),
  });
  assert.equal((await steer(chat.id)).status, 202);
  await releaseSlow();
  await response;
  chat.assertOk();
  assert.equal(chat.lastText(), 'this');
  const part = chat.parts().find(part => part.type === 'steering-message');
  if (sdk.version === 7) assert.deepEqual(part.parts, message.parts);
  else assert.equal(part, undefined, 'clients of version 6 do not know the part');
  const late = await steer(chat.id);
  assert.equal(late.status, 409);
  assert.match(await late.text(), /nothing is being answered/);
  assert.equal((await steer('another')).status, 409);
  await chat.sendScript([text('Next.')]);
  assert.equal(chat.lastText(), 'Next.');
});

test('an empty turn ends the response', async () => {
  for (const calls of [[call('c1', 'getWeather', { city: 'Oslo' })], [call('c2', 'getWeather', {}), call('c3', 'explode', { message: 'x' })]]) {
    const chat = createChat();
    await chat.sendScript(calls, []);
    chat.assertOk();
    assert.equal(chat.log.requests.length, 1, 'the client sent no automatic request');
  }
});

test('the server sends arguments that clients cannot read as a text', async () => {
  const deep = `{"city":${'['.repeat(300)}${']'.repeat(300)}}`;
  for (const inputText of ['{"city":"x","__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}', deep]) {
    const chat = createChat();
    await chat.sendScript([{ call: { id: 'c1', tool: 'getWeather', inputText } }], [text('so')]);
    chat.assertOk();
    assert.equal(chat.part('c1').state, 'output-error');
    assert.equal(chat.lastText(), 'so');
    await chat.sendScript([text('Next.')]);
    chat.assertOk();
    assert.equal(chat.lastText(), 'Next.');
  }
});

test('a chat continues after an unpaired surrogate', async () => {
  const chat = createChat();
  const half = '😀'.slice(0, 1);
  await chat.sendMessage({ parts: [{ type: 'text', text: half }, { type: 'text', text: script([call('c1', 'getLocation', {})], [text('there')]) }] });
  await chat.untilSettled();
  await chat.addToolOutput({ tool: 'getLocation', toolCallId: 'c1', output: { place: half } });
  await chat.untilSettled();
  chat.assertOk();
  await chat.sendScript([text('Next.')]);
  chat.assertOk();
  assert.equal(chat.lastText(), 'Next.');
});
