// The conversation over the AI SDK's protocol: `useChat`, as it is.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { useEffect, useMemo, useRef } from 'react';
import { type Arguments, type Message, readable } from './conversation';
import { Thread } from './thread';

interface Props {
  chat: string;
  token: string;
}

export function AiSdkThread({ chat, token }: Props) {
  const edits = useRef<Record<string, { decision: 'edit'; arguments: Arguments }>>({});
  const headers = useMemo(() => ({ authorization: `Bearer ${token}` }), [token]);
  const transport = useMemo(
    () =>
      new DefaultChatTransport<Message>({
        api: '/api/chat',
        headers,
        // The answer goes on when the page is left, and is read again when it comes back. The protocol has no words for an
        // approval with other arguments: they travel beside the messages.
        body: () => ({ resumable: true, decisions: edits.current }),
      }),
    [headers],
  );
  const it = useChat<Message>({
    id: chat,
    messages: useMemo(() => kept(chat), [chat]),
    resume: true,
    transport,
    sendAutomaticallyWhen: options =>
      lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
    // What the server did not take is still to be decided.
    onError: () => it.setMessages(messages => messages.map(unanswered)),
  });
  useEffect(() => localStorage.setItem(key(chat), JSON.stringify(it.messages)), [chat, it.messages]);

  return (
    <Thread
      messages={it.messages}
      isBusy={it.status === 'submitted' || it.status === 'streaming'}
      error={readable(it.error)}
      say={text => void it.sendMessage({ text })}
      stop={() => {
        // Leaving alone would not stop an answer that goes on without its readers.
        void fetch(`/api/chat/${chat}/stop`, { method: 'POST', headers });
        void it.stop();
      }}
      decide={({ approval }, decision) => {
        if (!approval) return;
        delete edits.current[approval.id];
        if (decision.approved && decision.edited) {
          edits.current[approval.id] = { decision: 'edit', arguments: decision.edited };
        }
        const reason = decision.approved || !decision.reason ? {} : { reason: decision.reason };
        void it.addToolApprovalResponse({ id: approval.id, approved: decision.approved, ...reason });
      }}
      answer={(tool, toolCallId, output) => void it.addToolOutput({ tool, toolCallId, output })}
    />
  );
}

const key = (chat: string) => `chat ${chat}`;

function kept(chat: string): Message[] {
  return JSON.parse(localStorage.getItem(key(chat)) ?? '[]') as Message[];
}

function unanswered(message: Message): Message {
  const parts = message.parts.map(part =>
    'state' in part && part.state === 'approval-responded'
      ? ({ ...part, state: 'approval-requested', approval: { ...part.approval, approved: undefined } } as Message['parts'][number])
      : part,
  );
  return { ...message, parts };
}
