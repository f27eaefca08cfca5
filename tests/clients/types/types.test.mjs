// Compiles uses of the types of all example tools: the compiler accepts each right use, and reports an error for each wrong one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const here = new URL('.', import.meta.url).pathname;
/** Runs the TypeScript compiler on a project file. */
const tsc = project =>
  spawnSync(`${here}../../../examples/frontend/node_modules/.bin/tsc`, ['--pretty', 'false', '-p', project], {
    cwd: here,
    encoding: 'utf8',
  });
const read = file => readFileSync(here + file, 'utf8');

test('the types of all tools compile, and satisfy the AI SDK', () => {
  const { status, stdout } = tsc('tsconfig.json');
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test('right.ts uses every generated module', () => {
  const modules = readdirSync(`${here}generated`).map(file => file.replace(/\.ts$/, ''));
  assert.ok(modules.length >= 10, `${modules}`);
  for (const module of modules) assert.ok(read('right.ts').includes(`'./generated/${module}'`), `right.ts does not import ${module}`);
});

test('the compiler reports an error on every line marked as wrong, and on no other', () => {
  const { status, stdout } = tsc('tsconfig.wrong.json');
  assert.notEqual(status, 0);
  const found = [...stdout.matchAll(/^wrong\.ts\((\d+),\d+\): error TS\d+/gm)].map(([, line]) => Number(line));
  const lines = read('wrong.ts').split('\n');
  const marked = lines.flatMap((line, at) => (line.includes('// wrong:') ? [at + 1] : []));
  assert.ok(marked.length > 10);
  assert.deepEqual([...new Set(found)].toSorted((a, b) => a - b), marked, stdout);
});
