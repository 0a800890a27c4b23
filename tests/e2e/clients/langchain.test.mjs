// The npm package @langchain/openai against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';

import { KEY, PROMPT, collect, startServer } from './server.mjs';
import { CALL, say, startScripted } from './scripted.mjs';

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

const chat = (more = {}) => new ChatOpenAI({
  model: 'tales', apiKey: KEY, configuration: { baseURL: server.baseURL }, temperature: 0, maxTokens: 24,
  maxRetries: 0, ...more,
});
const caller = (more = {}) => new ChatOpenAI({
  model: 'scripted', apiKey: 'none', configuration: { baseURL: scripted.baseURL }, maxRetries: 0, ...more,
});

const ADD = tool(({ a, b }) => String(a + b), {
  name: 'add',
  description: 'adds two numbers',
  schema: z.object({ a: z.number().int(), b: z.number().int() }),
});

test('a stream tells what the whole answer tells, with its usage', async () => {
  const whole = await chat().invoke(PROMPT);
  assert.ok(whole.content.length > 20);
  assert.equal(whole.usage_metadata.output_tokens, 24);
  assert.equal(whole.response_metadata.finish_reason, 'length');
  const parts = await collect(await chat().stream(PROMPT));
  assert.equal(parts.map((part) => part.content).join(''), whole.content);
  assert.equal(parts.reduce((all, part) => all.concat(part)).usage_metadata.output_tokens, 24);
});

test('many at once are what they are alone', async () => {
  const prompts = Array.from({ length: 6 }, (_, i) => `${PROMPT}, ${i}`);
  const together = await chat().batch(prompts);
  for (const [i, prompt] of prompts.entries())
    assert.equal(together[i].content, (await chat().invoke(prompt)).content);
});

test('an answer is an object of a zod schema', async () => {
  const schema = z.object({ city: z.enum(['Rome', 'Oslo']), days: z.number().int().min(1).max(9) });
  const held = chat({ maxTokens: 200 }).withStructuredOutput(schema, { method: 'jsonSchema' });
  const object = await held.invoke(PROMPT);
  assert.deepEqual(Object.keys(object), ['city', 'days']);
  schema.parse(object);
});

test('an object comes by a call that the model has to make', async () => {
  const schema = z.object({ a: z.number().int(), b: z.number().int() });
  const held = caller().withStructuredOutput(schema, { method: 'functionCalling', name: 'add' });
  assert.deepEqual(await held.invoke(`What is it? ${say(CALL)}`), { a: 1, b: 2 });
});

test('a session calls a tool, is told what it gave, and answers', async () => {
  const model = caller().bindTools([ADD]);
  const messages = [new HumanMessage(`What is 1 + 2? ${say(`So. ${CALL}`)}`)];
  const first = await model.invoke(messages);
  assert.equal(first.response_metadata.finish_reason, 'tool_calls');
  assert.deepEqual(first.tool_calls.map(({ name, args }) => ({ name, args })), [{ name: 'add', args: { a: 1, b: 2 } }]);
  const given = await ADD.invoke(first.tool_calls[0]);
  assert.ok(given instanceof ToolMessage);
  assert.equal(given.content, '3');
  const second = await model.invoke([...messages, first, given, new HumanMessage(say('It is 3.'))]);
  assert.equal(second.content, 'It is 3.');
  assert.equal(second.tool_calls.length, 0);

  const streamed = (await collect(await model.stream(messages))).reduce((all, part) => all.concat(part));
  assert.deepEqual(streamed.tool_calls.map(({ args }) => args), [{ a: 1, b: 2 }]);
  assert.equal(streamed.content, first.content);
});

test('the same session by the API Responses', async () => {
  const model = caller({ useResponsesApi: true }).bindTools([ADD]);
  const messages = [new HumanMessage(`What is 1 + 2? ${say(CALL)}`)];
  const first = await model.invoke(messages);
  assert.deepEqual(first.tool_calls.map(({ args }) => args), [{ a: 1, b: 2 }]);
  const given = await ADD.invoke(first.tool_calls[0]);
  const second = await model.invoke([...messages, first, given, new HumanMessage(say('It is 3.'))]);
  assert.equal(second.text, 'It is 3.');
});

test('texts are embedded', async () => {
  const embeddings = new OpenAIEmbeddings({ model: 'tales', apiKey: KEY, configuration: { baseURL: server.baseURL } });
  const [one, two] = await embeddings.embedDocuments(['a fox', 'the sea']);
  assert.deepEqual(await embeddings.embedQuery('a fox'), one);
  assert.equal(one.length, two.length);
  assert.notDeepEqual(one, two);
});

test('a wrong key is an error of 401', async () => {
  await assert.rejects(chat({ apiKey: 'sk-wrong' }).invoke(PROMPT), (error) => error.status === 401);
});
