// Pages with unmodified clients. `#way=ai-sdk|ag-ui|memory|server&chat=ID&user=NAME&sealed=1` selects one.
import { createRoot } from 'react-dom/client';

const { way, chat, user, sealed } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const load = {
  'ai-sdk': () => import('./use-chat.jsx'),
  'ag-ui': () => import('./ag-ui.jsx'),
  memory: () => import('./copilotkit.jsx'),
  server: () => import('./copilotkit.jsx'),
}[way];
const { Page } = await load();
const props = { way, chat, isSealed: sealed === '1', headers: { authorization: `Bearer ${user}` } };
createRoot(document.getElementById('root')).render(<Page {...props} />);
