// What a megabyte of a call's arguments, in pieces of 20 characters, costs an unmodified client: about a second of its CPU.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base, call, script, sdk, stateless, text } from './kit.mjs';

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** The seconds of CPU that a chat takes for a call with so many characters of arguments, and how many views of them it had. */
async function measured(size) {
  const city = 'Lorem ipsum "dolor"\n'.repeat(size / 20);
  const transport = new sdk.DefaultChatTransport({ api: base + sdk.endpoint });
  const errors = [];
  const it = new sdk.Chat({ transport, onError: error => errors.push(error) });
  const before = cpu();
  await it.sendMessage({ text: script([call('c1', 'getWeather', { city }, { chunk: 20 })], [text('done')]) });
  const took = cpu() - before;
  assert.deepEqual([it.status, errors], ['ready', []]);
  const part = it.messages.at(-1).parts.find(part => part.toolCallId === 'c1');
  assert.equal(part.state, 'output-available');
  assert.equal(part.input.city, city);
  return took;
}

test('a megabyte of arguments does not cost the square of it', { skip: stateless, timeout: 120_000 }, async context => {
  await measured(20_000);
  const small = await measured(100_000);
  const large = await measured(1_000_000);
  context.diagnostic(`100 KB ${small.toFixed(2)} s, 1 MB ${large.toFixed(2)} s of CPU`);
  // Read anew with each piece it takes ten minutes. On a quiet machine it is about one second.
  assert.ok(large < 15, `${large} s`);
});
