// Starts the server of a test file. The server ends with the file's tests.
import { spawn } from 'node:child_process';
import { after } from 'node:test';

/** Starts the acceptance server, and returns its base URL. */
export const startAcceptanceServer = (...args) => startServer(process.env.ACCEPTANCE_SERVER, '--port', '0', ...args);

/** Starts a program that prints "listening on URL", and returns that URL. */
export function startServer(program, ...args) {
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => server.kill());
  return new Promise((resolve, reject) => {
    let stdout = '';
    server.stdout.on('data', data => {
      stdout += data;
      const found = stdout.match(/listening on (\S+)/);
      if (found) resolve(found[1]);
    });
    server.on('exit', code => reject(new Error(`the server exited with code ${code}`)));
  });
}
