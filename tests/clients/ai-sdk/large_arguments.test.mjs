// A megabyte of arguments in pieces of 20 characters costs an unmodified client about one second of CPU.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base, call, script, sdk, stateless, text } from './kit.mjs';

/** Returns the CPU time of this process, in seconds. */
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Returns the seconds of CPU that a client takes to receive a call with `size` characters of arguments. */
async function measure(size) {
  const city = 'Lorem ipsum "dolor"\n'.repeat(size / 20);
  const transport = new sdk.DefaultChatTransport({ api: base + sdk.endpoint });
  const errors = [];
  const chat = new sdk.Chat({ transport, onError: error => errors.push(error) });
  const before = cpuSeconds();
  await chat.sendMessage({ text: script([call('c1', 'getWeather', { city }, { chunk: 20 })], [text('done')]) });
  const took = cpuSeconds() - before;
  assert.deepEqual([chat.status, errors], ['ready', []]);
  const part = chat.messages.at(-1).parts.find(part => part.toolCallId === 'c1');
  assert.equal(part.state, 'output-available');
  assert.equal(part.input.city, city);
  return took;
}

test('the cost of large arguments is not quadratic', { skip: stateless, timeout: 120_000 }, async context => {
  await measure(20_000);
  const small = await measure(100_000);
  const large = await measure(1_000_000);
  context.diagnostic(`100 KB ${small.toFixed(2)} s, 1 MB ${large.toFixed(2)} s of CPU`);
  // If the client parsed all arguments again with each piece, it would take ten minutes. It takes about one second on an idle machine.
  assert.ok(large < 15, `1 MB of arguments took ${large} s`);
});
