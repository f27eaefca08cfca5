// CopilotKit's page as in its documentation: its chat, its runtime and its hooks.
import { CopilotChat, CopilotKitProvider, useHumanInTheLoop, useInterrupt, useRenderTool } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { z } from 'zod';
import { Card, ClientCall, Question } from './components.jsx';

export function Page({ client, chat, headers }) {
  return (
    <CopilotKitProvider runtimeUrl={`/${client}`} headers={headers} renderActivityMessages={PROGRESS} enableInspector={false}>
      <Hooks />
      <CopilotChat threadId={chat} />
    </CopilotKitProvider>
  );
}

/** The server sends preliminary outputs as activities. */
const PROGRESS = [
  {
    activityType: 'tool_progress',
    content: z.any(),
    render: ({ content }) => <p data-progress>{JSON.stringify(content.preliminary)}</p>,
  },
];

function Hooks() {
  useRenderTool({
    name: '*',
    render: ({ name, status, parameters, result }) => <Card tool={name} state={status} input={parameters} output={result} />,
  });
  useInterrupt({
    render: ({ interrupts, resolve }) => (
      <>
        {interrupts.map(({ id, reason, message }) => {
          const isText = reason === 'input_required';
          return (
            <Question
              key={id}
              question={message}
              isText={isText}
              decide={value => void resolve(isText ? value : { approved: value }, id)}
              edit={editedArgs => void resolve({ approved: true, editedArgs }, id)}
            />
          );
        })}
      </>
    ),
  });
  useHumanInTheLoop({
    name: 'locate',
    description: 'Find the person; the browser knows.',
    parameters: z.object({}),
    render: ExecutableCall,
  });
  useHumanInTheLoop({
    name: 'share',
    description: 'Show a window of the person; the browser does it.',
    parameters: z.object({ window: z.string() }),
    render: ExecutableCall,
  });
  return null;
}

function ExecutableCall({ name, status, args, result, respond }) {
  return (
    <>
      <Card tool={name} state={status} input={args} output={result} />
      {respond && <ClientCall tool={name} finish={respond} />}
    </>
  );
}
