// A conversation over the AI SDK's protocol, with an unmodified `useChat`.
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

/** Loads the messages of a chat from the server. They lack an active response, which `useChat` reads from its stream. */
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
    // Runs once for each chat. `Loaded` reads later changes.
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
        // With `resumable`, the response continues when the person leaves the page. The AI SDK cannot approve a call with other
        // arguments, so the edits are sent beside the messages.
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
    // The server has refused the decisions, so the approvals are open again.
    onError: () => it.setMessages(messages => messages.map(unanswered)),
  });
  const isBusy = it.status === 'submitted' || it.status === 'streaming';
  useOthers(known, isBusy, refresh, chat, () => {
    const again = async () => {
      it.setMessages(await load(props));
      await it.resumeStream();
    };
    // After a failure, the page shows the old messages until the next change.
    again().catch(() => undefined);
  });

  return (
    <Thread
      messages={it.messages}
      isBusy={isBusy}
      error={readable(it.error)}
      say={text => void it.sendMessage({ text })}
      stop={() => {
        // Closing the connection would not stop the response, because it continues without readers.
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
