import './no-eval';
import { type FormEvent, lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { AiSdkThread } from './ai-sdk';
import { ChatList, useChats } from './chats';
import './style.css';

// The AG-UI client is loaded when the person selects it.
const AgUiThread = lazy(() => import('./ag-ui'));

const MODES = { 'ai-sdk': 'AI SDK', 'ag-ui': 'AG-UI' };

type Mode = keyof typeof MODES;

function App() {
  const [token, setToken] = useState(signedIn);
  return token ? <Chats token={token} /> : <SignIn done={setToken} />;
}

function Chats({ token }: { token: string }) {
  const headers = useMemo(() => ({ authorization: `Bearer ${token}` }), [token]);
  const [mode, setMode] = useState((localStorage.getItem('mode') ?? 'ai-sdk') as Mode);
  const [chat, setChat] = useState(() => localStorage.getItem(`chat ${mode}`) ?? fresh(mode));
  const [isListOpen, setListOpen] = useState(false);
  const { chats, refresh } = useChats(headers);
  // A chat keeps the protocol with which it began.
  const own = chats.filter(({ id }) => id.startsWith('ag-ui-') === (mode === 'ag-ui'));
  const known = own.find(({ id }) => id === chat);
  const title = known?.title;
  const open = (id: string) => {
    setChat(id);
    setListOpen(false);
  };
  useEffect(() => localStorage.setItem(`chat ${mode}`, chat), [mode, chat]);
  useEffect(() => {
    document.title = title ? `${title} – Tool chat` : 'Tool chat';
  }, [title]);
  const thread = { chat, headers, known, refresh };
  return (
    <>
      <header className="top">
        <button
          type="button"
          className="lists"
          aria-expanded={isListOpen}
          aria-controls="chats"
          onClick={() => setListOpen(!isListOpen)}
        >
          Chats
        </button>
        <h1>Tool chat</h1>
        <div role="radiogroup" aria-label="Protocol" className="modes">
          {(Object.keys(MODES) as Mode[]).map(id => (
            <label key={id}>
              <input
                type="radio"
                name="mode"
                checked={mode === id}
                onChange={() => {
                  localStorage.setItem('mode', id);
                  setMode(id);
                  setChat(localStorage.getItem(`chat ${id}`) ?? fresh(id));
                }}
              />
              {MODES[id]}
            </label>
          ))}
        </div>
        <button type="button" onClick={() => open(fresh(mode))}>
          New chat
        </button>
      </header>
      <div className="both">
        <ChatList
          chats={own}
          current={chat}
          headers={headers}
          isOpen={isListOpen}
          open={open}
          changed={deleted => {
            if (deleted === chat) setChat(fresh(mode));
            refresh().catch(() => undefined);
          }}
        />
        {mode === 'ag-ui' ? (
          <Suspense fallback={<main aria-busy="true" />}>
            <AgUiThread key={chat} {...thread} />
          </Suspense>
        ) : (
          <AiSdkThread key={chat} {...thread} />
        )}
      </div>
    </>
  );
}

function SignIn({ done }: { done(token: string): void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get('token')).trim();
    sessionStorage.setItem('token', token);
    done(token);
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <h1>Tool chat</h1>
        <label htmlFor="token">Your token; the server has printed it</label>
        <input id="token" name="token" type="password" required />
        <button className="primary">Sign in</button>
      </form>
    </main>
  );
}

/** Returns the token of the address's fragment, which the server never sees, and removes it there; or the session's token. */
function signedIn(): string | null {
  const token = location.hash.match(/token=([^&]+)/)?.[1];
  if (token) {
    sessionStorage.setItem('token', token);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token');
}

/** Returns the id of a new chat. */
function fresh(mode: Mode): string {
  return (mode === 'ag-ui' ? 'ag-ui-' : '') + crypto.randomUUID();
}

createRoot(document.getElementById('root')!).render(<App />);
