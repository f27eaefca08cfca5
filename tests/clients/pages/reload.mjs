// Reloads a page at each point of a chat, with each client. The page must show the same content as before, and continue the chat.
// Without arguments it tests a tenth of all cases, selected by SEED; with `all`, every case; with words, the cases whose names
// contain these words. The last line has the counts.
import assert from 'node:assert/strict';
import { Chat, close, takePicture } from './kit.mjs';
import { clients, FINAL_TEXT, isOver, points } from './reload_points.mjs';

const seed = Number(process.env.SEED ?? 21);
const words = process.argv.slice(2);
const cases = Object.keys(points).flatMap(point => clients.map(([client, storage]) => ({ point, client, storage, name: `${client}, ${storage}: ${point}` })));

/** Returns a generator of pseudorandom numbers below 1. */
function randomNumbers(state) {
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Returns the cases that the arguments select. */
function selectCases() {
  if (words[0] === 'all') return cases;
  if (words.length) return cases.filter(({ name }) => words.every(word => name.includes(word)));
  const next = randomNumbers(seed);
  const drawn = cases.map(one => [next(), one]).toSorted(([number], [other]) => number - other);
  return drawn.slice(0, Math.ceil(cases.length / 10)).map(([, one]) => one);
}

async function testReload({ point, client, storage, name }) {
  const chat = new Chat(client, storage);
  const { turns, reach, isReached, proceed, removals } = points[point];
  const script = JSON.parse(JSON.stringify(turns).replaceAll('$', chat.gate));
  const page = await chat.openDevice();
  try {
    await chat.sendScript(page, ...script);
    await reach?.(chat, page);
    // The second reload starts from a page that was itself reloaded, and that may lack something that the first page had.
    for (const time of ['first', 'second']) {
      const before = await page.untilShown(`the point before the ${time} reload`, isReached);
      // A stateless server forgets a response when it ends. The page saves the messages a moment later, and must not reload before.
      if (storage === 'sealed' && hasEnded(before)) await page.untilIdle();
      await page.reloadPage();
      const after = await page.untilShown(`the content before the ${time} reload, ${JSON.stringify(before)}`, shown => looksSame(shown, before));
      assert.ok(isReached(after));
    }
    await takePicture(page, name.replaceAll(/[^a-z]+/g, '-'));
    await proceed?.(chat, page);
    const end = await page.untilShown('the end', shown => isOver(point, shown));
    await page.reloadPage();
    // The log does not keep the progress of a tool.
    await page.untilShown(`the end after a reload, ${JSON.stringify(end)}`, shown => looksSame({ ...shown, progress: [] }, { ...end, progress: [] }));
    if (removals !== undefined) assert.equal(await chat.countRemovals(chat.gate), removals);
    assert.equal(end.user, 1);
    assert.deepEqual(end.alerts, []);
    assert.deepEqual(page.errors, []);
  } finally {
    await chat.close();
  }
}

/** Returns true if the response on the page has ended: the page asks a person, or the model is done. */
const hasEnded = shown => shown.questions.length > 0 || shown.tasks.length > 0 || shown.assistant.at(-1) === FINAL_TEXT;

/** Returns true if a person sees no difference. A page learns the author of its own decision only when it reloads. */
const looksSame = (one, other) => withoutAuthors(one) === withoutAuthors(other);
const withoutAuthors = shown => JSON.stringify({ ...shown, calls: shown.calls.map(({ decidedBy, ...call }) => call) });

const selected = selectCases();
const failed = [];
const queue = [...selected];
const worker = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const start = Date.now();
    try {
      await testReload(next);
      console.log(`ok     ${next.name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed.push(next);
      console.log(`failed ${next.name}\n       ${error.message}`);
    }
  }
};
await Promise.all(Array.from({ length: 3 }, worker));
await close();
const selection = words.length ? words.join(' ') : `a tenth, seed ${seed}`;
console.log(`reload: ${selected.length - failed.length} of ${selected.length} selected cases passed, of ${cases.length} in total (${selection})`);
process.exit(failed.length || !selected.length ? 1 : 0);
