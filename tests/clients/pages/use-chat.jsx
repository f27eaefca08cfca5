// A page with `useChat`. It loads the messages from the server, or from the browser if the server is stateless.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { useEffect, useRef, useState } from 'react';
import { Card, ClientCall, Composer, MessageText, Question, savedChats } from './components.jsx';

export function Page(props) {
  const [messages, setMessages] = useState();
  useEffect(() => {
    const load = async () => {
      if (props.isSealed) return savedChats.load(props.chat) ?? [];
      const chats = await (await fetch('/api/chats', { headers: props.headers })).json();
      // A new chat is not on the server yet.
      if (!chats.some(({ id }) => id === props.chat)) return [];
      return (await fetch(`/api/chat/${props.chat}`, { headers: props.headers })).json();
    };
    void load().then(setMessages);
  }, []);
  return messages && <LoadedChat {...props} messages={messages} />;
}

function LoadedChat({ chat, headers, isSealed, messages }) {
  const decisions = useRef({});
  const conversation = useChat({
    id: chat,
    messages,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/chat', headers, body: () => ({ resumable: true, decisions: decisions.current }) }),
    sendAutomaticallyWhen: options =>
      lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
  });
  const isBusy = conversation.status === 'submitted' || conversation.status === 'streaming';
  useEffect(() => {
    // A resumed response arrives from its beginning, so the page does not save a partial response.
    if (isSealed && conversation.status !== 'streaming') savedChats.save(chat, conversation.messages);
  }, [conversation.messages, conversation.status]);
  const renderPart = (part, at) => {
    if (part.type === 'text') return part.text && <MessageText key={at} role="assistant">{part.text}</MessageText>;
    if (part.type === 'data-question') {
      const answered = conversation.messages.some(({ parts }) => parts.some(other => other.toolCallId === part.data.toolCallId && (other.state !== 'input-available' || other.approval)));
      if (answered || decisions.current[part.id]) return null;
      const decide = value => {
        decisions.current[part.id] = { decision: 'answer', value };
        void conversation.sendMessage();
      };
      return <Question key={part.id} question={part.data.question.text} isText decide={decide} />;
    }
    if (!part.type.startsWith('tool-')) return null;
    const tool = part.type.slice('tool-'.length);
    const output = part.errorText ?? (part.output === undefined ? part.approval?.reason : JSON.stringify(part.output));
    const decidedBy = part.callProviderMetadata?.tool?.decidedBy;
    return (
      <div key={part.toolCallId}>
        <Card tool={tool} state={part.preliminary ? 'preliminary' : part.state} input={part.input} output={output} decidedBy={decidedBy} />
        {part.state === 'approval-requested' && (
          <Question question={part.approval.requestReason} decide={approved => void conversation.addToolApprovalResponse({ id: part.approval.id, approved })} />
        )}
        {part.state === 'input-available' && ['locate', 'share'].includes(tool) && (
          <ClientCall tool={tool} finish={output => void conversation.addToolOutput({ tool, toolCallId: part.toolCallId, output })} />
        )}
      </div>
    );
  };
  return (
    <main data-busy={isBusy}>
      {conversation.messages.map(({ id, role, parts }) => (
        <section key={id}>{role === 'user' ? <MessageText role="user">{parts[0].text}</MessageText> : parts.map(renderPart)}</section>
      ))}
      {conversation.error && <p role="alert">{conversation.error.message}</p>}
      <Composer send={text => void conversation.sendMessage({ text })} />
    </main>
  );
}
