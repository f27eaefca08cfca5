// The server of a test file, which ends with it.
import { spawn } from 'node:child_process';
import { after } from 'node:test';

/** Starts the acceptance server; its address. */
export const started = (...args) => start(process.env.ACCEPTANCE_SERVER, ...args);

/** Starts a program that serves where it says; its address. */
export function start(program, ...args) {
  const server = spawn(program, ['--port', '0', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => server.kill());
  return new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', data => {
      text += data;
      const found = text.match(/listening on (\S+)/);
      if (found) resolve(found[1]);
    });
    server.on('exit', code => reject(new Error(`the server ended with ${code}`)));
  });
}
