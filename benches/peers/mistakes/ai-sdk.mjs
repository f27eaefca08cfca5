// Shows how the AI SDK handles a model's mistakes: `node ai-sdk.mjs CASES`, where CASES is a list of arguments as JSON.
import { generateText, isStepCount, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';

const search = tool({
  description: 'Search the shop.',
  inputSchema: z.object({ query: z.string(), limit: z.number().int().min(1).max(50) }),
  execute: async ({ query, limit }) => `ran with ${query}, ${limit}`,
});
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** Returns what the model receives for a call with these arguments. */
async function answer(input) {
  const turns = [
    { content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: JSON.stringify(input) }], finishReason: { unified: 'tool-calls' } },
    { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' } },
  ];
  const model = new MockLanguageModelV4({ doGenerate: async () => ({ ...turns.shift(), usage, warnings: [] }) });
  await generateText({ model, tools: { search }, prompt: 'Search.', stopWhen: isStepCount(2) });
  return model.doGenerateCalls[1].prompt.at(-1).content[0].output;
}

for (const input of JSON.parse(process.argv[2])) {
  console.log(JSON.stringify(input), '->', JSON.stringify(await answer(input)));
}
