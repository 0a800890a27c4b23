// A loop of tools by the npm package ai: it calls what the model asks for until it has an answer.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

import { CALL, say, startScripted } from './scripted.mjs';

let scripted;

before(async () => {
  scripted = await startScripted();
});

after(() => scripted.stop());

// What the tool gives tells the model what to write then.
const add = tool({
  description: 'adds two numbers',
  inputSchema: jsonSchema({
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  }),
  execute: async ({ a, b }) => say(`It is ${a + b}.`),
});

const request = () => ({
  model: createOpenAICompatible({ name: 'skald', baseURL: scripted.baseURL, includeUsage: true }).chatModel('scripted'),
  prompt: `What is 1 + 2? ${say(`<think>hm</think>So. ${CALL}`)}`,
  tools: { add },
  stopWhen: stepCountIs(5),
  maxRetries: 0,
});

function judge(steps) {
  assert.equal(steps.length, 2);
  assert.equal(steps[0].finishReason, 'tool-calls');
  assert.equal(steps[0].reasoningText, 'hm');
  assert.deepEqual(steps[0].toolCalls.map(({ toolName, input }) => ({ toolName, input })),
    [{ toolName: 'add', input: { a: 1, b: 2 } }]);
  assert.equal(steps[1].finishReason, 'stop');
  assert.equal(steps[1].text, 'It is 3.');
}

test('a loop of tools ends with an answer', async () => {
  const { steps, text } = await generateText(request());
  judge(steps);
  assert.equal(text, 'It is 3.');
});

test('so does one that is streamed', async () => {
  const streamed = streamText(request());
  const kinds = new Set();
  for await (const part of streamed.fullStream) kinds.add(part.type);
  judge(await streamed.steps);
  for (const kind of ['reasoning-delta', 'tool-input-delta', 'tool-call', 'tool-result', 'text-delta'])
    assert.ok(kinds.has(kind), kind);
  assert.ok(!kinds.has('error'));
});
