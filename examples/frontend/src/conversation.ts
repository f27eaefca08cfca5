// What the page needs of a conversation, whichever protocol it goes over.
import type { ToolUIPart, UIDataTypes, UIMessage } from 'ai';
import type { Chat } from './chats';
import type { Tools } from './tools';

export type Message = UIMessage<unknown, UIDataTypes, Tools>;

/** A call, typed by its tool: `part.type` says which, and `part.input` and `part.output` are that tool's. */
export type ToolPart = ToolUIPart<Tools>;

export type Arguments = Record<string, unknown>;

export type Decision = { approved: true; edited?: Arguments } | { approved: false; reason?: string };

export interface Conversation {
  messages: Message[];
  isBusy: boolean;
  error: string | undefined;
  say(text: string): void;
  stop(): void;
  /** Approves or denies a call that waits for it. */
  decide(part: ToolPart, decision: Decision): void;
  /** Gives the output of a call that the page executes. */
  answer<Name extends keyof Tools>(tool: Name, toolCallId: string, output: Tools[Name]['output']): void;
}

/** What a conversation is about, whichever protocol it goes over. */
export interface ThreadProps {
  chat: string;
  headers: Record<string, string>;
  /** The chat in the list, once it is there. */
  known: Chat | undefined;
  /** Reads the list. */
  refresh(): Promise<Chat[]>;
}

/** Who has decided about a call, if the server says so. */
export function decidedBy(part: ToolPart): string | undefined {
  const metadata = 'callProviderMetadata' in part ? part.callProviderMetadata : undefined;
  return metadata?.['tool']?.['decidedBy'] as string | undefined;
}

/** What a tool says when it does not take its arguments, and what it would take. */
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

/** What the server says about a request that it does not serve: `{"error": {"message": …}}`. */
export function readable(error: Error | undefined): string | undefined {
  if (!error) return undefined;
  const json = error.message.slice(Math.max(error.message.indexOf('{'), 0));
  try {
    const { error: said } = JSON.parse(json) as { error?: { message?: string } };
    if (said?.message) return said.message;
  } catch {
    // Not one of the server's.
  }
  return error.message;
}
