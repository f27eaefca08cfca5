// A rejected call has its problems as data for a form, in `resultProviderMetadata`. Clients of both versions keep that field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, createChat, echo, sdk, text } from './kit.mjs';

/** Returns the tool's feedback in a part. */
const feedback = part => part.resultProviderMetadata?.tool.feedback;

test('the client receives the problems of each argument', async () => {
  const chat = createChat();
  await chat.sendScript([call('c1', 'getWeather', { city: 7, units: 'kelvin' })], [echo]);
  chat.assertOk();
  const part = chat.part('c1');
  const { ok, validationResults } = feedback(part);
  assert.equal(ok, false);
  assert.deepEqual(Object.keys(validationResults).toSorted(), ['city', 'units']);
  for (const [name, { valid, problems }] of Object.entries(validationResults)) {
    assert.equal(valid, false);
    assert.ok(problems.length > 0 && problems.every(problem => part.errorText.includes(problem)), name);
  }
  // The form needs the rejected arguments, too. Each version keeps them in another field.
  assert.deepEqual(sdk.version === 6 ? part.rawInput : part.input, { city: 7, units: 'kelvin' });
});

test('the client receives the problems of a call that needs approval, and of invalid JSON', async () => {
  const chat = createChat();
  const invalidJson = call('c2', 'getWeather', undefined, { inputText: '{"city": "Os' });
  await chat.sendScript([call('c1', 'deleteFile', { filename: 7 }), invalidJson], [echo]);
  chat.assertOk();
  assert.match(feedback(chat.part('c1')).validationResults.filename.problems[0], /expected a string/);
  assert.match(feedback(chat.part('c2')).problems[0], /rest of the JSON/);
});

test('the server accepts the problems in the history of the next request', async () => {
  const chat = createChat();
  await chat.sendScript([call('c1', 'getWeather', { city: 7 })], [echo]);
  const before = structuredClone(chat.part('c1'));
  await chat.sendScript([text('Next.')]);
  chat.assertOk();
  assert.equal(chat.lastText(), 'Next.');
  const sent = chat.log.requests.at(-1).messages.flatMap(message => message.parts).find(part => part.toolCallId === 'c1');
  assert.deepEqual(sent.resultProviderMetadata, before.resultProviderMetadata);
  assert.deepEqual(chat.part('c1'), before);
});

test('an error of the tool itself has no problems', async () => {
  const chat = createChat();
  await chat.sendScript([call('c1', 'explode', { message: 'bang' })], [echo]);
  chat.assertOk();
  assert.equal(feedback(chat.part('c1')), undefined);
});
