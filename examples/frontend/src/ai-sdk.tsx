// The conversation over the AI SDK's protocol: `useChat`, as it is.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useOthers } from './chats';
import { type Arguments, type Message, readable, type ThreadProps } from './conversation';
import { Thread } from './thread';

/** The chat as the server has it; an answer in progress is not in it, and is read from its stream. */
async function load({ chat, headers, refresh }: ThreadProps): Promise<Message[]> {
  // A new chat is not on the server yet.
  if (!(await refresh()).some(({ id }) => id === chat)) return [];
  const response = await fetch(`/api/chat/${encodeURIComponent(chat)}`, { headers });
  return response.ok ? ((await response.json()) as Message[]) : [];
}

export function AiSdkThread(props: ThreadProps) {
  const [messages, setMessages] = useState<Message[]>();
  useEffect(() => {
    load(props).then(setMessages, () => setMessages([]));
    // Once for each chat: what comes later, the conversation reads.
  }, [props.chat]);
  return messages ? <Loaded {...props} messages={messages} /> : <main aria-busy="true" />;
}

function Loaded({ messages, ...props }: ThreadProps & { messages: Message[] }) {
  const { chat, headers, known, refresh } = props;
  const edits = useRef<Record<string, { decision: 'edit'; arguments: Arguments }>>({});
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
    messages,
    resume: true,
    transport,
    sendAutomaticallyWhen: options =>
      lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
    // What the server did not take is still to be decided.
    onError: () => it.setMessages(messages => messages.map(unanswered)),
  });
  const isBusy = it.status === 'submitted' || it.status === 'streaming';
  useOthers(known, isBusy, refresh, chat, () => {
    const again = async () => {
      it.setMessages(await load(props));
      await it.resumeStream();
    };
    // What is shown stays until the next change.
    again().catch(() => undefined);
  });

  return (
    <Thread
      messages={it.messages}
      isBusy={isBusy}
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

function unanswered(message: Message): Message {
  const parts = message.parts.map(part =>
    'state' in part && part.state === 'approval-responded'
      ? ({ ...part, state: 'approval-requested', approval: { ...part.approval, approved: undefined } } as Message['parts'][number])
      : part,
  );
  return { ...message, parts };
}
