// The interface of a conversation for the page's components, the same for both protocols.
import type { ToolUIPart, UIDataTypes, UIMessage } from 'ai';
import type { Chat } from './chats';
import type { Tools } from './tools';

export type Message = UIMessage<unknown, UIDataTypes, Tools>;

/** A call. `part.type` names its tool, and determines the types of `part.input` and `part.output`. */
export type ToolPart = ToolUIPart<Tools>;

export type Arguments = Record<string, unknown>;

export type Decision = { approved: true; edited?: Arguments } | { approved: false; reason?: string };

export interface Conversation {
  messages: Message[];
  isBusy: boolean;
  error: string | undefined;
  say(text: string): void;
  stop(): void;
  /** Approves or denies a call that waits for an approval. */
  decide(part: ToolPart, decision: Decision): void;
  /** Sends the output of a call that the page has executed. */
  answer<Name extends keyof Tools>(tool: Name, toolCallId: string, output: Tools[Name]['output']): void;
}

/** The chat that a conversation shows, and its connection to the server. */
export interface ThreadProps {
  chat: string;
  headers: Record<string, string>;
  /** The chat's entry in the list of chats; `undefined` until the list has it. */
  known: Chat | undefined;
  /** Reads the list of chats from the server. */
  refresh(): Promise<Chat[]>;
}

/** Returns the name of the person who decided about a call, if the server has sent it. */
export function decidedBy(part: ToolPart): string | undefined {
  const metadata = 'callProviderMetadata' in part ? part.callProviderMetadata : undefined;
  return metadata?.['tool']?.['decidedBy'] as string | undefined;
}

/** The feedback of a tool that rejects its arguments: the problems, and the values that it would accept. */
export interface Feedback {
  problems?: string[];
  validationResults?: Record<string, FieldReport>;
  instructions?: string[];
}

export interface FieldReport {
  valid: boolean;
  problems?: string[];
  normalizedValue?: unknown;
  allowedValues?: unknown[];
  suggestedValues?: unknown[];
  requiresValidParameters?: string[];
}

export function feedbackOf(part: ToolPart): Feedback | undefined {
  if (part.state !== 'output-error') return undefined;
  const found = part.callProviderMetadata?.['tool']?.['feedback'] ?? part.resultProviderMetadata?.['tool']?.['feedback'];
  return found as Feedback | undefined;
}

/** Returns the message of an error response of the server, `{"error": {"message": …}}`, or else the error's own message. */
export function readable(error: Error | undefined): string | undefined {
  if (!error) return undefined;
  const json = error.message.slice(Math.max(error.message.indexOf('{'), 0));
  try {
    const { error: said } = JSON.parse(json) as { error?: { message?: string } };
    if (said?.message) return said.message;
  } catch {
    // The text is no error response of the server.
  }
  return error.message;
}
