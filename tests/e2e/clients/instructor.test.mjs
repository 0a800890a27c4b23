// The npm package @instructor-ai/instructor against skald serve. It knows schemas of zod 3 only.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import createInstructor from '@instructor-ai/instructor';
import OpenAI from 'openai';
import { z } from 'zod/v3';

import { KEY, MESSAGES, startServer } from './server.mjs';
import { say, startScripted } from './scripted.mjs';

let server;
let scripted;

before(async () => {
  server = await startServer();
  scripted = await startScripted();
});

after(async () => {
  await server.stop();
  await scripted.stop();
});

const Visit = z.object({ city: z.enum(['Rome', 'Oslo']), days: z.number().int().min(1).max(9) });
const ROME = { city: 'Rome', days: 3 };
const MODEL = { schema: Visit, name: 'Visit' };

function instructor(mode, running, apiKey = KEY) {
  const client = new OpenAI({ apiKey, baseURL: running.baseURL, maxRetries: 0 });
  return createInstructor({ client, mode }).chat.completions;
}

test('JSON_SCHEMA: the answer is one of the schema', async () => {
  const visit = await instructor('JSON_SCHEMA', server).create({
    model: 'tales', messages: MESSAGES, temperature: 0, max_tokens: 200, max_retries: 0, response_model: MODEL,
  });
  assert.deepEqual(Object.keys(visit).filter((name) => name !== '_meta'), ['city', 'days']);
  Visit.parse(visit);
});

// What the model writes in each of the other modes.
const WRITTEN = {
  TOOLS: `<tool_call>{"name": "Visit", "arguments": ${JSON.stringify(ROME)}}</tool_call>`,
  JSON: JSON.stringify(ROME),
  MD_JSON: `\`\`\`json\n${JSON.stringify(ROME)}\n\`\`\``,
};

for (const [mode, text] of Object.entries(WRITTEN)) {
  const request = (more = {}) => ({
    model: 'scripted', max_retries: 0, response_model: MODEL,
    messages: [{ role: 'user', content: `Where to? ${say(text)}` }], ...more,
  });

  test(`${mode}: an object of the schema`, async () => {
    const { _meta: meta, ...visit } = await instructor(mode, scripted).create(request());
    assert.deepEqual(visit, ROME);
    assert.ok(meta.usage.completion_tokens > 0);
  });

  test(`${mode}: the object as it comes`, async () => {
    const stream = await instructor(mode, scripted).create(request({ stream: true }));
    let last;
    for await (const partial of stream) last = partial;
    const { _meta: _, ...visit } = last;
    assert.deepEqual(visit, ROME);
  });
}
