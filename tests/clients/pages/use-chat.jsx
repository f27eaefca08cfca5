// `useChat` as it is: messages of the server, or those that the browser has kept.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { useEffect, useRef, useState } from 'react';
import { Ask, Card, Composer, kept, Said, Task } from './components.jsx';

export function Page(props) {
  const [messages, setMessages] = useState();
  useEffect(() => {
    const load = async () => {
      if (props.isSealed) return kept.get(props.chat) ?? [];
      const chats = await (await fetch('/api/chats', { headers: props.headers })).json();
      // A new chat is not on the server yet.
      if (!chats.some(({ id }) => id === props.chat)) return [];
      return (await fetch(`/api/chat/${props.chat}`, { headers: props.headers })).json();
    };
    void load().then(setMessages);
  }, []);
  return messages && <Loaded {...props} messages={messages} />;
}

function Loaded({ chat, headers, isSealed, messages }) {
  const decisions = useRef({});
  const it = useChat({
    id: chat,
    messages,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/chat', headers, body: () => ({ resumable: true, decisions: decisions.current }) }),
    sendAutomaticallyWhen: options =>
      lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
  });
  const isBusy = it.status === 'submitted' || it.status === 'streaming';
  useEffect(() => {
    // An answer in progress comes from its beginning, so what there is of it is not kept.
    if (isSealed && it.status !== 'streaming') kept.set(chat, it.messages);
  }, [it.messages, it.status]);
  const show = (part, at) => {
    if (part.type === 'text') return part.text && <Said key={at} role="assistant">{part.text}</Said>;
    if (part.type === 'data-question') {
      const answered = it.messages.some(({ parts }) => parts.some(other => other.toolCallId === part.data.toolCallId && (other.state !== 'input-available' || other.approval)));
      if (answered || decisions.current[part.id]) return null;
      const decide = value => {
        decisions.current[part.id] = { decision: 'answer', value };
        void it.sendMessage();
      };
      return <Ask key={part.id} question={part.data.question.text} isText decide={decide} />;
    }
    if (!part.type.startsWith('tool-')) return null;
    const tool = part.type.slice('tool-'.length);
    const output = part.errorText ?? (part.output === undefined ? part.approval?.reason : JSON.stringify(part.output));
    const by = part.callProviderMetadata?.tool?.decidedBy;
    return (
      <div key={part.toolCallId}>
        <Card tool={tool} state={part.preliminary ? 'preliminary' : part.state} input={part.input} output={output} by={by} />
        {part.state === 'approval-requested' && (
          <Ask question={part.approval.requestReason} decide={approved => void it.addToolApprovalResponse({ id: part.approval.id, approved })} />
        )}
        {part.state === 'input-available' && ['locate', 'share'].includes(tool) && (
          <Task tool={tool} done={output => void it.addToolOutput({ tool, toolCallId: part.toolCallId, output })} />
        )}
      </div>
    );
  };
  return (
    <main data-busy={isBusy}>
      {it.messages.map(({ id, role, parts }) => (
        <section key={id}>{role === 'user' ? <Said role="user">{parts[0].text}</Said> : parts.map(show)}</section>
      ))}
      {it.error && <p role="alert">{it.error.message}</p>}
      <Composer say={text => void it.sendMessage({ text })} />
    </main>
  );
}
