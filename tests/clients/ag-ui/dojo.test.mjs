// Sends the requests of AG-UI's dojo pages to the example `dojo`, for the features that use tools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../server.mjs';
import { createAgent, isV1, stateless, tool, toolResult } from './kit.mjs';

// Without API keys the example uses its rule-based model.
for (const name of Object.keys(process.env)) if (/_API_KEY$/.test(name)) delete process.env[name];
const base = stateless ? undefined : await startServer(process.env.DOJO, '--port', '0');
const testFeature = (name, ...rest) => (stateless ? test.skip : test)(name, ...rest);
/** Creates the agent of a dojo page. */
const createPageAgent = (path, options = {}) => createAgent({ url: `${base}/${path}`, ...options });

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

/** Runs the agent, and asserts that the page has to execute one call. Returns the call and its arguments. */
async function expectClientCall(agent, prompt, tools) {
  const { calls, outcome, frames } = await agent.runChecked(prompt, { tools });
  assert.equal(calls.length, 1);
  assert.equal(calls[0].name, tools[0].name);
  if (isV1) assert.deepEqual(outcome.pendingToolCallIds, [calls[0].id]);
  assert.ok(!frames.some(frame => frame.name === 'tool_arguments'), 'the arguments conform to the schema of the page');
  return { call: calls[0], input: JSON.parse(calls[0].arguments) };
}

testFeature('agentic_chat: the page changes its background', async () => {
  const agent = createPageAgent('agentic_chat');
  const tools = [background];
  assert.match((await agent.runChecked('Hi, I am duaa', { tools })).text, /Hello/);
  const { call, input } = await expectClientCall(agent, 'Make the background blue', tools);
  assert.deepEqual(input, { background: 'blue' });
  const { text, calls } = await agent.runChecked(toolResult(call.id, 'Background changed'), { tools });
  assert.ok(text.length > 0);
  assert.deepEqual(calls, []);
});

testFeature('backend_tool_rendering: the page receives the result of a server tool', async () => {
  const agent = createPageAgent('backend_tool_rendering');
  const { calls, text, outcome } = await agent.runChecked('What is the weather in San Francisco?');
  assert.deepEqual(calls.map(call => [call.name, JSON.parse(call.arguments)]), [['get_weather', { location: 'San Francisco' }]]);
  const card = JSON.parse(calls[0].result);
  assert.equal(card.city, 'San Francisco');
  for (const name of ['temperature', 'humidity', 'windSpeed', 'feelsLike']) assert.equal(typeof card[name], 'number', name);
  assert.ok(text.includes(card.conditions) && text.includes(`${card.temperature}`), text);
  assert.equal(outcome.type, 'success');
  const toolMessage = agent.messages.find(message => message.role === 'tool');
  assert.deepEqual([toolMessage.toolCallId, JSON.parse(toolMessage.content)], [calls[0].id, card]);
});

testFeature('human_in_the_loop: the person selects steps of a plan', async () => {
  const agent = createPageAgent('human_in_the_loop');
  const tools = [steps];
  const { call, input } = await expectClientCall(agent, 'Go to Mars.', tools);
  assert.equal(input.steps.length, 5);
  assert.ok(input.steps.every(step => step.description && step.status === 'enabled'));
  assert.ok(call.deltas > 1, 'the arguments arrive in pieces');
  const chosen = input.steps.slice(0, 2).map(step => step.description);
  const { text } = await agent.runChecked(toolResult(call.id, `The user selected: ${chosen.join(', ')}`), { tools });
  assert.ok(chosen.every(step => text.includes(step)), text);
});

testFeature('tool_based_generative_ui: the page receives a haiku as arguments', async () => {
  const agent = createPageAgent('tool_based_generative_ui');
  const tools = [haiku];
  const { call, input } = await expectClientCall(agent, 'Generate a haiku about frogs', tools);
  assert.deepEqual([input.japanese.length, input.english.length], [3, 3]);
  assert.match(input.gradient, /gradient/);
  assert.ok((await agent.runChecked(toolResult(call.id, 'Haiku generated!'), { tools })).text.length > 0);
});

testFeature('shared_state: a tool writes the recipe, and the page edits it', async () => {
  const recipe = { title: '', skill_level: 'Advanced', cooking_time: '5 min', special_preferences: ['Vegan'], ingredients: [], instructions: [] };
  const agent = createPageAgent('shared_state', { initialState: { recipe } });
  const written = await agent.runChecked('A recipe for soup, please');
  assert.equal(written.frames.filter(frame => frame.type === 'STATE_SNAPSHOT').length, 1);
  assert.equal(agent.state.recipe.title, 'Tomato soup');
  assert.equal(agent.state.recipe.skill_level, 'Advanced', 'the tool changes no other fields');
  const before = structuredClone(agent.state.recipe);
  // The person edits the state on the page. The next run's tools read the edited state.
  agent.setState({ recipe: { ...before, title: 'My soup' } });
  const added = await agent.runChecked('Add salt');
  const deltas = added.frames.filter(frame => frame.type === 'STATE_DELTA');
  assert.equal(deltas.length, 1);
  assert.deepEqual(deltas[0].delta.map(change => [change.op, change.path]), [['add', `/recipe/ingredients/${before.ingredients.length}`]]);
  assert.equal(agent.state.recipe.title, 'My soup');
  assert.deepEqual(agent.state.recipe.ingredients.map(({ name }) => name), ['Tomatoes', 'Onion', 'salt']);
});

testFeature('a page has only the tools of its own feature', async () => {
  const { calls, text } = await createPageAgent('agentic_chat').runChecked('What is the weather in Oslo?');
  assert.deepEqual(calls, []);
  assert.match(text, /Hello/);
});
