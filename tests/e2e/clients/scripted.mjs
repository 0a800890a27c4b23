// Starts the server whose model writes what the last message asks it to write, between "@@" and
// "@@" (tests/e2e/scripted_server.h): for sessions in which a model has to call tools.
//
// SKALD_SCRIPTED is the program; tests/e2e/CMakeLists.txt sets it.

import { spawn } from 'node:child_process';

export const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>';

export const say = (script) => `@@${script}@@`;

/** {origin, baseURL, stop}. */
export async function startScripted() {
  const program = process.env.SKALD_SCRIPTED;
  if (!program) throw new Error('SKALD_SCRIPTED must be set, see scripted.mjs');
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const origin = await new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8');
    child.stdout.once('data', (line) => resolve(line.trim()));
    child.on('exit', () => reject(new Error('the scripted server ended')));
  });
  const stop = () => new Promise((resolve) => {
    child.on('exit', resolve);
    child.stdin.end();
  });
  return { origin, baseURL: `${origin}/v1`, stop };
}
