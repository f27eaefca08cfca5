// What the pages show, in one form that the tests read.
import { useState } from 'react';

export function Said({ role, children }) {
  return <p data-role={role}>{children}</p>;
}

/** A call of a tool: `state` in the words of its client, and its values. */
export function Card({ tool, state, input, output, by }) {
  return (
    <article data-tool={tool} data-state={state}>
      <b>{tool}</b> <i>{state}</i> <code data-input>{JSON.stringify(input)}</code> <code data-output>{output}</code>
      {by && <em data-by>{by}</em>}
    </article>
  );
}

/** A question to the person: an approval, or one that a tool asks. `decide` gets a boolean or a text. */
export function Ask({ question, isText, decide }) {
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
        </>
      )}
    </form>
  );
}

/** A call that the page executes. */
export function Task({ tool, done }) {
  return (
    <div data-task={tool}>
      <button onClick={() => done({ here: true })}>Finish {tool}</button>
    </div>
  );
}

export function Composer({ say }) {
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        setText('');
        say(text);
      }}
    >
      <textarea aria-label="Message" value={text} onChange={event => setText(event.target.value)} />
      <button>Send</button>
    </form>
  );
}

/** What was kept in this browser for a server that keeps nothing. */
export const kept = {
  get: chat => JSON.parse(localStorage.getItem(chat) ?? 'null'),
  set: (chat, value) => localStorage.setItem(chat, JSON.stringify(value)),
};
