// Prints the seconds of CPU that `parsePartialJson` takes for a text in pieces. `ai` calls it in this way for tool inputs.
//
//   node ai.mjs FOLDER-WITH-NODE_MODULES FILE LENGTH-OF-A-PIECE
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, file, length] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${resolve(folder)}/`));
const { parsePartialJson } = await import(pathToFileURL(require.resolve('ai')));

const text = readFileSync(file, 'utf8');
const start = process.cpuUsage();
let sofar = '';
let view;
for (let at = 0; at < text.length; at += Number(length)) {
  sofar += text.slice(at, at + Number(length));
  view = (await parsePartialJson(sofar)).value;
}
const { user, system } = process.cpuUsage(start);
if (JSON.stringify(view) !== JSON.stringify(JSON.parse(text))) throw new Error('the last view is not the value');
console.log((user + system) / 1e6);
