// The acceptance server of a test file, which ends with it.
import { spawn } from 'node:child_process';
import { after } from 'node:test';

/** Starts it; its address. */
export function started(...args) {
  const server = spawn(process.env.ACCEPTANCE_SERVER, ['--port', '0', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
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
