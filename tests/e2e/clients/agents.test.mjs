// Agents that are published on npm, unchanged: a session that lists files through a tool, and ends.
//
// They are too large to be fetched by each run of the tests (Codex alone has 250 MB). By hand:
//
//     mkdir agents && (cd agents && npm install @openai/codex @anthropic-ai/claude-code)
//     SKALD_AGENTS=$PWD/agents SKALD_SCRIPTED=build/release/scripted_server \
//         node --test tests/e2e/clients/agents.test.mjs
//
// They need no internet: nothing of the surroundings but PATH is handed on, and their home is empty.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { say, startScripted } from './scripted.mjs';

const AGENTS = process.env.SKALD_AGENTS;
const options = { skip: AGENTS ? false : 'SKALD_AGENTS is not set', timeout: 120_000 };

const ANSWER = 'There is one file.';
let scripted;
let home;
let work;

before(async () => {
  if (!AGENTS) return;
  scripted = await startScripted();
  home = mkdtempSync(join(tmpdir(), 'skald-agent-'));
  work = mkdtempSync(join(tmpdir(), 'skald-agent-'));
});

after(async () => {
  if (!AGENTS) return;
  await scripted.stop();
  for (const folder of [home, work]) rmSync(folder, { recursive: true });
});

/** What the agent prints. What its tool gives tells the model what to write then. */
async function run(agent, parameters, surroundings, second) {
  writeFileSync(join(work, 'answer.txt'), say(second));
  const running = promisify(execFile)(join(AGENTS, 'node_modules', '.bin', agent), parameters, {
    cwd: work, env: { PATH: process.env.PATH, HOME: home, ...surroundings }, timeout: 100_000,
  });
  running.child.stdin.end();
  return (await running).stdout;
}

const call = (name, values) =>
  `<tool_call>${JSON.stringify({ name, arguments: values })}</tool_call>`;

test('codex lists files by the API Responses', options, async () => {
  writeFileSync(join(home, 'config.toml'), `
model = "scripted"
model_provider = "skald"
web_search = "disabled"
[features]
multi_agent = false
[model_providers.skald]
name = "skald"
base_url = "${scripted.baseURL}"
wire_api = "responses"
`);
  const prompt = `List the files. ${say(call('exec_command', { cmd: 'ls; cat answer.txt' }))}`;
  const said = await run(
    'codex', ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    { CODEX_HOME: home }, ANSWER);
  const items = said.trim().split('\n').map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'item.completed').map(({ item }) => item);
  const command = items.find(({ type }) => type === 'command_execution');
  assert.ok(command.aggregated_output.startsWith('answer.txt\n'));
  assert.equal(items.at(-1).type, 'agent_message');
  assert.equal(items.at(-1).text, ANSWER);
});

test('claude-code lists files by the API Messages', options, async () => {
  // It asks for thinking, so the model's turn begins with that.
  const prompt = `List the files. ${say(`hm</think>${call('Bash', { command: 'ls; cat answer.txt' })}`)}`;
  const said = await run(
    'claude', ['-p', '--allowedTools', 'Bash', '--output-format', 'stream-json', '--verbose', prompt],
    {
      ANTHROPIC_BASE_URL: scripted.origin,
      ANTHROPIC_API_KEY: 'none',
      ANTHROPIC_MODEL: 'scripted',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }, `hm</think>${ANSWER}`);
  const lines = said.trim().split('\n').map((line) => JSON.parse(line));
  const given = lines.find(({ type }) => type === 'user').message.content[0];
  assert.equal(given.type, 'tool_result');
  assert.ok(given.content.startsWith('answer.txt\n'));
  const { type, is_error: failed, result } = lines.at(-1);
  assert.deepEqual({ type, failed, result }, { type: 'result', failed: false, result: ANSWER });
});
