// The AI SDK's own server. It answers a `POST` with the number of pieces that the user's message requests: all at once, each when
// the previous one was sent, or each some milliseconds after it.
//
//   node ai.mjs FOLDER-WITH-NODE_MODULES
//
// Half of the pieces are text, half are arguments of a call. `/bare` pipes the chunks, and `/kept` also keeps their message.
// `GET /cpu` returns the seconds of CPU that the server has taken so far.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${resolve(process.argv[2])}/`));
const { createUIMessageStream, pipeUIMessageStreamToResponse } = await import(pathToFileURL(require.resolve('ai')));

const PIECE = 'Lorem ipsum dolor s ';
const START = '{"text":"';
const END = '"}';
const kept = new Map();

function pause(pace) {
  return new Promise(done => (pace === 'alone' ? setImmediate(done) : setTimeout(done, Number(pace))));
}

async function write(writer, count, pace) {
  writer.write({ type: 'start', messageId: 'msg-1' });
  writer.write({ type: 'start-step' });
  writer.write({ type: 'text-start', id: '0' });
  for (let n = 0; n < count / 2; n++) {
    if (pace !== 'at-once') await pause(pace);
    writer.write({ type: 'text-delta', id: '0', delta: PIECE });
  }
  writer.write({ type: 'text-end', id: '0' });
  const call = { toolCallId: 'c1', toolName: 'note' };
  writer.write({ type: 'tool-input-start', ...call });
  for (let n = 0; n < count / 2; n++) {
    if (pace !== 'at-once') await pause(pace);
    const inputTextDelta = (n === 0 ? START : '') + PIECE + (n + 1 >= count / 2 ? END : '');
    writer.write({ type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta });
  }
  writer.write({ type: 'tool-input-available', ...call, input: { text: PIECE.repeat(count / 2) } });
  writer.write({ type: 'tool-output-available', toolCallId: 'c1', output: count });
  writer.write({ type: 'finish-step' });
  writer.write({ type: 'start-step' });
  writer.write({ type: 'finish-step' });
  writer.write({ type: 'finish', finishReason: 'stop' });
}

const server = createServer(async (request, response) => {
  if (request.url === '/cpu') {
    const { user, system } = process.cpuUsage();
    return response.end(JSON.stringify({ seconds: (user + system) / 1e6 }));
  }
  let body = '';
  for await (const piece of request) body += piece;
  const { id, messages } = JSON.parse(body);
  const [number, pace] = messages.at(-1).parts[0].text.split(' ');
  const count = Number(number);
  const keeps = {
    originalMessages: messages,
    onFinish: ({ messages }) => {
      const { parts } = messages.at(-1);
      const length = parts.find(part => part.type === 'text').text.length + parts.find(part => part.input).input.text.length;
      if (length !== count * PIECE.length) throw new Error(`kept ${length} characters`);
      kept.set(id, messages);
    },
  };
  const execute = ({ writer }) => write(writer, count, pace);
  const stream = createUIMessageStream({ execute, ...(request.url === '/kept' ? keeps : {}) });
  pipeUIMessageStreamToResponse({ response, stream });
});
server.listen(0, '127.0.0.1', () => console.log(`listening on 127.0.0.1:${server.address().port}`));
