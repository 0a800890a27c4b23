// Starts `skald serve` for a test and tells how it is doing.
//
// The command and the model come from the environment: SKALD (the binary), SKALD_MODEL (a GGUF
// file); tests/e2e/CMakeLists.txt sets both.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const KEY = 'sk-a-key-of-the-client-tests';
export const OTHER_KEY = 'sk-another-key-of-the-client-tests';

/** What the bundled model answers to is short stories; any prompt does for most tests. */
export const PROMPT = 'Once upon a time';
export const MESSAGES = [{ role: 'user', content: 'Tell me a story about a fox.' }];

/** A server with KEY and OTHER_KEY; `options` are appended to the command. */
export async function startServer(...options) {
  const binary = process.env.SKALD;
  const model = process.env.SKALD_MODEL;
  if (!binary || !model) throw new Error('SKALD and SKALD_MODEL must be set, see server.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'skald-clients-'));
  const keys = join(folder, 'keys');
  writeFileSync(keys, `${KEY} name=tests admin\n${OTHER_KEY}\n`, { mode: 0o600 });
  const command = ['serve', '-m', model, '--port', '0', '--api-key-file', keys, ...options];
  const child = spawn(binary, command, { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await portOf(child);
  return new RunningServer(child, port, folder);
}

function portOf(child) {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text) => {
      said += text;
      const found = /serving .* on http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(said);
      if (found) resolve(Number(found[1]));
    });
    child.on('exit', () => reject(new Error(`skald serve ended: ${said}`)));
  });
}

class RunningServer {
  #child;
  #folder;

  constructor(child, port, folder) {
    this.#child = child;
    this.#folder = folder;
    this.origin = `http://127.0.0.1:${port}`;
    this.baseURL = `${this.origin}/v1`;
  }

  /** A request as a program without a client library makes it. */
  fetch(path, options = {}) {
    const headers = { authorization: `Bearer ${KEY}`, ...options.headers };
    return fetch(this.origin + path, { ...options, headers });
  }

  post(path, body, options = {}) {
    const headers = { 'content-type': 'application/json' };
    return this.fetch(path, { method: 'POST', body: JSON.stringify(body), headers, ...options });
  }

  /** What /slots says as soon as `holds` is true of it. */
  async slots(holds) {
    const end = Date.now() + 120_000;
    for (;;) {
      const slots = await (await this.fetch('/slots')).json();
      if (holds(slots)) return slots;
      if (Date.now() > end) throw new Error(`not in time: ${JSON.stringify(slots)}`);
      await sleep(2);
    }
  }

  /** Waits until no request runs or waits and none of them holds a page. */
  settled() {
    return this.slots(
      ({ running, waiting, pages }) => running === 0 && waiting === 0 && pages.held === 0);
  }

  /** Waits until the engine computes something. */
  busy() {
    return this.slots(({ running }) => running > 0);
  }

  async stop() {
    const ended = new Promise((resolve) => this.#child.on('exit', (code) => resolve(code)));
    this.#child.kill('SIGTERM');
    const code = await ended;
    rmSync(this.#folder, { recursive: true });
    if (code !== 0) throw new Error(`skald serve ended with ${code}`);
  }
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A fetch that counts, to see what a client library repeats. */
export function countingFetch() {
  const counting = (...parameters) => {
    counting.count += 1;
    return fetch(...parameters);
  };
  counting.count = 0;
  return counting;
}

export async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}
