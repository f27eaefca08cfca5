// The shutdown of a server with a running response.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { assertLegal, call, parseChunks, script, sdk, text, until, user } from './kit.mjs';

test('the server ends running responses and exits after SIGINT', async () => {
  const server = spawn(process.env.ACCEPTANCE_SERVER, ['--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise(resolve => server.on('exit', (code, signal) => resolve([code, signal])));
  let stdout = '';
  server.stdout.on('data', data => (stdout += data));
  const base = (await until('the server listens', () => stdout.match(/listening on (\S+)/)))[1];
  const post = body =>
    fetch(base + sdk.endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const counters = async () => (await fetch(`${base}/probe/counters`)).json();
  const response = await post({ id: 'x', messages: [user(script([text('before'), call('c1', 'slow', { ms: 60_000 })]))] });
  await until('the tool runs', async () => (await counters()).executions.slow === 1);
  server.kill('SIGINT');
  const all = await parseChunks(await response.text());
  assertLegal(all);
  assert.equal(all.find(chunk => chunk.type === 'text-delta').delta, 'before');
  assert.equal(all.at(-1).type, 'finish');
  assert.deepEqual(await exited, [0, null]);
});
