import './no-eval';
import { type FormEvent, lazy, Suspense, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { AiSdkThread } from './ai-sdk';
import './style.css';

// The other client is loaded when somebody wants it.
const AgUiThread = lazy(() => import('./ag-ui'));

const MODES = { 'ai-sdk': 'AI SDK', 'ag-ui': 'AG-UI' };

function App() {
  const [token, setToken] = useState(signedIn);
  const [mode, setMode] = useState(localStorage.getItem('mode') ?? 'ai-sdk');
  const [chat, setChat] = useState(() => localStorage.getItem('chat') ?? fresh());
  if (!token) return <SignIn done={setToken} />;
  return (
    <>
      <header className="top">
        <h1>Tool chat</h1>
        <div role="radiogroup" aria-label="Protocol" className="modes">
          {Object.entries(MODES).map(([id, name]) => (
            <label key={id}>
              <input
                type="radio"
                name="mode"
                checked={mode === id}
                onChange={() => {
                  localStorage.setItem('mode', id);
                  setMode(id);
                }}
              />
              {name}
            </label>
          ))}
        </div>
        <button type="button" onClick={() => setChat(fresh())}>
          New chat
        </button>
      </header>
      {mode === 'ag-ui' ? (
        <Suspense fallback={<main aria-busy="true" />}>
          <AgUiThread key={chat} chat={chat} token={token} />
        </Suspense>
      ) : (
        <AiSdkThread key={chat} chat={chat} token={token} />
      )}
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

/** The token of the address, which the server never sees and which does not stay there, or the one from before. */
function signedIn(): string | null {
  const token = location.hash.match(/token=([^&]+)/)?.[1];
  if (token) {
    sessionStorage.setItem('token', token);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token');
}

/** A new chat in place of the one that was kept. */
function fresh(): string {
  const before = localStorage.getItem('chat');
  for (const kept of [`chat ${before}`, `ag-ui ${before}`]) localStorage.removeItem(kept);
  const chat = crypto.randomUUID();
  localStorage.setItem('chat', chat);
  return chat;
}

createRoot(document.getElementById('root')!).render(<App />);
