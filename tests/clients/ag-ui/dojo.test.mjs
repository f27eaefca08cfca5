// The features of AG-UI's dojo that are about tools, as its pages use them, against the example `dojo`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../server.mjs';
import { answer, chat, isV1, stateless, tool } from './kit.mjs';

// What it says is its own rules', whatever keys this machine has.
for (const name of Object.keys(process.env)) if (/_API_KEY$/.test(name)) delete process.env[name];
const base = stateless ? undefined : await startServer(process.env.DOJO);
const feature = (path, ...rest) => (stateless ? test.skip : test)(path, ...rest);
const page = (path, options = {}) => chat({ url: `${base}/${path}`, ...options });

const strings = { type: 'array', items: { type: 'string' } };
const background = tool('change_background', {
  type: 'object', properties: { background: { type: 'string', description: 'Any CSS background.' } }, required: ['background'],
});
const haiku = tool('generate_haiku', {
  type: 'object',
  properties: { japanese: strings, english: strings, image_name: { type: 'string' }, gradient: { type: 'string' } },
  required: ['japanese', 'english', 'image_name', 'gradient'],
});
const steps = tool('generate_task_steps', {
  type: 'object',
  properties: {
    steps: {
      type: 'array',
      items: {
        type: 'object',
        properties: { description: { type: 'string' }, status: { type: 'string', enum: ['enabled', 'disabled', 'executing'] } },
        required: ['description', 'status'],
      },
    },
  },
  required: ['steps'],
});

/** A run in which the page is to execute one call. */
async function handedOut(agent, said, tools) {
  const { calls, outcome, frames } = await agent.go(said, { tools });
  assert.equal(calls.length, 1);
  assert.equal(calls[0].name, tools[0].name);
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [calls[0].id]);
  assert.ok(!frames.some(frame => frame.type === 'CUSTOM'), 'its arguments fit the schema of the page');
  return { call: calls[0], input: JSON.parse(calls[0].arguments) };
}

feature('agentic_chat', async () => {
  const agent = page('agentic_chat');
  const tools = [background];
  assert.match((await agent.go('Hi, I am duaa', { tools })).text, /Hello/);
  const { call, input } = await handedOut(agent, 'Make the background blue', tools);
  assert.deepEqual(input, { background: 'blue' });
  const { text, calls } = await agent.go(answer(call.id, 'Background changed'), { tools });
  assert.ok(text.length > 0);
  assert.deepEqual(calls, []);
});

feature('backend_tool_rendering', async () => {
  const agent = page('backend_tool_rendering');
  const { calls, text, outcome } = await agent.go('What is the weather in San Francisco?');
  assert.deepEqual(calls.map(call => [call.name, JSON.parse(call.arguments)]), [['get_weather', { location: 'San Francisco' }]]);
  const card = JSON.parse(calls[0].result);
  assert.equal(card.city, 'San Francisco');
  for (const name of ['temperature', 'humidity', 'windSpeed', 'feelsLike']) assert.equal(typeof card[name], 'number', name);
  assert.ok(text.includes(card.conditions) && text.includes(`${card.temperature}`), text);
  assert.equal(outcome.type, 'success');
  const kept = agent.messages.find(message => message.role === 'tool');
  assert.deepEqual([kept.toolCallId, JSON.parse(kept.content)], [calls[0].id, card]);
});

feature('human_in_the_loop', async () => {
  const agent = page('human_in_the_loop');
  const tools = [steps];
  const { call, input } = await handedOut(agent, 'Go to Mars.', tools);
  assert.equal(input.steps.length, 5);
  assert.ok(input.steps.every(step => step.description && step.status === 'enabled'));
  assert.ok(call.deltas > 1, 'the steps arrive one by one');
  const chosen = input.steps.slice(0, 2).map(step => step.description);
  const { text } = await agent.go(answer(call.id, `The user selected: ${chosen.join(', ')}`), { tools });
  assert.ok(chosen.every(step => text.includes(step)), text);
});

feature('tool_based_generative_ui', async () => {
  const agent = page('tool_based_generative_ui');
  const tools = [haiku];
  const { call, input } = await handedOut(agent, 'Generate a haiku about frogs', tools);
  assert.deepEqual([input.japanese.length, input.english.length], [3, 3]);
  assert.match(input.gradient, /gradient/);
  assert.ok((await agent.go(answer(call.id, 'Haiku generated!'), { tools })).text.length > 0);
});

feature('shared_state', async () => {
  const recipe = { title: '', skill_level: 'Advanced', cooking_time: '5 min', special_preferences: ['Vegan'], ingredients: [], instructions: [] };
  const agent = page('shared_state', { initialState: { recipe } });
  const written = await agent.go('A recipe for soup, please');
  assert.equal(written.frames.filter(frame => frame.type === 'STATE_SNAPSHOT').length, 1);
  assert.equal(agent.state.recipe.title, 'Tomato soup');
  assert.equal(agent.state.recipe.skill_level, 'Advanced', 'what the tool does not write stays');
  const before = structuredClone(agent.state.recipe);
  // What the person changes on the page is what the tools find there.
  agent.setState({ recipe: { ...before, title: 'My soup' } });
  const added = await agent.go('Add salt');
  const deltas = added.frames.filter(frame => frame.type === 'STATE_DELTA');
  assert.equal(deltas.length, 1);
  assert.deepEqual(deltas[0].delta.map(change => [change.op, change.path]), [['add', `/recipe/ingredients/${before.ingredients.length}`]]);
  assert.equal(agent.state.recipe.title, 'My soup');
  assert.deepEqual(agent.state.recipe.ingredients.map(({ name }) => name), ['Tomatoes', 'Onion', 'salt']);
});

feature('a page of another feature has other tools', async () => {
  const { calls, text } = await page('agentic_chat').go('What is the weather in Oslo?');
  assert.deepEqual(calls, []);
  assert.match(text, /Hello/);
});
