// The components of all pages. The tests read their `data-` attributes.
import { useState } from 'react';

export function MessageText({ role, children }) {
  return <p data-role={role}>{children}</p>;
}

/** A call of a tool. `state` is the state's name in its client. */
export function Card({ tool, state, input, output, decidedBy }) {
  return (
    <article data-tool={tool} data-state={state}>
      <b>{tool}</b> <i>{state}</i> <code data-input>{JSON.stringify(input)}</code> <code data-output>{output}</code>
      {decidedBy && <em data-by>{decidedBy}</em>}
    </article>
  );
}

/**
 * A question to the person: an approval request, or a question of a tool. `decide` receives a boolean or a text. With `edit`, a person
 * can replace the arguments, as JSON.
 */
export function Question({ question, isText, decide, edit }) {
  const [text, setText] = useState('');
  return (
    <form data-ask onSubmit={event => event.preventDefault()}>
      <span>{question}</span>
      {isText ? (
        <>
          <input aria-label="Answer" value={text} onChange={event => setText(event.target.value)} />
          <button onClick={() => decide(text)}>Answer</button>
        </>
      ) : (
        <>
          <button onClick={() => decide(true)}>Approve</button>
          <button onClick={() => decide(false)}>Deny</button>
          {edit && (
            <>
              <input aria-label="Arguments" value={text} onChange={event => setText(event.target.value)} />
              <button onClick={() => edit(JSON.parse(text))}>Edit</button>
            </>
          )}
        </>
      )}
    </form>
  );
}

/** A call that the page executes. `finish` receives its output. */
export function ClientCall({ tool, finish }) {
  return (
    <div data-task={tool}>
      <button onClick={() => finish({ here: true })}>Finish {tool}</button>
    </div>
  );
}

export function Composer({ send }) {
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        setText('');
        send(text);
      }}
    >
      <textarea aria-label="Message" value={text} onChange={event => setText(event.target.value)} />
      <button>Send</button>
    </form>
  );
}

/** The chats that this browser keeps for a stateless server. */
export const savedChats = {
  load: chat => JSON.parse(localStorage.getItem(chat) ?? 'null'),
  save: (chat, value) => localStorage.setItem(chat, JSON.stringify(value)),
};
