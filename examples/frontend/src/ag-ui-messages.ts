// Converts the messages of AG-UI to the messages that the page shows.
import type { HttpAgent, Message as Said } from '@ag-ui/client';
import type { Arguments, Decision, Message, ToolPart } from './conversation';

/** Facts about calls that the messages do not have, by the calls' ids. `isWhole` is false while arguments arrive. */
export type Notes = Map<string, { input?: Arguments; isWhole?: boolean; decision?: Decision }>;

type Call = NonNullable<Extract<Said, { role: 'assistant' }>['toolCalls']>[number];

/** The results, preliminary outputs and open questions of calls, by the calls' ids. */
interface Outcomes {
  results: Map<string, string>;
  previews: Map<string, unknown>;
  questions: Map<string, { id: string; message?: string | undefined }>;
}

export function messagesOf(agent: HttpAgent, notes: Notes, titles: Record<string, string>): Message[] {
  const outcomes: Outcomes = { results: new Map(), previews: new Map(), questions: new Map() };
  for (const said of agent.messages) {
    if (said.role === 'tool') outcomes.results.set(said.toolCallId, text(said.content));
    if (said.role === 'activity' && said.activityType === 'tool_progress') {
      const { toolCallId, preliminary } = said.content as { toolCallId: string; preliminary?: unknown };
      if (preliminary !== undefined) outcomes.previews.set(toolCallId, preliminary);
    }
  }
  for (const open of agent.pendingInterrupts) {
    if (open.toolCallId) outcomes.questions.set(open.toolCallId, { id: open.id, message: open.message });
  }
  const shown: Message[] = [];
  for (const said of agent.messages) {
    if (said.role === 'user') {
      shown.push({ id: said.id, role: 'user', parts: [{ type: 'text', text: text(said.content) }] });
    }
    if (said.role !== 'assistant') continue;
    let message = shown.at(-1);
    if (message?.role !== 'assistant') {
      message = { id: said.id, role: 'assistant', parts: [] };
      shown.push(message);
    }
    if (said.content) message.parts.push({ type: 'text', text: text(said.content) });
    for (const call of said.toolCalls ?? []) {
      const title = titles[call.function.name];
      message.parts.push({ ...part(call, notes, outcomes), ...(title && { title }) });
    }
  }
  return shown;
}

/** Returns the part of a message that shows a call. The server ensures that the values have the types of the call's tool. */
function part({ id, function: { name, arguments: json } }: Call, notes: Notes, outcomes: Outcomes): ToolPart {
  const note = notes.get(id);
  const isWhole = note?.isWhole !== false;
  const input = note?.input ?? object(json) ?? {};
  const decision = note?.decision;
  const question = outcomes.questions.get(id);
  const result = outcomes.results.get(id);
  const preview = outcomes.previews.get(id);
  const approval = { id: question?.id ?? id, requestReason: question?.message, ...decision };
  return { type: `tool-${name}`, toolCallId: id, input, ...state() } as ToolPart;

  function state() {
    if (result !== undefined) {
      if (decision?.approved === false) return { state: 'output-denied', approval };
      const output = object(result);
      if (output && output['ok'] !== false) return { state: 'output-available', output };
      // The protocol has no errors of calls, so a result that is no output is the text of an error.
      const feedback = output && { callProviderMetadata: { tool: { feedback: output } } };
      return { state: 'output-error', errorText: result, ...feedback };
    }
    if (!isWhole) return { state: 'input-streaming' };
    if (preview !== undefined) return { state: 'output-available', output: preview, preliminary: true };
    if (decision) return { state: 'approval-responded', approval };
    if (question) return { state: 'approval-requested', approval };
    return { state: 'input-available' };
  }
}

function text(content: string | ReadonlyArray<{ type: string; text?: string }>): string {
  return typeof content === 'string' ? content : content.map(part => part.text ?? '').join('');
}

/** Parses a text as JSON. Returns its object or list; `undefined` for anything else. */
export function object(json: string): Arguments | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return value !== null && typeof value === 'object' ? (value as Arguments) : undefined;
  } catch {
    return undefined;
  }
}
