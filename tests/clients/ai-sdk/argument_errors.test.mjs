// What is wrong with a call, as data for a form: beside the text, in the one place where clients of both versions keep it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, chat, echo, sdk, text } from './kit.mjs';

const feedback = part => part.resultProviderMetadata?.tool.feedback;

test('what is wrong with each argument reaches the page', async () => {
  const it = chat();
  await it.say([call('c1', 'getWeather', { city: 7, units: 'kelvin' })], [echo]);
  it.ok();
  const part = it.part('c1');
  const { ok, validationResults } = feedback(part);
  assert.equal(ok, false);
  assert.deepEqual(Object.keys(validationResults).toSorted(), ['city', 'units']);
  for (const [name, { valid, problems }] of Object.entries(validationResults)) {
    assert.equal(valid, false);
    assert.ok(problems.length > 0 && problems.every(problem => part.errorText.includes(problem)), name);
  }
  // The arguments are there for the form, too, where each version has those that were refused.
  assert.deepEqual(sdk.level === 6 ? part.rawInput : part.input, { city: 7, units: 'kelvin' });
});

test('a call that somebody would have to approve, and one that is no JSON', async () => {
  const it = chat();
  const wrong = call('c2', 'getWeather', undefined, { inputText: '{"city": "Os' });
  await it.say([call('c1', 'deleteFile', { filename: 7 }), wrong], [echo]);
  it.ok();
  assert.match(feedback(it.part('c1')).validationResults.filename.problems[0], /expected a string/);
  assert.match(feedback(it.part('c2')).problems[0], /rest of the JSON/);
});

test('it comes back with the history, and nobody minds', async () => {
  const it = chat();
  await it.say([call('c1', 'getWeather', { city: 7 })], [echo]);
  const before = structuredClone(it.part('c1'));
  await it.say([text('Next.')]);
  it.ok();
  assert.equal(it.spoken(), 'Next.');
  const sent = it.log.requests.at(-1).messages.flatMap(message => message.parts).find(part => part.toolCallId === 'c1');
  assert.deepEqual(sent.resultProviderMetadata, before.resultProviderMetadata);
  assert.deepEqual(it.part('c1'), before);
});

test('an error of the tool itself is no form', async () => {
  const it = chat();
  await it.say([call('c1', 'explode', { message: 'bang' })], [echo]);
  it.ok();
  assert.equal(feedback(it.part('c1')), undefined);
});
