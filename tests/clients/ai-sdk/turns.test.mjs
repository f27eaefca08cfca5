// What comes between the turns of an answer, and what the model's provider does, as the real client shows it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base, call, chat, chunks, executions, release, reset, script, sdk, text, until } from './kit.mjs';

test('a turn that broke off is forgotten, where clients can', async () => {
  const it = chat();
  await it.say([text('It is in '), { fail: `turn-${Math.random()}` }, text('Oslo.')]);
  it.ok();
  const types = (await chunks(it.log.raw[0])).map(chunk => chunk.type);
  assert.equal(types.includes('reset-step'), sdk.level === 7);
  const said = it.parts().filter(part => part.type === 'text').map(part => part.text);
  assert.deepEqual(said, sdk.level === 7 ? ['It is in Oslo.'] : ['It is in ', 'It is in Oslo.']);
});

test('what the provider executes is shown as its own, and nobody waits for it', async () => {
  const it = chat();
  const provided = { id: 's1', name: 'web_search', input: { query: 'rust' }, output: [{ url: 'https://a.example' }] };
  await it.say([{ provided }, text('found')]);
  it.ok();
  const part = it.part('s1');
  assert.deepEqual(
    [part.type, part.toolName, part.state, part.providerExecuted, part.input, part.output],
    ['dynamic-tool', 'web_search', 'output-available', true, provided.input, provided.output],
  );
  assert.equal(it.spoken(), 'found');
  assert.equal(it.log.requests.length, 1, 'nothing was sent by itself');
});

test('what is said to an answer under way is heard at the next turn', async () => {
  await reset();
  const it = chat();
  const answer = it.say([call('c1', 'slow', { ms: 60_000 })], [text('not this')]);
  await until('the tool runs', async () => (await executions('slow')) === 1);
  const message = { id: 'rather', role: 'user', parts: [{ type: 'text', text: script([text('this')]) }] };
  const steer = id => fetch(`${base}/api/chat/${id}/steer`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }),
  });
  assert.equal((await steer(it.id)).status, 202);
  await release();
  await answer;
  it.ok();
  assert.equal(it.spoken(), 'this');
  const part = it.parts().find(part => part.type === 'steering-message');
  if (sdk.level === 7) assert.deepEqual(part.parts, message.parts);
  else assert.equal(part, undefined, 'clients of version 6 do not know it');
  const late = await steer(it.id);
  assert.equal(late.status, 409);
  assert.match(await late.text(), /nothing is being answered/);
  assert.equal((await steer('another')).status, 409);
  await it.say([text('Next.')]);
  assert.equal(it.spoken(), 'Next.');
});

test('a turn that says nothing ends the answer', async () => {
  for (const calls of [[call('c1', 'getWeather', { city: 'Oslo' })], [call('c2', 'getWeather', {}), call('c3', 'explode', { message: 'x' })]]) {
    const it = chat();
    await it.say(calls, []);
    it.ok();
    assert.equal(it.log.requests.length, 1, 'nothing was sent by itself');
  }
});

test('what a client does not read is a text', async () => {
  const deep = `{"city":${'['.repeat(300)}${']'.repeat(300)}}`;
  for (const inputText of ['{"city":"x","__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}', deep]) {
    const it = chat();
    await it.say([{ call: { id: 'c1', tool: 'getWeather', inputText } }], [text('so')]);
    it.ok();
    assert.equal(it.part('c1').state, 'output-error');
    assert.equal(it.spoken(), 'so');
    await it.say([text('Next.')]);
    it.ok();
    assert.equal(it.spoken(), 'Next.');
  }
});

test('half a character is not the end of a chat', async () => {
  const it = chat();
  const half = '😀'.slice(0, 1);
  await it.sendMessage({ parts: [{ type: 'text', text: half }, { type: 'text', text: script([call('c1', 'getLocation', {})], [text('there')]) }] });
  await it.settled();
  await it.addToolOutput({ tool: 'getLocation', toolCallId: 'c1', output: { place: half } });
  await it.settled();
  it.ok();
  await it.say([text('Next.')]);
  it.ok();
  assert.equal(it.spoken(), 'Next.');
});
