// The points of a chat at which a page reloads, and the actions that end the chat from there.
import { call } from './kit.mjs';

const lastCall = shown => shown.calls.at(-1);
/** The text with which the model ends every script but the first. */
export const FINAL_TEXT = 'All is well that ends.';

/**
 * `turns` is the script; in it, `$` stands for the chat's gate. `reach` leads to the point, where `isReached` holds.
 * `proceed` leads to the end of the chat, where `isDone` holds. `removals` is the expected number of removals of the item `$`.
 */
export const points = {
  'in the middle of a text': {
    turns: [['Once upon ', null, 'a time.']],
    isReached: shown => /^Once upon/.test(shown.assistant.at(-1)) && !/time/.test(shown.assistant.at(-1)),
    proceed: chat => chat.openGate(),
    isDone: shown => /^Once upon a time\.$/.test(shown.assistant.at(-1)),
  },
  'in the middle of arguments': {
    turns: [['Look: ', call('weather', {}, '{"city":"Os', null, 'lo"}')], [FINAL_TEXT]],
    isReached: shown => shown.assistant.length === 1 && /Os/.test(lastCall(shown)?.input) && !/Oslo/.test(lastCall(shown).input),
    proceed: chat => chat.openGate(),
    isDone: shown => /Oslo/.test(lastCall(shown)?.input) && /21/.test(lastCall(shown).output),
  },
  'while a tool runs': {
    turns: [[call('work', { gate: '$' })], [FINAL_TEXT]],
    isReached: shown => lastCall(shown)?.tool === 'work' && /\$/.test(lastCall(shown).input.replace(/g[0-9a-f]{8}/, '$')) && !lastCall(shown).output,
    proceed: chat => chat.openGate(),
    isDone: shown => /worked/.test(lastCall(shown).output),
  },
  'in the middle of progress': {
    turns: [[call('count', { gate: '$' })], [FINAL_TEXT]],
    isReached: shown => /"counted":2/.test(lastCall(shown)?.output + shown.progress),
    proceed: chat => chat.openGate(),
    isDone: shown => /"counted":3/.test(lastCall(shown).output),
  },
  'at an approval, then approved': {
    turns: [[call('remove', { what: '$' })], [FINAL_TEXT]],
    isReached: shown => /^Remove /.test(shown.questions[0]) && lastCall(shown)?.tool === 'remove',
    proceed: (_, page) => page.clickButton('Approve'),
    isDone: shown => /"removed"/.test(lastCall(shown).output),
    removals: 1,
  },
  'at an approval, then denied': {
    turns: [[call('remove', { what: '$' })], [FINAL_TEXT]],
    isReached: shown => /^Remove /.test(shown.questions[0]) && lastCall(shown)?.tool === 'remove',
    proceed: (_, page) => page.clickButton('Deny'),
    isDone: shown => shown.questions.length === 0 && /denied/.test(lastCall(shown).state + lastCall(shown).output),
    removals: 0,
  },
  'at two approvals': {
    turns: [[call('remove', { what: '$' }), call('remove', { what: 'other' })], [FINAL_TEXT]],
    isReached: shown => shown.questions.length === 2 && shown.calls.length === 2,
    proceed: async (_, page) => {
      await page.clickButton('Approve');
      await page.getByRole('button', { name: 'Deny', exact: true }).last().click();
    },
    isDone: shown => shown.questions.length === 0 && /"removed"/.test(shown.calls[0].output) && /denied/.test(lastCall(shown).state + lastCall(shown).output),
    removals: 1,
  },
  'while an approved call runs': {
    turns: [[call('remove', { what: '$', gate: '$' })], [FINAL_TEXT]],
    reach: (_, page) => page.clickButton('Approve'),
    isReached: shown => shown.questions.length === 0 && lastCall(shown)?.tool === 'remove' && !/"removed"/.test(lastCall(shown).output),
    proceed: chat => chat.openGate(),
    isDone: shown => /"removed"/.test(lastCall(shown).output),
    removals: 1,
  },
  'at a question': {
    turns: [[call('greet')], [FINAL_TEXT]],
    isReached: shown => shown.questions[0] === 'What is your name?',
    proceed: async (_, page) => {
      await page.answerQuestion('Anna');
      await page.untilShown('the second question', shown => shown.questions[0] === 'Greet Anna?');
      await page.clickButton('Approve');
    },
    isDone: shown => /Hello, Anna!/.test(lastCall(shown).output),
  },
  'at the second question of a call': {
    turns: [[call('greet')], [FINAL_TEXT]],
    reach: (_, page) => page.answerQuestion('Anna'),
    isReached: shown => shown.questions[0] === 'Greet Anna?',
    proceed: (_, page) => page.clickButton('Approve'),
    isDone: shown => /Hello, Anna!/.test(lastCall(shown).output),
  },
  'at a call that the page executes': {
    turns: [[call('locate')], [FINAL_TEXT]],
    isReached: shown => shown.tasks[0] === 'locate',
    proceed: (_, page) => page.clickButton('Finish locate'),
    isDone: shown => shown.tasks.length === 0 && /here/.test(lastCall(shown).output),
  },
  'at an approval of a call that the page executes': {
    turns: [[call('share', { window: 'left' })], [FINAL_TEXT]],
    isReached: shown => shown.questions.length === 1,
    proceed: async (_, page) => {
      await page.clickButton('Approve');
      await page.clickButton('Finish share');
    },
    isDone: shown => shown.tasks.length === 0 && /here/.test(lastCall(shown).output),
  },
  'at an output': {
    turns: [[call('weather', { city: 'Rome' })], [FINAL_TEXT]],
    isReached: shown => /21/.test(lastCall(shown)?.output) && shown.assistant.at(-1) === FINAL_TEXT,
    isDone: () => true,
  },
  'at an error': {
    turns: [[call('breaks', { why: 'rust' })], [FINAL_TEXT]],
    isReached: shown => /it broke: rust/.test(lastCall(shown)?.output) && shown.assistant.at(-1) === FINAL_TEXT,
    isDone: () => true,
  },
  'at a denial': {
    turns: [[call('remove', { what: '$' })], [FINAL_TEXT]],
    reach: (_, page) => page.clickButton('Deny'),
    isReached: shown => shown.questions.length === 0 && shown.assistant.at(-1) === FINAL_TEXT,
    isDone: shown => /denied/.test(lastCall(shown).state + lastCall(shown).output),
    removals: 0,
  },
};

/** The clients, each with the kinds of storage that it supports. CopilotKit's server runner needs a store. */
export const clients = [
  ['ai-sdk', 'store'],
  ['ai-sdk', 'sealed'],
  ['ag-ui', 'store'],
  ['ag-ui', 'sealed'],
  ['copilotkit-memory', 'store'],
  ['copilotkit-memory', 'sealed'],
  ['copilotkit-server', 'store'],
];

/** Returns true if the page shows the end of a point's chat. */
export const isOver = (name, shown) =>
  points[name].isDone(shown) && (name === 'in the middle of a text' || shown.assistant.at(-1) === FINAL_TEXT);
