// A page is loaded again at each point, with each client: it shows what it showed, and goes on. Without an argument a tenth of
// all cells, chosen by SEED; with `all` every one; with words the cells that contain them. The last line has the counts.
import assert from 'node:assert/strict';
import { Chat, close, picture } from './kit.mjs';
import { isOver, over, points, ways } from './reload_points.mjs';

const seed = Number(process.env.SEED ?? 21);
const words = process.argv.slice(2);
const cells = Object.keys(points).flatMap(point => ways.map(([way, kind]) => ({ point, way, kind, name: `${way}, ${kind}: ${point}` })));

/** A generator of numbers below 1, always the same for a seed. */
function numbers(state) {
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function chosen() {
  if (words[0] === 'all') return cells;
  if (words.length) return cells.filter(({ name }) => words.every(word => name.includes(word)));
  const next = numbers(seed);
  const drawn = cells.map(cell => [next(), cell]).toSorted(([one], [other]) => one - other);
  return drawn.slice(0, Math.ceil(cells.length / 10)).map(([, cell]) => cell);
}

async function test({ point, way, kind, name }) {
  const chat = new Chat(way, kind);
  const { turns, reach, is, go, removes } = points[point];
  const script = JSON.parse(JSON.stringify(turns).replaceAll('$', chat.gate));
  const page = await chat.open();
  try {
    await chat.script(page, ...script);
    await reach?.(chat, page);
    // Twice, because a page that was loaded once may have something that the next has not.
    for (const time of ['first', 'second']) {
      const before = await page.until(`the point, ${time}`, is);
      // A server without a store forgets an answer when it ends. The page keeps it a moment later, and nobody has it in between.
      if (kind === 'sealed' && hasEnded(before)) await page.rested();
      await page.again();
      const after = await page.until(`what was shown before the ${time} reload, ${JSON.stringify(before)}`, shown => same(shown, before));
      assert.ok(is(after));
    }
    await picture(page, name.replaceAll(/[^a-z]+/g, '-'));
    await go?.(chat, page);
    const end = await page.until('the end', shown => isOver(point, shown));
    await page.again();
    // How far a tool had come is not in the log, and of no interest any more.
    await page.until(`the end again, ${JSON.stringify(end)}`, shown => same({ ...shown, progress: [] }, { ...end, progress: [] }));
    if (removes !== undefined) assert.equal(await chat.removed(chat.gate), removes);
    assert.equal(end.user, 1);
    assert.deepEqual(end.alerts, []);
    assert.deepEqual(page.complaints, []);
  } finally {
    await chat.end();
  }
}

/** Whether the answer that is shown has ended, because a person is asked or the model is done. */
const hasEnded = shown => shown.asked.length > 0 || shown.tasks.length > 0 || shown.assistant.at(-1) === over;

/** Whether a person sees the same. A page does not learn the author of its own decision, and knows it only when it is loaded again. */
const same = (one, other) => seen(one) === seen(other);
const seen = shown => JSON.stringify({ ...shown, calls: shown.calls.map(({ by, ...call }) => call) });

const list = chosen();
const failed = [];
const queue = [...list];
const worker = async () => {
  for (let cell = queue.shift(); cell; cell = queue.shift()) {
    const since = Date.now();
    try {
      await test(cell);
      console.log(`ok     ${cell.name} (${Date.now() - since} ms)`);
    } catch (error) {
      failed.push(cell);
      console.log(`failed ${cell.name}\n       ${error.message}`);
    }
  }
};
await Promise.all(Array.from({ length: 3 }, worker));
await close();
const which = words.length ? words.join(' ') : `a tenth, seed ${seed}`;
console.log(`reload: ${list.length - failed.length} of ${list.length} cells passed, of ${cells.length} that there are (${which})`);
process.exit(failed.length || !list.length ? 1 : 0);
