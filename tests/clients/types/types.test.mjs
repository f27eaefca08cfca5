// What the real compiler says about the types of all example tools: right uses compile, and each wrong one is an error.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const here = new URL('.', import.meta.url).pathname;
const tsc = project =>
  spawnSync(`${here}../../../examples/frontend/node_modules/.bin/tsc`, ['--pretty', 'false', '-p', project], {
    cwd: here,
    encoding: 'utf8',
  });
const text = file => readFileSync(here + file, 'utf8');

test('the types of all tools compile, and are what the AI SDK wants', () => {
  const { status, stdout } = tsc('tsconfig.json');
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test('no module is left out', () => {
  const modules = readdirSync(`${here}generated`).map(file => file.replace(/\.ts$/, ''));
  assert.ok(modules.length >= 10, `${modules}`);
  for (const module of modules) assert.ok(text('right.ts').includes(`'./generated/${module}'`), `right.ts has no ${module}`);
});

test('a wrong use is an error where it stands, and nothing else is', () => {
  const { status, stdout } = tsc('tsconfig.wrong.json');
  assert.notEqual(status, 0);
  const found = [...stdout.matchAll(/^wrong\.ts\((\d+),\d+\): error TS\d+/gm)].map(([, line]) => Number(line));
  const lines = text('wrong.ts').split('\n');
  const marked = lines.flatMap((line, at) => (line.includes('// wrong:') ? [at + 1] : []));
  assert.ok(marked.length > 10);
  assert.deepEqual([...new Set(found)].toSorted((a, b) => a - b), marked, stdout);
});
