// Prints what a model of the AI SDK receives for each wrong call on standard input.
import { readFileSync } from 'node:fs';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { declare } from './tools.mjs';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
let ran = null;
const tools = declare(async (input) => {
  ran = input;
  return 'done';
});

for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  const { id, tool, sent } = JSON.parse(line);
  const call = { type: 'tool-call', toolCallId: 'call_1', toolName: tool, input: JSON.stringify(sent) };
  const turns = [
    { content: [call], finishReason: { unified: 'tool-calls' } },
    { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' } },
  ];
  const model = new MockLanguageModelV4({ doGenerate: async () => ({ ...turns.shift(), usage, warnings: [] }) });
  ran = null;
  await generateText({ model, tools, prompt: 'Do it.', stopWhen: isStepCount(2) });
  const { value } = model.doGenerateCalls[1].prompt.at(-1).content[0].output;
  console.log(JSON.stringify({ case: id, ran, answer: typeof value === 'string' ? value : JSON.stringify(value) }));
}
