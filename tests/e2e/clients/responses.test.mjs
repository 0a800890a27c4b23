// The Responses API of the npm package openai against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { KEY, collect, startServer } from './server.mjs';
import { CALL, say, startScripted } from './scripted.mjs';

let server;
let client;
let scripted;
let caller;

const ADD = {
  type: 'function',
  name: 'add',
  description: 'adds two numbers',
  strict: false,
  parameters: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  },
};

before(async () => {
  server = await startServer();
  client = new OpenAI({ baseURL: server.baseURL, apiKey: KEY, maxRetries: 0 });
  scripted = await startScripted();
  caller = new OpenAI({ baseURL: scripted.baseURL, apiKey: 'none', maxRetries: 0 });
});

after(async () => {
  await server.stop();
  await scripted.stop();
});

const INPUT = 'Tell me a story about a fox.';
const ask = (more) => client.responses.create(
  { model: 'tales', input: INPUT, max_output_tokens: 24, temperature: 0, ...more });
const call = (input, more) => caller.responses.create(
  { model: 'scripted', tools: [ADD], input, ...more });

test('a response has text, a status and a usage, and says that it is not stored', async () => {
  const response = await ask({ store: true, metadata: { a: 'b' } });
  assert.ok(response.output_text.length > 20);
  assert.equal(response.status, 'incomplete');
  assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  assert.equal(response.store, false);
  assert.deepEqual(response.metadata, { a: 'b' });
  assert.equal(response.usage.output_tokens, 24);
  const chat = await client.chat.completions.create({
    model: 'tales', messages: [{ role: 'user', content: INPUT }], max_tokens: 24, temperature: 0,
  });
  assert.equal(response.output_text, chat.choices[0].message.content);
  assert.equal(response.usage.input_tokens, chat.usage.prompt_tokens);
});

test('a stream tells what the whole response tells', async () => {
  const whole = await ask({});
  const stream = client.responses.stream(
    { model: 'tales', input: INPUT, max_output_tokens: 24, temperature: 0 });
  const events = await collect(stream);
  const final = await stream.finalResponse();
  assert.equal(final.output_text, whole.output_text);
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
  const deltas = events.filter((event) => event.type === 'response.output_text.delta');
  assert.ok(deltas.length > 0);
  assert.equal(deltas.map((event) => event.delta).join(''), whole.output_text);
});

test('a session calls tools, is told what they gave, and answers', async () => {
  const input = [{ role: 'user', content: `What is 1 + 2? ${say(`<think>hm</think>So. ${CALL}${CALL}`)}` }];
  const first = await call(input);
  const calls = first.output.filter((item) => item.type === 'function_call');
  assert.deepEqual(calls.map((item) => JSON.parse(item.arguments)), [{ a: 1, b: 2 }, { a: 1, b: 2 }]);
  input.push(...first.output);
  for (const item of calls)
    input.push({ type: 'function_call_output', call_id: item.call_id, output: '3' });
  input.push({ role: 'user', content: say('It is 3.') });
  const second = await call(input);
  assert.equal(second.output_text, 'It is 3.');
  assert.equal(second.status, 'completed');
});

test('a stream of reasoning, text and two calls is accumulated by the client', async () => {
  const input = say(`<think>how?</think>So: ${CALL}${CALL}`);
  const stream = caller.responses.stream({ model: 'scripted', tools: [ADD], input });
  const final = await stream.finalResponse();
  assert.deepEqual(final.output.map((item) => item.type),
    ['reasoning', 'message', 'function_call', 'function_call']);
  assert.equal(final.output[0].content[0].text, 'how?');
  assert.equal(final.output_text, 'So:');
  assert.equal(final.output[3].arguments, '{"a": 1, "b": 2}');
  assert.equal(final.status, 'completed');
});

test('a loop whose first turn must call a tool', async () => {
  const input = [{ role: 'user', content: say(CALL) }];
  const first = await caller.responses.create(
    { model: 'scripted', tools: [ADD], input, tool_choice: 'required' });
  assert.deepEqual(first.output.map((item) => item.type), ['function_call']);
  const { call_id } = first.output[0];
  input.push(...first.output, { type: 'function_call_output', call_id, output: '3' },
    { role: 'user', content: say('It is 3.') });
  const second = await caller.responses.create({ model: 'scripted', tools: [ADD], input });
  assert.equal(second.output_text, 'It is 3.');
  const refuses = { model: 'scripted', tools: [ADD], input, tool_choice: 'required' };
  await assert.rejects(caller.responses.create(refuses), OpenAI.BadRequestError);
});

test('a parsed text or a call: both by their schemas', async () => {
  const text = { format: { type: 'json_schema', name: 'sum', schema: {
    type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] } } };
  for (const [script, type] of [['{"sum": 3}', 'message'], [CALL, 'function_call']]) {
    const answer = await caller.responses.create(
      { model: 'scripted', tools: [ADD], text, input: say(script) });
    assert.deepEqual(answer.output.map((item) => item.type), [type]);
  }
});

test('what needs a store or tools is refused by name', async () => {
  for (const [name, value] of [
    ['previous_response_id', 'resp_1'], ['background', true], ['conversation', 'conv_1'],
    ['tool_choice', 'required']]) {
    await assert.rejects(ask({ [name]: value }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, name);
      return true;
    });
  }
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' };
  await assert.rejects(ask({ input: [{ role: 'user', content: [image] }] }), (error) => {
    assert.equal(error.param, 'input[0].content[0]');
    return true;
  });
});
