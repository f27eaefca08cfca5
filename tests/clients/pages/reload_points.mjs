// The points at which a page is loaded again, and how its conversation goes on.
import { call } from './kit.mjs';

const last = shown => shown.calls.at(-1);
export const over = 'All is well that ends.';

/** `reach` leads to the point, where `is` holds. `go` leads on to the end, where `done` holds. */
export const points = {
  'in the middle of a text': {
    turns: [['Once upon ', null, 'a time.']],
    is: shown => /^Once upon/.test(shown.assistant.at(-1)) && !/time/.test(shown.assistant.at(-1)),
    go: chat => chat.go(),
    done: shown => /^Once upon a time\.$/.test(shown.assistant.at(-1)),
  },
  'in the middle of arguments': {
    turns: [['Look: ', call('weather', {}, '{"city":"Os', null, 'lo"}')], [over]],
    is: shown => shown.assistant.length === 1 && /Os/.test(last(shown)?.input) && !/Oslo/.test(last(shown).input),
    go: chat => chat.go(),
    done: shown => /Oslo/.test(last(shown)?.input) && /21/.test(last(shown).output),
  },
  'while a tool runs': {
    turns: [[call('work', { gate: '$' })], [over]],
    is: shown => last(shown)?.tool === 'work' && /\$/.test(last(shown).input.replace(/g[0-9a-f]{8}/, '$')) && !last(shown).output,
    go: chat => chat.go(),
    done: shown => /worked/.test(last(shown).output),
  },
  'in the middle of progress': {
    turns: [[call('count', { gate: '$' })], [over]],
    is: shown => /"counted":2/.test(last(shown)?.output + shown.progress),
    go: chat => chat.go(),
    done: shown => /"counted":3/.test(last(shown).output),
  },
  'at an approval, then approved': {
    turns: [[call('remove', { what: '$' })], [over]],
    is: shown => /^Remove /.test(shown.asked[0]) && last(shown)?.tool === 'remove',
    go: (_, page) => page.press('Approve'),
    done: shown => /"removed"/.test(last(shown).output),
    removes: 1,
  },
  'at an approval, then denied': {
    turns: [[call('remove', { what: '$' })], [over]],
    is: shown => /^Remove /.test(shown.asked[0]) && last(shown)?.tool === 'remove',
    go: (_, page) => page.press('Deny'),
    done: shown => shown.asked.length === 0 && /denied/.test(last(shown).state + last(shown).output),
    removes: 0,
  },
  'at two approvals': {
    turns: [[call('remove', { what: '$' }), call('remove', { what: 'other' })], [over]],
    is: shown => shown.asked.length === 2 && shown.calls.length === 2,
    go: async (_, page) => {
      await page.press('Approve');
      await page.getByRole('button', { name: 'Deny', exact: true }).last().click();
    },
    done: shown => shown.asked.length === 0 && /"removed"/.test(shown.calls[0].output) && /denied/.test(last(shown).state + last(shown).output),
    removes: 1,
  },
  'while an approved call runs': {
    turns: [[call('remove', { what: '$', gate: '$' })], [over]],
    reach: (_, page) => page.press('Approve'),
    is: shown => shown.asked.length === 0 && last(shown)?.tool === 'remove' && !/"removed"/.test(last(shown).output),
    go: chat => chat.go(),
    done: shown => /"removed"/.test(last(shown).output),
    removes: 1,
  },
  'at a question': {
    turns: [[call('greet')], [over]],
    is: shown => shown.asked[0] === 'What is your name?',
    go: async (_, page) => {
      await page.answer('Anna');
      await page.until('the second question', shown => shown.asked[0] === 'Greet Anna?');
      await page.press('Approve');
    },
    done: shown => /Hello, Anna!/.test(last(shown).output),
  },
  'at a question inside of a call': {
    turns: [[call('greet')], [over]],
    reach: (_, page) => page.answer('Anna'),
    is: shown => shown.asked[0] === 'Greet Anna?',
    go: (_, page) => page.press('Approve'),
    done: shown => /Hello, Anna!/.test(last(shown).output),
  },
  'at a call of the page': {
    turns: [[call('locate')], [over]],
    is: shown => shown.tasks[0] === 'locate',
    go: (_, page) => page.press('Finish locate'),
    done: shown => shown.tasks.length === 0 && /here/.test(last(shown).output),
  },
  'at a call of the page that needs an approval': {
    turns: [[call('share', { window: 'left' })], [over]],
    is: shown => shown.asked.length === 1,
    go: async (_, page) => {
      await page.press('Approve');
      await page.press('Finish share');
    },
    done: shown => shown.tasks.length === 0 && /here/.test(last(shown).output),
  },
  'at an output': {
    turns: [[call('weather', { city: 'Rome' })], [over]],
    is: shown => /21/.test(last(shown)?.output) && shown.assistant.at(-1) === over,
    done: () => true,
  },
  'at an error': {
    turns: [[call('breaks', { why: 'rust' })], [over]],
    is: shown => /it broke: rust/.test(last(shown)?.output) && shown.assistant.at(-1) === over,
    done: () => true,
  },
  'at a denial': {
    turns: [[call('remove', { what: '$' })], [over]],
    reach: (_, page) => page.press('Deny'),
    is: shown => shown.asked.length === 0 && shown.assistant.at(-1) === over,
    done: shown => /denied/.test(last(shown).state + last(shown).output),
    removes: 0,
  },
};

/** The clients, and the servers that they are tested with. CopilotKit's own memory needs no store; the other ways do. */
export const ways = [
  ['ai-sdk', 'store'],
  ['ai-sdk', 'sealed'],
  ['ag-ui', 'store'],
  ['ag-ui', 'sealed'],
  ['memory', 'store'],
  ['memory', 'sealed'],
  ['server', 'store'],
];

/** Whether the conversation of a point has ended. Every script but the first ends with the same text. */
export const isOver = (name, shown) =>
  points[name].done(shown) && (name === 'in the middle of a text' || shown.assistant.at(-1) === over);
