// Shows the page of one unmodified client. The fragment selects it:
// `#client=ai-sdk|ag-ui|copilotkit-memory|copilotkit-server&chat=ID&user=NAME&sealed=1`.
import { createRoot } from 'react-dom/client';

const { client, chat, user, sealed } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const load = {
  'ai-sdk': () => import('./use-chat.jsx'),
  'ag-ui': () => import('./ag-ui.jsx'),
  'copilotkit-memory': () => import('./copilotkit.jsx'),
  'copilotkit-server': () => import('./copilotkit.jsx'),
}[client];
const { Page } = await load();
const props = { client, chat, isSealed: sealed === '1', headers: { authorization: `Bearer ${user}` } };
createRoot(document.getElementById('root')).render(<Page {...props} />);
